"""The law of detection: a session is told by what is in its file, and read the same whatever the file is called."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.opening import read_session
from schemas.providers import providers
from schemas.session import Session

_BY_NAME = {"cline", "kilo-code", "roo", "openhands"}
"""Their sessions are several files, which know one another by name."""


def _told(session: Session) -> tuple[Any, ...]:
    return session.provider, len(session.messages), len(session.exchanges), session.usage(), len(session.unreadable)


@pytest.mark.parametrize("agent", sorted(set(providers()) - _BY_NAME - {"streams"}))
def test_a_session_is_read_the_same_under_another_name(agent: str, tmp_path: Path) -> None:
    for sample in import_module(f"tests.fixtures.{agent.replace('-', '_')}").samples(tmp_path):
        path: Path = sample.path
        if not path.is_file() or path.suffix not in (".json", ".jsonl"):
            continue
        before = _told(read_session(path))
        for suffix in {".json", ".jsonl", ".txt"} - {path.suffix}:
            moved = path.with_suffix(suffix)
            if not moved.exists():
                assert _told(read_session(path.rename(moved))) == before, moved
                moved.rename(path)

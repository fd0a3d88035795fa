"""Every provider's samples, written as a published format and read again: nothing that the format holds is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from schemas.charges import charges
from schemas.interchange.agent_response_check import validate_agent_response
from schemas.interchange.agent_response_write import to_agent_response
from schemas.interchange.events_check import validate_events
from schemas.interchange.events_write import event_line
from schemas.message import Flag
from schemas.opening import OpenError, read_session
from schemas.providers import providers
from schemas.session import Session
from tests.schemas.test_agent_response import facts

SHARED = Path(__file__).parents[2] / "../shared/corpus"
_LARGEST = 1_000_000


@pytest.fixture(scope="module", params=[*sorted(providers()), "corpus"])
def sessions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    if request.param == "corpus":
        if not SHARED.is_dir():
            pytest.skip("the shared corpus is not here")
        files = [p for p in sorted(SHARED.rglob("*")) if p.is_file() and p.stat().st_size <= _LARGEST]
        return list(_readable(files))
    fixtures = import_module(f"tests.fixtures.{request.param.replace('-', '_')}")
    return [read_session(sample.path) for sample in fixtures.samples(tmp_path_factory.mktemp("home"))]


def _readable(files: list[Path]) -> Iterator[Session]:
    for path in files:
        try:
            yield read_session(path)
        except OpenError:
            continue


def test_agent_response(sessions: list[Session], tmp_path: Path) -> None:
    assert sessions
    path = tmp_path / "run.json"
    for session in sessions:
        data = b"".join(to_agent_response(session))
        assert validate_agent_response(json.loads(data)).errors == [], session.path
        path.write_bytes(data)
        again = read_session(path)
        flags = session.messages.flags
        # Exchanges are numbered anew where one was taken back, so their numbers are not compared.
        left = [row[:-1] for row, flag in zip(facts(session), flags, strict=True) if not flag & Flag.REWOUND]
        assert [row[:-1] for row in facts(again)] == left, session.path
        # Its words as they were written, and not what the reader made of the document's end.
        assert b"".join(to_agent_response(again)).count(b'"role"') == data.count(b'"role"'), session.path


def test_events(sessions: list[Session], tmp_path: Path) -> None:
    path = tmp_path / "usage.events.jsonl"
    for session in sessions:
        ours = [charge for charge in charges(session) if charge.time is not None]
        data = b"".join(filter(None, (event_line(session, charge) for charge in ours)))
        if not data:
            continue
        assert validate_events(data) == ([], []), session.path
        path.write_bytes(data)
        again = read_session(path)
        assert [(c.usage, c.model, c.provider, c.session_id) for c in charges(again)] == [
            (c.usage, c.model or "unknown", c.provider, c.session_id) for c in ours
        ], session.path
        assert again.groups.ids == [session.groups.ids[charge.group] for charge in ours]

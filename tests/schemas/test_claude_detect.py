"""Recognising Claude Code's files, whatever else is in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.opening import OpenError, read_session

SESSION = "8f2f0000-1111-4222-8333-444455556600"
PROMPT = {
    "type": "user",
    "uuid": "u1",
    "parentUuid": None,
    "sessionId": SESSION,
    "cwd": "/home/dev/lamp",
    "timestamp": "2026-03-04T09:00:00.000Z",
    "message": {"role": "user", "content": "light the lamp"},
}
FUTURE = {"type": "some-future-type", "sessionId": SESSION, "payload": 1}


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("unknown", [1, 2, 60])
@pytest.mark.parametrize("first", [True, False])
def test_one_prompt_among_unknown_records_is_enough(tmp_path: Path, unknown: int, first: bool) -> None:
    rows = [FUTURE] * unknown
    session = read_session(write(tmp_path / f"{SESSION}.jsonl", *([PROMPT, *rows] if first else [*rows, PROMPT])))
    assert session.provider == "claude"
    assert session.unknown == {"some-future-type": unknown}
    assert [e.prompt for e in session.live_exchanges] == ["light the lamp"]


def test_unknown_records_alone_are_no_session(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="not a session turnlog knows"):
        read_session(write(tmp_path / "x.jsonl", FUTURE, FUTURE))


def test_a_name_of_a_file_is_text_from_outside(tmp_path: Path) -> None:
    session = read_session(write(tmp_path / "ev\x1b[31mil\nname\u202e.jsonl", PROMPT))
    assert session.id == "evil name⟨RLO⟩"

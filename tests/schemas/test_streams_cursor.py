"""Streams of `cursor-agent -p` (`streams` note 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind
from schemas.opening import head_of
from schemas.provider import Reading
from schemas.providers.cursor.stream import STREAM
from schemas.providers.streams import PROVIDER
from schemas.records import FileStore
from schemas.session import Session
from tests.fixtures.streams import saved
from tests.fixtures.streams.claude_cursor import cursor, cursor_begin, cursor_end, cursor_lines, read, spoken, tool
from tests.schemas.conformance import described


def said(tmp_path, *lines):
    """The texts of a run that says this."""
    session = read(tmp_path, [*cursor_begin(), *lines])
    return [m.text for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.TEXT]


# -- text --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.text("ab \n", min_size=1, max_size=5), min_size=1, max_size=4), max_size=4), st.data())
def test_segments_joined_are_what_the_end_says(tmp_path, segments, data):
    """Deltas, deltas with a recap, or whole: each segment reads as it was said."""
    lines, tick = [], 1
    for number, pieces in enumerate(segments):
        whole, last = "".join(pieces), number + 1 == len(segments)
        how = data.draw(st.sampled_from(["deltas", "recap", "whole"]))
        if how != "whole":
            lines += [spoken(piece, tick=tick + i) for i, piece in enumerate(pieces)]
        if how != "deltas":
            lines.append(spoken(whole) if last else spoken(whole, tick=tick, call=f"m{number}"))
        lines.append(tool("started", f"c{number}", "lsToolCall", {}))
        tick += 100
    assert "".join(said(tmp_path, *lines, cursor_end("x"))) == ("".join(map("".join, segments)) or "x")


# -- while it is printed -----------------------------------------------------------------------------------------------


def begun(folder: Path, lines: list[Any]) -> Reading:
    """A stream of which more may come."""
    reading = PROVIDER.open(saved(folder / "stream.jsonl", lines))
    reading.step()
    return reading


def growing(session: Session) -> list[int]:
    return [i for i in range(len(session.messages)) if session.messages.has(i, Flag.GROWING)]


def test_what_is_drawn_while_it_grows_is_what_the_records_say(tmp_path: Path) -> None:
    lines = [*cursor_lines(), *cursor_begin(), spoken("Hel"), spoken("Hello"), spoken(" there")]
    grew = 0
    for cut in range(1, len(lines) + 1):
        session = begun(tmp_path, lines[:cut]).session
        grew += bool(growing(session))
        assert described(session) == described(read(tmp_path, lines[:cut]))[: len(session.messages)]
    assert grew > 3 and session.message(len(session.messages) - 1).text == "Hello there"


DRAFTS = {
    "text": ([spoken(f"{n} ", tick=n) for n in range(300)], cursor("retry")),
    "thinking": ([cursor("thinking", "delta", text="x", tick=n) for n in range(300)], spoken("Well.")),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_is_kept_until_something_else_is_printed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, other = DRAFTS[name]
    session = begun(tmp_path, [*cursor_begin(), *lines]).session
    reads: list[int] = []
    read_bytes = FileStore.read

    def counted(store: FileStore, offset: int, length: int) -> bytes:
        reads.append(offset)
        return read_bytes(store, offset, length)

    monkeypatch.setattr(FileStore, "read", counted)
    assert len(session.message(1).text) >= 300 and growing(session) == [1] and len(reads) <= 1
    assert 1 not in growing(begun(tmp_path, [*cursor_begin(), *lines, other]).session)
    reading = begun(tmp_path, [*cursor_begin(), *lines])
    reading.finish()
    assert not growing(reading.session)


# -- what others print -------------------------------------------------------------------------------------------------

SHARED = Path(__file__).parents[2] / "../shared/lab"


@pytest.mark.parametrize("name", ["droid/droid-0.215.0/stdout/run3.out", "kimi-code/kimi-code-2.1.0/stdout/run7.out"])
def test_streams_of_other_agents_are_not_taken_for_cursors(name: str) -> None:
    path = SHARED / name
    if not path.is_file():
        pytest.skip("the shared lab is not here")
    assert not any(STREAM.prints(record) for record in head_of(path).records)


@pytest.mark.parametrize(
    ("line", "mine"),
    [
        ({"type": "system", "subtype": "init", "permissionMode": "default"}, True),
        ({"type": "system", "subtype": "init", "tools": ["Read"], "model": "m"}, False),
        ({"type": "tool_call", "subtype": "started", "tool_call": {}}, True),
        ({"type": "tool_call", "id": "c", "toolName": "Read", "parameters": {}}, False),
        ({"type": "result", "duration_ms": 5, "result": ""}, True),
        ({"type": "result", "duration_ms": 5, "num_turns": 0, "usage": {"factory_credits": 0}}, False),
        ({"type": "assistant", "message": {}, "uuid": "u"}, False),
        ({"type": "message", "role": "user", "text": "x"}, False),
    ],
)
def test_a_line_is_told_by_its_fields(line: dict[str, Any], mine: bool) -> None:
    assert STREAM.prints({"session_id": "s", **line}) is mine and not STREAM.prints(line)

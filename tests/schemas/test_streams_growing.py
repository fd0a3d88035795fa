"""Words that come in pieces: what is kept of them while they grow is what their records say (`streams` note 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.message import Flag, Kind, Message
from schemas.providers import printers
from schemas.providers.kit.messages import Rows
from schemas.providers.kit.pipe import Pipe, Printed
from schemas.records import FileStore
from schemas.session import Session
from tests.fixtures.streams import codex_lines, gemini, gemini_lines, said, saved
from tests.fixtures.streams.claude_cursor import (
    begin,
    claude_lines,
    cursor,
    cursor_begin,
    cursor_lines,
    delta,
    event,
    init,
    partial_lines,
    qwen_lines,
    says,
    spoken,
    start,
    text,
    thinking,
    usage,
    use,
)
from tests.schemas.conformance import family_of

SAMPLES: dict[str, list[Any]] = {
    "claude": [*partial_lines(), *claude_lines()],
    "cursor": [*cursor_lines(), *cursor_begin(), spoken("Hel"), spoken("Hello"), spoken(" there")],
    "gemini": gemini_lines(),
}


def begun(folder: Path, lines: list[Any]) -> Printed:
    """A stream of which more may come."""
    reading = Printed(FileStore(path := saved(folder / "stream.jsonl", lines)), Pipe(printers(), path))
    while not reading.done:
        reading.step()
    return reading


def rows_in(reading: Printed) -> list[Rows]:
    """The rows of all runs, those of subagents within them included."""
    return [reader.rows for run in reading.parser._runs.values() for reader in (run, *run.children.values())]


def built(session: Session) -> list[tuple[Any, ...]]:
    def facts(message: Message) -> tuple[Any, ...]:
        return message.kind, message.parts, message.tool, message.label, message.metadata, message.path_hints

    return [facts(session.message(i)) for i in range(len(session.messages))]


def growing(session: Session) -> list[str]:
    rows = range(len(session.messages))
    return [session.message(i).text for i in rows if session.messages.has(i, Flag.GROWING)]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_kept_is_what_the_records_say(tmp_path: Path, name: str) -> None:
    seen = 0
    for cut in range(len(SAMPLES[name])):
        reading = begun(tmp_path, SAMPLES[name][: cut + 1])
        sessions = family_of(reading.session)
        before = [built(session) for session in sessions]
        seen += any(growing(session) for session in sessions)
        for rows in rows_in(reading):
            rows.growing = {
                row: pieces for row, pieces in rows.growing.items() if rows.session.messages.kind[row] == Kind.TOOL
            }
        assert [built(session) for session in sessions] == before
    assert seen


DRAFTS = {
    "gemini": [*gemini_lines()[:3], *(said(1, f"{n} ") for n in range(300))],
    "cursor": [*cursor_begin(), *(spoken(f"{n} ", tick=n) for n in range(300))],
    "cursor thinking": [*cursor_begin(), *(cursor("thinking", "delta", text="x", tick=n) for n in range(300))],
    "claude": [init(), begin("m", usage(1)), start(0, text("")), *(delta(0, "text", f"{n} ") for n in range(300))],
    "claude input": [init(), begin("m", usage(1)), start(0, use("t", "Write")),
                     *(delta(0, "input_json", f"{n} ") for n in range(300))],
}  # fmt: skip


# The input of a tool is read again.
@pytest.mark.parametrize("name", [name for name in DRAFTS if name != "claude input"])
def test_a_draft_is_drawn_without_reading_its_pieces_again(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = begun(tmp_path, DRAFTS[name]).session
    reads: list[int] = []
    read = FileStore.read

    def counted(store: FileStore, offset: int, length: int) -> bytes:
        reads.append(offset)
        return read(store, offset, length)

    monkeypatch.setattr(FileStore, "read", counted)
    last = session.message(len(session.messages) - 1)
    assert len(last.text) + len(str(last.tool)) > 300 and len(reads) <= 1


def test_only_what_is_being_written_is_kept(tmp_path: Path) -> None:
    for lines, more in [
        (DRAFTS["gemini"], gemini(2, "tool_use", tool_name="glob", tool_id="g", parameters={})),
        (DRAFTS["cursor"], cursor("retry")),
        (DRAFTS["cursor thinking"], spoken("Well.")),
        (DRAFTS["claude"], says("m", text("All."))),
        (DRAFTS["claude"], begin("m2", usage(1))),
    ]:
        reading = begun(tmp_path, [*lines, more])
        assert (
            [rows for rows in rows_in(reading) if 1 in rows.growing],
            reading.session.messages.has(1, Flag.GROWING),
        ) == ([], False)
    reading = begun(tmp_path, DRAFTS["gemini"])
    reading.finish()
    assert not growing(reading.session)


def test_agents_that_print_no_pieces_have_nothing_that_grows(tmp_path: Path) -> None:
    """So that what they said last can be printed at once."""
    session = begun(tmp_path, codex_lines()[:9]).session
    assert Kind.TEXT in session.messages.kind and not growing(session)


def test_qwens_blocks_that_are_numbered_anew_grow_each_for_itself(tmp_path: Path) -> None:
    lines = [
        *qwen_lines()[:1], begin("r", usage(1)), start(0, thinking("")), delta(0, "thinking", "Hm."),
        event("content_block_stop", index=0), says("r", thinking("Hm.")),
        start(0, text("")), delta(0, "text", "Lam"),
    ]  # fmt: skip
    session = begun(tmp_path, lines).session
    assert growing(session) == ["Lam"]
    assert [session.message(i).parts[0].text for i in (1, 2)] == ["Hm.", "Lam"]
    session = begun(tmp_path, [*lines, delta(0, "text", "ps."), says("r", text("Lamps."))]).session
    assert growing(session) == [] and [session.message(i).parts[0].text for i in (1, 2)] == ["Hm.", "Lamps."]


@pytest.mark.parametrize("block", [text(""), thinking("")])
def test_a_block_that_has_only_begun_is_neither_empty_nor_withheld(tmp_path: Path, block: dict[str, Any]) -> None:
    session = begun(tmp_path, [*claude_lines()[:1], begin("r", usage(1)), start(0, block)]).session
    last = session.message(len(session.messages) - 1)
    assert (last.label, last.parts, Flag.WITHHELD in last.flags) == ("…", [], False)


def test_a_subagent_that_speaks_before_its_use_is_whole_is_called_as_that_says(tmp_path: Path) -> None:
    task = {"subagent_type": "Explore", "description": "Count", "prompt": "Count all."}
    lines = [
        *claude_lines()[:1], begin("r", usage(1)), start(0, use("t1", "Agent")),
        says("c", text("I count."), parent="t1"), says("r", use("t1", "Agent", **task)),
    ]  # fmt: skip
    reading, path = begun(tmp_path, []), tmp_path / "stream.jsonl"
    for line in lines:
        with path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")
        reading.step()
    for session in (reading.session, begun(tmp_path, lines).session):
        assert [(s.name, s.description) for s in session.subagents] == [("Explore", "Count")]

"""Words that come in pieces: what is kept of them while they grow is what their records say (`streams` note 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind, Message
from schemas.providers.kit.printed import Printed
from schemas.providers.streams.either import Either
from schemas.providers.streams.growing import Growing
from schemas.providers.streams.parser import StreamParser
from schemas.records import FileStore
from schemas.session import Session
from tests.fixtures.streams import THREAD, codex_lines, gemini, gemini_lines, item, said, saved
from tests.schemas.conformance import family_of

PLAN = [
    {"type": "thread.started", "thread_id": THREAD},
    *({"type": "item.plan.delta", "item_id": "item_0", "delta": words} for words in ("1. Dust\n", "2. Sh", "ine")),
    item("updated", "item_0", "plan", text="1. Dust\n2. Shine"),
    {"type": "item.plan.delta", "item_id": "item_0", "delta": "!"},
    item("completed", "item_0", "plan", text="1. Dust\n2. Shine!"),
]
SAMPLES: dict[str, list[Any]] = {
    "gemini": gemini_lines(),
    "codex": PLAN,
}


def begun(folder: Path, lines: list[Any]) -> Printed:
    """A stream of which more may come."""
    reading = Printed(FileStore(path := saved(folder / "stream.jsonl", lines)), Either(path))
    while not reading.done:
        reading.step()
    return reading


def growing_in(reading: Printed) -> Growing:
    """What is kept of the words that are being written."""
    assert isinstance(reading.parser, Either) and isinstance(reading.parser._parser, StreamParser)
    return reading.parser._parser.stream.growing


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
        growing_in(reading).end_all()
        assert [built(session) for session in sessions] == before
    assert seen


DRAFTS = {
    "gemini": [*gemini_lines()[:3], *(said(1, f"{n} ") for n in range(300))],
    "codex": [PLAN[0], *({"type": "item.plan.delta", "item_id": "i", "delta": f"{n} "} for n in range(300))],
}  # fmt: skip


@pytest.mark.parametrize("name", DRAFTS)
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
        (DRAFTS["codex"], item("completed", "i", "plan", text="All.")),
    ]:
        reading = begun(tmp_path, [*lines, more])
        assert (growing_in(reading).text(1), reading.session.messages.has(1, Flag.GROWING)) == (None, False)
    reading = begun(tmp_path, DRAFTS["gemini"])
    reading.finish()
    assert not growing(reading.session)


def test_agents_that_print_no_pieces_have_nothing_that_grows(tmp_path: Path) -> None:
    """So that what they said last can be printed at once."""
    session = begun(tmp_path, codex_lines()[:9]).session
    assert Kind.TEXT in session.messages.kind and not growing(session)

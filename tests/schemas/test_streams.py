"""Live output of agents, the part that all formats share: detection, runs, plain text, ends (streams note 1)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag
from schemas.opening import head_of, open_reading
from schemas.provider import read_head
from schemas.providers import printers
from schemas.providers.kit.bases import Stream
from schemas.providers.kit.pipe import Pipe, Printed
from schemas.providers.streams import PROVIDER
from schemas.records import FileStore
from schemas.session import Lack, Session
from tests.fixtures.streams import (
    codex_lines,
    command,
    gemini,
    gemini_answer,
    gemini_lines,
    item,
    opencode_lines,
    said,
    saved,
)
from tests.schemas.conformance import assert_builds_clean, assert_sums, described, facts, in_pieces, whole
from viewer.follow.follower import Follower

FORMATS = {"codex": codex_lines, "gemini": gemini_lines, "opencode": opencode_lines}


def read(tmp_path: Path, lines: list[Any], *, newline: bool = True) -> Session:
    return whole(PROVIDER, saved(tmp_path / "stream.jsonl", lines, newline=newline))


def claimed(*lines: Any) -> bool:
    data = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return PROVIDER.detect(read_head(Path("any"), data.encode(), whole=True))


# -- detection ---------------------------------------------------------------------------------------------------------


DISK = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "session_id": "s"}


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"type": "thread.started", "thread_id": "t"}, True),
        ({"type": "turn.started"}, True),
        ({"type": "item.started", "item": {}}, True),
        (DISK, False),
        ({"type": "error", "message": "x"}, True),
        ({"type": "error", "message": "x", "code": 1}, False),
        ({"type": "message", "role": "user", "content": []}, False),
        ({"type": "message", "timestamp": "2026-11-20T10:00:00Z", "content": [{"type": "text"}]}, False),
        ({"type": "turn.started", "turnId": "t1", "input": [], "time": 1_767_225_600_001}, False),  # Kimi's log
        ({"type": "turn.step.retrying", "role": "meta"}, True),  # Kimi Code prints it
        ({"type": "error", "timestamp": "2026-11-20T10:00:00Z", "id": "1", "content": "on disk"}, False),
        ({"type": ["thread.started"]}, False),
        ({}, False),
    ],
)
def test_who_prints_such_a_record(value: dict[str, Any], printed: bool) -> None:
    assert claimed(value) is printed


def test_a_stream_is_told_by_the_first_object_that_fits() -> None:
    assert claimed("Starting …", {"log": "hi"}, codex_lines()[0])
    assert claimed({"type": "error", "message": "no network"})
    assert not claimed({"type": "error", "message": "x"}, {"level": "info"})
    assert not claimed({"type": "message"}) and not claimed("# Notes", "turn.started")
    assert not claimed(*[{"n": n} for n in range(300)], codex_lines()[0])
    assert not claimed({"role": "meta", "type": ["turn.step.retrying"]}) and not claimed({"role": "meta"})


def test_json_answers_are_told_as_well() -> None:
    assert claimed(json.dumps(gemini_answer(), indent=2)) and claimed(gemini_answer())
    result = {"type": "result", "session_id": "s", "uuid": "u", "result": "Done."}
    assert claimed(json.dumps(result, indent=2)) and claimed(json.dumps([{**result, "type": "system"}, result]))
    assert not claimed({"type": "result", "session_id": "s", "num_turns": 2})  # lab/droid: another program's
    assert not claimed(json.dumps({"response": "x"}, indent=2)) and not claimed("[]") and not claimed("[1, 2]")


# -- runs --------------------------------------------------------------------------------------------------------------


def test_nothing_told_who_printed_it(tmp_path: Path) -> None:
    """Reading a pipe begins before anything is known of it."""
    path = saved(tmp_path / "any", ["hello", {"a": 1}, "world"])
    reading = Printed(FileStore(path), Pipe(printers(), path))
    reading.step()
    assert [session_line(reading.session, i) for i in range(len(reading.session.messages))] == ["hello"]
    reading.finish()
    assert described(reading.session) == ["NOTE hello", 'UNKNOWN {"a": 1}', "NOTE world"]
    assert reading.session.provider == "streams"


def session_line(session: Session, index: int) -> str:
    return session.message(index).text


# -- plain text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("garbage", ["not JSON", '{"foo": 1}', "{half", "[]", "\x1b]0;x", "{}", '{"type": "new"}'])
def test_garbage_at_any_place_harms_nothing(tmp_path: Path, name: str, garbage: str) -> None:
    lines = FORMATS[name]()
    plain = read(tmp_path, lines)
    for place in range(len(lines) + 1):
        path = saved(tmp_path / "garbage.jsonl", [*lines[:place], garbage, *lines[place:]])
        assert PROVIDER.detect(head_of(path)), (place, garbage)
        session = whole(PROVIDER, path)
        assert (session.provider, session.id, session.usage()) == (plain.provider, plain.id, plain.usage())
        assert len(session.live_exchanges) == len(plain.live_exchanges), place
        assert texts_of(session) == texts_of(plain) or (name == "gemini" and garbage.startswith('{"'))
        assert len(session.messages) <= len(plain.messages) + 2
        assert_sums(session)
        assert_builds_clean(session)


def texts_of(session: Session) -> list[str]:
    return [line for line in described(session) if line.startswith(("TEXT", "THINKING", "TOOL", "PROMPT", "ERROR"))]


# -- ends --------------------------------------------------------------------------------------------------------------


def test_a_saved_stream_can_be_followed(tmp_path: Path) -> None:
    """Following never finishes: what comes later is added to what is there."""
    path = saved(tmp_path / "stream.jsonl", codex_lines()[:4])
    follower = Follower(path)
    while not follower.loaded:
        follower.step()
    session = follower.session
    assert session.messages.has(2, Flag.PENDING) and not any(Stream.unended in line for line in described(session))
    with path.open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in codex_lines()[4:10]))
    for _ in range(20):
        follower.poll()
    assert follower.session is session and session.metadata["ended"] == "completed"
    assert facts(session) == facts(whole(PROVIDER, path))
    follower.close()


def test_the_end_of_a_big_file_can_be_shown_first(tmp_path: Path) -> None:
    path = saved(tmp_path / "big.jsonl", codex_lines())
    reading = PROVIDER.open(path, start=path.stat().st_size - 500)
    while not reading.done:
        reading.step()
    assert reading.session.provider == "codex" and reading.session.live_exchanges
    assert_builds_clean(reading.session)


# -- the whole and its pieces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_byte_by_byte_is_the_same(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path / "whole.jsonl", FORMATS[name]())
    data = path.read_bytes()
    pieces = in_pieces(PROVIDER, data, tmp_path / "pieces.jsonl", range(len(data)))
    assert facts(pieces) == facts(whole(PROVIDER, tmp_path / "pieces.jsonl"))


@given(data=st.data())
def test_mixed_lines_in_any_pieces(tmp_path: Path, data: st.DataObject) -> None:
    pool = [*codex_lines(), *gemini_lines(), "plain", "{cut", {"x": 1}]
    lines = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=30))
    raw = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=8))
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"")
    sessions = []
    for ends in ([], cuts):
        path.write_bytes(b"")
        reading = Printed(FileStore(path), Pipe(printers(), path))
        written = 0
        for end in [*sorted(ends), len(raw)]:
            with path.open("ab") as file:
                file.write(raw[written:end])
            written = max(written, end)
            reading.step()
        reading.finish()
        sessions.append(facts(reading.session))
        assert_sums(reading.session)
        assert_builds_clean(reading.session)
    assert sessions[0] == sessions[1]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_nothing_disappears_as_more_comes(tmp_path: Path, name: str) -> None:
    data = saved(tmp_path / "whole.jsonl", FORMATS[name]()).read_bytes()
    path = tmp_path / "prefix.jsonl"
    before: tuple[int, list[str]] = (0, [])
    for end in range(0, len(data) + 1, 7):
        path.write_bytes(data[:end])
        reading = Printed(FileStore(path), Pipe(printers(), path))
        reading.step()
        reading.finish()
        session = reading.session
        assert_builds_clean(session)
        tools = [m.id for i in range(len(session.messages)) if (m := session.message(i)).tool is not None]
        assert len(session.exchanges) >= before[0] and tools[: len(before[1])] == before[1]
        before = (len(session.exchanges), tools)


# -- times -------------------------------------------------------------------------------------------------------------


def test_arrival_stamps_only_where_the_agent_gives_no_times(tmp_path: Path) -> None:
    def live(lines: list[Any]) -> Session:
        path = saved(tmp_path / "live.jsonl", lines)
        clock = iter(range(1000, 2000))
        reading = Printed(FileStore(path), Pipe(printers(), path))
        reading.parser.clock = lambda: float(next(clock))
        reading.step()
        return reading.session

    codex = live(codex_lines()[:10])
    assert codex.exchanges[0].started == 1000 and (codex.exchanges[0].duration or 0) > 0 and codex.lacks == frozenset()
    stamped = live(gemini_lines())
    assert stamped.created == 1_795_341_600 and stamped.exchanges[-1].duration == 7
    assert read(tmp_path, codex_lines()).lacks == {Lack.TIMES}


def test_random_damage_is_survived(tmp_path: Path) -> None:
    chance = random.Random(7)
    pool = json.dumps([*codex_lines(), *gemini_lines()])
    for _ in range(200):
        at, length = chance.randrange(len(pool)), chance.randrange(1, 4000)
        path = tmp_path / "damaged.jsonl"
        path.write_text(pool[at : at + length].replace("}, {", "}\n{"))
        reading = Printed(FileStore(path), Pipe(printers(), path))
        reading.step()
        reading.finish()
        assert_sums(reading.session)
        assert_builds_clean(reading.session)


def test_opened_like_any_other_session(tmp_path: Path) -> None:
    path = saved(tmp_path / "notes.txt", [said(1, "Hi"), gemini(2, "result", status="success")])
    session = open_reading(path)
    assert isinstance(session, Printed) and PROVIDER.resume_command(session.session) is None
    items = [item("completed", "item_1", "agent_message", text="x"), command("completed", "item_2", "ls", "", 0)]
    assert open_reading(saved(tmp_path / "other", items)).session is not None

"""The laws of streams: runs of several agents in one pipe, text in pieces, totals, subagents within, ends and times.

Two agents that exist in here only print them: `{"lamp": SESSION, "say": …}` and `{"kite": SESSION, "say": …}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, ToolStatus
from schemas.providers.kit.bases import Data, Stream
from schemas.providers.kit.history import History
from schemas.providers.kit.pipe import MOST_RECORDS, Printed, is_printed, open_printed
from schemas.providers.kit.words import Answer, Count, Item, Piece, Say, Total, Turn, Use
from schemas.records import FileStore
from schemas.session import Lack, Session
from schemas.usage import TokenUsage
from tests.schemas.conformance import (
    assert_builds_clean,
    assert_nothing_lost,
    assert_sums,
    described,
    facts,
    family_of,
)


class Owners(History):
    """A record's subagent stands in it."""

    def whose(self, record: Data) -> str:
        return str(record.get("of", ""))


class Lamp(Stream):
    id = "lamp"
    name = "Lamp"
    history = Owners
    lacks = frozenset({Lack.TIMES})

    def prints(self, record: Data) -> bool:
        return isinstance(record.get(self.id), str)

    def may_print(self, record: Data) -> bool:
        return self.id == "lamp" and record.keys() == {"error"}

    def run_of(self, record: Data) -> str:
        found = record.get(self.id)
        return found if isinstance(found, str) else ""

    def time(self, record: Data) -> float | None:
        return record.get("time")

    def type(self, record: Data) -> str:
        return str(record.get("say", "?"))

    def read(self, record: Data) -> Iterator[Item]:
        name, text = str(record.get("id", "")), str(record.get("text", ""))
        match record.get("say"):
            case "prompt":
                yield Say(Kind.PROMPT, text)
            case "text":
                yield Say(Kind.TEXT, text, id=name)
            case "piece":
                yield Piece(Kind.TEXT, text, id=name)
            case "use":
                yield Use(name="run", use_id=name, input={"line": text})
            case "back":
                yield Answer(name, text)
            case "count":
                yield Count(TokenUsage(record.get("in"), record.get("out")), name)
            case "total":
                yield Total(TokenUsage(record.get("in"), record.get("out")), "")
            case "end":
                yield Turn(begins=False, how="done", failed=bool(record.get("failed")))
            case _:
                yield Say(Kind.UNKNOWN)


class Kite(Lamp):
    id = "kite"
    name = "Kite"


AGENTS = (Lamp(), Kite())


def lamp(say: str, text: str = "", **more: Any) -> Data:
    return {"lamp": "l1", "say": say, "text": text, **more}


def kite(say: str, text: str = "", **more: Any) -> Data:
    return {"kite": "k1", "say": say, "text": text, **more}


LAMPS = [
    lamp("piece", "On", id="a"), lamp("piece", " now", id="a"), lamp("text", "On now.", id="a"),
    lamp("use", "dim", id="u"), lamp("count", id="c", **{"in": 9, "out": 1}), lamp("back", "dimmed", id="u"),
    lamp("text", "Dark.", id="b"), lamp("total", **{"in": 9, "out": 5}), lamp("end"),
]  # fmt: skip
KITES = [kite("prompt", "Fly"), kite("text", "Up.", id="a"), kite("count", id="c", **{"in": 3, "out": 2}), kite("end")]
MIXED = [line for pair in zip(LAMPS, [*KITES, *(kite("prompt", "More"),) * 5], strict=True) for line in pair]


def saved(folder: Path, lines: list[Any], end: str = "\n") -> Path:
    path = folder / "pipe.jsonl"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + end)
    return path


def read(folder: Path, lines: list[Any], end: str = "\n") -> Session:
    path = saved(folder, lines, end)
    reading = open_printed(AGENTS, path)
    while not reading.done:
        reading.step()
    reading.finish()
    for member in family_of(reading.session):
        assert_sums(member)
    assert_builds_clean(reading.session)
    assert_nothing_lost(reading.session, path.read_bytes())
    return reading.session


def test_one_run_names_the_session_and_its_total_stays_its_own(tmp_path: Path) -> None:
    session = read(tmp_path, LAMPS)
    assert (session.provider, session.id, session.metadata["ended"]) == ("lamp", "l1", "done")
    assert described(session) == [
        "PROMPT (prompt not in the stream)", "TEXT On now.", "TOOL run", "TEXT Dark.",
    ]  # fmt: skip
    assert session.usage() == TokenUsage(9, 5)


def test_mixed_runs_each_go_on_with_their_own_ids_uses_and_totals(tmp_path: Path) -> None:
    session = read(tmp_path, MIXED)
    seen = described(session)
    assert [line for line in seen if line.startswith("TEXT")] == ["TEXT On now.", "TEXT Up.", "TEXT Dark."]
    assert "NOTE Kite k1 begins" in seen and "NOTE Lamp l1 goes on" in seen and "NOTE Lamp l1 begins" not in seen
    assert session.usage() == TokenUsage(12, 7)
    notes = [m for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.NOTE]
    assert not any(note.group for note in notes)


def test_another_session_of_the_same_agent_is_another_run(tmp_path: Path) -> None:
    session = read(tmp_path, [*LAMPS, *({**line, "lamp": "l2"} for line in LAMPS), *LAMPS[6:]])
    assert described(session).count("NOTE Lamp l2 begins") == 1 and session.usage() == TokenUsage(18, 10)


def test_a_line_without_its_mark_goes_to_the_run_that_speaks(tmp_path: Path) -> None:
    session = read(tmp_path, [*LAMPS[:4], {"say": "text", "text": "Half."}, {"what": 1}, *LAMPS[4:]])
    assert "TEXT Half." in described(session) and session.unknown == {"?": 1} and session.usage() == TokenUsage(9, 5)


def test_what_may_be_an_agents_is_that_where_nothing_better_comes(tmp_path: Path) -> None:
    assert read(tmp_path, [{"error": "x"}]).provider == "lamp"
    assert read(tmp_path, [{"error": "x"}, *KITES]).provider == "kite"
    assert read(tmp_path, [{"n": n} for n in range(MOST_RECORDS + 1)]).provider == "streams"
    assert is_printed(AGENTS, [{"error": "x"}], None) and not is_printed(AGENTS, [{"error": "x"}, {"n": 1}], None)


def test_plain_text_stands_where_it_was_printed(tmp_path: Path) -> None:
    session = read(tmp_path, ["\x1b[31mred\x1b[0m", "", "two", *LAMPS, "bye"])
    first = session.message(0)
    assert (first.label, first.text, session.messages.lines[0]) == ("plain output", "red\ntwo", 2)
    assert first.parts[0].runs and session.message(len(session.messages) - 1).text == "bye"


def test_an_end_is_said_and_so_is_its_lack(tmp_path: Path) -> None:
    cut = read(tmp_path, [*LAMPS[:4], '{"lamp": "l1", "sa'], end="")
    assert described(cut)[-1] == "NOTE stream cut off: the last line is unfinished"
    open_ = read(tmp_path, LAMPS[:4])
    assert described(open_)[-1] == f"NOTE {Lamp.unended}" and open_.metadata["ended"] == "no end marker"
    tool = open_.message(2)
    assert tool.tool is not None and tool.tool.status is ToolStatus.PENDING and tool.metadata["ending"]
    failed = read(tmp_path, [*LAMPS[:4], lamp("end", failed=True)])
    assert (used := failed.message(2).tool) is not None and used.status is ToolStatus.INTERRUPTED


def test_text_in_pieces_grows_and_is_shown_without_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, [lamp("piece", f"{n} ", id="a") for n in range(300)])
    reading = open_printed(AGENTS, path)
    reading.step()
    session, reads = reading.session, list[int]()
    plain = FileStore.read
    monkeypatch.setattr(FileStore, "read", lambda store, at, size: reads.append(at) or plain(store, at, size))
    assert session.messages.has(1, Flag.GROWING) and session.message(1).text.endswith("299 ") and len(reads) <= 1
    reading.finish()
    assert not session.messages.has(1, Flag.GROWING) and session.message(1).text.startswith("0 1 2 ")


def test_subagents_within_count_for_themselves(tmp_path: Path) -> None:
    inner = [lamp("text", "In.", of="u", id="x"), lamp("count", of="u", id="y", **{"in": 4, "out": 2})]
    session = read(tmp_path, [*LAMPS[:5], *inner, lamp("total", **{"in": 13, "out": 9}), lamp("end")])
    (agent,) = session.subagents
    assert agent.session is not None and agent.session.usage() == TokenUsage(4, 2) and agent.tool_use == 2
    assert session.usage() == TokenUsage(9, 7)


def test_the_time_of_arrival_stands_only_where_a_stream_has_no_times(tmp_path: Path) -> None:
    def live(lines: list[Any]) -> Session:
        reading = open_printed(AGENTS, saved(tmp_path, lines))
        assert isinstance(reading, Printed)
        clock = iter(range(1000, 2000))
        reading.parser.clock = lambda: float(next(clock))
        reading.step()
        return reading.session

    without = live(LAMPS)
    assert without.exchanges[0].started == 1000 and without.lacks == frozenset()
    own = live([lamp("prompt", "x", time=5.0), lamp("text", "y"), lamp("text", "z", time=7.0)])
    assert (own.created, own.updated) == (5.0, 7.0)
    assert read(tmp_path, LAMPS).lacks == {Lack.TIMES}


def test_one_json_value_is_an_output_too(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(LAMPS, indent=1))
    reading = open_printed(AGENTS, path)
    reading.step()
    assert described(reading.session)[1] == "TEXT On now." and reading.session.usage() == TokenUsage(9, 5)


@given(st.data())
def test_any_lines_in_any_pieces_are_the_same(tmp_path: Path, data: st.DataObject) -> None:
    pool = [*LAMPS, *KITES, lamp("text", "In.", of="u"), "plain", "{cut", {"error": 1}, {"x": 1}]
    lines = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=25))
    raw = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    sessions = []
    for ends in ([len(raw)], [*cuts, len(raw)]):
        path = tmp_path / "mixed.jsonl"
        path.write_bytes(b"")
        reading, written = open_printed(AGENTS, path), 0
        for end in ends:
            with path.open("ab") as file:
                file.write(raw[written:end])
            written = max(written, end)
            reading.step()
        reading.finish()
        sessions.append(facts(reading.session))
        for member in family_of(reading.session):
            assert_sums(member)
        assert_builds_clean(reading.session)
    assert sessions[0] == sessions[1]


def test_nothing_goes_away_while_more_comes(tmp_path: Path) -> None:
    lines, before = [*MIXED, "plain", *LAMPS], dict[str, str]()
    path = saved(tmp_path, [])
    reading = open_printed(AGENTS, path)
    for line in lines:
        with path.open("a") as file:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        reading.step()
        shown = {(m := reading.session.message(i)).id: m.text for i in range(len(reading.session.messages))}
        assert all(shown[name].startswith(text[:1]) for name, text in before.items())
        assert list(shown)[: len(before)] == list(before)
        before = shown

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.machine import FIGURES, Machine, Result

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


def events(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.out.splitlines()]


def test_one_event_a_response_in_utc(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b", "c", "d"], usage=FIGURES)
    result = machine.run("events", path, TZ="Asia/Tokyo")
    assert (result.code, result.err) == (0, "")
    (first, second) = events(result)
    assert first["timestamp"] == "2026-03-04T09:00:01.000Z"
    assert (first["provider"], first["model"], first["session_id"]) == ("claude", "claude-opus-4-5-20251101", ONE)
    assert first["usage"] == {
        "input_tokens": 10, "output_tokens": 20, "cache_write_tokens": 40, "cache_read_tokens": 300,
        "tool_input_tokens": 0, "tool_output_tokens": 0,
    }  # fmt: skip
    assert first["turnlog"]["group"] != second["turnlog"]["group"]
    (machine.home / "e.jsonl").write_text(result.out)
    assert machine.run("validate", "e.jsonl").out.endswith("valid events\n")


def test_subagents_belong_to_their_session_and_copies_are_left_out(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"], usage=FIGURES, message_ids="msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd")
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    machine.session(
        TWO, ["first", "one", "second", "two"], usage=FIGURES, message_ids="msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd", minute=4
    )
    result = machine.run("events")
    assert len(events(result)) == 3
    assert result.err == "turnlog: 1 response left out: a copy of one that is written\n"
    own = events(machine.run("events", path))
    assert [event["session_id"] for event in own] == [ONE, ONE]
    assert [event["turnlog"].get("agent") for event in own] == [None, "a1f00001"]


def test_a_response_belongs_to_the_session_that_made_it_first(machine: Machine) -> None:
    ids = "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd"
    parent = machine.session(TWO, ["first", "one"], usage=FIGURES, message_ids=ids)
    fork = machine.session(ONE, ["first", "one", "second", "two"], usage=FIGURES, message_ids=ids)
    os.utime(parent)  # a copy of the folder, say, need not keep the times of files
    for targets in ([], [fork, parent], [parent, fork]):
        assert [event["session_id"] for event in events(machine.run("events", *targets))] == [TWO, ONE]
        rows = machine.run("usage", "--by", "session", "--json", *targets).json["rows"]
        assert {row["id"]: row["responses"] for row in rows} == {ONE: 1, TWO: 1}
        explained = machine.run("usage", "--explain", "--json", *targets).json["leftOut"]
        assert [(Path(one["path"]).stem, TWO in one["reason"]) for one in explained if one["what"]] == [(ONE, True)]
    for targets in ([fork, parent], [parent, fork]):
        answer = machine.run("usage", "--json", *targets).json
        assert [session["id"] for session in answer["sessions"]] == [path.stem for path in targets]
        snapshot = machine.run("snapshot", "--mode", "extended", *targets).json
        assert snapshot["totals"]["tokens"] == answer["total"]["totalTokens"] == 2 * 370


def test_a_file_is_written_at_once_or_kept(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b"], usage=FIGURES)
    target = machine.home / "out.jsonl"
    result = machine.run("events", path, "-o", target)
    assert (result.code, result.out) == (0, "") and "wrote" in result.err
    before = target.read_bytes()
    again = machine.run("events", path, "-o", target)
    assert again.code == 2 and "exists already, kept" in again.err
    assert machine.run("events", path, "-o", target, "--force").code == 0
    assert target.read_bytes() == before
    assert [p.name for p in machine.home.glob("*.jsonl")] == ["out.jsonl"]


def test_nothing_to_write_is_a_no(machine: Machine) -> None:
    path = machine.session(ONE, ["only a prompt"])
    for options in ([], ["-o", "e.jsonl"]):
        result = machine.run("events", path, *options)
        assert (result.code, result.out) == (1, "") and "no token figures" in result.err
    assert not (machine.home / "e.jsonl").exists()
    assert machine.run("events", "nowhere.jsonl").code == 2


def test_events_of_events_are_the_same(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b", "c", "d"], usage=FIGURES)
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    once = machine.run("events", path).out
    assert machine.run("events", "-", stdin=once.encode()).out == once
    assert [event["turnlog"].get("agent") for event in map(json.loads, once.splitlines())] == [None, None, "a1f00001"]


def test_an_events_file_opens_and_counts_like_a_session(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b", "c", "d"], usage=FIGURES)
    machine.run("events", path, "-o", machine.home / "e.jsonl")
    shown = machine.run("e.jsonl").out
    assert f"All of the session {ONE} of claude." in shown and "opus-4.5" in shown
    assert machine.run("show", "e.jsonl").out == shown
    ours, theirs = (machine.run("usage", "--json", name).json for name in (path, "e.jsonl"))
    assert (ours["total"], ours["costUsd"]) == (theirs["total"], theirs["costUsd"])
    both = machine.run("usage", "--json", path, "e.jsonl").json
    assert both["total"] == ours["total"]  # an event is a copy of its response


def test_without_any_times_it_says_why_there_are_none(machine: Machine) -> None:
    records = [
        {"type": "thread.started", "thread_id": ONE},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "x"}},
        {"type": "turn.completed", "usage": {"input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 4}},
    ]
    (machine.home / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    result = machine.run("events", "s.jsonl")
    assert (result.code, result.out) == (1, "")
    assert "1 response left out: no time is recorded, which an event needs" in result.err
    assert "no events are left" in result.err and "no token figures" not in result.err


@pytest.mark.parametrize("agent", [False, True])
def test_a_file_that_is_read_is_never_written_to(machine: Machine, agent: bool) -> None:
    path = machine.session(ONE, ["a", "b"], usage=FIGURES)
    own = machine.subagent(path, "a1f00001", ["look", "found"], FIGURES) if agent else path
    own = own or next(path.parent.rglob("agent-*.jsonl"))
    before = own.read_bytes()
    link = machine.home / "link.jsonl"
    link.symlink_to(own)
    for target in (own, link):
        for targets in ([path], []):
            result = machine.run("events", *targets, "-o", target, "--force")
            assert result.code == 2 and "never written to" in result.err
            assert own.read_bytes() == before
    assert not list(own.parent.glob(".*turnlog-tmp"))


def test_only_a_directory_that_is_there_is_written_to(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b"], usage=FIGURES)
    for target in ("new/e.jsonl", "new/"):
        result = machine.run("events", path, "-o", target)
        assert (result.code, result.out) == (2, "") and "directory" in result.err
    assert not (machine.home / "new").exists()


def test_through_a_pipe_the_sums_of_all_of_it_come_last(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b", "c", "d"], usage=FIGURES)
    data = machine.run("events", path).out.encode() * 2000
    shown = machine.run("-", stdin=data).out.split("\n")
    rows = [line for line in shown if line.startswith("  2026-03-04 09:00 opus-4.5")]
    assert len(rows) == 4000
    (total,) = (line for line in shown if line.lstrip().startswith("total"))
    assert "4,000" in total.split() and shown.index(total) > shown.index(rows[-1])

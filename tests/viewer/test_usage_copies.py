"""A response counts once, wherever copies of it lie: in subagents, in forks, with whatever ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.costs.prices import Prices
from schemas.costs.responses import Table, each_once, tally
from schemas.opening import read_session
from schemas.provider import Environment
from tests.fixtures.codex.rollouts import Rollout
from tests.viewer.machine import Machine
from viewer.index.library import Library
from viewer.index.summary import index_file
from viewer.sessions.selection import in_order_made
from viewer.sessions.targets import Target
from viewer.usage.events import EventWriter
from viewer.usage.explain import Explanation
from viewer.usage.family import FamilyUsage
from viewer.usage.report import Report
from viewer.usage.spending import Spending
from viewer.usage.sums import Filters

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
IDS = "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd"
LITTLE, FIGURES = {"input_tokens": 100, "output_tokens": 1}, {"input_tokens": 100, "output_tokens": 10}


def continued(machine: Machine, session: Path, agent: str, place: str, figures: dict[str, int], ids: str) -> None:
    """A subagent that begins with a copy of its session's one response, in one of the places where such lie."""
    path = machine.subagent(session, agent, ["first", "one", "aside", "yes"], figures)
    text = path.read_text().replace(f"msg_{agent}_1", f"{ids}_1")
    path.unlink()
    if place == "flat":
        path = session.with_name(path.name)
    elif place == "compaction":
        path = path.with_name(f"agent-acompact-{agent}.jsonl")
    elif place == "within":
        path = session
        text = session.read_text() + text.replace(f'"uuid": "{ONE[:24]}', f'"uuid": "{agent}')
    path.write_text(text)


def totals(machine: Machine, *files: Path) -> set[int]:
    """What everybody says was used in all of the machine's sessions, which lie in these files."""
    targets = [Target(path, str(path)) for path in files]
    report = Report(Prices(), tables=False)
    report.read(targets, _silent, strict=True)
    explained = Spending(Prices(), explanation=Explanation(Filters()))
    rows = list(explained.from_files(*in_order_made(targets, _silent, strict=True), _silent, strict=True))
    library = Library(Environment({}, machine.home, "linux"), machine.home / "index.sqlite")
    library.bring_up_to_date()
    indexed = list(Spending(Prices()).from_index(library))
    ordered, ledger = in_order_made(targets, _silent, strict=True)
    writer = EventWriter(_silent, ledger)
    lines = [*writer.lines(ordered, strict=True), *writer.inherited_lines()]
    return {
        report.spending.total.tokens,
        explained.total.tokens,
        tally(rows).tokens,
        tally(indexed).tokens,
        sum(sum(json.loads(line)["usage"].values()) for line in lines),
    }


def _silent(done: int, of: int) -> None:
    """No bar."""


@pytest.mark.parametrize(
    ("place", "ids", "own_says"),
    [
        ("beside", IDS, 110),
        ("beside", IDS, 101),
        ("beside", "msg", 101),
        ("flat", IDS, 101),
        ("compaction", "gen-1762339000-AbCd", 110),
        ("within", IDS, 101),
        ("within", "msg", 110),
    ],
)
def test_a_subagent_that_begins_with_copies(machine: Machine, place: str, ids: str, own_says: int) -> None:
    own = FIGURES if own_says == 110 else LITTLE
    path = machine.session(ONE, ["first", "one"], usage=own, message_ids=ids)
    continued(machine, path, "a1f00001", place, FIGURES, ids)
    assert totals(machine, path) == {220}
    (told,) = machine.run("usage", path, "--json").json["sessions"]
    assert (told["usage"]["totalTokens"], told["usageWithSubagents"]["totalTokens"]) == (own_says, 220)
    assert f"total {own_says} tokens" in (text := machine.run("usage", path).out) and "220 (" in text
    indexed = list(Table.from_bytes(index_file(str(path)).groups).rows())
    assert tally(each_once(indexed)).usage == tally(indexed[1:]).usage
    session, family = read_session(path), FamilyUsage()
    list(family.run(session))
    total = family.total(session)
    session.close()
    assert total is not None and total.total == 220


def test_copies_in_two_subagents_are_named(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"], usage=LITTLE, message_ids=IDS)
    for agent, figures in (("a1f00001", LITTLE), ("a1f00002", FIGURES)):
        continued(machine, path, agent, "beside", figures, IDS)
    assert totals(machine, path) == {110 + 101 + 110}
    answer = machine.run("usage", path, "--explain", "--json").json
    copies = {Path(one["records"][0]["path"]).stem: one["reason"] for one in answer["leftOut"]}
    assert set(copies) == {"agent-a1f00001", "agent-a1f00002"}
    assert copies["agent-a1f00002"].startswith(f"a fuller copy of the one in {path}")
    for options in (["--by", "model"], ["--explain"], [path], [path, "--explain"]):
        assert "2 responses left out as copies: counted where they were made" in machine.run("usage", *options).out
    assert "2 responses left out: a copy" in machine.run("events", path).err


@pytest.mark.parametrize("ids", ["chatcmpl-9aBcDeFgHiJkLmNoPqRs", "gen-1762339000-AbCd", "msg_01ABCDEF", "a1b2c3d4"])
def test_a_fuller_copy_with_an_id_of_any_kind(machine: Machine, ids: str) -> None:
    parent = machine.session(ONE, ["first", "one"], usage=LITTLE, message_ids=ids)
    fork = machine.session(TWO, ["first", "one", "second", "two"], usage=FIGURES, message_ids=ids)
    lines = [json.loads(line) for line in fork.read_text().splitlines()]
    again = lines[1] | {"uuid": f"{TWO[:24]}000000000099", "timestamp": "2026-03-04T09:00:59.000Z"}
    again["message"] = again["message"] | {"content": [{"type": "text", "text": "and more"}]}
    fork.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:2], again, *lines[2:]]))
    assert totals(machine, parent, fork) == {220}


@pytest.mark.parametrize("ids", [IDS, "m"])
def test_as_many_copies_are_said_as_explain_lists(machine: Machine, ids: str) -> None:
    machine.session(ONE, ["first", "one", "second", "two"], usage=FIGURES, message_ids=ids)
    fork = machine.session(TWO, ["first", "one", "second", "two", "third", "three"], usage=FIGURES, message_ids=ids)
    lines = [json.loads(line) for line in fork.read_text().splitlines()]
    lines[:2] = [line | {"forkedFrom": {"sessionId": ONE}} for line in lines[:2]]
    fork.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for options, count in (([], 2), (["--since", "2026-03-04T09:00:03"], 1), (["--since", "2026-03-04T09:00:04"], 0)):
        explained = machine.run("usage", *options, "--explain")
        for text in (explained.out, machine.run("usage", "--by", "model", *options).out):
            assert (f"{count} response" in text and "left out as " in text) == bool(count)
        assert explained.out.count("a copy of the one in") == count
    assert machine.run("events").err == "turnlog: 2 responses left out: a copy of one that is written\n"


def test_the_foot_says_the_same_however_it_is_asked_for(machine: Machine) -> None:
    fork = machine.session(ONE, ["first", "one", "second", "two"], usage=FIGURES, message_ids=IDS)
    lines = [json.loads(line) for line in fork.read_text().splitlines()]
    lines[:2] = [line | {"forkedFrom": {"sessionId": TWO}} for line in lines[:2]]
    fork.write_text("".join(json.dumps(line) + "\n" for line in lines))
    other = machine.session("cccccccc-0000-4000-8000-000000000003", ["other", "one"], usage=FIGURES)
    machine.subagent(fork, "a1f00001", ["look", "found"], LITTLE)
    labels = {"session": "110", "with 1 subagent": "211", "with inherited": "321"}
    for options in ([], ["--explain"], ["--by", "model"]):
        text = machine.run("usage", fork, *options).out
        found = [
            (label, count) for label, count in labels.items() for line in text.splitlines() if foot(line, label, count)
        ]
        assert dict(found) == labels, options
        several = machine.run("usage", fork, other, *options).out.splitlines()
        for label, count in (("2 sessions, 1 subagent", "321"), ("with inherited", "431")):
            assert any(foot(line, label, count) for line in several), (options, label)
    note = machine.run("usage", fork).out.split("\n\n")[-1]
    assert note.startswith("total 110 tokens (") and ") with 1 subagent, 321 (" in note and ") with inherited\n" in note
    assert "which is not here; only in the total with inherited" in note


def foot(line: str, label: str, count: str) -> bool:
    return line.strip().startswith(f"{label} ") and count in line.split()


def test_a_response_without_a_message_has_the_time_of_its_record(machine: Machine) -> None:
    name = "019a0000-0000-7000-8000-0000000000aa"
    folder = machine.home / ".codex" / "sessions" / "2025" / "10" / "09"
    folder.mkdir(parents=True)
    day = Rollout(name, 1_760_053_800).start("t1").user("go")  # 23:50
    day.count((1000, 0, 100), (1000, 0, 100), at=1_760_053_860)
    day.count((1500, 0, 150), (500, 0, 50), at=1_760_053_920)
    day.clock = 1_760_057_000
    day.says("done").count((2500, 0, 250), (1000, 0, 100)).done("t1")
    path = day.save(folder, f"rollout-2025-10-09T23-50-00-{name}.jsonl")
    path = next(folder.iterdir()) if path is None else path
    for targets in ([], [path]):
        rows = machine.run("usage", "--by", "day", "--json", *targets).json["rows"]
        assert [(row["name"], row["usage"]["totalTokens"]) for row in rows] == [
            ("2025-10-09", 1650),
            ("2025-10-10", 1100),
        ]
    times = [json.loads(line)["timestamp"][:16] for line in machine.run("events", path).out.splitlines()]
    assert times == ["2025-10-09T23:51", "2025-10-09T23:52", "2025-10-10T00:43"]


def _codex_run(path: Path, thread: str, tokens: int) -> Path:
    """What `codex exec --json` prints: the thread's total until then."""
    usage = {"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": 1}
    item = {"id": "item_0", "type": "agent_message", "text": "ok"}
    lines = [
        {"type": "thread.started", "thread_id": thread},
        {"type": "turn.started"},
        {"type": "item.completed", "item": item},
        {"type": "turn.completed", "usage": usage},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_printed_runs_of_a_codex_thread_count_once(machine: Machine) -> None:
    thread, other = "019c4f2e-6b1d-7a83-9e05-d2f4713b8c60", "019c4f30-1d7e-7c42-8b96-a5e3f0917d24"
    first = _codex_run(machine.home / "first.jsonl", thread, 100)
    resumed = _codex_run(machine.home / "resumed.jsonl", thread, 250)
    apart = _codex_run(machine.home / "apart.jsonl", other, 40)
    assert machine.run("usage", "--json", first, resumed).json["total"]["totalTokens"] == 251
    assert machine.run("usage", "--json", first, resumed, apart).json["total"]["totalTokens"] == 251 + 41


@pytest.mark.parametrize("first", ["stream", "file"])
def test_a_printed_run_and_the_session_that_is_kept_of_it_count_once(machine: Machine, first: str) -> None:
    kept = machine.session(ONE, ["hi", "yes"], usage=FIGURES, message_ids=IDS)
    said = json.loads(kept.read_text().splitlines()[1])["message"]
    init = {"type": "system", "subtype": "init", "session_id": ONE, "claude_code_version": "2.1.40", "uuid": TWO}
    # As a stream has it: the figures of when the response began, and the sum at the end.
    begun = said | {"usage": said["usage"] | {"output_tokens": 1}}
    end = {"type": "result", "subtype": "success", "is_error": False, "result": "yes", "session_id": ONE}
    model = {"inputTokens": 100, "outputTokens": 10, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    end |= {"usage": said["usage"], "modelUsage": {said["model"]: model}, "uuid": TWO[:-1] + "3"}
    answer = {
        "type": "assistant",
        "message": begun,
        "session_id": ONE,
        "parent_tool_use_id": None,
        "uuid": TWO[:-1] + "4",
    }
    stream = machine.home / "stream.jsonl"
    stream.write_text("".join(json.dumps(line) + "\n" for line in (init, answer, end)))
    files = [stream, kept] if first == "stream" else [kept, stream]
    assert machine.run("usage", "--json", stream).json["total"]["totalTokens"] == 110
    assert machine.run("usage", "--json", *files).json["total"]["totalTokens"] == 110

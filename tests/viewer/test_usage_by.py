from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from schemas.costs.responses import Response, Source
from schemas.usage import TokenUsage, total_usage
from tests.fixtures.codex.rollouts import Rollout
from tests.viewer.machine import FIGURES, Machine
from viewer.usage.sums import KINDS, Filters, rows_by
from viewer.usage.table import fitted

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
COST = 0.00095
"""Of FIGURES with Claude Opus 4.5."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    path = machine.session(
        ONE, ["first", "one", "second", "two"], usage=FIGURES, message_ids="msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd"
    )
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    machine.session(
        TWO,
        ["first", "one"],
        usage=FIGURES,
        message_ids="msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd",
        minute=4,
        cwd="/home/dev/other",
    )
    machine.session(
        "cccccccc-0000-4000-8000-000000000003", ["third", "three"], usage=FIGURES, minute=9, cwd="/home/dev/other"
    )
    return machine


def by(machine: Machine, kind: str, *options: object) -> dict[str, Any]:
    answer = machine.run("usage", "--by", kind, "--json", *options).json
    assert answer["by"] == kind
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_rows_add_up_to_the_total_and_each_response_counts_once(machine: Machine, kind: str) -> None:
    answer = by(machine, kind)
    assert answer["total"]["totalTokens"] == sum(row["usage"]["totalTokens"] for row in answer["rows"]) == 4 * 370
    assert answer["costUsd"] == pytest.approx(sum(row["costUsd"] for row in answer["rows"]))
    assert answer["costUsd"] == pytest.approx(4 * COST)
    assert sum(row["responses"] for row in answer["rows"]) == 4
    text = machine.run("usage", "--by", kind)
    assert text.code == 0
    foot = next(line for line in text.out.splitlines() if line.lstrip().startswith("total "))
    assert foot.split()[-2:] == ["1.5k", "$0.0038"]
    assert "1 response left out as a copy" in text.out
    assert all(len(line) <= 80 for line in text.out.splitlines())


def test_what_the_rows_are_called(machine: Machine) -> None:
    assert [row["name"] for row in by(machine, "day")["rows"]] == ["2026-03-04"]
    assert [row["name"] for row in by(machine, "model")["rows"]] == ["claude-opus-4-5-20251101"]
    assert [row["name"] for row in by(machine, "agent")["rows"]] == ["claude"]
    projects = {row["path"]: row["responses"] for row in by(machine, "project")["rows"]}
    assert sum(projects.values()) == 4 and set(projects) == {"/home/dev/lamp-shop", "/home/dev/other"}
    sessions = by(machine, "session")["rows"]
    assert {row["name"] for row in sessions} >= {"third"} and all(row["path"].endswith(".jsonl") for row in sessions)
    exchanges = by(machine, "exchange", ONE)["rows"]
    assert [row["name"] for row in exchanges] == ["1. first", "2. second", "(subagents)"]
    groups = by(machine, "group", ONE)["rows"]
    assert [row["groupId"] for row in groups] == [
        "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd_1",
        "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd_3",
        "msg_a1f00001_1",
    ]


@pytest.mark.parametrize("kind", ["session", "day", "model", "agent", "project"])
def test_the_index_and_the_files_say_the_same(machine: Machine, kind: str) -> None:
    paths = sorted(machine.projects.glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime)
    assert by(machine, kind) == by(machine, kind, *paths)


def test_dates(machine: Machine) -> None:
    def tokens(*options: str) -> int:
        return (by(machine, "day", *options)["total"] or {"totalTokens": 0})["totalTokens"]

    assert tokens("--since", "2026-03-04", "--until", "2026-03-04") == 4 * 370
    assert tokens("--since", "2026-03-05") == tokens("--until", "2026-03-03") == 0
    assert tokens("--since", "2026-03-04T09:05:00+00:00") == 370
    result = machine.run("usage", "--since", "2026-03-05")
    assert (result.code, result.out) == (1, "") and "left by the filters" in result.err
    assert [machine.run("usage", *more, "--since", "2030-01-01", "--json").code for more in ([], [ONE])] == [1, 1]
    assert tokens("--since", "2026-03-04T09:05", "--until", "2w") == 370
    assert tokens("--since", "today") == tokens("--since", "1w", "--until", "yesterday") == 0
    for option, value in (("--since", "soon"), ("--until", "2026-3-4"), ("--by", "week")):
        assert machine.run("usage", option, value).code == 2


def test_no_sessions(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for options in ([], ["--explain"], ["--by", "group"]):
        answer = machine.run("usage", "--by", "day", "--json", *options).json
        assert (answer["rows"], answer["total"], answer["costUsd"], answer["unpriced"]) == ([], None, None, [])
        assert machine.run("usage", "--by", "day", *options).code == 1


def test_days_are_those_of_this_machine(machine: Machine) -> None:
    rows = machine.run("usage", "--by", "day", "--json", TZ="Pacific/Kiritimati").json["rows"]
    assert [row["name"] for row in rows] == ["2026-03-04"]
    rows = machine.run("usage", "--by", "day", "--json", TZ="America/Los_Angeles").json["rows"]
    assert [row["name"] for row in rows] == ["2026-03-04"]
    rows = machine.run("usage", "--by", "day", "--json", TZ="Etc/GMT+12").json["rows"]
    assert [row["name"] for row in rows] == ["2026-03-03"]


def test_projects_by_name_and_by_directory(machine: Machine) -> None:
    # The copy in the other project was given in this one, where it counts.
    for name, responses in (("Other", 1), ("/home/dev/other", 1), ("/home/dev", 4), ("lamp-shop", 3), ("nothing", 0)):
        for more in ([], ["--explain"]):
            answer = by(machine, "project", "--project", name, *more)
            assert sum(row["responses"] for row in answer["rows"]) == responses, name


def test_the_sessions_of_one_agent(machine: Machine) -> None:
    everything = by(machine, "model")
    for targets in ((), tuple(str(path) for path in machine.projects.glob("*/*.jsonl"))):
        assert by(machine, "model", "--agent", "claude", *targets)["total"] == everything["total"]
        assert machine.run("usage", "--agent", "codex", *targets).code == 1
    assert "no such agent" in machine.run("usage", "--agent", "nobody").err


def test_a_project_that_nobody_knows(machine: Machine) -> None:
    for targets in ([], [ONE]):
        result = machine.run("usage", "--project", "nosuch", *targets)
        there = "lamp-shop" if targets else "lamp-shop, other"
        assert (result.code, result.err) == (1, f"turnlog: no session of project nosuch; there are {there}\n")
    assert "left by the filters" in machine.run("usage", "--project", "other", "--since", "2030-01-01").err


def test_a_price_book_lies_over_the_tables_and_unknown_models_are_named(machine: Machine) -> None:
    book = {"providers": {"claude": {"models": {
        "claude-opus-4-5-20251101": {"input_usd_per_mtok": 1e6, "output_usd_per_mtok": 0, "cache_read_usd_per_mtok": 0,
                                     "cache_write_usd_per_mtok": 0}}}}}  # fmt: skip
    (machine.home / "book.json").write_text(json.dumps(book))
    assert by(machine, "model", "--pricing", "book.json")["costUsd"] == 40
    assert machine.run("usage", "--json", ONE, "--pricing", "book.json").json["costUsd"] == 30
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    path.write_text(path.read_text().replace("claude-opus-4-5-20251101", "claude-tomorrow", 1))
    answer = by(machine, "exchange", ONE)
    assert answer["unpriced"] == ["claude-tomorrow"]
    assert [row["costUsd"] for row in answer["rows"]] == [None, COST, COST]
    assert [row["unpriced"] for row in answer["rows"]] == [["claude-tomorrow"], [], []]
    out = machine.run("usage", ONE).out
    assert "no price for claude-tomorrow: not in the cost" in out
    rows = [line.split()[-1] for line in out.splitlines() if "first" in line or "session" in line]
    assert rows == ["-", "$0.0009+"]
    bad = machine.run("usage", "--pricing", "nowhere.json")
    assert (bad.code, bad.err) == (2, "turnlog: nowhere.json: no such file or directory\n")


def test_explain_names_the_records_of_each_figure_and_what_was_left_out(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    with path.open("a") as file:
        file.write("garbage\n")
    answer = by(machine, "exchange", "--explain", ONE, TWO)
    (first, second, third) = answer["rows"]
    lines = path.read_bytes().split(b"\n")
    for row, number in ((first, 2), (second, 4)):
        ((record,),) = [one["records"] for one in row["from"]]
        assert (record["path"], record["line"]) == (str(path), number)
        assert path.read_bytes()[record["offset"] :][: record["length"]] == lines[number - 1]
    ((record,),) = [one["records"] for one in third["from"]]
    assert (Path(record["path"]).name, record["line"]) == ("agent-a1f00001.jsonl", 2)
    assert first["from"][0]["costUsd"] == COST and first["from"][0]["groupId"] == "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd_1"
    damaged, copy = answer["leftOut"]
    (place,) = damaged["records"]
    assert (damaged["what"], place["line"], place["offset"]) == ("", 5, path.read_bytes().index(b"garbage"))
    assert damaged["reason"].startswith("unreadable: not JSON")
    assert copy["what"] == "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd_1" and copy["records"][0]["line"] == 2
    assert Path(copy["records"][0]["path"]).stem == TWO
    assert copy["reason"] == f"a copy of the one in {path}, where it is counted"
    text = machine.run("usage", "--explain", ONE, TWO).out
    at = f"(bytes {sum(map(len, lines[:3])) + 3}+{len(lines[3])})"
    assert "1. first" in text and f"line 4 of {ONE}.jsonl {at}" in text and "left out" in text
    assert "a copy of the one in" in text


def test_explain_says_the_cost_by_kind_the_dearest_call_first_and_what_filled_the_context(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    dear = records[3] | {"uuid": "dear", "parentUuid": records[3]["uuid"]}
    usage = FIGURES | {"cache_read_input_tokens": 340, "cache_creation_input_tokens": 4_000}
    dear["message"] = dear["message"] | {"id": "msg_dear", "usage": usage}
    path.write_text("".join(json.dumps(record) + "\n" for record in [*records, dear]))
    answer = by(machine, "exchange", "--explain", ONE)
    for row in answer["rows"]:
        assert sum(row["costByKind"].values()) == pytest.approx(row["costUsd"], abs=1e-5)
        assert sum(one["costByKind"]["cacheWrite"] for one in row["from"]) == pytest.approx(
            row["costByKind"]["cacheWrite"]
        )
    text = machine.run("usage", "--by", "exchange", "--explain", ONE).out
    second = text[text.index("2. second") : text.index("subagents")]
    assert second.index("cache write $0.03") < second.index("msg_dear") < second.index("_3 ")
    filled = text[text.index("what filled the context") :].splitlines()
    assert filled[1:4] == [
        "  context: 4,350 tokens",
        "  +4,000  before #2.3: text two",
        "  +350  before #1.2: the program's own instructions and tools, prompt first",
    ]


def test_a_file_of_events_is_of_many_sessions(machine: Machine) -> None:
    data = machine.run("events").out
    assert machine.run("events").out == data
    (machine.home / "e.jsonl").write_text(data)
    rows = by(machine, "session", "e.jsonl")["rows"]
    assert {row["id"][:1] for row in rows} == {"a", "c"}  # that of b is a copy
    assert {row["name"] for row in rows} == {f"claude · {row['id']}" for row in rows}
    assert [row["name"] for row in by(machine, "agent", "e.jsonl")["rows"]] == ["claude"]


def test_lines_that_repeat_a_response_are_named_together(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    lines = path.read_text().splitlines()
    again = lines[1].replace(f"{ONE[:24]}{1:012d}", f"{ONE[:24]}{99:012d}")
    path.write_text("\n".join([*lines[:2], again, *lines[2:]]) + "\n")
    text = machine.run("usage", "--explain", ONE).out
    assert f"lines 2, 3 of {ONE}.jsonl (bytes " in text and "): one response, told several times" in text


def test_lines_with_figures_that_count_nowhere_are_named_with_the_reason(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    lines = path.read_text().splitlines()
    report = json.loads(lines[2]) | {"uuid": "11111111-0000-4000-8000-000000000009"}
    report["message"] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
    report["toolUseResult"] = {"totalTokens": 370, "usage": FIGURES}
    path.write_text("\n".join([*lines, lines[1], json.dumps(report)]) + "\n")
    left_out = [(one["records"][0]["line"], one["reason"]) for one in by(machine, "group", "--explain", ONE)["leftOut"]]
    assert left_out == [
        (5, "the same record as line 2"),
        (6, "what is told of a subagent, whose responses are counted by themselves"),
    ]
    forked = json.loads(lines[1]) | {"forkedFrom": {"sessionId": TWO, "messageUuid": "x"}}
    path.write_text(lines[0] + "\n" + json.dumps(forked) + "\n")
    figures = by(machine, "session", "--explain", ONE)  # without the session it is from, it counts here
    assert figures["total"]["totalTokens"] == 2 * 370 and not figures["leftOut"]
    text = machine.run("usage", ONE).out
    assert "(370 tokens) inherited from session" in text and "counted there" in text
    later = by(machine, "session", "--explain", "--since", "2030-01-01", ONE)
    assert not later["rows"] and not later["leftOut"]


def test_what_a_fork_inherited_from_a_session_that_is_gone_counts_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for digit in "ef":
        name = f"{digit * 8}-0000-4000-8000-00000000000{digit}"
        path = machine.session(name, ["old", "o"], usage=FIGURES, message_ids="msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd")
        records = [json.loads(line) | {"forkedFrom": {"sessionId": ONE}} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    for kind in ("session", "exchange"):
        answer = by(machine, kind)
        assert answer["total"]["totalTokens"] == 370 and len(answer["rows"]) == 1
    assert len(machine.run("events").out.splitlines()) == 1
    text = machine.run("usage", name).out
    assert "no tokens of its own" in text and "which is not here" in text


LITTLE = FIGURES | {"output_tokens": 1}
IDS = "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd"


def fuller(machine: Machine, *, inherits: bool) -> tuple[Path, Path]:
    """A session that ended in the midst of its response, and a fork in which that came to its end."""
    parent = machine.session(ONE, ["first", "one"], usage=LITTLE, message_ids=IDS)
    fork = machine.session(TWO, ["first", "one", "second", "two"], usage=FIGURES, message_ids=IDS, minute=4)
    if inherits:
        lines = [json.loads(line) for line in fork.read_text().splitlines()]
        lines[:2] = [line | {"forkedFrom": {"sessionId": ONE}} for line in lines[:2]]
        fork.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return parent, fork


@pytest.mark.parametrize("inherits", [False, True])
def test_a_fuller_copy_counts_for_the_session_that_made_the_response_first(tmp_path: Path, inherits: bool) -> None:
    machine = Machine(tmp_path)
    parent, fork = fuller(machine, inherits=inherits)
    for targets in ([], [parent, fork], [fork, parent]):
        for more in ([], ["--explain"]):
            answer = by(machine, "session", *targets, *more)
            sums = {row["id"]: (row["responses"], row["usage"]["outputTokens"]) for row in answer["rows"]}
            assert sums == {ONE: (1, 20), TWO: (1, 20)}
            assert answer["costUsd"] == pytest.approx(2 * COST)
        assert machine.run("usage", "--json", *targets).json["total"] == answer["total"]
        events = [json.loads(line) for line in machine.run("events", *targets).out.splitlines()]
        told = [(event["session_id"], event["usage"]["output_tokens"]) for event in events]
        assert told == [(ONE, 20), (TWO, 20)]
    for targets in ([parent, fork], [fork, parent]):
        snapshot = machine.run("snapshot", *targets).json
        assert (snapshot["totals"]["tokens"], snapshot["totals"]["session_count"]) == (2 * 370, 2)


@pytest.mark.parametrize("inherits", [False, True])
def test_explain_names_the_records_of_a_fuller_copy(tmp_path: Path, inherits: bool) -> None:
    machine = Machine(tmp_path)
    parent, fork = fuller(machine, inherits=inherits)
    answer = by(machine, "session", fork, parent, "--explain")
    (row,) = (row for row in answer["rows"] if row["id"] == ONE)
    places = [(Path(place["path"]).stem, place["line"]) for place in row["from"][0]["records"]]
    assert places == [(ONE, 2), (TWO, 2)]
    (copy,) = (one for one in answer["leftOut"] if one["what"])
    assert (Path(copy["path"]).stem, copy["records"][0]["line"]) == (TWO, 2)
    assert copy["reason"].startswith("a fuller copy of the one in ") and ONE in copy["reason"]
    text = machine.run("usage", "--by", "session", fork, parent, "--explain").out
    assert f"line 2 of {ONE}.jsonl (bytes" in text and f", line 2 of {TWO}.jsonl (bytes" in text
    assert "\ntotal  740 tokens, $0.0019\n" in text


def test_of_two_forks_of_a_session_that_is_gone_the_fuller_copy_counts_for_the_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name, minute, figures in ((ONE, 0, LITTLE), (TWO, 4, FIGURES)):
        path = machine.session(name, ["old", "o"], usage=figures, message_ids=IDS, minute=minute)
        lines = [json.loads(line) | {"forkedFrom": {"sessionId": "gone"}} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = sorted(machine.projects.glob("*/*.jsonl"))
    for targets in ([], files, files[::-1]):
        for more in ([], ["--explain"]):
            (row,) = by(machine, "session", *targets, *more)["rows"]
            assert (row["id"], row["usage"]["totalTokens"]) == (ONE, 370)
        assert machine.run("usage", "--json", *targets).json["total"]["totalTokens"] == 370
    snapshot = machine.run("snapshot", *files).json
    assert (snapshot["totals"]["tokens"], snapshot["totals"]["session_count"]) == (370, 1)


def test_of_two_forks_of_a_session_that_is_gone_the_one_that_is_asked_for_counts(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name, project in ((ONE, "a"), (TWO, "b")):
        path = machine.session(name, ["old", "o"], usage=FIGURES, message_ids=IDS, cwd=f"/home/dev/{project}")
        lines = [json.loads(line) | {"forkedFrom": {"sessionId": "gone"}} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = sorted(machine.projects.glob("*/*.jsonl"))
    for project, expected in (("a", [ONE]), ("b", [TWO]), ("dev", [])):
        for more in ([], ["--explain"], files):
            rows = by(machine, "session", "--project", project, *more)["rows"]
            assert [row["id"] for row in rows] == expected, (project, more)


def test_a_total_has_the_subagents_in_it_however_it_is_asked_for(machine: Machine) -> None:
    plain, explained = machine.run("usage", ONE, "--json").json, machine.run("usage", ONE, "--json", "--explain").json
    assert plain["total"] == explained["total"] and plain["costUsd"] == explained["costUsd"]
    assert plain["total"] == plain["sessions"][0]["usageWithSubagents"] != plain["sessions"][0]["usage"]
    assert "3 sessions, 1 subagent " in machine.run("usage", *sorted(machine.projects.glob("*/*.jsonl"))).out


def test_groups_of_several_sessions_name_them(machine: Machine) -> None:
    lines = machine.run("usage", "--by", "group").out.splitlines()
    named = [line.split()[:2] for line in lines if "Rc8Vd_" in line]  # cut where they differ from each other
    assert [name for name, _ in named] == ["aaaaaaaa", "aaaaaaaa"] and named[0] != named[1]
    assert not any("aaaaaaaa" in line for line in machine.run("usage", "--by", "group", ONE).out.splitlines())


@pytest.mark.parametrize("turn", ["0b5c7a52-1d3e-4f11-8a11-3c9d2e7f6a01", "11111111-1111-4111-8111-111111111111"])
@pytest.mark.parametrize("gone", [False, True])
def test_what_a_codex_fork_copied_counts_once(tmp_path: Path, gone: bool, turn: str) -> None:
    machine = Machine(tmp_path)
    old, new = "019a0000-0000-7000-8000-0000000000aa", "019a0001-0000-7000-8000-0000000000bb"
    folder = machine.home / ".codex" / "sessions" / "2025" / "10" / "09"
    folder.mkdir(parents=True)
    parent = Rollout(old).start(turn).user("old").says("x").count((1000, 900, 100), (500, 400, 50)).done(turn)
    if not gone:
        parent.save(folder, f"rollout-2025-10-09T08-53-20-{old}.jsonl")
    fork = Rollout(new, 1_760_000_500, forked_from_id=old)
    fork.line("session_meta", {"id": old, "cwd": "/parent"}, at=1_760_000_500)
    fork.event("task_started", turn_id=turn, started_at=1_759_995_000, at=1_760_000_500)
    fork.count((1000, 900, 100), (500, 400, 50), at=1_760_000_500)
    fork.clock += 5
    fork.start("t2", started_at=fork.clock).user("new").says("y").count((1400, 1200, 150)).done("t2")
    fork.save(folder, f"rollout-2025-10-09T09-01-40-{new}.jsonl")
    files = sorted(folder.iterdir())
    for targets in ([], files, files[::-1]):
        rows = by(machine, "session", *targets)["rows"]
        assert {row["id"]: row["usage"]["totalTokens"] for row in rows} == (
            {new: 1000} if gone else {old: 550, new: 450}
        )
        assert len(machine.run("events", *targets).out.splitlines()) == 2
    text = machine.run("usage", files[-1]).out
    assert f"(550 tokens) inherited from session {old}, {'which is not here' if gone else 'counted there'}" in text


def test_exchanges_of_several_sessions_name_them(machine: Machine) -> None:
    text = machine.run("usage", "--by", "exchange").out
    assert "aaaaaaaa  " in text and "cccccccc  " in text and all(len(line) <= 80 for line in text.splitlines())


def test_sessions_of_one_title_are_told_apart_by_their_ids(machine: Machine) -> None:
    for digit in "de":
        machine.session(f"{digit * 8}-0000-4000-8000-00000000000{digit}", ["same", "one"], usage=FIGURES, minute=20)
    for digit in "12":  # made within a minute, as ids that begin with the time show
        machine.session(f"0198d2a4-7c1{digit}-7000-8000-00000000000{digit}", ["same", "one"], usage=FIGURES, minute=20)
    text = machine.run("usage", "--by", "session").out
    rows = [line.split()[0] for line in text.splitlines() if " same" in line]
    assert sorted(rows) == ["0198d2a4-7c11", "0198d2a4-7c12", "dddddddd", "eeeeeeee"]
    assert all(len(line) <= 80 for line in text.splitlines())
    assert machine.run("usage", rows[0]).code == 0


@pytest.mark.parametrize("columns", ["80", "300"])
def test_an_id_of_a_table_is_a_target(machine: Machine, columns: str) -> None:
    """Also one of an agent whose ids begin with the time, and one that others begin with."""
    odd = ["99999999-0000-4000-8000-000000011111", "99999999-0000-4000-8000-000000022222", "session-1", "session-12"]
    for name in odd:
        machine.session(name, ["go", f"I am {name}."], usage=FIGURES)
    for table in (("list",), ("usage", "--by", "session")):
        words = machine.run(*table, COLUMNS=columns).out.split()
        ids = [word for word in words if word.startswith(("99999999-", "session-"))]
        assert len(set(ids)) == 4
        for name in ids:
            shown = machine.run("show", name)
            assert shown.code == 0 and any(f"I am {one}." in shown.out for one in odd if one.startswith(name))
    ambiguous = machine.run("show", "99999999")
    assert ambiguous.code == 2 and all(name in ambiguous.err for name in odd[:2])


@pytest.mark.parametrize(
    ("texts", "width", "expected"),
    [
        (["short", "also short"], 12, ["short", "also short"]),
        (["a long title that is cut"], 12, ["a long title…"[:11] + "…"]),
        (
            ["/home/kim/mill/.worktrees/elastic-cori", "/home/kim/mill/.worktrees/gentle-ada", "/home/kim/mill"],
            16,
            ["…es/elastic-cori", "…rees/gentle-ada", "/home/kim/mill"],
        ),
        (["/aaaaaaaaaaaaaaaa/1/x/yyyyyyyy", "/aaaaaaaaaaaaaaaa/2/x/yyyyyyyy"], 8, ["…1/x/yy…", "…2/x/yy…"]),
        (["same and long", "same and long"], 8, ["same an…", "same an…"]),
    ],
)
def test_what_is_cut_is_told_apart(texts: list[str], width: int, expected: list[str]) -> None:
    assert fitted(texts, width) == expected


@given(st.lists(st.text("ab/ 漢", max_size=30), max_size=6), st.integers(8, 20))
def test_different_texts_never_look_the_same(texts: list[str], width: int) -> None:
    texts = [" ".join(text.split()) for text in texts]
    shown = fitted(texts, width)
    assert all(cell_len(text) <= width for text in shown)
    assert len(set(shown)) == len(set(texts))


def test_bars_are_of_what_rows_stand_by(machine: Machine) -> None:
    path = machine.session(ONE, ["a", "b", "c", "d"], usage=FIGURES)
    path.write_text(path.read_text().replace("claude-opus-4-5-20251101", "gpt-nobody-knows", 1))
    lines = machine.run("usage", path, "--by", "model", COLUMNS="140").out.splitlines()
    assert lines[1].startswith("claude") and lines[1].endswith("█" * 16)
    assert lines[2].startswith("gpt-nobody") and "█" not in lines[2]
    assert all("█" * 16 in line for line in machine.run("usage", path, COLUMNS="140").out.splitlines()[1:3])


def test_no_name_breaks_a_row(machine: Machine) -> None:
    path = machine.session(ONE, ["a\nb\tc\x1b[31m", "x"], cwd="/home/dev/a\nb\tc", usage=FIGURES, folder="odd")
    path.write_text(path.read_text().replace("claude-opus-4-5-20251101", "one\\ntwo\\tthree\\u001b[2J"))
    for kind in KINDS:
        for more in ([], ["--explain"]):
            text = machine.run("usage", path, "--by", kind, *more).out
            assert not any(ord(c) < 32 and c != "\n" for c in text)
            if not more:
                assert len(text.splitlines()) <= 8 and all(len(line) <= 80 for line in text.splitlines()[:4])


# -- laws ------------------------------------------------------------------------------------------------------------


def spent(path: str, model: str, time: float | None, count: int, cost: float | None, group: str) -> Response:
    source = Source("claude", path, path, path, path, [(group, group)])
    return Response(source, "claude", model, time, TokenUsage(count), group=group, priced=True, cost=cost)


SPENT = st.builds(
    spent,
    st.sampled_from("ab"),
    st.sampled_from(["", "m", "n"]),
    st.none() | st.floats(0, 2e9),
    st.integers(0, 1000),
    st.none() | st.integers(0, 100).map(float),
    st.sampled_from("xy"),
)


@given(st.lists(SPENT), st.sampled_from(KINDS))
def test_any_sums_add_up(spent: list[Response], kind: str) -> None:
    rows, total = rows_by(kind, spent, keep=True)
    assert total.usage == total_usage(one.usage for one in spent)
    assert total.responses == len(spent) == sum(len(row.responses) for row in rows)
    assert sum(row.tally.tokens for row in rows) == total.tokens
    assert sum(row.tally.cost or 0 for row in rows) == (total.cost or 0)
    assert total.unpriced == {one.model or "unknown" for one in spent if one.cost is None}
    assert len({row.key for row in rows}) == len(rows)


def test_filters_of_time() -> None:
    filters = Filters(10, 20)
    assert [filters.fit_time(t) for t in (None, 9, 10, 19.9, 20)] == [False, False, True, True, False]
    assert Filters().fit_time(None)

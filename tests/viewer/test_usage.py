from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from schemas import opening
from schemas.costs.prices import Prices
from schemas.costs.responses import Tally, response_key, responses
from schemas.provider import Reading
from schemas.usage import TokenUsage
from tests.fixtures.gemini import old_document, write_json
from tests.support import Hand
from tests.viewer.machine import FIGURES, Machine
from viewer.output import CallError
from viewer.sessions.targets import Target
from viewer.usage.report import Report, session_object
from viewer.usage.table import Rows

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


def usage(times: int) -> dict[str, int | None]:
    return {
        "inputTokens": 10 * times,
        "outputTokens": 20 * times,
        "cacheReadTokens": 300 * times,
        "cacheWriteTokens": 40 * times,
        "reasoningTokens": None,
        "totalTokens": 370 * times,
    }


def test_json_has_the_agreed_shape_and_every_figure_its_records(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one", "second", "two"], usage=FIGURES)
    answer = machine.run("usage", "--json", path).json
    assert answer.keys() == {"sessions", "total", "costUsd", "unpriced"}
    assert answer["total"] == usage(2)
    # 10 input, 20 output, 300 cache read and 40 cache write, twice, at $5, $25, $0.50 and $6.25 a million tokens
    assert answer["costUsd"] == round(2 * (50 + 500 + 150 + 250) / 1e6, 6)
    assert answer["unpriced"] == []
    (session,) = answer["sessions"]
    assert session["usage"] == session["usageWithSubagents"] == usage(2)
    assert session["costUsd"] == session["costUsdWithSubagents"] == answer["costUsd"]
    assert [exchange["costUsd"] for exchange in session["exchanges"]] == [0.00095, 0.00095]
    assert [group["costUsd"] for group in session["groups"]] == [0.00095, 0.00095]
    assert [exchange["prompt"] for exchange in session["exchanges"]] == ["first", "second"]
    assert [exchange["usage"] for exchange in session["exchanges"]] == [usage(1), usage(1)]
    assert [group["exchangeId"] for group in session["groups"]] == [e["exchangeId"] for e in session["exchanges"]]
    lines = path.read_bytes().split(b"\n")
    for group in session["groups"]:
        (record,) = group["records"]
        data = path.read_bytes()[record["offset"] : record["offset"] + record["length"]]
        assert data == lines[record["line"] - 1]
        assert group["groupId"].encode() in data
    assert session["unreadable"] == [] and session["unknownRecords"] == {}


def test_the_total_in_full_has_its_cost_where_there_is_one(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"], usage=FIGURES)
    assert "total 370 tokens ($0.0009)\n" in machine.run("usage", path).out
    path.write_text(path.read_text().replace("claude-opus-4-5-20251101", "claude-tomorrow"))
    assert "total 370 tokens\n" in machine.run("usage", path).out


def test_what_cannot_be_read_is_listed(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"])
    with path.open("a") as file:
        file.write('garbage\n{"type":"brand-new","uuid":"u","timestamp":"2026-03-04T09:00:00Z"}\n')
    (session,) = machine.run("usage", "--json", path).json["sessions"]
    assert [bad["line"] for bad in session["unreadable"]] == [3]
    assert session["unknownRecords"] == {"brand-new": 1}
    assert f"1 unreadable line in {path}: 3".replace(str(machine.home), "~") in machine.run("usage", path).out


def test_subagents_are_told_apart(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"], usage=FIGURES)
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    (session,) = machine.run("usage", "--json", path).json["sessions"]
    assert session["usage"] == usage(1)
    assert session["usageWithSubagents"] == usage(2)
    text = machine.run("usage", path).out
    assert "total 370 tokens ($0.0009), 740 ($0.0019) with 1 subagent" in text
    own, both = (
        next(line for line in text.splitlines() if name in line) for name in ("   session ", "with 1 subagent")
    )
    assert (own.split()[-2:], both.split()[-2:]) == (["370", "$0.0009"], ["740", "$0.0019"])


def test_a_total_with_what_has_no_figures_is_at_least_that(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"])
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    path.write_text(re.sub(r'"usage": \{[^}]*\}', '"usage": null', path.read_text()))
    assert "370+ ($0.0009) with 1 subagent" in machine.run("usage", path).out
    assert "with 1 subagent: at least 370 tokens" in machine.run("show", path).out


def test_the_machine_counts_subagents_and_each_response_once(machine: Machine) -> None:
    given = "msg_01XFDUDYJgAACzvnptvVoYEL"
    path = machine.session(ONE, ["first", "one"], usage=FIGURES, message_ids=given)
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    machine.session(TWO, ["first", "one", "second", "two"], usage=FIGURES, message_ids=given, minute=4)
    answer = machine.run("usage", "--json").json
    assert len(answer["sessions"]) == 2
    assert answer["total"] == usage(3)
    text = machine.run("usage")
    assert text.code == 0
    assert "2026-03-04" in text.out and "1.1k" in text.out
    assert "2 sessions and 1 subagent" in text.out
    assert "1 response left out as a copy" in text.out


def gemini(machine: Machine, session_id: str, *answers: tuple[str, str, int]) -> Path:
    """A session of Gemini CLI: id, time and tokens of each answer."""
    path = machine.home / ".gemini" / "tmp" / "p" / "chats" / f"session-2026-01-01T00-00-{session_id[:8]}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [{"sessionId": session_id, "projectHash": "ab" * 32, "startTime": "2026-01-01T00:00:00Z"}]
    for name, when, tokens in answers:
        records.append({"id": f"u{name}", "timestamp": when, "type": "user", "content": f"hi {name}"})
        figures = {"input": tokens, "output": 1, "cached": 0}
        records.append({"id": name, "timestamp": when, "type": "gemini", "content": "yo", "tokens": figures})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("named", [False, True])
def test_an_id_that_comes_again_makes_no_copy(machine: Machine, named: bool) -> None:
    one = gemini(machine, ONE, ("g1", "2026-01-01T00:00:01Z", 1000))
    two = gemini(machine, TWO, ("g1", "2026-01-02T00:00:01Z", 5000), ("g2", "2026-01-02T00:00:09Z", 70))
    three = gemini(machine, "cccccccc-0000-4000-8000-000000000003", ("g1", "2026-01-03T00:00:01Z", 1000))
    targets = [one, two, three] if named else []
    assert machine.run("usage", "--json", *targets).json["total"]["totalTokens"] == 1001 + 5001 + 71 + 1001
    text = machine.run("usage", *targets).out
    assert "copy" not in text and "7.1k" in text


@pytest.mark.parametrize("named", [False, True])
def test_what_was_copied_with_such_an_id_counts_once(machine: Machine, named: bool) -> None:
    shared = ("g1", "2026-01-01T00:00:01Z", 1000)
    one = gemini(machine, ONE, shared)
    two = gemini(machine, TWO, shared, ("g2", "2026-01-02T00:00:09Z", 70))
    targets = [one, two] if named else []
    assert machine.run("usage", "--json", *targets).json["total"]["totalTokens"] == 1001 + 71
    assert "1 response left out as a copy" in machine.run("usage", *targets).out


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("msg_01XFDUDYJgAACzvnptvVoYEL", True),
        ("req_011CSHoEeqs5C35K2UUqR7Fy", True),
        ("0198d2a4-7c1e-7b3f-9a52-1f0e6b8c4d21:7", True),
        ("g1", False),
        ("5:3", False),
        ("turn 1 (thread total so far)", False),
        ("the_answer_to_the_question_1", False),
        ("assistant@1234567890", False),
        ("theanswertothequestion1", False),
        ("handleUserRequestNumber1", False),
        ("chatcmpl-9aBcDeFgHiJkLmNoPqRs", True),
        ("gen-1762339000-AbCd", False),
        ("11111111-1111-4111-8111-111111111111", False),
        ("msg_00000000000000000001", False),
    ],
)
def test_which_ids_tell_a_response_alone(name: str, tells: bool) -> None:
    keys = set()
    for time, tokens in ((1.0, 5), (1.5, 5), (2.0, 5), (1.0, 6)):
        hand = Hand()
        hand.text("y", usage=TokenUsage(tokens))
        hand.session.messages.time[0] = time
        hand.session.groups.ids[0] = name
        keys.add(response_key("claude", hand.session, 0))
    assert len(keys) == (1 if tells else 3)


def test_several_targets_have_one_total(machine: Machine) -> None:
    one = machine.session(ONE, ["first", "one"], usage=FIGURES)
    machine.session(TWO, ["second", "two"], usage=FIGURES, minute=4)
    answer = machine.run("usage", "--json", one, TWO, ONE[:6]).json
    assert len(answer["sessions"]) == 2
    assert answer["total"] == usage(2)
    assert "2 sessions  " in machine.run("usage", one, TWO).out


def test_a_table_for_people(machine: Machine) -> None:
    path = machine.session(ONE, ["Say [bold]hi[/bold]", "hi", "again", "hi"], usage=FIGURES)
    out = machine.run("usage", path).out
    assert "Say [bold]hi[/bold]" in out
    assert "total 740 tokens" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_wide_table_has_bars(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one", "second", "two"], usage=FIGURES)
    wide, narrow = (machine.run("usage", path, COLUMNS=columns).out for columns in ("140", "80"))
    assert "█" in wide and "█" not in narrow
    assert all(len(line) <= 140 for line in wide.splitlines())


def test_a_bug_that_one_file_brings_to_light_is_one_line(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = (machine.session(f"{n * 8}-0000-4000-8000-000000000001", ["x", "y"], usage=FIGURES) for n in "ab")
    real = opening.open_reading

    def open_reading(path: Path, **how: Any) -> Reading:
        if path == bad:
            raise KeyError("no such key")
        return real(path, **how)

    monkeypatch.setattr(opening, "open_reading", open_reading)
    said: list[str] = []
    monkeypatch.setattr("viewer.sessions.selection.warn", said.append)
    targets = [Target(path, str(path)) for path in (bad, good)]
    report = Report(Prices(), tables=False)
    report.read(targets, lambda done, total: None, strict=False)
    assert [session["id"] for session in json.loads(report.to_json())["sessions"]] == [good.stem]
    assert len(said) == 1 and bad.name in said[0] and "KeyError" in said[0]
    with pytest.raises(CallError, match="KeyError"):
        report.read(targets, lambda done, total: None, strict=True)


def test_unknown_is_no_zero(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"])
    out = machine.run("usage", path).out
    row = next(line for line in out.splitlines() if "first" in line)
    assert row.split()[-6:-1] == ["1", "-", "-", "2", "3"]


def test_standard_input(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"], usage=FIGURES)
    data = path.read_bytes()
    (session,) = machine.run("usage", "--json", "-", stdin=data).json["sessions"]
    assert session["path"] == "-"
    assert session["usage"] == usage(1)


def test_no_sessions(machine: Machine) -> None:
    assert machine.run("usage", "--json").json == {"sessions": [], "total": None, "costUsd": None, "unpriced": []}
    result = machine.run("usage")
    assert result.code == 1 and "no sessions" in result.err
    assert machine.run("usage", "--json").code == 1


def test_the_foot_is_called_session_and_says_nothing_twice(machine: Machine) -> None:
    one = machine.session(ONE, ["first", "one"], usage=FIGURES)
    two = machine.session(TWO, ["first", "one", "second", "two"], usage=FIGURES, minute=4)
    single = machine.run("usage", one).out.splitlines()
    assert sum(line.split()[-2:] == ["370", "$0.0009"] for line in single) == 1
    assert [line.split()[-2] for line in machine.run("usage", two).out.splitlines() if "session" in line] == ["740"]


@pytest.mark.parametrize("columns", ["40", "57", "80", "109", "110", "200"])
def test_the_table_fits(machine: Machine, columns: str) -> None:
    path = machine.session(ONE, ["日本語のタイトル" * 20, "hi", "a\tb " * 50, "hi"], usage=FIGURES)
    table = machine.run("usage", path, COLUMNS=columns).out.split("\ntotal ")[0].splitlines()
    assert max(map(cell_len, table)) <= int(columns)
    rows = [line.rstrip("█ ").split()[-2:] for line in table if line]
    assert rows == [["total", "cost"], ["370", "$0.0009"], ["370", "$0.0009"], ["740", "$0.0019"]]


@pytest.mark.parametrize("kind", ["", "session", "model", "exchange"])
def test_counters_at_the_end_of_the_64_bits_break_nothing(machine: Machine, kind: str) -> None:
    event: dict[str, object] = {
        "provider": "codex",
        "model": "gpt-5",
        "session_id": "s",
        "timestamp": "2026-02-20T00:00:00Z",
    }
    names = ("input", "output", "cache_read", "cache_write", "tool_input", "tool_output")
    event["usage"] = {f"{name}_tokens": 2**64 - 1 for name in names}
    path = machine.home / "u.events.jsonl"
    path.write_text(f"{json.dumps(event)}\n" * 3)
    options = ["--by", kind] if kind else []
    text = machine.run("usage", path, *options).out
    heading = text.splitlines()[0]
    assert "input" in heading and heading.endswith("cost") and len(heading) <= 80
    answer = machine.run("usage", path, *options, "--json").json
    assert answer["total"]["cacheReadTokens"] == 3 * (2**64 - 1)


def test_rows_are_not_measured_again_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows("prompt")
    for number in range(3000):
        rows.add(str(number), f"prompt {number}", Tally(TokenUsage(number, 1)))
    screen = Console(file=io.StringIO(), width=80)
    monkeypatch.setattr("rich.table.Table.__rich_console__", None)  # whose time grows with rows times cells
    rows.print(screen)
    written = screen.file.getvalue().splitlines()
    assert len(written) == 3001
    assert written[-1].split()[:3] == ["2999", "prompt", "2999"]


def test_what_a_parser_took_back_counts_nowhere() -> None:
    hand = Hand()
    hand.prompt("inherited")
    hand.text("copied", usage=TokenUsage(1, 2))
    hand.prompt("own")
    hand.text("new", usage=TokenUsage(10, 20))
    session = hand.session
    session.exchanges[0].groups.clear()
    session.groups.usage[0] = TokenUsage()
    answer = session_object(Path("x"), session, session.usage(), list(responses(session)))
    assert [group["groupId"] for group in answer["groups"]] == [session.groups.ids[1]]
    assert answer["exchanges"][0]["usage"] is None
    assert answer["usage"]["totalTokens"] == 30


def test_no_place_in_a_file_is_named_where_a_source_has_no_lines(machine: Machine) -> None:
    path = write_json(machine.home / "session.json", old_document())
    (session,) = machine.run("usage", "--json", path).json["sessions"]
    assert session["groups"] and all(group["records"] == [] for group in session["groups"])
    (row, *_) = machine.run("usage", "--by", "group", "--explain", "--json", path).json["rows"]
    assert [record.keys() for record in row["from"][0]["records"]] == [{"path", "record"}]
    assert "record " in machine.run("usage", "--explain", path).out
    document = machine.run("export", path, "--to", "json").json
    assert all(
        "records" not in message["metadata"]["turnlog"] for e in document["exchanges"] for message in e["messages"]
    )

"""Parts of a session, many sessions, and a document that is kept up to date: what `show` and `export` take."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.opening import OpenError
from tests.viewer.machine import Machine
from tests.waiting import LIMIT
from viewer.follow.rewriting import keep_writing

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
TURNS = ["first", "alpha", "second", "beta", "third", "gamma", "fourth", "delta"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, TURNS)
    return machine


@pytest.mark.parametrize("command", ["show", "export"])
@pytest.mark.parametrize(
    ("place", "held"),
    [("#2", TURNS[2:4]), ("#2-3", TURNS[2:6]), ("#1-4", TURNS), ("#3.2", TURNS[5:6]), ("#4-4", TURNS[6:])],
)
def test_a_place_is_what_is_written_and_nothing_else(
    machine: Machine, command: str, place: str, held: list[str]
) -> None:
    result = machine.run(command, ONE + place)
    assert (result.code, result.err) == (0, "")
    assert [turn for turn in TURNS if turn in result.out] == held
    assert "Totals" not in result.out and ONE not in result.out


def test_a_page_of_a_part_has_a_head_and_links_to_that_part_only(machine: Machine) -> None:
    out = machine.run("export", f"{ONE}#2-3", "--to", "html").out
    assert out.startswith("<!doctype html>") and out.rstrip().endswith("</html>")
    assert out.count("<li><a href=") == 2


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("#9", "no exchange #9; there are #1 to #4"),
        ("#2-9", "no exchange #9; there are #1 to #4"),
        ("#3-2", "no exchanges #3-2: the last stands before the first"),
        ("#2.7", "no message #2.7; exchange #2 has 2 messages"),
    ],
)
@pytest.mark.parametrize("command", ["show", "export"])
def test_a_place_that_is_not_there_is_said(machine: Machine, command: str, place: str, reason: str) -> None:
    result = machine.run(command, ONE + place)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err and len(result.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["show", "export"])
def test_prompts_alone(machine: Machine, command: str) -> None:
    out = machine.run(command, ONE, "--prompts").out
    assert [turn for turn in TURNS if turn in out] == TURNS[::2]
    assert "left out: everything but what the person typed" in out


def test_output_left_out_is_said_where_it_stood(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"])
    record = json.loads(path.read_text().splitlines()[1])
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    made = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "BUILT\nALL"}
    record["message"]["content"].append(use)
    answer = record | {
        "type": "user",
        "uuid": "u9",
        "parentUuid": record["uuid"],
        "message": {"role": "user", "content": [made]},
    }
    path.write_text("\n".join([path.read_text().splitlines()[0], json.dumps(record), json.dumps(answer)]) + "\n")
    assert "BUILT" in machine.run("show", ONE).out
    out = machine.run("show", ONE, "--no-output").out
    assert "BUILT" not in out and "output left out: 2 lines" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((f"{ONE}#2", "--to", "json"), "a JSON document holds the whole session"),
        ((ONE, "--prompts", "--to", "toolpath"), "--prompts: a JSON document holds the whole session"),
        ((ONE, TWO), "several sessions go into a directory: -o DIR/"),
        (("--all",), "several sessions go into a directory: -o DIR/"),
        ((ONE, "--here"), "--here, --agent and --since choose among --all"),
        ((), "which session?"),
        ((ONE, "--watch"), "turnlog export TARGET -o FILE --watch"),
        (("--all", "--agent", "nobody", "-o", "out/"), "--agent nobody: no such agent"),
    ],
)
def test_calls_that_cannot_be(machine: Machine, arguments: tuple[str, ...], reason: str) -> None:
    machine.session(TWO, ["other"])
    result = machine.run("export", *arguments)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err and len(result.err.splitlines()) == 1


def test_many_go_into_a_directory_under_names_that_stay(machine: Machine) -> None:
    machine.session(TWO, ["Dim the lamp", "ok"], minute=2)
    folder = machine.home / "out"
    result = machine.run("export", ONE, TWO, "-o", f"{folder}/")
    assert (result.code, result.err.strip()) == (0, f"turnlog: wrote 2 sessions to {'~/out/'}")
    names = sorted(os.listdir(folder))
    assert len(names) == 2
    path = machine.session(TWO, ["Dim the lamp", "ok", "more", "done"], minute=2)
    path.write_text(
        path.read_text() + json.dumps({"type": "custom-title", "customTitle": "Another", "sessionId": TWO}) + "\n"
    )
    assert "wrote 0 sessions to ~/out/, 2 files kept" in machine.run("export", "--all", "-o", f"{folder}/").err
    machine.run("export", "--all", "-o", f"{folder}/", "--force")
    assert sorted(os.listdir(folder)) == names
    written = "".join((folder / name).read_text() for name in names)
    assert "Another" in written and "done" in written


def test_a_hyphen_is_standard_output(machine: Machine) -> None:
    assert machine.run("export", ONE, "-o", "-").out == machine.run("export", ONE).out != ""
    assert "-" not in os.listdir(machine.home)
    assert machine.run("export", ONE, "-o", "-", "--watch").code == 2


def test_what_many_documents_cannot_hold_is_one_line_and_copies_are_written_once(machine: Machine) -> None:
    machine.session(TWO, ["Dim the lamp", "ok"])
    machine.session(TWO, ["Dim the lamp", "ok"], folder="archive")
    result = machine.run("export", "--all", "--to", "toolpath", "-o", "out/", "--force")
    assert len(os.listdir(machine.home / "out")) == 2
    assert result.err.splitlines() == [
        "turnlog: wrote 2 sessions to out/, 1 file kept (written for another of that name)",
        "turnlog: toolpath: 2 sessions not held in full (export one of them to see what)",
    ]


def test_all_is_narrowed_as_the_list_is(machine: Machine) -> None:
    machine.session(TWO, ["Dim the lamp", "ok"], cwd="/home/dev/other")
    folder = machine.home / "out"
    for number, options in enumerate([("other",), ("--agent", "claude", "other"), ("--since", "2026-03-04", "other")]):
        machine.run("export", "--all", *options, "-o", f"{folder}{number}/")
        assert len(os.listdir(f"{folder}{number}")) == len(machine.run("list", "--json", *options).json) == 1
    assert machine.run("export", "--all", "nothing", "-o", f"{folder}/").code == 1


def test_what_would_make_a_comment_fit_is_said_and_true(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one"])
    records = [json.loads(line) for line in path.read_text().splitlines()]
    thought = {"type": "thinking", "thinking": "h\u00e4 " * 30_000, "signature": "s"}
    records[1]["message"]["content"].insert(0, thought)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    err = machine.run("export", ONE).err
    advice = err.split("65,536: ")[1].split(" makes it fit")[0].split()
    smaller = machine.run("export", ONE, *advice)
    assert smaller.err == "" and len(smaller.out) <= 65_536
    assert f"{len(machine.run('export', ONE).out):,} characters" in err
    machine.session(ONE, ["first", "x" * 70_000, "second", "y"])
    assert "--prompts makes it fit" in machine.run("export", ONE).err
    machine.session(ONE, ["x" * 70_000, "one"])
    assert "only some of its exchanges fit" in machine.run("export", ONE).err


# -- kept up to date ---------------------------------------------------------------------------------------------------


def keep(path: Path, write: Callable[[int], None]) -> None:
    """Run it; `write` is told how often it was called, and a signal ends it."""
    count = 0

    def counted() -> None:
        nonlocal count
        count += 1
        write(count)

    async def run() -> None:
        await asyncio.wait_for(keep_writing(path, counted), LIMIT)

    asyncio.run(run())


def test_a_document_is_written_again_as_the_session_grows(machine: Machine) -> None:
    path, place = machine.session(ONE, TURNS[:2]), machine.home / "kept.md"
    seen: list[str] = []

    def write(count: int) -> None:
        machine.run("export", path, "-o", place, "--force")
        seen.append(place.read_text())
        if count == 1:
            machine.session(ONE, TURNS)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    keep(path, write)
    assert [[turn for turn in TURNS if turn in text] for text in seen] == [TURNS[:2], TURNS]


def test_what_cannot_be_written_at_first_is_an_error_and_later_waits(machine: Machine) -> None:
    path = machine.session(ONE, TURNS[:2])

    def fail(count: int) -> None:
        raise OpenError(path, "gone")

    with pytest.raises(OpenError):
        keep(path, fail)

    def later(count: int) -> None:
        if count == 1:
            machine.session(ONE, TURNS)
        elif count == 2:
            raise OpenError(path, "gone for a while")
        else:
            os.kill(os.getpid(), signal.SIGINT)

    keep(path, later)

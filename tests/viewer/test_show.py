from __future__ import annotations

from pathlib import Path

import pytest

from schemas.records import Unreadable
from tests.support import Hand
from tests.viewer.machine import Machine
from viewer.commands.show import unreadable_notice

ONE = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["Fix the lamp", "It shines again", "Thank you", "Welcome"])
    return machine


def test_json_is_session_data(machine):
    document = machine.run("show", ONE, "--json").json
    assert document["sessionId"] == ONE
    assert [m["content"][0]["text"] for e in document["exchanges"] for m in e["messages"]] == [
        "Fix the lamp", "It shines again", "Thank you", "Welcome",
    ]  # fmt: skip


def test_what_it_writes_it_reads_again(machine):
    first = machine.run("show", ONE, "--json").out
    path = machine.home / "copy.json"
    path.write_text(first)
    assert machine.run("show", str(path), "--json").out == first


def test_text_is_for_people(machine):
    result = machine.run("show", ONE)
    assert result.code == 0
    assert "Fix the lamp" in result.out
    assert "It shines again" in result.out


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("#1", ["Fix the lamp", "It shines again"]),
        ("#1.1", ["Fix the lamp"]),
        ("#1.2", ["It shines again"]),
        ("#2", ["Thank you", "Welcome"]),
    ],
)
def test_a_place_is_shown_alone(machine, place, shown):
    for target in (f"{ONE[:8]}{place}", f"latest{place}", f"{next(machine.projects.rglob('*.jsonl'))}{place}"):
        for command in (["show", target], [target]):
            out = machine.run(*command).out
            assert [
                said for said in ("Fix the lamp", "It shines again", "Thank you", "Welcome") if said in out
            ] == shown


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("#3", "no exchange #3; there are #1 to #2"),
        ("#1.3", "no message #1.3; exchange #1 has 2 messages"),
        ("#0", "no exchange #0; there are #1 to #2"),
    ],
)
def test_a_place_that_is_not_there_is_said_with_what_there_is(machine, place, said):
    result = machine.run("show", f"{ONE}{place}")
    assert (result.code, result.out) == (2, "")
    assert said in result.err and result.err.count("\n") == 1


def test_a_document_of_whole_sessions_takes_no_place(machine):
    for command in (["show", "--json"], ["export", "--to", "json"], ["export", "--to", "toolpath"]):
        result = machine.run(*command, f"{ONE}#1")
        assert (result.code, result.out) == (2, "")
        assert "no place in it" in result.err


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_line_that_cannot_be_read_is_said(machine, options):
    path = machine.session("bbbbbbbb-0000-4000-8000-000000000001", ["One", "Two"])
    with path.open("ab") as file:
        file.write(b'{"type":"assistant","uu')
    result = machine.run("show", str(path), *options)
    assert result.code == 0
    assert "line 3 could not be read: the last line is unfinished" in result.err


def test_no_session_ends_with_2(machine):
    path = machine.home / "other.json"
    path.write_text('{"a": 1}')
    result = machine.run("show", str(path), "--json")
    assert (result.code, result.out) == (2, "")
    assert "not a session turnlog knows" in result.err


def test_many_unreadable_lines_are_counted():
    session = Hand().session
    assert unreadable_notice(session) == ""
    session.unreadable.extend(Unreadable(line, "not JSON", 0, 1) for line in range(1, 8))
    assert unreadable_notice(session) == "7 lines could not be read: 1, 2, 3, 4, 5 and 2 more"


def test_a_line_of_the_session_that_a_document_was_made_of_is_named_as_that(machine):
    path = machine.session("bbbbbbbb-0000-4000-8000-000000000001", ["One", "Two"])
    with path.open("ab") as file:
        file.write(b'{"type":"assistant","uu\n')
    copy = machine.home / "copy.json"
    copy.write_text(machine.run("show", str(path), "--json").out)
    result = machine.run("show", str(copy))
    why = "not JSON: it breaks off inside the string that begins at column 21"
    said = f"line 3 of {path}, from which it was exported, could not be read: {why}"
    assert said in result.out
    assert result.err == f"turnlog: {copy}: {said}\n"
    copy.write_text(copy.read_text()[:-20])
    assert machine.run("show", str(copy)).err.startswith(f"turnlog: {copy}: {said}; line ")


def test_a_document_that_breaks_off_is_shown_as_far_as_it_goes(machine):
    copy = machine.home / "copy.json"
    copy.write_text(machine.run("show", ONE, "--json").out)
    copy.write_text(copy.read_text().partition(" shines again")[0])
    result = machine.run("show", str(copy))
    assert result.code == 0
    assert "Fix the lamp" in result.out and "\nIt\n" in result.out.replace("● ", "")
    assert f"the document breaks off at byte {copy.stat().st_size:,}" in result.err

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from schemas.interchange.registry import readers
from schemas.providers import providers
from tests.fixtures import droid, goose
from tests.viewer.machine import Machine

ONE = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    path = machine.session(ONE, ["Fix the lamp", "It shines again"])
    with path.open("a") as file:
        file.write('garbage\n{"type":"brand-new","uuid":"u","timestamp":"2026-03-04T09:00:00Z"}\n')
    machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["x"]).write_bytes(b"\0\1\2")
    return machine


def test_json(machine: Machine) -> None:
    report = machine.run("doctor", "--json").json
    agent = next(agent for agent in report["agents"] if agent["id"] == "claude")
    assert agent["sessions"] == 1
    assert agent["unreadable"] == [{"path": f"~/.claude/projects/-home-dev-lamp-shop/{ONE}.jsonl", "lines": [3]}]
    assert agent["unknownRecords"] == {"brand-new": 1}
    place = next(place for place in agent["locations"] if place["exists"])
    assert place["path"].startswith("~/.claude") and place["reason"] and place["sessions"] == 2
    (problem,) = report["problems"]
    assert problem["path"].endswith("bbbbbbbb-0000-4000-8000-000000000002.jsonl")
    assert "codex" in {agent["id"] for agent in report["agents"]}


def test_for_people(machine: Machine) -> None:
    result = machine.run("doctor")
    assert result.code == 0 and result.err == ""
    assert str(machine.home) not in result.out
    assert "cannot read line 3 of ~/.claude" in result.out
    assert "unknown record type brand-new: 1" in result.out


def test_a_report_says_no_more_than_it_must(machine: Machine, tmp_path: Path) -> None:
    """It goes into bug reports: neither what sessions say nor the name of the home directory, however it is written."""
    dashed = "".join(c if c.isalnum() else "-" for c in str(machine.home))
    path = machine.session("cccccccc-0000-4000-8000-000000000003", ["Secret prompt"], folder=f"{dashed}-work-site")
    with path.open("a") as file:
        file.write("half a li")
    for args in (["doctor"], ["doctor", "--json"]):
        out = machine.run(*args).out
        assert "-~-work-site" in out
        assert not any(
            word in out for word in (str(machine.home), dashed, "Secret", "Fix the lamp", "shines", "half a li")
        )


def test_what_is_known_of_each_agent(machine: Machine) -> None:
    (machine.home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 7}')
    variables = {"COLORTERM": "truecolor", "TERM": "xterm-256color", "CODEX_HOME": str(machine.home / "not-there")}
    report = machine.run("doctor", "--json", **variables).json
    agents = {agent["id"]: agent for agent in report["agents"]}
    assert agents["claude"]["retention"]["text"] == "deletes sessions after 7 days"
    assert agents["claude"]["size"] > 0 and agents["claude"]["withoutTokens"] == 0
    (codex,) = agents["codex"]["locations"]
    assert (codex["path"], codex["reason"], codex["exists"]) == ("~/not-there", "CODEX_HOME", False)
    assert report["terminal"]["colours"] == "16 million"
    assert report["terminal"]["variables"]["TERM"] == "xterm-256color"
    assert report["libraries"]["textual"]
    told = machine.run("doctor").out
    assert "Claude Code deletes sessions after 7 days (cleanupPeriodDays in settings.json)" in told


@pytest.mark.parametrize(
    ("variables", "colours"),
    [
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "dumb"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none (NO_COLOR)"),
    ],
)
def test_colours(tmp_path: Path, variables: dict[str, str], colours: str) -> None:
    assert Machine(tmp_path).run("doctor", "--json", **variables).json["terminal"]["colours"] == colours


def test_formats_lists_what_every_provider_reads(tmp_path: Path) -> None:
    rows = Machine(tmp_path).run("doctor", "--formats", "--json").json
    assert {row["agent"] for row in rows} == {provider.name for provider in (*providers().values(), *readers())}
    assert all(row["format"] and row["toldBy"] for row in rows)
    printed = Machine(tmp_path).run("doctor", "--formats").out
    assert all(row["format"] in printed and row["toldBy"] in printed for row in rows)


def test_an_empty_machine(tmp_path: Path) -> None:
    result = Machine(tmp_path).run("doctor")
    assert result.code == 0
    _, _, absent = result.out.partition("Not on this machine\n")
    assert "  Pi: ~/.pi/agent/sessions\n" in absent and "  Goose: ~/.local/share/goose/sessions" in absent


def test_a_fault_is_named_with_the_file_that_has_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    session = droid.samples(machine.home)[0].path
    session.with_suffix(".settings.json").write_text('{"tokenUsage": {"inp')
    name = "~/.factory/sessions/-home-dev-lamp-shop/0197aaaa-0000-4000-8000-000000000001.settings.json"
    assert f"cannot read line 1 of {name}" in machine.run("doctor").out
    assert f"1 unreadable line in {name}: 1" in machine.run("usage", str(session)).out
    assert machine.run("usage", "--json", str(session)).json["sessions"][0]["unreadable"] == [
        {"line": 1, "reason": "not a whole document (being written?)", "file": f"{session.stem}.settings.json"}
    ]
    assert f"line 1 of {session.stem}.settings.json could not be read" in machine.run("show", str(session)).err


def test_counts_agree_and_one_fault_of_a_source_is_said_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    database = goose.samples(machine.home)[0].source
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(
            "UPDATE sessions SET session_type = 'user', parent_session_id = NULL;"
            "ALTER TABLE messages RENAME COLUMN created_timestamp TO other"
        )
    for name in ("a", "b"):
        machine.session(f"{name * 8}-0000-4000-8000-000000000001", ["x"]).write_bytes(b"\0")
    out = machine.run("doctor").out
    assert "Claude Code  none; 2 sessions cannot be read" in out
    (line,) = (line for line in out.splitlines() if "sessions.db: " in line)
    assert line.endswith("no such column: created_timestamp (2 times)")

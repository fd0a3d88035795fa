from __future__ import annotations

from pathlib import Path

import pytest

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


def test_an_empty_machine(tmp_path: Path) -> None:
    result = Machine(tmp_path).run("doctor")
    assert result.code == 0
    assert "not there" in result.out

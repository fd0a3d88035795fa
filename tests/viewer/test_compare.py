"""Two sessions beside each other."""

from __future__ import annotations

import json
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from schemas.costs.prices import Prices
from schemas.opening import read_session
from schemas.providers import ids
from tests.viewer.machine import Machine
from tests.waiting import until
from viewer.screens.browser import BrowserScreen
from viewer.screens.compare import CompareScreen
from viewer.screens.transcript import TranscriptScreen
from viewer.sessions.compare import compare
from viewer.transcript.view import TranscriptView
from viewer.widgets.row_list import RowsPane

LAB = Path(__file__).parents[2] / "../shared/lab"
ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
FIGURES = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40}


def use(path: Path, number: int, name: str, given: dict[str, Any], result: Any, *, failed: bool = False) -> None:
    """Add a tool use and its result to a session."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    last = records[-1]
    message = {"id": f"msg_use{number}", "role": "assistant", "model": "claude-opus-4-5-20251101", "usage": FIGURES}
    message["content"] = [{"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}]
    called = last | {"type": "assistant", "uuid": f"use-{number}", "parentUuid": last["uuid"], "message": message}
    answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "x", "is_error": failed}
    done = called | {"type": "user", "uuid": f"done-{number}", "parentUuid": f"use-{number}"}
    done |= {"message": {"role": "user", "content": [answer]}, "toolUseResult": result}
    path.write_text("".join(json.dumps(record) + "\n" for record in [*records, called, done]))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    path = machine.session(ONE, ["first", "one", "second", "two"], usage=FIGURES)
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-a", "+b", "+c"]}]
    given = {"file_path": "/home/dev/lamp-shop/lamp.py", "old_string": "a", "new_string": "b\nc"}
    use(path, 1, "Edit", given, {"filePath": given["file_path"], "structuredPatch": patch})
    use(path, 2, "Edit", given, "Error: no match", failed=True)
    use(path, 3, "Bash", {"command": "make"}, {"stdout": "ok", "stderr": ""})
    machine.subagent(path, "a1f00001", ["look", "found"], FIGURES)
    machine.session(TWO, ["first", "other"], usage=FIGURES)
    return machine


def test_what_is_counted(machine: Machine) -> None:
    answer = machine.run("compare", ONE, TWO, "--json").json
    one, two = answer["sessions"]
    assert answer["sharedExchanges"] == 0
    assert [(s["prompts"], s["exchanges"], s["failures"], s["subagents"]) for s in (one, two)] == [
        (2, 2, 1, 1),
        (1, 1, 0, 0),
    ]
    assert (one["tools"], two["tools"]) == ({"write": 2, "shell": 1}, {})
    assert one["files"] == [{"path": "lamp.py", "added": 2, "removed": 1}]
    assert [s["usage"]["totalTokens"] for s in (one, two)] == [5 * 370, 370]
    assert one["withSubagents"]["usage"]["totalTokens"] == 6 * 370
    assert (one["lastAnswer"], two["lastAnswer"]) == ("two", "other")


def test_files_are_those_of_diff_which_takes_ranges_too(machine: Machine) -> None:
    (file,) = machine.run("compare", ONE, TWO, "--json").json["sessions"][0]["files"]
    for place in ("", "#1-2", "#2"):
        found = machine.run("diff", f"{ONE}{place}", "--json").json["files"]
        assert [one["path"] for one in found] == [file["path"]] == ["lamp.py"]
    assert machine.run("diff", f"{ONE}#1-1", "--json").json["files"] == []
    assert "no exchange #9" in machine.run("diff", f"{ONE}#1-9").err


def test_the_table_fits(machine: Machine) -> None:
    out = machine.run("compare", ONE, TWO).out
    assert all(cell_len(line) <= 80 for line in out.splitlines())
    rows = {line[:12].strip(): line.split()[-2:] for line in out.splitlines() if line[:1].strip()}
    assert rows["exchanges"] == ["2", "1"] and rows["failures"] == ["1", "0"]
    assert "lamp.py" in out and "+2 -1" in out
    assert out.count("last answer of") == 2
    assert machine.run("compare", ONE, "nobody").code == 2


@pytest.mark.parametrize("agent", ids())
def test_every_agents_sessions_are_counted_as_they_are_read(agent: str, tmp_path: Path) -> None:
    """A session beside itself has the same on both sides, and what its agent's samples say is in it."""
    for sample in import_module(f"tests.fixtures.{agent.replace('-', '_')}").samples(tmp_path):
        with closing(read_session(sample.path)) as session:
            found = compare(session, session, Prices())
            one, other = found.sides
            assert one.to_json() == other.to_json()
            assert one.exchanges == len(sample.prompts)
            if not any(exchange.inherited for exchange in session.exchanges) and not session.subagents:
                assert one.tools.total() == len(sample.tools)
                assert one.own.usage == sample.usage
            assert all(cell for _, cell, _ in found.rows())


@pytest.mark.skipif(not LAB.is_dir(), reason="no lab")
@pytest.mark.parametrize(
    ("agent", "fork", "origin", "shared"),
    [
        ("claude", "b91840f3", "aad28270", 2),
        ("codex", "01a2239a-e4a4", "01a2239a-b873", 3),
        ("qwen", "ed3d41d0", "16199de3", 2),
    ],
)
def test_a_fork_is_counted_from_where_it_parts(agent: str, fork: str, origin: str, shared: int) -> None:
    home = LAB / agent / "home"
    paths = [
        next(path for path in home.rglob(f"*{name}*.jsonl") if "subagents" not in path.parts) for name in (origin, fork)
    ]
    with closing(read_session(paths[0])) as one, closing(read_session(paths[1])) as other:
        for pair in ((one, other), (other, one)):
            found = compare(*pair, Prices())
            before, after = sorted(found.sides, key=lambda side: side.session is other)
            assert (found.shared, before.begins, after.begins) == (shared, "its end", "#1")
            assert (before.own.tokens, before.exchanges, before.prompts) == (0, 0, 0)
            assert after.own.usage == other.usage()
            assert (after.exchanges, after.prompts, after.answer) == (1, 1, "The fork is done.")


def test_ids_name_one_session_of_the_machine(machine: Machine) -> None:
    machine.session(f"{ONE[:-1]}9", ["other", "one"])
    shown = machine.run("compare", ONE, TWO).out
    assert ONE in shown and TWO[:8] in shown and TWO not in shown


@pytest.mark.parametrize("size", [(60, 24), (140, 45)])
async def test_two_that_are_marked_stand_beside_each_other(machine: Machine, size: tuple[int, int]) -> None:
    from tests.viewer.test_diff_screen import listed

    async with listed(machine, size) as pilot:
        await pilot.press("ctrl+x")
        assert isinstance(pilot.app.screen, BrowserScreen)  # none is marked
        await pilot.press("ctrl+t", "ctrl+t", "ctrl+x")
        await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
        pane = pilot.app.screen.query_one(RowsPane)
        await until(pilot, lambda: "last answer" in pane.text)
        assert all(cell_len(line) <= pane.size.width for line in pane.text.splitlines())
        rows = {line[:12].strip(): line.split()[-2:] for line in pane.text.splitlines() if line[:1].strip()}
        assert sorted(rows["exchanges"]) == ["1", "2"] and sorted(rows["failures"]) == ["0", "1"]
        assert pane.text.splitlines()[0].split()[1] == "▸"
        first = pilot.app.screen._paths[0]
        await pilot.press("right", "left", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TranscriptScreen))
        assert pilot.app.screen.query_one(TranscriptView).session.path == first
        await pilot.press("q", "escape")
        assert isinstance(pilot.app.screen, BrowserScreen)

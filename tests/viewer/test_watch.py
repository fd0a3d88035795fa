"""Watching: verdicts on sessions and processes laid out by hand, laws of the tiles, notices, and the command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.agents import agent_of
from schemas.message import Flag, Tool, ToolStatus, ToolType
from schemas.running import Stated, Status, Wait
from tests.support import Hand
from tests.viewer.desk import BOOTED, Desk
from tests.viewer.machine import Machine
from tests.waiting import LIMIT, wait_until
from viewer.commands.watch import _Printer
from viewer.output import CallError
from viewer.watch.notices import Notices, terminal_notice
from viewer.watch.processes import Processes, Stillness
from viewer.watch.state import Ask, Call, Does, Evidence, State, Turn, judge, turn_of
from viewer.watch.tile import Shared, Tile
from viewer.watch.tiles import Watch, tiles_now


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def said(tile: Tile) -> tuple[str, str, bool]:
    return tile.state.does, tile.state.what, tile.state.certain


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_a_quiet_file_is_no_sign_of_waiting(desk: Desk) -> None:
    desk.runs("a")
    desk.prompts("a")
    watch = desk.watch()
    assert [said(tile) for tile in desk.look(watch, 300)] == [("works", "thinking", True)]


@pytest.mark.parametrize(("status", "over"), [("interrupted", True), ("denied", False), ("error", False)])
def test_a_turn_ends_with_a_tool_use_that_was_broken_off(status: str, over: bool) -> None:
    hand = Hand()
    hand.prompt("sleep")
    hand.tool(Tool("Bash", "shell", "t1", {"command": "sleep 30"}, status=ToolStatus(status)), flags=Flag.INTERRUPTED)
    turn = turn_of(hand.session, agent_of("claude"))
    assert (turn.over, turn.over and turn.how) == (over, over and "interrupted")


def test_an_open_tool_use_waits_perhaps_after_two_still_samples(desk: Desk) -> None:
    desk.runs("a")
    desk.prompts("a")
    desk.uses("a")
    watch = desk.watch()
    seen = []
    for _ in range(4):
        desk.draws("a", 0)
        (tile,) = desk.look(watch, 2.1)
        seen.append(said(tile))
    assert seen == [("works", "$ pytest -q", False)] * 2 + [("waits", "permission", False)] * 2
    assert tile.state.asks[0].question == "$ pytest -q"
    assert "no process" in tile.state.source
    desk.spawns("a")
    (tile,) = desk.look(watch)
    assert said(tile) == ("works", "$ pytest -q", True)


def test_a_program_that_draws_is_at_work(desk: Desk) -> None:
    desk.runs("a")
    desk.prompts("a")
    desk.uses("a")
    watch = desk.watch()
    for number in range(6):
        desk.draws("a", number * 2000)
        (tile,) = desk.look(watch, 2.1)
        assert tile.state.does is Does.WORKS


def test_what_an_agent_says_is_believed_while_its_process_is_there(desk: Desk) -> None:
    desk.prompts("a")
    desk.uses("a", "AskUserQuestion", questions=[{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}])
    desk.runs("a")
    desk.states("a", "waiting", "input needed")
    watch = desk.watch()
    (tile,) = desk.look(watch)
    assert (said(tile), tile.state.asks) == (("waits", "question", True), (("Which?", ("A", "B")),))
    assert tile.state.source == "Claude Code says so"
    desk.states("a", "waiting", "input needed", start=7)  # the number was given to another process
    (tile,) = desk.look(watch)
    assert said(tile) == ("ended", "killed", True)
    gone = desk.now  # it was seen until then
    assert [tile.state.since, *(tile.state.since for tile in desk.look(watch))] == [gone, gone]
    (tile,) = desk.look(desk.watch())  # who has not seen it knows the last record
    assert tile.state.since is not None and tile.state.since < gone - 1


def test_a_process_in_another_container_cannot_be_looked_for(desk: Desk) -> None:
    desk.prompts("a")
    desk.uses("a", "AskUserQuestion", questions=[{"question": "Which?"}])
    desk.states("a", "waiting", "input needed", space="pid:[1]")
    (desk.proc / "self/ns").mkdir(parents=True)
    (desk.proc / "self/ns/pid").symlink_to("pid:[2]")
    (tile,) = desk.look(desk.watch())
    assert said(tile) == ("waits", "question", False)


def test_a_dialog_that_the_person_opened_is_no_wait(desk: Desk) -> None:
    desk.prompts("a")
    desk.says("a")
    desk.runs("a")
    desk.states("a", "waiting", "dialog open")
    (tile,) = desk.look(desk.watch())
    assert said(tile) == ("done", "answered", True)


def test_a_status_that_is_older_than_the_records_counts_no_more(desk: Desk) -> None:
    desk.prompts("a")
    use = desk.uses("a")
    desk.runs("a")
    desk.states("a", "waiting", "permission prompt")
    watch = desk.watch()
    assert [said(tile) for tile in desk.look(watch)] == [("waits", "permission", True)]
    desk.results("a", use)
    assert [said(tile) for tile in desk.look(watch)] == [("works", "thinking", True)]


def test_what_another_process_left_open_is_not_open(desk: Desk) -> None:
    desk.prompts("a")
    desk.uses("a")
    desk.now += 20
    desk.prompts("a", "Go on")
    desk.runs("a")
    watch = desk.watch()
    assert [said(tile) for tile in desk.look(watch)] == [("works", "$ pytest -q", False)]  # the prompt is queued
    desk.runs("a", start=round((desk.now - 5 - BOOTED) * 100))
    assert [said(tile) for tile in desk.look(watch)] == [("works", "thinking", True)]


def test_a_stopped_process_is_said_to_be_stopped(desk: Desk) -> None:
    desk.prompts("a")
    desk.runs("a")
    desk.states("a", "busy")
    watch = desk.watch()
    assert desk.look(watch)[0].state.does is Does.WORKS
    desk.runs("a", state="T")
    assert desk.look(watch)[0].state.does is Does.STOPPED


def test_where_nothing_tells_of_processes_less_is_said(desk: Desk) -> None:
    desk.prompts("a")
    desk.uses("a")
    desk.states("a", "waiting", "permission prompt")
    desk.prompts("b")
    desk.uses("b")
    watch = Watch(desk.env, desk.home / "no-proc", lambda: desk.now)
    tiles = {tile.id: said(tile) for tile in desk.look(watch)}
    assert tiles[desk.id_of("a")] == ("waits", "permission", True)  # the agent says so, and nobody says otherwise
    assert tiles[desk.id_of("b")] == ("works", "$ pytest -q", False)
    tiles = {tile.id: said(tile) for tile in desk.look(watch, 90)}
    assert tiles[desk.id_of("b")] == ("ended", "in the middle", False)
    assert tiles[desk.id_of("a")] == ("waits", "permission", False)


def test_of_an_environment_only_named_variables_are_given(desk: Desk) -> None:
    desk.runs("a")
    processes = Processes(desk.proc)
    processes.look(desk.now)
    process = processes.find(desk.pid_of("a"))
    assert process is not None
    assert processes.variables(process, ("PWD",)) == {"PWD": desk.root}
    assert processes.variables(process, ()) == {}


def test_two_sessions_that_touch_one_file_say_so(desk: Desk) -> None:
    for name in "ab":
        desk.runs(name)
        desk.prompts(name, f"Prompt {name}")
        desk.states(name, "busy")
    desk.uses("a", "Edit", file_path=f"{desk.root}/src/x.py", old_string="1", new_string="2")
    desk.uses("b", "Read", file_path=f"{desk.root}/src/x.py")
    desk.uses("b", "Read", file_path=f"{desk.root}/src/y.py")
    desk.uses("a", "Read", file_path=f"{desk.root}/src/y.py")
    watch = desk.watch()
    desk.look(watch)
    tiles = {tile.title: tile for tile in desk.look(watch)}
    a, b = tiles["Prompt a"], tiles["Prompt b"]
    assert a.shared == (Shared("src/x.py", ("Prompt b",), (b.id,)),)
    assert b.shared == (Shared("src/x.py", ("Prompt a",), (a.id,)),)


def test_two_still_samples_and_no_fewer() -> None:
    stillness = Stillness()
    assert [stillness.measure("a", 0, 0, now) for now in (0.0, 1.0, 2.0, 3.0, 4.0)] == [None, None, None, None, True]
    assert [stillness.measure("a", 0, written, now) for written, now in ((5000, 6.0), (9000, 8.0))] == [True, False]
    assert stillness.measure("a", 1, 5000, 8.0) is None  # it does something else


def test_what_a_person_types_ends_no_stillness() -> None:
    stillness = Stillness()
    typed = ((0, 0.0), (0, 2.0), (0, 4.0), (1000, 5.0), (1000, 7.0), (1300, 9.0), (1300, 11.0))
    assert [stillness.measure("a", 0, written, now) for written, now in typed] == [None, None, *[True] * 5]


def test_a_wait_is_the_same_one_whatever_records_come_meanwhile() -> None:
    call = Call("Bash", "$ make", 5.0, "shell", None, None, ())
    waits, later = Turn((call,), since=5.0), Turn((call,), since=7.0)
    assert waits.phase == later.phase
    assert waits.phase != Turn((call._replace(since=6.0),), since=7.0).phase
    assert Turn(since=5.0).phase != Turn(since=7.0).phase


@pytest.mark.parametrize(("ago", "does"), [(0.5, Does.WORKS), (5.0, Does.DONE)])
def test_a_prompt_is_newer_than_a_status_without_a_time(ago: float, does: Does) -> None:
    link = Evidence(alive=True, stated=Stated("s", 1, status=Status.DONE))
    assert judge("Copilot CLI", [Turn(since=100.0 - ago)], link, now=100.0, live=True).does is does


def test_a_command_runs_since_it_was_let_through(desk: Desk) -> None:
    desk.runs("a")
    desk.prompts("a")
    desk.uses("a")
    desk.states("a", "waiting", "permission prompt")
    watch = desk.watch()
    desk.look(watch, 40)
    desk.states("a", "busy")
    (tile,) = desk.look(watch)
    assert (said(tile), tile.state.since) == (("works", "$ pytest -q", True), pytest.approx(desk.now - 1.1))
    desk.now += 5
    desk.spawns("a")
    (tile,) = desk.look(watch)
    assert tile.state.source == "a process of it runs" and tile.state.since == pytest.approx(desk.now - 1.1, abs=0.02)


def test_it_is_known_whether_a_verdict_hangs_on_a_still_terminal(desk: Desk) -> None:
    desk.runs("a")
    desk.prompts("a")
    watch = desk.watch()
    desk.look(watch)
    assert not watch.is_measuring  # that it thinks is sure
    desk.uses("a")
    measuring = []
    for _ in range(4):
        desk.draws("a", 0)
        desk.look(watch, 2.1)
        measuring.append(watch.is_measuring)
    assert measuring == [True, True, True, False]


# -- laws --------------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["prompts", "says", "uses", "busy", "idle", "waiting", "runs", "stops", "ends", "spawns"]),
    ),
    max_size=10,
)


def act(desk: Desk, name: str, step: str) -> None:
    """Let a session do something, in whatever order."""
    if not desk.path(name).exists():
        desk.prompts(name, f"Prompt {name}")
    match step:
        case "busy" | "idle" | "waiting":
            desk.states(name, step, "permission prompt" if step == "waiting" else "")
        case "ends":
            desk.ends(desk.pid_of(name))
        case "stops":
            desk.runs(name, state="T")
        case _:
            getattr(desk, step)(name)


@settings(max_examples=25)
@given(STEPS)
def test_tiles_keep_their_laws(steps: list[tuple[str, str]]) -> None:
    """A tile moves only when its need changes, and a verdict depends on files and processes alone: who looks for the
    first time sees what they see who looked on, but for when something ended.
    """

    def seen_by(watch: Watch) -> dict[Path, State]:
        return {
            tile.path: replace(tile.state, since=None) if tile.state.does is Does.ENDED else tile.state
            for tile in desk.look(watch, 0)
        }

    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        watch = desk.watch()
        before: list[Tile] = []
        for name, step in steps:
            act(desk, name, step)
            now = desk.look(watch, 0.2)
            needs = {tile.path: tile.state.need for tile in now}
            kept = [tile.path for tile in before if needs.get(tile.path) == tile.state.need]
            assert [tile.path for tile in now if tile.path in kept] == kept
            assert [tile.state.need for tile in now] == sorted(needs.values())
            before = now
        for name in "abc":  # no terminals: stillness takes time to measure
            (desk.proc / str(desk.pid_of(name)) / "io").unlink(missing_ok=True)
        desk.look(watch)  # which process is whose is told by what was read before
        desk.look(watch)
        seen, fresh = seen_by(watch), desk.watch()
        desk.look(fresh, 0)
        assert seen_by(fresh) == seen
        watch.close()
        fresh.close()


CALLS = st.builds(
    Call,
    st.just("tool"), st.just("$ pytest"), st.none() | st.floats(0, 100), st.sampled_from(get_args(ToolType)),
    st.none() | st.sampled_from(Wait), st.none() | st.just(False) | st.sampled_from(Wait), st.just((Ask("Run it?"),)),
)  # fmt: skip
TURNS = st.builds(
    Turn, st.lists(CALLS, max_size=3).map(tuple), st.booleans(), st.just("answered"), st.booleans(),
    st.none() | st.floats(0, 100), st.none() | st.sampled_from(Wait),
)  # fmt: skip
STATED = st.builds(
    Stated, st.just("id"), status=st.sampled_from(Status), wait=st.none() | st.sampled_from(Wait),
    since=st.none() | st.floats(0, 100),
)  # fmt: skip
EVIDENCE = st.builds(
    Evidence, alive=st.none() | st.booleans(), stopped=st.booleans(), silent=st.booleans(), late=st.booleans(),
    runs=st.lists(st.tuples(st.just("bash"), st.floats(0, 100)), max_size=2).map(tuple),
    still=st.none() | st.booleans(), stated=st.none() | STATED,
)  # fmt: skip


@settings(max_examples=50)
@given(st.lists(TURNS, min_size=1, max_size=3), EVIDENCE, st.booleans())
def test_a_verdict_names_its_source(turns: list[Turn], evidence: Evidence, live: bool) -> None:
    state = judge("An agent", turns, evidence, now=200.0, live=live)
    assert state.source
    assert state.what or (state.does is Does.DONE and not turns[0].over)
    asking = any(call.wait or call.told for each in turns for call in each.calls) or turns[0].wait
    said = evidence.stated is not None and evidence.stated.status is Status.WAITS
    if state.does is Does.WAITS:
        assert evidence.alive is not False
        assert not evidence.stopped
        assert said or asking or not state.certain
    if not evidence.alive and not live:
        assert not (state.does is Does.WAITS and state.certain)


# -- notices -----------------------------------------------------------------------------------------------------------


def test_who_begins_to_wait_is_told_once(desk: Desk, tmp_path: Path) -> None:
    written: list[str] = []
    script = tmp_path / "told.sh"
    script.write_text('#!/bin/sh\necho "$TURNLOG_WHAT|$TURNLOG_ASKS|$TURNLOG_CERTAIN|$#" >> "$OUT"\n')
    script.chmod(0o700)
    out = tmp_path / "out"
    notices = Notices(
        written.append,
        bell=True,
        notify=True,
        command=f"{script} --quietly",
        environ={"OUT": str(out), "PATH": ""},
        clock=lambda: desk.now,
    )
    desk.runs("a")
    desk.prompts("a")
    desk.uses("a", command="rm -rf '$(x)'; echo \x1b]0;x\x07")
    desk.states("a", "busy")
    watch = desk.watch()
    assert notices.look(desk.look(watch)) == []
    desk.states("a", "waiting", "permission prompt")
    assert len(notices.look(desk.look(watch))) == 1
    assert notices.look(desk.look(watch)) == []
    wait_until(lambda: out.exists() and bool(out.read_text()))
    assert out.read_text() == "permission|$ rm -rf '$(x)'; echo|yes|1\n"
    assert written[1:] == ["\a"]
    assert re.fullmatch(r"\x1b]9;turnlog: shop waits for you: a permission: [^\x00-\x1f\x7f]*\x07", written[0])


def test_a_session_that_waited_before_rings_no_bell(desk: Desk) -> None:
    written: list[str] = []
    desk.runs("a")
    desk.prompts("a")
    desk.uses("a")
    desk.states("a", "waiting", "permission prompt")
    Notices(written.append, bell=True, clock=lambda: desk.now).look(desk.look(desk.watch()))
    assert written == []


def test_a_wait_that_had_to_be_measured_first_began_before(desk: Desk) -> None:
    """It is told once, when it is known, and rings no bell; the next one does."""
    written: list[str] = []
    desk.runs("a")
    desk.prompts("a")
    desk.uses("a")
    watch, notices = desk.watch(), Notices(written.append, bell=True, clock=lambda: desk.now)
    printer, lines = _Printer(True), list[str]()
    with patch("viewer.commands.watch.write_json", lambda line: lines.append(line["state"])):
        for _ in range(4):
            desk.draws("a", 0)
            tiles = desk.look(watch, 2.1)
            printer.print(tiles)
            notices.look(tiles)
    assert (lines, written) == (["waits"], [])
    desk.prompts("a", "Go on")
    desk.uses("a")
    for _ in range(5):
        desk.draws("a", 0)
        notices.look(desk.look(watch, 2.1))
    assert written == ["\a"]


def test_a_session_that_waits_since_long_is_found_by_the_directory_of_its_process(desk: Desk) -> None:
    """However quiet it is, and though sessions of other directories are newer."""
    for name in "ab":
        desk.root = f"/home/dev/{name}"
        desk.prompts(name)
        desk.uses(name, "AskUserQuestion", questions=[{"question": f"Which {name}?"}])
        desk.runs(name)
    desk.now += 1000
    desk.root = "/home/dev/c"
    desk.prompts("c")
    seen = []
    watch = desk.watch()
    for _ in range(3):
        seen.append([said(tile)[:2] for tile in desk.look(watch, 0.01) if tile.id != desk.id_of("c")])
    assert seen[-1] == [("waits", "question")] * 2
    assert all(one in ([], seen[-1]) for one in seen)  # nothing else was said of them


@pytest.mark.parametrize(
    ("environ", "begins"),
    [
        ({}, "\x1b]9;turnlog: a;b"),
        ({"VTE_VERSION": "7000"}, "\x1b]777;notify;a,b;text\x07"),
        ({"TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;turnlog: a;b"),
    ],
)
def test_a_terminal_is_asked_in_its_own_way(environ: dict[str, str], begins: str) -> None:
    assert terminal_notice("a;b", "text", environ).startswith(begins)


def test_an_empty_command_is_refused_and_that_no_session_runs_is_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for command in ("", " "):
        result = machine.run("watch", "--once", "--exec", command)
        assert (result.code, result.out, result.err) == (2, "", "turnlog: --exec: which command?\n")
    result = machine.run("watch", "--once")
    assert (result.code, result.out, result.err) == (1, "", "turnlog: no session runs\n")


@pytest.mark.parametrize("command", ["no-such-program-here", "'"])
def test_a_command_that_cannot_be_run_is_said_at_once(command: str) -> None:
    with pytest.raises(CallError, match="--exec"):
        Notices(print, command=command)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.to_now(machine.session("11111111-2222-4333-8444-555555555555", ["Mend it", "It shines again"]))
    return machine


def test_once_prints_what_there_is_and_ends(machine: Machine) -> None:
    result = machine.run("watch", "--json", "--once")
    (line,) = [json.loads(line) for line in result.out.splitlines()]
    assert (result.code, line["provider"], line["id"][:8], line["tokens"]) == (0, "claude", "11111111", 3)
    assert (line["title"], line["project"], line["branch"]) == ("Mend it", "lamp-shop", "main")
    assert line["state"] in ("done", "ended")
    assert line["what"] == "answered"
    assert "lamp-shop (claude): " in machine.run("watch", "--once").out


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is another thing there")
@pytest.mark.parametrize("how", ["interrupt", "closed pipe"])
def test_a_line_a_change_until_it_is_told_to_stop(machine: Machine, how: str) -> None:
    command = [sys.executable, "-m", "viewer", "watch", "--json"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=machine.env, cwd=machine.home, stdout=pipe, stderr=pipe, bufsize=0)
    assert process.stdout is not None
    assert process.stderr is not None
    first = json.loads(process.stdout.readline())
    assert first["id"].startswith("11111111")
    made = machine.to_now(machine.session("22222222-2222-4333-8444-555555555555", ["Another", "Yes"]))
    while not json.loads(process.stdout.readline())["id"].startswith("22222222"):
        pass
    if how == "interrupt":
        os.kill(process.pid, signal.SIGINT)
    else:
        process.stdout.close()
    assert process.wait(LIMIT) == 0
    assert process.stderr.read() == b""
    assert made.exists()
    process.stderr.close()


def test_no_session_is_no_tile(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert tiles_now(desk.env, desk.proc) == []
    assert State(Does.WAITS).need < State(Does.WAITS, certain=False).need < State(Does.STOPPED).need

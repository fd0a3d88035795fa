"""A followed session is cleared, and another takes its place; subagents and the last exchange are at work."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import SystemCommand
from textual.pilot import Pilot

from schemas.message import Flag, Kind, Tool, ToolStatus
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage
from tests.support import Hand
from tests.viewer.machine import Machine
from tests.viewer.test_tail import answer
from tests.viewer.transcripts import bare, lines, story, transcript
from tests.waiting import until
from viewer.follow import family as followset
from viewer.follow.follower import Follower, Within
from viewer.screens.transcript import TranscriptScreen
from viewer.sessions.freshness import is_live
from viewer.transcript.status import running_exchange
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"
NOW = 1_780_000_000.0
CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(followset, "_LOOK_EVERY", 0.0)
    return Machine(tmp_path)


@asynccontextmanager
async def followed(path: Path, *, follow: bool = True, loose: bool = False) -> AsyncIterator[Pilot[None]]:
    screen = TranscriptScreen(Follower(path, from_end=follow), follow=follow, loose=loose)
    async with bare(screen).run_test(size=(100, 24)) as pilot:
        await pilot.pause(0.2)
        yield pilot


async def seen(pilot: Pilot[None], words: str) -> bool:
    """True once the words come onto the screen."""
    await until(pilot, lambda: words in shown(pilot), lambda: shown(pilot))
    return True


def shown(pilot: Pilot[None]) -> str:
    screen = pilot.app.screen
    title = screen.query_one("#title", TitleBar).render().plain
    return "\n".join([title, *lines(screen.query_one(TranscriptView))])


async def test_a_session_that_is_cleared_goes_on_in_the_next(machine: Machine) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines"])
    async with followed(path) as pilot:
        machine.session(TWO, [CLEAR, "", "Now the chair", "It stands"], minute=5, folder=path.parent.name)
        assert await seen(pilot, "It stands")
        assert len(pilot.app.screen_stack) == 2
        # The way back: the old one stays as it was, and does not jump away again.
        await pilot.press("q")
        assert await seen(pilot, "It shines")
        await pilot.pause(0.3)
        assert len(pilot.app.screen_stack) == 1
        assert "a new session began at" in shown(pilot)
        await pilot.press("f")
        assert await seen(pilot, "It stands")


async def test_who_reads_further_up_is_told_and_not_moved(machine: Machine) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines " * 400])
    async with followed(path) as pilot:
        await pilot.press("g")
        machine.session(TWO, [CLEAR, "", "Now the chair", "It stands"], minute=5, folder=path.parent.name)
        assert await seen(pilot, "f opens it")
        assert len(pilot.app.screen_stack) == 1
        await pilot.press("f")
        assert await seen(pilot, "It stands")


@pytest.mark.parametrize("loose", [True, False])
async def test_any_new_session_is_followed_only_where_none_was_named(machine: Machine, loose: bool) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines"])
    async with followed(path, loose=loose) as pilot:
        new = machine.session(TWO, ["Something else", "Gladly"], minute=5, folder=path.parent.name)
        if loose:
            assert await seen(pilot, "Gladly")
            # The next one is followed in its turn.
            answer(new, "FRESH")
            assert await seen(pilot, "FRESH")
        else:
            await pilot.pause(0.5)
            assert len(pilot.app.screen_stack) == 1
            assert "It shines" in shown(pilot)


async def test_nothing_opens_above_a_dialog(machine: Machine) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines"])
    async with followed(path) as pilot:
        await pilot.press("x")
        machine.session(TWO, [CLEAR, "", "Now the chair", "It stands"], minute=5, folder=path.parent.name)
        await pilot.pause(0.4)
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("escape")
        assert await seen(pilot, "It stands")


async def test_a_new_subagent_is_linked_and_what_it_does_is_told(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr("viewer.screens.transcript._FAMILY_EVERY", 0.0)
    hand = story(1)
    path = machine.session(ONE, ["look around", "one", "two", "three"])
    index = hand.tool(
        Tool("Task", "task", "t", {"prompt": "look", "description": "Look around"}, status=ToolStatus.PENDING),
        flags=Flag.SUBAGENT | Flag.PENDING,
    )
    async with transcript(hand, follow=True) as (pilot, view, written):
        written.live = True
        hand.session.subagents.append(Subagent("a1", path=path, tool_use=index))
        written.write(lambda h: h.note(Kind.NOTE, "started"))
        await until(pilot, lambda: "4 messages · 6" in next(line for line in lines(view) if "Look around" in line))
        assert "running" in next(line for line in lines(view) if "Look around" in line)
        answer(path, "MORE")
        await until(pilot, lambda: any("5 messages" in line for line in lines(view)))


# -- what runs ---------------------------------------------------------------------------------------------------------


def turn(*kinds: Kind) -> Session:
    hand = Hand()
    hand.prompt("go")
    for kind in kinds:
        hand.add(kind, opener="x" if kind is Kind.PROMPT else None)
    return hand.session


@pytest.mark.parametrize(
    ("kinds", "running"),
    [
        ([], 0),
        ([Kind.TOOL], 0),
        ([Kind.TEXT, Kind.THINKING, Kind.NOTE, Kind.CONTEXT], 0),
        ([Kind.TEXT], -1),
        ([Kind.TEXT, Kind.NOTE], -1),
        ([Kind.TOOL, Kind.INTERRUPT], -1),
        ([Kind.TOOL, Kind.ERROR], -1),
        ([Kind.TEXT, Kind.PROMPT], 1),
    ],
)
def test_what_is_at_work(kinds: list[Kind], running: int) -> None:
    session = turn(*kinds)
    assert running_exchange(session, True) == running
    assert running_exchange(session, False) == -1
    session.exchanges[-1].seconds = 3.0  # the source says that it is over
    assert running_exchange(session, True) == -1


@pytest.mark.parametrize(
    ("touched", "newest", "live"),
    [
        (NOW - 5, NOW - 5, True),
        (NOW - 5, NOW - 500, True),  # a record without a time was the last
        (NOW - 5, None, False),  # its source has no times: it may be a copy
        (NOW - 5, NOW + 30, True),  # another clock
        (NOW - 5, NOW - 3600, False),  # copied or restored a moment ago
        (NOW - 5, NOW + 172_800, False),  # a time nobody can have written at
        (NOW - 90, NOW - 90, False),
        (None, NOW, False),
    ],
)
def test_what_is_being_written(touched: float | None, newest: float | None, live: bool) -> None:
    assert is_live(touched, newest, NOW) is live


async def test_following_what_nobody_writes_is_waiting(machine: Machine) -> None:
    path = machine.session(ONE, ["look around", "one"])
    for expected in ("waiting for more", "following", "waiting for more"):
        if expected == "following":
            machine.to_now(path)
        elif path.stat().st_mtime > time.time() - 60:
            os.utime(path, (time.time() - 100,) * 2)
        screen = TranscriptScreen(Follower(path), follow=True)
        async with bare(screen).run_test(size=(120, 24)) as pilot:
            await pilot.pause(0.3)
            assert str(screen.query_one("#title", TitleBar).right).endswith(f"  {expected}")


async def test_the_last_exchange_is_running_until_it_is_answered() -> None:
    hand = story(2)
    hand.prompt("and now?")
    async with transcript(hand, follow=True) as (pilot, view, written):
        written.live = True
        await until(pilot, lambda: "running" in next(line for line in lines(view) if "and now?" in line))
        written.write(lambda h: h.text("this", usage=TokenUsage(1, 2)))
        await until(pilot, lambda: "running" not in next(line for line in lines(view) if "and now?" in line))
        header = next(line for line in lines(view) if "and now?" in line)
        assert "5 s" in header


async def test_a_file_from_yesterday_runs_no_more(tmp_path: Path) -> None:
    path = Machine(tmp_path).session(ONE, ["Fix the lamp"])
    os.utime(path, (time.time() - 86_400,) * 2)
    async with followed(path) as pilot:
        assert "Fix the lamp" in shown(pilot)
        assert "running" not in shown(pilot)


# -- other sessions of a document --------------------------------------------------------------------------------------


async def test_sessions_that_no_call_leads_to_stand_in_the_palette(tmp_path: Path) -> None:
    from viewer.screens.app import TurnlogApp

    kind = "https://toolpath.net/kinds/agent-coding-session/v1.1.0"

    def talk(name: str) -> dict[str, object]:
        said = {"structural": {"type": "conversation.append", "role": "user", "text": f"ask {name}"}}
        step = {
            "step": {"id": name, "actor": "human:user", "timestamp": "2026-06-01T10:00:00Z"},
            "change": {"a://b": said},
        }
        return {"path": {"id": name, "head": name}, "steps": [step], "meta": {"kind": kind}}

    file = tmp_path / "two.path.json"
    file.write_text(json.dumps({"graph": {"id": "g"}, "paths": [talk("one"), talk("two")]}))
    app = TurnlogApp()
    async with app.run_test(size=(100, 24)) as pilot:
        app.push_screen(TranscriptScreen(Follower(file)))
        await seen(pilot, "ask one")
        command = next(c for c in pilot.app.get_system_commands(pilot.app.screen) if c.title.startswith("Open "))
        assert "another session" in command.help
        command.callback()
        assert await seen(pilot, "ask two")


def named(pilot: Pilot[None], title: str) -> SystemCommand:
    return next(c for c in pilot.app.get_system_commands(pilot.app.screen) if c.title == title)


async def test_a_helper_that_is_a_path_of_a_document_stands_in_the_palette(tmp_path: Path) -> None:
    from schemas.interchange.toolpath_write import to_toolpath
    from viewer.screens.app import TurnlogApp

    hand, helper = Hand(), Hand(session_id="helper")
    hand.prompt("go")
    helper.prompt("make it short")
    hand.session.subagents.append(Subagent("acompact-1", session=helper.session, internal=True))
    file = tmp_path / "helped.path.json"
    file.write_bytes(b"".join(to_toolpath(hand.session)))
    app = TurnlogApp()
    async with app.run_test(size=(100, 24)) as pilot:
        app.push_screen(TranscriptScreen(Follower(file)))
        await until(pilot, lambda: named(pilot, "Open path-claude-code-helper"))
        named(pilot, "Open path-claude-code-helper").callback()
        assert await seen(pilot, "make it short")


async def test_a_subagent_within_its_parents_file_grows_while_one_reads_it() -> None:
    inner = Hand()
    inner.prompt("look around")
    call = inner.tool(Tool("Bash", "shell", "b", {"command": "ls"}), flags=Flag.PENDING)
    screen = TranscriptScreen(Within(Subagent("agent-1", session=inner.session), inner.session))
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        view = screen.query_one(TranscriptView)
        await until(pilot, lambda: any("$ ls" in row for row in lines(view)))
        inner.session.messages.flags[call] &= ~Flag.PENDING
        inner.session.note_change(call)
        inner.text("found it")
        await until(pilot, lambda: any("found it" in row for row in lines(view)))


async def test_what_a_followed_session_does_stands_below(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    path = machine.to_now(machine.session(ONE, ["go", "one"]))
    record = json.loads(path.read_text().splitlines()[-1])
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sleep 60"}}
    record |= {"uuid": "next", "parentUuid": record["uuid"]}
    record["message"] |= {"id": "next", "content": [use]}
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    screen = TranscriptScreen(Follower(path), follow=True)
    async with bare(screen).run_test(size=(120, 24)) as pilot:
        status = screen.query_one("#status", TitleBar)
        await until(pilot, lambda: "perhaps $ sleep 60" in str(status.left))
        assert "tokens" in str(status.left)
        await pilot.press("k")  # who reads on follows no more
        await until(pilot, lambda: "sleep" not in str(status.left))

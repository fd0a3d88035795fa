"""The screen of what comes on standard input: what it says, what leaving asks, what is saved."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support import Hand
from tests.viewer.pipes import BEGIN, END, said
from tests.viewer.transcripts import Written, lines
from tests.waiting import until
from viewer.follow.pipe import Spool, StreamFollower
from viewer.screens.app import TurnlogApp
from viewer.screens.dialog import LeaveScreen, PathPrompt
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar


class Live:
    """The screen, and the agent's end of the pipe."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self.spool = Spool(reading)
        self.say(BEGIN + said(0, "FIRST"))
        self.spool.wait_for_session()
        self.app = TurnlogApp(spool=self.spool)
        follower = StreamFollower(self.spool)
        self.screen = TranscriptScreen(follower, follow=True, stream=follower)
        self.app.start_with(self.screen)
        self.pilot: Pilot[None]

    def say(self, data: bytes) -> None:
        os.write(self._writing, data)

    def end(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    @property
    def title(self) -> str:
        return self.screen.query_one("#title", TitleBar).right.plain

    @property
    def text(self) -> str:
        return "\n".join(lines(self.screen.query_one(TranscriptView)))

    async def until(self, holds: Callable[[], bool]) -> None:
        await until(self.pilot, holds, lambda: f"never; there was {self.title!r} over {self.text!r}")


@asynccontextmanager
async def live() -> AsyncIterator[Live]:
    one = Live()
    try:
        async with one.app.run_test(size=(80, 24)) as pilot:
            one.pilot = pilot
            await one.until(lambda: "FIRST" in one.text)
            yield one
    finally:
        one.end()
        one.spool.close()


def is_asked(app: TurnlogApp) -> bool:
    return isinstance(app.screen, LeaveScreen)


async def test_what_comes_is_shown_and_the_end_is_said() -> None:
    async with live() as one:
        await one.until(lambda: "live · following" in one.title)
        one.say(said(1, "SECOND"))
        await one.until(lambda: "SECOND" in one.text)
        assert "new since" not in one.text  # all of it is
        await one.pilot.press("g")
        assert one.title.endswith("live")
        one.say(END[:-5])
        one.end()
        await one.until(lambda: "stream ended" in one.title)
        status = one.screen.query_one("#status", TitleBar)
        await one.until(lambda: "unreadable: line 5" in status.left.plain)


@pytest.mark.parametrize("keys", [["q"], ["ctrl+q"], ["ctrl+c", "ctrl+c"]])
async def test_leaving_asks_while_the_agent_writes(keys: list[str]) -> None:
    async with live() as one:
        await one.pilot.press(*keys)
        await one.until(lambda: is_asked(one.app))
        await one.pilot.press("ctrl+q", "ctrl+c")  # a key held too long is no answer
        assert is_asked(one.app)
        assert len(one.app.screen_stack) == 2
        await one.pilot.press("escape")
        assert one.app.screen is one.screen
        one.say(said(1, "SECOND"))
        await one.until(lambda: "SECOND" in one.text)


async def test_the_palette_asks_too() -> None:
    async with live() as one:
        (quit_it,) = [c for c in one.app.get_system_commands(one.app.screen) if c.title == "Quit"]
        await quit_it.callback()
        await one.until(lambda: is_asked(one.app))


@pytest.mark.parametrize(("key", "drain"), [("y", False), ("d", True)])
async def test_the_answer_leaves(key: str, drain: bool) -> None:
    async with live() as one:
        await one.pilot.press("q")
        await one.until(lambda: is_asked(one.app))
        await one.pilot.press(key)
        await one.until(lambda: one.app._exit)
        assert one.app.drain is drain


async def test_after_the_end_leaving_asks_nothing() -> None:
    async with live() as one:
        one.end()
        await one.until(lambda: "stream ended" in one.title)
        await one.pilot.press("q")
        await one.until(lambda: one.app._exit)
        assert not one.app.drain


async def test_an_end_that_comes_while_the_question_stands_is_said() -> None:
    async with live() as one:
        await one.pilot.press("q")
        await one.until(lambda: is_asked(one.app))
        title = one.app.screen.query_one("#dialog-title", Static)
        assert "still writing" in str(title.content)
        one.end()
        await one.until(lambda: "has ended" in str(title.content))
        await one.pilot.press("y")
        await one.until(lambda: one.app._exit)


async def test_what_came_is_saved_as_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with live() as one:
        await one.pilot.press("s")
        await one.until(lambda: isinstance(one.app.screen, PathPrompt))
        box = one.app.screen.query_one("#path", Input)
        assert box.value.startswith("stream-")
        assert "turnlog-" not in box.value
        box.value = "half.jsonl"
        await one.pilot.press("enter")
        await one.until((tmp_path / "half.jsonl").exists)
        await one.until(lambda: any("still writing" in n.message for n in one.app._notifications))
        assert (tmp_path / "half.jsonl").read_bytes() == BEGIN + said(0, "FIRST")
        one.say(END)
        one.end()
        await one.until(lambda: "stream ended" in one.title)
        await one.pilot.press("s")
        await one.until(lambda: isinstance(one.app.screen, PathPrompt))
        one.app.screen.query_one("#path", Input).value = "half.jsonl"
        await one.pilot.press("enter")
        await one.until(lambda: bool(one.app.screen.query("#dialog-note")))  # no file is written over
        one.app.screen.query_one("#path", Input).value = "whole.jsonl"
        await one.pilot.press("enter")
        await one.until((tmp_path / "whole.jsonl").exists)
        assert (tmp_path / "whole.jsonl").read_bytes() == BEGIN + said(0, "FIRST") + END


async def test_saving_from_the_question_goes_back_to_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with live() as one:
        await one.pilot.press("q")
        await one.until(lambda: is_asked(one.app))
        await one.pilot.press("s")
        await one.until(lambda: isinstance(one.app.screen, PathPrompt))
        await one.pilot.press("enter")
        await one.until(lambda: list(tmp_path.glob("stream-*.jsonl")) != [])
        assert one.app.screen is one.screen


async def test_a_session_in_a_file_need_not_be_saved() -> None:
    app = TurnlogApp()
    hand = Hand()
    hand.prompt("one")
    app.start_with(TranscriptScreen(Written(hand)))
    async with app.run_test() as pilot:
        await pilot.press("s")
        await until(pilot, lambda: [n for n in app._notifications if "is a file already" in n.message])
        await pilot.press("q")
        await until(pilot, lambda: app._exit)

"""A transcript screen over a session made by hand, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from schemas.diffs import FileDiff, Hunk
from schemas.message import Flag, Kind, Tool, ToolStatus
from schemas.session import Change, Op, Session
from schemas.usage import TokenUsage
from tests.support import Hand
from viewer.screens.app import TurnlogApp
from viewer.screens.config_keys import Config
from viewer.screens.state import State
from viewer.screens.themes import DARK
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView


class Written:
    """Stands in for a Follower: what `write` adds comes with the next poll."""

    missing = False
    trouble = ""
    live = False
    unfinished: int | None = None
    ahead = None

    def __init__(self, hand: Hand, loaded: bool = True) -> None:
        self.hand = hand
        self.session: Session = hand.session
        self.loaded = loaded
        self.sources: list[Path] = []
        self.closed = False
        self._waiting: list[Change] = []

    def step(self, seconds: float = 0.004) -> list[Change]:
        self.loaded = True
        return [Change(Op.APPENDED, i) for i in range(len(self.session.messages))]

    def poll(self) -> list[Change]:
        waiting, self._waiting = self._waiting, []
        return waiting

    def write(self, add: Callable[[Hand], int]) -> int:
        index = add(self.hand)
        self._waiting.append(Change(Op.APPENDED, index))
        return index

    def restart(self, hand: Hand) -> None:
        self.hand, self.session = hand, hand.session
        self._waiting.append(Change(Op.RESTARTED))

    def close(self) -> None:
        self.closed = True


def bare(screen: Screen[None], state: State | None = None) -> Any:
    """The program with nothing but a screen; what is copied is kept in `copied`."""
    app: Any = TurnlogApp(Config(theme=DARK.name), state=state)
    app.start_with(screen)
    app.copied = []
    app.copy_to_clipboard = app.copied.append
    return app


@asynccontextmanager
async def transcript(
    hand: Hand, *, follow: bool = False, size: tuple[int, int] = (80, 24), state: State | None = None, **options: Any
) -> AsyncIterator[tuple[Pilot[None], TranscriptView, Written]]:
    """The screen, mounted and read; `options` are its own."""
    written = Written(hand)
    screen = TranscriptScreen(written, follow=follow, **options)
    async with bare(screen, state).run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot, screen.query_one(TranscriptView), written


def lines(view: TranscriptView) -> list[str]:
    """What stands on the screen."""
    return [view.render_line(y).text.rstrip() for y in range(view.height_of_page)]


def story(exchanges: int = 3) -> Hand:
    """A session with some of everything."""
    hand = Hand()
    for n in range(exchanges):
        hand.prompt(f"prompt number {n}")
        hand.thinking(f"thought {n} " * 8)
        hand.text(f"answer {n} says **why**.\n\n" + "A sentence of an answer. " * 12, usage=TokenUsage(10, 20, 30, 40))
        hand.tool(
            Tool("Bash", "shell", f"b{n}", {"command": f"pytest -q {n}"}, text="\n".join(f"row {i}" for i in range(40)),
                 exit_code=1, seconds=41, status=ToolStatus.ERROR),
            flags=Flag.ERROR,
        )  # fmt: skip
        hand.tool(
            Tool("Edit", "write", f"e{n}", {"file_path": "/home/dev/lamp-shop/a.py"},
                 diffs=[FileDiff("a.py", "update", [Hunk([" keep", "-old", "+new"], 7, 7)])])
        )  # fmt: skip
        hand.note(Kind.CONTEXT, "reminder", "be brief\n" * 5)
    return hand

"""Searching in a transcript: the part of its screen that looks for words."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from textual.actions import SkipAction
from textual.screen import Screen

from schemas.clean import one_line
from schemas.session import Session
from viewer.matching import search_key
from viewer.transcript.layout import Position
from viewer.transcript.source import SLICE
from viewer.transcript.view import TranscriptView

if TYPE_CHECKING:
    from textual.worker import WorkType

    from viewer.screens.find_bar import FindBar
    from viewer.transcript.find import Finder
    from viewer.transcript.moves import Moves

_FEW = 20
"""So many messages that changed or came are searched at once."""


class FindingScreen(Screen[None]):
    """A screen over a transcript, in which one can search. The find bar is mounted when it is first asked for."""

    def __init__(self, view: TranscriptView) -> None:
        super().__init__()
        self._view = view
        self._finder: Finder | None = None
        self._find_bar: FindBar | None = None
        self._find_from = (Position(0, 0), Position(0, 0))

    @property
    def session(self) -> Session:
        """The session on the screen."""
        return self._view.session

    def _say(self, text: str) -> None:
        self.app.notify(text, markup=False, timeout=4)

    async def action_search(self) -> None:
        """Ask what to look for. Its key has priority, so that the bar is there before the next key is given out; in
        the bar it is a letter like others.
        """
        from viewer.screens.find_bar import FindBar

        if self._find_bar is not None and self.focused is self._find_bar.box:
            raise SkipAction
        self._find_from = (self._view.top, self._view.cursor)
        if self._find_bar is None:
            self._find_bar = FindBar()
            # Waited for, so that the next letters go there and do not fold or move anything.
            await self.mount(self._find_bar, before="#status")
        self._find_bar.box.ask()
        self.set_focus(self._find_bar.box)

    def on_find_bar_changed(self, event: FindBar.Changed) -> None:
        """Search while it is typed."""
        if self._find_bar is not None:
            self._look_for(event.query)

    def on_find_bar_given(self) -> None:
        """Go on reading at the hit."""
        self.set_focus(self._view)
        if not self._view.sought:
            self._end_search()
        else:
            self._show_count()

    def on_resize(self) -> None:
        """Lines are cut elsewhere now."""
        if self._finder is not None:
            self.call_after_refresh(self._search_again)

    def _look_for(self, query: str) -> None:
        self._view.look_for(search_key(query) if query.strip() else "")
        self.workers.cancel_group(self, "find")
        self._finder = None
        if not self._view.sought:
            self._show_count()
            return
        from viewer.transcript.find import Finder

        self._finder = Finder(self.session, query, self._find_from[1].block, lambda: self._view.look)
        self._work(partial(self._search, self._finder), "find")

    def _work(self, work: WorkType[None], group: str) -> None:
        """Begin work in place of the group's other work. Not a coroutine: one that is cancelled before it begins is
        never awaited, and Python complains at the end.
        """
        self.run_worker(work, group=group, exclusive=True)

    def _search_again(self, moves: Moves | None = None) -> None:
        """What was found counts no more: the session changed, or took another one's place (`moves`)."""
        if moves is not None:
            top, cursor = self._find_from
            self._find_from = Position(moves.near(top.block), top.line), Position(moves.near(cursor.block), cursor.line)
        if (old := self._finder) is None:
            return
        from viewer.transcript.find import Finder

        finder = self._finder = Finder(self.session, old.query, self._view.cursor.block, lambda: self._view.look)
        self._work(partial(self._search, finder, go=not old.done and not old.hits), "find")

    def _search_on(self, changed: list[int], new: list[int]) -> None:
        """Search messages that changed or are new."""
        finder = self._finder
        if finder is None:
            return
        if len(changed) + len(new) <= _FEW:
            finder.renew([*changed, *new])
            self._show_count()
        else:
            finder.forget(changed)
            if finder.done:
                self._work(partial(self._search, finder, go=False), "find")

    async def _search(self, finder: Finder, *, go: bool = True) -> None:
        """Look at all of the session; with `go`, go to the first hit as soon as there is one."""
        await asyncio.sleep(0.05)  # the next letter may be on its way
        self._show_count()
        went = not go
        last = time.monotonic()
        begun = time.perf_counter()
        for _ in finder.run():
            if time.perf_counter() - begun > SLICE:
                if not went and finder.hits:
                    went = self._go_hit(1, inclusive=True)
                if time.monotonic() - last > 0.2:
                    last = time.monotonic()
                    self._show_count()
                await asyncio.sleep(0)
                begun = time.perf_counter()
        if not went and finder.hits:
            self._go_hit(1, inclusive=True)
        self._show_count()
        if go and not finder.hits:
            self._view.go_back(*self._find_from)

    def _go_hit(self, step: int, *, inclusive: bool = False) -> bool:
        """To the next (or previous) place that shows what is looked for; the search goes round at the ends."""
        finder = self._finder
        if finder is None or not finder.hits:
            return False
        start = self._find_from[1] if inclusive else self._view.cursor
        gone = self._view.go_hit(finder, start, step, inclusive=inclusive)
        self._show_count()
        return gone

    def _show_count(self) -> None:
        """Say which of the places one is at, and how many there are."""
        if self._find_bar is not None:
            self._find_bar.say(self._count())

    def _count(self) -> str:
        finder, hit = self._finder, self._view.hit
        if finder is None:
            return ""
        if not finder.hits:
            return "not found" if finder.done else "searching …"
        if not finder.done:  # how many stand before this one is not known yet
            return f"{finder.total:,} …"
        if hit is not None and hit[2] < finder.counts.get(hit[0], 0):
            return f"{finder.number(hit[0], hit[2]):,} of {finder.total:,}"
        return f"{finder.total:,}"

    def action_search_next(self) -> None:
        """The next hit."""
        self._again(1)

    def action_search_previous(self) -> None:
        """The previous hit."""
        self._again(-1)

    def _again(self, step: int) -> None:
        finder = self._finder
        if finder is None:
            self._say("Nothing is looked for; / begins a search.")
            return
        if finder.is_outdated:  # grown since
            self._work(partial(self._search, finder, go=False), "find")
        if not self._go_hit(step):
            self._say(f"{one_line(finder.query, 60)}: {'not found' if finder.done else 'not found yet'}")

    def _end_search(self) -> None:
        """Take the bar and the marks away; nothing moves."""
        self.workers.cancel_group(self, "find")
        if self._find_bar is not None:
            self._find_bar.keep()
            self._find_bar.remove()
            self._find_bar = None
        self._finder = None
        self.set_focus(self._view)
        self._view.look_for("")

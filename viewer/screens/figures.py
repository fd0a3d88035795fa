"""The figures of a transcript: the part of its screen that adds up and prices what was used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from schemas.session import Change
from viewer.screens.finding import FindingScreen
from viewer.transcript.family import FamilyUsage
from viewer.transcript.source import SLICE, Following
from viewer.transcript.status import totals_line
from viewer.transcript.view import TranscriptView
from viewer.usage.costs import SessionCosts, load, loaded
from viewer.widgets.chrome import TitleBar

if TYPE_CHECKING:
    from viewer.screens.records import LookupScreen

TOTALS_EVERY = 0.3
"""Seconds from one picture of the totals to the next."""
QUIET = 0.08
"""How long after a key slow work goes on."""
_PRICES_AFTER = 0.2
"""Seconds after the first picture in which nothing competes with the second one."""


class FiguresScreen(FindingScreen):
    """A screen over a transcript with its totals below. Costs come when their prices are loaded: in a thread, when the
    first picture stands and no key is being pressed.
    """

    def __init__(self, view: TranscriptView, follower: Following) -> None:
        super().__init__(view)
        self._follower = follower
        self._family = FamilyUsage()
        self._costs = SessionCosts(view.session)
        self._costs_due = asyncio.Event()
        self._totals_at, self._totals_due = 0.0, True
        self._cut_shown: int | None = None
        self._why: LookupScreen | None = None
        """The figures that were looked up last, and perhaps are still looked at."""
        view.show_costs(self._costs.of)

    async def _pause(self) -> None:
        """Give way to a person who is pressing keys."""
        while time.monotonic() - self._view.touched < QUIET:
            await asyncio.sleep(0.02)

    async def _in_slices(self, work: Iterator[None]) -> None:
        """Drive slow work in slices, each short enough that a key need not wait."""
        begun = time.perf_counter()
        for _ in work:
            if time.perf_counter() - begun > SLICE:
                await asyncio.sleep(0)
                await self._pause()
                begun = time.perf_counter()

    # -- costs -----------------------------------------------------------------------------------------------------

    async def _price(self) -> None:
        """Load the prices, then work out what things cost for as long as the screen is there."""
        if not loaded():
            await asyncio.sleep(_PRICES_AFTER)
            await self._pause()
            await asyncio.to_thread(load)
            self._view.show_costs(self._costs.of)
            if self._family.subagents:  # they were counted before
                await self._in_slices(self._family.run(self.session))
        while True:
            self._costs_due.clear()
            await self._in_slices(self._costs.run())
            late, self._costs.late = self._costs.late, set()
            if late:
                self._view.show_costs(self._costs.of, late)
            self._show_totals()
            if self._why is not None:
                self._why.renew()
            await asyncio.sleep(TOTALS_EVERY)
            if self._totals_due:
                self._show_totals()
            await self._costs_due.wait()

    def _reprice(self, changes: Iterable[Change] | None) -> None:
        """What was read changed the session so; None: it is another one now, or all of it is new."""
        if changes is None:
            self._costs.begin(self._follower.session)
            self._why = None  # it is about the one before
        else:
            exchanges, count = self.session.messages.exchange, len(self.session.messages)
            self._costs.changed({exchanges[c.message] for c in changes if 0 <= c.message < count})
        self._costs_due.set()

    # -- totals ----------------------------------------------------------------------------------------------------

    def _show_totals(self) -> None:
        """The totals, which take milliseconds in a session of 100,000 model calls: three times a second at most."""
        self._totals_due = True
        now = time.monotonic()
        if self._is_there() and now - self._totals_at > TOTALS_EVERY:
            self._totals_at, self._totals_due = now, False
            self._cut_shown = self._cut_line()
            line = totals_line(self.session, self._family, self._cut_shown, self._costs.total)
            self.query_one("#status", TitleBar).left = line

    def _is_there(self) -> bool:
        """Whether there are lines to write on: not before they are made, nor when the screen is going away."""
        return len(self.query(TitleBar)) > 1

    def _cut_line(self) -> int | None:
        """The number of a last line that was cut short: no more of it came for a while."""
        follower = self._follower
        return None if not follower.loaded or follower.live else follower.unfinished

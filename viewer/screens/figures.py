"""The figures of a transcript: what was used and what it cost, the session alone and with its subagents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from schemas.session import Session
from viewer.screens.program import aside
from viewer.transcript.status import totals_line
from viewer.transcript.view import TranscriptView
from viewer.usage.costs import SessionCosts, load, loaded
from viewer.usage.family import FamilyUsage
from viewer.widgets.chrome import StatusBar

if TYPE_CHECKING:
    from schemas.changes import Moves
    from viewer.follow.follower import Follower, Within
    from viewer.screens.records import LookupScreen

TOTALS_EVERY = 0.3
"""Seconds from one picture of the totals to the next."""
_PRICES_AFTER = 0.2
"""Seconds after the first picture in which nothing competes with the second one."""


class Figures:
    """Adds up and prices what a view shows, and says it in the status line. Costs come when their prices are loaded: in
    a thread, when the first picture stands and no key is being pressed.
    """

    def __init__(self, view: TranscriptView, follower: Follower | Within, bar: StatusBar) -> None:
        self._view, self._follower, self._bar = view, follower, bar
        self.family = FamilyUsage()
        self._costs = SessionCosts(view.session)
        self._costs_due = asyncio.Event()
        self._shown_at, self.due = 0.0, True
        self._cut_shown: int | None = None
        self._doing = "", ""
        self._why: LookupScreen | None = None
        """The figures that were looked up last, and perhaps are still looked at; and of which message they are."""
        self._why_of = 0
        self.cost_of = self._costs.of
        """Says what an exchange cost, in words; None where that is not known yet."""
        self.when_priced: Callable[[], None] = lambda: None
        """Called when more costs are known."""
        view.show_costs(self.cost_of)

    async def price(self) -> None:
        """Load the prices, then work out what things cost for as long as the screen is there."""
        if not loaded():
            await asyncio.sleep(_PRICES_AFTER)
            await self._view.give_way()
            await aside(load)
            self._view.show_costs(self.cost_of)
            self.when_priced()
            if self.family.subagents:  # they were counted before
                await self._view.in_slices(self.family.run(self._view.session))
        while True:
            self._costs_due.clear()
            await self._view.in_slices(self._costs.run())
            late, self._costs.late = self._costs.late, set()
            if late:
                self._view.show_costs(self.cost_of, late)
            self.when_priced()
            self.show()
            if self._why is not None:
                self._why.renew()
            await asyncio.sleep(TOTALS_EVERY)
            if self.due:
                self.show()
            await self._costs_due.wait()

    async def count_family(self) -> None:
        """Add up what the subagents used."""
        await self._view.in_slices(self.family.run(self._view.session))
        self.due = True

    def changed(self, exchanges: set[int]) -> None:
        """Price exchanges again, in which something changed."""
        self._costs.changed(exchanges)
        self._costs_due.set()

    def begin(self, session: Session) -> None:
        """Price a session that takes the place of the one before."""
        self._costs.begin(session)
        self._costs_due.set()

    def follow(self, moves: Moves) -> None:
        """Say the figures that are looked up of the session that took the other one's place."""
        place = moves.find(self._why_of)
        if self._why is None or place is None:
            self._why = None
        else:
            self._why_of = place
            self._why.renew(self._why_screen(moves.new).make)

    def show(self) -> None:
        """The totals, which take milliseconds in a session of 100,000 model calls: three times a second at most."""
        self.due = True
        now = time.monotonic()
        if self._bar.is_attached and now - self._shown_at > TOTALS_EVERY:
            self._shown_at, self.due = now, False
            self._cut_shown = self._cut_line()
            session, cost = self._view.session, self._costs.total
            self._bar.left = totals_line(session, self.family, self._cut_shown, cost, self._doing)

    def show_doing(self, doing: tuple[str, str]) -> None:
        """Show beside them what the session does now: words and their colour."""
        self.due = self.due or doing != self._doing
        self._doing = doing

    def show_if_due(self) -> None:
        """The totals where they are others than those shown."""
        if self.due or self._cut_line() != self._cut_shown:
            self.show()

    def _cut_line(self) -> int | None:
        """The number of a last line that was cut short: no more of it came for a while."""
        follower = self._follower
        return None if not follower.loaded or follower.live else follower.unfinished

    def why(self, block: int) -> LookupScreen:
        """Return the screen that says where the figures of a message come from."""
        self._why_of = block
        self._why = self._why_screen(self._view.session)
        return self._why

    def _why_screen(self, session: Session) -> LookupScreen:
        from viewer.screens.records import why_screen

        return why_screen(session, self._why_of, self.family, self._cut_line(), self._costs)

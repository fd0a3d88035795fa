"""The costs of sessions, for the screens: prices that are loaded once, and sums worked out a slice at a time.

Costs are what the API would charge by genai-prices. Its tables take a third of a second to load, so that is for a
thread, after the first picture. Until then a cost is None, not known yet; afterwards it is text, empty where nothing
has a price.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from renderers.facts import cost_fact, kinds_line
from schemas.costs.responses import NOBODY, Response, Tally, costs_by_kind, each_once, response_of, sum_of
from schemas.session import Session

if TYPE_CHECKING:
    from schemas.costs.prices import Prices
    from viewer.index.library import Library
    from viewer.index.summary import Summary

_AT_ONCE = 200
"""Token groups that are priced while a line waits to be drawn: a millisecond or two. More are priced in slices."""


_WORK, _PAUSE = 0.004, 0.002
"""Seconds that a thread works while others wait, and lets them go on."""
Costs = tuple[Tally, Tally]
"""Of a session, without and with its subagents."""
NO_COSTS: Costs = (Tally(), Tally())


class _Shared:
    """The prices, once they are there."""

    prices: Prices | None = None


def loaded() -> bool:
    """Tell whether the prices are there."""
    return _Shared.prices is not None


def load() -> None:
    """Load the prices; from then on `loaded`. For a thread that the end of the program does not wait for."""
    if loaded():
        return
    from schemas.costs.prices import Prices
    from viewer.index.library import uncollected

    with uncollected():  # fifty thousand new objects that stay
        Prices.load()
        gc.freeze()
    _Shared.prices = Prices()


def priced(responses: Iterable[Response]) -> Tally:
    """The sum of some responses with their costs; nothing where the prices are not loaded."""
    total, prices = Tally(), _Shared.prices
    if prices is not None:
        for response in responses:
            total.add(response.price(prices))
    return total


def group_cost(session: Session, group: int) -> Tally:
    """Price one response. The prices must be loaded."""
    if session.groups.usage[group].total is None:
        return Tally()
    return priced([response_of(session, group, NOBODY)])


def calls_by_cost(session: Session, groups: Iterable[int]) -> list[tuple[int, Response]]:
    """Some token groups with their priced responses, the dearest first; none where the prices are not loaded."""
    if (prices := _Shared.prices) is None:
        return []
    calls = [(group, response_of(session, group, NOBODY).price(prices)) for group in groups]
    return sorted(calls, key=lambda one: (-(one[1].cost or 0.0), -(one[1].usage.total or 0)))


def kinds_of_cost(responses: Iterable[Response]) -> str:
    """The costs of some responses by the kind of token, in words; empty where the prices are not loaded."""
    return kinds_line(costs_by_kind(responses, _Shared.prices)) if _Shared.prices is not None else ""


class SessionCosts:
    """The costs of the exchanges of a session that may grow. `changed` is told of it, `run` works out what is due."""

    def __init__(self, session: Session) -> None:
        self.total: Tally | None = None
        """Of all exchanges, as of the last complete `run`."""
        self.late: set[int] = set()
        """Exchanges that were asked for before they were worked out: their lines are to be drawn again."""
        self.begin(session)

    def changed(self, exchanges: Iterable[int]) -> None:
        """Their responses are others than before. A response can have moved on from the exchange before as well."""
        for exchange in exchanges:
            self._due.update((exchange, exchange - 1) if exchange else (exchange,))

    def begin(self, session: Session) -> None:
        """Another object holds the session now, or all of it is new."""
        self._session = session
        self._known: dict[int, Tally] = {}
        self._due = set(range(len(session.exchanges)))

    def of(self, exchange: int) -> str | None:
        """Return the cost of an exchange, in words; None where that is not known yet."""
        cost = self.known(exchange)
        return None if cost is None else cost_fact(cost)

    def known(self, exchange: int) -> Tally | None:
        """Return the cost of an exchange; None where that is not known yet."""
        if not loaded() or exchange >= len(self._session.exchanges):
            return None
        if exchange in self._due or exchange not in self._known:
            groups = self._session.exchanges[exchange].groups
            if len(groups) <= _AT_ONCE:
                self._known[exchange] = sum_of(group_cost(self._session, group) for group in groups)
            else:
                self._due.add(exchange)
                self.late.add(exchange)
        return self._known.get(exchange)

    def run(self) -> Iterator[None]:
        """Work out all that is due, giving way after each response."""
        while self._due:
            session, exchange = self._session, self._due.pop()
            if exchange >= len(session.exchanges):
                continue
            cost = Tally()
            for group in list(session.exchanges[exchange].groups):
                cost.merge(group_cost(session, group))
                yield
            if session is self._session:
                self._known[exchange] = cost
        self.total = sum_of(self._known.values())


def summary_costs(summary: Summary, rows: list[Response]) -> Costs:
    """Price a session in the index, without and with its subagents; `rows` are those that the index has of it."""
    return priced(row for row in rows if not row.member), priced(each_once(rows))


class SummaryCosts:
    """The costs of sessions in the index, each kept until the session is written again."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[str, tuple[int, Costs]] = {}

    def of(self, summary: Summary) -> Costs | None:
        """The costs of a session as they were worked out last."""
        known = self._known.get(summary.file)
        return None if known is None else known[1]

    def due(self, summaries: Iterable[Summary]) -> list[Summary]:
        """The ones of some sessions whose costs are not known as they are now."""
        return [s for s in summaries if s.read and self._known.get(s.file, (-1,))[0] != s.touched_ns]

    def work_out(self, summaries: list[Summary], seconds: float) -> None:
        """Price sessions in a thread, for so long. It pauses: Python runs one thread at a time, and keys come first."""
        load()
        pause = time.monotonic() + _WORK
        end = pause + seconds
        for summary, rows in zip(summaries, self._library.responses_of(summaries), strict=True):
            self._known[summary.file] = summary.touched_ns, summary_costs(summary, rows)
            now = time.monotonic()
            if now > end:
                return
            if now > pause:
                time.sleep(_PAUSE)
                pause = now + _PAUSE + _WORK

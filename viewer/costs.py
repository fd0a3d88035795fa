"""What sessions cost, for the screens: prices that are loaded once, and sums that are worked out a slice at a time.

Costs are what the API would charge by genai-prices. Its tables take a third of a second to load, so that is for a
thread, after the first picture. Until then a cost is None, not known yet; afterwards it is text, empty where nothing
has a price.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from renderers.facts import cost_fact
from schemas.session import Session
from viewer.breakable import BrokenOffError, breakable_imports

if TYPE_CHECKING:
    from viewer.spending import Coster
    from viewer.summary import GroupRow, Summary

_AT_ONCE = 200
"""Token groups that are priced while a line waits to be drawn: a millisecond or two. More are priced in slices."""


class Cost(NamedTuple):
    """What some responses cost."""

    dollars: float | None = None
    """None where none of them has a price."""
    unpriced: frozenset[str] = frozenset()
    """Models of those that are not in it."""

    def __or__(self, other: Cost) -> Cost:
        """Of these responses and those."""
        if self.dollars is None or other.dollars is None:
            dollars = other.dollars if self.dollars is None else self.dollars
        else:
            dollars = self.dollars + other.dollars
        return Cost(dollars, self.unpriced | other.unpriced)

    @property
    def text(self) -> str:
        """`$0.08`, with a plus where something in it has no price; empty where nothing has one."""
        return cost_fact(self.dollars, partial=bool(self.unpriced))


class _Shared:
    """The prices, once they are there."""

    coster: Coster | None = None


def loaded() -> bool:
    """Whether the prices are there."""
    return _Shared.coster is not None


def load() -> None:
    """Load the prices; from then on `loaded`. For a thread. Where the program ends meanwhile they stay unknown."""
    if loaded():
        return
    with suppress(BrokenOffError), breakable_imports():
        _Shared.coster = _load()


def _load() -> Coster:
    from schemas.prices import Prices
    from viewer.spending import Coster

    collecting = gc.isenabled()
    gc.disable()  # it would look through fifty thousand new objects that stay, and hold all threads up
    try:
        Prices.load()
        gc.freeze()
    finally:
        if collecting:
            gc.enable()
    return Coster(Prices())


def group_cost(session: Session, group: int) -> Cost:
    """What one response cost. The prices must be loaded."""
    coster = _Shared.coster
    if coster is None or session.groups.usage[group].total is None:
        return Cost()
    from schemas.charges import charge_of, time_or_files

    charge = charge_of(session, group)
    time = time_or_files(session, charge.time)
    return _cost(coster.cost(charge.provider, charge.model, charge.call, time), charge.model)


def _cost(dollars: float | None, model: str) -> Cost:
    from viewer.spending import NO_MODEL

    return Cost(None, frozenset((model or NO_MODEL,))) if dollars is None else Cost(dollars)


class SessionCosts:
    """The costs of the exchanges of a session that may grow. `changed` is told of it, `run` works out what is due."""

    def __init__(self, session: Session) -> None:
        self.total: Cost | None = None
        """Of all exchanges, as of the last complete `run`."""
        self.late: set[int] = set()
        """Exchanges that were asked for before they were worked out: their lines are to be drawn again."""
        self._session = session
        self._known: dict[int, Cost] = {}
        self._due: set[int] = set(range(len(session.exchanges)))

    def changed(self, exchanges: Iterable[int]) -> None:
        """Their responses are others than before. A response can have moved on from the exchange before as well."""
        for exchange in exchanges:
            self._due.update((exchange, exchange - 1) if exchange else (exchange,))

    def begin(self, session: Session) -> None:
        """Another object holds the session now, or all of it is new."""
        self._session = session
        self._known.clear()
        self._due = set(range(len(session.exchanges)))

    def of(self, exchange: int) -> str | None:
        """What an exchange cost, in words; None where that is not known yet."""
        cost = self.known(exchange)
        return None if cost is None else cost.text

    def known(self, exchange: int) -> Cost | None:
        """What an exchange cost; None where that is not known yet."""
        if not loaded() or exchange >= len(self._session.exchanges):
            return None
        if exchange in self._due or exchange not in self._known:
            groups = self._session.exchanges[exchange].groups
            if len(groups) <= _AT_ONCE:
                self._known[exchange] = total_cost(group_cost(self._session, group) for group in groups)
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
            cost = Cost()
            for group in list(session.exchanges[exchange].groups):
                cost |= group_cost(session, group)
                yield
            if session is self._session:
                self._known[exchange] = cost
        self.total = total_cost(self._known.values())


def total_cost(costs: Iterable[Cost]) -> Cost:
    """Of all of them together."""
    total = Cost()
    for cost in costs:
        total |= cost
    return total


def summary_costs(summary: Summary, rows: Iterable[GroupRow]) -> tuple[Cost, Cost]:
    """What a session in the index cost, without and with its subagents; `rows` are those that the index has of it."""
    coster = _Shared.coster
    if coster is None:
        return Cost(), Cost()
    from schemas.prices import Call
    from viewer.summary import counted_rows

    def cost(row: GroupRow) -> Cost:
        time = summary.when if row.time is None else row.time
        return _cost(coster.cost(summary.provider, row.model, Call(row.usage), time), row.model)

    rows = list(rows)
    own = total_cost(cost(row) for row in rows if not row.member and not row.inherited)
    return own, total_cost(map(cost, counted_rows(rows)))

"""What the events of a file add up to, by model, session, day and provider, as a table in Markdown."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from schemas.costs.prices import Prices
from schemas.figures import format_cost, format_count, short_model
from schemas.interchange.sheets import escaped, table
from schemas.session import Session
from schemas.usage import Call, TokenUsage

_MODEL, _SESSION, _DAY, _PROVIDER = "model", "session", "day (UTC)", "provider"
_ROWS = 10
"""Rows of a kind; what follows is one row together."""
_NAMED = 8
"""Models without a price that are named."""
_NAME = 40
"""Characters of a name; in a narrow column it wraps."""
_EPOCH = date(1970, 1, 1)
UUID = 36
"""Characters of an id of which the first eight are enough."""
_FIGURES = ("calls", "input", "cache read", "cache write", "output", "total", "cost")


@dataclass(slots=True)
class _Sum:
    """Of some events."""

    calls: int = 0
    usage: TokenUsage | None = None
    cost: float | None = None
    """Of those that have a price; None where none has."""
    unpriced: int = 0

    def add(self, usage: TokenUsage, cost: float | None) -> None:
        self.calls += 1
        self.usage = usage if self.usage is None else self.usage + usage
        if cost is None:
            self.unpriced += 1
        else:
            self.cost = cost + (self.cost or 0)

    def take(self, other: _Sum) -> None:
        """Add another sum, of at least one event."""
        calls, unpriced = self.calls + other.calls, self.unpriced + other.unpriced
        self.add(other.usage or TokenUsage(), other.cost)
        self.calls, self.unpriced = calls, unpriced

    def cells(self) -> list[str]:
        of = self.usage or TokenUsage()
        counts = (of.input, of.cache_read, of.cache_write, of.output, of.total)
        shown = ("-" if count is None else format_count(count) for count in counts)
        cost = "-" if self.cost is None else format_cost(self.cost) + "+" * bool(self.unpriced)
        return [f"{self.calls:,}", *shown, cost]


class Sums:
    """The sums over a session's token groups, brought up to date when they are looked at: prices are a package that
    takes half a second to import, for which a command that only counts need not wait.
    """

    def __init__(self, session: Session, sources: dict[tuple[str, str], int], source: array[int]) -> None:
        self._session, self._sources, self._source = session, sources, source
        self._prices = Prices()
        self._done = 0
        self._sums: dict[tuple[int, int, int], _Sum] = {}
        """By model, by source and by day since 1970: what all the rows of the table are made of."""
        self._names: list[tuple[str, str]] = []

    def cost(self, group: int) -> float | None:
        """US dollars for an event; None where its model has no price. What used nothing costs nothing."""
        return self._cost(group, self._session.groups.usage[group], self._time(group))

    def _cost(self, group: int, usage: TokenUsage, time: float) -> float | None:
        if not usage.total:
            return 0.0
        model = self._session.models[self._session.groups.model[group]]
        return self._prices.cost(self._name(self._source[group])[0], model, Call(usage), time)

    def _time(self, group: int) -> float:
        return self._session.messages.time[self._session.groups.last[group]]

    def _name(self, source: int) -> tuple[str, str]:
        """A provider and a session."""
        if len(self._names) < len(self._sources):
            self._names = list(self._sources)
        return self._names[source]

    def text(self) -> str:
        """The sums of everything that was read until now, in Markdown."""
        self._catch_up()
        if not self._sums:
            return "No event yet."
        tables, total = self._tables()
        rows: list[list[str]] = []
        nothing = [""] * len(_FIGURES)
        for kind, sums in tables.items():
            if kind == _MODEL:
                rows += _section(kind, sums)
                rows.append([f"**{cell}**" for cell in ("total", *total.cells())])
            elif len(sums) > 1:
                rows += [["", *nothing], [f"by {kind}", *nothing], *_section(kind, sums)]
        notes = _notes(tables[_SESSION], tables[_MODEL])
        return "\n\n".join([table([f"by {_MODEL}", *_FIGURES], rows), *notes])

    def _catch_up(self) -> None:
        groups, sums = self._session.groups, self._sums
        for group in range(self._done, len(groups)):
            usage, time = groups.usage[group], self._time(group)
            key = groups.model[group], self._source[group], int(time // 86_400)
            one = sums.get(key)
            if one is None:
                one = sums[key] = _Sum()
            one.add(usage, self._cost(group, usage, time))
        self._done = len(groups)

    def _tables(self) -> tuple[dict[str, dict[str, _Sum]], _Sum]:
        tables: dict[str, dict[str, _Sum]] = {kind: {} for kind in (_MODEL, _SESSION, _DAY, _PROVIDER)}
        total = _Sum()
        for (model, source, day), one in self._sums.items():
            provider, name = self._name(source)
            keys = self._session.models[model] or "unknown", f"{provider}\0{name}", _date(day), provider
            for sums, key in zip(tables.values(), keys, strict=True):
                sums.setdefault(key, _Sum()).take(one)
            total.take(one)
        return tables, total


def _notes(sessions: dict[str, _Sum], models: dict[str, _Sum]) -> Iterator[str]:
    """What the table does not say."""
    if len(sessions) == 1:
        provider, _, name = next(iter(sessions)).partition("\0")
        yield f"All of the session {escaped(name)} of {escaped(provider)}."
    unpriced = Counter({model: one.unpriced for model, one in models.items() if one.unpriced})
    if unpriced:
        names = [f"{escaped(model, 60)} ({count:,})" for model, count in unpriced.most_common(_NAMED)]
        more = f" and {len(unpriced) - _NAMED:,} more" if len(unpriced) > _NAMED else ""
        count = unpriced.total()
        lead = "1 call has no price and is" if count == 1 else f"{count:,} calls have no price and are"
        yield f"{lead} not in the cost: {', '.join(names)}{more}."


def _section(kind: str, sums: dict[str, _Sum]) -> list[list[str]]:
    """Rows of the table: the last days in their order; of the rest the dearest first, then those of most tokens."""
    days = kind == _DAY
    if days:
        ordered = sorted(sums.items(), reverse=True)
    else:
        ordered = sorted(sums.items(), key=lambda item: (-(item[1].cost or 0), -_tokens(item[1]), item[0]))
    cut = _ROWS if len(ordered) > _ROWS + 1 else len(ordered)
    names = _shown(kind, [key for key, _ in ordered[:cut]])
    rows = [[escaped(name), *one.cells()] for name, (_, one) in zip(names, ordered, strict=False)]
    if left := ordered[cut:]:
        rest = _Sum()
        for _, one in left:
            rest.take(one)
        rows.append([f"{len(left):,} {'earlier' if days else 'more'}", *rest.cells()])
    return rows[::-1] if days else rows


def _date(day: int) -> str:
    return (_EPOCH + timedelta(day)).isoformat()


def _tokens(one: _Sum) -> int:
    return (one.usage and one.usage.total) or 0


def _shown(kind: str, keys: list[str]) -> list[str]:
    """What rows are called: shorter than they are, unless two would then be called the same."""
    whole = [key.rpartition("\0")[2] for key in keys]
    short = [short_model(name) or name for name in whole] if kind == _MODEL else whole
    if kind == _SESSION:
        short = [name[:8] if len(name) >= UUID else name for name in short]  # as sessions are called everywhere
    short = [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in short]
    return short if len(set(short)) == len(keys) else whole

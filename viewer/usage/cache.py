"""Breaks of the prompt cache: calls that wrote again, or paid as input, what the call before them had left in it.

A break is told by the figures: a call reads less from the cache than the one before it in the same talk (of the same
model, where there was one) had read and written. What it wrote meanwhile, up to that difference, it wrote again. Its
cause is told by the records, as far as they tell it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from renderers.facts import format_count, format_seconds, iso_time, short_model
from renderers.places import exchange_names, place_of
from schemas.clean import one_line
from schemas.costs.prices import Prices
from schemas.costs.responses import (
    NO_MODEL,
    Ledger,
    Response,
    began,
    counted_groups,
    rounded_cost,
)
from schemas.message import Flag, Kind
from schemas.providers import provider_of
from schemas.session import Session
from schemas.table import NONE
from schemas.values import dict_of, text_of
from viewer.index.library import Library
from viewer.sessions.selection import each_session
from viewer.sessions.targets import Target
from viewer.usage.spending import Spending

_LEAST, _SHARE = 1024, 10
"""Tokens that a break costs at least (fewer are cached by nobody), and the part of what the cache held that it loses: a
tenth. What is less may be the last block, which calls at the same time find or do not find.
"""
_KNOWN = frozenset({"compaction", "model", "recorded"})
"""Causes that make a break also of what was written again less than a tenth: else it may be new, behind a rewind."""
_MINUTES, _HOUR = 300.0, 3600.0
"""Seconds that a cache lasts, as the records of its writes tell it."""


@dataclass(slots=True)
class Break:
    """A break of the cache: a call that found less in it than the one before it had left there."""

    row: Response
    before: Response
    again: int
    """The tokens that were in the cache and were written, or given as input, once more."""
    lifetime: float | None
    """Seconds that the cache lasts since it was used last; None where the records do not say."""
    place: str = ""
    """The call in its session, or in the subagent's: `#3.2`."""
    cause: str = ""
    """One of `recorded`, `compaction`, `model`, `rewound`, `idle`, `prefix`, `unknown`."""
    detail: str = ""
    """The same in words."""
    cost: float | None = None
    """US dollars for what was written again; None where the model has no price."""
    read_cost: float | None = None
    """What reading it from the cache would have cost."""

    @property
    def held(self) -> int:
        """The tokens that the call before left in the cache."""
        return (self.before.usage.cache_read or 0) + (self.before.usage.cache_write or 0)

    def price(self, prices: Prices) -> None:
        """Set both costs, by the prices that hold for the whole call."""
        row, again = self.row, self.again
        usage = row.usage
        if usage.cache_write:
            rest = usage.cache_write - again
            hour = None if usage.cache_write_1h is None else min(usage.cache_write_1h, rest)
            found = usage._replace(cache_write=rest, cache_write_1h=hour)
        else:
            found = usage._replace(input=(usage.input or 0) - again)
        found = found._replace(cache_read=(usage.cache_read or 0) + again)
        paid, cheap = (
            prices.parts(row.provider, row.model, replace(row, usage=one).call, row.time) for one in (usage, found)
        )
        if paid is not None and cheap is not None:
            self.cost = paid.input + paid.cache_write - cheap.input - cheap.cache_write
            self.read_cost = cheap.cache_read - paid.cache_read

    def to_json(self) -> dict[str, Any]:
        """The break as an answer has it."""
        row = self.row
        return {
            "provider": row.provider,
            "id": row.session.id,
            "path": row.session.path,
            "place": self.place,
            "agent": row.agent,
            "groupId": row.group,
            "model": row.model or None,
            "time": None if row.time is None else iso_time(row.time),
            "heldTokens": self.held,
            "readTokens": row.usage.cache_read,
            "againTokens": self.again,
            "costUsd": rounded_cost(self.cost),
            "readUsd": rounded_cost(self.read_cost),
            "cause": self.cause,
            "detail": self.detail,
        }


def misses(rows: Iterable[Response]) -> Iterator[Break]:
    """The breaks among the responses of one talk, which are in its order, by the figures alone."""
    last: dict[str, Response] = {}
    lifetimes: dict[str, float | None] = {}
    before = None
    for row in rows:
        usage = row.usage
        if row.inherited or usage.cache_read is None or not usage.context:
            continue
        if (one := last.get(row.model, before)) is not None:
            found = Break(row, one, 0, lifetimes.get(one.model))
            lost = found.held - usage.cache_read
            found.again = min(lost, usage.cache_write or usage.input or 0)
            if found.again >= _LEAST and lost >= found.held / _SHARE:
                yield found
        if usage.cache_write:
            hour = usage.cache_write_1h
            lifetimes[row.model] = None if hour is None else _HOUR if hour else _MINUTES
        last[row.model] = before = row


class Breaks:
    """The breaks of some sessions and what is to be said with them."""

    def __init__(self, prices: Prices) -> None:
        self.found: list[Break] = []
        self.sessions = 0
        self.written = 0
        """Tokens that were written to caches in all."""
        self.silent = 0
        """Sessions with figures of which none says what was read from a cache."""
        self._prices = prices

    def read_machine(self, library: Library, bar: Callable[[int, int], None]) -> None:
        """Look for breaks in every session of this machine. The index has the figures: only files with breaks are read,
        for their causes.
        """
        indexed, targets = library.responses(), list[Target]()
        everything, ledger = Ledger(), Ledger()
        for one in (everything, ledger):
            one.compare([table for _, table in indexed])
        for summary, table in indexed:
            rows = list(table.rows(summary.source, summary.when))
            # A session and its subagents are talks of their own.
            if any(any(misses(own)) for _, own in groupby(rows, key=attrgetter("member"))):
                targets.append(Target(summary.path, summary.file))
            self._note(row for row, holder in everything.settle(rows) if holder is None)
        before = self.sessions, self.written, self.silent
        self.read(targets, ledger, bar, strict=False)
        self.sessions, self.written, self.silent = before

    def read(self, targets: list[Target], ledger: Ledger, bar: Callable[[int, int], None], *, strict: bool) -> None:
        """Look for breaks in sessions, in the order in which they were made: a copy counts where it was made."""
        spending, found = Spending(None), list[Break]()
        spending.ledger = ledger

        def look(member: Session, rows: list[Response]) -> None:
            if member.charged is None:  # what only sums up other talks is none
                found.extend(_breaks_of(member, rows))

        for target, session in each_session(targets, bar, strict=strict):
            found.clear()
            counted = spending.take(target, session, look).counted
            keys = {(row.member, row.key) for row in counted}
            self.found += (one for one in found if (one.row.member, one.row.key) in keys)
            self._note(counted)
        for one in self.found:
            one.price(self._prices)

    def _note(self, rows: Iterable[Response]) -> None:
        """Take in what counts of a session."""
        usages = [row.usage for row in rows]
        self.sessions += 1
        self.written += sum(usage.cache_write or 0 for usage in usages)
        self.silent += bool(usages) and all(usage.cache_read is None for usage in usages)

    def to_json(self) -> dict[str, Any]:
        """The answer of `cache --json`."""
        costs = [one for one in self.found if one.cost is not None]
        return {
            "breaks": [one.to_json() for one in self.found],
            "sessions": self.sessions,
            "cacheWriteTokens": self.written,
            "againTokens": sum(one.again for one in self.found),
            "costUsd": rounded_cost(sum(one.cost or 0.0 for one in costs)),
            "readUsd": rounded_cost(sum(one.read_cost or 0.0 for one in costs)),
            "unpriced": sorted({one.row.model or NO_MODEL for one in self.found if one.cost is None}),
        }


def _breaks_of(member: Session, rows: list[Response]) -> Iterator[Break]:
    """The breaks of a member, while it is open."""
    groups = dict(zip((id(row) for row in rows if not row.inherited), counted_groups(member), strict=True))
    names: list[str] = []
    for miss in misses(rows):
        names = names or exchange_names(member)
        ends = [member.groups.last[groups[id(row)]] for row in (miss.before, miss.row)]
        here = ends[1] if ends[1] != NONE else None
        miss.place = f"#{names[miss.row.exchange]}" if here is None else place_of(member, here, names)
        miss.cause, miss.detail = _cause(member, miss, ends)
        if miss.cause in _KNOWN or miss.again >= miss.held / _SHARE:
            yield miss


def _cause(member: Session, miss: Break, ends: list[int]) -> tuple[str, str]:
    """The cause of a break, and in words; `ends` are the last messages of the call before and of the call."""
    row, before = miss.row, miss.before
    if reason := _recorded(member, row):
        return "recorded", f"{reason} (recorded)"
    if NONE not in ends:
        table = member.messages
        if Kind.COMPACTION in table.kind[ends[0] + 1 : ends[1] + 1]:
            return "compaction", "compaction"
        if table.has(ends[0], Flag.REWOUND) and not table.has(ends[1], Flag.REWOUND):
            return "rewound", "changed prefix: rewound"
    if row.model != before.model:
        models = " → ".join(short_model(one.model) or NO_MODEL for one in (before, row))
        return "model", f"another model: {models}"
    times = [began(member, one.span, one.time) if one.dated else None for one in (before, row)]
    idle = None if times[0] is None or times[1] is None else times[1] - times[0]
    since = "" if idle is None or idle < 0 else f"{format_seconds(idle)} after the call before"
    if miss.lifetime is not None and idle is not None and idle > miss.lifetime:
        return "idle", f"idle {format_seconds(idle)}, kept for {format_seconds(miss.lifetime)}"
    if miss.lifetime is not None and idle is not None and (read := row.usage.cache_read):
        return "prefix", f"changed prefix: the first {format_count(read)} still read"
    return "unknown", f"unknown, {since}" if since else "unknown"


def _recorded(member: Session, row: Response) -> str:
    """The cause that the records name; empty where they name none."""
    provider = provider_of(member.provider)
    keys = provider.cache_miss if provider is not None else ()
    for span in row.spans(member) if keys else ():
        value: object = member.record(span)
        for key in keys:
            value = dict_of(value).get(key)
        if (reason := text_of(value)) not in ("", "none"):
            return one_line(reason.replace("_", " "), 60)
    return ""

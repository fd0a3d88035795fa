"""A UI Snapshot v1 made of events: the algorithm of the format's producer, figure for figure (formats note 3.4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from schemas.clean import clean, one_line
from schemas.costs.price_book import PriceBook
from schemas.costs.prices import MTOK, Prices, book_parts
from schemas.interchange.events import LARGEST, Event
from schemas.interchange.rfc3339 import format_time
from schemas.json_output import json_bytes

Mode = Literal["compact", "extended"]
TOP = 5
"""Rows of each table in compact mode."""
_NAMED = 8
"""Names that the message of NoEvents has of a kind."""
TOOL_TIP = (
    "Tool-token share is high (>35%): add per-tool budgets and short-circuit low-value tool calls.",
    0.35,
)
CACHE_TIP = (
    "Cache-read share is low (<10%): improve prompt prefix reuse and session stickiness for Claude-style caching.",
    0.10,
)
DEAR_TIP = (
    "Blended variable $/MTok is high: route low-complexity jobs to cheaper models/providers via policy rules.",
    12.0,
)
FEE_TIP = (
    "Subscriptions dominate monthly cost (>70%): consolidate seats/plans or increase utilization with shared routing.",
    0.7,
)
NO_TIP = "No obvious anomalies detected; keep collecting session-level data and compare 4-week trend deltas."
"""The words are the format's producer's: other programs compare them."""


class NoEvents(ValueError):
    """An error by the contract: no events are left after the filters."""


class TooManyTokens(ValueError):
    """More than the 64 bits that the format's reader has for a count."""


class Pricing:
    """The source of a snapshot's names and prices: a price book, in which what it does not have has no price, or else
    genai-prices, which knows no aliases and no subscriptions.
    """

    def __init__(self, book: PriceBook | None = None) -> None:
        self._book, self._prices = book, Prices()

    def names(self, provider: str, model: str) -> tuple[str, str]:
        """The provider and the model that two names mean."""
        if self._book is None:
            return provider, model
        provider = self._book.provider(provider)
        return provider, self._book.model(provider, model)

    def cost(self, event: Event) -> float | None:
        """US dollars for an event with its true names; None where it has no price."""
        if self._book is None:
            return self._prices.cost(event.provider, event.model, event.call, event.time.timestamp())
        rates = self._book.models.get(event.provider, {}).get(event.model)
        return None if rates is None else book_parts(rates, event.call).total

    def subscription(self, provider: str) -> float:
        """US dollars a month."""
        return 0.0 if self._book is None else self._book.subscriptions.get(provider, 0.0)


class Filters(NamedTuple):
    """The filters by which events count; an empty one takes all. Names may be aliases."""

    month: str = ""
    """YYYY-MM, in UTC."""
    providers: Sequence[str] = ()
    models: Sequence[str] = ()


EVERYTHING = Filters()


class Snapshot(NamedTuple):
    """The document, and what it leaves out."""

    document: dict[str, Any]
    unpriced: dict[tuple[str, str], int]
    """Provider and model without a price, and how many events of theirs were skipped."""
    months: dict[str, int]
    """The months the events are of, and how many are of each."""

    def to_bytes(self) -> bytes:
        """Pretty JSON and a newline."""
        return json_bytes(self.document, indent=True) + b"\n"


def make_snapshot(
    events: Iterable[Event], pricing: Pricing, mode: Mode, now: datetime, filters: Filters = EVERYTHING
) -> Snapshot:
    """The snapshot of some events. Raises NoEvents where the filters leave none, and TooManyTokens."""
    named = [_named(event, pricing) for event in events]
    chosen = [event for event in named if _passes(event, filters, pricing)]
    if not chosen:
        raise NoEvents(f"no events left after the filters: {_what_there_is(named, filters)}" if named else "no events")
    everything, providers, models = _Sum(), _Table(), _Table()
    unpriced: dict[tuple[str, str], int] = {}
    priced: list[tuple[Event, float]] = []
    provider_tokens: dict[str, int] = {}
    for event in chosen:
        cost = pricing.cost(event)
        if cost is None:
            unpriced[event.provider, event.model] = unpriced.get((event.provider, event.model), 0) + 1
            continue
        priced.append((event, cost))
        provider_tokens[event.provider] = provider_tokens.get(event.provider, 0) + event.total
    for event, cost in priced:
        # A month's whole fee is shared among the events that there are, by their tokens, be there only one.
        of = provider_tokens[event.provider]
        fee = pricing.subscription(event.provider) * (event.total / of) if of else 0.0
        for one in (everything, providers.of(event.provider), models.of(event.model)):
            one.add(event, cost, fee)
    if everything.tokens > LARGEST:
        raise TooManyTokens(
            f"{everything.tokens:,} tokens in all: more than 2^64-1, which is all that a snapshot can hold"
        )
    limit = TOP if mode == "compact" else None
    document = {
        "schema_version": 1,
        "generated_at": format_time(now),
        "month": month_of(chosen[0]),
        "mode": mode,
        "totals": {
            "cost_usd": rounded(everything.dollars, 2),
            "tokens": everything.tokens,
            "blended_usd_per_mtok": rounded(everything.blended, 4),
            "session_count": len(everything.sessions),
            "skipped_unpriced_count": sum(unpriced.values()),
        },
        "top_providers": providers.rows(limit),
        "top_models": models.rows(limit),
        "suggestions": suggestions(everything),
    }
    return Snapshot(document, unpriced, dict(sorted(Counter(map(month_of, chosen)).items())))


def _what_there_is(events: list[Event], filters: Filters) -> str:
    """Describe what the filters could have named: providers are called as the events or the price book's aliases call
    them.
    """
    names = {
        "month": {month_of(event) for event in events} if filters.month else set(),
        "provider": {event.provider for event in events} if filters.providers else set(),
        "model": {event.model for event in events} if filters.models else set(),
    }
    said = []
    for what, there in names.items():
        if there:
            some = ", ".join(one_line(name, 80) for name in sorted(there)[:_NAMED])
            more = f" and {len(there) - _NAMED:,} more" if len(there) > _NAMED else ""
            said.append(f"the events have the {what}{'' if len(there) == 1 else 's'} {some}{more}")
    return "; ".join(said)


def _named(event: Event, pricing: Pricing) -> Event:
    provider, model = pricing.names(event.provider, event.model)
    return event._replace(provider=provider, model=model)


def _passes(event: Event, filters: Filters, pricing: Pricing) -> bool:
    if filters.month and month_of(event) != filters.month:
        return False
    if filters.providers and event.provider not in (pricing.names(name, "")[0] for name in filters.providers):
        return False
    # What a model's alias means depends on the provider, so it is looked up with the event's own.
    return not filters.models or event.model in (pricing.names(event.provider, name)[1] for name in filters.models)


def month_of(event: Event) -> str:
    """YYYY-MM, in UTC."""
    return f"{event.time.year:04}-{event.time.month:02}"


@dataclass(slots=True)
class _Sum:
    """The sum of events, added in their order: floating-point sums agree with the producer's only so."""

    tokens: int = 0
    tool_tokens: int = 0
    cache_read: int = 0
    variable: float = 0.0
    fees: float = 0.0
    sessions: set[tuple[str, str]] = field(default_factory=set)

    def add(self, event: Event, cost: float, fee: float) -> None:
        self.tokens += event.total
        self.tool_tokens += event.tool_input + event.tool_output
        self.cache_read += event.cache_read
        self.variable += cost
        self.fees += fee
        self.sessions.add((event.provider, event.session_id))

    @property
    def dollars(self) -> float:
        return self.variable + self.fees

    @property
    def blended(self) -> float:
        return self.dollars / (self.tokens / MTOK) if self.tokens else 0.0


class _Table:
    """Sums by name."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}

    def of(self, name: str) -> _Sum:
        return self._sums.setdefault(name, _Sum())

    def rows(self, limit: int | None) -> list[dict[str, Any]]:
        ordered = sorted(self._sums.items(), key=lambda item: (-item[1].tokens, item[0]))
        return [
            {
                "name": clean(name),
                "tokens": one.tokens,
                "total_cost_usd": rounded(one.dollars, 2),
                "blended_usd_per_mtok": rounded(one.blended, 4),
                "session_count": len(one.sessions),
            }
            for name, one in ordered[:limit]
        ]


def suggestions(of: _Sum) -> list[str]:
    """Return the suggestions that follow from the figures, in the producer's words and order."""
    tips = []
    if of.tokens:
        if of.tool_tokens / of.tokens > TOOL_TIP[1]:
            tips.append(TOOL_TIP[0])
        if of.cache_read / of.tokens < CACHE_TIP[1]:
            tips.append(CACHE_TIP[0])
        if of.variable / (of.tokens / MTOK) > DEAR_TIP[1]:
            tips.append(DEAR_TIP[0])
    if of.dollars > 0 and of.fees / of.dollars > FEE_TIP[1]:
        tips.append(FEE_TIP[0])
    return tips or [NO_TIP]


def rounded(number: float, digits: int) -> float:
    """Rounded, a half away from zero, as the producer's language does it; Python's `round` goes to the even digit."""
    scaled = abs(number) * 10**digits
    whole = math.floor(scaled)
    return math.copysign((whole + (scaled - whole >= 0.5)) / 10**digits, number)

"""UI Snapshot v1, a month's use and cost, as a session: its totals, its tables and its suggestions, an exchange each.

By the contract's guidance for readers: the version is looked at before anything else; a file that is half-written is
read again, a moment later; and where it stays so, an open view keeps what was there before. It is judged here too, and
made of events by the algorithm of the format's producer, figure for figure (formats note 3.4).
schemas/documents/snapshot.md.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from schemas.broken import why_unread
from schemas.clean import clean, one_line
from schemas.costs.price_book import PriceBook
from schemas.costs.prices import MTOK, Prices, book_parts
from schemas.figures import format_cost, format_count
from schemas.interchange.events import LARGEST, Event
from schemas.interchange.rfc3339 import format_time, parse_time
from schemas.interchange.sheets import escaped, open_section, table
from schemas.interchange.verdicts import Finding, Judged, Verdict, explain, pointed, schema_findings, shown, verdict_of
from schemas.json_output import json_bytes
from schemas.message import Flag, Kind, Message, Part
from schemas.provider import Format, Head, SavedFormat
from schemas.reading import WholeReading
from schemas.records import MemoryStore, read_document
from schemas.session import Session
from schemas.values import dict_of, list_of

_KEYS = frozenset({"schema_version", "totals"})
_OTHERS = frozenset({"generated_at", "month", "mode", "top_providers", "top_models", "suggestions"})
_MANY = 4
_BEGINNING = (b'"schema_version"', b'"generated_at"', b'"month"')
TRIES = 4
WAIT = 0.05
"""Seconds between two looks at a file that is half-written."""


def is_snapshot(document: object) -> bool:
    """Return whether a JSON value has keys that only a snapshot has together, of whatever version: one of which a
    required key is missing is one all the same.
    """
    if not isinstance(document, dict):
        return False
    return document.keys() >= _KEYS or len(document.keys() & (_KEYS | _OTHERS)) >= _MANY


def _detect(head: Head) -> bool:
    """Return whether the file is one JSON object with a snapshot's keys, or the beginning of one: a program that does
    not write it at once may be at it just now.
    """
    if head.document is not None or head.records:
        return is_snapshot(head.document)
    return head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and sum(key in head.data for key in _BEGINNING) > 1


class SnapshotReading(WholeReading):
    """A snapshot's file, read whole, and again when it changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _empty(path))

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """The snapshot, if it is another one than before. Raises OSError for another version of the format, and for
        what is no snapshot (any more).
        """
        from schemas.changes import digest

        data, document = self._patiently()
        mark = digest(data)
        if mark == known:
            return None
        if document is None:
            raise OSError(why_unread(data))
        if "schema_version" not in document:
            raise OSError("a UI Snapshot without `schema_version`; only version 1 can be read")
        if not is_supported(document["schema_version"]):
            raise OSError(f"a UI Snapshot of version {shown(document['schema_version'])}; only version 1 can be read")
        return mark, len(data), session_of(document, self.path)

    def _patiently(self) -> tuple[bytes, dict[str, Any] | None]:
        """The file's bytes and the document in them; None where they are none even after a while."""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(WAIT)
            data = self.path.read_bytes()
            document = read_document(data)
            # What a snapshot turned into says its version, whatever other keys that version has.
            if isinstance(document, dict) and (is_snapshot(document) or "schema_version" in document):
                return data, _exact(data) or document
        return data, None


SNAPSHOT = SavedFormat(
    "snapshot",
    "UI Snapshot",
    "A snapshot holds sums only; which calls they are made of is in the events it was made from.",
    (
        Format(
            "UI Snapshot v1, one JSON document",
            "an object with schema_version and totals, or four other keys of a snapshot",
        ),
    ),
    _detect,
    SnapshotReading,
)


def is_supported(version: object) -> bool:
    """Return whether the version is the number 1: neither "1" nor true nor 1.0 is."""
    return type(version) is int and version == 1


def _exact(data: bytes) -> dict[str, Any] | None:
    """The document with its integers as they are, however long: the quick parser makes floats of those over 64 bits."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):  # the tolerant reader takes more than JSON
        return None
    return document if isinstance(document, dict) else None


def _empty(path: Path) -> Session:
    session = Session("snapshot", "UI Snapshot", path, path.name.partition(".")[0] or path.name)
    session.title = "Usage snapshot"
    session.build = build
    session.stores.append(MemoryStore(path))
    return session


def session_of(document: dict[str, Any], path: Path) -> Session:
    """The session that shows a snapshot."""
    session = _empty(path)
    store = session.stores[0]
    assert isinstance(store, MemoryStore)
    month, mode = (_word(document.get(key)) for key in ("month", "mode"))
    if month:
        session.title = f"Usage snapshot {month}" + (f" ({mode})" if mode else "")
    session.own_total = _total(dict_of(document.get("totals")))
    if made := parse_time(document.get("generated_at")):
        session.created = session.updated = made.timestamp()
    for number, (title, text) in enumerate(pages(document)):
        record = store.add({"title": title, "text": text})
        open_section(session, title, 2 * number, record)
        session.messages.resize(session.add_message(Kind.TEXT, 2 * number + 1, record), text)
    return session


def _total(totals: dict[str, Any]) -> str:
    """The whole in a few words, for the line below."""
    tokens, cost = totals.get("tokens"), totals.get("cost_usd")
    pieces = [f"{format_count(tokens)} tokens"] if type(tokens) is int and tokens >= 0 else ["tokens unknown"]
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        pieces.append(format_cost(cost))
    return " · ".join(pieces)


def pages(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the title and the Markdown of each page of a snapshot. A value of another type than it should be is shown
    as `?`, or as it is.
    """
    totals = dict_of(document.get("totals"))
    rows = [(_LABELS.get(key, escaped(key, 60)), _figure(key, value)) for key, value in totals.items()]
    made = parse_time(document.get("generated_at"))
    rows.append(("made", f"{made:%Y-%m-%d %H:%M} UTC" if made else "?"))
    yield "Overall", table(("month", escaped(_word(document.get("month"))) or "?"), rows)
    for key, title in (("top_providers", "Providers"), ("top_models", "Models")):
        yield title, _rows(title[:-1].lower(), list_of(document.get(key)))
    tips = [escaped(tip if isinstance(tip, str) else json.dumps(tip)) for tip in list_of(document.get("suggestions"))]
    yield "Suggestions", "\n\n".join(tips) if tips else "None."
    if isinstance(path := document.get("reconcile_latest_summary_path"), str):
        yield "Reconciliation", f"Latest summary: {escaped(path)}"


_LABELS = {
    "cost_usd": "cost",
    "tokens": "tokens",
    "blended_usd_per_mtok": "$ / M tokens",
    "session_count": "sessions",
    "skipped_unpriced_count": "events without a price, left out",
}
_COLUMNS = ("name", "tokens", "total_cost_usd", "blended_usd_per_mtok", "session_count")


def _rows(kind: str, rows: Sequence[Any]) -> str:
    lines = [[_figure(name, row.get(name)) for name in _COLUMNS] for row in map(dict_of, rows)]
    return table((kind, "tokens", "cost", "$ / M tokens", "sessions"), lines) if lines else "None."


def build(session: Session, index: int) -> Message:
    """A page as a message, or its heading."""
    page = session.record(session.message_spans(index)[0])
    message = session.place(Message(index, f"{session.id}:{index}", Kind.TEXT, 0), index)
    if message.flags & Flag.OPENER:
        message.label = str(page.get("title", ""))
    else:
        message.parts = [Part("text", str(page.get("text", "")))]
    return message


def _figure(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return escaped(value, 60) if isinstance(value, str) else "?"
    if key.endswith("cost_usd"):
        return f"{'-' if value < 0 else ''}${abs(value):,.2f}"
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"


def _word(value: object) -> str:
    return one_line(clean(value), 40) if isinstance(value, str) else ""


_TABLES = ("top_providers", "top_models")


def validate_snapshot(document: object) -> Verdict:
    """Errors and warnings. A version other than 1 is the only error of its document: nothing else can be said of it."""
    if isinstance(document, dict) and "schema_version" in document and not is_supported(document["schema_version"]):
        version = shown(document["schema_version"])
        return Verdict([Finding("/schema_version", f"`schema_version` {version} is not supported, only 1")], [])
    rejected = ((finding, True) for finding in schema_findings("snapshot", document, _words))
    return verdict_of(chain(rejected, _beyond_the_schema(document) if isinstance(document, dict) else ()))


def _words(error: Any) -> Iterator[Finding]:
    for finding in explain(error):
        is_month = error.validator == "pattern"
        yield finding._replace(message="`month` must be of the form YYYY-MM") if is_month else finding


def _beyond_the_schema(document: dict[str, Any]) -> Judged:
    made = document.get("generated_at")
    if isinstance(made, str):
        if parse_time(made) is None:
            yield Finding("/generated_at", "`generated_at` must be an RFC 3339 time with an offset"), True
        elif made[-1] not in "Zz" and timedelta() != _offset(made):
            yield Finding("/generated_at", "`generated_at` should be in UTC"), False
    totals = dict_of(document.get("totals"))
    yield from pointed("/totals", totals, ("tokens", "session_count", "skipped_unpriced_count"))
    for name in _TABLES:
        rows = document.get(name)
        if isinstance(rows, list):
            yield from _check_rows(f"/{name}", [row for row in rows if isinstance(row, dict)], document, totals)


def _offset(text: str) -> timedelta:
    hours, _, minutes = text[-5:].partition(":")
    return timedelta(hours=int(hours), minutes=int(minutes))


def _check_rows(path: str, rows: list[dict[str, Any]], document: dict[str, Any], totals: dict[str, Any]) -> Judged:
    for number, row in enumerate(rows):
        yield from pointed(f"{path}/{number}", row, ("tokens", "session_count"))
    tokens = [row.get("tokens") for row in rows]
    counts = [count for count in tokens if type(count) is int]
    if len(counts) != len(tokens):
        return  # said already
    for number, (before, count) in enumerate(pairwise(counts), 1):
        if count > before:
            yield Finding(f"{path}/{number}", f"rows stand by tokens, most first: {count:,} after {before:,}"), True
        elif count == before and _is_after(rows[number - 1].get("name"), rows[number].get("name")):
            yield Finding(f"{path}/{number}", "rows of as many tokens should stand by name"), False
    if document.get("mode") == "compact" and len(rows) > TOP:
        yield Finding(path, f"compact has at most {TOP} rows, not {len(rows)}"), True
    names = [row.get("name") for row in rows]
    if len({name for name in names if isinstance(name, str)}) < sum(isinstance(name, str) for name in names):
        yield Finding(path, "a name stands twice"), False
    total = totals.get("tokens")
    whole = document.get("mode") == "extended" or (document.get("mode") == "compact" and len(rows) < TOP)
    if type(total) is int and (sum(counts) > total or (whole and sum(counts) != total)):
        yield Finding(path, f"the rows' tokens add up to {sum(counts):,}, the total is {total:,}"), False


def _is_after(before: object, name: object) -> bool:
    """Return whether the name of a row should stand before that of the row above it."""
    return isinstance(before, str) and isinstance(name, str) and before.encode() > name.encode()


# -- making ------------------------------------------------------------------------------------------------------------


Mode = Literal["compact", "extended"]
TOP = 5
"""Rows of each table in compact mode."""
_NAMED = 8
"""Names that the message of NoEvents has of a kind."""
NO_TIP = "No obvious anomalies detected; keep collecting session-level data and compare 4-week trend deltas."
"""In the words of the format's producer, as all suggestions are: other programs compare them."""


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
    everything, providers, models = _Sum(), defaultdict[str, _Sum](_Sum), defaultdict[str, _Sum](_Sum)
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
        for one in (everything, providers[event.provider], models[event.model]):
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
        "top_providers": _top(providers, limit),
        "top_models": _top(models, limit),
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


def _top(sums: dict[str, _Sum], limit: int | None) -> list[dict[str, Any]]:
    """The rows of a table."""
    ordered = sorted(sums.items(), key=lambda item: (-item[1].tokens, item[0]))
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


_TIPS: dict[str, Callable[[_Sum], bool]] = {
    "Tool-token share is high (>35%): add per-tool budgets and short-circuit low-value tool calls.":
        lambda of: of.tokens > 0 and of.tool_tokens / of.tokens > 0.35,
    "Cache-read share is low (<10%): improve prompt prefix reuse and session stickiness for Claude-style caching.":
        lambda of: of.tokens > 0 and of.cache_read / of.tokens < 0.10,
    "Blended variable $/MTok is high: route low-complexity jobs to cheaper models/providers via policy rules.":
        lambda of: of.tokens > 0 and of.variable / (of.tokens / MTOK) > 12.0,
    "Subscriptions dominate monthly cost (>70%): consolidate seats/plans or increase utilization with shared routing.":
        lambda of: of.dollars > 0 and of.fees / of.dollars > 0.7,
}  # fmt: skip
"""What is suggested, and when."""


def suggestions(of: _Sum) -> list[str]:
    """Return the suggestions that follow from the figures, in the producer's order."""
    return [words for words, follows in _TIPS.items() if follows(of)] or [NO_TIP]


def rounded(number: float, digits: int) -> float:
    """Rounded, a half away from zero, as the producer's language does it; Python's `round` goes to the even digit."""
    scaled = abs(number) * 10**digits
    whole = math.floor(scaled)
    return math.copysign((whole + (scaled - whole >= 0.5)) / 10**digits, number)

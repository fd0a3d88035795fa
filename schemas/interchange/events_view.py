"""A file of Normalized Events as a view of what was used: the sums first, then a row an event.

As a session: an exchange with the sums, which change as the file grows, and one with a note and a token group an event.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from schemas.clean import clean, clean_value, one_line
from schemas.costs.prices import Prices
from schemas.costs.responses import NO_MODEL, Tally, sum_of
from schemas.figures import format_cost, format_count, short_model
from schemas.interchange.events import COUNTERS, Event, EventError, event_of
from schemas.interchange.parser import RecordParser
from schemas.interchange.rfc3339 import format_time
from schemas.interchange.session_data_facts import as_text
from schemas.interchange.sheets import escaped, open_section, table
from schemas.message import Flag, Kind, Message, Part
from schemas.provider import Format, SavedFormat
from schemas.reading import LinesReading, open_file
from schemas.records import Record, Unreadable
from schemas.session import Charged, Session
from schemas.usage import Call, TokenUsage, as_count
from schemas.values import dict_of, list_of

_KEYS = frozenset({"provider", "model", "session_id", "timestamp", "usage"})
_OTHERS = frozenset({"type", "role", "message", "payload", "event"})
"""Keys of the records that agents write, of which some also name a model, a session and what was used."""
_COUNTERS = frozenset({"cache_write_tokens", "cache_read_tokens", "tool_input_tokens", "tool_output_tokens"})
"""Counters that others call otherwise, unlike `input_tokens` and `output_tokens`."""
_SUMS, _HEAD, _FRAME = 1, 3, 4
"""Where the sums and the heading of the events stand, and how many messages the view begins with: their keys are 0 to
3, an event's is its line's offset and 4."""
_SESSION_WIDTH = 24
"""Characters of an id that is no UUID; a line without room for them says so itself."""


def is_event(record: object) -> bool:
    """Return whether a JSON value has keys that only an event has together, one of which may be missing. What is wrong
    with one is for the check.
    """
    if not isinstance(record, dict):
        return False
    missing = _KEYS - record.keys()
    if len(missing) != 1 or record.keys() & _OTHERS:
        return not missing
    # Who speaks with models logs their provider, usage and time as well; an event's session is its own.
    usage = record.get("usage")
    return "session_id" not in missing or (isinstance(usage, dict) and bool(usage.keys() & _COUNTERS))


class EventsParser(RecordParser):
    """Makes the view of events."""

    def __init__(self, path: Path) -> None:
        super().__init__(Session("events", "Normalized Events", path, path.name.partition(".")[0] or path.name))
        self.session.title = one_line(f"Usage events: {path.name}", 200)
        self.session.charged = self._charged
        self._sources: dict[tuple[str, str], int] = {}
        self._names: list[tuple[str, str]] = []
        """The providers and sessions, as they may be shown."""
        self._source = array("L")
        """Which of them each token group is of."""
        self._counted = 0
        self._sums = Sums(self.session, self._names, self._source)

    def settle(self) -> Iterable[int]:
        """Return the sums where events came."""
        counted, self._counted = self._counted, len(self.session.groups)
        return (_SUMS,) if self._counted > counted else ()

    def take(self, record: Record) -> None:
        """Take one more line."""
        session, value = self.session, record[3]
        if not session.exchanges:
            open_section(session, "Usage", 0, record)
            session.messages.flags[session.add_message(Kind.TEXT, _SUMS, record, lines=12)] |= Flag.GROWING
            open_section(session, "Events", 2, record)
            session.add_message(Kind.NOTE, _HEAD, record, lines=1)
        try:
            event = event_of(value, record[2])
        except EventError as error:
            fault = Unreadable(record[2], f"not an event: {error.reason}", record[0], record[1])
            insort(session.unreadable, fault)  # the reading may have named later lines already
            session.add_message(Kind.UNKNOWN, record[0] + _FRAME, record, chars=record[1], lines=1)
            return
        name = one_line(event.provider, 60), one_line(event.session_id, 200)
        self._source.append(self._sources.setdefault(name, len(self._names)))
        self._names += [name] * (len(self._sources) > len(self._names))
        seconds = event.time.timestamp()
        index = session.add_message(
            Kind.NOTE, record[0] + _FRAME, record, block=1, time=seconds, chars=record[1], lines=1
        )
        model = session.model_index(event.model)
        session.messages.model[index] = model
        session.join_group(
            index, session.add_group(group_name(session, record), usage_of(event, value), record, model=model)
        )
        session.exchanges[-1].model = 0  # many models', not the last one's

    def _charged(self, group: int) -> Charged:
        """A file of events is of many sessions and providers, and tells tool tokens apart."""
        event = event_of(self.session.record(self.session.group_spans(group)[0]))
        tools = event.tool_input, event.tool_output
        return Charged(event.provider, event.model, event.session_id, event.agent, *tools)

    # -- in words ------------------------------------------------------------------------------------------------------

    def __call__(self, session: Session, index: int) -> Message:
        """The message of a row."""
        span = next(session.spans.chain(session.messages.span[index]))
        message = session.place(Message(index, f"{session.id}:{span.line}", Kind.NOTE, 0), index)
        if index < _FRAME:
            self._build_frame(message)
        elif message.kind == Kind.UNKNOWN:
            message.parts = [Part("text", clean(session.raw(span).decode("utf-8", "replace")))]
        else:
            self._build_event(message, session.record(span))
        return message

    def _build_frame(self, message: Message) -> None:
        message.id = f"{self.session.id}:{('usage', 'sums', 'events', 'columns')[message.index]}"
        if message.index == _SUMS:
            message.parts = [Part("text", self._sums.text())]
        elif message.index == _HEAD:
            message.label = _row("UTC", "model", "session")
            message.figures = _figures(["in", "read", "write", "out", "total", "cost"])
        else:
            message.label = self.session.exchanges[message.exchange].prompt

    def _build_event(self, message: Message, value: dict[str, Any]) -> None:
        """A row for the eye, and below it the same in full."""
        session, event = self.session, event_of(value)
        group = session.messages.group[message.index]
        usage = session.groups.usage[group]
        called = one_line(event.session_id, 200)
        message.label = _row(f"{event.time:%Y-%m-%d %H:%M}", short_model(message.model) or "-", called)
        counts = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.total)
        cost = self._sums.cost(group)
        shown = ["-" if count is None else format_count(count) for count in counts]
        message.figures = _figures([*shown, "-" if cost is None else format_cost(cost)])
        whole = " · ".join(
            f"{key.removesuffix('_tokens').replace('_', ' ')} {count:,}"
            for key in COUNTERS
            if (count := value["usage"].get(key, 0)) or not key.startswith("tool_")
        )
        names = (one_line(event.provider, 60), message.model or "no model", called, _time(event))
        message.parts = [Part("text", f"{whole}\n{' · '.join(names)}")]
        rest = {key: item for key, item in value.items() if key not in ("usage", "timestamp", "model")}
        message.metadata = clean_value(rest)


def _time(event: Event) -> str:
    return format_time(event.time).replace(".000000", "")


def _row(time: str, model: str, session: str) -> str:
    session = session[:8] if len(session) >= UUID else session[:_SESSION_WIDTH]  # as sessions are called everywhere
    return f"{time:<16} {_fit(model, 10)} {session:<8}"


def _fit(text: str, width: int) -> str:
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def _figures(cells: list[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, (4, 5, 6, 5, 6, 8), strict=True))


def group_name(session: Session, record: Record) -> str:
    """The id of an event's token group: the one that turnlog wrote, else its place in this very file, so that it is no
    copy of anything elsewhere.
    """
    name = as_text(dict_of(record[3].get("turnlog")).get("group"))
    return name or f"{clean(str(session.path))}:{record[0]}"


def usage_of(event: Event, value: dict[str, Any]) -> TokenUsage:
    """An event's tokens as a session counts them: those of tools belong to input and output."""
    ours = dict_of(value.get("turnlog"))
    unknown = list_of(ours.get("unknown"))

    def known(count: int, key: str) -> int | None:
        return None if not count and key in unknown else count

    return TokenUsage(
        known(event.input + event.tool_input, "input_tokens"),
        known(event.output + event.tool_output, "output_tokens"),
        known(event.cache_read, "cache_read_tokens"),
        known(event.cache_write, "cache_write_tokens"),
        as_count(ours.get("reasoning_tokens")),
        event.cache_write_1h,
    )


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


def _cells(of: Tally) -> list[str]:
    used = of.usage or TokenUsage()
    counts = (used.input, used.cache_read, used.cache_write, used.output, used.total)
    shown = ("-" if count is None else format_count(count) for count in counts)
    cost = "-" if of.cost is None else format_cost(of.cost) + "+" * bool(of.unpriced)
    return [f"{of.responses:,}", *shown, cost]


class Sums:
    """The sums over a session's token groups, brought up to date when they are looked at: prices are a package that
    takes half a second to import, for which a command that only counts need not wait.
    """

    def __init__(self, session: Session, names: list[tuple[str, str]], source: array[int]) -> None:
        self._session, self._names, self._source = session, names, source
        self._prices = Prices()
        self._done = 0
        self._sums: dict[tuple[int, int, int], Tally] = {}
        """By model, by source and by day since 1970: what all the rows of the table are made of."""
        self._unpriced: Counter[str] = Counter()

    def cost(self, group: int) -> float | None:
        """US dollars for an event; None where its model has no price. What used nothing costs nothing."""
        session, (provider, _) = self._session, self._names[self._source[group]]
        if not (usage := session.groups.usage[group]).total:
            return 0.0
        return self._prices.cost(provider, session.models[session.groups.model[group]], Call(usage), self._time(group))

    def _time(self, group: int) -> float:
        return self._session.messages.time[self._session.groups.last[group]]

    def text(self) -> str:
        """The sums of everything that was read until now, in Markdown."""
        self._catch_up()
        if not self._sums:
            return "No event yet."
        tables = self._tables()
        rows: list[list[str]] = []
        nothing = [""] * len(_FIGURES)
        for kind, sums in tables.items():
            if kind == _MODEL:
                rows += _section(kind, sums)
                rows.append([f"**{cell}**" for cell in ("total", *_cells(sum_of(sums.values())))])
            elif len(sums) > 1:
                rows += [["", *nothing], [f"by {kind}", *nothing], *_section(kind, sums)]
        notes = _notes(tables[_SESSION], self._unpriced)
        return "\n\n".join([table([f"by {_MODEL}", *_FIGURES], rows), *notes])

    def _catch_up(self) -> None:
        groups, models = self._session.groups, self._session.models
        for group in range(self._done, len(groups)):
            key = groups.model[group], self._source[group], int(self._time(group) // 86_400)
            cost, model = self.cost(group), models[groups.model[group]] or NO_MODEL
            self._sums.setdefault(key, Tally()).count(groups.usage[group], cost, model)
            self._unpriced[model] += cost is None
        self._done = len(groups)

    def _tables(self) -> dict[str, dict[str, Tally]]:
        tables: dict[str, dict[str, Tally]] = {kind: {} for kind in (_MODEL, _SESSION, _DAY, _PROVIDER)}
        for (model, source, day), one in self._sums.items():
            provider, name = self._names[source]
            keys = self._session.models[model] or NO_MODEL, f"{provider}\0{name}", _date(day), provider
            for sums, key in zip(tables.values(), keys, strict=True):
                sums.setdefault(key, Tally()).merge(one)
        return tables


def _notes(sessions: dict[str, Tally], unpriced: Counter[str]) -> Iterator[str]:
    """Yield notes on what the table does not say."""
    if len(sessions) == 1:
        provider, _, name = next(iter(sessions)).partition("\0")
        yield f"All of the session {escaped(name)} of {escaped(provider)}."
    if unpriced := +unpriced:
        names = [f"{escaped(model, 60)} ({count:,})" for model, count in unpriced.most_common(_NAMED)]
        more = f" and {len(unpriced) - _NAMED:,} more" if len(unpriced) > _NAMED else ""
        count = unpriced.total()
        lead = "1 call has no price and is" if count == 1 else f"{count:,} calls have no price and are"
        yield f"{lead} not in the cost: {', '.join(names)}{more}."


def _section(kind: str, sums: dict[str, Tally]) -> list[list[str]]:
    """Rows of the table: the last days in their order; of the rest the dearest first, then those of most tokens."""
    days = kind == _DAY
    if days:
        ordered = sorted(sums.items(), reverse=True)
    else:
        ordered = sorted(sums.items(), key=lambda item: (-(item[1].cost or 0), -item[1].tokens, item[0]))
    cut = _ROWS if len(ordered) > _ROWS + 1 else len(ordered)
    names = _shown(kind, [key for key, _ in ordered[:cut]])
    rows = [[escaped(name), *_cells(one)] for name, (_, one) in zip(names, ordered, strict=False)]
    if left := ordered[cut:]:
        rest = sum_of(one for _, one in left)
        rows.append([f"{len(left):,} {'earlier' if days else 'more'}", *_cells(rest)])
    return rows[::-1] if days else rows


def _date(day: int) -> str:
    return (_EPOCH + timedelta(day)).isoformat()


def _shown(kind: str, keys: list[str]) -> list[str]:
    """Return the names of rows as they are shown: shortened, unless two would then be the same."""
    whole = [key.rpartition("\0")[2] for key in keys]
    short = [short_model(name) or name for name in whole] if kind == _MODEL else whole
    if kind == _SESSION:
        short = [name[:8] if len(name) >= UUID else name for name in short]  # as sessions are called everywhere
    short = [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in short]
    return short if len(set(short)) == len(keys) else whole


EVENTS = SavedFormat(
    "events",
    "Normalized Events",
    "Each event is one group and stands for one model call; its input is without what came from the cache.",
    (
        Format(
            "Normalized Events v1, JSON lines",
            "a record with provider, model, session_id, timestamp and usage, or four of them",
        ),
    ),
    lambda head: any(map(is_event, head.records[:20])) or is_event(head.document),
    lambda path: LinesReading(open_file(path), EventsParser(path)),
)

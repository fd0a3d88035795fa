"""Normalized Events v1: lines read as a list, written from the ledger's responses, judged, and shown as a session.

What the contract requires is required of a reader's line, but for the counters of `usage`: the format's producer takes
a missing one for 0 (formats note 3.1). Unknown keys are passed over. What is written and the format has no place for
goes under `turnlog`, which other readers pass over (schemas/documents/events.md). A file of them is a view of what was
used: an exchange with the sums, which change as the file grows, and one with a note and a token group an event.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from schemas.clean import clean, clean_value, one_line
from schemas.costs.prices import Prices
from schemas.costs.responses import NO_MODEL, Response, Tally, sum_of
from schemas.figures import format_cost, format_count, short_model
from schemas.interchange.json_text import BOM, read_json, read_line
from schemas.interchange.parser import RecordParser
from schemas.interchange.rfc3339 import format_time, parse_time
from schemas.interchange.session_data_facts import as_text, iso_time
from schemas.interchange.sheets import escaped, open_section, table
from schemas.interchange.verdicts import Finding, Verdict, kind_of, pointed, schema_findings, verdict_of
from schemas.json_output import json_bytes
from schemas.message import Flag, Kind, Message, Part
from schemas.provider import Format, SavedFormat
from schemas.reading import LinesReading, open_file
from schemas.records import Record, Unreadable
from schemas.session import Charged, Session
from schemas.usage import Call, TokenUsage, as_count
from schemas.values import dict_of, given, texts_of

COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_write_tokens",
    "cache_read_tokens",
    "tool_input_tokens",
    "tool_output_tokens",
)
LARGEST = (1 << 64) - 1


class EventError(ValueError):
    """A line that is no event: which line, from 1, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Event(NamedTuple):
    """The tokens of a model call. Counts do not overlap: input is without the cache, tool tokens beside the others."""

    provider: str
    model: str
    session_id: str
    time: datetime
    """In UTC."""
    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0
    tool_input: int = 0
    tool_output: int = 0
    cache_write_1h: int | None = None
    """Of `cache_write`, what is kept for an hour: turnlog's own addition to the format."""
    agent: str | None = None
    """The subagent that made the call: turnlog's own addition, as what follows."""
    group: str = ""
    """The id of the token group that it is."""
    reasoning: int | None = None
    unknown: tuple[str, ...] = ()
    """Counters that are 0 because the source gives none."""

    @property
    def total(self) -> int:
        """The contract's `usage_total_tokens`."""
        return self.input + self.output + self.cache_write + self.cache_read + self.tool_input + self.tool_output

    @property
    def usage(self) -> TokenUsage:
        """The tokens as a session counts them: those of tools belong to input and output."""

        def known(count: int, key: str) -> int | None:
            return None if not count and key in self.unknown else count

        return TokenUsage(
            known(self.input + self.tool_input, "input_tokens"),
            known(self.output + self.tool_output, "output_tokens"),
            known(self.cache_read, "cache_read_tokens"),
            known(self.cache_write, "cache_write_tokens"),
            self.reasoning,
            self.cache_write_1h,
        )

    @property
    def call(self) -> Call:
        """The tokens as prices want them."""
        usage = TokenUsage(
            self.input, self.output, self.cache_read, self.cache_write, cache_write_1h=self.cache_write_1h
        )
        return Call(usage, self.tool_input, self.tool_output)


def read_events(data: bytes) -> Iterator[Event]:
    """The events in a file's bytes, blank lines passed over. Raises EventError at the first line that is none."""
    for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            text = read_line(line)
            if text.fault:
                raise EventError(number, text.fault) from None
            value = clean_value(text.value)  # it may hold half a character, which cannot be written
        yield event_of(value, number)


def event_of(value: object, line: int = 0) -> Event:
    """The event in a JSON value. Raises EventError with the first thing that is wrong with it."""
    if not isinstance(value, dict):
        raise EventError(line, "not an object")
    for key in ("provider", "model", "session_id"):
        if not isinstance(value.get(key), str):
            raise EventError(line, f"`{key}` is {'not a string' if key in value else 'missing'}")
    time = parse_time(value.get("timestamp"))
    if time is None:
        missing = "timestamp" not in value
        raise EventError(line, "`timestamp` is missing" if missing else "`timestamp` is no time with an offset")
    usage = value.get("usage")
    if not isinstance(usage, dict):
        raise EventError(line, f"`usage` is {'not an object' if 'usage' in value else 'missing'}")
    fresh, output, write, read, tool_in, tool_out = (_count(usage, key, line) for key in COUNTERS)
    ours = dict_of(value.get("turnlog"))
    provider, model, session_id = (clean(value[key]) for key in ("provider", "model", "session_id"))
    return Event(
        provider, model, session_id, time, fresh, output, write, read, tool_in, tool_out,
        as_count(ours.get("cache_write_1h_tokens")), as_text(ours.get("agent")) or None, as_text(ours.get("group")),
        as_count(ours.get("reasoning_tokens")), tuple(texts_of(ours.get("unknown"))),
    )  # fmt: skip


def _count(usage: dict[str, Any], key: str, line: int) -> int:
    count = usage.get(key, 0)
    if type(count) is not int or not 0 <= count <= LARGEST:  # a bool is an int too
        raise EventError(line, f"`usage.{key}` is no count of tokens")
    return count


UNKNOWN_MODEL = "unknown"
"""Stands where a model is required and the source names none."""


def event_line(response: Response) -> bytes | None:
    """The event of a response and a newline; None where its session tells no time, without which there is no event."""
    time = iso_time(response.time)
    if time is None or not response.dated:
        return None
    usage, call = response.usage, response.call
    fresh, output, read, write = call.usage[:4]
    counts = (fresh, output, write, read, call.tool_input, call.tool_output)
    pieces = zip(COUNTERS, (usage.input, usage.output, usage.cache_write, usage.cache_read), strict=False)
    ours = {"group": response.group} | given(
        agent=response.agent or None,
        reasoning_tokens=usage.reasoning,
        cache_write_1h_tokens=usage.cache_write_1h,
        unknown=[key for key, count in pieces if count is None] or None,
    )
    event = {
        "provider": response.provider,
        "model": response.model or UNKNOWN_MODEL,
        "session_id": response.session.id,
        "timestamp": time,
        "usage": {key: count or 0 for key, count in zip(COUNTERS, counts, strict=True)},
        "turnlog": ours,
    }
    return json_bytes(event) + b"\n"


def validate_events(data: bytes) -> Verdict:
    """Errors and warnings of a file's bytes, in order; each names its line. Blank lines are passed over."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if not lines:
        return Verdict([Finding("", "there is no event in it")], [])
    return verdict_of(
        (Finding(f"line {number}: {path}" if path else f"line {number}", message), fatal)
        for number, line in lines
        for path, message, fatal in _line(line)
    )


def _line(line: bytes) -> Iterator[tuple[str, str, bool]]:
    with suppress(orjson.JSONDecodeError):  # which is said below, in the words of every check
        if not any(_faults(orjson.loads(line))):
            return
    text = read_json(line)  # by the letter: the quickest parser makes a float of a long integer
    if text.fault:
        yield "", text.fault.replace(" line 1,", ""), True
    else:
        yield from _faults(text.value)


def _faults(event: object) -> Iterator[tuple[str, str, bool]]:
    """Yield the faults of an event: place, sentence, and whether it is an error."""
    if not isinstance(event, dict):
        yield "", f"an event must be an object, not {kind_of(event)}", True
        return
    for finding in schema_findings("events", event):
        yield *finding, True
    # What a JSON Schema cannot express.
    for key in ("provider", "model", "session_id"):
        if event.get(key) == "":
            yield f"/{key}", f"`{key}` is empty", False
    time = event.get("timestamp")
    if isinstance(time, str):
        moment = parse_time(time)
        if moment is None or time[10] == " ":
            yield (
                "/timestamp",
                "`timestamp` must be an RFC 3339 time with an offset, such as 2026-02-19T22:12:00Z",
                True,
            )
    for finding, fatal in pointed("/usage", dict_of(event.get("usage")), COUNTERS):
        yield *finding, fatal


# -- the view ----------------------------------------------------------------------------------------------------------


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
        # One that turnlog did not write is called by its place in this very file, so that it is no copy of another.
        group = event.group or f"{clean(str(session.path))}:{record[0]}"
        session.join_group(index, session.add_group(group, event.usage, record, model=model))
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

"""Normalized Events v1, what each model call used, a JSON line each, as a view: the sums first, then a row an event.

As a session: an exchange with the sums, which change as the file grows, and one with a note and a token group an event.
events_read.py reads events by themselves, events_write.py writes them, events_check.py judges them.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from schemas.clean import clean, clean_value, one_line
from schemas.figures import format_cost, format_count, short_model
from schemas.interchange.events_read import COUNTERS, Event, EventError, event_of
from schemas.interchange.events_sums import UUID, Sums
from schemas.interchange.rfc3339 import format_time
from schemas.interchange.sheets import open_section
from schemas.message import Flag, Kind, Message, Part
from schemas.provider import Format, Head, Reading, Saved
from schemas.reading import LinesReading, open_file
from schemas.records import Record, Unreadable
from schemas.session import Change, Charged, Op, Session
from schemas.usage import TokenUsage, as_count

_KEYS = frozenset({"provider", "model", "session_id", "timestamp", "usage"})
_OTHERS = frozenset({"type", "role", "message", "payload", "event"})
"""Keys of the records that agents write, of which some also name a model, a session and what was used."""
_COUNTERS = frozenset({"cache_write_tokens", "cache_read_tokens", "tool_input_tokens", "tool_output_tokens"})
"""Counters that others call otherwise, unlike `input_tokens` and `output_tokens`."""
_SUMS, _HEAD, _FRAME = 1, 3, 4
"""Where the sums and the heading of the events stand, and how many messages the view begins with: their keys are 0 to
3, an event's is its line's offset and 4."""
_SESSION = 24
"""Characters of an id that is no UUID; a line without room for them says so itself."""


def is_event(record: object) -> bool:
    """Whether a JSON value has keys that only an event has together, one of which may be missing. What is wrong with
    one is for the check.
    """
    if not isinstance(record, dict):
        return False
    missing = _KEYS - record.keys()
    if len(missing) != 1 or record.keys() & _OTHERS:
        return not missing
    # Who speaks with models logs their provider, usage and time as well; an event's session is its own.
    usage = record.get("usage")
    return "session_id" not in missing or (isinstance(usage, dict) and bool(usage.keys() & _COUNTERS))


class EventsProvider(Saved):
    """Event files in the place of an agent: one opens as a view of what was used."""

    id = "events"
    name = "Normalized Events"
    counting = "Each event is one group and stands for one model call; its input is without what came from the cache."
    formats = (
        Format(
            "Normalized Events v1, JSON lines",
            "a record with provider, model, session_id, timestamp and usage, or four of them",
        ),
    )

    def detect(self, head: Head) -> bool:
        """Whether one of the first records is an event."""
        return any(map(is_event, head.records[:20])) or is_event(head.document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Read a file from its first line on, whatever `start` says: sums are of all of it. Raises OSError."""
        return LinesReading(open_file(path), EventsParser(path))


EVENTS = EventsProvider()


class EventsParser:
    """Makes the view of events."""

    def __init__(self, path: Path) -> None:
        self.session = Session("events", "Normalized Events", path, path.name.partition(".")[0] or path.name)
        self.session.title = one_line(f"Usage events: {path.name}", 200)
        self.session.build = self._build
        self.session.charged = self._charged
        self._sources: dict[tuple[str, str], int] = {}
        self._source = array("L")
        """Which of `_sources` (provider and session, as they may be shown) each token group is of."""
        self._sums = Sums(self.session, self._sources, self._source)

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more lines."""
        before, counted = len(self.session.messages), len(self.session.groups)
        for record in records:
            self._take(record)
        changes = [Change(Op.APPENDED, index) for index in range(before, len(self.session.messages))]
        if before and len(self.session.groups) > counted:
            changes.insert(0, Change(Op.UPDATED, _SUMS))
        return changes

    def refresh(self) -> list[Change]:
        """Nothing lies beside the file."""
        return []

    def _take(self, record: Record) -> None:
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
        self._source.append(self._sources.setdefault(name, len(self._sources)))
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

    def _build(self, session: Session, index: int) -> Message:
        rows = session.messages
        span = next(session.spans.chain(rows.span[index]))
        kind = rows.kind_of(index)
        message = Message(index, f"{session.id}:{span.line}", kind, rows.exchange[index], rows.when(index))
        message.flags = Flag(rows.flags[index])
        if index < _FRAME:
            self._build_frame(message)
        elif kind == Kind.UNKNOWN:
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
        message.model = session.model_of(message.index)
        message.group = session.groups.ids[group]
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
    session = session[:8] if len(session) >= UUID else session[:_SESSION]  # as sessions are called everywhere
    return f"{time:<16} {_fit(model, 10)} {session:<8}"


def _fit(text: str, width: int) -> str:
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def _figures(cells: list[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, (4, 5, 6, 5, 6, 8), strict=True))


def group_name(session: Session, record: Record) -> str:
    """The id of an event's token group: the one that turnlog wrote, else its place in this very file, so that it is no
    copy of anything elsewhere.
    """
    ours = record[3].get("turnlog")
    name = ours.get("group") if isinstance(ours, dict) else None
    return clean(name) if isinstance(name, str) and name else f"{clean(str(session.path))}:{record[0]}"


def usage_of(event: Event, value: dict[str, Any]) -> TokenUsage:
    """An event's tokens as a session counts them: those of tools belong to input and output."""
    ours = value.get("turnlog")
    ours = ours if isinstance(ours, dict) else {}
    unknown = ours.get("unknown")
    unknown = unknown if isinstance(unknown, list) else []

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

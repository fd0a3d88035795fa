"""Normalized Events v1 as a list, and as a session in which each event is a token group.

What the contract requires is required, but for the counters of `usage`: the format's producer takes a missing one for
0 (formats note 3.1). Unknown keys are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from schemas.clean import clean, clean_value, one_line
from schemas.interchange.rfc3339 import parse_time
from schemas.message import Flag, Kind, Message, Part
from schemas.prices import Call
from schemas.records import Record
from schemas.session import Change, Op, Session
from schemas.usage import TokenUsage, as_count

COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_write_tokens",
    "cache_read_tokens",
    "tool_input_tokens",
    "tool_output_tokens",
)
LARGEST = (1 << 64) - 1
_SHOWN = 1 << 62
"""What a session's columns hold of a count; more is no count of tokens."""


class EventError(ValueError):
    """A line that is no event: which line, from 1, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Event(NamedTuple):
    """What a model call used. Counts do not overlap: input excludes the cache, tool tokens are beside the others."""

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

    @property
    def total(self) -> int:
        """The contract's `usage_total_tokens`."""
        return self.input + self.output + self.cache_write + self.cache_read + self.tool_input + self.tool_output

    @property
    def call(self) -> Call:
        """The tokens as prices want them."""
        usage = TokenUsage(
            self.input, self.output, self.cache_read, self.cache_write, cache_write_1h=self.cache_write_1h
        )
        return Call(usage, self.tool_input, self.tool_output)


def read_events(data: bytes) -> Iterator[Event]:
    """The events in a file's bytes, blank lines passed over. Raises EventError at the first line that is none."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise EventError(number, f"not JSON: {error.msg.lower()}") from None
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
    ours = value.get("turnlog")
    hour = as_count(ours.get("cache_write_1h_tokens")) if isinstance(ours, dict) else None
    names = value["provider"], value["model"], value["session_id"]
    return Event(*names, time, fresh, output, write, read, tool_in, tool_out, hour)


def _count(usage: dict[str, Any], key: str, line: int) -> int:
    count = usage.get(key, 0)
    if type(count) is not int or not 0 <= count <= LARGEST:  # a bool is an int too
        raise EventError(line, f"`usage.{key}` is no count of tokens")
    return count


# -- as a session ----------------------------------------------------------------------------------------------------


class EventsParser:
    """Makes a session of events: a note and a token group for each, an exchange for each run of one session's."""

    def __init__(self, path: Path) -> None:
        self.session = Session("events", "Normalized Events", path, path.name.partition(".")[0] or path.name)
        self.session.title = one_line(f"Usage events: {path.name}", 200)
        self.session.build = build
        self._of: tuple[str, str] | None = None

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more lines."""
        before = len(self.session.messages)
        for record in records:
            self._take(record)
        return [Change(Op.APPENDED, index) for index in range(before, len(self.session.messages))]

    def refresh(self) -> list[Change]:
        """Nothing lies beside the file."""
        return []

    def _take(self, record: Record) -> None:
        session, value = self.session, record[3]
        try:
            event = event_of(value, record[2])
        except EventError as error:
            session.unknown[f"no event: {error.reason}"] += 1
            session.add_message(Kind.UNKNOWN, _key(record), record, chars=record[1], lines=1)
            return
        seconds = event.time.timestamp()
        name = one_line(event.provider, 60), one_line(event.session_id, 200)
        if name != self._of:
            self._of = name
            self._open(f"{name[0]} · {name[1]}", record, seconds)
        index = session.add_message(Kind.NOTE, _key(record), record, block=1, time=seconds, chars=record[1], lines=1)
        model = session.model_index(event.model)
        session.messages.model[index] = model
        session.join_group(
            index, session.add_group(group_name(session, record), usage_of(event, value), record, model=model)
        )

    def _open(self, name: str, record: Record, seconds: float) -> None:
        """An exchange, with a line at its head that says whose events follow."""
        session = self.session
        exchange = session.open_exchange(Kind.NOTE, name)
        exchange.opener = None  # nobody typed anything
        session.mark_opener(session.add_message(Kind.NOTE, _key(record) - 1, record, time=seconds))


def _key(record: Record) -> int:
    """A number for what a line holds; the one below it is that of the exchange which the line begins."""
    return 2 * record[0] + 1


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

    def known(count: int, *keys: str) -> int | None:
        return None if not count and any(key in unknown for key in keys) else min(count, _SHOWN)

    return TokenUsage(
        known(event.input + event.tool_input, "input_tokens"),
        known(event.output + event.tool_output, "output_tokens"),
        known(event.cache_read, "cache_read_tokens"),
        known(event.cache_write, "cache_write_tokens"),
        as_count(ours.get("reasoning_tokens")),
        event.cache_write_1h,
    )


def build(session: Session, index: int) -> Message:
    """An event in words, from its line."""
    rows = session.messages
    span = next(session.spans.chain(rows.span[index]))
    kind = rows.kind_of(index)
    message = Message(index, f"{session.id}:{span.line}", kind, rows.exchange[index], rows.when(index))
    if kind == Kind.UNKNOWN:
        message.parts = [Part("text", clean(session.raw(span).decode("utf-8", "replace")))]
        return message
    value = session.record(span)
    message.flags = Flag(rows.flags[index])
    if message.flags & Flag.OPENER:
        message.id += ":session"
        message.label = session.exchanges[message.exchange].prompt
        return message
    message.model = session.model_of(index)
    message.group = session.groups.ids[rows.group[index]]
    event = event_of(value)
    message.label = f"{message.model or 'no model'}: {event.total:,} tokens"
    usage = ((key.removesuffix("_tokens").replace("_", " "), value["usage"].get(key, 0)) for key in COUNTERS)
    message.parts = [Part("text", " · ".join(f"{name} {count:,}" for name, count in usage))]
    rest = {key: item for key, item in value.items() if key not in ("usage", "timestamp", "model")}
    message.metadata = clean_value(rest)
    return message

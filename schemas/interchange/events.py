"""Normalized Events v1 by themselves: lines read as a list, written from the ledger's responses, and judged.

What the contract requires is required of a reader's line, but for the counters of `usage`: the format's producer takes
a missing one for 0 (formats note 3.1). Unknown keys are passed over. What is written and the format has no place for
goes under `turnlog`, which other readers pass over (schemas/documents/events.md). events_view.py shows a file of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from schemas.clean import clean, clean_value
from schemas.interchange.json_text import BOM, read_json, read_line
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.session_data_facts import as_text, iso_time
from schemas.interchange.verdicts import Finding, Verdict, kind_of, pointed, schema_findings, verdict_of
from schemas.json_output import json_bytes
from schemas.usage import Call, TokenUsage, as_count
from schemas.values import dict_of, given

if TYPE_CHECKING:
    from schemas.costs.responses import Response

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
    """The subagent that made the call: turnlog's own addition."""

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
    hour, agent = as_count(ours.get("cache_write_1h_tokens")), as_text(ours.get("agent")) or None
    provider, model, session_id = (clean(value[key]) for key in ("provider", "model", "session_id"))
    return Event(provider, model, session_id, time, fresh, output, write, read, tool_in, tool_out, hour, agent)


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

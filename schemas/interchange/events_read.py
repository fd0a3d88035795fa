"""Normalized Events v1 as a list.

What the contract requires is required, but for the counters of `usage`: the format's producer takes a missing one for
0 (formats note 3.1). Unknown keys are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from schemas.clean import clean, clean_value
from schemas.interchange.rfc3339 import parse_time
from schemas.usage import Call, TokenUsage, as_count

COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_write_tokens",
    "cache_read_tokens",
    "tool_input_tokens",
    "tool_output_tokens",
)
LARGEST = (1 << 64) - 1
BOM = b"\xef\xbb\xbf"


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
            from schemas.interchange.json_text import read_line  # a reading that finds no fault need not wait for it

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
    ours = value.get("turnlog")
    hour = as_count(ours.get("cache_write_1h_tokens")) if isinstance(ours, dict) else None
    agent = ours.get("agent") if isinstance(ours, dict) else None
    agent = clean(agent) if isinstance(agent, str) and agent else None
    provider, model, session_id = (clean(value[key]) for key in ("provider", "model", "session_id"))
    return Event(provider, model, session_id, time, fresh, output, write, read, tool_in, tool_out, hour, agent)


def _count(usage: dict[str, Any], key: str, line: int) -> int:
    count = usage.get(key, 0)
    if type(count) is not int or not 0 <= count <= LARGEST:  # a bool is an int too
        raise EventError(line, f"`usage.{key}` is no count of tokens")
    return count

"""A session's token groups as Normalized Events v1: one event a group, input without cache, times in UTC.

Facts that the format has no place for go under `turnlog`, which other readers pass over (schemas/documents/events.md).
"""

from __future__ import annotations

from typing import Any

from schemas.costs.responses import Response
from schemas.interchange.session_data_facts import iso_time
from schemas.json_output import json_bytes

UNKNOWN_MODEL = "unknown"
"""Stands where a model is required and the source names none."""


def event_line(response: Response) -> bytes | None:
    """The event of a response and a newline; None where its session tells no time, without which there is no event."""
    time = iso_time(response.time)
    if time is None or not response.dated:
        return None
    usage, call = response.usage, response.call
    counts: dict[str, int | None] = {
        "input_tokens": call.usage.input,
        "output_tokens": call.usage.output,
        "cache_write_tokens": call.usage.cache_write,
        "cache_read_tokens": call.usage.cache_read,
        "tool_input_tokens": call.tool_input,
        "tool_output_tokens": call.tool_output,
    }
    ours: dict[str, Any] = {"group": response.group}
    if response.agent:
        ours["agent"] = response.agent
    if usage.reasoning is not None:
        ours["reasoning_tokens"] = usage.reasoning
    if usage.cache_write_1h is not None:
        ours["cache_write_1h_tokens"] = usage.cache_write_1h
    pieces = zip(counts, (usage.input, usage.output, usage.cache_write, usage.cache_read), strict=False)
    if unknown := [key for key, count in pieces if count is None]:
        ours["unknown"] = unknown
    event = {
        "provider": response.provider,
        "model": response.model or UNKNOWN_MODEL,
        "session_id": response.session.id,
        "timestamp": time,
        "usage": {key: count or 0 for key, count in counts.items()},
        "turnlog": ours,
    }
    return json_bytes(event) + b"\n"

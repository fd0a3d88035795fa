"""Normalized Events v1, what each model call used, a JSON line each: recognised here.

Read in events_read.py, shown by events_view.py, written in events_write.py, checked in events_check.py;
schemas/documents/events.md.
"""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Format, Head, Reading, Saved

_KEYS = frozenset({"provider", "model", "session_id", "timestamp", "usage"})
_OTHERS = frozenset({"type", "role", "message", "payload", "event"})
"""Keys of the records that agents write, of which some also name a model, a session and what was used."""
_COUNTERS = frozenset({"cache_write_tokens", "cache_read_tokens", "tool_input_tokens", "tool_output_tokens"})
"""Counters that others call otherwise, unlike `input_tokens` and `output_tokens`."""


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
        from schemas.interchange.events_view import EventsParser
        from schemas.reading import LinesReading, open_file

        return LinesReading(open_file(path), EventsParser(path))


EVENTS = EventsProvider()

"""Normalized Events v1, what each model call used, a JSON line each: recognised here.

Read in events_read.py, written in events_write.py, checked in events_check.py; schemas/documents/events.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile
from schemas.session import Session

_KEYS = frozenset({"provider", "session_id", "usage"})


def is_event(record: object) -> bool:
    """Whether a JSON value has the keys that only an event has together. What is wrong with one is for the check."""
    return isinstance(record, dict) and record.keys() >= _KEYS and isinstance(record["usage"], dict)


class EventsProvider:
    """Event files in the place of an agent: one opens as a view of what was used."""

    id = "events"
    name = "Normalized Events"
    counting = "Each event is one group and stands for one model call; its input is without what came from the cache."
    formats = (Format("Normalized Events v1, JSON lines", "a record with provider, session_id and an object usage"),)

    def locations(self, env: Environment) -> list[Location]:
        """Nowhere: no agent keeps them."""
        return []

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """None: see `locations`."""
        return iter(())

    def detect(self, head: Head) -> bool:
        """Whether one of the first records is an event."""
        return any(map(is_event, head.records[:20])) or is_event(head.document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a file. Raises OSError."""
        from schemas.interchange.events_read import EventsParser
        from schemas.reading import LinesReading, open_file

        return LinesReading(open_file(path), EventsParser(path), start)

    def resume_command(self, session: Session) -> list[str] | None:
        """None: there is nothing to go on with."""
        return None

    def retention(self, env: Environment) -> Retention | None:
        """None: nobody keeps them."""
        return None


EVENTS = EventsProvider()

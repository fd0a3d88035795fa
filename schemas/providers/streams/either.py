"""The parser of a stream until all formats are on the kit: the kit's or the old one, as its first telling line says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from schemas.provider import Reading
from schemas.providers import printers
from schemas.providers.kit.pipe import MOST_BYTES, MOST_RECORDS, Pipe, events_in
from schemas.providers.kit.printed import Printed, is_document
from schemas.providers.streams.detect import answer_items, told_by
from schemas.providers.streams.parser import StreamParser, new_session
from schemas.reading import DocumentReading, open_file
from schemas.records import Record
from schemas.session import Change, Op, Session


class Either(Pipe):
    """Gives records to the old parser until one tells that the kit's agents print."""

    def __init__(self, path: Path) -> None:
        self.clock: Callable[[], float] | None = None
        self._parser: Pipe | StreamParser = StreamParser(new_session(path))
        self._kept: list[Record] | None = []
        """What came before it was told who prints; None when it was."""

    @property
    def session(self) -> Session:
        """The session that is filled; another one when text was shown before one of the kit's agents was told."""
        return self._parser.session

    @session.setter
    def session(self, session: Session) -> None:
        self._parser.session = session

    def feed(self, records: Iterable[Record], store: int = 0) -> list[Change]:
        """Take more records."""
        if isinstance(self._parser, StreamParser):
            self._parser.stream.clock = self.clock
        if self._kept is None:
            return self._parser.feed(records)
        first, rest = len(self._kept), iter(records)
        for record in rest:
            self._kept.append(record)
            if any(agent.prints(record[3]) for agent in printers()):
                return self._as_kits([*self._kept, *rest])
            if told_by(record[3]) or len(self._kept) > MOST_RECORDS or sum(r[1] for r in self._kept) > MOST_BYTES:
                new, self._kept = [*self._kept[first:], *rest], None
                return self._parser.feed(new)
        return self._parser.feed(self._kept[first:])

    def _as_kits(self, records: list[Record]) -> list[Change]:
        """Read all that came so far with the kit."""
        session, shown = self.session, len(self.session.messages)
        if shown:
            session = new_session(session.path)
            session.stores, session.unreadable = self.session.stores, self.session.unreadable
        self._kept, self._parser = None, Pipe(printers(), session.path, session)
        self._parser.clock = self.clock
        return [Change(Op.RESTARTED)] * bool(shown) + self._parser.feed(records)

    def finish(self, records: Iterable[Record], cut: Record | None = None) -> list[Change]:
        """No more will come."""
        changes = self.feed(records)
        return changes + [change for change in self._parser.finish([], cut) if change not in changes]

    def refresh(self) -> list[Change]:
        """Nothing lies beside a stream."""
        return []


def open_stream(path: Path, start: int = 0) -> Reading:
    """Begin to read a saved stream, or the one JSON value that an agent printed at its end. Raises OSError."""
    store = open_file(path)
    if not start and is_document(store):
        store.close()
        return DocumentReading(
            path,
            lambda: Either(path),
            lambda d: events_in(printers(), d) or answer_items(d),
            lambda d: bool(events_in(printers(), d) or answer_items(d)),
        )
    return Printed(store, Either(path), start)

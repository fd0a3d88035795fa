"""The parser of a stream until all formats are on the kit: the kit's or the old one, as its first telling line says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from schemas.provider import Reading
from schemas.providers import printers
from schemas.providers.kit.pipe import MOST_BYTES, MOST_RECORDS, Pipe, events_in
from schemas.providers.kit.printed import Printed, is_document
from schemas.providers.streams.detect import answer_items, told_by
from schemas.providers.streams.parser import StreamParser, new_session
from schemas.reading import DocumentReading, open_file
from schemas.records import Record
from schemas.session import Change, Session


class Either(Pipe):
    """Keeps records back until one tells who prints, and gives them and all that follow to its parser."""

    def __init__(self, path: Path) -> None:
        self._made = new_session(path)
        self._made.metadata["source"] = "stream"
        self._parser: Pipe | StreamParser | None = None
        self._kept: list[Record] = []
        self.clock: Callable[[], float] | None = None

    @property
    def session(self) -> Session:
        """The session that is filled."""
        return self._made

    @session.setter
    def session(self, session: Session) -> None:
        self._made = session
        if self._parser is not None:
            self._parser.session = session

    def feed(self, records: Iterable[Record], store: int = 0) -> list[Change]:
        """Take more records."""
        if self._parser is not None:
            return self._parser.feed(records)
        return self._look(iter(records))

    def _look(self, records: Iterator[Record]) -> list[Change]:
        for record in records:
            self._kept.append(record)
            value = record[3]
            if any(agent.prints(value) for agent in printers()):
                self._give(Pipe(printers(), self._made.path, self._made))
            elif told_by(value) or len(self._kept) > MOST_RECORDS or sum(r[1] for r in self._kept) > MOST_BYTES:
                self._give(StreamParser(self._made))
            if self._parser is not None:
                kept, self._kept = self._kept, []
                return self._parser.feed([*kept, *records])
        return []

    def finish(self, records: Iterable[Record], cut: Record | None = None) -> list[Change]:
        """No more will come."""
        changes = self.feed(iter(list(records)))
        if self._parser is None:
            self._give(StreamParser(self._made))
        assert self._parser is not None
        kept, self._kept = self._kept, []
        return changes + [c for c in self._parser.finish(kept, cut) if c not in changes]

    def refresh(self) -> list[Change]:
        """Nothing lies beside a stream."""
        return []

    def _give(self, parser: Pipe | StreamParser) -> None:
        self._parser = parser
        if isinstance(parser, StreamParser):
            parser.stream.clock = self.clock
        else:
            parser.clock = self.clock


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

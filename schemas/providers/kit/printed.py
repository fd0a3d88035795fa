"""The readings of what agents print, live or saved: lines with an end, or one JSON value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schemas.provider import beginning
from schemas.providers.kit.bases import Stream
from schemas.providers.kit.pipe import Pipe, events_in
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import UNFINISHED, FileStore, Record, read_document, read_record
from schemas.session import Change
from schemas.troubles import guarded


class Printed(LinesReading):
    """What agents printed, lines and plain text; it has an end."""

    parser: Pipe

    def __init__(self, store: FileStore, parser: Pipe, start: int = 0) -> None:
        super().__init__(store, parser, start, plain=True)

    @guarded()
    def finish(self) -> list[Change]:
        """The pipe is closed: take what waits for its newline, and say what stays unfinished."""
        records, unreadable = self.lines.finish(), self.session.unreadable
        cut: Record | None = None
        if unreadable and unreadable[-1].reason == UNFINISHED:
            last = unreadable[-1]
            cut = (last.offset, last.length, last.line, {})
        return self.parser.finish(records, cut)


def open_printed(agents: Sequence[Stream], path: Path, start: int = 0) -> Printed | DocumentReading:
    """Begin to read what agents printed, or the one JSON value that one printed at its end. Raises OSError."""
    store = open_file(path)
    if not start and is_document(store):
        store.close()
        return DocumentReading(
            path, lambda: Pipe(agents, path), lambda d: events_in(agents, d), lambda d: bool(events_in(agents, d))
        )
    return Printed(store, Pipe(agents, path), start)


def is_document(store: FileStore) -> bool:
    """Whether all of a file is one JSON value that is written over several lines, or a list."""
    head, _ = beginning(store.read)
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if first[:1] not in (b"{", b"[") or read_record(first.partition(b"\n")[0]):
        return False
    return read_document(store.read(0, store.stat().st_size)) is not None

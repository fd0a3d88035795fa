"""Reading a session from a file of JSON lines, or from one JSON document."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from schemas.provider import Parser
from schemas.records import FileStore, JsonLines, MemoryStore, Record, read_record
from schemas.session import Change, Op, Session

_SLICE = 64 << 10


class LinesReading:
    """A JSON lines file, read from the start (or from `start`) as far as it has been written.

    The parser is made for the open store; `store` and `position` are public so that following can compare the open
    file with what lies under its name by now.
    """

    def __init__(self, store: FileStore, parser: Parser, start: int = 0) -> None:
        self.store = store
        self.parser = parser
        self.session: Session = parser.session
        self.session.stores.append(store)
        self.position = self._line_after(start) if start > 0 else 0
        self.lines = JsonLines(self.position, 1)
        self.session.unreadable = self.lines.unreadable
        self.done = False

    def _line_after(self, start: int) -> int:
        """The offset behind the first newline at or after `start`."""
        while data := self.store.read(start, 1 << 20):
            if (newline := data.find(b"\n")) >= 0:
                return start + newline + 1
            start += len(data)
        return start

    def step(self, limit: int = 1 << 20) -> list[Change]:
        """Read about `limit` more bytes."""
        data = self.store.read(self.position, limit)
        self.position += len(data)
        self.done = len(data) < limit
        # In slices, each parsed when the parser has done with the one before: their objects stay in the processor's
        # cache, which makes the parse a third faster than one slice of a megabyte.
        slices = (data[at : at + _SLICE] for at in range(0, len(data), _SLICE))
        return self.parser.feed(chain.from_iterable(map(self.lines.push, slices))) if data else []

    def take_tail(self) -> list[Change]:
        """Take a last line that lacks only its newline: a writer may leave it out for good."""
        return self.parser.feed(self.lines.take_tail())

    def finish(self) -> list[Change]:
        """No more will come: take what waits for its newline, and report what stays unfinished."""
        return self.parser.feed(self.lines.finish())

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file."""
        return self.parser.refresh()

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are."""
        return self.position, max(self.position, self.store.stat().st_size)


class DocumentReading:
    """One JSON document, read whole: each of its items becomes a record in memory.

    `make_parser` makes an empty parser, `items` names the records of the document in order.
    """

    def __init__(
        self, path: Path, make_parser: Callable[[], Parser], items: Callable[[dict[str, Any]], list[dict[str, Any]]]
    ) -> None:
        self.path = path
        self._items = items
        self.parser = make_parser()
        self.session: Session = self.parser.session
        self.store = MemoryStore(path)
        self.session.stores.append(self.store)
        self.done = False
        self._size = 0

    def step(self, limit: int = 1 << 20) -> list[Change]:
        """Read everything."""
        if self.done:
            return []
        data = self.path.read_bytes()
        self._size = len(data)
        self.done = True
        records: list[Record] = [self.store.add(item) for item in self._items(read_record(data))]
        return self.parser.feed(records)

    def finish(self) -> list[Change]:
        """Nothing waits: the document was read whole."""
        return []

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file."""
        return self.parser.refresh()

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are."""
        return self._size, self._size


def restarted() -> list[Change]:
    """The change that says: everything was read anew."""
    return [Change(Op.RESTARTED)]


def open_file(path: Path) -> FileStore:
    """A regular file, opened for reading. Raises OSError; a directory, a device or a pipe is an error too."""
    store = FileStore(path)
    mode = store.stat().st_mode
    if not os.path.isfile(path) and (mode & 0o170000) != 0o100000:
        store.close()
        raise (
            IsADirectoryError(21, "Is a directory", str(path))
            if (mode & 0o170000) == 0o040000
            else OSError(22, "Not a regular file", str(path))
        )
    return store

"""Reading a session from a file of JSON lines, or from one JSON document."""

from __future__ import annotations

import stat
from array import array
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

from schemas.broken import Broken, read_broken, why_unread
from schemas.changes import Seen, digest, note_changes
from schemas.provider import Parser
from schemas.records import FileStore, JsonLines, MemoryStore, Record, read_document
from schemas.session import Change, Session
from schemas.troubles import guarded

_SLICE = 64 << 10


class Blocks:
    """The checksums of the megabytes read of a file: they tell later whether the same bytes still stand there."""

    SIZE = 1 << 20

    def __init__(self) -> None:
        self.size = 0
        """Bytes that were taken in."""
        self._sums = array("I")

    def add(self, data: bytes) -> None:
        """Take in what comes next in the file."""
        view = memoryview(data)
        while view:
            if self.size % self.SIZE == 0:
                self._sums.append(0)
            part = view[: self.SIZE - self.size % self.SIZE]
            self._sums[-1] = crc32(part, self._sums[-1])
            self.size += len(part)
            view = view[len(part) :]

    def __len__(self) -> int:
        return len(self._sums)

    def is_there(self, store: FileStore, number: int) -> bool:
        """Return whether one of the blocks, from 0, is in the file as it was read."""
        start = number * self.SIZE
        return crc32(store.read(start, min(self.SIZE, self.size - start))) == self._sums[number]


class LinesReading:
    """A JSON lines file, read from the start (or from `start`) as far as it has been written.

    The parser is made for the open store; `store` and `position` are public so that following can compare the open
    file with what lies under its name by now. `plain` is JsonLines's.
    """

    def __init__(self, store: FileStore, parser: Parser, start: int = 0, *, plain: bool = False) -> None:
        self.store = store
        self.parser = parser
        self.session.stores.append(store)
        self.position = self._line_after(start) if start > 0 else 0
        self.lines = JsonLines(self.position, 1, plain=plain)
        self.session.unreadable = self.lines.unreadable
        self.done = False
        self.blocks: Blocks | None = None
        """What was read from the start on, where somebody wants to know later whether it is still there."""

    @property
    def session(self) -> Session:
        """The session as far as it has been read; another object once the parser had to rewrite history."""
        return self.parser.session

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        return [self.store.path]

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
        if self.blocks is not None:
            self.blocks.add(data)
        self.done = len(data) < limit
        # In slices, each parsed when the parser has done with the one before: their objects stay in the processor's
        # cache, which makes the parse a third faster than one slice of a megabyte.
        slices = (data[at : at + _SLICE] for at in range(0, len(data), _SLICE))
        return self._feed(chain.from_iterable(map(self.lines.push, slices))) if data else []

    @guarded()
    def _feed(self, records: Iterable[Record]) -> list[Change]:
        return self.parser.feed(records)

    def take_tail(self) -> list[Change]:
        """Take a last line that lacks only its newline: a writer may leave it out for good."""
        return self._feed(self.lines.take_tail())

    def finish(self) -> list[Change]:
        """No more will come: take what waits for its newline, and report what stays unfinished."""
        return self._feed(self.lines.finish())

    @guarded()
    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file."""
        return self.parser.refresh()

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are."""
        return self.position, max(self.position, self.store.stat().st_size)


class WholeReading:
    """A source that is read whole, and whole again when it changed: a JSON document, a database.

    A kind of source says with `load` how that is done. `session` is a new object after a reading in which messages
    went or came between others; where it only grew, it stays the same one.
    """

    def __init__(self, path: Path, session: Session) -> None:
        self.path = path
        self.session = session
        self.done = False
        self._known = b""
        self._size = 0
        self._ahead: tuple[bytes, int, Session] | OSError | None = None

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """Read the source: a mark that tells its content from another, its size in bytes, and the session in it.

        None where the content is still what the mark `known` stands for. Raises OSError for a source that is
        half-written, or is not this kind of source any more.
        """
        raise NotImplementedError

    def step(self, limit: int = 1 << 20) -> list[Change]:
        """Read everything."""
        if self.done:
            return []
        self.done = True
        return self.reread()

    def load_ahead(self) -> None:
        """Do the slow part of the first `step`. Another thread may: nothing changes that can be seen from outside."""
        try:
            with guarded():
                self._ahead = self.load(b"")
        except OSError as error:
            self._ahead = error

    def _load(self) -> tuple[bytes, int, Session] | None:
        """Return what was loaded ahead, once, or load what there is now."""
        ahead, self._ahead = self._ahead, None
        if isinstance(ahead, OSError):
            raise ahead
        return ahead or self.load(self._known)

    @guarded()
    def reread(self) -> list[Change]:
        """Look at the source again; what is different now, by message id. Raises OSError, and then nothing changed."""
        loaded = self._load()
        if loaded is None:
            return []
        seen = Seen(self.session)
        self._known, self._size, new = loaded
        goes_on = self.session.id == new.id or not len(self.session.messages)
        if goes_on and note_changes(self.session, new):
            self.session.become(new)
        else:
            self.session = new
        return seen.changes(self.session)

    def finish(self) -> list[Change]:
        """Return no changes: the source was read whole, and nothing waits."""
        return []

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the source."""
        return []

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        return [self.path]

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are."""
        return self._size, self._size


class ParsedReading(WholeReading):
    """A file read whole and given to a parser: a kind of file says with `parse` how. Raises OSError."""

    def __init__(self, path: Path, parser: Parser) -> None:
        self.parser = parser
        self._parsed: Parser | None = None
        """What `load` made, and nobody has taken yet."""
        self.breaks_off = False
        """Whether the file was read only as far as it goes (`broken`)."""
        super().__init__(path, parser.session)

    def parse(self, data: bytes) -> Parser:
        """A new parser that was fed all of the file's bytes. Raises OSError for what is not this kind of file."""
        raise NotImplementedError

    def broken(self, data: bytes) -> Broken | None:
        """Read a document that breaks off as far as it goes, the first time. Later it is being written again: nothing
        that is shown goes away then, and what is new comes once it is whole.
        """
        broken = None if self._known else read_broken(data)
        self.breaks_off = broken is not None
        return broken

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """Parse the file, if it is another one than before."""
        data = self.path.read_bytes()
        mark = digest(data)
        if mark == known:
            return None
        self._parsed = self.parse(data)
        return mark, len(data), self._parsed.session

    @guarded()
    def reread(self) -> list[Change]:
        """Look at the file again; what is different now, by message id."""
        changes = super().reread()
        self.parser.session = self.session
        return changes

    def _load(self) -> tuple[bytes, int, Session] | None:
        """Load what there is now, with what lies beside the file."""
        loaded = super()._load()
        if self._parsed is not None:
            parser, self._parsed = self._parsed, None
            parser.refresh()
            self.parser = parser
        return loaded

    @guarded()
    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file."""
        return self.parser.refresh()


class DocumentReading(ParsedReading):
    """One JSON document: each of its items becomes a record in memory.

    `make_parser` makes an empty parser, `items` names the records of the document in order, `is_mine` tells whether
    a document is still one of this kind.
    """

    def __init__(
        self,
        path: Path,
        make_parser: Callable[[], Parser],
        items: Callable[[Any], list[dict[str, Any]]],
        is_mine: Callable[[Any], bool] = bool,
    ) -> None:
        self._make_parser, self._items, self._is_mine = make_parser, items, is_mine
        super().__init__(path, make_parser())

    def parse(self, data: bytes) -> Parser:
        """The document's items, one record after the other."""
        document = read_document(data)
        # Only what is no document is looked at again: it may be large.
        broken = self.broken(data) if document is None else None
        if broken is not None:
            document = broken.document
        if not self._is_mine(document):
            raise OSError(why_unread(data))
        parser, store = self._make_parser(), MemoryStore(self.path)
        parser.session.stores.append(store)
        parser.feed([store.add(item) for item in self._items(document)])
        if broken is not None:
            parser.session.unreadable.append(broken.gap)
        return parser


def open_file(path: Path) -> FileStore:
    """A regular file, opened for reading. Raises OSError; a directory, a device or a pipe is an error too."""
    store = FileStore(path)
    mode = store.stat().st_mode
    if not stat.S_ISREG(mode):
        store.close()
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "Is a directory", str(path))
        raise OSError(22, "Not a regular file", str(path))
    return store

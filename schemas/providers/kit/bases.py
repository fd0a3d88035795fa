"""The bases of agents, by what their sessions lie in: `Lines`, `Document`, `Tree`, `Database`, `Prose`, or `Stream`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from schemas.folders import matching
from schemas.paths import address_of
from schemas.provider import Head, Location, Problem, Reading, SessionFile
from schemas.provider import Home as Home
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.agent import diff_of as diff_of
from schemas.providers.kit.words import Data as Data

# Whoever looks for sessions imports every agent: what only reading needs is imported by what reads.
if TYPE_CHECKING:
    import sqlite3

    from schemas.providers.kit.files import Files, Found
    from schemas.providers.kit.reader import Reader


class Source(Agent):
    """An agent whose sessions are stored."""

    def reader(self, path: Path, name: str = "") -> Reader:
        """A reader for a new session."""
        from schemas.providers.kit.reader import Reader
        from schemas.session import Session

        return Reader(self, Session(self.id, self.name, path, name or self.id_of(path) or path.stem))


class Lines(Source):
    """JSON lines."""

    copies: ClassVar[bool] = True

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session."""
        from schemas.reading import LinesReading, open_file

        return LinesReading(open_file(path), self.reader(path), start)


class Stream(Agent):
    """JSON lines that an agent prints; a module's `STREAM`. `pipe` reads them, those of several agents together."""

    copies: ClassVar[bool] = False
    prompted = False
    unended: ClassVar[str] = "the stream ended without its end marker"
    """What is noted where no `Turn` said how it ended; empty for an agent that never says."""

    def prints(self, record: Data) -> bool:
        """Return whether a record is this agent's, and no other's."""
        raise NotImplementedError

    def may_print(self, record: Data) -> bool:
        """Return whether a record may be this agent's, if nothing better is known, or it is the one that prints."""
        return False

    def is_kept(self, record: Data) -> bool:
        """Return whether a record stands only in files of the agent, which have in them what it prints."""
        return False

    def run_of(self, record: Data) -> str:
        """The id of the session that a record names; empty where it names none."""
        return ""


class Document(Source):
    """One JSON document."""

    files: ClassVar[tuple[str, ...]] = ("**/*.json",)

    def records(self, document: Any) -> Sequence[Data]:
        """The records of a document, in order; none for a document that is not this agent's."""
        raise NotImplementedError

    def detect(self, head: Head) -> bool:
        """Return whether the document has records."""
        return bool(self.records(head.document))

    def sides(self, path: Path) -> Sequence[Path]:
        """Other documents that hold a part of a session's records, existing or not."""
        return ()

    def merged(self, path: Path, document: Any, sides: Sequence[Any]) -> Sequence[Data]:
        """The records of the document at a path and of its sides, in order; a side that is not there is None."""
        return self.records(document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a document: it is read whole, and whole again when it or one of its sides changed."""
        from schemas.broken import why_unread
        from schemas.folders import bytes_in
        from schemas.providers.kit.files import Found
        from schemas.providers.kit.gathered import Gathered
        from schemas.records import Unreadable, read_document

        def gather() -> Found:
            raw, faults = path.read_bytes(), list[Unreadable]()
            if (document := read_document(raw)) is None and (broken := reading.broken(raw)) is not None:
                document, faults = broken.document, [broken.gap]
            if not self.records(document):
                raise OSError(why_unread(raw))
            sides = self.sides(path)  # of which two may be one file
            held = [bytes_in(side) for side in sides]
            values = [read_document(data) for data in held]
            for side, data, value in zip(sides, held, values, strict=True):
                if data and value is None:
                    name = os.path.relpath(side, path.parent)
                    faults.append(Unreadable(1, why_unread(data), 0, len(data), name))
            return Found(self.merged(path, document, values), len(raw), faults)

        reading = Gathered(path, partial(self.reader, path), gather, lambda: [path, *self.sides(path)])
        return reading


class Tree(Source):
    """A session in many JSON files: the one at its path, and others in folders around it."""

    files: ClassVar[tuple[str, ...]] = ("**/*.json",)
    copies: ClassVar[bool] = True

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The records of the session at `path`, in order; none for a file that is not this agent's."""
        raise NotImplementedError

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session: files that changed are read again."""
        from schemas.broken import why_unread
        from schemas.providers.kit.files import Files, Found
        from schemas.providers.kit.gathered import Gathered

        files = Files(path)

        def gather() -> Found:
            files.begin()
            if records := list(self.gather(path, files)):
                return Found(records, files.size, files.unreadable)
            raise OSError(why_unread(path.read_bytes()))

        return Gathered(path, partial(self.reader, path), gather, lambda: files.watched)


class Many(Source):
    """Sources that hold many sessions, each at the source's path and a key."""

    def held(self, path: Path) -> list[SessionFile]:
        """The sessions in a source, the newest first. Raises OSError."""
        raise NotImplementedError

    def found(self, path: Path, key: str) -> Found:
        """Return the records of one session in a source. Raises OSError where there are none."""
        raise NotImplementedError

    def named(self, path: Path, key: str) -> str:
        """The id of a session."""
        return key

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of all sources in a location: the file that it names, or those that fit below the folder."""
        for path in sources_in(location, self.files, problems):
            try:
                yield from self.held(path)
            except OSError as error:
                problems.append(Problem(path, str(error)))

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read the newest session of a source."""
        if not (held := self.held(path)):
            raise OSError("no session in it")
        return self.open_key(path, held[0].key)

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read one session: it is read whole, and whole again when the source was written."""
        from schemas.providers.kit.gathered import Gathered
        from schemas.sqlite import log_of

        def make() -> Reader:
            reader = self.reader(address_of(path, key), self.named(path, key))
            reader.session.key = key
            return reader

        return Gathered(address_of(path, key), make, lambda: self.found(path, key), lambda: [path, log_of(path)])


def sources_in(location: Location, patterns: Iterable[str], problems: list[Problem]) -> Iterator[Path]:
    """The files of a location: the one that it names, or those that fit a pattern below the folder."""
    if location.path.is_file():
        yield location.path
        return
    for pattern in patterns:
        for path, _ in matching(location.path, pattern, problems):
            yield Path(path)


class Section(NamedTuple):
    """One of the sessions in a text."""

    key: str
    id: str
    begun: float | None
    """Seconds since 1970."""
    text: str


class Prose(Many):
    """A text that holds one session after the other; `pieces` takes one apart."""

    def sections(self, path: Path, text: str) -> Sequence[Section]:
        """The sessions in a text, in order."""
        raise NotImplementedError

    def pieces(self, text: str) -> Iterator[Data]:
        """The records of a session's text, in order."""
        raise NotImplementedError

    def _sections_in(self, path: Path) -> Sequence[Section]:
        return self.sections(path, path.read_bytes().decode("utf-8", "replace"))

    def held(self, path: Path) -> list[SessionFile]:
        """The sessions in a text, the newest first. The last one is as new as the file. Raises OSError."""
        stat, files = path.stat(), []
        for one in self._sections_in(path):
            address, time = address_of(path, one.key), int((one.begun or 0) * 1e9) or stat.st_mtime_ns
            files.append(SessionFile(self.id, str(address), one.id, len(one.text), time, one.key))
        return [file._replace(mtime_ns=stat.st_mtime_ns) for file in files[-1:]] + files[-2::-1]

    def found(self, path: Path, key: str) -> Found:
        """The pieces of one session's text."""
        from schemas.providers.kit.files import Found

        section = next((one for one in self._sections_in(path) if one.key == key), None)
        if section is None:
            raise OSError(f"no session {key} in it")
        return Found(self.pieces(section.text), len(section.text))

    def named(self, path: Path, key: str) -> str:
        """The id of a session."""
        return next((one.id for one in self._sections_in(path) if one.key == key), key)


class Database(Many):
    """A SQLite database of many sessions, whose keys are their ids."""

    files: ClassVar[tuple[str, ...]] = ("*.db",)
    has_files: ClassVar[bool] = False
    """Whether a source that is no database is a session in a file."""

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """The ids of all sessions, subagents apart, and when each was changed last, in seconds since 1970."""
        raise NotImplementedError

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The records of one."""
        raise NotImplementedError

    def held(self, path: Path) -> list[SessionFile]:
        """The sessions in a database, the newest first: asked once a change; or the one in a file. Raises OSError."""
        from schemas.sqlite import is_database, read_database

        if self.has_files and not is_database(path):
            stat = path.stat()
            return [SessionFile(self.id, str(path), path.stem, stat.st_size, stat.st_mtime_ns)]

        def found(database: sqlite3.Connection) -> list[SessionFile]:
            size = path.stat().st_size
            times = [(name, int(time * 1e9)) for name, time in self.sessions(database) if name]
            files = [SessionFile(self.id, f"{path}#{name}", name, size, time, name) for name, time in times]
            return sorted(files, key=lambda file: (file.mtime_ns, file.id), reverse=True)

        return list(read_database(path, found, once=("held", self.id)))

    def found(self, path: Path, key: str) -> Found:
        """The rows of one session."""
        from schemas.providers.kit.files import Found
        from schemas.sqlite import read_database

        if not (rows := read_database(path, lambda database: list(self.rows(database, key)))):
            raise OSError(f"no session {key} in it")
        return Found(rows, 0)


# -- questions to a database some of whose tables and columns may be missing -------------------------------------------


def columns_of(database: sqlite3.Connection, table: str) -> frozenset[str]:
    """The names of a table's columns; none where there is no such table."""
    return frozenset(name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def rows_of(database: sqlite3.Connection, table: str, where: str = "", *values: object) -> list[Data]:
    """The rows of a table as objects; none where the table, or the column that `where` begins with, is missing."""
    columns = columns_of(database, table)
    if not columns or (where and where.split()[0] not in columns):
        return []
    return objects_in(database, f"SELECT * FROM {table}{f' WHERE {where}' if where else ''}", *values)


def objects_in(database: sqlite3.Connection, query: str, *values: object) -> list[Data]:
    """The answers to a query as objects."""
    cursor = database.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]

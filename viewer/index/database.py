"""The index's databases: SQLite files of ours that hold nothing that cannot be made again. `Store` is that of the list:
a row a file that was looked at, and its token groups apart; viewer/index/fulltext.py has that of all text.

A broken or foreign file in its place is replaced; where there can be no database the library does without, and `turnlog
doctor` says why. Two programs may use it at the same time.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

WRONG_VALUES = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, zlib.error, struct.error)
"""What reading values of a damaged database ends in, where SQLite notices nothing."""
_BRIEFLY = 0.1
"""Seconds instead of a database's `WAIT` after that was in vain: turnlog itself writes for less, mostly."""


class Foreign(sqlite3.DatabaseError):
    """Another database lies under our name: somebody else's, or one of another version."""


class Interrupted(Exception):
    """A question that was broken off, since another one came."""


class Database:
    """A connection to a database. Where there can be none, it reads nothing and writes nothing, and says why to
    `report`. `reader` says with what the sessions were read.
    """

    NAME: ClassVar[str]
    APPLICATION: ClassVar[int]
    """In the database's header."""
    LAYOUT: ClassVar[int]
    """Raise it when the tables, or what stands in them, change."""
    TABLES: ClassVar[tuple[str, ...]]
    PAGE: ClassVar[int]
    PROBE: ClassVar[str]
    """Asks for what must be there."""
    WAIT: ClassVar[float]
    """Seconds for which another program may hold the database."""
    held: ClassVar[set[Path]] = set()
    """Those for which this program waited in vain: it waits for none again while there are any."""

    def __init__(self, path: Path, reader: str, report: Callable[[str], None]) -> None:
        self.path, self._reader, self._report = path, reader, report
        self.is_new = False
        """Whether it was made now: there was none, or a broken or foreign one."""
        self.connection = self._opened()

    def _opened(self) -> sqlite3.Connection | None:
        """Open it in a folder of its owner's; one that is broken or foreign is made anew."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                return self._connect()
            except sqlite3.DatabaseError as error:
                if not _is_broken(error) or not remove(self.path):
                    raise
            return self._connect()
        except sqlite3.DatabaseError as error:
            self._report(f"no {self.NAME}: {self._reason(error)}")
        except OSError as error:
            self._report(f"no {self.NAME}: {(error.strerror or str(error)).lower()}")
        return None

    def _reason(self, error: Exception) -> str:
        """Return why there can be no database, and note that another program holds it."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
            return str(error)
        self.held.add(self.path)
        return "another program holds it"

    def _connect(self) -> sqlite3.Connection:
        _keep_private(self.path)
        wait = _BRIEFLY if self.held else self.WAIT
        connection = sqlite3.connect(self.path, timeout=wait, isolation_level=None, check_same_thread=False)
        try:
            # Asked before the state: another program may make them meanwhile.
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            state = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if state != [self.APPLICATION, self.LAYOUT]:
                if tables or state != [0, 0]:
                    raise Foreign("of another version" if state[0] == self.APPLICATION else "not turnlog's index")
                self._create(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(self.PROBE)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        except UnicodeDecodeError as error:  # SQLite's own message, in which it quotes the damage
            connection.close()
            raise sqlite3.DatabaseError("damaged") from error
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA page_size = {self.PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] == self.LAYOUT:
                return  # another program made it while this one waited
            for statement in self.TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self.APPLICATION}")
            connection.execute(f"PRAGMA user_version = {self.LAYOUT}")
        self.is_new = True

    def close(self) -> None:
        """Let go of the database."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; none where the database fails, which is reported. Raises Interrupted."""
        if self.connection is None:
            return []
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                raise Interrupted from None
            self.give_up(error)
        return []

    def change(self, change: Callable[[sqlite3.Connection], object]) -> bool:
        """Do all of a change, or none; whether it is done."""
        if self.connection is None:
            return False
        try:
            with self.connection:
                self.connection.execute("BEGIN IMMEDIATE")
                change(self.connection)
        except (sqlite3.DatabaseError, *WRONG_VALUES) as error:
            self.give_up(error)
            return False
        self.held.discard(self.path)
        return True

    def give_up(self, error: Exception) -> None:
        """Close a database that fails while it is used. A broken one goes, so that the next start makes a new one."""
        self.close()
        at_fault = _is_broken(error) if isinstance(error, sqlite3.DatabaseError) else True
        broken = at_fault and remove(self.path)
        self._report(f"no {self.NAME}: {'it was damaged' if broken else self._reason(error)}")


class Row(NamedTuple):
    """A file that was indexed, or why it has no line in a list. Its summary and its row of `list --json` stay in the
    database until somebody asks for them.
    """

    size: int
    mtime_ns: int
    current: int = 1
    """Whether it was read by the parsers of today."""
    listed: int = 0
    """Whether there is a session to list."""
    blank: int = 0
    when: float = 0.0
    touched_ns: int = 0
    newest: float | None = None
    side: str = "[]"
    error: str = ""
    """Why there is no summary, or why a subagent is not in it."""

    @property
    def says_nothing(self) -> bool:
        """Tell whether there is nothing to read in it."""
        return bool(self.blank) or not self.listed


@dataclass(slots=True)
class Indexed:
    """The outcome of indexing a file, as the library stores it."""

    path: str
    row: Row
    summary: bytes = b""
    listed: bytes = b""
    """Its row of `list --json` up to the value of `live`."""
    groups: bytes = b""
    root: str | None = None
    """Its workspace, without `.` and `..` in it, by which a directory's sessions are found."""
    members: list[str] = field(default_factory=list)
    """The addresses of the session and of its subagents whose text was taken."""


class Store(Database):
    """The database of the list."""

    NAME = "index"
    APPLICATION = 0x7475726E  # "turn"
    LAYOUT = 12
    TABLES = (
        "CREATE TABLE sessions (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, reader TEXT, listed BLOB, blank"
        " INTEGER, updated REAL, touched_ns INTEGER, newest REAL, side TEXT, error TEXT, summary BLOB, root TEXT)",
        # For the rows of a first picture, in the order they are asked for.
        "CREATE INDEX newest ON sessions (updated) WHERE summary IS NOT NULL",
        "CREATE INDEX roots ON sessions (root, updated) WHERE summary IS NOT NULL",
        # Apart, so that a list need not pass over them.
        "CREATE TABLE usage (path BLOB PRIMARY KEY, groups BLOB)",
    )
    # A row takes half of one of SQLite's own pages of 4 KB: a list reads a quarter less, in a quarter of the calls.
    PAGE = 16384
    PROBE = "SELECT summary, root, groups FROM sessions LEFT JOIN usage USING (path) LIMIT 1"
    WAIT = 2.0  # it is written for milliseconds

    def rows(self) -> dict[str, Row]:
        """Every row by its path."""
        columns = "size, mtime_ns, reader = ?, listed != x'', blank, updated, touched_ns, newest, side, error"
        fetched = self.fetch(f"SELECT path, {columns} FROM sessions", (self._reader,))
        if not fetched:
            return {}
        # No path holds a NUL: all of them are decoded at once.
        paths = os.fsdecode(b"\0".join([row[0] for row in fetched])).split("\0")
        # Most have nothing beside them: one string for all of these.
        rows = ((*row[1:9], "[]" if row[9] == "[]" else row[9], row[10]) for row in fetched)
        return dict(zip(paths, map(partial(tuple.__new__, Row), rows), strict=True))

    def column(self, name: Literal["summary", "listed", "groups"]) -> Iterator[tuple[str, bytes]]:
        """One column of all rows, each with its path: packed summaries, rows of `list --json`, packed token groups.
        Read while they are taken, since 100,000 of them are more than what is made of them.
        """
        if self.connection is None:
            return
        table = "usage" if name == "groups" else "sessions"
        try:
            for path, value in self.connection.execute(f"SELECT path, {name} FROM {table} WHERE {name} IS NOT NULL"):
                yield os.fsdecode(path), value
        except sqlite3.DatabaseError as error:
            self.give_up(error)

    def newest(self, directory: str, limit: int) -> list[tuple[str, int, int, bytes]]:
        """Path, size, time and packed summary of the newest sessions, and of the newest whose workspace is the
        directory or below it; at most `limit` of each.
        """
        select = "SELECT path, size, mtime_ns, summary FROM sessions"
        fetched = self.fetch(f"{select} WHERE summary IS NOT NULL ORDER BY updated DESC LIMIT ?", (limit,))
        here = directory.encode("utf-8", "replace").decode()
        below = here.rstrip(os.sep) + os.sep
        # All of it can be told from an index; the few rows are looked up afterwards.
        inside = (
            "SELECT rowid FROM sessions WHERE summary IS NOT NULL AND root >= ? AND root < ?"
            " AND (root = ? OR root >= ?) ORDER BY updated DESC LIMIT ?"
        )
        end = below[:-1] + chr(ord(os.sep) + 1)
        bounds = (min(here, below), end, here, below, limit)
        fetched += self.fetch(f"{select} WHERE rowid IN ({inside})", bounds)
        return [(os.fsdecode(raw), *rest) for raw, *rest in {row[0]: row for row in fetched}.values()]

    def groups_of(self, path: str) -> bytes:
        """The packed token groups of one file."""
        fetched = self.fetch("SELECT groups FROM usage WHERE path = ?", (os.fsencode(path),))
        return bytes(fetched[0][0]) if fetched else b""

    def delete(self, paths: list[str]) -> None:
        """Forget files that are gone."""

        def forget(connection: sqlite3.Connection) -> None:
            for table in ("sessions", "usage"):
                connection.executemany(f"DELETE FROM {table} WHERE path = ?", [(os.fsencode(path),) for path in paths])

        self.change(forget)

    def write(self, batch: list[Indexed]) -> bool:
        """Keep what was indexed; whether it is kept."""
        sessions = []
        for item in batch:
            seen, facts = item.row[:2], item.row[4:]
            listed = (self._reader, item.listed)
            sessions.append((os.fsencode(item.path), *seen, *listed, *facts, item.summary or None, item.root))
        groups = [(os.fsencode(item.path), item.groups) for item in batch]

        def keep(connection: sqlite3.Connection) -> None:
            connection.executemany(f"INSERT OR REPLACE INTO sessions VALUES ({', '.join('?' * 13)})", sessions)
            connection.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?)", groups)

        return self.change(keep)


def _keep_private(path: Path) -> None:
    """Let a file be there that only its owner can read: what was said in sessions is nobody else's. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    """Tell whether the file is at fault, and not a lock, a right or a full disk."""
    if isinstance(error, Foreign):
        return True
    # A missing table or column is a plain SQLITE_ERROR.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def remove(path: Path) -> bool:
    """Take the database and its side files away; whether that worked."""
    try:
        for file in _files(path):
            file.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def size_of(path: Path) -> int:
    """The bytes of the database and its side files."""
    return sum(file.stat().st_size for file in _files(path) if file.exists())


def _files(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]

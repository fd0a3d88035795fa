"""The index's database: a row a file that was looked at, and its token groups apart.

It holds nothing that cannot be made again. A broken or foreign file in its place is replaced; where there can be no
database the library does without, and `turnlog doctor` says why. Two programs may use it at the same time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from typing import Self

    from viewer.index.summary import Indexed

LAYOUT = 11
"""Raise it when the tables or what is packed in them change."""
_APPLICATION = 0x7475726E  # "turn", in the database's header
_TABLES = (
    "CREATE TABLE sessions (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, reader TEXT, summary BLOB,"
    " listed BLOB, blank INTEGER, updated REAL, touched_ns INTEGER, newest REAL, side TEXT, error TEXT, root TEXT)",
    # For the rows of a first picture, in the order they are asked for.
    "CREATE INDEX newest ON sessions (updated) WHERE summary IS NOT NULL",
    "CREATE INDEX roots ON sessions (root, updated) WHERE summary IS NOT NULL",
    # Apart, so that a list need not pass over them.
    "CREATE TABLE usage (path BLOB PRIMARY KEY, groups BLOB)",
)
_COLUMNS = "path, size, mtime_ns, reader, summary, listed, blank, updated, touched_ns, newest, side, error, root"
_WAIT = 2.0
"""Seconds for which another program may hold the database. It writes for milliseconds."""


class Row(NamedTuple):
    """A file that was indexed, or why it has no line in a list. Its summary and its row of `list --json` stay in the
    database until somebody asks for them.
    """

    size: int
    mtime_ns: int
    current: int
    """Whether it was read by the parsers of today."""
    listed: int
    """Whether there is a session to list."""
    blank: int
    when: float
    touched_ns: int
    newest: float | None
    side: str
    error: str


class Store:
    """A connection to the database. Where there can be none, it reads nothing and writes nothing, and says so to
    `report`. `reader` says with what the files were read.
    """

    def __init__(self, path: Path, reader: str, report: Callable[[str], None]) -> None:
        self._path, self._reader, self._report = path, reader, report
        self._connection = opened(path, _connect, lambda why: report(f"no index: {why}"))

    def close(self) -> None:
        """Let go of the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rows(self) -> dict[str, Row]:
        """Every row by its path."""
        columns = "size, mtime_ns, reader = ?, listed != x'', blank, updated, touched_ns, newest, side, error"
        fetched = self._fetch(f"SELECT path, {columns} FROM sessions", (self._reader,))
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
        if self._connection is None:
            return
        table = "usage" if name == "groups" else "sessions"
        try:
            for path, value in self._connection.execute(f"SELECT path, {name} FROM {table} WHERE {name} IS NOT NULL"):
                yield os.fsdecode(path), value
        except sqlite3.DatabaseError as error:
            self._give_up(error)

    def newest(self, directory: str, limit: int) -> list[tuple[str, int, int, bytes]]:
        """Path, size, time and packed summary of the newest sessions, and of the newest whose workspace is the
        directory or below it; at most `limit` of each.
        """
        select = "SELECT path, size, mtime_ns, summary FROM sessions"
        fetched = self._fetch(f"{select} WHERE summary IS NOT NULL ORDER BY updated DESC LIMIT ?", (limit,))
        here = directory.encode("utf-8", "replace").decode()
        below = here.rstrip(os.sep) + os.sep
        # All of it can be told from an index; the few rows are looked up afterwards.
        inside = (
            "SELECT rowid FROM sessions WHERE summary IS NOT NULL AND root >= ? AND root < ?"
            " AND (root = ? OR root >= ?) ORDER BY updated DESC LIMIT ?"
        )
        end = below[:-1] + chr(ord(os.sep) + 1)
        bounds = (min(here, below), end, here, below, limit)
        fetched += self._fetch(f"{select} WHERE rowid IN ({inside})", bounds)
        return [(os.fsdecode(raw), *rest) for raw, *rest in {row[0]: row for row in fetched}.values()]

    def groups_of(self, path: str) -> bytes:
        """The packed token groups of one file."""
        fetched = self._fetch("SELECT groups FROM usage WHERE path = ?", (os.fsencode(path),))
        return bytes(fetched[0][0]) if fetched else b""

    def _fetch(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            self._give_up(error)
            return []

    def delete(self, paths: list[str]) -> None:
        """Forget files that are gone."""
        names = [(os.fsencode(path),) for path in paths]
        self._change((f"DELETE FROM {table} WHERE path = ?", names) for table in ("sessions", "usage"))

    def write(self, batch: list[Indexed]) -> bool:
        """Keep what was indexed; whether it is kept."""
        places = ", ".join("?" * len(_COLUMNS.split(",")))
        sessions = [
            (
                os.fsencode(item.path),
                item.size,
                item.mtime_ns,
                self._reader,
                item.summary or None,
                item.listed,
                item.blank,
                item.when,
                item.touched_ns,
                item.newest,
                item.side,
                item.error,
                item.root,
            )
            for item in batch
        ]
        groups = [(os.fsencode(item.path), item.groups) for item in batch]
        return self._change(
            [
                (f"INSERT OR REPLACE INTO sessions ({_COLUMNS}) VALUES ({places})", sessions),
                ("INSERT OR REPLACE INTO usage VALUES (?, ?)", groups),
            ]
        )

    def _change(self, statements: Iterable[tuple[str, Sequence[tuple[object, ...]]]]) -> bool:
        """Do all of it, or none; whether it is done."""
        if self._connection is None:
            return False
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                for statement, rows in statements:
                    self._connection.executemany(statement, rows)
        except sqlite3.DatabaseError as error:
            self._give_up(error)
            return False
        return True

    def _give_up(self, error: sqlite3.DatabaseError) -> None:
        """A database that fails while it is used: one that is broken goes, so that the next start makes a new one."""
        self.close()
        if not is_broken(error) or not remove(self._path):
            self._report(f"no index: {error}")


def row_of(item: Indexed) -> Row:
    """Make a row of what indexing gave."""
    listed, blank = bool(item.listed), item.blank
    touched = item.touched_ns
    return Row(item.size, item.mtime_ns, 1, listed, blank, item.when, touched, item.newest, item.side, item.error)


def opened(
    path: Path, connect: Callable[[Path], sqlite3.Connection], report: Callable[[str], None]
) -> sqlite3.Connection | None:
    """A connection to a database of ours, in a folder of its owner's; one that is broken or foreign is made anew. None
    where there can be none, and `report` is told why.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return connect(path)
        except sqlite3.DatabaseError as error:
            if not is_broken(error) or not remove(path):
                raise
        return connect(path)
    except sqlite3.DatabaseError as error:
        report(str(error))
    except OSError as error:
        report((error.strerror or str(error)).lower())
    return None


def private(path: Path) -> None:
    """Let a file be there that only its owner can read: what was said in sessions is nobody else's. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    private(path)
    connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if (application, layout) != (_APPLICATION, LAYOUT):
            if application not in (0, _APPLICATION) or (application == 0 and _tables(connection)):
                raise Foreign("not turnlog's index")
            _create(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"SELECT {_COLUMNS}, groups FROM sessions LEFT JOIN usage USING (path) LIMIT 1")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    except UnicodeDecodeError as error:  # SQLite's own message, in which it quotes the damage
        connection.close()
        raise sqlite3.DatabaseError("damaged") from error
    return connection


class Foreign(sqlite3.DatabaseError):
    """Somebody else's database lies under our name."""


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _create(connection: sqlite3.Connection) -> None:
    # A row takes half of one of SQLite's own pages of 4 KB: a list reads a quarter less, in a quarter of the calls.
    connection.execute("PRAGMA page_size = 16384")
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if layout == LAYOUT and _tables(connection):
            return  # another program made it while this one waited
        for name in ("sessions", "usage"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")


def is_broken(error: sqlite3.DatabaseError) -> bool:
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

"""Other programs' SQLite databases, read so that nothing is written, created or left beside them.

SQLite itself cannot promise that: read-only connections create `-shm` files, and `immutable` ones do not see what is
only in the write-ahead log (formats/gemini-qwen-cursor.md 3.6). So a database with a log is copied, then the log, and
the copy is opened. The log is copied second: every page that a checkpoint may have moved into the database meanwhile is
in the log as well, as long as the log was not begun anew, which its header tells.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from schemas.clean import one_line

MAGIC = b"SQLite format 3\0"
_WAITS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08)
"""Seconds before each further try, together less than two frames of a film: a writer rarely writes all the time."""
_HEADER = 100
_LOG_HEADER = 32
_GRAIN = 20_000_000
"""Nanoseconds within which two writes can leave the same time on a file: the clock that files are stamped with ticks
every 4 to 10 milliseconds."""
_LARGEST_VALUE = 256 << 20
_LARGEST_SHOWN = 64 << 10
_T = TypeVar("_T")


class _State(NamedTuple):
    """What shows that a database was written: its file with SQLite's change counter, and how its log begins."""

    stamp: tuple[int, int, int, int]
    header: bytes
    log: bytes
    journal: tuple[int, int] | None
    """Size and time of the rollback journal, where databases without a log keep what an unfinished write replaced."""


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return Path(f"{path}-wal")


def read_database(path: Path, read: Callable[[sqlite3.Connection], _T]) -> _T:
    """What `read` makes of the database, as of its last commit.

    Where the database was written meanwhile, what `read` returned is thrown away and it is called again: it must not
    raise for what makes no sense. Raises OSError for what cannot be read, with SQLite's reason where it has one.
    """
    for wait in (*_WAITS, 0):
        begun = time.time_ns()
        before = _state(path)
        reason = ""
        try:
            value = _read_copy(path, read) if before.log or before.journal else _read_in_place(path, read)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            reason = _reason(error)
        if _is_unchanged(before, _state(path), begun):
            if reason:
                raise OSError(reason)
            return value
        time.sleep(wait)
    raise OSError("the database is being written all the time")


def _reason(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """What SQLite says, on one line. Python fails to decode a message that quotes a damaged schema, and raises that."""
    said = error.object.decode("utf-8", "replace") if isinstance(error, UnicodeDecodeError) else str(error)
    return one_line(f"SQLite says: {said}", 200)


def _is_unchanged(before: _State, after: _State, begun: int) -> bool:
    """Whether what was read between the two is one committed state; `begun` is when `before` was looked at."""
    if before.log:
        # A log that only grew has changed nothing that was copied, nor has a checkpoint out of it.
        return before.log == after.log and before.journal == after.journal and before.stamp[0] == after.stamp[0]
    # A second write within a tick of the clock would not show in the file's times.
    return before == after and abs(begun - before.stamp[2]) > _GRAIN


Row = dict[str, Any]
"""Values by their columns."""


def tables_of(path: Path) -> tuple[dict[str, frozenset[str]], dict[str, Row]]:
    """The tables of a database with their columns, and the first row of each as `Head` has it. Raises OSError."""

    def read(database: sqlite3.Connection) -> tuple[dict[str, frozenset[str]], dict[str, Row]]:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            name: frozenset(column for (column,) in database.execute("SELECT name FROM pragma_table_info(?)", (name,)))
            for name in names
        }
        rows = {name: row for name in names if (row := _first_row(database, name, sorted(columns[name])))}
        return columns, rows

    return read_database(path, read)


def _first_row(database: sqlite3.Connection, table: str, columns: list[str]) -> Row:
    *wanted, source = (f'"{name.replace(chr(34), 2 * chr(34))}"' for name in (*columns, table))
    try:
        values = database.execute(f"SELECT {', '.join(wanted) or 'NULL'} FROM {source} LIMIT 1").fetchone() or ()
    except sqlite3.OperationalError:
        return {}  # a virtual table of a kind that is not built in, a name that is no text
    cut = (value[:_LARGEST_SHOWN] if isinstance(value, str | bytes) else value for value in values)
    return dict(zip(columns, cut, strict=False))


def _state(path: Path) -> _State:
    with path.open("rb", buffering=0) as file:
        header = file.read(_HEADER)
        status = os.fstat(file.fileno())
    try:
        journal = os.stat(f"{path}-journal")
    except FileNotFoundError:
        journal = None
    return _State(
        (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns),
        header,
        _log_header(log_of(path)),
        (journal.st_size, journal.st_mtime_ns) if journal is not None and journal.st_size else None,
    )


def _log_header(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return b""  # opening a pipe would wait for somebody to write into it
        with path.open("rb", buffering=0) as file:
            return file.read(_LOG_HEADER)
    except FileNotFoundError:
        return b""


def _read_in_place(path: Path, read: Callable[[sqlite3.Connection], _T]) -> _T:
    """Without a log `immutable` is right, and touches nothing."""
    return _use(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True), read)


def _read_copy(path: Path, read: Callable[[sqlite3.Connection], _T]) -> _T:
    with TemporaryDirectory(prefix="turnlog-") as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(path, copy)
        for ending in ("-wal", "-journal"):
            if os.path.isfile(f"{path}{ending}"):
                with suppress(FileNotFoundError):  # gone between the two: the state tells
                    shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
        return _use(sqlite3.connect(copy), read, "PRAGMA synchronous = OFF")  # the copy need not outlive a power cut


def _use(database: sqlite3.Connection, read: Callable[[sqlite3.Connection], _T], first: str = "") -> _T:
    try:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        database.execute("PRAGMA trusted_schema = OFF")
        if first:
            database.execute(first)
        return read(database)
    finally:
        database.close()

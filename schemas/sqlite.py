"""Other programs' SQLite databases, read so that nothing is written, created or left beside them.

SQLite itself cannot promise that: read-only connections create `-shm` files, and `immutable` ones do not see what is
only in the write-ahead log (formats/gemini-qwen-cursor.md 3.6). So a database with a log is copied, then the log, and
the copy is opened. The log is copied second: every page that a checkpoint may have moved into the database meanwhile is
in the log as well, as long as the log was not begun anew, which its header tells.

A database may hold a thousand sessions, so the last copy is kept while nothing was written, and what was asked of it
`once`. The copy's file is deleted as soon as it is open: however the program ends, no copy of what people said stays.

What a database brings along is not trusted: queries may call the functions in `_FUNCTIONS` and no others, so a view
cannot, and columns that are computed when they are read are NULL. `PRAGMA trusted_schema = OFF` would be stricter than
that and refuse Kilo's databases, which have indexes on `json_extract` (found-others.md 1.6).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import ExitStack, closing, suppress
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
_MOST_KEPT = 8
"""Databases whose copies and answers are kept: those of a few agents that write at the same time."""
_FUNCTIONS = frozenset(
    """abs coalesce count date datetime glob group_concat hex ifnull iif instr json json_array_length json_extract
    json_type json_valid julianday length like lower ltrim max min nullif quote replace round rtrim strftime substr
    substring sum time total trim typeof unicode unixepoch upper -> ->>""".split()  # noqa: SIM905
)
_PRAGMAS = frozenset({"data_version", "table_info", "table_xinfo"})
"""The first one is asked by tables of full texts, when they are read."""
_T = TypeVar("_T")


class _State(NamedTuple):
    """The marks of a write to a database: its file with SQLite's change counter, and the beginning of its log."""

    stamp: tuple[int, int, int, int]
    header: bytes
    log: bytes
    journal: tuple[int, int] | None
    """Size and time of the rollback journal, where databases without a log keep what an unfinished write replaced."""
    log_stamp: tuple[int, int] | None
    """Size and time of the log."""

    def is_settled(self, looked: int) -> bool:
        """Return whether a write after that look must show: a second one within a tick of the clock would not."""
        times = (self.stamp[2], *(stamp[1] for stamp in (self.journal, self.log_stamp) if stamp))
        return all(abs(looked - time) > _GRAIN for time in times)


class _Kept:
    """The things kept of a database while nothing was written: its copy, where it has a log, and answers."""

    def __init__(self, state: _State, copy: sqlite3.Connection | None) -> None:
        self.state, self.copy = state, copy
        self.answers: dict[Hashable, Any] = {}

    def close(self) -> None:
        """Let go of the copy."""
        if self.copy is not None:
            self.copy.close()


_kept: OrderedDict[Path, _Kept] = OrderedDict()
_lock = threading.RLock()
"""Held while a copy is read: its connection is for one thread at a time, and `read` may read another database."""


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return Path(f"{path}-wal")


def is_database(path: Path) -> bool:
    """Return whether a file begins as SQLite's do. Raises OSError."""
    with path.open("rb", buffering=0) as file:
        return file.read(len(MAGIC)) == MAGIC


def read_database(path: Path, read: Callable[[sqlite3.Connection], _T], *, once: Hashable = None) -> _T:
    """Return what `read` makes of the database, as of its last commit.

    Where the database was written meanwhile, what `read` returned is thrown away and it is called again: it must not
    raise for what makes no sense. Raises OSError for what cannot be read, with SQLite's reason where it has one.

    `once` names what is read: with an equal name the same object is returned again, until the database is written.
    """
    for wait in (*_WAITS, 0):
        begun = time.time_ns()
        before = _state(path)
        with _lock:
            if (kept := _kept_of(path, before)) is not None and once is not None and once in kept.answers:
                answer: _T = kept.answers[once]
                return answer
            if kept is not None and kept.copy is not None:
                return _answer(kept, read, once)
        if before.log or before.journal:
            copy, reason = _copied(path)
            if not _is_unchanged(before, _state(path), begun):
                if copy is not None:
                    copy.close()
            elif copy is None:
                raise OSError(reason)
            else:
                with _lock:
                    return _answer(_keep(path, _Kept(before, copy), begun), read, once)
        else:
            reason = ""
            try:
                with closing(_open(path)) as database:  # without a log `immutable` is right, and touches nothing
                    value = read(database)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                reason = _reason(error)
            if _is_unchanged(before, _state(path), begun):
                if reason:
                    raise OSError(reason)
                if once is not None:
                    with _lock:
                        (_kept_of(path, before) or _keep(path, _Kept(before, None), begun)).answers[once] = value
                return value
        time.sleep(wait)
    raise OSError("the database is being written all the time")


def _kept_of(path: Path, state: _State) -> _Kept | None:
    """Return what is kept of a database, unless it was written since."""
    if (kept := _kept.get(path)) is None:
        return None
    if kept.state != state:
        _kept.pop(path).close()
        return None
    _kept.move_to_end(path)
    return kept


def _keep(path: Path, new: _Kept, looked: int) -> _Kept:
    """Keep it for the next time, if a write before that must show."""
    if (before := _kept.pop(path, None)) is not None:
        before.close()
    if new.state.is_settled(looked):
        _kept[path] = new
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)[1].close()
    return new


def _answer(kept: _Kept, read: Callable[[sqlite3.Connection], _T], once: Hashable) -> _T:
    """Ask a copy."""
    assert kept.copy is not None
    kept.copy.row_factory = None
    try:
        value = read(kept.copy)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise OSError(_reason(error)) from error
    finally:
        if kept not in _kept.values():
            kept.close()
    if once is not None:
        kept.answers[once] = value
    return value


def _reason(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """Return SQLite's message on one line. Python fails to decode a message that quotes a damaged schema, and raises
    that.
    """
    said = error.object.decode("utf-8", "replace") if isinstance(error, UnicodeDecodeError) else str(error)
    return one_line(f"SQLite says: {said}", 200)


def _is_unchanged(before: _State, after: _State, begun: int) -> bool:
    """Return whether what was read between the two is one committed state; `begun` is when `before` was looked at."""
    if before.log:
        # A log that only grew has changed nothing that was copied, nor has a checkpoint out of it.
        return before.log == after.log and before.journal == after.journal and before.stamp[0] == after.stamp[0]
    return before == after and before.is_settled(begun)


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

    return read_database(path, read, once="tables")


def _first_row(database: sqlite3.Connection, table: str, columns: list[str]) -> Row:
    *wanted, source = (f'"{name.replace(chr(34), 2 * chr(34))}"' for name in (*columns, table))
    try:
        values = database.execute(f"SELECT {', '.join(wanted) or 'NULL'} FROM {source} LIMIT 1").fetchone() or ()
    except sqlite3.OperationalError:
        return {}  # a virtual table of a kind that is not built in or asks for more than this, a name that is no text
    cut = (value[:_LARGEST_SHOWN] if isinstance(value, str | bytes) else value for value in values)
    return dict(zip(columns, cut, strict=False))


def _state(path: Path) -> _State:
    with path.open("rb", buffering=0) as file:
        header = file.read(_HEADER)
        status = os.fstat(file.fileno())
    return _State(
        (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns),
        header,
        _log_header(log_of(path)),
        _stamp_of(f"{path}-journal"),
        _stamp_of(str(log_of(path))),
    )


def _stamp_of(path: str) -> tuple[int, int] | None:
    """Size and time of a file that holds something."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return (status.st_size, status.st_mtime_ns) if status.st_size else None


def _log_header(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return b""  # opening a pipe would wait for somebody to write into it
        with path.open("rb", buffering=0) as file:
            return file.read(_LOG_HEADER)
    except FileNotFoundError:
        return b""


def _copied(path: Path) -> tuple[sqlite3.Connection | None, str]:
    """A copy of a database with its log or journal, open and without a name; or SQLite's reason why there is none."""
    with TemporaryDirectory(prefix="turnlog-") as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(path, copy)
        for ending in ("-wal", "-journal"):
            if os.path.isfile(f"{path}{ending}"):
                with suppress(FileNotFoundError):  # gone between the two: the state tells
                    shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
        try:
            with closing(sqlite3.connect(copy)) as merger:  # which takes the log into the database
                merger.execute("PRAGMA synchronous = OFF")  # the copy need not outlive a power cut
                merger.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return _open(copy), ""
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return None, _reason(error)


def _open(path: Path) -> sqlite3.Connection:
    """A connection that can only read, and in any thread."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    with ExitStack() as failed:
        failed.callback(database.close)
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        _confine(database)
        failed.pop_all()
    return database


def _confine(database: sqlite3.Connection) -> None:
    """Let queries read, and what the schema brings along do nothing."""
    # SQLite does not ask about the functions of a computed column: they were looked up with the schema.
    computed = frozenset(
        database.execute(
            "SELECT lower(t.name), lower(c.name) FROM sqlite_master t, pragma_table_xinfo(t.name) c "
            "WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden = 2"
        )
    )

    def judge(action: int, one: str | None, other: str | None, schema: str | None, source: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            ignored = computed and ((one or "").lower(), (other or "").lower()) in computed
            return sqlite3.SQLITE_IGNORE if ignored else sqlite3.SQLITE_OK
        allowed = (
            action == sqlite3.SQLITE_SELECT
            or (action == sqlite3.SQLITE_FUNCTION and other in _FUNCTIONS)
            or (action == sqlite3.SQLITE_PRAGMA and one in _PRAGMAS)
            # SQLite asks so for functions that give rows (json_each); nothing is written, the connection cannot.
            or (action == sqlite3.SQLITE_UPDATE and one == "sqlite_master")
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    database.set_authorizer(judge)

"""The library: what is known of every session on this machine, kept in an index so that a list opens at once.

The index is a SQLite file in the user's cache folder, never beside the sessions. It holds nothing that cannot be made
again: a broken or foreign file in its place is replaced, and where it cannot be written the library does without.
Two programs may use it at the same time.
"""

from __future__ import annotations

import gc
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Any
from zlib import crc32

import schemas
from schemas.provider import Environment, Problem, SessionFile
from viewer.discover import Found, discover
from viewer.summary import GroupRow, Indexed, Summary, group_rows, index_file, is_live, sides_changed, unpack

if TYPE_CHECKING:
    from typing import Self

_APPLICATION = 0x7475726E  # "turn", in the database's header
_LAYOUT = 1
"""Raise it when the table or what is packed in it changes."""
_TABLES = (
    "CREATE TABLE sessions (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, reader TEXT, summary BLOB,"
    " listed BLOB, blank INTEGER, updated REAL, touched_ns INTEGER, side TEXT, error TEXT)",
    # Apart, so that a list need not pass over them.
    "CREATE TABLE usage (path BLOB PRIMARY KEY, groups BLOB)",
)
_COLUMNS = "path, size, mtime_ns, reader, summary, listed, blank, updated, touched_ns, side, error"
_PARALLEL_BYTES = 20 << 20
"""So much to read is worth the start of two more processes."""
_BATCH_SECONDS = 0.25


@dataclass(slots=True)
class _Row:
    """A file that was indexed: its summary, packed until somebody wants it, or why it has none."""

    path: str
    size: int
    mtime_ns: int
    reader: str
    packed: bytes
    listed: bytes
    blank: int
    when: float
    touched_ns: int
    side: str
    error: str
    unpacked: Summary | None = None

    @property
    def summary(self) -> Summary | None:
        """The summary; None for a file that is no session."""
        if self.unpacked is None and self.packed:
            self.unpacked = unpack(self.packed, self.path, self.size, self.mtime_ns)
        return self.unpacked


@dataclass(frozen=True, slots=True)
class _Task:
    paths: tuple[str, ...]
    size: int


def index_path() -> Path:
    """Where the index lies."""
    from platformdirs import user_cache_path

    return user_cache_path("turnlog", appauthor=False) / "index.sqlite"


def _when(row: _Row) -> float:
    return row.when


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection for a while: in the midst of ten thousand new objects it finds nothing and takes as long
    as they do.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def in_directory(workspace: str | None, directory: Path | str) -> bool:
    """Whether a session's workspace is a directory or lies below it."""
    if not workspace:
        return False
    here, there = os.path.normpath(os.fspath(directory)), os.path.normpath(workspace)
    return there == here or there.startswith(here.rstrip(os.sep) + os.sep)


class Library:
    """All sessions of this machine. `cached` gives at once what is known, `refresh` brings it up to date.

    `problems` says what could not be looked into or read; `found` is the last discovery.
    """

    def __init__(self, env: Environment | None = None, path: Path | None = None) -> None:
        self._env = env
        self._path = index_path() if path is None else path
        self._rows: dict[str, _Row] = {}
        self._groups: dict[str, bytes] = {}  # of what could not be stored
        self._loaded = False
        self._reader = _reader()
        self._store_problem: Problem | None = None
        self.found = Found()

    # -- reading ---------------------------------------------------------------------------------------------------

    def cached(self) -> list[Summary]:
        """What the index holds, newest first. No session file is touched."""
        self._load()
        return self._listed()

    def first(self, directory: Path, limit: int = 200) -> list[Summary]:
        """The newest sessions, and the newest that name a directory: what a screen can show before `cached` has made
        thousands. At most `limit` of each.
        """
        # A summary holds its workspace as JSON; whatever else names the directory does no harm.
        name = json.dumps(os.fspath(directory), ensure_ascii=False)[1:-1].encode("utf-8", "replace")
        with closing(_Index(self)) as index:
            packed = {os.fsdecode(raw): values for raw, *values in index.newest(name, limit)}
        summaries = [unpack(data, path, size, mtime_ns) for path, (size, mtime_ns, data) in packed.items()]
        return sorted(summaries, key=lambda summary: summary.when, reverse=True)

    def all(self) -> list[Summary]:
        """Every session known by now, newest first."""
        return self._listed()

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> Iterator[list[Summary]]:
        """Look for sessions, and index those that are new or changed, newest first; yields them in batches as they
        are done. `progress` is called with the bytes read and the bytes there are to read.
        """
        self._load()
        with _uncollected():
            self.found = discover(self._env)
        files = {os.fspath(file.path): file for file in self.found.files}
        gone = [path for path in self._rows if path not in files]
        for path in gone:
            del self._rows[path]
        stale = [file for path, file in files.items() if self._is_stale(path, file)]
        if not gone and not stale:
            return
        with closing(_Index(self)) as index:
            if gone:
                index.delete(gone)
            total, done = sum(file.size for file in stale), 0
            batch: list[Indexed] = []
            due = time.monotonic() + _BATCH_SECONDS
            for indexed in _index_all(stale):
                batch.append(indexed)
                done += indexed.size
                if progress:
                    progress(done, total)
                if time.monotonic() >= due:
                    yield self._take(batch, index)
                    batch, due = [], time.monotonic() + _BATCH_SECONDS
            if batch:
                yield self._take(batch, index)

    def bring_up_to_date(self, progress: Callable[[int, int], None] | None = None) -> list[Summary]:
        """`refresh` to its end, then `all`."""
        for _ in self.refresh(progress):
            pass
        return self.all()

    def groups(self) -> Iterator[tuple[Summary, Iterator[GroupRow]]]:
        """The token groups of each session and its subagents, for sums in which a response that lies in several files
        counts once.
        """
        stored: dict[str, bytes] = {}
        with closing(_Index(self)) as index:
            stored.update(index.groups())
        for row in self._sorted():
            if row.summary is not None:
                yield row.summary, group_rows(self._groups.get(row.path) or stored.get(row.path, b""))

    def list_json(self, *, everything: bool) -> bytes:
        """The answer of `list --json` when nothing is filtered: kept ready made, since 10,000 rows are much to make."""
        rows = [row for row in self._sorted() if everything or not row.blank]
        return (
            b"[" + b",".join(row.listed + (b"true}" if is_live(row.touched_ns) else b"false}") for row in rows) + b"]\n"
        )

    def files(self) -> list[tuple[Path, int]]:
        """Every file that holds messages, with its size: the sessions newest first, each followed by its subagents."""
        files: dict[Path, int] = {}
        for summary in self._listed():
            files[summary.path] = summary.size
            for path, size, _ in json.loads(self._rows[os.fspath(summary.path)].side):
                if size > 0:
                    files.setdefault(Path(path), size)
        return list(files.items())

    @property
    def problems(self) -> list[Problem]:
        """What could not be looked into, and which files are no session or cannot be read."""
        files = [Problem(Path(path), row.error) for path, row in self._rows.items() if row.error]
        store = [self._store_problem] if self._store_problem else []
        return [*self.found.problems, *files, *store]

    # -- keeping ---------------------------------------------------------------------------------------------------

    def _sorted(self) -> list[_Row]:
        rows = [row for row in self._rows.values() if row.packed]
        rows.sort(key=_when, reverse=True)
        return rows

    def _listed(self) -> list[Summary]:
        with _uncollected():
            return [row.summary for row in self._sorted() if row.summary is not None]

    def _is_stale(self, path: str, file: SessionFile) -> bool:
        row = self._rows.get(path)
        return (
            row is None
            or row.size != file.size
            or row.mtime_ns != file.mtime_ns
            or row.reader != self._reader
            or sides_changed(row.side)
        )

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        with closing(_Index(self)) as index, _uncollected():
            for raw, *values in index.rows():
                path = os.fsdecode(raw)
                self._rows[path] = _Row(path, *values)

    def _take(self, batch: list[Indexed], index: _Index) -> list[Summary]:
        rows = [
            _Row(
                item.path,
                item.size,
                item.mtime_ns,
                self._reader,
                item.summary,
                item.listed,
                item.blank,
                item.when,
                item.touched_ns,
                item.side,
                item.error,
            )
            for item in batch
        ]
        self._rows.update((row.path, row) for row in rows)
        if not index.write(rows, batch):
            self._groups.update((item.path, item.groups) for item in batch)
        return [row.summary for row in rows if row.summary is not None]

    def note_store_problem(self, reason: str) -> None:
        """The index cannot be used; said once, by `doctor`."""
        self._store_problem = Problem(self._path, reason)

    @property
    def path(self) -> Path:
        """Where the index lies."""
        return self._path


def _reader() -> str:
    """What the files were read with: a summary made by other parsers is made again.

    The version, and the state of the parsers' files, so that a development tree needs no new version for each edit.
    """
    folder = os.path.dirname(os.path.abspath(schemas.__file__))
    state = 0
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith(".py"):
                stat = os.stat(os.path.join(base, name))
                state = crc32(f"{name} {stat.st_size} {stat.st_mtime_ns}\n".encode(), state)
    return f"{schemas.__version__} {_LAYOUT} {state:08x}"


# -- indexing ------------------------------------------------------------------------------------------------------


def _index_all(files: list[SessionFile]) -> Iterator[Indexed]:
    """Read the files, newest first; with two processes beside this one when there is much to read."""
    files = sorted(files, key=lambda file: file.mtime_ns, reverse=True)
    workers = min(os.cpu_count() or 1, 4)
    if workers < 2 or len(files) < 2 or sum(file.size for file in files) < _PARALLEL_BYTES:
        yield from (index_file(os.fspath(file.path)) for file in files)
    else:
        yield from _index_parallel(files, workers)


def _index_parallel(files: list[SessionFile], workers: int) -> Iterator[Indexed]:
    # Imported here: a list that is up to date must not wait for it.
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import get_context

    # A fork of a program with threads (the app's) may hang: the workers start afresh.
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=signal, initargs=(SIGINT, SIG_IGN)) as pool:
        tasks = _tasks(files)
        waiting: set[Future[list[Indexed]]] = set()
        try:
            for task in tasks:
                waiting.add(pool.submit(_index_some, task.paths))
                if len(waiting) > workers * 2:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield from future.result()
            for future in waiting:
                yield from future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _index_some(paths: tuple[str, ...]) -> list[Indexed]:
    return [index_file(path) for path in paths]


def _tasks(files: Iterable[SessionFile], size: int = 4 << 20, count: int = 100) -> Iterator[_Task]:
    """The files in parcels that are worth being handed over."""
    paths: list[str] = []
    total = 0
    for file in files:
        paths.append(os.fspath(file.path))
        total += file.size
        if total >= size or len(paths) >= count:
            yield _Task(tuple(paths), total)
            paths, total = [], 0
    if paths:
        yield _Task(tuple(paths), total)


# -- the database --------------------------------------------------------------------------------------------------


class _Index:
    """A connection to the index. Where there can be none, it reads nothing and writes nothing, and says so."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._connection = self._open(library.path)

    def _open(self, path: Path) -> sqlite3.Connection | None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            self._library.note_store_problem(f"no index: {(error.strerror or str(error)).lower()}")
            return None
        for attempt in (1, 2):
            try:
                return _connect(path)
            except sqlite3.DatabaseError as error:
                if attempt == 1 and _is_broken(error) and _remove(path):
                    continue
                self._library.note_store_problem(f"no index: {error}")
        return None

    def close(self) -> None:
        """Let go of the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def rows(self) -> list[tuple[Any, ...]]:
        """Every row, the token groups apart."""
        return self._fetch(f"SELECT {_COLUMNS} FROM sessions")

    def newest(self, name: bytes, limit: int) -> list[tuple[Any, ...]]:
        """Path, size, time and summary of the newest sessions, and of the newest whose summary holds `name`."""
        columns = "SELECT path, size, mtime_ns, summary FROM sessions"
        order = "ORDER BY updated DESC LIMIT ?"
        newest = self._fetch(f"{columns} WHERE length(summary) {order}", (limit,))
        return newest + self._fetch(f"{columns} WHERE instr(summary, ?) {order}", (name, limit))

    def groups(self) -> dict[str, bytes]:
        """The packed token groups by path."""
        return {os.fsdecode(path): groups for path, groups in self._fetch("SELECT path, groups FROM usage")}

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

    def write(self, rows: list[_Row], batch: list[Indexed]) -> bool:
        """Keep what was indexed; whether it is kept."""
        places = ", ".join("?" * len(_COLUMNS.split(",")))
        sessions = [
            (
                os.fsencode(row.path),
                row.size,
                row.mtime_ns,
                row.reader,
                row.packed,
                row.listed,
                row.blank,
                row.when,
                row.touched_ns,
                row.side,
                row.error,
            )
            for row in rows
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
        if not _is_broken(error) or not _remove(self._library.path):
            self._library.note_store_problem(f"no index: {error}")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if (application, layout) != (_APPLICATION, _LAYOUT):
            if application not in (0, _APPLICATION) or (application == 0 and _has_tables(connection)):
                raise _Foreign("not turnlog's index")
            _create(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"SELECT {_COLUMNS}, groups FROM sessions LEFT JOIN usage USING (path) LIMIT 1")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


class _Foreign(sqlite3.DatabaseError):
    """Somebody else's database lies under our name."""


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for name in ("sessions", "usage"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for table in _TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_LAYOUT}")


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is at fault, and not a lock, a right or a full disk."""
    if isinstance(error, _Foreign):
        return True
    # A missing table or column is a plain SQLITE_ERROR.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _remove(path: Path) -> bool:
    """Take the database and its side files away; whether that worked."""
    try:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True

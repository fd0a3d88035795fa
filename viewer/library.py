"""The library: what is known of every session on this machine, kept in an index so that a list opens at once.

The index is a SQLite file in the user's cache folder, never beside the sessions. It holds nothing that cannot be made
again: a broken or foreign file in its place is replaced, and where it cannot be written the library does without.
Two programs may use it at the same time.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import schemas
from viewer.store import LAYOUT, Row, Store, row_of
from viewer.summary import (
    LIVE_SECONDS,
    GroupRow,
    Indexed,
    Summary,
    group_rows,
    id_in,
    newest_side,
    sides_changed,
    unpack,
)

if TYPE_CHECKING:
    from schemas.provider import Environment, Problem, SessionFile
    from viewer.discover import Found

_BATCH_SECONDS = 0.25


def index_path() -> Path:
    """Where the index lies."""
    from platformdirs import user_cache_path

    return user_cache_path("turnlog", appauthor=False) / "index.sqlite"


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


class Standing(NamedTuple):
    """Where a list shows a file: by `when`, in seconds since 1970, and not at all if there is nothing to read in it."""

    when: float
    blank: bool


class Library:
    """All sessions of this machine. `cached` gives at once what is known, `refresh` brings it up to date.

    `problems` says what could not be looked into or read; `found` is the last discovery.
    """

    def __init__(self, env: Environment | None = None, path: Path | None = None) -> None:
        self._env = env
        self._path = index_path() if path is None else path
        self._rows: dict[str, Row] = {}
        self._unpacked: dict[str, Summary] = {}
        self._groups: dict[str, bytes] = {}  # of what could not be stored
        self._loaded = False
        self._reader = _reader()
        self._store_problem = ""
        self._found: Found | None = None

    # -- reading ---------------------------------------------------------------------------------------------------

    def cached(self) -> list[Summary]:
        """What the index holds, newest first. No session file is touched."""
        self._load()
        return self.all()

    def first(self, directory: Path, limit: int = 200) -> list[Summary]:
        """The newest sessions, and the newest of a directory and those below it: what a screen can show before
        `cached` has made thousands. At most `limit` of each.
        """
        with self._store() as store:
            packed = store.newest(os.path.normpath(directory), limit)
        summaries: list[Summary] = []
        for path, size, mtime_ns, data in packed:
            try:
                summaries.append(unpack(data, path, size, mtime_ns))
            except (ValueError, TypeError):
                continue  # damaged; `refresh` reads the file anew
        return sorted(summaries, key=lambda summary: (summary.when, str(summary.path)), reverse=True)

    def all(self) -> list[Summary]:
        """Every session known by now, newest first."""
        with _uncollected():
            return [summary for path, row in self._sorted() if (summary := self._summary(path, row)) is not None]

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> Iterator[list[Summary]]:
        """Look for sessions, and index those that are new or changed, newest first; yields them in batches as they
        are done. `progress` is called with the bytes read and the bytes there are to read.
        """
        from viewer.discover import discover

        self._load()
        with _uncollected():
            found = self._found = discover(self._env)
            files = {file.file: file for file in found.files}
            gone = [path for path in self._rows if path not in files]
            for path in gone:
                del self._rows[path]
            rows = self._rows
            stale = [file for path, file in files.items() if _is_stale(rows.get(path), file)]
        if not gone and not stale:
            return
        from viewer.indexing import index_all  # a list that is up to date need not wait for it

        with self._store() as store:
            if gone:
                store.delete(gone)
            total, done = sum(file.size for file in stale), 0
            batch: list[Indexed] = []
            due = time.monotonic() + _BATCH_SECONDS
            for indexed in index_all(stale):
                batch.append(indexed)
                done += indexed.size
                if progress:
                    progress(done, total)
                if time.monotonic() >= due:
                    yield self._take(batch, store)
                    batch, due = [], time.monotonic() + _BATCH_SECONDS
            if batch:
                yield self._take(batch, store)

    def bring_up_to_date(self, progress: Callable[[int, int], None] | None = None) -> list[Summary]:
        """`refresh` to its end, then `all`."""
        for _ in self.refresh(progress):
            pass
        return self.all()

    def groups(self) -> Iterator[tuple[Summary, Iterator[GroupRow]]]:
        """The token groups of each session and its subagents, for sums in which a response that lies in several files
        counts once.
        """
        with self._store() as store:
            stored = store.groups()
        for path, row in self._sorted():
            if (summary := self._summary(path, row)) is not None:
                yield summary, group_rows(self._groups.get(path) or stored.get(path, b""))

    def standing(self, file: SessionFile) -> Standing | None:
        """Where lists show a file; None where the index does not know it as it is now."""
        self._load()
        row = self._rows.get(file.file)
        if row is None or not _is_as_read(row, file):
            return None
        return Standing(row.when, bool(row.blank) or not row.packed)

    def session_id(self, file: SessionFile) -> str | None:
        """The id of the session in a file, in full; None where the index does not know the file. It stays the same
        while the file grows.
        """
        self._load()
        row = self._rows.get(file.file)
        return id_in(row.packed) if row is not None and row.packed else None

    def workspace(self, file: SessionFile) -> str | None:
        """Where the session in a file runs; None where that is not known."""
        self._load()
        row = self._rows.get(file.file)
        summary = self._summary(file.file, row) if row is not None else None
        return summary.workspace_root if summary else None

    def touched(self, file: SessionFile) -> int:
        """When a session or something beside it was written last, in nanoseconds since 1970."""
        self._load()
        row = self._rows.get(file.file)
        return max(file.mtime_ns, newest_side(row.side) if row is not None else 0)

    def list_json(self, *, everything: bool) -> bytes:
        """The answer of `list --json` when nothing is filtered: kept ready made, since 10,000 rows are much to make."""
        since = time.time_ns() - int(LIVE_SECONDS * 1e9)
        pieces: list[bytes] = []
        for _, row in self._sorted():
            if everything or not row.blank:
                pieces += row.listed, b"true}," if row.touched_ns > since else b"false},"
        return b"[" + b"".join(pieces)[:-1] + b"]\n"

    def files(self) -> list[tuple[Path, int]]:
        """Every file that holds messages, with its size: the sessions newest first, each followed by its subagents."""
        files: dict[Path, int] = {}
        for name, row in self._sorted():
            files[Path(name)] = row.size
            for path, size, _, holds in json.loads(row.side):
                if size > 0 and holds:
                    files.setdefault(Path(path), size)
        return list(files.items())

    @property
    def found(self) -> Found:
        """The last discovery."""
        from viewer.discover import Found

        return self._found or Found()

    @property
    def unread(self) -> list[Problem]:
        """Which of the files are no session or cannot be read, and why."""
        from schemas.provider import Problem

        return [Problem(Path(path), row.error) for path, row in self._rows.items() if row.error]

    @property
    def problems(self) -> list[Problem]:
        """What could not be looked into or read, and why there is no index if there is none."""
        from schemas.provider import Problem

        store = [Problem(self._path, self._store_problem)] if self._store_problem else []
        return [*self.found.problems, *self.unread, *store]

    # -- keeping ---------------------------------------------------------------------------------------------------

    def _sorted(self) -> list[tuple[str, Row]]:
        """The sessions among the rows, newest first."""
        rows = [item for item in self._rows.items() if item[1].packed]
        rows.sort(key=_when, reverse=True)
        return rows

    def _summary(self, path: str, row: Row) -> Summary | None:
        summary = self._unpacked.get(path)
        if summary is None and row.packed:
            try:
                summary = self._unpacked[path] = unpack(row.packed, path, row.size, row.mtime_ns)
            except (ValueError, TypeError):
                self._rows.pop(path, None)  # damaged: the next `refresh` reads the file anew
        return summary

    def _store(self) -> Store:
        return Store(self._path, self._reader, self._note_store_problem)

    def _note_store_problem(self, reason: str) -> None:
        self._store_problem = reason

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        with self._store() as store, _uncollected():
            self._rows = store.rows()

    def _take(self, batch: list[Indexed], store: Store) -> list[Summary]:
        for item in batch:
            self._rows[item.path] = row_of(item)
            self._unpacked.pop(item.path, None)
        kept = store.write(batch)
        for item in batch:
            self._groups.pop(item.path, None)
            if not kept:
                self._groups[item.path] = item.groups
        summaries = (self._summary(item.path, self._rows[item.path]) for item in batch)
        return [summary for summary in summaries if summary is not None]

    @property
    def path(self) -> Path:
        """Where the index lies."""
        return self._path


def _when(item: tuple[str, Row]) -> tuple[float, str]:
    return item[1].when, item[0]  # the path, so that a list looks the same each time


def _is_stale(row: Row | None, file: SessionFile) -> bool:
    return row is None or not _is_as_read(row, file) or (row.side != "[]" and sides_changed(row.side))


def _is_as_read(row: Row, file: SessionFile) -> bool:
    """Whether a file is what it was when today's parsers indexed it, whatever became of those beside it."""
    return row.size == file.size and row.mtime_ns == file.mtime_ns and bool(row.current)


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
    return f"{schemas.__version__} {LAYOUT} {state:08x}"

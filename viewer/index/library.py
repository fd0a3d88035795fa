"""The library: what is known of every session on this machine, kept in an index so that a list opens at once.

The index is a SQLite file in the user's cache folder, never beside the sessions. It holds nothing that cannot be made
again: a broken or foreign file in its place is replaced, and where it cannot be written the library does without.
Two programs may use it at the same time.

viewer/index/summary.py is imported where a summary is wanted: it brings the whole model of a session, for which
`list --json`, whose rows are kept ready made, need not wait.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from heapq import nlargest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import orjson

import schemas
from viewer.index.database import Indexed, Row, Store, remove
from viewer.output import Progress
from viewer.sessions.freshness import is_live, newest_side, sides_changed

if TYPE_CHECKING:
    from schemas.costs.responses import Response, Table
    from schemas.provider import Environment, Problem, SessionFile
    from viewer.index.fulltext import TextStore
    from viewer.index.summary import Summary
    from viewer.sessions.discover import Found

_BATCH_SECONDS = 0.25
_MANY = 2000
"""More new sessions than these take so long to read that a list shows them before."""
_FIRST = 200
"""Sessions of an agent that are shown before those of all agents are found."""


def index_path() -> Path:
    """The path of the index. A cache folder outside the home may be that of several homes: each has an index there, as
    one would take the sessions of another for gone.
    """
    from platformdirs import user_cache_path

    folder, home = user_cache_path("turnlog", appauthor=False), os.path.expanduser("~")
    return (folder if folder.is_relative_to(home) else folder / f"{crc32(os.fsencode(home)):08x}") / "index.sqlite"


@contextmanager
def uncollected() -> Iterator[None]:
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
    """Tell whether a session's workspace is a directory or lies below it."""
    if not workspace:
        return False
    here, there = os.path.normpath(os.fspath(directory)), os.path.normpath(workspace)
    return there == here or there.startswith(here.rstrip(os.sep) + os.sep)


class Library:
    """All sessions of this machine. `cached` gives at once what is known, `refresh` brings it up to date.

    `problems` says what could not be looked into or read; `found` is the last discovery. The text of what is new goes
    to the full-text index in any case; with `texts` also that of sessions which are known, but not there.
    """

    def __init__(self, env: Environment | None = None, path: Path | None = None, *, texts: bool = False) -> None:
        self._env = env
        self._texts = texts
        self.path = index_path() if path is None else path
        """The path of the index."""
        self._rows: dict[str, Row] = {}
        self._unpacked: dict[str, Summary] = {}
        self._listed: dict[str, bytes] | None = None
        """Rows of `list --json`, once somebody asks for them."""
        self._kept: dict[str, Indexed] = {}
        """What could not be stored."""
        self._loaded = False
        self._reader = _reader()
        self.store_problem = ""
        """Why there is no index, if there is none."""
        self.text_problem = ""
        """Why there is no full-text index, if there is none."""
        self.text_was_lost = False
        """Whether the full-text index was gone or damaged, so that `refresh` made a new one."""
        self._found: Found | None = None

    @property
    def shared(self) -> list[Path]:
        """The databases of versions that had one for all homes in a cache folder outside of them."""
        folder = self.path.parents[1]
        return [folder / path.name for path in (self.path, self.text_path)] if folder.name == "turnlog" else []

    # -- reading ---------------------------------------------------------------------------------------------------

    def cached(self) -> list[Summary]:
        """Return the summaries in the index, newest first. No session file is touched."""
        self._load()
        return self.all()

    def first(self, directory: Path, limit: int = 200) -> list[Summary]:
        """The newest sessions, and the newest of a directory and those below it: what a screen can show before
        `cached` has made thousands. At most `limit` of each.
        """
        from viewer.index.summary import unpack

        with self._store() as store:
            packed = store.newest(os.path.normpath(directory), limit)
        summaries: list[Summary] = []
        for path, size, mtime_ns, data in packed:
            try:
                summaries.append(unpack(data, path, size, mtime_ns))
            except (ValueError, TypeError):
                continue  # damaged; `refresh` reads the file anew
        return sorted(summaries, key=lambda summary: (summary.when, summary.file), reverse=True)

    def all(self) -> list[Summary]:
        """Every session known by now, newest first."""
        with uncollected():
            self._unpack()
            return [summary for _, path, _ in self._sorted() if (summary := self._unpacked.get(path)) is not None]

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> Iterator[list[Summary]]:
        """Look for sessions, and index those that are new or changed, newest first; yields them in batches as they
        are done; many new ones also before, not read yet: where none was known the newest of each agent as soon as
        they are found, then all at once. `progress` is called with the bytes read and the bytes there are to read.
        """
        from viewer.sessions.discover import Found, environment, looking

        self._load()
        with uncollected():
            found = self._found = Found()
            for some in looking(found, self._env or environment()):
                if some and not self._rows and len(found.files) > _MANY:
                    yield _found_only(nlargest(_FIRST, some, attrgetter("mtime_ns")))
            files = {file.file: file for file in found.files}
            rows = self._rows
            gone = [path for path in rows if path not in files]
            for path in gone:
                del rows[path]
            stale = [
                file
                for path, file in files.items()
                if (row := rows.get(path)) is None or not _is_as_read(row, file) or sides_changed(row.side)
            ]
        if not gone and not stale and not self._texts:
            return
        from viewer.index.worker import index_all  # a list that is up to date need not wait for it

        if len(new := [file for file in stale if file.file not in rows]) > _MANY:
            yield _found_only(new)
        with self._store() as store, self.texts() as text:
            if self._texts:
                text.start()
            if self._texts and text.connection is not None:
                self.text_was_lost = text.is_new and len(stale) < len(rows)
                known, waiting = text.known(), {file.file for file in stale}
                gone += known.keys() - files.keys() - set(gone)  # as an index that came from another home has them
                stale += [
                    file
                    for path, file in files.items()
                    if known.get(path) != (file.size, file.mtime_ns) and path not in waiting and rows[path].listed
                ]
            if gone:
                store.delete(gone)
                text.delete(gone)
            total, done = sum(file.size for file in stale), 0
            batch: list[Indexed] = []
            due = time.monotonic() + _BATCH_SECONDS
            for indexed in index_all(stale, text.add, text.families([file.file for file in stale])):
                batch.append(indexed)
                done += indexed.row.size
                if progress:
                    progress(done, total)
                text.keep(indexed.path, indexed.members)
                if time.monotonic() >= due:
                    yield self._take(batch, store)
                    batch, due = [], time.monotonic() + _BATCH_SECONDS
            if batch:
                yield self._take(batch, store)
            text.finish()

    def bring_up_to_date(self, progress: Callable[[int, int], None] | None = None) -> list[Summary]:
        """`refresh` to its end, under a bar of its own where there is none, then `all`."""
        with Progress("reading sessions") as bar:
            for _ in self.refresh(progress or bar):
                pass
        return self.all()

    def responses(self) -> list[tuple[Summary, Table]]:
        """The responses of each session and its subagents, inherited ones too, for sums in which one that lies in
        several files counts once: each session behind those that it was copied from.
        """
        from schemas.costs.responses import Table, in_order_made

        with self._store() as store:
            stored = dict(store.column("groups")) | {path: item.groups for path, item in self._kept.items()}
        summaries = {summary.path: summary for summary in self.all()}
        ordered = [summaries[one.path] for one in in_order_made(summary.origin for summary in summaries.values())]
        return [(summary, Table.from_bytes(stored.get(summary.file, b""))) for summary in ordered]

    def responses_of(self, summaries: Iterable[Summary]) -> Iterator[list[Response]]:
        """The responses of each of some sessions, without what it inherited, then those of its subagents."""
        from schemas.costs.responses import Table

        with self._store() as store:
            for summary in summaries:
                kept = self._kept.get(summary.file)
                table = Table.from_bytes(store.groups_of(summary.file) if kept is None else kept.groups)
                yield [row for row in table.rows(summary.source, summary.when) if not row.inherited]

    def standing(self, file: SessionFile) -> Row | None:
        """Return what lists know of a file; None where the index does not know it as it is now."""
        self._load()
        row = self._rows.get(file.file)
        return row if row is not None and _is_as_read(row, file) else None

    def session_id(self, file: SessionFile) -> str | None:
        """The id of the session in a file, in full; None where the index does not know the file. It stays the same
        while the file grows.
        """
        return self._told(file, "id")

    def workspace(self, file: SessionFile) -> str | None:
        """Return the workspace of the session in a file; None where it is not known."""
        return self._told(file, "workspaceRoot")

    def touched(self, file: SessionFile) -> float:
        """Return the time at which a session or something beside it was written last, in seconds since 1970."""
        self._load()
        row = self._rows.get(file.file)
        return max(file.mtime_ns, newest_side(row.side) if row is not None else 0) / 1e9

    def newest(self, file: SessionFile) -> float | None:
        """The time of the newest record of a session and its subagents; where the index does not know them all as they
        are now, when they were written. None where they tell no time.
        """
        row = self.standing(file)
        return self.touched(file) if row is None or newest_side(row.side) > row.touched_ns else row.newest

    def list_json(self, *, everything: bool) -> bytes:
        """The answer of `list --json` when nothing is filtered: kept ready made, since 10,000 rows are much to make."""
        now = time.time()
        pieces = [b"["]
        with uncollected():
            listed = self._lines()
            for _, path, row in self._sorted():
                if everything or not row.blank:
                    pieces += listed[path], b"true}," if is_live(row.touched_ns / 1e9, row.newest, now) else b"false},"
        if len(pieces) > 1:
            pieces[-1] = pieces[-1][:-1]
        pieces.append(b"]\n")
        return b"".join(pieces)

    def lacking(self, known: Mapping[str, tuple[int, int] | None]) -> list[str]:
        """The addresses of the sessions whose file is not of the size and time that are known of it, newest first."""
        self._load()
        rows = list(self._rows.items())
        lacking = [(r.when, p) for p, r in rows if known.get(p) != (r.size, r.mtime_ns) and r.listed]
        return [path for _, path in sorted(lacking, reverse=True)]

    @property
    def found(self) -> Found:
        """The last discovery."""
        from viewer.sessions.discover import Found

        return self._found or Found()

    @property
    def unread(self) -> list[Problem]:
        """List the files that are no session or cannot be read, and why."""
        from schemas.provider import Problem

        return [Problem(Path(path), row.error) for path, row in self._rows.items() if row.error]

    @property
    def problems(self) -> list[Problem]:
        """List what could not be looked into or read, and why there is no index if there is none."""
        from schemas.provider import Problem

        stores = ((self.path, self.store_problem), (self.text_path, self.text_problem))
        return [*self.found.problems, *self.unread, *(Problem(path, reason) for path, reason in stores if reason)]

    # -- keeping ---------------------------------------------------------------------------------------------------

    def _sorted(self) -> list[tuple[float, str, Row]]:
        """The sessions among the rows, newest first, each with its time and its path. Since no two have one path, rows
        themselves are never compared; a key for each would take as long again.
        """
        rows = [(row.when, path, row) for path, row in list(self._rows.items()) if row.listed]
        rows.sort(reverse=True)
        return rows

    def _unpack(self) -> None:
        """Make the summaries that are not made yet. A damaged one's row goes, so that `refresh` reads the file anew."""
        missing = {path: path for path, row in self._rows.items() if row.listed and path not in self._unpacked}
        if not missing:
            return
        from viewer.index.summary import unpack

        with self._store() as store:
            for found, packed in store.column("summary"):
                if (path := missing.get(found)) is not None:
                    row = self._rows[path]
                    with suppress(ValueError, TypeError):
                        self._unpacked[path] = unpack(packed, path, row.size, row.mtime_ns)
                        del missing[path]
        for path in missing:
            self._rows.pop(path, None)

    def _told(self, file: SessionFile, key: str) -> str | None:
        """Read a file's row of `list --json` without its summary: a TARGET is looked for among 10,000."""
        self._load()
        row = self._rows.get(file.file)
        if row is None or not row.listed:
            return None
        try:
            value = orjson.loads(self._lines()[file.file] + b"null}")[key]
        except (ValueError, LookupError, TypeError):
            return None  # damaged
        return value if isinstance(value, str) else None

    def _lines(self) -> dict[str, bytes]:
        """The rows of `list --json` by path, up to the value of `live`."""
        if self._listed is None:
            with self._store() as store:
                self._listed = dict(store.column("listed")) | {path: item.listed for path, item in self._kept.items()}
        return self._listed

    def _store(self) -> Store:
        return Store(self.path, self._reader, partial(setattr, self, "store_problem"))

    def texts(self, report: Callable[[str], None] | None = None) -> TextStore:
        """Open the full-text index; why there can be none is noted, or told to `report`."""
        from viewer.index.fulltext import TextStore

        return TextStore(self.text_path, self._reader, report or partial(setattr, self, "text_problem"))

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        with self._store() as store, uncollected():
            self._rows = store.rows()
            for path in self.shared if store.is_new else ():
                remove(path)

    def _take(self, batch: list[Indexed], store: Store) -> list[Summary]:
        from viewer.index.summary import unpack

        kept = store.write(batch)
        summaries: list[Summary] = []
        for item in batch:
            self._kept.pop(item.path, None)
            if not kept:
                self._kept[item.path] = item
            if self._listed is not None:
                self._listed[item.path] = item.listed
            self._unpacked.pop(item.path, None)
            if item.summary:
                summaries.append(unpack(item.summary, item.path, *item.row[:2]))
                self._unpacked[item.path] = summaries[-1]
            self._rows[item.path] = item.row
        return summaries

    @property
    def text_path(self) -> Path:
        """The path of the full-text index."""
        return self.path.with_name("text.sqlite")


def _found_only(files: list[SessionFile]) -> list[Summary]:
    """Summaries of sessions that are not read yet."""
    from viewer.index.summary import summary_of_found

    with uncollected():
        return list(map(summary_of_found, files))


def _is_as_read(row: Row, file: SessionFile) -> bool:
    """Tell whether a file is what it was when today's parsers indexed it, whatever became of those beside it."""
    return row.size == file.size and row.mtime_ns == file.mtime_ns and bool(row.current)


def _reader() -> str:
    """Name what the files were read with: a summary made by other parsers is made again.

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
    return f"{schemas.__version__} {Store.LAYOUT} {state:08x}"

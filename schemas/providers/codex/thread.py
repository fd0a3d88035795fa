"""From a path to a reading: plain, compressed, one document, or a thread of several files (formats note 7.4).

A thread that was resumed or reverted goes on in another file, which names the one it goes on from and where it leaves
that (`history_base`). The files of a thread are one session, whichever of them is opened; what stands behind the place
where the next one leaves it was taken back, and was spent all the same. A fork begins in the same way with the records
of another thread, which count for nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from schemas.provider import Reading
from schemas.providers.codex.header import is_typescript, parent_of, uuid_time
from schemas.providers.codex.history import Rollout
from schemas.providers.codex.locate import file_id, files_of, find_rollout, first_meta, turns_of
from schemas.providers.codex.zst import ZSTD_MAGIC, decompress
from schemas.providers.kit.reader import Reader
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import FileStore, JsonLines, read_record
from schemas.session import Change
from schemas.troubles import guarded
from schemas.values import dict_of, list_of, text_of, whole

Data = dict[str, Any]
_MOST_FILES = 100


class Part:
    """A file of a thread, or the beginning of one of another thread, as far as it was read."""

    def __init__(self, path: Path, store: FileStore, meta: Data) -> None:
        self.path, self.store = path, store
        self.rollout, self.thread = file_id(path), text_of(meta.get("id"))
        base = dict_of(meta.get("history_base"))
        self.base, self.base_end = text_of(base.get("thread_id")), whole(base.get("end_byte_offset"))
        self.lines, self.position = JsonLines(), 0
        self.end: float = inf
        """Up to where it is read."""
        self.number = 0
        """Which of the session's stores it is."""

    @property
    def size(self) -> int:
        """Bytes there are to read."""
        return int(min(self.end, self.store.stat().st_size))


class ThreadReading(LinesReading):
    """A rollout, before it what it goes on from, the oldest first, and behind it the files in which it goes on."""

    parser: Reader

    def __init__(self, store: FileStore, parser: Reader, start: int, main: Part) -> None:
        super().__init__(store, parser, start)
        self._main, self._alone = main, start > 0 or not main.thread
        self._before: list[Part] = []
        self._after: list[Part] = []
        self._own = [main]
        self._names: list[Path] = []
        if not self._alone:
            self._find_before()
            self._find_more()
            self._leave()

    @property
    def history(self) -> Rollout:
        """The thread's policy."""
        assert isinstance(self.parser.history, Rollout)
        return self.parser.history

    # -- which files ---------------------------------------------------------------------------------------------------

    def _add(self, part: Part) -> None:
        part.number = len(self.session.stores)
        self.session.stores.append(part.store)

    def _find_before(self) -> None:
        """What the thread goes on from; what is missing or damaged is left out."""
        part, path, seen = self._main, self._main.path.absolute(), {self._main.rollout}
        while part.base and part.base not in seen and len(seen) < _MOST_FILES:
            seen.add(part.base)
            found = find_rollout(part.base, path)
            base = _opened(found) if found is not None else None
            if base is None:
                break
            self._before.insert(0, base)
            if base.thread == self._main.thread:
                self._own.insert(0, base)
            else:
                base.end = inf if part.base_end is None else part.base_end
            self.history.base_read = True
            part, path = base, base.path.absolute()
        for part in self._before:
            self._add(part)

    def _find_more(self) -> None:
        """Other files of the thread: those that are older than the one that was opened stand before it."""
        if self._names == (names := files_of(self._main.thread, self._main.path.absolute())):
            return
        self._names, known = names, {part.path.absolute() for part in self._own}
        for path in names:
            part = _opened(path) if path not in known and len(self._own) < _MOST_FILES else None
            # One that goes on from nothing is a copy of the thread, as of an archive.
            if part is None or part.thread != self._main.thread or not part.base:
                continue
            if part.rollout in {own.rollout for own in self._own}:
                continue
            self._own.append(part)
            older = not self.position and _born(part) < _born(self._main)
            (self._before if older else self._after).append(part)
            self._add(part)
        self._own.sort(key=_born)
        self._after.sort(key=lambda part: (not part.position, _born(part)))
        if self._before and not any(part.position for part in self._before):
            others = [part for part in self._before if part not in self._own]
            self._before = others + [part for part in self._own if part in self._before]
        self._leave()

    def _leave(self) -> None:
        """Tell where the live conversation leaves each file: the newest has all of it that is in it."""
        ends = {part.number: 0.0 for part in self._own}
        part, end = self._own[-1], inf
        while part.number in ends and not ends[part.number]:
            ends[part.number] = end or inf
            base = next((one for one in self._own if one.rollout == part.base), None)
            if base is None:
                break
            part, end = base, inf if part.base_end is None else part.base_end
        self.history.leave({number: end for number, end in ends.items() if end < inf})

    # -- reading -------------------------------------------------------------------------------------------------------

    @guarded()
    def step(self, limit: int = 1 << 20) -> list[Change]:
        """Read about `limit` more bytes."""
        for part in self._before:
            if part.position < part.size:
                changes = self._read(part, limit)
                if part is self._before[-1] and part.position >= part.size:
                    self._begin(self._main)
                return changes
        changes = super().step(limit)
        if self.done:
            for part in self._after:
                if part.position < part.size:
                    changes += self._read(part, limit)
                    self.done = False
                    break
        return changes

    def _begin(self, part: Part) -> None:
        base = next((one for one in (*self._before, *self._own) if one.rollout == part.base), part)
        foreign = "" if part in self._own else part.thread
        self.history.begin_file(part.number, foreign, base.number, inf if part.base_end is None else part.base_end)

    def _read(self, part: Part, limit: int) -> list[Change]:
        if not part.position:
            self._begin(part)
        data = part.store.read(part.position, min(limit, part.size - part.position))
        part.position += len(data)
        records = part.lines.push(data)
        if part in self._before and (part.position >= part.size or not data):
            records += part.lines.finish()
            part.end = part.position
            self.session.unreadable.extend(part.lines.unreadable)
        return self.parser.feed(records, part.number)

    def finish(self) -> list[Change]:
        """No more will come."""
        changes = super().finish()
        for part in self._after:
            changes += self.parser.feed(part.lines.finish(), part.number)
            self.session.unreadable.extend(part.lines.unreadable)
        return changes

    @guarded()
    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file, and go on in the file in which the thread goes on."""
        changes = []
        if not self._alone and self.done:
            self._find_more()
            for part in self._after:
                while part.position < part.size:
                    changes += self._read(part, 1 << 20)
        return changes + self.parser.refresh()

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        return [self.store.path, *(part.path for part in self._after)]

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are, in all files of the thread."""
        done, total = super().progress
        others = [*self._before, *self._after]
        return done + sum(part.position for part in others), total + sum(part.size for part in others)


def _born(part: Part) -> tuple[float, str]:
    return uuid_time(part.rollout) or 0.0, part.path.name


def open_thread(make: Callable[[Path, str], Reader], path: Path, start: int = 0) -> Reading:
    """Begin to read a rollout; `make` makes a reader for its path and id. Raises OSError."""
    store = _open_store(path)
    if _is_document(store, path):
        store.close()
        document = dict_of(dict_of(read_record(path.read_bytes())).get("session"))
        name = text_of(document.get("id")) or file_id(path)
        return DocumentReading(path, lambda: make(path, name), _items, is_typescript)
    meta, reader = first_meta(_first_line(store)), make(path, file_id(path))
    assert isinstance(reader.history, Rollout)
    reader.history.begin(meta, partial(_turns_of_parent, path.absolute()))
    return ThreadReading(store, reader, start, Part(path, store, meta))


def _items(document: Data) -> list[Data]:
    """The records of a TypeScript document: its header, then its items as the lines of the next era."""
    header = {key: value for key, value in dict_of(document.get("session")).items() if key != "type"}
    return [header, *(item for item in list_of(document.get("items")) if isinstance(item, dict))]


def _turns_of_parent(path: Path, meta: Data) -> frozenset[str]:
    """The turns of the session that this one was copied from, if something may have been copied."""
    parent = text_of(meta.get("forked_from_id")) or parent_of(meta)
    if not parent or meta.get("history_base") or "subagent_history_start_ordinal" in meta:
        return frozenset()
    return turns_of(find_rollout(parent, path))


def _opened(path: Path) -> Part | None:
    """Another file of a thread; None for one that cannot be read, which must not hide this one."""
    try:
        store = _open_store(path)
    except OSError:
        return None
    return Part(path, store, first_meta(_first_line(store)))


def _open_store(path: Path) -> FileStore:
    store = open_file(path)
    if store.read(0, 4) != ZSTD_MAGIC:
        return store
    store.close()
    return FileStore(path, decompress(path))


def _first_line(store: FileStore) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < 16 << 20 and (more := store.read(len(data), 1 << 16)):
        data += more
    return data.partition(b"\n")[0]


def _is_document(store: FileStore, path: Path) -> bool:
    """Whether the file is one document of the TypeScript program: its first line is no record, or it is all of it."""
    first = read_record(_first_line(store))
    if first and not is_typescript(first):
        return False
    if not first and path.suffix != ".json":
        return False
    return is_typescript(first) or is_typescript(read_record(store.read(0, store.stat().st_size)))

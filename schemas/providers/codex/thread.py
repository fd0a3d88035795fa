"""From a path to a reading: plain, compressed, one document, or a thread of several files (formats note 7.4).

A thread that was resumed or reverted goes on in another file, which names the one before it and where it leaves that
(`history_base`). They are one session, whichever is opened; what stands behind that place was taken back, and was spent
all the same. A fork begins so with the records of another thread, which count for nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from time import time
from typing import Any

from schemas import zst
from schemas.provider import Reading
from schemas.providers.codex import locate
from schemas.providers.codex.history import Rollout
from schemas.providers.codex.locate import file_id, is_typescript, meta_of, rollouts_near, turns_of
from schemas.providers.kit.reader import Reader
from schemas.providers.kit.words import Data
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import FileStore, JsonLines, read_record
from schemas.session import Change
from schemas.troubles import guarded
from schemas.values import dict_of, list_of, text_of, whole


class Part:
    """A file of a thread, or the beginning of one of another thread, as far as it was read."""

    def __init__(self, path: Path, store: FileStore, meta: Data) -> None:
        self.path, self.store, self.lines, self.position = path, store, JsonLines(), 0
        self.rollout, self.thread = file_id(path), text_of(meta.get("id"))
        base = dict_of(meta.get("history_base"))
        self.base = text_of(base.get("thread_id"))
        self.base_end: float = whole(base.get("end_byte_offset")) or inf
        self.end = inf
        """Up to where it is read."""
        self.number = 0
        """Which of the session's stores it is."""
        self.born = locate.uuid_time(self.rollout) or 0.0, path.name

    @property
    def size(self) -> int:
        """Bytes there are to read."""
        return int(min(self.end, self.store.stat().st_size))

    @property
    def unread(self) -> bool:
        """Return whether there are more bytes than were read."""
        return self.position < self.size


class ThreadReading(LinesReading):
    """A rollout, before it what it goes on from, the oldest first, and behind it the files in which it goes on."""

    parser: Reader

    def __init__(self, store: FileStore, parser: Reader, start: int, main: Part) -> None:
        super().__init__(store, parser, start)
        assert isinstance(parser.history, Rollout)
        self.history = parser.history
        self._main, self._alone = main, start > 0 or not main.thread
        self._parts, self._before, self._after = [main], list[Part](), list[Part]()
        self._names: list[Path] | None = None
        if not self._alone:
            self._follow_bases()
            self._find_more()

    def _open(self, path: Path | None) -> Part | None:
        """Another file of the session; None for one that cannot be read, which must not hide this one."""
        if path is None or file_id(path) in {part.rollout for part in self._parts} or len(self._parts) >= 100:
            return None
        try:
            store = _open_store(path)
        except OSError:
            return None
        return Part(path, store, meta_of(read_record(store.first_line())))

    def _add(self, part: Part, parts: list[Part]) -> None:
        part.number = len(self.session.stores)
        self.session.stores.append(part.store)
        self._parts.append(part)
        parts.append(part)

    def _follow_bases(self) -> None:
        """Open what the thread goes on from, as far as it is there."""
        part = self._main
        while part.base and (base := self._open(rollouts_near(part.base, part.path).get(part.base))) is not None:
            base.end = part.base_end if base.thread != self._main.thread else inf
            self._add(base, self._before)
            self.history.base_read = True
            part = base

    def _find_more(self) -> None:
        """Open the other files of the thread: those that are older than the one that was opened stand before it."""
        names = list(rollouts_near(self._main.thread, self._main.path, time()).values())
        if names != self._names:
            self._names = names
            for part in filter(None, map(self._open, names)):
                # One that goes on from nothing is a copy of the thread, as of an archive.
                if part.thread == self._main.thread and part.base:
                    older = not self.position and part.born < self._main.born
                    self._add(part, self._before if older else self._after)
            self._before.sort(key=lambda part: (part.thread == self._main.thread, part.born))
            self._after.sort(key=lambda part: (not part.position, part.born))
            self._leave()

    def _leave(self) -> None:
        """Tell where the live conversation leaves each file: the newest has all of it that is in it."""
        own = sorted((part for part in self._parts if part.thread == self._main.thread), key=lambda part: part.born)
        ends: dict[int, float] = {part.number: 0 for part in own}
        part, end = own[-1], inf
        while not ends[part.number]:
            ends[part.number] = end
            part, end = next((one for one in own if one.rollout == part.base), part), part.base_end
        self.history.leave({number: end for number, end in ends.items() if end < inf})

    @guarded()
    def step(self, limit: int = 1 << 20) -> list[Change]:
        for part in self._before:
            if part.unread:
                return self._read(part, limit)
        if self._before and not self.position:
            self.history.begin_file(self._main.thread)
        changes = super().step(limit)
        unread = next((part for part in self._after if part.unread), None) if self.done else None
        if unread is not None:
            changes += self._read(unread, limit)
            self.done = False
        return changes

    def _read(self, part: Part, limit: int) -> list[Change]:
        if not part.position:
            self.history.begin_file(part.thread)
        data = part.store.read(part.position, min(limit, part.size - part.position))
        part.position += len(data)
        records = part.lines.push(data)
        if part in self._before and (not part.unread or not data):
            part.end = part.position
            records += self._finish(part)
        return self.parser.feed(records, part.number)

    def _finish(self, part: Part) -> list[Any]:
        records = part.lines.finish()
        self.session.unreadable.extend(part.lines.unreadable)
        return records

    def finish(self) -> list[Change]:
        changes = super().finish()
        for part in self._after:
            changes += self.parser.feed(self._finish(part), part.number)
        return changes

    @guarded()
    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file, and go on in the file in which the thread goes on."""
        changes = []
        if not self._alone and self.done:
            self._find_more()
            for part in self._after:
                while part.unread:
                    changes += self._read(part, 1 << 20)
        return changes + self.parser.refresh()

    @property
    def sources(self) -> list[Path]:
        return [self.store.path, *(part.path for part in self._after)]

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are, in all files of the thread."""
        (done, total), others = super().progress, self._parts[1:]
        return done + sum(part.position for part in others), total + sum(part.size for part in others)


def open_thread(make: Callable[[Path, str], Reader], path: Path, start: int = 0) -> Reading:
    """Begin to read a rollout; `make` makes a reader for its path and id. Raises OSError."""
    store = _open_store(path)
    # A document of the TypeScript program is its first line, or begins with what is no record.
    record = read_record(store.first_line())
    if not record and path.suffix == ".json":
        record = read_record(store.read(0, store.stat().st_size))
    if is_typescript(record):
        store.close()
        name = text_of(dict_of(record["session"]).get("id")) or file_id(path)
        return DocumentReading(path, lambda: make(path, name), _items, is_typescript)
    meta = meta_of(record)
    reading = ThreadReading(store, make(path, file_id(path)), start, Part(path, store, meta))
    owner = reading.history.begin(meta)
    if owner.source and not meta.get("history_base") and "subagent_history_start_ordinal" not in meta:
        owner.parent_turns = turns_of(rollouts_near(owner.source, path).get(owner.source))
    return reading


def _items(document: Data) -> list[Data]:
    """The records of a TypeScript document: its header, then its items as the lines of the next era."""
    header = {key: value for key, value in dict_of(document.get("session")).items() if key != "type"}
    return [header, *(item for item in list_of(document.get("items")) if isinstance(item, dict))]


def _open_store(path: Path) -> FileStore:
    store = open_file(path)
    if store.read(0, 4) != zst.MAGIC:
        return store
    store.close()
    return FileStore(path, zst.decompress(path))

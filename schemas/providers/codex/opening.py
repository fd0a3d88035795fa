"""From a path to a reading: plain, compressed, one document, or a chain of files (formats note 7.4)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from schemas.provider import Reading
from schemas.providers.codex.history import parent_of
from schemas.providers.codex.locate import file_id, find_rollout, first_meta, turns_of
from schemas.providers.codex.old import is_typescript, typescript_items
from schemas.providers.codex.rollout import CodexParser
from schemas.providers.codex.zst import ZSTD_MAGIC, decompress
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import FileStore, JsonLines, read_record
from schemas.session import Change
from schemas.troubles import guarded
from schemas.values import dict_of, text_of, whole

_MAX_CHAIN = 100


class Base:
    """The part of another rollout that this one goes on from."""

    def __init__(self, store: FileStore, end: int | None) -> None:
        self.store = store
        self.end = store.stat().st_size if end is None else min(end, store.stat().st_size)
        self.lines = JsonLines()
        self.position = 0


class RolloutReading(LinesReading):
    """A rollout, and before it the beginnings that lie in other files, the oldest first."""

    parser: CodexParser

    def __init__(self, store: FileStore, parser: CodexParser, start: int, bases: list[Base]) -> None:
        super().__init__(store, parser, start)
        self._bases = bases
        self._current = 0
        for base in bases:
            self.session.stores.append(base.store)

    @guarded()
    def step(self, limit: int = 1 << 20) -> list[Change]:
        """Read about `limit` more bytes."""
        if self._current >= len(self._bases):
            return super().step(limit)
        base = self._bases[self._current]
        data = base.store.read(base.position, min(limit, base.end - base.position))
        base.position += len(data)
        records = base.lines.push(data)
        if base.position >= base.end or not data:
            records += base.lines.finish()
        number = self._current + 1
        changes = self.parser.feed_base(records, number)
        if base.position >= base.end or not data:
            self.session.unreadable.extend(base.lines.unreadable)
            self._current += 1
            if self._current == len(self._bases):
                self.parser.end_base()
        return changes

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are, in all files of the chain."""
        done, total = super().progress
        return done + sum(b.position for b in self._bases), total + sum(b.end for b in self._bases)


def open_rollout(path: Path, start: int = 0) -> Reading:
    """Begin to read a rollout. Raises OSError."""
    store = _open_store(path)
    if _is_document(store, path):
        store.close()
        document = dict_of(dict_of(read_record(path.read_bytes())).get("session"))
        identifier = text_of(document.get("id")) or file_id(path)
        return DocumentReading(path, lambda: CodexParser(path, identifier, {}), typescript_items, is_typescript)
    meta = first_meta(_first_line(store))
    bases = [] if start else _bases(path, meta)
    parser = CodexParser(path, file_id(path), meta, partial(_turns_of_parent, path.absolute()))
    return RolloutReading(store, parser, start, bases)


def _turns_of_parent(path: Path, meta: dict[str, Any]) -> frozenset[str]:
    """The turns of the session that this one was copied from, if something may have been copied."""
    parent = text_of(meta.get("forked_from_id")) or parent_of(meta)
    if not parent or meta.get("history_base") or "subagent_history_start_ordinal" in meta:
        return frozenset()
    return turns_of(find_rollout(parent, path))


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


def _bases(path: Path, meta: dict[str, Any]) -> list[Base]:
    """The files that a rollout goes on from, the oldest first; those that are missing are left out."""
    bases: list[Base] = []
    seen = {file_id(path)}
    here = path.absolute()
    while len(bases) < _MAX_CHAIN:
        base = dict_of(meta.get("history_base"))
        rollout = text_of(base.get("thread_id"))
        found = find_rollout(rollout, here) if rollout and rollout not in seen else None
        if found is None:
            break
        seen.add(rollout)
        here = found
        store = _open_store(found)
        bases.insert(0, Base(store, whole(base.get("end_byte_offset"))))
        meta = first_meta(_first_line(store))
    return bases

"""The JSON files that make one session, each read again only when it was written. Finding sessions brings this too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schemas.broken import why_unread
from schemas.providers.kit.words import Data
from schemas.records import JsonLines, Unreadable, read_document
from schemas.values import dict_of, list_of

_MOST_WATCHED = 16
"""The files that were written last are those that are written next: a look costs one `stat` for each."""
_RACY = 50_000_000
"""Nanoseconds within which two writes can leave the same time on a file."""


class _Known(NamedTuple):
    """The contents of a file, and its state then; the state is None where it must be read again in any case."""

    state: tuple[int, int, int] | None
    value: Any
    unreadable: tuple[Unreadable, ...]
    written: int
    size: int


class Files:
    """The files and folders of the session at `path`, as of the last gathering."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before: dict[Path, _Known] = {}
        self._now: dict[Path, _Known] = {}
        self._folders: list[Path] = []

    def begin(self) -> None:
        """Begin another gathering."""
        self._before, self._now, self._folders = self._before | self._now, {}, []

    def document(self, path: Path, *, needed: bool = False) -> dict[str, Any]:
        """The object in a file; an empty one where there is none."""
        return dict_of(self.value(path, needed=needed))

    def value(self, path: Path, *, needed: bool = False) -> dict[str, Any] | list[Any]:
        """The object or the list in a file; what was there before while it is half-written, an empty object where there
        is none. That a file is not there which is `needed` is said as what cannot be read is.
        """
        value: dict[str, Any] | list[Any] = self._read(path, _document_in)
        if needed and self._now[path].state is None and not path.exists():
            self._now[path] = self._now[path]._replace(unreadable=_GONE)
        return value

    def lines(self, path: Path) -> list[dict[str, Any]]:
        """The records of a file of JSON lines; a last one that is half-written is not there yet."""
        return list_of(self._read(path, _lines_in))

    def _read(self, path: Path, parse: Callable[[bytes], tuple[Any, tuple[Unreadable, ...]]]) -> Any:
        looked, before = time.time_ns(), self._before.get(path)
        value, faults, state, written, size = before.value if before else {}, _NONE, None, looked, 0
        try:
            status = path.stat()
            written, size = status.st_mtime_ns, status.st_size
            if before is not None and before.state == (status.st_ino, size, written):
                self._now[path] = before
                return before.value
            found, faults = parse(path.read_bytes())
            if found is not None:
                value = found
                state = None if abs(looked - written) < _RACY else (status.st_ino, size, written)
        except FileNotFoundError:
            value = {}
        except OSError as error:
            faults = (Unreadable(1, (error.strerror or str(error)).lower(), 0, size),)
        self._now[path] = _Known(state, value, faults, written, size)
        return value

    def names(self, folder: Path, ending: str = ".json", *, growing: bool = False) -> list[str]:
        """The names of the JSON files in a folder, in order; `growing`: more of the session may come there."""
        if growing:
            self._folders.append(folder)
        try:
            with os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if entry.name.endswith(ending))
        except OSError:
            return []

    def documents(self, folder: Path, *, growing: bool = False) -> Iterable[tuple[str, dict[str, Any]]]:
        """The objects in a folder's files, each with its file's name, in the order of the names."""
        for name in self.names(folder, growing=growing):
            if value := self.document(folder / name):
                yield name.removesuffix(".json"), value

    @property
    def watched(self) -> list[Path]:
        """The files and folders whose change means that there is something to read."""
        newest = sorted(self._now, key=lambda path: self._now[path].written, reverse=True)
        return [self.path, *self._folders, *(path for path in newest[:_MOST_WATCHED] if path != self.path)]

    @property
    def size(self) -> int:
        """Bytes in all the files."""
        return sum(known.size for known in self._now.values())

    @property
    def unreadable(self) -> list[Unreadable]:
        """The files that could not be read, as places in the session."""
        found = ((path, one) for path, known in self._now.items() for one in known.unreadable)
        folder = self.path.parent
        return [one._replace(file="" if path == self.path else os.path.relpath(path, folder)) for path, one in found]


_NONE: tuple[Unreadable, ...] = ()
_GONE = (Unreadable(1, "no such file", 0, 0),)


def _document_in(raw: bytes) -> tuple[Any, tuple[Unreadable, ...]]:
    value = read_document(raw)
    return value, _NONE if value is not None else (Unreadable(1, why_unread(raw), 0, len(raw)),)


def _lines_in(raw: bytes) -> tuple[Any, tuple[Unreadable, ...]]:
    lines = JsonLines()
    records = lines.push(raw) + lines.take_tail()
    return [record[3] for record in records], tuple(lines.unreadable)


class Found(NamedTuple):
    """The records of a session in a source as they are now."""

    records: Iterable[Data]
    size: int
    """Bytes; 0 where nobody knows."""
    unreadable: Sequence[Unreadable] = ()

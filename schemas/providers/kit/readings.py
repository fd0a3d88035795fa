"""Readings of the kit's sources: documents with sides, and what is gathered whole whenever it changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schemas.broken import why_unread
from schemas.changes import digest
from schemas.folders import bytes_in
from schemas.providers.kit.reader import Reader
from schemas.providers.kit.words import Data
from schemas.reading import DocumentReading, WholeReading
from schemas.records import MemoryStore, Unreadable, read_document
from schemas.session import Session


class Documents(DocumentReading):
    """A document and its sides: `records` takes a document apart, `merged` it and its sides."""

    def __init__(
        self, path: Path, make: Callable[[], Reader], records: Callable[[Any], Sequence[Data]],
        merged: Callable[[Any, list[Any]], Sequence[Data]], sides: Callable[[], Sequence[Path]],
    ) -> None:  # fmt: skip
        self._files, self._sides = sides, list[Any]()
        super().__init__(path, make, lambda d: list(merged(d, self._sides)), lambda d: bool(records(d)))

    @property
    def sources(self) -> list[Path]:
        """The document and its sides."""
        return [self.path, *self._files()]

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """Parse the document, if it or a side is another one than before."""
        data, sides = self.path.read_bytes(), [bytes_in(side) for side in self._files()]
        if (mark := digest(b"\0".join((data, *sides)))) == known:
            return None
        self._sides = [read_document(side) for side in sides]
        self._parsed = self.parse(data)
        for side, raw, value in zip(self._files(), sides, self._sides, strict=True):
            if raw and value is None:
                name = os.path.relpath(side, self.path.parent)
                self._parsed.session.unreadable.append(Unreadable(1, why_unread(raw), 0, len(raw), name))
        return mark, len(data), self._parsed.session


class Found(NamedTuple):
    """The records of a session in a source as they are now."""

    records: Iterable[Data]
    size: int
    """Bytes; 0 where nobody knows."""
    unreadable: Sequence[Unreadable] = ()


class Gathered(WholeReading):
    """A session whose records are gathered anew whenever its sources changed. `gather` raises OSError."""

    def __init__(
        self, path: Path, make: Callable[[], Reader], gather: Callable[[], Found], sources: Callable[[], list[Path]]
    ) -> None:
        self._make, self._gather, self._files = make, gather, sources
        super().__init__(path, make().session)

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        return self._files()

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """Gather the records, and read them if they are others than before."""
        found, reader = self._gather(), self._make()
        store = MemoryStore(self.path)
        reader.session.stores.append(store)
        reader.feed([store.add(record) for record in found.records])
        reader.refresh()
        reader.session.unreadable = list(found.unreadable)
        data = store.whole()
        mark = digest(data)
        return None if mark == known else (mark, found.size or len(data), reader.session)

"""The reading of a session whose records are gathered whole: from a document, from several files, from a database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from schemas.changes import digest
from schemas.providers.kit.files import Found
from schemas.providers.kit.reader import Reader
from schemas.reading import ParsedReading
from schemas.records import MemoryStore
from schemas.session import Session


class Gathered(ParsedReading):
    """A session whose records are gathered anew whenever its sources changed. `gather` raises OSError."""

    def __init__(
        self, path: Path, make: Callable[[], Reader], gather: Callable[[], Found], sources: Callable[[], list[Path]]
    ) -> None:
        self._make, self._gather, self._files = make, gather, sources
        super().__init__(path, make())

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
        reader.session.unreadable = list(found.unreadable)
        data = store.whole()
        mark = digest(data + repr(found.unreadable).encode())
        if mark == known:
            return None
        self._parsed = reader
        return mark, found.size or len(data), reader.session

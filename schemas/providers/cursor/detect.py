"""Recognising Cursor's files by their content."""

from __future__ import annotations

from pathlib import Path

from schemas.provider import Head
from schemas.providers.cursor.told import detect_lines, detect_text

_MAGIC = b"SQLite format 3\0"
_TABLES = {"blobs": {"id", "data"}, "meta": {"key", "value"}}


def detect(head: Head) -> bool:
    """Whether it is a store or a transcript."""
    return is_store(head) or detect_lines(head) or detect_text(head)


def is_store(head: Head) -> bool:
    """Whether a file is a database with the two tables of a store."""
    return all(columns <= head.tables.get(name, frozenset()) for name, columns in _TABLES.items())


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC

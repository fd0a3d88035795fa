"""Recognising Cursor's files by their content."""

from __future__ import annotations

import re
from pathlib import Path

from schemas.provider import Head
from schemas.providers.cursor.meta import is_cursors, row_bytes
from schemas.providers.cursor.told import detect_lines, detect_text

_MAGIC = b"SQLite format 3\0"
_TABLES = {"blobs": {"id", "data"}, "meta": {"key", "value"}}
_BLOB_ID = re.compile(r"[0-9a-fA-F]{64}")


def detect(head: Head) -> bool:
    """Whether it is a store or a transcript."""
    return is_store(head) or detect_lines(head) or detect_text(head)


def is_store(head: Head) -> bool:
    """Whether a file is a database with the two tables of a store, and blobs by their hashes or Cursor's meta row.

    Either of them will do: the other may be damaged, and a session in which nobody has said a word has no blobs.
    """
    if not all(columns <= head.tables.get(name, frozenset()) for name, columns in _TABLES.items()):
        return False
    identifier = head.rows.get("blobs", {}).get("id")
    if isinstance(identifier, str) and _BLOB_ID.fullmatch(identifier):
        return True
    return is_cursors(row_bytes(head.rows.get("meta", {}).get("value")))


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC

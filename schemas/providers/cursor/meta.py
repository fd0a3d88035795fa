"""The `meta` table of a store: one row, `0`, with what a session knows of itself (formats note 3.2)."""

from __future__ import annotations

import sqlite3
from typing import Any

from schemas.records import read_record

ROOT = "latestRootBlobId"
_SECRET = "blobEncryptionKey"
_CURSORS = frozenset({"agentId", ROOT, _SECRET})


def read_meta_row(database: sqlite3.Connection) -> bytes:
    """The text of the row: JSON, mostly written in hexadecimal digits; nothing where there is none."""
    row = database.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
    return row_bytes(row[0] if row else None)


def row_bytes(value: object) -> bytes:
    """A value of the row as bytes, whatever type it has."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else value if isinstance(value, bytes) else b""


def decode_meta(raw: bytes) -> dict[str, Any]:
    """The object in the row, without the key for encryption, which nobody is ever shown; empty for what is none."""
    return {key: item for key, item in _decode(raw).items() if key != _SECRET}


def is_cursors(raw: bytes) -> bool:
    """Whether the row holds something that only Cursor writes."""
    return not _CURSORS.isdisjoint(_decode(raw))


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        value = read_record(bytes.fromhex(raw.decode("ascii")))
    except ValueError:
        value = {}
    return value or read_record(raw)

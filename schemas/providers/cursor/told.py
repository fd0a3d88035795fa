"""Telling Cursor's transcripts by their content: lines of JSON, and older text (formats notes 3.3 and 3.4)."""

from __future__ import annotations

import re
from typing import Any

from schemas.provider import Head

ROLES = frozenset({"user", "assistant", "system", "tool"})
_MARKER = re.compile(rb"^\[(?:Thinking|Tool call|Tool result)\](?:[ \t\r]|$)", re.MULTILINE)
_QUERY = re.compile(rb"^<(?:user_query|user_info|timestamp)>", re.MULTILINE)
_DECIDING = 50
"""Records that are looked at for one that says whose they are."""
# What other agents put beside role and message, or into the message: an id, a time, a model.
_FOREIGN = frozenset(
    [
        "type", "id", "uuid", "parentUuid", "parentId", "sessionId", "session_id", "timestamp", "ts", "time", "cwd",
        "record_type", "model", "usage", "created_at", "createdAt", "version", "parent_id", "messageId",
    ]
)  # fmt: skip
_FOREIGN_MESSAGE = frozenset(["id", "type", "role", "model", "usage", "stop_reason", "timestamp", "author", "parts"])
_ENDED = frozenset(["type", "status", "error", "message", "reason"])


def is_message(record: dict[str, Any]) -> bool:
    """Whether a record is a line of a transcript: a role and a message with content, and nothing that names either."""
    message = record.get("message")
    return (
        record.get("role") in ("user", "assistant")
        and isinstance(message, dict)
        and isinstance(message.get("content"), str | list)
        and _FOREIGN.isdisjoint(record)
        and _FOREIGN_MESSAGE.isdisjoint(message)
    )


def is_ended(record: dict[str, Any]) -> bool:
    """Whether a record says that a turn ended."""
    return record.get("type") == "turn_ended" and isinstance(record.get("status"), str) and record.keys() <= _ENDED


def detect_lines(head: Head) -> bool:
    """Whether a file of JSON lines is a transcript: the first record that has a role or a type decides."""
    for record in head.records[:_DECIDING]:
        if is_message(record) or is_ended(record):
            return True
        if not _is_odd(record):
            return False
    return False


def _is_odd(record: dict[str, Any]) -> bool:
    """A line of another role or without content, which a transcript may begin with, but other files too."""
    return (
        isinstance(record.get("role"), str)
        and _FOREIGN.isdisjoint(record)
        and isinstance(record.get("message", {}), dict)
        and _FOREIGN_MESSAGE.isdisjoint(record.get("message", {}))
    )


def detect_text(head: Head) -> bool:
    """Whether a file is a transcript in text: `user:` alone on its first line, and something that only Cursor writes.

    A file may begin with the agent's part; then it must use a tool or think.
    """
    if head.records or head.document is not None or head.tables:
        return False
    data = head.data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = data.partition(b"\n")[0].rstrip()
    if first == b"user:":
        return bool(_QUERY.search(data) or _MARKER.search(data))
    return first in (b"assistant:", b"A:") and bool(_MARKER.search(data))

"""Recognising a Claude Code session by its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.provider import HEAD_BYTES, Head

_CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress", "compact_boundary"})
_FACTS = frozenset(
    [
        "mode",
        "permission-mode",
        "ai-title",
        "custom-title",
        "agent-name",
        "last-prompt",
        "pr-link",
        "queue-operation",
        "relocated",
        "worktree-state",
        "frame-link",
        "atis-latch",
        "bridge-session",
        "cost-state",
        "agent-setting",
        "history-suppression",
        "tag",
        "agent-color",
        "api-request-shape",
    ]
)
_SNAPSHOTS = frozenset({"file-history-snapshot", "file-history-delta"})


def detect(head: Head) -> bool:
    """Whether a record of the conversation is there that only Claude Code writes, or most records are its.

    One is enough, since record types come with every release (formats note 3): what is unknown says nothing against
    the rest. A file of `summary` lines alone is no session: they name sessions of other files. A stream
    (`--output-format stream-json`) has `session_id` where a session has `sessionId`.
    """
    if head.compressed:
        return False
    records = head.records
    if any(_is_telling(record) for record in records):
        return True
    ours = sum(_is_ours(record) for record in records)
    summaries = sum(map(_is_summary, records))
    if not ours:
        return bool(summaries) and summaries == len(records) and len(head.data) >= HEAD_BYTES
    return bool((ours + summaries) * 2 >= len(records))


def only_summaries(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is nothing yet but the titles of other sessions, which stand before a session's first record."""
    return bool(records) and all(map(_is_summary, records))


def _is_summary(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "summary" and isinstance(record.get("leafUuid"), str)


def _is_telling(record: Mapping[str, Any]) -> bool:
    """A prompt or an answer with the whole envelope (formats note 2)."""
    return (
        record.get("type") in ("user", "assistant")
        and "parentUuid" in record
        and isinstance(record.get("sessionId"), str)
        and isinstance(record.get("message"), Mapping)
        and _is_chain(str(record["type"]), record)
    )


def _is_ours(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _CHAIN:
        return _is_chain(kind, record)
    if kind in _FACTS:
        return isinstance(record.get("sessionId"), str)
    return kind in _SNAPSHOTS and isinstance(record.get("messageId"), str)


def _is_chain(kind: str, record: Mapping[str, Any]) -> bool:
    if not isinstance(record.get("uuid"), str) or not ("parentUuid" in record or "sessionId" in record):
        return False
    message = record.get("message")
    if kind in ("user", "assistant"):
        if isinstance(message, Mapping):  # Qwen Code writes the same envelope around Gemini's `parts`
            return "parts" not in message and ("content" in message or "role" in message)
        return "message" in record or "isSidechain" in record
    return "systemPayload" not in record

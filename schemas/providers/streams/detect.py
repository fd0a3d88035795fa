"""Which agent printed a stream, told by one of its objects (`streams` note 1.2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from schemas.provider import Head

MOST_OBJECTS, MOST_BYTES = 200, 1 << 20
"""How far to look for an object that decides."""
_GEMINI = {
    "init": ("session_id", "model"),
    "message": ("role",),
    "tool_use": ("tool_name", "tool_id"),
    "tool_result": ("tool_id",),
    "error": ("severity", "message"),
    "result": ("status", "stats"),
}
"""Gemini's types, and of each the fields of which one is there: its files on disk have an `error` with other ones."""
_KIMI = frozenset({"time", "turnId"})
"""What Kimi's log on disk has beside its own `turn.` types; Codex's lines have no times."""


class Told(StrEnum):
    """What one object says about who printed it."""

    CODEX = "codex"
    ON_DISK = "a session of Claude Code's own, no stream"
    GEMINI = "gemini"
    WEAK_CODEX = "an error that Codex may have printed"
    OLD_CODEX = "codex before 0.44"


def told_by(value: dict[str, Any]) -> Told | None:
    """The first row of the note's table that fits; None where none does."""
    kind = value.get("type")
    if isinstance(kind, str):
        if kind == "thread.started" or (kind.startswith(("turn.", "item.")) and _KIMI.isdisjoint(value)):
            return Told.CODEX
        if (told := _by_ids(value, kind)) is not None:
            return told
        if kind == "error" and value.keys() == {"type", "message"} and isinstance(value["message"], str):
            return Told.WEAK_CODEX
    elif kind is None:
        return _untyped(value)
    return None


def _by_ids(value: dict[str, Any], kind: str) -> Told | None:
    stamp = value.get("timestamp")
    if "sessionId" in value and ("uuid" in value or "parentUuid" in value):
        return Told.ON_DISK
    if isinstance(stamp, str) and kind in _GEMINI and _is_gemini(value, kind):
        return Told.GEMINI
    return None


def _is_gemini(value: dict[str, Any], kind: str) -> bool:
    """Whether it is no line of somebody's session file that happens to have such a type and a time."""
    if "payload" in value or (kind == "message" and not isinstance(value.get("content"), str)):
        return False
    return any(key in value for key in _GEMINI[kind])


def _untyped(value: dict[str, Any]) -> Told | None:
    message = value.get("msg")
    if "id" in value and isinstance(message, dict) and isinstance(message.get("type"), str):
        return Told.OLD_CODEX
    if is_gemini_answer(value):
        return Told.GEMINI
    return None


def is_gemini_answer(value: object) -> bool:
    """Whether it is all that `gemini --output-format json` prints."""
    return (
        isinstance(value, dict) and isinstance(value.get("stats"), dict) and ("response" in value or "error" in value)
    )


def answer_items(document: object) -> list[dict[str, Any]]:
    """The events in one JSON value that is the whole output; none if no agent printed it."""
    items = document if isinstance(document, list) else [document]
    events = [item for item in items if isinstance(item, dict)]
    strong = {told_by(event) for event in events} - {None, Told.WEAK_CODEX}
    return events if len(events) == len(items) and strong and Told.ON_DISK not in strong else []


def detect(head: Head) -> bool:
    """Whether a file begins as a stream does. Only errors without more are one if there is nothing else."""
    if head.compressed:
        return False
    if head.document is not None and not head.records:
        return bool(answer_items(head.document))
    weak = False
    for value in head.records[:MOST_OBJECTS]:
        told = told_by(value)
        if told is not None and told is not Told.WEAK_CODEX:
            return told is not Told.ON_DISK
        weak = weak or told is not None
    return weak and all(told_by(value) is Told.WEAK_CODEX for value in head.records)

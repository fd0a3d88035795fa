"""Which agent printed a stream, told by one of its objects (`streams` note 1.2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from schemas.provider import Head

MOST_OBJECTS, MOST_BYTES = 200, 1 << 20
"""How far to look for an object that decides."""
_KIMI = frozenset({"time", "turnId"})
"""What Kimi's log on disk has beside its own `turn.` types; Codex's lines have no times."""


class Told(StrEnum):
    """What one object says about who printed it."""

    CODEX = "codex"
    ON_DISK = "a session of Claude Code's own, no stream"
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
    if "sessionId" in value and ("uuid" in value or "parentUuid" in value):
        return Told.ON_DISK
    return None


def _untyped(value: dict[str, Any]) -> Told | None:
    message = value.get("msg")
    if "id" in value and isinstance(message, dict) and isinstance(message.get("type"), str):
        return Told.OLD_CODEX
    return None


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

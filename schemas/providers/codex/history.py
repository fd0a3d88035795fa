"""Where a rollout's own records begin.

A fork, and a subagent that is given its parent's history, is a new file that begins with a copy of the parent's
records. They are shown folded and count for nothing here (formats note 7.1, whose rules are tried in its order).
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from schemas.providers.codex.ids import uuid_time
from schemas.values import dict_of, text_of, when, whole

_BURST = 1.0
"""Seconds: a copied prefix is stamped anew, all of it within this time of the file's first line."""
_REPLAYED_COUNTS = 5
"""So many token counts within the first second were not earned in it."""


class Standing(Enum):
    """What is known of the records read so far."""

    OWN = 1
    INHERITED = 2
    OPEN = 3
    """The session has a parent; its history may or may not be copied here."""


class History:
    """Tells own records from inherited ones, a record at a time.

    `parent_turns` are the parent's turn ids, empty when its file is not at hand. `forced` is set while another file's
    records are read as this one's beginning (`history_base`).
    """

    def __init__(self, meta: dict[str, Any], parent_turns: frozenset[str]) -> None:
        self.forced = False
        self._parent_turns = parent_turns
        self._id = text_of(meta.get("id"))
        self._born = when(meta.get("timestamp"))
        self._first: float | None = None
        self._counts = 0
        self._dated_turns = False
        self._lines = 0
        self._first_own_ordinal = _first_own_ordinal(meta)
        self._standing = Standing.OPEN if _has_parent(meta) else Standing.OWN
        if self._first_own_ordinal is not None:
            self._standing = Standing.INHERITED

    @property
    def inherited(self) -> bool:
        """Whether what is read now is a copy."""
        return self.forced or self._standing is Standing.INHERITED

    @property
    def settled(self) -> bool:
        """Whether nothing that comes can change the answer: asking again is a waste of time."""
        return self._standing is Standing.OWN and self._lines > 1

    def look(self, value: dict[str, Any], payload: dict[str, Any], kind: str) -> bool:
        """Take notice of a record. True when it shows that everything before it was inherited."""
        self._lines += 1
        if self.forced:
            return False
        if self._first_own_ordinal is not None:
            ordinal = whole(value.get("ordinal"))
            if ordinal is None:  # not a paginated file after all: nothing may be taken for a copy by this rule
                self._standing, self._first_own_ordinal = Standing.OPEN, None
            elif ordinal >= self._first_own_ordinal:
                self._standing, self._first_own_ordinal = Standing.OWN, None
            return False
        if kind == "session_meta":
            return self._look_at_meta(payload)
        if self._standing is Standing.OWN:
            return False
        sub = text_of(payload.get("type"))
        if kind == "turn_context" or sub in ("task_started", "turn_started"):
            return self._look_at_turn(payload, sub != "")
        return self._look_at_time(value, sub, payload)

    def _look_at_meta(self, payload: dict[str, Any]) -> bool:
        if self._lines == 1 or payload.get("id") in (self._id, None):
            return False
        # Some builds forked without saying so; then the parent's header is the second line.
        if self._standing is Standing.OPEN or self._lines == 2:
            self._standing = Standing.INHERITED
            return True
        return False

    def _look_at_turn(self, payload: dict[str, Any], started: bool) -> bool:
        own = self._owns_turn(payload, started)
        if own is None:
            return False
        before, self._dated_turns = self._standing, True
        self._standing = Standing.OWN if own else Standing.INHERITED
        return before is Standing.OPEN and not own

    def _owns_turn(self, payload: dict[str, Any], started: bool) -> bool | None:
        turn = text_of(payload.get("turn_id"))
        if self._parent_turns and turn:
            return turn not in self._parent_turns
        if self._born is None or not started:
            return None
        if (at := when(payload.get("started_at"))) is not None:
            return at >= math.floor(self._born)
        if (made := uuid_time(turn)) is not None:
            return made >= (uuid_time(self._id) or self._born) - 1
        return None

    def _look_at_time(self, value: dict[str, Any], sub: str, payload: dict[str, Any]) -> bool:
        time = when(value.get("timestamp"))
        if time is None:
            return False
        if self._first is None:
            self._first = time
        if time > self._first + _BURST:
            if not self._dated_turns and not self._parent_turns:
                self._standing = Standing.OWN
            return False
        self._counts += sub == "token_count" and bool(dict_of(payload.get("info")))
        if self._standing is Standing.OPEN and self._counts >= _REPLAYED_COUNTS:
            self._standing = Standing.INHERITED
            return True
        return False


def _first_own_ordinal(meta: dict[str, Any]) -> int | None:
    start = whole(meta.get("subagent_history_start_ordinal"))
    if start is None and not meta.get("history_base"):
        start = whole(meta.get("forked_from_ordinal_exclusive"))
    return start if start is not None and start > 1 else None


def _has_parent(meta: dict[str, Any]) -> bool:
    return bool(parent_of(meta) or meta.get("forked_from_id"))


def parent_of(meta: dict[str, Any]) -> str | None:
    """The thread that spawned this one; a fork that a person made has none."""
    spawn = _spawn_of(meta)
    parent = text_of(spawn.get("parent_thread_id")) or text_of(meta.get("parent_thread_id"))
    if not parent and is_subagent(meta):
        parent = text_of(meta.get("forked_from_id"))
    return parent or None


def _spawn_of(meta: dict[str, Any]) -> dict[str, Any]:
    return dict_of(dict_of(dict_of(meta.get("source")).get("subagent")).get("thread_spawn"))


def is_subagent(meta: dict[str, Any]) -> bool:
    """Whether another thread started this one."""
    return (
        "subagent" in dict_of(meta.get("source"))
        or meta.get("thread_source") in ("subagent", "guardian_review")
        or bool(text_of(meta.get("parent_thread_id")))
    )


_INTERNAL = ("guardian", "review", "compact", "memory_consolidation")


def is_internal(meta: dict[str, Any]) -> bool:
    """Whether the program started it for itself: a guard, a reviewer, a compaction, its memory."""
    source = dict_of(meta.get("source"))
    kind = source.get("subagent")
    if isinstance(kind, dict):
        kind = kind.get("other")
    return (
        "internal" in source
        or kind in _INTERNAL
        or meta.get("thread_source") in ("guardian_review", "memory_consolidation")
    )


def agent_name(meta: dict[str, Any]) -> str:
    """A subagent's nickname and role: `Confucius (explorer)`."""
    spawn = _spawn_of(meta)
    name = text_of(meta.get("agent_nickname")) or text_of(spawn.get("agent_nickname"))
    role = next(
        (r for k in ("agent_role", "agent_type") for d in (meta, spawn) if (r := text_of(d.get(k)))),
        "",
    )
    kind = dict_of(meta.get("source")).get("subagent")
    if not name and not role:
        return text_of(kind) or text_of(dict_of(kind).get("other"))
    return f"{name} ({role})" if name and role else name or role


def agent_path(meta: dict[str, Any]) -> str:
    """A subagent's place in the tree of agents: `/root/confucius`."""
    return text_of(meta.get("agent_path")) or text_of(_spawn_of(meta).get("agent_path"))

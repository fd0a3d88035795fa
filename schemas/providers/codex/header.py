"""The header of a rollout, the ids in it, and whose records follow: its own, or copies of another thread's."""

from __future__ import annotations

import math
import re

from schemas.path_hints import local_path
from schemas.providers.kit.words import Data, Fact
from schemas.values import dict_of, text_of, when, whole

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_INTERNAL = ("guardian", "review", "compact", "memory_consolidation")
_BURST = 1.0
"""Seconds: a copied prefix is stamped anew, all of it within this time of the file's first line."""
_REPLAYED_COUNTS = 5
"""So many token counts within the first second were not earned in it."""


_LATEST = 2.0**32
"""Of the time in an id, in seconds: the year 2106. Digits that somebody made up name any year."""


def uuid_time(value: object) -> float | None:
    """The creation time within a version 7 UUID; None for another UUID, and for a time that cannot be."""
    is_one = isinstance(value, str) and UUID.fullmatch(value) is not None and value[14] == "7"
    made = int(text_of(value)[:13].replace("-", ""), 16) / 1000 if is_one else 0.0
    return made if 0 < made < _LATEST else None


def is_old_header(value: Data) -> bool:
    """Return whether a line is the header of a rollout of before mid-September 2025."""
    return isinstance(value.get("id"), str) and isinstance(value.get("timestamp"), str) and "type" not in value


def is_typescript(document: object) -> bool:
    """Return whether a document is a rollout of the TypeScript program (formats note 9.1)."""
    if not isinstance(document, dict):
        return False
    session = document.get("session")
    return isinstance(session, dict) and isinstance(document.get("items"), list) and "timestamp" in session


def of_subagent(meta: Data, key: str) -> str:
    """A fact of a subagent: it stands in the header or in what that says of its source."""
    spawn = dict_of(dict_of(dict_of(meta.get("source")).get("subagent")).get("thread_spawn"))
    return text_of(spawn.get(key)) or text_of(meta.get(key))


def is_subagent(meta: Data) -> bool:
    """Return whether another thread started this one."""
    named = meta.get("thread_source") in ("subagent", "guardian_review") or bool(text_of(meta.get("parent_thread_id")))
    return named or "subagent" in dict_of(meta.get("source"))


def is_internal(meta: Data) -> bool:
    """Return whether the program started the thread for itself: a guard, a reviewer, a compaction, its memory."""
    source = dict_of(meta.get("source"))
    kind = source.get("subagent")
    kind = kind.get("other") if isinstance(kind, dict) else kind
    named = meta.get("thread_source") in ("guardian_review", "memory_consolidation")
    return named or "internal" in source or kind in _INTERNAL


def parent_of(meta: Data) -> str:
    """The thread that spawned this one; a fork that a person made has none."""
    parent = of_subagent(meta, "parent_thread_id")
    return parent or (text_of(meta.get("forked_from_id")) if is_subagent(meta) else "")


def agent_name(meta: Data) -> str:
    """A subagent's nickname and role: `Confucius (explorer)`; what it is if it has neither."""
    name = of_subagent(meta, "agent_nickname")
    role = of_subagent(meta, "agent_role") or of_subagent(meta, "agent_type")
    kind = dict_of(meta.get("source")).get("subagent")
    return f"{name} ({role})" if name and role else name or role or text_of(kind) or text_of(dict_of(kind).get("other"))


def facts_of(meta: Data) -> Fact:
    """Return the facts of the session in a header."""
    git, source, parent = dict_of(meta.get("git")), meta.get("source"), parent_of(meta)
    cwd, name = local_path(text_of(meta.get("cwd"))), text_of(meta.get("id"))
    return Fact(
        id=name, workspace_root=cwd, cwd=cwd, branch=git.get("branch"), version=meta.get("cli_version"),
        created=when(meta.get("timestamp")), parent=parent, agent_id=name if parent else "",
        forked_from="" if is_subagent(meta) else meta.get("forked_from_id"),
        gitRevision=text_of(git.get("commit_hash")), gitRemote=text_of(git.get("repository_url")),
        originator=text_of(meta.get("originator")), model_provider=text_of(meta.get("model_provider")),
        source=source if isinstance(source, str) else "subagent" if source else "", agent=agent_name(meta),
    )  # fmt: skip


class Ownership:
    """Tells own records from copies by the rules of formats note 7.1 in their order; in doubt it is the thread's."""

    def __init__(self, meta: Data) -> None:
        self._id, self._born = text_of(meta.get("id")), when(meta.get("timestamp"))
        self.parent_turns = frozenset[str]()
        """The parent's turn ids, where its file is at hand."""
        self.source = text_of(meta.get("forked_from_id")) or parent_of(meta)
        self._first: float | None = None
        self._counts = self._lines = 0
        self._dated = False
        """Whether a turn that is older than the thread began, and none of its own."""
        start = whole(meta.get("subagent_history_start_ordinal"))
        if start is None and not meta.get("history_base"):
            start = whole(meta.get("forked_from_ordinal_exclusive"))
        self._start = start if start is not None and start > 1 else None
        self._open = bool(self.source)
        """Whether the parent's history may be copied here."""
        self.inherited = self._start is not None

    @property
    def settled(self) -> bool:
        """Return whether nothing that comes can change the answer."""
        return not self._open and not self.inherited and self._lines > 1

    def _settle(self, *, boundary: bool = False) -> None:
        """The thread's own records follow; at a `boundary` all before were copies."""
        self._open, self.inherited, self._lines = False, boundary, max(self._lines, 2)

    def look(self, value: Data, time: float | None) -> None:
        """Take notice of a record: `inherited` says whether it, and all before it, are copies."""
        payload, kind = dict_of(value.get("payload")), value.get("type")
        self._lines += 1
        if self.inherited and not self._open and self._start is None:
            self.inherited = False  # behind the boundary
        elif self._start is not None:
            ordinal = whole(value.get("ordinal"))
            if ordinal is None:  # not a paginated file after all
                self.inherited, self._start = False, None
            elif ordinal >= self._start:
                self._start = None
                self._settle()
        elif kind == "session_meta":
            # Some builds forked without saying so; then the parent's header is the second line.
            other = self._lines > 1 and payload.get("id") not in (self._id, None)
            if other and (self._open or self._lines == 2):
                self.inherited = self._open = True
                self.source = self.source or text_of(payload.get("id"))
        elif self._open:
            sub = payload.get("type")
            if kind == "turn_context" or sub in ("task_started", "turn_started"):
                self._look_at_turn(payload, started=kind != "turn_context")
            elif time is not None:
                self._look_at_time(time, sub == "token_count" and bool(dict_of(payload.get("info"))))

    def _look_at_turn(self, payload: Data, *, started: bool) -> None:
        own, turn = None, text_of(payload.get("turn_id"))
        if self.parent_turns and turn:
            own = turn not in self.parent_turns
            self.inherited = self.inherited or not own
        elif self._born is not None and started:
            if (at := when(payload.get("started_at"))) is not None:
                own = at >= math.floor(self._born)
            elif (made := uuid_time(turn)) is not None:
                own = made >= (uuid_time(self._id) or self._born) - 1
        if own:
            self._settle(boundary=self._dated and not self.inherited)
        elif own is False:
            self._dated = True

    def _look_at_time(self, time: float, counts: bool) -> None:
        if self._first is None:
            self._first = time
        if time > self._first + _BURST:
            # An old turn that goes on is no copy (faults/f27); one with copied times is older than the thread.
            lived = not self._dated or (not self.inherited and self._born is not None and time >= self._born)
            if lived and not self.parent_turns:
                self._settle()
            return
        self._counts += counts
        self.inherited = self.inherited or self._counts >= _REPLAYED_COUNTS

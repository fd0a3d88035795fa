"""Each response once, in however many files it lies: forks, resumed sessions and sidechains copy what was said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.session import Lineage, Session
    from schemas.usage import TokenUsage
    from viewer.summary import Summary


_SEVERAL = -1
"""Stands for the session of a response that more than one has."""


class Once:
    """Tells a response that another session counted already.

    Within a session the provider has told copies from responses, and not every agent names its responses: only what
    another session counted is a copy.

    A copy may be fuller than what it is of: a session that ended in the midst of a response, or was forked there, has
    its first lines only. So a response has the largest figures of all its copies, as within one file (`see`).
    """

    def __init__(self) -> None:
        self.copies = 0
        self._others: dict[int, str] = {}
        self._current: dict[int, str] = {}
        self._name = ""
        self._seen: dict[int, tuple[int, TokenUsage]] = {}

    def see(self, session: int, key: int, usage: TokenUsage) -> None:
        """Before anything is counted: that a session, by any number from 0, has a response, its own or a copy."""
        first, most = self._seen.get(key, (session, usage))
        self._seen[key] = (first if first == session else _SEVERAL, most.largest(usage))

    def fullest(self, key: int, usage: TokenUsage) -> TokenUsage:
        """The figures of a response that counts: the largest that any session has for it, `usage` where only one has
        it. A session that has a key twice has two responses, of which the first was copied.
        """
        sessions, most = self._seen.pop(key, (0, usage))
        return most if sessions == _SEVERAL else usage

    def begin_session(self, name: str = "") -> None:
        """What is asked about from now on is another session's, its subagents included; `name` is for `where`."""
        self._others |= self._current
        self._current = {}
        self._name = name

    def is_new(self, key: int) -> bool:
        """Whether a response (`viewer.summary.response_key`) counts; False, and one copy more, where another session
        counted it.
        """
        if key in self._others:
            self.copies += 1
            return False
        self._current[key] = self._name
        return True

    def knows(self, key: int) -> bool:
        """Whether a response was counted, in whatever session."""
        return key in self._current or key in self._others

    def takes(self, key: int) -> bool:
        """Whether no session counted a response, this one included; from now on this one does."""
        return not self.knows(key) and self.is_new(key)

    def where(self, key: int) -> str:
        """The session that counted it; empty if none did."""
        return self._current.get(key) or self._others.get(key, "")


class Origin(NamedTuple):
    """What tells which of several sessions is the copy."""

    path: Path
    id: str
    created: float | None
    updated: float | None
    lineage: Lineage


def origin_of(session: Session | Summary) -> Origin:
    """A session's."""
    return Origin(session.path, session.id, session.created, session.updated, session.lineage)


def in_order_made(origins: Iterable[Origin]) -> list[Origin]:
    """Each session behind the one that it says it comes from. Else the earlier first record goes first; where that is
    the same, since a copy has it too, the earlier last one; where that is the same, the path decides.
    """
    oldest = sorted(origins, key=lambda one: (one.created is None, one.created or 0, one.updated or 0, str(one.path)))
    by_id = {one.id: one for one in reversed(oldest)}
    placed: dict[Path, Origin] = {}
    for origin in oldest:
        line: dict[Path, Origin] = {}
        one: Origin | None = origin
        while one is not None and one.path not in placed and one.path not in line:
            line[one.path] = one
            before = (one.lineage.forked_from, one.lineage.continues, one.lineage.parent)
            one = next((by_id[name] for name in before if name in by_id), None)
        placed |= dict(reversed(line.items()))
    return list(placed.values())

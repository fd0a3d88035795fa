"""Each response once, in however many files it lies: forks, resumed sessions and sidechains copy what was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.session import Lineage
    from schemas.usage import TokenUsage


class Once:
    """Tells a response that another member counted already. A member is a session without its subagents, or one of
    those: a subagent that goes on with its session's talk begins with copies of it (Claude Code, formats note 6).

    Within a member the provider has told copies from responses, and not every agent names its responses: only what
    another member counted is a copy.

    A copy may be fuller than what it is of: a session that ended in the midst of a response, or was forked there, has
    its first lines only. So a response has the largest figures of all its copies, as within one file (`see`).
    """

    def __init__(self) -> None:
        self.copies = 0
        """How many were asked for and left out. Whoever counts adds to it, knowing what was asked for."""
        self.looked = False
        """Whether `see` was told of all the sessions."""
        self._others: dict[int, str] = {}
        self._current: dict[int, str] = {}
        self._name = ""
        self._seen: dict[int, tuple[tuple[int, int] | None, TokenUsage]] = {}
        """By key the member that has it, None for several, and the largest figures."""
        self._named: dict[int, str] = {}
        """By `viewer.summary.own_name` the file that has a response, of those whose ids do not tell them alone."""

    def see(self, member: tuple[int, int], key: int, usage: TokenUsage) -> None:
        """Before anything is counted: that a member, by the numbers of its session and in it, has a response, its own
        or a copy.
        """
        if (seen := self._seen.get(key)) is None:
            self._seen[key] = (member, usage)
        else:
            first, most = seen
            self._seen[key] = (first if first == member else None, most.largest(usage))

    def fullest(self, key: int, usage: TokenUsage) -> TokenUsage:
        """The figures of a response that counts: the largest that any member has for it, `usage` where only one has
        it. A member that has a key twice has two responses, of which the first was copied.
        """
        member, most = self._seen.pop(key, (None, usage))
        return most if member is None else usage

    def begin_member(self, name: str = "") -> None:
        """What is asked about from now on is another member's; `name` is for `where`."""
        self._others |= self._current
        self._current = {}
        self._name = name

    def is_new(self, key: int, name: int = 0) -> bool:
        """Whether a response (`viewer.summary.response_key`, and `own_name`) counts; not where another member counted
        it.
        """
        if name:
            self._named.setdefault(name, self._name)
        if key in self._others:
            return False
        self._current[key] = self._name
        return True

    def knows(self, key: int, name: int = 0) -> bool:
        """Whether a response was counted, in whatever member. `name` is that which a fork inherited it by."""
        return key in self._current or key in self._others or name in self._named

    def takes(self, key: int, name: int = 0) -> bool:
        """Whether no member counted a response, this one included; from now on this one does."""
        return not self.knows(key, name) and self.is_new(key, name)

    def where(self, key: int, name: int = 0) -> str:
        """The file that counted it; empty if none did."""
        return self._current.get(key) or self._others.get(key) or self._named.get(name, "")


def each_once(members: Iterable[Sequence[tuple[int, TokenUsage]]]) -> Iterator[tuple[int, int, TokenUsage]]:
    """What counts of the responses, by key and figures, of a session and of each of its subagents behind it: the
    member's number, the response's place in it, and its figures.
    """
    once, members = Once(), list(members)
    for number, responses in enumerate(members):
        for key, usage in responses:
            once.see((0, number), key, usage)
    for number, responses in enumerate(members):
        once.begin_member()
        for place, (key, usage) in enumerate(responses):
            if once.is_new(key):
                yield number, place, once.fullest(key, usage)


class Origin(NamedTuple):
    """What tells which of several sessions is the copy."""

    path: Path
    id: str
    created: float | None
    updated: float | None
    lineage: Lineage


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

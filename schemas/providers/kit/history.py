"""What depends on more than one record: copies, owners, what was taken back, what belongs together.

An agent that has such things names a subclass of `History`; each session that is read has one of its own. The kit asks
it while it reads, and never when a message is built: there `read` alone decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from schemas.providers.kit.tree import NOBODY, Tree
from schemas.providers.kit.words import Item
from schemas.records import Record
from schemas.session import Session

Placed: TypeAlias = tuple[Record, int, Item]
"""An item and where it stands: its record, and its number in what `read` says of that; below 0: in no record."""


class History:
    """The plain policy: every record counts, and stands where it is."""

    copied = ""
    """The id of another session, set by `enter` where the record, and so all before it, was copied from that one."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def whose(self, record: dict[str, Any]) -> str:
        """The subagent to which a record belongs, where those stand among the main agent's; empty for its own."""
        return ""

    def enter(self, record: dict[str, Any], time: float | None) -> bool:
        """Place a record; False for a copy of an earlier one, which is left out."""
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """Translate an item of the agent's own vocabulary. The same items, however the source is cut into pieces."""
        raise TypeError(f"{type(item).__name__} is no word of the kit's, and {type(self).__name__} does not know it")

    def own(self, row: int, kind: int) -> None:
        """Note that the record which was entered last made message `row`, or made it anew."""

    def settle(self) -> Iterator[tuple[int, bool]]:
        """The messages that were taken back or came back since the last time, each with whether it is live."""
        return iter(())

    def finish(self) -> Iterator[Item]:
        """What is to be said once no more will come."""
        return iter(())

    def knows(self, name: object) -> bool:
        """Whether the record with that id is in the session."""
        return False


class Chain(History):
    """The live conversation is the chain from the last record back to the first: a rewind leaves its branch behind."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._tree, self._node = Tree(), NOBODY

    def place(self, record: dict[str, Any]) -> tuple[str, object] | None:
        """The record's id and that of its parent; None for what stands outside the chain."""
        raise NotImplementedError

    def enter(self, record: dict[str, Any], time: float | None) -> bool:
        place = self.place(record)
        if place is None:
            self._node = NOBODY
        elif node := self._tree.find(place[0]):
            self._tree.again(node)
            self._node = node
        else:
            self._node = self._tree.add(*place)
        return True

    def own(self, row: int, kind: int) -> None:
        self._tree.own(self._node, row)

    def settle(self) -> Iterator[tuple[int, bool]]:
        return self._tree.settle()

    def knows(self, name: object) -> bool:
        return isinstance(name, str) and self._tree.find(name) != NOBODY

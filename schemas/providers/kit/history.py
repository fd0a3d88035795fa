"""What depends on more than one record: copies, owners, what was taken back, what belongs together.

An agent that has such things names a subclass of `History`; each session that is read has one of its own. The kit asks
it while it reads, and never when a message is built: there `read` alone decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from schemas.providers.kit.tree import NOBODY, Tree
from schemas.providers.kit.words import Item

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

T = TypeVar("T")
Placed: TypeAlias = "tuple[Record, int, Item]"
"""An item and where it stands: its record, and its number in what `read` says of that; below 0: in no record."""


class History:
    """The plain policy: every record counts, and stands where it is."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.branched = False
        """Set by `enter` where the record begins a branch: what was said before it was taken back."""
        self.whole = False
        """Set by `enter` where nothing is added any more to what was said in pieces."""
        self.copied = ""
        """The id of another session, set by `enter` where the record, and so all before it, was copied from it."""
        self.forked = ""
        """The same, set where only what is before the record was copied."""

    def whose(self, record: dict[str, Any]) -> str:
        """The subagent to which a record belongs, where those stand among the main agent's; empty for its own."""
        return ""

    def enter(self, record: Record, time: float | None) -> bool:
        """Place a record; False for a copy of an earlier one, which is left out."""
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """Translate an item of the agent's own vocabulary. The same items, however the source is cut into pieces.

        An item that derives from a word of the kit may be given as it is, also changed.
        """
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


def as_word(item: Any, word: type[T], **changes: Any) -> T:
    """An item of an agent's own vocabulary as the word of the kit from which it derives, with some fields changed."""
    return word(**{name: getattr(item, name) for name in _names_of(word)} | changes)  # type: ignore[arg-type]


@cache
def _names_of(word: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(word))


class Chain(History):
    """The live conversation is the chain from the last record back to the first: a rewind leaves its branch behind."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._tree, self._node = Tree(), NOBODY

    def place(self, record: dict[str, Any]) -> tuple[str, object] | None:
        """The record's id and that of its parent; None for what stands outside the chain."""
        raise NotImplementedError

    def enter(self, record: Record, time: float | None) -> bool:
        """Put a record into the tree."""
        place, tree = self.place(record[3]), self._tree
        self.branched = False
        if place is None:
            self._node = NOBODY
        elif node := tree.find(place[0]):
            tree.again(node)
            self._node = node
        else:
            before = tree.leaf
            self._node = tree.add(*place)
            self.branched = NOBODY != before != tree.parent[self._node]
        return True

    def own(self, row: int, kind: int) -> None:
        self._tree.own(self._node, row)

    def settle(self) -> Iterator[tuple[int, bool]]:
        return self._tree.settle()

    def knows(self, name: object) -> bool:
        return isinstance(name, str) and self._tree.find(name) != NOBODY

"""The policy for what depends on several records: copies, owners, messages that were taken back, pairs.

An agent that has such things names a subclass of `History`; each session that is read has one of its own. The kit asks
it while it reads, and never when a message is built: there `read` alone decides.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

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

    def knows(self, name: object) -> bool:
        """Return whether the record with that id is in the session."""
        return False


def as_word(item: Any, word: type[T], **changes: Any) -> T:
    """An item of an agent's own vocabulary as the word of the kit from which it derives, with some fields changed."""
    return word(**{name: getattr(item, name) for name in _names_of(word)} | changes)  # type: ignore[arg-type]


@cache
def _names_of(word: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(word))


NOBODY = 0
"""The node before every root."""
REAL, _MISSING, ASIDE = 0, 1, 2


class Tree:
    """A node for each uuid, and the messages of each node.

    Where a parent is missing the conversation goes on in the file's order: a parent that no record is yet gets a node
    of its own behind the record read before, so that a rewind to it takes back all that was said under it. Where a
    circle would close, one of its parents counts as missing too; so there never is one.

    Reading a record is cheap; `settle` walks the branches, and is asked for after each piece of a file.
    """

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        """The nodes by the hashes of their uuids."""
        self.parent = array("I", [NOBODY])
        self.state = bytearray([REAL])
        self.live = bytearray([1])
        self.nodes = array("I")
        """The node of each message."""
        self._leaf, self._nodes, self._messages = NOBODY, 1, 0
        """The leaf for which `live` was made, and how many nodes and messages there were."""
        self._changed = False
        """Whether one of these nodes has another place or message now, or is live again."""
        self.leaf = NOBODY
        """The record at which the conversation ends."""
        self.last = NOBODY
        """The record read last."""

    def __len__(self) -> int:
        return len(self.parent)

    def find(self, uuid: str) -> int:
        """The node of a record that was read; NOBODY if there was none."""
        node = self.known.get(hash(uuid), NOBODY)
        return NOBODY if self.state[node] == _MISSING else node

    def add(self, uuid: str, parent: object, *, metadata: bool = False, beside: bool = False) -> int:
        """A record whose uuid was not read before; returns its node.

        `parent` is what it names as such: None or empty where there is none; what is no text is not known. `metadata`
        is only part of a conversation if it has a parent, or once something follows it. What is written `beside` the
        conversation never ends it.
        """
        above = self._above(uuid, parent)
        node = self.known.get(hash(uuid), NOBODY)
        if node == NOBODY:
            node = self.known[hash(uuid)] = self._new(above, REAL)
        else:  # it was named as a parent before it came
            self.state[node] = REAL
            self._relink(node, above)
        if beside or (metadata and not parent and above == NOBODY):
            self.state[node] = ASIDE
        else:
            self.leaf = node
        if self.state[above] == ASIDE and not beside:
            self.state[above] = REAL
            self._changed = True
        self.last = node
        return node

    def again(self, node: int) -> None:
        """Another record with the uuid of one read before: there the conversation ends now."""
        if self.state[node] == REAL:
            self.leaf = node
        self.last = node

    def _above(self, uuid: str, parent: object) -> int:
        if parent is None or parent == "":
            return NOBODY
        if not isinstance(parent, str) or parent == uuid:
            return self.last
        node = self.known.get(hash(parent), NOBODY)
        if node == NOBODY:
            node = self.known[hash(parent)] = self._new(self.last, _MISSING)
        return node

    def _new(self, parent: int, state: int) -> int:
        self.parent.append(parent)
        self.state.append(state)
        self.live.append(0)
        return len(self.parent) - 1

    def _relink(self, node: int, above: int) -> None:
        """Give a node its true parent, now that it is known."""
        parent, link, at = self.parent, NOBODY, above
        while at not in (NOBODY, node):
            # Of a circle, a link that only the file's order made is the first to give way.
            if parent[at] == node or (self.state[at] == _MISSING and link == NOBODY):
                link = link or at
            at = parent[at]
        if at == node:
            parent[link] = parent[node]
        parent[node] = above
        self._changed = True

    def own(self, node: int, row: int) -> None:
        """Note whose a message is, which is the next one or was made anew."""
        self.nodes[row : row + 1] = array("I", [node])
        self._changed |= row < self._messages

    def settle(self) -> Iterator[tuple[int, bool]]:
        """The messages for which it may have changed whether they are live, and whether they are.

        Where the conversation only went on these are the new ones, else all.
        """
        live, node, first = self.live, self._walk(), self._messages
        if self._changed or node != self._leaf:
            live[:] = bytes(len(live))
            live[NOBODY], first = 1, 0
            self._walk()
        self._leaf, self._nodes, self._messages, self._changed = self.leaf, len(live), len(self.nodes), False
        for row in range(first, self._messages):
            node = self.nodes[row]
            yield row, bool(live[node]) or self.state[node] == ASIDE or self.leaf == NOBODY

    def _walk(self) -> int:
        """Follow the leaf back to what is live already, which is returned."""
        node = self.leaf
        while not self.live[node]:
            self.live[node] = 1
            self._changed |= node < self._nodes
            node = self.parent[node]
        return node


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

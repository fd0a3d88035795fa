"""Who follows whom, and which records are the live conversation (formats/gemini-qwen-cursor.md 2.3).

The live conversation is the chain from the last record back over `parentUuid`; a rewind begins a new branch and leaves
the old one in the file. Claude Code's tree (claude/branches.py) is another: there records hang anywhere, and only
prompts that replace prompts tell what was taken back.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

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

    __slots__ = (
        "_doubtful", "_extra", "_leaf", "_relinked", "_settled", "first", "known", "last", "leaf", "live", "parent",
        "rows", "state",
    )  # fmt: skip

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        """The nodes by the hashes of their uuids."""
        self.parent = array("I", [NOBODY])
        self.state = bytearray([REAL])
        self.live = bytearray([1])
        self.first, self.rows = array("I", [0]), array("I", [0])
        """For each node its first message, and how many follow one another from there."""
        self._extra: dict[int, list[int]] = {}
        self._doubtful: set[int] = set()
        """Nodes to look at again, as they or their messages changed otherwise than by a branch."""
        self._settled = 1
        """How many nodes there were when `live` was made."""
        self._leaf = NOBODY
        """The leaf for which `live` was made."""
        self._relinked = False
        self.leaf = NOBODY
        """The record at which the conversation ends."""
        self.last = NOBODY
        """The record read last."""

    def __len__(self) -> int:
        return len(self.parent)

    # -- records ---------------------------------------------------------------------------------------------------

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
            self._doubtful.add(above)
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
        self.first.append(0)
        self.rows.append(0)
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
        self._relinked = True

    # -- messages --------------------------------------------------------------------------------------------------

    def own(self, node: int, row: int) -> None:
        """Note whose a new message is."""
        if not self.rows[node]:
            self.first[node], self.rows[node] = row, 1
        elif self.first[node] + self.rows[node] == row:
            self.rows[node] += 1
        else:
            self._extra.setdefault(node, []).append(row)
        if node < self._settled:
            self._doubtful.add(node)

    def _rows_of(self, node: int) -> Iterator[int]:
        yield from range(self.first[node], self.first[node] + self.rows[node])
        yield from self._extra.get(node, ())

    def settle(self) -> Iterator[tuple[int, bool]]:
        """The messages for which it may have changed whether they are live, and whether they are.

        New messages are live until something else is said, so of the new nodes only those count that are not.
        """
        before, live = self._settled, self.live
        looked_at = self._doubtful
        looked_at.update(self._walk_anew() if self._relinked else self._walk())
        node = live.find(0, before)
        while node >= 0:
            looked_at.add(node)
            node = live.find(0, node + 1)
        self._doubtful, self._settled, self._leaf, self._relinked = set(), len(self.parent), self.leaf, False
        for node in looked_at:
            is_live = bool(live[node]) or self.state[node] == ASIDE or self._leaf == NOBODY
            for row in self._rows_of(node):
                yield row, is_live

    def _walk(self) -> list[int]:
        """Follow the leaf back to what is live already; returns the nodes that were or became live in between, but for
        new ones.
        """
        live, parent, new = self.live, self.parent, self._settled
        came, gone = [], []
        node = self.leaf
        while not live[node]:
            live[node] = 1
            if node < new:
                came.append(node)
            node = parent[node]
        fork, node = node, self._leaf
        while node != fork:
            live[node] = 0
            gone.append(node)
            node = parent[node]
        return gone + came

    def _walk_anew(self) -> list[int]:
        """The same after a parent became another one: what was live no longer tells."""
        live, node = self.live, self.leaf
        before = bytes(live)
        live[:] = bytes(len(live))
        live[NOBODY] = 1
        while node != NOBODY:
            live[node] = 1
            node = self.parent[node]
        return [node for node, was in enumerate(before) if was != live[node]]

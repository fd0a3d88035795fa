"""Who follows whom: rewinds, and which prompt a record answers (formats note 9).

The chain of `parentUuid` is only used for this. Messages stand in the file's order, since walking the chain would lose
the results of parallel tool calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

NOBODY = 0
"""The node of an unknown parent, and the number of no prompt."""


@dataclass(slots=True)
class Prompt:
    """A record that opens an exchange, or would if the agent answered it."""

    node: int
    parent: int
    """The prompt it stands under; NOBODY at a root."""
    row: int
    """Its message."""
    abandoned: bool = False
    rows: array[int] = field(default_factory=lambda: array("I"))
    """The messages that answer it, itself apart."""
    children: list[int] = field(default_factory=list)


class Branches:
    """The tree of records, as little of it as is needed.

    `nodes` maps the hash of a record's uuid to its node: a number of its own for user and assistant records, that of
    the nearest such ancestor for the others. `owner[node]` is the prompt the node stands under.
    """

    __slots__ = ("_latest", "_roots", "nodes", "owner", "prompts")

    def __init__(self) -> None:
        self.nodes: dict[int, int] = {}
        self.owner = array("I", [NOBODY])
        self.prompts: list[Prompt] = [Prompt(NOBODY, NOBODY, -1)]
        self._latest: dict[int, int] = {}
        self._roots: dict[int, int] = {}

    def add_prompt(self, node: int, parent: int, row: int) -> int:
        """A record that opens an exchange; returns the prompt's number."""
        number = len(self.prompts)
        above = self.owner[parent]
        self.prompts.append(Prompt(node, above, row, self.prompts[above].abandoned))
        self.prompts[above].children.append(number)
        self.owner[node] = number
        return number

    def rival(self, number: int, parent: int) -> int:
        """The prompt that prompt `number` replaces: the one before it under the same `parent`; NOBODY if there is none.

        A prompt whose parent is not in the file replaces nothing.
        """
        if parent == NOBODY:
            return NOBODY
        rival = self._latest.get(parent, NOBODY)
        self._latest[parent] = number
        return rival

    def root_rival(self, number: int, session: int) -> int:
        """The first prompt of session `session` (a hash) that prompt `number`, which has no parent either, replaces.

        Only where the older one was answered by records that name their parents: files exist that name none at all.
        """
        rival = self._roots.get(session, NOBODY)
        self._roots[session] = number
        return rival if self.prompts[rival].rows else NOBODY

    def abandon(self, number: int) -> Iterator[Prompt]:
        """Mark a prompt and all that stand under it as abandoned; gives those that were not before."""
        waiting = [number]
        while waiting:
            prompt = self.prompts[waiting.pop()]
            if not prompt.abandoned:
                prompt.abandoned = True
                yield prompt
                waiting += prompt.children

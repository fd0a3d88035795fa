"""The lineage of a path's steps: their order, cycles among them, and which of them lead to where the path is now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from schemas.interchange.toolpath import id_of, parents_of


def in_a_cycle(steps: list[dict[str, Any]]) -> list[str]:
    """The steps that are on a cycle, or between two."""
    parents: dict[str, set[str]] = {}
    for step in steps:
        if (name := id_of(step, "step")) is not None:
            parents.setdefault(name, set()).update(parents_of(step))
    behind = _unreached({name: above & parents.keys() for name, above in parents.items()})
    followers: dict[str, set[str]] = {name: set() for name in behind}
    for name in behind:
        for parent in parents[name] & behind:
            followers[parent].add(name)
    core = _unreached(followers)
    return [name for name in parents if name in core]


def _unreached(above: dict[str, set[str]]) -> set[str]:
    """The nodes of a graph that are on a cycle or behind one."""
    sorter = TopologicalSorter(above)
    with suppress(CycleError):  # up to the cycles the order is known
        sorter.prepare()
    left = set(above)
    while ready := sorter.get_ready():
        left.difference_update(ready)
        sorter.done(*ready)
    return left


def in_order(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps as they stand, unless one stands before a step that it follows: then each behind its parents. Steps on
    a cycle have no order but the document's.
    """
    numbers = {id_of(step, "step"): number for number, step in enumerate(steps)}
    above = [[numbers[p] for p in parents_of(step) if p in numbers] for step in steps]
    if all(parent < number for number, parents in enumerate(above) for parent in parents):
        return steps
    cyclic = {numbers[name] for name in in_a_cycle(steps)}
    for number in cyclic:
        above[number] = [parent for parent in above[number] if parent < number or parent not in cyclic]
    sorter = TopologicalSorter(dict(enumerate(above)))
    sorter.prepare()
    ready: list[int] = []
    order: list[int] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heappush(ready, number)
        order.append(heappop(ready))
        sorter.done(order[-1])
    return [steps[number] for number in order]


class Branches:
    """The lineage of a session's turns, as far as it is known.

    The head's ancestors are the session, but other programs' heads can miss turns that were not abandoned (formats note
    0.1): where all that the head leads to is on the way to the last turn as well, the last turn counts. A turn that is
    on the way to neither is rewound if it branched off from there; what is not connected to it at all stays.
    """

    def __init__(self) -> None:
        self._head: str | None = None
        self._parents: dict[str, list[str]] = {}
        self._turns: dict[str, range] = {}
        self._last = ""
        self._tips: set[str] = set()
        self._straight = True
        self._settled = True
        """Whether nothing came since `marks` that could change what it said."""
        self._joined = False
        """Whether a step since the last turn follows several."""

    def lead_to(self, head: str) -> None:
        """Set the step at which the path is now, as it says itself; the last word counts."""
        self._settled = self._settled and head == self._head
        self._head = head

    def add(self, name: str, parents: list[str], messages: range | None) -> None:
        """A step; `messages` are its messages if it is a turn."""
        self._parents.setdefault(name, parents)
        # A turn that goes on from the last one is as live as that, unless a head has the say, or it joins a branch.
        self._joined = self._joined or len(parents) > 1
        self._settled = self._settled and self._head is None and not self._joined
        if messages is None:
            if self._tips.intersection(parents):
                self._tips.add(name)
            return
        straight = not self._turns or not self._tips.isdisjoint(parents)
        self._straight = self._straight and straight
        self._settled = self._settled and straight
        self._turns.setdefault(name, messages)
        self._last = name
        self._tips = {name}
        self._joined = False

    def marks(self) -> Iterator[tuple[int, bool]]:
        """Messages and whether each is rewound; none where nothing changed, or no turn ever branched off and the head
        agrees.
        """
        if not self._turns or self._settled:
            return
        self._settled = True
        head = self._head if self._head in self._parents else None
        if self._straight and (head is None or head in self._tips):
            return
        main = self._main(head)
        connected: set[str] = set()
        for name, parents in self._parents.items():  # parents come first (`in_order`)
            if name in main or not connected.isdisjoint(parents):
                connected.add(name)
        for name, messages in self._turns.items():
            for index in messages:
                yield index, name not in main and name in connected

    def _main(self, head: str | None) -> set[str]:
        last = self._ancestors(self._last) & self._turns.keys()
        if head is None:
            return last
        led = self._ancestors(head) & self._turns.keys()
        return last if led <= last else led

    def _ancestors(self, name: str) -> set[str]:
        """The step and all that it follows."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            waiting.extend(self._parents.get(step, ()))
        return seen

"""A Toolpath document taken apart where it lies: as Python objects it takes ten times its size in memory.

Each step stays the bytes it is, to be read when a message of it is shown. What has to be known of all before that
(ids, parents, whether it is a session's), and all around the steps, is read at once. What follows what is known here
too: the steps' order, cycles among them, and which of them lead to where the path is now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.interchange.session_data_facts import as_text
from schemas.interchange.toolpath import (
    LEGACY_TAGS,
    as_graph,
    id_of,
    identity_of,
    is_session_path,
    is_session_step,
    parents_of,
)
from schemas.records import Record, Store, read_record
from schemas.values import dict_of

Data = dict[str, Any]
_raw_decode = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\r\n]*")
OTHER_PATH = "path that is no session"
"""Under which `Session.hidden` counts the document's paths that are none."""
_PLACE = "place"
"""The key of a step that stands for one: where the step lies."""
_SESSION = {"turn": {"structural": {"type": "conversation.append"}}}
"""Stands for what a step of a session changed."""


class Place(NamedTuple):
    """The place of a step: offset and length in bytes, line from 1."""

    offset: int
    length: int
    line: int


class StepStore(Store):
    """A document's bytes, of which the steps are read as the lines that the stream form would have."""

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(path)
        self._data = data
        self._other: list[Data] = []
        self._last: tuple[int, Data] = (-1, {})

    def add(self, line: Data) -> Record:
        """A line as a record: of a step what stands for it is enough; what is none lies nowhere, and has no length."""
        place = place_of(line.get("Step"))
        if place is None:
            self._other.append(line)
            return len(self._other) - 1, 0, 1, line
        return (*place, self.record(place.offset, place.length))

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a span."""
        return self._data[offset : offset + length]

    def record(self, offset: int, length: int) -> Data:
        """The line that a step, or what is none, stands for."""
        if not length:
            return self._other[offset]
        if self._last[0] != offset:  # messages of one step ask for it one after the other
            self._last = offset, {"Step": read_record(self.read(offset, length))}
        return self._last[1]

    def close(self) -> None:
        """Let go of the bytes."""
        self._data = b""


def place_of(step: object) -> Place | None:
    """Return the place of a step from what `skim` left to stand for it; None if that is not there."""
    place = step.get(_PLACE) if isinstance(step, dict) else None
    return place if isinstance(place, Place) else None


def session_lines(document: object) -> list[list[Data]]:
    """Each session in a document as the lines that its stream form would have. Raises OSError if it holds none; empty
    for what is no document.

    The first is the one that is opened; a note at its beginning names the document's other paths.
    """
    if (graph := as_graph(document)) is None:
        return []
    paths = graph["paths"]
    sessions = [path for path in paths if is_session_path(path)]
    if not sessions:
        names = ", ".join(one_line(_name(path), 40) for path in paths[:3]) or "none"
        raise OSError(f"a Toolpath document in which no path is an agent's session (paths: {names})")
    refs = [path["$ref"] for path in paths if isinstance(path, dict) and isinstance(path.get("$ref"), str)]
    hidden = len(paths) - len(sessions) - len(refs)
    around: Data = {
        "graph": dict_of(graph.get("graph")).get("id"),
        "graphMeta": dict_of(graph.get("meta")),
        "refs": refs,
        "hidden": {OTHER_PATH: hidden} if hidden else {},
    }
    opening: Data = {"around": around}
    if len(paths) > 1:
        opening["note"] = _note_of(paths)
    return [_lines(sessions[0], opening), *(_lines(path, {}) for path in sessions[1:])]


def _note_of(paths: list[Any]) -> str:
    """Return the note on a document of several paths: which one is opened, and what the others are."""
    first = next(number for number, path in enumerate(paths) if is_session_path(path))
    note = f"path {first + 1} of {len(paths)}: {_name(paths[first])}"
    others = [path for number, path in enumerate(paths) if number != first]
    for words, are_sessions in (("also sessions", True), ("not opened", False)):
        if names := [_name(path) for path in others if is_session_path(path) == are_sessions]:
            note += f"; {words}: {', '.join(names)}"
    return note


def _lines(path: Data, opening: Data) -> list[Data]:
    identity = identity_of(path, "path")
    opening = identity | {"version": "1", "meta": dict_of(path.get("meta"))} | opening
    entries, head = path.get("steps"), identity.get("head")
    steps = [step for step in (entries if isinstance(entries, list) else []) if isinstance(step, dict)]
    closing = [{"Head": {"step_id": head}}] if isinstance(head, str) else []
    return [{"PathOpen": opening}, *({"Step": step} for step in in_order(steps)), *closing]


def _name(path: object) -> str:
    data = dict_of(path)
    return as_text(data.get("$ref")) or as_text(dict_of(data.get("path")).get("id")) or "(no id)"


def in_place(lines: list[Data]) -> bool:
    """Return whether each step among the lines stands for one in the document, in the document's order."""
    places = [place_of(line["Step"]) for line in lines if "Step" in line]
    offsets = [place.offset for place in places if place is not None]
    return len(offsets) == len(places) and all(a < b for a, b in pairwise(offsets))


def skim(data: bytes) -> Any:
    """The document, with what stands for each step in the place of the steps.

    Raises ValueError for what is no JSON document as strict as they come, and RecursionError for one that nests too
    deeply: records.py can read some of them.
    """
    text = data.decode("latin-1")  # one character a byte, so that a place in the text is one in the file
    skimmer = _Skimmer(data, text)
    start = _SPACE.match(text, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    value, end = skimmer.value(start.end() if start else 0, _SHAPE)
    if not isinstance(value, dict) or _after(text, end) != len(text):
        raise ValueError("not one object")
    return value


def _after(text: str, at: int) -> int:
    """The next place that is no white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


_STEP = "a step"
_PATH = {"steps": [_STEP]}
_GRAPH = {"paths": [_PATH], **_PATH}
_SHAPE: Data = {**_GRAPH, **dict.fromkeys(LEGACY_TAGS, _GRAPH)}
"""Where steps lie in a document: a graph, or what was one once, tagged from outside or a path by itself."""


class _Skimmer:
    """Goes through a document, as far as its steps."""

    def __init__(self, data: bytes, text: str) -> None:
        self._data, self._text = data, text
        self._counted, self._line = 0, 1

    def value(self, at: int, shape: Any) -> tuple[Any, int]:
        """A value, and where it ends: taken apart as far as `shape` says where steps are, else as it is."""
        sign = self._text[at : at + 1]
        if (isinstance(shape, dict) and sign == "{") or (isinstance(shape, list) and sign == "["):
            return self._inside(at, shape)
        return self._step(at) if shape is _STEP else self._raw(at)

    def _step(self, at: int) -> tuple[Any, int]:
        value, end = _raw_decode(self._text, at)
        if not isinstance(value, dict):
            return value, end
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        value = read_record(self._data[at:end])
        known: Data = {
            "step": {"id": id_of(value, "step"), "parents": parents_of(value)},
            _PLACE: Place(at, end - at, self._line),
        }
        return known | ({"change": _SESSION} if is_session_step(value) else {}), end

    def _raw(self, at: int) -> tuple[Any, int]:
        """A value as it is; decoded from its bytes, since the text is no UTF-8."""
        _, end = _raw_decode(self._text, at)
        return read_record(b'{"value":' + self._data[at:end] + b"}").get("value"), end

    def _inside(self, at: int, shape: Any) -> tuple[Any, int]:
        """An object or an array, entry by entry."""
        keyed, found = isinstance(shape, dict), list[tuple[str, Any]]()
        at = _after(self._text, at + 1)
        while self._text[at : at + 1] != ("}" if keyed else "]"):
            at, key = self._expect(at, ",") if found else at, ""
            if keyed:
                if self._text[at : at + 1] != '"':
                    raise ValueError("no key")
                key, at = self._raw(at)
                at = self._expect(at, ":")
            one, at = self.value(at, shape.get(key) if keyed else shape[0])
            found.append((key, one))
            at = _after(self._text, at)
        return dict(found) if keyed else [one for _, one in found], at + 1

    def _expect(self, at: int, sign: str) -> int:
        at = _after(self._text, at)
        if self._text[at : at + 1] != sign:
            raise ValueError(f"no {sign}")
        return _after(self._text, at + 1)


# -- lineage -----------------------------------------------------------------------------------------------------------


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

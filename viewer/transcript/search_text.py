"""Matches in rows: where something that is looked for stands."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from renderers.terminal.rows import Row
from viewer.index.matching import find_all

ALL_LINES = 1 << 30
"""More lines than any text has: nothing of it is left out."""


class Stretch(NamedTuple):
    """Characters of one row."""

    row: int
    start: int
    end: int


Place = list[Stretch]
"""Where a match stands: on more than one row where it is wrapped."""


def matches(rows: list[Row], key: str) -> list[Place]:
    """Each match of `key`, a `search_key`, in the order in which it is read; with lines in it, of each of them."""
    pieces, text = _pieces(rows)
    starts = [at for at, _ in pieces]
    found: list[Place] = []
    for begin, end in sorted(span for part in key.split("\n") for span in find_all(text, part)):
        place: Place = []
        number = max(0, bisect_right(starts, begin) - 1)
        while number < len(pieces) and starts[number] < end:
            at, (row, start, stop) = pieces[number]
            first, last = max(begin, at), min(end, at + stop - start)
            if last > first:
                place.append(Stretch(row, start + first - at, start + last - at))
            number += 1
        if place:
            found.append(place)
    return sorted(found)


def _pieces(rows: list[Row]) -> tuple[list[tuple[int, Stretch]], str]:
    """The text of rows with wrapped lines joined again, and where in it each row's characters begin.

    What stands beside a prompt comes behind everything, since the prompt may go on in the next row. Remarks of ours
    (how much is not shown) are left out.
    """
    pieces: list[tuple[int, Stretch]] = []
    texts: list[str] = []
    size = 0

    def add(join: str, row: int, start: int, text: str) -> None:
        nonlocal size
        join = join if texts else ""
        texts.append(join + text)
        pieces.append((size + len(join), Stretch(row, start, start + len(text))))
        size += len(join) + len(text)

    beside: list[tuple[int, int, str]] = []
    for number, row in enumerate(rows):
        shown, start = row.text, row.gutter
        if start >= len(shown):
            if row.act != "fold":
                continue
            start = len(shown) - len(shown.lstrip())  # the facts of an exchange, on a line of their own
        text = shown[start:]
        if row.source is not None and text.startswith(row.source):
            facts = text[len(row.source) :]
            if facts.strip():
                beside.append((number, start + len(text) - len(facts.lstrip()), facts.strip()))
            text = row.source
        add(row.join, number, start, text)
    for number, start, text in beside:
        add("\n", number, start, text)
    return pieces, "".join(texts)

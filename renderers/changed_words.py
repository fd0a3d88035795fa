"""Words that changed within a line, for differences on screen and in HTML.

What it costs is bounded: lines of up to 1,000 characters are compared, each with one other; what stands between their
common beginning and end is compared word by word where it is at most 64 words long, else marked as a whole. A run of
more than 200 lines was written anew, and is not compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_LINE = 1000
_MOST_WORDS = 64
_RUN = 200
_TRIED = 400
"""Pairs of lines that are tried at most, where more lines came than went or fewer."""

Spot = tuple[int, int]
"""Where in a line something stands that changed: its beginning and its end."""


class Changed(NamedTuple):
    """A line by its place in the hunk, and where in it words changed."""

    at: int
    spots: list[Spot]


class Change(NamedTuple):
    """Lines that went and those that came in their place. A line that stays came for none."""

    removed: list[Changed]
    added: list[Changed]
    pairs: list[tuple[int, int]]
    """Which of them belong together, one that went and one that came, in order."""

    def beside(self) -> Iterator[tuple[Changed | None, Changed | None]]:
        """The lines that stand beside each other, those that belong together first of all."""
        left = right = 0
        for i, j in (*self.pairs, (len(self.removed), len(self.added))):
            yield from zip_longest(self.removed[left:i], self.added[right:j])
            if i < len(self.removed):
                yield self.removed[i], self.added[j]
            left, right = i + 1, j + 1


def changes_in(lines: Sequence[str]) -> Iterator[Change]:
    """The changes of a hunk in order, each is worked out when asked for."""
    at = 0
    while at < len(lines):
        middle = _end(lines, at, "-")
        if middle == at:
            yield Change([], [Changed(at, [])], [])
            at += 1
            continue
        end = _end(lines, middle, "+")
        old, new = [line[1:] for line in lines[at:middle]], [line[1:] for line in lines[middle:end]]
        spots: dict[int, list[Spot]] = {}
        pairs = list(_pairs(old, new))
        for i, j in pairs:
            spots[at + i], spots[middle + j] = changed_words(old[i], new[j])
        yield Change(
            [Changed(i, spots.get(i, [])) for i in range(at, middle)],
            [Changed(i, spots.get(i, [])) for i in range(middle, end)],
            pairs,
        )
        at = end


def _end(lines: Sequence[str], at: int, sign: str) -> int:
    start, stop = at, min(len(lines), at + _RUN)
    while at < stop and (lines[at][:1] == sign or (at > start and lines[at][:1] == "\\")):  # a remark on a line
        at += 1
    return at


def _pairs(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """Yield which line came for which: one for one, or in order those that are most alike."""
    if len(old) == len(new):
        yield from ((i, i) for i in range(len(old)))
    elif len(old) * len(new) <= _TRIED:
        olds, news = ([Counter(_WORD.findall(line[:_LONGEST_LINE])) for line in lines] for lines in (old, new))
        start = 0
        for i, own in enumerate(olds):
            alike = [2 * (own & one).total() / max(1, own.total(), one.total()) for one in news[start:]]
            if alike and (best := max(alike)) > 1:
                start += alike.index(best) + 1
                yield i, start - 1


def changed_words(old: str, new: str) -> tuple[list[Spot], list[Spot]]:
    """Return where two lines differ; nothing where they have too little in common to be one line that changed."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return [], []
    olds, news = _WORD.findall(old), _WORD.findall(new)
    shorter = min(len(olds), len(news))
    start = next((i for i in range(shorter) if olds[i] != news[i]), shorter)
    rest = shorter - start
    tail = next((i for i in range(rest) if olds[-1 - i] != news[-1 - i]), rest)
    middle, end = olds[start : len(olds) - tail], news[start : len(news) - tail]
    gone, came = set(range(start, start + len(middle))), set(range(start, start + len(end)))
    if middle and end and max(len(middle), len(end)) <= _MOST_WORDS:
        for i, j, size in SequenceMatcher(None, middle, end, autojunk=False).get_matching_blocks():
            gone.difference_update(range(start + i, start + i + size))
            came.difference_update(range(start + j, start + j + size))
    alike = sum(len(word.strip()) for i, word in enumerate(olds) if i not in gone)
    if 2 * alike < min(len(old.strip()), len(new.strip())) or not alike:
        return [], []
    return _spots(olds, gone), _spots(news, came)


def _spots(words: list[str], changed: set[int]) -> list[Spot]:
    """Return where the words stand, together with the blanks between two of them."""
    spots: list[Spot] = []
    at = 0
    for i, word in enumerate(words):
        if i in changed or (word.isspace() and {i - 1, i + 1} <= changed):
            if spots and spots[-1][1] == at:
                spots[-1] = (spots[-1][0], at + len(word))
            else:
                spots.append((at, at + len(word)))
        at += len(word)
    return spots

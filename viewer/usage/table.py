"""The table of `turnlog usage`: figures in columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from renderers.facts import format_count
from schemas.clean import one_line
from schemas.costs.responses import Tally
from schemas.usage import TokenUsage
from viewer.sessions.ids import in_common
from viewer.usage.sums import cost_cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from rich.style import Style

_COLUMNS = ("input", "cache read", "cache write", "output", "total", "cost")
_GAP = 2
_LEAST = 8
"""Cells that the text of a row has at least; where it would have fewer, figures are left out but for the last two."""
_WIDE = 110
"""So many columns have room for bars."""
_BAR = 16


class Rows:
    """A table of figures: a number, a text and the figures in each row, and totals at the foot. In a wide place each
    row has a bar that says how much of the weightiest it is.

    A session can have 100,000 exchanges, so widths are found in one pass, and rows are written as they are.
    """

    def __init__(self, heading: str) -> None:
        self._heading = heading
        self._rows: list[tuple[str, str, Tally]] = []
        self._weights: list[float] = []
        self._totals: list[tuple[str, Tally]] = []

    def add(self, number: str, text: str, tally: Tally, weight: float | None = None) -> None:
        """A row; without a `weight` its tokens give the length of its bar."""
        self._rows.append((number, text, tally))
        self._weights.append(tally.tokens if weight is None else weight)

    def total(self, label: str, tally: Tally) -> None:
        """A row at the foot."""
        self._totals.append((label, tally))

    def say(self, tally: Tally) -> bool:
        """Tell whether a single row says as much as a total would."""
        return len(self._rows) == 1 and self._rows[0][2].usage == tally.usage

    def print(self, screen: Console) -> None:
        """Write the table."""
        from rich.segment import Segments

        screen.print(Segments(self._segments(screen.width)), end="", crop=False)

    def _segments(self, width: int) -> Iterator[Segment]:
        from rich.segment import Segment
        from rich.style import Style

        dim, bold, cyan = Style(dim=True), Style(bold=True), Style(color="cyan")
        most = max(self._weights, default=0)
        wide = width >= _WIDE and len(self._rows) > 1 and most > 0
        figures = [list(_COLUMNS), *(_figures(tally) for _, _, tally in self._rows)]
        figures += [_figures(tally) for _, tally in self._totals]
        sizes = [max(map(len, column)) + _GAP for column in zip(*figures, strict=True)]
        numbers = max((cell_len(number) + _GAP for number, *_ in self._rows if number), default=0)
        room = width - numbers - (_GAP + _BAR if wide else 0)
        left_out = 0
        while room - sum(sizes[left_out:]) < _LEAST and left_out < len(sizes) - 2:
            left_out += 1
        fill = max(_LEAST, room - sum(sizes[left_out:]))

        def line(number: str, shown: str, row: list[str], style: Style | None, bar: str = "") -> Iterator[Segment]:
            if numbers:
                pad = " " * (numbers - _GAP - cell_len(number))
                yield Segment(f"{pad}{number}{'':{_GAP}}" if number.isdigit() else f"{number}{pad}{'':{_GAP}}", dim)
            yield Segment(set_cell_size(shown, fill), style)
            cells = zip(row[left_out:], sizes[left_out:], strict=True)
            yield Segment("".join(f"{cell:>{size}}" for cell, size in cells), dim if style is dim else None)
            if bar:
                yield Segment(f"{'':{_GAP}}{bar}", cyan)
            yield Segment.line()

        rows = iter(figures)
        yield from line("", _cut(self._heading, fill), next(rows), dim)
        texts = fitted([one_line(text, 4096) for _, text, *_ in self._rows], fill)
        for (number, *_), text, weight in zip(self._rows, texts, self._weights, strict=True):
            yield from line(number, text, next(rows), None, _bar(weight, most) if wide else "")
        if self._rows and self._totals:
            yield Segment.line()
        for label, _ in self._totals:
            yield from line("", _cut(label, fill), next(rows), bold)


def fitted(texts: list[str], width: int) -> list[str]:
    """The texts in so many cells each. What is too long is cut at its end; texts that would look the same then, as the
    paths of one project's worktrees, begin where they differ.
    """
    shown = [_cut(text, width) for text in texts]
    alike: dict[str, set[str]] = {}
    for text, cut in zip(texts, shown, strict=True):
        if cut != text:
            alike.setdefault(cut, set()).add(text)
    instead: dict[str, str] = {}
    for group in alike.values():
        if len(group) > 1:
            _tell_apart(sorted(group), width, instead)
    return [instead.get(text, cut) for text, cut in zip(texts, shown, strict=True)]


def _tell_apart(group: list[str], width: int, instead: dict[str, str]) -> None:
    """Note for each of several texts, in order, the piece that begins where they differ; a whole word if that does."""
    differ = in_common(group[0], group[-1])  # in order, so that the others share as much
    word = max(group[0].rfind(sign, 0, differ) for sign in "/\\ ") + 1
    for start in (word, differ):
        pieces: dict[str, list[str]] = {}
        for text in group:
            at = start
            while at > 0 and cell_len(text[at - 1 :]) < width:
                at -= 1  # a short rest leaves room for what stands before it
            pieces.setdefault(_cut(f"…{text[at:]}", width), []).append(text)
        if len(pieces) > 1:
            break
    for piece, same in pieces.items():
        instead.update(dict.fromkeys(same, piece))
        if 1 < len(same) < len(group):
            _tell_apart(same, width, instead)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _figures(tally: Tally) -> list[str]:
    """The figures of a row, `-` for an unknown one."""
    usage = tally.usage or TokenUsage()
    counts = usage.input, usage.cache_read, usage.cache_write, usage.output, usage.total
    return [*("-" if count is None else format_count(count) for count in counts), cost_cell(tally)]


def _bar(weight: float, most: float) -> str:
    eighths = round(weight / most * _BAR * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()

"""The blocks that were drawn last, their rows as strips, and what is laid over these: the cursor, matches of a search,
the selection.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from renderers.terminal.block import render_block
from renderers.terminal.code import Want
from renderers.terminal.folds import FULL_LINES, Fold
from renderers.terminal.layout import Block, Look
from renderers.terminal.rows import Row, width_of
from schemas.changes import Moves
from schemas.session import Session

MAX_ROWS = 12_000
"""Rows that are kept, about 10 MB."""
_STEP = 8
"""How much more of a huge output each press of enter shows."""


class Overlay(NamedTuple):
    """Styles laid over rows; taken from the theme once, not once a line."""

    base: Style
    cursor: Style
    mark: Style
    match: Style
    found: Style
    """The match that was gone to."""
    unread: Style
    selection: Style


def row_strip(row: Row | None, width: int, look: Overlay) -> Strip:
    """A row, a cell for the cursor's mark before it; None is a blank row."""
    base = look.base
    if row is None or not row.segments:
        return Strip.blank(width, base)
    segments = [Segment(" ", base)]
    segments += [Segment(text, style or base) for text, style, _ in row.segments]
    cells = 1 + width_of(row.text)
    if cells > width:
        return Strip(segments, cells).crop(0, width)
    if cells < width:
        segments.append(Segment(" " * (width - cells), base))
    # Made in one go: a strip is a costly object, and each of Textual's ways to change one makes another.
    return Strip(segments, width)


def unread_strip(since: str, measure: int, width: int, look: Overlay) -> Strip:
    """The line above the first new message."""
    label = f" new since {since} "
    left = max(0, (measure - len(label)) // 2)
    right = max(0, measure - left - len(label))
    segments = [
        Segment("─" * left, look.base + look.mark),
        Segment(label, look.base + look.unread),
        Segment("─" * right, look.base + look.mark),
    ]
    return Strip([Segment(" ", look.base), *segments]).crop_extend(0, width, look.base)


def with_cursor(strip: Strip, look: Overlay, *, on_line: bool) -> Strip:
    """A thin bar along the block under the cursor, a thick one at its line."""
    if not on_line:
        return with_mark(strip, "▏", look)
    mark = Segment("▌", look.base + look.cursor + look.mark)
    return Strip([mark, *Segment.apply_style(strip.crop(1), None, look.cursor)], strip.cell_length)


def with_mark(strip: Strip, letter: str, look: Overlay) -> Strip:
    """A line with the letter of its mark in the cell before it."""
    return Strip([Segment(letter, look.base + look.mark), *strip.crop(1)], strip.cell_length)


def with_selection(strip: Strip, span: tuple[int, int], look: Overlay) -> Strip:
    """The selected characters; an end of -1 is the end of the text."""
    start, end = span
    text = strip.text
    return overlaid(strip, [(start, len(text.rstrip()) if end < 0 else min(end, len(text)))], look.selection)


def overlaid(strip: Strip, spans: list[tuple[int, int]], style: Style) -> Strip:
    """A strip with a style laid over some of its characters."""
    spans = [(start, end) for start, end in spans if end > start]
    if not spans:
        return strip
    text = strip.text
    inside = {width_of(text[:start]) for start, _ in spans}
    cuts = sorted({width_of(text[:at]) for span in spans for at in span} | {strip.cell_length})
    pieces: list[Segment] = []
    at = 0
    for piece, cut in zip(strip.divide(cuts), cuts, strict=False):
        pieces.extend(Segment.apply_style(piece, None, style) if at in inside else piece)
        at = cut
    return Strip(pieces, strip.cell_length)


class Drawn(NamedTuple):
    """A block, and its rows as strips as far as they were asked for."""

    block: Block
    strips: dict[int, Strip]


class DrawnBlocks:
    """Blocks of one session by message and fold."""

    def __init__(self, session: Session, look: Look) -> None:
        self._session = session
        self.look = look
        self._kept: OrderedDict[tuple[int, Fold], Drawn] = OrderedDict()
        self._rows = 0
        self._full: dict[int, int] = {}

    def get(self, index: int, fold: Fold) -> Drawn:
        """The block of a message, drawn if it is not kept."""
        key = (index, fold)
        drawn = self._kept.get(key)
        if drawn is None:
            look = replace(self.look, full=self._full[index]) if index in self._full else self.look
            drawn = self._kept[key] = Drawn(render_block(self._session, index, fold, look), {})
            self._rows += len(drawn.block.rows)
            while self._rows > MAX_ROWS and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                self._rows -= len(old.block.rows)
        else:
            self._kept.move_to_end(key)
        return drawn

    def extend(self, index: int, lines: int | None = None) -> None:
        """Show more of a huge output from now on: eight times as much, or at least so many lines."""
        full = self._full.get(index, FULL_LINES)
        self._full[index] = full * _STEP if lines is None else max(full, lines)
        self.forget(index)

    def forget(self, index: int) -> None:
        """The message changed."""
        for fold in (Fold.LINE, Fold.SHORT, Fold.FULL):
            old = self._kept.pop((index, fold), None)
            if old is not None:
                self._rows -= len(old.block.rows)

    def forget_wanting(self, want: Want) -> None:
        """The code has got its colours, in whichever messages it stands by now: they are as tall as before."""
        for index in {index for (index, _), drawn in self._kept.items() if want in drawn.block.wanted}:
            self.forget(index)

    def moved(self, moves: Moves) -> DrawnBlocks:
        """An empty one for the session that took this one's place; what was to be shown of huge outputs stays."""
        blocks = DrawnBlocks(moves.new, self.look)
        blocks._full = {place: full for i, full in self._full.items() if (place := moves.find(i)) is not None}
        return blocks

    def relook(self, **changes: Any) -> None:
        """Draw so from now on; whoever changes the look forgets the messages that it changes."""
        self.look = replace(self.look, **changes)

    def clear(self) -> None:
        """Everything looks different now."""
        self._kept.clear()
        self._rows = 0

"""Rows as strips, and what is laid over them: the cursor, matches of a search, the selection."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from renderers.terminal.rows import Row, width_of


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

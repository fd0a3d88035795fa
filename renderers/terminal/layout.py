"""The layout of a line, and the helpers with which blocks are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rich.segment import Segment
from rich.style import Style

from renderers.facts import plural
from renderers.terminal.code import Highlights, Want
from renderers.terminal.folds import FULL_LINES, SHORT_LINES, Fold
from renderers.terminal.rows import Act, Row, crop, width_of
from renderers.terminal.style_names import Palette

PROSE = 100
"""Prose is wrapped here at the latest."""
NARROW = 60

OPEN, CLOSED, LEAF = "▾", "▸", "·"


@dataclass(slots=True)
class Look:
    """The settings that decide how a block looks."""

    width: int
    """Cells for a block, at least 20; facts end at their edge."""
    palette: Palette
    highlights: Highlights
    full: int = FULL_LINES
    """Lines of output that a fully open block shows."""
    running: int = -1
    """The exchange that is being worked on now."""
    subagents: Mapping[int, str] = field(default_factory=dict)
    """What the subagents did so far, by the message whose tool started each."""
    cost: Callable[[int], str | None] = lambda exchange: ""
    """What an exchange cost, in words; None where that will be known in a moment."""

    @property
    def body(self) -> int:
        """The column of what belongs to an exchange."""
        return 1 if self.width < NARROW else 3

    @property
    def text(self) -> int:
        """The column of its text, behind the glyph."""
        return self.body + 2

    @property
    def prose(self) -> int:
        """The width at which prose is wrapped."""
        return min(self.width - self.text, PROSE)


@dataclass(slots=True)
class Block:
    """A message as rows. `more`: a fuller view would show more. `wanted`: code that waits for its colours."""

    rows: list[Row]
    more: bool = False
    wanted: list[Want] = field(default_factory=list)


def indented(rows: Iterable[Row], column: int, first: Segment | None = None) -> Iterator[Row]:
    """Rows moved right; a glyph stands before the first one."""
    space = Segment(" " * column)
    for number, row in enumerate(rows):
        if number == 0 and first is not None:
            head = [Segment(" " * (column - 2)), first, Segment(" ")]
        else:
            head = [space]
        yield Row([*head, *row.segments], row.gutter + column, row.join, row.source, row.act)


def title_row(
    look: Look,
    column: int,
    glyph: Segment,
    left: list[tuple[str, Style]],
    right: list[tuple[str, Style]],
    act: Act = "fold",
) -> Row:
    """Draw a title row: its subject at the left, its facts at the right edge. What is too long on the left is cut, and
    a text of several lines becomes one.
    """
    left, right = [(flat(text), style) for text, style in left], [(flat(text), style) for text, style in right]
    room = look.width - column - 2
    facts = _fitting(right, facts_room(room))
    facts_width = sum(width_of(text) for text, _ in facts)
    left_room = room - (facts_width + 2 if facts else 0)
    segments = [Segment(" " * column), glyph, Segment(" ")]
    for text, style in left:
        shown = crop(text, left_room)
        left_room -= width_of(shown)
        if shown:
            segments.append(Segment(shown, style))
    if facts:
        segments.append(Segment(" " * (left_room + 2)))
        segments.extend(Segment(text, style) for text, style in facts)
    return Row(segments, column + 2, act=act)


def facts_room(room: int) -> int:
    """Cells of a title row's room that its facts may fill."""
    return max(room * 6 // 10, room - 14)


def flat(text: str) -> str:
    """A text in one line, as long as before."""
    return text.replace("\n", " ").replace("\t", " ")


def _fitting(pieces: list[tuple[str, Style]], room: int) -> list[tuple[str, Style]]:
    """Return as many of the facts as fit, the first ones first; none ends in a separator."""
    out: list[tuple[str, Style]] = []
    for text, style in pieces:
        if width_of(text) > room:
            break
        room -= width_of(text)
        out.append((text, style))
    while out and not out[-1][0].strip(" ·"):
        out.pop()
    return out


def more_row(look: Look, column: int, count: int) -> Row:
    """Says how many lines are not shown, and shows them when asked."""
    text = crop(f"… {plural(count, 'more line')} (enter)", look.width - column)
    return Row([Segment(" " * column), Segment(text, look.palette.dim)], column + len(text), act="more")


def capped(
    rows: Iterable[Row], lines: int, fold: Fold, look: Look, block: Block, limit: int = SHORT_LINES
) -> Iterator[Row]:
    """All rows, or the first ones and a line that says how many there are: of `lines` lines of text."""
    if fold >= Fold.FULL:
        limit = look.full
    seen = 0
    for shown, row in enumerate(rows):
        if shown >= limit and row.join == "\n":
            block.more = True
            yield more_row(look, look.text, max(1, lines - seen))
            return
        if row.join == "\n":
            seen += 1 + (row.source or "").count("\n")
        yield row

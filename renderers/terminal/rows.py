"""Rows of a terminal, and how text is cut into them.

A `Row` knows which of its characters are decoration and how it hangs together with the row before, so that what a
person selects and copies is the text and not its picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

Span: TypeAlias = tuple[str, Style]
"""Text in one style, without newlines."""
Spans: TypeAlias = list[Span]
Act: TypeAlias = Literal["", "fold", "more"]

MIN_WIDTH = 8
"""Nothing is wrapped to less; a wide character takes two cells, and indentation must leave room for some text."""
_NOT_SINGLE = re.compile(
    "[^\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0377\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u048a-\u052f"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u21ff\u2200-\u22ff\u2500-\u25fc]"
)
"""Everything that is not known to fill exactly one cell. Plain text never matches, and is then cut by counting."""


class Row(NamedTuple):
    """One line on the screen."""

    segments: list[Segment]
    gutter: int = 0
    """How many characters at its start are decoration and not copied."""
    join: str = "\n"
    """What stands between the row before and this one in the text: a newline, or "" or a space where it was wrapped."""
    source: str | None = None
    """The text it shows, where that differs from the characters on the screen (tabs)."""
    act: Act = ""
    """What a click on it does: `fold` the block, or show `more` of it."""
    line: int = -1
    """The line of a difference that it shows, counted over all hunks."""

    @property
    def text(self) -> str:
        """The characters on the screen."""
        return "".join(segment.text for segment in self.segments)


def is_single(text: str) -> bool:
    """Return whether every character of the text is known to fill one cell."""
    return text.isascii() or _NOT_SINGLE.search(text) is None


def width_of(text: str) -> int:
    """Cells the text fills."""
    return len(text) if is_single(text) else cell_len(text)


def expand_tabs(line: str, every: int = 8) -> str:
    """A line with its tabs as spaces, counted in cells: Rich gives a tab the width 0."""
    if "\t" not in line:
        return line
    if is_single(line.replace("\t", "")):
        return line.expandtabs(every)
    pieces: list[str] = []
    column = 0
    for i, piece in enumerate(line.split("\t")):
        if i:
            fill = every - column % every
            pieces.append(" " * fill)
            column += fill
        pieces.append(piece)
        column += width_of(piece)
    return "".join(pieces)


class Cut(NamedTuple):
    """A stretch of a line that fits into the width, and how it hangs together with the one before."""

    start: int
    end: int
    join: str


def cut_words(text: str, width: int, first: int | None = None) -> list[Cut]:
    """Return the cuts at which a line is wrapped between words; a word that is too long is cut. `first` is the first
    row's width.
    """
    width = max(width, MIN_WIDTH)
    room = width if first is None else max(first, MIN_WIDTH)
    if not is_single(text):
        return _cut_cells(text, width, room, words=True)
    cuts: list[Cut] = []
    start, join, end = 0, "\n", len(text)
    while end - start > room:
        space = text.rfind(" ", start + 1, start + room + 1)
        if space < 0 or text[start:space].isspace():
            cuts.append(Cut(start, start + room, join))
            start, join = start + room, ""
        else:
            cuts.append(Cut(start, space, join))
            start, join = space + 1, " "
        room = width
    cuts.append(Cut(start, end, join))
    return cuts


def cut_cells(text: str, width: int) -> list[Cut]:
    """Return the cuts at which a terminal would wrap a line, at the last cell that fits."""
    width = max(width, MIN_WIDTH)
    if not is_single(text):
        return _cut_cells(text, width, width, words=False)
    if len(text) <= width:
        return [Cut(0, len(text), "\n")]
    return [Cut(i, min(i + width, len(text)), "" if i else "\n") for i in range(0, len(text), width)]


def _cut_cells(text: str, width: int, room: int, *, words: bool) -> list[Cut]:
    """The general case: whole graphemes. Beside a wide character a line may break without a space, as in Chinese."""
    spans, total = split_graphemes(text)
    if total <= room:
        return [Cut(0, len(text), "\n")]
    cuts: list[Cut] = []
    start, join, cells, wide_before = 0, "\n", 0, False
    chance: tuple[int, int, int, str] | None = None  # end of the row, start of the next, cells before that, its join
    for begin, end, size in spans:
        is_space = words and text[begin:end] == " "
        if is_space and cells + size > room:
            cuts.append(Cut(start, begin, join))
            start, join, cells, wide_before, chance, room = end, " ", 0, False, None, width
            continue
        if words and begin > start and (size == 2 or wide_before) and not is_space:
            chance = (begin, begin, cells, "")
        while cells + size > room and begin > start:
            stop, next_start, used, next_join = chance or (begin, begin, cells, "")
            cuts.append(Cut(start, stop, join))
            start, join, cells, chance, room = next_start, next_join, cells - used, None, width
        if is_space and not text[start:begin].isspace() and begin > start:
            chance = (begin, end, cells + size, " ")
        cells += size
        wide_before = size == 2
    cuts.append(Cut(start, len(text), join))
    return cuts


def crop(text: str, width: int) -> str:
    """The text, cut to the width with an ellipsis if it is wider."""
    if width <= 0:
        return ""
    if is_single(text):
        return text if len(text) <= width else text[: width - 1] + "…"
    # Only so much of it can fit; what is counted grapheme by grapheme must not be a megabyte.
    head = text[: width * 8]
    spans, total = split_graphemes(head)
    if total <= width and len(head) == len(text):
        return text
    cells = 0
    for begin, _, size in spans:
        if cells + size > width - 1:
            return head[:begin] + "…"
        cells += size
    return head + "…"


def slice_spans(spans: Sequence[Span], start: int, end: int) -> list[Segment]:
    """The characters `start` to `end` of styled text, as segments."""
    out: list[Segment] = []
    position = 0
    for text, style in spans:
        after = position + len(text)
        if after > start:
            if position >= end:
                break
            piece = text[max(0, start - position) : end - position]
            if piece:
                out.append(Segment(piece, style))
        position = after
    return out


def plain(spans: Sequence[Span]) -> str:
    """The characters of styled text."""
    return spans[0][0] if len(spans) == 1 else "".join(text for text, _ in spans)


def wrap(spans: Sequence[Span], width: int, first: int | None = None) -> Iterator[tuple[list[Segment], str]]:
    """Styled text wrapped between words: the segments of each row, and its `join`."""
    text = plain(spans)
    if is_single(text) and len(text) <= min(width, width if first is None else first):
        yield [Segment(piece, style) for piece, style in spans if piece], "\n"
        return
    for start, end, join in cut_words(text, width, first):
        yield slice_spans(spans, start, end), join

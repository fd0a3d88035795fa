"""Tables: as wide as their text, narrowed by wrapping cells, and as a list of records where even that does not fit."""

from __future__ import annotations

from collections.abc import Iterator

from rich.segment import Segment

from renderers.terminal.rows import MIN_WIDTH, Row, Spans, plain, width_of, wrap
from renderers.terminal.style_names import Palette

_GAP = " │ "


def table_rows(table: list[list[Spans]], alignments: list[str], width: int, palette: Palette) -> Iterator[Row]:
    """`table` holds the header and then the rows, each a list of cells."""
    columns = max(map(len, table), default=0)
    if not columns:
        return
    natural = [max((_cells(row[c]) for row in table if c < len(row)), default=0) or 1 for c in range(columns)]
    room = width - len(_GAP) * (columns - 1)
    if sum(natural) > room and len(table) > 1:
        # A heading of two words stands in two lines before anything below it is wrapped.
        narrow = [max([1, *map(width_of, plain(cell).split())]) for cell in table[0]]
        natural = [max([few, *(_cells(row[c]) for row in table[1:] if c < len(row))]) for c, few in enumerate(narrow)]
    widths = _fit(natural, room)
    if widths is None:
        yield from _records(table, width, palette)
        return
    for number, row in enumerate(table):
        yield from _table_row(row, widths, alignments, palette)
        if number == 0:
            yield Row([Segment("─┼─".join("─" * w for w in widths), palette.rule)])


def _cells(spans: Spans) -> int:
    return sum(width_of(text) for text, _ in spans)


def _fit(natural: list[int], room: int) -> list[int] | None:
    """Widths of the columns: the widest give way first, none below a readable least. None if they do not fit."""
    if sum(natural) <= room:
        return natural
    least = [min(n, MIN_WIDTH) for n in natural]
    if sum(least) > room:
        return None
    low, high = 1, max(natural)
    while low < high:  # the largest cap under which all fit
        cap = (low + high + 1) // 2
        if sum(max(few, min(n, cap)) for few, n in zip(least, natural, strict=True)) <= room:
            low = cap
        else:
            high = cap - 1
    return [max(few, min(n, low)) for few, n in zip(least, natural, strict=True)]


def _table_row(row: list[Spans], widths: list[int], alignments: list[str], palette: Palette) -> Iterator[Row]:
    wrapped: list[list[list[Segment]]] = [
        [segments for segments, _ in wrap(cell, width)] if cell else [[]]
        for cell, width in zip(row, widths, strict=False)
    ]
    wrapped += [[[]]] * (len(widths) - len(wrapped))
    for line in range(max(map(len, wrapped))):
        segments: list[Segment] = []
        for column, (cell, width) in enumerate(zip(wrapped, widths, strict=True)):
            if column:
                segments.append(Segment(_GAP, palette.rule))
            content = cell[line] if line < len(cell) else []
            fill = max(0, width - sum(width_of(segment.text) for segment in content))
            where = alignments[column] if column < len(alignments) else ""
            left = fill if where == "right" else fill // 2 if where == "center" else 0
            if left:
                segments.append(Segment(" " * left))
            segments.extend(content)
            if fill - left and column + 1 < len(widths):
                segments.append(Segment(" " * (fill - left)))
        yield Row(segments)


def _records(table: list[list[Spans]], width: int, palette: Palette) -> Iterator[Row]:
    """Each row as lines `column: value`."""
    header, *rows = table
    if not rows:
        rows, header = [header], []
    for number, row in enumerate(rows):
        if number:
            yield Row([Segment("─" * min(width, 12), palette.rule)])
        for column, cell in enumerate(row):
            name = header[column] if column < len(header) else []
            spans = [*name, (": ", palette.dim), *cell] if name else list(cell)
            for segments, join in wrap(spans, width):
                yield Row(segments, 0, join)

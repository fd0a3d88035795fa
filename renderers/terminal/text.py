"""Text that is not prose: code, and what programs printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.segment import Segment
from rich.style import Style

from renderers.terminal.code import MAX_CODE, Highlights, Marks, Want, language_of_path
from renderers.terminal.rows import Row, Span, crop, cut_cells, expand_tabs, plain, slice_spans, width_of
from renderers.terminal.style_names import Palette
from schemas.clean import Run, Sgr
from schemas.slices import Slice

MAX_ROW_CHARS = 200_000
"""A line longer than this is shown up to here, with a word about the rest: nobody reads on, and a minified file of
5 MB would cost a second."""


def code_rows(
    code: str, language: str, width: int, palette: Palette, highlights: Highlights, wanted: list[Want]
) -> Iterator[Row]:
    """A block of code on its own background. What could be coloured later is added to `wanted`."""
    marks = highlights.lookup(Want(language, code), wanted)
    inner = width - 2
    for number, line in enumerate(code.split("\n")):
        spans = coloured(line, marks[number : number + 1], palette, palette.block)
        rows = list(_line_rows(line, spans, inner, 4))
        for row in rows:
            fill = Segment(" " * max(0, inner + 1 - width_of(row.text)), palette.block)
            source = line if len(rows) == 1 else None
            yield Row([Segment(" ", palette.block), *row.segments, fill], 1, row.join, source)


def slice_rows(part: Slice, width: int, palette: Palette, highlights: Highlights, wanted: list[Want]) -> Iterator[Row]:
    """A slice of a file with the numbers of its lines, in the colours of its language as far as those are worked out;
    above and below it what was said beside it.
    """
    yield from _said_beside(part.before, width, palette)
    end = len(part.text) if len(part.text) <= MAX_CODE else part.text.rfind("\n", 0, MAX_CODE)
    marks = highlights.lookup(Want(language_of_path(part.path), part.text[: max(0, end)]), wanted)
    lines = part.text.split("\n")
    digits = 0 if part.start is None else max(3, len(str(part.start + len(lines))))
    for number, line in enumerate(lines):
        label = f"{part.start + number:>{digits}}  " if part.start is not None else ""
        shown = line[:MAX_ROW_CHARS]
        spans = coloured(shown, marks[number : number + 1], palette, palette.text)
        for row in _line_rows(shown, spans, width - len(label), 4):
            head = [Segment(label if row.join == "\n" else " " * len(label), palette.dim)] if label else []
            yield row._replace(segments=[*head, *row.segments], gutter=len(label))
        if len(line) > MAX_ROW_CHARS:
            yield Row([Segment(rest_of_line(len(line), width), palette.dim)])
    yield from _said_beside(part.after, width, palette)


def _said_beside(text: str, width: int, palette: Palette) -> Iterator[Row]:
    return output_rows(text, (), width, palette.dim) if text else iter(())


def coloured(line: str, marks: list[Marks], palette: Palette, base: Style) -> list[Span]:
    """A line of code on top of `base`, in its colours if there are `marks` of it. It may be the beginning of the line
    that was marked.
    """
    if not marks:
        return [(line, base)]
    spans: list[Span] = []
    position = 0
    for length, role in marks[0]:
        style = palette.syntax.get(role)
        spans.append((line[position : position + length], base + style if style else base))
        position += length
    return spans


def untabbed(line: str, spans: list[Span], every: int = 4) -> tuple[str, list[Span]]:
    """A line and its pieces of different style, with tabs as spaces."""
    if "\t" not in line:
        return line, spans
    out: list[Span] = []
    column = 0
    for text, style in spans:
        expanded = expand_tabs("\0" * (column % every) + text, every)[column % every :] if "\t" in text else text
        column += width_of(expanded)
        out.append((expanded, style))
    return plain(out), out


def rest_of_line(size: int, width: int) -> str:
    """Say how much of a line is not shown, of which `MAX_ROW_CHARS` are."""
    return crop(f"… {size - MAX_ROW_CHARS:,} more characters in this line", width)


def sgr_style(sgr: Sgr, base: Style) -> Style:
    """Return the style that a program set with escape codes, on top of `base`."""
    return base + Style(
        color=_colour(sgr.fg),
        bgcolor=_colour(sgr.bg),
        bold=sgr.bold or None,
        dim=sgr.dim or None,
        italic=sgr.italic or None,
        underline=sgr.underline or None,
        reverse=sgr.reverse or None,
        strike=sgr.strike or None,
    )


def _colour(colour: int | tuple[int, int, int] | None) -> str | None:
    if colour is None:
        return None
    return f"color({colour})" if isinstance(colour, int) else f"rgb({colour[0]},{colour[1]},{colour[2]})"


def output_rows(text: str, runs: Sequence[Run], width: int, base: Style, limit: int | None = None) -> Iterator[Row]:
    """Draw a program's output in its own colours, cut at the edge as a terminal does; at most `limit` lines."""
    position = 0
    next_run = 0
    styles: dict[Sgr, Style] = {}
    count = 0
    while position <= len(text) and (limit is None or count < limit):
        stop = text.find("\n", position)
        stop = len(text) if stop < 0 else stop
        line = text[position : min(stop, position + MAX_ROW_CHARS)]
        while next_run < len(runs) and runs[next_run].end <= position:
            next_run += 1
        spans: list[Span] = [(line, base)]
        if next_run < len(runs) and runs[next_run].start < position + len(line):
            spans = _run_spans(line, position, runs, next_run, base, styles)
        yield from _line_rows(line, spans, width, 8)
        if stop - position > MAX_ROW_CHARS:
            yield Row([Segment(rest_of_line(stop - position, width), base + Style(dim=True))])
        position = stop + 1
        count += 1


def _run_spans(
    line: str, start: int, runs: Sequence[Run], index: int, base: Style, styles: dict[Sgr, Style]
) -> list[Span]:
    spans: list[Span] = []
    at = 0
    while index < len(runs) and runs[index].start < start + len(line):
        run = runs[index]
        begin, end = max(0, run.start - start), min(len(line), run.end - start)
        if begin > at:
            spans.append((line[at:begin], base))
        if end > begin:
            style = styles.get(run.sgr)
            if style is None:
                style = styles[run.sgr] = sgr_style(run.sgr, base)
            spans.append((line[begin:end], style))
        at = max(at, end)
        index += 1
    spans.append((line[at:], base))
    return spans


def _line_rows(line: str, spans: list[Span], width: int, tab: int) -> Iterator[Row]:
    """A line cut at the edge as a terminal does, with a tab every so many cells."""
    source = line if "\t" in line else None
    line, spans = untabbed(line, spans, tab)
    cuts = cut_cells(line, width)
    for start, end, join in cuts:
        yield Row(slice_spans(spans, start, end), 0, join, source if len(cuts) == 1 else None)

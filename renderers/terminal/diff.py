"""Differences of files as rows: one drawing for edits, patches, what Git printed and what an answer quotes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from rich.segment import Segment
from rich.style import Style

from renderers.changed_words import Change, Changed, Spot, changes_in
from renderers.terminal.code import MAX_CODE, Highlights, Marks, Want, language_of_path
from renderers.terminal.rows import Row, Span, crop, cut_cells, is_single, slice_spans, width_of
from renderers.terminal.style_names import Palette
from renderers.terminal.text import MAX_ROW_CHARS, coloured, output_rows, rest_of_line, untabbed
from schemas.clean import Run, one_line, runs_from
from schemas.diffs import FileDiff, Hunk, passages_in, quoted_diffs

SIDES = 144
"""Cells from which what went and what came stand side by side: two columns that have 65 each for code. A block has them
from 160 columns of the terminal, from 200 beside an outline or a list.
"""
_BETWEEN = "  "


def diff_rows(
    diff: FileDiff, width: int, palette: Palette, highlights: Highlights | None = None, wanted: list[Want] | None = None
) -> Iterator[Row]:
    """The change of one file: line number, sign, text. The sign is text, so that no colour is needed to read it; words
    that changed within a line are marked. Where there is room, what went stands beside what came for it.
    """
    numbered = [h for h in diff.hunks if h.new_start is not None]
    last = max((max(h.new_start or 0, h.old_start or 0) + len(h.lines) for h in numbered), default=0)
    digits = max(3, len(str(last))) if numbered else 0
    draw = _beside if width >= SIDES and diff.added and diff.removed else _below
    language = language_of_path(diff.renamed_to or diff.path)
    first = 0
    for i, hunk in enumerate(diff.hunks):
        if i:
            between = crop(f"{' ' * digits} ⋯ {one_line(hunk.heading)}".rstrip(), width)
            yield Row([Segment(between, palette.dim)], len(between), source=hunk.header)
        lines = _Lines(hunk, first, digits, palette, _roles(hunk, language, palette, highlights, wanted))
        for change in changes_in(hunk.lines):
            yield from draw(lines, change, width)
        first += len(hunk.lines)


def title_row(diff: FileDiff, width: int, palette: Palette, source: str | None = None) -> Row:
    """Draw the line above the change of a file: what was done to it and how many lines came and went."""
    counts = [(f"+{diff.added}", palette.add_text)] * bool(diff.added)
    counts += [(f"-{diff.removed}", palette.remove_text)] * bool(diff.removed)
    beside = [segment for text, style in counts for segment in (Segment("  "), Segment(text, style))]
    room = width - sum(len(segment.text) for segment in beside)
    return Row([Segment(crop(one_line(diff.title, 4096), room), palette.tool), *beside], source=source)


def printed_rows(
    text: str, runs: Sequence[Run], width: int, palette: Palette, highlights: Highlights, wanted: list[Want], limit: int
) -> Iterator[Row]:
    """A program's output, the differences in it drawn as such; at most `limit` lines of what stands between them."""
    for start, end, diff, head in passages_in(text):
        if diff is None:
            yield from output_rows(text[start:end], runs_from(runs, start), width, palette.output, limit)
        else:
            yield title_row(diff, width, palette, text[start:head])
            yield from diff_rows(diff, width, palette, highlights, wanted)


def quoted_rows(code: str, width: int, palette: Palette, highlights: Highlights, wanted: list[Want]) -> Iterator[Row]:
    """Differences that an answer quotes; nothing where it quotes something else."""
    for diff in quoted_diffs(code):
        if diff.path:
            yield title_row(diff, width, palette, diff.unified().partition("\n@@")[0])
        yield from diff_rows(diff, width, palette, highlights, wanted)


def _roles(
    hunk: Hunk, language: str, palette: Palette, highlights: Highlights | None, wanted: list[Want] | None
) -> list[Marks]:
    """Return the colours of a hunk's code, line by line. Without backgrounds colours only say what came and went."""
    if highlights is None or not language or palette.add.bgcolor == palette.text.bgcolor:
        return []
    if sum(map(len, hunk.lines)) > MAX_CODE:
        return []
    code = "\n".join(line[1:] * (line[:1] != "\\") for line in hunk.lines)
    return highlights.lookup(Want(language, code), wanted)


class _Lines:
    """The lines of a hunk, which are numbered as they are drawn, in order."""

    def __init__(self, hunk: Hunk, first: int, digits: int, palette: Palette, roles: list[Marks]) -> None:
        self.first = first
        """The number of its first line in the whole difference."""
        self.texts, self.label = hunk.lines, digits + 1 if digits else 0
        self._palette, self._roles = palette, roles
        self._numbers: dict[str, int | None] = {"-": hunk.old_start, "+": hunk.new_start}
        self._styles = {"+": palette.add, "-": palette.remove, "\\": palette.dim}
        # The background says what became of a line, its colours what stands in it.
        self._grounds = {
            sign: palette.text + Style(bgcolor=style.bgcolor) for sign, style in self._styles.items() if roles
        }

    def draw(self, line: Changed, side: str, width: int) -> list[Row]:
        """Draw the next line of a side, cut at the edge; one that changed fills the width."""
        text, palette, place = self.texts[line.at], self._palette, self.first + line.at
        sign, body = text[:1] or " ", text[1 : MAX_ROW_CHARS + 1]
        style = self._styles.get(sign, palette.text)
        ground = self._grounds.get(sign, palette.text) if line.at < len(self._roles) else style
        spans = coloured(body, self._roles[line.at : line.at + 1], palette, ground)
        if line.spots:
            spans = _marked(spans, line.spots, palette.add_words if sign == "+" else palette.remove_words)
        body, spans = untabbed(body, spans)
        number, rows = self.next(side) if sign != "\\" else " " * self.label, list[Row]()
        fill = width - self.label - 2 - len(body) if sign != " " else 0
        if len(spans) == 1 and len(body) <= width - self.label - 3 and is_single(body):  # as most are
            row = [Segment(number, palette.dim)] if number else []
            row.append(Segment(f"{sign} {body}{' ' * fill}", style))
            return [Row(row, self.label, "\n", text, line=place)]
        cuts = cut_cells(body, width - self.label - 3)
        whole = len(cuts) == 1 and len(text) - 1 <= MAX_ROW_CHARS
        for start, end, join in cuts:
            row = [Segment(" " * self.label if rows else number, palette.dim)] if number else []
            row += [Segment("  " if rows else f"{sign} ", style), *slice_spans(spans, start, end)]
            if sign != " " and (fill := width - self.label - 2 - width_of(body[start:end])) > 0:
                row.append(Segment(" " * fill, style))
            source = text if whole else None if rows else text[:1] + body[start:end]
            rows.append(Row(row, self.label + (2 if rows else 0), join, source, line=place))
        if len(text) - 1 > MAX_ROW_CHARS:
            rest = rest_of_line(len(text) - 1, width)
            rows.append(Row([Segment(rest, palette.dim)], len(rest), line=place))
        return rows

    def next(self, side: str) -> str:
        """Number the next line of a side."""
        number = self._numbers[side]
        if number is not None:
            self._numbers[side] = number + 1
        return f"{'' if number is None else number:>{self.label - 1}} " if self.label else ""


def _marked(spans: list[Span], spots: list[Spot], style: Style) -> list[Span]:
    """The same with a style laid over some of its characters."""
    edges = sorted({edge for spot in spots for edge in spot})
    out: list[Span] = []
    at = 0
    for text, own in spans:
        end = at + len(text)
        for start, stop in pairwise((at, *(edge for edge in edges if at < edge < end), end)):
            marked = any(begin <= start < until for begin, until in spots)
            out.append((text[start - at : stop - at], own + style if marked else own))
        at = end
    return out


def _below(lines: _Lines, change: Change, width: int) -> Iterator[Row]:
    """Draw a change, each line below the other."""
    for line in (*change.removed, *change.added):
        text = lines.texts[line.at]
        if text[:1] not in ("-", "+", "\\"):
            lines.next("-")
        yield from lines.draw(line, "-" if text[:1] == "-" else "+", width)


def _beside(lines: _Lines, change: Change, width: int) -> Iterator[Row]:
    """Draw a change in two columns. A row of two lines is copied as both; what is the same is read at the right."""
    half = (width - len(_BETWEEN)) // 2
    sign = "+" if change.removed else lines.texts[change.added[0].at][:1]
    if sign == "\\":  # a remark is about the line before
        sign = lines.texts[change.added[0].at - 1][:1]
    alone = ((line, None if sign == "-" else line) for line in change.added)
    for one, other in change.beside() if sign == "+" else alone:
        left = lines.draw(one, "-", half) if one else []
        right = lines.draw(other, "+", half) if other else []
        for number, (old, new) in enumerate(zip_longest(left, right)):
            segments = list(old.segments) if old else []
            fill = half - sum(width_of(segment.text) for segment in segments)
            segments.append(Segment(" " * fill + _BETWEEN))
            before = sum(len(segment.text) for segment in segments)
            segments += new.segments if new else []
            if one and other and sign == "+":
                source = "" if number else f"{lines.texts[one.at]}\n{lines.texts[other.at]}"
                at = lines.first + other.at
                yield Row(segments, old.gutter if old else before, "" if number else "\n", source, line=at)
            elif row := new or old:
                yield row._replace(segments=segments, gutter=row.gutter + (before if new else 0))

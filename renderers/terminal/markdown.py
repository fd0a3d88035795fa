"""Markdown as rows, drawn from markdown-it's tokens: 15 times faster than Rich's, and every row knows its text.

Nothing that was written gets lost: raw HTML is shown as it stands, link targets stand beside their text, definitions of
references are left as text, and what is too big or nested too deeply is shown as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from renderers.surplus import keep_surplus_cells
from renderers.terminal.code import Highlights, Want
from renderers.terminal.diff import quoted_rows
from renderers.terminal.rows import MIN_WIDTH, Row, Spans, cut_words, expand_tabs, plain, width_of, wrap
from renderers.terminal.style_names import Palette
from renderers.terminal.table import table_rows
from renderers.terminal.text import code_rows
from schemas.clean import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_MARKDOWN = 64 << 10
"""Characters; markdown-it is slower than linear on some input (20 KB of `[` take half a second)."""
_MAX_BRACKETS = 4000
_NESTING = 60
_BOLD = Style(bold=True)
_STRESS = {"strong_open": _BOLD, "em_open": Style(italic=True), "s_open": Style(strike=True)}


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The parser of CommonMark with tables, in which nothing that was written gets lost."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"])
    keep_surplus_cells(made)
    # "[1]: https://…" would vanish from what can be read.
    return made.disable("reference")


def markdown_rows(
    text: str,
    width: int,
    palette: Palette,
    highlights: Highlights,
    wanted: list[Want],
    base: Style | None = None,
    *,
    wide: int = 0,
) -> list[Row]:
    """`text` drawn `width` cells wide; code and tables that need more have `wide`. `base` is the style of its prose.
    Code to be coloured later goes to `wanted`.
    """
    base = palette.text if base is None else base
    if len(text) > MAX_MARKDOWN or text.count("[") > _MAX_BRACKETS or text.count("*") > 2 * _MAX_BRACKETS:
        return list(prose_rows(text, width, base))
    tokens = parser().parse(text)
    if any(token.level >= _NESTING - 2 for token in tokens):  # markdown-it leaves out what is nested deeper
        return list(prose_rows(text, width, base))
    drawing = _Drawing(width, max(width, wide), palette, highlights, wanted, base)
    drawing.draw(tokens)
    return drawing.rows


def prose_rows(text: str, width: int, style: Style) -> Iterator[Row]:
    """Text as it stands, wrapped between words; the wrapped part keeps the line's indentation."""
    for line in text.split("\n"):
        shown = expand_tabs(line)
        source = line if "\t" in line else None
        indent = min(len(shown) - len(shown.lstrip(" ")), width // 3)
        cuts = cut_words(shown[indent:], width - indent)
        for number, (start, end, join) in enumerate(cuts):
            body = shown[indent + start : indent + end]
            segments = [Segment(" " * indent, style)] if indent else []
            segments.append(Segment(body, style))
            yield Row(segments, indent if number else 0, join, source if len(cuts) == 1 else None)


class _Drawing:
    """Walks the tokens of one document."""

    def __init__(
        self, width: int, wide: int, palette: Palette, highlights: Highlights, wanted: list[Want], base: Style
    ) -> None:
        self.rows: list[Row] = []
        self._width, self._palette, self._base = width, palette, base
        self._more = wide - width
        """Cells that code and tables may have beyond the width."""
        self._highlights, self._wanted = highlights, wanted
        self._indent: list[Segment] = []  # before every row: quote bars, the width of list markers
        self._markers: dict[int, Segment] = {}  # before the next row only, each in place of that indentation
        self._gap = False  # a blank row is due before the next block
        self._lists: list[tuple[int | None, bool]] = []  # next number (None: bullets), whether it is tight

    def draw(self, tokens: list[Token]) -> None:
        """All blocks of a document, or of a container."""
        i = 0
        while i < len(tokens):
            i = self._block(tokens, i)

    def _block(self, tokens: list[Token], i: int) -> int:
        token = tokens[i]
        kind = token.type
        if kind == "inline":
            style = self._palette.heading if i and tokens[i - 1].type == "heading_open" else self._base
            self._paragraph(token, style)
        elif kind in ("fence", "code_block"):
            self._code(token)
        elif kind == "html_block":
            self._text(token.content.rstrip("\n"), self._palette.dim)
        elif kind == "hr":
            self._space()
            self._row([Segment("─" * max(1, self._room), self._palette.rule)], gutter=0)
            self._gap = True
        elif kind == "table_open":
            end = _closing(tokens, i)
            self._table(tokens[i : end + 1])
            return end + 1
        elif kind in ("paragraph_close", "heading_close"):
            self._gap = not token.hidden
        elif kind == "blockquote_open":
            self._space()
            self._push(Segment("▎ ", self._palette.rule))
        elif kind == "blockquote_close":
            self._pop()
            self._gap = True
        else:
            self._list(tokens, i)
        return i + 1

    def _list(self, tokens: list[Token], i: int) -> None:
        token = tokens[i]
        if token.type in ("bullet_list_open", "ordered_list_open"):
            number = int(token.attrs.get("start", 1)) if token.type.startswith("ordered") else None
            self._lists.append((number, _is_tight(tokens, i)))
        elif token.type == "list_item_open":
            number, tight = self._lists[-1]
            self._space()
            marker = "• " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = (number + 1, tight)
            self._push(Segment(" " * len(marker)))
            self._markers[len(self._indent) - 1] = Segment(marker, self._palette.rule)
        elif token.type == "list_item_close":
            if len(self._indent) - 1 in self._markers:  # an empty item
                self._row([], gutter=0)
            self._pop()
            self._gap = not self._lists[-1][1]
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
            self._gap = not self._lists or not self._lists[-1][1]

    # -- indentation -----------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        """Cells left for text behind the indentation; deep nesting takes at most half of the width."""
        return max(self._width - self._indent_cells(), self._width // 2, MIN_WIDTH)

    def _indent_cells(self) -> int:
        return sum(len(segment.text) for segment in self._indent)

    def _push(self, segment: Segment) -> None:
        self._indent.append(segment)
        self._gap = False

    def _pop(self) -> None:
        self._indent.pop()
        self._markers.pop(len(self._indent), None)

    def _space(self) -> None:
        """The blank row between two blocks."""
        if self._gap and self.rows:
            self._row([], gutter=0)
        self._gap = False

    def _row(self, segments: list[Segment], gutter: int, join: str = "\n", source: str | None = None) -> None:
        """A row behind the indentation; `gutter` counts decoration of the block's own."""
        indent = self._indent
        if self._markers:
            indent = [self._markers.get(i, segment) for i, segment in enumerate(indent)]
            self._markers.clear()
        cells = self._indent_cells()
        if cells > self._width - self._room:
            indent, cells = self._narrowed(indent)
        if not segments:
            indent = [Segment(segment.text.rstrip(), segment.style) for segment in indent if segment.text.strip()]
            cells = sum(len(segment.text) for segment in indent)
        self.rows.append(Row([*indent, *segments], cells + gutter, join, source))

    def _narrowed(self, indent: list[Segment]) -> tuple[list[Segment], int]:
        room = max(self._width - self._room, 0)
        kept: list[Segment] = []
        for segment in reversed(indent):
            if len(segment.text) > room:
                break
            kept.insert(0, segment)
            room -= len(segment.text)
        return kept, sum(len(segment.text) for segment in kept)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _paragraph(self, token: Token, style: Style) -> None:
        self._space()
        for spans in self._inline(token, style):
            task = self._task(spans) if len(self._indent) - 1 in self._markers else None
            for segments, join in wrap(task or spans, self._room):
                self._row(segments, 0, join)

    def _task(self, spans: Spans) -> Spans | None:
        """A task list's box takes the place of the bullet."""
        text, style = spans[0] if spans else ("", Style())
        place = len(self._indent) - 1
        for box, mark, colour in (("[ ] ", "☐ ", self._palette.dim), ("[x] ", "☑ ", self._palette.good)):
            if text[:4].lower() == box and self._markers[place].text == "• ":
                self._markers[place] = Segment(mark, colour)
                return [(text[4:], style), *spans[1:]]
        return None

    def _text(self, text: str, style: Style) -> None:
        self._space()
        for row in prose_rows(text, self._room, style):
            self._row(row.segments, row.gutter, row.join, row.source)
        self._gap = True

    def _code(self, token: Token) -> None:
        self._space()
        words = token.info.split()
        language = clean(words[0]).lower() if words else ""
        code = token.content.removesuffix("\n")
        needs = max(map(width_of, code.expandtabs(4).split("\n"))) + 2
        width = min(max(needs, self._room), self._room + self._more)
        drawing = (width, self._palette, self._highlights, self._wanted)
        rows = list(quoted_rows(code, *drawing)) if language in ("diff", "patch") else []
        for row in rows or code_rows(code, language, *drawing):
            self._row(row.segments, row.gutter, row.join, row.source)
        self._gap = True

    def _table(self, tokens: list[Token]) -> None:
        self._space()
        rows: list[list[Spans]] = []
        alignments: list[str] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                alignments.append(str(token.attrs.get("style", "")).rpartition(":")[2])
            elif token.type == "inline":
                bold = self._base + _BOLD if len(rows) == 1 else self._base
                lines = self._inline(token, bold)
                rows[-1].append([span for line in lines for span in line])
        for row in table_rows(rows, alignments, self._room + self._more, self._palette):
            self._row(row.segments, row.gutter, row.join)
        self._gap = True

    # -- within a line ---------------------------------------------------------------------------------------------

    def _inline(self, token: Token, base: Style) -> list[Spans]:
        """The lines of a paragraph. An agent's line breaks are kept, as its own program keeps them."""
        lines: list[Spans] = [[]]
        styles = [base]
        targets: list[tuple[str, int]] = []
        for child in token.children or []:
            kind = child.type
            if kind == "text":
                self._add(lines, child.content, styles[-1])
            elif kind in ("softbreak", "hardbreak"):
                lines.append([])
            elif kind == "code_inline":
                self._add(lines, child.content, styles[-1] + self._palette.code)
            elif kind in _STRESS:
                styles.append(styles[-1] + _STRESS[kind])
            elif kind == "link_open":
                targets.append((str(child.attrs.get("href", "")), len(lines[-1])))
                styles.append(styles[-1] + self._palette.link)
            elif kind in ("strong_close", "em_close", "s_close", "link_close"):
                styles.pop()
                if kind == "link_close" and targets:
                    self._target(lines, *targets.pop())
            elif kind == "image":
                self._add(lines, f"[image: {child.content or 'untitled'}]", styles[-1] + self._palette.link)
                self._target(lines, str(child.attrs.get("src", "")), 0)
            elif kind == "html_inline":
                self._add(lines, child.content, styles[-1] + self._palette.dim)
        return lines

    def _add(self, lines: list[Spans], text: str, style: Style) -> None:
        # markdown-it turns entities into characters, and `&#x202e;` must not get round the one door.
        if text:
            lines[-1].append((expand_tabs(clean(text)).replace("\n", " "), style))

    def _target(self, lines: list[Spans], href: str, since: int) -> None:
        """Show the target of a link beside its text, unless it is its text: nobody should have to trust a label."""
        shown = plain(lines[-1][since:]) if lines[-1][since:] else ""
        if href and href not in (shown, f"mailto:{shown}") and href.rstrip("/") != shown.rstrip("/"):
            self._add(lines, f" ({href})", self._base + self._palette.dim)


def _closing(tokens: list[Token], i: int) -> int:
    level = tokens[i].level
    return next(
        (k for k in range(i + 1, len(tokens)) if tokens[k].level == level and tokens[k].nesting < 0), len(tokens) - 1
    )


def _is_tight(tokens: list[Token], i: int) -> bool:
    """Return whether a list's items stand without blank rows between them: markdown-it hides their paragraphs then."""
    level = tokens[i].level + 2
    for token in tokens[i + 1 : _closing(tokens, i)]:
        if token.type == "paragraph_open" and token.level == level:
            return token.hidden
    return True

"""Markdown tables in plain text: their cells in columns, where a terminal is wide enough for that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

WIDEST = 120
"""Cells; a table with more stays as it was written."""
_MOST = 64 << 10
"""Characters; markdown-it is slower than linear on some input."""
_GAP = "  "
_RULE = re.compile(r"^ {0,3}[|:]?[ \t]*:?-+:?[ \t]*(?:\||$)[-:| \t]*$", re.MULTILINE)
"""The line under a table's heading."""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def aligned_tables(text: str) -> str:
    """The text with each table that stands by itself in it in columns; everything else is as it was."""
    if "|" not in text or len(text) > _MOST or not _RULE.search(text):
        return text
    lines, out, at = text.split("\n"), list[str](), 0
    tokens = _parser().parse(text)
    for number, token in enumerate(tokens):
        if token.type == "table_open" and token.level == 0 and token.map:
            start, end = token.map
            table, right = _cells(tokens[number:])
            # Of a row with more cells than the heading the parser drops what is too much.
            whole = _letters(lines[start:end]) == _letters(cell for row in table for cell in row)
            if whole and (rows := list(_rows(table, right))):
                out += [*lines[at:start], *rows]
                at = end
    return "\n".join([*out, *lines[at:]])


def _letters(texts: Iterable[str]) -> str:
    return "".join(char for text in texts for char in text if char.isalnum())


def _cells(tokens: list[Token]) -> tuple[list[list[str]], list[bool]]:
    """The cells of the table that the tokens begin with, and which columns go to the right."""
    rows: list[list[str]] = []
    right: list[bool] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            right.append("right" in str(token.attrs.get("style", "")))
        elif token.type == "inline":
            rows[-1].append(_text(token))
    return rows, right


def _text(cell: Token) -> str:
    """A cell without escapes and without the marks of bold and italics; one with other markup as it was written."""
    out = ""
    for child in cell.children or []:
        if child.type in ("text", "text_special"):
            out += child.content
        elif child.type == "code_inline":
            out += f"{child.markup}{child.content}{child.markup}"
        elif child.type not in ("strong_open", "strong_close", "em_open", "em_close"):
            return cell.content
    return out


def _rows(table: list[list[str]], right: list[bool]) -> Iterator[str]:
    """The lines of a table; none where they would be too wide. A heading is wrapped before its column grows."""
    from rich.style import Style

    from renderers.terminal.rows import width_of, wrap

    heading, *body = table
    words = [max(map(width_of, cell.split()), default=0) for cell in heading]
    widths = [max([few, *(width_of(row[c]) for row in body)]) for c, few in enumerate(words)]
    style = Style()
    wrapped = [
        ["".join(segment.text for segment in segments) for segments, _ in wrap([(cell, style)], width)]
        if cell
        else [""]
        for cell, width in zip(heading, widths, strict=True)
    ]
    # A heading is not wrapped into less than a few cells.
    widths = [max([width, *map(width_of, cell)]) for width, cell in zip(widths, wrapped, strict=True)]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > WIDEST:
        return

    def line(cells: list[str]) -> str:
        fills = [" " * (width - width_of(cell)) for cell, width in zip(cells, widths, strict=True)]
        shown = [f + cell if r else cell + f for cell, f, r in zip(cells, fills, right, strict=True)]
        return _GAP.join(shown).rstrip()

    height = max(map(len, wrapped))
    for number in range(height):
        yield line([cell[i] if (i := number - height + len(cell)) >= 0 else "" for cell in wrapped])
    yield _GAP.join("─" * width for width in widths)
    yield from map(line, body)

"""Markdown tables in plain text: drawn as on the screen, where they are no wider than most terminals."""

from __future__ import annotations

import re

_NARROW, WIDEST = 76, 120
"""Cells: of a table with more than the first the heading is wrapped, one with more than the second stays as it was."""
_MOST = 64 << 10
"""Characters; markdown-it is slower than linear on some input."""
_RULE = re.compile(r"^ {0,3}[|:]?[ \t]*:?-+:?[ \t]*(?:\||$)[-:| \t]*$", re.MULTILINE)
"""The line under a table's heading."""


def aligned_tables(text: str) -> str:
    """The text with each table that stands by itself in it in columns; everything else is as it was."""
    if "|" not in text or len(text) > _MOST or not _RULE.search(text):
        return text
    from renderers.terminal.markdown import parser

    lines, out, at = text.split("\n"), list[str](), 0
    for token in parser().parse(text):
        if token.type == "table_open" and token.level == 0 and token.map:
            start, end = token.map
            if rows := _drawn("\n".join(lines[start:end]), end - start - 2):
                out += [*lines[at:start], *rows]
                at = end
    return "\n".join([*out, *lines[at:]])


def _drawn(table: str, count: int) -> list[str]:
    """The lines of a table with so many rows below its heading; none where a row would take several."""
    from renderers.terminal.code import Highlights
    from renderers.terminal.markdown import markdown_rows
    from renderers.terminal.style_names import Palette

    for width in (_NARROW, WIDEST):
        rows = [row.text.rstrip() for row in markdown_rows(table, width, Palette(), Highlights(), [])]
        rule = rows[-count - 1]
        if set(rule) <= {"─", "┼"} and all(row.count("│") == rule.count("┼") for row in rows[len(rows) - count :]):
            return rows
    return []

"""The text that a person selected with the mouse: the source, not its picture on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from renderers.headline import headline, tool_command, tool_slice
from renderers.terminal.rows import Row
from schemas.message import Message, Tool
from viewer.transcript.layout import Position

if TYPE_CHECKING:
    from renderers.redact import Redactor

LINE_BITS, _ABOVE = 20, 2
"""A selection's row number is the message's index and, in the lower bits, the line within its block; so many lines can
stand above its own.
"""
MARK_CELLS = 1
"""The cursor's mark stands before every row."""


def row_number(position: Position) -> int:
    """A position as the one number Textual's selections are ordered by."""
    return position.block << LINE_BITS | position.line + _ABOVE


def position_of(number: int) -> Position:
    """The position behind such a number."""
    return Position(number >> LINE_BITS, (number & ((1 << LINE_BITS) - 1)) - _ABOVE)


def message_source(message: Message, workspace_root: str | None = None) -> str:
    """A message as its author wrote it; a tool use with its input, its changes and its output."""
    if message.tool is not None:
        return tool_source(message.tool, workspace_root)
    return message.text or message.label


def redacted_source(message: Message, workspace_root: str | None, redactor: Redactor) -> str:
    """The same without secrets. A tool's input names its values, which tells what is one."""
    if message.tool is not None:
        message = replace(message, tool=replace(message.tool, input=redactor.hide(message.tool.input)))
    return redactor.redact(message_source(message, workspace_root))


def tool_source(tool: Tool, workspace_root: str | None = None) -> str:
    """A tool use as text; lines of a file without the numbers before them."""
    command = tool_command(tool)
    head = f"$ {command}" if command is not None else headline(tool, workspace_root).title
    parts = [head, *(diff.unified().rstrip("\n") for diff in tool.diffs)]
    if tool.text and not (tool.diffs and tool.status == "ok"):
        part = tool_slice(tool)
        parts.append(part.whole if part else tool.text)
    return "\n".join(parts)


def rows_text(rows: list[Row], start: int = 0, end: int | None = None) -> str:
    """The text of neighbouring rows: their decoration left out, wrapped lines joined again, tabs as they were.

    `start` and `end` are character offsets on the screen in the first and in the last row.
    """
    pieces: list[str] = []
    last = len(rows) - 1
    for number, row in enumerate(rows):
        text = row.text
        left = max(row.gutter, start - MARK_CELLS if number == 0 else 0)
        right = len(text) if number < last or end is None else min(len(text), max(0, end - MARK_CELLS))
        whole = left <= row.gutter and right >= len(text)
        piece = row.source if whole and row.source is not None else text[left:right].rstrip(" " if whole else "")
        pieces.append((row.join if number else "") + piece)
    return "".join(pieces)


def selected_text(
    start: tuple[int, Position],
    end: tuple[int, Position],
    blocks: Iterator[int],
    rows_of: Callable[[int], list[Row]],
    source_of: Callable[[int], str],
) -> str:
    """The text between two places, each a character offset in a line.

    `blocks` are the visible messages from the first to the last, `rows_of` gives a block's own rows. A block that is
    selected as a whole gives its source.
    """
    pieces: list[str] = []
    for block in blocks:
        rows = rows_of(block)
        first = start[1].line if block == start[1].block else 0
        last = end[1].line if block == end[1].block else len(rows) - 1
        left = start[0] if block == start[1].block and first >= 0 else 0
        right = end[0] if block == end[1].block else None
        first, last = max(0, first), min(last, len(rows) - 1)
        if last < first:
            continue
        at_start = first == 0 and left - MARK_CELLS <= rows[0].gutter
        at_end = last == len(rows) - 1 and (right is None or right - MARK_CELLS >= len(rows[-1].text.rstrip()))
        if at_start and at_end and not (len(rows) == 1 and rows[0].act == "fold"):
            pieces.append(source_of(block))
        else:
            pieces.append(rows_text(rows[first : last + 1], left, right))
    return "\n".join(pieces)

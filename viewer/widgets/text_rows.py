"""A list of rows of text that somebody else makes, each with facts at its right end."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from textual.message import Message
from textual.strip import Strip

from renderers.terminal.rows import crop, width_of
from viewer.widgets.row_list import RowList, on_background

_APART = 2


class TextRow(NamedTuple):
    """A row: texts with the names of their styles, and its facts."""

    parts: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...] = ()


class TextRows(RowList):
    """Rows of text. The cursor can be on each of them."""

    class Moved(Message):
        """The cursor is on another row."""

    class Chosen(Message):
        """The row under the cursor was clicked twice."""

    rows: list[TextRow] = []

    def show(self, rows: list[TextRow], current: int = 0) -> None:
        """Show other rows, with the cursor on one of them."""
        self.rows, self._cursor = rows, current if rows else None
        self._fit()
        self._keep_cursor_in_sight()
        self.refresh(layout=True)
        self.post_message(self.Moved())

    @property
    def current(self) -> int | None:
        """The row under the cursor; None where there are none."""
        return self._cursor

    def _count(self) -> int:
        return len(self.rows)

    def _can(self, index: int) -> bool:
        return 0 <= index < len(self.rows)

    def _moved(self) -> None:
        self.post_message(self.Moved())

    def _choose(self) -> None:
        self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """A row: its texts, cut where they are too long, and its facts at the right."""
        width, index = self.size.width, self._top + y
        if not self._styles or index >= len(self.rows):
            return Strip.blank(width, self._styles.get("text"))
        row, text = self.rows[index], self._styles["text"]
        facts = sum(width_of(part) for part, _ in row.facts)
        room = width - 2 - (facts + _APART if facts else 0)
        segments = [Segment("▌" if index == self._cursor else " ", self._styles["accent"])]
        for part, style in row.parts:
            shown = crop(part, max(0, room))
            segments.append(Segment(shown, self._styles[style]))
            room -= width_of(shown)
        if facts:
            segments.append(Segment(" " * (max(0, room) + _APART), text))
            segments += [Segment(part, self._styles[style]) for part, style in row.facts]
        strip = Strip(segments).adjust_cell_length(width, text).apply_style(text)
        return on_background(strip, self._styles["cursor"]) if index == self._cursor else strip

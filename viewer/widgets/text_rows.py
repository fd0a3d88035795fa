"""A list of rows of text that somebody else makes, each with facts at its right end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.segment import Segment

from renderers.terminal.rows import crop, width_of
from viewer.widgets.row_list import RowList

_APART = 2


class TextRow(NamedTuple):
    """A row: texts with the names of their styles, and its facts."""

    parts: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...] = ()


class TextRows(RowList):
    """Rows of text. The cursor can be on each of them."""

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

    def _row(self, index: int, width: int) -> Iterator[Segment]:
        """The texts, cut where they are too long, and the facts at the right."""
        row = self.rows[index]
        facts = sum(width_of(part) for part, _ in row.facts)
        room = width - 2 - (facts + _APART if facts else 0)
        for part, style in row.parts:
            shown = crop(part, max(0, room))
            yield Segment(shown, self._styles[style])
            room -= width_of(shown)
        yield Segment(" " * (max(0, room) + _APART))
        for part, style in row.facts:
            yield Segment(part, self._styles[style])

"""The list of sessions: a line API widget, so that ten thousand sessions cost what a screenful costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip

from renderers.facts import project_name
from viewer.widgets.list_columns import NEWEST, CostOf, cell, cells, cut, shown
from viewer.widgets.row_list import RowList
from viewer.widgets.rows import HERE, Row

if TYPE_CHECKING:
    from viewer.index.summary import Summary

_TITLE = 8
"""The fewest cells of a title beside which the number of new messages is said."""
_PROJECT = 18
"""The most cells that a project's name takes from the title."""


class SessionList(RowList):
    """Rows of sessions under a heading line that stays. The cursor belongs to a session, not to a line."""

    HEAD = 1

    @dataclass
    class Ordered(Message):
        """The name of a column was clicked: its order is wanted."""

        order: str

    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float],
        cost_of: CostOf = lambda summary: None,
        place: Path | None = None,
        new_in: Callable[[Summary], int] = lambda summary: 0,
        **options: Any,
    ) -> None:
        """`place` is the session that the cursor begins on, if it is there. `new_in` says how many messages came to a
        session since it was read last.
        """
        super().__init__(**options)
        self._directory, self._clock, self._cost_of, self._new_in = directory, clock, cost_of, new_in
        self._rows: list[Row] = []
        self._order = NEWEST
        self._place = place
        """The session under the cursor, or that it is to be on."""
        self._chosen = place is not None
        self.marked: list[Path] = []
        """The sessions that are to be compared."""

    # -- content ---------------------------------------------------------------------------------------------------

    def show(self, rows: list[Row], order: str, *, to_top: bool = False) -> None:
        """Show other rows, in an order. The cursor stays on its session, and that on its line, unless `to_top`, and
        unless nobody has moved.
        """
        self._order = order
        to_top = to_top or not (self._chosen or self._top)
        was, line = self.current, 0 if self._cursor is None else self._cursor - self._top
        # The line on top says what the first group is.
        self._rows = rows[1:] if rows and rows[0].summary is None else rows
        self._cursor = None if to_top else self._find(self._place)
        if self._cursor is None:
            self._cursor = self._next(0, 1)
            line = 0
        self._fit()
        # A list that shows its beginning goes on showing it while the cursor is in sight.
        top = self._top if self._top == 0 and not to_top else (self._cursor or 0) - line
        self._scroll_top(top)
        self._keep_cursor_in_sight()
        self.refresh()
        if (now := self.current) is not None:
            self._place = now.path
        if now is None or was is None or now.path != was.path or now is not was:
            self.post_message(self.Moved())

    def _find(self, path: Path | None) -> int | None:
        file = None if path is None else str(path)
        rows = enumerate(self._rows) if file else ()
        return next((i for i, row in rows if row.summary is not None and row.summary.file == file), None)

    @property
    def current(self) -> Summary | None:
        """The session under the cursor."""
        return None if self._cursor is None else self._rows[self._cursor].summary

    def in_sight(self) -> list[Summary]:
        """The sessions that can be seen."""
        rows = self._rows[self._top : self._top + self._page]
        return [row.summary for row in rows if row.summary is not None]

    def _count(self) -> int:
        return len(self._rows)

    def _can(self, index: int) -> bool:
        return self._rows[index].summary is not None

    def _moved(self) -> None:
        if (now := self.current) is not None:
            self._place = now.path
        super()._moved()

    def _head_clicked(self, x: int) -> None:
        """The name of a column was clicked."""
        width = self.size.width
        end = self._title_width(width) + cells(width, self._order)
        for column in reversed(shown(width, self._order)):
            end -= len(cell(column, ""))
            if x >= end:
                if column.order:
                    self.post_message(self.Ordered(column.order))
                return

    # -- drawing ---------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The heading that stays, then the rows."""
        if y or not self._styles or not self._rows:
            return super().render_line(y)
        width, dim = self.size.width, self._styles["dim"]
        heading = self._rows[min(self._top, len(self._rows) - 1)].heading
        strip = [Segment(set_cell_size(f" {heading}", self._title_width(width)), self._styles["accent"])]
        for column in shown(width, self._order):
            style = self._styles["accent"] if column.order == self._order else dim
            strip.append(Segment(cell(column, column.name), style))
        return Strip(strip).adjust_cell_length(width, dim)

    def _row(self, index: int, width: int) -> Iterable[Segment]:
        row = self._rows[index]
        if row.summary is not None:
            return self._session(row, row.summary, width, index == self._cursor)
        # Right below the line on top it would be said twice.
        return [Segment("" if index == self._top else row.heading, self._styles["accent"])]

    def _title_width(self, width: int) -> int:
        return max(8, width - cells(width, self._order) - 1)

    def _session(self, row: Row, summary: Summary, width: int, cursor: bool) -> list[Segment]:
        styles = self._styles
        room = self._title_width(width) - 3
        lead = ("  " * row.depth + "↳ ") if row.depth else ""
        now, cost = self._clock(), self._cost_of(summary)
        facts = "".join(cell(column, column.text(summary, now, cost)) for column in shown(width, self._order))
        here = row.heading == HERE and summary.workspace_root == str(self._directory)
        project = "" if here else cut(project_name(summary.workspace_root), min(_PROJECT, room // 3))
        if project:
            room -= cell_len(project) + 2
            project = f"  {project}"
        new = f"  {count:,} new" if (count := self._new_in(summary)) else ""
        new = new if cell_len(new) + _TITLE <= room else ""
        room -= cell_len(new)
        title = set_cell_size(cut(lead + (summary.shown_title), room), room)
        return [
            Segment("✓", styles["accent"]) if summary.path in self.marked else _mark(summary, styles),
            Segment(" ", None),
            Segment(title, styles["text"] + Style(bold=True) if cursor else styles["text"]),
            Segment(project, styles["dim"]),
            Segment(new, styles["accent"]),
            Segment(facts, styles["dim"]),
        ]


def _mark(summary: Summary, styles: dict[str, Style]) -> Segment:
    """The mark of a session that is being written, or of one that ended badly."""
    if summary.live:
        return Segment("●", styles["good"])
    return Segment("!" if summary.failure else " ", styles["warn"])

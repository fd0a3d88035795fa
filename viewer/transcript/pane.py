"""A scrolling pane of rows: for records, figures and other things to look up. Only what one sees is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from renderers.terminal.rows import Row


class RowsPane(ScrollView, can_focus=True):
    """Rows made for the pane's width by `make(width)`."""

    DEFAULT_CSS = """
    RowsPane { height: auto; max-height: 100%; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def __init__(self, make: Callable[[int], list[Row]], **options: Any) -> None:
        super().__init__(**options)
        self._make = make
        self._rows: list[Row] = []

    def on_resize(self, event: Resize) -> None:
        self.remake()

    def remake(self, make: Callable[[int], list[Row]] | None = None) -> None:
        """Make the rows again: for another width, or because there is more to say in them, or something else."""
        self._make = make or self._make
        width = max(20, self.scrollable_content_region.width)
        self._rows = self._make(width)
        self.virtual_size = Size(width, len(self._rows))
        self.refresh(layout=True)

    def grown(self) -> None:
        """Show that there are more rows: whoever made them has added some."""
        self.virtual_size = Size(self.virtual_size.width, len(self._rows))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = round(self.scroll_offset.y) + y
        if row >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        base = self.rich_style
        segments = [Segment(text, base + style if style else base) for text, style, _ in self._rows[row].segments]
        return Strip(segments).crop_extend(0, width, base).apply_offsets(0, row)

    @property
    def text(self) -> str:
        """Everything, as text."""
        return "\n".join(row.text for row in self._rows)

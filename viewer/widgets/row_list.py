"""Rows drawn a line at a time, with a cursor or to be read: ten thousand of them cost what a screenful costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from renderers.terminal.rows import Row, crop, width_of
from viewer.screens.config_keys import Keyed
from viewer.screens.program import back
from viewer.transcript.colours import row_styles


class RowList(ScrollView, can_focus=False):
    """Rows of which some can be chosen, below `HEAD` lines that stay. Who derives from it makes and draws them."""

    ALLOW_SELECT = False
    HEAD: ClassVar[int] = 0
    DEFAULT_CSS = """
    RowList {
        width: 1fr; height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1;
        scrollbar-gutter: stable; background: $background;
    }
    """

    class Scrolled(Message):
        """Other rows are in sight."""

    class Moved(Message):
        """The cursor is on another row, or on none."""

    class Chosen(Message):
        """The row under the cursor was clicked twice."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._rows: Sequence[Any] = ()
        self._cursor: int | None = None
        self._chosen = False
        """Whether a person has moved the cursor; until then it is on the first row."""
        self._clicked: int | None = None
        self._styles: dict[str, Style] = {}

    # -- what the rows are -----------------------------------------------------------------------------------------

    def _count(self) -> int:
        """Count the lines."""
        return len(self._rows)

    def _can(self, index: int) -> bool:
        """Tell whether the cursor can be on a row."""
        return True

    def _row(self, index: int, width: int) -> Iterable[Segment]:
        """Draw a row, its first cell left to the mark of the cursor."""
        raise NotImplementedError

    def _moved(self) -> None:
        """Act on the cursor's being on another row."""
        self.post_message(self.Moved())

    def _head_clicked(self, x: int) -> None:
        """Act on a click on the lines that stay."""

    # -- moving ----------------------------------------------------------------------------------------------------

    @property
    def _top(self) -> int:
        return int(self.scroll_offset.y)

    @property
    def _page(self) -> int:
        return max(1, self.size.height - self.HEAD)

    @property
    def cursor_row(self) -> int | None:
        """The row of the screen on which the cursor is."""
        return None if self._cursor is None else self.region.y + self._cursor - self._top

    @property
    def at_top(self) -> bool:
        """Tell whether the cursor is on the first row that can be chosen."""
        return self._cursor == self._next(0, 1)

    def move(self, lines: int) -> None:
        """Move the cursor by so many lines; it ends on a row that can be chosen."""
        self._clicked = None
        if self._cursor is None:
            return
        goal = min(max(self._cursor + lines, 0), self._count() - 1)
        step = 1 if lines > 0 else -1
        found = self._next(goal, step)
        if found is None:
            found = self._next(goal, -step)
        self._go(found)

    def page(self, pages: int) -> None:
        """Move by pages."""
        self.move(pages * max(1, self._page - 1))

    def first(self) -> None:
        """Go to the first row."""
        self._go(self._next(0, 1))

    def last(self) -> None:
        """Go to the last row."""
        self._go(self._next(self._count() - 1, -1))

    def _next(self, index: int, step: int) -> int | None:
        while 0 <= index < self._count():
            if self._can(index):
                return index
            index += step
        return None

    def _go(self, index: int | None) -> None:
        if index is None or index == self._cursor:
            return
        left, top, self._cursor, self._chosen = self._cursor, self._top, index, True
        self._keep_cursor_in_sight()
        if left is None or self._top != top:
            self.refresh()
        else:  # all others look as they did
            self.refresh(*(Region(0, row - top + self.HEAD, self.size.width, 1) for row in (left, index)))
        self._moved()

    def _fit(self) -> None:
        """Take the rows' number as the height."""
        self.virtual_size = Size(self.size.width, self._count() + self.HEAD)

    def _keep_cursor_in_sight(self) -> None:
        if self._cursor is None:
            return
        first = self._cursor
        # With a group's first row its heading comes into sight.
        if first > 0 and not self._can(first - 1):
            first -= 1
        if first < self._top:
            self._scroll_top(first)
        elif self._cursor >= self._top + self._page:
            self._scroll_top(self._cursor - self._page + 1)

    def _scroll_top(self, top: int) -> None:
        self.scroll_to(y=max(0, min(top, self._count() - self._page)), animate=False, force=True, immediate=True)

    # -- events ----------------------------------------------------------------------------------------------------

    def on_click(self, event: Click) -> None:
        """One click selects, the second chooses."""
        event.stop()
        if event.y < self.HEAD:
            self._head_clicked(event.x)
            return
        index = self._top + event.y - self.HEAD
        if index >= self._count() or not self._can(index):
            return
        chosen = index == self._cursor and (event.chain > 1 or self._clicked == index)
        self._clicked = index
        self._go(index)
        if chosen:
            self.post_message(self.Chosen())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell that other rows are in sight."""
        super().watch_scroll_y(old_value, new_value)
        if int(old_value) != int(new_value):
            self.post_message(self.Scrolled())

    def on_resize(self) -> None:
        """Keep the cursor in sight; there may be more rows now."""
        self._fit()
        self._keep_cursor_in_sight()
        self.post_message(self.Scrolled())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}

    # -- drawing ---------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines. Styles are looked up once a frame: it costs as much as drawing a line."""
        if not self._styles:
            self._styles = row_styles(self)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width, index = self.size.width, self._top + y - self.HEAD
        if not self._styles or not 0 <= index < self._count():
            return Strip.blank(width, self._styles.get("text"))
        text, here = self._styles["text"], index == self._cursor
        mark = Segment("▌", self._styles["accent"]) if here else Segment(" ")
        strip = Strip([mark, *self._row(index, width)]).adjust_cell_length(width, text).apply_style(text)
        if not here:
            return strip
        under = Style(bgcolor=self._styles["cursor"].bgcolor)
        return Strip([Segment(s.text, (s.style or Style()) + under) for s in strip], strip.cell_length)


_APART = 2


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


class TextRow(NamedTuple):
    """A row: texts with the names of their styles, and its facts."""

    parts: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...] = ()


class TextRows(RowList):
    """Rows of text. The cursor can be on each of them."""

    def show(self, rows: list[TextRow], current: int = 0) -> None:
        """Show other rows, with the cursor on one of them."""
        self._rows, self._cursor = rows, current if rows else None
        self._fit()
        self._keep_cursor_in_sight()
        self.refresh(layout=True)
        self.post_message(self.Moved())

    @property
    def current(self) -> int | None:
        """The row under the cursor; None where there are none."""
        return self._cursor

    def _row(self, index: int, width: int) -> Iterator[Segment]:
        """The texts, cut where they are too long, and the facts at the right."""
        row = self._rows[index]
        facts = sum(width_of(part) for part, _ in row.facts)
        room = width - 2 - (facts + _APART if facts else 0)
        for part, style in row.parts:
            shown = crop(part, max(0, room))
            yield Segment(shown, self._styles[style])
            room -= width_of(shown)
        yield Segment(" " * (max(0, room) + _APART))
        for part, style in row.facts:
            yield Segment(part, self._styles[style])


class RowListKeys(Keyed, Widget):
    """Whatever holds one list of rows, whose cursor its keys move."""

    def action_go(self, how: str, *by: int) -> None:
        """Move the list's cursor by one of its methods: move, page, first or last."""
        getattr(self.query_one(RowList), how)(*by)


class RowListScreen(Screen[None], RowListKeys):  # Screen first: Textual takes styles from the first base alone
    """A screen whose keys move the cursor of the one list of rows on it."""

    DEFAULT_CSS = "RowListScreen > TitleBar { background: $surface; margin-bottom: 1; }"

    async def action_back(self) -> None:
        await back(self)

"""The part of a transcript that is on the screen: a scroll view that draws only the lines one sees.

Its place is (message, line), never a row number: rows above the screen are estimates that change when they are drawn,
and what one reads must not move for that. `scroll_y` follows from the place and serves the scroll bar only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from textual.events import Resize
from textual.geometry import Region, Size
from textual.message import Message as Event
from textual.scroll_view import ScrollView
from textual.strip import Strip

from renderers.terminal.code import Highlights, Want
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.rows import Row
from renderers.terminal.styles import Palette
from schemas.message import Kind
from schemas.session import Session
from viewer.follow.follower import SLICE
from viewer.transcript.colours import CSS, extra_style, palette_of
from viewer.transcript.drawn import Drawn, DrawnBlocks
from viewer.transcript.folds import Folds
from viewer.transcript.layout import Layout, Position
from viewer.transcript.painting import Overlay, row_strip, unread_strip, with_cursor, with_mark, with_selection
from viewer.transcript.select import row_number

_START = Position(0, 0)
QUIET = 0.08
"""How long after a key slow work goes on."""


class TranscriptWindow(ScrollView, can_focus=True):
    """A session's messages, as much of them as fits, from the line `top` on."""

    DEFAULT_CSS = CSS

    class Moved(Event):
        """The cursor moved, or what is around it changed."""

    def __init__(self, session: Session, *, at_end: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.session = session
        self.following = at_end
        """Whether the view keeps to the end as the session grows."""
        self.cursor = _START
        """The line that keys act on."""
        self.sought = ""
        """What is looked for, as a `search_key`; its matches are marked."""
        self.unread: int | None = None
        """The first message that came since the person last saw the end."""
        self.marked: dict[tuple[int, int], str] = {}
        """The letters of lines that are marked, each line by the key of its message and its number in it."""
        self.touched = 0.0
        """When a key was last pressed (monotonic clock): slow work waits while keys are coming."""
        self.folds = Folds(session)
        self.layout_of = Layout(session, self.folds)
        self._look = Look(80, Palette(), Highlights())
        self._drawn = DrawnBlocks(session, self._look)
        self._top = _START
        self._opens_at: tuple[int, int, int | None] | None = None
        """What `go_to` was asked for before the first picture."""
        self._rows: list[Position] = []
        self._lines: list[tuple[Drawn, int]] = []  # the block of each of them, and which of its rows
        self._row_width = 80
        self._prefetched: tuple[object, ...] = ()
        self._first_picture = True
        self._unread_since = ""
        self._overlay: Overlay | None = None
        self._painting = False

    # -- size and colours ------------------------------------------------------------------------------------------

    @property
    def height_of_page(self) -> int:
        """Lines on the screen."""
        return max(1, self.scrollable_content_region.height)

    def on_resize(self, event: Resize) -> None:
        """Wrap anew; the first line stays the first."""
        width = max(20, self.scrollable_content_region.width - 2)
        if width != self._look.width:
            self._look = replace(self._look, width=width)
            at_end = self.following
            places = [(p, self.layout_of.height(p.block)) for p in (self._top, self.cursor)] if self._rows else []
            self._drawn.clear(self._look)
            self.layout_of.set_width(width)
            if places:
                self._top, self.cursor = (self._rescaled(*place) for place in places)
            if self.text_selection is not None:
                self.screen.clear_selection()
            if at_end:
                self.go_end()
                return
        if self._opens_at is not None:
            block, line, row = self._opens_at
            self.go_to(block, line, row=row)
            return
        self.show()

    def _rescaled(self, place: Position, height: int) -> Position:
        """A place within a block that has another height now."""
        self._measure(place.block)
        line = place.line * self.layout_of.height(place.block) // max(1, height)
        return Position(place.block, line)

    def notify_style_update(self) -> None:
        """Another theme: everything is drawn anew."""
        super().notify_style_update()
        self._overlay = None
        if self._drawn is not None and self.is_attached:
            self._look = replace(self._look, palette=Palette())
            self._drawn.clear(self._look)

    def _styles_now(self) -> Overlay:
        if self._overlay is None:
            laid = {field.name: extra_style(self, field.name) for field in fields(Overlay) if field.name != "base"}
            self._overlay = Overlay(self.rich_style, **laid)
            self._look = replace(self._look, palette=palette_of(self))
            self._drawn.clear(self._look)
        return self._overlay

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, index: int) -> Drawn:
        drawn = self._drawn.get(index, self.folds.fold(index))
        if not self.layout_of.is_exact(index):
            self.layout_of.set_height(index, len(drawn.block.rows))
        return drawn

    def _measure(self, index: int) -> None:
        if not self.layout_of.is_exact(index) and self.folds.fold(index) > Fold.HIDDEN:
            self._block(index)

    def _move(self, place: Position, rows: int) -> Position:
        return self.layout_of.move(place, rows, self._measure)

    def row_at(self, place: Position) -> Row | None:
        """The row of a block at a place; None for the rows above it."""
        line = place.line - self.layout_of.head(place.block)
        rows = self._block(place.block).block.rows
        return rows[line] if 0 <= line < len(rows) else None

    @property
    def wanted(self) -> list[Want]:
        """Code on the screen that waits for its colours."""
        blocks = dict.fromkeys(place.block for place in self._rows)
        return [
            want for block in blocks for want in self._block(block).block.wanted if self._look.highlights.needs(want)
        ]

    @property
    def highlights(self) -> Highlights:
        """Coloured code."""
        return self._look.highlights

    def settle(self) -> Iterator[None]:
        """Work out how long a session is that was put here all at once."""
        layout = self.layout_of
        yield from layout.read()
        if layout is self.layout_of and self._rows:
            self._move_bar(layout.total, layout.row_of(self._top))

    def prefetch(self) -> Iterator[None]:
        """Draw what the next key will most likely show: the pages around, the exchanges around, both ends.

        One message at a time. Only what is drawn is kept, no height is set, so nothing can move.
        """
        folds = self.folds
        if not self._rows:
            return
        around_what = (
            self._rows[0].block, self._rows[-1].block, folds.level, folds.thinking, folds.output, len(folds.blocks),
            len(folds.exchanges), self._look.width,
        )  # fmt: skip
        if around_what == self._prefetched:
            return
        # Whatever is needed of them: after a `yield` the rows may be others, and the session read anew.
        layout, exchanges = self.layout_of, self.session.exchanges
        first, last = self._rows[0].block, self._rows[-1].block
        current = self.session.messages.exchange[self.cursor.block] if self.cursor.block < layout.count else 0
        around = [exchanges[n].start for n in (current + 1, current, current - 1) if 0 <= n < len(exchanges)]
        pages = [(last, 1), *((start, 1) for start in around[:1]), (first, -1), *((start, 1) for start in around[1:])]
        for start, step in (*pages, (layout.count - 1, -1), (0, 1)):
            yield from self._prefetch_page(layout, start, step)
            if layout is not self.layout_of:
                return
        self._prefetched = around_what

    def _prefetch_page(self, layout: Layout, start: int, step: int) -> Iterator[None]:
        rows = 0
        around = layout.next_visible if step > 0 else layout.previous_visible
        block = around(start)
        while block is not None and rows < self.height_of_page:
            drawn = self._drawn.get(block, self.folds.fold(block))
            rows += len(drawn.block.rows)
            yield
            if layout is not self.layout_of:
                return
            block = around(block + step)

    def coloured(self, want: Want) -> None:
        """A piece of code has got its colours: the messages that hold it are drawn again, as tall as before."""
        self._drawn.forget_wanting(want)
        self.show()

    # -- showing ---------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Work out what stands on the screen, bring the scroll bar in line, and paint."""
        if self.is_attached and self.size:
            self._styles_now()
            self._fill()
            self._paint()
            if self._first_picture:
                self._first_picture = False
                self.call_after_refresh(self.show)
        else:
            self._rows, self._lines = [], []  # those of before may be of messages that are gone

    def _paint(self) -> None:
        """The scroll bar follows what was worked out, and the screen is drawn."""
        total = self.layout_of.total
        row = self.layout_of.row_of(self._top) if self._rows else 0
        # Both are reactive and would lay out the whole screen anew; only the scroll bar has to know.
        self.set_reactive(TranscriptWindow.virtual_size, Size(self.size.width, total))
        self.set_reactive(TranscriptWindow.scroll_y, float(row))
        self.set_reactive(TranscriptWindow.scroll_target_y, float(row))
        self._move_bar(total, row)
        self.refresh()
        self.post_message(self.Moved())

    def _move_bar(self, total: int, row: int) -> None:
        """The scroll bar is drawn anew only where one would see it: in a long session most moves are less than an
        eighth of a cell.
        """
        if not self.show_vertical_scrollbar:
            return
        bar, height = self.vertical_scrollbar, self.height_of_page
        grain = total // (8 * height)
        at_edge = row == 0 or row + height >= total
        if abs(bar.window_virtual_size - total) > grain or bar.window_size != height or at_edge:
            bar.window_virtual_size, bar.window_size = total, height
        if abs(bar.position - row) > grain or at_edge:
            bar.position = row

    def _fill(self) -> None:
        """The places of all lines on the screen; what is drawn here is measured before it is painted."""
        height = self.height_of_page
        layout = self.layout_of
        first = layout.next_visible(0)
        if first is None:
            self._rows, self._lines = [], []
            return
        if self._top.block >= layout.count or not layout.height(self._top.block):
            self._top = self._near(self._top)
        self._rows = self._rows_from(self._top, height)
        if len(self._rows) < height and (self._top.block, self._top.line) > (first, 0) and not self._first_picture:
            self._top = self._move(self._rows[-1], 1 - height)
            self._rows = self._rows_from(self._top, height)
        shown = self._screen_row(self.cursor)
        if shown is None:
            self.cursor = self._rows[0] if self.cursor < self._rows[0] else self._rows[-1]

    def _rows_from(self, top: Position, height: int) -> list[Position]:
        rows: list[Position] = []
        lines: list[tuple[Drawn, int]] = []
        block: int | None = top.block
        self._measure(top.block)
        line = min(top.line, max(0, self.layout_of.height(top.block) - 1))
        self._top = Position(top.block, line)
        while block is not None and len(rows) < height:
            if self._first_picture and not self.following and rows and self._needs_markdown(block):
                break
            drawn = self._block(block)
            head = self.layout_of.head(block)
            stop = min(head + len(drawn.block.rows), line + height - len(rows))
            rows.extend(Position(block, i) for i in range(line, stop))
            lines.extend((drawn, i - head) for i in range(line, stop))
            block, line = self.layout_of.next_visible(block + 1), 0
        self._lines = lines
        return rows

    def _needs_markdown(self, block: int) -> bool:
        """Tell whether drawing it would load the Markdown parser, a tenth of the time until the first picture. That one
        ends above such a message; the next one, a moment later, goes on below it and moves nothing.
        """
        prose = (Kind.TEXT, Kind.THINKING, Kind.COMPACTION, Kind.TOOL)
        return self.session.messages.kind[block] in prose and self.folds.fold(block) > Fold.LINE

    def _near(self, place: Position) -> Position:
        """A visible place as near as can be."""
        block = min(place.block, self.layout_of.count - 1)
        if block >= 0 and block == place.block and self.layout_of.height(block):
            return place
        near = self.layout_of.previous_visible(block)
        if near is None:
            near = self.layout_of.next_visible(0)
        return _START if near is None else Position(near, self.layout_of.head(near))

    @property
    def cursor_row(self) -> int | None:
        """The row of the screen on which the cursor is; None if it is not in sight."""
        row = self._screen_row(self.cursor)
        return None if row is None else self.region.y + row

    def _screen_row(self, place: Position) -> int | None:
        try:
            return self._rows.index(place)
        except ValueError:
            return None

    # -- painting --------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint.

        Not by way of Textual's own cache of lines, which makes new strips of ours each time: a strip that stays the
        same object keeps what filters and the terminal's codes made of it, and that is half the cost of a page.
        """
        self._row_width = self.region.width
        filters = self.get_line_filters()
        background = self.background_colors[1]
        self._painting = True
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self.render_line(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        self._painting = False
        if crop.column_span != (0, self._row_width):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        look = self._styles_now()
        width = self._row_width
        if not self._rows and self.layout_of.count:  # the very first picture comes before the first resize
            self._fill()
        if y >= len(self._rows):
            return Strip.blank(width, look.base)
        place = self._rows[y]
        drawn, line = self._lines[y]
        strip = drawn.strips.get(line)
        if strip is None:
            strip = self._strip(place, line, drawn, width, look)
        if place.block == self.cursor.block and (line >= 0 or place == self.cursor):
            strip = with_cursor(strip, look, on_line=place == self.cursor)
        if self.sought and line >= 0:
            strip = self._marked(strip, place.block, drawn, line, look)
        if self.marked and (letter := self.marked.get((self.session.messages.key[place.block], line))):
            strip = with_mark(strip, letter, look)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row_number(place))) is not None:
            strip = with_selection(strip, span, look)
        return strip if self._painting else strip.apply_offsets(0, row_number(place))

    def _marked(self, strip: Strip, block: int, drawn: Drawn, line: int, look: Overlay) -> Strip:
        """A line with what is looked for marked."""
        raise NotImplementedError

    def _strip(self, place: Position, line: int, drawn: Drawn, width: int, look: Overlay) -> Strip:
        if line >= 0:
            strip = drawn.strips[line] = row_strip(drawn.block.rows[line], width, look)
            return strip
        if place.block == self.unread and line == -1:
            return unread_strip(self._unread_since, self._look.width, width, look)
        return row_strip(None, width, look)

    # -- moving ----------------------------------------------------------------------------------------------------

    def touch(self) -> None:
        """The person is here: slow work waits."""
        self.touched = time.monotonic()

    async def give_way(self) -> None:
        """Wait while a person is pressing keys."""
        while time.monotonic() - self.touched < QUIET:
            await asyncio.sleep(0.02)

    async def in_slices(self, work: Iterator[None]) -> None:
        """Drive slow work in slices, each short enough that a key need not wait."""
        begun = time.perf_counter()
        for _ in work:
            if time.perf_counter() - begun > SLICE:
                await asyncio.sleep(0)
                await self.give_way()
                begun = time.perf_counter()

    @property
    def at_end(self) -> bool:
        """Tell whether the last line is on the screen."""
        if not self._rows:
            return True
        place = self._rows[-1]
        return (
            place.line + 1 >= self.layout_of.height(place.block)
            and self.layout_of.next_visible(place.block + 1) is None
        )

    def move_cursor(self, rows: int) -> None:
        """The cursor goes so many lines down (or up); the text scrolls when it comes near the edge."""
        before = self._screen_row(self.cursor)
        if before is None:
            return
        if rows < 0:
            self.following = False
        old = self.cursor
        self.cursor = self._move(old, rows)
        margin = min(self.height_of_page // 4, 8)
        row = before + rows
        if self.cursor == old or (margin <= row < self.height_of_page - margin and row < len(self._rows)):
            self._repaint_cursor(old)
            return
        if rows > 0 and row >= self.height_of_page - margin and not self.at_end:
            self._top = self._move(self._top, row - (self.height_of_page - margin) + 1)
        elif rows < 0 and row < margin:
            self._top = self._move(self._top, row - margin)
        self.show()

    def _repaint_cursor(self, old: Position) -> None:
        """Only the lines on which the cursor's marks change."""
        blocks = {old.block, self.cursor.block}
        lines = [y for y, place in enumerate(self._rows) if place.block in blocks]
        if lines:
            width = self.size.width
            self.refresh(Region(0, lines[0], width, lines[-1] - lines[0] + 1))
        self.post_message(self.Moved())

    def scroll_rows(self, rows: int, *, with_cursor: bool = True) -> None:
        """The text goes up (or down) by so many lines; the cursor keeps its place on the screen, if it can."""
        if not self._rows:
            return
        if rows < 0:
            self.following = False
        row = self._screen_row(self.cursor)
        before = self._top
        self._top = self._move(self._top, rows)
        self._fill()
        if with_cursor and row is not None:
            if self._top == before:  # nowhere to scroll to: the cursor goes instead
                row = len(self._rows) - 1 if rows > 0 else 0
            self.cursor = self._rows[min(row, len(self._rows) - 1)]
        self._paint()

    def go_start(self) -> None:
        """Go to the first line."""
        self.following = False
        first = self.layout_of.next_visible(0)
        self._top = self.cursor = _START if first is None else Position(first, 0)
        self.show()

    def go_end(self) -> None:
        """Go to the last line."""
        last = self.layout_of.previous_visible(self.layout_of.count - 1)
        if last is not None:
            self._measure(last)
            self.cursor = Position(last, max(0, self.layout_of.height(last) - 1))
            self._top = self._move(self.cursor, 1 - self.height_of_page)
        self.show()

    def go_to(self, block: int, line: int = 0, *, row: int | None = 0) -> None:
        """The cursor to a line of a block's own; it then stands `row` lines below the top of the screen, at a third of
        its height where that is None.
        """
        if not 0 <= block < self.layout_of.count:
            return
        self.following = False
        if not self.is_attached or not self.size:
            self._opens_at, self._first_picture = (block, line, row), False  # the one picture there is, and whole
            return
        self._opens_at = None
        place = self._near(Position(block, 0))
        if place.block == block:
            self._measure(block)
            place = Position(block, max(0, min(line + self.layout_of.head(block), self.layout_of.height(block) - 1)))
        self.cursor = place
        self._top = self._move(place, -(self.height_of_page // 3 if row is None else row))
        self.show()

    def go_exchange(self, step: int) -> None:
        """Go to the next (or previous) exchange's first line."""
        session = self.session
        if not session.exchanges:
            return
        current = session.messages.exchange[self.cursor.block]
        start = session.exchanges[current].start
        at_head = (self.cursor.block, self.cursor.line) <= (start, self.layout_of.head(start))
        target = current + (0 if step < 0 and not at_head else step)
        if 0 <= target < len(session.exchanges):
            self.go_to(session.exchanges[target].start)
        elif step > 0:
            self.go_end()

    @property
    def top(self) -> Position:
        """The first line on the screen."""
        return self._top

    @property
    def exchange_above(self) -> int | None:
        """The exchange at the top of the screen, where its prompt's first line stands above the screen."""
        if not self._rows:
            return None
        top = self._rows[0]
        exchange = self.session.exchanges[self.session.messages.exchange[top.block]]
        begins = Position(exchange.start, self.layout_of.head(exchange.start))
        return exchange.index if exchange.opener is not None and begins < top else None

    @property
    def percent(self) -> int:
        """The part of the session, in percent, that ends with the screen's last line."""
        if not self._rows:
            return 100
        return min(99, 100 * (self.layout_of.row_of(self._rows[-1]) + 1) // max(1, self.layout_of.total))

    def go_back(self, top: Position, cursor: Position) -> None:
        """Go to where one was before."""
        self._top, self.cursor = top, cursor
        self.show()

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Go to where the scroll bar was dragged."""
        if y is None or not self._rows:
            return
        row = max(0, round(y))
        if row < self.layout_of.row_of(self._top):
            self.following = False
        end = row >= self.layout_of.total - self.height_of_page
        if end:
            self.go_end()
        else:
            self._top = self.layout_of.find(row)
            self.show()

"""The view of a transcript, in which a person moves, folds and selects: it draws only the lines that one sees.

Its place is (message, line), never a row number: rows above the screen are estimates that change when they are drawn,
and what one reads must not move for that. `scroll_y` follows from the place and serves the scroll bar only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from textual import on
from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Offset, Region, Size
from textual.message import Message as Event
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from renderers.facts import local_time
from renderers.terminal.code import Highlights, Want
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.rows import Row
from renderers.terminal.styles import Palette
from schemas.message import Flag, Kind
from schemas.session import Change, Op, Session
from schemas.values import whole
from viewer.follow.follower import SLICE
from viewer.transcript.colours import extra_style, palette_of
from viewer.transcript.drawn import (
    Drawn,
    DrawnBlocks,
    Overlay,
    row_strip,
    unread_strip,
    with_cursor,
    with_mark,
    with_selection,
)
from viewer.transcript.folds import Folds
from viewer.transcript.layout import Layout, Position
from viewer.transcript.select import message_source, position_of, row_number, selected_text

_START = Position(0, 0)
QUIET = 0.08
"""How long after a key slow work goes on."""
_WHEEL = 3
_LAST = 50
"""Among so many messages at the end are the tools that run."""


class TranscriptView(ScrollView, can_focus=True):
    """A session's messages, as much of them as fits, from the line `top` on. It is told of changes by `session_changed`
    and by replacing.py; it reads nothing itself.
    """

    DEFAULT_CSS = """
    TranscriptView {
        height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1;
        background: $background; color: $foreground;
    }
    """

    class Moved(Event):
        """The cursor moved, or what is around it changed."""

    def __init__(self, session: Session, *, at_end: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.session = session
        self.following = at_end
        """Whether the view keeps to the end as the session grows."""
        self.top = self.cursor = _START
        """The first line on the screen, and the line that keys act on."""
        self.mark_hits: Callable[[Strip, int, Drawn, int, Overlay], Strip] | None = None
        """Marks what is looked for on a line of a message (find_bar.py)."""
        self.unread: int | None = None
        """The first message that came since the person last saw the end."""
        self.marked: dict[tuple[int, int], str] = {}
        """The letters of lines that are marked, each line by the key of its message and its number in it."""
        self.touched = 0.0
        """When a key was last pressed (monotonic clock): slow work waits while keys are coming."""
        self.folds = Folds(session)
        self.layout_of = Layout(session, self.folds)
        self.blocks = DrawnBlocks(session, Look(80, Palette(), Highlights()))
        self._opens_at: tuple[int, int, int | None] | None = None
        """What `go_to` was asked for before the first picture."""
        self.rows: list[Position] = []
        """The lines on the screen."""
        self._shown: list[Drawn] = []
        """The block of each of them."""
        self._row_width = 80
        self.drawn_around: tuple[object, ...] = ()
        """What messages were drawn ahead around."""
        self._first_picture = True
        self.unread_since = ""
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
        if width != self.look.width:
            self.blocks.relook(width=width)
            at_end = self.following
            places = [(p, self.layout_of.last_line(p.block)) for p in (self.top, self.cursor)] if self.rows else []
            self.blocks.clear()
            self.layout_of.set_width(width)
            if places:
                self.top, self.cursor = (self._rescaled(*place) for place in places)
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

    def _rescaled(self, place: Position, last: Position) -> Position:
        """A place within a block that has another height now: before, its `last` line was that."""
        self.measure(place.block)
        now = self.layout_of.last_line(place.block).line + 1
        return Position(place.block, place.line * now // (last.line + 1) if place.line > 0 else place.line)

    def notify_style_update(self) -> None:
        """Another theme: everything is drawn anew."""
        super().notify_style_update()
        self._overlay = None
        if self.is_attached:
            self.blocks.clear()

    def _styles_now(self) -> Overlay:
        if self._overlay is None:
            laid = {name: extra_style(self, name) for name in Overlay._fields if name != "base"}
            self._overlay = Overlay(self.rich_style, **laid)
            self.blocks.relook(palette=palette_of(self))
            self.blocks.clear()
        return self._overlay

    # -- blocks ----------------------------------------------------------------------------------------------------

    def block(self, index: int) -> Drawn:
        """The block of a message as it is folded; its height is known from then on."""
        drawn = self.blocks.get(index, self.folds.fold(index))
        if not self.layout_of.is_exact(index):
            self.layout_of.set_height(index, len(drawn.block.rows))
        return drawn

    def measure(self, index: int) -> None:
        """Let the height of a message be known."""
        if not self.layout_of.is_exact(index) and self.folds.fold(index) > Fold.HIDDEN:
            self.block(index)

    def beyond(self, place: Position, rows: int) -> Position:
        """The line so many rows further down (or up), as far as there are any."""
        return self.layout_of.move(place, rows, self.measure)

    def row_at(self, place: Position) -> Row | None:
        """The row of a block at a place; None for the rows above it."""
        rows = self.block(place.block).block.rows
        return rows[place.line] if 0 <= place.line < len(rows) else None

    @property
    def wanted(self) -> list[Want]:
        """Code on the screen that waits for its colours."""
        blocks = dict.fromkeys(place.block for place in self.rows)
        return [want for block in blocks for want in self.block(block).block.wanted if self.look.highlights.needs(want)]

    @property
    def look(self) -> Look:
        """The look with which messages are drawn now."""
        return self.blocks.look

    def settle(self) -> Iterator[None]:
        """Work out how long a session is that was put here all at once."""
        layout = self.layout_of
        yield from layout.read()
        if layout is self.layout_of and self.rows:
            self._move_bar(layout.total, layout.row_of(self.top))

    def draw_ahead(self) -> Iterator[None]:
        """Draw what the next key will most likely show, one message at a time: the pages around, the exchanges around
        and both ends. Only what is drawn is kept, no height is set, so nothing can move.
        """
        if not self.rows:
            return
        folds, first, last = self.folds, self.rows[0].block, self.rows[-1].block
        around_what = (
            first, last, folds.level, folds.thinking, folds.output, len(folds.blocks), len(folds.exchanges),
            self.look.width,
        )  # fmt: skip
        if around_what == self.drawn_around:
            return
        # Whatever is needed of them: after a `yield` the rows may be others, and the session read anew.
        layout, exchanges = self.layout_of, self.session.exchanges
        current = self.session.messages.exchange[self.cursor.block] if self.cursor.block < layout.count else 0
        around = [exchanges[n].start for n in (current + 1, current, current - 1) if 0 <= n < len(exchanges)]
        pages = [(last, 1), *((start, 1) for start in around[:1]), (first, -1), *((start, 1) for start in around[1:])]
        for start, step in (*pages, (layout.count - 1, -1), (0, 1)):
            rows, block = 0, layout.visible(start, step)
            while block is not None and rows < self.height_of_page:
                rows += len(self.blocks.get(block, self.folds.fold(block)).block.rows)
                yield
                if layout is not self.layout_of:
                    return
                block = layout.visible(block + step, step)
        self.drawn_around = around_what

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
            self.rows, self._shown = [], []  # those of before may be of messages that are gone

    def _paint(self) -> None:
        """The scroll bar follows what was worked out, and the screen is drawn."""
        total = self.layout_of.total
        row = self.layout_of.row_of(self.top) if self.rows else 0
        # Both are reactive and would lay out the whole screen anew; only the scroll bar has to know.
        self.set_reactive(ScrollView.virtual_size, Size(self.size.width, total))
        self.set_reactive(ScrollView.scroll_y, float(row))
        self.set_reactive(ScrollView.scroll_target_y, float(row))
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
        first = layout.visible(0)
        if first is None:
            self.rows, self._shown = [], []
            return
        if self.top.block >= layout.count or not layout.height(self.top.block):
            self.top = self.near(self.top)
        self.rows = self._rows_from(self.top, height)
        if len(self.rows) < height and self.top > layout.first_line(first) and not self._first_picture:
            self.top = self.beyond(self.rows[-1], 1 - height)
            self.rows = self._rows_from(self.top, height)
        shown = self.screen_row(self.cursor)
        if shown is None:
            self.cursor = self.rows[0] if self.cursor < self.rows[0] else self.rows[-1]

    def _rows_from(self, top: Position, height: int) -> list[Position]:
        rows: list[Position] = []
        self._shown = []
        self.measure(top.block)
        self.top = place = self.layout_of.within(*top)
        while len(rows) < height:
            if self._first_picture and not self.following and rows and self._needs_markdown(place.block):
                break
            drawn = self.block(place.block)
            stop = min(len(drawn.block.rows), place.line + height - len(rows))
            rows += [Position(place.block, line) for line in range(place.line, stop)]
            self._shown += [drawn] * (stop - place.line)
            if (following := self.layout_of.visible(place.block + 1)) is None:
                break
            place = self.layout_of.first_line(following)
        return rows

    def _needs_markdown(self, block: int) -> bool:
        """Tell whether drawing it would load the Markdown parser, a tenth of the time until the first picture. That one
        ends above such a message; the next one, a moment later, goes on below it and moves nothing.
        """
        prose = (Kind.TEXT, Kind.THINKING, Kind.COMPACTION, Kind.TOOL)
        return self.session.messages.kind[block] in prose and self.folds.fold(block) > Fold.LINE

    def near(self, place: Position) -> Position:
        """A visible place as near as can be."""
        block = min(place.block, self.layout_of.count - 1)
        if block >= 0 and block == place.block and self.layout_of.height(block):
            return place
        near = self.layout_of.visible(block, -1)
        near = self.layout_of.visible(0) if near is None else near
        return _START if near is None else Position(near, 0)

    @property
    def cursor_row(self) -> int | None:
        """The row of the screen on which the cursor is; None if it is not in sight."""
        row = self.screen_row(self.cursor)
        return None if row is None else self.region.y + row

    def screen_row(self, place: Position) -> int | None:
        """The row of the view in which a line stands; None if it is not in sight."""
        try:
            return self.rows.index(place)
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
        look = self._styles_now()
        width = self._row_width
        if not self.rows and self.layout_of.count:  # the very first picture comes before the first resize
            self._fill()
        if y >= len(self.rows):
            return Strip.blank(width, look.base)
        place = self.rows[y]
        drawn, line = self._shown[y], place.line
        strip = drawn.strips.get(line)
        if strip is None:
            strip = self._strip(place, drawn, width, look)
        if place.block == self.cursor.block and (line >= 0 or place == self.cursor):
            strip = with_cursor(strip, look, on_line=place == self.cursor)
        if self.mark_hits is not None and line >= 0:
            strip = self.mark_hits(strip, place.block, drawn, line, look)
        if self.marked and (letter := self.marked.get((self.session.messages.key[place.block], line))):
            strip = with_mark(strip, letter, look)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row_number(place))) is not None:
            strip = with_selection(strip, span, look)
        return strip if self._painting else strip.apply_offsets(0, row_number(place))

    def _strip(self, place: Position, drawn: Drawn, width: int, look: Overlay) -> Strip:
        if place.line >= 0:
            strip = drawn.strips[place.line] = row_strip(drawn.block.rows[place.line], width, look)
            return strip
        if place == (self.unread, -1):
            return unread_strip(self.unread_since, self.look.width, width, look)
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
        if not self.rows:
            return True
        place, layout = self.rows[-1], self.layout_of
        return place >= layout.last_line(place.block) and layout.visible(place.block + 1) is None

    def move_cursor(self, rows: int) -> None:
        """The cursor goes so many lines down (or up); the text scrolls when it comes near the edge."""
        before = self.screen_row(self.cursor)
        if before is None:
            return
        if rows < 0:
            self.following = False
        old = self.cursor
        self.cursor = self.beyond(old, rows)
        margin = min(self.height_of_page // 4, 8)
        row = before + rows
        if self.cursor == old or (margin <= row < self.height_of_page - margin and row < len(self.rows)):
            self._repaint_cursor(old)
            return
        if rows > 0 and row >= self.height_of_page - margin and not self.at_end:
            self.top = self.beyond(self.top, row - (self.height_of_page - margin) + 1)
        elif rows < 0 and row < margin:
            self.top = self.beyond(self.top, row - margin)
        self.show()

    def _repaint_cursor(self, old: Position) -> None:
        """Only the lines on which the cursor's marks change."""
        blocks = {old.block, self.cursor.block}
        lines = [y for y, place in enumerate(self.rows) if place.block in blocks]
        if lines:
            width = self.size.width
            self.refresh(Region(0, lines[0], width, lines[-1] - lines[0] + 1))
        self.post_message(self.Moved())

    def scroll_rows(self, rows: int, *, with_cursor: bool = True) -> None:
        """The text goes up (or down) by so many lines; the cursor keeps its place on the screen, if it can."""
        if not self.rows:
            return
        if rows < 0:
            self.following = False
        row = self.screen_row(self.cursor)
        before = self.top
        self.top = self.beyond(self.top, rows)
        self._fill()
        if with_cursor and row is not None:
            if self.top == before:  # nowhere to scroll to: the cursor goes instead
                row = len(self.rows) - 1 if rows > 0 else 0
            self.cursor = self.rows[min(row, len(self.rows) - 1)]
        self._paint()

    def page(self, pages: int) -> None:
        """Scroll by pages; one line of the old page stays."""
        self.scroll_rows(pages * max(1, self.height_of_page - 1))

    def half_page(self, halves: int) -> None:
        """Scroll by halves of a page."""
        self.scroll_rows(halves * max(1, self.height_of_page // 2))

    def go_start(self) -> None:
        """Go to the first line."""
        self.following = False
        first = self.layout_of.visible(0)
        self.top = self.cursor = _START if first is None else self.layout_of.first_line(first)
        self.show()

    def go_end(self) -> None:
        """Go to the last line."""
        last = self.layout_of.visible(self.layout_of.count - 1, -1)
        if last is not None:
            self.measure(last)
            self.cursor = self.layout_of.last_line(last)
            self.top = self.beyond(self.cursor, 1 - self.height_of_page)
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
        place = self.near(Position(block, 0))
        if place.block == block:
            self.measure(block)
            place = self.layout_of.within(block, line)
        self.cursor = place
        self.top = self.beyond(place, -(self.height_of_page // 3 if row is None else row))
        self.show()

    def go_exchange(self, step: int) -> None:
        """Go to the next (or previous) exchange's first line."""
        session = self.session
        if not session.exchanges:
            return
        current = session.messages.exchange[self.cursor.block]
        start = session.exchanges[current].start
        at_head = self.cursor <= Position(start, 0)
        target = current + (0 if step < 0 and not at_head else step)
        if 0 <= target < len(session.exchanges):
            self.go_to(session.exchanges[target].start)
        elif step > 0:
            self.go_end()

    @property
    def exchange_above(self) -> int | None:
        """The exchange at the top of the screen, where its prompt's first line stands above the screen."""
        if not self.rows:
            return None
        top = self.rows[0]
        exchange = self.session.exchanges[self.session.messages.exchange[top.block]]
        return exchange.index if exchange.opener is not None and Position(exchange.start, 0) < top else None

    @property
    def percent(self) -> int:
        """The part of the session, in percent, that ends with the screen's last line."""
        if not self.rows:
            return 100
        return min(99, 100 * (self.layout_of.row_of(self.rows[-1]) + 1) // max(1, self.layout_of.total))

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Go to where the scroll bar was dragged."""
        if y is None or not self.rows:
            return
        row = max(0, round(y))
        if row < self.layout_of.row_of(self.top):
            self.following = False
        end = row >= self.layout_of.total - self.height_of_page
        if end:
            self.go_end()
        else:
            self.top = self.layout_of.find(row)
            self.show()

    # -- folding ---------------------------------------------------------------------------------------------------

    def _refold(self, blocks: range | None = None) -> None:
        """Take in that folds changed, of these messages or of all; the line under the cursor stays where it is. Where
        the end is followed and all was folded anew, the end stays in sight.
        """
        if not self.layout_of.count:
            return
        row, cursor = self.screen_row(self.cursor) or 0, self.cursor
        self.layout_of.refold(blocks)
        if self.following and blocks is None:
            self.go_end()
            return
        self.cursor = self.near(cursor)
        if self.cursor.block == cursor.block:
            self.measure(cursor.block)
            # A line that is gone leaves the cursor on the block's first line.
            gone = cursor > self.layout_of.last_line(cursor.block)
            self.cursor = self.layout_of.within(cursor.block, 0 if gone else cursor.line)
        self.top = self.beyond(self.cursor, -row)
        self.show()

    def fold_all(self, how: str, *by: int) -> None:
        """Change the folds of all messages by one of their methods."""
        getattr(self.folds, how)(*by)
        self._refold()

    def fold_here(self) -> None:
        """Fold or unfold the block under the cursor, or the exchange on its first line."""
        block = self.cursor.block
        if not self.rows:
            return
        row = self.row_at(self.cursor)
        fold = self.folds.fold(block)
        if row is not None and row.act == "more":
            if fold is Fold.FULL:
                self.blocks.extend(block)
            self.folds.blocks[block] = Fold.FULL
        elif self.session.messages.has(block, Flag.OPENER):
            exchange = self.session.messages.exchange[block]
            old = self.session.messages.has(block, Flag.REWOUND) or self.session.messages.has(block, Flag.INHERITED)
            self.folds.exchanges[exchange] = not self.folds.is_open(exchange, old)
            self._refold(self.session.message_range(exchange))
            return
        else:
            more = self.block(block).block.more
            if fold is Fold.LINE:
                fold = Fold.SHORT
            else:
                fold = Fold.FULL if fold is Fold.SHORT and more else Fold.LINE
            self.folds.blocks[block] = fold
            if not self.session.messages.joins(block):  # what is one line with it opens and folds with it
                joined = self.session.messages.joined(block)
                self.folds.blocks |= dict.fromkeys(joined[1:], fold if fold is not Fold.LINE else Fold.HIDDEN)
                self._refold(joined)
                return
        self._refold(range(block, block + 1))

    def open_at(self, block: int) -> None:
        """Go to a message, which is opened, and so is its exchange."""
        table = self.session.messages
        exchange = table.exchange[block]
        old = table.has(self.session.exchanges[exchange].start, Flag.REWOUND | Flag.INHERITED)
        if self.folds.fold(block) is Fold.HIDDEN or not self.folds.is_open(exchange, old):
            self.open_exchange(exchange)
        self.folds.blocks[block] = Fold.FULL
        self.layout_of.refold(range(block, block + 1))
        self.go_to(block, row=0 if table.has(block, Flag.OPENER) else None)

    def visit(self, block: int, line: int = 0) -> None:
        """Go to a line of a message's own. What hides it is opened; nothing moves for one that is well on the screen,
        and a prompt comes to the top.
        """
        if self.folds.fold(block) is Fold.HIDDEN:
            self.open_exchange(self.session.messages.exchange[block])
        if self.folds.fold(block) is Fold.HIDDEN:
            self.folds.blocks[block] = Fold.LINE
            self.layout_of.refold(range(block, block + 1))
        self.measure(block)
        row = self.screen_row(Position(block, line))
        inner = self.height_of_page // 6
        if row is None or not inner <= row < self.height_of_page - inner:
            row = 0 if self.session.messages.has(block, Flag.OPENER) else self.height_of_page // 3
        self.go_to(block, line, row=row)

    @property
    def here(self) -> tuple[int, int] | None:
        """The line under the cursor: the key of its message and its number in it; None where there is no message."""
        if self.cursor.block >= self.layout_of.count:
            return None
        return self.session.messages.key[self.cursor.block], self.cursor.line

    def open_exchange(self, exchange: int) -> None:
        """Unfold an exchange; nothing is shown yet."""
        self.folds.exchanges[exchange] = True
        self.layout_of.refold(self.session.message_range(exchange))

    def kept(self) -> dict[str, Any]:
        """The place where one is and the folds, as JSON that `restore` takes; nothing where all is as it began."""
        kept = self.folds.kept()
        if not any(kept.values()) and self.cursor == Position(0, 0):
            return {}
        if self.here is not None:
            key, line = self.here
            kept |= {"message": key, "line": line, "row": self.screen_row(self.cursor)}
        return kept

    def restore(self, kept: dict[str, Any], *, go: bool) -> int | None:
        """Fold as it was and, with `go`, go where one was, if that is there; returns which message it is."""
        keys, key, line = self.session.messages.key, whole(kept.get("message")), whole(kept.get("line"))
        block = None if key is None or key not in keys else keys.index(key)
        if go and block is None:
            return None
        self.folds.restore(kept)
        self.layout_of.refold()
        if go and block is not None:
            self.go_to(block, line or 0, row=whole(kept.get("row")))
        elif self.following:
            self.go_end()
        else:
            self.show()
        return block

    # -- the session changes ---------------------------------------------------------------------------------------

    def session_changed(self, changes: list[Change]) -> None:
        """More was read. Nothing on the screen moves, unless it is followed and the end is shown."""
        table = self.session.messages
        count = len(table)
        changed = {change.message for change in changes if change.op is Op.UPDATED and 0 <= change.message < count}
        appended = [change.message for change in changes if change.op is Op.APPENDED]
        if any(table.has(index, Flag.OPENER) for index in changed):
            self.blocks.clear()  # one that is rewound now has no number, and those behind it have others
        for index in changed:
            self.blocks.forget(index)
        visible = {place.block for place in self.rows}
        # The header of an exchange shows its totals, so it changes with each of its messages.
        openers = {self.session.exchanges[table.exchange[i]].start for i in (*changed, *appended) if 0 <= i < count}
        # And a line that stands for several messages changes with each of them.
        openers |= {table.shown_in(i) for i in (*changed, *appended) if 0 <= i < count}
        self.layout_of.sync(changed)
        self._redraw_later(openers)
        if self.cursor.block in changed and self.folds.fold(self.cursor.block) is Fold.HIDDEN:  # rewound just now
            self.cursor = self.header_over(self.cursor.block) or self.cursor
        if self.following:
            self.go_end()
        elif len(self.rows) < self.height_of_page or self.at_end or visible & (changed | openers):
            self.show()
        elif (total := self.layout_of.total) != self.virtual_size.height:  # only the scroll bar has to know
            self.set_reactive(ScrollView.virtual_size, Size(self.size.width, total))
            self._move_bar(total, self.layout_of.row_of(self.top))

    def _redraw_later(self, blocks: Iterable[int]) -> None:
        """These messages look different now, and may have another height."""
        for block in blocks:
            if block < self.layout_of.count:
                self.blocks.forget(block)
                self.layout_of.forget_height(block)

    def _redraw(self, blocks: set[int]) -> None:
        """Draw these messages again."""
        self._redraw_later(blocks)
        if blocks & {place.block for place in self.rows}:
            self.go_end() if self.following else self.show()

    def set_activity(self, running: int, subagents: Mapping[int, str]) -> None:
        """Show which exchange is being worked on (-1 for none), and what the subagents did so far."""
        look, exchanges = self.look, self.session.exchanges
        if (running, subagents) == (look.running, look.subagents):
            return
        blocks = set(dict(subagents.items() ^ look.subagents.items()))
        for exchange in {running, look.running} if running != look.running else ():
            if 0 <= exchange < len(exchanges):
                # A tool without a result is either running or was left behind.
                last = self.session.message_range(exchange)[-_LAST:]
                blocks.update(i for i in last if self.session.messages.has(i, Flag.PENDING))
                blocks.add(exchanges[exchange].start)
        self.blocks.relook(running=running, subagents=dict(subagents))
        self._redraw(blocks)

    def show_costs(self, cost: Callable[[int], str | None], exchanges: Iterable[int] | None = None) -> None:
        """`cost` says what an exchange cost; draw the headers of these exchanges again (None: all that were drawn)."""
        table = self.session.exchanges
        self.blocks.relook(cost=cost)
        numbers = range(len(table)) if exchanges is None else exchanges
        self._redraw({table[n].start for n in numbers if n < len(table)})

    def header_over(self, block: int) -> Position | None:
        """The line that a hidden message is folded into: its exchange's; None where that is hidden too."""
        start = self.session.exchanges[self.session.messages.exchange[block]].start
        if self.folds.fold(start) is Fold.HIDDEN:
            return None
        return Position(start, 0)

    def set_unread(self, block: int | None, since: str = "") -> None:
        """Draw the line "new since" above a message, and no other."""
        self.unread = block
        self.unread_since = since or local_time(time.time())
        self.layout_of.set_rule(block)

    # -- the mouse -------------------------------------------------------------------------------------------------

    @on(MouseScrollDown)
    @on(MouseScrollUp)
    def _wheel(self, event: MouseScrollDown | MouseScrollUp) -> None:
        """Scroll; at the end it is followed."""
        event.stop()
        event.prevent_default()
        self.touch()
        down = isinstance(event, MouseScrollDown)
        self.scroll_rows(_WHEEL if down else -_WHEEL, with_cursor=False)
        self.following = self.following or (down and self.at_end)

    def on_click(self, event: Click) -> None:
        """A click puts the cursor on the line; on a line that folds, it folds."""
        if self.text_selection is not None or not 0 <= event.y < len(self.rows):
            return
        self.touch()
        old, self.cursor = self.cursor, self.rows[event.y]
        row = self.row_at(self.cursor)
        if event.chain == 1 and row is not None and row.act:
            self.fold_here()
        else:
            self._repaint_cursor(old)

    # -- selecting -------------------------------------------------------------------------------------------------

    def text_select_all(self) -> None:
        """A double click selects the block under the pointer; a whole session is nothing one wants to copy."""
        block = self.cursor.block
        end = Offset(self.look.width + 2, row_number(self.layout_of.last_line(block)))
        self.screen.selections = {self: Selection(Offset(0, row_number(Position(block, 0))), end)}

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text. An open end is where the screen ends: what was never shown was not selected."""
        if not self.rows:
            return None
        start, end = selection
        first = self.rows[0] if start is None else position_of(start.y)
        last = self.rows[-1] if end is None else position_of(end.y)
        text = selected_text(
            (0 if start is None else start.x, first),
            (self.look.width + 2 if end is None else end.x, last),
            self._visible_blocks(first.block, last.block),
            lambda block: self.block(block).block.rows,
            lambda block: message_source(self.session.message(block), self.session.workspace_root),
        )
        return text, "\n"

    def _visible_blocks(self, first: int, last: int) -> Iterator[int]:
        block = self.layout_of.visible(first)
        while block is not None and block <= last:
            yield block
            block = self.layout_of.visible(block + 1)

"""The transcript on the screen: a scroll view that draws only the lines one sees.

Its place is (message, line), never a row number: rows above the screen are estimates that change when they are drawn,
and what one reads must not move for that. `scroll_y` follows from the place and serves the scroll bar only.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

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
from renderers.terminal.palette import Palette
from renderers.terminal.rows import Row
from schemas.message import Flag
from schemas.session import Change, Op, Session
from viewer.transcript.colours import COMPONENTS, CSS, extra_style, palette_of
from viewer.transcript.drawn import Drawn, DrawnBlocks
from viewer.transcript.folds import LEVELS, Folds
from viewer.transcript.layout import Layout, Position
from viewer.transcript.painting import Overlay, row_strip, unread_strip, with_cursor, with_matches, with_selection
from viewer.transcript.search_text import matching_rows
from viewer.transcript.select import message_source, position_of, row_number, selected_text

_WHEEL = 3
_START = Position(0, 0)


class TranscriptView(ScrollView, can_focus=True):
    """A session's messages. It is told of changes by `session_changed` and `set_session`; it reads nothing itself."""

    COMPONENT_CLASSES = COMPONENTS
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
        """What is looked for; its matches are marked."""
        self.unread: int | None = None
        """The first message that came since the person last saw the end."""
        self.touched = 0.0
        """When a key was last pressed (monotonic clock): slow work waits while keys are coming."""
        self.folds = Folds(session.messages)
        self.layout_of = Layout(session, self.folds)
        self._look = Look(80, Palette(), Highlights())
        self._drawn = DrawnBlocks(session, self._look)
        self._top = _START
        self._rows: list[Position] = []
        self._lines: list[tuple[Drawn, int]] = []  # the block of each of them, and which of its rows
        self._row_width = 80
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
            self._overlay = Overlay(
                self.rich_style,
                extra_style(self, "cursor"),
                extra_style(self, "mark"),
                extra_style(self, "match"),
                extra_style(self, "unread"),
                self.screen.get_component_rich_style("screen--selection", partial=True),
            )
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
    def wanted(self) -> list[tuple[int, Want]]:
        """Code on the screen that waits for its colours, and the message it stands in."""
        blocks = dict.fromkeys(place.block for place in self._rows)
        return [
            (block, want)
            for block in blocks
            for want in self._block(block).block.wanted
            if self._look.highlights.needs(want)
        ]

    @property
    def highlights(self) -> Highlights:
        """Coloured code."""
        return self._look.highlights

    def redraw(self, blocks: Iterable[int]) -> None:
        """These messages look different now, and are as tall as before."""
        for block in blocks:
            self._drawn.forget(block)
        self.show()

    # -- showing ---------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Work out what stands on the screen, bring the scroll bar in line, and paint."""
        if self.is_attached and self.size:
            self._styles_now()
            self._fill()
            self._paint()

    def _paint(self) -> None:
        """The scroll bar follows what was worked out, and the screen is drawn."""
        total = self.layout_of.total
        row = self.layout_of.row_of(self._top) if self._rows else 0
        # Both are reactive and would lay out the whole screen anew; only the scroll bar has to know.
        self.set_reactive(TranscriptView.virtual_size, Size(self.size.width, total))
        self.set_reactive(TranscriptView.scroll_y, float(row))
        self.set_reactive(TranscriptView.scroll_target_y, float(row))
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.window_virtual_size, bar.window_size, bar.position = total, self.height_of_page, row
        self.refresh()
        self.post_message(self.Moved())

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
        if len(self._rows) < height and (self._top.block, self._top.line) > (first, 0):
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
            drawn = self._block(block)
            head = self.layout_of.head(block)
            stop = min(head + len(drawn.block.rows), line + height - len(rows))
            rows.extend(Position(block, i) for i in range(line, stop))
            lines.extend((drawn, i - head) for i in range(line, stop))
            block, line = self.layout_of.next_visible(block + 1), 0
        self._lines = lines
        return rows

    def _near(self, place: Position) -> Position:
        """A visible place as near as can be."""
        block = min(place.block, self.layout_of.count - 1)
        if block >= 0 and block == place.block and self.layout_of.height(block):
            return place
        near = self.layout_of.previous_visible(block)
        if near is None:
            near = self.layout_of.next_visible(0)
        return _START if near is None else Position(near, self.layout_of.head(near))

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
        if self.sought and line >= 0:
            strip = with_matches(strip, self.sought, look)
        if place.block == self.cursor.block and (line >= 0 or place == self.cursor):
            strip = with_cursor(strip, look, on_line=place == self.cursor)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row_number(place))) is not None:
            strip = with_selection(strip, span, look)
        return strip if self._painting else strip.apply_offsets(0, row_number(place))

    def _strip(self, place: Position, line: int, drawn: Drawn, width: int, look: Overlay) -> Strip:
        if line >= 0:
            strip = drawn.strips[line] = row_strip(drawn.block.rows[line], width, look)
            return strip
        if place.block == self.unread and line == -1:
            return unread_strip(self._unread_since, self._look.measure, width, look)
        return row_strip(None, width, look)

    # -- moving ----------------------------------------------------------------------------------------------------

    def touch(self) -> None:
        """The person is here: slow work waits."""
        self.touched = time.monotonic()

    @property
    def at_end(self) -> bool:
        """Whether the last line is on the screen."""
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
        """To the first line."""
        self.following = False
        first = self.layout_of.next_visible(0)
        self._top = self.cursor = _START if first is None else Position(first, 0)
        self.show()

    def go_end(self) -> None:
        """To the last line."""
        last = self.layout_of.previous_visible(self.layout_of.count - 1)
        if last is not None:
            self._measure(last)
            self.cursor = Position(last, max(0, self.layout_of.height(last) - 1))
            self._top = self._move(self.cursor, 1 - self.height_of_page)
        self.show()

    def go_to(self, block: int, line: int = 0, *, row: int = 0) -> None:
        """The cursor to a line of a block's own; it then stands `row` lines below the top of the screen."""
        if not 0 <= block < self.layout_of.count:
            return
        self.following = False
        place = self._near(Position(block, 0))
        if place.block == block:
            self._measure(block)
            place = Position(block, min(line + self.layout_of.head(block), max(0, self.layout_of.height(block) - 1)))
        self.cursor = place
        self._top = self._move(place, -row)
        self.show()

    def go_exchange(self, step: int) -> None:
        """To the next (or previous) exchange's first line."""
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
    def percent(self) -> int:
        """How far down the screen's last line is."""
        if not self._rows:
            return 100
        return min(99, 100 * (self.layout_of.row_of(self._rows[-1]) + 1) // max(1, self.layout_of.total))

    def go_back(self, top: Position, cursor: Position) -> None:
        """To where one was before."""
        self._top, self.cursor = top, cursor
        self.show()

    def go_hit(self, hits: list[int], start: Position, step: int, *, inclusive: bool = False) -> bool:
        """To the line after (or before) `start` that holds what is sought; `hits` are the messages that do, in order.

        A hit in what is folded is opened. Returns whether there was one.
        """
        if start.block in hits:
            lines = self._hit_lines(start.block)
            own = start.line - self.layout_of.head(start.block)
            beyond = [n for n in lines if (n > own if step > 0 else n < own) or (inclusive and n == own)]
            if beyond:
                self._show_hit(start.block, beyond[0] if step > 0 else beyond[-1])
                return True
        others = [i for i in hits if (i > start.block if step > 0 else i < start.block)] or hits
        if not others:
            return False
        block = others[0] if step > 0 else others[-1]
        lines = self._hit_lines(block)
        self._show_hit(block, (lines or [0])[0 if step > 0 else -1])
        return True

    def _hit_lines(self, block: int) -> list[int]:
        """The lines of a message, opened if need be, that hold what is sought."""
        fold = self.folds.fold(block)
        lines = matching_rows(self._block(block).block.rows, self.sought) if fold > Fold.HIDDEN else []
        if lines and fold is not Fold.LINE and not self._block(block).block.more:
            return lines
        self.reveal(block)
        if self._block(block).block.more:  # further down in a huge output
            self._drawn.extend(block, self.session.messages.lines[block] + 1)
        return matching_rows(self._block(block).block.rows, self.sought)

    def _show_hit(self, block: int, line: int) -> None:
        place = Position(block, line + self.layout_of.head(block))
        row = self._screen_row(place)
        inner = self.height_of_page // 6
        if row is None or not inner <= row < self.height_of_page - inner:
            row = self.height_of_page // 3
        self.go_to(block, line, row=row)

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Where the scroll bar was dragged to."""
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

    # -- folding ---------------------------------------------------------------------------------------------------

    def _refold(self, head_before: int, blocks: range | None = None) -> None:
        """Take in that folds changed; the line under the cursor stays where it is. `head_before`: the rows that stood
        above the cursor's block then.
        """
        if not self.layout_of.count:
            return
        row = self._screen_row(self.cursor) or 0
        cursor = self.cursor
        offset = cursor.line - head_before
        self.layout_of.refold(blocks)
        near = self._near(cursor)
        if near.block == cursor.block:
            self._measure(cursor.block)
            head, height = self.layout_of.head(cursor.block), self.layout_of.height(cursor.block)
            own = height - head
            # A line that is gone leaves the cursor on the block's first line.
            near = Position(cursor.block, max(0, head + (offset if offset < own else 0)))
        self.cursor = near
        self._top = self._move(near, -row)
        self.show()

    def set_level(self, level: int) -> None:
        """The same fold level for all."""
        head = self.layout_of.head(self.cursor.block)
        self.folds.set_level(level)
        self._refold(head)

    def next_level(self) -> str:
        """The next fold level for all; returns its name."""
        self.set_level((self.folds.level + 1) % len(LEVELS))
        return LEVELS[self.folds.level][0]

    def toggle_thinking(self) -> bool:
        """All thinking; returns whether it is open now."""
        head = self.layout_of.head(self.cursor.block)
        opened = self.folds.toggle_thinking()
        self._refold(head)
        return opened

    def toggle_output(self) -> bool:
        """All tool output; returns whether it is open now."""
        head = self.layout_of.head(self.cursor.block)
        opened = self.folds.toggle_output()
        self._refold(head)
        return opened

    def fold_here(self) -> None:
        """Fold or unfold the block under the cursor, or the exchange on its first line."""
        block = self.cursor.block
        if not self._rows:
            return
        head = self.layout_of.head(self.cursor.block)
        row = self.row_at(self.cursor)
        fold = self.folds.fold(block)
        if row is not None and row.act == "more":
            if fold is Fold.FULL:
                self._drawn.extend(block)
            self.folds.blocks[block] = Fold.FULL
        elif self.session.messages.has(block, Flag.OPENER):
            exchange = self.session.messages.exchange[block]
            old = self.session.messages.has(block, Flag.REWOUND) or self.session.messages.has(block, Flag.INHERITED)
            self.folds.exchanges[exchange] = not self.folds.is_open(exchange, old)
            self._refold(head, self.session.message_range(exchange))
            return
        else:
            more = self._block(block).block.more
            if fold is Fold.LINE:
                self.folds.blocks[block] = Fold.SHORT
            else:
                self.folds.blocks[block] = Fold.FULL if fold is Fold.SHORT and more else Fold.LINE
        self._refold(head, range(block, block + 1))

    def reveal(self, block: int) -> None:
        """Open whatever hides a message, as far as it goes."""
        table = self.session.messages
        exchange = table.exchange[block]
        changed = False
        if self.folds.fold(block) is Fold.HIDDEN:
            self.folds.exchanges[exchange] = True
            changed = True
        if self.folds.fold(block) is not Fold.FULL:
            self.folds.blocks[block] = Fold.FULL
        self.layout_of.refold(self.session.message_range(exchange) if changed else range(block, block + 1))

    def extend(self, block: int, lines: int) -> None:
        """Show so many lines of a huge output."""
        self._drawn.extend(block, lines)

    # -- the session changes ---------------------------------------------------------------------------------------

    def session_changed(self, changes: list[Change]) -> None:
        """More was read. Nothing on the screen moves, unless it is followed and the end is shown."""
        table = self.session.messages
        count = len(table)
        changed = {change.message for change in changes if change.op is not Op.APPENDED and change.message >= 0}
        appended = [change.message for change in changes if change.op is Op.APPENDED]
        for index in changed:
            self._drawn.forget(index)
        visible = {place.block for place in self._rows}
        # The header of an exchange shows its totals, so it changes with each of its messages.
        openers = {self.session.exchanges[table.exchange[i]].start for i in (*changed, *appended) if 0 <= i < count}
        for index in openers:
            self._drawn.forget(index)
        self.layout_of.sync(changed)
        if self.following:
            self.go_end()
        elif not self._rows or self.at_end or visible & (changed | openers):
            self.show()
        else:
            self._resize_bar()

    def _resize_bar(self) -> None:
        """Only the scroll bar has to know of what came below."""
        total = self.layout_of.total
        if total != self.virtual_size.height:
            self.set_reactive(TranscriptView.virtual_size, Size(self.size.width, total))
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = total
                self.vertical_scrollbar.position = self.layout_of.row_of(self._top)

    def set_session(self, session: Session) -> None:
        """The session was read anew: places and folds stay with the messages they belonged to."""
        old, folds = self.session.messages, self.folds
        places = {place.block for place in (self._top, self.cursor)} if self._rows else set()
        places.update(folds.blocks, () if self.unread is None else (self.unread,))
        starts = {e: self.session.exchanges[e].start for e in folds.exchanges if e < len(self.session.exchanges)}
        keys = {old.key[i]: i for i in (*places, *starts.values()) if i < len(old)}
        found = {keys[key]: i for i, key in enumerate(session.messages.key) if key in keys}
        new = Folds(session.messages)
        new.level, new.thinking, new.output = folds.level, folds.thinking, folds.output
        new.blocks = {found[i]: fold for i, fold in folds.blocks.items() if i in found}
        new.exchanges = {
            session.messages.exchange[found[start]]: folds.exchanges[e] for e, start in starts.items() if start in found
        }
        top, cursor = (found.get(p.block) for p in (self._top, self.cursor))
        self.session, self.folds = session, new
        self.layout_of = Layout(session, new, self._look.width)
        self._drawn = DrawnBlocks(session, self._look)
        self.set_unread(found.get(self.unread) if self.unread is not None else None, self._unread_since)
        count = len(session.messages)
        self._top = Position(min(self._top.block, max(0, count - 1)) if top is None else top, self._top.line)
        self.cursor = Position(
            min(self.cursor.block, max(0, count - 1)) if cursor is None else cursor, self.cursor.line
        )
        if self.text_selection is not None:
            self.screen.clear_selection()
        if self.following:
            self.go_end()
        else:
            self.show()

    def set_unread(self, block: int | None, since: str = "") -> None:
        """Draw the line "new since" above a message, and no other."""
        self.unread = block
        self._unread_since = since or local_time(time.time())
        self.layout_of.set_rule(block)

    # -- the mouse -------------------------------------------------------------------------------------------------

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self.touch()
        self.scroll_rows(_WHEEL, with_cursor=False)
        self.following = self.following or self.at_end

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self.touch()
        self.scroll_rows(-_WHEEL, with_cursor=False)

    def on_click(self, event: Click) -> None:
        """A click puts the cursor on the line; on a line that folds, it folds."""
        if self.text_selection is not None or not 0 <= event.y < len(self._rows):
            return
        self.touch()
        old, self.cursor = self.cursor, self._rows[event.y]
        row = self.row_at(self.cursor)
        if event.chain == 1 and row is not None and row.act:
            self.fold_here()
        else:
            self._repaint_cursor(old)

    # -- selecting -------------------------------------------------------------------------------------------------

    def text_select_all(self) -> None:
        """A double click selects the block under the pointer; a whole session is nothing one wants to copy."""
        block = self.cursor.block
        last = Position(block, max(0, self.layout_of.height(block) - 1))
        start = Offset(0, row_number(Position(block, self.layout_of.head(block))))
        self.screen.selections = {self: Selection(start, Offset(self._look.width + 2, row_number(last)))}

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint it."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text. An open end is where the screen ends: what was never shown was not selected."""
        if not self._rows:
            return None
        start, end = selection
        first = self._rows[0] if start is None else position_of(start.y)
        last = self._rows[-1] if end is None else position_of(end.y)
        text = selected_text(
            (0 if start is None else start.x, first),
            (self._look.width + 2 if end is None else end.x, last),
            self._visible_blocks(first.block, last.block),
            lambda block: (self.layout_of.head(block), self._block(block).block.rows),
            lambda block: message_source(self.session.message(block), self.session.workspace_root),
        )
        return text, "\n"

    def _visible_blocks(self, first: int, last: int) -> Iterator[int]:
        block = self.layout_of.next_visible(first)
        while block is not None and block <= last:
            yield block
            block = self.layout_of.next_visible(block + 1)

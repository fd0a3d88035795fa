"""The view of a transcript: a window in which a person folds, searches, selects and follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.geometry import Offset, Size
from textual.selection import Selection
from textual.strip import Strip

from renderers.facts import local_time
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.rows import Row
from schemas.changes import Moves
from schemas.message import Flag
from schemas.session import Change, Op, Session
from schemas.values import whole
from viewer.transcript.drawn import Drawn
from viewer.transcript.folds import LEVELS, Folds
from viewer.transcript.layout import Layout, Position
from viewer.transcript.painting import Overlay, overlaid
from viewer.transcript.search_text import ALL_LINES, Stretch, matches
from viewer.transcript.select import MARK_CELLS, message_source, position_of, row_number, selected_text
from viewer.transcript.window import TranscriptWindow

if TYPE_CHECKING:
    from viewer.transcript.find import Finder

_MARKED = 200
"""Messages of which it is kept where their matches stand."""
_WHEEL = 3
_LAST = 50
"""Among so many messages at the end are the tools that run."""


_AT_ONCE = 8
"""Chunks of another session whose heights are worked out at once, in a few milliseconds; the others are by and by."""


class _Standing(NamedTuple):
    """The lines on the screen, as messages and lines of their own: its first line, the cursor's and in which row it is
    shown, all lines.
    """

    top: tuple[int, int]
    cursor: tuple[int, int]
    row: int | None
    rows: list[tuple[int, int]]


class TranscriptView(TranscriptWindow):
    """A session's messages. It is told of changes by `session_changed` and `set_session`; it reads nothing itself."""

    def __init__(self, session: Session, **options: Any) -> None:
        super().__init__(session, **options)
        self.hit: tuple[int, int, int] | None = None
        """The match that was gone to: its message, the line in it, and which of the message's matches it is, from 0."""
        self._marks: dict[int, tuple[Drawn, dict[int, list[tuple[int, int, int]]]]] = {}
        """Where the matches of messages stand: by row, start and end on the screen, and their number from 0."""

    # -- folding ---------------------------------------------------------------------------------------------------

    def _refold(self, head_before: int, blocks: range | None = None) -> None:
        """Take in that folds changed; the line under the cursor stays where it is. `head_before`: the rows that stood
        above the cursor's block then. Where the end is followed and all was folded anew, the end stays in sight.
        """
        if not self.layout_of.count:
            return
        row = self._screen_row(self.cursor) or 0
        cursor = self.cursor
        offset = cursor.line - head_before
        self.layout_of.refold(blocks)
        if self.following and blocks is None:
            self.go_end()
            return
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

    def fold_all(self, change: Callable[[Folds], object]) -> None:
        """Change the folds of all messages."""
        head = self.layout_of.head(self.cursor.block)
        change(self.folds)
        self._refold(head)

    def set_level(self, level: int) -> None:
        """The same fold level for all; there are none beyond the first and the last."""
        self.fold_all(lambda folds: folds.set_level(max(0, min(level, len(LEVELS) - 1))))

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
                fold = Fold.SHORT
            else:
                fold = Fold.FULL if fold is Fold.SHORT and more else Fold.LINE
            self.folds.blocks[block] = fold
            if not self.session.messages.joins(block):  # what is one line with it opens and folds with it
                joined = self.session.messages.joined(block)
                self.folds.blocks |= dict.fromkeys(joined[1:], fold if fold is not Fold.LINE else Fold.HIDDEN)
                self._refold(head, joined)
                return
        self._refold(head, range(block, block + 1))

    def open_at(self, block: int) -> None:
        """Go to a message, which is opened, and so is its exchange."""
        table = self.session.messages
        exchange = table.exchange[block]
        old = table.has(self.session.exchanges[exchange].start, Flag.REWOUND | Flag.INHERITED)
        if self.folds.fold(block) is Fold.HIDDEN or not self.folds.is_open(exchange, old):
            self._open_exchange(exchange)
        self.folds.blocks[block] = Fold.FULL
        self.layout_of.refold(range(block, block + 1))
        self.go_to(block, row=0 if table.has(block, Flag.OPENER) else None)

    def visit(self, block: int, line: int = 0) -> None:
        """Go to a line of a message's own. What hides it is opened; nothing moves for one that is well on the screen,
        and a prompt comes to the top.
        """
        if self.folds.fold(block) is Fold.HIDDEN:
            self._open_exchange(self.session.messages.exchange[block])
        if self.folds.fold(block) is Fold.HIDDEN:
            self.folds.blocks[block] = Fold.LINE
            self.layout_of.refold(range(block, block + 1))
        self._measure(block)
        row = self._screen_row(Position(block, line + self.layout_of.head(block)))
        inner = self.height_of_page // 6
        if row is None or not inner <= row < self.height_of_page - inner:
            row = 0 if self.session.messages.has(block, Flag.OPENER) else self.height_of_page // 3
        self.go_to(block, line, row=row)

    @property
    def own_line(self) -> int:
        """The number of the line under the cursor among its message's own."""
        return self._held(self.cursor)[1]

    @property
    def here(self) -> tuple[int, int] | None:
        """The line under the cursor: the key of its message and its number in it; None where there is no message."""
        if self.cursor.block >= self.layout_of.count:
            return None
        return self.session.messages.key[self.cursor.block], self.own_line

    def _open_exchange(self, exchange: int) -> None:
        self.folds.exchanges[exchange] = True
        self.layout_of.refold(self.session.message_range(exchange))

    def kept(self) -> dict[str, Any]:
        """The place where one is and the folds, as JSON that `restore` takes; nothing where all is as it began."""
        kept = self.folds.kept()
        if not any(kept.values()) and self.cursor == Position(0, 0):
            return {}
        if self.here is not None:
            key, line = self.here
            kept |= {"message": key, "line": line, "row": self._screen_row(self.cursor)}
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

    def extend(self, block: int, lines: int) -> None:
        """Show so many lines of a huge output."""
        self._drawn.extend(block, lines)

    # -- searching -------------------------------------------------------------------------------------------------

    @property
    def look(self) -> Look:
        """The look with which messages are drawn now."""
        return self._look

    def look_for(self, key: str) -> None:
        """Mark what matches this `search_key` from now on; "" marks nothing."""
        self.sought, self.hit = key, None
        self._marks.clear()
        self.show()

    def go_hit(self, finder: Finder, start: Position, step: int, *, inclusive: bool = False) -> bool:
        """Go to the place after (or before) the one that was gone to, if `start` is still there, else after that line;
        with `inclusive`, to one on that line too. What hides it is opened. Returns whether there was one.
        """
        hits = finder.hits
        if not hits:
            return False
        if start.block in finder.counts:
            ordinal = self._beside(start, step, finder.counts[start.block], inclusive)
            if ordinal is not None:
                self._show_hit(start.block, ordinal)
                return True
        others = [i for i in hits if (i > start.block if step > 0 else i < start.block)] or hits
        block = others[0] if step > 0 else others[-1]
        self._show_hit(block, 0 if step > 0 else finder.counts[block] - 1)
        return True

    def _beside(self, start: Position, step: int, count: int, inclusive: bool) -> int | None:
        """Return the place of the message under `start` that comes next; None where none does."""
        line = start.line - self.layout_of.head(start.block)
        if self.hit is not None and self.hit[:2] == (start.block, line) and not inclusive:
            ordinal = self.hit[2] + step
            return ordinal if 0 <= ordinal < count else None
        lines = [place[0].row for place in matches(self._whole(start.block).block.rows, self.sought)]
        if step > 0:
            return next((n for n, row in enumerate(lines) if row > line or (inclusive and row == line)), None)
        return next((n for n in reversed(range(len(lines))) if lines[n] < line), None)

    def _whole(self, block: int) -> Drawn:
        """A message as it is when it is open and nothing of it left out."""
        drawn = self._drawn.get(block, Fold.FULL)
        if drawn.block.more:
            self._drawn.extend(block, ALL_LINES)
            self.layout_of.forget_height(block)
            drawn = self._drawn.get(block, Fold.FULL)
        return drawn

    def _show_hit(self, block: int, ordinal: int) -> None:
        """Go to a place of a message; it is opened unless the line can be seen as it is."""
        if self.folds.fold(block) is Fold.HIDDEN:
            self._open_exchange(self.session.messages.exchange[block])
        rows = self._whole(block).block.rows
        places = matches(rows, self.sought)
        place = places[min(ordinal, len(places) - 1)] if places else [Stretch(0, 0, 0)]
        shown = self._block(block).block.rows if self.folds.fold(block) > Fold.HIDDEN else []
        last = place[-1].row + 1
        if len(shown) < last or any(_own(a) != _own(b) for a, b in zip(shown[:last], rows, strict=False)):
            self.folds.blocks[block] = Fold.FULL
            self.layout_of.refold(range(block, block + 1))
            self._measure(block)
        self.hit = (block, place[0].row, ordinal)
        self.visit(block, place[0].row)

    def _marked(self, strip: Strip, block: int, drawn: Drawn, line: int, look: Overlay) -> Strip:
        """A line with the matches on it marked, the one that was gone to in a colour of its own."""
        known = self._marks.get(block)
        if known is None or known[0] is not drawn:
            if len(self._marks) > _MARKED:
                self._marks.clear()
            spans: dict[int, list[tuple[int, int, int]]] = {}
            for ordinal, place in enumerate(matches(drawn.block.rows, self.sought)):
                for row, start, end in place:
                    spans.setdefault(row, []).append((start + MARK_CELLS, end + MARK_CELLS, ordinal))
            known = self._marks[block] = drawn, spans
        here = known[1].get(line, [])
        at = self.hit[2] if self.hit is not None and self.hit[0] == block else None
        strip = overlaid(strip, [(start, end) for start, end, n in here if n != at], look.match)
        return overlaid(strip, [(start, end) for start, end, n in here if n == at], look.found)

    # -- the session changes ---------------------------------------------------------------------------------------

    def session_changed(self, changes: list[Change]) -> None:
        """More was read. Nothing on the screen moves, unless it is followed and the end is shown."""
        table = self.session.messages
        count = len(table)
        changed = {change.message for change in changes if change.op is Op.UPDATED and 0 <= change.message < count}
        appended = [change.message for change in changes if change.op is Op.APPENDED]
        if any(table.has(index, Flag.OPENER) for index in changed):
            self._drawn.clear()  # one that is rewound now has no number, and those behind it have others
        for index in changed:
            self._drawn.forget(index)
        visible = {place.block for place in self._rows}
        # The header of an exchange shows its totals, so it changes with each of its messages.
        openers = {self.session.exchanges[table.exchange[i]].start for i in (*changed, *appended) if 0 <= i < count}
        # And a line that stands for several messages changes with each of them.
        openers |= {table.shown_in(i) for i in (*changed, *appended) if 0 <= i < count}
        self.layout_of.sync(changed)
        self._redraw_later(openers)
        if self.cursor.block in changed and self.folds.fold(self.cursor.block) is Fold.HIDDEN:  # rewound just now
            self.cursor = self._header_over(self.cursor.block) or self.cursor
        if self.following:
            self.go_end()
        elif len(self._rows) < self.height_of_page or self.at_end or visible & (changed | openers):
            self.show()
        else:
            self._resize_bar()

    def _redraw_later(self, blocks: Iterable[int]) -> None:
        """These messages look different now, and may have another height."""
        for block in blocks:
            if block < self.layout_of.count:
                self._drawn.forget(block)
                self.layout_of.forget_height(block)

    def set_activity(self, running: int, subagents: Mapping[int, str]) -> None:
        """Show which exchange is being worked on (-1 for none), and what the subagents did so far."""
        look, exchanges = self._look, self.session.exchanges
        if (running, subagents) == (look.running, look.subagents):
            return
        others = dict(subagents.items() ^ look.subagents.items())
        blocks = set(others)
        for exchange in {running, look.running} if running != look.running else ():
            if 0 <= exchange < len(exchanges):
                # A tool without a result is either running or was left behind.
                blocks.update(self._pending(self.session.message_range(exchange)))
                blocks.add(exchanges[exchange].start)
        self._look = replace(look, running=running, subagents=dict(subagents))
        self._drawn.relook(self._look)
        self._redraw_later(blocks)
        if self.following:
            self.go_end()
        elif blocks & {place.block for place in self._rows}:
            self.show()

    def show_costs(self, cost: Callable[[int], str | None], exchanges: Iterable[int] | None = None) -> None:
        """`cost` says what an exchange cost; draw the headers of these exchanges again (None: all that were drawn)."""
        table = self.session.exchanges
        self._look = replace(self._look, cost=cost)
        self._drawn.relook(self._look)
        numbers = range(len(table)) if exchanges is None else exchanges
        headers = {table[n].start for n in numbers if n < len(table)}
        self._redraw_later(headers)
        if headers & {place.block for place in self._rows}:
            self.go_end() if self.following else self.show()

    def _pending(self, blocks: range) -> list[int]:
        """The tools among the last of these messages that have no result."""
        return [i for i in blocks[-_LAST:] if self.session.messages.has(i, Flag.PENDING)]

    def _resize_bar(self) -> None:
        """Only the scroll bar has to know of what came below."""
        total = self.layout_of.total
        if total != self.virtual_size.height:
            self.set_reactive(TranscriptWindow.virtual_size, Size(self.size.width, total))
            self._move_bar(total, self.layout_of.row_of(self._top))

    def set_session(self, session: Session) -> Moves:
        """Another object holds the session: it was read anew, or history was rewritten. Places and folds stay with the
        messages to which they belonged, and what is there still does not move on the screen, unless it is followed and
        the end is shown.
        """
        moves = Moves(self.session, session)
        place, look = self._standing(), self._look
        running = moves.exchange(look.running)
        subagents = {found: said for i, said in look.subagents.items() if (found := moves.find(i)) is not None}
        self._look = look = replace(look, running=-1 if running is None else running, subagents=subagents)
        hit = self.hit and moves.find(self.hit[0])
        self.hit = None if self.hit is None or hit is None else (hit, *self.hit[1:])
        self._marks.clear()
        selection = self._held_selection()
        unread = None if self.unread is None else moves.find(self.unread)
        self.session, self.folds = session, self.folds.moved(moves)
        self.layout_of = Layout(session, self.folds, look.width, read_later=True)
        for _ in islice(self.layout_of.read(), _AT_ONCE):
            pass
        self._drawn = self._drawn.moved(moves, look)
        self.set_unread(unread, self._unread_since)
        self._stand(place, moves)
        self._hold_selection(selection, moves)
        if self.following:
            self.go_end()
        else:
            self.show()
        return moves

    def _standing(self) -> _Standing:
        """Note what is on the screen, and where, for `_stand`."""
        rows = [self._held(place) for place in self._rows]
        return _Standing(self._held(self._top), self._held(self.cursor), self._screen_row(self.cursor), rows)

    def _held(self, place: Position) -> tuple[int, int]:
        """A line of a message's own, whatever stands above it."""
        return place.block, place.line - (self.layout_of.head(place.block) if place.block < self.layout_of.count else 0)

    def _found(self, held: tuple[int, int], moves: Moves) -> Position | None:
        """Find such a line; None if its message is gone or hidden."""
        block = moves.find(held[0])
        if block is None or self.folds.fold(block) is Fold.HIDDEN:
            return None
        self._measure(block)
        line = held[1] + self.layout_of.head(block)
        return Position(block, max(0, min(line, self.layout_of.height(block) - 1)))

    def _stand(self, standing: _Standing, moves: Moves) -> None:
        """Stay where one was, by the first line of the screen, else the cursor's, else any that is still there."""
        if not self.layout_of.count:
            self._top = self.cursor = Position(0, 0)
            return
        anchors = [(0, standing.top)]
        if standing.row is not None:
            anchors.append((standing.row, standing.cursor))
        for row, held in (*anchors, *enumerate(standing.rows)):
            if (place := self._found(held, moves)) is not None:
                self._top = self._move(place, -row)
                break
        else:
            self._top = self._near(Position(moves.near(standing.top[0]), 0))
        cursor = self._found(standing.cursor, moves)
        if cursor is None and (block := moves.find(standing.cursor[0])) is not None:
            cursor = self._header_over(block)
        if cursor is None:
            cursor = self._move(self._top, standing.row or 0)
        self.cursor = cursor

    def _header_over(self, block: int) -> Position | None:
        """The line that a hidden message is folded into: its exchange's; None where that is hidden too."""
        start = self.session.exchanges[self.session.messages.exchange[block]].start
        if self.folds.fold(start) is Fold.HIDDEN:
            return None
        self._measure(start)
        return Position(start, self.layout_of.head(start))

    def _held_selection(self) -> list[tuple[int, tuple[int, int]] | None] | None:
        """Both ends of what is selected: column and line."""
        if self.text_selection is None:
            return None
        return [None if end is None else (end.x, self._held(position_of(end.y))) for end in self.text_selection]

    def _hold_selection(self, held: list[tuple[int, tuple[int, int]] | None] | None, moves: Moves) -> None:
        """Select the same again; nothing if an end of it is gone."""
        if held is None:
            return
        ends: list[Offset | None] = []
        for end in held:
            place = None if end is None else self._found(end[1], moves)
            ends.append(None if end is None or place is None else Offset(end[0], row_number(place)))
        if any(end is not None and now is None for end, now in zip(held, ends, strict=True)):
            self.screen.clear_selection()
        else:
            self.screen.selections = {self: Selection(*ends)}

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


def _own(row: Row) -> str:
    """Return a row's text behind its glyph, which says only whether it is open."""
    return row.text[row.gutter :]

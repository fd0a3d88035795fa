"""The heights of messages and where each stands: the arithmetic behind the scroll bar. Knows nothing of Textual.

A session may have 300,000 messages, and folding all of them must not take longer than a frame. So heights live on two
levels. A chunk of 256 messages knows, for each sort of message, how many there are and how much text they hold, from
which its height follows for any folding and any width without looking at a message. Only a chunk that is entered
works out the heights of its messages, first estimated, then measured as they are drawn. What is on the screen is never
an estimate: the view measures it before it paints, and keeps its place by (message, line), not by row.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from renderers.terminal.folds import SHORT_LINES, Fold
from schemas.message import Flag, Kind
from schemas.session import Session
from viewer.transcript.folds import Folds, Sort

CHUNK_BITS = 8
CHUNK = 1 << CHUNK_BITS
_CAP_LINES = SHORT_LINES + 1
_CAP_CHARS = _CAP_LINES * 80
_GUESS = 2
"""Rows of a message of which nothing is known."""


class Position(NamedTuple):
    """A line of a message. Those above its own, a blank one and the line "new since", are below zero."""

    block: int
    line: int


@dataclass(slots=True)
class _Stat:
    """The messages of one sort in a chunk: which, and their sizes whole and cut."""

    members: bytearray = field(default_factory=bytearray)
    lines: int = 0
    chars: int = 0
    cut_lines: int = 0
    cut_chars: int = 0
    rows: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Rows they take at each fold when everything is `width` wide."""
    width: int = 0

    def rows_at(self, width: int, sort: int) -> tuple[int, int, int, int]:
        """`rows`, worked out for that width."""
        if self.width != width:
            count = len(self.members)
            self.rows = (
                0,
                _rows(sort, Fold.LINE, count, 0, 0, width),
                _rows(sort, Fold.SHORT, count, self.cut_lines, self.cut_chars, width),
                _rows(sort, Fold.FULL, count, self.lines, self.chars, width),
            )
            self.width = width
        return self.rows


class Layout:
    """Heights of a session's messages. Call `sync` after the session changed, `refold` after its folds did."""

    def __init__(self, session: Session, folds: Folds, width: int = 80, *, read_later: bool = False) -> None:
        self._session = session
        self._table = session.messages
        self._folds = folds
        self._width = width
        self._count = 0
        self._rule: int | None = None
        self._stats: list[dict[int, _Stat] | None] = []
        self._heights: dict[int, array[int]] = {}  # of the chunks that were entered
        self._exact = defaultdict[int, bytearray](lambda: bytearray(CHUNK))  # which of their messages were measured
        self._totals: list[int] = []
        self._prefix: list[int] = []
        self._dirty: set[int] = set()  # chunks whose total is out of date
        self._opened: dict[int, bool] = {}  # chunks that lie wholly within an exchange opened or folded by itself
        self._special: set[int] = set()  # chunks in which single messages are folded otherwise
        self._unread: set[int] = set()  # chunks whose messages' sizes have not been looked at; their height is a guess
        self.sync()
        if read_later:
            self._unread = set(range(len(self._stats)))

    def read(self) -> Iterator[None]:
        """Look at the sizes of messages that were put off with `read_later`, a chunk (half a millisecond) at a time."""
        for chunk in sorted(self._unread):
            if chunk in self._unread and chunk < len(self._stats):
                self._stat(chunk)
                self._dirty.add(chunk)
            self._unread.discard(chunk)
            yield

    # -- what happened ---------------------------------------------------------------------------------------------

    def sync(self, changed: Collection[int] = ()) -> None:
        """Take in messages that came, and those among the old ones that changed."""
        table_count = len(self._table)
        # The blank row above a message depends on the one before it.
        touched = {i >> CHUNK_BITS for index in changed for i in (index, index + 1) if i < table_count}
        for index in changed:
            if index < table_count and self._table.flags[index] & Flag.OPENER:  # whether it was rewound tells for all
                reach = self._session.message_range(self._table.exchange[index])
                touched.update(range(reach.start >> CHUNK_BITS, (reach.stop - 1 >> CHUNK_BITS) + 1))
            thought = index < table_count and self._table.kind[index] == Kind.THINKING
            if thought and (following := self._table.next_withheld(index)) is not None:
                touched.add(following >> CHUNK_BITS)  # it may be the first that is withheld now
        if table_count > self._count:  # one in which messages went is another object
            last = (table_count + CHUNK - 1) >> CHUNK_BITS
            self._stats.extend([None] * (last - len(self._stats)))
            self._totals.extend([0] * (last - len(self._totals)))
            touched.update(range(self._count >> CHUNK_BITS, last))
            self._count = table_count
            if self._folds.exchanges or self._folds.blocks:
                self._find_overrides()
        for chunk in touched:
            self._stats[chunk] = None
            self._forget(chunk)

    def refold(self, blocks: range | None = None) -> None:
        """The folds changed: of these messages, or of everything."""
        self._find_overrides()
        if blocks is None:
            self._forget_all()
            return
        # The blank row above a message depends on the one before it, so one more is taken along.
        last = min(blocks.stop, self._count - 1) >> CHUNK_BITS
        for chunk in range(blocks.start >> CHUNK_BITS, last + 1):
            self._forget(chunk)

    def _forget(self, chunk: int) -> None:
        self._heights.pop(chunk, None)
        self._exact.pop(chunk, None)
        self._dirty.add(chunk)

    def _forget_all(self) -> None:
        self._heights.clear()
        self._exact.clear()
        self._dirty = set(range(len(self._stats)))

    def set_width(self, width: int) -> None:
        """Everything is wrapped anew."""
        if width != self._width:
            self._width = width
            self._forget_all()

    def set_rule(self, block: int | None) -> None:
        """Above which message the line "new since" stands; it adds a row there."""
        for index in {self._rule, block} - {None}:
            if index is not None and index < self._count:
                self._forget(index >> CHUNK_BITS)
        self._rule = block

    def _find_overrides(self) -> None:
        before, special_before = self._opened, self._special
        self._special = {index >> CHUNK_BITS for index in self._folds.blocks}
        self._special.update(((index + 1) >> CHUNK_BITS) for index in self._folds.blocks if index + 1 < self._count)
        self._opened = {}
        for exchange, opened in self._folds.exchanges.items():
            if exchange >= len(self._session.exchanges):
                continue
            reach = self._session.message_range(exchange)
            first, last = reach.start >> CHUNK_BITS, max(reach.start, reach.stop - 1) >> CHUNK_BITS
            self._special.update((first, last))
            self._opened.update((chunk, opened) for chunk in range(first + 1, last))
            if reach.stop < self._count:
                self._special.add(reach.stop >> CHUNK_BITS)
        changed = {c for c in before.keys() | self._opened.keys() if before.get(c) is not self._opened.get(c)}
        changed |= special_before ^ self._special
        for chunk in changed:
            self._forget(chunk)

    # -- asking ----------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Messages it knows of."""
        return self._count

    @property
    def total(self) -> int:
        """Rows of everything."""
        prefix = self._sums()
        return prefix[-1] if prefix else 0

    @staticmethod
    def _margin(fold: int, before: int) -> int:
        """Count the blank rows above a message: none between one-liners, one around everything that is open."""
        return 0 if fold == Fold.LINE and before <= Fold.LINE else 1

    def head(self, block: int) -> int:
        """Rows above a message's own: the blank one, and the line "new since"."""
        margin = self._margin(self._folds.fold(block), self._folds.fold(block - 1)) if block else 0
        return margin + (block == self._rule)

    def height(self, block: int) -> int:
        """Rows of a message with those above it; 0 when it is hidden."""
        return self._chunk(block >> CHUNK_BITS)[block & (CHUNK - 1)]

    def set_height(self, block: int, rows: int) -> None:
        """The message's own rows have been counted."""
        chunk = block >> CHUNK_BITS
        heights = self._chunk(chunk)
        height = rows + self.head(block) if rows else 0
        if heights[block & (CHUNK - 1)] != height:
            heights[block & (CHUNK - 1)] = height
            self._dirty.add(chunk)
        self._exact[chunk][block & (CHUNK - 1)] = 1

    def forget_height(self, block: int) -> None:
        """The message may be taller or shorter now, though nothing else about it changed."""
        self._exact[block >> CHUNK_BITS][block & (CHUNK - 1)] = 0

    def is_exact(self, block: int) -> bool:
        """Tell whether the message has been measured since it last changed."""
        return self._exact[block >> CHUNK_BITS][block & (CHUNK - 1)] == 1

    def row_of(self, position: Position) -> int:
        """The row of a line."""
        chunk, index = divmod(position.block, CHUNK)
        heights = self._chunk(chunk)
        top = (self._sums()[chunk - 1] if chunk else 0) + sum(heights[:index])
        return top + self.head(position.block) + position.line

    def first_line(self, block: int) -> Position:
        """The first line of a message, among those above its own."""
        return Position(block, -self.head(block))

    def last_line(self, block: int) -> Position:
        """The last line of a message."""
        return Position(block, max(0, self.height(block) - self.head(block) - 1))

    def within(self, block: int, line: int) -> Position:
        """The line of a message, or the nearest that it has."""
        return max(self.first_line(block), min(Position(block, line), self.last_line(block)))

    def find(self, row: int) -> Position:
        """The line at a row; the last line for a row behind the end. Raises LookupError when nothing is visible."""
        row = max(0, row)
        while True:
            prefix = self._sums()
            if not prefix or not prefix[-1]:
                raise LookupError("no message is visible")
            row = min(row, prefix[-1] - 1)
            chunk = bisect_right(prefix, row)
            if chunk in self._heights and chunk not in self._dirty:
                break
            self._chunk(chunk)
        offset = row - (prefix[chunk - 1] if chunk else 0)
        for i, height in enumerate(self._heights[chunk]):
            if offset < height:
                block = (chunk << CHUNK_BITS) + i
                return Position(block, offset - self.head(block))
            offset -= height
        raise AssertionError("a chunk's total differs from its heights")

    def visible(self, block: int, step: int = 1) -> int | None:
        """The nearest message that is shown, this one or one behind it; with a step of -1, or one before it."""
        block = min(block, self._count - 1) if step < 0 else block
        chunk, start = block >> CHUNK_BITS, block & (CHUNK - 1)
        self._sums()
        while 0 <= chunk < len(self._totals):
            if self._totals[chunk]:
                heights = self._chunk(chunk)
                last = len(heights) - 1
                for i in range(start, last + 1) if step > 0 else range(min(start, last), -1, -1):
                    if heights[i]:
                        return (chunk << CHUNK_BITS) + i
            chunk, start = chunk + step, 0 if step > 0 else CHUNK - 1
        return None

    def move(self, position: Position, rows: int, measure: Callable[[int], None]) -> Position:
        """The line so many rows further down (or up), as far as there are any.

        `measure` is called with each message on the way and must `set_height` it, so no row is skipped or repeated.
        """
        block, line = position.block, position.line + rows
        while rows > 0:
            measure(block)
            last = self.last_line(block)
            if line <= last.line or (following := self.visible(block + 1)) is None:
                return min(Position(block, line), last)
            line -= last.line + 1 + self.head(following)
            block = following
        while line < -self.head(block):
            if (before := self.visible(block - 1, -1)) is None:
                return self.first_line(block)
            measure(before)
            line += self.head(block) + self.last_line(before).line + 1
            block = before
        return Position(block, line)

    # -- chunks ----------------------------------------------------------------------------------------------------

    def _sums(self) -> list[int]:
        """Rows up to the end of each chunk."""
        if self._dirty or len(self._prefix) != len(self._totals):
            for chunk in self._dirty:
                self._totals[chunk] = self._total(chunk)
            self._dirty.clear()
            self._prefix = list(accumulate(self._totals))
        return self._prefix

    def _total(self, chunk: int) -> int:
        heights = self._heights.get(chunk)
        if heights is None and self._is_special(chunk):
            heights = self._heights[chunk] = self._resolve(chunk)
        if heights is not None:
            return sum(heights)
        folds = self._folds.sorts(self._opened.get(chunk))
        total = 0
        if (rule := self._rule) is not None and rule < self._count and rule >> CHUNK_BITS == chunk:
            total += self._folds.fold(rule) > Fold.HIDDEN  # a hidden message has no line above it either
        if chunk in self._unread:
            return total + _GUESS * min(CHUNK, self._count - (chunk << CHUNK_BITS))
        width = self._width
        for sort, stat in self._stat(chunk).items():
            if fold := folds[sort]:
                total += (stat.rows if stat.width == width else stat.rows_at(width, sort))[fold]
        return total

    def _is_special(self, chunk: int) -> bool:
        """Tell whether its folds must be asked message by message: they do not follow from their sorts alone."""
        if chunk in self._special:
            return True
        return bool(self._opened.get(chunk)) and not self._stat(chunk).keys().isdisjoint((Sort.OLD, Sort.STRAY))

    def _stat(self, chunk: int) -> dict[int, _Stat]:
        stats = self._stats[chunk]
        if stats is None:
            stats = self._stats[chunk] = {}
            self._unread.discard(chunk)
            table, start = self._table, chunk << CHUNK_BITS
            stop = min(start + CHUNK, self._count)
            columns = zip(
                table.kind[start:stop], table.flags[start:stop], table.exchange[start:stop], table.lines[start:stop],
                table.chars[start:stop], strict=True,
            )  # fmt: skip
            for i, (kind, flags, exchange, lines, chars) in enumerate(columns):
                sort = self._folds.sort(start + i, kind, flags, exchange)
                stat = stats.get(sort)
                if stat is None:
                    stat = stats[sort] = _Stat()
                stat.members.append(i)
                stat.lines += lines
                stat.chars += chars
                stat.cut_lines += min(lines, _CAP_LINES)
                stat.cut_chars += min(chars, _CAP_CHARS)
        return stats

    def _chunk(self, chunk: int) -> array[int]:
        heights = self._heights.get(chunk)
        if heights is None:
            heights = self._heights[chunk] = self._resolve(chunk)
            self._dirty.add(chunk)
        return heights

    def _resolve(self, chunk: int) -> array[int]:
        """Heights of a chunk's messages, estimated from their sizes."""
        start = chunk << CHUNK_BITS
        count = min(CHUNK, self._count - start)
        heights = array("I", bytes(4 * count))
        folds = self._chunk_folds(chunk, start, count)
        before = self._folds.fold(start - 1) if start else 0
        table, width = self._table, self._width
        if not any(folds):
            return heights
        for i, fold in enumerate(folds):
            if fold:
                index = start + i
                lines, chars = table.lines[index], table.chars[index]
                if fold == Fold.SHORT:
                    lines, chars = min(lines, _CAP_LINES), min(chars, _CAP_CHARS)
                sort = self._folds.sort(index, table.kind[index], table.flags[index], table.exchange[index])
                rows = _rows(sort, fold, 1, lines, chars, width) - (fold > Fold.LINE)
                margin = self._margin(fold, folds[i - 1] if i else before) if index else 0
                heights[i] = rows + margin + (index == self._rule)
        return heights

    def _chunk_folds(self, chunk: int, start: int, count: int) -> bytearray:
        folds = bytearray(count)
        if self._is_special(chunk):
            for i in range(count):
                folds[i] = self._folds.fold(start + i)
            return folds
        by_sort = self._folds.sorts(self._opened.get(chunk))
        for sort, stat in self._stat(chunk).items():
            if fold := by_sort[sort]:
                for i in stat.members:
                    folds[i] = fold
        return folds


_TOOLISH = frozenset({Sort.TOOL, Sort.OUTPUT, Sort.CONTEXT, Sort.MORE_CONTEXT, Sort.NOTE, Sort.THINKING})


def _rows(sort: int, fold: int, count: int, lines: int, chars: int, width: int) -> int:
    """About how many rows `count` messages of a sort take, the blank row above each with them."""
    if fold == Fold.LINE:
        return count
    wrapped = lines + chars * 6 // (10 * max(20, min(width, 100) - 8))
    return count * (3 if sort in _TOOLISH else 1) + max(wrapped, count)

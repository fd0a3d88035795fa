"""The places of a transcript's view that show what is looked for: marked, and gone to one by one."""

from __future__ import annotations

from textual.strip import Strip

from renderers.terminal.folds import Fold
from renderers.terminal.rows import Row
from schemas.changes import Moves
from viewer.transcript.drawn import Drawn
from viewer.transcript.find import ALL_LINES, Finder, Stretch, matches
from viewer.transcript.layout import Position
from viewer.transcript.painting import Overlay, overlaid
from viewer.transcript.select import MARK_CELLS
from viewer.transcript.view import TranscriptView

_MARKED = 200
"""Messages of which it is kept where their matches stand."""


class Hits:
    """Marks in a view what is looked for, and goes there."""

    def __init__(self, view: TranscriptView) -> None:
        self._view = view
        self.sought = ""
        """What is looked for, as a `search_key`."""
        self.hit: tuple[int, int, int] | None = None
        """The match that was gone to: its message, the line in it, and which of the message's matches it is, from 0."""
        self._marks: dict[int, tuple[Drawn, dict[int, list[tuple[int, int, int]]]]] = {}
        """Where the matches of messages stand: by row, start and end on the screen, and their number from 0."""

    def look_for(self, key: str) -> None:
        """Mark what matches this `search_key` from now on; "" marks nothing."""
        self.sought, self.hit = key, None
        self._marks.clear()
        self._view.mark_hits = self._marked if key else None
        self._view.show()

    def follow(self, moves: Moves) -> None:
        """Stay at the match in the session that took the other one's place."""
        block = None if self.hit is None else moves.find(self.hit[0])
        self.hit = None if self.hit is None or block is None else (block, *self.hit[1:])
        self._marks.clear()

    def go(self, finder: Finder, start: Position, step: int, *, inclusive: bool = False) -> bool:
        """Go to the place after (or before) the one that was gone to, if `start` is still there, else after that line;
        with `inclusive`, to one on that line too. What hides it is opened. Returns whether there was one.
        """
        hits = finder.hits
        if not hits:
            return False
        if start.block in finder.counts:
            ordinal = self._beside(start, step, finder.counts[start.block], inclusive)
            if ordinal is not None:
                self._show(start.block, ordinal)
                return True
        others = [i for i in hits if (i > start.block if step > 0 else i < start.block)] or hits
        block = others[0] if step > 0 else others[-1]
        self._show(block, 0 if step > 0 else finder.counts[block] - 1)
        return True

    def _beside(self, start: Position, step: int, count: int, inclusive: bool) -> int | None:
        """Return the place of the message under `start` that comes next; None where none does."""
        line = start.line
        if self.hit is not None and self.hit[:2] == start and not inclusive:
            ordinal = self.hit[2] + step
            return ordinal if 0 <= ordinal < count else None
        lines = [place[0].row for place in matches(self._whole(start.block).block.rows, self.sought)]
        if step > 0:
            return next((n for n, row in enumerate(lines) if row > line or (inclusive and row == line)), None)
        return next((n for n in reversed(range(len(lines))) if lines[n] < line), None)

    def _whole(self, block: int) -> Drawn:
        """A message as it is when it is open and nothing of it left out."""
        drawn = self._view.blocks.get(block, Fold.FULL)
        if drawn.block.more:
            self._view.blocks.extend(block, ALL_LINES)
            self._view.layout_of.forget_height(block)
            drawn = self._view.blocks.get(block, Fold.FULL)
        return drawn

    def _show(self, block: int, ordinal: int) -> None:
        """Go to a place of a message; it is opened unless the line can be seen as it is."""
        if self._view.folds.fold(block) is Fold.HIDDEN:
            self._view.open_exchange(self._view.session.messages.exchange[block])
        rows = self._whole(block).block.rows
        places = matches(rows, self.sought)
        place = places[min(ordinal, len(places) - 1)] if places else [Stretch(0, 0, 0)]
        shown = self._view.block(block).block.rows if self._view.folds.fold(block) > Fold.HIDDEN else []
        last = place[-1].row + 1
        if len(shown) < last or any(_own(a) != _own(b) for a, b in zip(shown[:last], rows, strict=False)):
            self._view.folds.blocks[block] = Fold.FULL
            self._view.layout_of.refold(range(block, block + 1))
            self._view.measure(block)
        self.hit = (block, place[0].row, ordinal)
        self._view.visit(block, place[0].row)

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


def _own(row: Row) -> str:
    """Return a row's text behind its glyph, which says only whether it is open."""
    return row.text[row.gutter :]

"""The blocks that were drawn last, and the lines of them that were on the screen."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

from textual.strip import Strip

from renderers.terminal.block import render_block
from renderers.terminal.code import Want
from renderers.terminal.folds import FULL_LINES, Fold
from renderers.terminal.layout import Block, Look
from schemas.changes import Moves
from schemas.session import Session

MAX_ROWS = 12_000
"""Rows that are kept, about 10 MB."""
_STEP = 8
"""How much more of a huge output each press of enter shows."""


class Drawn(NamedTuple):
    """A block, and its rows as strips as far as they were asked for."""

    block: Block
    strips: dict[int, Strip]


class DrawnBlocks:
    """Blocks of one session by message and fold."""

    def __init__(self, session: Session, look: Look) -> None:
        self._session = session
        self.look = look
        self._kept: OrderedDict[tuple[int, Fold], Drawn] = OrderedDict()
        self._rows = 0
        self._full: dict[int, int] = {}

    def get(self, index: int, fold: Fold) -> Drawn:
        """The block of a message, drawn if it is not kept."""
        key = (index, fold)
        drawn = self._kept.get(key)
        if drawn is None:
            look = replace(self.look, full=self._full[index]) if index in self._full else self.look
            drawn = self._kept[key] = Drawn(render_block(self._session, index, fold, look), {})
            self._rows += len(drawn.block.rows)
            while self._rows > MAX_ROWS and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                self._rows -= len(old.block.rows)
        else:
            self._kept.move_to_end(key)
        return drawn

    def extend(self, index: int, lines: int | None = None) -> None:
        """Show more of a huge output from now on: eight times as much, or at least so many lines."""
        full = self._full.get(index, FULL_LINES)
        self._full[index] = full * _STEP if lines is None else max(full, lines)
        self.forget(index)

    def forget(self, index: int) -> None:
        """The message changed."""
        for fold in (Fold.LINE, Fold.SHORT, Fold.FULL):
            old = self._kept.pop((index, fold), None)
            if old is not None:
                self._rows -= len(old.block.rows)

    def forget_wanting(self, want: Want) -> None:
        """The code has got its colours, in whichever messages it stands by now: they are as tall as before."""
        for index in {index for (index, _), drawn in self._kept.items() if want in drawn.block.wanted}:
            self.forget(index)

    def moved(self, moves: Moves) -> DrawnBlocks:
        """An empty one for the session that took this one's place; what was to be shown of huge outputs stays."""
        blocks = DrawnBlocks(moves.new, self.look)
        blocks._full = {place: full for i, full in self._full.items() if (place := moves.find(i)) is not None}
        return blocks

    def relook(self, **changes: Any) -> None:
        """Draw so from now on; whoever changes the look forgets the messages that it changes."""
        self.look = replace(self.look, **changes)

    def clear(self) -> None:
        """Everything looks different now."""
        self._kept.clear()
        self._rows = 0

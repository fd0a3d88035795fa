"""The tiles of the watch screen: a session that runs is a few lines, drawn one by one, so that 200 cost a screenful."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from renderers.facts import cost_fact, format_count, plural
from renderers.terminal.rows import crop, cut_words, width_of
from schemas.clean import one_line
from viewer.transcript.status import context_fact
from viewer.watch.state import Does, State
from viewer.watch.words import ask_words, mark, source_words, state_words
from viewer.widgets.row_list import RowList

if TYPE_CHECKING:
    from viewer.watch.tile import Helper, Tile

_INDENT = 5
_WIDE, _TALL = 100, 30
"""Cells from which on there is room for all columns, and lines beyond which there is for more of the last text."""
_FEW_HELPERS = 3
"""So many subagents are shown of a session until all are asked for."""
_MOST_ASKED, _MOST_LAST = 3, 2
"""Lines of a question, and of the last text."""
_DOT, _KEPT, _ROOM = " · ", 2, 30
"""What stands between facts, and how many of them are kept beside a long command, where both have so many cells."""
_STYLES = {"!": "alarm", "?": "warn", "*": "good", "-": "dim"}


class _Line(NamedTuple):
    """A line of a tile."""

    path: Path | None
    """The session that it stands for; None for a line on which the cursor can't be."""
    lead: tuple[tuple[str, str], ...]
    """Texts, each with the name of its style."""
    state: State | None = None
    """What is said behind that, and for how long it has been so."""
    right: str = ""
    """What stands at its right end."""


class TileList(RowList):
    """The sessions that run. The cursor belongs to a session or a subagent, not to a line."""

    def __init__(self, clock: Callable[[], float] = time.time, **options: Any) -> None:
        super().__init__(**options)
        self._clock = clock
        self._tiles: list[Tile] = []
        self._rows: list[tuple[Tile, _Line]]
        self._made: dict[Path, tuple[Tile, tuple[bool, bool], list[tuple[Tile, _Line]]]] = {}
        self._open: set[Path] = set()
        """The sessions all of whose subagents are shown."""
        self._drawn: dict[int, tuple[_Line | None, Strip]] = {}
        """The lines on the screen, and as what they were drawn last."""

    # -- content ---------------------------------------------------------------------------------------------------

    def show(self, tiles: list[Tile]) -> None:
        """Show other tiles. The cursor stays on its session, and that on its line."""
        self._tiles = tiles
        was, index = self.chosen, self._cursor or 0
        row = index - self._top
        made = {}
        self._rows = []
        alike = Counter((tile.project, tile.provider) for tile in tiles)
        for tile in tiles:
            known = self._made.get(tile.path)
            looks = tile.path in self._open, alike[tile.project, tile.provider] > 1
            if known is None or known[0] is not tile or known[1] != looks:
                known = tile, looks, [(tile, line) for line in self._tile_lines(tile, *looks)]
            made[tile.path] = known
            self._rows += known[2]
        self._made = made
        self._cursor = self._find(*was) if was is not None and self._chosen else None
        if self._cursor is None and self._rows:
            self._cursor = self._next(min(index, len(self._rows) - 1) if self._chosen else 0, -1)
        self._fit()
        # A list that shows its beginning goes on showing it while the cursor is in sight.
        if self._top:
            self._scroll_top((self._cursor or 0) - row)
        self._keep_cursor_in_sight()
        self.tick()

    def _find(self, tile: Path, path: Path) -> int | None:
        own = None
        for index, (one, line) in enumerate(self._rows):
            if one.path == tile and line.path is not None:
                own = index if own is None else own
                if line.path == path:
                    return index
        return own

    @property
    def chosen(self) -> tuple[Path, Path] | None:
        """The session under the cursor, and the same or its subagent there."""
        if self._cursor is None or self._cursor >= len(self._rows):
            return None
        tile, line = self._rows[self._cursor]
        return (tile.path, line.path or tile.path)

    @property
    def current(self) -> Tile | None:
        """The tile under the cursor."""
        return None if self.chosen is None or self._cursor is None else self._rows[self._cursor][0]

    def toggle_helpers(self) -> bool:
        """Show all subagents of the session under the cursor, and go to the first one; or go back to the session, and
        show the first ones only. Returns whether it has any.
        """
        tile = self.current
        if tile is None or not tile.helpers:
            return False
        opens = tile.path not in self._open
        self._open.symmetric_difference_update({tile.path})
        self.show(self._tiles)
        below = next((h.path for h in tile.helpers if h.path is not None), None)
        self._go(self._find(tile.path, below if opens and below is not None else tile.path))
        return True

    def go_waiting(self) -> bool:
        """Go to the next session that waits, round the end; returns whether there is one."""
        count, start = len(self._rows), -1 if self._cursor is None else self._cursor
        for index in chain(range(start + 1, count), range(start + 1)):
            tile, line = self._rows[index]
            if line.path == tile.path and tile.state.does in (Does.WAITS, Does.STOPPED):
                self._go(index)
                return True
        return False

    def _can(self, index: int) -> bool:
        return self._rows[index][1].path is not None

    # -- a tile's lines --------------------------------------------------------------------------------------------

    def _tile_lines(self, tile: Tile, opened: bool, titled: bool) -> Iterator[_Line]:
        """The lines of a tile: all its subagents where it is `opened`, its title where others are of its project."""
        state, width = tile.state, self.size.width - _INDENT
        columns = (12, 18) if self.size.width < _WIDE else (20, 24)
        name = tile.project or one_line(tile.title, 80)
        lead = [(f"{_cell(name, columns[0])}  ", "text"), (f"{_cell(tile.provider, 8)}  ", "dim")]
        if self.size.width >= _WIDE:
            lead.append((f"{_cell(tile.branch or '', columns[1])}  ", "dim"))
        style = _STYLES[mark(state)]
        yield _Line(tile.path, ((f"{mark(state)} ", style), *lead), state, _DOT.join(self._facts(tile)))
        below: list[tuple[str, str]] = []
        if titled and tile.title:
            yield _Line(None, (("  ", "dim"), (crop(one_line(tile.title, 400), width), "dim")))
        if state.does is Does.WAITS:
            below += ((text, "text") for text in _asked(ask_words(state) or [str(state.what)], width))
        if last := _last(tile.last):
            over = state.does in (Does.DONE, Does.ENDED)
            most = _MOST_LAST if not over and self.size.height > _TALL else 1
            below += ((f"{'last: ' if not n else '      '}{text}", "text") for n, text in enumerate(last[-most:]))
        # By what a claim is known stands at its end, where there is room.
        source = source_words(state) if state.does is Does.WAITS or not state.certain else ""
        beside = bool(below) and width_of(below[0][0]) + width_of(source) + 2 <= width
        if source and not beside:
            below.insert(min(1, len(below)), (source, "dim"))
        for number, (text, name) in enumerate(below):
            yield _Line(None, (("  ", "dim"), (crop(text, width), name)), right=source if beside and not number else "")
        if tile.shared:
            path, others = tile.shared[0].path, ", ".join(tile.shared[0].others)
            more = f", and {plural(len(tile.shared) - 1, 'file')} more" if len(tile.shared) > 1 else ""
            yield _Line(None, (("  ", "dim"), (crop(f"{path}: also {others}{more}", width), "warn")))
        helpers = list(_helper_lines(tile.helpers, 1))
        yield from helpers if opened else islice(helpers, _FEW_HELPERS)
        if not opened and len(helpers) > _FEW_HELPERS:
            yield _Line(None, ((f"  … {len(helpers) - _FEW_HELPERS} more subagents", "dim"),))

    def _facts(self, tile: Tile) -> list[str]:
        """The facts of what was used, as many as there is room for."""
        facts: list[str] = []
        if tile.usage is not None and tile.usage.total is not None:
            facts.append(format_count(tile.usage.total))
        if tile.cost is not None and (cost := cost_fact(tile.cost)):
            facts.append(cost)
        if self.size.width >= _WIDE:
            if tile.recent:
                facts.append(f"+{format_count(tile.recent)} a minute")
            if tile.context_used and tile.context_window:
                facts.append(context_fact(tile.context_used, tile.context_window))
        return facts

    # -- drawing ---------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Draw the lines that look otherwise now than they did: that of a tool that runs, every second."""
        if not self._styles or not self.is_attached:
            return
        for y in range(self.size.height):
            line, strip = self._drawn.get(y, (None, None))
            now = self._line_at(y)
            # What is said with no time depends on nothing but its line.
            if (line is not now or (now is not None and now.state is not None)) and strip != super().render_line(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        """Lines are cut elsewhere now."""
        self._made.clear()
        self.show(self._tiles)

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        self._drawn[y] = self._line_at(y), strip
        return strip

    def _line_at(self, y: int) -> _Line | None:
        index = self._top + y
        return self._rows[index][1] if index < len(self._rows) else None

    def _row(self, index: int, width: int) -> list[Segment]:
        line, styles = self._rows[index][1], self._styles
        lead = [Segment(" "), *(Segment(text, styles[style]) for text, style in line.lead)]
        room = width - 2 - sum(width_of(segment.text) for segment in lead)
        if line.state is not None:
            style = styles[_STYLES[mark(line.state)]] if line.state.does is not Does.WORKS else styles["text"]
            left = room - width_of(state_words(line.state, self._clock())) - 2
            kept = _KEPT if line.state.does is Does.WORKS and room >= _ROOM else 0
            right = _fitting(line.right, left, kept)
            words = state_words(line.state, self._clock(), room - (width_of(right) + 2 if right else 0))
            gap = room - width_of(words) - width_of(right)
            lead += [Segment(words, style), Segment(" " * gap), Segment(right, styles["dim"])]
        elif line.right:
            lead += [Segment(" " * max(1, room - width_of(line.right))), Segment(line.right, styles["dim"])]
        return lead


def _fitting(facts: str, room: int, kept: int) -> str:
    """Keep as many facts as there is room for, and the first ones, `kept`, even so."""
    pieces = facts.split(_DOT)
    while len(pieces) > kept and width_of(_DOT.join(pieces)) > room:
        pieces.pop()
    return _DOT.join(pieces)


def _cell(text: str, width: int) -> str:
    cut = crop(text, width)
    return cut + " " * (width - width_of(cut))


def _last(text: str) -> list[str]:
    """The last lines of a text that say something, without the signs of Markdown that stand most often in them."""
    lines = (one_line(line.replace("**", "").replace("`", ""), 400) for line in text.splitlines()[-20:])
    return [line for line in lines if line.strip("#*-= ")]


def _asked(texts: list[str], width: int) -> list[str]:
    """Wrap what is asked; of a long plan its beginning."""
    lines = [line for text in texts for line in list(filter(str.strip, text.splitlines()))[:_MOST_ASKED]]
    rows = [line[cut.start : cut.end] for line in lines for cut in cut_words(line, width)[:_MOST_ASKED]]
    return rows[: 2 * _MOST_ASKED]


def _helper_lines(helpers: tuple[Helper, ...], depth: int) -> Iterator[_Line]:
    for helper in helpers:
        total = helper.usage.total if helper.usage is not None else None
        # Several of one kind are told apart by what each is to do.
        name = crop(one_line(": ".join(filter(None, (helper.name, helper.description))) or helper.id, 200), 40)
        lead = ("  " * depth + "› ", "dim"), (f"{name}  ", "dim")
        yield _Line(helper.path, lead, helper.state, "" if total is None else format_count(total))
        yield from _helper_lines(helper.children, depth + 1)

"""The screen of two sessions beside each other: what `turnlog compare` says of them, and the way into either."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual import work
from textual.binding import Binding, BindingType

from renderers.facts import plural
from renderers.terminal.rows import Row, crop, cut_words, expand_tabs, width_of
from schemas.clean import one_line
from schemas.costs.prices import Prices
from schemas.opening import OpenError
from viewer.screens.program import aside, program
from viewer.screens.records import LookupScreen
from viewer.sessions.compare import Comparison, compare_files
from viewer.sessions.targets import Target
from viewer.transcript.colours import palette_of
from viewer.widgets.row_list import RowsPane

_GAP = 2
"""Blank cells between columns."""
_ANSWER = 60
"""Lines of a last answer."""


class CompareScreen(LookupScreen):
    """The sessions in two files. Enter opens the chosen one, a fork where they part."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,right,tab", "choose", show=False),
        Binding("enter", "open", show=False),
    ]

    def __init__(self, one: Path, other: Path) -> None:
        super().__init__("Two sessions compared", lambda width: [Row([Segment("Reading …")])])
        self._hint = "← → choose one   enter opens it   y copies   esc closes"
        self._paths, self._side = (one, other), 0
        self._found: Comparison | None = None

    def on_mount(self) -> None:
        self._compare()

    @work
    async def _compare(self) -> None:
        try:
            await aside(self._read)
        except (OpenError, OSError) as error:
            self.dismiss()
            program(self).say(one_line(str(error), 400), title="Cannot open", bad=True)
            return
        self.renew(self._rows)

    def _read(self) -> None:
        one, other = (Target(path, str(path)) for path in self._paths)
        self._found = compare_files(one, other, Prices(), lambda done, total: None)

    def _rows(self, width: int) -> list[Row]:
        """Draw the comparison in three columns; what is the same in both is dim."""
        if (found := self._found) is None:
            return []
        palette = palette_of(self.query_one(RowsPane))
        table = found.rows()
        one, other = (side.answer.strip("\n") or "(nothing was said)" for side in found.sides)
        table.append(("last answer", one, other))
        label = min(width // 4, max(width_of(row[0]) for row in table))
        column = (width - label - 2 * _GAP) // 2
        rows: list[Row] = []
        for number, (name, *cells) in enumerate(table):
            for line, (left, *parts) in enumerate(zip_longest([name], *(_lines(cell, column) for cell in cells))):
                row = [Segment(f"{crop(left or '', label):<{label}}", palette.dim)]
                for side, part in enumerate(parts):
                    mark = ("▸ " if line == 0 and side == self._side else "  ") if number == 0 else " " * _GAP
                    style = palette.dim if cells[0] == cells[1] else palette.text
                    style = palette.person if number == 0 and side == self._side else style
                    row.append(Segment(mark + (part or "") + " " * (column - width_of(part or "")), style))
                rows.append(Row(row))
        if found.shared:
            rows.append(
                Row([Segment(f"{plural(found.shared, 'exchange')} in common, counted in neither", palette.dim)])
            )
        return rows

    def action_choose(self) -> None:
        """Choose the other one."""
        self._side = 1 - self._side
        self.renew()

    def action_open(self) -> None:
        """Open the chosen one."""
        if self._found is not None:
            begins = self._found.sides[self._side].begins
            program(self).open_session(self._paths[self._side], place=begins if begins.startswith("#") else "")


def _lines(cell: str, width: int) -> list[str]:
    """A cell's lines, as many of them as are shown."""
    lines = [
        line[cut.start : cut.end] for line in expand_tabs(cell).split("\n")[:_ANSWER] for cut in cut_words(line, width)
    ]
    return lines if len(lines) <= _ANSWER else [*lines[:_ANSWER], "…"]

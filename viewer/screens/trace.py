"""The screen of a file whose lines are traced: each with the edit from which it came, and the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.events import Resize

from renderers.facts import local_time, plural
from renderers.terminal.markdown import prose_rows
from renderers.terminal.rows import Row, expand_tabs
from schemas.clean import one_line
from viewer.edits.words import UNTRACED, git_words, origin_words
from viewer.screens.program import program
from viewer.transcript.colours import palette_of
from viewer.widgets.chrome import KeyFooter, TitleBar
from viewer.widgets.row_list import RowListScreen, RowsPane, TextRow, TextRows

if TYPE_CHECKING:
    from viewer.edits.trace import Origin, TracedLine

_WIDE = 100
"""Cells from which on each edit has its date."""


class TraceScreen(RowListScreen):
    """The lines of the file `name`; `addresses` are those of their origins, as TARGET takes them."""

    TABLE = "why"
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    TraceScreen > RowsPane { height: 5; max-height: 30%; padding: 0 1; background: $surface; }
    """

    def __init__(self, name: str, lines: list[TracedLine], addresses: dict[Origin, str]) -> None:
        super().__init__()
        self._lines, self._addresses = lines, addresses
        traced = sum(bool(line.origins) for line in lines)
        facts = f"{traced:,} of {plural(len(lines), 'line')} traced"
        left = Content.assemble((one_line(name, 4096), "bold"), ("   from which edits its lines are", "$text-muted"))
        self._bar = TitleBar(left, Content.styled(facts, "$text-muted"))
        self._list, self._pane = TextRows(), RowsPane(self._facts)
        self._pane.can_focus = False
        self._chosen = 0
        """Which of several edits is shown, and opened."""

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._list
        yield self._pane
        yield KeyFooter()

    def on_resize(self, event: Resize) -> None:
        """Make the rows; where there is room, edits have their dates."""
        wide = event.size.width >= _WIDE
        edits = [_edits(line, wide) for line in self._lines]
        width, digits = max(map(len, edits), default=0), len(str(len(self._lines)))
        rows, before = list[TextRow](), ""
        for line, edit in zip(self._lines, edits, strict=True):
            said = edit if edit != before else ""  # once where neighbours are from one edit
            number, text = f"  {line.number:>{digits}} ", expand_tabs(line.text[:1000], 4)
            parts = ((f"{said:<{width}}", "accent"), (number, "dim"), (text, "text" if line.origins else "dim"))
            rows.append(TextRow(parts))
            before = edit
        first = next((i for i, line in enumerate(self._lines) if line.origins), 0)
        self._list.show(rows, first if self._list.current is None else self._list.current)

    @property
    def _line(self) -> TracedLine | None:
        return None if self._list.current is None else self._lines[self._list.current]

    @property
    def _origin(self) -> Origin | None:
        line = self._line
        return line.origins[self._chosen % len(line.origins)] if line is not None and line.origins else None

    @on(TextRows.Moved)
    def _moved(self) -> None:
        self._chosen = 0
        self._pane.remake()

    def _facts(self, width: int) -> list[Row]:
        """Draw what is known of the line."""
        line, origin, palette = self._line, self._origin, palette_of(self._pane)
        if line is None:
            return []
        rows: list[Row] = []
        if origin is None:
            rows += prose_rows(UNTRACED, width, palette.text)
        else:
            several = f"one of {len(line.origins)} edits: " if len(line.origins) > 1 else ""
            rows += prose_rows(several + (one_line(origin.prompt, 300) or "(no prompt)"), width, palette.prompt)
            rows += prose_rows(origin_words(origin, self._addresses[origin]), width, palette.dim)
        return [*rows, *prose_rows(f"git   {git_words(line.commit)}", width, palette.dim)]

    # -- keys ------------------------------------------------------------------------------------------------------

    @on(TextRows.Chosen)
    def action_open(self) -> None:
        """Open the session at the edit; where none is known, that is said beside the line."""
        if (origin := self._origin) is not None:
            program(self).open_session(origin.path, place=origin.edit.place)

    def action_next_edit(self) -> None:
        self._chosen += 1
        self._pane.remake()


def _edits(line: TracedLine, wide: bool) -> str:
    """Name the edit from which a line is, or the first of several: `claude #3.7 2026-03-04`."""
    if not line.origins:
        return ""
    origin = line.origins[0]
    date = f" {local_time(origin.edit.time, date=True)[:10]}" if wide and origin.edit.time is not None else ""
    more = f" +{len(line.origins) - 1}" if len(line.origins) > 1 else ""
    return f"{origin.provider} {origin.edit.place}{date}{more}"

"""The outline of a session: its exchanges with their prompts and figures, in a pane or a dialog in which one types what
it is narrowed to. Lines are made when they come into sight. Imported when the first picture stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widgets import Input

from renderers.facts import exchange_numbers, format_age, local_time, plural
from renderers.terminal.rows import crop, width_of
from schemas.changes import Moves
from schemas.session import Session
from viewer.edits.counts import EditCounts
from viewer.index.matching import search_key
from viewer.screens.dialog import Dialog
from viewer.screens.filter import Filter
from viewer.widgets.chrome import TitleBar
from viewer.widgets.row_list import RowList, RowListKeys

_LEAST, _MOST = 0.5, 1e10
"""Seconds that are shown; a source may give any number."""
_TEXT = 7
"""The column of prompts."""
_CELLS = {"when": 5, "took": 4, "failed": 3, "edits": 8, "cost": 7}
"""The figures, and their cells at least."""


def lines_each(width: int) -> int:
    """The lines of an exchange: the figures stand beside its prompt where there is room, else below it."""
    return 1 if width >= 60 else 2


class Outline(RowList):
    """The exchanges of a session, all or those that fit some words. The cursor is on one of them: on the one that is
    read (`here`) until a person moves it. `cost` says what an exchange cost, None where that is not known yet.
    """

    def __init__(
        self,
        session: Session,
        here: int,
        edits: EditCounts,
        cost: Callable[[int], str | None],
        done: Callable[[int | None], object],
    ) -> None:
        super().__init__()
        self.done = done
        """Called with the exchange that was chosen, or with None by whoever leaves it."""
        self.here = here
        """The exchange that is read."""
        self.session, self._edits, self._cost = session, edits, cost
        self._words: list[str] = []
        self._keys: list[str] = []
        """The folded prompts, where something was looked for."""
        self._rows: Sequence[int]
        self._numbers = exchange_numbers(session)
        self._lines = 1
        """The lines of an exchange."""
        self._fill(here)

    # -- content ---------------------------------------------------------------------------------------------------

    def replace(self, moves: Moves) -> None:
        """Show the session that took the other one's place."""
        was = self.current
        self.session, self._numbers, self._keys = moves.new, exchange_numbers(moves.new), []
        self._fill(None if was is None else moves.exchange(was))

    def grow(self, exchanges: set[int | None]) -> None:
        """Show the session as it is now; these exchanges changed, or are new."""
        self._numbers, self._keys = exchange_numbers(self.session), []
        if self._words:
            self._fill(self.current)
        else:
            self._rows = range(len(self.session.exchanges))
            self._fit()
            self._repaint(exchanges)

    def narrow(self, words: str) -> None:
        """Show the exchanges whose prompts have all these words; the cursor goes to the one nearest to `here`."""
        self._words, self._chosen = search_key(words).split(), False
        self._fill(None)

    def follow(self, here: int) -> None:
        """Show which exchange is read now; the cursor goes along until a person moves it."""
        if here != self.here:
            before = self.here, self.current
            self.here = here
            if not self._chosen:
                self._set(here)
            self._repaint({*before, self.here, self.current})

    def let_go(self) -> None:
        """Let the cursor go along again with what is read."""
        self._chosen = False
        self._set(self.here)
        self.refresh()

    def _repaint(self, exchanges: set[int | None]) -> None:
        """Paint these exchanges again, and no others: this comes with keys that move in the text."""
        first, last = self._top // self._lines, (self._top + self._page) // self._lines
        for row in range(first, min(last + 1, len(self._rows))):
            if self._rows[row] in exchanges:
                self.refresh(Region(0, row * self._lines - self._top, self.size.width, self._lines))

    def _fill(self, current: int | None) -> None:
        exchanges = self.session.exchanges
        if self._words:
            self._keys = self._keys or [search_key(exchange.prompt) for exchange in exchanges]
            self._rows = [n for n, key in enumerate(self._keys) if all(word in key for word in self._words)]
        else:
            self._rows = range(len(exchanges))
        self._fit()
        self._set(self.here if current is None or not self._chosen else current)
        self.refresh()

    def _set(self, exchange: int) -> None:
        """The cursor to an exchange, or the last one before it that is shown; half way down when it was out of sight:
        else each exchange that one reads on would move all others.
        """
        row = max(0, bisect_right(self._rows, exchange) - 1)
        self._cursor = row * self._lines if self._rows else None
        if self._cursor is None or not self.is_attached:
            return
        if not self._top <= self._cursor <= self._top + self._page - self._lines:
            self._scroll_top(self._cursor - self._page // 2)

    @property
    def current(self) -> int | None:
        """The exchange under the cursor."""
        return None if self._cursor is None else self._rows[self._cursor // self._lines]

    @property
    def summary(self) -> str:
        """Say how many exchanges there are, and how many of them are shown."""
        if self._words:
            return f"{len(self._rows):,} of {len(self._numbers):,}"
        return plural(next((n for n in reversed(self._numbers) if n is not None), 0), "exchange")

    def choose(self) -> None:
        """Choose the exchange under the cursor."""
        if (current := self.current) is not None:
            self.let_go()
            self.done(current)

    # -- rows ------------------------------------------------------------------------------------------------------

    def _count(self) -> int:
        return len(self._rows) * self._lines

    def _can(self, index: int) -> bool:
        return index % self._lines == 0

    def move(self, lines: int) -> None:
        """Move the cursor by so many exchanges."""
        super().move(lines * self._lines)

    def page(self, pages: int) -> None:
        """Move by pages."""
        self.move(pages * max(1, self._page // self._lines - 1))

    def _fit(self) -> None:
        """Take the rows' number as the height; where only the scroll bar has to know, the screen stays laid out."""
        if not self.is_attached:
            return
        size = Size(self.size.width, self._count())
        if self.show_vertical_scrollbar and size.height > self.size.height:
            self.set_reactive(Outline.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def _keep_cursor_in_sight(self) -> None:
        if self._cursor is None:
            return
        if self._cursor < self._top:
            self._scroll_top(self._cursor)
        elif self._cursor + self._lines > self._top + self._page:
            self._scroll_top(self._cursor + self._lines - self._page)

    def on_click(self, event: Click) -> None:
        """A click chooses, which a list's click does not."""
        event.prevent_default().stop()
        row = (self._top + event.y) // self._lines
        if row < len(self._rows):
            self._go(row * self._lines)
            self.choose()

    def on_mount(self) -> None:
        """Take the size of the first layout: Textual sends no Resize to what is mounted while the screen scrolls
        (its issue 5024), as it does for a session that is followed.
        """
        self.call_after_refresh(self.on_resize)

    def on_resize(self) -> None:
        """Give an exchange as many lines as it needs now."""
        current = self.current
        self._lines = lines_each(self.size.width)
        if current is not None:
            self._set(current)
        super().on_resize()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        if not self._styles:
            return Strip.blank(self.size.width)
        styles, width, index = self._styles, self.size.width, self._top + y
        row, line = divmod(index, self._lines)
        if row >= len(self._rows):
            return Strip.blank(width, styles["text"])
        n, cursor = self._rows[row], self._cursor is not None and row == self._cursor // self._lines
        figures = self._figures(n, width - _TEXT - 1)
        cells = sum(width_of(segment.text) for segment in figures)
        segments = [Segment("▌" if cursor else " ", styles["strong"])]
        if line == 0:
            room = width - _TEXT - 1 - (cells + 2 if self._lines == 1 else 0)
            segments += self._prompt(n, room, strong=n == self.here)
        if line == self._lines - 1:
            used = sum(width_of(segment.text) for segment in segments)
            segments += [Segment(" " * (width - 1 - cells - used), styles["text"]), *figures]
        return Strip(segments).adjust_cell_length(width, styles["text"])

    def _prompt(self, n: int, room: int, *, strong: bool) -> list[Segment]:
        exchange, styles = self.session.exchanges[n], self._styles
        number, old = self._numbers[n], exchange.rewound or exchange.inherited
        text = exchange.prompt or ("before the first prompt" if exchange.opener is None else "(empty prompt)")
        if old:
            text = f"{'rewound' if exchange.rewound else 'inherited'}  {text}"
        style = styles["bold"] if strong else styles["dim"] if old or number is None else styles["text"]
        label = "" if number is None else str(number)
        return [
            Segment(f"{label:>4}  ", styles["strong"] if strong else styles["dim"]),
            Segment(crop(text, room - max(0, len(label) - 4)), style),
        ]

    def _figures(self, n: int, room: int) -> list[Segment]:
        """The figures of an exchange in their places: when it began, how long it took, failures, edits, cost. Where
        there is no room the first ones are left out.
        """
        exchange, styles = self.session.exchanges[n], self._styles
        lines, cost, took = self._edits.of(n), self._cost(n), exchange.duration or 0.0
        figures: dict[str, list[tuple[str, Style]]] = {
            "when": [("" if exchange.started is None else local_time(exchange.started), styles["dim"])],
            "took": [(format_age(round(took)) if _LEAST <= took < _MOST else "", styles["dim"])],
            "failed": [(f"✗{exchange.errors}" if exchange.errors else "", styles["alarm"])],
            "edits": [("", styles["dim"])],
            "cost": [(cost or "", styles["dim"])],
        }
        if lines is not None and (lines.added or lines.removed):
            figures["edits"] = [(f"+{lines.added}", styles["good"]), (f" -{lines.removed}", styles["bad"])]
        segments: list[Segment] = []
        for name, pieces in reversed(figures.items()):
            text = "".join(text for text, _ in pieces)
            cells = max(width_of(text), _CELLS[name])
            if cells > room:
                break
            gap = " " * (cells - width_of(text) + (room > cells))
            room -= cells + 1
            segments = [Segment(gap, styles["dim"]), *(Segment(*piece) for piece in pieces), *segments]
        return segments


_BESIDE, _AROUND = 7, 7
"""Cells and lines of it around the exchanges."""


class OutlinePane(Vertical, RowListKeys):
    """An outline below a line in which one types what it is narrowed to."""

    TABLE = "outline"
    DEFAULT_CSS = """
    OutlinePane > Filter, OutlinePane > Filter:focus {
        height: 1; width: 1fr; border: none; padding: 0 1; background: transparent; background-tint: transparent;
    }
    OutlinePane > Outline { scrollbar-gutter: auto; background: transparent; }
    """

    def __init__(self, outline: Outline) -> None:
        super().__init__()
        self.outline = outline
        self._head = TitleBar()
        self._filter = Filter("type to narrow, enter goes there")
        self._filter.display = False

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._filter
        yield self.outline

    def on_mount(self) -> None:
        self.show()

    def show(self) -> None:
        """Say how many there are now."""
        self._head.left = Content.styled(self.outline.summary, "$text-muted")

    def enter(self) -> None:
        """Take what is typed."""
        self._filter.display, self._head.display = True, False
        self._filter.focus()

    def on_click(self, event: Click) -> None:
        """A click on the number of exchanges is for narrowing them."""
        if event.widget is self._head:
            self.enter()

    def on_descendant_blur(self) -> None:
        """Show the number of exchanges again, unless something was typed."""
        self._filter.display = bool(self._filter.value)
        self._head.display = not self._filter.value
        self.outline.let_go()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.outline.narrow(event.value)
        self.show()

    def action_choose(self) -> None:
        """Go to the exchange; all are shown again, since the outline shows where one is."""
        self._filter.value = ""  # which is heard of later
        self.outline.choose()

    def action_clear(self) -> None:
        if self._filter.value:
            self._filter.value = ""
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.outline.done(None)


class OutlineScreen(Dialog[int]):
    """Answers with the exchange that was chosen."""

    def __init__(self, pane: OutlinePane) -> None:
        super().__init__("Exchanges", "enter goes there   esc closes")
        self._pane = pane
        pane.outline.done = self.dismiss

    def compose_body(self) -> ComposeResult:
        yield self._pane

    def on_mount(self) -> None:
        """Begin to take what is typed. The height stays, however few exchanges fit that."""
        lines = len(self._pane.outline.session.exchanges) * lines_each(self.app.size.width - _BESIDE)
        self.query_one("#dialog").styles.height = lines + _AROUND
        self._pane.enter()

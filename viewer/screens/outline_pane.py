"""An outline with the line in which one types what it is narrowed to, and the dialog that shows one. Imported when the
first picture stands.
"""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.widgets import Input

from viewer.screens.dialog import Dialog
from viewer.screens.filter import Filter
from viewer.widgets.chrome import TitleBar
from viewer.widgets.outline import Outline, lines_each
from viewer.widgets.row_list import RowListKeys

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
        """The number of exchanges, in its place what is typed; below, the exchanges."""
        yield self._head
        yield self._filter
        yield self.outline

    def on_mount(self) -> None:
        """Say how many there are."""
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
        """The outline."""
        yield self._pane

    def on_mount(self) -> None:
        """Begin to take what is typed. The height stays, however few exchanges fit that."""
        lines = len(self._pane.outline.session.exchanges) * lines_each(self.app.size.width - _BESIDE)
        self.query_one("#dialog").styles.height = lines + _AROUND
        self._pane.enter()

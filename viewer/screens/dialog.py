"""Small dialogs: something to read, and a path to give."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Resize
from textual.screen import ModalScreen
from textual.widgets import Input, Static

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A box over the screen. Escape and a click beside it close it without an answer."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]
    SCROLLS: ClassVar[str] = ""
    """The part of it that scrolls, as a selector; it takes the height that the rest of the box leaves."""
    AROUND: ClassVar[int] = 8
    """Lines of the box around that part."""

    def __init__(self, title: str, hint: str, **options: Any) -> None:
        super().__init__(**options)
        self._dialog_title, self._hint = title, hint

    def compose(self) -> ComposeResult:
        """A title, a body, a hint."""
        with Vertical(id="dialog"):
            yield Static(Content(self._dialog_title), id="dialog-title", markup=False)
            yield from self.compose_body()
            yield Static(Content(self._hint), id="dialog-hint", markup=False)

    def compose_body(self) -> ComposeResult:
        """Make the dialog's content."""
        raise NotImplementedError

    def on_resize(self, event: Resize) -> None:
        """The hint keeps its place: what scrolls has the height that is left."""
        if self.SCROLLS:
            height = event.size.height * 9 // 10
            self.query_one(self.SCROLLS).styles.max_height = max(1, height - self.AROUND)

    def on_click(self, event: Click) -> None:
        """A click beside the box closes it."""
        if event.widget is self:
            self.action_close()

    def action_close(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


def keys_text(rows: Iterable[tuple[str, str]], column: int, width: int) -> Content:
    """Keys and, from a column on, what each does; a text of several lines stays in its column."""
    texts = [(keys, wrap(text, max(1, width - column)) or [""]) for keys, text in rows]
    between = "\n" + " " * column
    return Content("\n").join(
        Content.assemble((keys.ljust(column), "bold $accent"), between.join(text)) for keys, text in texts
    )


class MessageScreen(Dialog[None]):
    """Something to read, until a key is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,q,space", "close", show=False)]

    def __init__(self, title: str, body: Content) -> None:
        super().__init__(title, "enter closes")
        self._body = body

    def compose_body(self) -> ComposeResult:
        """The text."""
        yield Static(self._body, id="dialog-body", markup=False)


class PathPrompt(Dialog[str]):
    """Asks for a file to write; answers with what was typed."""

    def __init__(self, title: str, suggestion: str, problem: str = "") -> None:
        super().__init__(title, "enter writes   esc cancels")
        self._suggestion, self._problem = suggestion, problem

    def compose_body(self) -> ComposeResult:
        """A line to type in, and what was wrong with the last answer."""
        if self._problem:
            yield Static(Content.styled(self._problem, "$error"), id="dialog-problem", markup=False)
        # Relative to where turnlog was started, as with any command.
        yield Input(self._suggestion, id="path", compact=True, select_on_focus=False)

    @on(Input.Submitted)
    def _done(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)

"""Small dialogs: something to read, and a path to give."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.screen import ModalScreen
from textual.widgets import Input, Static

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A box over the screen. Escape and a click beside it close it without an answer."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

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

    def on_click(self, event: Click) -> None:
        """A click beside the box closes it."""
        if event.widget is self:
            self.action_close()

    def action_close(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


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

"""The line in which one types what to look for. Imported when somebody searches: the first picture does not need it."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static


class FindBar(Horizontal):
    """`/`, the words, and how many there are."""

    DEFAULT_CSS = """
    FindBar { height: 1; padding: 0 1; }
    FindBar #find-mark { width: 2; color: $accent; }
    FindBar #find, FindBar #find:focus { width: 1fr; border: none; height: 1; padding: 0; background: $background; }
    FindBar #find-count { width: auto; color: $text-muted; }
    """

    class Changed(Message):
        """Something else is looked for now."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query = query

    class Given(Message):
        """It has been typed to the end."""

    def compose(self) -> ComposeResult:
        """The line."""
        yield Static("/", id="find-mark", markup=False)
        yield Input(id="find", compact=True, select_on_focus=False)
        yield Static("", id="find-count", markup=False)

    @property
    def box(self) -> Input:
        """Where one types."""
        return self.query_one("#find", Input)

    def say(self, text: str) -> None:
        """What stands at the right."""
        self.query_one("#find-count", Static).update(Content(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Given())

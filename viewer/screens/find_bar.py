"""The line in which one types what to look for. Imported when somebody searches: the first picture does not need it."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from viewer.bindings import effective, key_name

_KEPT = 100
_HINT = {"search_next": "next", "search_previous": "previous", "end_search": "ends"}
"""What is said of the keys that go on from here."""


class FindBox(Input):
    """What is looked for. The searches before it are behind the arrow keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("up", "older", show=False), Binding("down", "newer", show=False)]
    history: ClassVar[list[str]] = []
    """Searches of any session, the last one last, for as long as the program runs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(compact=True, select_on_focus=False, **options)
        self._at = 0
        self._typed = ""

    def ask(self) -> None:
        """Begin with an empty line."""
        self.keep()
        self._at, self._typed, self.value = len(self.history), "", ""
        self.placeholder = "↑ brings the last search back" if self.history else ""

    def keep(self) -> None:
        """Keep what was looked for."""
        if self.value.strip():
            if self.value in self.history:
                self.history.remove(self.value)
            self.history.append(self.value)
            del self.history[:-_KEPT]

    def action_older(self) -> None:
        """The search before."""
        if self._at == len(self.history):
            self._typed = self.value
        if self._at:
            self._show(self._at - 1)

    def action_newer(self) -> None:
        """The search after, at last what was typed."""
        if self._at < len(self.history):
            self._show(self._at + 1)

    def _show(self, at: int) -> None:
        self._at = at
        self.value = self.history[at] if at < len(self.history) else self._typed
        self.cursor_position = len(self.value)


class FindBar(Horizontal):
    """`/`, the words, and how many places show them."""

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
        yield FindBox(id="find")
        yield Static("", id="find-count", markup=False)

    @property
    def box(self) -> FindBox:
        """Where one types."""
        return self.query_one("#find", FindBox)

    def keep(self) -> None:
        """Keep what was looked for, so that it can be brought back."""
        self.box.keep()

    def say(self, count: str) -> None:
        """Say how many there are; and, unless one is still typing, the keys that go on from there.

        A search may still run while the bar goes away with its screen.
        """
        keys = [key for key in effective("transcript", getattr(self.app, "keymap", {})) if key.action in _HINT]
        hint = (
            "" if self.has_focus_within else "".join(f"   {key_name(key.keys[0])} {_HINT[key.action]}" for key in keys)
        )
        for static in self.query("#find-count").results(Static):
            static.update(Content.assemble(count, (hint, "$text-muted")))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.keep()
        self.post_message(self.Given())

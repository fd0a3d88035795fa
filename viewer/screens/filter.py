"""The line in which one types what a list is to show."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Input


class Filter(Input, inherit_bindings=False):
    """A line that takes what is typed; every key that edits no text is the list's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "cursor_left", show=False),
        Binding("right", "cursor_right", show=False),
        Binding("ctrl+left", "cursor_left_word", show=False),
        Binding("ctrl+right", "cursor_right_word", show=False),
        Binding("ctrl+a", "home", show=False),
        Binding("backspace", "delete_left", show=False),
        Binding("delete,ctrl+d", "delete_right", show=False),
        Binding("ctrl+w,ctrl+backspace", "delete_left_word", show=False),
        Binding("ctrl+u", "delete_left_all", show=False),
        Binding("ctrl+k", "delete_right_all", show=False),
        Binding("ctrl+v", "paste", show=False),
    ]

    def __init__(self, placeholder: str, passed: str = "") -> None:
        """`passed` are characters that are the list's where nothing is typed yet: elsewhere they are text."""
        super().__init__(placeholder=placeholder, compact=True, select_on_focus=False)
        self._passed = passed
        self.set_reactive(Input.cursor_blink, False)

    async def _on_key(self, event: Key) -> None:
        if event.character and event.character in self._passed and not self.value:
            event.prevent_default()

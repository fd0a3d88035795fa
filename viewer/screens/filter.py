"""The line in which one types what a list is to show."""

from __future__ import annotations

from collections.abc import Mapping

from textual.events import Key, Paste
from textual.widgets import Input

from schemas.clean import clean

_EDITS = {
    "left": "cursor_left",
    "right": "cursor_right",
    "ctrl+left": "cursor_left_word",
    "ctrl+right": "cursor_right_word",
    "ctrl+a": "home",
    "backspace": "delete_left",
    "delete": "delete_right",
    "ctrl+d": "delete_right",
    "ctrl+w": "delete_left_word",
    "ctrl+backspace": "delete_left_word",
    "ctrl+u": "delete_left_all",
    "ctrl+k": "delete_right_all",
    "ctrl+v": "paste",
}


class Line(Input):
    """A line of words. What is pasted into it may be from anywhere: it passes the one door, its lines become one."""

    def validate_value(self, value: str) -> str:
        """Clean what was typed, pasted or kept."""
        return clean(value)

    def _on_paste(self, event: Paste) -> None:
        event.prevent_default().stop()
        self.replace(" ".join(event.text.split("\n")), *sorted(self.selection))


class Filter(Line, inherit_bindings=False):
    """A line that takes what is typed; every key that edits no text is the list's.

    It does what its keys say when they come. As bindings they would be done once they had gone up to the app, when
    whoever types quickly has typed more.
    """

    def __init__(self, placeholder: str, passed: Mapping[str, str] | None = None, value: str = "") -> None:
        """`passed` are characters that are actions where nothing has been typed since one came: else they are text."""
        super().__init__(value, placeholder=placeholder, compact=True, select_on_focus=False)
        self._passed = passed or {}
        self.settled = ""
        """What stood there when one came: behind it those characters are actions too, until it is another."""
        self.set_reactive(Input.cursor_blink, False)

    async def _on_key(self, event: Key) -> None:
        untouched = self.value in ("", self.settled)
        action = _EDITS.get(event.key) or (self._passed.get(event.character or "", "") if untouched else "")
        if self.app.screen is not self.screen:  # a key before this one opened another
            event.prevent_default().stop()
            (self.app.focused or self.app.screen).post_message(Key(event.key, event.character))
        elif action:
            event.prevent_default().stop()
            await self.run_action(action)

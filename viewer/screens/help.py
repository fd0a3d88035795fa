"""The dialogs made from tables of keys: the help, and the question before leaving while an agent still writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from viewer.output import short_path
from viewer.screens.config_keys import config_path, key_name
from viewer.screens.dialog import SCROLL_KEYS, Dialog, KeysTable
from viewer.screens.keys import LEAVING, Key

_TITLES = {
    "list": "Keys in the list of sessions",
    "find": "Keys in the search over all sessions",
    "transcript": "Keys in a transcript",
    "outline": "Keys in the outline",
    "words": "Keys while one types what to look for",
    "watch": "Keys on the watch screen",
    "diff": "Keys on the screen of what changed",
    "why": "Keys in a file whose lines are traced",
}


class HelpScreen(Dialog[None]):
    """Every key of a screen and what it does."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,question_mark,f1,enter", "dismiss", show=False), *SCROLL_KEYS]

    def __init__(self, table: str, keys: tuple[Key, ...]) -> None:
        super().__init__(_TITLES[table], f"esc closes   own keys: {short_path(config_path())}")
        self._keys = keys

    def compose_body(self) -> ComposeResult:
        yield KeysTable((" ".join(key_name(name, short=True) for name in key.keys), key.help) for key in self._keys)


_EVERY = 0.2
"""Seconds between looks whether the agent has ended meanwhile."""


class LeaveScreen(Dialog[str]):
    """Asks what to do; answers with an action of the table `LEAVING`: end, drain or save."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(key.keys), f"dismiss('{key.action}')", show=False) for key in LEAVING
    ]

    def __init__(self, ended: Callable[[], bool]) -> None:
        super().__init__("The agent is still writing. Quit and end it?", "esc goes back")
        self._ended = ended

    def compose_body(self) -> ComposeResult:
        yield KeysTable((key_name(key.keys[0]), key.help) for key in LEAVING)

    def on_mount(self) -> None:
        """Watch the agent too: it may end while the question stands."""
        self.set_interval(_EVERY, self._look)

    def _look(self) -> None:
        if self._ended():
            self.query_one("#dialog-title", Static).update(Content("The agent has ended. Quit?"))

"""The help screen, made from the table of keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from viewer.output import short_path
from viewer.screens.config_keys import config_path, key_name
from viewer.screens.dialog import SCROLL_KEYS, Dialog, KeysTable
from viewer.screens.keys import Key

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

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,question_mark,f1,enter", "close", show=False), *SCROLL_KEYS]

    def __init__(self, table: str, keys: tuple[Key, ...]) -> None:
        super().__init__(_TITLES[table], f"esc closes   own keys: {short_path(config_path())}")
        self._keys = keys

    def compose_body(self) -> ComposeResult:
        """The names of each key, then what it does."""
        yield KeysTable((" ".join(key_name(name, short=True) for name in key.keys), key.help) for key in self._keys)

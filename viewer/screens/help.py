"""The help screen, made from the table of keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from viewer.output import short_path
from viewer.screens.bindings import config_path, key_name
from viewer.screens.dialog import Dialog, keys_text
from viewer.screens.keys import Key

_TITLES = {
    "list": "Keys in the list of sessions",
    "find": "Keys in the search over all sessions",
    "transcript": "Keys in a transcript",
    "watch": "Keys on the watch screen",
    "diff": "Keys on the screen of what changed",
    "why": "Keys in a file whose lines are traced",
}
_AROUND = 7
"""Lines for the box's title, hint and padding, and one that shows that it is a box."""
_WIDTH, _BESIDE = 84, 4
"""Cells of the box, and those of its border, padding and scrollbar."""


class HelpScreen(Dialog[None]):
    """Every key of a screen and what it does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,f1,enter", "close", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("space,pagedown", "scroll(10)", show=False),
        Binding("b,pageup", "scroll(-10)", show=False),
        Binding("g,home", "edge(False)", show=False),
        Binding("G,end", "edge(True)", show=False),
    ]

    def __init__(self, table: str, keys: tuple[Key, ...]) -> None:
        super().__init__(_TITLES[table], f"esc closes   own keys: {short_path(config_path())}")
        self._keys = keys

    def compose_body(self) -> ComposeResult:
        """The table."""
        with VerticalScroll(id="keys-scroll", can_focus=False) as scroll:
            scroll.styles.max_height = max(1, self.app.size.height - _AROUND)  # a key may come before the first resize
            width = min(_WIDTH, self.app.size.width) - _BESIDE
            yield Static(help_text(self._keys, width), id="dialog-body", markup=False)

    def on_resize(self, event: Resize) -> None:
        """The keys take the height that the rest of the box leaves, and scroll in it."""
        self.query_one("#keys-scroll").styles.max_height = max(1, event.size.height - _AROUND)

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one("#keys-scroll").scroll_relative(y=lines, animate=False)

    def action_edge(self, end: bool) -> None:
        """Scroll to the last line, or to the first."""
        scroll = self.query_one("#keys-scroll")
        scroll.scroll_end(animate=False) if end else scroll.scroll_home(animate=False)


def help_text(keys: Iterable[Key], width: int) -> Content:
    """The names of each key, then what it does."""
    table = [(" ".join(key_name(name, short=True) for name in key.keys), key.help) for key in keys]
    return keys_text(table, max(len(names) for names, _ in table) + 2, width)

"""The question before leaving while an agent still writes: leaving closes the pipe it writes to, which ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from viewer.screens.config_keys import key_name
from viewer.screens.dialog import Dialog, KeysTable
from viewer.screens.keys import LEAVING

_EVERY = 0.2
"""Seconds between looks whether the agent has ended meanwhile."""


class LeaveScreen(Dialog[str]):
    """Asks what to do; answers with an action of the table `LEAVING`: end, drain or save."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(key.keys), f"answer('{key.action}')", show=False) for key in LEAVING
    ]

    def __init__(self, ended: Callable[[], bool]) -> None:
        super().__init__("The agent is still writing. Quit and end it?", "esc goes back")
        self._ended = ended

    def compose_body(self) -> ComposeResult:
        """The answers there are."""
        yield KeysTable((key_name(key.keys[0]), key.help) for key in LEAVING)

    def on_mount(self) -> None:
        """Watch the agent too: it may end while the question stands."""
        self.set_interval(_EVERY, self._look)

    def _look(self) -> None:
        if self._ended():
            self.query_one("#dialog-title", Static).update(Content("The agent has ended. Quit?"))

    def action_answer(self, answer: str) -> None:
        """Close with an answer."""
        self.dismiss(answer)

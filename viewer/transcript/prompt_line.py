"""The line above a transcript that keeps the prompt in sight while its exchange is read."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.events import Click

from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar


class PromptLine(TitleBar):
    """The number and the prompt of the exchange at the top of a view, once its own line has scrolled out; a click goes
    there. It has its line all the time, so that nothing moves when it is filled.
    """

    def __init__(self, view: TranscriptView, **options: Any) -> None:
        super().__init__(**options)
        self._view = view

    def show(self, names: list[str]) -> None:
        """Show what is above the screen now; `names` are those of the exchanges (renderers/places.py)."""
        exchange = self._view.exchange_above
        if exchange is None:
            self.left = Content("")
            return
        known = self._view.session.exchanges[exchange]
        number = names[exchange] if names[exchange].isdecimal() else "rewound" if known.rewound else "inherited"
        prompt = known.prompt or "(empty prompt)"
        self.left = Content.assemble((f" ↑ {number}  ", "$accent"), (prompt, "$text-muted"))

    def on_click(self, event: Click) -> None:
        """Go to the prompt."""
        event.stop()
        if (exchange := self._view.exchange_above) is not None:
            self._view.go_to(self._view.session.exchanges[exchange].start)

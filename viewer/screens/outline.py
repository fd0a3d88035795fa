"""The outline of a transcript's session: beside it where there is room, else as a dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual.containers import Vertical

from viewer.edits.counts import EditCounts
from viewer.screens.figures import Figures
from viewer.screens.program import aside
from viewer.transcript.view import TranscriptView

if TYPE_CHECKING:
    from schemas.changes import Moves
    from viewer.screens.outline_pane import OutlinePane

OPEN = "-outline"
"""The screen's class while the outline is to stand beside the text, if there is room."""


class SessionOutline(Vertical):
    """The room beside a view for the outline of its session, and what keeps that up to date, in a dialog too. `kept`
    tells whether it is to be there, and takes that again; `go` is called with the exchange that was chosen.
    """

    def __init__(self, view: TranscriptView, figures: Figures, kept: dict[str, Any], go: Callable[[int], None]) -> None:
        super().__init__()
        self._view, self._figures, self._kept, self._go = view, figures, kept, go
        self._asked = asyncio.Event()
        self._edits = EditCounts(view.session, self._asked.set)
        self._panes: list[OutlinePane] = []
        self._beside: OutlinePane | None = None
        self._begun = False

    @property
    def is_wanted(self) -> bool:
        """Tell whether it is to stand beside the text, if there is room."""
        return self._kept.get("outline") is not False

    async def keep(self) -> None:
        """Show it once the first picture stands, and count edits of the exchanges in sight from then on."""
        await aside(partial(import_module, "viewer.screens.outline_pane"))
        self._begun = True
        self._figures.when_priced = self._refresh
        self.on_resize()
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self._view.in_slices(self._edits.run())
            self._refresh()

    def on_resize(self) -> None:
        """Show it where there is room now."""
        if self._begun and self.display:
            self._shown()

    def _shown(self) -> OutlinePane:
        if self._beside is None:
            self._beside = self._make()
            self.mount(self._beside)
        return self._beside

    def _leave(self, exchange: int | None) -> None:
        if exchange is not None:
            self._go(exchange)
        self.screen.set_focus(self._view)

    def ask(self) -> None:
        """Let a person choose an exchange: from the one beside the text, else in a dialog."""
        from viewer.screens.outline_pane import OutlineScreen

        def take(exchange: int | None) -> None:
            self._panes.remove(pane)
            self._leave(exchange)

        if self.display:
            self._shown().enter()
        else:
            pane = self._make()
            self.app.push_screen(OutlineScreen(pane), take)

    def toggle(self) -> None:
        """Show it beside the text or not, from now on."""
        self.screen.toggle_class(OPEN)
        self._kept["outline"] = self.screen.has_class(OPEN)
        self.screen.set_focus(self._view)

    def _make(self) -> OutlinePane:
        from viewer.screens.outline_pane import Outline, OutlinePane

        pane = OutlinePane(Outline(self._view.session, self._here, self._edits, self._figures.cost_of, self._leave))
        self._panes.append(pane)
        return pane

    @property
    def _here(self) -> int:
        messages, block = self._view.session.messages, self._view.cursor.block
        return messages.exchange[block] if block < len(messages) else 0

    def moved(self) -> None:
        """Show where one is now."""
        for pane in self._panes:
            pane.outline.follow(self._here)

    def changed(self, messages: list[int], exchanges: set[int]) -> None:
        """Show what came and what changed: these messages, of these exchanges."""
        self._edits.changed(messages)
        for pane in self._panes:
            pane.outline.grow({*exchanges})
            pane.show()

    def replaced(self, moves: Moves) -> None:
        """Show the session that took the other one's place."""
        self._edits.begin(moves.new)
        for pane in self._panes:
            pane.outline.replace(moves)
            pane.show()

    def _refresh(self) -> None:
        for pane in self._panes:
            pane.outline.refresh()

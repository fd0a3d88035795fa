"""The list of a session's exchanges, to jump to one."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from renderers.facts import exchange_facts, exchange_numbers
from schemas.session import Session
from viewer.screens.dialog import Dialog

_WIDTH = 110
_AROUND = 8
"""Cells of the dialog's border and padding."""


class _Exchanges(OptionList):
    """The list; where it has no room for a line, Textual's (8.2.8) raises a KeyError when a page is turned."""

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        if self.scrollable_content_region:
            super()._move_page(direction)


class OutlineScreen(Dialog[int]):
    """Answers with the exchange that was chosen."""

    SCROLLS = "OptionList"
    AROUND = 6

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,tab", "close", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("g", "edge(0)", show=False),
        Binding("G", "edge(1)", show=False),
    ]
    DEFAULT_CSS = """
    OutlineScreen OptionList {
        height: auto; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    OutlineScreen OptionList:focus > .option-list--option-highlighted {
        background: $boost; color: $foreground; text-style: bold;
    }
    """

    def __init__(self, session: Session, current: int) -> None:
        super().__init__("Exchanges", "enter goes there   esc closes")
        self._session, self._current = session, current
        self._numbers = exchange_numbers(session)

    def compose_body(self) -> ComposeResult:
        """One line an exchange."""
        options = [Option(self._line(n), id=str(n)) for n in range(len(self._session.exchanges))]
        yield _Exchanges(*options, markup=False, compact=True)

    def on_mount(self) -> None:
        """Begin where the reader is."""
        dialog = self.query_one("#dialog")
        dialog.styles.width = min(_WIDTH + _AROUND, self.app.size.width)
        dialog.styles.max_width = "100%"
        self.query_one(OptionList).highlighted = self._current

    def _line(self, n: int) -> Content:
        session = self._session
        exchange = session.exchanges[n]
        if exchange.opener is None:
            return Content(f"    {exchange.prompt or 'before the first prompt'}")
        number = f"{self._numbers[n] or '':>3}  "
        width = min(_WIDTH, self.app.size.width - _AROUND) - 2
        facts = " · ".join(exchange_facts(session, n)[:2])
        mark = "rewound  " if exchange.rewound else "inherited  " if exchange.inherited else ""
        prompt = Content(mark + (exchange.prompt or "(empty prompt)"))
        prompt = prompt.truncate(width - len(number) - len(facts) - 2, ellipsis=True, pad=True)
        return Content.assemble((number, "$accent"), prompt, "  ", (facts, "$text-muted"))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)

    def action_move(self, step: int) -> None:
        """The next or previous one."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_edge(self, end: int) -> None:
        """The first or the last one."""
        options = self.query_one(OptionList)
        options.action_last() if end else options.action_first()

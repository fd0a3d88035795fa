"""The dialog that narrows a list: agents, projects, dates and what else there is to choose from, and the orders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from viewer.screens.dialog import Dialog

if TYPE_CHECKING:
    from viewer.widgets.sessions import Choice

_NAMES = {"since": "date", "live": "only", "failed": "", "order": "order"}
"""What stands before the first choice of a facet that has not its own name there."""
_LABEL = 40
_BESIDE = 28
"""Cells of the box and of a line around a label."""


class NarrowScreen(Dialog["Choice"]):
    """Answers with a choice; what is typed leaves those that fit."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "move('cursor_down')", show=False),
        Binding("up,shift+tab", "move('cursor_up')", show=False),
        Binding("pagedown", "move('page_down')", show=False),
        Binding("pageup", "move('page_up')", show=False),
    ]
    DEFAULT_CSS = """
    NarrowScreen Input, NarrowScreen Input:focus { dock: top; }
    NarrowScreen OptionList {
        height: auto; max-height: 100%; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis; margin-top: 1;
    }
    NarrowScreen OptionList > .option-list--option-highlighted {
        background: $boost; color: $foreground; text-style: bold;
    }
    """

    def __init__(self, choices: list[Choice], chosen: Iterable[tuple[str, object]], at: str = "") -> None:
        """`chosen` are facets with their values; `at` is the facet to begin with."""
        super().__init__("Narrow", "enter chooses, or takes it back   esc closes")
        self._choices, self._chosen, self._at = choices, set(chosen), at
        self._fitting: list[Choice] = []

    def compose_body(self) -> ComposeResult:
        yield Input(placeholder="type to filter", compact=True)
        options = OptionList(markup=False, compact=True)
        options.can_focus = False  # what is typed goes to the line above
        yield options

    def on_mount(self) -> None:
        """Begin with all choices, at the facet that was asked for."""
        self._show("")
        at = next((i for i, choice in enumerate(self._fitting) if choice.facet == self._at), 0)
        self.query_one(OptionList).highlighted = at

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value)

    def _show(self, words: str) -> None:
        wanted = words.casefold().split()
        self._fitting = [c for c in self._choices if all(w in f"{_name(c)} {c.label}".casefold() for w in wanted)]
        options = self.query_one(OptionList)
        options.set_options([Option(self._line(i, choice)) for i, choice in enumerate(self._fitting)])
        options.highlighted = 0 if self._fitting else None

    def _line(self, index: int, choice: Choice) -> Content:
        name = _name(choice) if index == 0 or self._fitting[index - 1].facet != choice.facet else ""
        chosen = (choice.facet, choice.value) in self._chosen
        count = "" if choice.sessions is None else f"{choice.sessions:,}"
        label = Content(choice.label).truncate(
            max(1, min(_LABEL, self.app.size.width - _BESIDE)), ellipsis=True, pad=True
        )
        return Content.assemble(
            (f"{name:<9}", "$text-muted"),
            ("• " if chosen else "  ", "$accent"),
            label.stylize("$accent") if chosen else label,
            (f"{count:>8}", "$text-muted"),
        )

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self.dismiss(self._fitting[at])

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._fitting[event.option_index])

    def action_move(self, how: str) -> None:
        """Move through the choices."""
        options = self.query_one(OptionList)
        if options.scrollable_content_region:  # without a line, Textual's (8.2.8) raises a KeyError for a page
            getattr(options, f"action_{how}")()


def _name(choice: Choice) -> str:
    return _NAMES.get(choice.facet, choice.facet)

"""The dialog that asks what of a session to export, in which format, with which parts, and where to."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Blur, Click, Focus
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from renderers.names import export_name
from renderers.options import MAX_COMMENT, Include
from renderers.places import find_part, no_such_place
from renderers.redact import Redactor
from schemas.clean import one_line
from schemas.opening import OpenError, read_session
from schemas.session import Session
from viewer.commands.export import FORMATS, READ, document, smaller
from viewer.output import short_path
from viewer.screens.dialog import Dialog

_PARTS = tuple(field.name for field in fields(Include) if field.name not in ("redact", "prompts"))
_PROMPTS = "prompts only"
_LABEL = 8


class Choices(Widget, can_focus=True):
    """A line of choices: one of them, or with `several` any number. Arrows move, space and a click choose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("space", "choose", show=False),
    ]

    class Changed(Message):
        """Something else is chosen."""

    def __init__(
        self, name: str, label: str, names: tuple[str, ...], chosen: tuple[str, ...], *, several: bool = False
    ) -> None:
        super().__init__(id=name)
        self._label, self._names, self._several = label, names, several
        self.chosen = set(chosen) & set(names)
        self._at = next((i for i, name in enumerate(names) if name in chosen), 0)

    def _places(self, width: int) -> list[tuple[int, int]]:
        """The column and the line of each choice, in as many lines as they need."""
        places, column, line = [], _LABEL, 0
        for name in self._names:
            if column > _LABEL and column + 1 + len(name) > width:
                column, line = _LABEL, line + 1
            places.append((column, line))
            column += len(name) + 3
        return places

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._places(width)[-1][1] + 1

    def render(self) -> Content:
        """The label, and each choice with a mark where it is chosen."""
        pieces: list[Content | tuple[str, str]] = [(f"{self._label:<{_LABEL}}", "$text-muted")]
        places = self._places(self.content_size.width)
        for at, name in enumerate(self._names):
            style = "$accent" if name in self.chosen else "$text-muted"
            under = " reverse" if self.has_focus and at == self._at else ""
            mark = "✓" if name in self.chosen else " "
            before = "" if not at else "  " if places[at][0] > _LABEL else "\n" + " " * _LABEL
            pieces += [(before, ""), (mark, style), (name, style + under)]
        return Content.assemble(*pieces)

    def action_move(self, by: int) -> None:
        """Go to the choice beside, which is chosen at once where there is one only."""
        self._at = (self._at + by) % len(self._names)
        self.refresh() if self._several else self.action_choose()

    def action_choose(self) -> None:
        """Choose what one is at, or take it back."""
        name = self._names[self._at]
        self.chosen = self.chosen ^ {name} if self._several else {name}
        self.refresh()
        self.post_message(self.Changed())

    def on_click(self, event: Click) -> None:
        for at, (column, line) in enumerate(self._places(self.content_size.width)):
            if line == event.y and column <= event.x < column + len(self._names[at]) + 2:
                self._at = at
                self.action_choose()

    @on(Focus)
    @on(Blur)
    def _show_where(self) -> None:
        self.refresh()


class Order(NamedTuple):
    """An export as it was asked for."""

    form: str
    include: Include
    place: str
    """The part of the session (`#3-5`); empty for all of it."""
    path: Path


class ExportScreen(Dialog[Order]):
    """Asks for an export, and says how large it gets."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "write", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = """
    ExportScreen Choices { height: auto; width: 1fr; }
    ExportScreen #export-note { margin: 1 0; height: auto; min-height: 2; width: 1fr; }
    """

    def __init__(self, session: Session, places: dict[str, str]) -> None:
        """`places` are the parts of the session that one can choose, each with its place."""
        super().__init__("Export", "enter writes   ↑↓ line   ←→ space choose   esc cancels")
        self._session, self._places, self._suggested = session, places, ""

    def compose_body(self) -> ComposeResult:
        yield Choices("scope", "scope", (*self._places, "session"), ("session",))
        yield Input(self._places.get("range", ""), id="range", compact=True, select_on_focus=False)
        yield Choices("form", "format", READ, READ[:1])
        yield Choices("parts", "parts", (*_PARTS, _PROMPTS), _PARTS, several=True)
        yield Static(id="export-note", markup=False)
        yield Input(id="path", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        """Begin with the whole session, at the line that says where to: enter is enough."""
        self._changed()
        self.query_one("#path").focus()
        self.watch(self.query_one("#dialog-scroll"), "virtual_size", self._keep_in_sight, init=False)

    def _keep_in_sight(self) -> None:
        """Show the line one is at, which may have been pushed out of a low box."""
        if self.focused is not None:
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    def _chosen(self, line: str) -> set[str]:
        return self.query_one(f"#{line}", Choices).chosen

    @property
    def _place(self) -> str:
        (scope,) = self._chosen("scope")
        return self.query_one("#range", Input).value.strip() if scope == "range" else self._places.get(scope, "")

    @on(Choices.Changed)
    def _changed(self) -> None:
        """Say the size of what is chosen now, and suggest a name, unless one was typed."""
        self.query_one("#range").display = self._chosen("scope") == {"range"}
        path = self.query_one("#path", Input)
        if path.value == self._suggested:
            (form,) = self._chosen("form")
            self._suggested = export_name(self._session, self._place.replace("#", "-") + FORMATS[form])
            path.value = self._suggested
        self._say("…")
        order = self._order()
        self._measure(order)

    @on(Input.Changed, "#range")
    def _ranged(self) -> None:
        if self.query_one("#range").display:
            self._changed()

    def _order(self) -> Order:
        (form,) = self._chosen("form")
        chosen = self._chosen("parts")
        include = Include(prompts=_PROMPTS in chosen, **{name: name in chosen for name in _PARTS})
        return Order(form, include, self._place, Path(self.query_one("#path", Input).value.strip()).expanduser())

    def _say(self, words: str, style: str = "$text-muted") -> None:
        self.query_one("#export-note", Static).update(Content.styled(words, style))
        self._keep_in_sight()

    @work(thread=True, exclusive=True, group="size")
    def _measure(self, order: Order) -> None:
        """Make the document in a thread, of the file as it is now, only to learn its size."""
        worker = get_current_worker()
        style, size = "$text-muted", 0
        try:
            with closing(read_session(self._session.path)) as fresh:
                part = find_part(fresh, order.place) if order.place else None
                if order.place and part is None:
                    words, style = no_such_place(fresh, order.place), "$error"
                else:
                    for chunk in document(fresh, order.form, order.include, Redactor(), part):
                        size += len(chunk.decode("utf-8", "replace"))
                        if worker.is_cancelled:
                            return
                    words = f"{size:,} characters"
                    if order.form == "markdown":
                        words += f"; a pull request takes {MAX_COMMENT:,}"
                        if size > MAX_COMMENT:
                            words, style = f"{words}: {_advice(smaller(fresh, order.include, part))}", "$warning"
        except (OpenError, OSError) as error:
            words, style = str(error), "$error"
        if not worker.is_cancelled:
            self.app.call_from_thread(self._say, one_line(words, 200), style)

    def action_write(self) -> None:
        """Close with the answer, if there is a file's name and none of that name yet."""
        order = self._order()
        if order.path.is_dir():
            order = order._replace(path=order.path / self._suggested)
        if os.path.lexists(order.path):
            self._say(f"{short_path(order.path)} exists already", "$error")
        elif order.place and find_part(self._session, order.place) is None:
            self._say(no_such_place(self._session, order.place), "$error")
        else:
            self.dismiss(order)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_write()


def _advice(names: tuple[str, ...]) -> str:
    if names == ("prompts",):
        return "only the prompts would fit"
    return f"it fits without {', '.join(names)}" if names else "it does not fit; a part of it may"

"""Small dialogs: something to read, the help, a path to give, the question before leaving while an agent writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import wrap
from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from viewer.output import short_path
from viewer.screens.config_keys import config_path, key_name
from viewer.screens.keys import LEAVING, Key

Answer = TypeVar("Answer")

_SAID = 5.0
"""Seconds for which something is said."""

SCROLL_KEYS: tuple[BindingType, ...] = (
    Binding("j,down", "scroll(1)", show=False),
    Binding("k,up", "scroll(-1)", show=False),
    Binding("space,pagedown", "scroll(10)", show=False),
    Binding("b,pageup", "scroll(-10)", show=False),
    Binding("g,home", "edge(False)", show=False),
    Binding("G,end", "edge(True)", show=False),
)
"""The keys of a dialog in which there is only something to read."""


class Dialog(ModalScreen[Answer]):
    """A box over the screen, whose body scrolls where it is too long. Escape and a click beside it close it without an
    answer.
    """

    CSS_PATH = "dialog.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]
    SCROLLS: ClassVar[str] = "#dialog-scroll"
    """What `SCROLL_KEYS` scroll, as a selector."""

    def __init__(self, title: str, hint: str, **options: Any) -> None:
        super().__init__(**options)
        self._dialog_title, self._hint, self._said = title, hint, ""
        self._timer: Timer | None = None
        """Ends what is said; that of something before must not."""

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            with Vertical(id="dialog-head"):
                yield Static(Content(self._dialog_title), id="dialog-title", markup=False)
            with Vertical(id="dialog-scroll"):
                yield from self.compose_body()
            yield Static(Content(self._said or self._hint), id="dialog-hint", markup=False)

    def compose_body(self) -> ComposeResult:
        """Make the dialog's content."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Say something in the line of the hint for a while: a notice over the box would cover it."""
        self._show_hint(text.replace("\n", " "))
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_SAID, self._show_hint)

    def _show_hint(self, said: str = "") -> None:
        self._said = said
        for line in self.query("#dialog-hint").results(Static):  # none before it is shown
            line.update(Content(said or self._hint))

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one(self.SCROLLS).scroll_relative(y=lines, animate=False)

    def action_edge(self, end: bool) -> None:
        """Scroll to the last line, or to the first."""
        scroll = self.query_one(self.SCROLLS)
        scroll.scroll_end(animate=False) if end else scroll.scroll_home(animate=False)

    def on_click(self, event: Click) -> None:
        """A click beside the box closes it."""
        if event.widget is self:
            self.dismiss(None)


class KeysTable(Widget):
    """Keys and, from a column on, what each does; a text of several lines stays in its column."""

    DEFAULT_CSS = "KeysTable { height: auto; width: 1fr; }"

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self._rows = list(rows)
        self._column = max(len(keys) for keys, _ in self._rows) + 2

    def text(self, width: int) -> Content:
        """The table as wide as that."""
        between = "\n" + " " * self._column
        return Content("\n").join(
            Content.assemble(
                (keys.ljust(self._column), "bold $accent"), between.join(wrap(text, max(1, width - self._column)))
            )
            for keys, text in self._rows
        )

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.text(width).plain.count("\n") + 1

    def render(self) -> Content:
        return self.text(self.content_size.width)


class MessageScreen(Dialog[None]):
    """Something to read, until a key is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,q", "dismiss", show=False), *SCROLL_KEYS]

    def __init__(self, title: str, body: Content) -> None:
        super().__init__(title, "enter closes")
        self._body = body

    def compose_body(self) -> ComposeResult:
        yield Static(self._body, id="dialog-body", markup=False)


class PathPrompt(Dialog[str]):
    """Asks for a file to write; answers with what was typed. `note` says what the file lacks, or what was wrong with
    the last answer.
    """

    def __init__(self, title: str, suggestion: str, note: str = "") -> None:
        super().__init__(title, "enter writes   esc cancels")
        self._suggestion, self._note = suggestion, note

    def compose_body(self) -> ComposeResult:
        """A line to type in, and the note, which may be long."""
        # Relative to where turnlog was started, as with any command.
        yield Input(self._suggestion, id="path", compact=True, select_on_focus=False)
        if self._note:
            yield Static(Content.styled(self._note, "$warning"), id="dialog-note", markup=False)

    @on(Input.Submitted)
    def _done(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


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

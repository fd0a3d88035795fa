"""The program around a screen, as its screens know it: by no name of its type, since it opens them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, cast

from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from schemas.session import Session
    from viewer.screens.state import State


class Opening(TypedDict, total=False):
    """The ways in which a transcript can be opened."""

    follow: bool
    """Whether it begins at its end and keeps to it, and goes on with the session that takes its place."""
    loose: bool
    """Whether any takes its place that begins in this directory when it has gone quiet."""
    place: str
    """Where it opens (renderers/places.py)."""
    words: str
    """What is looked for from there on."""
    above: str
    """The names of the sessions of which it is a subagent."""
    outline: bool
    """Whether the list of exchanges is there to begin with."""


class Program(Protocol):
    """TurnlogApp, whose methods say what they do."""

    keymap: Mapping[str, str]
    state: State

    def say(self, text: str, *, title: str = "", bad: bool = False, seconds: float | None = None) -> None: ...
    def write_file(self, title: str, name: str, data: bytes, given: str = "", note: str = "") -> None: ...
    def read(self, path: Path, then: Callable[[Session], None]) -> object: ...
    def export_session(self, session: Session, block: int | None = None) -> None: ...
    def resume_session(self, session: Session) -> None: ...
    def save_stream(self, session: Session | None = None) -> None: ...
    def open_session(self, path: Path, **how: Unpack[Opening]) -> bool: ...


def program(widget: Widget) -> Program:
    """The program that a widget is in."""
    return cast("Program", widget.app)


async def back(screen: Screen[Any]) -> None:
    """Go back to the screen below; leave where there is none."""
    if len(screen.app.screen_stack) > 1:
        screen.dismiss()
    else:
        await screen.run_action("app.quit")  # which asks first where that would end an agent

"""The Textual app: it holds the screens together. What the first picture does not need is imported after it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Unpack

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from schemas.clean import one_line
from viewer.screens.config_keys import Config, ConfigError, config_path, effective
from viewer.screens.program import Opening, Program
from viewer.screens.state import State
from viewer.screens.themes import ANSI, DARK, LIGHT, DimGrey, fitting_theme

if TYPE_CHECKING:
    from textual.command import Provider

    from viewer.follow.follower import Within
    from viewer.follow.pipe import Spool

_TWICE = 3.0
"""Seconds in which ctrl+c must be pressed again to leave."""


def _commands() -> type[Provider]:
    from viewer.screens.command_palette import Commands

    return Commands


class TurnlogApp(Program):
    """The screens of turnlog, on one stack: the list (if there is one), transcripts above it, dialogs above those."""

    CSS_PATH = "app.tcss"
    TITLE = "turnlog"
    COMMANDS = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", show=False, priority=True),
        # Before any widget's own: in a line that one types in, ctrl+c is the way out, too.
        Binding("ctrl+c", "copy_or_quit", show=False, system=True, priority=True),
        Binding("ctrl+z", "stop", show=False, priority=True),
    ]

    def __init__(self, config: Config | None = None, spool: Spool | None = None, state: State | None = None) -> None:
        config = config or Config()
        # NO_COLOR then takes all colours away, and not only their hues.
        colourless = "NO_COLOR" in os.environ and config.theme in (None, ANSI.name)
        super().__init__(ansi_color=True if colourless else None)
        # Before the filter that takes colours away, where there is one.
        self._filters.insert(0, DimGrey(lambda: self.native_ansi_color))
        self.spool, self.state = spool, state or State()
        self.drain = False
        """Whether standard input is to be read to its end when the screen is gone."""
        self.animation_level = "none"
        self.keymap = config.keymap
        self.set_keymap(config.keymap)
        for theme in (DARK, LIGHT, ANSI):
            self.register_theme(theme)
        if config.theme is not None and config.theme not in self.available_themes:
            names = ", ".join(sorted(self.available_themes))
            raise ConfigError(f"{config_path()}: there is no theme {one_line(config.theme)!r}; there are {names}")
        self._begin_with_theme(config.theme or fitting_theme(os.environ, self.console.color_system))
        self._asked_to_leave = -_TWICE
        """When ctrl+c was pressed last with nothing to copy (monotonic clock)."""
        self._first: Screen[None] | None = None
        self._events: asyncio.AbstractEventLoop | None = None

    def _begin_with_theme(self, name: str) -> None:
        """Take a theme as if it were Textual's own: one that is set is parsed and laid out again, before there is any
        picture.
        """
        self.set_reactive(TurnlogApp.theme, name)
        dark = self.current_theme.dark
        self.update_classes({f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark}, update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    def start_with(self, screen: Screen[None]) -> None:
        """The screen to begin with; leaving it leaves the program."""
        self._first = screen
        # Textual reads a screen's style sheet when it is pushed, and this one never is.
        self.stylesheet.read_all(screen.css_path)

    def get_default_screen(self) -> Screen[None]:
        """The first screen is the stack's bottom, so that no empty one is drawn before it."""
        return self._first or super().get_default_screen()

    def on_load(self) -> None:
        """Let the end be asked for from outside from now on."""
        self._events = asyncio.get_running_loop()

    def on_mount(self) -> None:
        """Keep the garbage collector from causing pauses."""
        # What was said on one screen is no longer about the next.
        self.screen_change_signal.subscribe(self, lambda _: self.clear_notifications(), immediate=True)
        # Textual takes the terminal back after `fg`, and draws what changes from then on only.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True), immediate=True)
        # Textual's handler writes to the terminal. Where it interrupts a write it would wait for a lock that its own
        # thread holds, for ever; so it runs between two events.
        if sys.platform != "win32" and callable(stop := signal.getsignal(signal.SIGTSTP)):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, stop, signal.SIGTSTP, None)
        self.call_after_refresh(self._settle)

    def leave(self, code: int) -> bool:
        """Ask for an end in order, which gives the terminal back (no mouse reports, its own screen).

        From any thread; False when the program does not run yet.
        """
        if self._events is None:
            return False
        with suppress(RuntimeError):  # it has just ended
            self._events.call_soon_threadsafe(partial(self.exit, return_code=code))
        return True

    def _settle(self) -> None:
        """Keep what is loaded by now from being collected again and again, which makes scrolling stutter."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        gc.enable()

    # -- screens ---------------------------------------------------------------------------------------------------

    def open_session(self, source: Path | Within, **how: Unpack[Opening]) -> bool:
        """Open a transcript above what is shown; return whether it could be."""
        from schemas.opening import OpenError
        from viewer.screens.transcript import TranscriptScreen

        try:
            self.push_screen(TranscriptScreen.of(source, self.state, **how))
        except (OpenError, OSError) as error:
            self.say(one_line(str(error), 400), title="Cannot open", bad=True)
            return False
        return True

    def action_command_palette(self) -> None:
        """Show all commands."""
        from viewer.screens.command_palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_help(self) -> None:
        """Show the keys that act now."""
        from viewer.screens.dialog import HelpScreen
        from viewer.widgets.chrome import acting

        table = acting(self.screen)[1]
        self.push_screen(HelpScreen(table, effective(table, self.keymap)))

    async def action_copy_or_quit(self) -> None:
        """Copy what is selected; with nothing selected, leave when asked twice."""
        from textual.widgets import Input

        box = self.screen.focused
        selected = self.screen.get_selected_text()
        if not selected and isinstance(box, Input):
            selected = box.selected_text
        if selected:
            self._copy_selection(selected)
        elif time.monotonic() - self._asked_to_leave < _TWICE:
            await self.action_quit()
        else:
            self._asked_to_leave = time.monotonic()
            self.say("Press ctrl+c again to leave turnlog.", seconds=_TWICE)

    def _copy_selection(self, text: str) -> None:
        from viewer.screens.transcript import TranscriptScreen
        from viewer.transcript.clipboard import put_on_clipboard, redacted_text

        if isinstance(self.screen, TranscriptScreen) and self.screen.selections:
            self.screen.action_copy("block")
            return
        self.say(put_on_clipboard(self, redacted_text("the selection", text), ""))
        self.screen.clear_selection()

    def action_stop(self) -> None:
        """Stop as programs do on ctrl+z, with all of a pipeline; not where no shell is there that could go on with it:
        then the group is that of the session's first process.
        """
        if sys.platform != "win32" and os.getpgrp() != os.getsid(0):
            os.killpg(os.getpgrp(), signal.SIGTSTP)

    async def action_quit(self) -> None:
        """Leave. While an agent still writes to standard input, which would end it, ask first."""
        from viewer.screens.dialog import LeaveScreen

        spool = self.spool
        if spool is None or spool.ended:
            self.exit()
        elif not isinstance(self.screen, LeaveScreen):
            self.push_screen(LeaveScreen(lambda: spool.ended), self._leave_as)

    def _leave_as(self, answer: str | None) -> None:
        """Act on the answer to the question that quitting asks."""
        if answer == "save":
            self.save_stream()
        elif answer is not None:
            self.drain = answer == "drain"
            self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """List what the command palette offers besides the screen's own actions."""
        from viewer.screens.transcript import TranscriptScreen

        if isinstance(screen, TranscriptScreen):
            for agent in screen.subagents.uncalled():
                title = f"Open {agent.name or agent.id}"
                yield SystemCommand(title, agent.description or "a subagent", partial(screen.subagents.open, agent))
        yield SystemCommand("Theme", "choose other colours, for this time", self.action_change_theme)
        yield SystemCommand("Screenshot", "write the screen as an SVG picture", self.action_screenshot)
        yield SystemCommand("Quit", "leave turnlog", self.action_quit)

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Ask where to, then write the screen as it was as an SVG picture."""
        self.write_file("Save the screen as", filename or "turnlog.svg", self.export_screenshot().encode(), path or "")

"""The Textual app: it holds the screens together. What the first picture does not need is imported after it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen

from renderers.facts import format_size, plural
from schemas.clean import one_line
from viewer.output import short_path
from viewer.screens.config_keys import Config, ConfigError, config_path, effective
from viewer.screens.state import State
from viewer.screens.themes import ANSI, DARK, LIGHT, DimGrey, fitting_theme

if TYPE_CHECKING:
    from textual.command import Provider

    from schemas.session import Session
    from viewer.follow.pipe import Spool
    from viewer.screens.export_dialog import Order
    from viewer.screens.program import Opening

_TWICE = 3.0
"""Seconds in which ctrl+c must be pressed again to leave."""


def _commands() -> type[Provider]:
    from viewer.screens.command_palette import Commands

    return Commands


class TurnlogApp(App[None]):
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
        self.spool = spool
        """Standard input, where a session comes from it."""
        self.state = state or State()
        """What the screens keep for the next run."""
        self.drain = False
        """Whether standard input is to be read to its end when the screen is gone."""
        self.animation_level = "none"
        self.keymap = config.keymap
        """The person's own keys, by the ids of bindings."""
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

    # -- saying things ---------------------------------------------------------------------------------------------

    def say(self, text: str, *, title: str = "", bad: bool = False, seconds: float | None = None) -> None:
        """A short notice. The text may hold anything: it is never read as markup."""
        severity, seconds = ("error", seconds or 8) if bad else ("information", seconds or 5)
        self.notify(text, title=title, severity=severity, markup=False, timeout=seconds)

    def notify(self, message: str, *, markup: bool = False, **options: Any) -> None:
        """A notice: in a dialog where it has room for that, else at that edge of the screen from which the cursor is
        farther, since it may speak of its line.
        """
        if (say := getattr(self.screen, "say", None)) is not None:
            title = options.get("title")
            say(f"{title}: {message}" if title else message)
            return
        rows = (getattr(widget, "cursor_row", None) for widget in self.screen.query("TranscriptView, RowList"))
        low = any(row is not None and 2 * row > self.size.height for row in rows)
        for rack in self.screen.query("ToastRack"):
            rack.set_class(low, "-top")
        super().notify(message, markup=False, **options)

    def action_command_palette(self) -> None:
        """Show all commands."""
        from viewer.screens.command_palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    # -- screens ---------------------------------------------------------------------------------------------------

    def open_session(self, path: Path, **how: Unpack[Opening]) -> bool:
        """Open a transcript above what is shown; return whether it could be."""
        from schemas.opening import OpenError
        from viewer.screens.transcript import TranscriptScreen

        try:
            self.push_screen(TranscriptScreen.of_file(path, self.state, **how))
        except (OpenError, OSError) as error:
            self.say(one_line(str(error), 400), title="Cannot open", bad=True)
            return False
        return True

    def write_file(self, title: str, name: str, data: bytes, given: str = "", note: str = "") -> None:
        """Ask where to, with a note, then write something as it is."""

        def write(path: Path) -> None:
            self._write(path, [data], "Written", lambda: format_size(len(data)))

        self._ask_where(title, name, write, given, note)

    def _write(self, path: Path, chunks: Iterable[bytes], title: str, more: Callable[[], str]) -> None:
        """Write a new file, in whichever thread this is, and say where it lies, or why not. `more` is said of it."""
        from schemas.opening import OpenError
        from viewer.exporting import write_file
        from viewer.output import CallError

        try:
            write_file(path, chunks, force=False)
        except (OpenError, OSError, CallError) as error:
            self.call_later(self.say, one_line(str(error), 400), title="Not written", bad=True)
        else:
            self.call_later(self.say, f"{short_path(path)}\n{more()}", title=title)

    def action_help(self) -> None:
        """Show the keys that act now."""
        from viewer.widgets.chrome import acting

        self.show_help(acting(self.screen)[1])

    def show_help(self, table: str) -> None:
        """Show the keys of a screen."""
        from viewer.screens.help import HelpScreen

        self.push_screen(HelpScreen(table, effective(table, self.keymap)))

    def show_message(self, title: str, body: Content) -> None:
        """Show something longer than a notice."""
        from viewer.screens.dialog import MessageScreen

        self.push_screen(MessageScreen(title, body))

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
        from viewer.screens.help import LeaveScreen

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
                yield SystemCommand(title, agent.description or "a subagent", partial(screen.open_subagent, agent))
        yield SystemCommand("Theme", "choose other colours, for this time", self.action_change_theme)
        yield SystemCommand("Screenshot", "write the screen as an SVG picture", self.action_screenshot)
        yield SystemCommand("Quit", "leave turnlog", self.action_quit)

    # -- save, export and resume -----------------------------------------------------------------------------------

    @work(thread=True, exclusive=True, group="read")
    def read(self, path: Path, then: Callable[[Session], None]) -> None:
        """Read a whole session, which may take a while, then go on in the app's own thread."""
        from schemas.opening import OpenError, read_session

        try:
            session = read_session(path)
        except (OpenError, OSError) as error:
            self.call_from_thread(self.say, one_line(str(error), 400), title="Cannot open", bad=True)
            return
        self.call_from_thread(then, session)

    def export_session(self, session: Session, block: int | None = None) -> None:
        """Ask what of the session to write and where to, say where it lies and how many secrets were replaced. `block`
        is the message one is at.
        """
        from renderers.places import exchange_names, place_of
        from viewer.screens.export_dialog import ExportScreen

        places: dict[str, str] = {}
        if block is not None and block < len(session.messages):
            names = exchange_names(session)
            name = names[session.messages.exchange[block]]
            message = place_of(session, block, names)
            places = {"block": message if "." in message else f"{message}.1", "exchange": f"#{name}"}
            places["range"] = f"#{name}-{names[-1]}"

        def take(order: Order | None) -> None:
            if order is not None:
                self._write_export(session, order)

        self.push_screen(ExportScreen(session, places), take)

    def _ask_where(
        self, title: str, name: str, write: Callable[[Path], object], given: str = "", note: str = ""
    ) -> None:
        """Ask for a path until it is free, then write there. `name` is the file's name where a folder is given."""
        from viewer.screens.dialog import PathPrompt

        def take(answer: str | None) -> None:
            if not answer:
                return
            path = Path(answer).expanduser()
            if path.is_dir():
                path /= name
            if os.path.lexists(path):
                self._ask_where(title, name, write, answer, f"{short_path(path)} exists already")
            else:
                write(path)

        self.push_screen(PathPrompt(title, given or name, note), take)

    @work(thread=True, group="export")
    def _write_export(self, session: Session, order: Order) -> None:
        """Write in a thread. The session on screen may grow meanwhile, so its file is read once more."""
        from renderers.places import find_part
        from renderers.redact import Redactor
        from schemas.opening import read_session
        from viewer.commands.export import document

        redactor = Redactor()

        def chunks() -> Iterator[bytes]:
            with closing(read_session(session.path)) as fresh:
                part = find_part(fresh, order.place) if order.place else None
                yield from document(fresh, order.form, order.include, redactor, part)

        self._write(
            order.path,
            chunks(),
            "Exported",
            lambda: f"{plural(redactor.count, 'secret')} replaced" if redactor.count else "no secrets found in it",
        )

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Ask where to, then write the screen as it was as an SVG picture."""
        self.write_file("Save the screen as", filename or "turnlog.svg", self.export_screenshot().encode(), path or "")

    def save_stream(self, session: Session | None = None) -> None:
        """Ask where to, then write what came on standard input so far, as it came."""
        if self.spool is None:
            self.say(
                f"This session is a file already:\n{short_path(session.path)}" if session else "No stream is read."
            )
            return
        name = f"stream-{time.strftime('%Y-%m-%d-%H%M%S')}.jsonl"
        self._ask_where("Save what came on standard input", name, partial(self._write_stream, self.spool))

    @work(thread=True, group="export")
    def _write_stream(self, spool: Spool, path: Path) -> None:
        size = spool.size
        more = "" if spool.ended else "\nThe agent is still writing: this is what came so far."
        self._write(path, spool.received(), "Saved", lambda: f"{format_size(size)}{more}")

    def resume_session(self, session: Session) -> None:
        """Show and copy the command that lets the agent go on with a session."""
        from renderers.names import shell_line
        from schemas.providers import provider_of
        from viewer.sessions.discover import environment

        provider = provider_of(session.provider)
        arguments = provider.resume_command(session) if provider else None
        home = provider.resume_home(session.path, environment()) if provider else None
        # A root that is no whole path is only a name: Cursor's transcripts tell no more of theirs.
        root = session.workspace_root if os.path.isabs(session.workspace_root or "") else None
        line, reason = shell_line(arguments or [], root, home)
        if line is None:
            self.say(reason, title="Cannot be resumed", bad=True)
            return
        from viewer.transcript.clipboard import Copy, put_on_clipboard

        said = put_on_clipboard(self, Copy(line, line, "the command", 0), "")
        parts: list[tuple[str, str]] = [(line, "bold"), (f"\n\n{said}", "$text-muted")]
        if root and not os.path.isdir(root):
            parts.append((f"\n{short_path(root)} is not there any more.", "$warning"))
        self.show_message("Resume", Content.assemble(*parts))

"""The Textual app: it holds the screens together. What the first picture does not need is imported after it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen

from schemas.clean import one_line
from viewer.bindings import Config, ConfigError, config_path, effective, read_config
from viewer.themes import DARK, LIGHT, fitting_theme

if TYPE_CHECKING:
    from textual.command import Provider

    from schemas.session import Session
    from viewer.library import Library


def _commands() -> type[Provider]:
    from viewer.screens.palette import Commands

    return Commands


class TurnlogApp(App[None]):
    """The screens of turnlog, on one stack: the list (if there is one), transcripts above it, dialogs above those."""

    CSS_PATH = "app.tcss"
    TITLE = "turnlog"
    COMMANDS = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", show=False, priority=True),
        Binding("ctrl+c", "copy_or_quit", show=False, system=True),
    ]

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        config = config or Config()
        self.animation_level = "none"
        self.keymap = config.keymap
        """The person's own keys, by the ids of bindings."""
        self.set_keymap(config.keymap)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        if config.theme is not None and config.theme not in self.available_themes:
            names = ", ".join(sorted(self.available_themes))
            raise ConfigError(f"{config_path()}: there is no theme {one_line(config.theme)!r}; there are {names}")
        self.theme = config.theme or fitting_theme(os.environ)
        self._first: Screen[None] | None = None

    def start_with(self, screen: Screen[None]) -> None:
        """The screen to begin with; leaving it leaves the program."""
        self._first = screen

    def get_default_screen(self) -> Screen[None]:
        """The first screen is the stack's bottom, so that no empty one is drawn before it."""
        return self._first or super().get_default_screen()

    def on_mount(self) -> None:
        """Be ready for a terminal that goes away, and keep the garbage collector from causing pauses."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and os.name == "posix":
                # Leaving in order gives the terminal back: no mouse reports, its own screen.
                loop.add_signal_handler(getattr(signal, name), self._leave)
        self.call_after_refresh(self._settle)

    def _leave(self) -> None:
        self.exit(return_code=1)

    def _settle(self) -> None:
        """What is loaded by now stays: collecting it again and again is what makes scrolling stutter."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)

    # -- saying things ---------------------------------------------------------------------------------------------

    def say(self, text: str, *, title: str = "", bad: bool = False) -> None:
        """A short notice. The text may hold anything: it is never read as markup."""
        self.notify(
            text, title=title, severity="error" if bad else "information", markup=False, timeout=8 if bad else 5
        )

    # -- screens ---------------------------------------------------------------------------------------------------

    def open_session(self, path: Path, *, follow: bool = False) -> None:
        """Open a transcript above what is shown."""
        from schemas.opening import OpenError
        from viewer.follow import Follower
        from viewer.screens.transcript import TranscriptScreen

        try:
            follower = Follower(path, from_end=follow)
        except (OpenError, OSError) as error:
            self.say(one_line(str(error), 400), title="Cannot open", bad=True)
            return
        self.push_screen(TranscriptScreen(follower, follow=follow))

    def show_help(self, table: str) -> None:
        """Show the keys of a screen."""
        from viewer.screens.help import HelpScreen

        self.push_screen(HelpScreen(table, effective(table, self.keymap)))

    def show_message(self, title: str, body: Content) -> None:
        """Show something longer than a notice."""
        from viewer.screens.message import MessageScreen

        self.push_screen(MessageScreen(title, body))

    def action_copy_or_quit(self) -> None:
        """Ctrl+c copies what is selected; with nothing selected it leaves, as everywhere in a terminal."""
        text = self.screen.get_selected_text()
        if text:
            self.copy_to_clipboard(text)
            self.screen.clear_selection()
        else:
            self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the command palette offers besides the screen's own actions."""
        yield SystemCommand("Theme", "choose other colours, for this time", self.action_change_theme)
        yield SystemCommand("Screenshot", "write the screen as an SVG picture", self.action_screenshot)
        yield SystemCommand("Quit", "leave turnlog", self.action_quit)

    # -- export and resume -----------------------------------------------------------------------------------------

    def export_path(self, path: Path) -> None:
        """Ask where to, then write the session in a file as Markdown."""
        self._with_session(path, "export")

    def resume_path(self, path: Path) -> None:
        """Show and copy the command that resumes the session in a file."""
        self._with_session(path, "resume")

    @work(thread=True, exclusive=True, group="read")
    def _with_session(self, path: Path, what: str) -> None:
        """Read a whole session, which may take a while, then go on in the app's own thread."""
        from schemas.opening import OpenError, read_session

        try:
            session = read_session(path)
        except (OpenError, OSError) as error:
            self.call_from_thread(self.say, one_line(str(error), 400), title="Cannot open", bad=True)
            return
        action = self.action_export_session if what == "export" else self.action_resume_session
        self.call_from_thread(action, session)

    def action_export_session(self, session: Session) -> None:
        """Ask where to, write the session as Markdown, say where it lies and how many secrets were replaced."""
        from renderers.names import export_name

        from viewer.screens.message import PathPrompt

        def write(answer: str | None) -> None:
            if answer:
                self._write_export(session, Path(answer).expanduser())

        self.push_screen(PathPrompt("Export as Markdown", export_name(session, ".md")), write)

    @work(thread=True, group="export")
    def _write_export(self, session: Session, path: Path) -> None:
        raise NotImplementedError

    def action_resume_session(self, session: Session) -> None:
        """Show and copy the command that lets the agent go on with a session."""
        raise NotImplementedError


def run_browser(library: Library, start_directory: Path) -> None:
    """Browse sessions until the person leaves. Raises ConfigError for a config file that cannot be meant."""
    from viewer.screens.browser import BrowserScreen

    app = TurnlogApp(read_config(config_path()))
    app.start_with(BrowserScreen(library, start_directory))
    _run(app)


def run_transcript(path: Path, follow: bool = False) -> None:
    """Show one session until the person leaves. Raises OpenError for what is no session, and ConfigError."""
    from viewer.follow import Follower
    from viewer.screens.transcript import TranscriptScreen

    app = TurnlogApp(read_config(config_path()))
    app.start_with(TranscriptScreen(Follower(path, from_end=follow), follow=follow))
    _run(app)


def _run(app: TurnlogApp) -> None:
    app.run()
    if app.return_code:
        raise SystemExit(app.return_code)

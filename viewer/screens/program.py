"""The program around a screen: what its screens may ask of it, and work that neither they nor its end wait for."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from textual import work
from textual.app import App
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from renderers.facts import format_size, plural
from schemas.clean import one_line
from viewer.output import short_path

if TYPE_CHECKING:
    from schemas.session import Session
    from viewer.follow.follower import Within
    from viewer.follow.pipe import Spool
    from viewer.screens.export_dialog import Order
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


class Program(App[None]):
    """The program as its screens know it: it says something, opens a session, writes one or other things to a file."""

    keymap: Mapping[str, str]
    """The person's own keys, by the ids of bindings."""
    state: State
    """What the screens keep for the next run."""
    spool: Spool | None
    """Standard input, where a session comes from it."""

    def open_session(self, source: Path | Within, **how: Unpack[Opening]) -> bool:
        """Open the transcript of a session in a file, or within its parent's, above what is shown; return whether it
        could be.
        """
        raise NotImplementedError

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

    # -- files -----------------------------------------------------------------------------------------------------

    def write_file(self, title: str, name: str, data: bytes, given: str = "", note: str = "") -> None:
        """Ask where to, with a note, then write something as it is."""
        size = format_size(len(data))
        self._ask_where(title, name, lambda path: self._write(path, [data], "Written", lambda: size), given, note)

    @work(thread=True, group="export")
    def _write(self, path: Path, chunks: Iterable[bytes], title: str, more: Callable[[], str]) -> None:
        """Write a new file in a thread, and say where it lies, or why not. `more` is said of it."""
        from schemas.opening import OpenError
        from viewer.exporting import write_file
        from viewer.output import CallError

        try:
            write_file(path, chunks, force=False)
        except (OpenError, OSError, CallError) as error:
            self.call_later(self.say, one_line(str(error), 400), title="Not written", bad=True)
        else:
            self.call_later(self.say, f"{short_path(path)}\n{more()}", title=title)

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
        from renderers.places import exchange_names, find_part, place_of
        from renderers.redact import Redactor
        from viewer.screens.export_dialog import ExportScreen

        places: dict[str, str] = {}
        if block is not None and block < len(session.messages):
            names = exchange_names(session)
            name = names[session.messages.exchange[block]]
            message = place_of(session, block, names)
            places = {"block": message if "." in message else f"{message}.1", "exchange": f"#{name}"}
            places["range"] = f"#{name}-{names[-1]}"

        redactor = Redactor()

        def chunks(order: Order) -> Iterator[bytes]:
            from schemas.opening import read_session
            from viewer.commands.export import document

            # The session on screen may grow meanwhile, so its file is read once more.
            with closing(read_session(session.path)) as fresh:
                part = find_part(fresh, order.place) if order.place else None
                yield from document(fresh, order.form, order.include, redactor, part)

        def replaced() -> str:
            return f"{plural(redactor.count, 'secret')} replaced" if redactor.count else "no secrets found in it"

        def take(order: Order | None) -> None:
            if order is not None:
                self._write(order.path, chunks(order), "Exported", replaced)

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

    def save_stream(self, session: Session | None = None) -> None:
        """Ask where to, then write what came on standard input so far, as it came."""
        if (spool := self.spool) is None:
            known = f"This session is a file already:\n{short_path(session.path)}" if session else "No stream is read."
            self.say(known)
            return

        def write(path: Path) -> None:
            more = "" if spool.ended else "\nThe agent is still writing: this is what came so far."
            said = f"{format_size(spool.size)}{more}"
            self._write(path, spool.received(), "Saved", lambda: said)

        self._ask_where("Save what came on standard input", f"stream-{time.strftime('%Y-%m-%d-%H%M%S')}.jsonl", write)

    def resume_session(self, session: Session) -> None:
        """Show and copy the command that lets the agent go on with a session."""
        from renderers.names import shell_line
        from schemas.providers import provider_of
        from viewer.screens.dialog import MessageScreen
        from viewer.sessions.discover import environment
        from viewer.transcript.clipboard import Copy, put_on_clipboard

        provider = provider_of(session.provider)
        arguments = provider.resume_command(session) if provider else None
        home = provider.resume_home(session.path, environment()) if provider else None
        # A root that is no whole path is only a name: Cursor's transcripts tell no more of theirs.
        root = session.workspace_root if os.path.isabs(session.workspace_root or "") else None
        line, reason = shell_line(arguments or [], root, home)
        if line is None:
            self.say(reason, title="Cannot be resumed", bad=True)
            return
        said = put_on_clipboard(self, Copy(line, line, "the command", 0), "")
        parts: list[tuple[str, str]] = [(line, "bold"), (f"\n\n{said}", "$text-muted")]
        if root and not os.path.isdir(root):
            parts.append((f"\n{short_path(root)} is not there any more.", "$warning"))
        self.push_screen(MessageScreen("Resume", Content.assemble(*parts)))


def program(widget: Widget) -> Program:
    """The program that a widget is in."""
    return cast("Program", widget.app)


async def aside(work: Callable[[], object]) -> None:
    """Wait for `work`, done in a thread, and raise what it raised. `asyncio.to_thread` would make quitting wait too."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failed: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the one who waits is to have it, whatever it is
            failed = error
        with suppress(RuntimeError):  # the loop is closed: the program ended meanwhile
            loop.call_soon_threadsafe(tell, failed)

    Thread(target=run, name="aside", daemon=True).start()
    await done


async def back(screen: Screen[Any]) -> None:
    """Go back to the screen below; leave where there is none."""
    if len(screen.app.screen_stack) > 1:
        screen.dismiss()
    else:
        await screen.run_action("app.quit")  # which asks first where that would end an agent

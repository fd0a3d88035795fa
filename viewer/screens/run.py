"""Runs the app from its first screen to its end. Screens are imported by whoever begins with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.screens.app import TurnlogApp
from viewer.screens.config_keys import config_path, read_config
from viewer.screens.state import State, state_path

if TYPE_CHECKING:
    from viewer.edits.trace import Origin, TracedLine
    from viewer.follow.pipe import Spool
    from viewer.index.library import Library
    from viewer.index.summary import Summary


def run_browser(library: Library, start_directory: Path, known: list[Summary] | None = None, word: str = "") -> None:
    """Browse sessions until the person leaves; `known` is what `library.first` gave, if it was asked already; `word`
    is BrowserScreen's.

    Raises ConfigError for a config file that cannot be meant.
    """
    from viewer.screens.browser import BrowserScreen

    app = TurnlogApp(read_config(config_path()), state=State(None if word else state_path()))
    app.start_with(BrowserScreen(library, start_directory, known=known, word=word, kept=app.state.list))
    _run(app)


def run_transcript(path: Path, follow: bool = False, *, loose: bool = False, place: str = "") -> None:
    """Show one session until the person leaves; `follow`, `loose` and `place` are TranscriptScreen's.

    Raises OpenError for what is no session, and ConfigError.
    """
    from schemas.opening import OpenError
    from viewer.follow.follower import Follower
    from viewer.screens.transcript import TranscriptScreen

    app = TurnlogApp(read_config(config_path()), state=State(state_path()))
    follower = Follower(path, from_end=follow and not place, wait=follow)
    screen = TranscriptScreen(follower, follow, loose, place=place, kept=app.state.of_session(path))
    if not follow and (reason := screen.shows_nothing()):
        raise OpenError(path, reason)
    app.start_with(screen)
    _run(app)


def run_trace(name: str, lines: list[TracedLine], addresses: dict[Origin, str]) -> None:
    """Show the traced lines of a file until the person leaves. Raises ConfigError."""
    from viewer.screens.trace import TraceScreen

    app = TurnlogApp(read_config(config_path()), state=State(state_path()))
    app.start_with(TraceScreen(name, lines, addresses))
    _run(app)


def run_watch(*, bell: bool = False, notify: bool = False, command: str = "") -> None:
    """Show the sessions that run until the person leaves; the options are those of `Notices`.

    Raises CallError for a command that cannot be run, and ConfigError.
    """
    from viewer.screens.watch import WatchScreen
    from viewer.watch.tiles import Watch

    app = TurnlogApp(read_config(config_path()), state=State(state_path()))
    app.start_with(WatchScreen(Watch(), bell=bell, notify=notify, command=command))
    _run(app)


def run_stream(spool: Spool, follow: bool | None = None) -> bool:
    """Show what comes on standard input until the person leaves; returns whether the rest is to be read all the same.

    What an agent prints while it works is followed, a session file is not, unless `follow` says which.
    Raises OpenError for what is no session, and ConfigError.
    """
    from viewer.follow.pipe import StreamFollower
    from viewer.screens.transcript import TranscriptScreen

    app = TurnlogApp(read_config(config_path()), spool)
    follower = StreamFollower(spool)
    app.start_with(TranscriptScreen(follower, follower.is_stream if follow is None else follow, stream=follower))
    _run(app)
    return app.drain


def _run(app: TurnlogApp) -> None:
    if sys.platform == "win32":
        app.run()
    else:
        from viewer.screens.hangup import Guard

        with Guard(app.leave):
            app.run()
    app.state.save()
    if app.return_code:
        raise SystemExit(app.return_code)

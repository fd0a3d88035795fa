"""Runs the app from its first screen to its end. Screens are imported by whoever begins with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from textual.screen import Screen

from viewer.screens.app import TurnlogApp
from viewer.screens.config_keys import config_path, read_config
from viewer.screens.state import State, state_path

if TYPE_CHECKING:
    from viewer.follow.pipe import Spool
    from viewer.index.library import Library
    from viewer.index.summary import Summary
    from viewer.screens.program import Opening


def run_browser(library: Library, start_directory: Path, known: list[Summary] | None = None, word: str = "") -> None:
    """Browse sessions until the person leaves; `known` is what `library.first` gave, if it was asked already; `word`
    is BrowserScreen's.

    Raises ConfigError for a config file that cannot be meant.
    """
    from viewer.screens.browser import BrowserScreen

    app = TurnlogApp(read_config(config_path()), state=State(None if word else state_path()))
    _run(app, BrowserScreen(library, start_directory, known=known, word=word, kept=app.state.list))


def run_transcript(path: Path, **how: Unpack[Opening]) -> None:
    """Show one session until the person leaves.

    Raises OpenError for what is no session, and ConfigError.
    """
    from schemas.opening import OpenError
    from viewer.screens.transcript import TranscriptScreen

    app = _app()
    screen = TranscriptScreen.of(path, app.state, **how)
    if not how.get("follow") and (reason := screen.shows_nothing()):
        raise OpenError(path, reason)
    _run(app, screen)


def run_screen(screen: Screen[None]) -> None:
    """Show a screen until the person leaves. Raises ConfigError."""
    _run(_app(), screen)


def run_stream(spool: Spool, follow: bool | None = None) -> bool:
    """Show what comes on standard input until the person leaves; returns whether the rest is to be read all the same.

    What an agent prints while it works is followed, a session file is not, unless `follow` says which.
    Raises OpenError for what is no session, and ConfigError.
    """
    from viewer.follow.pipe import StreamFollower
    from viewer.screens.transcript import TranscriptScreen

    app, follower = _app(spool), StreamFollower(spool)
    _run(app, TranscriptScreen(follower, stream=follower, follow=follower.is_stream if follow is None else follow))
    return app.drain


def _app(spool: Spool | None = None) -> TurnlogApp:
    return TurnlogApp(read_config(config_path()), spool, State(state_path()))


def _run(app: TurnlogApp, screen: Screen[None]) -> None:
    app.start_with(screen)
    if sys.platform == "win32":
        app.run()
    else:
        from viewer.screens.hangup import Guard

        with Guard(app.leave):
            app.run()
    app.state.save()
    if app.return_code:
        raise SystemExit(app.return_code)

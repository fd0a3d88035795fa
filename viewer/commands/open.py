"""`turnlog` and `turnlog TARGET`: the screens; without a terminal the session as plain text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viewer.output import DONE

if TYPE_CHECKING:
    from viewer.summary import Summary


@click.command("open")
@click.argument("target", required=False)
@click.option("-f", "--follow", is_flag=True, help="Begin at the end and follow it as it grows.")
def command(target: str | None = None, follow: bool = False) -> int:
    """Open a session: TARGET is a path, an id or the beginning of one, `latest`, or `-` (standard input)."""
    terminal = sys.stdout.isatty()
    if target is None:
        _browse() if terminal else _print_newest()
        return DONE
    from viewer.targets import Targets

    path = Targets().resolve(target).path
    if terminal:
        _check(path)
        from viewer.app import run_transcript

        run_transcript(path, follow)
    else:
        from viewer.printing import print_text

        print_text(path)
    return DONE


def _check(path: Path) -> None:
    """Raises OpenError for what is no session, before a screen covers the message."""
    from schemas.opening import head_of, recognise

    recognise(head_of(path))


def _browse() -> None:
    """The sessions of this machine; the demo's where there are none."""
    import gc
    from threading import Thread

    from viewer.library import Library

    # What start-up makes is there to stay, the collector would find nothing; the app turns it on again.
    gc.disable()
    here, library = Path.cwd(), Library()
    known: list[Summary] = []
    # SQLite reads while Textual is imported.
    reading = Thread(target=lambda: known.extend(library.first(here)))
    reading.start()
    from viewer.app import run_browser
    from viewer.discover import discover

    reading.join()
    # Looking through the folders takes longer than drawing: where the index knows a session it can wait.
    if known or discover().files:
        run_browser(library, here, known)
    else:
        _demo()


def _print_newest() -> None:
    """The newest session that has something to read, else the demo's."""
    from schemas.opening import OpenError
    from viewer.printing import print_text
    from viewer.targets import Targets

    for file in Targets().found.files:
        if file.size:
            try:
                _check(file.path)
            except OpenError:
                continue  # no session: `turnlog list` says what is wrong with it
            print_text(file.path)
            return
    _demo()


def _demo() -> None:
    from viewer.commands.demo import command as demo

    click.get_current_context().invoke(demo, live=False)

"""The start of the program.

`turnlog` and `turnlog FILE` on a terminal are what people wait for: they open a screen without the command line's
machinery, since click takes a tenth of a Textual app's start and would have nothing to parse. Everything else goes to
viewer/cli.py.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from viewer.output import DONE, ending, warn

if TYPE_CHECKING:
    from viewer.follow.pipe import Spool
    from viewer.index.summary import Summary


def main() -> NoReturn:
    """The program's entry point."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with the stream closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="replace")
    # What a key changed is painted a frame later: 17 ms as Textual has it, a third of what a key may take.
    os.environ.setdefault("TEXTUAL_FPS", "240")
    code = _start(sys.argv[1:])
    gc.freeze()  # else Python would look for garbage in all there is, only to end
    sys.exit(code)


def _start(arguments: list[str]) -> int:
    if sys.stdout.isatty():
        if not arguments:
            return ending(browse)
        # A command is a command also where a file has its name; none has a dot or a slash.
        if len(arguments) == 1 and set(arguments[0]) & {".", os.sep} and os.path.isfile(arguments[0]):
            return ending(lambda: open_screen(Path(arguments[0])))
    gc.set_threshold(50_000)  # modules, and most of what a command makes, stay to its end
    from viewer.cleanup import end_in_order
    from viewer.cli import run

    end_in_order()

    return run(arguments)


def draw_where_people_look() -> None:
    """Textual draws on standard error; where that is no terminal (`2>log`) the screen belongs on standard output."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        vars(sys)["__stderr__"] = sys.__stdout__  # typed as final, but what Textual looks at


def open_screen(path: Path, *, follow: bool = False, place: str = "") -> None:
    """The transcript of one session, at `place` if there is one (renderers/places.py). Raises OpenError for what is no
    session, before a screen covers the message.
    """
    gc.disable()  # what start-up makes is there to stay; the app turns the collector on again
    from schemas.opening import NotYet, head_of, recognise

    try:
        recognise(head_of(path))
    except NotYet:
        if not follow:
            raise  # followed it is waited for
    draw_where_people_look()
    from viewer.screens.run import run_transcript

    run_transcript(path, follow=follow, place=place)


def open_stream(spool: Spool, *, follow: bool | None = None) -> int:
    """The transcript of what comes on standard input, for which `take_terminal` found a terminal.

    Raises OpenError for what is no session.
    """
    gc.disable()
    draw_where_people_look()
    from viewer.screens.run import run_stream  # takes a while, and the agent that was just started too

    spool.wait_for_session()
    drain = run_stream(spool, follow)
    if spool.ended:
        return DONE
    if drain:
        warn("reading on until the agent ends (ctrl+c ends it now)")
        spool.drain()
    else:
        warn("the pipe is closed: the agent ends when it writes next (ctrl+c ends it now)")
    return DONE


def browse() -> None:
    """The sessions of this machine; the demo's where there are none."""
    gc.disable()
    from threading import Thread

    from viewer.index.library import Library

    draw_where_people_look()
    here, library = Path.cwd(), Library(texts=True)
    known: list[Summary] = []
    # SQLite reads while Textual is imported.
    reading = Thread(target=lambda: known.extend(library.first(here)))
    reading.start()
    from viewer.screens.run import run_browser
    from viewer.sessions.discover import is_any

    reading.join()
    # Looking through the folders takes longer than drawing: it can wait where the index knows a session, or one is met.
    if known or is_any():
        run_browser(library, here, known)
    else:
        from viewer.cli import run

        run(["demo"])

"""`turnlog demo`: the bundled example sessions, to try turnlog with no agent at hand."""

from __future__ import annotations

import sys

import click


@click.command()
@click.option("--live", is_flag=True, help="Watch a session being written.")
def command(live: bool) -> None:
    """Browse the bundled example sessions.

    They lie in a temporary directory, which is removed at the end. Without a terminal on standard output the main
    session is printed as plain text.
    """
    from viewer.demo import DIRECTORY, demo_home, demo_library, demo_session

    with demo_home() as env:
        if not sys.stdout.isatty():
            from viewer.commands.show import print_text

            print_text(demo_session(env))
        elif live:
            from viewer.demo.live import LiveWriter
            from viewer.screens.run import run_transcript

            writer = LiveWriter(env.home)
            writer.start()
            try:
                run_transcript(writer.path, follow=True)
            finally:
                writer.stop()
        else:
            from viewer.screens.run import run_browser

            library = demo_library(env)
            library.bring_up_to_date()
            run_browser(library, DIRECTORY, word="demo")

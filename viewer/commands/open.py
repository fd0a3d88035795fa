"""`turnlog` and `turnlog TARGET`: the screens; without a terminal the session as plain text."""

from __future__ import annotations

import sys

import click

from viewer.completion import target as target_completion
from viewer.output import DONE, warn
from viewer.sessions.targets import STDIN, Targets
from viewer.start import browse, open_screen


@click.command("open")
@click.argument("target", required=False, shell_complete=target_completion)
@click.option("-f", "--follow", is_flag=True, help="Begin at the end and follow it as it grows.")
def command(target: str | None = None, follow: bool = False) -> int:
    """Open a session: TARGET is a path, an id or the beginning of one, `latest`, or `-` (standard input).

    TARGET#3 opens it at its third exchange, TARGET#3.2 at the second message in that.
    """
    terminal = sys.stdout.isatty()
    if target is None:
        browse() if terminal else _print_newest()
        return DONE
    if target == STDIN:
        from viewer.commands.tail import standard_input

        return standard_input(everything=True, follow=follow or None)
    found = Targets().resolve(target)
    if terminal:
        open_screen(found.path, follow=follow, place=found.place)
    else:
        from viewer.commands.show import print_text

        print_text(found.path, found.place)
    return DONE


def _print_newest() -> None:
    """The newest session that has something to read, else the demo's."""
    from viewer.commands.show import print_text

    if newest := Targets().latest():
        print_text(newest.path)
        return
    from viewer.commands.demo import command as demo

    warn("no sessions on this machine; this is the bundled demo")
    click.get_current_context().invoke(demo, live=False)

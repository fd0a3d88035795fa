"""`turnlog events`: what sessions used, as Normalized Events v1."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click

from viewer.output import DONE, NO, progress, short_path, warn, write_bytes


@click.command("events")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("-o", "destination", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def command(targets: tuple[str, ...], destination: str | None, force: bool) -> int:
    """Write what each model call used as Normalized Events v1: of the TARGETs, or of every session on this machine.

    One event a response, subagents' included, in UTC, with input apart from the cache. A response that lies in several
    files, as forks and resumed sessions copy them, is written once.
    """
    from viewer.eventing import EventWriter
    from viewer.exporting import check_free, write_file
    from viewer.sessions import chosen

    path = None if destination in (None, "-") else Path(str(destination))
    if path is not None:
        check_free(path, force=force)
    files = chosen(targets)
    if not targets:
        files.reverse()  # in the order of time; and a response counts where it was given, not in a fork
    with progress("reading sessions") as bar:
        writer = EventWriter(bar)
        lines = writer.lines(files, strict=bool(targets))
        first = next(lines, None)
        if path is not None and first is not None:
            write_file(path, chain([first], lines), force=force)
        elif first is not None:
            for line in chain([first], lines):
                write_bytes(line)
    writer.say()
    if first is None:
        warn("no token figures, so no events")
        return NO
    if path is not None:
        warn(f"wrote {short_path(path)}")
    return DONE

"""`turnlog events`: what sessions used, as Normalized Events v1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

from viewer.completion import target as target_completion
from viewer.exporting import check_not_read, place_of, write_file
from viewer.output import DONE, NO, Progress, short_path, warn, write_bytes
from viewer.sessions.selection import chosen, in_order_made
from viewer.usage.events import EventWriter


@click.command("events")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=target_completion)
@click.option("-o", "destination", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file, but never one that is read.")
def command(targets: tuple[str, ...], destination: str | None, force: bool) -> int:
    """Write what each model call used as Normalized Events v1: of the TARGETs, or of every session on this machine.

    TARGET#3 is its third exchange with the subagents that were started there, TARGET#3-5 the third to the fifth.

    One event a response, subagents' included, in UTC, with input apart from the cache. A response that lies in several
    places, as subagents, forks and resumed sessions copy them, is written once; what a fork inherited from a session
    that is not among them is the fork's (of Codex only where turns have UUIDs or responses ids).
    """
    path = place_of(destination, force=force)
    files = chosen(targets)
    if path is not None:
        check_not_read(path, (target.path for target in files))
    with Progress("reading sessions") as bar:
        files, ledger = in_order_made(files, bar, strict=bool(targets))
        writer = EventWriter(bar, ledger)
        lines = chain(writer.lines(files, strict=bool(targets)), writer.inherited_lines())
        first = next(lines, None)
        if path is not None and first is not None:
            write_file(path, _unless_read(path, chain([first], lines), writer), force=force)
        elif first is not None:
            for line in chain([first], lines):
                write_bytes(line)
    writer.say()
    if first is None:
        writer.say_nothing()
        return NO
    if path is not None:
        warn(f"wrote {short_path(path)}")
    return DONE


def _unless_read(path: Path, lines: Iterator[bytes], writer: EventWriter) -> Iterator[bytes]:
    """The lines; raises CallError behind the last one where it turned out that `path` is one of the files they are
    from, a subagent's for instance. What was written until then lies beside it and goes.
    """
    yield from lines
    check_not_read(path, writer.read)

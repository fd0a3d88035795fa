"""`turnlog show`: a session as plain text for people, or as SessionData for programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from renderers.document import Document
from renderers.facts import some
from renderers.options import Include
from renderers.plain import render
from schemas.interchange.session_data_write import to_session_data
from schemas.opening import read_subagent
from schemas.records import Unreadable
from schemas.session import Session
from viewer.completion import target as target_completion
from viewer.output import DONE, CallError, path_text, warn, write_bytes
from viewer.sessions.selection import opened, part_at
from viewer.sessions.targets import Targets

_COLOR = "Colours: on a terminal (auto, the default), always, or never."
_NAMED = 5
"""Unreadable lines that the warning names."""


@click.command("show", epilog="With a pager: turnlog show latest --color always | less -R")
@click.argument("target", metavar="TARGET", shell_complete=target_completion)
@click.option("--json", "as_json", is_flag=True, help="Print SessionData 1.0.")
@click.option("--prompts", is_flag=True, help="Only what the person typed.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help=_COLOR)
@click.option("--no-output", is_flag=True, help="Leave out what tools and commands printed; how much is said.")
def command(target: str, as_json: bool, prompts: bool, color: str, no_output: bool) -> int:
    """Print a session as plain text, or with --json as SessionData 1.0.

    TARGET is a path, a session id or the beginning of one, `latest`, or - for standard input. TARGET#3 is its third
    exchange, TARGET#3-5 the third to the fifth, TARGET#3.2 the second message in the third.
    """
    if as_json and (prompts or no_output):
        raise CallError("--json: a JSON document holds the whole session")
    found = Targets().resolve(target)
    if as_json and found.place:
        raise CallError(f"{found.given}: a JSON document holds the whole session, and no place in it")
    if as_json:
        _print_json(found.path)
    else:
        include = Include(output=not no_output, prompts=prompts, redact=False)
        auto = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print_text(found.path, found.place, include, colour=color == "always" or (color == "auto" and auto))
    return DONE


def print_text(path: Path, place: str = "", include: Include | None = None, *, colour: bool = False) -> None:
    """Print a session, or what is at a place in it, with everything unfolded. Like the screen it replaces nothing:
    redacting is the export's part.

    Raises OpenError for what is no session, CallError for no place.
    """
    from viewer.commands.export import encoded

    with opened(path) as session:
        part = part_at(session, place)
        document = Document(session, include or Include(redact=False), subagents=read_subagent, part=part)
        for chunk in encoded(render(document, colour=colour)):
            write_bytes(chunk)
        if part is None:
            _say_unreadable(session, path)


def _print_json(path: Path) -> None:
    """The document, a message at a time: a session need not fit into memory."""
    with opened(path) as session:
        sys.stdout.flush()
        for piece in to_session_data(session):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        _say_unreadable(session, path)


def _say_unreadable(session: Session, path: Path) -> None:
    if notice := unreadable_notice(session):
        warn(f"{path_text(path)}: {notice}")


def unreadable_notice(session: Session) -> str:
    """Name the lines that could not be read, in one line; empty if all could. Those of other files are named with them:
    of what lies beside the session's, or of the session that a document was exported from.
    """
    places: dict[str, list[Unreadable]] = {}
    for number, bad in enumerate(session.unreadable):
        places.setdefault(session.whose_line(number), []).append(bad)
    return "; ".join(_notice(bad, whose) for whose, bad in places.items())


def _notice(bad: list[Unreadable], whose: str) -> str:
    if len(bad) == 1:
        return f"line {bad[0].line}{whose} could not be read: {bad[0].reason}"
    return f"{len(bad)} lines{whose} could not be read: {some([str(one.line) for one in bad], _NAMED)}"

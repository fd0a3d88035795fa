"""`turnlog why`: from which prompt, exchange and edit a line of a file came, beside what Git says of it."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from renderers.facts import iso_time, local_time, plural
from schemas.clean import one_line
from schemas.paths import session_json
from schemas.provider import Problem
from viewer.edits.history import GitError, repository_of
from viewer.edits.trace import Origin, TracedLine, trace
from viewer.edits.words import UNTRACED, git_words, origin_words
from viewer.index.library import Library
from viewer.output import DONE, NO, CallError, Progress, console, path_text, say, warn_of, write_json
from viewer.sessions.ids import ids_of, short_ids
from viewer.start import draw_where_people_look

_PLACE = re.compile(r"(.+):(\d{1,9})(-\d+)?", re.DOTALL)


@click.command("why")
@click.argument("place", metavar="FILE[:LINE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(place: str, as_json: bool) -> int:
    """Say from which prompt and edit a line of FILE came, in whichever session; without LINE, of each line.

    On a terminal all lines are on a screen, from which Enter opens the session; else they are printed.

    FILE is in a Git repository. All sessions on this machine that changed it, or that changed it in another working
    tree of the repository, are aligned with its history. A line of which no session is known is untraced, and one
    that may be from several edits names them all.
    """
    file, line = _split(place)
    problems: list[Problem] = []
    try:
        repository = repository_of(file)
        name = file.relative_to(os.path.realpath(repository.root)).as_posix()
        with Progress("reading sessions") as bar:
            library = Library(texts=True)
            lines = trace(repository, name, library, bar, problems)
    except (GitError, ValueError) as error:
        raise CallError(f"{path_text(file)}: {error}") from None
    warn_of([*library.found.problems, *problems])
    if line is not None:
        if not 0 < line <= len(lines):
            raise CallError(f"{path_text(file)}: there is no line {line}; it has {len(lines)}")
        lines = lines[line - 1 : line]
    if as_json:
        made = [_object(path_text(name), one) for one in lines]
        write_json(made if line is None else made[0])
    elif line is not None:
        _print_line(path_text(name), lines[0], _addresses(lines, library))
    elif sys.stdout.isatty():
        draw_where_people_look()
        from viewer.screens.run import run_screen
        from viewer.screens.trace import TraceScreen

        run_screen(TraceScreen(path_text(name), lines, _addresses(lines, library)))
    else:
        _print_file(lines, _addresses(lines, library))
    return DONE if any(one.origins for one in lines) else NO


def _split(place: str) -> tuple[Path, int | None]:
    """The file and the line that were typed. Raises CallError."""
    match = None if os.path.lexists(place) else _PLACE.fullmatch(place)
    path = Path(os.path.realpath(os.path.expanduser(match[1] if match else place)))
    if match and match[3]:
        raise CallError(f"{path_text(place)}: one line is traced, or all of a file")
    if path.is_dir():
        raise CallError(f"{path_text(place)}: a directory; lines of files are traced")
    if not path.is_file():
        raise CallError(f"{path_text(place)}: no such file")
    return path, int(match[2]) if match else None


def state_of(line: TracedLine) -> str:
    """Tell whether a line is `traced` to one edit, may be from `several`, or is `untraced`."""
    return "untraced" if not line.origins else "traced" if len(line.origins) == 1 else "several"


# -- for people ------------------------------------------------------------------------------------------------------


def _print_line(name: str, line: TracedLine, addresses: dict[Origin, str]) -> None:
    screen = console()
    say(screen, (f"{name}:{line.number}", "bold"), f"  {line.text}")
    say(screen, (f"git   {git_words(line.commit)}", "dim"))
    if not line.origins:
        say(screen, UNTRACED)
    elif len(line.origins) > 1:
        say(screen, "one of several edits:")
    for origin in line.origins:
        say(screen, ("you   ", "dim"), (one_line(origin.prompt, 300), "bold"))
        say(screen, (f"edit  {origin_words(origin, addresses[origin])}", "dim"))


def _print_file(lines: list[TracedLine], addresses: dict[Origin, str]) -> None:
    from rich.text import Text

    screen = console()
    names = [", ".join(map(addresses.__getitem__, line.origins)) for line in lines]
    width, digits = max(map(len, names), default=0), len(str(len(lines)))
    for line, name in zip(lines, names, strict=True):
        commit = line.commit.id[:8] if line.commit else ""
        day = local_time(line.commit.authored, date=True)[:10] if line.commit else "uncommitted"
        row: Text = Text.assemble(
            (f"{commit:<8} {day:<11} {name:<{width}} {line.number:>{digits}} ", "dim"), line.text
        )  # fmt: skip
        screen.print(row, soft_wrap=not screen.is_terminal, no_wrap=True, overflow="ellipsis", crop=screen.is_terminal)
    screen.print()
    for origin, count in Counter(origin for line in lines for origin in line.origins).items():
        facts = f"{addresses[origin]}  {origin.provider}  {plural(count, 'line')}  {one_line(origin.prompt, 200)}"
        say(screen, facts)
    untraced = sum(not line.origins for line in lines)
    say(screen, (f"{len(lines) - untraced:,} of {plural(len(lines), 'line')} traced", "dim"))


def _addresses(lines: list[TracedLine], library: Library) -> dict[Origin, str]:
    """The places of the edits, as TARGET takes them."""
    origins = {origin for line in lines for origin in line.origins}
    short = short_ids({origin.id for origin in origins}, ids_of(library.found.files, library))
    return {origin: f"{short[origin.id]}{origin.edit.place}" for origin in origins}


# -- for programs ----------------------------------------------------------------------------------------------------


def _object(name: str, line: TracedLine) -> dict[str, Any]:
    commit = line.commit
    return {
        "file": name,
        "line": line.number,
        "text": line.text,
        "commit": commit
        and {
            "id": commit.id,
            "author": commit.author,
            "authoredAt": iso_time(commit.authored),
            "summary": commit.summary,
        },
        "state": state_of(line),
        "origins": [_origin_object(origin) for origin in line.origins],
    }


def _origin_object(origin: Origin) -> dict[str, Any]:
    edit = origin.edit
    return {
        **session_json(origin.provider, origin.id, origin.path),
        "place": edit.place,
        "exchangeId": origin.exchange_id,
        "messageId": edit.message,
        "subagent": edit.subagent or None,
        "prompt": origin.prompt,
        "verb": edit.verb,
        "time": None if edit.time is None else iso_time(edit.time),
    }

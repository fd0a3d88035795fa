"""`turnlog compare`: two sessions beside each other."""

from __future__ import annotations

import click

from renderers.facts import plural
from schemas.costs.prices import Prices
from viewer.completion import target as target_completion
from viewer.output import DONE, Progress, console, say, table, warn_of, write_json
from viewer.sessions.compare import compare_files
from viewer.sessions.ids import ids_of, short_ids
from viewer.sessions.selection import say_held
from viewer.sessions.targets import Targets

_CELLS = 56
"""Columns for the figures of both, where there is room."""
_ANSWER = 12
"""Lines of a last answer; --json has all of it."""


@click.command("compare")
@click.argument("a", metavar="A", shell_complete=target_completion)
@click.argument("b", metavar="B", shell_complete=target_completion)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(a: str, b: str, as_json: bool) -> int:
    """Compare two sessions: prompts, tool uses, failures, tokens, cost, time, files and last answers.

    A and B are TARGETs, of any agents; TARGET#3 is only its third exchange, TARGET#3-5 the third to the fifth. Where
    one is a fork of the other, or both are of a third, each is counted from the exchange where they part. Subagents'
    tool uses, failures and files are counted in; files are those of `turnlog diff`.
    """
    targets = Targets()
    one, other = targets.resolve(a), targets.resolve(b)
    with Progress("reading") as bar:
        found = compare_files(one, other, Prices(), bar)
    warn_of(found.failed)
    for path in dict.fromkeys([one.path, other.path]):
        say_held(path)
    if as_json:
        write_json(found.to_json())
        return DONE
    from rich.cells import cell_len
    from rich.text import Text

    names = [side.session.id for side in found.sides]
    ids = short_ids(names, {*names, *ids_of(targets.found.files, targets.library)})
    rows = found.rows()
    # Behind a pipe names of files stand there in full.
    screen = console(piped=max(80, _CELLS + max(cell_len(label) for label, *_ in rows)))
    quiet = table([("", "left"), *((ids[name], "fill") for name in names)])
    quiet.columns[0].max_width = max(24, screen.width - _CELLS)
    for label, *cells in rows:
        quiet.add_row(Text(label, "dim"), *map(Text, cells))
    screen.print(quiet)
    if found.shared:
        screen.print(Text(f"\n{plural(found.shared, 'exchange')} in common, counted in neither", "dim"))
    for side in found.sides:
        lines = side.answer.strip("\n").split("\n") if side.answer else ["(nothing was said)"]
        screen.print(Text(f"\nlast answer of {ids[side.session.id]}", "bold"))
        for line in lines[:_ANSWER]:
            say(screen, line)
        if len(lines) > _ANSWER:
            screen.print(Text(f"… {plural(len(lines) - _ANSWER, 'more line')}", "dim"))
    return DONE

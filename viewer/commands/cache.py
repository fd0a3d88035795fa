"""`turnlog cache`: what breaks of the prompt cache cost, and why they came."""

from __future__ import annotations

import click

from renderers.facts import format_cost, format_count, plural
from schemas.clean import one_line
from schemas.costs.prices import Prices
from viewer.completion import target as target_completion
from viewer.index.library import Library
from viewer.output import DONE, NO, Progress, console, say, table, warn, write_json
from viewer.sessions.ids import ids_on_this_machine, short_ids
from viewer.sessions.selection import chosen, in_order_made
from viewer.usage.cache import Break, Breaks
from viewer.usage.sums import unpriced_note

_SHOWN = 40
"""Breaks that are listed where there are many; --json has all."""


@click.command("cache")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=target_completion)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(targets: tuple[str, ...], as_json: bool) -> int:
    """List the breaks of the prompt cache: calls that wrote again what was in the cache.

    Of the TARGETs, or of every session on this machine; the dearest first. TARGET#3 is its third exchange with the
    subagents that were started there, TARGET#3-5 the third to the fifth.

    A call breaks the cache if it reads at least a tenth less, and 1,024 tokens, than the call before it in its talk had
    read and written. Told are the call, the tokens that it wrote again (or gave as input), what that cost, what reading
    them would have, and the cause where the records tell it: idle beyond the lifetime that they name, another model, a
    compaction, a rewind, a changed prefix (a part was still read in time), or the reason that the agent noted itself.
    What is not told is `unknown`.
    """
    breaks = Breaks(Prices())
    with Progress("reading sessions") as bar:
        if targets:
            breaks.read(*in_order_made(chosen(targets), bar, strict=True), bar, strict=True)
        else:
            library = Library()
            library.bring_up_to_date(bar)
            breaks.read_machine(library, bar)
    breaks.found.sort(key=lambda one: ((one.read_cost or 0.0) - (one.cost or 0.0), -one.again))
    if as_json:
        write_json(breaks.to_json())
    else:
        _print(breaks, several=len(targets) != 1)
    return DONE if breaks.found else NO


def _print(breaks: Breaks, *, several: bool) -> None:
    from rich.text import Text

    answer = breaks.to_json()
    if breaks.silent:
        warn(f"{plural(breaks.silent, 'session')} without figures of what was read from a cache: nothing can be told")
    if not breaks.found:
        warn(f"no breaks of the cache in {plural(breaks.sessions, 'session')}")
        return
    screen = console()
    shown = breaks.found[:_SHOWN]
    ids: dict[str, str] = {}
    if several:
        marks = {one.row.session.id for one in shown}
        ids = short_ids(marks, ids_on_this_machine() | marks)

    def called(one: Break) -> str:
        name, agent = ids.get(one.row.session.id, ""), one.row.agent
        return f"{name} {one_line(agent, 8)} {one.place}".lstrip() if agent else name + one.place

    quiet = table([("call", "left"), ("again", "right"), ("cost", "right"), ("a read", "right"), ("cause", "fill")])
    for one in shown:
        cells = ["-" if cost is None else format_cost(cost) for cost in (one.cost, one.read_cost)]
        quiet.add_row(Text(called(one), "dim"), format_count(one.again), *cells, Text(one.detail))
    screen.print(quiet)
    screen.print()
    written = sum(one.again for one in breaks.found if one.row.usage.cache_write)
    share = f", {written / breaks.written:.0%} of all cache writes" if written else ""
    costs = f": {format_cost(answer['costUsd'])}, as reads {format_cost(answer['readUsd'])}"
    notes = [
        f"{plural(len(breaks.found), 'break')} in {plural(breaks.sessions, 'session')}, "
        f"{format_count(answer['againTokens'])} tokens again{share}{costs if answer['costUsd'] else ''}"
    ]
    if len(shown) < len(breaks.found):
        notes.append(f"the {len(shown)} dearest; --json has all")
    for note in (*notes, *unpriced_note(answer["unpriced"])):
        say(screen, (note, "dim"))

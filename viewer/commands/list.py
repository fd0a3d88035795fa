"""`turnlog list`: the sessions of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas.clean import one_line
from schemas.paths import path_text
from viewer.completion import agents
from viewer.output import DONE, NO, CallError, Progress, console, warn, warn_of, write_bytes, write_json
from viewer.sessions.ids import ids_of, short_ids

if TYPE_CHECKING:
    from viewer.index.summary import Summary
    from viewer.usage.costs import SummaryCosts

_PIPED = 1000
"""Columns behind a pipe, where no line is cut: more than any has."""
LINE_FIELDS = (
    "id", "title", "agent", "project", "directory", "path", "created", "updated", "exchanges", "messages", "tokens",
    "input", "output", "cache_read", "cache_write", "reasoning", "cost", "model", "models", "archived", "live",
)  # fmt: skip
"""What --format knows of a session."""
_NARROW, _WIDE = 90, 140
"""In fewer columns than the first there is no project, as on the screen; in fewer than the second a title stands below
an id that is longer than `_MOST`.
"""
_MOST = 16
"""Cells of projects and ids. A longer id is not cut, since it would open nothing."""


def line_fields(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The fields of --format as its `shell_complete`: one more behind what was typed."""
    before = incomplete[: incomplete.rfind("{")] if "{" in incomplete else incomplete
    return [found for name in LINE_FIELDS if (found := f"{before}{{{name}}}").startswith(incomplete)]


@click.command("list")
@click.argument("words", nargs=-1)
@click.option("--here", is_flag=True, help="Only sessions of this directory and those below it.")
@click.option("--agent", metavar="NAME", shell_complete=agents, help="Only one agent's sessions: claude, codex, …")
@click.option("--since", metavar="WHEN", help="Only sessions since a day (2026-03-01, today) or an age (12h, 7d, 2w).")
@click.option("--all", "everything", is_flag=True, help="Also sessions in which nothing was said.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--format", "form", metavar="TEXT", shell_complete=line_fields, help=r"Print a line a session, as '{id}\t{title}'."
)
def command(
    words: tuple[str, ...],
    here: bool,
    agent: str | None,
    since: str | None,
    everything: bool,
    as_json: bool,
    form: str | None,
) -> int:
    """List sessions, newest first; this directory's first. WORDS filter by title, project and id.

    --format takes the fields {id}, {title}, {agent}, {project} (its name), {directory}, {path} (a TARGET), {created},
    {updated} (UTC), {exchanges}, {messages}, {tokens}, of these {input}, {output}, {cache_read}, {cache_write} and
    {reasoning}, {cost} (US dollars, without subagents), {models}, {model} (the last one), {archived} and {live} (that
    word, or empty). All are texts in one line, empty where unknown; {title:.40} cuts, {tokens:>9} aligns.
    """
    from viewer.index.library import Library

    if form is not None and as_json:
        raise CallError("--format and --json: one of both")
    library = Library()
    chosen = list_filter(words, here, agent, since, everything)
    line, costs = None, None
    if form is not None:
        from viewer.usage.costs import SummaryCosts

        costs = SummaryCosts(library)
        line = line_format(form, costs)
    filtered = bool(words or here or agent or since)
    with Progress("reading sessions") as bar:
        for _ in library.refresh(bar):
            pass
    warn_of(library.found.problems)  # folders; files are the matter of `doctor`
    if as_json and not filtered:
        write_bytes(library.list_json(everything=everything))
        return DONE
    rows = [summary for summary in library.all() if chosen(summary)]
    if as_json:
        from viewer.index.summary import list_object

        write_json([list_object(summary) for summary in rows])
    elif line is not None and costs is not None:
        if "{cost" in str(form):
            costs.work_out(rows, inf)
        write_bytes("".join(f"{line(summary)}\n" for summary in rows).encode("utf-8", "replace"))
    elif rows:
        _print(rows, ids_of(library.found.files, library))
    else:
        warn("no sessions found" if library.all() else "no sessions found (turnlog doctor says where it looked)")
    if not as_json and (unread := len(library.unread)):
        from renderers.facts import plural

        warn(f"{plural(unread, 'file')} left out or not read in full (turnlog doctor says which and why)")
    return NO if filtered and not rows else DONE


def line_format(form: str, costs: SummaryCosts) -> Callable[[Summary], str]:
    """Return what makes a line of a session, as `form` has it. Raises CallError for a field that there is none of."""
    from string import Formatter

    from renderers.facts import iso_time, project_name
    from schemas.usage import TokenUsage

    def fields(one: Summary) -> dict[str, str]:
        usage, known = one.usage or TokenUsage(), costs.of(one)
        figures = {"tokens": usage.total, **usage._asdict()}
        cost = known[0].cost if known else None
        values = {
            "id": one.id,
            "title": one.title,
            "agent": one.provider,
            "project": project_name(one.workspace_root),
            "directory": one.workspace_root or "",
            "path": path_text(one.path),
            "created": "" if one.created is None else iso_time(one.created),
            "updated": iso_time(one.when),
            "exchanges": str(one.exchanges),
            "messages": str(one.messages),
            **{name: "" if figure is None else f"{figure}" for name, figure in figures.items()},
            "cost": "" if cost is None else f"{cost:.6f}",
            "model": one.models[-1] if one.models else "",
            "models": ", ".join(one.models),
            "archived": "archived" if one.archived else "",
            "live": "live" if one.live else "",
        }
        return {name: one_line(value, 4096) for name, value in values.items()}

    try:
        pieces = list(Formatter().parse(form.replace("\\t", "\t")))
        for _, name, spec, how in pieces:
            if name is not None and (name not in LINE_FIELDS or "{" in (spec or "") or how):
                raise CallError(f"--format: no field {{{name}}}; there are {', '.join(LINE_FIELDS)}")
            format("", spec or "")
    except ValueError as error:
        raise CallError(f"--format: {error}") from None

    def line(one: Summary) -> str:
        known = fields(one)
        return "".join(
            text + (format(known[name], spec or "") if name is not None else "") for text, name, spec, _ in pieces
        )

    return line


def list_filter(
    words: tuple[str, ...], here: bool, agent: str | None, since: str | None, everything: bool
) -> Callable[[Summary], bool]:
    """Return what tells whether a session is asked for. Raises CallError."""
    from viewer.dates import since as moment
    from viewer.index.library import in_directory
    from viewer.index.matching import search_key

    wanted = [search_key(word) for word in words]
    directory = Path.cwd() if here else None
    earliest = None if since is None else moment(since)
    if agent:
        check_agent(agent)

    def fits(summary: Summary) -> bool:
        if (summary.blank and not everything) or (agent and summary.provider != agent):
            return False
        if (directory and not in_directory(summary.workspace_root, directory)) or summary.when < (earliest or -inf):
            return False
        text = search_key(f"{summary.title}\n{summary.workspace_root}\n{summary.id}") if wanted else ""
        return all(word in text for word in wanted)

    return fits


def check_agent(name: str) -> None:
    """Raises CallError for a name that is no agent's."""
    from schemas.providers import ids

    if name not in ids():
        raise CallError(f"--agent {name}: no such agent; there are {', '.join(ids())}")


def _print(rows: list[Summary], known: set[str]) -> None:
    """Print a line a session, the title last, since it may be as long as it likes."""
    from rich.cells import cell_len
    from rich.text import Text

    from renderers.facts import format_age, format_count, project_name
    from viewer.index.library import in_directory

    screen, here, now = console(piped=_PIPED), Path.cwd(), time.time()
    ids = short_ids([row.id for row in rows], known)
    table = [("", "age", "exch", "tokens", "agent", "project", "id")]
    for row in rows:
        total = row.usage.total if row.usage else None
        figures = str(row.exchanges), "-" if total is None else format_count(total)
        project = one_line(project_name(row.workspace_root), _MOST)
        live = "●" if row.live else " "
        table.append((live, format_age(now - row.when), *figures, row.provider, project, ids[row.id]))
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    below = widths[-1] > _MOST and screen.width < _WIDE
    shown = [0, 1, 2, 3, 4, *([] if screen.width < _NARROW else [5]), 6]
    for column in (5, 4, 2, 3):  # whatever there is no room for, but never the id
        if sum(widths[n] + 2 for n in shown) + (0 if below else _MOST) > screen.width:
            shown = [n for n in shown if n != column]

    def line(cells: tuple[str, ...], *title: str | tuple[str, str]) -> Text:
        pieces = [(cells[0].ljust(1), "green"), (f" {cells[1].rjust(widths[1])}", "dim")]
        for n in shown[2:]:
            width = min(widths[n], _MOST) if n == 6 and below else widths[n]
            cell = cells[n].rjust(width) if n < 4 else cells[n] + " " * (width - cell_len(cells[n]))
            pieces += [("  ", ""), (cell, "" if n < 4 else "dim")]
        return Text.assemble(*pieces, "\n     " if below and len(cells[6]) > _MOST else "  ", *title)

    lines = [line(table[0], "title")]
    lines[0].stylize("dim")
    ours = {row.path for row in rows if in_directory(row.workspace_root, here)}
    for heading, is_ours in (("this directory", True), ("elsewhere", False)):
        group = [one for one in zip(rows, table[1:], strict=True) if (one[0].path in ours) is is_ours]
        if ours and group:
            lines.append(Text(f"  {heading}", "dim italic"))
        for row, cells in group:
            archived = ("archived " if row.archived else "", "dim")
            lines.append(line(cells, archived, one_line(row.title) or "(untitled)"))
    for one in (*lines, Text("tokens without subagents", "dim")):
        # Of two lines the first ends with the id: a terminal that is too narrow wraps it.
        *heads, last = one.split("\n")
        for head in heads:
            screen.print(head, no_wrap=True, overflow="ignore", crop=False)
        screen.print(last, no_wrap=True, overflow="ellipsis")

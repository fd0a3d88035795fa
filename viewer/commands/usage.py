"""`turnlog usage`: tokens and costs of sessions, exchanges and responses, each figure with the records behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from renderers.facts import plural, project_name, some
from schemas.clean import one_line
from schemas.costs.prices import Prices
from schemas.costs.responses import Tally
from schemas.paths import address_json
from viewer.commands.list import check_agent
from viewer.completion import agents
from viewer.completion import target as target_completion
from viewer.dates import since as beginning
from viewer.dates import until as end
from viewer.index.library import Library
from viewer.output import DONE, NO, Progress, console, say, warn, write_bytes, write_json
from viewer.sessions.ids import ids_of, ids_on_this_machine, short_ids
from viewer.sessions.selection import chosen, in_order_made, up_to_date
from viewer.sessions.targets import Target
from viewer.usage.explain import Explanation, kinds_json, print_explanation, responses_json
from viewer.usage.report import Report
from viewer.usage.spending import Spending, price_book
from viewer.usage.sums import KINDS, Filters, Row, copies_note, rows_by, unpriced_note

if TYPE_CHECKING:
    from rich.console import Console

_FROM_FILES = ("exchange", "group")
"""What the index does not know."""


@click.command("usage")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=target_completion)
@click.option("--by", "kind", type=click.Choice(KINDS), help="Sum by that.")
@click.option("--since", metavar="WHEN", help="Only responses since a day (2026-03-01, today) or an age (12h, 7d, 2w).")
@click.option("--until", metavar="WHEN", help="Only responses up to the end of a day, or of that age and older.")
@click.option("--agent", metavar="NAME", shell_complete=agents, help="Only one agent's sessions.")
@click.option("--project", metavar="NAME|DIR", help="Only sessions of that project, or of that directory and below.")
@click.option("--pricing", metavar="BOOK.json", help="Prices that go before those of genai-prices.")
@click.option("--explain", is_flag=True, help="Name the records of each figure, and what was left out and why.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    targets: tuple[str, ...],
    kind: str | None,
    since: str | None,
    until: str | None,
    agent: str | None,
    project: str | None,
    pricing: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Count tokens and what they cost: of the TARGETs, or of every session on this machine.

    TARGET#3 is its third exchange with the subagents that were started there, TARGET#3-5 the third to the fifth.

    A session's own tokens and those with its subagents are told apart; totals of several sessions, the total of --json
    and sums with --by have them in. A response that lies in several places, as subagents, forks and resumed sessions
    copy them, counts once, with the largest figures of its copies, for whoever made it first; if that session is not
    read, for the fork (of Codex only where turns have UUIDs or responses ids: nothing else tells a copy). Days are
    those of this machine's clock; a response without a time counts as of its file's. Costs are what the API would
    charge at that time; a model without a price is named, and is in no sum of costs.
    """
    prices = Prices(None if pricing is None else price_book(pricing))
    if agent is not None:
        check_agent(agent)
    times = None if since is None else beginning(since), None if until is None else end(until)
    filters = Filters(*times, project, agent)
    asked = chosen(targets) if targets else []
    if kind or explain or any(filters) or (not targets and not as_json) or any(target.place for target in asked):
        by = kind or ("exchange" if targets else "day")
        return _print_sums(asked, by, filters, prices, explain=explain, as_json=as_json)
    report = Report(prices, tables=not as_json)
    with Progress("reading sessions") as bar:
        report.read(asked or chosen(()), bar, strict=bool(targets))
    if as_json:
        write_bytes(report.to_json())
    else:
        report.print()
    return DONE if report.sessions or report.tables else NO


def _print_sums(
    targets: list[Target], kind: str, filters: Filters, prices: Prices, *, explain: bool, as_json: bool
) -> int:
    """Print sums by `kind` of the targets, or of every session on this machine. The exit code says whether there is
    anything.
    """
    explanation = Explanation(filters, contexts=not as_json) if explain else None
    left_out = explanation.left_out if explanation is not None else []
    spending = Spending(prices, filters, explanation)
    notes: list[str] = []
    known: set[str] = set()
    if targets or explain or kind in _FROM_FILES:
        with Progress("reading sessions") as bar:
            files, ledger = in_order_made(targets or chosen(()), bar, strict=bool(targets))
            found = spending.from_files(files, ledger, bar, strict=bool(targets))
            rows, total = rows_by(kind, found, keep=explain)
    else:
        library = up_to_date(Library())
        if not library.all() and not as_json:
            warn("no sessions found (turnlog doctor says where it looked)")
            return NO
        rows, total = rows_by(kind, spending.from_index(library))
        known = ids_of(library.found.files, library)
        notes = _machine_notes(library) if not any(filters) else []
    code = DONE if rows or left_out else NO
    if as_json:
        _print_json(kind, rows, total, explanation, prices)
        return code
    if code == NO:
        warn(_nothing(filters, spending.projects))
        return code
    if any(row.mark for row in rows):
        _shorten_marks(rows, known)
    screen = console()
    foot = spending.foot() if targets else []
    totals = foot if len(foot) > 1 else [("total", total)]
    if explanation is not None:
        print_explanation(screen, rows, totals, explanation, prices)
    else:
        _print_table(screen, kind, rows, totals)
    for note in (*notes, *unpriced_note(total.unpriced), *copies_note(spending.copies)):
        say(screen, (note, "dim"))
    return DONE


def _shorten_marks(rows: list[Row], known: set[str]) -> None:
    """Call sessions by as much of their ids as TARGET needs, as `turnlog list` does. `known` are the ids on this
    machine, where they were looked for.
    """
    marks = {row.mark for row in rows}
    shown = short_ids(marks, (known or ids_on_this_machine()) | marks)
    for row in rows:
        row.mark = shown[row.mark]


def _nothing(filters: Filters, projects: set[str | None]) -> str:
    """Say why there are no figures: of a project that nobody knows, which there are."""
    if filters.project is not None and not any(map(filters.fit_project, projects)):
        there = some(sorted({one_line(project_name(root), 60) for root in projects if root}, key=str.casefold), 8)
        asked = one_line(filters.project, 80)
        return f"no session of project {asked}; there {f'are {there}' if there else 'is none'}"
    return "no token figures" + (" left by the filters" if any(filters) else "")


def _machine_notes(library: Library) -> list[str]:
    summaries = library.all()
    subagents = sum(summary.subagents for summary in summaries)
    notes = [f"{plural(len(summaries), 'session')} and {plural(subagents, 'subagent')}"]
    if unknown := sum(summary.usage is None for summary in summaries):
        notes.append(f"{plural(unknown, 'session')} without token figures")
    return notes


def _print_json(kind: str, rows: list[Row], total: Tally, explanation: Explanation | None, prices: Prices) -> None:
    totals = total.to_json()
    answer: dict[str, Any] = {
        "by": kind,
        "rows": [_row_json(kind, row) for row in rows],
        "total": totals["usage"],
        "costUsd": totals["costUsd"],
        "unpriced": totals["unpriced"],
    }
    if explanation is not None:
        for row, made in zip(rows, answer["rows"], strict=True):
            made["costByKind"] = kinds_json(row.responses, prices)
            made["from"] = responses_json(row.responses, prices)
        answer["leftOut"] = [one.to_json() for one in explanation.left_out]
    write_json(answer)


def _row_json(kind: str, row: Row) -> dict[str, object]:
    path, *ids = row.key.split("\0")
    answer: dict[str, object] = {"name": row.label}
    if kind == "session":
        answer |= {**address_json(Path(path)), "id": ids[0]}
    if kind in _FROM_FILES:
        answer |= address_json(Path(path)) | dict(zip(("exchangeId", "groupId"), ids, strict=False))
    if kind == "project":
        answer["path"] = path or None
    return answer | {"responses": row.tally.responses} | row.tally.to_json()


def _print_table(screen: Console, kind: str, rows: list[Row], totals: list[tuple[str, Tally]]) -> None:
    from viewer.usage.table import Rows

    table = Rows(kind)
    for row in rows:
        table.add(row.mark, row.label, row.tally, row.weight)
    for label, total in totals:
        table.total(label, total)
    table.print(screen)
    screen.print()

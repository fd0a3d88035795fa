"""`turnlog usage --by`: sums of what was used, and what each figure consists of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.paths import address_json
from viewer.counting import Once
from viewer.ids import ids_of, short_ids
from viewer.output import DONE, NO, console, progress, warn, write_json
from viewer.sessions import chosen, each_session, in_order_made
from viewer.spending import (
    FileSpending,
    LeftOut,
    Row,
    Spent,
    Tally,
    copies_note,
    cost_text,
    from_index,
    rounded_cost,
    rows_by,
    unpriced_note,
)

if TYPE_CHECKING:
    from rich.console import Console

    from viewer.library import Library
    from viewer.spending import Coster, Filters, Place

_FROM_FILES = ("exchange", "group")
"""What the index does not know."""
_NAMED = 8
"""Projects that are named where another was asked for."""


def print_sums(
    targets: tuple[str, ...], kind: str, filters: Filters, coster: Coster, *, explain: bool, as_json: bool
) -> int:
    """Print sums by `kind` of the targets, or of every session on this machine. The exit code says whether there is
    anything.
    """
    once = Once()
    left_out: list[LeftOut] = []
    notes: list[str] = []
    foot: list[tuple[str, Tally]] = []
    known: set[str] = set()
    if targets or explain or kind in _FROM_FILES:
        files = chosen(targets)
        with progress("reading sessions") as bar:
            files = in_order_made(files, once, bar, strict=bool(targets))
            spending = FileSpending(filters, coster, once, explain=explain)
            spent = (
                one
                for target, session in each_session(files, bar, strict=bool(targets))
                for one in spending.of(target, session)
            )
            rows, total = rows_by(kind, chain(spent, spending.inherited()), keep=explain)
        left_out, projects = spending.left_out, spending.projects
        if targets:
            foot = spending.foot()
    else:
        library = _library()
        if not library.all() and not as_json:
            warn("no sessions found (turnlog doctor says where it looked)")
            return NO
        rows, total = rows_by(kind, from_index(library, filters, coster, once))
        known = ids_of(library.found.files, library)
        notes = _machine_notes(library) if not any(filters) else []
        projects = {summary.workspace_root for summary in library.all()}
    code = DONE if rows or left_out else NO
    if as_json:
        _print_json(kind, rows, total, left_out, explain=explain)
        return code
    if code == NO:
        warn(_nothing(filters, projects))
        return code
    if any(row.mark for row in rows):
        _shorten_marks(rows, known or _ids_of_machine())
    screen = console()
    totals = foot if len(foot) > 1 else [("total", total)]
    if explain:
        _explain(screen, rows, totals, left_out)
    else:
        _table(screen, kind, rows, totals)
    _say(screen, [*notes, *unpriced_note(total), *([copies_note(once.copies)] if once.copies else [])])
    return DONE


def _ids_of_machine() -> set[str]:
    from viewer.targets import Targets

    machine = Targets()
    return ids_of(machine.found.files, machine.library)


def _shorten_marks(rows: list[Row], known: set[str]) -> None:
    """Call sessions by as much of their ids as TARGET needs, as `turnlog list` does."""
    shown = short_ids({row.mark for row in rows}, known | {row.mark for row in rows})
    for row in rows:
        row.mark = shown[row.mark]


def _nothing(filters: Filters, projects: set[str | None]) -> str:
    """Why there are no figures: of a project that nobody knows, which there are."""
    from renderers.facts import project_name
    from schemas.clean import one_line

    if filters.project is not None and not any(map(filters.fits_project, projects)):
        names = sorted({project_name(root) for root in projects if root}, key=str.casefold)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        there = ", ".join(one_line(name, 60) for name in names[:_NAMED]) + more
        return f"no session of project {one_line(filters.project, 80)}; there {'are ' + there if names else 'is none'}"
    return "no token figures" + (" left by the filters" if any(filters) else "")


def _library() -> Library:
    from viewer.commands.list import report_problems
    from viewer.library import Library

    library = Library()
    with progress("reading sessions") as bar:
        library.bring_up_to_date(bar)
    report_problems(library)
    return library


def _machine_notes(library: Library) -> list[str]:
    from renderers.facts import plural

    summaries = library.all()
    subagents = sum(summary.subagents for summary in summaries)
    notes = [f"{plural(len(summaries), 'session')} and {plural(subagents, 'subagent')}"]
    if unknown := sum(summary.usage is None for summary in summaries):
        notes.append(f"{plural(unknown, 'session')} without token figures")
    return notes


def _print_json(kind: str, rows: list[Row], total: Tally, left_out: list[LeftOut], *, explain: bool) -> None:
    totals = total.to_json()
    answer = {
        "by": kind,
        "rows": [_row_json(kind, row, explain=explain) for row in rows],
        "total": totals["usage"],
        "costUsd": totals["costUsd"],
        "unpriced": totals["unpriced"],
    }
    if explain:
        answer["leftOut"] = [
            {"path": one.path, "what": one.what, "records": _places_json(one.places), "reason": one.reason}
            for one in left_out
        ]
    write_json(answer)


def _row_json(kind: str, row: Row, *, explain: bool) -> dict[str, object]:
    path, *ids = row.key.split("\0")
    answer: dict[str, object] = {"name": row.label}
    if kind == "session":
        answer |= {**address_json(Path(path)), "id": ids[0]}
    if kind in _FROM_FILES:
        answer |= address_json(Path(path)) | dict(zip(("exchangeId", "groupId"), ids, strict=False))
    if kind == "project":
        answer["path"] = path or None
    answer |= {"responses": row.tally.responses} | row.tally.to_json()
    if explain:
        answer["from"] = [
            {
                "path": one.source.path,
                "groupId": one.group,
                "model": one.model or None,
                "usage": one.usage.to_json(),
                "costUsd": rounded_cost(one.cost),
                "records": _places_json(one.places),
            }
            for one in row.responses
        ]
    return answer


def _places_json(places: Sequence[Place]) -> list[dict[str, object]]:
    return [place.to_json() for place in places]


def _table(screen: Console, kind: str, rows: list[Row], totals: list[tuple[str, Tally]]) -> None:
    from viewer.usagetable import Rows

    table = Rows(kind)
    for row in rows:
        table.add(row.mark, row.label, row.tally.usage, cost_text(row.tally), row.weight)
    for label, total in totals:
        table.total(label, total.usage, cost_text(total))
    table.print(screen)
    screen.print()


def _explain(screen: Console, rows: list[Row], totals: list[tuple[str, Tally]], left_out: list[LeftOut]) -> None:
    """Each figure with its responses and their records, their sums, then what is in no figure."""
    from rich.text import Text

    from schemas.clean import one_line

    for row in rows:
        tokens = f"{row.tally.tokens:,} tokens, {cost_text(row.tally)}"
        label = f"{row.mark}  {row.label}" if row.mark else row.label
        screen.print(Text.assemble((one_line(label, 200), "bold"), f"  {tokens}"), soft_wrap=True)
        for line in _responses(row.responses):
            screen.print(Text(line), soft_wrap=True)
        screen.print()
    if rows:
        for label, total in totals:
            tokens = f"{total.tokens:,} tokens, {cost_text(total)}"
            screen.print(Text.assemble((label, "bold"), f"  {tokens}"), soft_wrap=True)
        screen.print()
    if left_out:
        screen.print(Text("left out", "bold"))
        for one in left_out:
            what = "  ".join(filter(None, (one_line(one.what, 200), _places_text(one.places))))
            screen.print(Text(f"  {what}: {one_line(one.reason, 300)}"), soft_wrap=True)
        screen.print()


def _responses(spent: list[Spent]) -> Iterator[str]:
    from renderers.facts import format_cost, format_exact, usage_line
    from schemas.clean import one_line
    from schemas.usage import REST

    for one in spent:
        cost = "no price" if one.cost is None else format_cost(one.cost)
        hour = f", {format_exact(one.usage.cache_write_1h)} of the cache writes for an hour"
        model = one_line(one.model, 100) or "no model named"
        yield (
            f"  {one_line(one.group, 200)}  {model}  {usage_line(one.usage, format_exact)}"
            f"{hour if one.usage.cache_write_1h else ''}  {cost}"
        )
        if one.places:
            repeated = ": one response, told several times" if len(one.places) > 1 else ""
            if one.group.startswith(REST):
                repeated = ": of its running total what is in no record of a response"
            yield f"    {_places_text(one.places)}{repeated}"


def _places_text(places: Sequence[Place]) -> str:
    """Where records stand: `lines 3, 5 of x.jsonl (bytes 812+2044, 3100+67)`, each with its offset and length, or
    `record 2 of …` where a source has no lines; in several files where a copy is fuller.
    """
    return ", ".join(_in_file(list(own)) for _, own in groupby(places, key=lambda place: place.path))


def _in_file(places: list[Place]) -> str:
    from schemas.clean import one_line

    first, many = places[0], "s" if len(places) > 1 else ""
    numbers = ", ".join(str(place.line) for place in places)
    name = one_line(re.split(r"[/\\]", first.path)[-1], 200)
    if not first.in_lines:
        return f"record{many} {numbers} of {name}"
    return f"line{many} {numbers} of {name} (bytes {', '.join(f'{p.offset}+{p.length}' for p in places)})"


def _say(screen: Console, notes: list[str]) -> None:
    from rich.text import Text

    for note in notes:
        screen.print(Text(note, "dim"), soft_wrap=True)

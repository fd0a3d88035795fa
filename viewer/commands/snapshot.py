"""`turnlog snapshot`: a month's use and cost as UI Snapshot v1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from renderers.facts import plural, some
from schemas.clean import one_line
from schemas.costs.responses import Ledger
from schemas.interchange.events import EVENTS, Event, EventError, read_events
from schemas.interchange.snapshot import SNAPSHOT, Filters, NoEvents, Pricing, Snapshot, TooManyTokens, make_snapshot
from schemas.opening import OpenError, head_of, recognise
from viewer.exporting import check_not_read, place_of, write_file
from viewer.output import DONE, NO, CallError, Progress, path_text, short_path, warn, write_bytes
from viewer.sessions.selection import chosen, in_order_made
from viewer.sessions.targets import Target, given_path
from viewer.usage.events import EventWriter
from viewer.usage.spending import price_book

_NAMED = 8
"""Models without a price that the warning names."""


@click.command("snapshot")
@click.argument("events", nargs=-1, required=True, metavar="EVENTS...")
@click.option("--month", default="", metavar="YYYY-MM", help="Only events of that month, in UTC.")
@click.option("--provider", "providers", multiple=True, metavar="NAME", help="Only these providers.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only these models.")
@click.option(
    "--mode", type=click.Choice(["compact", "extended"]), default="compact", help="Five rows a table, or all of them."
)
@click.option("--pricing", metavar="BOOK.json", help="Price by this book and nothing else.")
@click.option(
    "--on-unpriced", type=click.Choice(["skip", "error"]), default="skip", help="Count events without a price, or end."
)
@click.option("-o", "destination", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file, but never one that is read.")
def command(
    events: tuple[str, ...],
    month: str,
    providers: tuple[str, ...],
    models: tuple[str, ...],
    mode: Literal["compact", "extended"],
    pricing: str | None,
    on_unpriced: Literal["skip", "error"],
    destination: str | None,
    force: bool,
) -> int:
    """Write a UI Snapshot v1 of what the EVENTS files (or sessions) used.

    Without --pricing, prices are those of the genai-prices package. An event without a price is counted as such, and in
    nothing else; with --on-unpriced error there is no snapshot then. Filters take the names that are in the events
    (claude, codex, …), and the aliases of a price book.
    """
    if month and not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month, re.ASCII):
        raise CallError(f"--month {path_text(month)}: not of the form YYYY-MM")
    path = place_of(destination, force=force)
    prices = Pricing() if pricing is None else Pricing(price_book(pricing))
    try:
        with Progress("reading events") as bar:
            targets, ledger = _in_order(chosen(events), bar)
            writer = EventWriter(bar, ledger)
            filters = Filters(month, providers, models)
            snapshot = make_snapshot(_events(targets, writer), prices, mode, datetime.now(UTC), filters)
    except NoEvents as error:
        warn(str(error))
        return NO
    except TooManyTokens as error:
        raise CallError(str(error)) from error
    if len(snapshot.months) > 1:
        counts = ", ".join(f"{month} ({count:,})" for month, count in snapshot.months.items())
        said = f"it says {snapshot.document['month']}, the first event's; --month takes one of them"
        warn(f"events of several months, {counts}: {said}")
    if snapshot.unpriced and on_unpriced == "error":
        warn(_unpriced(snapshot, ", so no snapshot is made"))
        return NO
    if path is None:
        write_bytes(snapshot.to_bytes())
    else:
        check_not_read(path, writer.read | ({given_path(pricing)} if pricing else set()))
        write_file(path, [snapshot.to_bytes()], force=force)
        warn(f"wrote {short_path(path)}")
    if snapshot.unpriced:
        warn(_unpriced(snapshot, " left out"))
    return DONE


def _events(targets: list[Target], writer: EventWriter) -> Iterator[Event]:
    """The events of the targets, in their order; of a session, those that `turnlog events` would write. Raises
    CallError with the line of the first that is none.
    """
    for target in targets:
        writer.read.add(target.path)
        try:
            if target.place and not _is_session(target.path):
                raise CallError(f"{target.given}: events have no exchanges, so no place in them")
            if _is_session(target.path):
                yield from read_events(b"".join(writer.lines([target], strict=True)))
            else:
                yield from read_events(target.path.read_bytes())
        except EventError as error:
            raise CallError(f"{target.shown_path}: {error}") from None
    yield from read_events(b"".join(writer.inherited_lines()))
    writer.say()


def _in_order(targets: list[Target], bar: Progress) -> tuple[list[Target], Ledger]:
    """The sessions among the targets as they were made, and the ledger that knows their copies. Event files, by which
    the month goes, stay in their places.
    """
    sessions = [target for target in targets if _is_session(target.path)]
    ordered, ledger = in_order_made(sessions, bar, strict=True)
    made = iter(ordered)
    return [next(made) if target in sessions else target for target in targets], ledger


def _is_session(path: Path) -> bool:
    """Return whether a file is of another kind than events. Raises OSError, and OpenError for what is empty."""
    head = head_of(path)
    try:
        found = recognise(head).id
    except OpenError:
        return False  # what is wrong with its lines is said when they are read, with their numbers
    if found == SNAPSHOT.id:
        raise CallError(f"{path_text(path)}: a UI Snapshot already, which holds sums and no events")
    return found != EVENTS.id


def _unpriced(snapshot: Snapshot, what: str) -> str:
    """Count the events without a price, in words: what becomes of them, and of which models they are."""
    unpriced = sorted(snapshot.unpriced.items(), key=lambda item: (-item[1], item[0]))
    names = [f"{one_line(f'{provider}/{model}', 80)} ({count:,})" for (provider, model), count in unpriced]
    return f"{plural(sum(snapshot.unpriced.values()), 'event')} without a price{what}: {some(names, _NAMED)}"

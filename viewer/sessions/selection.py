"""The sessions a command was asked about, read one after the other, and which parts of them: what a place behind a
TARGET names, and the subagents that were started there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from renderers.facts import plural
from renderers.places import Part, find_part, no_such_place
from schemas.costs.responses import Ledger
from schemas.opening import OpenError, addresses_in, read_session
from schemas.paths import source_of
from schemas.session import Session, Subagent
from schemas.troubles import bug
from viewer.output import CallError, Progress, path_text, warn, warn_of
from viewer.sessions.freshness import file_state
from viewer.sessions.targets import Target, Targets, shown

if TYPE_CHECKING:
    from viewer.index.library import Library


def chosen(given: tuple[str, ...]) -> list[Target]:
    """The sessions that the arguments mean, each once, of a database all; without any every session of this machine,
    the newest first. Raises CallError.
    """
    resolver = Targets()
    if given:
        found: dict[Path, Target] = {}
        for one in (resolver.resolve(each) for each in given):
            addresses = addresses_in(one.path)
            if one.place and len(addresses) > 1:
                raise CallError(f"{shown(one.given)}: a place in which of {len(addresses):,} sessions?")
            for path in addresses:
                if found.setdefault(path, Target(path, one.given, one.place)).place != one.place:
                    raise CallError(f"{shown(one.given)}: a session is named once, with one place or a range: #3-5")
        return list(found.values())
    warn_of(resolver.found.problems)
    return [Target(file.path, str(file.path)) for file in resolver.found.files]


def in_order_made(
    targets: list[Target], progress: Callable[[int, int], None], *, strict: bool
) -> tuple[list[Target], Ledger]:
    """The targets as they follow from each other, so that a response counts where it was given and not in a copy, and
    the ledger that knows what they have in common.

    Targets that were named (`strict`) are read for that; of the others the index knows enough.
    """
    from schemas.costs.responses import Ledger, Origin, Table, family, in_order_made

    ledger = Ledger()
    if len(targets) < 2:
        return targets, ledger  # which compares what is settled first
    if strict:
        origins, tables = list[Origin](), list[Table]()
        for target, session in each_session(targets, progress, strict=True):
            origins.append(Origin(target.path, session.id, session.created, session.updated, session.lineage))
            ledger.keep(session, target.shown_path)
            # What fails is said when it is counted.
            tables.append(Table.of(row for _, rows in family(session, []) for row in rows))
        order = [origin.path for origin in in_order_made(origins)]
    else:
        from viewer.index.library import Library

        library = Library()
        library.bring_up_to_date(progress)
        indexed = library.responses()
        tables, order = [table for _, table in indexed], [summary.path for summary, _ in indexed]
    ledger.compare(tables)
    places = {path: place for place, path in enumerate(order)}
    return sorted(targets, key=lambda target: places.get(target.path, len(places))), ledger


def each_session(
    targets: list[Target], progress: Callable[[int, int], None], *, strict: bool
) -> Iterator[tuple[Target, Session]]:
    """The targets' sessions. Each is closed when the next one is asked for, so that only one is in memory.

    A file that is no session is an OpenError where it was named (`strict`), else it is left out and said.
    """
    sizes = [max(0, file_state(target.path).size) for target in targets]
    before, everything = 0, sum(sizes)
    for target, size in zip(targets, sizes, strict=True):
        offset = before

        def step(done: int, of: int, offset: int = offset, size: int = size) -> None:
            progress(offset + (size * done // of if of else 0), everything)

        before += size
        try:
            session = read_session(target.path, step)
        except OpenError as error:
            if strict:
                raise
            warn(str(error))
            continue
        except Exception as error:  # noqa: BLE001
            failed(target, error, strict=strict)
            continue
        try:
            yield target, session
        finally:
            session.close()


def up_to_date(library: Library) -> Library:
    """An index after it was brought up to date under a bar; folders that could not be looked into are said."""
    library.bring_up_to_date()
    warn_of(library.found.problems)
    return library


@contextmanager
def opened(path: Path) -> Iterator[Session]:
    """The session at an address for the time of a block, read under a bar; behind it is said what else lies there."""
    with Progress("reading") as bar:
        session = read_session(path, bar)
    with closing(session):
        yield session
        say_others(session, path)


def say_held(path: Path) -> None:
    """Say in one line that a source holds several sessions, of which the newest is read."""
    if len(held := addresses_in(path)) > 1:
        which = f"this is the newest, {path_text(source_of(held[0])[1])}; name another like {path_text(held[1])}"
        warn(f"{path_text(path)}: {plural(len(held), 'session')} in it; {which}")


def say_others(session: Session, path: Path) -> None:
    """Say that a source holds other sessions too: those of a document stand and count as subagents of its first; of a
    database the newest is read.
    """
    from schemas.interchange.toolpath import others_in

    if session.key:
        say_held(path)
    if others := others_in(session):
        ids = ", ".join(map(path_text, others))
        warn(f"{path_text(session.path)}: {plural(len(others), 'other session')} in it, taken as subagents: {ids}")


def failed(target: Target, error: Exception, *, strict: bool) -> None:
    """A bug that one file brings to light must not hide the figures of all the others: it is said. Raises CallError
    where the file was named.
    """
    reason = f"{target.shown_path}: {bug(error)}"
    if strict:
        raise CallError(reason) from error
    warn(reason)


# -- parts of them -----------------------------------------------------------------------------------------------------


def part_at(session: Session, place: str) -> Part | None:
    """The part of a session at a place; None for the whole. Raises CallError where there is none."""
    if not place:
        return None
    if (part := find_part(session, place)) is None:
        raise CallError(f"{path_text(session.path)}: {no_such_place(session, place)}")
    return part


def exchanges_at(session: Session, place: str) -> Part | None:
    """The same for figures, which are those of exchanges. Raises CallError for a message too."""
    part = part_at(session, place)
    if part is not None and part.message is not None:
        whole = place.partition(".")[0]
        raise CallError(f"{path_text(session.path)}: {place} is one message, and figures are by exchange: {whole}")
    return part


def begun_in(subagents: Iterable[Subagent], messages: range | None = None) -> set[Path | int]:
    """The subagents that some messages started, or all: by their addresses, and by their sessions where they are in
    memory. `is_begun` asks.
    """
    begun: set[Path | int] = set()
    for one in subagents:
        if messages is None or (one.tool_use is not None and one.tool_use in messages):
            begun |= {id(one.session)} if one.session is not None else set() if one.path is None else {one.path}
    return begun


def is_begun(member: Session, begun: set[Path | int]) -> bool:
    """Tell whether a session is one of the subagents that `begun_in` returned; then those that it started are, too."""
    if id(member) not in begun and member.path not in begun:
        return False
    begun |= begun_in(member.subagents)
    return True

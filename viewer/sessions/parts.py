"""The parts of sessions that a command was asked about: what a place behind a TARGET names, and the subagents that were
started there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from renderers.places import find_part, no_such_place
from schemas.costs.responses import family, source_of_session
from viewer.output import CallError, path_text

if TYPE_CHECKING:
    from renderers.places import Part
    from schemas.costs.responses import Response, Source
    from schemas.provider import Problem
    from schemas.session import Session, Subagent
    from viewer.sessions.targets import Target


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


class Parts:
    """The responses that are asked for of sessions which were named with a place; of others all."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[range, set[int]]] = {}
        """By the session's path the exchanges, and the numbers of the members whose responses are meant."""

    def family(
        self, target: Target, session: Session, failed: list[Problem], source: Source | None = None
    ) -> Iterator[tuple[Session, list[Response]]]:
        """All rows of a session and its subagents (`schemas.costs.responses.family`); `fit` tells those that are asked
        for, when they have been passed. Raises CallError for a place that is none, or a message.
        """
        part, source = exchanges_at(session, target.place), source or source_of_session(session)
        if part is None:
            yield from family(session, failed, source)
            return
        members = {0}
        self._parts[source.path] = part.exchanges, members
        begun = begun_in(session.subagents, part.messages(session))
        for number, (member, rows) in enumerate(family(session, failed, source)):
            if number and is_begun(member, begun):
                members.add(number)
            yield member, rows

    def holds(self, path: str, member: int) -> bool:
        """Tell whether the session in a file, or its subagent of that number, is asked about."""
        return path not in self._parts or member in self._parts[path][1]

    def fit(self, row: Response) -> bool:
        """Tell whether a response is asked for."""
        path = row.session.path
        return self.holds(path, row.member) and (
            bool(row.member) or path not in self._parts or row.exchange in self._parts[path][0]
        )

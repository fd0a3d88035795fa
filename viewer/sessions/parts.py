"""The parts of sessions that a command was asked about: what a place behind a TARGET names, and the subagents that were
started there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from renderers.places import find_part, no_such_place
from viewer.output import CallError, path_text

if TYPE_CHECKING:
    from renderers.places import Part
    from schemas.session import Session, Subagent


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

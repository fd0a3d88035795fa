"""Ids of sessions as tables show them: so much of the beginning as tells one from all others, which TARGET takes."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.provider import SessionFile
from viewer.index.library import Library

LEAST = 8
"""Characters: what people know of ids, and random ones differ in."""


def ids_of(files: Iterable[SessionFile], library: Library) -> set[str]:
    """The ids of the sessions that discovery found: what the index says, of files that it has not seen their names'."""
    return {library.session_id(file) or file.id for file in files}


def ids_on_this_machine() -> set[str]:
    """The ids of all sessions that discovery finds."""
    from viewer.sessions.targets import Targets

    machine = Targets()
    return ids_of(machine.found.files, machine.library)


def short_ids(wanted: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return for each of some ids the shortest beginning that no other known id has, `LEAST` characters at least. An id
    that another one begins with stays whole: so given, it is meant itself.
    """
    ordered = sorted({name.lower() for name in known})
    shortest: dict[str, int] = {}
    for before, name, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        shortest[name] = max(LEAST, 1 + in_common(before, name), 1 + in_common(name, after))
    return {name: name[: shortest.get(name.lower(), len(name))] for name in wanted}


def in_common(one: str, other: str) -> int:
    """Count the characters with which both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))

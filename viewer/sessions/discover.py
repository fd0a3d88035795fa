"""Discovery of the session files of this machine: every provider's locations, looked at without reading a file."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from schemas.folders import reason_of
from schemas.provider import Environment, Location, Problem, Provider, SessionFile
from schemas.providers import present
from schemas.troubles import guarded


class Place(NamedTuple):
    """A location a provider was asked about, and what lies there."""

    provider: str
    location: Location
    exists: bool
    sessions: int
    size: int
    """Bytes of its sessions."""


@dataclass(slots=True)
class Found:
    """The outcome of discovery: `files` newest first, each real file once."""

    files: list[SessionFile] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def environment() -> Environment:
    """The machine we are on, as providers want to know it."""
    try:
        home = Path.home()
    except RuntimeError:  # no HOME and no entry for the user, as in some containers
        home = Path("/nonexistent")
    return Environment(os.environ, home, sys.platform)


def discover(env: Environment | None = None, agents: Iterable[Provider] | None = None) -> Found:
    """All sessions of all agents. Costs a directory scan; nothing is opened."""
    found = Found()
    for _ in looking(found, env or environment(), agents):
        pass
    return found


def looking(found: Found, env: Environment, agents: Iterable[Provider] | None = None) -> Iterator[list[SessionFile]]:
    """Fill `found`; yields the session files of each agent when they are found."""
    for provider in present(env) if agents is None else agents:
        seen, before = set[Path](), len(found.files)
        try:
            with guarded():
                locations = provider.locations(env)
        except OSError as error:
            found.problems.append(Problem(env.home, f"{provider.name}: {reason_of(error)}"))
            continue
        for location in locations:
            if location.path in seen:
                continue
            seen.add(location.path)
            _look(provider, location, found)
        yield found.files[before:]
    found.files = _unique(found.files)
    found.files.sort(key=attrgetter("mtime_ns", "id"), reverse=True)


def is_any() -> bool:
    """Tell whether there is a session at all: of 100,000 only the first is looked at."""
    env = environment()
    for provider in present(env):
        for location in provider.locations(env):
            with suppress(OSError):
                if location.path.exists() and any(True for _ in provider.find(location, [])):
                    return True
    return False


def _look(provider: Provider, location: Location, found: Found) -> None:
    exists, files = True, list[SessionFile]()
    try:
        with guarded():
            exists = location.path.exists()
            for file in provider.find(location, found.problems) if exists else ():
                files.append(file)  # one by one: what was found before a fault stays
    except OSError as error:
        found.problems.append(Problem(location.path, reason_of(error)))
    found.places.append(Place(provider.id, location, exists, len(files), sum(file.size for file in files)))
    found.files.extend(files)


def _unique(files: list[SessionFile]) -> list[SessionFile]:
    """Each real file once, however many links or locations lead to it; of its paths the first.

    Only files of one size and one time can be the same, so that few are looked at again.
    """
    if len(set(map(attrgetter("size", "mtime_ns"), files))) == len(files):
        return files  # as good as always
    alike: defaultdict[tuple[int, int], list[SessionFile]] = defaultdict(list)
    for file in files:
        alike[file.size, file.mtime_ns].append(file)
    unique: list[SessionFile] = []
    for group in alike.values():
        if len(group) == 1:
            unique.append(group[0])
        else:
            unique.extend({_identity(file.path): file for file in reversed(group)}.values())
    return unique


def _identity(path: Path) -> tuple[int, int] | str:
    try:
        stat = os.stat(path)
    except OSError:
        return str(path)
    # Some file systems on Windows number no files.
    return (stat.st_dev, stat.st_ino) if stat.st_ino else os.path.realpath(path)

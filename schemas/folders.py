"""Looking through agents' folders: what cannot be looked into is a `Problem`, what is not there is nothing.

Below an agent's folder no link is followed: one that stays in it would show its sessions twice, one that leads out of
it what is none of the agent's, or, to `/`, all that the machine has. The folder itself may be a link, as where people
keep what belongs to their programs on another disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from typing import Any

from schemas.provider import Problem
from schemas.records import read_document
from schemas.values import dict_of


def entries_of(folder: str | Path, problems: list[Problem], *, is_root: bool = False) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, by name, links apart; nothing where there is no such folder, or where it is a
    link. A folder in which an agent keeps all its sessions (`is_root`) may be one, unless it leads up to what holds the
    link.
    """
    if os.path.islink(folder) and not (is_root and not _leads_up(folder)):
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.is_symlink()), key=attrgetter("name"))
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(Problem(Path(folder), reason_of(error)))
        return []


def _leads_up(link: str | Path) -> bool:
    """Return whether a link leads to a folder that holds it, however far up."""
    return Path(os.path.realpath(os.path.dirname(link))).is_relative_to(os.path.realpath(link))


def stat_of(entry: os.DirEntry[str], problems: list[Problem]) -> os.stat_result | None:
    """The state of a file that is no link; None where it cannot be told."""
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        problems.append(Problem(Path(entry.path), reason_of(error)))
        return None


def state_of(path: str | Path) -> tuple[int, int]:
    """Time and size of a file or folder, by which a change is seen; zeros where there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def bytes_in(path: Path, most: int = -1) -> bytes:
    """Return the bytes of a file, or its first `most`; none where there is no file."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return b""


def object_in(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is none."""
    return dict_of(read_document(bytes_in(path)))


def reason_of(error: OSError) -> str:
    """An operating system's error in its own words, without the path."""
    return error.strerror.lower() if error.strerror else str(error)


def matching(
    folder: str | Path, pattern: str, problems: list[Problem], *, is_root: bool = True
) -> Iterator[tuple[str, os.stat_result]]:
    """The files below an agent's folder whose path fits a pattern, `*` any name, `**` any folders, with states."""
    first, _, rest = pattern.partition("/")
    if first == "**":
        yield from matching(folder, rest, problems, is_root=is_root)
        for entry in entries_of(folder, problems, is_root=is_root):
            if entry.is_dir(follow_symlinks=False):
                yield from matching(entry.path, pattern, problems, is_root=False)
        return
    for entry in entries_of(folder, problems, is_root=is_root):
        if not fnmatchcase(entry.name, first):
            continue
        if rest:
            if entry.is_dir():
                yield from matching(entry.path, rest, problems, is_root=False)
        elif entry.is_file() and (stat := stat_of(entry, problems)) is not None:
            yield entry.path, stat

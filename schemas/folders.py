"""Looking through agents' folders: what cannot be looked into is a `Problem`, what is not there is nothing."""

from __future__ import annotations

import os
from operator import attrgetter
from pathlib import Path

from schemas.provider import Problem


def entries_of(folder: str | Path, problems: list[Problem]) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name; nothing where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=attrgetter("name"))
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(Problem(Path(folder), reason_of(error)))
        return []


def stat_of(entry: os.DirEntry[str], problems: list[Problem]) -> os.stat_result | None:
    """The state of a file that is no link; None where it cannot be told."""
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        problems.append(Problem(Path(entry.path), reason_of(error)))
        return None


def reason_of(error: OSError) -> str:
    """An operating system's error in its own words, without the path."""
    return (error.strerror or str(error)).lower()

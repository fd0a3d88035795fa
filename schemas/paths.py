"""Addresses of sessions, and what a file is called in all that people and programs get to read.

An address is the path of a source; where that holds many sessions, with `#` and the key of one behind it:
`opencode.db#ses_1`. It goes through following, the index, targets and lists as a path does, and is taken apart where a
source is opened (schemas/opening.py).
"""

from __future__ import annotations

import os
from pathlib import Path

from schemas.clean import clean

_NAMES: dict[str, str] = {}


def call_path(path: os.PathLike[str] | str, name: str) -> None:
    """Let a file be called something else than its path: the copy of standard input is `-` to everybody."""
    _NAMES[os.fspath(path)] = name


def path_name(path: os.PathLike[str] | str) -> str:
    """Return the name of a file: its path, unless `call_path` said otherwise. Not cleaned."""
    text = os.fspath(path)
    return _NAMES.get(text, text)


def path_text(path: os.PathLike[str] | str) -> str:
    """A path as it may be shown: a file's name is text from outside like any other."""
    return clean(path_name(path))


def address_json(address: Path) -> dict[str, str | None]:
    """An address in an answer: `path`, and `key`, null where the source holds one session."""
    source, key = source_of(address)
    return {"path": path_text(source), "key": clean(key) or None}


def session_json(provider: str, name: str, address: Path) -> dict[str, str | None]:
    """A session as answers name it: its agent, its id and its address."""
    return {"provider": provider, "id": name, **address_json(address)}


def address_of(source: Path, key: str) -> Path:
    """The address of a session."""
    return Path(f"{source}#{key}") if key else source


def source_of(address: Path) -> tuple[Path, str]:
    """The source and the key of an address; an existing file's name may hold a `#`."""
    source, mark, key = str(address).rpartition("#")
    if not mark or not source or not key or os.path.lexists(address) or not os.path.isfile(source):
        return address, ""
    return Path(source), key

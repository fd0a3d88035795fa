"""What a file is called in all that people and programs get to read."""

from __future__ import annotations

import os

from schemas.clean import clean

_NAMES: dict[str, str] = {}


def call_path(path: os.PathLike[str] | str, name: str) -> None:
    """Let a file be called something else than its path: the copy of standard input is `-` to everybody."""
    _NAMES[os.fspath(path)] = name


def path_name(path: os.PathLike[str] | str) -> str:
    """What a file is called: its path, unless `call_path` said otherwise. Not cleaned."""
    text = os.fspath(path)
    return _NAMES.get(text, text)


def path_text(path: os.PathLike[str] | str) -> str:
    """A path as it may be shown: a file's name is text from outside like any other."""
    return clean(path_name(path))

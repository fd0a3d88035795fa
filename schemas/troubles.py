"""Troubles with one file: that it is no session, that it cannot be read, that turnlog itself fails on it.

An exception of an agent's code is a bug. It is caught where that code is called (`guarded`) and becomes the trouble of
the file it happened on, said in words: it never reaches another session, nor the list of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.clean import clean, one_line
from schemas.paths import path_name


class OpenError(Exception):
    """A path that is no session, with the reason in one line."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{clean(path_name(path))}: {reason}")
        self.reason = reason


class NotYet(OpenError):
    """A file in which no record is whole yet: it may be the beginning of a session."""


class Failure(OSError):
    """A stand-in for an exception of turnlog's own code, so that whoever reads files takes it for their trouble."""


def is_failure(error: Exception) -> bool:
    """Return whether an error in reading a file is turnlog's own."""
    return isinstance(error, Failure) or isinstance(error.__cause__, Failure)


def bug(error: Exception) -> str:
    """The words for what turnlog fails on: that is a bug, and no fault of the file, unless nobody could follow it."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    said = str(error)
    return one_line(f"turnlog failed on it, a bug: {type(error).__name__}{f': {said}' if said else ''}", 300)


@contextmanager
def guarded() -> Iterator[None]:
    """Turn an exception of an agent's code into a `Failure`; what is no bug passes. Also a decorator."""
    try:
        yield
    except (OSError, OpenError):
        raise
    except Exception as error:
        raise Failure(bug(error)) from error

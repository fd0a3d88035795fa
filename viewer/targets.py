"""TARGET, the same in every command: a path, a session id or the beginning of one, `latest`, or `-`.

- An argument that names something on disk is a path, also when it looks like an id.
- `latest` is the session written last on this machine in which anything was said, whatever its directory.
- `-` is standard input, spooled to a temporary file that goes when the program ends.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.clean import one_line
from viewer.output import CallError, path_text

if TYPE_CHECKING:
    from schemas.provider import SessionFile
    from viewer.discover import Found

LATEST = "latest"
STDIN = "-"
_CANDIDATES = 6
_SHORT = 8


@dataclass(frozen=True, slots=True)
class Target:
    """A file to open."""

    path: Path
    given: str
    """What was typed."""

    @property
    def shown_path(self) -> str:
        """The path for answers: `-` for standard input, whose temporary name means nothing."""
        return STDIN if self.given == STDIN else path_text(self.path)


class Targets:
    """Turns what was typed into files; looks for sessions once, and only when an argument needs it."""

    def __init__(self) -> None:
        self._found: Found | None = None

    @property
    def found(self) -> Found:
        """What discovery found."""
        if self._found is None:
            from viewer.discover import discover

            self._found = discover()
        return self._found

    def resolve(self, given: str) -> Target:
        """The file that an argument means. Raises CallError with the reason, or with the candidates."""
        if given == STDIN:
            return Target(all_of_stdin(), given)
        path = given_path(given)
        if _is_there(path, given):
            return Target(path, given)
        if given == LATEST:
            # Where nothing was said in any, the newest one opens, or opening it says what is wrong with it.
            newest = self.latest() or next((file for file in self.found.files if file.size), None)
            if newest is None:
                raise CallError("latest: no sessions found (turnlog doctor says where it looked)")
            return Target(newest.path, given)
        if os.sep in given or "/" in given or path.suffix in (".json", ".jsonl", ".zst"):
            raise CallError(f"{shown(given)}: no such file")
        return Target(self._by_id(given).path, given)

    def latest(self) -> SessionFile | None:
        """The session written last in which anything was said, as lists show them; None if there is none.

        What the library knows of a file as it is now is believed; others are read, newest first.
        """
        from viewer.library import Library

        library = Library()
        for file in self.found.files:
            blank = library.is_blank(file)
            if file.size and (_says_something(file.path) if blank is None else not blank):
                return file
        return None

    def _by_id(self, given: str) -> SessionFile:
        wanted = given.lower()
        # Of some sessions a file's name holds only the beginning of the id (Gemini CLI: eight characters).
        fitting = [
            file for file in self.found.files if (own := file.id.lower()).startswith(wanted) or _begins(own, wanted)
        ]
        exact = [file for file in fitting if file.id.lower() == wanted]
        if len(exact) == 1 or len(fitting) == 1:
            return (exact or fitting)[0]
        if not fitting:
            raise CallError(f"{shown(given)}: no such file, and no session whose id begins so")
        # Two files can hold one id (a copy in an archive, a revert): then only a path tells them apart.
        names = [path_text(file.path) for file in exact] if exact else [path_text(file.id) for file in fitting]
        more = f" and {len(names) - _CANDIDATES} more" if len(names) > _CANDIDATES else ""
        raise CallError(f"{shown(given)} fits {len(names)} sessions: {', '.join(names[:_CANDIDATES])}{more}")


def given_path(given: str) -> Path:
    """The path that an argument may be, `~` and `~user` expanded. Raises CallError for what is no path."""
    if not given:
        raise CallError("an empty argument: no such file")
    if "\0" in given:
        raise CallError(f"{shown(given)}: no such file")
    try:
        return Path(given).expanduser()
    except RuntimeError:  # `~nobody` where there is no such user: a file's name like any other
        return Path(given)


def shown(given: str) -> str:
    """An argument as an error names it: in quotes where white space would hide or change it."""
    text = path_text(given)
    return text if text == one_line(text, len(text) + 1) else repr(text)


def _begins(name: str, wanted: str) -> bool:
    return len(name) == _SHORT and wanted.startswith(name)


def _is_there(path: Path, given: str) -> bool:
    """Whether there is something of that name. Raises CallError where that cannot be told."""
    try:
        os.lstat(path)
    except PermissionError:
        raise CallError(f"{shown(given)}: permission denied") from None
    except (OSError, ValueError):
        return False  # not there, or no name a file could have
    return True


def _says_something(path: Path) -> bool:
    """Whether a person or the agent said anything in a file; read no further than to the first word."""
    from schemas.opening import OpenError, open_reading
    from viewer.summary import says_something

    try:
        reading = open_reading(path)
    except OpenError:
        return False  # no session: `turnlog list` says what is wrong with it
    try:
        while not reading.done:
            reading.step(1 << 16)
            if says_something(reading.session):
                return True
        reading.finish()
        return says_something(reading.session)
    except OSError:
        return False
    finally:
        reading.session.close()


def all_of_stdin() -> Path:
    """Standard input as a file, once all of it is there."""
    from viewer.stdin import spool_stdin

    spool = spool_stdin()
    spool.wait_for_end()
    return spool.path


def newest_here(found: Found, here: Path) -> SessionFile | None:
    """The session written last whose workspace is `here` or below it; None if there is none.

    What the library knows of a file is believed; of others the beginning is read, newest first.
    """
    from viewer.library import Library, in_directory

    known = {summary.path: summary.workspace_root for summary in Library().cached()}
    for file in found.files:
        root = known.get(file.path) or _workspace(file.path)
        if root is not None and in_directory(root, here):
            return file
    return None


def _workspace(path: Path) -> str | None:
    """The workspace that a file's beginning names."""
    from schemas.opening import OpenError, open_reading

    try:
        reading = open_reading(path)
    except OpenError:
        return None  # no session: the command that lists sessions says so, here it is only no candidate
    try:
        while not reading.done and reading.session.workspace_root is None and reading.progress[0] < 1 << 20:
            reading.step(1 << 16)
        return reading.session.workspace_root
    except OSError:
        return None
    finally:
        reading.session.close()

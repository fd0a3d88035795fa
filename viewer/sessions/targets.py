"""TARGET, the same in every command: a path, a session id or the beginning of one, `latest`, or `-`.

- An argument that names something on disk is a path, also when it looks like an id. A folder is the one session in it.
- An id is the session's own, in full or its beginning, as far as `turnlog list` and `usage` show it; else a file's name
  will do, or the id of a subagent, as far as the full-text index knows it.
- `latest` is the newest session in `turnlog list`, whatever its directory: the first of `turnlog list --json`.
- `-` is standard input, spooled to a temporary file that goes when the program ends.

Behind any of them may stand a place in the session, `#3` or `#3.2` (renderers/places.py).
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from itertools import filterfalse, islice
from pathlib import Path
from typing import TYPE_CHECKING

from renderers.facts import some
from renderers.places import split_place
from schemas.clean import one_line
from schemas.opening import OpenError, addresses_in, head_of, read_session, recognise
from schemas.paths import source_of
from schemas.provider import SessionFile
from viewer.output import CallError, path_text
from viewer.sessions.newest import newest, real_id

if TYPE_CHECKING:
    from viewer.index.library import Library
    from viewer.sessions.discover import Found

LATEST = "latest"
STDIN = "-"
_CANDIDATES = 6
_SHORT = 8
_LEVELS, _MOST_FILES = 3, 200
"""How deep in a folder a session is looked for that no agent's home holds, and among how many files of a level."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file to open."""

    path: Path
    given: str
    """What was typed."""
    place: str = ""
    """The place in the session that was typed with it: `#3.2`."""

    @property
    def shown_path(self) -> str:
        """The path for answers: `-` for standard input, whose temporary name means nothing."""
        return STDIN if self.given == STDIN else path_text(self.path)


class Targets:
    """Turns what was typed into files; looks for sessions once, and only when an argument needs it."""

    def __init__(self) -> None:
        self._found: Found | None = None
        self._library: Library | None = None

    @property
    def found(self) -> Found:
        """The outcome of discovery."""
        if self._found is None:
            from viewer.sessions.discover import discover

            self._found = discover()
        return self._found

    @property
    def library(self) -> Library:
        """The index of them."""
        if self._library is None:
            from viewer.index.library import Library

            self._library = Library()
        return self._library

    def resolve(self, given: str) -> Target:
        """The file that an argument means. Raises CallError with the reason, or with the candidates."""
        target, place = split_place(given)
        if place and not _is_address(given, target):
            return replace(self.resolve(target), place=place)
        if given == STDIN:
            return Target(all_of_stdin(), given)
        path = given_path(given)
        if _is_there(path, given):
            return Target(self._in_folder(path, given) if path.is_dir() else path, given)
        if given == LATEST:
            # Where nothing was said in any, the newest one opens, or opening it says what is wrong with it.
            newest = self.latest() or next((file for file in self.found.files if file.size), None)
            if newest is None:
                raise CallError("latest: no sessions found (turnlog doctor says where it looked)")
            return Target(newest.path, given)
        if os.sep in given or "/" in given or path.suffix in (".json", ".jsonl", ".zst"):
            raise CallError(f"{shown(given)}: no such file{_no_place(given)}")
        return Target(self._by_id(given).path, given)

    def _in_folder(self, folder: Path, given: str) -> Path:
        """The one session in a folder, at its home or copied from there. Raises CallError for none or several."""
        place = os.path.abspath(folder)
        inside = [file.path for file in self.found.files if file.path.is_relative_to(place)] or _sessions_in(folder)
        if len(inside) == 1:
            return inside[0]
        if not inside:
            raise CallError(f"{shown(given)}: a directory, not a session file")
        names = some([path_text(os.path.relpath(path, place)) for path in inside], _CANDIDATES)
        raise CallError(f"{shown(given)}: a directory with {len(inside):,} sessions: {names}")

    def latest(self) -> SessionFile | None:
        """The newest session in which anything was said, in the order of lists; None if there is none."""
        return newest(self.found.files, self.library)

    def _by_id(self, given: str) -> SessionFile:
        wanted = given.lower()
        fitting = self._fitting(wanted)
        if not fitting:
            # What the index has not seen yet may have an id that its file's name does not say.
            self.library.bring_up_to_date()
            self._found = self.library.found
            fitting = self._fitting(wanted) or [
                (file.id, file) for file in self.found.files if file.id.lower().startswith(wanted)
            ]
        fitting = fitting or self._subagents(wanted)
        if 1 < len(fitting) <= _CANDIDATES:  # what is no session, but has a session's id in its name, stands for none
            fitting = [found for found in fitting if _opens(found[1].path)] or fitting
        exact = [found for found in fitting if found[0].lower() == wanted]
        if len(exact) == 1 or len(fitting) == 1:
            return (exact or fitting)[0][1]
        if not fitting:
            raise CallError(f"{shown(given)}: no such file, and no session whose id begins so{_no_place(given)}")
        # Two files can hold one id (a copy in an archive, a revert): then only a path tells them apart.
        times = Counter(name for name, _ in fitting)
        names = [path_text(file.path if times[name] > 1 else name) for name, file in exact or fitting]
        raise CallError(f"{shown(given)} fits {len(names)} sessions: {some(names, _CANDIDATES)}")

    def _subagents(self, wanted: str) -> list[tuple[str, SessionFile]]:
        """The subagents whose id begins so."""
        with self.library.texts() as store:
            kept = [one for one in store.sessions().values() if one.parent]
        ids = [(str(one.facts["id"]), one) for one in kept]
        return [
            (name, SessionFile(str(one.facts["provider"]), one.path, name, one.size, one.mtime_ns))
            for name, one in ids
            if name.lower().startswith(wanted)
        ]

    def _fitting(self, wanted: str) -> list[tuple[str, SessionFile]]:
        """The sessions whose id begins so, each with its id: what the index says, for others what discovery says."""
        fitting: list[tuple[str, SessionFile]] = []
        for file in self.found.files:
            session_id = self.library.session_id(file)
            if session_id is None:
                session_id = file.id
                # Of some sessions a file's name holds only the beginning of the id (Gemini CLI: eight characters).
                if len(session_id) == _SHORT and session_id.lower()[: len(wanted)] == wanted[:_SHORT]:
                    session_id = real_id(file)
            if session_id.lower().startswith(wanted):
                fitting.append((session_id, file))
        return fitting


def _is_address(given: str, target: str) -> bool:
    """Tell whether what looks like a place is a part of a file's name, or the key of a session in a source of many."""
    if os.path.lexists(given_path(given)):
        return True
    source = given_path(target)
    return source.is_file() and given_path(given) in addresses_in(source)


def _no_place(given: str) -> str:
    """Words about what stands behind a `#` and is no place."""
    target, _, rest = given.rpartition("#")
    return f" (#{one_line(rest, 20)} is no place: #3, #3.2 and #3-5 are)" if target else ""


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


def _opens(path: Path) -> bool:
    """Tell whether a file is a session."""
    try:
        recognise(head_of(path))
    except (OpenError, OSError):
        return False
    return True


def _sessions_in(folder: Path) -> list[Path]:
    """The sessions among a folder's files, subagents' apart; no deeper in it than the first of them."""
    for level in range(_LEVELS):
        found = [
            path for path in islice(folder.glob("*/" * level + "*"), _MOST_FILES) if path.is_file() and _opens(path)
        ]
        if found:
            return sorted(found if len(found) == 1 else filterfalse(_is_subagent, found))
    return []


def _is_subagent(path: Path) -> bool:
    """Tell whether a file is the session of a subagent."""
    try:
        return read_session(path).lineage.agent_id is not None
    except OpenError:
        return False


def _is_there(path: Path, given: str) -> bool:
    """Tell whether there is something of that name. Raises CallError where that cannot be told."""
    try:
        os.lstat(source_of(path)[0])
    except PermissionError:
        raise CallError(f"{shown(given)}: permission denied") from None
    except (OSError, ValueError):
        return False  # not there, or no name a file could have
    return True


def all_of_stdin() -> Path:
    """Standard input as a file, once all of it is there."""
    from viewer.follow.pipe import spool_stdin

    spool = spool_stdin()
    spool.wait_for_end()
    return spool.path

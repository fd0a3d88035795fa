"""The newest session: what `latest` and a `tail` without TARGET mean.

The order is that of `turnlog list`: by the time of a session's last record, and where it has none by its file's. The
index knows it of the files as they are; of others the end is read, as few as will do, since a record is written no
later than its file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from viewer.sessions.freshness import is_live

if TYPE_CHECKING:
    from schemas.provider import SessionFile
    from schemas.session import Session
    from viewer.index.library import Library

T = TypeVar("T")
_LOOKS = 200
"""So many files are looked into; then the index is brought up to date, which reads them once and for all."""
_ENDS = (1 << 18, 1 << 23)
"""Bytes of a file's end in which its last record's time is looked for."""
_STEP = 1 << 16
_MOST = 1 << 20
"""Bytes from its beginning in which a session says what it is called and where it runs."""


class _Rank(NamedTuple):
    """The rank of a file among others; the greatest is the newest."""

    live: bool
    """Only where what is being written goes first."""
    said: bool
    """Whether there is anything to read in it."""
    when: float
    path: str


def newest(files: list[SessionFile], library: Library) -> SessionFile | None:
    """The session at the top of `turnlog list`, whatever its directory; None if nothing was said in any.

    Of one that the index knows and that has been written since, within the last minute, the file's time counts.
    """

    def rank(file: SessionFile) -> _Rank | None:
        known = library.standing(file)
        if known is None:
            return _Rank(False, True, file.mtime_ns / 1e9, file.file)
        return None if known.says_nothing else _Rank(False, True, known.when, file.file)

    def look(file: SessionFile) -> _Rank | None:
        if not _says_something(file.path):
            return None
        last, written = _last_time(file), file.mtime_ns / 1e9
        growing = library.session_id(file) is not None and is_live(written, last)
        return _Rank(False, True, written if last is None or growing else last, file.file)

    return _first(files, library, rank, look)


def newest_here(files: list[SessionFile], library: Library, here: Path) -> SessionFile | None:
    """The session to follow in a directory: of those whose workspace it is, or lies below it, one that is being written
    now, also where nothing was said yet; else the newest in which anything was said. None if there is none.
    """
    from viewer.index.library import in_directory

    def place(file: SessionFile, said: bool, when: float, last: float | None) -> _Rank:
        touched = library.touched(file)
        live = is_live(touched, last)
        return _Rank(live, said or live, touched if live else when, file.file)

    def rank(file: SessionFile) -> _Rank | None:
        root, known = library.workspace(file), library.standing(file)
        if (root or known) and not in_directory(root, here):
            return None
        if known is None:
            return place(file, True, file.mtime_ns / 1e9, library.touched(file))
        return place(file, not known.says_nothing, known.when, library.newest(file))

    def look(file: SessionFile) -> _Rank | None:
        root = library.workspace(file) or workspace_of(file.path)
        last = _last_time(file)
        when = file.mtime_ns / 1e9 if last is None else last
        return place(file, _says_something(file.path), when, last) if in_directory(root, here) else None

    return _first(files, library, rank, look)


def _first(
    files: list[SessionFile],
    library: Library,
    rank: Callable[[SessionFile], _Rank | None],
    look: Callable[[SessionFile], _Rank | None],
) -> SessionFile | None:
    """The file of the highest rank; those that `rank` gives to what the index does not know are upper bounds, and
    `look` finds the real ones. None stands for a file that is out of the question.
    """
    ranks = {file: place for file in files if file.size and (place := rank(file))}
    looked: set[SessionFile] = set()
    while ranks:
        best = max(ranks, key=ranks.__getitem__)
        if best in looked or library.standing(best) is not None:
            return best
        if len(looked) == _LOOKS:
            library.bring_up_to_date()
            looked = set(library.found.files)
            ranks = {file: place for file in library.found.files if file.size and (place := rank(file))}
            continue
        looked.add(best)
        if place := look(best):
            ranks[best] = place
        else:
            del ranks[best]
    return None


def real_id(file: SessionFile) -> str:
    """The id that a session's own records give it, of which discovery may know only the beginning."""
    session_id = _read(file.path, lambda session: session.id if session.id != file.path.stem else None, most=_MOST)
    return session_id or file.id


def workspace_of(path: Path) -> str | None:
    """The directory in which a session's own records say that it runs."""
    return _read(path, lambda session: session.workspace_root, most=_MOST)


def _says_something(path: Path) -> bool:
    from viewer.index.summary import says_something

    return bool(_read(path, lambda session: says_something(session) or None))


def _last_time(file: SessionFile) -> float | None:
    """The time of a session's last record; None where none is found."""
    times: list[float | None] = [None]
    for size in _ENDS:
        start = max(0, file.size - size)
        _read(file.path, lambda session: times.append(session.updated), start=start)  # to its end: that finds nothing
        if times[-1] is not None:
            return times[-1]
        if not start:
            break
    return None


def _read(path: Path, wanted: Callable[[Session], T | None], *, start: int = 0, most: int | None = None) -> T | None:
    """Return what `wanted` finds in a session, read no further than until it finds something; None if it finds nothing,
    and for what is no session: the command that lists sessions says what is wrong with it.
    """
    from schemas.opening import OpenError, open_reading

    try:
        reading = open_reading(path, start=start)
    except OpenError:
        return None
    try:
        found = wanted(reading.session)
        while found is None and not reading.done and (most is None or reading.progress[0] < most):
            reading.step(_STEP)
            found = wanted(reading.session)
        if found is None and reading.done:
            reading.finish()
            found = wanted(reading.session)
        return found
    except OSError:
        return None
    finally:
        reading.session.close()

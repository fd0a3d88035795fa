"""Follow one session that grows, shrinks, is rewritten, vanishes and comes back.

Everything happens in the caller's thread and nothing waits: `step` reads a slice, `poll` looks once. clock.py says when
looking is worth while; what `poll` sees is the truth, since network mounts and exhausted inotify limits send no events.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from schemas.opening import open_reading
from schemas.paths import source_of
from schemas.provider import Reading
from schemas.reading import Blocks, LinesReading, ParsedReading, WholeReading
from schemas.session import Change, Op, Session, Subagent
from schemas.troubles import NotYet, OpenError, is_failure
from viewer.sessions.freshness import is_live

SLICE = 0.004
"""Seconds that reading may hold up a key."""
_TAIL_FIRST = 1 << 20
"""A file larger than this is first shown from near its end."""
_TAIL = 256 << 10
_PROBE = 4096
_LONG_READ = 2 << 20
"""A source that is read whole may hold up a key when it is larger than this."""
_SMALLEST, _LARGEST = 16 << 10, 4 << 20
_RACY = 2_000_000_000
"""Nanoseconds within which two writes can leave the same time on a file: FAT counts in steps of two seconds."""
_REFRESH = 0.5
"""Seconds between looks at what lies beside the file."""
_AGAIN = 0.3
"""Seconds after which a source that is read whole is read once more while two writes may have left the same time."""
_RETRY, _RETRY_LATEST = 0.15, 5.0
"""Seconds until the first and until each of many further tries to read what could not be read."""
_QUICK_READ = 0.02
"""Reading a source whole may take so many seconds and be done again at once; after more than that there is a rest."""
_REST = 4
"""The rest, in multiples of the time that the reading took."""


class _Stamp(NamedTuple):
    """The part of a file's `stat` in which a change of its content shows."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.device, self.inode


class _NothingYet(WholeReading):
    """The reading of a file in which no record is whole yet, so that nothing changes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Session("", "", path, path.stem))
        self.done = True


class Follower:
    """One session, read to its end and on as its sources change.

    Raises OpenError when the file is no session to begin with; with `wait` a file in which no record is whole yet is an
    empty session, of no provider, until the first one is (`waiting`). Later troubles never raise: what was read stays,
    and it is tried again.

    The caller reads with `step` until `loaded`, then calls `poll` as often as it likes (and `step` again whenever
    `loaded` has turned False). Who wants to know what changed keeps a `schemas.changes.Seen`. `session` is a new object
    after RESTARTED and where history was rewritten; the old one can be read until nobody holds it.
    """

    def __init__(self, path: Path, *, from_end: bool = False, wait: bool = False) -> None:
        self.path = path
        self.missing = False
        """Whether the file is gone (what was read is still there)."""
        self.loaded = False
        """Whether all that the file held when it was last looked at has been read."""
        self.trouble = ""
        """Why the last read failed; empty when it did not."""
        self.is_bug = False
        """Whether that is turnlog's own fault."""
        # Before opening, so that what is written in between counts as a change.
        first = _look_at(path)
        start = first.size - _TAIL if from_end and first and first.size > _TAIL_FIRST else 0
        self.reading: Reading
        try:
            self.reading = _opened(path, start=start)
        except NotYet:
            if not wait:
                raise
            self.reading = _NothingYet(path)
        self._next: Reading | None = None
        """What will take the place of `reading` once it has caught up."""
        self._seen = self._look() | ({path: first} if first else {})
        self._begun = self.written
        self._provisional = isinstance(self.reading, LinesReading) and self.reading.position > 0
        self._rate = 20e6
        self._probe: tuple[bytes, bytes] | None = None
        self._doubted: Iterator[bool] | None = None
        """A comparison of what was read with what the file holds now, while it is going on."""
        self._unsure = True
        self._broken = False
        self._refreshed = 0.0
        self._due, self._rest_until = math.inf, 0.0
        self._retry = _RETRY

    @property
    def session(self) -> Session:
        """The session as far as it has been read."""
        return self.reading.session

    @property
    def waiting(self) -> bool:
        """Tell whether no record is whole yet."""
        return isinstance(self.reading, _NothingYet)

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read, existing or not."""
        return list(dict.fromkeys((self.path, *(self._next or self.reading).sources)))

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are, of what is being loaded."""
        return (self._next or self.reading).progress

    @property
    def ahead(self) -> Callable[[], None] | None:
        """The long part of the next `step`, where a step cannot be short; may be done in a thread before it."""
        reading, stamp = self.reading, self._seen.get(self.path)
        if reading.done or not isinstance(reading, WholeReading) or stamp is None or stamp.size <= _LONG_READ:
            return None
        return reading.load_ahead

    @property
    def written(self) -> float | None:
        """The time at which the newest of the sources was written (seconds since 1970), as of the last look."""
        return max((stamp.mtime_ns for stamp in self._seen.values()), default=0) / 1e9 or None

    @property
    def live(self) -> bool:
        """Tell whether it is being written, so that more may come at any time."""
        told = self.session.updated or self.session.created
        grew = self.written if self.written != self._begun else None  # what tells no time was seen to be written
        return is_live(self.written, grew if told is None else told)

    @property
    def unfinished(self) -> int | None:
        """The number of a last line that waits for its end; None where all lines are whole."""
        reading = self.reading
        if not isinstance(reading, LinesReading) or reading.lines.offset >= reading.position:
            return None
        return reading.lines.line

    def finish(self) -> None:
        """Take what waits for its end: no more will come."""
        _note(self.reading, self.reading.finish())

    def close(self) -> None:
        """Let go of the files."""
        for reading in (self.reading, self._next):
            if reading is not None:
                reading.session.close()
        self._next = None

    # -- reading ---------------------------------------------------------------------------------------------------

    def step(self, seconds: float = SLICE) -> None:
        """Read on for about so long; returns at once when all is read.

        A big file opened `from_end` is read twice: its end, which is there after the first step, then the whole, which
        takes the end's place with RESTARTED.
        """
        if self.loaded:
            return
        try:
            self._read(seconds)
        except (OSError, OpenError) as error:
            # A disk that fails or a share that went away. What was read stays.
            self.loaded, self._next, self._provisional, self._broken = True, None, False, True
            self._failed(error)

    def _read(self, seconds: float) -> None:
        if self._doubted is not None and not self._is_as_read(self._doubted, seconds):
            return
        current = self._next or self.reading
        self._slice(current, seconds)
        if isinstance(current, LinesReading):
            if current.done:
                _note(current, current.take_tail())
            self._probe = _known_by(current)
        if not current.done:
            return
        if current is self._next:
            self.reading, self._next = current, None
            self._refreshed = 0.0
        elif self._provisional:
            self._provisional = False
            self._next, self._probe = _opened(self.path), None
            return
        self.loaded = True
        self._succeeded()
        self._refresh()

    def _slice(self, reading: Reading, seconds: float) -> None:
        """Read for about `seconds`, in pieces whose size follows from how fast the last ones went."""
        start = time.perf_counter()
        left = seconds
        while not reading.done and left > 0:
            limit = int(min(max(self._rate * left / 2, _SMALLEST), _LARGEST))
            before, _ = reading.progress
            begun = time.perf_counter()
            _note(reading, reading.step(limit))
            now = time.perf_counter()
            if (size := reading.progress[0] - before) >= _SMALLEST:
                self._rate = 0.5 * self._rate + 0.5 * size / max(now - begun, 1e-6)
            left = seconds - (now - start)

    def _failed(self, error: OSError | OpenError) -> None:
        """Keep what was read, and try again when a source changes, and now and then although none does: the writer
        may leave the same stamp, and a network comes back without a word.
        """
        self.trouble = error.reason if isinstance(error, OpenError) else error.strerror or str(error)
        if self.waiting and isinstance(error, NotYet):
            self.trouble = ""
        self.is_bug = is_failure(error)
        # What turnlog itself fails on is read again when it is another file.
        self._due = math.inf if self.is_bug else time.monotonic() + self._retry
        self._retry = min(2 * self._retry, _RETRY_LATEST)

    def _succeeded(self) -> None:
        self.trouble, self.is_bug, self._retry, self._due = "", False, _RETRY, math.inf

    # -- looking ---------------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Look once whether a source changed, and read what is new. Costs a `stat` a source when nothing did."""
        self.step(SLICE)
        seen = self._look()
        if self.path not in seen:
            self.missing = True
        elif self.missing or seen != self._seen or self._is_due():
            self._take_in(seen)
        self._refresh()

    def _look(self) -> dict[Path, _Stamp]:
        """The state of each source that is there."""
        return {path: stamp for path in self.sources if (stamp := _look_at(path)) is not None}

    def _is_due(self) -> bool:
        """Tell whether to read though nothing seems to have changed."""
        if self._unsure and isinstance(self.reading, LinesReading):
            return True  # its two ends are compared, which costs little
        return time.monotonic() >= self._due

    def _take_in(self, seen: dict[Path, _Stamp]) -> None:
        reading = self.reading
        whole = isinstance(reading, WholeReading)
        if whole and time.monotonic() < self._rest_until:
            return  # nothing is noted, so the next look finds the same
        back, self.missing = self.missing, False
        before, self._seen = self._seen, seen
        if before != seen:
            self._retry = _RETRY
        # Within the clock's grain another write may leave the very same stamp: look again until it has passed.
        self._unsure = any(abs(time.time_ns() - stamp.mtime_ns) < _RACY for stamp in seen.values())
        if isinstance(reading, LinesReading):
            self._read_lines(reading, before.get(self.path), seen[self.path], back)
            if {**before, self.path: None} != {**seen, self.path: None}:
                self._refreshed = 0.0
        elif not self.waiting and isinstance(reading, WholeReading):
            self._reread(reading)
        elif self._next is None:
            self._start_over()

    def _read_lines(self, reading: LinesReading, before: _Stamp | None, stamp: _Stamp, back: bool) -> None:
        if back or self._broken or before is None or stamp.identity != before.identity or self._rewritten(stamp):
            self._start_over()
        elif stamp.size == before.size and stamp != before:
            # Written, but not to: it may have been rewritten in its midst.
            self._doubted, self.loaded = _compared(self._next or reading), False
            self.step(SLICE)
        # While it is being loaded the slices read on to wherever the end is by then.
        elif self._next is None and self.loaded and stamp.size > reading.position:
            reading.done = self.loaded = False
            self.step(SLICE)

    def _start_over(self) -> None:
        """Read the file anew; what is shown stays until the new reading has caught up."""
        self._provisional, self._probe, self._doubted = False, None, None
        try:
            self._next = _opened(self.path, growing=True)
        except OpenError as error:
            # Emptied or half-written.
            self._next, self._broken, self.loaded = None, True, True
            self._failed(error)
            return
        self.loaded = self._broken = False
        self.step(SLICE)

    # -- rewritten in place ----------------------------------------------------------------------------------------

    def _is_as_read(self, comparison: Iterator[bool], seconds: float) -> bool:
        """Compare for about so long; whether all is compared and as it was read. If it is not, begin to read anew."""
        end = time.perf_counter() + seconds
        for same in comparison:
            if not same:
                self._start_over()
                return False
            if time.perf_counter() > end:
                return False
        self._doubted = None
        (self._next or self.reading).done = False  # it may have grown meanwhile
        return True

    def _rewritten(self, stamp: _Stamp) -> bool:
        """Tell whether the open file no longer begins with what was read from it."""
        reading = self._next or self.reading
        if not isinstance(reading, LinesReading):
            return False
        held = reading.store.stat()
        if (held.st_dev, held.st_ino) != stamp.identity or stamp.size < reading.position:
            return True
        return self._probe is not None and _known_by(reading) != self._probe

    # -- documents and databases -----------------------------------------------------------------------------------

    def _reread(self, reading: WholeReading) -> None:
        """Read a document or a database again; what was only half-written is tried again soon."""
        begun = time.monotonic()
        try:
            reading.reread()
        except OSError as error:
            # What is only half-written may look like another kind of file: that is asked when it stays so.
            if self._retry == _RETRY or not self._took_over(reading):
                self._failed(error)
            return
        now = time.monotonic()
        if now - begun > _QUICK_READ:
            self._rest_until = now + _REST * (now - begun)
        self._succeeded()
        self._due = now + _AGAIN if self._unsure else math.inf

    def _took_over(self, old: WholeReading) -> bool:
        """Tell whether a session of another kind lies there now, and not the old one half-written."""
        try:
            reading = _opened(self.path, growing=True)
            if type(reading) is type(old) and reading.session.provider == old.session.provider:
                return False
            while not reading.done:
                reading.step()
        except (OpenError, OSError):
            return False
        if isinstance(reading, ParsedReading) and reading.breaks_off:
            return False
        if isinstance(reading, LinesReading) and not (
            reading.lines.offset and all(gap.offset > 0 for gap in reading.lines.unreadable)
        ):
            return False  # a document with a fault in it, in which pieces look like the records of a log
        self.reading = reading
        self._probe = _known_by(reading) if isinstance(reading, LinesReading) else None
        self._succeeded()
        return True

    # -- beside the file -------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Look for new subagents and the like, now and then."""
        now = time.monotonic()
        if now - self._refreshed < _REFRESH or self._next is not None or not self.loaded:
            return
        self._refreshed = now
        try:
            _note(self.reading, self.reading.refresh())
        except OSError:
            return  # the folder beside the session went away; the next look tells


class Within:
    """Follows a subagent whose messages lie between those of its parent, in one file or stream: its session grows while
    the parent's is read.
    """

    loaded = True
    missing = False
    trouble = ""
    unfinished: int | None = None
    ahead: Callable[[], None] | None = None

    def __init__(self, subagent: Subagent, session: Session, parent: Follower | Within | None = None) -> None:
        self._subagent, self._session, self._parent = subagent, session, parent
        self.path = session.path / f"#{subagent.id}"
        """Tells it from others; there is no such file."""
        self.sources: list[Path] = []

    @property
    def session(self) -> Session:
        """The session as far as it has been read."""
        return self._subagent.session or self._session

    @property
    def live(self) -> bool:
        """Tell whether its parent is being written."""
        return self._parent is not None and self._parent.live

    def step(self, seconds: float = SLICE) -> None:
        """Its parent is read, not this."""

    def poll(self) -> None:
        """Its parent is looked at, not this."""

    def close(self) -> None:
        """Its files are its parent's."""


def _note(reading: Reading, changes: list[Change]) -> None:
    """Note in the session which of its messages are others since it was read on."""
    for change in changes:
        if change.op is Op.UPDATED:
            reading.session.note_change(change.message)


def _look_at(path: Path) -> _Stamp | None:
    try:
        stat = os.stat(source_of(path)[0])
    except OSError:
        return None
    return _Stamp(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _opened(path: Path, *, start: int = 0, growing: bool = False) -> Reading:
    """A reading that remembers what it has read, so that it can be told later whether that is still there."""
    reading = open_reading(path, start=start, growing=growing)
    if isinstance(reading, LinesReading) and not start:
        reading.blocks = Blocks()
    return reading


def _compared(reading: Reading) -> Iterator[bool]:
    """Compare the file with what was read, block by block."""
    if isinstance(reading, LinesReading) and reading.blocks is not None:
        for number in range(len(reading.blocks)):
            yield reading.blocks.is_there(reading.store, number)


def _known_by(reading: LinesReading) -> tuple[bytes, bytes]:
    """Return what a file is known again by: the first 4 KB, and the 4 KB before the place up to which it was read."""
    store, end = reading.store, reading.position
    start = max(0, end - _PROBE)
    return store.read(0, min(_PROBE, end)), store.read(start, end - start)

"""Follow one session file that grows, shrinks, is rewritten, vanishes and comes back.

Everything happens in the caller's thread and nothing waits: `step` reads a slice, `poll` looks once. hints.py says when
looking is worth while; what `poll` sees is the truth, since network mounts and exhausted inotify limits send no events.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from schemas.opening import OpenError, open_reading
from schemas.provider import Reading
from schemas.reading import DocumentReading, LinesReading, restarted
from schemas.session import Change, Op, Session

SLICE = 0.004
"""Seconds that reading may hold up a key."""
_TAIL_FIRST = 1 << 20
"""A file larger than this is first shown from near its end."""
_TAIL = 256 << 10
_PROBE = 4096
_SMALLEST, _LARGEST = 16 << 10, 4 << 20
_RACY = 2_000_000_000
"""Nanoseconds within which two writes can leave the same time on a file: FAT counts in steps of two seconds."""
_REFRESH = 0.5
"""Seconds between looks at what lies beside the file."""


class _Stamp(NamedTuple):
    """What `stat` says of a file, as far as a change of its content shows in it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.device, self.inode


def _stamp(stat: os.stat_result) -> _Stamp:
    return _Stamp(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class Follower:
    """One session file, read to its end and on as it grows.

    Raises OpenError when the file is no session to begin with; later troubles never raise: what was read stays.

    The caller reads with `step` until `loaded`, then calls `poll` as often as it likes (and `step` again whenever
    `loaded` has turned False). Both return what changed in `session`, in order. After RESTARTED `session` and `reading`
    are new objects; the same message has the same `key` in both. The old session's file stays open until nobody holds
    the old session any more.
    """

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self.path = path
        self.missing = False
        """Whether the file is gone (what was read is still there)."""
        self.loaded = False
        """Whether all that the file held when it was last looked at has been read."""
        self.trouble = ""
        """Why the last read failed; empty when it did not."""
        # Before opening, so that what is written in between counts as a change.
        self._seen = self._look()
        start = self._seen.size - _TAIL if from_end and self._seen and self._seen.size > _TAIL_FIRST else 0
        self.reading: Reading = open_reading(path, start=start)
        self._next: Reading | None = None
        """What will take the place of `reading` once it has caught up."""
        self._provisional = start > 0 and isinstance(self.reading, LinesReading)
        self._rate = 20e6
        self._probe: tuple[bytes, bytes] | None = None
        self._content = b""
        self._unsure = True
        self._broken = False
        self._refreshed = 0.0

    @property
    def session(self) -> Session:
        """What has been read so far."""
        return self.reading.session

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are, of what is being loaded."""
        return (self._next or self.reading).progress

    @property
    def written(self) -> float | None:
        """When the file was last written (seconds since 1970), as of the last look."""
        return self._seen.mtime_ns / 1e9 if self._seen else None

    @property
    def unfinished(self) -> int | None:
        """The number of a last line that waits for its end; None where all lines are whole."""
        reading = self.reading
        if not isinstance(reading, LinesReading) or reading.lines.offset >= reading.position:
            return None
        return reading.lines.line

    def close(self) -> None:
        """Let go of the files."""
        for reading in (self.reading, self._next):
            if reading is not None:
                reading.session.close()
        self._next = None

    # -- reading ---------------------------------------------------------------------------------------------------

    def step(self, seconds: float = SLICE) -> list[Change]:
        """Read on for about so long; returns at once when all is read.

        A big file opened `from_end` is read twice: its end, which is there after the first step, then the whole, which
        takes the end's place with RESTARTED.
        """
        if self.loaded:
            return []
        try:
            return self._read(seconds)
        except (OSError, OpenError) as error:
            # A disk that fails or a share that went away. What was read stays; `poll` tries again on a change.
            self.trouble = str(error)
            self.loaded, self._next, self._provisional, self._broken = True, None, False, True
            return []

    def _read(self, seconds: float) -> list[Change]:
        current = self._next or self.reading
        changes = self._slice(current, seconds)
        if isinstance(current, LinesReading):
            if current.done:
                changes += current.take_tail()
            self._probe = _known_by(current)
        if not current.done:
            return changes if current is self.reading else []
        if current is self._next:
            self.reading, self._next = current, None
            self._refreshed = 0.0
            changes = restarted()
        elif self._provisional:
            self._provisional = False
            self._next, self._probe = open_reading(self.path), None
            return changes
        elif not isinstance(current, LinesReading):
            self._content = self._hash_file()
        self.loaded, self.trouble = True, ""
        return changes + self._refresh()

    def _slice(self, reading: Reading, seconds: float) -> list[Change]:
        """Read for about `seconds`, in pieces whose size follows from how fast the last ones went."""
        changes: list[Change] = []
        start = time.perf_counter()
        left = seconds
        while not reading.done and left > 0:
            limit = int(min(max(self._rate * left / 2, _SMALLEST), _LARGEST))
            before, _ = reading.progress
            begun = time.perf_counter()
            changes += reading.step(limit)
            now = time.perf_counter()
            if (size := reading.progress[0] - before) >= _SMALLEST:
                self._rate = 0.5 * self._rate + 0.5 * size / max(now - begun, 1e-6)
            left = seconds - (now - start)
        return changes

    # -- looking ---------------------------------------------------------------------------------------------------

    def poll(self) -> list[Change]:
        """Look once whether the file changed, and read what is new. Costs one `stat` when nothing did."""
        changes = [] if self.loaded else self.step()
        stamp = self._look()
        if stamp is None:
            self.missing = True
            return changes + self._refresh()
        if self.missing or self._seen is None or stamp != self._seen or self._unsure:
            back, self.missing = self.missing, False
            before, self._seen = self._seen, stamp
            # Within the clock's grain another write may leave the very same stamp: look again until it has passed.
            self._unsure = abs(time.time_ns() - stamp.mtime_ns) < _RACY
            changes += self._on_change(before, stamp, back)
        return changes + self._refresh()

    def _look(self) -> _Stamp | None:
        try:
            return _stamp(os.stat(self.path))
        except OSError:
            return None

    def _on_change(self, before: _Stamp | None, stamp: _Stamp, back: bool) -> list[Change]:
        if not isinstance(self.reading, LinesReading):
            return self._reparse()
        if back or self._broken or before is None or stamp.identity != before.identity or self._rewritten(stamp):
            return self._start_over()
        if self._next is not None or not self.loaded:
            return []  # the slices read on to wherever the end is by then
        return self._grow(self.reading, stamp.size)

    def _grow(self, reading: LinesReading, size: int) -> list[Change]:
        """Read what came since; much of it in slices."""
        if size <= reading.position:
            return []
        reading.done = False
        self.loaded = False
        return self.step()

    def _start_over(self) -> list[Change]:
        """Read the file anew; what is shown stays until the new reading has caught up."""
        self._provisional, self._probe = False, None
        try:
            self._next = open_reading(self.path)
        except OpenError as error:
            # Emptied or half-written: tried again when it changes.
            self._next, self._broken, self.loaded, self.trouble = None, True, True, str(error)
            return []
        self.loaded = self._broken = False
        return self.step()

    # -- rewritten in place ----------------------------------------------------------------------------------------

    def _rewritten(self, stamp: _Stamp) -> bool:
        """Whether the open file no longer begins with what was read from it."""
        reading = self._next or self.reading
        if not isinstance(reading, LinesReading):
            return False
        if _stamp(reading.store.stat()).identity != stamp.identity or stamp.size < reading.position:
            return True
        return self._probe is not None and _known_by(reading) != self._probe

    # -- documents -------------------------------------------------------------------------------------------------

    def _reparse(self) -> list[Change]:
        """Read a document anew and report only what is different.

        The session stays the same object. Messages that went or moved cannot be told by an index, so that is RESTARTED.
        """
        content = self._hash_file()
        if content == self._content:
            return []
        try:
            reading = open_reading(self.path)
            while not reading.done:
                reading.step()
        except (OpenError, OSError) as error:
            # Half-written: tried again when it changes.
            self.trouble = str(error)
            return []
        self._content, self.trouble = content, ""
        old, new = self.session, reading.session
        count = len(old.messages)
        self.reading = reading
        if isinstance(reading, LinesReading) or old.messages.key != new.messages.key[:count] or old.id != new.id:
            self._probe = _known_by(reading) if isinstance(reading, LinesReading) else None
            return restarted()
        # The totals can change with no message changed: then the last one is said to have.
        changed = [i for i in range(count) if _row(old, i) != _row(new, i)]
        if not changed and count == len(new.messages) > 0:
            changed = [count - 1]
        _adopt(old, reading)
        return [
            *(Change(Op.UPDATED, i) for i in changed),
            *(Change(Op.APPENDED, i) for i in range(count, len(new.messages))),
        ]

    def _hash_file(self) -> bytes:
        try:
            return _digest(self.path.read_bytes())
        except OSError:
            return b""

    # -- beside the file -------------------------------------------------------------------------------------------

    def _refresh(self) -> list[Change]:
        """Look for new subagents and the like, now and then."""
        now = time.monotonic()
        if now - self._refreshed < _REFRESH or self._next is not None or not self.loaded:
            return []
        self._refreshed = now
        try:
            return self.reading.refresh()
        except OSError:
            return []  # the folder beside the session went away; the next look tells


def _known_by(reading: LinesReading) -> tuple[bytes, bytes]:
    """What a file is known again by: the first 4 KB, and the last 4 KB before the place up to which it was read."""
    store, end = reading.store, reading.position
    start = max(0, end - _PROBE)
    return store.read(0, min(_PROBE, end)), store.read(start, end - start)


def _digest(data: bytes) -> bytes:
    from hashlib import blake2b  # brings OpenSSL, for which the first picture need not wait

    return blake2b(data, digest_size=16).digest()


def _row(session: Session, index: int) -> tuple[int, int, int, bytes]:
    """What a message consists of, to tell whether it changed."""
    rows = session.messages
    raw = b"\0".join(session.raw(span) for span in session.message_spans(index))
    return rows.kind[index], rows.flags[index], rows.exchange[index], _digest(raw)


def _adopt(old: Session, reading: Reading) -> None:
    """Make the old session what was just read, so that whoever holds it or its columns sees the new content."""
    new = reading.session
    for mine, other in ((old.messages, new.messages), (old.groups, new.groups), (old.spans, new.spans)):
        for name in type(mine).__slots__:
            setattr(mine, name, getattr(other, name))
    vars(old).update({**vars(new), "messages": old.messages, "groups": old.groups, "spans": old.spans})
    reading.session = old
    if isinstance(reading, DocumentReading):
        reading.parser.session = old

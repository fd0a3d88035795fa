"""A session with all that belongs to it: its subagents at any depth, and the session that takes its place.

Everything is looked at when `poll` is called, in the caller's thread.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from schemas.changes import Seen
from schemas.message import Kind
from schemas.opening import MAX_DEPTH, OpenError, open_reading
from schemas.reading import LinesReading
from schemas.session import Change, Session, Subagent
from viewer.follow.follower import Follower, Within
from viewer.sessions.freshness import Side, file_state

_DAY_FOLDER = re.compile(r"[/\\]\d{4}[/\\]\d{2}[/\\]\d{2}$")
_LOOK_EVERY = 1.0
"""Seconds between looks for the next session, and at subagents that lie still."""
_HEAD = 1 << 20
_BEFORE = 20
"""Messages that the program may put before the first command: caveats, hooks, reminders."""
_SLICE = 0.05
_RACY = 2_000_000_000
"""Nanoseconds within which a folder can change twice and show one time."""


@dataclass(slots=True)
class Source:
    """One followed session: the main one or a subagent."""

    follower: Follower | Within
    subagent: Subagent | None = None
    depth: int = 0
    skip: int = 0
    """Records that lie before this offset had been written before it was followed."""
    seen: Seen = field(default_factory=Seen)

    def catch_up(self) -> list[Change]:
        """Read all that there is; what changed since the last time, at first RESTARTED."""
        self.follower.poll()
        while not self.follower.loaded:
            self.follower.step(_SLICE)
        return self.seen.changes(self.follower.session)


@dataclass(slots=True)
class FollowSet:
    """The main session and its subagents. A subagent that began before `poll` saw the main session for the first time
    is followed from the place where it then ended, unless `whole` asks for all of it.
    """

    main: Follower
    whole: bool = False
    _sources: dict[Path, Source] = field(default_factory=dict)
    _still: dict[Path, tuple[Subagent, int, int]] = field(default_factory=dict)
    """Subagents from before, which are opened only when their files grow: their size then, and how deep they are."""
    _looked: float = 0.0
    _begun: bool = False

    def __post_init__(self) -> None:
        self._sources[self.main.path] = Source(self.main)

    @property
    def paths(self) -> list[Path]:
        """The files that are followed, existing or not."""
        return [*(path for source in self._sources.values() for path in source.follower.sources), *self._still]

    @property
    def sources(self) -> list[Source]:
        """The sessions that are being read, the main one first."""
        return list(self._sources.values())

    def poll(self) -> Iterator[tuple[Source, list[Change]]]:
        """Read on, and return what changed, per session; the main one first."""
        self._wake()
        looked_at = 0
        while looked_at < len(self._sources):  # which grows meanwhile: subagents have subagents
            source = self.sources[looked_at]
            looked_at += 1
            if changes := source.catch_up():
                yield source, changes
            for subagent in source.follower.session.subagents:
                self._add(subagent, source.depth + 1)
        self._begun = True

    def close(self) -> None:
        """Let go of all files."""
        for source in self._sources.values():
            source.follower.close()

    def _add(self, subagent: Subagent, depth: int) -> None:
        """Follow a subagent from now on, if it is a new one: in a file of its own, or within one that is followed."""
        path, from_now = subagent.path, not self._begun and not self.whole
        if depth > MAX_DEPTH:
            return
        if path is None and subagent.session is not None:
            within = Within(subagent, subagent.session)
            skip = self.main.progress[0] if from_now else 0
            self._sources.setdefault(within.path, Source(within, subagent, depth, skip))
        elif path is not None and path not in self._sources and path not in self._still:
            if from_now:
                self._still[path] = subagent, file_state(path).size, depth
            else:
                self._open(path, subagent, depth)

    def _wake(self) -> None:
        """Follow the subagents from before whose files grow."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        for path, (subagent, size, depth) in list(self._still.items()):
            if file_state(path).size > size:
                del self._still[path]
                self._open(path, subagent, depth, max(0, size))

    def _open(self, path: Path, subagent: Subagent, depth: int, skip: int = 0) -> None:
        with suppress(OpenError):  # made a moment ago and empty still: the next look finds its first line
            self._sources[path] = Source(Follower(path), subagent, depth, skip)


class Succession:
    """Finds the session that follows on another one: made after this object, by the same agent, for the same directory.

    Claude Code's `/clear` leaves no pointer in either file (formats note 9); its first record in the new one is the
    command. Gemini CLI goes on with a session of its old format in a file of the new one beside it, named with one more
    letter (formats note 1.2). With `loose`, any session that began when this one had gone quiet counts.
    """

    def __init__(self, session: Session, *, loose: bool) -> None:
        self.session, self._loose = session, loose
        self._stamps: dict[Path, int] = {}
        self._open: dict[Path, Side] = {}
        """Files that did not say enough, with their state: looked at again when they say more."""
        self._known = set(self._files())
        self._looked = time.monotonic()

    def look(self) -> Path | None:
        """The next session, if it is there. Looks once a second at most."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return None
        self._looked = now
        if not self._stirred() and not self._open:
            return None
        for path in self._files():
            if path in self._known or (state := file_state(path)).size < 0 or self._open.get(path) == state:
                continue
            verdict = self._judge(path, state.size)
            if verdict is None:
                self._open[path] = state
                continue
            self._open.pop(path, None)
            self._known.add(path)
            if verdict:
                return path
        return None

    def _stirred(self) -> bool:
        """Tell whether files came or went since the last look: some people keep thousands of sessions in a folder."""
        stamps = {folder: file_state(folder).mtime_ns for folder in self._folders()}
        # A folder's time may be too coarse to tell two changes apart, so a fresh one is looked through once more.
        fresh = any(time.time_ns() - stamp < _RACY for stamp in stamps.values())
        changed, self._stamps = stamps != self._stamps, stamps
        return changed or fresh

    def _folders(self) -> set[Path]:
        folder = self.session.path.absolute().parent
        folders = {folder}
        if _DAY_FOLDER.search(str(folder)):  # Codex keeps a folder a day
            folders.add(folder.parents[2] / time.strftime("%Y/%m/%d"))
        return folders

    def _files(self) -> Iterator[Path]:
        for place in self._folders():
            try:
                with os.scandir(place) as entries:
                    files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
                    names = [entry.path for entry in files if entry.name.endswith((".jsonl", ".json"))]
            except OSError:
                continue  # not made yet, or gone
            yield from map(Path, sorted(names))

    def _judge(self, path: Path, size: int) -> bool | None:
        """Tell whether it is the next one; None while it does not say enough."""
        try:
            reading = open_reading(path)
            if size > _HEAD and not isinstance(reading, LinesReading):
                return False  # it would be read whole, and a session that has only begun is small
            while not reading.done and reading.progress[0] < _HEAD:
                reading.step(1 << 16)
        except (OpenError, OSError):
            return None
        new, old = reading.session, self.session
        try:
            return self._follows(new, old)
        finally:
            new.close()

    def _follows(self, new: Session, old: Session) -> bool | None:
        if is_twin(old.path, new.path) and (new.provider, new.id) == (old.provider, old.id):
            return True
        if not len(new.messages) or (new.workspace_root is None and old.workspace_root is not None):
            return None
        if new.provider != old.provider or not _same_place(new, old) or new.lineage.parent:
            return False
        if old.id in (new.lineage.continues, new.lineage.forked_from):
            return True
        if not (old.updated is None or new.created is None or new.created >= old.updated):
            return False
        return self._loose or _begins_cleared(new)


def is_twin(old: Path, new: Path) -> bool:
    """Tell whether an agent goes on in a file with the session of another one: `chat.jsonl` beside `chat.json`."""
    return old.suffix == ".json" and new.name == f"{old.name}l" and new.absolute().parent == old.absolute().parent


def _same_place(new: Session, old: Session) -> bool:
    """Tell whether two sessions are of one directory; where neither says of which, they must lie in one folder."""
    if new.workspace_root is None and old.workspace_root is None:
        return new.path.absolute().parent == old.path.absolute().parent
    return new.workspace_root == old.workspace_root


def _begins_cleared(session: Session) -> bool | None:
    """Tell whether a session begins with `/clear`; None while only what the program puts before it is there."""
    for i in range(len(session.messages)):
        message = session.message(i)
        if message.kind in (Kind.COMMAND, Kind.PROMPT):
            return message.text.split(maxsplit=1)[:1] == ["/clear"]
        if message.kind not in (Kind.CONTEXT, Kind.NOTE) or i >= _BEFORE:
            return False
    return None

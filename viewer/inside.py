"""Follow a subagent whose messages lie between those of its parent, in one file or stream."""

from __future__ import annotations

from pathlib import Path

from schemas.message import Flag
from schemas.reading import restarted
from schemas.session import Change, Op, Session, Subagent

_UNFINISHED = Flag.PENDING | Flag.GROWING


class Inside:
    """Follows a subagent's session, which grows while its parent is read. Its parent's changes do not speak of it, so
    what changed is told from the rows of its table: new ones, and those that wait for a result or more words, or are
    the last.
    """

    loaded = True

    def __init__(self, subagent: Subagent, session: Session) -> None:
        self._subagent, self._shown = subagent, session
        self.path = session.path / f"#{subagent.id}"
        """Tells it from others; there is no such file."""
        self.sources: list[Path] = []
        self._known = 0
        self._watched: dict[int, tuple[int, int, int]] = {}

    @property
    def session(self) -> Session:
        """What has been read so far."""
        return self._subagent.session or self._shown

    def step(self, seconds: float = 0.0) -> list[Change]:
        """Its parent is read, not this."""
        return []

    def poll(self) -> list[Change]:
        """What changed since the last look."""
        session = self.session
        if session is not self._shown:
            self._shown, self._known, self._watched = session, 0, {}
            changes = restarted()
        else:
            changes = [Change(Op.UPDATED, i) for i, state in self._watched.items() if _state(session, i) != state]
            changes += [Change(Op.APPENDED, i) for i in range(self._known, len(session.messages))]
        flags, last = session.messages.flags, len(session.messages) - 1
        watched = (*self._watched, *range(self._known, last + 1))
        self._watched = {i: _state(session, i) for i in watched if i == last or flags[i] & _UNFINISHED}
        self._known = last + 1
        return changes

    def close(self) -> None:
        """Its files are its parent's."""


def _state(session: Session, index: int) -> tuple[int, int, int]:
    """What differs once a message was added to."""
    rows = session.messages
    return rows.flags[index], rows.chars[index], rows.lines[index]

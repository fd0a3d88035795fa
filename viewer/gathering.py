"""Changes of a session from several looks, put together into one list."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.reading import restarted
from schemas.session import Change, Op, Session


class Gathered:
    """What changed in a session since it was last taken, however often history was rewritten in between.

    What `take` gives leads from the session as it was at the last `take` (the object that it was then, of which only
    the messages count that it had then) to the one that is there now, in the terms of `schemas.session.Change`. It is
    never empty where the session is another object.
    """

    def __init__(self, session: Session) -> None:
        self._begin(session)

    def _begin(self, session: Session) -> None:
        self._old = self._now = session
        self._count = len(session.messages)
        self._changes: list[Change] = []
        self._restarted = False

    def add(self, changes: list[Change], session: Session) -> None:
        """Take in changes; `session` is what they led to."""
        restart = max((i for i, change in enumerate(changes) if change.op is Op.RESTARTED), default=-1)
        if restart >= 0:
            self._restarted, self._now, self._changes = True, session, changes[restart:]
        elif session is self._now:
            self._changes += changes
        elif self._restarted:
            self._now, self._changes = session, restarted()
        else:
            touched = {*_keys(self._now, self._changes), *_keys(session, changes)}
            self._now, self._changes = session, _between(self._old, self._count, session, touched)

    def take(self) -> list[Change]:
        """The changes so far; what is added from now on comes with the next `take`."""
        changes = self._changes
        self._begin(self._now)
        return changes


def _keys(session: Session, changes: Iterable[Change]) -> Iterable[int]:
    """The ids of the messages that came or changed."""
    keys = session.messages.key
    return (keys[c.message] for c in changes if c.op is not Op.REMOVED and 0 <= c.message < len(keys))


def _between(old: Session, count: int, new: Session, touched: set[int]) -> list[Change]:
    """What leads from the first `count` messages of `old` to `new`, where those `touched` are no longer what they were.

    As `schemas.changes.differences` does it, but no record is read.
    """
    before = {key: i for i, key in enumerate(old.messages.key[:count])}
    kept: set[int] = set()
    changes: list[Change] = []
    last = -1
    for index, key in enumerate(new.messages.key):
        place = before.get(key, -1)
        if place <= last:
            changes.append(Change(Op.APPENDED, index))
            continue
        kept.add(place)
        last = place
        if key in touched:
            changes.append(Change(Op.UPDATED, index))
    changes = [*(Change(Op.REMOVED, i) for i in range(count) if i not in kept), *changes]
    if changes:
        return changes
    return [Change(Op.UPDATED, len(new.messages) - 1)] if len(new.messages) else restarted()

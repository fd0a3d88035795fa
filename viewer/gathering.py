"""Changes of a session from several looks, put together into one list."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

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
            touched = {**dict(_keys(self._now, self._changes)), **dict(_keys(session, changes))}
            self._now, self._changes = session, _between(self._old, self._count, session, touched)

    def take(self) -> list[Change]:
        """The changes so far; what is added from now on comes with the next `take`."""
        changes = self._changes
        self._begin(self._now)
        return changes


def _keys(session: Session, changes: Iterable[Change]) -> Iterator[tuple[int, int]]:
    """The ids of the messages that came or changed, each with its place."""
    keys = session.messages.key
    return ((keys[c.message], c.message) for c in changes if c.op is not Op.REMOVED and 0 <= c.message < len(keys))


def _between(old: Session, count: int, new: Session, touched: dict[int, int]) -> list[Change]:
    """What leads from the first `count` messages of `old` to `new`, where those `touched` (their ids, and the places
    where they were last) are no longer what they were.

    As `schemas.changes.differences` does it, but no record is read, and a long beginning that both have costs nothing.
    """
    keys = new.messages.key
    same = _same_until(old.messages.key, keys, count)
    before = {key: i for i, key in enumerate(old.messages.key[same:count], same)}
    kept: set[int] = set()
    changes: list[Change] = []
    last = -1
    for index, key in enumerate(keys[same:], same):
        place = before.get(key, -1)
        if place <= last:
            changes.append(Change(Op.APPENDED, index))
            continue
        kept.add(place)
        last = place
        if key in touched:
            changes.append(Change(Op.UPDATED, index))
    elsewhere = touched.keys() - set(keys[same:])
    updated = [Change(Op.UPDATED, i) for i in sorted(_places({k: touched[k] for k in elsewhere}, keys[:same]))]
    changes = [*(Change(Op.REMOVED, i) for i in range(same, count) if i not in kept), *updated, *changes]
    if changes:
        return changes
    return [Change(Op.UPDATED, len(new.messages) - 1)] if len(new.messages) else restarted()


def _places(touched: dict[int, int], keys: array[int]) -> Iterator[int]:
    """Where in `keys` those touched are, if they are there: mostly where they were last."""
    moved = {key for key, place in touched.items() if place >= len(keys) or keys[place] != key}
    yield from (place for key, place in touched.items() if key not in moved)
    if moved:
        yield from (place for place, key in enumerate(keys) if key in moved)


def _same_until(a: array[int], b: array[int], most: int) -> int:
    """How many of the first `most` are the same in both."""
    low, high = 0, min(most, len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

"""Changes in a session, by the keys of its messages and the revisions in which they changed.

One comparison serves sources that are read on, sources that are written anew and whoever shows them, however many looks
lie between: a `Session` counts its revisions and notes in which of them a message that had been read was another one
(`note_change`); one that takes another's place carries that on (`note_changes`); and `Seen` compares.
"""

from __future__ import annotations

from itertools import takewhile

from schemas.session import Change, Op, Session

_AROUND = 1000
"""How far from a message that is gone another one is looked for."""


class Seen:
    """Remembers what somebody has seen of a session; None: nothing of any."""

    def __init__(self, session: Session | None = None) -> None:
        self.session = session
        self._count, self._revision = (len(session.messages), session.revision) if session is not None else (0, 0)

    def changes(self, session: Session) -> list[Change]:
        """Compare `session`, which counts as seen from now on, with what was seen before.

        The list may be empty though the session is another object: facts such as its title are no message's.
        """
        old, count, revision = self.session, self._count, self._revision
        self.session, self._count, self._revision = session, len(session.messages), session.revision
        if old is None or session.course is not old.course:
            return [Change(Op.RESTARTED)]
        latest = reversed(session.changed.items())
        changed = {index for index, _ in takewhile(lambda item: item[1] > revision, latest)}
        if session is old:
            updated = [Change(Op.UPDATED, index) for index in sorted(changed) if index < count]
            return updated + [Change(Op.APPENDED, index) for index in range(count, len(session.messages))]
        kept: set[int] = set()
        changes: list[Change] = []
        back, last = Moves(session, old), -1
        for index in range(len(session.messages)):
            place = back.find(index)
            if place is None or not last < place < count:
                changes.append(Change(Op.APPENDED, index))
                continue
            kept.add(place)
            last = place
            if index in changed:
                changes.append(Change(Op.UPDATED, index))
        return [Change(Op.REMOVED, place) for place in range(count) if place not in kept] + changes


class Moves:
    """Finds the messages of a session in one that took its place, or in the one before, by their keys."""

    def __init__(self, old: Session, new: Session) -> None:
        self.old, self.new = old, new
        self._keys = old.messages.key
        self._places = {key: place for place, key in enumerate(new.messages.key)}

    def find(self, index: int) -> int | None:
        """The place of a message in the new session; None if it is gone."""
        return self._places.get(self._keys[index]) if 0 <= index < len(self._keys) else None

    def near(self, index: int) -> int:
        """The same, or the place of the nearest one before or behind it that is still there; 0 if there is none."""
        for distance in range(_AROUND):
            for near in (index - distance, index + distance):
                if (found := self.find(near)) is not None:
                    return found
        return max(0, min(index, len(self.new.messages) - 1))

    def exchange(self, index: int) -> int | None:
        """The number of an exchange in the new session, by the message that opens it."""
        if not 0 <= index < len(self.old.exchanges):
            return None
        start = self.find(self.old.exchanges[index].start)
        return None if start is None else self.new.messages.exchange[start]


def note_changes(old: Session, new: Session) -> bool:
    """Note in `new`, the same source read again, which of its messages are others than in `old`, whose place it takes;
    returns whether all those of `old` are where they were.

    A message is the same where its key is, and has changed where its records or its place among the exchanges did.
    Where only totals changed, the last message counts as changed, for a total must not change in silence.
    """
    moves = Moves(new, old)
    places = [moves.find(index) for index in range(len(new.messages))]
    before, now = _subagents(old), _subagents(new)
    others = [
        index
        for index, place in enumerate(places)
        if place is None or _row(old, place, before) != _row(new, index, now)
    ]
    stays = places[: len(old.messages)] == list(range(len(old.messages)))
    if stays and not others and places and _totals(old) != _totals(new):
        others = [len(places) - 1]
    earlier = {index: old.changed[place] for index, place in enumerate(places) if place in old.changed}
    new.course, new.revision = old.course, old.revision + 1
    new.changed = dict(sorted(earlier.items(), key=lambda item: item[1]))
    for index in others:
        new.changed.pop(index, None)
        new.changed[index] = new.revision
    return stays


def _subagents(session: Session) -> dict[int | None, object]:
    """The files of subagents, by the messages whose tools started them."""
    return {subagent.tool_use: subagent.path for subagent in session.subagents}


def _row(session: Session, index: int, subagents: dict[int | None, object]) -> tuple[object, ...]:
    """Return what a message consists of, to tell whether it changed. Its bytes as they are: where both sessions keep
    the very same ones in memory, comparing them costs nothing.
    """
    rows = session.messages
    raws = [session.raw(span) for span in session.message_spans(index)]
    return rows.kind[index], rows.flags[index], rows.exchange[index], rows.block[index], subagents.get(index), *raws


def _totals(session: Session) -> tuple[object, ...]:
    return session.usage(), len(session.exchanges)


def digest(data: bytes) -> bytes:
    """A short stand-in for bytes, to tell whether they are the same."""
    from hashlib import blake2b  # brings OpenSSL, for which a log file need not wait

    return blake2b(data, digest_size=16).digest()

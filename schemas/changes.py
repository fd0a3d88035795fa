"""What is different between two readings of one session, by the ids of its messages.

For sources that rewrite history: a JSON document written anew, a database, an event log that takes messages back.
"""

from __future__ import annotations

from hashlib import blake2b

from schemas.session import Change, Op, Session


def differences(old: Session, new: Session) -> list[Change]:
    """What leads from `old` to `new`: REMOVED (index in `old`), then UPDATED and APPENDED (index in `new`), in order.

    A message is the same where its key is. One that changed its place among the others is removed and appended. Where
    only totals changed, the last message is said to be updated, for a total must not change in silence. A title is no
    message's: whoever shows it looks at it.
    """
    before = {key: i for i, key in enumerate(old.messages.key)}
    kept: dict[int, int] = {}
    changes: list[Change] = []
    last = -1
    for index, key in enumerate(new.messages.key):
        place = before.get(key, -1)
        if place > last:
            kept[place] = index
            last = place
            if _row(old, place) != _row(new, index):
                changes.append(Change(Op.UPDATED, index))
        else:
            changes.append(Change(Op.APPENDED, index))
    removed = [Change(Op.REMOVED, i) for i in range(len(old.messages)) if i not in kept]
    count = len(new.messages)
    if not changes and not removed and count and _totals(old) != _totals(new):
        return [Change(Op.UPDATED, count - 1)]
    return removed + changes


def only_grew(old: Session, changes: list[Change]) -> bool:
    """Whether `changes` leave every message of `old` at its index, so that `old` can become the new session."""
    appended = [change.message for change in changes if change.op is Op.APPENDED]
    count = len(old.messages)
    return appended == list(range(count, count + len(appended))) and all(c.op is not Op.REMOVED for c in changes)


def _row(session: Session, index: int) -> tuple[object, ...]:
    """What a message consists of, to tell whether it changed. Its bytes as they are: where both sessions keep the very
    same ones in memory, comparing them costs nothing.
    """
    rows = session.messages
    raws = [session.raw(span) for span in session.message_spans(index)]
    return rows.kind[index], rows.flags[index], rows.exchange[index], rows.block[index], *raws


def _totals(session: Session) -> tuple[object, ...]:
    return session.usage(), len(session.exchanges)


def digest(data: bytes) -> bytes:
    """A short stand-in for bytes, to tell whether they are the same."""
    return blake2b(data, digest_size=16).digest()

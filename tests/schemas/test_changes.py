"""What `Seen` says leads from the old session to the new one, for any two sessions and any looks between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import Seen, note_changes
from schemas.session import Change, Op, Session
from schemas.usage import TokenUsage
from tests.support import Hand

TEXTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), unique_by=lambda row: row[0], max_size=8)


def made(rows: list[tuple[int, int]], output: int = 1) -> Session:
    hand = Hand()
    for name, version in rows:
        hand.prompt(f"{name} {version}", id=f"m{name}", usage=TokenUsage(output=output))
        hand.store._rows[-1] = f"{name} {version}".encode()
    return hand.session


def keys(session: Session) -> list[int]:
    return list(session.messages.key)


def differences(old: Session, new: Session) -> list[Change]:
    note_changes(old, new)
    return Seen(old).changes(new)


@given(TEXTS, TEXTS)
def test_the_changes_lead_from_the_old_to_the_new(before, after):
    old, new = made(before), made(after)
    seen, stays = Seen(old), note_changes(old, new)
    changes = seen.changes(new)
    left = [key for i, key in enumerate(keys(old)) if Change(Op.REMOVED, i) not in changes]
    for change in changes:
        if change.op is Op.APPENDED:
            left.insert(change.message, new.messages.key[change.message])
    assert left == keys(new)
    assert stays == (keys(new)[: len(before)] == keys(old))
    came = {c.message for c in changes if c.op is Op.APPENDED}
    updated = {c.message for c in changes if c.op is Op.UPDATED}
    versions = dict(before)
    changed = {i for i, (name, version) in enumerate(after) if i not in came and versions[name] != version}
    assert changed <= updated and not came & updated


@given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=6))
def test_who_looks_seldom_is_told_all_that_who_looks_always_is(steps):
    session = made(steps[0][0])
    seldom = Seen(session)
    known = {key: steps[0][0][i] for i, key in enumerate(keys(session))}
    for rows, look in [*steps[1:], (steps[-1][0], True)]:
        new = made(rows)
        note_changes(session, new)
        session = new
        if not look:
            continue
        touched = {c.message for c in seldom.changes(session) if c.op is not Op.REMOVED}
        for index, key in enumerate(keys(session)):
            if index not in touched:
                assert known[key] == rows[index]
        known = {key: rows[i] for i, key in enumerate(keys(session))}


def test_messages_that_change_and_come_in_one_session():
    hand = Hand()
    hand.prompt("one")
    hand.prompt("two")
    seen, other = Seen(hand.session), Seen()
    assert seen.changes(hand.session) == []
    hand.session.note_change(1)
    hand.session.note_change(0)
    hand.prompt("three")
    hand.session.note_change(2)
    assert seen.changes(hand.session) == [Change(Op.UPDATED, 0), Change(Op.UPDATED, 1), Change(Op.APPENDED, 2)]
    assert seen.changes(hand.session) == []
    hand.session.note_change(0)
    assert seen.changes(hand.session) == [Change(Op.UPDATED, 0)]
    assert other.changes(hand.session) == [Change(Op.RESTARTED)]


def test_nothing_changed():
    assert differences(made([(1, 0), (2, 0)]), made([(1, 0), (2, 0)])) == []


def test_a_title_that_changed_alone_changes_no_message():
    old, new = made([(1, 0), (2, 0)]), made([(1, 0), (2, 0)])
    new.title = "Something else"
    assert differences(old, new) == []


def test_a_total_that_changed_alone_is_said_of_the_last_message():
    assert differences(made([(1, 0), (2, 0)]), made([(1, 0), (2, 0)], output=2)) == [Change(Op.UPDATED, 1)]

"""What `differences` says leads from the old session to the new one, for any two sessions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import differences, only_grew
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


@given(TEXTS, TEXTS)
def test_the_changes_lead_from_the_old_to_the_new(before, after):
    old, new = made(before), made(after)
    changes = differences(old, new)
    left = [key for i, key in enumerate(keys(old)) if Change(Op.REMOVED, i) not in changes]
    for change in changes:
        if change.op is Op.APPENDED:
            left.insert(change.message, new.messages.key[change.message])
    assert left == keys(new)
    assert only_grew(old, changes) == (keys(new)[: len(before)] == keys(old))
    came = {c.message for c in changes if c.op is Op.APPENDED}
    updated = {c.message for c in changes if c.op is Op.UPDATED}
    versions = dict(before)
    changed = {i for i, (name, version) in enumerate(after) if i not in came and versions[name] != version}
    assert changed <= updated and not came & updated


def test_nothing_changed():
    assert differences(made([(1, 0), (2, 0)]), made([(1, 0), (2, 0)])) == []


def test_a_title_that_changed_alone_changes_no_message():
    old, new = made([(1, 0), (2, 0)]), made([(1, 0), (2, 0)])
    new.title = "Something else"
    assert differences(old, new) == []


def test_a_total_that_changed_alone_is_said_of_the_last_message():
    assert differences(made([(1, 0), (2, 0)]), made([(1, 0), (2, 0)], output=2)) == [Change(Op.UPDATED, 1)]

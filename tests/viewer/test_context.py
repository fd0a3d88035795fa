"""What filled a session's context, from the figures of its calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.usage import TokenUsage
from tests.support import Hand
from viewer.usage.context import addition_lines, additions


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9_000)), max_size=8))
def test_additions_add_up_to_the_largest_context_and_hold_each_message_once(calls: list[tuple[int, int]]) -> None:
    hand, context = Hand(), 1
    for notes, more in calls:
        for _ in range(notes):
            hand.prompt("next")
        context += more
        hand.text("done", usage=TokenUsage(10, 1, context - 10 if context > 10 else 0, 0))
    found = additions(hand.session)
    assert found == sorted(found, key=lambda one: -one.tokens) and all(one.tokens > 0 for one in found)
    contexts = [hand.session.groups.usage[group].context or 0 for group in range(len(hand.session.groups))]
    assert sum(one.tokens for one in found) == max(contexts, default=0)
    named = [index for one in found for index in one.messages]
    assert len(named) == len(set(named))
    assert len(list(addition_lines(hand.session))) == min(len(found), 8)


@given(st.lists(st.integers(1, 9_000), min_size=1, max_size=8))
def test_an_exchange_has_the_additions_that_the_session_has_in_it(steps: list[int]) -> None:
    hand, context = Hand(), 0
    for step in steps:
        context += step
        hand.prompt("next")
        hand.text("done", usage=TokenUsage(context, 1, 0, 0))
    session = hand.session
    for exchange in range(len(session.exchanges)):
        own = [one for one in additions(session) if session.groups.exchange[one.group] == exchange]
        assert additions(session, exchange) == own

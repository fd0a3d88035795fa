"""The figures under a transcript."""

from __future__ import annotations

import pytest

from schemas.session import Subagent
from schemas.usage import TokenUsage
from tests.support import Hand
from viewer.transcript.status import totals_line
from viewer.usage.family import FamilyUsage


def line(hand: Hand, family: FamilyUsage) -> str:
    return totals_line(hand.session, family).plain


@pytest.mark.parametrize(
    ("used", "said"), [(1_500, "<1"), (2_000, "1"), (100_000, "50"), (199_999, "99"), (200_000, "100")]
)
def test_what_is_used_of_the_context_is_never_nothing(used: int, said: str) -> None:
    hand = Hand()
    hand.session.context_used, hand.session.context_window = used, 200_000
    assert f"context {said} %" in line(hand, FamilyUsage())


def test_with_subagents_is_never_less_than_without() -> None:
    hand, child = Hand(), Hand()
    for one, fresh in ((hand, 1_000), (child, 1_500)):
        one.prompt("Fix the lamp")
        one.text("done", usage=TokenUsage(fresh, 2_000 - fresh, 0, 0))
    hand.session.subagents.append(Subagent("a", session=child.session))  # within the same source
    family = FamilyUsage()
    list(family.run(hand.session))
    assert "2k tokens · 4k with subagents" in line(hand, family)
    hand.text("more", usage=TokenUsage(5_000, 0, 0, 0))
    assert "7k tokens · 9k with subagents" in line(hand, family)


def test_what_cannot_be_read_is_not_said_to_be_counted() -> None:
    hand = Hand()
    hand.session.subagents.append(Subagent("a"))
    family = FamilyUsage()
    list(family.run(hand.session))
    assert "subagents not included" in line(hand, family)


@pytest.mark.parametrize("own", [True, False])
def test_a_total_with_what_has_no_figures_is_at_least_that(own: bool) -> None:
    hand, child = Hand(), Hand()
    for one in (hand, child):
        one.prompt("Fix the lamp")
        one.text("done", usage=TokenUsage(1_500, 500, 0, 0) if (one is hand) == own else None)
    hand.text("more", usage=TokenUsage(1_000, 0, 0, 0) if own else None)
    hand.session.subagents.append(Subagent("a", session=child.session))
    family = FamilyUsage()
    list(family.run(hand.session))
    assert family.unmetered is own and hand.session.is_unmetered is not own
    assert ("2k+ with subagents" in line(hand, family)) is not own  # else it is no other than the session's

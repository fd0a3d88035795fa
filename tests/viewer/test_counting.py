"""Which of several sessions a response belongs to that lies in all of them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from schemas.session import Lineage
from viewer.counting import Origin, in_order_made


def origin(name: str, created: float | None = 0, updated: float | None = 0, **lineage: str) -> Origin:
    return Origin(Path(f"/{name}.jsonl"), name, created, updated, Lineage(**lineage))


def names(origins: list[Origin]) -> str:
    return "".join(one.id for one in in_order_made(origins))


def test_what_began_first_goes_first_and_of_the_rest_what_ended_first() -> None:
    sessions = [origin("a", 5, 9), origin("b", 1, 8), origin("c", 1, 4), origin("d", None, None)]
    assert {names(list(order)) for order in permutations(sessions)} == {"cbad"}


def test_a_fork_goes_behind_its_parent_even_one_that_went_on_longer() -> None:
    sessions = [
        origin("a", 0, 5, forked_from="b"),
        origin("b", 0, 99),
        origin("c", 0, 7, continues="a"),
        origin("d", 0, 1, parent="gone"),
    ]
    assert {names(list(order)) for order in permutations(sessions)} == {"dbac"}


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.none() | st.sampled_from("abcdef")), max_size=6))
def test_each_stays_whatever_they_say_of_each_other(links: list[tuple[str, str | None]]) -> None:
    """Also where two files hold one id, and where the lineage goes in a circle."""
    sessions = [
        Origin(Path(f"/{number}"), name, 0, number, Lineage(forked_from=other))
        for number, (name, other) in enumerate(links)
    ]
    assert sorted(one.updated or 0 for one in in_order_made(sessions)) == list(range(len(sessions)))

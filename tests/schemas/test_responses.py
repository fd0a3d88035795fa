"""The ledger: which copy of a response counts, with what figures, and for which of the sessions that have it."""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.costs.responses import NOBODY, Ledger, Origin, Response, Source, Table, each_once, in_order_made
from schemas.session import Lineage
from schemas.usage import TokenUsage


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


# -- the ledger ------------------------------------------------------------------------------------------------------

A, B, C = TokenUsage(1, 1), TokenUsage(1, 5), TokenUsage(2, 2)


def row(
    path: str, key: int, usage: TokenUsage = A, *, member: int = 0, inherited: bool = False, name: int = 0
) -> Response:
    source = Source("claude", path, path, path, None)
    return Response(source, "claude", "m", 5.0, usage, key, name, member, inherited)


def settled(*sessions: list[Response]) -> list[tuple[str, int, TokenUsage | None]]:
    """What a ledger says of each row, own ones first: whose copy counts, its key and, where it is the row's own, the
    figures.
    """
    ledger = Ledger()
    ledger.compare([Table.of(rows) for rows in sessions])
    found = [one for rows in sessions for one in ledger.settle(rows)] + list(ledger.settle_inherited())
    return [(holder.path if holder else "", one.key, None if holder else one.usage) for one, holder in found]


def test_a_response_counts_once_with_the_figures_of_its_fullest_copy() -> None:
    one, two = [row("a", 1, A), row("a", 1, C), row("a", 2, C)], [row("b", 1, B), row("b", 3, A)]
    assert settled(one, two, [row("c", 3, B)]) == [
        ("", 1, TokenUsage(2, 5)),  # of several with one key in a session the first is what was copied
        ("", 1, C),
        ("", 2, C),
        ("a", 1, None),
        ("", 3, B),
        ("b", 3, None),
    ]


def test_a_session_alone_is_compared_with_its_subagents() -> None:
    rows = [row("a", 1, A), row("a", 1, B, member=1), row("a", 2, C, member=1), row("a", 2, A, member=2)]
    for one in rows:
        one.priced, one.cost = True, 1.0
    counted = [(one.member, one.usage, one.own, one.priced) for one in each_once(rows)]
    assert counted == [(0, B, A, False), (1, C, None, True)], "what other figures cost is not known yet"
    assert [one.usage for one in rows] == [A, B, C, A], "the rows themselves stay as they are"


@pytest.mark.parametrize("there", [False, True])
def test_what_was_inherited_counts_only_where_nobody_has_it(there: bool) -> None:
    forks = [[row("b", 1, A, inherited=True), row("b", 2, C)], [row("c", 1, B, inherited=True)]]
    own = [[row("a", 1, A)]] if there else []
    assert settled(*own, *forks) == [
        *([("", 1, B)] if there else []),
        ("", 2, C),
        *([("a", 1, None)] if there else [("", 1, B)]),
        ("a" if there else "b", 1, None),
    ]


def test_what_was_inherited_with_other_times_is_known_by_its_session_and_id() -> None:
    """Two forks of a session that is there, and two of one that is gone: what they have has other keys everywhere."""
    own = [row("a", 1, A, name=7)]
    forks = [
        [row(path, key, B, inherited=True, name=name)] for path, key, name in (("b", 2, 7), ("c", 3, 8), ("d", 4, 8))
    ]
    assert settled(own, *forks) == [("", 1, A), ("a", 2, None), ("", 3, B), ("c", 4, None)]


@given(st.lists(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([A, B, C])), max_size=6), max_size=5))
def test_what_another_session_counted_is_a_copy(sessions: list[list[tuple[int, TokenUsage]]]) -> None:
    rows = [[row(str(number), key, usage) for key, usage in keys] for number, keys in enumerate(sessions)]
    first: dict[int, str] = {}
    expected = []
    for number, keys in enumerate(sessions):
        for key, _ in keys:
            holder = first.setdefault(key, str(number))
            expected.append((holder if holder != str(number) else "", key))
    found = settled(*rows)
    assert [(holder, key) for holder, key, _ in found] == expected
    for key in {key for _, key, _ in found}:
        figures = [usage for keys in sessions for name, usage in keys if name == key]
        several = sum(any(name == key for name, _ in keys) for keys in sessions) > 1
        counted = next(usage for _, name, usage in found if name == key and usage is not None)
        assert counted == (reduce(TokenUsage.largest, figures) if several else figures[0])


FIGURE = st.none() | st.integers(0, 2**62)
ROWS = st.builds(
    lambda key, figures, time, model, member, inherited: Response(
        NOBODY, "", model, time, TokenUsage(*figures), key, -key, member, inherited
    ),
    st.integers(-(2**62), 2**62),
    st.tuples(*[FIGURE] * 6),
    st.none() | st.integers(0, 2**40),
    st.sampled_from(["", "m", "n"]),
    st.integers(0, 9),
    st.booleans(),
)


@given(st.lists(ROWS, max_size=6))
def test_a_table_holds_what_is_put_in(rows: list[Response]) -> None:
    table = Table.of(rows)
    assert list(table.rows()) == list(Table.from_bytes(table.to_bytes()).rows()) == rows
    assert list(table.keys()) == [one.key for one in rows]


def test_a_table_of_events_counts_as_far_as_they_do() -> None:
    most = TokenUsage(2**64 - 1)
    assert [one.usage for one in Table.of([row("a", 1, most)]).rows()] == [most]

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.changed_words import changed_words, changes_in

WORDS = st.lists(st.sampled_from(["a", "b", "name", " ", "  ", "(", ")", "漢字", "\t"]), max_size=20).map("".join)
LINES = st.lists(st.tuples(st.sampled_from(" +-"), WORDS).map("".join), max_size=30)


@pytest.mark.parametrize(
    ("old", "new", "gone", "came"),
    [
        ("return a + 1", "return a + 2", ["1"], ["2"]),
        ("f(first, second)", "f(first, second, third)", [], [", third"]),
        ("    x = y", "x = y", ["    "], []),
        ("total = one two three", "total = four five three", ["one two"], ["four five"]),
        ("entirely different", "nothing in common", [], []),
        ("same words", "same words", [], []),
        ("x " * 501, "y " * 501, [], []),  # longer than 1,000 characters
        ("日本語 = 1", "日本語 = 2", ["1"], ["2"]),
    ],
)
def test_words_that_changed(old: str, new: str, gone: list[str], came: list[str]) -> None:
    spots = changed_words(old, new)
    assert [[line[a:b] for a, b in found] for line, found in zip((old, new), spots, strict=True)] == [gone, came]


@given(WORDS, WORDS)
def test_what_is_not_marked_is_the_same_on_both_sides(old: str, new: str) -> None:
    outside = []
    for line, spots in zip((old, new), found := changed_words(old, new), strict=True):
        assert spots == sorted(spots) and all(0 <= a < b <= len(line) for a, b in spots)
        assert all(before[1] < after[0] for before, after in pairwise(spots))
        cuts = [0, *(edge for spot in spots for edge in spot), len(line)]
        outside.append("".join(line[a:b] for a, b in zip(cuts[::2], cuts[1::2], strict=True)))
    if any(found):
        assert outside[0].split() == outside[1].split() or "".join(outside[0].split()) == "".join(outside[1].split())


@given(LINES)
def test_each_line_stands_once_in_order_whichever_way_it_is_drawn(lines: list[str]) -> None:
    changes = list(changes_in(lines))
    assert [line.at for change in changes for line in (*change.removed, *change.added)] == list(range(len(lines)))
    for change in changes:
        pairs = list(change.beside())
        assert [one for one, _ in pairs if one] == change.removed
        assert [other for _, other in pairs if other] == change.added


def test_lines_that_belong_together_stand_beside_each_other() -> None:
    (change,) = changes_in(["-first(a)", "-second(b)", "+new = 1", "+first(a, 1)", "+second(c)"])
    assert [(one and one.at, other and other.at) for one, other in change.beside()] == [(None, 2), (0, 3), (1, 4)]


def test_a_file_that_was_written_anew_is_not_compared_word_by_word() -> None:
    lines = [f"-value {n}" for n in range(300)] + [f"+value {n} x" for n in range(300)]
    assert not any(line.spots for change in changes_in(lines) for line in (*change.removed, *change.added))

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.usage import TokenUsage, UsageColumns, as_count, total_usage

count = st.none() | st.integers(0, 1 << 40)
usages = st.builds(TokenUsage, count, count, count, count, count, count)


def test_a_total_counts_each_piece_once():
    usage = TokenUsage(input=3, output=5, cache_read=7, cache_write=11, reasoning=2, cache_write_1h=4)
    assert usage.total == 26
    assert usage.context == 21


def test_unknown_is_not_nought():
    assert TokenUsage().total is None
    assert TokenUsage(reasoning=5).total is None
    assert TokenUsage(output=0).total == 0
    assert TokenUsage(output=5).context is None
    assert TokenUsage(input=1) + TokenUsage(output=2) == TokenUsage(input=1, output=2)
    assert total_usage([]) is None
    assert total_usage([None, None]) is None
    assert total_usage([None, TokenUsage(input=0)]) == TokenUsage(input=0)


@given(usages, usages, usages)
def test_sums_and_maxima_do_not_depend_on_order(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + TokenUsage() == a
    assert a.largest(b) == b.largest(a)
    assert a.largest(a) == a
    assert a.largest(b).largest(c) == a.largest(b.largest(c))


@given(st.lists(usages, max_size=6))
def test_the_total_of_a_sum_is_the_sum_of_the_totals(many):
    total = total_usage(many)
    known = [usage.total for usage in many if usage.total is not None]
    assert (total.total if total else None) == (sum(known) if known else None)


@given(usages)
def test_the_json_object_is_read_back(usage):
    data = usage.to_json()
    assert list(data) == [
        "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "totalTokens",
    ]  # fmt: skip
    assert TokenUsage.from_json(data | {"cacheWrite1hTokens": usage.cache_write_1h}) == usage


@given(st.lists(usages, max_size=6))
def test_columns_keep_what_they_are_given(many):
    columns = UsageColumns()
    assert [columns.append(usage) for usage in many] == list(range(len(many)))
    assert [columns[i] for i in range(len(columns))] == many
    for i, usage in enumerate(reversed(many)):
        columns[i] = usage
    assert [columns[i] for i in range(len(columns))] == many[::-1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5), (0, 0), (5.0, 5), (None, None), ("5", 5), ("", None), ("5 ", None), ("9" * 20, None),
        (True, None), (-1, None), (5.5, None), (math.nan, None),
        (math.inf, None), (1 << 62, None), (1e30, None), ([], None),
    ],
)  # fmt: skip
def test_what_counts_as_a_count(value, expected):
    assert as_count(value) == expected


LARGE = st.none() | st.integers(0, (1 << 64) - 1) | st.integers(0, 9)


@given(st.lists(st.builds(TokenUsage, LARGE, LARGE, LARGE, LARGE), min_size=1, max_size=5))
def test_columns_hold_what_64_bits_do(many):
    columns, small = UsageColumns(), UsageColumns()
    for usage in many:
        columns.append(usage)
        small.append(TokenUsage(1))
    for index, usage in enumerate(many):
        small[index] = usage
    for one in (columns, small):
        assert [one[i] for i in range(len(one))] == many
        assert one.total() == total_usage(many)

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.facts import (
    cost_fact,
    exchange_facts,
    format_age,
    format_cost,
    format_count,
    format_exact,
    format_seconds,
    format_size,
    iso_time,
    lack_names,
    lacks_line,
    short_model,
    usage_line,
    utc_time,
)
from schemas.costs.responses import Tally
from schemas.session import Lack
from schemas.usage import TokenUsage
from tests.support import START, Hand


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0.4 s"),
        (9.96, "10 s"),
        (41.2, "41 s"),
        (59.7, "1 m"),
        (192, "3 m 12 s"),
        (3840, "1 h 4 m"),
        (183_600, "2 d 3 h"),
        (None, "?"),
        (-1, "?"),
        (math.nan, "?"),
        (math.inf, "?"),
    ],
)
def test_seconds(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


def test_ages() -> None:
    days = [day * 86_400 for day in (3, 13, 15, 280, 900)]
    assert [format_age(s) for s in (-5, 12, 90, 7300, *days)] == [
        "0 s", "12 s", "1 m", "2 h", "3 d", "13 d", "2 w", "40 w", "2 y",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1_234, "1.2k"), (9_999, "10k"), (312_456, "312k"), (999_600, "1M"), (1_900_000, "1.9M")],
)
def test_counts(count: int, text: str) -> None:
    assert format_count(count) == text


def test_unknown_is_never_zero() -> None:
    assert format_count(None) == format_exact(None) == format_size(None) == "?"
    assert usage_line(None) == usage_line(TokenUsage()) == "tokens unknown"
    assert "cache write unknown" in usage_line(TokenUsage(1, 2, 3, None))


def test_sizes() -> None:
    assert [format_size(n) for n in (812, 3500, 57 << 20)] == ["812 B", "3.4 KB", "57 MB"]


@given(st.integers(0, 2**64))
def test_a_count_is_short_and_near(count: int) -> None:
    text = format_count(count)
    unit = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}.get(text[-1], 1)
    value = float(text.rstrip("kMGTPE")) * unit
    assert len(text) <= 5
    assert abs(value - count) <= 0.051 * max(count, 1)


def test_usage_line() -> None:
    usage = TokenUsage(4_000, 5_000, 30_000, 2_000, reasoning=1_000)
    assert usage_line(usage) == "41k tokens: in 4k · cache read 30k · cache write 2k · out 5k (thinking 1k)"
    assert usage_line(TokenUsage(312_456, 1), format_exact).startswith(
        "312,457 tokens: in 312,456 · cache read unknown"
    )


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("claude-opus-4-5-20251101", "opus-4.5"),
        ("claude-3-5-sonnet-20241022", "sonnet-3.5"),
        ("claude-3-5-haiku-latest", "haiku-3.5"),
        ("claude-sonnet-4-20250514", "sonnet-4"),
        ("claude-opus-5", "opus-5"),
        ("claude-opus-4-1@20250805", "opus-4.1"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet-4.5"),
        ("anthropic/claude-sonnet-4.5", "sonnet-4.5"),
        ("gpt-5.1-codex-max", "gpt-5.1-codex-max"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("postgres://app:pass/word@db/x", "postgres://app:pass/word@db/x"),
        ("<synthetic>", ""),
        (None, ""),
    ],
)
def test_short_model(name: str | None, short: str) -> None:
    assert short_model(name) == short


def test_times() -> None:
    assert iso_time(START) == "2026-05-28T20:26:40Z"
    assert utc_time(START) == "2026-05-28 20:26 UTC"
    assert utc_time(1e18) == "?"


def test_exchange_facts() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text("gone", usage=TokenUsage(1_000, 200, 40_000, 0))
    assert exchange_facts(hand.session, 0, utc_time) == ["2026-05-28 20:26 UTC", "5 s", "opus-5", "41k"]


def test_a_cost_stands_behind_the_tokens() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text("gone", usage=TokenUsage(1_000, 200, 40_000, 0))
    assert exchange_facts(hand.session, 0, cost="$0.08+")[-2:] == ["41k", "$0.08+"]
    hand.prompt("and now?")
    assert not any("$" in fact for fact in exchange_facts(hand.session, 1, cost="$0.00")), "no tokens, no cost"


def test_exchange_facts_leave_out_what_is_unknown() -> None:
    hand = Hand()
    hand.prompt("go", model=None)
    hand.session.exchanges[0].started = hand.session.exchanges[0].ended = None
    assert exchange_facts(hand.session, 0) == []


@pytest.mark.parametrize(
    ("lacks", "text"),
    [
        ([], ""),
        ([Lack.TIMES], "source gives no times"),
        ([Lack.RESULTS, Lack.TIMES, Lack.TOKENS], "source gives no tokens, times, tool results"),
        (list(Lack), "source gives no tokens, times, thinking, tool results"),
    ],
)
def test_what_a_source_does_not_give_is_named(lacks, text):
    assert lacks_line(lack_names(lacks)) == text


def test_every_lack_has_its_place():
    assert sorted(lack_names(list(Lack))) == sorted(lack.value for lack in Lack)


def test_a_cost_of_which_a_part_is_unknown_says_so() -> None:
    costs = (None, 0.0, 0.084)
    assert [cost_fact(Tally(cost=cost)) for cost in costs] == ["", "$0.00", "$0.08"]
    assert [cost_fact(Tally(cost=cost, unpriced=frozenset({"x"}))) for cost in costs] == ["", "", "$0.08+"]


def test_costs() -> None:
    costs = (None, 0, 0.00421, 0.01, 1.375, 999.4, 1204.4)
    assert [format_cost(cost) for cost in costs] == ["?", "$0.00", "$0.0042", "$0.01", "$1.38", "$999.40", "$1,204"]
    assert {format_cost(float(cost)) for cost in ("inf", "-inf", "nan")} == {"?"}

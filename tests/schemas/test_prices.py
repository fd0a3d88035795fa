from __future__ import annotations

import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.costs.price_book import read_book
from schemas.costs.prices import Prices
from schemas.usage import Call, TokenUsage

WHEN = datetime(2026, 3, 4, tzinfo=UTC).timestamp()
BOOK = read_book(
    {
        "provider_aliases": {"anthropic": "claude"},
        "providers": {
            "claude": {"models": {"claude-opus-4-5": {"input_usd_per_mtok": 1000, "output_usd_per_mtok": 0}}},
        },
    }
)
COUNTS = st.integers(0, 400_000)
MODELS = ["claude-opus-4-5-20251101", "claude-sonnet-4-5", "gpt-5.4", "gpt-5-codex", "gemini-3-pro-preview", "kimi-k2"]


@pytest.mark.parametrize("model", MODELS)
@given(st.data())
def test_costs_are_those_of_genai_prices(model: str, data: st.DataObject) -> None:
    """What it takes for input holds the cache too."""
    import genai_prices

    fresh, read, five, hour, output = (data.draw(COUNTS) for _ in range(5))
    usage = TokenUsage(fresh, output, read, five + hour, None, hour)
    theirs = genai_prices.Usage(
        input_tokens=fresh + read + five + hour,
        cache_read_tokens=read,
        cache_write_tokens=five + hour,
        cache_write_1h_tokens=hour,
        output_tokens=output,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        price = genai_prices.calc_price(theirs, model, genai_request_timestamp=datetime.fromtimestamp(WHEN, UTC))
    assert Prices().cost("any", model, Call(usage), WHEN) == pytest.approx(float(price.total_price), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
@given(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS))
def test_the_parts_of_a_cost_are_those_of_each_kind_alone_and_add_up(model: str, counts: tuple[int, ...]) -> None:
    """By the prices that hold for the whole call: where they depend on its size only the sum is the same."""
    usage = TokenUsage(*counts)
    parts = Prices().parts("any", model, Call(usage), WHEN)
    assert parts is not None
    assert (
        sum(parts.by_kind().values())
        == pytest.approx(parts.total)
        == pytest.approx(Prices().cost("any", model, Call(usage), WHEN))
    )
    for kind, count in zip(("input", "output", "cacheRead", "cacheWrite"), counts, strict=True):
        assert (parts.by_kind()[kind] > 0) == (count > 0)


def test_an_hour_of_cache_costs_more_than_five_minutes():
    prices = Prices()
    five = prices.cost("claude", "claude-opus-4-5", Call(TokenUsage(cache_write=1_000_000)), WHEN)
    hour = prices.cost(
        "claude", "claude-opus-4-5", Call(TokenUsage(cache_write=1_000_000, cache_write_1h=1_000_000)), WHEN
    )
    assert (five, hour) == (6.25, 10.0)


@pytest.mark.parametrize(
    "model", ["composer-of-tomorrow", "<synthetic>", "unknown", "", None, "claude-nobody-9", "a/b"]
)
def test_an_unknown_model_has_no_price(model):
    assert Prices().cost("claude", model, Call(TokenUsage(10, 10)), WHEN) is None


def test_a_piece_without_a_price_is_not_free():
    book = Prices().cost("x", "text-embedding-3-small", Call(TokenUsage(10, 10)), WHEN)
    assert book is None


@pytest.mark.parametrize(
    "model", ["anthropic/claude-sonnet-4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5[1m]"]
)
def test_names_of_resellers_are_found(model):
    assert Prices().cost("claude", model, Call(TokenUsage(1_000_000, 0)), WHEN)


def test_a_persons_book_goes_first_and_the_rest_is_as_before():
    prices = Prices(BOOK)
    call = Call(TokenUsage(1_000_000, 0))
    assert prices.cost("anthropic", "claude-opus-4-5", call, WHEN) == 1000
    assert prices.cost("claude", "claude-haiku-4-5", call, WHEN) == Prices().cost(
        "claude", "claude-haiku-4-5", call, WHEN
    )
    assert prices.cost("openrouter", "claude-opus-4-5", call, WHEN) == 5


def test_a_price_that_changes_with_the_hour():
    prices, call = Prices(), Call(TokenUsage(1_000_000, 0))
    day, night = (
        prices.cost("x", "deepseek-chat", call, datetime(2025, 3, 4, hour, tzinfo=UTC).timestamp()) for hour in (8, 20)
    )
    assert day and night and night < day


@pytest.mark.parametrize("time", [None, 1e18, float("1e300")])
def test_an_odd_time_costs_what_it_does_today(time):
    assert Prices().cost("claude", "claude-opus-4-5", Call(TokenUsage(1_000_000, 0)), time) == 5


def test_it_is_imported_with_the_first_cost_only():
    code = (
        "import sys; from schemas.costs.prices import Prices; Prices();"
        "import viewer.commands.usage, viewer.commands.snapshot, viewer.commands.events;"
        "print('genai_prices' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "False"

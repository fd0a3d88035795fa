"""Prices of model calls, in US dollars: by a person's price book, and for what is not in it by genai-prices.

genai-prices is a package of price tables by model and time, with what changes above a size of input, and with cache
writes for 5 minutes and for an hour told apart. It is used offline only: nothing in here starts its updates. Importing
it takes half a second, so that happens with the first cost that is asked for. A model without a price costs None,
never 0.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from schemas.agents import id_called, published_of
from schemas.costs.price_book import PriceBook, Rates
from schemas.usage import Call

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

MTOK = 1e6


class CostParts(NamedTuple):
    """US dollars of a call by the kind of token."""

    input: float
    output: float
    cache_write: float
    cache_read: float
    tool_input: float = 0.0
    """Of tokens that tools read, where a price book has a rate for them; else they are in `input`."""
    tool_output: float = 0.0

    @property
    def total(self) -> float:
        """The cost of the call. Not `sum`, which newer Pythons round otherwise (`book_parts`)."""
        fresh, output, write, read, tool_input, tool_output = self
        return fresh + output + write + read + tool_input + tool_output

    def by_kind(self) -> dict[str, float]:
        """The same by the names of token figures, tools' tokens with the others."""
        return {
            "input": self.input + self.tool_input,
            "cacheRead": self.cache_read,
            "cacheWrite": self.cache_write,
            "output": self.output + self.tool_output,
        }


class Prices:
    """The prices to use: `book` goes before genai-prices."""

    def __init__(self, book: PriceBook | None = None) -> None:
        self.book = book
        self._models: dict[tuple[str, str], ModelInfo | None] = {}
        self._scales: dict[int, _Scales] = {}

    @staticmethod
    def load() -> None:
        """Import the tables of genai-prices now, not with the first cost."""
        from genai_prices.data_snapshot import get_snapshot

        get_snapshot()

    def cost(self, provider: str, model: str | None, call: Call, time: float | None) -> float | None:
        """US dollars for a call; None where the model has no price. `time` is in seconds since 1970; where it is not
        known, today's price is taken.
        """
        parts = self.parts(provider, model, call, time)
        return None if parts is None else parts.total

    def parts(self, provider: str, model: str | None, call: Call, time: float | None) -> CostParts | None:
        """US dollars for a call as in `cost`, each kind of token by itself."""
        if not model:
            return None
        if self.book is not None and (rates := self.book.rates(provider, model)) is not None:
            return book_parts(rates, call)
        return self._default_parts(provider, model, call, time)

    def _default_parts(self, provider: str, model: str, call: Call, time: float | None) -> CostParts | None:
        try:
            info = self._models[provider, model]
        except KeyError:
            info = self._models[provider, model] = _find(provider, model)
        if info is None:
            return None
        # Few models have prices that depend on the time, which takes longer to look up than all the rest.
        price = info.get_prices(_moment(time)) if isinstance(info.prices, list) else info.prices
        scales = self._scales.get(id(price))
        if scales is None:
            scales = self._scales[id(price)] = _scales(price)  # the tables live as long as the process
        return scales.parts(call)


def book_parts(rates: Rates, call: Call) -> CostParts:
    """Return the cost of a call by a price book. The order of the sum is that of the format's producer, so that figures
    agree to the last bit (formats note 3.4).
    """
    usage = call.usage
    return CostParts(
        (usage.input or 0) / MTOK * rates.input,
        (usage.output or 0) / MTOK * rates.output,
        (usage.cache_write or 0) / MTOK * rates.cache_write,
        (usage.cache_read or 0) / MTOK * rates.cache_read,
        call.tool_input / MTOK * rates.tool_input,
        call.tool_output / MTOK * rates.tool_output,
    )


# -- genai-prices ----------------------------------------------------------------------------------------------------


class _Scale(NamedTuple):
    """A price for a million tokens: `base`, or that of the highest tier whose start the whole input exceeds."""

    base: float
    tiers: tuple[tuple[int, float], ...] = ()

    def at(self, whole_input: int) -> float:
        price = self.base
        for start, above in self.tiers:
            if whole_input > start:
                price = above
        return price


class _Scales(NamedTuple):
    """A model's prices, each piece of usage with the one that holds for it; None where there is none."""

    input: _Scale | None
    output: _Scale | None
    cache_read: _Scale | None
    cache_write: _Scale | None
    cache_write_1h: _Scale | None
    reasoning: _Scale | None

    def parts(self, call: Call) -> CostParts | None:
        usage = call.usage
        written, hour = usage.cache_write or 0, min(usage.cache_write_1h or 0, usage.cache_write or 0)
        thought = min(usage.reasoning or 0, usage.output or 0)
        whole_input = (usage.context or 0) + call.tool_input  # as genai-prices counts it: cache is inside
        dollars = []
        for tokens, scale in (
            ((usage.input or 0) + call.tool_input, self.input),
            (usage.cache_read or 0, self.cache_read),
            (written - hour, self.cache_write),
            (hour, self.cache_write_1h),
            ((usage.output or 0) - thought + call.tool_output, self.output),
            (thought, self.reasoning),
        ):
            if tokens and scale is None:
                return None
            dollars.append(tokens * scale.at(whole_input) / MTOK if tokens and scale is not None else 0.0)
        fresh, read, minutes, hours, said, thinking = dollars
        return CostParts(fresh, said + thinking, minutes + hours, read)


def _scales(price: ModelPrice) -> _Scales:
    """A piece that has no price of its own costs what the piece costs that it is part of, as in genai-prices."""
    whole = _scale(price.input_mtok)
    output = _scale(price.output_mtok)
    write = _scale(price.cache_write_mtok) or whole
    return _Scales(
        whole,
        output,
        _scale(price.cache_read_mtok) or whole,
        write,
        _scale(price.cache_write_1h_mtok) or write,
        _scale(price.output_reasoning_mtok) or output,
    )


def _scale(price: Decimal | TieredPrices | None) -> _Scale | None:
    from genai_prices.types import TieredPrices

    if price is None:
        return None
    if isinstance(price, TieredPrices):
        return _Scale(float(price.base), tuple((tier.start, float(tier.price)) for tier in price.tiers))
    return _Scale(float(price))


def _find(provider: str, model: str) -> ModelInfo | None:
    """The model in the tables: as the agent's maker sells it, by its own name, or by its name with a reseller."""
    from genai_prices.data_snapshot import get_snapshot

    if model.endswith(")") and " (" in model:
        return None  # a mark that makes it cost something else: a faster one, a search (faults f14)
    tables = get_snapshot()
    if seller := published_of(id_called(provider)).seller:
        found = _look_up(tables, seller, model)
        if found is not None:
            return found
    if (found := _look_up(tables, None, model)) is not None:
        return found
    if "/" in model:  # anthropic/claude-sonnet-4.5, openrouter/qwen/qwen3-coder
        seller, _, name = model.partition("/")
        for one, called in ((seller, name), ("openrouter", model)):
            if (found := _look_up(tables, one, called)) is not None:
                return found
    return _look_up(tables, "aws", model) if "." in model else None  # us.anthropic.claude-…-v1:0


def _look_up(tables: DataSnapshot, seller: str | None, model: str) -> ModelInfo | None:
    try:
        return tables.find_provider_model(model, None, seller, None)[1]
    except LookupError:
        return None


def _moment(time: float | None) -> datetime:
    if time is not None:
        try:
            return datetime.fromtimestamp(time, UTC)
        except (OverflowError, ValueError, OSError):
            pass  # a source may name the year 60000
    return datetime.now(UTC)

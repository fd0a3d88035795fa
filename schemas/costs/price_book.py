"""Price books: what a provider's models cost, as a file that people write themselves (formats note, section 3.3).

    {"meta": {"source": …, "updated_at": …}, "provider_aliases": {"anthropic": "claude"},
     "providers": {"claude": {"subscription_usd_month": 30, "model_aliases": {"sonnet": "claude-sonnet-4-5"},
                              "models": {"claude-sonnet-4-5": {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15}}}}}

Rates are US dollars a million tokens. A name is looked up as it is, after at most one alias.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.documents import keys_of
from schemas.interchange.json_text import BOM, read_json
from schemas.interchange.verdicts import schema_findings
from schemas.values import dict_of, text_of

_RATES = ("input", "output", "cache_write", "cache_read", "tool_input", "tool_output")
_UNIT = "_usd_per_mtok"
_NAMED = 5
"""Errors that the message of a BookError names."""


class BookError(ValueError):
    """A price book that cannot be used: its message names what is wrong and where, in one line."""

    def __init__(self, errors: list[str]) -> None:
        more = f"; and {len(errors) - _NAMED} more" if len(errors) > _NAMED else ""
        super().__init__("; ".join(errors[:_NAMED]) + more)
        self.errors = errors
        """All of them."""


class Rates(NamedTuple):
    """US dollars a million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float
    tool_input: float
    tool_output: float


class PriceBook(NamedTuple):
    """A price book with the rates it leaves out filled in."""

    source: str
    """Where its prices are from, as it says itself; may be empty."""
    updated_at: str
    provider_aliases: dict[str, str]
    subscriptions: dict[str, float]
    """US dollars a month, by provider."""
    model_aliases: dict[str, dict[str, str]]
    models: dict[str, dict[str, Rates]]
    warnings: list[str]
    """What is passed over in it though it looks like a rate or another key that is misspelled."""

    def provider(self, name: str) -> str:
        """The provider that a name means: what an alias points at, else the name itself."""
        return self.provider_aliases.get(name, name)

    def model(self, provider: str, name: str) -> str:
        """The model that a name means with a provider (not an alias of one)."""
        return self.model_aliases.get(provider, {}).get(name, name)

    def rates(self, provider: str, model: str) -> Rates | None:
        """Return the rates of a model; None where the book has no rate for it. Both names may be aliases."""
        provider = self.provider(provider)
        return self.models.get(provider, {}).get(self.model(provider, model))


def load_book(path: Path) -> PriceBook:
    """The book in a file. Raises OSError, and BookError for what is no price book."""
    text = read_json(path.read_bytes().removeprefix(BOM))
    if text.fault:
        raise BookError([text.fault])
    book = read_book(text.value)
    return book._replace(warnings=[*(f"{place}: {message}" for place, message in text.warnings), *book.warnings])


def read_book(value: object) -> PriceBook:
    """The book in a JSON value. Raises BookError with everything that is wrong in it."""
    errors = [f"{place or 'the book'}: {message}" for place, message in schema_findings("price-book", value)]
    root = dict_of(value)
    provider_aliases, providers = dict_of(root.get("provider_aliases")), dict_of(root.get("providers"))
    errors += _lost(provider_aliases, providers, "/provider_aliases", "provider")
    strange = list(_misspelled(root, "", ""))
    model_aliases: dict[str, dict[str, str]] = {}
    for name, provider in providers.items():
        at, models = f"/providers/{_show(name)}", dict_of(dict_of(provider).get("models"))
        model_aliases[name] = dict_of(dict_of(provider).get("model_aliases"))
        errors += _lost(model_aliases[name], models, f"{at}/model_aliases", "model")
        strange += _misspelled(provider, "provider", at)
        for called, model in models.items():
            strange += _misspelled(model, "model", f"{at}/models/{_show(called)}")
    if errors:
        raise BookError(errors + strange)
    source, updated_at = (
        one_line(text_of(dict_of(root.get("meta")).get(key)), 200) for key in ("source", "updated_at")
    )
    subscriptions = {name: float(provider.get("subscription_usd_month", 0)) for name, provider in providers.items()}
    rates = {
        name: {called: _filled(model) for called, model in provider.get("models", {}).items()}
        for name, provider in providers.items()
    }
    return PriceBook(source, updated_at, provider_aliases, subscriptions, model_aliases, rates, strange)


def _filled(model: dict[str, Any]) -> Rates:
    """Fill in rates that are not given from input and output, as the format's producer does (formats note 3.3)."""
    base, said = (float(model[f"{rate}{_UNIT}"]) for rate in ("input", "output"))
    usual = (base, said, base, base * 0.1, base, said)
    given = (model.get(f"{rate}{_UNIT}") for rate in _RATES)
    return Rates(*(other if rate is None else float(rate) for rate, other in zip(given, usual, strict=True)))


def _lost(aliases: dict[str, Any], targets: dict[str, Any], at: str, kind: str) -> list[str]:
    return [
        f"{at}/{_show(alias)}: there is no {kind} {_show(target)}"
        for alias, target in aliases.items()
        if isinstance(target, str) and target not in targets
    ]


def _misspelled(value: object, of: str, at: str) -> Iterator[str]:
    """Keys that look as if they were meant to be the format's; any other may be a note of whoever wrote the book."""
    known = keys_of("price-book", of)
    for key in (key for key in dict_of(value) if key not in known):
        close = get_close_matches(key, known, 1, 0.7)
        if close or "usd" in key.lower():
            meant = f" (`{close[0]}`?)" if close else ""
            yield f"{at}/{_show(key)}: no key of a price book{meant}, passed over"


def _show(name: str) -> str:
    return one_line(name, 60)

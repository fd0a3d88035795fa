"""Price books: what a provider's models cost, as a file that people write themselves (formats note, section 3.3).

    {"meta": {"source": …, "updated_at": …}, "provider_aliases": {"anthropic": "claude"},
     "providers": {"claude": {"subscription_usd_month": 30, "model_aliases": {"sonnet": "claude-sonnet-4-5"},
                              "models": {"claude-sonnet-4-5": {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15}}}}}

Rates are US dollars a million tokens. A name is looked up as it is, after at most one alias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.interchange.json_text import BOM, read_json
from schemas.interchange.verdicts import kind_of, shown

_RATES = ("input", "output", "cache_write", "cache_read", "tool_input", "tool_output")
_REQUIRED = ("input", "output")
_UNIT = "_usd_per_mtok"
_BOOK = ("meta", "provider_aliases", "providers")
_PROVIDER = ("subscription_usd_month", "model_aliases", "models")
_MODEL = tuple(f"{rate}{_UNIT}" for rate in _RATES)
_DEAREST = 1e9
"""More is no price, and would make sums infinite."""
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

    def subscription(self, provider: str) -> float:
        """A provider's monthly fee."""
        return self.subscriptions.get(self.provider(provider), 0.0)


def load_book(path: Path) -> PriceBook:
    """The book in a file. Raises OSError, and BookError for what is no price book."""
    text = read_json(path.read_bytes().removeprefix(BOM))
    if text.fault:
        raise BookError([text.fault])
    book = read_book(text.value)
    return book._replace(warnings=[*(f"{place}: {message}" for place, message in text.warnings), *book.warnings])


def read_book(value: object) -> PriceBook:
    """The book in a JSON value. Raises BookError with everything that is wrong in it."""
    errors: list[str] = []
    strange: list[str] = []
    root = _object(value, "the book", errors)
    strange += _misspelled(root, _BOOK, "")
    meta = {} if root.get("meta") is None else _object(root["meta"], "/meta", errors)
    models: dict[str, dict[str, Rates]] = {}
    subscriptions: dict[str, float] = {}
    model_aliases: dict[str, dict[str, str]] = {}
    if isinstance(value, dict) and "providers" not in root:
        errors.append("`providers` is missing")
    for name, said in _object(root.get("providers", {}), "/providers", errors).items():
        at = f"/providers/{_show(name)}"
        provider = _object(said, at, errors)
        strange += _misspelled(provider, _PROVIDER, at)
        fee = _number(provider.get("subscription_usd_month", 0), f"{at}/subscription_usd_month", errors)
        subscriptions[name] = fee or 0.0
        models[name] = dict(_models(provider.get("models", {}), f"{at}/models", errors, strange))
        aliases = _names(provider.get("model_aliases", {}), f"{at}/model_aliases", errors)
        model_aliases[name] = aliases
        errors += _lost(aliases, models[name], f"{at}/model_aliases", "model")
    provider_aliases = _names(root.get("provider_aliases", {}), "/provider_aliases", errors)
    errors += _lost(provider_aliases, models, "/provider_aliases", "provider")
    if errors:
        raise BookError(errors + strange)
    words = [one_line(word, 200) if isinstance(word := meta.get(key), str) else "" for key in ("source", "updated_at")]
    return PriceBook(words[0], words[1], provider_aliases, subscriptions, model_aliases, models, strange)


def _models(value: object, at: str, errors: list[str], strange: list[str]) -> Iterator[tuple[str, Rates]]:
    for name, said in _object(value, at, errors).items():
        place = f"{at}/{_show(name)}"
        rates: dict[str, float | None] = {}
        model = _object(said, place, errors)
        strange += _misspelled(model, _MODEL, place)
        for rate in _RATES:
            key = f"{rate}{_UNIT}"
            given = model.get(key)  # null says the same as no key
            rates[rate] = None if given is None else _number(given, f"{place}/{key}", errors)
            if given is None and rate in _REQUIRED and isinstance(said, dict):
                errors.append(f"{place}: `{key}` is missing")
        yield name, _filled(rates)


def _filled(given: dict[str, float | None]) -> Rates:
    """Fill in rates that are not given from input and output, as the format's producer does (formats note 3.3)."""
    base, said = given["input"] or 0.0, given["output"] or 0.0
    others = {"cache_write": base, "cache_read": base * 0.1, "tool_input": base, "tool_output": said}
    known = {rate: usual if (rate_given := given[rate]) is None else rate_given for rate, usual in others.items()}
    return Rates(base, said, **known)


def _names(value: object, at: str, errors: list[str]) -> dict[str, str]:
    """Aliases: names to names."""
    names: dict[str, str] = {}
    for alias, target in _object(value, at, errors).items():
        if isinstance(target, str):
            names[alias] = target
        else:
            errors.append(f"{at}/{_show(alias)}: must be a name, not {kind_of(target)}")
    return names


def _lost(aliases: dict[str, str], targets: dict[str, Any], at: str, kind: str) -> list[str]:
    return [
        f"{at}/{_show(alias)}: there is no {kind} {_show(target)}"
        for alias, target in aliases.items()
        if target not in targets
    ]


def _misspelled(value: dict[str, Any], known: Sequence[str], at: str) -> Iterator[str]:
    """Keys that look as if they were meant to be the format's; any other may be a note of whoever wrote the book."""
    for key in value:
        if key in known:
            continue
        close = get_close_matches(key, known, 1, 0.7)
        if close or "usd" in key.lower():
            meant = f" (`{close[0]}`?)" if close else ""
            yield f"{at}/{_show(key)}: no key of a price book{meant}, passed over"


def _object(value: object, at: str, errors: list[str]) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    errors.append(f"{at}: must be an object, not {kind_of(value)}")
    return {}


def _number(value: object, at: str, errors: list[str]) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        errors.append(f"{at}: must be a number of dollars, not {kind_of(value)}")
        return None
    if not 0 <= value <= _DEAREST:
        errors.append(f"{at}: must be from 0 to {_DEAREST:,.0f} dollars, not {shown(value)}")
        return None
    return float(value)


def _show(name: str) -> str:
    return one_line(name, 60)

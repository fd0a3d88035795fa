"""The agents turnlog reads: every module or folder in here that has a `PROVIDER`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from schemas.provider import Provider


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def each_provider() -> Iterator[Provider]:
    """Every provider, in the order of their modules' names; each is imported when it is asked for."""
    for name in _names():
        provider: Provider = import_module(f"{__name__}.{name}").PROVIDER
        yield provider


@cache
def providers() -> dict[str, Provider]:
    """Every provider by its id."""
    return {provider.id: provider for provider in each_provider()}

"""The agents turnlog reads: every module or folder in here that has a `PROVIDER`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from schemas.provider import Provider


@cache
def providers() -> dict[str, Provider]:
    """Every provider by its id, in the order of their modules' names."""
    found: dict[str, Provider] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        provider: Provider = import_module(f"{__name__}.{module.name}").PROVIDER
        found[provider.id] = provider
    return found

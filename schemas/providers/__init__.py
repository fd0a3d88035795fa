"""The agents turnlog reads: every module or folder in here has a `PROVIDER`.

But for `kit`, which all agents share, and modules that begin with `_`, which two of them share.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from schemas.provider import Provider

if TYPE_CHECKING:
    from schemas.providers.kit.agent import Stream


@cache
def _names() -> tuple[str, ...]:
    return tuple(
        sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_") and m.name != "kit")
    )


def each_provider() -> Iterator[Provider]:
    """Every provider, in the order of their modules' names; each is imported when it is asked for."""
    for name in _names():
        provider: Provider = import_module(f"{__name__}.{name}").PROVIDER
        yield provider


@cache
def printers() -> tuple[Stream, ...]:
    """What agents print, of each that prints something: the `STREAM` of its module."""
    found = (getattr(import_module(f"{__name__}.{name}"), "STREAM", None) for name in _names())
    return tuple(stream for stream in found if stream is not None)


@cache
def providers() -> dict[str, Provider]:
    """Every provider by its id."""
    return {provider.id: provider for provider in each_provider()}

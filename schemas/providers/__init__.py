"""The agents turnlog reads: every module or folder in here has a `PROVIDER`.

But for `kit`, which all agents share, and modules that begin with `_`, which two of them share. Importing all of them
costs more than most commands do, so `table.json` holds what tells which ones are worth it: for each its id, its marks
and homes (null: it looks for itself), the module that reads what it prints, and what else it is called.
`python -m schemas.providers` writes it; an agent that is not in it yet is always asked.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from schemas.provider import HEAD_BYTES, Environment, Head, Home, Provider, places_of

if TYPE_CHECKING:
    from schemas.providers.kit.bases import Stream


class Row(NamedTuple):
    """The facts of an agent that are known without importing it."""

    id: str
    marks: list[str]
    homes: list[tuple[str, str, list[str]]] | None
    printer: str
    """The module that has its `STREAM`; empty if it prints nothing that turnlog reads."""
    called: list[str]
    """What producers of the published formats call it beside its id."""


TABLE_FILE = Path(__file__).with_name("table.json")


@cache
def table() -> dict[str, Row]:
    """The rows of `table.json`, by the modules' names."""
    return {name: Row(*row) for name, row in orjson.loads(TABLE_FILE.read_bytes()).items()}


@cache
def names() -> tuple[str, ...]:
    """The modules of the agents, in order."""
    return tuple(
        sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_") and m.name != "kit")
    )


def _provider(name: str) -> Provider:
    provider: Provider = import_module(f"{__name__}.{name}").PROVIDER
    return provider


def each_provider() -> Iterator[Provider]:
    """Every provider, in the order of their modules' names; each is imported when it is asked for."""
    return map(_provider, names())


def likely(head: Head) -> Iterator[Provider]:
    """The providers whose file may begin so, in the same order; all of what is damaged so that nothing can be read."""
    sure = not (head.records or head.tables or head.document is not None) and len(head.data) < HEAD_BYTES
    for name in names():
        row = table().get(name)
        if row is None or not row.marks or sure or any(mark.encode() in head.data for mark in row.marks):
            yield _provider(name)


def present(env: Environment) -> Iterator[Provider]:
    """The providers that may have sessions on such a machine: each home that is not there costs a `stat`."""
    for name in names():
        row = table().get(name)
        homes = None if row is None or row.homes is None else [Home(p, why, tuple(on)) for p, why, on in row.homes]
        if homes is None or any(os.path.exists(place.path) for place in places_of(homes, env)):
            yield _provider(name)


def ids() -> list[str]:
    """The ids of all agents."""
    rows = table()
    return [rows[name].id if name in rows else _provider(name).id for name in names()]


def provider_of(agent: str) -> Provider | None:
    """The provider with an id; None if there is none."""
    rows = table()
    found = (name for name in names() if name not in rows or rows[name].id == agent)
    return next((provider for provider in map(_provider, found) if provider.id == agent), None)


@cache
def printers() -> tuple[Stream, ...]:
    """Return the readers of agents' output, for each that prints: the `STREAM` of its module or of its `stream`."""
    rows = table()
    asked = (rows[name].printer if name in rows else printer_of(name) for name in names())
    return tuple(import_module(f"{__name__}.{name}").STREAM for name in asked if name)


def printer_of(name: str) -> str:
    """The module below this one that has the `STREAM` of the agent `name`; empty if none has."""
    if TABLE_FILE.parent.joinpath(name, "stream.py").exists():
        return f"{name}.stream"
    return name if hasattr(import_module(f"{__name__}.{name}"), "STREAM") else ""


@cache
def providers() -> dict[str, Provider]:
    """Every provider by its id."""
    return {provider.id: provider for provider in each_provider()}

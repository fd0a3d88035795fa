"""Waiting for what another thread or process does: for the thing itself, and for as long as a busy machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.pilot import Pilot

LIMIT = 120.0
"""Seconds until it is given up; no test waits for them unless it fails."""


def wait_until(holds: Callable[[], object], problem: Callable[[], object] = lambda: "it never happened") -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, problem()
        time.sleep(0.01)


async def until(
    pilot: Pilot[Any], holds: Callable[[], object], problem: Callable[[], object] = lambda: "it never happened"
) -> None:
    """The same while an app runs. What is looked at may not be there yet."""
    end = time.monotonic() + LIMIT
    while not _holds(holds):
        assert time.monotonic() < end, problem()
        await pilot.pause(0.01)


def _holds(holds: Callable[[], object]) -> bool:
    from textual.css.query import NoMatches

    try:
        return bool(holds())
    except (NoMatches, StopIteration, IndexError):
        return False

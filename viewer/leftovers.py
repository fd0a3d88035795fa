"""What must be gone when the program ends, in order or not: temporary files hold what people said."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress

_removals: list[Callable[[], object]] = []


def remove_at_end(remove: Callable[[], object]) -> None:
    """Call `remove` when the program ends. It may be called twice, and from another thread, so it must bear both."""
    _removals.append(remove)
    atexit.register(remove)


def remove_now() -> None:
    """For an end that Python has no part in."""
    for remove in _removals:
        with suppress(OSError):
            remove()

"""Cleaning up when the program ends, in order or not: temporary files, which hold what people said; workers."""

from __future__ import annotations

import atexit
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_removals: list[Callable[[], object]] = []


def remove_at_end(remove: Callable[[], object]) -> None:
    """Call `remove` when the program ends. It may be called twice, and from another thread, so it must bear both."""
    _removals.append(remove)
    atexit.register(remove)


@contextmanager
def removed_after(remove: Callable[[], object]) -> Iterator[None]:
    """`remove_at_end`, and call `remove` when the block is left."""
    remove_at_end(remove)
    try:
        yield
    finally:
        remove()
        atexit.unregister(remove)
        _removals.remove(remove)


def end_in_order() -> None:
    """Let signals that end the program do so by way of Python, so that nothing is left behind."""
    for name in ("SIGTERM", "SIGHUP"):
        # One that is ignored stays so: the program was started by nohup.
        if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def remove_now() -> None:
    """Remove everything at once, for an end that Python has no part in."""
    for remove in list(_removals):
        with suppress(OSError):
            remove()

"""Imports in a thread that the end of the program need not wait for: Python joins its threads before it ends, and a
package of three hundred modules takes a third of a second.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from threading import current_thread


class BrokenOffError(BaseException):
    """The program ends. It is no Exception: no package may take it for a module that is not installed."""


class _Watch(MetaPathFinder):
    """Finds no module, but is asked before each: between two of them an import can be broken off."""

    def __init__(self) -> None:
        self._thread = current_thread()
        self.broken_off = False

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Let others find it. Raises BrokenOffError."""
        if self.broken_off and current_thread() is self._thread:
            raise BrokenOffError


@contextmanager
def breakable_imports() -> Iterator[None]:
    """Let this thread's imports be broken off: after `break_off` they raise BrokenOffError."""
    watch = _Watch()
    sys.meta_path.insert(0, watch)
    try:
        yield
    finally:
        sys.meta_path.remove(watch)


def break_off() -> None:
    """The program ends: import no more than the module that is being imported."""
    for finder in sys.meta_path:
        if isinstance(finder, _Watch):
            finder.broken_off = True

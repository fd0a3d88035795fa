"""Folds: the amount of a message that is shown."""

from __future__ import annotations

from enum import IntEnum


class Fold(IntEnum):
    """From nothing to everything."""

    HIDDEN = 0
    LINE = 1
    """One line that says what it hides."""
    SHORT = 2
    """Open; long output is cut."""
    FULL = 3
    """Everything."""


SHORT_LINES = 16
"""Lines of output that SHORT shows."""
FULL_LINES = 1000
"""Lines of output that FULL shows at first: a hundred thousand would take a second to draw; enter shows more."""
FULL_LINE = 200
"""Characters for each of these lines that are shown of a text at first: it may have ten million in one line."""

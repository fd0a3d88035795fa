"""Finding the second copy of what is written twice.

Codex writes most texts as a response item, for the model, and as an event, for its screen, in either order (formats
note 5.4). Whichever comes first makes the message; the other one is added to that message's records. Two equal texts
from the same source are two messages: identical prompts are legitimate.
"""

from __future__ import annotations

from enum import IntFlag


class Source(IntFlag):
    """Where a copy stands."""

    ITEM = 1
    EVENT = 2
    COMPLETED = 4
    LINE = 8


class Mirrors:
    """The texts, as hashes, that may still come from another source."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, list[list[int]]] = {}

    def match(self, key: int, source: Source) -> int | None:
        """The message that shows this text and has not been met in `source` yet; it now has."""
        for entry in self._entries.get(key, ()):
            if not entry[1] & source:
                entry[1] |= source
                return entry[0]
        return None

    def note(self, key: int, message: int, source: Source) -> None:
        """A message came from `source`."""
        self._entries.setdefault(key, []).append([message, int(source)])

    def clear(self) -> None:
        """Nothing that came so far will come again."""
        if self._entries:
            self._entries = {}


def key_of(kind: str, text: str) -> int:
    """What stands for a text: white space at its ends differs between the copies."""
    return hash((kind, text.strip()))

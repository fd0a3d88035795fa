"""Finding the second copy of what is written twice.

Codex writes most texts as a response item, for the model, and as an event, for its screen, in either order (formats
note 5.4). Whichever comes first makes the message; the other one is added to that message's records. Two equal texts
from the same source are two messages: identical prompts are legitimate.
"""

from __future__ import annotations

from typing import Final


class Source:
    """Where a copy stands. Plain numbers: an enum's operators would take a good part of the whole parse."""

    ITEM: Final = 1
    EVENT: Final = 2
    COMPLETED: Final = 4
    LINE: Final = 8


class Mirrors:
    """The texts, as hashes, that may still come from another source."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        # By the text's hash: each message that shows it, times 16, plus the sources it was met in.
        self.entries: dict[int, list[int]] = {}

    def match(self, key: int, source: int) -> int | None:
        """The message that shows this text and has not been met in `source` yet; it now has."""
        entries = self.entries.get(key)
        if entries is not None:
            for place, entry in enumerate(entries):
                if not entry & source:
                    entries[place] = entry | source
                    return entry >> 4
        return None

    def note(self, key: int, message: int, source: int) -> None:
        """A message came from `source`."""
        entry = message << 4 | source
        entries = self.entries.get(key)
        if entries is None:
            self.entries[key] = [entry]
        else:
            entries.append(entry)

    def clear(self) -> None:
        """Nothing that came so far will come again."""
        if self.entries:
            self.entries = {}


def key_of(kind: int | str, text: str) -> int:
    """What stands for a text: white space at its ends differs between the copies."""
    return hash((kind, text.strip()))

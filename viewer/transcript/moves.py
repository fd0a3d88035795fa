"""Where the messages of a session are in the one that took its place."""

from __future__ import annotations

from schemas.session import Session

_AROUND = 1000
"""How far from a message that is gone another one is looked for."""


class Moves:
    """Finds messages by their keys: what somebody did with a message of the old session stays with it."""

    def __init__(self, old: Session, new: Session) -> None:
        self.old, self.new = old, new
        self._keys = old.messages.key
        wanted = set(self._keys)
        self._places = {key: i for i, key in enumerate(new.messages.key) if key in wanted}

    def find(self, index: int) -> int | None:
        """Where a message of the old session is now; None if it is gone."""
        return self._places.get(self._keys[index]) if 0 <= index < len(self._keys) else None

    def near(self, index: int) -> int:
        """The same, or where the nearest one before or behind it is that is still there; 0 if there is none."""
        for distance in range(_AROUND):
            for near in (index - distance, index + distance):
                if (found := self.find(near)) is not None:
                    return found
        return max(0, min(index, len(self.new.messages) - 1))

    def exchange(self, index: int) -> int | None:
        """Which exchange one of the old session is now, by the message that opens it."""
        if not 0 <= index < len(self.old.exchanges):
            return None
        start = self.find(self.old.exchanges[index].start)
        return None if start is None else self.new.messages.exchange[start]

"""Where the agent worked: a session names a directory, and each turn may name another one."""

from __future__ import annotations

from bisect import bisect_right

from schemas.clean import one_line
from schemas.path_hints import local_path
from schemas.values import text_of


class Places:
    """The working directory, message by message. Kept are the messages from which on it is another one."""

    def __init__(self) -> None:
        self._from: list[int] = []
        self._names: list[str] = []

    def enter(self, place: object, message: int) -> None:
        """From this message on the agent works in a directory; anything but a name says nothing."""
        name = one_line(local_path(text_of(place)), 1000)
        if name and (not self._names or name != self._names[-1]):
            self._from.append(message)
            self._names.append(name)

    def at(self, message: int) -> str | None:
        """The directory at a message; None where the source has named none yet."""
        number = bisect_right(self._from, message) - 1
        return self._names[number] if number >= 0 else None

"""Messages of a live stream whose words come in pieces."""

from __future__ import annotations

from collections.abc import Callable

from schemas.message import Flag
from schemas.session import Session

_GROWING = int(Flag.GROWING)


class Growing:
    """What the messages that are being written say so far, and only those.

    Such a message is drawn again after every few of its pieces, of which there are thousands; any other one is made
    from its records. `changed` is told of each message that is whole.
    """

    def __init__(self, session: Session, changed: Callable[[int], None]) -> None:
        self._session, self._changed = session, changed
        self._pieces: dict[int, list[str]] = {}
        self.inner: list[Growing] = []
        """Those of the subagents within the stream, which have sessions of their own."""

    def begin(self, row: int, piece: str) -> None:
        """The first piece of a message that is being written, until `end`."""
        self._pieces[row] = [piece]
        self._session.messages.flags[row] |= _GROWING

    def add(self, row: int, piece: str) -> bool:
        """The next piece of a message; False if it is not being written any more."""
        pieces = self._pieces.get(row)
        if pieces is not None:
            pieces.append(piece)
        return pieces is not None

    def end(self, row: int) -> None:
        """No more pieces of a message come, if any came."""
        if self._pieces.pop(row, None) is not None:
            self._session.messages.flags[row] &= ~_GROWING
            self._changed(row)

    def end_all(self) -> None:
        """No more pieces come of any message, those of subagents included."""
        for row in list(self._pieces):
            self.end(row)
        for growing in self.inner:
            growing.end_all()

    def text(self, row: int) -> str | None:
        """What a message that is being written says so far, raw; None for any other message."""
        pieces = self._pieces.get(row)
        if pieces is None:
            return None
        pieces[:] = ["".join(pieces)]
        return pieces[0]

"""The lines that the exchanges of a session added and removed in files, counted for the screens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from schemas.diffs import totals
from schemas.message import Flag, Kind, ToolStatus
from schemas.session import Session

_LEFT_OUT = int(Flag.PENDING | Flag.ERROR | Flag.INTERRUPTED | Flag.REWOUND)


class Lines(NamedTuple):
    """Lines that came and lines that went."""

    added: int = 0
    removed: int = 0


class EditCounts:
    """The counts of a session that may grow. Each edit is read once, when its exchange is asked for: `of` notes what is
    missing, `run` reads it. Edits that failed or were rewound count for nothing, those of subagents are theirs.
    """

    def __init__(self, session: Session, ask: Callable[[], None] = lambda: None) -> None:
        """`ask` is called when there is something to count."""
        self._ask = ask
        self._changes = 0
        """How often anything changed: what is being counted then is counted again."""
        self.begin(session)

    def begin(self, session: Session) -> None:
        """Count in a session that takes the place of the one before."""
        self._session = session
        self._changes += 1
        self._edits: dict[int, Lines] = {}
        self._sums: dict[int, Lines] = {}
        self._wanted: dict[int, None] = {}

    def changed(self, messages: Iterable[int]) -> None:
        """Count these messages again."""
        exchanges = self._session.messages.exchange
        self._changes += 1
        for message in messages:
            self._edits.pop(message, None)
            self._sums.pop(exchanges[message], None)

    def of(self, exchange: int) -> Lines | None:
        """The lines of an exchange; None where they are not counted yet."""
        if (found := self._sums.get(exchange)) is None:
            self._wanted[exchange] = None
            self._ask()
        return found

    def run(self) -> Iterator[None]:
        """Count the exchanges that were asked for, giving way after each tool use."""
        while self._wanted:
            session, exchange, begun = self._session, next(iter(self._wanted)), self._changes
            del self._wanted[exchange]
            if exchange >= len(session.exchanges):
                continue
            kinds, flags = session.messages.kind, session.messages.flags
            uses = [i for i in session.message_range(exchange) if kinds[i] == Kind.TOOL and not flags[i] & _LEFT_OUT]
            for index in uses:
                if index not in self._edits:
                    edits = _edits(session, index)
                    yield
                    if begun != self._changes:
                        break
                    self._edits[index] = edits
            if begun == self._changes:
                known = [self._edits[index] for index in uses]
                self._sums[exchange] = Lines(sum(e.added for e in known), sum(e.removed for e in known))
            elif session is self._session:
                self._wanted[exchange] = None


def _edits(session: Session, index: int) -> Lines:
    tool = session.message(index).tool
    done = tool is not None and tool.status in (ToolStatus.OK, ToolStatus.BACKGROUND)
    return Lines(*totals(tool.diffs if tool is not None and done else []))

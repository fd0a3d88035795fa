"""The events of sessions, one after the other, and what was left out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from renderers.facts import plural
from schemas.costs.responses import Ledger, Response
from schemas.interchange.events import event_line
from schemas.session import Session
from viewer.exporting import own_files
from viewer.output import warn
from viewer.sessions.selection import each_session
from viewer.sessions.targets import Target
from viewer.usage.spending import Spending


class EventWriter:
    """Writes the events of any number of sessions, each response once. `ledger` knows the copies."""

    def __init__(self, progress: Callable[[int, int], None], ledger: Ledger) -> None:
        self.read: set[Path] = set()
        """The files that were read for them."""
        self._progress, self._spending = progress, Spending(None)
        self._spending.ledger = ledger
        self._timeless = self._empty = 0

    def lines(self, targets: list[Target], *, strict: bool) -> Iterator[bytes]:
        """The events of the targets, a line each; `strict` as in `each_session`."""
        for target, session in each_session(targets, self._progress, strict=strict):
            yield from self._written(self._spending.take(target, session, self._look).counted)

    def _look(self, member: Session, rows: list[Response]) -> None:
        self.read |= own_files(member)

    def inherited_lines(self) -> Iterator[bytes]:
        """Make lines of what forks inherited from sessions that are not among them, when all were read."""
        return self._written(self._spending.end())

    def _written(self, counted: Iterable[Response]) -> Iterator[bytes]:
        for row in counted:
            if not row.usage.total:
                self._empty += 1
            elif (line := event_line(row)) is None:
                self._timeless += 1
            else:
                yield line

    def say(self) -> None:
        """Say what was left out, and why."""
        for count, why in (
            (self._spending.copies, "a copy of one that is written"),
            (self._timeless, "no time is recorded, which an event needs"),
            (self._empty, "no tokens in it"),
        ):
            if count:
                warn(f"{plural(count, 'response')} left out: {why}")

    def say_nothing(self) -> None:
        """Say that there are no events; why has been said where anything was left out."""
        left_out = self._spending.copies or self._timeless or self._empty
        warn("no events are left" if left_out else "no token figures, so no events")

"""The events of sessions, one after the other, and what was left out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from viewer.counting import Once
from viewer.output import path_text, warn
from viewer.sessions import each_session, see_its_own

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.charges import Charge
    from schemas.provider import Problem
    from schemas.session import Session
    from viewer.targets import Target


class EventWriter:
    """Writes the events of any number of sessions, each response once."""

    def __init__(self, progress: Callable[[int, int], None], once: Once) -> None:
        self.count = 0
        """Events written."""
        self.read: set[Path] = set()
        """The files that were read for them."""
        self._progress = progress
        self._once = once
        self._timeless = self._empty = 0
        self._inherited: list[tuple[Charge, int, int, str]] = []
        """What forks have copies of, with its key, its name and the fork's id."""

    def lines(self, targets: list[Target], *, strict: bool) -> Iterator[bytes]:
        """The events of the targets, a line each; `strict` as in `each_session`."""
        for _, session in each_session(targets, self._progress, strict=strict):
            see_its_own(self._once, session)
            yield from self._of(session)

    def _of(self, session: Session) -> Iterator[bytes]:
        from schemas.charges import charges, inherited_charges, with_usage
        from schemas.interchange.events_write import event_line
        from viewer.exporting import own_files
        from viewer.summary import inherited_key, inherited_name, members_of, own_name, response_key

        failed: list[Problem] = []
        for member in members_of(session, failed):
            self._once.begin_member()
            self.read |= own_files(member)
            # A subagent works for the session that started it, which is what sessions are counted by.
            owner = None if member is session else session.id
            for charge in inherited_charges(member):
                name = inherited_name(member, charge.group_id)
                self._inherited.append((charge, inherited_key(member, charge), name, session.id))
            for charge in charges(member):
                key = response_key(charge.provider, member, charge.group)
                if not charge.usage.total:
                    self._empty += 1
                    continue
                full = with_usage(charge, self._once.fullest(key, charge.usage))
                if (line := event_line(full, session_id=owner)) is None:
                    self._timeless += 1
                elif self._once.is_new(key, own_name(member, charge.group_id)):
                    self.count += 1
                    yield line
                else:
                    self._once.copies += 1
        for problem in failed:
            warn(f"{path_text(problem.path)}: {problem.reason}")

    def inherited_lines(self) -> Iterator[bytes]:
        """When all the sessions were read: what forks inherited from sessions that are not among them."""
        from schemas.charges import with_usage
        from schemas.interchange.events_write import event_line

        for charge, key, name, session_id in self._inherited:
            if not charge.usage.total:
                self._empty += 1
            elif self._once.knows(key, name):
                self._once.copies += 1
            else:
                full = with_usage(charge, self._once.fullest(key, charge.usage))
                if (line := event_line(full, session_id=session_id)) is None:
                    self._timeless += 1
                elif self._once.takes(key, name):
                    self.count += 1
                    yield line

    def say(self) -> None:
        """Say what was left out, and why."""
        from renderers.facts import plural

        for count, why in (
            (self._once.copies, "a copy of one that is written"),
            (self._timeless, "no time is recorded, which an event needs"),
            (self._empty, "no tokens in it"),
        ):
            if count:
                warn(f"{plural(count, 'response')} left out: {why}")

    def say_nothing(self) -> None:
        """Say that there are no events; why has been said where anything was left out."""
        left_out = self._once.copies or self._timeless or self._empty
        warn("no events are left" if left_out else "no token figures, so no events")

"""The place at which a transcript opens: one that was asked for, or where one was when it was left; and what else is
kept of a session for the next time: its marks, and what has been seen.
"""

from __future__ import annotations

import time
from typing import Any

from renderers.facts import local_time
from renderers.places import find_place
from renderers.terminal.folds import Fold
from schemas.values import dict_of, number, whole
from viewer.transcript.jumps import Jumps
from viewer.transcript.view import TranscriptView


class Unread:
    """Draws the line "new since" above the first message that is new. `kept` is what `kept` gave in the last run."""

    def __init__(self, view: TranscriptView, kept: object) -> None:
        self._view = view
        self._before = dict_of(kept)
        self._since = number(self._before.get("at")) or 0.0
        self.caught_up = True
        """Whether the person has been at the end since the last message came."""

    def came(self, first: int) -> None:
        """Draw it above a message that came just now, unless one before is still unread."""
        if self.caught_up or self._view.unread is None:
            self._draw(first, time.time())

    def restore(self, *, loaded: bool) -> None:
        """Draw it where one stopped in the last run, if that has been read. Where that message is gone and everything
        is `loaded`, what is later than it is new.
        """
        if not self._before:
            return
        table, last = self._view.session.messages, whole(self._before.get("key"))
        first, when = len(table), number(self._before.get("time"))
        if last is not None and last in table.key:
            first = table.key.index(last) + 1
        elif loaded and when is not None:
            first = next((i for i, time in enumerate(table.time) if time > when), first)
        shown = (i for i in range(first, len(table)) if self._view.folds.fold(i) is not Fold.HIDDEN)
        if (first := next(shown, -1)) >= 0:
            self._draw(first, self._since)
            self._view.go_end() if self._view.following else self._view.show()
        if loaded or first >= 0:
            self._before = {}

    def _draw(self, first: int, since: float) -> None:
        self.caught_up, self._since = False, since
        today = local_time(time.time(), date=True)[: -len("14:21")]
        self._view.set_unread(first, local_time(since, date=True).removeprefix(today))

    def kept(self) -> dict[str, Any]:
        """Return what has been seen as JSON: the last message, how many there were, and when that was."""
        table, first = self._view.session.messages, self._view.unread
        if self.caught_up or self._view.at_end or first is None:
            first, self._since = len(table), time.time()
        if self._before or not first:
            return self._before  # not read so far
        return {"key": table.key[first - 1], "time": table.when(first - 1), "count": first, "at": self._since}


class OpeningPlace:
    """Takes a view to `place` (renderers/places.py) as soon as it has been read, else to where one was by `kept`, which
    takes that again on leaving. Whoever has moved meanwhile stays.
    """

    def __init__(self, view: TranscriptView, place: str, kept: dict[str, Any] | None) -> None:
        self._view = view
        self.wanted = place
        """The place as it was asked for; empty once everything has been read."""
        self._kept: dict[str, Any] = {} if kept is None else kept
        self._before = dict(self._kept)
        self.jumps = Jumps(view, self._before)
        self.unread = Unread(view, self._before.pop("seen", None))
        self._gone = 0
        """The message that was gone to."""
        if self._before:
            view.restore(self._before, go=False)
        self.go()

    @property
    def awaited(self) -> str:
        """The place that is still to be read, in words; empty where none is."""
        if self._gone or self._view.following:
            return ""
        return self.wanted or ("where you were" if "message" in self._before else "")

    def go(self) -> bool:
        """Go there, if it has been read; returns whether that was asked for and has been read. What is read later may
        tell that an exchange before it was rewound: then it is another message, and gone to again.
        """
        view, here = self._view, self._view.cursor.block == self._gone
        self.unread.restore(loaded=False)
        if not self.wanted:
            if self._before and here and not self._gone and not view.following:
                self._gone = view.restore(self._before, go=True) or 0
            return False
        found = find_place(view.session, self.wanted)
        if found is not None and here and found[1] != self._gone:
            self._gone = found[1]
            view.open_at(found[1])
        return found is not None

    def loaded(self) -> None:
        """Everything has been read: fold what stands behind the place as it was, too."""
        if self._before and not self._view.touched:
            self._view.restore(self._before, go=False)
        self.unread.restore(loaded=True)
        self.wanted, self._before = "", {}

    def keep(self) -> None:
        """Keep where one is, and the rest."""
        seen = self.unread.kept()
        self._kept.clear()
        self._kept.update(self._view.kept() | self.jumps.kept() | ({"seen": seen} if seen else {}))

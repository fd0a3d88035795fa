"""The messages of a transcript that a person has not seen: those that came since, in this run or since the last one."""

from __future__ import annotations

import time
from typing import Any

from renderers.facts import local_time
from renderers.terminal.folds import Fold
from schemas.values import dict_of, number, whole
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

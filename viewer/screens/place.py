"""The place at which a transcript opens: one that was asked for, or where one was when it was left; and what else is
kept of a session for the next time: its marks, and what has been seen.
"""

from __future__ import annotations

from typing import Any

from renderers.places import find_place
from viewer.screens.unread import Unread
from viewer.transcript.jumps import Jumps
from viewer.transcript.view import TranscriptView


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

"""Jumps through a transcript: to the next message of a sort, to marks, and back and forward through all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from renderers.terminal.folds import Fold
from schemas.message import USER_KINDS, Flag, Kind
from schemas.session import Session
from schemas.values import dict_of, list_of, whole
from viewer.follow.follower import SLICE
from viewer.transcript.view import TranscriptView

_KEPT = 100
_OLD = int(Flag.REWOUND | Flag.INHERITED)
_FAILED = int(Flag.ERROR | Flag.INTERRUPTED)

Place = tuple[int, int]
"""A line, by the key of its message and its number in it: it stays where it is when the session is written anew."""


def _edits(session: Session, index: int) -> bool:
    """Tell whether a message changes files. Only its records tell, for a shell command may apply a patch."""
    if session.messages.kind[index] != Kind.TOOL:
        return False
    tool = session.message(index).tool
    return tool is not None and (tool.type == "write" or bool(tool.diffs))


_FITS: dict[str, Callable[[Session, int], bool]] = {
    "block": lambda session, index: True,
    "answer": lambda session, index: session.messages.kind[index] == Kind.TEXT,
    "prompt": lambda session, index: session.messages.kind[index] in USER_KINDS,
    "edit": _edits,
    "failure": lambda session, index: (
        bool(session.messages.flags[index] & _FAILED) or session.messages.kind[index] == Kind.ERROR
    ),
}
"""What is jumped to, and which messages are that."""


class Jumps:
    """The jumps in one view: where each began, to go back there, and the marks, which `kept` may hold from an earlier
    run and which it holds again on leaving.
    """

    def __init__(self, view: TranscriptView, kept: dict[str, Any]) -> None:
        self._view = view
        self._back: list[Place] = []
        self._forward: list[Place] = []
        self._last: tuple[str, Place | None] = "", None
        """What was jumped to last, and where that led."""
        self.asks = ""
        """The action that waits for the letter of a mark: `mark` or `to_mark`."""
        self._marks: dict[str, Place] = {}
        for letter, place in dict_of(kept.get("marks")).items():
            match list(map(whole, list_of(place))):
                case [int(key), int(line)] if _names_mark(letter):
                    self._marks[letter] = key, line
        self._show()

    @property
    def marks(self) -> dict[str, Place]:
        """The marks that lie in the session as it is now."""
        keys = self._view.session.messages.key
        return {letter: self._marks[letter] for letter in sorted(self._marks) if self._marks[letter][0] in keys}

    def kept(self) -> dict[str, Any]:
        """The marks as JSON; nothing where there are none."""
        return {"marks": {letter: list(place) for letter, place in self._marks.items()}} if self._marks else {}

    # -- to the next of a sort -------------------------------------------------------------------------------------

    async def to(self, what: str, step: int) -> bool:
        """Jump to the next (or previous) message of a sort, or to the beginning of the one that one is in; returns
        whether there is one.
        """
        if what == "exchange":
            self.leap(what, lambda: self._view.go_exchange(step))
            return True
        found = await self._find(what, step)
        if found is not None:
            self.leap(what, lambda: self._view.visit(found))
        return found is not None

    async def _find(self, what: str, step: int) -> int | None:
        """Look for it, giving way to the screen: a session may have 100,000 tool uses that edit nothing."""
        session, fits, begun = self._view.session, _FITS[what], time.perf_counter()
        for index in self._indices(what, step):
            if fits(session, index):
                return index
            if time.perf_counter() - begun > SLICE:
                await asyncio.sleep(0)
                begun = time.perf_counter()
                if session is not self._view.session:
                    return None
        return None

    def _indices(self, what: str, step: int) -> Iterator[int]:
        """The messages in the direction of a jump; blocks that are not shown, and what was taken back, left out."""
        view = self._view
        block, line = view.cursor
        index = block if step < 0 and line > 0 else block + step
        flags = view.session.messages.flags
        while 0 <= index < view.layout_of.count:
            hidden = (what == "block" or flags[index] & _OLD) and view.folds.fold(index) is Fold.HIDDEN
            if not hidden:
                yield index
            index += step

    # -- back and forward ------------------------------------------------------------------------------------------

    def note(self) -> None:
        """Note where one is, to come back to."""
        here = self._view.here
        if here is not None and self._back[-1:] != [here]:
            self._back.append(here)
            del self._back[:-_KEPT]
        self._forward.clear()

    def leap(self, what: str, move: Callable[[], object]) -> None:
        """Make a jump, and note where it began: the first of several of a kind in a row."""
        if self._last != (what, self._view.here):
            self.note()
        move()
        self._last = what, self._view.here

    def back(self, step: int = -1) -> bool:
        """Go back to where the last jump began, or (1) forward again; returns whether there was one."""
        places, others = (self._back, self._forward) if step < 0 else (self._forward, self._back)
        here = self._view.here
        while places:
            place = places.pop()
            if place != here and self._go(place):
                if here is not None:
                    others.append(here)
                return True
        return False

    def _go(self, place: Place) -> bool:
        keys = self._view.session.messages.key
        if place[0] not in keys:  # written anew without it
            return False
        self._view.visit(keys.index(place[0]), place[1])
        return True

    # -- marks -----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        self._view.marked = {place: letter for letter, place in self._marks.items()}

    def asked(self) -> str:
        """Return the question for a letter in words; empty where none is asked."""
        if self.asks == "to_mark":
            return f"to mark …: {' '.join(self.marks) or 'there is none'}"
        return "mark …" if self.asks else ""

    def takes(self, key: str, action: str) -> Callable[[], str] | None:
        """Take a key that begins to ask for the letter of a mark, or is that letter; `action` is what it does else.
        Return what is to be done when all keys before it have done what they do, which may have to be said in words.
        """
        asked, self.asks = self.asks, ""
        if asked:
            return lambda: self._answer(asked, key, action)
        self.asks = action if action in ("mark", "to_mark") else ""
        return str if self.asks else None

    def _answer(self, asked: str, key: str, action: str) -> str:
        if asked == "to_mark" and action == "to_mark":
            return "" if self.back() else "There is no jump to go back from."
        if not _names_mark(key):
            return ""
        if asked == "mark":
            if (here := self._view.here) is not None:
                self._marks[key] = here[0], max(0, here[1])
                self._show()
                self._view.refresh()
        elif key in (marks := self.marks):
            self.leap("mark", lambda: self._go(marks[key]))
        else:
            return f"There is no mark {key}."
        return ""


def _names_mark(key: str) -> bool:
    return len(key) == 1 and key.isalnum() and key.isascii()

"""The doings of a followed session, beside its transcript: what it does, or for what it waits. Imported when one is
followed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from schemas.session import Session
from viewer.follow.follower import Follower
from viewer.watch.state import Does
from viewer.watch.tile import Tile
from viewer.watch.tiles import Watch
from viewer.watch.words import COLOURS, mark, source_words, state_words

_MOST = 60
"""Cells for what it does: totals stand beside it."""


class Doing:
    """Watches the one session of a follower, whose owner reads it; `look` is for every half second."""

    def __init__(self, follower: Follower) -> None:
        self._follower, self._watch = follower, Watch()
        self._tile: Tile | None = None

    def look(self) -> tuple[str, str]:
        """Look what it does; return that in words, of a wait by what it is known too, and their colour. Empty for one
        that has answered.
        """
        self._tile = tile = self._watch.only(self._follower)
        if tile is None or (tile.state.does in (Does.DONE, Does.ENDED) and "answered" in tile.state.what):
            return "", ""
        sign = mark(tile.state)
        source = f" {source_words(tile.state)}" if tile.state.does is Does.WAITS else ""
        return f"{sign} {state_words(tile.state, time.time(), _MOST)}{source}", COLOURS[sign]

    def of_subagents(self, session: Session, said: Mapping[int, str]) -> dict[int, str]:
        """Say what each subagent does now before what is `said` of it, by the messages that started them."""
        together = dict(said)
        uses = {subagent.id: subagent.tool_use for subagent in session.subagents}
        for helper in self._tile.helpers if self._tile is not None else ():
            if (use := uses.get(helper.id)) is not None and helper.state.what:
                together[use] = " · ".join(filter(None, (helper.state.what, said.get(use))))
        return together

    def close(self) -> None:
        """Let go of the subagents' files."""
        self._watch.close()

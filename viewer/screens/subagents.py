"""The subagents of a transcript's session: the one whose call is under the cursor is opened above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.clean import one_line
from schemas.interchange.toolpath import others_in
from schemas.message import Flag
from viewer.screens.program import program
from viewer.sessions.freshness import file_state, is_live
from viewer.transcript.status import name_line
from viewer.transcript.view import TranscriptView

if TYPE_CHECKING:
    from schemas.session import Subagent
    from viewer.follow.follower import Follower, Within


class Subagents:
    """Opens subagents. `above` names the sessions of which this one is itself a subagent."""

    def __init__(self, view: TranscriptView, follower: Follower | Within, above: str) -> None:
        self._view, self._follower, self._above = view, follower, above

    @property
    def way(self) -> str:
        """The sessions above this one: by its id the one whose subagent was not opened from there."""
        parent = self._view.session.lineage.parent
        return self._above or (f"subagent of {parent[:8]} › " if parent else "")

    @property
    def is_here(self) -> bool:
        """Tell whether the block under the cursor started one."""
        messages, block = self._view.session.messages, self._view.cursor.block
        return block < len(messages) and messages.has(block, Flag.SUBAGENT)

    def open_here(self) -> None:
        """Open the one that the call under the cursor started; say why there is none to open."""
        session, block = self._view.session, self._view.cursor.block
        if self.is_here:
            wanted = (tool := session.message(block).tool) and tool.subagent
            self.open(next((s for s in session.subagents if s.tool_use == block or s.id == wanted), None))
        else:
            others = " No call started those that the palette names." if self.uncalled() else ""
            program(self._view).say(f"The block under the cursor started no subagent.{others}")

    def uncalled(self) -> list[Subagent]:
        """The subagents that no call leads to, such as the other sessions of a Toolpath document: of these helpers too,
        since they have no file of their own.
        """
        session = self._view.session
        others = others_in(session)
        unlinked = [s for s in session.subagents if s.tool_use is None and (not s.internal or s.id in others)]
        if not unlinked:
            return []
        starts = (i for i, flags in enumerate(session.messages.flags) if flags & Flag.SUBAGENT)
        called = {tool.subagent for i in starts if (tool := session.message(i).tool) is not None}
        return [s for s in unlinked if s.id not in called]

    def open(self, found: Subagent | None) -> None:
        """Show a subagent's session above this one; say why that cannot be."""
        if found is None or (found.path is None and found.session is None):
            program(self._view).say("The subagent's own transcript was not found beside this session.")
            return
        follow, above = self._follows(found), self._trail(found)
        if found.path is not None:
            program(self._view).open_session(found.path, follow=follow, above=above)
        elif found.session is not None:
            from viewer.follow.follower import Within

            within = Within(found, found.session, self._follower)
            program(self._view).open_session(within, follow=follow, above=above)

    def _follows(self, subagent: Subagent) -> bool:
        """Tell whether a subagent is followed when it is opened: as this session is, or because it runs."""
        if self._view.following:
            return True
        if subagent.path is not None:
            written = file_state(subagent.path).mtime_ns / 1e9
            return is_live(written, written)
        use, session = subagent.tool_use, self._view.session
        return self._follower.live and use is not None and session.messages.has(use, Flag.PENDING)

    def _trail(self, subagent: Subagent) -> str:
        """Name the sessions above a subagent's, and its type, as its title line begins."""
        name = f"{one_line(subagent.name, 24)}: " if subagent.name else ""
        return f"{self.way}{one_line(name_line(self._view.session), 32)} › {name}"

"""A session that is followed: read as it grows, with the subagents that run, and made into its tile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from schemas.agents import Agent
from schemas.costs.responses import Tally
from schemas.folders import state_of
from schemas.message import Flag, Kind, Message, ToolStatus
from schemas.paths import source_of
from schemas.running import Status
from schemas.session import Session, Subagent
from schemas.table import NONE
from schemas.troubles import OpenError
from schemas.usage import TokenUsage
from viewer.follow.follower import Follower, Within
from viewer.index.summary import says_something
from viewer.sessions.freshness import LIVE_SECONDS, RECENT_SECONDS, file_state, is_live
from viewer.usage.costs import group_cost, loaded
from viewer.usage.family import FamilyUsage
from viewer.watch.links import Seat
from viewer.watch.state import Evidence, Turn, judge, turn_of
from viewer.watch.tile import Helper, Shared, Tile

_FIGURES_EVERY = 0.25
"""Seconds between two sums of what a session cost; fifty times as long as they take, where that is more."""
_UNSETTLED = 8
"""Responses at the end whose figures may still become others."""
_MOST_HELPERS = 32
"""Subagents of a session that are looked at for signs of life: the last ones."""
_MOST_FILES = 100
"""Tool uses of a session met late whose files are looked at."""
_FILES_AT_ONCE = 8
"""Tool uses whose files are looked at in one step."""
_MINUTE = 60.0
_REST = 30.0
"""Seconds after which a session is looked at whole though none of its files was written."""


class Followed:
    """One session with its subagents. `step` looks once and reads on, `made` is its tile as of then. Of one that
    somebody else follows, `given`, nothing is added up, no files are noted, and it is not closed.
    """

    def __init__(self, path: Path, agent: Agent, given: Follower | None = None) -> None:
        self.path, self.agent = path, agent
        self._given = given
        self.follower = given or Follower(path, from_end=True)
        self.evidence: Evidence | None = None
        """What is known of its process; None before anybody looked."""
        self.measured = True
        """Whether it is known, as far as it can be, whether its terminal is still."""
        self.tile: Tile | None = None
        self.order = 0
        """Its place among those that need a person as much."""
        self.met = self.judged = False
        """Whether it was looked at once, and whether its process was known when its tile was made."""
        self.files: dict[str, bool] = {}
        """The files that it touched, and whether it changed them."""
        self.shared: tuple[Shared, ...] = ()
        self.turn = Turn()
        """The session's turn as of the last step."""
        self.files_read = [os.fspath(source_of(path)[0]) for path in self.follower.sources]
        """The files whose change means that there is something to read, as of the last step."""
        self._helpers: dict[Path, Follower | Within] = {}
        """The subagents that run, by their files."""
        self._ended: dict[Path, float] = {}
        """When those were let go that had ended."""
        self._turns: dict[Path, tuple[object, Turn]] = {}
        self._files_of: tuple[Session | None, int] = None, 0
        self._figures = _Figures()
        self._stepped = 0.0
        self._seen: tuple[object, ...] = ()
        self.has_more = True
        """Whether the last step left something to read or to add up."""

    @property
    def session(self) -> Session:
        """The session as far as it has been read."""
        return self.follower.session

    @property
    def followers(self) -> list[Follower | Within]:
        """The session's follower and those of its subagents."""
        return [self.follower, *self._helpers.values()]

    @property
    def loaded(self) -> bool:
        """Tell whether all that there was has been read."""
        return all(follower.loaded for follower in self.followers)

    @property
    def touched(self) -> float:
        """The time at which it, or a subagent of it, was written last."""
        return max(one.written or 0.0 for one in self.followers if isinstance(one, Follower))

    @property
    def seat(self) -> Seat:
        """The facts by which its process is found."""
        session = self.session
        return Seat(self.path, self.agent, session.id, session.workspace_root, session.created, self.touched)

    @property
    def may_wait(self) -> bool:
        """Tell whether it may wait for a person, as far as its records tell, so that its terminal is to be measured."""
        return self.agent.running.late or bool(self.turn.calls) or not self.turn.over

    def is_recent(self, now: float) -> bool:
        """Tell whether it was written in the last minutes, and its newest record says so too."""
        updated = self.session.updated
        return now - self.touched < RECENT_SECONDS and (updated is None or abs(now - updated) < RECENT_SECONDS)

    # -- reading ---------------------------------------------------------------------------------------------------

    def is_at_rest(self, now: float) -> bool:
        """Tell whether there is nothing to read, and no other evidence. Costs a `stat` a file."""
        busy = self.has_more or (self.tile is not None and self._figures.is_due)
        return self.judged and not busy and self._state() == self._seen and now - self._stepped < _REST

    def _state(self) -> tuple[object, ...]:
        return *map(state_of, self.files_read), self.evidence, self.shared

    def step(self, seconds: float, now: float) -> None:
        """Look once, and read on for about so long."""
        self._stepped, self._seen = now, self._state()
        for follower in self.followers:
            follower.poll()
            follower.step(seconds)
        self._find_helpers(self.session, now)
        for follower in self.followers[1:]:
            self._find_helpers(follower.session, now)
            if follower.loaded and self._turn(follower).over and now - (follower.session.updated or 0.0) > LIVE_SECONDS:
                follower.close()
                self._helpers.pop(follower.path)
                self._ended[follower.path] = now
                self._turns.pop(follower.path, None)
        self.turn = self._turn(self.follower)
        sources = [path for follower in self.followers for path in follower.sources]
        self.files_read = [os.fspath(source_of(path)[0]) for path in sources]
        self.has_more = not self.loaded
        if self._given is None:
            self._note_files()
            if self.loaded:
                self._figures.run(self.session, self.touched, seconds)
            self.has_more |= self._figures.is_at_work or self._files_of[1] < len(self.session.messages)

    def _find_helpers(self, session: Session, now: float) -> None:
        """Follow the subagents that may run: those that have no result, and others written in the last minutes, since
        one in the background has its result at once, and writes nothing while it waits.
        """
        for subagent in session.subagents[-_MOST_HELPERS:]:
            path, inner = _file_of(subagent, session), subagent.session
            if subagent.internal or path in self._helpers or path == self.path or len(self._helpers) > _MOST_HELPERS:
                continue
            written = file_state(path).mtime_ns / 1e9 if inner is None else inner.updated or 0.0
            if written <= self._ended.get(path, 0.0):
                continue
            if now - written >= LIVE_SECONDS and not _may_run(session, subagent, now - written < RECENT_SECONDS):
                self._ended[path] = now
            else:
                with suppress(OpenError):  # made a moment ago and empty still
                    is_within = inner is not None and inner.path == session.path
                    self._helpers[path] = Within(subagent, session) if is_within else Follower(path, from_end=True)

    def _note_files(self) -> None:
        """Note which files its tool uses read or changed, a few at a time; of a session met late the last ones'."""
        session, (before, first) = self.session, self._files_of
        kinds = session.messages.kind
        if before is not session or first > len(kinds):
            tools = [index for index, kind in enumerate(kinds) if kind == Kind.TOOL]
            first = tools[-_MOST_FILES] if len(tools) > _MOST_FILES else 0
        left = _FILES_AT_ONCE
        while first < len(kinds) and left:
            if kinds[first] == Kind.TOOL:
                self._note_files_of(session.message(first))
                left -= 1
            first += 1
        self._files_of = session, first

    def _note_files_of(self, message: Message) -> None:
        if message.tool is not None and message.tool.type in ("write", "read", "shell"):
            for hint in message.path_hints:
                path = os.path.normpath(os.path.join(self.session.workspace_root or "", hint))
                self.files[path] = self.files.get(path, False) or message.tool.type != "read"

    def _turn(self, follower: Follower | Within) -> Turn:
        """The turn of the session or of a subagent, made anew when more was read."""
        session = follower.session
        key = session, self.follower.progress, len(session.messages), session.revision, session.turn_end
        known = self._turns.get(follower.path)
        if known is None or known[0] != key:
            known = self._turns[follower.path] = key, turn_of(session, self.agent)
        return known[1]

    def close(self) -> None:
        """Let go of the files."""
        for follower in self.followers:
            if follower is not self._given:
                follower.close()

    # -- its tile --------------------------------------------------------------------------------------------------

    def made(self, now: float) -> Tile | None:
        """The tile of the session; None where there is none: nothing was said, or it has ended long ago."""
        session, turn, evidence = self.session, self.turn, self.evidence or Evidence()
        if evidence.still is not None and evidence.during != turn.phase:
            evidence = replace(evidence, still=None)  # it was measured while it did something else
        if not (evidence.alive or self.is_recent(now)) or not says_something(session):
            return None
        live = is_live(self.touched, session.updated or self.touched, now)
        helpers, turns = self._running(session, evidence, now)
        return Tile(
            path=self.path,
            provider=session.provider,
            agent=self.agent.name,
            id=session.id,
            title=session.title,
            workspace_root=session.workspace_root,
            branch=session.branch,
            state=judge(self.agent.name, [turn, *turns], evidence, now=now, live=live),
            last=turn.last,
            usage=self._figures.usage(session) if self.loaded else None,
            cost=self._figures.cost,
            recent=sum(_recent(follower.session, now) for follower in self.followers),
            context_used=session.context_used,
            context_window=session.context_window,
            helpers=helpers,
            shared=self.shared,
            touched=self.touched,
            measured=self.measured,
        )

    def _running(self, session: Session, evidence: Evidence, now: float) -> tuple[tuple[Helper, ...], list[Turn]]:
        """The subagents that run, as a tree, and their turns."""
        helpers: list[Helper] = []
        turns: list[Turn] = []
        stated = evidence.stated
        if stated is not None and (stated.status is not Status.WAITS or _has_tools(self.turn)):
            stated = None  # else a subagent's tool use is what it waits for
        for subagent in session.subagents[-_MOST_HELPERS:] if evidence.alive is not False else ():
            if (follower := self._helpers.get(_file_of(subagent, session))) is None:
                continue
            turn, inner = self._turn(follower), follower.session
            if turn.over:
                continue
            if not _is_open(session, subagent) and now - (inner.updated or 0.0) > RECENT_SECONDS:
                continue
            below, deeper = self._running(inner, evidence, now)
            own = Evidence(evidence.alive, runs=evidence.runs, silent=True, stated=stated if _has_tools(turn) else None)
            state = judge(self.agent.name, [turn, *deeper], own, now=now, live=True)
            name = subagent.name or inner.title
            helpers.append(Helper(subagent.id, name, subagent.description, state, inner.usage(), below, subagent.path))
            turns += [turn, *deeper]
        return tuple(helpers), turns


def _has_tools(turn: Turn) -> bool:
    return any(call.type != "task" for call in turn.calls)


def _file_of(subagent: Subagent, session: Session) -> Path:
    """The file of a subagent; of one within its parent's, what `Within` calls it."""
    inner = subagent.session
    if subagent.path is None or (inner is not None and inner.path == session.path):
        return session.path / f"#{subagent.id}"
    return subagent.path


def _may_run(session: Session, subagent: Subagent, recent: bool) -> bool:
    """Tell whether a quiet subagent may run: it has no result, or was sent to the background in the last minutes."""
    use = subagent.tool_use
    if _is_open(session, subagent) or not recent or use is None or use >= len(session.messages):
        return _is_open(session, subagent)
    tool = session.message(use).tool
    return tool is not None and tool.status is ToolStatus.BACKGROUND


def _is_open(session: Session, subagent: Subagent) -> bool:
    """Tell whether the tool use that started a subagent has no result."""
    use = subagent.tool_use
    return use is not None and use < len(session.messages) and session.messages.has(use, Flag.PENDING)


def _recent(session: Session, now: float) -> int:
    """The tokens of the last minute."""
    groups, total = session.groups, 0
    for group in range(len(groups.ids) - 1, -1, -1):
        last = groups.last[group]
        when = session.messages.when(last) if last != NONE else None
        if when is None or now - when > _MINUTE:
            break
        total += groups.usage[group].total or 0
    return total


class _Figures:
    """The tokens of a session with its subagents, and what they cost: added up a slice at a time, every few seconds."""

    def __init__(self) -> None:
        self.cost: Tally | None = None
        """None while it is not known."""
        self._family = FamilyUsage()
        self._settled, self._count = Tally(), 0
        """The cost of the first responses, and how many they are."""
        self._of: tuple[Session, bool] | None = None
        """The session that was added up, and whether prices were there then."""
        self._touched = 0.0
        self._work: Iterator[None] | None = None
        self._due, self._spent = 0.0, 0.0

    @property
    def is_at_work(self) -> bool:
        """Tell whether it has begun to add up and not ended."""
        return self._work is not None

    @property
    def is_due(self) -> bool:
        """Tell whether there is more to add up."""
        return self.is_at_work or (self._of is not None and self._of[1] != loaded())

    def usage(self, session: Session) -> TokenUsage | None:
        """The tokens used so far."""
        return self._family.total(session)

    def run(self, session: Session, touched: float, seconds: float) -> None:
        """Add up what is due, for about so long."""
        begun, now_of = time.monotonic(), (session, loaded())
        if self._work is None:
            if begun < self._due or (self._of == now_of and self._touched == touched):
                return
            self._touched = touched
            family = self._family.run(session) if session.subagents else iter(())
            self._work = chain(family, self._price(session))
        for _ in self._work:
            if time.monotonic() - begun > seconds:
                self._spent += time.monotonic() - begun
                return
        self._of = now_of
        self._due = time.monotonic() + max(_FIGURES_EVERY, 50 * (self._spent + time.monotonic() - begun))
        self._work, self._spent = None, 0.0

    def _price(self, session: Session) -> Iterator[None]:
        """Price the session's responses: those at the end each time, the others once."""
        if not loaded():
            return
        if self._of != (session, True) or self._count > len(session.groups.ids):
            self._settled, self._count = Tally(), 0
        while self._count < len(session.groups.ids) - _UNSETTLED:
            self._settled.merge(group_cost(session, self._count))
            self._count += 1
            yield
        total = self._settled + (self._family.cost or Tally())
        for group in range(self._count, len(session.groups.ids)):
            total.merge(group_cost(session, group))
        self.cost = total

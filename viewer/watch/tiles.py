"""The sessions that run, each as a tile: what it does or for what it waits, what was used, what its subagents do.

`Watch` finds them, follows them and says when one changed; `tiles_now` is one look. Sessions of the last ten minutes
count, and those that a process works on. Everything happens in the caller's thread, in slices (`step`).
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from renderers.facts import project_name
from schemas.costs.responses import Tally
from schemas.message import Flag, Kind
from schemas.opening import OpenError, open_reading
from schemas.paths import source_of
from schemas.provider import Environment, Problem, SessionFile
from schemas.running import Agent, Stated, agent_of, agents_on, stated_by
from schemas.session import Session, Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage
from viewer.follow.clock import written_below
from viewer.follow.follower import SLICE, Follower, Within
from viewer.index.summary import says_something
from viewer.sessions.discover import discover, environment
from viewer.sessions.freshness import LIVE_SECONDS, RECENT_SECONDS, file_state, is_live
from viewer.usage.costs import SessionCosts
from viewer.usage.costs import loaded as costs_loaded
from viewer.usage.family import FamilyUsage
from viewer.watch.links import Found, Links, Seat
from viewer.watch.processes import Processes, Stillness
from viewer.watch.state import Does, Evidence, State, Turn, judge, turn_of

_UNHEARD = 0.25
"""Seconds between looks at files where the system does not say that they are written."""
LOOK_EVERY = 1.0
"""Seconds between looks at processes and at what agents say."""
_DISCOVER_EVERY = 5.0
"""Seconds between looks for new sessions by the clock; ten times as many where looking takes long."""
_FIGURES_EVERY = 2.0
"""Seconds between two sums of what a session cost."""
_MOST_HELPERS = 32
"""Subagents of a session that are looked at for signs of life: the last ones."""
_MOST_LOOKED_INTO = 50
"""Sessions of an agent that are looked into for one in the directory of a process."""
_BEGINNING = 1 << 20
"""Bytes in which a session says where it runs."""
_MOST_FILES = 100
"""Tool uses of a session met late whose files are looked at."""
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Helper:
    """A subagent that runs."""

    id: str
    name: str
    description: str
    state: State
    usage: TokenUsage | None
    children: tuple[Helper, ...] = ()
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """A file that another session touches as well, and at least one of them changed."""

    path: str
    others: tuple[str, ...]
    """The projects of the others, or their titles where that is the same one."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A session that runs."""

    path: Path
    """Its address."""
    provider: str
    agent: str
    """The agent's name."""
    id: str
    title: str
    workspace_root: str | None
    branch: str | None
    state: State
    last: str
    """The agent's last text."""
    usage: TokenUsage | None
    """What was used so far, subagents included; None while it is not read to its end, or nothing tells."""
    cost: Tally | None
    """The cost of that; None while it is not known."""
    recent: int
    """Tokens of the last minute."""
    context_used: int | None
    context_window: int | None
    helpers: tuple[Helper, ...]
    shared: tuple[Shared, ...]
    touched: float
    """When it, or a subagent of it, was written last."""

    @property
    def project(self) -> str:
        """The name of its project."""
        return project_name(self.workspace_root)


class _Followed:
    """One session that is followed, with its subagents."""

    def __init__(self, path: Path, agent: Agent) -> None:
        self.path, self.agent = path, agent
        self.follower = Follower(path, from_end=True)
        self.helpers: dict[Path, tuple[Subagent, Follower | Within]] = {}
        self.found = Found()
        self.tile: Tile | None = None
        self.order = 0
        self.met = False
        """Whether it was read to its end once."""
        self.files: dict[str, bool] = {}
        """The files that it touched, and whether it changed them."""
        self.shared: tuple[Shared, ...] = ()
        self._turns: dict[Path, tuple[object, Turn]] = {}
        self._costs = SessionCosts(self.session)
        self._family = FamilyUsage()
        self._work: Iterator[None] | None = None
        self._figured: object = None
        """The state of the session whose figures are known."""
        self._figure_at = 0.0
        self._spent = 0.0
        self.still: bool | None = None
        """Whether its terminal is still."""
        self._files_of: tuple[Session, int] = self.session, 0

    @property
    def session(self) -> Session:
        return self.follower.session

    def step(self, seconds: float, now: float) -> None:
        """Look once, and read on for about so long."""
        self.follower.poll()
        self.follower.step(seconds)
        for _, follower in list(self.helpers.values()):
            follower.poll()
            follower.step(seconds)
            self._find_helpers(follower.session, now)
        self._find_helpers(self.session, now)
        self._note_files()

    @property
    def loaded(self) -> bool:
        """Tell whether all that there was has been read."""
        return self.follower.loaded and all(follower.loaded for _, follower in self.helpers.values())

    def _find_helpers(self, session: Session, now: float) -> None:
        """Follow the subagents that run: those that are written, or have no result."""
        for subagent in session.subagents[-_MOST_HELPERS:]:
            path, use = subagent.path, subagent.tool_use
            if subagent.internal or len(self.helpers) >= 4 * _MOST_HELPERS:
                continue
            if subagent.session is not None and (path is None or subagent.session.path == session.path):
                within = Within(subagent, session)
                self.helpers.setdefault(within.path, (subagent, within))
            elif path is not None and path not in self.helpers and path != self.path:
                is_open = use is not None and use < len(session.messages) and session.messages.has(use, Flag.PENDING)
                if is_open or now - file_state(path).mtime_ns / 1e9 < LIVE_SECONDS:
                    with suppress(OpenError):  # made a moment ago and empty still
                        self.helpers[path] = subagent, Follower(path, from_end=True)

    def _note_files(self) -> None:
        """Note which files its tool uses read or changed; of a session met late, those of the last ones."""
        session, (before, first) = self.session, self._files_of
        if before is not session or first > len(session.messages):
            first = 0
        kinds = session.messages.kind
        for index in [i for i in range(first, len(kinds)) if kinds[i] == Kind.TOOL][-_MOST_FILES:]:
            message = session.message(index)
            if message.tool is not None and message.tool.type in ("write", "read", "shell"):
                for hint in message.path_hints:
                    path = os.path.normpath(os.path.join(session.workspace_root or "", hint))
                    self.files[path] = self.files.get(path, False) or message.tool.type != "read"
        self._files_of = session, len(kinds)

    def turn(self, follower: Follower | Within) -> Turn:
        """The turn of the session or of a subagent, made anew when that changed."""
        session = follower.session
        key = session, self.follower.progress, len(session.messages), session.revision, session.turn_end
        known = self._turns.get(follower.path)
        if known is None or known[0] != key:
            known = self._turns[follower.path] = key, turn_of(session, self.agent)
        return known[1]

    @property
    def is_asking(self) -> bool:
        """Tell whether it may wait for permission, so that its terminal is to be measured."""
        return bool(self.turn(self.follower).calls) or self.agent.running.late

    def is_recent(self, now: float) -> bool:
        """Tell whether it was written in the last minutes, and its newest record says so too."""
        updated = self.session.updated
        return now - self.touched < RECENT_SECONDS and (updated is None or abs(now - updated) < RECENT_SECONDS)

    def made(self, runs: tuple[tuple[str, float], ...], now: float) -> Tile | None:
        """The tile of the session; None where there is none: nothing was said, or it has ended long ago."""
        session, found, running = self.session, self.found, self.agent.running
        if not (found.alive or self.is_recent(now)) or not says_something(session):
            return None
        live = is_live(self.touched, session.updated or self.touched, now)
        silent = not running.asks or any(re.search(running.headless or r"\Z.", one.command) for one in found.workers)
        stopped = any(process.stopped for process in found.workers)
        link = Evidence(found.alive, stopped, silent, running.late, runs, self.still, found.stated)
        helpers, turns = self._helpers(session, link, now)
        state = judge(self.agent.name, [self.turn(self.follower), *turns], link, now=now, live=live)
        return Tile(
            self.path, session.provider, self.agent.name, session.id, session.title, session.workspace_root,
            session.branch, state, self.turn(self.follower).last, self.usage, self.cost, self.recent(now),
            session.context_used, session.context_window, helpers, self.shared, self.touched,
        )  # fmt: skip

    def _helpers(self, session: Session, link: Evidence, now: float) -> tuple[tuple[Helper, ...], list[Turn]]:
        """The subagents that run, as a tree, and their turns."""
        helpers: list[Helper] = []
        turns: list[Turn] = []
        for subagent, follower in self.helpers.values() if link.alive is not False else ():
            if not any(subagent is one for one in session.subagents):
                continue
            turn, use = self.turn(follower), subagent.tool_use
            is_open = use is not None and use < len(session.messages) and session.messages.has(use, Flag.PENDING)
            written = now - (follower.session.updated or 0.0)
            if turn.over or not (is_open or written < RECENT_SECONDS):
                continue
            below, deeper = self._helpers(follower.session, link, now)
            own = Evidence(link.alive, runs=link.runs, silent=True)
            state = judge(self.agent.name, [turn, *deeper], own, now=now, live=True)
            name, inner = subagent.name or follower.session.title, follower.session
            helpers.append(Helper(subagent.id, name, subagent.description, state, inner.usage(), below, subagent.path))
            turns += [turn, *deeper]
        return tuple(helpers), turns

    @property
    def touched(self) -> float:
        """The time at which it, or a subagent of it, was written last."""
        followers = (self.follower, *(one for _, one in self.helpers.values() if isinstance(one, Follower)))
        return max(one.written or 0.0 for one in followers)

    @property
    def seat(self) -> Seat:
        """The facts by which its process is found."""
        session = self.session
        return Seat(self.path, self.agent, session.id, session.workspace_root, session.created, self.touched)

    # -- figures ---------------------------------------------------------------------------------------------------

    def figure(self, seconds: float) -> None:
        """Add up and price what changed, every few seconds, for about so long."""
        session, begun = self.session, time.monotonic()
        mark = session, self.touched, costs_loaded()
        if self._work is None:
            if not self.loaded or begun < self._figure_at or mark == self._figured:
                return
            if not isinstance(self._figured, tuple) or self._figured[0] is not session or not self._figured[2]:
                self._costs.begin(session)
            self._costs.changed([len(session.exchanges) - 1] if session.exchanges else [])
            self._work, self._figured = chain(self._costs.run(), self._family.run(session)), mark
        for _ in self._work:
            if time.monotonic() - begun > seconds:
                self._spent += time.monotonic() - begun
                return
        self._spent += time.monotonic() - begun
        # Subagents' files are read again from their beginning.
        self._figure_at, self._spent = time.monotonic() + max(_FIGURES_EVERY, 50 * self._spent), 0.0
        self._work = None

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens used so far; None while the session is not read to its end."""
        return self._family.total(self.session) if self.loaded else None

    @property
    def cost(self) -> Tally | None:
        """The cost of that; None while it is not known."""
        if not costs_loaded() or self._costs.total is None:
            return None
        return self._costs.total + (self._family.cost or Tally())

    def recent(self, now: float) -> int:
        """Tokens of the last minute, those of the subagents that run included."""
        return sum(_recent(one.session, now) for one in (self.follower, *(one for _, one in self.helpers.values())))

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        return [path for one in (self.follower, *(f for _, f in self.helpers.values())) for path in one.sources]

    def close(self) -> None:
        """Let go of the files."""
        for follower in (self.follower, *(one for _, one in self.helpers.values())):
            follower.close()


def _recent(session: Session, now: float) -> int:
    groups, total = session.groups, 0
    for group in range(len(groups.ids) - 1, -1, -1):
        last = groups.last[group]
        when = session.messages.when(last) if last != NONE else None
        if when is None or now - when > _MINUTE:
            break
        total += groups.usage[group].total or 0
    return total


class Watch:
    """The sessions that run on this machine.

    `step` does what is due, `changes` goes on doing it; `tiles` is what is known by then, those that need a person most
    first. A tile moves only when its need changes.
    """

    def __init__(
        self,
        env: Environment | None = None,
        processes: Path = Path("/proc"),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.tiles: list[Tile] = []
        self.changed = False
        """Whether `tiles` is another list than when this was set to False."""
        self.problems: list[Problem] = []
        self.note = ""
        """Why the system does not say when files change, where it does not."""
        self._env = env or environment()
        self._clock = clock
        self._processes = Processes(processes)
        self._links, self._still = Links(self._processes), Stillness()
        self._known: dict[str, SessionFile] = {}
        self._followed: dict[Path, _Followed] = {}
        self._refused: dict[Path, int] = {}
        """Files that are no session, and their size."""
        self._workspaces: dict[Path, str | None] = {}
        self._due: dict[Path, None] = {}
        self._by_file: defaultdict[str, set[Path]] = defaultdict(set)
        self._stated: dict[str, list[Stated]] = {}
        self._look_at = self._discover_at = 0.0
        self._serial = 0
        self._met = False
        """Whether a session was read of which it is not known yet which process works on it."""

    # -- finding ---------------------------------------------------------------------------------------------------

    def discover(self) -> None:
        """Look for sessions that run. Costs a scan of the agents' folders."""
        begun = time.monotonic()
        found = discover(self._env)
        self.problems = found.problems
        self._known = {file.file: file for file in found.files}
        self._look_at_machine()
        now = self._clock()
        running = {(agent, one.session) for agent, some in self._stated.items() for one in some if self._runs(one)}
        for file in found.files:
            if now - file.mtime_ns / 1e9 < RECENT_SECONDS or (file.provider, file.id) in running:
                self._follow(file)
        self._find_by_directory(found.files)
        took = time.monotonic() - begun
        self._discover_at = time.monotonic() + max(_DISCOVER_EVERY, 50 * took)

    def _runs(self, stated: Stated) -> bool:
        return not self._processes.known or self._processes.find(stated.pid, stated.start) is not None

    def _find_by_directory(self, files: list[SessionFile]) -> None:
        """Follow the sessions that are quiet for long though a process of their directory is there."""
        places = list(self._links.directories(agents_on(self._env)))
        for agent, directory, begun in places:
            later = [file for file in files if file.provider == agent.id and file.mtime_ns / 1e9 >= begun]
            for file in later[:_MOST_LOOKED_INTO]:
                if file.path in self._followed or self._workspace(file.path) == directory:
                    self._follow(file)
                    break

    def _workspace(self, path: Path) -> str | None:
        if path not in self._workspaces:
            self._workspaces[path] = None
            with suppress(OpenError, OSError):
                reading = open_reading(path)
                while not reading.done and reading.session.workspace_root is None and reading.progress[0] < _BEGINNING:
                    reading.step(1 << 16)
                self._workspaces[path] = reading.session.workspace_root
                reading.session.close()
        return self._workspaces[path]

    def _follow(self, file: SessionFile) -> None:
        path, agent = file.path, agent_of(file.provider)
        if path in self._followed or agent is None or self._refused.get(path) == file.size or not file.size:
            return
        try:
            self._followed[path] = _Followed(path, agent)
        except OpenError:
            self._refused[path] = file.size
            return
        self._due[path] = None

    # -- looking ---------------------------------------------------------------------------------------------------

    def step(self, seconds: float = SLICE) -> bool:
        """Do what is due for about so long; whether there is more to do at once."""
        end, now = time.perf_counter() + seconds, self._clock()
        if time.monotonic() >= self._discover_at:
            self.discover()
        if not 0 < self._look_at - now <= LOOK_EVERY or (self._met and not self._due):
            self._met = False
            self._look_at_machine()
            self._due.update(dict.fromkeys(self._followed))
            self._share()
            self._by_file = defaultdict(set)
            for one in self._followed.values():
                for source in one.sources:
                    self._by_file[os.fspath(source_of(source)[0])].add(one.path)
        for path in list(self._due):
            del self._due[path]
            if (followed := self._followed.get(path)) is None:
                continue
            followed.step(SLICE, self._clock())
            followed.figure(SLICE)
            if not followed.loaded:
                self._due[path] = None
            elif not followed.met:
                followed.met = self._met = True
            self._judge(followed)
            if time.perf_counter() > end:
                break
        return bool(self._due) or self._met

    def touch(self, path: Path) -> None:
        """Look at the session of a file soon: it was written."""
        name = os.fspath(path).removesuffix("-wal")
        if (paths := self._by_file.get(name)) is not None:
            self._due.update(dict.fromkeys(path for path in paths if path in self._followed))
            return
        if (file := self._known.get(name)) is not None:
            self._follow(file)

    def _look_at_machine(self) -> None:
        """Look at the processes, and at what the agents say of their sessions."""
        now = self._clock()
        eyed = [process.pid for followed in self._followed.values() for process in followed.found.workers]
        self._processes.look(now, eyed)
        self._stated = {agent.id: stated_by(agent, self._env, self.problems) for agent in agents_on(self._env)}
        seats = [followed.seat for followed in self._followed.values()]
        for path, found in self._links.find(seats, self._stated, now).items():
            one = self._followed[path]
            one.found = found
            if found.screens and one.is_asking:
                written = [self._processes.written(process) for process in found.screens]
                total = sum(some or 0 for some in written) if any(some is not None for some in written) else None
                one.still = self._still.measure(path, total, now)
            else:
                one.still = None
                self._still.forget(path)
        self._look_at = now + LOOK_EVERY

    # -- judging ---------------------------------------------------------------------------------------------------

    def _judge(self, followed: _Followed) -> None:
        """Make a session's tile anew."""
        now = self._clock()
        tile = followed.made(self._links.runs(followed.seat, followed.found), now)
        if tile is not None and (followed.tile is None or tile.state.need != followed.tile.state.need):
            self._serial += 1
            followed.order = self._serial
        if tile != followed.tile:
            followed.tile, self.changed = tile, True
            shown = [one for one in self._followed.values() if one.tile is not None]
            shown.sort(key=lambda one: (one.tile.state.need if one.tile else 0, one.order))
            self.tiles = [one.tile for one in shown if one.tile is not None]
        if tile is None and followed.loaded and not followed.is_recent(now):
            self._refused[followed.path] = file_state(followed.path).size
            self._drop(followed)

    def _drop(self, followed: _Followed) -> None:
        followed.close()
        self._followed.pop(followed.path, None)
        self._due.pop(followed.path, None)

    def _share(self) -> None:
        """Say of each file that several sessions touch, one of which changed it, who else does."""
        users: defaultdict[str, list[_Followed]] = defaultdict(list)
        for followed in self._followed.values():
            if followed.tile is not None and followed.tile.state.does is not Does.ENDED:
                for path in followed.files:
                    users[path].append(followed)
        shared: defaultdict[Path, list[Shared]] = defaultdict(list)
        for path, some in users.items():
            if len(some) > 1 and any(one.files[path] for one in some):
                for one in some:
                    others = tuple(_called(other, one) for other in some if other is not one)
                    shared[one.path].append(Shared(_seen_from(path, one.session.workspace_root), others))
        for followed in self._followed.values():
            followed.shared = tuple(sorted(shared[followed.path], key=lambda one: one.path))

    # -- going on --------------------------------------------------------------------------------------------------

    async def changes(self) -> AsyncIterator[list[Tile]]:
        """The tiles, at once and whenever one of them changed; ends never. Files are looked at when the system says
        that they were written, and once a second.
        """
        heard = asyncio.Event()
        listening = asyncio.get_running_loop().create_task(self._listen(heard))
        begun = False
        try:
            while True:
                more = self.step()
                if (self.changed or not begun) and not (more and not begun):
                    begun, self.changed = True, False
                    yield self.tiles
                if more:
                    await asyncio.sleep(0)
                    continue
                wait = min(self._look_at - self._clock(), LOOK_EVERY)
                with suppress(TimeoutError):
                    await asyncio.wait_for(heard.wait(), max(0.0, min(wait, _UNHEARD if self.note else wait)))
                heard.clear()
                if self.note:
                    self._due.update(dict.fromkeys(self._followed))
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            self.close()

    async def _listen(self, heard: asyncio.Event) -> None:
        """Hear of files that are written in the agents' folders."""
        folders = [
            place.path for agent in agents_on(self._env) for place in agent.locations(self._env) if place.path.is_dir()
        ]
        try:
            async for paths in written_below(folders):
                for path in paths:
                    self.touch(path)
                heard.set()
        except (OSError, RuntimeError) as error:
            self.note = f"no file events ({error}); looking {1 / _UNHEARD:.0f} times a second"

    def close(self) -> None:
        """Let go of all files."""
        for followed in list(self._followed.values()):
            self._drop(followed)


def _called(other: _Followed, one: _Followed) -> str:
    """The name of a session in the tile of another one: its project, or its title where that is the same."""
    name = project_name(other.session.workspace_root)
    return (
        name if name and name != project_name(one.session.workspace_root) else other.session.title or other.session.id
    )


def _seen_from(path: str, root: str | None) -> str:
    base = f"{root}{os.sep}" if root else ""
    return path.removeprefix(base) if base else path


def tiles_now(env: Environment | None = None, processes: Path = Path("/proc")) -> list[Tile]:
    """The sessions that run, as they are now. Stillness, which takes seconds to measure, is not in it."""
    watch = Watch(env, processes)
    try:
        while watch.step(1.0):
            pass
        return watch.tiles
    finally:
        watch.close()

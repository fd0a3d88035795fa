"""The sessions that run, each as a tile (`Tile`): what it does or for what it waits, what was used, its subagents.

`Watch` finds them, follows them and says when one changed; `tiles_now` is one look. Sessions of the last ten minutes
count, and those that a process works on. But for finding, everything happens in the caller's thread, in slices.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from renderers.facts import project_name
from renderers.headline import relative_path
from schemas.agents import Agent, agent_of, agents_on, stated_by
from schemas.paths import source_of
from schemas.provider import Environment, Problem, SessionFile
from schemas.running import Stated
from schemas.troubles import OpenError
from viewer.follow.clock import written_below
from viewer.follow.follower import Follower
from viewer.sessions.discover import Found, discover, environment
from viewer.sessions.freshness import RECENT_SECONDS, file_state
from viewer.sessions.newest import workspace_of
from viewer.watch.followed import Followed
from viewer.watch.links import Links
from viewer.watch.processes import SAMPLE, Processes, Stillness
from viewer.watch.state import Does, Evidence
from viewer.watch.tile import Shared, Tile

LOOK_EVERY, _LOOK_SOON = 1.0, 0.3
"""Seconds between looks at processes and at what agents say; and after a tool use began or ended."""
_DISCOVER_EVERY, _DISCOVER_SOON = 10.0, 1.0
"""Seconds between looks for new sessions, by the clock and when an unknown file is written; 400 and 20 times as long as
looking takes, where that is more.
"""
_LOOKS = 3
"""Looks for the session that an unknown file belongs to: what is written in a new folder at once may not be heard of.
"""
_SLICE, _READ = 0.01, 0.004
"""Seconds of work after which others have their turn, and of reading in one session."""
_SHOW_EVERY = 0.1
"""Seconds between two pictures while there is more to do."""
_UNHEARD = 0.25
"""Seconds between looks at files where the system does not say that they are written."""
_MOST_LOOKED_INTO = 50
"""Sessions of an agent that are looked into for one in the directory of a process."""


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
        self.changed = False
        """Whether `tiles` is another list than when this was set to False."""
        self.problems: list[Problem] = []
        """What could not be looked into, as of the last discovery."""
        self.note = ""
        """Why the system does not say when files change, where it does not."""
        self._env = env or environment()
        self._agents: tuple[Agent, ...] = ()
        """Those that are asked: all that have sessions here, as of the last discovery."""
        self._clock = clock
        self._processes = Processes(processes)
        self._links, self._still = Links(self._processes), Stillness()
        self._known: dict[str, SessionFile] = {}
        self._followed: dict[Path, Followed] = {}
        self._refused: dict[Path, int] = {}
        """Files that are no session that runs, and their size."""
        self._strange: set[str] = set()
        """Files that were written and are no session's."""
        self._workspaces: dict[Path, str | None] = {}
        self._due: dict[Path, None] = {}
        self._by_file: defaultdict[str, set[Path]] = defaultdict(set)
        self._stated: dict[str, list[Stated]] = {}
        self._look_at = 0.0
        self._discover_at = self._discovered = self._discovering = 0.0
        """When to look for sessions next, when that was done last, and how long it took."""
        self._expected = 0
        """How many more looks an unknown file is worth."""
        self._serial = 0
        self._met = False
        """Whether there are sessions of which it is not known yet which process works on them."""

    @property
    def tiles(self) -> list[Tile]:
        """The tiles, those that need a person most first."""
        shown = [(one.tile.state.need, one.order, one.tile) for one in self._followed.values() if one.tile is not None]
        return [tile for _, _, tile in sorted(shown, key=itemgetter(0, 1))]

    @property
    def is_measuring(self) -> bool:
        """Tell whether there is a verdict that may become another one when it is known whether a terminal is still."""
        return any(tile.may_change for tile in self.tiles)

    # -- finding ---------------------------------------------------------------------------------------------------

    @property
    def due(self) -> bool:
        """Tell whether it is time to look for sessions: `discover`, then `take`."""
        return time.monotonic() >= self._discover_at

    def discover(self) -> tuple[Found, float]:
        """Look for sessions; returns what `take` takes. Costs a scan of the agents' folders: it may be for a thread."""
        begun = time.monotonic()
        found = discover(self._env)
        return found, time.monotonic() - begun

    def take(self, discovered: tuple[Found, float]) -> None:
        """Follow those sessions among the discovered ones that run."""
        found, took = discovered
        self._agents = tuple(agents_on(self._env))
        self._known = {file.file: file for file in found.files}
        self.problems = [*found.problems, *self._look_at_machine()]
        now = self._clock()
        running = {
            (agent, one.session)
            for agent, some in self._stated.items()
            for one in some
            if one.pid and self._processes.is_there(one.pid, one.start) is not False
        }
        for file in found.files:
            if now - file.mtime_ns / 1e9 < RECENT_SECONDS or (file.provider, file.id) in running:
                self._follow(file)
        self._find_by_directory(found.files)
        self._discovered, self._discovering = time.monotonic(), took
        self._expected = max(0, self._expected - 1)
        self._discover_at = self._discovered + (
            max(_DISCOVER_SOON, 20 * took) if self._expected else max(_DISCOVER_EVERY, 400 * took)
        )

    def _find_by_directory(self, files: list[SessionFile]) -> None:
        """Follow the sessions that are quiet for long though a process of their directory is there."""
        taken: set[Path] = set()
        for agent, directory, begun in self._links.directories(self._agents):
            later = (file for file in files if file.provider == agent.id and file.mtime_ns / 1e9 >= begun)
            for _, file in zip(range(_MOST_LOOKED_INTO), later, strict=False):
                if file.path not in taken and self._workspace(file.path) == directory:
                    taken.add(file.path)
                    self._follow(file)
                    break

    def _workspace(self, path: Path) -> str | None:
        if path not in self._workspaces:
            self._workspaces[path] = workspace_of(path)
        return self._workspaces[path]

    def _follow(self, file: SessionFile) -> None:
        path, agent = file.path, agent_of(file.provider)
        if path in self._followed or agent is None or self._refused.get(path) == file.size or not file.size:
            return
        try:
            self._followed[path] = Followed(path, agent)
        except (OpenError, OSError):
            self._refused[path] = file.size
            return
        self._due[path] = None

    def only(self, follower: Follower) -> Tile | None:
        """Watch one session and no others, which somebody else follows; return its tile as it is now, if it runs."""
        agent = agent_of(follower.session.provider)
        if agent is None:
            return None
        self._agents = (agent,)
        if follower.path not in self._followed:
            self._followed[follower.path] = Followed(follower.path, agent, follower)
        self._due[follower.path] = None
        self.step()
        return next(iter(self.tiles), None)

    def touch(self, path: Path) -> None:
        """Look soon at what a file belongs to: it was written."""
        name = os.fspath(path).removesuffix("-wal").removesuffix("-shm")
        if paths := self._by_file.get(name):
            self._due.update(dict.fromkeys(path for path in paths if path in self._followed))
            if not any(source_of(one)[1] for one in paths):
                return
        if (file := self._known.get(name)) is not None:
            self._refused.pop(file.path, None)
            self._follow(file)
        elif name not in self._strange:  # a session that begins, or a database, which may hold one
            self._discover_at = min(self._discover_at, self._discovered + max(_DISCOVER_SOON, 20 * self._discovering))
            self._expected = _LOOKS
            if not any(source_of(one)[1] for one in paths or ()):
                self._strange.add(name)

    # -- looking ---------------------------------------------------------------------------------------------------

    def step(self, seconds: float = _SLICE) -> bool:
        """Do what is due for about so long; whether there is more to do at once."""
        end, now = time.perf_counter() + seconds, self._clock()
        if not 0 < self._look_at - now <= LOOK_EVERY or (self._met and not self._due):
            self._met, self._look_at = False, now + LOOK_EVERY
            self._look_at_machine()
            self._share()
            for path, one in list(self._followed.items()):
                if not one.is_at_rest(now):
                    self._due[path] = None
                elif one.tile is not None and one.tile.recent:
                    self._judge(one, now)  # the last minute is another one
            self._by_file = defaultdict(set)
            for one in self._followed.values():
                for file in one.files_read:
                    self._by_file[file].add(one.path)
        unread: list[Path] = []
        for path in list(self._due):
            del self._due[path]
            if (followed := self._followed.get(path)) is None:
                continue
            calls = followed.turn.calls if followed.met else ()
            followed.step(_READ, now)
            if followed.has_more:
                unread.append(path)
            if not followed.met:
                followed.met = self._met = True
            elif followed.turn.calls != calls:
                self._look_at = min(self._look_at, now + _LOOK_SOON)
            self._judge(followed, now)
            if time.perf_counter() > end:
                break
        self._due.update(dict.fromkeys(unread))
        return bool(self._due) or self._met

    def _look_at_machine(self) -> list[Problem]:
        """Look at the processes, and at what the agents say of their sessions; returns what could not be read."""
        problems: list[Problem] = []
        now = self._clock()
        workers = [one.pid for each in self._followed.values() if each.evidence for one in each.evidence.workers]
        self._processes.look(now, workers)
        self._stated = {agent.id: stated_by(agent, self._env, problems) for agent in self._agents}
        seats = [followed.seat for followed in self._followed.values()]
        for path, evidence in self._links.find(seats, self._stated, now).items():
            followed = self._followed[path]
            if not followed.met:
                continue  # where it runs is not read yet
            before = followed.evidence or Evidence()
            if evidence.screens and followed.may_wait:
                written = [one for process in evidence.screens if (one := self._processes.written(process)) is not None]
                evidence.still = self._still.measure(path, followed.turn.phase, sum(written) if written else None, now)
                evidence.during = followed.turn.phase if evidence.still is not None else None
                followed.measured = evidence.still is not None or not written
            else:
                self._still.forget(path)
                followed.measured = True
            if evidence.alive is False:
                evidence.gone = before.gone or (now if before.alive else None)
            followed.evidence = evidence
        return problems

    # -- judging ---------------------------------------------------------------------------------------------------

    def _judge(self, followed: Followed, now: float) -> None:
        """Make a session's tile anew."""
        if followed.evidence is None:
            return
        before, tile, followed.judged = followed.tile, followed.made(now), True
        if tile != before:
            followed.tile, self.changed = tile, True
            if tile is not None and (before is None or tile.state.need != before.state.need):
                self._serial += 1
                followed.order = self._serial
        if tile is None and followed.loaded and not followed.is_recent(now):
            self._refused[followed.path] = file_state(followed.path).size
            self._drop(followed)

    def _drop(self, followed: Followed) -> None:
        followed.close()
        self._followed.pop(followed.path, None)
        self._due.pop(followed.path, None)

    def _share(self) -> None:
        """Say of each file that several sessions touch, one of which changed it, who else does."""
        users: defaultdict[str, list[Followed]] = defaultdict(list)
        for followed in self._followed.values():
            if followed.tile is not None and followed.tile.state.does is not Does.ENDED:
                for path in followed.files:
                    users[path].append(followed)
        shared: defaultdict[Path, list[Shared]] = defaultdict(list)
        for path, some in users.items():
            if len(some) > 1 and any(one.files[path] for one in some):
                for one in some:
                    beside = [other for other in some if other is not one]
                    others = tuple(_called(other, one) for other in beside)
                    name, ids = relative_path(path, one.session.workspace_root), tuple(o.session.id for o in beside)
                    shared[one.path].append(Shared(name, others, ids))
        for followed in self._followed.values():
            followed.shared = tuple(sorted(shared[followed.path], key=lambda one: one.path))

    # -- going on --------------------------------------------------------------------------------------------------

    async def changes(self) -> AsyncIterator[list[Tile]]:
        """The tiles, at once and whenever one of them changed; ends never. Files are looked at when the system says
        that they were written, and once a second.
        """
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        listening = loop.create_task(self._listen(heard))
        finding: asyncio.Future[tuple[Found, float]] | None = None
        self.take(await asyncio.to_thread(self.discover))
        shown = 0.0
        try:
            while True:
                if finding is not None and finding.done():
                    self.take(finding.result())
                    finding = None
                elif finding is None and self.due:
                    finding = loop.run_in_executor(None, self.discover)
                more, now = self.step(), time.monotonic()
                ready = all(one.judged for one in self._followed.values())
                if (ready and not shown) or (self.changed and shown and (not more or now - shown > _SHOW_EVERY)):
                    shown, self.changed = now, False
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


def _called(other: Followed, one: Followed) -> str:
    """The name of a session in the tile of another one: its project, or its title where that is the same."""
    name = project_name(other.session.workspace_root)
    return (
        name if name and name != project_name(one.session.workspace_root) else other.session.title or other.session.id
    )


def tiles_now(env: Environment | None = None, processes: Path = Path("/proc")) -> list[Tile]:
    """The sessions that run, as they are now. Where a verdict hangs on whether a terminal is still, that is measured,
    which takes a few seconds.
    """
    watch = Watch(env, processes)
    try:
        watch.take(watch.discover())
        latest = time.monotonic() + 2 * SAMPLE + LOOK_EVERY
        while True:
            while watch.step(1.0):
                pass
            if not watch.is_measuring or time.monotonic() > latest:
                return watch.tiles
            time.sleep(_SHOW_EVERY)
    finally:
        watch.close()

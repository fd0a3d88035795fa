"""The process of each session: by the agent's word, an open file, a variable of a child, or the directory."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from schemas.agents import Agent, command_of
from schemas.running import Running, Stated
from viewer.watch.processes import Process, Processes
from viewer.watch.state import Evidence

_QUIET = 3.0
"""Seconds after the last write in which a session without a process may have one that is only not seen yet."""
_YOUNG = 0.4
"""Seconds that a process of a tool is old at least."""
_BEFORE, _AFTER = 1.0, 30.0
"""Seconds before and after a process's start in which a session that it began is made."""


@dataclass(slots=True)
class Seat:
    """A session that a process may work on."""

    path: Path
    agent: Agent
    id: str
    workspace: str | None
    created: float | None
    touched: float


_Key: TypeAlias = tuple[int, int, str]


def _key(process: Process) -> _Key:
    return process.pid, process.start, process.command


class Links:
    """Finds the processes of sessions among all there are. What a process is does not change, so it is asked once."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._kinds: dict[tuple[_Key, str], bool] = {}
        """Whether a process is an agent's, by its id."""
        self._values: dict[tuple[_Key, tuple[str, ...]], frozenset[str]] = {}

    def find(self, seats: list[Seat], stated: dict[str, list[Stated]], now: float) -> dict[Path, Evidence]:
        """Return what is known of the process of each session."""
        by_agent: defaultdict[str, list[Seat]] = defaultdict(list)
        for seat in seats:
            by_agent[seat.agent.id].append(seat)
        found: dict[Path, Evidence] = {}
        alive = set(map(_key, self._processes))
        self._kinds = {key: is_its for key, is_its in self._kinds.items() if key[0] in alive}
        self._values = {key: values for key, values in self._values.items() if key[0] in alive}
        for agent_id, some in by_agent.items():
            found |= self._of_agent(some[0].agent, some, stated.get(agent_id, []), now)
        return found

    def directories(self, agents: Iterable[Agent]) -> Iterator[tuple[Agent, str, float]]:
        """The directory of each process of the agents, and when it began."""
        for agent in agents:
            for group in self._groups(agent)[0]:
                if directory := self._processes.directory(group[0]):
                    yield agent, directory, self._processes.begun(group[0])

    def _runs(self, seat: Seat, workers: list[Process], now: float) -> tuple[tuple[str, float], ...]:
        """The commands of the processes of a session's tools, and when they began. One that began only now may be a
        helper of the agent's own, which is gone in a moment.
        """
        running, processes = seat.agent.running, self._processes
        below = {child.pid: child for worker in workers for child in processes.below(worker.pid)}
        runs = []
        for child in below.values():
            if now - processes.begun(child) < _YOUNG or not child.command or self._is_of(child, seat.agent):
                continue
            if running.unseen and re.search(running.unseen, child.command):
                continue
            values = self._variables(child, running)
            if not values or values & {seat.id, os.fspath(seat.path)}:
                runs.append((child.command, processes.begun(child)))
        return tuple(runs)

    # -- one agent's -----------------------------------------------------------------------------------------------

    def _of_agent(self, agent: Agent, seats: list[Seat], stated: list[Stated], now: float) -> dict[Path, Evidence]:
        groups, unseen = self._groups(agent)
        running = agent.running
        found = {seat.path: Evidence(silent=not running.asks, late=running.late, draws=running.draws) for seat in seats}
        free = list(groups)

        def take(group: list[Process], seat: Seat) -> None:
            found[seat.path].screens = group
            found[seat.path].workers = found[seat.path].workers or group
            free.remove(group)

        by_session: defaultdict[str, list[Stated]] = defaultdict(list)
        for one in stated:
            by_session[one.session].append(one)
        for seat in seats:
            self._state(agent, found[seat.path], by_session[seat.id])
        by_file = {os.fspath(seat.path): found[seat.path] for seat in seats} if running.opens else {}
        for process in chain(*free, unseen) if by_file else ():
            for path in self._processes.open_files(process) & by_file.keys():
                by_file[path].workers = [process]
        for seat in seats:
            holder = next(iter(found[seat.path].workers), None)
            if (group := next((group for group in free if holder in group), None)) is not None:
                take(group, seat)
        waiting = [seat for seat in seats if not found[seat.path].screens and not found[seat.path].is_registered]
        for group in list(free):
            below = (child for one in group for child in self._processes.below(one.pid) if running.variables)
            told = [self._variables(child, running) for child in below if not self._is_of(child, agent)]
            values = frozenset[str]().union(*told)
            named_in = " ".join(process.command for process in group).split()
            for seat in waiting:
                if values & {seat.id, os.fspath(seat.path)} or seat.id in named_in:
                    take(group, seat)
                    waiting.remove(seat)
                    break
        for group, seat in self._by_directory(free, waiting):
            take(group, seat)
        untold = running == Running() or not self._processes.known
        for seat in seats:
            if not (its := found[seat.path]).is_registered:
                doubtful = untold or now - seat.touched < _QUIET
                its.alive = True if its.workers else None if doubtful else False
            if running.headless and any(re.search(running.headless, one.command) for one in its.workers):
                its.silent, its.screens = True, []
            its.stopped = any(process.stopped for process in its.workers)
            its.begun = min(map(self._processes.begun, its.workers), default=None)
            its.runs = self._runs(seat, its.workers, now)
        return found

    def _state(self, agent: Agent, found: Evidence, stated: list[Stated]) -> None:
        """Take over what the agent says; of several statements one whose process is there."""
        processes = self._processes
        for one in stated:
            ours = one.namespace in ("", processes.namespace or one.namespace) and one.pid
            alive = processes.is_there(one.pid, one.start) if ours else None
            process = processes.find(one.pid, one.start) if alive else None
            if process is not None and not one.start and not self._is_of(process, agent):
                process, alive = None, False  # its number was given to another program
            if found.stated is None or alive:
                found.stated, found.alive, found.foreign = one, alive, bool(one.pid) and not ours and processes.known
                found.workers = [process] if process is not None else []

    def _by_directory(self, groups: list[list[Process]], seats: list[Seat]) -> list[tuple[list[Process], Seat]]:
        """Pair processes with sessions of their directory: first those that began together, then each process, the
        newest first, with the session written last since it began.
        """
        pairs: list[tuple[list[Process], Seat]] = []
        begun = {group[0].pid: self._processes.begun(group[0]) for group in groups}
        places = {group[0].pid: os.path.normpath(self._processes.directory(group[0]) or "?") for group in groups}
        left = sorted(groups, key=lambda group: begun[group[0].pid], reverse=True)
        seats = sorted(seats, key=lambda seat: seat.touched, reverse=True)
        for together in (True, False):
            for group in list(left):
                began, place = begun[group[0].pid], places[group[0].pid]
                for seat in seats:
                    born = seat.created is not None and began - _BEFORE <= seat.created <= began + _AFTER
                    here = seat.workspace is not None and os.path.normpath(seat.workspace) == place
                    if here and (born if together else seat.touched >= began - _BEFORE):
                        pairs.append((group, seat))
                        left.remove(group)
                        seats.remove(seat)
                        break
        return pairs

    def _groups(self, agent: Agent) -> tuple[list[list[Process]], list[Process]]:
        """The agent's processes: those that a launcher started as one; and apart those that have no terminal."""
        own, unseen = dict[int, Process](), list[Process]()
        for process in self._processes:
            if process.state != "Z" and self._is_of(process, agent):
                if agent.running.unseen and re.search(agent.running.unseen, process.command):
                    unseen.append(process)
                else:
                    own[process.pid] = process
        groups: defaultdict[int, list[Process]] = defaultdict(list)
        for process in own.values():
            top = process
            while (above := own.get(top.parent)) is not None and (above.start, above.pid) < (top.start, top.pid):
                top = above
            groups[top.pid].append(process)
        return [sorted(group, key=lambda one: one.pid != top) for top, group in groups.items()], unseen

    def _is_of(self, process: Process, agent: Agent) -> bool:
        key = _key(process), agent.id
        if key not in self._kinds:
            self._kinds[key] = command_of(agent).search(process.command) is not None
        return self._kinds[key]

    def _variables(self, process: Process, running: Running) -> frozenset[str]:
        key = _key(process), running.variables
        if key not in self._values:
            self._values[key] = frozenset(self._processes.variables(process, running.variables).values())
        return self._values[key]

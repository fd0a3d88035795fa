"""The processes of this machine, as far as `/proc` tells: which are an agent's, what they run, whether they draw.

Only what belongs to the same user can be looked into, and of a process's environment only variables that are named.
Where there is no `/proc` nothing is known, which is not the same as that nothing runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_YOUNG = 2.0
"""Seconds in which a process that began is looked at again."""
_JITTER = 1.0
"""Seconds by which the clock may be set without that processes began at another time."""
_MOST_FILES = 4096
"""Open files of a process that are looked at."""


@dataclass(slots=True)
class Process:
    """One process."""

    pid: int
    parent: int
    start: int
    """When it began, in clock ticks since the machine did."""
    state: str
    """Its letter: R runs, S and D sleep, T and t are stopped, Z has ended."""
    command: str
    """Its arguments, with spaces between them."""

    @property
    def stopped(self) -> bool:
        """Tell whether it is stopped, as by ctrl+z."""
        return self.state in ("T", "t")


class Processes:
    """The processes as of the last `look`. One that was there before costs nothing, unless it is kept an eye on."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = os.fspath(root)
        self._signals = root == Path("/proc") and os.name == "posix"
        self._all: dict[int, Process] = {}
        self._children: dict[int, set[int]] = {}
        self._young: list[int] = []
        """Those that may be about to become another program: a child begins as what started it."""
        self._booted = 0.0
        self.known = False
        """Whether there is anything that tells about processes."""
        self.namespace = ""
        """The namespace in which its numbers count, where that is told."""

    def look(self, now: float, eyed: Iterable[int] = ()) -> None:
        """Look once, at that time (seconds since 1970). The state letters of the processes in `eyed` are read again."""
        try:
            with os.scandir(self._root) as entries:
                pids = {int(entry.name) for entry in entries if entry.name.isdecimal()}
            uptime = float(self._read("uptime").split()[0])
        except (OSError, IndexError, ValueError):
            self.known = False
            return
        self.known = True
        if abs(now - uptime - self._booted) > _JITTER:
            self._booted = now - uptime
        if not self.namespace:
            self.namespace = self._link("self/ns/pid")
        again = {pid for pid in (*eyed, *self._young) if pid in pids}
        for pid in (self._all.keys() - pids) | again:
            if (process := self._all.pop(pid, None)) is not None:
                self._children[process.parent].discard(pid)
        for pid in pids - self._all.keys():
            self._learn(pid)
        self._young = [one.pid for one in self._all.values() if now - self.begun(one) < _YOUNG]

    def _learn(self, pid: int) -> None:
        stat, line = self._read(f"{pid}/stat"), self._read(f"{pid}/cmdline")
        fields = stat.rpartition(")")[2].split()
        try:
            process = Process(pid, int(fields[1]), int(fields[19]), fields[0], line.rstrip("\0").replace("\0", " "))
        except (IndexError, ValueError):
            return  # it has ended
        self._all[pid] = process
        self._children.setdefault(process.parent, set()).add(pid)

    # -- asking ----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Process]:
        return iter(self._all.values())

    def find(self, pid: int, start: int = 0) -> Process | None:
        """The process with a number, if it is the one that began then (0: whichever)."""
        process = self._all.get(pid)
        return process if process is not None and start in (0, process.start) and process.state != "Z" else None

    def is_there(self, pid: int, start: int = 0) -> bool | None:
        """Tell whether that process is there; None where nobody can tell. Without `/proc` its number may be another's
        by now.
        """
        if self.known:
            return self.find(pid, start) is not None
        if not self._signals:
            return None
        try:
            os.kill(pid, 0)  # which sends nothing
        except ProcessLookupError:
            return False
        except OSError:
            return True  # somebody else's
        return True

    def below(self, pid: int) -> Iterator[Process]:
        """The processes that a process started, and those that these started."""
        pids, seen = [pid], {pid}
        while pids:
            for child in sorted(self._children.get(pids.pop(), set()) - seen):
                seen.add(child)
                pids.append(child)
                if (process := self._all.get(child)) is not None:
                    yield process

    def begun(self, process: Process) -> float:
        """The time at which a process began, in seconds since 1970."""
        return self._booted + process.start / _TICKS

    def directory(self, process: Process) -> str:
        """A process's working directory; empty where that is not told."""
        return self._link(f"{process.pid}/cwd")

    def open_files(self, process: Process) -> set[str]:
        """The paths of the files that a process has open."""
        folder = f"{process.pid}/fd"
        try:
            names = os.listdir(f"{self._root}/{folder}")[:_MOST_FILES]
        except OSError:
            return set()
        return {path for name in names if (path := self._link(f"{folder}/{name}")).startswith("/")}

    def variables(self, process: Process, names: Iterable[str]) -> dict[str, str]:
        """The values of some variables in a process's environment. The others are passed over."""
        wanted = tuple(f"{name}=" for name in names)
        found = (entry for entry in self._read(f"{process.pid}/environ").split("\0") if entry.startswith(wanted))
        return dict(entry.split("=", 1) for entry in found) if wanted else {}

    def written(self, process: Process) -> int | None:
        """The bytes that a process has written in all, to its terminal too; None where that is not told."""
        match = re.search(r"^wchar: (\d+)$", self._read(f"{process.pid}/io"), re.MULTILINE)
        return int(match[1]) if match else None

    def _read(self, name: str) -> str:
        try:
            with open(f"{self._root}/{name}", "rb") as file:
                return file.read().decode("utf-8", "surrogateescape")
        except OSError:
            return ""

    def _link(self, name: str) -> str:
        try:
            return os.readlink(f"{self._root}/{name}")
        except OSError:
            return ""


STILL, BUSY = 150, 400
"""Bytes a second that a program on a terminal writes: fewer while it waits, more while it is at work, since it draws
how it goes on (formats/found-live.md 2).
"""
SAMPLE = 2.0
"""Seconds that a sample takes. Two make a still program, or one at work: typing and starting up write as well."""


class Stillness:
    """Measures whether programs on a terminal draw: `measure` is called every now and then with what each wrote."""

    def __init__(self) -> None:
        self._samples: dict[object, tuple[object, list[tuple[float, int]]]] = {}
        """During what each was measured, and what it had written at which times."""
        self._verdicts: dict[object, bool | None] = {}

    def measure(self, what: object, during: object, written: int | None, now: float) -> bool | None:
        """Tell whether `what` is still (True) or at work (False); None where that is not known yet. It is measured
        anew when it does something else (`during`); until then it stays what it was while two samples do not agree, as
        when a person types.
        """
        if written is None:
            self.forget(what)
            return None
        if (samples := self._samples.get(what)) is None or samples[0] != during:
            samples = self._samples[what] = during, []
            self._verdicts[what] = None
        history = samples[1]
        history.append((now, written))
        middle = next((i for i in range(len(history) - 1, -1, -1) if now - history[i][0] >= SAMPLE), -1)
        first = next((i for i in range(middle, -1, -1) if history[middle][0] - history[i][0] >= SAMPLE), -1)
        if first < 0:
            return None
        del history[:first]
        points = history[0], history[middle - first], history[-1]
        rates = [(two[1] - one[1]) / (two[0] - one[0]) for one, two in pairwise(points)]
        if all(0 <= rate < STILL for rate in rates):
            self._verdicts[what] = True
        elif min(rates) >= BUSY:
            self._verdicts[what] = False
        return self._verdicts[what]

    def forget(self, what: object) -> None:
        """Begin anew with what is measured under a name."""
        self._samples.pop(what, None)
        self._verdicts.pop(what, None)

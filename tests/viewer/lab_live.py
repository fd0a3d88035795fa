"""Snapshots of running agents (shared lab/live), laid out as the home and the `/proc` of a machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from schemas.provider import Environment
from schemas.values import when

LIVE = Path(__file__).parents[2] / "../shared/lab/live"
BOOTED = 1795891928.0
"""When the machine of the snapshots was started: what the registries say, less the start ticks."""
_HOMES = {
    "claude": ".claude", "codex": ".codex", "qwen": ".qwen", "gemini": ".gemini", "copilot": ".copilot",
    "pi": ".pi/agent", "opencode": ".local/share/opencode",
}  # fmt: skip
_FOLDERS = ("projects", "sessions", "tmp", "session-state", "log", "locks", "subagents", "chats")


class Machine(NamedTuple):
    """A home, its processes and the time at which both were noted."""

    env: Environment
    proc: Path
    now: float


def lay_out(agent: str, state: str, folder: Path) -> Machine:
    """Lay a snapshot out in a folder."""
    source, home, proc = LIVE / agent / state, folder / "home/dev", folder / "proc"
    facts = json.loads((source / "facts.json").read_text())
    ages = {file["path"].replace("~", str(home), 1): file["age_ms"] / 1000 for file in facts["files_newest_first"]}
    base, newest = home / _HOMES[agent], 0.0
    made: list[tuple[Path, float]] = []
    for file in sorted(source.iterdir()):
        name = _whole_name(file.name, ages, base)
        if file.name != "facts.json" and name is not None:
            text = file.read_text().replace("/home/dev", str(home))
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_text(text)
            times = [t for t in map(when, re.findall(r'"timestamp": ?"([^"]+)"', text)) if t]
            age = ages.get(str(name), 0.0)
            made.append((name, age))
            if times and name.suffix == ".jsonl":
                newest = max(newest, max(times) + age)
    now = newest or BOOTED + 20_000
    for path, age in made:
        os.utime(path, (now - age, now - age))
    (home / "shop").mkdir(parents=True)
    proc.mkdir()
    (proc / "uptime").write_text(f"{now - BOOTED:.2f} 0\n")
    for process in facts["processes"]:
        lay_out_process(proc, process, str(home))
    return Machine(Environment({}, home, "linux"), proc, now)


def _whole_name(name: str, ages: dict[str, float], base: Path) -> Path | None:
    """The file that a snapshot's name stands for: its path with `__` for `/`, perhaps cut at the front."""
    for path in ages:
        if path.replace("/", "__").endswith(name):
            return Path(path)
    path = name.replace("__", "/")
    return base / path if path.split("/")[0] in (*_FOLDERS, path) else None


def lay_out_process(proc: Path, facts: dict[str, Any], home: str) -> None:
    """Lay out what `/proc` has of a process."""
    folder = proc / str(facts["pid"])
    (folder / "fd").mkdir(parents=True)
    fields = [facts["state"], facts["ppid"], *(0 for _ in range(17)), facts["starttime"], 0, 0]
    (folder / "stat").write_text(f"{facts['pid']} ({facts['comm']}) {' '.join(map(str, fields))}\n")
    (folder / "cmdline").write_text(facts["cmdline"].replace("/home/dev", home).replace(" ", "\0") + "\0")
    (folder / "cwd").symlink_to(facts["cwd"].replace("/home/dev", home))
    for number, path in enumerate(facts["open_for_writing"], 3):
        (folder / "fd" / str(number)).symlink_to(path.removesuffix(" (w)").replace("/home/dev", home))
    environ = ["SECRET_TOKEN=nobody reads this", *(v.replace("/home/dev", home) for v in facts["env_names_of_use"])]
    (folder / "environ").write_text("\0".join(environ))
    draw(proc, facts["pid"], 0)


def draw(proc: Path, pid: int, written: int) -> None:
    """Let a process have written so many bytes."""
    (proc / str(pid) / "io").write_text(f"rchar: 1\nwchar: {written}\n")


def states(agent: str) -> list[str]:
    """The names of an agent's snapshots."""
    folder = LIVE / agent
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def row(state: Any) -> bytes:
    """A verdict in one line, for a look at it."""
    return orjson.dumps([state.does, state.what, state.certain, state.source, state.asks])

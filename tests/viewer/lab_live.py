"""Snapshots of running agents (shared lab/live), laid out as the home and the `/proc` of a machine."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

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
    written: dict[Path, float] = {}
    for file in sorted(source.iterdir()):
        name = _whole_name(file.name, ages, base)
        if file.name != "facts.json" and name is not None:
            text = _headed(agent, name, file.read_text()).replace("/home/dev", str(home))
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_text(text)
            written[name] = max(filter(None, map(when, re.findall(r'"timestamp": ?"([^"]+)"', text))), default=0.0)
            if name.suffix == ".jsonl" and written[name] and str(name) in ages:
                newest = max(newest, written[name] + ages[str(name)])
    if (source / "db.txt").exists():
        newest = _database(source / "db.txt", base / "opencode.db", home)
        written[base / "opencode.db"] = newest - ages.pop(str(base / "opencode.db-wal"), 0.0)
        ages.pop(str(base / "opencode.db"), None)  # its log was written last
    begun = [BOOTED + process["starttime"] / 100 for process in facts["processes"]]
    now = max(newest or max(written.values(), default=0.0) + 2, *(at + 1 for at in begun), BOOTED)
    for path, at in written.items():
        at = now - ages[str(path)] if str(path) in ages else at
        os.utime(path, (at, at))
    if agent == "gemini":
        (base / "projects.json").write_text(json.dumps({"projects": {f"{home}/shop": "shop"}}))
    (home / "shop").mkdir(parents=True)
    proc.mkdir()
    (proc / "uptime").write_text(f"{now - BOOTED:.2f} 0\n")
    for process in facts["processes"]:
        lay_out_process(proc, process, str(home))
    return Machine(Environment({}, home, "linux"), proc, now)


def _headed(agent: str, path: Path, text: str) -> str:
    """A session's text with the record that a snapshot, which has only the end, may lack: the one that says where."""
    begun = re.match(r"(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)_(.+)", path.stem)
    if agent == "pi" and begun and '"type": "session"' not in text:
        time = f"{begun[1]}:{begun[2]}:{begun[3]}.{begun[4]}"
        header = {"type": "session", "version": 3, "id": begun[5], "timestamp": time, "cwd": "/home/dev/shop"}
        return f"{json.dumps(header)}\n{text}"
    return text


def _database(rows: Path, path: Path, home: Path) -> float:
    """Make a database of the newest messages of a session; returns the time of the snapshot."""
    texts = rows.read_text().replace("/home/dev", str(home)).splitlines()
    sessions = [line for line in texts if line.startswith("session ") and "parent_id" not in line]
    found = re.search(r"'id': '(\w+)', 'directory': '([^']+)'.*'time_updated': '(\d+)'} upd ms ago (\d+)", sessions[0])
    assert found is not None
    name, directory, updated, ago = found[1], found[2], int(found[3]), int(found[4])
    parts: list[str] = []
    for line in texts:
        if line.startswith("PART "):
            with suppress(ValueError):  # the snapshot cuts long ones
                parts.append(json.dumps(json.loads(line.split(" ", 2)[2])))
            if '"step-start"' in line:
                break
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE session (id, parent_id, directory, title, time_created, time_updated);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
        )
        database.execute("INSERT INTO session VALUES (?, NULL, ?, 'Lab', ?, ?)", (name, directory, updated, updated))
        for number, role in enumerate(("user", "assistant")):
            data = json.dumps({"role": role, "time": {"created": updated + number}})
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"msg_{number}", name, updated + number, data))
        prompt = json.dumps({"type": "text", "text": "(a prompt)"})
        for number, part in enumerate([prompt, *reversed(parts)]):
            row = f"prt_{number}", f"msg_{min(number, 1)}", name, part
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    return (updated + ago) / 1000


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

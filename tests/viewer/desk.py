"""A desk with agents at work: sessions of Claude Code, its registry and `/proc`, as they would be at a time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from schemas.provider import Environment
from tests.viewer.lab_live import draw, lay_out_process
from viewer.watch.tile import Tile
from viewer.watch.tiles import Watch

BOOTED = 1_772_610_000.0
START = BOOTED + 5_000


class Desk:
    """`desk.says("a", "text", …)`, then `desk.look(watch)`. Sessions are named by letters; their time is `now`."""

    def __init__(self, folder: Path, root: str = "/home/dev/shop") -> None:
        self.home, self.proc, self.now, self.root = folder / "home", folder / "proc", START, root
        self.proc.mkdir(parents=True)
        (self.home / ".claude" / "projects" / "shop").mkdir(parents=True)
        (self.home / ".claude" / "sessions").mkdir()
        self._count = 0
        self._tick()

    @property
    def env(self) -> Environment:
        return Environment({}, self.home, "linux")

    def watch(self) -> Watch:
        """What nobody has looked with yet."""
        watch = Watch(self.env, self.proc, lambda: self.now)
        watch.take(watch.discover())
        return watch

    def look(self, watch: Watch, seconds: float = 1.1) -> list[Tile]:
        """The tiles some time later."""
        self.now += seconds
        self._tick()
        watch.take(watch.discover())
        while watch.step(1.0):
            pass
        return watch.tiles

    def _tick(self) -> None:
        (self.proc / "uptime").write_text(f"{self.now - BOOTED:.2f} 0\n")

    @staticmethod
    def id_of(name: str) -> str:
        return f"{ord(name):08x}-2222-4333-8444-555555555555"

    @staticmethod
    def pid_of(name: str) -> int:
        return 1000 + ord(name)

    def path(self, name: str) -> Path:
        return self.home / ".claude" / "projects" / "shop" / f"{self.id_of(name)}.jsonl"

    # -- what a session writes ---------------------------------------------------------------------------------------

    def prompts(self, name: str, text: str = "Do it") -> None:
        self._write(name, "user", {"role": "user", "content": text})

    def says(self, name: str, text: str = "It is done.") -> None:
        self._answer(name, {"type": "text", "text": text})

    def uses(self, name: str, tool: str = "Bash", **given: Any) -> str:
        """A tool use without a result; returns its id."""
        use = f"toolu_{self._count}"
        self._answer(name, {"type": "tool_use", "id": use, "name": tool, "input": given or {"command": "pytest -q"}})
        return use

    def results(self, name: str, use: str) -> None:
        content = [{"type": "tool_result", "tool_use_id": use, "content": "fine"}]
        self._write(name, "user", {"role": "user", "content": content})

    def _answer(self, name: str, block: dict[str, Any]) -> None:
        usage = {"input_tokens": 10, "output_tokens": 20}
        message = {"id": f"msg_{self._count}", "model": "claude-opus-5", "role": "assistant", "usage": usage}
        self._write(name, "assistant", message | {"type": "message", "content": [block]})

    def _write(self, name: str, kind: str, message: dict[str, Any]) -> None:
        self._count += 1
        self.now += 0.01
        millis = round(self.now * 1000)
        stamp = f"{_utc(millis // 1000)}.{millis % 1000:03d}Z"
        record = {
            "type": kind, "uuid": f"{self._count:08x}-0000-4000-8000-000000000000", "parentUuid": None,
            "timestamp": stamp, "sessionId": self.id_of(name), "isSidechain": False, "cwd": self.root,
            "version": "2.1.332", "gitBranch": "main", "message": message,
        }  # fmt: skip
        path = self.path(name)
        before = path.read_text().splitlines() if path.exists() else []
        if before:
            record["parentUuid"] = json.loads(before[-1])["uuid"]
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        os.utime(path, (self.now, self.now))

    # -- what its process does ---------------------------------------------------------------------------------------

    def runs(self, name: str, state: str = "S", command: str = "claude", start: int = 499_000) -> None:
        """Its process is there, in that state."""
        self._process(self.pid_of(name), 1, state, command, start)

    def spawns(self, name: str, command: str = "bash -c pytest") -> int:
        """A process of its tool; returns its number."""
        pid = 5000 + ord(name)
        self._process(pid, self.pid_of(name), "S", command, round((self.now - BOOTED) * 100))
        return pid

    def ends(self, pid: int) -> None:
        """A process is gone."""
        folder = self.proc / str(pid)
        if folder.exists():
            for entry in sorted(folder.rglob("*"), reverse=True):
                entry.unlink() if not entry.is_dir() or entry.is_symlink() else entry.rmdir()
            folder.rmdir()

    def _process(self, pid: int, parent: int, state: str, command: str, start: int = 499_000) -> None:
        self.ends(pid)
        facts = {
            "pid": pid, "ppid": parent, "state": state, "starttime": start, "comm": command.split()[0],
            "cmdline": command, "cwd": self.root, "open_for_writing": [],
            "env_names_of_use": ["TOKEN=do not read", f"PWD={self.root}"],
        }  # fmt: skip
        lay_out_process(self.proc, facts, "/home/dev")

    def draws(self, name: str, written: int) -> None:
        """It has written so many bytes to its terminal."""
        draw(self.proc, self.pid_of(name), written)

    def states(self, name: str, status: str, waits_for: str = "", start: int = 499_000, space: str = "") -> None:
        """Its registry says so; `space` is where its process's number counts."""
        said = {
            "pid": self.pid_of(name), "sessionId": self.id_of(name), "cwd": self.root, "procStart": str(start),
            "status": status, "statusUpdatedAt": round(self.now * 1000),
        }  # fmt: skip
        if space:
            said["pidDomain"] = f"linux:machine:{space}"
        if waits_for:
            said["waitingFor"] = waits_for
        (self.home / ".claude" / "sessions" / f"{self.pid_of(name)}.json").write_text(json.dumps(said))


def _utc(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")

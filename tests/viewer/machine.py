"""A machine of its own for tests: a home folder with sessions as Claude Code writes them, and `turnlog` run on it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.viewer import forked
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]


@dataclass
class Result:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Machine:
    """`machine.session("1111…", ["a prompt", "an answer"])`, then `machine.run("list", "--json")`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.projects = home / ".claude" / "projects"
        self.env = {
            "HOME": str(home),
            "USERPROFILE": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "PATH": os.environ.get("PATH", ""),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def session(
        self,
        session_id: str,
        turns: list[str],
        *,
        cwd: str = "/home/dev/lamp-shop",
        minute: int = 0,
        usage: dict[str, int] | None = None,
        folder: str | None = None,
        message_ids: str | None = None,
    ) -> Path:
        """A session of prompts and answers in turn; `minute` is when it began, and sets the file's time."""
        lines = []
        parent = None
        for number, text in enumerate(turns):
            user = number % 2 == 0
            record: dict[str, Any] = {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": cwd,
                "sessionId": session_id,
                "version": "2.1.40",
                "gitBranch": "main",
                "type": "user" if user else "assistant",
                "uuid": f"{session_id[:24]}{number:012d}",
                "timestamp": f"2026-03-04T09:{minute:02d}:{number:02d}.000Z",
                "message": {"role": "user", "content": text}
                if user
                else self._answer(text, f"{message_ids or 'msg_' + session_id}_{number}", usage),
            }
            parent = record["uuid"]
            lines.append(json.dumps(record, ensure_ascii=False))
        path = self.projects / (folder or cwd.replace("/", "-")) / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        os.utime(path, (1_772_614_800 + minute * 60,) * 2)
        return path

    def subagent(self, parent: Path, agent_id: str, turns: list[str], usage: dict[str, int]) -> Path:
        """A subagent's file beside its session."""
        made = self.session(parent.stem, turns, folder="made", usage=usage, message_ids=f"msg_{agent_id}")
        text = made.read_text(encoding="utf-8").replace(
            '"isSidechain": false', f'"isSidechain": true, "agentId": "{agent_id}"'
        )
        made.unlink()
        path = parent.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    @staticmethod
    def to_now(path: Path) -> Path:
        """Let a session be one that an agent writes at this moment: its records are a minute old at most, its file is
        new.
        """
        moment = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - 5))
        path.write_text(re.sub(r"2026-03-04T09:\d\d", moment, path.read_text(encoding="utf-8")), encoding="utf-8")
        return path

    @staticmethod
    def _answer(text: str, message_id: str, usage: dict[str, int] | None) -> dict[str, Any]:
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5-20251101",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": usage or {"input_tokens": 1, "output_tokens": 2},
        }

    def run(self, *args: object, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> Result:
        """Run turnlog in a process of its own; one that is started anew where what Python makes of it matters."""
        arguments, directory, environment = list(map(str, args)), cwd or self.home, {**self.env, **env}
        if not stdin and "-" not in arguments and not any(name.startswith(("PYTHON", "LC_")) for name in env):
            code, out, err = forked.run(arguments, environment, directory)
            return Result(code, out.decode(), err.decode())
        done = subprocess.run(
            [sys.executable, "-m", "viewer", *arguments],
            input=stdin, capture_output=True, cwd=directory, env=environment, timeout=LIMIT, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

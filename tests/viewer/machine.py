"""A machine of its own for tests: a home folder with sessions as Claude Code writes them, and `turnlog` run on it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.waiting import LIMIT
from viewer.cli import run

ROOT = Path(__file__).parents[2]
FIGURES = {
    "input_tokens": 10,
    "output_tokens": 20,
    "cache_read_input_tokens": 300,
    "cache_creation_input_tokens": 40,
}
"""What an answer spent, for `session(usage=…)`."""


@dataclass
class Result:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@contextmanager
def _surroundings(env: dict[str, str], directory: Path, *streams: IO[str]) -> Iterator[None]:
    """Another environment, directory and standard streams, for what is called in this process."""
    before, kept = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
    try:
        os.environ.clear()
        os.environ.update(env)
        time.tzset()
        sys.stdin, sys.stdout, sys.stderr = streams  # type: ignore[assignment]
        with chdir(directory):
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


def _called(arguments: list[str], directory: Path, env: dict[str, str], stdin: bytes) -> Result:
    """How a command ends that is called in this process."""
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile("w+", encoding="utf-8", newline="")) for _ in range(3)]
        streams[0].buffer.write(stdin)  # type: ignore[attr-defined]
        streams[0].seek(0)
        with _surroundings(env, directory, *streams):
            try:
                code = run(arguments)
            except SystemExit as end:
                code = int(end.code or 0)
        for stream in streams:
            stream.flush()
            stream.seek(0)
        return Result(code, streams[1].read(), streams[2].read())


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
        """Run turnlog, in a process of its own where what Python makes of the environment matters."""
        arguments, directory, environment = list(map(str, args)), cwd or self.home, {**self.env, **env}
        if not any(name.startswith(("PYTHON", "LC_", "TZ")) for name in env):
            return _called(arguments, directory, environment, stdin)
        done = subprocess.run(
            [sys.executable, "-m", "viewer", *arguments],
            input=stdin, capture_output=True, cwd=directory, env=environment, timeout=LIMIT, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

"""turnlog on what an agent writes: its commands, and what they show of a session while it is being written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from schemas.interchange.session_data_write import to_session_data
from schemas.opening import read_session
from schemas.session import Session
from viewer.follow.family import FollowSet
from viewer.follow.follower import Follower

ROOT = Path(__file__).parents[2]
LIMIT = 300.0
"""Seconds that a command may take."""


def environment(home: Path) -> dict[str, str]:
    """What a process is started with: the way to programs, and a home of its own."""
    return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ} | {"HOME": str(home)}


def turnlog(home: Path, *words: str) -> Any:
    """What a command of turnlog prints as JSON."""
    command, env = [sys.executable, "-m", "viewer", *words, "--json"], {**environment(home), "PYTHONPATH": str(ROOT)}
    return json.loads(subprocess.run(command, env=env, cwd=home, stdout=subprocess.PIPE, timeout=LIMIT).stdout)


class Watching:
    """A `turnlog watch --json` process, and the states it told of each session."""

    def __init__(self, home: Path) -> None:
        self.states: dict[str, list[dict[str, Any]]] = {}
        self._kept = home / "watch.out"
        command, pipe = [sys.executable, "-m", "viewer", "watch", "--json"], subprocess.PIPE
        env = {**environment(home), "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(command, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=pipe)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            state = json.loads(line)
            self.states.setdefault(state["id"], []).append(state)

    def ended(self, session: str) -> bool:
        """Whether it told the end of a session, or that its turn is over."""
        told = self.states.get(session) or [{}]
        return told[-1].get("state") in ("done", "ended")

    def end(self) -> str:
        """Interrupt it; returns what is wrong with its end."""
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(LIMIT)
        self._reader.join()
        self._kept.write_text("".join(f"{json.dumps(state)}\n" for some in self.states.values() for state in some))
        return f"exit {code}" if code else ""


class Tail:
    """A `turnlog tail` process, and the lines that came from it, each with its time."""

    def __init__(self, home: Path, name: str, *words: str) -> None:
        self.lines: list[tuple[float, str]] = []
        self._kept = home / f"{name}.out"
        command, pipe = [sys.executable, "-m", "viewer", "tail", *words], subprocess.PIPE
        env = {**environment(home), "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, env=env, cwd=home, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.decode().rstrip("\n")))

    def end(self, *, interrupt: bool) -> str:
        """Wait for its end, after an interrupt or with its input's; returns what is wrong with it. Keeps the lines."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(LIMIT)
        self._reader.join()
        self._kept.write_text("".join(f"{when:.3f} {line}\n" for when, line in self.lines))
        assert self.process.stderr is not None
        trouble = self.process.stderr.read().decode()
        return trouble or ("" if self.process.returncode in (0, 130) else f"exit {self.process.returncode}")


class Replay:
    """What the lines of `tail --json` add up to."""

    def __init__(self, lines: list[tuple[float, str]]) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        """As last shown, by their ids, in the order in which they came."""
        self.times: dict[str, list[float]] = {}
        """When each was first shown, and when with other words."""
        self.wrong: list[str] = []
        """Lines that are not needed where nobody rewrites history."""
        for when, line in lines:
            value = json.loads(line)
            change, message = value["change"], value["message"]
            name = message and message["id"]
            before = self.messages.get(name)
            if change != ("appended" if before is None else "updated"):
                self.wrong.append(f"{change} {name}")
            if message is not None:
                if before is None or before.get("content") != message.get("content"):
                    self.times.setdefault(name, []).append(when)
                self.messages[name] = message


class Following:
    """A FollowSet that is asked again and again, as `tail` and the screen ask it."""

    def __init__(self, path: Path) -> None:
        self._family = FollowSet(Follower(path, wait=True), whole=True)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(0.05):
            list(self._family.poll())

    def end(self) -> str:
        """Look once more, and compare with the session read as a whole; returns where they differ."""
        self._stopped.set()
        self._thread.join()
        list(self._family.poll())
        main = self._family.main
        live, whole = _lines(main.session), _lines(read_session(main.path))
        self._family.close()
        pairs = zip(live, whole, strict=False)
        return main.trouble or next((f"{a} is {b} when read whole" for a, b in pairs if a != b), "")


def _lines(session: Session) -> list[str]:
    """A session as lines that can be compared, and one more."""
    return [*json.dumps(json.loads(b"".join(to_session_data(session))), indent=0).splitlines(), "the end"]

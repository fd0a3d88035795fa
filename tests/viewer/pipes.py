"""An agent that writes to a pipe when a test lets it: lines as `codex exec --json` prints them."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait_until

PRODUCER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
control, log = sys.argv[1:]
end = "done"
with open(control, "rb") as lines:
    for line in lines:
        try:
            while line:
                line = line[os.write(1, line):]
        except BrokenPipeError:
            end = "broken pipe"
            break
os.close(1)
with open(log, "w") as file:
    file.write(end)
"""
"""Prints what it reads from a named pipe, and leaves in a file how that ended."""


def record(**values: object) -> bytes:
    return json.dumps(values).encode() + b"\n"


BEGIN = record(type="thread.started", thread_id="01a0eda6-0000-7000-8000-000000000001") + record(type="turn.started")
END = record(type="turn.completed", usage={"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2})


def said(number: int, text: str) -> bytes:
    """A message of the agent."""
    return record(type="item.completed", item={"id": f"item_{number}", "type": "agent_message", "text": text})


class Agent:
    """`agent.command` is a shell's words for a program that prints what `say` gives it, until `stop`."""

    def __init__(self, folder: Path) -> None:
        self._control, self._log, script = folder / "control", folder / "log", folder / "agent.py"
        os.mkfifo(self._control)
        script.write_text(PRODUCER)
        self.command = f"{sys.executable} {script} {self._control} {self._log}"
        self._pipe = -1

    def say(self, *lines: bytes) -> None:
        """Print lines; returns when they are on their way."""
        if self._pipe < 0:
            self._pipe = os.open(self._control, os.O_WRONLY)
        for line in lines:
            while line:
                line = line[os.write(self._pipe, line) :]

    def say_until_it_ends(self, line: bytes) -> None:
        """Print the same again and again, which the agent must not survive."""

        def has_ended() -> bool:
            with suppress(BrokenPipeError):
                self.say(line)
            return bool(self.end)

        wait_until(has_ended)

    def stop(self) -> None:
        """Let it end of its own accord."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    @property
    def end(self) -> str:
        """How it ended; empty while it runs."""
        return self._log.read_text() if self._log.exists() else ""

    def wait(self, end: str) -> None:
        """Wait until it has ended so."""
        wait_until(lambda: self.end == end, lambda: f"the agent ended with {self.end!r}")

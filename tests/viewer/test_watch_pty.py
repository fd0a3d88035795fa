"""A place given with a session, and the sessions that run, on a real terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

import pyte

from tests.bench.terminal import Terminal
from tests.viewer.machine import Machine
from tests.viewer.pipes import wait_until

ID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.env |= {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
    return machine


class Shown:
    """A terminal and its screen as text."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)
        self._fed = 0

    @property
    def lines(self) -> list[str]:
        self.terminal.read(0.05)
        self._stream.feed(self.terminal.seen[self._fed :])
        self._fed = len(self.terminal.seen)
        return [line.rstrip() for line in self._screen.display]

    def wait_for(self, words: str) -> None:
        wait_until(lambda: any(words in line for line in self.lines), lambda: "\n".join(self.lines))

    def leave(self) -> None:
        """Press q, and see the program end in order."""
        os.write(self.terminal.fd, b"q")
        wait_until(lambda: (self.terminal.read(0.02), os.waitpid(self.terminal.pid, os.WNOHANG))[1] != (0, 0))
        assert b"\x1b[?1049l" in self.terminal.seen


@contextmanager
def started(machine: Machine, *arguments: str) -> Iterator[Shown]:
    terminal = Terminal([sys.executable, "-m", "viewer", *arguments], machine.env, 100, 30)
    try:
        yield Shown(terminal)
    except BaseException:
        terminal.close()
        raise


def test_a_session_opens_at_a_place_and_later_where_it_was_left(machine: Machine) -> None:
    turns = [text for n in range(40) for text in (f"prompt {n}", f"answer {n} " + "and more of it " * 40)]
    machine.session(ID, turns)
    with started(machine, f"{ID[:8]}#30.2") as shown:
        shown.wait_for("#30.2 · exchange 30 of 40")
        assert any(line.startswith("▌") and "answer 29" in line for line in shown.lines)
        os.write(shown.terminal.fd, b"jj")
        shown.leave()
    with started(machine, ID[:8]) as shown:
        shown.wait_for("#30.2 · exchange 30 of 40")
        shown.leave()


def test_a_session_that_grows_is_a_tile(machine: Machine) -> None:
    path = machine.to_now(machine.session(ID, ["look around", "first words"]))
    with started(machine, "watch") as shown:
        shown.wait_for("lamp-shop")
        shown.wait_for("last: first words")
        record = json.loads(path.read_text().splitlines()[-1])
        record |= {"uuid": "next", "parentUuid": record["uuid"]}
        record["message"] |= {"id": "next", "content": [{"type": "text", "text": "further words"}]}
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        shown.wait_for("last: further words")
        os.write(shown.terminal.fd, b"\r")
        shown.wait_for("following")
        os.write(shown.terminal.fd, b"q")
        shown.wait_for("turnlog watch")
        shown.leave()

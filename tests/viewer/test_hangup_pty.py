"""The terminal is closed while turnlog draws on it: nothing of turnlog is left, no process and no file."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

import pty
import termios

from tests.viewer.machine import Machine
from tests.viewer.pipes import BEGIN, said
from tests.waiting import wait_until


class Child:
    """turnlog on a pseudo terminal: on one that is its own, or on one that tells it nothing when it goes (`mute`).

    What it draws is only read by `see`: as long as nobody reads, the terminal soon takes nothing any more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.env = {
            **Machine(folder).env,
            "TERM": "xterm-256color",
            "TMPDIR": str(self.temporary),
            "TEXTUAL_ANIMATIONS": "none",
        }
        self.pipe = self.master = self.pid = -1
        self.status: int | None = None
        self.seen = b""

    def start(self, *arguments: str, mute: bool = False) -> None:
        argv = [sys.executable, "-m", "viewer", *arguments]
        if mute:
            self.master, terminal = pty.openpty()
            self.pid = subprocess.Popen(
                argv, stdin=terminal, stdout=terminal, stderr=terminal, env=self.env, start_new_session=True
            ).pid
            os.close(terminal)
        else:
            ours, self.pipe = os.pipe()
            self.pid, self.master = pty.fork()
            if self.pid == 0:
                if "-" in arguments:
                    os.dup2(ours, 0)
                os.execvpe(argv[0], argv, self.env)
            os.close(ours)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def see(self, words: bytes) -> None:
        def seen() -> bool:
            with suppress(OSError):  # it has ended, and said all
                while select.select([self.master], [], [], 0.01)[0]:
                    self.seen += os.read(self.master, 1 << 16)
            return words in self.seen

        wait_until(seen, lambda: f"{words!r} never came: {self.seen[-2000:]!r}")

    def stop_taking(self) -> None:
        """Read nothing until turnlog waits for its terminal: its pictures find no room in the queue."""
        for number in range(400):
            os.write(self.pipe, said(number + 10, f"{number} " * 200))
            time.sleep(0.005)

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def over(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def code(self) -> int:
        """Return what it ended with; negative for a signal, as subprocess says it."""
        assert self.status is not None
        return os.waitstatus_to_exitcode(self.status)

    def close(self) -> None:
        if self.pid > 0 and not self.over():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self.master, self.pipe):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    child = Child(tmp_path)
    yield child
    child.close()


@pytest.mark.parametrize("stuck", [False, True], ids=["drawing", "stuck"])
def test_a_stream_whose_terminal_is_closed_leaves_nothing(child: Child, stuck: bool) -> None:
    child.start("-")
    os.write(child.pipe, BEGIN + said(0, "FIRST"))
    child.see(b"FIRST")
    assert list(child.temporary.iterdir()) != []
    if stuck:
        child.stop_taking()
    child.hang_up()
    wait_until(child.over, lambda: "it goes on without a terminal")
    assert list(child.temporary.iterdir()) == []


def test_a_terminal_that_takes_nothing_cannot_keep_it_from_ending(child: Child) -> None:
    child.start("-")
    os.write(child.pipe, BEGIN + said(0, "FIRST"))
    child.see(b"FIRST")
    child.stop_taking()
    os.kill(child.pid, signal.SIGTERM)
    wait_until(child.over, lambda: "it waits for its terminal")
    assert child.code() == 128 + signal.SIGTERM
    assert list(child.temporary.iterdir()) == []


def test_nobody_need_say_that_the_terminal_is_gone(child: Child) -> None:
    """The terminal is not the one of its session, so no signal comes."""
    child.start(
        str(Machine(child.folder).session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "done"])), mute=True
    )
    child.see(b"Fix the lamp")
    child.hang_up()
    wait_until(child.over, lambda: "it goes on without a terminal")


def test_a_terminal_that_is_still_there_is_given_back(child: Child) -> None:
    child.start("-")
    before = termios.tcgetattr(child.master)
    os.write(child.pipe, BEGIN + said(0, "FIRST"))
    child.see(b"FIRST")
    os.kill(child.pid, signal.SIGTERM)
    child.see(b"\x1b[?1049l")
    wait_until(child.over)
    assert child.code() == 128 + signal.SIGTERM
    assert termios.tcgetattr(child.master) == before
    assert list(child.temporary.iterdir()) == []

"""`agent | turnlog -` in a real terminal, with a real pipe: keys, leaving, and what is left of it afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

import pty

from tests.bench.terminal import Terminal
from tests.viewer.machine import Machine
from tests.viewer.pipes import BEGIN, END, Agent, said
from tests.waiting import LIMIT, wait_until


class Run:
    """A pipeline on a terminal. `rc` is what turnlog ended with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tmp").mkdir()
        self.env = {
            **Machine(folder).env,
            "TERM": "xterm-256color",
            "TMPDIR": str(folder / "tmp"),
            "TEXTUAL_ANIMATIONS": "none",
        }
        self.agent = Agent(folder)
        self.terminal: Terminal | None = None

    def start(self, more: str = "") -> None:
        turnlog = f"{sys.executable} -m viewer - {more}"
        script = f"stty -a > before; {self.agent.command} | {turnlog}; echo $? > rc; stty -a > after"
        self.terminal = Terminal(["/bin/sh", "-c", f"cd {self.folder}; {script}"], self.env, 80, 24)

    def see(self, words: bytes) -> None:
        assert self.terminal is not None
        start = len(self.terminal.seen)
        if words not in self.terminal.seen:
            assert self.terminal.wait_for(words, LIMIT, start), f"{words!r} never came: {self.terminal.seen[-3000:]!r}"

    def see_next(self, keys: bytes, words: bytes) -> None:
        """Press keys and wait for what they bring."""
        assert self.terminal is not None
        start = len(self.terminal.seen)
        os.write(self.terminal.fd, keys)
        assert self.terminal.wait_for(words, LIMIT, start), f"{words!r} never came: {self.terminal.seen[start:]!r}"

    def press(self, keys: bytes) -> None:
        assert self.terminal is not None
        os.write(self.terminal.fd, keys)

    def ended(self) -> str:
        """The exit code, once the terminal is as it was and nothing is left behind."""
        terminal, after = self.terminal, self.folder / "after"
        assert terminal is not None

        def is_over() -> bool:
            terminal.read(0.01)
            return after.exists() and after.stat().st_size > 0

        wait_until(is_over, lambda: f"it goes on: {terminal.seen[-2000:]!r}")
        assert after.read_text() == (self.folder / "before").read_text()
        assert list((self.folder / "tmp").iterdir()) == []
        return (self.folder / "rc").read_text().strip()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    yield run
    run.agent.stop()
    if run.terminal is not None:
        run.terminal.close()


def test_the_run_is_shown_while_it_goes_on_and_leaving_ends_it_if_that_is_wanted(run: Run) -> None:
    run.start()
    run.agent.say(BEGIN, said(0, "FIRST"))
    run.see(b"FIRST")
    run.agent.say(said(1, "SECOND"))
    run.see(b"SECOND")
    run.see_next(b"q", b"still writing")
    run.see_next(b"\x1b", b"exchange 1 of 1")
    run.agent.say(said(2, "THIRD"))
    run.see(b"THIRD")
    run.see_next(b"\x11", b"still writing")
    assert run.agent.end == ""
    run.see_next(b"y", b"the pipe is closed")
    run.agent.say_until_it_ends(said(3, "FOURTH"))
    assert run.agent.end == "broken pipe"
    assert run.ended() == "0"


def test_after_the_end_q_leaves_at_once_also_where_errors_go_elsewhere(run: Run) -> None:
    run.start("2> errors")
    run.agent.say(BEGIN, said(0, "FIRST"), END)
    run.see(b"FIRST")
    run.agent.stop()
    run.see(b"stream ended")
    run.agent.wait("done")
    run.press(b"q")
    assert run.ended() == "0"
    assert (run.folder / "errors").read_text() == ""


def test_the_agent_never_waits_and_can_be_let_go_on_without_the_screen(run: Run) -> None:
    run.start()
    run.agent.say(BEGIN, said(0, "FIRST"))
    run.see(b"FIRST")
    run.see_next(b"q", b"still writing")
    run.agent.say(said(1, "x" * (4 << 20)))  # while the question stands
    run.see_next(b"d", b"reading on until the agent ends")
    run.agent.say(said(2, "y" * (4 << 20)), END)
    assert run.agent.end == ""
    run.agent.stop()
    run.agent.wait("done")
    assert run.ended() == "0"


def test_it_says_that_it_waits_and_can_be_interrupted(run: Run) -> None:
    run.start()
    run.see(b"waiting for standard input")
    run.press(b"\x03")
    assert run.terminal is not None
    wait_until(lambda: run.terminal is not None and not run.terminal.read(0.01) and _is_gone(run.terminal.pid))
    assert b"Traceback" not in run.terminal.seen
    assert list((run.folder / "tmp").iterdir()) == []


def _is_gone(pid: int) -> bool:
    """Whether a child has ended, without taking note of it."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "Z"


def test_a_program_that_is_stopped_leaves_no_file_behind(run: Run) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "viewer", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=run.env
    )
    wait_until(lambda: list((run.folder / "tmp").rglob("stdin.jsonl")) != [])
    process.terminate()
    process.communicate(timeout=LIMIT)
    assert process.returncode in (143, -15)
    assert list((run.folder / "tmp").iterdir()) == []


def test_without_a_terminal_that_keys_come_from_it_is_printed(run: Run) -> None:
    """Standard output is a terminal, but not the one of this session."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "viewer", "-"],
        stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=run.env, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    assert process.stdin is not None
    process.stdin.write(BEGIN + said(0, "FIRST") + END)
    process.stdin.close()
    seen = b""
    try:
        while data := os.read(ours, 4096):
            seen += data
    except OSError:
        pass  # how a terminal says that nobody has it open any more
    assert process.wait(LIMIT) == 0
    os.close(ours)
    assert b"FIRST" in seen
    assert b"\x1b" not in seen

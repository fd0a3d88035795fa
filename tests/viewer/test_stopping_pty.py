"""Stopped by ctrl+z or SIGTSTP under a shell with job control: the terminal is given back, and `fg` draws it again."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

from tests.bench.terminal import Terminal
from tests.viewer.machine import Machine

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def programs(terminal: Terminal) -> list[int]:
    """What the shell started."""
    return [int(pid) for pid in Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text().split()]


@pytest.mark.parametrize("by", ["key", "signal"])
@pytest.mark.parametrize("screen", ["list", "transcript"])
def test_it_is_drawn_again_after_fg(tmp_path: Path, by: str, screen: str) -> None:
    if by == "signal" and not Path("/proc/self/task").exists():
        pytest.skip("looks for the process in /proc")
    machine = Machine(tmp_path)
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines"])
    env = machine.env | {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none", "PS1": "READY> "}
    terminal = Terminal([str(BASH), "--norc", "--noprofile", "-i"], env, 80, 24)
    try:
        assert terminal.wait_for(b"READY> ", 30)
        target = f" {path}" if screen == "transcript" else ""
        os.write(terminal.fd, f"{sys.executable} -m viewer{target}\n".encode())
        assert terminal.wait_for(b"Fix the lamp", 30), terminal.seen
        terminal.quiet()
        for _ in range(2):
            (program,) = programs(terminal)
            before = len(terminal.seen)
            if by == "key":
                os.write(terminal.fd, b"\x1a")
            else:
                os.kill(program, signal.SIGTSTP)
            assert terminal.wait_for(b"Stopped", 30, before), terminal.seen[before:]
            assert b"\x1b[?1049l" in terminal.seen[before:]
            before = len(terminal.seen)
            os.write(terminal.fd, b"fg\n")
            assert terminal.wait_for(b"\x1b[?1049h", 30, before)
            assert terminal.wait_for(b"Fix the lamp", 30, before), terminal.seen[before:]
            terminal.quiet()
        before = len(terminal.seen)
        os.write(terminal.fd, b"\x11")
        assert terminal.wait_for(b"READY> ", 30, before)
    finally:
        for program in programs(terminal):
            os.kill(program, signal.SIGKILL)
        terminal.close()


# The program, which asks to be stopped while it holds the lock of what is to be written to the terminal.
_WRITING = """
import os, signal, sys
from pathlib import Path
from viewer.screens.app import TurnlogApp
from viewer.follow.follower import Follower
from viewer.screens.transcript import TranscriptScreen

def stop_while_writing(app):
    with app._driver._writer_thread._queue.mutex:
        os.kill(os.getpid(), signal.SIGTSTP)
        sum(range(10_000))  # so that Python looks for signals

TurnlogApp.on_ready = lambda app: app.set_timer(0.3, lambda: stop_while_writing(app))
app = TurnlogApp()
app.start_with(TranscriptScreen(Follower(Path(sys.argv[1]))))
app.run()
"""


def test_a_stop_in_the_midst_of_writing_waits_for_its_end(tmp_path: Path) -> None:
    """Textual's handler writes to the terminal, and would wait for ever for what its own thread holds."""
    machine = Machine(tmp_path)
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines"])
    (script := tmp_path / "writing.py").write_text(_WRITING)
    root = str(Path(__file__).parents[2])
    env = machine.env | {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none", "PS1": "READY> ", "PYTHONPATH": root}
    terminal = Terminal([str(BASH), "--norc", "--noprofile", "-i"], env, 80, 24)
    try:
        assert terminal.wait_for(b"READY> ", 30)
        os.write(terminal.fd, f"{sys.executable} {script} {path}\n".encode())
        assert terminal.wait_for(b"Stopped", 30), terminal.seen
    finally:
        for program in programs(terminal):
            os.kill(program, signal.SIGKILL)
        terminal.close()


def test_it_does_not_stop_where_nobody_could_go_on_with_it(tmp_path: Path) -> None:
    """Started by a terminal itself, as `tmux new turnlog` does."""
    machine = Machine(tmp_path)
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines"])
    env = machine.env | {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
    terminal = Terminal([sys.executable, "-m", "viewer"], env, 80, 24)
    try:
        assert terminal.wait_for(b"Fix the lamp", 30)
        terminal.quiet()
        os.write(terminal.fd, b"\x1a")
        terminal.quiet()
        os.write(terminal.fd, b"no such")
        assert terminal.wait_for(b"Nothing found", 30)
    finally:
        terminal.close()

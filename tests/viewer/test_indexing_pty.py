"""The first start, with 1,000 sessions and no index: the list fills, and however it is ended, no process stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

from tests.bench.terminal import Terminal
from tests.viewer.machine import Machine
from tests.viewer.pipes import wait_until

END = b"\x1b[F"
SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name)


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("thousand"))
    machine.session("00000000-0000-4000-8000-000000000000", ["the oldest of all", "answer"])
    for number in range(1, 1000):
        machine.session(f"{number:08}-0000-4000-8000-000000000000", [f"prompt {number}", "answer"], minute=1)
    machine.env |= {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
    return machine


@pytest.fixture
def machine(thousand: Machine, tmp_path: Path) -> Machine:
    """A thousand sessions of which there is no index yet."""
    thousand.env["XDG_CACHE_HOME"] = str(tmp_path)
    return thousand


def processes(machine: Machine) -> dict[int, str]:
    """The command of every process that runs with the machine's home."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={machine.home}\0" in (folder / "environ").read_text():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:  # gone by now, or another user's
            continue
    return found


def wait_for_workers(machine: Machine) -> None:
    wait_until(lambda: any("viewer.index.worker" in command for command in processes(machine).values()))


def wait_for_nobody(machine: Machine) -> None:
    wait_until(lambda: not processes(machine), lambda: f"left: {processes(machine)}")


def browse(machine: Machine) -> Terminal:
    return Terminal([sys.executable, "-m", "viewer"], machine.env, 100, 30)


def test_the_list_fills_on_a_first_start(machine: Machine) -> None:
    terminal = browse(machine)
    try:
        assert terminal.wait_for(b"1,000 sessions", 60), terminal.seen[-3000:]
        terminal.key(END)
        assert terminal.wait_for(b"the oldest of all", 30)
    finally:
        terminal.close()
    assert b"Traceback" not in terminal.seen


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
needs_two = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor needs no workers")


@needs_proc
@needs_two
@SIGNALS
def test_no_process_stays_when_the_list_is_ended_while_it_indexes(machine: Machine, number: signal.Signals) -> None:
    terminal = browse(machine)
    try:
        assert terminal.wait_for(b"Looking for sessions", 30)
        wait_for_workers(machine)
        os.kill(terminal.pid, number)
        terminal.quiet()
    finally:
        terminal.close()
    wait_for_nobody(machine)
    given_back = re.search(rb"\x1b\[\?1049l", terminal.seen) is not None
    assert given_back is (number is not signal.SIGKILL)


@needs_proc
@needs_two
@SIGNALS
def test_no_process_stays_when_a_command_is_ended_while_it_indexes(machine: Machine, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "viewer", "list"]
    with subprocess.Popen(command, env=machine.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_workers(machine)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    wait_for_nobody(machine)
    assert (out, err) == (b"", b"")
    assert process.returncode == (-number if number is signal.SIGKILL else 128 + number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_an_export_that_is_ended_leaves_no_file(tmp_path: Path, number: signal.Signals) -> None:
    machine, place = Machine(tmp_path / "home"), tmp_path / "exports"
    path = machine.session("00000000-0000-4000-8000-000000000000", ["why " * 50, "because " * 500] * 3000)
    place.mkdir()
    command = [sys.executable, "-m", "viewer", "export", path, "-o", place / "out.md"]
    with subprocess.Popen(command, env=machine.env, stderr=subprocess.PIPE) as process:
        wait_until(lambda: any(file.stat().st_size for file in place.iterdir()))  # what it needs is imported
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (128 + number, b"")
    assert list(place.iterdir()) == []

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viewer.machine import Machine
from viewer.cli import COMMANDS, turnlog

ONE = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["Fix the lamp", "It shines again"])
    return machine


def test_help_names_every_command(machine: Machine) -> None:
    result = machine.run("--help")
    assert result.code == 0
    assert all(f"  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_has_help(name: str) -> None:
    command = turnlog.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None and command.help


def test_version(machine: Machine) -> None:
    assert machine.run("--version").out.startswith("turnlog ")


@pytest.mark.parametrize("target", [ONE, ONE[:5], "latest"])
def test_a_target_without_a_terminal_is_printed(machine: Machine, target: str) -> None:
    result = machine.run(target)
    assert (result.code, result.err) == (0, "")
    assert "Fix the lamp" in result.out and "It shines again" in result.out


def test_standard_input_is_printed(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    assert "It shines again" in machine.run("-", stdin=path.read_bytes()).out


def test_a_file_named_like_an_option_or_a_command(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    (machine.home / "-odd").write_bytes(path.read_bytes())
    (machine.home / "list").write_bytes(path.read_bytes())
    assert "It shines again" in machine.run("--", "-odd").out
    assert "It shines again" in machine.run("./list").out


def test_no_argument_prints_the_newest_that_can_be_read(machine: Machine) -> None:
    broken = machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["x"], minute=9)
    broken.write_bytes(b"\0\0\1")
    os.utime(broken)
    result = machine.run()
    assert result.code == 0
    assert "It shines again" in result.out


def test_no_sessions_print_the_demo(tmp_path: Path) -> None:
    result = Machine(tmp_path).run()
    assert result.code == 0
    assert len(result.out) > 1000


def _bad(machine: Machine, kind: str) -> str:
    path = machine.home / "bad.jsonl"
    match kind:
        case "no such file":
            return str(path)
        case "empty":
            path.write_bytes(b"")
        case "binary":
            path.write_bytes(bytes(range(256)) * 20)
        case "text":
            path.write_text("hello\nworld\n")
        case "other json":
            path.write_text('{"name": "package", "version": "1"}\n')
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
    return str(path)


@pytest.mark.parametrize("kind", ["no such file", "empty", "binary", "text", "other json", "directory", "pipe", "loop"])
@pytest.mark.parametrize("command", ["usage", "export", "open"])
def test_bad_input_gets_one_line(machine: Machine, command: str, kind: str) -> None:
    args = [] if command == "open" else [command]
    result = machine.run(*args, _bad(machine, kind))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("turnlog: ") and result.err.count("\n") == 1
    assert "bad.jsonl" in result.err


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    path.chmod(0)
    result = machine.run("usage", path)
    assert result.code == 2 and "permission denied" in result.err


def test_a_hostile_name_reaches_no_terminal(machine: Machine) -> None:
    for args in (["usage", "/no/\x1b]0;OWNED\x07x"], ["--\x1b[31mred"], ["list", "--agent", "\x9b2J"]):
        result = machine.run(*args)
        assert result.code == 2
        assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 for c in result.err)


def test_ambiguous_ids_are_listed(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000002", ["x", "y"])
    result = machine.run("usage", "aaaa")
    assert result.code == 2
    assert "fits 2 sessions" in result.err and ONE in result.err


def test_a_closed_pipe_ends_quietly(machine: Machine) -> None:
    machine.session(ONE, ["word " * 30_000, "word " * 30_000] * 5)
    process = subprocess.Popen(
        [sys.executable, "-m", "viewer", ONE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=machine.env,
        cwd=machine.home,
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0


def test_closed_standard_streams_do_no_harm(machine: Machine) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m viewer list --json >&- 2>&-', sys.executable], env=machine.env, cwd=machine.home
    )
    assert done.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_progress_is_drawn_on_a_terminal_only(machine: Machine) -> None:
    code = (
        "import sys, time; from viewer.output import Progress; Progress._DELAY = 0;"
        "bar = Progress('reading'); bar(1, 2); bar.clear()"
    )
    master, slave = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=slave, env=machine.env, check=True, cwd=machine.home)
    os.close(slave)
    seen = os.read(master, 1000) if select.select([master], [], [], 5)[0] else b""
    os.close(master)
    assert b"reading [###" in seen and b"50%" in seen and seen.endswith(b"\r")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=machine.env, cwd=machine.home)
    assert done.stderr == b""

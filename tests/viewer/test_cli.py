from __future__ import annotations

import json
import os
import pty
import select
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viewer.machine import Machine
from tests.waiting import LIMIT
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
    assert "Fix the lamp" in machine.run("show", "-#1", "--prompts", stdin=path.read_bytes()).out
    assert "It shines again" in machine.run("-#1", stdin=path.read_bytes()).out


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
    assert result.err == "turnlog: no sessions on this machine; this is the bundled demo\n"


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
        case "device":
            path.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                # The name's length is bounded: it is bound from within its folder.
                listener.bind(os.path.relpath(path))
        case "damaged zstd":
            path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(200)))
    return str(path)


READING = ["open", "show", "export", "usage", "tail"]


def _call(command: str, target: object) -> list[object]:
    return [target] if command == "open" else [command, target]


@pytest.mark.parametrize(
    "kind",
    [
        "no such file",
        "empty",
        "binary",
        "text",
        "other json",
        "directory",
        "pipe",
        "loop",
        "device",
        "socket",
        "damaged zstd",
    ],
)
@pytest.mark.parametrize("command", READING)
def test_bad_input_gets_one_line(machine: Machine, command: str, kind: str) -> None:
    if (command, kind) == ("tail", "empty"):
        pytest.skip("a first record is waited for")
    result = machine.run(*_call(command, _bad(machine, kind)))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("turnlog: ") and result.err.count("\n") == 1
    assert "bad.jsonl" in result.err


def _without_rights(machine: Machine, *args: object) -> subprocess.CompletedProcess[str]:
    """turnlog run by somebody whom rights stop, which they do not do to root."""
    rights = "-dac_override,-dac_read_search"
    drop = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*drop, sys.executable, "-m", "viewer", *map(str, args)],
        capture_output=True,
        text=True,
        env=machine.env,
        cwd=machine.home,
        timeout=LIMIT,
        check=False,
    )


no_rights = pytest.mark.skipif(
    not hasattr(os, "geteuid") or (os.geteuid() == 0 and not shutil.which("setpriv")),
    reason="root may read everything",
)


@no_rights
@pytest.mark.parametrize(("command", "what"), [("export", "file"), ("usage", "file"), ("show", "folder")])
def test_a_file_that_may_not_be_read(machine: Machine, command: str, what: str) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    forbidden = path if what == "file" else path.parent
    forbidden.chmod(0)
    try:
        result = _without_rights(machine, *_call(command, path))
    finally:
        forbidden.chmod(0o700)
    assert (result.returncode, result.stdout) == (2, "")
    assert "permission denied" in result.stderr and result.stderr.count("\n") == 1


@no_rights
def test_what_may_not_be_read_does_not_hide_the_rest(machine: Machine) -> None:
    other = machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["x", "y"])
    closed = machine.session("cccccccc-0000-4000-8000-000000000003", ["x", "y"], cwd="/home/dev/closed").parent
    other.chmod(0)
    closed.chmod(0)
    try:
        result = _without_rights(machine, "list", "--json")
        doctor = _without_rights(machine, "doctor")
    finally:
        closed.chmod(0o700)
    assert result.returncode == 0
    assert [row["id"] for row in json.loads(result.stdout)] == [ONE]
    assert closed.name in result.stderr and "permission denied" in result.stderr
    assert other.name in doctor.stdout


@no_rights
def test_an_index_that_may_not_be_written_is_done_without(machine: Machine) -> None:
    (machine.home / ".cache").mkdir()
    (machine.home / ".cache").chmod(0o500)
    try:
        result = _without_rights(machine, "list", "--json")
        doctor = _without_rights(machine, "doctor")
    finally:
        (machine.home / ".cache").chmod(0o700)
    assert (result.returncode, result.stderr) == (0, "")
    assert len(json.loads(result.stdout)) == 1
    assert "no index: permission denied" in doctor.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("args", [["export", ONE], ["export", ONE, "-o", "/dev/full"]])
def test_a_full_disk_gets_one_line(machine: Machine, args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "viewer", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=machine.env,
            cwd=machine.home,
            timeout=LIMIT,
            check=False,
        )
    assert done.returncode == 2
    assert "no space left on device" in done.stderr and done.stderr.count("\n") == 1


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("args", "locale"),
    [
        ([ONE], {"LC_ALL": "C"}),
        ([ONE], ASCII),
        (["search", "grö"], ASCII),
    ],
)
def test_a_poor_locale_does_no_harm(machine: Machine, args: list[str], locale: dict[str, str]) -> None:
    machine.session(ONE, ["größe 日本語 👍", "größe"])
    result = machine.run(*args, COLUMNS="140", **locale)
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("target", ["C:\\Users\\dev\\.claude\\x.jsonl", "\\\\server\\share", "a\\b", "C:", "~nobody/x"])
def test_a_path_of_another_system_does_no_harm(machine: Machine, command: str, target: str) -> None:
    result = machine.run(*_call(command, target))
    assert (result.code, result.out) == (2, "")
    assert "no such file" in result.err and result.err.count("\n") == 1


def test_a_hostile_name_reaches_no_terminal(machine: Machine) -> None:
    for args in (["usage", f"{machine.home}/no/\x1b]0;OWNED\x07x"], ["--\x1b[31mred"], ["list", "--agent", "\x9b2J"]):
        result = machine.run(*args)
        assert result.code == 2
        assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 for c in result.err)


@pytest.mark.parametrize("command", READING)
def test_ambiguous_ids_are_listed(machine: Machine, command: str) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000002", ["x", "y"])
    result = machine.run(*_call(command, "aaaa"))
    assert (result.code, result.out) == (2, "")
    assert "fits 2 sessions" in result.err and ONE in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize("args", [["export", ONE], ["tail", ONE], ["events", ONE]])
def test_a_closed_pipe_ends_quietly(machine: Machine, args: list[str]) -> None:
    machine.session(ONE, ["word " * 30_000, "word " * 30_000, *["word", "word"] * 800])
    process = subprocess.Popen(
        [sys.executable, "-m", "viewer", *args],
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
    assert process.wait(LIMIT) == 0


@pytest.mark.parametrize("args", [["--help"], ["list"], ["snapshot", ONE]])
def test_a_pipe_that_nobody_reads_is_no_error(machine: Machine, args: list[str]) -> None:
    machine.session(ONE, ["x", "y"])
    reader, writer = os.pipe()
    os.close(reader)
    call = [sys.executable, "-m", "viewer", *args]
    done = subprocess.run(call, stdout=writer, stderr=subprocess.PIPE, env=machine.env, cwd=machine.home)
    os.close(writer)
    assert done.returncode == 0 and b"roken pipe" not in done.stderr


def test_closed_standard_streams_do_no_harm(machine: Machine) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m viewer list --json >&- 2>&-', sys.executable], env=machine.env, cwd=machine.home
    )
    assert done.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_progress_is_drawn_on_a_terminal_only(machine: Machine) -> None:
    code = (
        "import sys, time; from viewer.output import Progress; Progress._DELAY = 0;"
        "\nwith Progress('reading') as bar: bar(1, 2)"
    )
    master, slave = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=slave, env=machine.env, check=True, cwd=machine.home)
    os.close(slave)
    seen = os.read(master, 1000) if select.select([master], [], [], 5)[0] else b""
    os.close(master)
    assert b"reading [###" in seen and b"50%" in seen and seen.endswith(b"\r")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=machine.env, cwd=machine.home)
    assert done.stderr == b""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.session import Subagent
from tests.viewer.machine import Machine
from tests.viewer.toy import line, open_toy
from viewer import follow
from viewer.follow import Follower
from viewer.followset import FollowSet
from viewer.tailprint import JsonPrinter, Printer, TextPrinter

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"


# -- what is printed, without a process --------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(follow, "open_reading", open_toy)
    path = tmp_path / "toy.jsonl"
    path.write_bytes(line("user", "u1", "one") + line("assistant", "a1", "two") + line("user", "u2", "three"))
    return path


class Tail:
    """A family and a printer, driven by hand."""

    def __init__(self, path: Path, printer: Printer, *, whole: bool = False) -> None:
        self.path, self.printer = path, printer
        self.family = FollowSet(Follower(path), whole=whole)

    def look(self) -> list[str]:
        for source, changes in self.family.poll():
            self.printer.take(source, changes)
        return self.take()

    def end(self) -> list[str]:
        self.printer.end(self.family.sources)
        return self.take()

    def take(self) -> list[str]:
        lines = b"".join(self.printer.pieces).decode().splitlines()
        self.printer.pieces.clear()
        return [text for text in lines if text]

    def append(self, *records: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(records))


def test_text_begins_with_the_last_exchange(path):
    tail = Tail(path, TextPrinter(False))
    assert tail.look() == ["> three"]
    tail.append(line("assistant", "a2", "four"))
    assert tail.look() == ["four"]
    assert tail.look() == []


def test_text_begins_with_the_first_if_all_is_asked_for(path):
    assert Tail(path, TextPrinter(True), whole=True).look() == ["> one", "two", "> three"]


def test_a_tool_use_is_printed_when_its_result_has_come(path):
    tail = Tail(path, TextPrinter(False))
    tail.look()
    tail.append(line("call", "c1", "ls"))
    assert tail.look() == []
    tail.append(line("assistant", "a2", "meanwhile"))
    assert tail.look() == ["meanwhile"]
    tail.append(line("result", "c1", "a.py"))
    assert tail.look() == ["* $ ls   1 line", "    a.py"]
    assert tail.end() == []


def test_a_tool_use_without_a_result_is_printed_at_the_end(path):
    tail = Tail(path, TextPrinter(False))
    tail.append(line("call", "c1", "sleep 9"))
    assert tail.look() == ["> three"]
    assert tail.end() == ["* $ sleep 9   no result"]


def test_a_tool_use_without_a_result_is_printed_when_its_exchange_ends(path):
    tail = Tail(path, TextPrinter(False))
    tail.append(line("call", "c1", "sleep 9"))
    tail.look()
    tail.append(line("user", "u3", "next"))
    assert tail.look() == ["* $ sleep 9   no result", "> next"]


def test_long_output_is_cut_and_says_so(path):
    tail = Tail(path, TextPrinter(False))
    tail.append(line("call", "c1", "seq 50"), line("result", "c1", "\n".join(map(str, range(50)))))
    printed = tail.look()
    assert printed[-2:] == ["    19", "    … 30 more lines"]


def test_nothing_is_printed_twice_after_a_rewrite(path):
    tail = Tail(path, TextPrinter(False))
    tail.look()
    path.write_bytes(path.read_bytes().replace(b"two", b"TWO") + line("assistant", "a2", "four"))
    assert tail.look() == ["four"]


def changes(lines: list[str]) -> list[tuple[Any, ...]]:
    rows = map(json.loads, lines)
    return [(row["change"], row["exchangeId"], row["message"] and row["message"]["id"]) for row in rows]


def test_json_says_every_change(path):
    tail = Tail(path, JsonPrinter(False))
    assert changes(tail.look()) == [("appended", "toy-session:1", "u2")]
    tail.append(line("call", "c1", "ls"))
    assert changes(tail.look()) == [("appended", "toy-session:1", "c1")]
    tail.append(line("result", "c1", "a.py"))
    (update,) = tail.look()
    assert changes([update]) == [("updated", "toy-session:1", "c1")]
    assert json.loads(update)["message"]["tool"]["output"]["content"] == "a.py"


def test_json_says_what_came_and_changed_at_once_only_once(path):
    tail = Tail(path, JsonPrinter(False))
    tail.append(line("call", "c1", "ls"), line("result", "c1", "a.py"))
    assert [row[0] for row in changes(tail.look())] == ["appended", "appended"]


def test_json_says_that_it_starts_over(path):
    tail = Tail(path, JsonPrinter(True), whole=True)
    tail.look()
    path.write_bytes(line("user", "u1", "one") + line("user", "u9", "new"))
    assert changes(tail.look()) == [("restarted", None, None), ("appended", "toy-session:1", "u9")]


def test_a_subagent_is_followed_and_named(path, tmp_path):
    tail = Tail(path, TextPrinter(False))
    tail.look()
    sub = tmp_path / "sub.jsonl"
    tail.family.main.session.subagents.append(Subagent("agent-1", "Explore", path=sub))
    assert tail.look() == []  # its file is not there yet
    sub.write_bytes(line("user", "s1", "look around"))
    assert tail.look() == ["Explore | > look around"]
    with sub.open("ab") as file:
        file.write(line("assistant", "s2", "found"))
    assert tail.look() == ["Explore | found"]


def test_a_subagent_from_before_is_followed_from_its_end(path, tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("viewer.followset.time.monotonic", lambda: now[0])
    sub = tmp_path / "sub.jsonl"
    sub.write_bytes(line("user", "s1", "look around"))
    tail = Tail(path, JsonPrinter(False))
    tail.family.main.session.subagents.append(Subagent("agent-1", "Explore", path=sub))
    assert [row[2] for row in changes(tail.look())] == ["u2"]
    with sub.open("ab") as file:
        file.write(line("assistant", "s2", "found"))
    now[0] += 2
    (row,) = tail.look()
    assert json.loads(row)["subagent"] == "agent-1"
    assert json.loads(row)["message"]["id"] == "s2"


# -- the process -------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["Fix the lamp", "It shines again"], cwd=str(tmp_path))
    return machine


class Process:
    """`turnlog tail`, running; `wait_for` gives up after some seconds."""

    def __init__(self, machine: Machine, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "viewer", "tail", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=machine.env, cwd=machine.home,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.out = self.process.stdout
        os.set_blocking(self.out.fileno(), False)
        self.seen = ""

    def wait_for(self, words: str) -> None:
        end = time.monotonic() + 30
        while words not in self.seen:
            assert time.monotonic() < end, f"{words!r} never came; there was {self.seen!r}"
            self.seen += (self.out.read() or b"").decode()
            time.sleep(0.01)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=30)
        return self.process.returncode, err.decode()


@pytest.fixture
def start(machine: Machine) -> Iterator[Any]:
    running: list[Process] = []

    def run(*arguments: str) -> Process:
        running.append(Process(machine, *arguments))
        return running[-1]

    yield run
    for one in running:
        one.process.kill()
        one.process.communicate()


def answer(path: Path, text: str) -> None:
    record = json.loads(path.read_bytes().splitlines()[-1])
    record |= {"uuid": f"{text}-uuid", "parentUuid": record["uuid"]}
    record["message"] |= {"id": f"msg_{text}", "content": [{"type": "text", "text": text}]}
    with path.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_follows_the_newest_session_of_this_directory_until_it_is_told_to_stop(machine, start, how):
    machine.session(TWO, ["Elsewhere", "Yes"], cwd="/home/dev/elsewhere", minute=5)
    tail = start()
    tail.wait_for("It shines again")
    answer(next(machine.projects.rglob(f"{ONE}.jsonl")), "FRESH")
    tail.wait_for("FRESH")
    assert "Elsewhere" not in tail.seen
    assert tail.stop(how) == (0, "")


def test_the_next_session_takes_over(machine, start):
    tail = start()
    tail.wait_for("It shines again")
    machine.session(TWO, ["Something new", "Gladly"], cwd=str(machine.home), minute=5)
    tail.wait_for("Gladly")
    assert "== the next session: " in tail.seen
    assert tail.stop() == (0, "")


def test_it_ends_when_nobody_reads_any_more(machine, start):
    tail = start(ONE)
    tail.wait_for("It shines again")
    tail.out.close()
    assert tail.process.wait(30) == 0


def test_standard_input_is_printed_and_ends(machine):
    data = next(machine.projects.rglob(f"{ONE}.jsonl")).read_bytes()
    result = subprocess.run(
        [sys.executable, "-m", "viewer", "tail", "-"],
        input=data, capture_output=True, env=machine.env, cwd=machine.home, timeout=60,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"It shines again" in result.stdout


def test_no_session_here(tmp_path):
    result = Machine(tmp_path).run("tail")
    assert (result.code, result.out) == (1, "")
    assert "no session of this directory" in result.err


def test_no_such_target(machine):
    result = machine.run("tail", "/nowhere.jsonl")
    assert (result.code, result.out) == (2, "")

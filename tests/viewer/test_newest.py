"""`latest` and `tail` without TARGET: the order of lists, whatever the index knows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.provider import Environment
from tests.viewer.machine import Machine
from viewer.index.library import Library
from viewer.output import CallError
from viewer.sessions import newest
from viewer.sessions.discover import Found
from viewer.sessions.targets import Targets

IDS = [f"{letter * 8}-0000-4000-8000-000000000001" for letter in "abcdef"]
DAY = 86_400


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that is this process's too."""
    machine = Machine(tmp_path)
    env = Environment(machine.env, tmp_path, "linux")
    monkeypatch.setattr("viewer.sessions.discover.environment", lambda: env)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return machine


def written(path: Path, ago: float) -> Path:
    """Set a file's time."""
    os.utime(path, (time.time() - ago,) * 2)
    return path


def append(path: Path, machine: Machine, text: str) -> None:
    """Let a session go on, now."""
    before = path.read_bytes()
    machine.session(path.stem, [text, "yes"], minute=0, folder="made").replace(path)
    path.write_bytes(before + machine.to_now(path).read_bytes().replace(b'"uuid": "', b'"uuid": "later'))


def top() -> Path:
    return next(summary.path for summary in Library().bring_up_to_date() if not summary.blank)


def latest() -> Path:
    return Targets().resolve("latest").path


INDEX = pytest.mark.parametrize("indexed", [False, True], ids=["no index", "index"])


@INDEX
def test_latest_is_the_top_of_the_list_and_not_the_file_written_last(machine: Machine, indexed: bool) -> None:
    new = written(machine.session(IDS[0], ["new", "yes"], minute=9), 3 * DAY)
    written(machine.session(IDS[1], ["old", "yes"], minute=1), 2 * DAY)
    # A copy of old things made just now.
    written(machine.session(IDS[2], ["older", "yes"], minute=0), 0)
    if indexed:
        assert top() == new
    assert latest() == new
    assert top() == new


@pytest.mark.parametrize("looks", [0, 1, 2, 3])
def test_where_many_files_are_unknown_the_index_is_made(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    monkeypatch.setattr(newest, "_LOOKS", looks)
    paths = [
        written(machine.session(name, ["x", "yes"], minute=number), number * DAY) for number, name in enumerate(IDS)
    ]
    assert latest() == paths[-1] == top()


@INDEX
def test_files_are_read_no_further_than_needed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    for number, name in enumerate(IDS):
        machine.session(name, ["x", "yes"], minute=number)
    if indexed:
        top()
    read: list[Path] = []
    real = newest._read
    monkeypatch.setattr(newest, "_read", lambda path, *rest, **more: read.append(path) or real(path, *rest, **more))
    assert latest().stem == IDS[-1]
    assert {path.stem for path in read} == (set() if indexed else {IDS[-1]})


def test_a_session_that_is_being_written_wins_over_what_the_index_knows(machine: Machine) -> None:
    growing = machine.session(IDS[0], ["old", "yes"], minute=1)
    other = machine.session(IDS[1], ["new", "yes"], minute=9)
    assert top() == other == latest()
    append(growing, machine, "and now?")
    assert latest() == growing


def test_a_long_session_is_placed_by_its_end(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    long = machine.session(IDS[0], ["x", "y" * 4000] * 20, minute=5)
    machine.session(IDS[1], ["x", "yes"], minute=4)
    written(long, 2 * DAY)
    for path in long.parent.iterdir():
        written(path, 0)
    # Ends that hold a record, none, and all of it.
    for ends in ((9000, 1 << 23), (10, 9000), (10, 1 << 23), (10, 20)):
        monkeypatch.setattr(newest, "_ENDS", ends)
        assert latest() == long


@INDEX
def test_latest_skips_what_is_no_session_and_where_nothing_was_said(machine: Machine, indexed: bool) -> None:
    said = machine.session(IDS[0], ["Fix the lamp", "done"], minute=1)
    blank, other, empty = (said.with_name(name) for name in ("b.jsonl", "c.jsonl", "d.jsonl"))
    blank.write_text('{"type":"mode","mode":"normal","sessionId":"b"}\n')
    other.write_text("no session")
    empty.touch()
    if indexed:
        Library().bring_up_to_date()
    assert latest() == said
    said.unlink()
    assert Targets().latest() is None
    assert latest() in (blank, other)


def test_latest_of_no_sessions(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.sessions.discover.discover", Found)
    with pytest.raises(CallError, match="no sessions found"):
        Targets().resolve("latest")


# -- this directory ----------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path) -> Callable[[], str | None]:
    """The session that `tail` follows in the directory `tmp_path`."""

    def find() -> str | None:
        file = newest.newest_here((targets := Targets()).found.files, targets.library, tmp_path)
        return file.path.stem if file else None

    return find


@INDEX
def test_the_newest_of_a_directory(machine: Machine, here: Callable[[], str | None], indexed: bool) -> None:
    machine.session(IDS[0], ["x", "yes"], minute=8, cwd="/elsewhere")
    assert here() is None
    written(machine.session(IDS[1], ["x", "yes"], minute=7, cwd=str(machine.home / "below")), 3 * DAY)
    written(machine.session(IDS[2], ["x", "yes"], minute=6, cwd=str(machine.home)), 2 * DAY)
    if indexed:
        Library().bring_up_to_date()
    assert here() == IDS[1]


@INDEX
@pytest.mark.parametrize("looks", [0, 1, 200])
def test_what_is_being_written_goes_first(
    machine: Machine,
    here: Callable[[], str | None],
    monkeypatch: pytest.MonkeyPatch,
    indexed: bool,
    looks: int,
) -> None:
    monkeypatch.setattr(newest, "_LOOKS", looks)
    machine.session(IDS[0], ["x", "yes"], minute=8, cwd=str(machine.home))
    begun = machine.session(IDS[1], [], minute=1, cwd=str(machine.home))
    record = (
        '{"type":"system","subtype":"x","cwd":"%s","sessionId":"%s","uuid":"u","timestamp":"2026-03-04T09:00:00Z"}\n'
    )
    begun.write_text(record % (machine.home, IDS[1]))
    # What was copied a moment ago is not being written.
    assert here() == IDS[0]
    machine.to_now(begun)
    machine.session(IDS[2], ["x", "yes"], minute=9, cwd="/elsewhere")
    if indexed:
        Library().bring_up_to_date()
    assert here() == IDS[1]
    written(begun, DAY)
    assert here() == IDS[0]


def test_a_session_whose_subagent_works_is_being_written(machine: Machine, here: Callable[[], str | None]) -> None:
    parent = machine.session(IDS[0], ["x", "yes"], minute=1, cwd=str(machine.home))
    child = machine.subagent(parent, "a1f00001", ["look", "found"], {"input_tokens": 1})
    for path in (child, child.parent, parent.with_suffix("")):
        written(path, DAY)
    machine.session(IDS[1], ["x", "yes"], minute=8, cwd=str(machine.home))
    Library().bring_up_to_date()
    assert here() == IDS[1]
    written(child, 0)
    assert here() == IDS[0]

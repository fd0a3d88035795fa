from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from schemas.paths import source_of
from schemas.provider import Environment, SessionFile
from tests.viewer.machine import Machine
from viewer.index.library import Library
from viewer.output import CallError, path_text
from viewer.sessions.discover import Found
from viewer.sessions.targets import Targets


def session(session_id: str, when: int, size: int = 10) -> SessionFile:
    return SessionFile("claude", f"store/{session_id}.jsonl", session_id, size, when)


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Targets:
    files = [session("empty", 400, 0), session("abc1", 300), session("abd2", 200), session("ABC", 100)]
    monkeypatch.setattr("viewer.sessions.discover.discover", lambda _=None: Found(files))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Targets()


def test_a_path(targets: Targets, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").touch()
    assert targets.resolve("x.jsonl").path == Path("x.jsonl")
    assert targets.resolve(str(tmp_path / "x.jsonl")).path == tmp_path / "x.jsonl"


def test_what_is_on_disk_is_a_path_before_it_is_an_id(targets: Targets, tmp_path: Path) -> None:
    (tmp_path / "abd2").touch()
    (tmp_path / "latest").touch()
    assert targets.resolve("abd2").path == Path("abd2")
    assert targets.resolve("latest").path == Path("latest")


def test_an_id_or_its_beginning(targets: Targets) -> None:
    assert targets.resolve("abd2").path == Path("store/abd2.jsonl")
    assert targets.resolve("abd").path == Path("store/abd2.jsonl")
    assert targets.resolve("abC1").path == Path("store/abc1.jsonl")


def test_an_id_in_full_wins_over_longer_ones(targets: Targets) -> None:
    assert targets.resolve("abc").path == Path("store/ABC.jsonl")


def test_an_ambiguous_beginning_names_the_candidates(targets: Targets) -> None:
    with pytest.raises(CallError, match="ab fits 3 sessions: abc1, abd2, ABC"):
        targets.resolve("ab")


def test_what_only_has_an_id_in_its_name_stands_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    good = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["hi", "yes"])
    bad = good.parent.with_name("-other") / good.name
    bad.parent.mkdir()
    bad.write_text('{"type":[],"payload":{}}\n')
    env = Environment(machine.env, tmp_path, "linux")
    monkeypatch.setattr("viewer.sessions.discover.environment", lambda: env)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert Targets().resolve("aaaaaaaa").path == Targets().resolve(good.stem).path == good


def test_two_files_of_one_id_are_told_by_their_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = [session("same", 2), SessionFile("codex", "/archive/same.jsonl", "same", 1, 1)]
    monkeypatch.setattr("viewer.sessions.discover.discover", lambda _=None: Found(files))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallError, match=r"store/same\.jsonl, /archive/same\.jsonl"):
        Targets().resolve("same")


@pytest.mark.parametrize("given", ["nope", "./nope", "{folder}/no/such", "abc1.jsonl", "", "a\0b", "x\x1b]0;t\x07y"])
def test_what_is_nothing(targets: Targets, tmp_path: Path, given: str) -> None:
    with pytest.raises(CallError) as caught:
        targets.resolve(given.replace("{folder}", str(tmp_path)))
    assert not any(ord(c) < 32 for c in str(caught.value))


@pytest.mark.parametrize(
    ("given", "name"), [(" ", "' '"), ("a\nb", r"'a\nb'"), ("~no-such-user/x", "~no-such-user/x"), ("a  b", "'a  b'")]
)
def test_an_odd_argument_is_named_as_it_is(targets: Targets, given: str, name: str) -> None:
    with pytest.raises(CallError) as caught:
        targets.resolve(given)
    assert str(caught.value).startswith(f"{name}: no such file")


# -- ids as lists show them --------------------------------------------------------------------------------------------


def gemini(home: Path, session_id: str, name: str, *, project: str = "p") -> Path:
    """A session of Gemini CLI, in a file of any name."""
    path = home / ".gemini" / "tmp" / project / "chats" / f"session-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {"sessionId": session_id, "projectHash": "ab" * 32, "startTime": "2026-01-01T00:00:00Z"},
        {"id": "u", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": f"I am {session_id}"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


A, B, C = ("11111111-1111-4111-8111-111111111111", "11111111-2222-4222-8222-222222222222", "11111111-3333")


@pytest.fixture(params=["index", "no index"])
def ids(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Resolve an id on a machine with three sessions whose ids begin alike, and one whose file has another name."""
    machine = Machine(tmp_path)
    gemini(tmp_path, A, "2026-01-01T00-00-11111111")
    gemini(tmp_path, "sess-jsonl-1", "free-name")
    machine.session(B, ["I am B", "yes"])
    machine.session(C, ["I am C", "yes"])
    env = Environment(machine.env, tmp_path, "linux")
    monkeypatch.setattr("viewer.sessions.discover.environment", lambda: env)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    if request.param == "index":
        Library().bring_up_to_date()
    return lambda given: Targets().resolve(given).path


def test_the_beginning_that_a_file_is_named_by_is_no_exact_match(ids: Callable[[str], Path]) -> None:
    with pytest.raises(CallError, match="11111111 fits 3 sessions") as caught:
        ids("11111111")
    assert all(name in str(caught.value) for name in (A, B, C))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("11111111-1", f"session-2026-01-01T00-00-{A[:8]}"),
        (A, f"session-2026-01-01T00-00-{A[:8]}"),
        (A.upper(), f"session-2026-01-01T00-00-{A[:8]}"),
        ("11111111-2222", B),
        (B, B),
        (C, C),
        ("sess-jsonl-1", "session-free-name"),
        ("sess-jso", "session-free-name"),
        ("session-free", "session-free-name"),
    ],
)
def test_an_id_is_the_sessions_own(ids: Callable[[str], Path], given: str, name: str) -> None:
    assert ids(given).stem == name


def test_an_id_that_nobody_has(ids: Callable[[str], Path]) -> None:
    for given in ("11111111-4", A + "1", "ess-jso"):
        with pytest.raises(CallError, match="no session whose id begins so"):
            ids(given)


@pytest.mark.parametrize("given", ["sess-jsonl-1#3-", "there.jsonl#x"])
def test_what_is_no_place_is_said_to_be_none(ids: Callable[[str], Path], given: str) -> None:
    with pytest.raises(CallError, match=re.escape(f"({given[given.index('#') :]} is no place")):
        ids(given)


def test_a_session_that_came_since_the_index_was_made_is_found(ids: Callable[[str], Path], tmp_path: Path) -> None:
    new = gemini(tmp_path, "sess-new-2", "other-name")
    assert ids("sess-new") == new
    newer = gemini(tmp_path, "sess-new-3", "third-name")
    assert ids("sess-new-3") == newer
    with pytest.raises(CallError, match="sess-new-3, sess-new-2"):
        ids("sess-new")


def test_copies_of_one_session_are_told_by_their_paths(ids: Callable[[str], Path], tmp_path: Path) -> None:
    copy = gemini(tmp_path, A, "2026-01-01T00-01-11111111", project="q")
    with pytest.raises(CallError, match="fits 2 sessions") as caught:
        ids("11111111-1")
    assert str(copy) in str(caught.value) and "T00-00-11111111.jsonl" in str(caught.value)


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_standard_input_becomes_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    os.close(writing)
    with open(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        target = Targets().resolve("-")
    assert target.shown_path == path_text(target.path) == "-"
    assert target.path.read_bytes() == b"x"


@pytest.mark.parametrize(("stdin", "said"), [(_Terminal(), "is a terminal"), (None, "is closed")])
def test_a_terminal_is_no_session(monkeypatch: pytest.MonkeyPatch, stdin: object, said: str) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(CallError, match=f"-: standard input {said}"):
        Targets().resolve("-")


@pytest.mark.parametrize("at_home", [True, False])
@pytest.mark.parametrize("name", ["cline", "copilot", "gptme", "kimi_cli", "kimi_code", "openhands", "vibe"])
def test_a_folder_is_the_session_in_it(
    name: str, at_home: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    sample = import_module(f"tests.fixtures.{name}").samples(home)[0]
    monkeypatch.setattr("viewer.sessions.discover.environment", lambda: Environment({}, home, "linux"))
    folder = sample.path.parent.parent.parent if name == "kimi_code" else sample.path.parent
    inside = sample.path.relative_to(folder)
    if not at_home:
        folder = Path(shutil.copytree(folder, tmp_path / "elsewhere" / folder.name))
    assert Targets().resolve(str(folder)).path == folder / inside


def test_a_place_stands_behind_any_target(targets: Targets, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").touch()
    (tmp_path / "y#2").touch()
    assert targets.resolve("abd#3.2").place == "#3.2"
    found = targets.resolve("x.jsonl#1")
    assert (found.path, found.place) == (Path("x.jsonl"), "#1")
    found = targets.resolve("y#2")
    assert (found.path, found.place) == (Path("y#2"), ""), "a file of that name goes before"


def test_a_place_behind_the_key_of_a_session(tmp_path: Path) -> None:
    samples = import_module("tests.fixtures.opencode").samples(tmp_path)
    address = next(one.path for one in samples if source_of(one.path)[1])
    found = Targets().resolve(f"{address}#1.2")
    assert (found.path, found.place) == (address, "#1.2")
    assert Targets().resolve(str(address)).place == ""


def test_which_session_of_several_in_a_file_is_read_is_said_by_every_command_that_reads_one(tmp_path: Path) -> None:
    machine, path = Machine(tmp_path), tmp_path / ".aider.chat.history.md"
    days = "2026-03-04 09:01:00", "2026-03-05 09:01:00"
    path.write_text("".join(f"\n# aider chat started at {day}\n\n#### say {day[9]}\n\nyes\n" for day in days))
    for args in (["show"], ["show", "--json"], ["export"], ["diff"], ["compare", str(path)]):
        err = machine.run(*args, str(path)).err
        said = "2 sessions in it; this is the newest, 2026-03-05T09:01:00; name another like"
        assert err.count(said) == 1 and err.count(f"{path}#2026-03-04T09:01:00") == 1, args
    assert machine.run("show", f"{path}#1").err.count(said) == 1
    assert "in it" not in machine.run("show", f"{path}#2026-03-04T09:01:00").err + machine.run("usage", str(path)).err


@pytest.mark.parametrize("command", ["show", "export", "diff", "tail", "compare"])
def test_a_database_without_a_session_is_said_to_hold_none(tmp_path: Path, command: str) -> None:
    path = import_module("tests.fixtures.opencode").write_database(tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DELETE FROM session; DELETE FROM message; DELETE FROM part")
    result = Machine(tmp_path).run(command, *[str(path)] * (1 + (command == "compare")))
    assert result.code == 2 and result.err.endswith("a database of OpenCode that holds no session\n")


def test_a_folder_of_none_or_several_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    for letter in "ab":
        machine.session(f"{letter * 8}-0000-4000-8000-000000000001", ["x", "y"])
    env = Environment({}, tmp_path, "linux")
    monkeypatch.setattr("viewer.sessions.discover.environment", lambda: env)
    with pytest.raises(CallError, match=r"a directory with 2 sessions: \.claude/projects/.*, \.claude/projects/"):
        Targets().resolve(str(tmp_path))
    (tmp_path / "none").mkdir()
    with pytest.raises(CallError, match="a directory, not a session file"):
        Targets().resolve(str(tmp_path / "none"))

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from schemas.provider import Environment, SessionFile
from tests.viewer.machine import Machine
from viewer.discover import Found, discover
from viewer.library import Library
from viewer.output import CallError, path_text
from viewer.targets import Targets


def session(session_id: str, when: int, size: int = 10) -> SessionFile:
    return SessionFile("claude", f"/store/{session_id}.jsonl", session_id, size, when)


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Targets:
    files = [session("empty", 400, 0), session("abc1", 300), session("abd2", 200), session("ABC", 100)]
    monkeypatch.setattr("viewer.discover.discover", lambda: Found(files))
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
    assert targets.resolve("abd2").path == Path("/store/abd2.jsonl")
    assert targets.resolve("abd").path == Path("/store/abd2.jsonl")
    assert targets.resolve("abC1").path == Path("/store/abc1.jsonl")


def test_an_id_in_full_wins_over_longer_ones(targets: Targets) -> None:
    assert targets.resolve("abc").path == Path("/store/ABC.jsonl")


def test_latest_is_the_newest_that_holds_anything(targets: Targets) -> None:
    assert targets.resolve("latest").path == Path("/store/abc1.jsonl")


def test_an_ambiguous_beginning_names_the_candidates(targets: Targets) -> None:
    with pytest.raises(CallError, match="ab fits 3 sessions: abc1, abd2, ABC"):
        targets.resolve("ab")


def test_two_files_of_one_id_are_told_by_their_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = [session("same", 2), SessionFile("codex", "/archive/same.jsonl", "same", 1, 1)]
    monkeypatch.setattr("viewer.discover.discover", lambda: Found(files))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallError, match=r"/store/same\.jsonl, /archive/same\.jsonl"):
        Targets().resolve("same")


@pytest.mark.parametrize("given", ["nope", "./nope", "/no/such", "abc1.jsonl", "", "a\0b", "x\x1b]0;t\x07y"])
def test_what_is_nothing(targets: Targets, given: str) -> None:
    with pytest.raises(CallError) as caught:
        targets.resolve(given)
    assert not any(ord(c) < 32 for c in str(caught.value))


def test_latest_skips_what_is_no_session_and_where_nothing_was_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "done"], minute=1)
    blank, other = said.with_name("b.jsonl"), said.with_name("c.jsonl")
    blank.write_text('{"type":"mode","mode":"normal","sessionId":"b"}\n')
    other.write_text("no session")
    env = Environment(machine.env, tmp_path, "linux")
    monkeypatch.setattr("viewer.discover.discover", lambda _=None: discover(env))
    assert len(discover(env).files) == 3
    assert Targets().resolve("latest").path == said
    for _ in (library := Library(env)).refresh():
        pass
    assert [library.is_blank(file) for file in discover(env).files] == [True, True, False]
    said.unlink()
    assert Targets().latest() is None
    assert Targets().resolve("latest").path in (blank, other)


@pytest.mark.parametrize(
    ("given", "name"), [(" ", "' '"), ("a\nb", r"'a\nb'"), ("~no-such-user/x", "~no-such-user/x"), ("a  b", "'a  b'")]
)
def test_an_odd_argument_is_named_as_it_is(targets: Targets, given: str, name: str) -> None:
    with pytest.raises(CallError) as caught:
        targets.resolve(given)
    assert str(caught.value).startswith(f"{name}: no such file")


def test_latest_of_no_sessions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("viewer.discover.discover", Found)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallError, match="no sessions found"):
        Targets().resolve("latest")


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

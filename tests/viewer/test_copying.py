"""`y`, `Y` and `c`: what an export would give, how much was replaced, and whether it got to a clipboard at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from renderers.options import MAX_COMMENT
from schemas.message import Tool
from tests.support import Hand
from tests.viewer.machine import Machine
from tests.viewer.transcripts import story, transcript
from viewer.transcript import clipboard
from viewer.transcript.clipboard import Way, clipboard_way

TOKEN = "ghp_" + "aB3dE5gH7j" * 3 + "K9mN1p"
PASSWORD = "hunter" + "2Xq9!"


def copied(pilot: Pilot[None]) -> str:
    return pilot.app.copied[-1]  # type: ignore[attr-defined,no-any-return]


def notice(pilot: Pilot[None]) -> str:
    return [n.message for n in pilot.app._notifications][-1]


def leaky() -> Hand:
    hand = Hand()
    hand.prompt(f"use {TOKEN}")
    hand.tool(Tool("login", "generic", "t", {"password": PASSWORD}, text=f"token {TOKEN}\n" * 3))
    hand.tool(Tool("Bash", "shell", "b", {"command": "true # " + "long " * 80 + TOKEN}, text="ok"))
    hand.text(f"I used {TOKEN}.")
    return hand


@pytest.mark.parametrize(
    ("block", "key", "secrets"),
    [(0, "y", 1), (1, "y", 4), (2, "y", 1), (3, "y", 1), (3, "Y", 4)],
)
async def test_secrets_are_replaced_and_counted_and_one_key_copies_them(block: int, key: str, secrets: int) -> None:
    async with transcript(leaky()) as (pilot, view, _):
        view.go_to(block)
        await pilot.press(key)
        assert TOKEN not in copied(pilot) and PASSWORD not in copied(pilot)
        assert copied(pilot).count("redacted: ") == secrets
        assert f"{secrets} secret{'' if secrets == 1 else 's'} replaced; c copies it as it is." in notice(pilot)
        await pilot.press("c")
        assert "redacted" not in copied(pilot)
        assert (TOKEN in copied(pilot)) or block == 1
        assert "nothing in it is replaced" in notice(pilot)


async def test_raw_records_are_copied_without_secrets_too() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.store.add({"said": TOKEN})
    async with transcript(hand) as (pilot, _, _):
        await pilot.press("x")
        await pilot.pause()
        await pilot.press("y")
        hint = pilot.app.screen.query_one("#dialog-hint", Static)
        assert str(hint.content).startswith("Copied all of it: ")  # no toast, which would cover it
        await pilot.press("c")
        assert "nothing in it is replaced" in str(hint.content)


async def test_an_exchange_is_short_and_its_size_is_said() -> None:
    hand = Hand()
    hand.prompt("do it")
    for n in range(40):
        hand.thinking("thought " * 200)
        hand.tool(Tool("Bash", "shell", f"b{n}", {"command": f"run {n}"}, text="row of output\n" * 400))
    hand.text("Done.")
    async with transcript(hand) as (pilot, _, _):
        await pilot.press("Y")
        text = copied(pilot)
        assert len(text) < 3000 and text.count("\n- $ run ") == 40 and "Done." in text and "thought" not in text
        assert notice(pilot) == f"Copied exchange 1 as Markdown: {len(text):,} characters."


async def test_what_github_does_not_take_is_said() -> None:
    hand = Hand()
    hand.prompt("do it")
    hand.text("word " * 14_000)
    async with transcript(hand) as (pilot, _, _):
        await pilot.press("Y")
        assert f"A comment on GitHub takes {MAX_COMMENT:,}." in notice(pilot)


async def test_nothing_was_copied_yet() -> None:
    async with transcript(story(1)) as (pilot, _, _):
        await pilot.press("c")
        assert notice(pilot) == "Nothing was copied yet." and not pilot.app.copied  # type: ignore[attr-defined]


async def test_what_does_not_get_through_is_not_called_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(clipboard, "clipboard_way", lambda environ: Way(False, "nobody takes it"))
    async with transcript(leaky()) as (pilot, view, _):
        view.go_to(3)
        await pilot.press("y")
        (file,) = tmp_path.iterdir()
        assert file.read_text() == "I used [redacted: github token]."
        assert file.stat().st_mode & 0o77 == 0
        assert not pilot.app.copied  # type: ignore[attr-defined]
        assert notice(pilot).startswith("Not copied: nobody takes it.\n") and str(file) in notice(pilot)


@pytest.mark.parametrize(
    ("environ", "reaches"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
    ],
)
def test_what_terminals_are_known_for(environ: dict[str, str], reaches: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "_ask_tmux", lambda *words: pytest.fail("not in tmux"))
    assert clipboard_way(environ).reaches is reaches


def test_a_tmux_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not clipboard_way({"TMUX": "/nowhere,1,0"}).reaches
    slow = tmp_path / "tmux"
    slow.write_text("#!/bin/sh\nwhile :; do :; done\n")
    slow.chmod(0o700)
    monkeypatch.setattr(clipboard, "_TMUX_SECONDS", 0.1)
    assert clipboard_way({"TMUX": "/nowhere,1,0"}).text.startswith("tmux does not answer")


needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A tmux server of its own, in which this process seems to run."""
    call = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    subprocess.run([*call, "new-session", "-d", "-x", "80", "-y", "24", "cat"], check=True)
    try:
        told = subprocess.run([*call, "display", "-p", "#{pid} #{pane_id}"], check=True, capture_output=True, text=True)
        pid, pane = told.stdout.split()
        monkeypatch.setenv("TMUX", f"{tmp_path / 'socket'},{pid},0")
        monkeypatch.setenv("TMUX_PANE", pane)
        yield call
    finally:
        subprocess.run([*call, "kill-server"], check=False)


@needs_tmux
@pytest.mark.parametrize("setting", ["on", "external", "off"])
def test_tmux_does_what_is_said_of_it(tmux: list[str], setting: str) -> None:
    subprocess.run([*tmux, "set", "-s", "set-clipboard", setting], check=True)
    way = clipboard_way(os.environ)
    assert setting in way.text and not way.passthrough
    # `dGV4dA==` is `text`: what a program asks its terminal to copy.
    subprocess.run([*tmux, "respawn-pane", "-k", r"printf '\033]52;c;dGV4dA==\a'; echo SENT; cat"], check=True)
    for _ in range(200):
        if b"SENT" in subprocess.run([*tmux, "capture-pane", "-p"], check=True, capture_output=True).stdout:
            break
        time.sleep(0.02)
    buffer = subprocess.run([*tmux, "show-buffer"], check=False, capture_output=True).stdout
    assert (buffer == b"text") is way.reaches


@needs_tmux
def test_tmux_that_hands_on_is_used_so(tmux: list[str]) -> None:
    known = subprocess.run([*tmux, "set", "-g", "allow-passthrough", "on"], check=False, capture_output=True)
    if known.returncode:
        pytest.skip("this tmux hands everything on")
    way = clipboard_way(os.environ)
    assert way.reaches and way.passthrough


@needs_tmux
def test_doctor_says_what_copying_does(tmux: list[str], tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    inside = {name: os.environ[name] for name in ("TMUX", "TMUX_PANE")}
    assert "clipboard tmux takes nothing from programs (set-clipboard external)" in machine.run("doctor", **inside).out
    assert machine.run("doctor", "--json").json["terminal"]["clipboard"]["reached"] is True

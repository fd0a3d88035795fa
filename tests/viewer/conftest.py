"""What holds for all tests of the program."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
import textual.app
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from tests.viewer.machine import Machine
from viewer.usage.costs import load


async def _idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the program rests. Textual looks twice for 20 ms after each key, which makes most of a test's time."""
    end = time.monotonic() + max_sleep
    while time.monotonic() < end:
        used = time.process_time()
        await asyncio.sleep(0.004)
        if time.process_time() - used < 0.0004:
            return


textual.app.wait_for_idle = _idle  # for keys; `pilot.pause()` looks as long as ever

_parse_rules = Stylesheet._parse_rules
_parsed: dict[Any, list[RuleSet]] = {}


def _parse_once(sheet: Stylesheet, css: str, read_from: Any, **told: Any) -> list[RuleSet]:
    """Rules are the same in every app of a theme, and are not parsed for each of some hundred."""
    key = css, read_from, tuple(told.items()), frozenset(sheet._variables.items())
    if key not in _parsed:
        _parsed[key] = _parse_rules(sheet, css, read_from, **told)
    return _parsed[key]


Stylesheet._parse_rules = _parse_once  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _prices() -> None:
    """Screens show costs once prices are loaded: here from the start, else texts would depend on time."""
    load()


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs in the same terminal, which takes all colours and copies, wherever the tests are run."""
    for name in ("TMUX", "STY", "NO_COLOR", "COLORFGBG", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A home folder without sessions."""
    return Machine(tmp_path)

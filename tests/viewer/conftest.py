"""What holds for all tests of the program."""

from __future__ import annotations

import pytest

from viewer.usage.costs import load


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

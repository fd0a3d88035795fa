"""`turnlog why FILE` on a terminal: the lines with their edits, and the way into a session and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.provider import Environment, Problem
from tests.viewer.machine import Machine
from tests.viewer.test_diff_screen import rows
from tests.viewer.test_why import shop
from tests.waiting import until
from viewer.commands import why
from viewer.edits.history import repository_of
from viewer.edits.trace import TracedLine, trace
from viewer.index.library import Library
from viewer.screens.app import TurnlogApp
from viewer.screens.trace import TraceScreen
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar
from viewer.widgets.row_list import RowsPane

__all__ = ["shop"]


def traced(machine: Machine, file: Path) -> list[TracedLine]:
    """The lines of a file as `why` traces them."""
    library = Library(Environment({}, machine.home, "linux"), machine.home / "index.sqlite", texts=True)
    problems: list[Problem] = []
    return trace(repository_of(file), file.name, library, lambda done, total: None, problems)


@pytest.mark.parametrize("width", [80, 140])
async def test_lines_and_the_way_to_the_edit(shop: tuple[Machine, Path], width: int) -> None:
    lines = traced(*shop)
    both = [*lines[0].origins, *lines[3].origins]
    lines[1].origins = both  # as of a line that both edits may have added
    origins = {origin: f"{origin.id[:8]}{origin.edit.place}" for line in lines for origin in line.origins}
    app = TurnlogApp()
    app.start_with(TraceScreen("basket.py", lines, origins))
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        date = ["2026-05-28"] if width >= 100 else []
        assert [line.split() for line in rows(pilot)] == [
            ["▌claude", "#1.3", *date, "1", "def", "count(items):"],
            ["claude", "#1.3", *date, "+1", "2", *lines[1].text.split()],
            ["3", "def", "total(items):"],
            ["claude", "#1.3", *date, "4", *lines[3].text.split()],
            ["5", "#", "by", "hand"],
        ]
        assert str(app.screen.query_one(TitleBar).right) == "3 of 5 lines traced"
        pane = app.screen.query_one(RowsPane)
        assert "count them too" in pane.text and "not committed yet" in pane.text
        await pilot.press("down")
        assert "one of 2 edits: count them too" in pane.text
        await pilot.press("tab")
        assert "one of 2 edits: sum the prices" in pane.text
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TranscriptScreen))
        view = app.screen.query_one(TranscriptView)
        await until(pilot, lambda: view.session.message(view.cursor.block).tool is not None)
        assert view.session.exchanges[0].prompt == "sum the prices"
        await pilot.press("q", "end")
        assert "untraced" in pane.text
        await pilot.press("enter")
        assert isinstance(app.screen, TraceScreen)


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_gets_the_screen(
    shop: tuple[Machine, Path], terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine, file = shop
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, machine.env[name])
    shown: list[Any] = []
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr("viewer.screens.run.run_screen", shown.append)
    monkeypatch.setattr(why, "draw_where_people_look", lambda: None)
    callback = why.command.callback
    assert callback is not None and callback(str(file), False) == 0
    if terminal:
        (screen,) = shown
        assert "basket.py" in screen._bar.left.plain and len(screen._lines) == 5
        assert set(screen._addresses) == {origin for line in screen._lines for origin in line.origins}
    assert ("3 of 5 lines traced" in capsys.readouterr().out) is not terminal

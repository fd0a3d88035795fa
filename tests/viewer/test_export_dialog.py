"""The export dialog: what is asked, by keys and mouse, and what it says of the size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from renderers.options import Include
from schemas.opening import read_session
from tests.viewer.machine import Machine
from tests.waiting import until
from viewer.screens.export_dialog import Choices, ExportScreen, Order

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
PLACES = {"block": "#2.2", "exchange": "#2", "range": "#2-3"}


class Bare(App[None]):
    answer: Order | None = None


@asynccontextmanager
async def dialog(
    path: Path, *, places: dict[str, str] = PLACES, size: tuple[int, int] = (60, 24)
) -> AsyncIterator[Any]:
    with closing(read_session(path)) as session:
        app = Bare()
        async with app.run_test(size=size) as pilot:
            app.push_screen(ExportScreen(session, places), lambda order: setattr(app, "answer", order))
            await until(pilot, lambda: "characters" in note(pilot))
            yield pilot, app


def note(pilot: Pilot[Any]) -> str:
    return str(pilot.app.screen.query_one("#export-note").render())


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Machine(tmp_path).session(ONE, ["first", "alpha", "second", "beta", "third", "gamma"])


def characters(pilot: Pilot[Any]) -> int:
    words = note(pilot).split(" ")[0].replace(",", "")
    return int(words) if words.isdigit() else 0


async def test_enter_alone_writes_all_of_it_as_markdown(path: Path) -> None:
    async with dialog(path) as (pilot, app):
        name = pilot.app.screen.query_one("#path", Input).value
        await pilot.press("enter")
        await until(pilot, lambda: app.answer)
        assert app.answer == Order("markdown", Include(), "", Path(name)) and name.endswith("aaaaaaaa-0000.md")


async def test_keys_choose_scope_format_and_parts(path: Path) -> None:
    async with dialog(path) as (pilot, app):
        whole = characters(pilot)
        scope = pilot.app.screen.query_one("#scope", Choices)
        await pilot.press("up", "up", "up")
        assert scope.has_focus
        await pilot.press("left")  # a range, of which the first and last exchange can be typed
        assert pilot.app.screen.query_one("#range").display
        await until(pilot, lambda: 0 < characters(pilot) < whole)
        await pilot.press("left")
        assert scope.chosen == {"exchange"} and not pilot.app.screen.query_one("#range").display
        await pilot.press("down", "right", "down", "space", "left", "space")
        await pilot.press("enter")
        await until(pilot, lambda: app.answer)
        assert app.answer[:3] == ("html", Include(thinking=False, prompts=True), "#2")
        assert app.answer.path.name.endswith("aaaaaaaa-0000-2.html")


async def test_a_range_is_typed_and_one_that_is_not_there_is_said(path: Path) -> None:
    async with dialog(path) as (pilot, app):
        await pilot.press("up", "up", "up", "left", "down")
        box = pilot.app.screen.query_one("#range", Input)
        assert box.has_focus and box.value == "#2-3"
        box.value = "#2-9"
        await until(pilot, lambda: "no exchange #9; there are #1 to #3" in note(pilot))
        await pilot.press("enter")
        assert app.answer is None
        box.value = "#1-2"
        await until(pilot, lambda: characters(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: app.answer)
        assert app.answer.place == "#1-2"


async def test_the_mouse_chooses_too_and_everything_fits(path: Path) -> None:
    async with dialog(path) as (pilot, app):
        for line in pilot.app.screen.query(Choices):
            assert max(part.cell_length for part in line.render().split("\n")) <= line.size.width
        await pilot.click("#scope", offset=(11, 0))
        await pilot.click("#parts", offset=(9, 1))
        await pilot.click("#parts", offset=(0, 1))  # beside a choice: nothing
        await pilot.click("#path")
        await pilot.press("enter")
        await until(pilot, lambda: app.answer)
        assert app.answer[:3] == ("markdown", Include(context=False), "#2.2")
        assert app.answer.path.name.endswith("-2.2.md")


async def test_what_was_typed_as_a_name_stays_and_a_name_that_is_taken_is_said(path: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")
    async with dialog(path) as (pilot, app):
        pilot.app.screen.query_one("#path", Input).value = "mine.md"
        await pilot.press("up", "up", "right", "enter")
        assert "mine.md exists already" in note(pilot) and app.answer is None
        await pilot.press("escape")
        assert app.answer is None and not isinstance(app.screen, ExportScreen)


async def test_what_is_too_long_for_a_pull_request_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    long = Machine(tmp_path).session(ONE, ["first", "x" * 70_000])
    async with dialog(long, places={}) as (pilot, _):
        await until(pilot, lambda: "a pull request takes 65,536: only the prompts would fit" in note(pilot))
        assert pilot.app.screen.query_one("#scope", Choices).render().plain.split() == ["scope", "✓session"]


async def test_in_a_low_terminal_the_line_one_is_at_stays_in_sight(path: Path) -> None:
    async with dialog(path, size=(40, 12)) as (pilot, app):
        box = app.screen.query_one("#dialog-scroll")
        for _ in range(5):
            await until(pilot, lambda: box.region.contains_region(app.screen.focused.region))
            await pilot.press("up")

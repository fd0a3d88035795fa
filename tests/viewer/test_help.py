from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import MouseScrollDown

from tests.viewer.shelf import HERE, NOW, HandLibrary, summary
from tests.viewer.transcripts import Written, story
from tests.waiting import until
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.config_keys import TABLES, Config, key_name
from viewer.screens.dialog import Dialog, HelpScreen, KeysTable
from viewer.screens.transcript import TranscriptScreen
from viewer.widgets.chrome import KeyFooter, TitleBar, both_ends, fitting, fitting_facts, footer_items, item_words


def keys_table(screen: HelpScreen) -> KeysTable:
    (body,) = screen.compose_body()
    assert isinstance(body, KeysTable)
    return body


@pytest.mark.parametrize("table", TABLES)
def test_help_says_every_action_and_all_its_keys(table: str) -> None:
    lines = keys_table(HelpScreen(table, TABLES[table])).text(1000).plain.split("\n")
    assert len(lines) == len(TABLES[table])
    for line, key in zip(lines, TABLES[table], strict=True):
        assert line.endswith(key.help)
    assert max(map(len, lines)) < 76


@pytest.mark.parametrize("table", TABLES)
def test_the_readme_says_of_each_key_what_the_help_says(table: str) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    rows = [f"| {' '.join(f'`{key_name(name)}`' for name in key.keys)} | {key.help} |" for key in TABLES[table]]
    assert "\n".join(["| keys | |", "|---|---|", *rows, ""]) in readme


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("width", [10, 40, 60, 78, 200])
def test_a_footer_shows_whole_items_and_always_the_help(table: str, width: int) -> None:
    items = footer_items(TABLES[table])
    kept = fitting(items, width)
    assert [item for item in items if item in kept] == kept
    assert sum(item_words(item).cell_length for item in kept) + 3 * (len(kept) - 1) <= max(width, 0)
    assert "app.help" in {key.call for item in kept for key in item}
    assert width < 200 or kept == items


def test_facts_give_way_to_the_title() -> None:
    from textual.content import Content

    left, right = Content("a title"), Content("facts")
    assert both_ends(left, right, 20).plain == "a title        facts"
    assert both_ends(left, right, 8).plain == "a title"
    assert both_ends(Content("x" * 50), right, 20).cell_length == 20
    assert both_ends(left, right, 0).plain == ""


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (80, "1 unknown record · 1.2M tokens · $4.10   one-liners · exchange 3 of 8 · end"),
        (66, "1 unknown record · 1.2M tokens · $4.10     exchange 3 of 8 · end"),
        (58, "1 unknown record · 1.2M tokens · …  exchange 3 of 8 · end"),
        (44, "1 unknown record · …  exchange 3 of 8 · end"),
        (30, "1 unknown record · …"),
        (20, "1 unknown record · …"),
    ],
)
def test_facts_of_a_status_line_go_whole(width: int, line: str) -> None:
    from textual.content import Content

    left = Content("1 unknown record · 1.2M tokens · $4.10")
    ends = fitting_facts(left, Content("one-liners · exchange 3 of 8 · end"), width)
    said = both_ends(*ends, width).plain
    assert said.split() == line.split() and len(said) <= width


async def test_help_opens_and_closes_and_shows_own_keys() -> None:
    app = TurnlogApp(Config(keymap={"list.follow": "ctrl+o"}))
    app.start_with(BrowserScreen(HandLibrary([summary("a")]), HERE, lambda: NOW))  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        assert "^o follow" in str(app.screen.query_one(KeyFooter).render())
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        assert "^o" in str(app.screen.query_one(KeysTable).render())
        await pilot.press("pagedown", "q")
        assert isinstance(app.screen, BrowserScreen)


async def test_a_click_on_a_key_in_the_footer_does_it() -> None:
    app = TurnlogApp()
    app.start_with(BrowserScreen(HandLibrary([summary("a")]), HERE, lambda: NOW))  # type: ignore[arg-type]
    async with app.run_test(size=(100, 24)) as pilot:
        at = str(app.screen.query_one(KeyFooter).render()).index("keys")
        await pilot.click(KeyFooter, offset=(at + 1, 0))
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)


async def test_the_title_bar_follows_its_facts() -> None:
    app = TurnlogApp()
    app.start_with(BrowserScreen(HandLibrary([summary("a"), summary("b", provider="codex")]), HERE, lambda: NOW))  # type: ignore[arg-type]
    async with app.run_test(size=(100, 24)):
        assert "2 sessions · 2 agents" in str(app.screen.query_one(TitleBar).render())


@pytest.mark.parametrize("keys", [["end"], ["G"], ["pagedown"] * 6, ["j"] * 60, ["down"] * 60])
async def test_every_key_of_the_help_can_be_reached_on_a_small_screen(keys: list[str]) -> None:
    app = TurnlogApp()
    app.start_with(BrowserScreen(HandLibrary([summary("a")]), HERE, lambda: NOW))  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(HelpScreen("transcript", TABLES["transcript"]))
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        body, scroll = app.screen.query_one(KeysTable), app.screen.query_one("#dialog-scroll")
        hint = app.screen.query_one("#dialog-hint").region
        assert body.region.bottom == scroll.region.bottom <= hint.y
        assert scroll.region.y > 0 and hint.bottom <= 24
        await pilot.press("g")
        await pilot.pause()
        assert body.region.y == scroll.region.y


async def test_the_wheel_scrolls_the_help() -> None:
    app = TurnlogApp()
    app.start_with(BrowserScreen(HandLibrary([summary("a")]), HERE, lambda: NOW))  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(HelpScreen("transcript", TABLES["transcript"]))
        await pilot.pause()
        await pilot._post_mouse_events([MouseScrollDown], "#dialog-scroll", offset=(5, 5), button=0)
        await pilot.pause()
        assert app.screen.query_one("#dialog-scroll").scroll_offset.y > 0


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24)])
@pytest.mark.parametrize("key", ["question_mark", "tab", "w", "x", "e"])
async def test_every_dialog_of_a_transcript_shows_its_hint(key: str, size: tuple[int, int]) -> None:
    app = TurnlogApp()
    app.start_with(TranscriptScreen(Written(story(12))))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(key)

        def fits() -> bool:
            screen = app.screen
            hint, box = screen.query_one("#dialog-hint").region, screen.query_one("#dialog").region
            return bool(hint.height and box.contains_region(hint) and screen.region.contains_region(box))

        await until(pilot, lambda: isinstance(app.screen, Dialog))
        await until(pilot, fits)


async def test_a_text_beside_a_key_stays_in_its_column() -> None:
    keys = KeysTable([("a", "one two three four"), ("b", "five")])
    assert keys.text(12).plain.split("\n") == ["a  one two", "   three", "   four", "b  five"]

"""The watch screen: tiles, those that need a person first, drawn a line at a time; nothing moves without a reason."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual.pilot import Pilot

from schemas.costs.responses import Tally
from schemas.running import Wait
from schemas.usage import TokenUsage
from tests.waiting import until
from viewer.screens.app import TurnlogApp
from viewer.screens.outline_pane import Outline
from viewer.screens.transcript import TranscriptScreen
from viewer.screens.watch import WatchScreen
from viewer.watch.state import Ask, Does, State
from viewer.watch.tile import Helper, Shared, Tile
from viewer.watch.tiles import Watch
from viewer.watch.words import mark, state_words
from viewer.widgets.tiles import TileList

NOW = 1_780_000_000.0
HELPER = Helper(
    "h1", "Explore", "find callers", State(Does.WORKS, "Read src/theme.ts", NOW - 12, "its records"),
    TokenUsage(20_000, 2_000), (), Path("/s/helper.jsonl"),
)  # fmt: skip
WAITS = State(Does.WAITS, Wait.QUESTION, NOW - 125, "Claude Code says so", True, (Ask("Which one?", ("red", "blue")),))
PERHAPS = State(Does.WAITS, Wait.PERMISSION, NOW - 40, "an open tool use", False, (Ask("$ terraform apply"),))
WORKS = State(Does.WORKS, "$ npm test", NOW - 41, "a process of it runs")
DONE = State(Does.DONE, "answered", NOW - 240, "its records")


def tile(name: str, state: State, **fields: Any) -> Tile:
    known = Tile(
        Path(f"/s/{name}.jsonl"), "claude", "Claude Code", name, f"title of {name}", f"/home/dev/{name}", "main", state,
        f"first\n\nThe last words of {name}.", TokenUsage(300_000, 12_000), Tally(cost=0.61), 3_000, 122_000, 200_000,
        (), (), NOW,
    )  # fmt: skip
    return replace(known, **fields)


TILES = [
    tile("lamp-shop", WAITS),
    tile("infra", PERHAPS),
    tile("web", WORKS, helpers=(HELPER,), shared=(Shared("src/theme.ts", ("infra",), ("i1",)),)),
    tile("tidewatch", DONE),
]


class Fake:
    """Stands in for a Watch: what `put` puts there comes next."""

    def __init__(self, tiles: list[Tile]) -> None:
        self._tiles, self._more = tiles, asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.note = ""

    def put(self, tiles: list[Tile]) -> None:
        self._tiles = tiles
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._more.set)

    async def changes(self) -> AsyncIterator[list[Tile]]:
        self._loop = asyncio.get_running_loop()
        while True:
            yield self._tiles
            await self._more.wait()
            self._more.clear()


@asynccontextmanager
async def watching(
    tiles: list[Tile], size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Pilot[None], TileList, Fake]]:
    fake, app = Fake(tiles), TurnlogApp()
    screen = WatchScreen(cast("Watch", fake), lambda: NOW)
    rows = screen._list
    app.start_with(screen)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: screen._looked and (rows._rows or not tiles))
        await pilot.pause()
        yield pilot, rows, fake


def lines(rows: TileList) -> list[str]:
    return [rows.render_line(y).text.rstrip() for y in range(rows.size.height)]


async def test_a_tile_says_what_its_session_does_and_by_what_that_is_known() -> None:
    async with watching(TILES, (140, 45)) as (pilot, rows, _):
        text = lines(rows)
        assert text[0].startswith("▌ ! lamp-shop") and "waits for you: a question · 2 m" in text[0]
        assert text[0].endswith("312k · $0.61 · +3k a minute · context 61 %")
        assert text[1].startswith("    asks: Which one? [red] [blue]") and text[1].endswith("(Claude Code says so)")
        assert text[2] == "    last: first" and text[3] == "          The last words of lamp-shop."
        assert "perhaps waits for you: a permission · 40 s" in text[4]
        assert text[4].endswith("312k · $0.61 · +3k a minute")
        assert "may it: $ terraform apply" in text[5] and text[5].endswith("(an open tool use)")
        web = next(y for y, line in enumerate(text) if "$ npm test · 41 s" in line)
        assert text[web].startswith("  * web") and "its records" not in text[web + 1]
        assert "    src/theme.ts: also infra" in text
        assert any(
            line.startswith("    › Explore: find callers  Read src/theme.ts · 12 s") and line.endswith("22k")
            for line in text
        )
        assert any(line.startswith("  - tidewatch") and "done 4 m ago · answered" in line for line in text)
        title = str(pilot.app.screen.query_one("#title").render())
        assert "1 waits for you · 1 perhaps waits for you · 4 running" in title and "1.2M tokens · $2.44" in title


@pytest.mark.parametrize("width", [40, 59, 80])
async def test_how_many_wait_is_said_however_narrow_it_is(width: int) -> None:
    async with watching(TILES, (width, 24)) as (pilot, _, _):
        title = str(pilot.app.screen.query_one("#title").render())
        assert "1 waits" in title and "1 perhaps waits" in title
        assert "4 running" in title or width == 40
        await pilot.resize_terminal(140, 24)
        await until(pilot, lambda: "turnlog watch" in str(pilot.app.screen.query_one("#title").render()))


@pytest.mark.parametrize("width", [24, 40, 80, 100, 140])
async def test_every_line_is_as_wide_as_the_list(width: int) -> None:
    wide = [tile("幅の確認" * 9, replace(WORKS, what="$ " + "漢字" * 90), last="漢" * 300), *TILES]
    async with watching(wide, (width, 30)) as (_, rows, _):
        assert {rows.render_line(y).cell_length for y in range(rows.size.height)} == {rows.size.width}
        if width >= 40:
            assert re.search(r"41 s( |$)", lines(rows)[0])  # however long the command is


async def test_keys_go_from_session_to_session_and_to_those_that_wait() -> None:
    async with watching(TILES) as (pilot, rows, _):
        seen = []
        for key in ["j", "j", "j", "!", "!", "!", "G", "a"]:
            await pilot.press("exclamation_mark" if key == "!" else key)
            seen.append(Path(str(rows.chosen and rows.chosen[1])).stem)
        assert seen == ["infra", "web", "helper", "lamp-shop", "infra", "lamp-shop", "tidewatch", "tidewatch"]


async def test_all_subagents_are_shown_when_they_are_asked_for() -> None:
    helpers = tuple(replace(HELPER, id=f"h{n}", path=Path(f"/s/h{n}.jsonl")) for n in range(7))
    async with watching([tile("web", WORKS, helpers=helpers)]) as (pilot, rows, _):
        assert sum("Explore" in line for line in lines(rows)) == 3
        assert any("… 4 more subagents" in line for line in lines(rows))
        await pilot.press("a")
        assert sum("Explore" in line for line in lines(rows)) == 7 and rows.chosen == (
            Path("/s/web.jsonl"),
            Path("/s/h0.jsonl"),
        )
        await pilot.press("a")
        assert sum("Explore" in line for line in lines(rows)) == 3


async def test_enter_opens_the_transcript_and_follows_it(tmp_path: Path) -> None:
    from tests.viewer.machine import Machine

    path = Machine(tmp_path).session("11111111-1111-4111-8111-111111111111", ["look around", "one"])
    async with watching([tile("web", WORKS, path=path)]) as (pilot, rows, _):
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TranscriptScreen))
        screen = pilot.app.screen
        assert isinstance(screen, TranscriptScreen) and screen._view.following
        await pilot.press("q")
        assert isinstance(pilot.app.screen, WatchScreen) and rows.is_attached
        await pilot.press("o")
        await until(pilot, lambda: pilot.app.screen.query_one(Outline).summary == "1 exchange")


@pytest.mark.parametrize("asked", [False, True])
async def test_a_person_is_notified_when_that_is_asked_for(asked: bool) -> None:
    async with watching([tile("web", WORKS)]) as (pilot, rows, fake):
        written: list[str] = []
        screen = cast("WatchScreen", pilot.app.screen)
        screen._notices._write = written.append
        if asked:
            await pilot.press("m")
        fake.put([tile("web", replace(WAITS, since=NOW + 1))])
        await until(pilot, lambda: "waits for you" in lines(rows)[0] and screen._notices._waiting)
        assert written.count("\a") == asked


async def test_without_sessions_it_says_what_would_stand_there() -> None:
    async with watching([]) as (pilot, rows, fake):
        assert not rows.display
        assert "No session runs" in str(pilot.app.screen.query_one("#empty").render())
        fake.put(TILES)
        await until(pilot, lambda: rows.display and "lamp-shop" in lines(rows)[0])


async def test_only_lines_that_changed_are_drawn_again() -> None:
    async with watching(TILES) as (_, rows, _):
        drawn: list[object] = []
        rows.refresh = lambda *regions, **options: drawn.extend(regions)  # type: ignore[method-assign, assignment]
        rows.tick()
        assert drawn == []
        rows._clock = lambda: NOW + 1
        rows.tick()
        # Those that count seconds; minutes stand for a minute.
        assert [region.y for region in cast("list[Any]", drawn)] == [
            y for y, line in enumerate(lines(rows)) if "41 s" in line or "42 s" in line or "13 s" in line
        ]


@settings(max_examples=10)
@given(st.lists(st.permutations(range(4)), min_size=1, max_size=4), st.integers(0, 4))
def test_the_cursor_stays_on_its_session_and_that_on_its_line(orders: list[list[int]], moves: int) -> None:
    async def run() -> None:
        many = [tile(f"s{n}", WORKS) for n in range(30)]
        async with watching(TILES + many, (80, 20)) as (pilot, rows, _):
            await pilot.press("pagedown", *"j" * moves)
            was, row = rows.chosen, (rows._cursor or 0) - rows._top
            for order in orders:
                rows.show([TILES[n] for n in order] + many)
                assert rows.chosen == was
                assert (rows._cursor or 0) - rows._top == row or rows._top == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    ("state", "sign", "words"),
    [
        (WAITS, "!", "waits for you: a question · 2 m"),
        (PERHAPS, "?", "perhaps waits for you: a permission · 40 s"),
        (State(Does.STOPPED, "ctrl+z", NOW - 5), "!", "stopped by ctrl+z · 5 s"),
        (WORKS, "*", "$ npm test · 41 s"),
        (replace(WORKS, certain=False), "*", "perhaps $ npm test · 41 s"),
        (State(Does.WORKS, "thinking"), "*", "thinking"),
        (DONE, "-", "done 4 m ago · answered"),
        (State(Does.ENDED, "killed", NOW - 7200, certain=False), "-", "perhaps ended 2 h ago · killed"),
    ],
)
def test_states_in_words(state: State, sign: str, words: str) -> None:
    assert (mark(state), state_words(state, NOW)) == (sign, words)
    assert Segment(state_words(state, NOW, 12)).cell_length <= 12 or state.does is Does.WAITS

"""A transcript that opens at a place, comes back to where one was, and says where a subagent's is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from renderers.places import place_of
from schemas.message import Flag, Tool
from schemas.session import Change, Subagent
from tests.support import Hand
from tests.viewer.transcripts import Written, bare, lines, story, transcript
from tests.waiting import until
from viewer.screens.find_bar import FindBar
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import KeyFooter, TitleBar


def cursor_line(view: TranscriptView) -> str:
    return next((line for line in lines(view) if line.startswith("▌")), "")


def notices(pilot: Pilot[None]) -> list[str]:
    return [notice.message for notice in pilot.app._notifications]


class Slow(Written):
    """Of its exchanges so many are read as `readable` says; the first takes longer than the first picture waits for."""

    def __init__(self) -> None:
        super().__init__(Hand(), loaded=False)
        self.readable = 2

    def step(self, seconds: float = 0.004) -> list[Change]:
        if (n := len(self.session.exchanges)) < self.readable:
            self.hand.prompt(f"prompt number {n}")
            self.hand.text(f"answer number {n}")
        time.sleep(0.001 if n else 0.04)
        self.loaded = n == 8
        return []


@pytest.mark.parametrize("level", [None, 0, 1, 3])
@pytest.mark.parametrize(
    ("place", "first", "below"),
    [
        ("#2", "  2  prompt number 1", "answer 1"),
        ("#2.2", "▾ thinking", "thought 1 thought 1"),
        ("#2.4", "▾ $ pytest -q 1", "row 20"),
        ("#3.6", "▾ reminder", "be brief"),
        ("2.3", "● answer 1", "A sentence of an answer."),
    ],
)
async def test_the_place_is_under_the_cursor_and_open(place: str, first: str, below: str, level: int | None) -> None:
    async with transcript(story(), size=(80, 60), place=place, kept={"level": level}) as (pilot, view, _):
        assert first.lstrip() in cursor_line(view)
        assert place_of(view.session, view.cursor.block).lstrip("#") == place.lstrip("#")
        shown = lines(view)
        after = shown.index(cursor_line(view)) + 1
        assert any(below in line for line in shown[after:])
        assert notices(pilot) == []


@pytest.mark.parametrize("follow", [False, True])
async def test_a_place_that_is_not_there_is_said(follow: bool) -> None:
    async with transcript(story(), follow=follow, place="#4.1") as (pilot, view, _):
        assert notices(pilot) == ["There is no #4.1 in this session; its last exchange is #3."]
        assert "prompt number 0" in cursor_line(view)


async def test_what_is_needed_is_read_first() -> None:
    slow = Slow()
    screen = TranscriptScreen(slow, place="#4.2")
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        view = screen.query_one(TranscriptView)
        await until(pilot, lambda: "reading on to #4.2 …" in str(screen.query_one("#status", TitleBar).right))
        slow.readable = 5
        await until(pilot, lambda: "answer number 3" in cursor_line(view))
        assert not slow.loaded
        slow.readable = 9
        await until(pilot, lambda: slow.loaded and not screen._place.wanted)
        assert "answer number 3" in cursor_line(view)
        assert str(screen.query_one("#status", TitleBar).right).startswith("#4.2 · exchange 4 of 9")


async def test_who_moved_meanwhile_stays() -> None:
    slow = Slow()
    screen = TranscriptScreen(slow, place="#9")
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        view = screen.query_one(TranscriptView)
        await until(pilot, lambda: view.layout_of.count == 4)
        await pilot.press("]")
        slow.readable = 9
        await until(pilot, lambda: slow.loaded and not screen._place.wanted)
        assert "prompt number 1" in cursor_line(view)


@pytest.mark.parametrize("keys", [["G"], ["G", "k"]])
async def test_the_end_is_gone_on_to_while_the_rest_is_read_until_one_moves(keys: list[str]) -> None:
    slow = Slow()
    slow.readable = 6
    async with bare(screen := TranscriptScreen(slow)).run_test(size=(80, 12)) as pilot:
        view = screen.query_one(TranscriptView)
        await until(pilot, lambda: view.layout_of.count == 12)
        await pilot.press(*keys)
        for slow.readable in (7, 9):
            await until(pilot, lambda: view.layout_of.count == slow.readable * 2)
        assert (view.cursor.block == 17, view.at_end) == (keys == ["G"],) * 2


async def test_words_are_looked_for_from_the_place_on() -> None:
    async with transcript(story(), place="#2.3", words="SENTENCE") as (pilot, view, _):
        await until(pilot, lambda: "of 36" in count(pilot))
        assert view.cursor.block == 8 and pilot.app.screen.query_one(FindBar).hits.hit == (8, 2, 0)
        assert count(pilot).startswith("13 of 36")
        assert pilot.app.focused is view
        await pilot.press("n")
        assert pilot.app.screen.query_one(FindBar).hits.hit == (8, 2, 1)
        await pilot.press("N", "N")
        assert view.cursor.block == 2


async def test_a_place_without_the_words_is_not_left_for_them() -> None:
    async with transcript(story(), place="#2.4", words="sentence") as (pilot, view, _):
        await until(pilot, lambda: count(pilot).startswith("36   n next"))
        assert "$ pytest -q 1" in cursor_line(view)
        await pilot.press("n")
        assert view.cursor.block == 14


def count(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one(FindBar).query_one("#find-count", Static).visual)


async def test_the_address_is_copied() -> None:
    async with transcript(story(), place="#2.3") as (pilot, _, _):
        await pilot.press("number_sign")
        await pilot.press("[", "number_sign")
        assert pilot.app.copied == ["5e55-made-by-hand#2.3", "5e55-made-by-hand#2"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "keys",
    ["", "z", "zz]", "]jjjjj<", "t]jjjj", "o ", "]]jj<jjj<", "G", "zzzj<", "]jjj<jjjj[<]"],
)
async def test_one_comes_back_to_where_one_was(keys: str) -> None:
    kept: dict[str, Any] = {}
    async with transcript(story(5), kept=kept) as (pilot, view, _):
        await pilot.press(*("enter" if key == "<" else "space" if key == " " else key for key in keys))
        before, cursor = lines(view), view.cursor
    assert bool(kept.keys() - {"seen"}) is bool(keys)
    async with transcript(story(5), kept=kept) as (pilot, view, _):
        assert (lines(view), view.cursor) == (before, cursor)
    async with transcript(story(5), follow=True, kept=kept) as (_, view, _):
        assert view.at_end


@pytest.mark.parametrize(
    "kept",
    [
        {"level": 9, "thinking": "yes", "blocks": [], "exchanges": {"1": 1, "x": None}, "message": "m", "line": {}},
        {"level": -1, "blocks": {"12": 99}, "message": 5, "row": "top"},
        {"level": True, "message": -1, "line": 1 << 70},
    ],
)
async def test_what_was_kept_may_be_anything(kept: dict[str, Any]) -> None:
    async with transcript(story(), kept=kept) as (_, view, _):
        assert "prompt number 0" in cursor_line(view) and view.folds.level == 2


def with_subagent() -> Hand:
    hand, inner = story(1), Hand(session_id="inner")
    inner.prompt("look around")
    inner.session.title = None
    inner.session.lineage.parent = hand.session.id
    call = hand.tool(Tool("Agent", "task", "a", {"prompt": "look around"}), flags=Flag.SUBAGENT)
    hand.session.subagents.append(Subagent("a1", "Explore", "callers", session=inner.session, tool_use=call))
    return hand


@pytest.mark.parametrize("follow", [False, True])
async def test_a_subagent_follows_where_its_session_does_and_says_whose_it_is(follow: bool) -> None:
    async with transcript(with_subagent(), follow=follow) as (pilot, _, _):
        await pilot.press("G") if not follow else None
        screen = pilot.app.screen
        assert isinstance(screen, TranscriptScreen)
        screen._view.following = follow
        await pilot.press("a")
        await until(pilot, lambda: pilot.app.screen is not screen)
        title = pilot.app.screen.query_one("#title", TitleBar)
        assert str(title.left) == "Fix the flaky test › Explore: look around"
        assert pilot.app.screen.query_one(TranscriptView).following is follow
        await pilot.press("q")
        assert pilot.app.screen is screen


async def test_a_subagent_opened_by_itself_names_its_session() -> None:
    inner = with_subagent().session.subagents[0].session
    assert inner is not None
    hand = Hand()
    hand.session = inner
    async with transcript(hand) as (pilot, _, _):
        assert str(pilot.app.screen.query_one("#title", TitleBar).left) == "subagent of 5e55-mad › look around"


@pytest.mark.parametrize("width", [60, 80, 140])
async def test_the_key_of_a_subagent_stands_in_the_footer_where_it_opens_one(width: int) -> None:
    async with transcript(with_subagent(), size=(width, 24)) as (pilot, view, _):
        footer = pilot.app.screen.query_one(KeyFooter)
        await pilot.press("g")
        assert "subagent" not in str(footer.render())
        await pilot.press("G")
        assert view.cursor.block == 6
        assert "a subagent" in str(footer.render()) and "keys" in str(footer.render())
        assert footer.render().cell_length <= width - 2


async def test_a_program_that_is_killed_has_kept_where_one_was_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.screens.transcript._REST", 0.01)
    kept: dict[str, Any] = {}
    async with transcript(story(5), kept=kept) as (pilot, view, _):
        await pilot.press("]", "]", "4")
        await until(pilot, lambda: (kept.get("message"), kept.get("level")) == ((view.here or (0,))[0], 3))

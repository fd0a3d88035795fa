"""The outline: beside the text where there is room, else a dialog; the same rows in both."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.events import Resize
from textual.pilot import Pilot
from textual.widgets import Input

from renderers.facts import local_time
from renderers.terminal.rows import width_of
from schemas.diffs import FileDiff, Hunk
from schemas.message import NO_FLAGS, Flag, Tool, ToolStatus
from schemas.session import Session
from tests.support import Hand
from tests.viewer.test_transcript_place import with_subagent
from tests.viewer.transcripts import lines, story, transcript
from tests.waiting import until
from viewer.edits.counts import EditCounts, Lines
from viewer.screens.config_keys import TABLES
from viewer.screens.outline_pane import Outline, OutlineScreen
from viewer.screens.state import State
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import KeyFooter, TitleBar, acting, footer_items, item_words

WIDE = (140, 30)


async def beside(pilot: Pilot[None]) -> Outline:
    """The outline beside the text, once it is there."""
    await until(pilot, lambda: len(pilot.app.screen.query(Outline)) == 1)
    return pilot.app.screen.query_one(Outline)


def rows(outline: Outline) -> list[str]:
    return [outline.render_line(y).text.rstrip() for y in range(outline.size.height)]


def edited(hand: Hand, added: int, removed: int, status: ToolStatus = ToolStatus.OK, flags: Flag = NO_FLAGS) -> int:
    diff = FileDiff("a.py", "update", [Hunk(["+new"] * added + ["-old"] * removed, 1, 1)])
    return hand.tool(Tool("Edit", "write", "", {"file_path": "a.py"}, diffs=[diff], status=status), flags=flags)


async def test_after_a_click_it_goes_along_again() -> None:
    async with transcript(story(4), size=WIDE) as (pilot, _, _):
        outline = await beside(pilot)
        await pilot.click(Outline, offset=(5, 2))
        await until(pilot, lambda: outline.current == outline.here == 1)
        await pilot.press("]")
        await until(pilot, lambda: outline.current == outline.here == 2)


@pytest.mark.parametrize("width", [139, 140])
async def test_it_stands_beside_the_text_from_140_columns_on(width: int) -> None:
    async with transcript(story(), size=(width, 30)) as (pilot, view, _):
        before = view.size.width
        await pilot.pause(0.3)
        assert view.size.width == before == (width - 40 if width == 140 else width)
        await pilot.press("tab")
        await pilot.pause()
        assert isinstance(pilot.app.screen, OutlineScreen) == (width == 139)
        assert isinstance(pilot.app.focused, Input)
        await pilot.press("tab")
        await pilot.pause()
        assert pilot.app.focused is view


async def test_both_say_number_prompt_time_failures_edits_and_cost() -> None:
    hand = Hand()
    hand.text("before")
    hand.prompt("first")
    edited(hand, 4, 1)
    hand.prompt("a dead end", flags=Flag.REWOUND)
    hand.session.exchanges[2].rewound = True
    hand.prompt("another try")
    hand.session.exchanges[3].errors = 2
    when = [local_time(exchange.started or 0) for exchange in hand.session.exchanges]
    for size, lines_each in ((WIDE, 2), ((100, 30), 1)):
        async with transcript(hand, size=size) as (pilot, _, _):
            await pilot.press("tab")
            outline = await beside(pilot)
            outline._cost = lambda n: f"$0.0{n}"
            await until(pilot, lambda outline=outline: "+4 -1" in "".join(rows(outline)))
            said = [
                " ".join("".join(rows(outline)[n : n + lines_each]).replace("▌", " ").split())
                for n in range(0, 4 * lines_each, lines_each)
            ]
            assert said == [
                f"before the first prompt {when[0]} $0.00",
                f"1 first {when[1]} 5 s +4 -1 $0.01",
                f"rewound a dead end {when[2]} $0.02",
                f"2 another try {when[3]} ✗2 $0.03",
            ]


async def test_it_shows_where_one_is() -> None:
    async with transcript(story(12), size=WIDE) as (pilot, view, _):
        outline = await beside(pilot)
        seen = set()
        while not view.at_end:
            here = view.session.messages.exchange[view.cursor.block]
            assert outline.here == outline.current == here
            assert any(line.startswith("▌") and f"prompt number {here}" in line for line in rows(outline))
            seen.add(here)
            view.scroll_rows(5)
            await pilot.pause()
        assert seen == set(range(max(seen) + 1)) and len(seen) > 8


async def test_typing_narrows_and_enter_goes_there() -> None:
    async with transcript(story(30), size=WIDE) as (pilot, view, _):
        outline = await beside(pilot)
        folds = view.folds.level
        await pilot.press("tab", *"Number 2", "down", "down")
        assert outline.summary == "12 of 30"  # 2, 12, 20 to 29
        assert view.cursor.block == 0
        await pilot.press("enter")
        await pilot.pause()
        assert "prompt number 20" in lines(view)[0]
        assert pilot.app.focused is view and view.folds.level == folds
        await until(pilot, lambda: outline.summary == "30 exchanges")  # and it shows where one is
        assert any(line.startswith("▌") and "prompt number 20" in line for line in rows(outline))
        assert pilot.app.screen.query_one("OutlinePane > TitleBar", TitleBar).display
        await pilot.press("tab", *"Number 2", "escape")
        assert outline.summary == "30 exchanges"
        await pilot.press("escape")
        assert pilot.app.focused is view


async def test_a_click_goes_there() -> None:
    async with transcript(story(30), size=WIDE) as (pilot, view, _):
        outline = await beside(pilot)
        await pilot.click(outline, offset=(12, 9))
        await pilot.pause()
        assert "prompt number 4" in lines(view)[0]
        assert outline.here == 4 and pilot.app.focused is view


async def test_it_can_be_closed_and_stays_so() -> None:
    state = State()
    for shown in (True, False):
        async with transcript(story(), size=WIDE, state=state) as (pilot, view, _):
            assert (view.size.width == 100) is shown
            await pilot.press("O")
            await pilot.pause()
            assert (view.size.width == 100) is not shown
    assert state.transcript == {"outline": True}
    async with transcript(with_subagent(), size=WIDE, state=state) as (pilot, view, _):
        await pilot.press("G", "a")
        await until(pilot, lambda: pilot.app.screen.query_one(TranscriptView) is not view)
        assert pilot.app.screen.query_one(TranscriptView).size.width == WIDE[0]
        await pilot.press("O", "O")
    assert state.transcript == {"outline": True}


async def test_it_grows_with_its_session_and_comes_with_the_room() -> None:
    hand = story(2)
    async with transcript(hand, size=(100, 30), follow=True) as (pilot, _, written):
        await pilot.resize_terminal(*WIDE)
        outline = await beside(pilot)
        await until(pilot, lambda: outline.is_attached and "+1 -1" in rows(outline)[3])
        written.write(lambda hand: edited(hand, 5, 0))
        await until(pilot, lambda: "+6 -1" in rows(outline)[3])
        written.write(lambda hand: hand.prompt("one more"))
        await until(pilot, lambda: outline.current == outline.here == 2)
        assert outline.summary == "3 exchanges"


async def test_it_has_its_size_though_no_resize_comes() -> None:
    """Textual's issue 5024: what is mounted while a screen scrolls gets none."""
    post = Outline.post_message
    lost = lambda self, message: isinstance(message, Resize) or post(self, message)  # noqa: E731
    with patch.object(Outline, "post_message", lost):
        async with transcript(story(2), size=WIDE) as (pilot, _, _):
            outline = await beside(pilot)
            await until(pilot, lambda: "prompt number 1" in rows(outline)[2])
            assert outline.virtual_size.height == 4


async def test_only_what_is_in_sight_costs_anything() -> None:
    hand = Hand()
    for n in range(5000):
        hand.prompt(f"prompt {n}")
        edited(hand, 1, 0)
    read: list[int] = []

    def counted(outline: Outline) -> bool:
        return sum("+1 -0" in line for line in rows(outline)) >= outline.size.height // 2

    message = Session.message
    async with transcript(hand, size=WIDE) as (pilot, _, _):
        outline = await beside(pilot)
        await until(pilot, lambda: outline.is_attached and counted(outline))

        def noted(session: Session, index: int) -> Any:
            read.append(index)
            return message(session, index)

        with patch.object(Session, "message", noted), patch.object(outline, "_figures", wraps=outline._figures) as made:
            await pilot.press("tab", "end")
            await until(pilot, lambda: counted(outline))
        assert made.call_count < 20 * outline.size.height
        assert len(read) < 500  # of 10,000; the text is drawn, too, once or twice


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6), st.integers(24, 130), st.integers(0, 10**7))
def test_every_line_is_as_wide_as_the_outline(prompts: list[str], width: int, lines: int) -> None:
    hand = Hand()
    for prompt in prompts:
        hand.prompt(prompt)
        hand.session.exchanges[-1].errors = lines
    counts = EditCounts(hand.session)
    outline = Outline(hand.session, 0, counts, lambda n: "$12,345.00+", lambda exchange: None)
    outline._styles = defaultdict(Style)
    for counted in (None, Lines(lines, lines)):
        with patch.object(counts, "of", return_value=counted):
            for n in range(len(prompts)):
                figures = outline._figures(n, width - 8)
                assert sum(width_of(segment.text) for segment in figures) <= width - 8
                prompt = outline._prompt(n, width - 8, strong=False)
                assert sum(width_of(segment.text) for segment in prompt) <= width - 2


_STATUS = st.sampled_from([ToolStatus.OK, ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.BACKGROUND])
_STEP = st.one_of(
    st.just("prompt"), st.just("ask"), st.tuples(st.integers(0, 3), st.integers(0, 3), _STATUS), st.integers(0, 20)
)


@given(st.lists(_STEP, max_size=25))
def test_counts_are_those_of_the_session_as_it_is(steps: list[Any]) -> None:
    """However it grew and was asked meanwhile: `int` steps give up in the midst of counting."""
    hand = Hand()
    hand.prompt("first")
    counts = EditCounts(hand.session)
    expected = {0: [0, 0]}
    for step in steps:
        last = len(hand.session.exchanges) - 1
        if step == "prompt":
            counts.changed([hand.prompt("next")])
            expected[last + 1] = [0, 0]
        elif isinstance(step, tuple):
            added, removed, status = step
            counts.changed([edited(hand, added, removed, status)])
            if status in (ToolStatus.OK, ToolStatus.BACKGROUND):
                expected[last][0] += added
                expected[last][1] += removed
        elif step == "ask":
            [counts.of(n) for n in expected]
        else:
            counts.of(last)
            for _ in zip(range(step), counts.run(), strict=False):
                counts.changed([edited(hand, 0, 0)])
    [counts.of(n) for n in expected]
    for _ in counts.run():
        pass
    assert {n: counts.of(n) for n in expected} == {n: Lines(*pair) for n, pair in expected.items()}


async def test_the_footer_shows_the_keys_of_what_has_them() -> None:
    async with transcript(story(12), size=WIDE) as (pilot, _, _):
        footer = pilot.app.screen.query_one(KeyFooter)
        for key, table in (("tab", "outline"), ("tab", "transcript"), ("slash", "words"), ("escape", "transcript")):
            await pilot.press(key)
            await until(pilot, lambda table=table: acting(pilot.app.screen)[1] == table)  # type: ignore[misc]
            assert str(footer.render()).startswith(item_words(footer_items(TABLES[table])[0]).plain)
        await pilot.press("tab")
        await until(pilot, lambda: acting(pilot.app.screen)[1] == "outline")
        await pilot.click(KeyFooter, offset=(str(footer.render()).index("text") + 1, 0))
        await until(pilot, lambda: acting(pilot.app.screen)[1] == "transcript")

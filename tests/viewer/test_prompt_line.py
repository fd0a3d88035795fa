"""The prompt stays in sight while its exchange is read."""

from __future__ import annotations

import pytest

from schemas.message import Flag
from tests.support import Hand
from tests.viewer.transcripts import lines, story, transcript
from tests.waiting import until
from viewer.transcript.status import PromptLine
from viewer.transcript.view import TranscriptView


def shown(view: TranscriptView) -> str:
    return str(view.screen.query_one(PromptLine).left).strip()


@pytest.mark.parametrize(("level", "size"), [*zip("1234", [(80, 24), (40, 18), (80, 24), (150, 30)], strict=True)])
async def test_it_names_the_exchange_on_top_unless_its_own_line_can_be_seen(level: str, size: tuple[int, int]) -> None:
    async with transcript(story(3), size=size) as (pilot, view, _):
        await pilot.press(level, "g")
        region, seen = view.region, set()
        while True:
            on_top = view.session.messages.exchange[view.top.block]
            hidden = not any(f"prompt number {on_top}" in line for line in lines(view))
            await pilot.pause()
            assert shown(view) == (f"↑ {on_top + 1}  prompt number {on_top}" if hidden else "")
            assert view.region == region
            seen.add(hidden)
            if view.at_end:
                break
            view.scroll_rows(1)
        assert seen == ({False} if level == "1" else {False, True})


async def test_a_click_and_the_key_of_the_exchange_before_go_to_the_prompt() -> None:
    async with transcript(story(3)) as (pilot, view, _):
        for go in (lambda: pilot.click(PromptLine), lambda: pilot.press("[")):
            view.go_to(8)
            await pilot.pause()
            assert shown(view) == "↑ 2  prompt number 1"
            await go()
            assert "prompt number 1" in lines(view)[0]
            assert view.cursor.block == 6
            await pilot.pause()
            assert shown(view) == ""


async def test_it_is_there_while_one_follows_and_searches() -> None:
    async with transcript(story(2), follow=True) as (pilot, view, written):
        assert shown(view) == "↑ 1  prompt number 0"
        for _ in range(40):
            written.write(lambda hand: hand.text("one answer more"))
        await until(pilot, lambda: shown(view) == "↑ 2  prompt number 1")
        assert view.at_end
        await pilot.press("/", *"row 39", "enter")
        await until(pilot, lambda: shown(view) == "↑ 1  prompt number 0")


async def test_what_stands_before_the_first_prompt_has_none_and_what_was_rewound_says_so() -> None:
    hand = Hand()
    hand.text("before\n\n" * 40)
    hand.prompt("first try", flags=Flag.REWOUND)
    hand.text("a dead end\n\n" * 40, flags=Flag.REWOUND)
    hand.session.exchanges[1].rewound = True
    async with transcript(hand) as (pilot, view, _):
        await pilot.press("space")
        assert shown(view) == ""
        view.open_at(2)
        view.scroll_rows(20)
        await pilot.pause()
        assert shown(view) == "↑ rewound  first try"


async def test_a_low_terminal_gives_no_line_away() -> None:
    async with transcript(story(2), size=(80, 12)) as (_, view, _):
        assert not view.screen.query_one(PromptLine).display
        assert view.height_of_page == 9

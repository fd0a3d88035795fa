"""Jumps in a transcript: to the next of a sort, to marks, back and forward; and what was seen in the last run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from renderers.places import place_of
from renderers.terminal.folds import Fold
from schemas.message import USER_KINDS, Flag, Kind, Tool, ToolStatus
from schemas.session import Session
from tests.support import Hand
from tests.viewer.transcripts import lines, story, transcript
from tests.waiting import until
from viewer.screens.place import Unread
from viewer.transcript.jumps import _FITS
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar


def notices(pilot: Pilot[None]) -> list[str]:
    return [notice.message for notice in pilot.app._notifications]


def place(view: TranscriptView) -> str:
    return place_of(view.session, view.cursor.block)


def mixed(seed: int, *, rewound: bool) -> Hand:
    """A session of random messages, some of them taken back."""
    hand, choose = Hand(), random.Random(seed)
    hand.prompt("begin")
    for n in range(70):
        flags = choose.choice([Flag(0), Flag(0), Flag.REWOUND if rewound else Flag(0)])
        match choose.randrange(6):
            case 0:
                hand.prompt(f"prompt {n}", flags=flags)
                hand.session.exchanges[-1].rewound = bool(flags)
            case 1:
                hand.text(f"answer {n}\n\nof two paragraphs", flags=flags)
            case 2:
                edit = Tool("Edit", "write", f"e{n}", {"file_path": "a.py", "old_string": "a", "new_string": "b"})
                hand.tool(edit, flags=flags)
            case 3:
                failed = Tool("Bash", "shell", f"b{n}", {"command": "false"}, status=ToolStatus.ERROR)
                hand.tool(failed, flags=flags | Flag.ERROR)
            case 4:
                hand.note(choose.choice([Kind.ERROR, Kind.STEER, Kind.NOTE]), "", f"note {n}", flags=flags)
            case _:
                hand.thinking(f"thought {n}", flags=flags)
    return hand


def failed(session: Session, i: int) -> bool:
    return bool(session.messages.flags[i] & (Flag.ERROR | Flag.INTERRUPTED)) or session.messages.kind[i] == Kind.ERROR


@pytest.mark.parametrize(
    ("back", "forth", "fits"),
    [
        ("P", "p", lambda session, i: session.messages.kind[i] in USER_KINDS),
        ("(", ")", lambda session, i: session.messages.kind[i] == Kind.TEXT),
        ("K", "J", lambda session, i: True),
        ("<", ">", lambda session, i: (tool := session.message(i).tool) is not None and tool.type == "write"),
        (",", ".", failed),
    ],
)
@pytest.mark.parametrize("level", "13")
async def test_jumps_go_to_all_of_a_sort_and_to_nothing_else(
    back: str, forth: str, fits: Callable[[Session, int], bool], level: str
) -> None:
    async with transcript(mixed(int(level), rewound=level == "3")) as (pilot, view, _):
        await pilot.press(level)
        session = view.session
        shown = [i for i in range(len(session.messages)) if view.folds.fold(i) is not Fold.HIDDEN]
        wanted = [
            i
            for i in range(1, len(session.messages))
            if fits(session, i) and (i in shown if back == "K" or session.messages.flags[i] & Flag.REWOUND else True)
        ]
        assert len(wanted) > 3
        gone = []
        for _ in range(len(wanted)):
            await pilot.press(forth)
            gone.append(view.cursor.block)
            assert view.folds.fold(view.cursor.block) is not Fold.HIDDEN
            assert any(line.startswith("▌") for line in lines(view))
        assert gone == wanted
        assert not notices(pilot)
        await pilot.press(forth)
        assert view.cursor.block == wanted[-1] and notices(pilot)[-1].endswith("below.")
        for index in reversed(wanted[:-1]):
            await pilot.press(back)
            assert view.cursor.block == index


async def test_a_jump_back_goes_to_the_beginning_of_what_one_is_in_first() -> None:
    async with transcript(story(), place="#2.4") as (pilot, view, _):
        await pilot.press("j", "j", "K")
        assert (place(view), view.cursor.line) == ("#2.4", 0)
        await pilot.press("K")
        assert place(view) == "#2.3"


async def test_what_is_on_the_screen_does_not_move_for_a_jump() -> None:
    async with transcript(story(1), size=(80, 40)) as (pilot, view, _):
        top = view.top
        await pilot.press(".", "K", "J", "<", ">")
        assert view.top == top and place(view) == "#1.5"


async def test_back_and_forward_go_through_jumps_as_in_a_browser() -> None:
    async with transcript(story(5)) as (pilot, view, _):
        await pilot.press(".", "j", "G", "k", "k", "[", "]", "]", "g")
        places = []
        for _ in range(4):
            await pilot.press("H")
            places.append(place(view))
        assert places == ["#5.6", "#5.4", "#1.5", "#1"], "from the start, where [ and ] led, G and . began"
        await pilot.press("H")
        assert notices(pilot) == ["There is no jump to go back from."]
        await pilot.press(*"LLL", "alt+right")
        assert place(view) == "#1"
        await pilot.press("L")
        assert notices(pilot)[-1] == "There is no jump to go forward to."
        await pilot.press("ctrl+o", "P", "L")
        assert notices(pilot)[-1] == "There is no jump to go forward to.", "a jump from there is another way"


async def test_several_of_a_kind_in_a_row_are_one_jump() -> None:
    async with transcript(story(5)) as (pilot, view, _):
        await pilot.press(*"jj....")
        assert place(view) == "#4.4"
        await pilot.press("H")
        assert (place(view), view.cursor.line) == ("#1.2", 0)
        await pilot.press("/", *"pytest", "enter")
        await until(pilot, lambda: place(view) == "#1.4")
        await pilot.press(*"nn")
        assert place(view) == "#3.4"
        await pilot.press("H")
        assert place(view) == "#1.4"
        await pilot.press("H")
        assert place(view) == "#1.2"


async def test_marks_are_set_by_a_letter_gone_to_and_kept() -> None:
    kept: dict[str, Any] = {}
    async with transcript(story(5), kept=kept) as (pilot, view, _):
        status = pilot.app.screen.query_one("#status", TitleBar)
        await pilot.press("]", "m")
        await pilot.pause()
        assert status.right.plain.startswith("mark … · ")
        await pilot.press("q")
        await pilot.pause()
        assert [line[:10] for line in lines(view) if line[0:1] == "q"] == ["q ▾ 2  pro"]
        await pilot.press("]", ".", "m", "2", "g", "apostrophe")
        await pilot.pause()
        assert status.right.plain.startswith("to mark …: 2 q · ")
        await pilot.press("q")
        await pilot.pause()
        assert place(view) == "#2" and not status.right.plain.startswith("to mark")
        await pilot.press("apostrophe", "apostrophe")
        await pilot.pause()
        assert place(view) == "#1"
        await pilot.press("apostrophe", "z", "m", "escape", "apostrophe", "enter")
        assert notices(pilot) == ["There is no mark z."]
        assert place(view) == "#1" and view.folds.level == 2 and not view.folds.exchanges
    assert sorted(kept["marks"]) == ["2", "q"]
    async with transcript(story(3), kept=kept) as (pilot, view, _):
        await pilot.press("1", "apostrophe", "2")
        await pilot.pause()
        assert place(view) == "#3.4" and view.folds.fold(view.cursor.block) is Fold.LINE


async def test_a_mark_on_the_blank_row_above_a_block_is_the_blocks() -> None:
    async with transcript(story(5)) as (pilot, view, _):
        await pilot.press("j", "m", "a", "1", "G", "apostrophe", "a")
        await pilot.pause()
        assert place(view) == "#1.2"
        assert [line[:5] for line in lines(view) if line.startswith("a")] == ["a   ▸"]


async def test_keys_that_come_at_once_name_a_mark() -> None:
    async with transcript(story(5)) as (pilot, view, _):
        for key in ("right_square_bracket", "m", "g", "G", "apostrophe", "g"):
            pilot.app.simulate_key(key)
        await pilot.pause()
        assert place(view) == "#2"


async def test_a_letter_is_no_mark_where_it_is_typed() -> None:
    async with transcript(story(2)) as (pilot, _, _):
        await pilot.press("m", "slash", *"aa", "enter", "apostrophe", "a")
        assert notices(pilot) == ["There is no mark a."]


@pytest.mark.parametrize(
    "marks",
    [[], {"a": 3, "b": [1], "c": ["x", 2], "dd": [1, 2], "": [1, 2], "é": [1, 2], "e": [-1, -5], "f": [1 << 80, 0]}],
)
async def test_kept_marks_may_be_anything(marks: Any) -> None:
    async with transcript(story(2), kept={"marks": marks}) as (pilot, view, _):
        await pilot.press("apostrophe", "e", "apostrophe", "f", "apostrophe", "a")
        assert notices(pilot) == [f"There is no mark {letter}." for letter in "efa"]
        assert place(view) == "#1"


# -- what has been seen ------------------------------------------------------------------------------------------------


def rule(view: TranscriptView) -> str:
    """What stands on the screen below the line "new since"; empty where there is no such line."""
    shown = lines(view)
    return next((shown[i + 1] for i, line in enumerate(shown) if "new since" in line), "")


async def test_what_came_since_the_last_run_is_below_a_line() -> None:
    kept: dict[str, Any] = {}
    async with transcript(story(2), kept=kept) as (pilot, view, _):
        await pilot.press("G")
    assert kept["seen"]["count"] == 12
    async with transcript(story(2), kept=kept, size=(80, 60)) as (pilot, view, _):
        assert view.unread is None and not rule(view)
    async with transcript(story(3), kept=kept, size=(80, 60)) as (pilot, view, _):
        assert "prompt number 2" in rule(view)
        assert view.unread == 12
        await pilot.press("g", "U")
        assert view.cursor.block == 12
    assert kept["seen"]["count"] == 18, "the end was on the screen"


async def test_what_was_not_gone_to_stays_new() -> None:
    kept: dict[str, Any] = {}
    async with transcript(story(2), kept=kept):
        pass
    seen = dict(kept["seen"])
    async with transcript(story(40), kept=kept) as (pilot, view, written):
        await pilot.press("j")
        written.write(lambda hand: hand.prompt("one more"))
        await pilot.pause(0.3)
        assert view.unread == 12, "and not the one that came just now"
    assert kept["seen"] == seen
    async with transcript(story(41), kept=kept) as (pilot, view, _):
        assert view.unread == 12
        await pilot.press("G")
    assert kept["seen"]["count"] == 41 * 6


async def test_where_the_last_message_is_gone_what_is_later_is_new() -> None:
    kept: dict[str, Any] = {
        "seen": {"key": 1, "time": story(1).session.messages.when(5), "count": 6, "at": time.time()}
    }
    async with transcript(story(2), kept=kept) as (_, view, _):
        assert view.unread == 6


@pytest.mark.parametrize(
    "seen", [3, {"key": "x"}, {"key": 1 << 90, "time": "t", "at": "soon"}, {"at": 1e17, "time": -1e17, "key": -4}]
)
async def test_what_was_seen_may_be_anything(seen: Any) -> None:
    async with transcript(story(2), kept={"seen": seen}) as (pilot, view, _):
        await pilot.press("U", "j")
        assert lines(view)


def test_a_session_without_messages_has_nothing_seen() -> None:
    assert Unread(TranscriptView(Hand().session), None).kept() == {}


async def test_keys_act_while_a_far_edit_is_looked_for_and_end_that(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def slow(session: Session, index: int) -> bool:
        looked.append(index)
        time.sleep(0.005)
        return False

    monkeypatch.setitem(_FITS, "edit", slow)
    hand = Hand()
    hand.prompt("begin")
    for n in range(2000):
        hand.text(f"answer {n}")
    async with transcript(hand) as (pilot, view, _):
        await pilot.press(">", "j")
        await until(pilot, lambda: view.cursor.block == 1)
        assert 0 < len(looked) < 2000
        count = len(looked)
        await pilot.pause(0.05)
        assert len(looked) == count and not notices(pilot)

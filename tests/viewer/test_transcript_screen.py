"""The transcript as a person uses it: keys, mouse, folds, search, following."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from textual.events import Key
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from renderers.facts import exchange_numbers
from renderers.terminal.folds import Fold
from schemas.message import Flag, Kind, Tool
from schemas.session import Subagent
from tests.support import Hand
from tests.viewer.transcripts import lines, story, transcript
from tests.waiting import until
from viewer.screens.find_bar import FindBar
from viewer.screens.outline_pane import Outline
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.layout import Position
from viewer.transcript.select import row_number
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar


def cursor_row(view: TranscriptView) -> int:
    return next(y for y, line in enumerate(lines(view)) if line.startswith("▌"))


async def test_the_first_picture_tells_the_story() -> None:
    async with transcript(story()) as (_, view, _):
        shown = lines(view)
        assert "1  prompt number 0" in shown[0]
        assert shown[0].rstrip().endswith("200") or "100" in shown[0]  # the exchange's tokens
        assert any("▸ thinking · thought 0 thought 0 thought 0" in line for line in shown)
        assert any("● answer 0 says why." in line for line in shown)
        assert any("$ pytest -q 0" in line and "✗ exit 1 · 41 s · 40 lines" in line for line in shown)
        assert any("Edit a.py" in line and "+1 -1" in line for line in shown)


async def test_every_row_is_as_wide_as_the_view() -> None:
    """Else the scroll bar's column would not be straight."""
    hand = Hand()
    hand.prompt("幅の確認 👩‍👩‍👧‍👦 é x⃝ ﷽ zero\u200bwidth")
    hand.text("| 名 | value |\n|:--|--:|\n| 表 | 1 |\n| ✅ ok | 22 |\n\n" + "漢字" * 60 + "\n\n`" + "x" * 300 + "`")
    hand.tool(Tool("Bash", "shell", "t", {"command": "cat 漢"}, text="\ta\t漢字\tb\n" + "漢" * 200))
    for width in (40, 80, 200):
        async with transcript(hand, size=(width, 24)) as (pilot, view, _):
            for _ in range(6):
                for y in range(view.height_of_page):
                    strip = view.render_line(y)
                    assert strip.cell_length == view.size.width
                    assert sum(segment.cell_length for segment in strip) == strip.cell_length
                await pilot.press("space")
            await pilot.press("z")


@pytest.mark.parametrize("keys", ["zZ", "Zz", "1423", "t", "o", ["enter"]])
async def test_the_line_under_the_cursor_stays_where_it_is(keys: Sequence[str]) -> None:
    async with transcript(story(6)) as (pilot, view, _):
        await pilot.press("space", "space", *"jjjjj")
        for n in range(9):
            before, block = cursor_row(view), view.cursor.block
            await pilot.press(keys[n % len(keys)])
            if view.cursor.block == block:
                top = view.top
                assert cursor_row(view) == before or top == Position(0, 0) or view.at_end
            await pilot.press("j")


async def test_levels_go_from_prompts_to_everything() -> None:
    async with transcript(story(), size=(80, 60)) as (pilot, view, _):
        await pilot.press("z")
        everything = "\n".join(lines(view))
        assert "row 30" in everything
        assert "thought 0 thought" in everything
        await pilot.press("1")
        prompts = [line for line in lines(view) if line.strip("▌▏ ")]
        assert len(prompts) == 3
        assert all("prompt number" in line and "5 messages" in line for line in prompts)
        await pilot.press("Z", "z")
        answers = "\n".join(lines(view))
        assert "answer 2" in answers
        assert "pytest" not in answers


async def test_enter_opens_a_tool_then_all_of_its_output_then_folds_it() -> None:
    async with transcript(story(), size=(100, 40)) as (pilot, view, _):
        view.go_to(3)
        await pilot.press("enter")
        assert any("… 24 more lines (enter)" in line for line in lines(view))
        await pilot.press("enter")
        assert view.folds.fold(3) is Fold.FULL
        await pilot.press(*["j"] * 39)
        assert any("row 39" in line for line in lines(view))
        await pilot.press("enter")
        assert view.folds.fold(3) is Fold.LINE
        assert view.cursor.block == 3


async def test_enter_on_a_prompt_folds_its_exchange() -> None:
    async with transcript(story(), size=(80, 60)) as (pilot, view, _):
        await pilot.press("enter")
        shown = "\n".join(lines(view))
        assert "answer 0" not in shown
        assert "answer 1" in shown
        assert "5 messages" in lines(view)[0]
        await pilot.press("enter")
        assert "answer 0" in "\n".join(lines(view))


async def test_a_rewound_exchange_is_folded_marked_and_can_be_opened() -> None:
    hand = Hand()
    hand.prompt("first try", flags=Flag.REWOUND)
    hand.text("a dead end", flags=Flag.REWOUND)
    hand.session.exchanges[0].rewound = True
    hand.prompt("second try")
    hand.text("a way")
    async with transcript(hand) as (pilot, view, _):
        shown = "\n".join(lines(view))
        assert "first try" in shown
        assert "rewound" in shown
        assert "a dead end" not in shown
        await pilot.press("enter")
        assert "a dead end" in "\n".join(lines(view))


async def test_exchanges_are_walked_with_brackets() -> None:
    async with transcript(story(5)) as (pilot, view, _):
        await pilot.press("]", "]")
        assert lines(view)[0].startswith("▌")
        assert "prompt number 2" in lines(view)[0]
        await pilot.press("j", "j", "[")
        assert "prompt number 2" in lines(view)[0]
        await pilot.press("[")
        assert "prompt number 1" in lines(view)[0]


async def test_pages_overlap_by_one_line_and_skip_none() -> None:
    async with transcript(story(12)) as (pilot, view, _):
        await pilot.press("z")
        page = lines(view)
        for _ in range(8):
            await pilot.press("space")
            following = lines(view)
            assert following[0].strip("▌▏ ") == page[-1].strip("▌▏ ")
            page = following
        for _ in range(8):
            await pilot.press("b")
            following = lines(view)
            assert following[-1].strip("▌▏ ") == page[0].strip("▌▏ ")
            page = following
        assert view.top == Position(0, 0)


async def test_the_last_page_is_full() -> None:
    async with transcript(story(6)) as (pilot, view, _):
        await pilot.press("G")
        assert view.at_end
        assert lines(view)[-1] != ""
        bottom = lines(view)
        await pilot.press("space", "space")
        assert [line.strip("▌▏ ") for line in lines(view)] == [line.strip("▌▏ ") for line in bottom]


async def test_search_opens_what_is_folded_and_goes_round() -> None:
    async with transcript(story(3)) as (pilot, view, _):
        await pilot.press("/", *"row 33", "enter")
        await until(pilot, lambda: "row 33" in lines(view)[cursor_row(view)])
        first = view.cursor.block
        await pilot.press("n")
        assert view.cursor.block != first
        await pilot.press("n", "n")
        assert view.cursor.block == first
        await pilot.press("N")
        assert view.cursor.block != first
        count = view.screen.query_one("#find-count").render()
        assert "of 3 " in str(count)


async def test_search_that_finds_nothing_says_so_and_stays() -> None:
    async with transcript(story(3)) as (pilot, view, _):
        await pilot.press("space")
        before = (view.top, view.cursor)
        await pilot.press("/", *"no such words")
        await until(pilot, lambda: str(view.screen.query_one("#find-count").render()) == "not found")
        await pilot.press("escape")
        assert (view.top, view.cursor) == before
        assert view.mark_hits is None


async def test_what_comes_is_shown_when_followed_and_marked_as_new() -> None:
    hand = story(3)
    async with transcript(hand, follow=True) as (pilot, view, written):
        assert view.at_end
        await pilot.pause(0.15)
        written.write(lambda h: h.text("something NEW"))
        await until(pilot, lambda: any("something NEW" in line for line in lines(view)))
        assert any("─ new since " in line for line in lines(view))
        await pilot.press("k", "g")
        assert not view.following
        top = lines(view)
        later = written.write(lambda h: h.text("even later"))
        await until(pilot, lambda: view.unread == later)  # all before it was seen: one was at the end
        await pilot.pause()
        assert lines(view) == top
        await pilot.press("U")
        assert "new since" in lines(view)[cursor_row(view)]
        await pilot.press("G")
        assert view.following
        assert any("even later" in line for line in lines(view))


async def test_reading_anew_keeps_place_and_folds() -> None:
    hand = story(8)
    async with transcript(hand) as (pilot, view, written):
        view.go_to(21)
        await pilot.press("enter", "j", "j")
        fold, shown = view.folds.fold(view.cursor.block), lines(view)
        again = Hand()
        again.prompt("one that was not there before")
        longer = story(8)
        for message in longer._made:
            fields: dict[str, Any] = {"parts": message.parts, "tool": message.tool, "label": message.label}
            opener = message.text if message.flags & Flag.OPENER else None
            again.add(message.kind, opener=opener, id=message.id, **fields)
        assert fold is Fold.SHORT
        written.restart(again)
        await until(pilot, lambda: view.session is again.session)
        assert view.cursor.block == 22
        assert view.folds.fold(22) is Fold.SHORT
        assert [line[:60].strip("▌▏ ") for line in lines(view)][:4] == [line[:60].strip("▌▏ ") for line in shown][:4]


async def test_a_click_folds_and_a_drag_does_not() -> None:
    async with transcript(story(), size=(80, 40)) as (pilot, view, _):
        y = next(i for i, line in enumerate(lines(view)) if "thinking ·" in line)
        await pilot.click(view, offset=(10, y))
        assert view.folds.fold(1) is Fold.SHORT
        y = next(i for i, line in enumerate(lines(view)) if "answer 0" in line)
        await pilot.click(view, offset=(10, y))
        assert view.folds.fold(2) is Fold.SHORT
        assert view.cursor.block == 2


async def test_copying_gives_the_source_and_not_the_picture() -> None:
    async with transcript(story(), size=(60, 40)) as (pilot, view, _):
        view.go_to(2)
        await pilot.press("y")
        copied = pilot.app.copied  # type: ignore[attr-defined]
        assert copied[-1].startswith("answer 0 says **why**.\n\nA sentence of")
        # A part of a wrapped paragraph: no gutter, no line break where it was wrapped.
        selection = Selection(Offset(0, row_number(Position(2, 2))), Offset(12, row_number(Position(2, 3))))
        view.screen.selections = {view: selection}
        await pilot.press("y")
        assert "\n" not in copied[-1]
        assert copied[-1].startswith("A sentence of an answer. A sentence")


async def test_long_copies_go_to_a_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hand = Hand()
    hand.prompt("p")
    hand.text("ä" * 60_000)
    async with transcript(hand) as (pilot, view, _):
        view.go_to(1)
        await pilot.press("y")
        assert not pilot.app.copied  # type: ignore[attr-defined]
        (file,) = tmp_path.iterdir()
        assert file.read_text("utf-8") == "ä" * 60_000


async def test_raw_why_and_outline_open_and_close() -> None:
    async with transcript(story()) as (pilot, view, _):
        view.go_to(2)
        for key, word in (("x", "record"), ("w", "Token group"), ("tab", "Exchanges")):
            await pilot.press(key)
            await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
            assert word in str(pilot.app.screen.query_one("#dialog-title").render())
            await pilot.press("escape")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await pilot.press("tab")
        await pilot.pause()
        await pilot.press("down", "enter")
        await pilot.pause()
        assert "prompt number 1" in lines(view)[0]


async def test_resizing_keeps_the_block_and_wraps_anew() -> None:
    async with transcript(story(8), size=(120, 30)) as (pilot, view, _):
        view.go_to(20)
        block = view.top.block
        await pilot.resize_terminal(50, 20)
        await until(pilot, lambda: view.size.width == 50 or view.render_line(0).cell_length == 50)
        assert view.top.block == block
        assert all(view.render_line(y).cell_length == 50 for y in range(view.height_of_page))


async def test_an_empty_session_is_an_empty_screen() -> None:
    async with transcript(Hand()) as (pilot, view, _):
        await pilot.press(*"jkgGzto]x w", "space", "b", "enter", "y", "Y", "U", "f", "tab")
        assert set(lines(view)) == {""}


async def test_a_hostile_label_is_shown_as_text() -> None:
    hand = Hand()
    hand.prompt("[bold]no markup[/bold] [/] [@click=app.quit]x[/]")
    hand.note(Kind.ERROR, "[red]API error[/red] [/")
    hand.session.title = "[/nope] title"
    async with transcript(hand) as (pilot, view, _):
        shown = "\n".join(lines(view))
        assert "[bold]no markup[/bold] [/] [@click=app.quit]x[/]" in shown
        assert "[red]API error[/red] [/" in shown
        await pilot.press("tab")
        await pilot.pause()
        await pilot.press("escape", "x", "escape")


async def test_a_subagents_own_transcript_opens_above() -> None:
    hand = story(1)
    index = hand.tool(Tool("Task", "task", "t", {"prompt": "look"}, text="found", subagent="a1"), flags=Flag.SUBAGENT)
    inner = Hand(session_id="inner")
    inner.prompt("look around")
    inner.text("INNER answer")
    hand.session.subagents.append(Subagent("a1", session=inner.session, tool_use=index))
    async with transcript(hand) as (pilot, view, _):
        await pilot.press("a")
        assert len(pilot.app.screen_stack) == 1
        view.go_to(index)
        await pilot.press("a")
        await until(pilot, lambda: "INNER answer" in "".join(lines(pilot.app.screen.query_one(TranscriptView))))
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("q")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def test_a_message_rewound_within_a_live_exchange_says_so() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text("tried this", flags=Flag.REWOUND)
    hand.text("then that")
    async with transcript(hand) as (pilot, view, _):
        assert any("▸ rewound  tried this" in line for line in lines(view))
        view.go_to(1)
        await pilot.press("enter")
        assert any("● tried this" in line for line in lines(view))


async def test_copying_an_exchange_gives_markdown() -> None:
    async with transcript(story()) as (pilot, _, _):
        await pilot.press("]", "Y")
        copied = pilot.app.copied[-1]  # type: ignore[attr-defined]
        assert "prompt number 1" in copied
        assert "answer 1 says **why**" in copied
        assert "prompt number 2" not in copied


async def test_letters_that_come_right_behind_the_slash_are_looked_for() -> None:
    async with transcript(story()) as (pilot, view, _):
        for name in ("slash", "t", "z", "slash", "q"):  # in one go, as from a paste: nothing is handled in between
            pilot.app.post_message(Key(name, "/" if name == "slash" else name))
        await until(pilot, lambda: pilot.app.screen.query_one("#find", Input).value == "tz/q")
        assert view.folds.level == 2 and view.folds.thinking is None


@pytest.mark.filterwarnings("error")
async def test_a_search_that_is_replaced_before_it_begins_leaves_no_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with transcript(story()) as (pilot, _, _):
            screen = pilot.app.screen
            await pilot.press("/")
            for word in ("a", "an", "ans"):
                screen.query_one(FindBar).look_for(word)
            await pilot.pause()
        gc.collect()
    assert not [w for w in caught if "never awaited" in str(w.message)]


async def test_exchanges_have_the_numbers_that_exports_give_them() -> None:
    hand = Hand()
    hand.prompt("first")
    hand.prompt("a dead end", flags=Flag.REWOUND)
    hand.session.exchanges[1].rewound = True
    hand.prompt("another try")
    hand.text("done")
    async with transcript(hand) as (pilot, view, _):
        assert exchange_numbers(hand.session) == [1, None, 2]
        shown = "\n".join(lines(view))
        assert " 1  first" in shown and " 2  another try" in shown and "  a dead end" in shown
        assert "2  a dead end" not in shown
        status = pilot.app.screen.query_one("#status", TitleBar)
        assert "exchange 1 of 2 (1 rewound)" in status.right.plain
        await pilot.press("]")
        assert "rewound exchange" in status.right.plain
        await pilot.press("Y")
        await pilot.press("]")
        assert "exchange 2 of 2 (1 rewound)" in status.right.plain
        await pilot.press("tab")
        await pilot.pause()
        outline = pilot.app.screen.query_one(Outline)
        assert [outline.render_line(n).text[1:7] for n in range(3)] == ["   1  ", "      ", "   2  "]


async def test_the_end_stays_in_sight_when_levels_change_while_following() -> None:
    async with transcript(story(8), follow=True) as (pilot, view, _):
        assert view.following and view.at_end
        for level in "1423":
            await pilot.press(level)
            assert view.following and view.at_end
        await pilot.press("o")
        assert view.following and view.at_end


async def test_each_level_that_was_chosen_is_named() -> None:
    async with transcript(story(1)) as (pilot, _, _):
        status = pilot.app.screen.query_one("#status", TitleBar)
        assert "one-liners" not in status.right.plain
        names = {"z": "everything", "1": "prompts", "2": "answers", "3": "one-liners", "4": "everything"}
        for key, name in [*names.items(), ("z", "everything"), ("Z", "one-liners"), ("Z", "answers"), ("Z", "prompts")]:
            await pilot.press(key)
            await pilot.pause()
            assert status.right.plain.startswith(f"{name} · ")


async def test_what_still_runs_when_the_screen_goes_away_finds_nothing_to_write_on() -> None:
    async with transcript(story(1)) as (pilot, _, _):
        screen = pilot.app.screen
        assert isinstance(screen, TranscriptScreen)
        await pilot.press("/")
        await screen.query("FindBar > *").remove()
        screen.query_one(FindBar)._show_count()
        await screen.query(TitleBar).remove()
        screen._figures._shown_at = 0.0
        screen._figures.show()
        screen._show_facts()
        screen._show_position()
        assert screen._figures.due


def opening() -> Hand:
    """A session that begins with three pieces of context, and in which thinking is withheld again and again."""
    hand = Hand()
    for label in ("instructions", "permissions", "environment"):
        hand.note(Kind.CONTEXT, label, f"{label}\n" * 30)
    for _ in range(2):
        hand.prompt("what is it about")
        for n in range(3):
            hand.thinking("", flags=Flag.WITHHELD)
            hand.text(f"answer {n}")
    return hand


def own_lines(view: TranscriptView, words: str) -> list[str]:
    return [line for line in lines(view) if words in line]


async def test_what_a_session_begins_with_opens_and_folds_as_one_line() -> None:
    async with transcript(opening(), size=(80, 130)) as (pilot, view, _):
        (line,) = own_lines(view, "environment")
        assert "▸ instructions, permissions, environment" in line and line.endswith("3 blocks")
        await pilot.press("enter")
        assert [len(own_lines(view, label)) for label in ("instructions", "environment")] == [17, 17]
        assert len(own_lines(view, "… 14 more lines")) == 3
        await pilot.press("enter", "enter")
        assert own_lines(view, "environment") == [line.replace(" ", "▌", 1) if line[0] == " " else line]
        await pilot.press("4")
        assert len(own_lines(view, "environment")) == 31
        await pilot.press("enter")
        assert len(own_lines(view, "environment")) == 1


async def test_context_that_comes_later_is_named_in_the_line() -> None:
    async with transcript(opening(), size=(80, 60)) as (pilot, view, written):
        written.write(lambda hand: hand.note(Kind.CONTEXT, "reminder", "a"))
        await until(pilot, lambda: len(own_lines(view, "▸ reminder ") or own_lines(view, "· reminder")) == 1)
        written.write(lambda hand: hand.note(Kind.CONTEXT, "skill", "b"))
        await until(pilot, lambda: len(own_lines(view, "▸ reminder, skill")) == 1)


@pytest.mark.parametrize("level", "34")
async def test_that_thinking_is_withheld_is_said_once_an_exchange(level: str) -> None:
    async with transcript(opening(), size=(80, 150)) as (pilot, view, _):
        await pilot.press(level)
        assert len(own_lines(view, "thinking withheld")) == 2
        view.open_at(6)
        assert len(own_lines(view, "thinking withheld")) == 3, "a place that is asked for is shown"

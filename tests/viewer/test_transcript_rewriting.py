"""A transcript whose source rewrites history: what is there still keeps its place, its folds and its marks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from renderers.terminal.folds import Fold
from schemas.session import Lack
from tests.viewer.rewriting import Following, Item, item, session_of
from tests.viewer.transcripts import bare, lines
from tests.waiting import until
from viewer.screens.outline_pane import Outline
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.drawn import DrawnBlocks
from viewer.transcript.layout import Layout
from viewer.transcript.replacing import replace_session
from viewer.transcript.select import position_of, row_number
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar

PATH = Following([]).session.path


def story(exchanges: int = 12) -> list[Item]:
    items: list[Item] = []
    for n in range(exchanges):
        items.append(item("user", f"u{n}", f"prompt number {n}"))
        items.append(item("assistant", f"a{n}", f"answer {n} " * 30))
        items.append(item("call", f"c{n}", f"make {n}"))
        items.append(item("assistant", f"b{n}", f"end of {n}"))
    return items


@asynccontextmanager
async def transcript(items: list[Item], *, follow: bool = False) -> AsyncIterator[tuple[Pilot[None], TranscriptView]]:
    following = Following(items)
    screen = TranscriptScreen(following, follow=follow)
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen.items = following.reading.items  # type: ignore[attr-defined]
        yield pilot, screen.query_one(TranscriptView)


async def rewrite(pilot: Pilot[None], items: list[Item]) -> None:
    """The source is another one now; wait until that was seen."""
    screen = pilot.app.screen_stack[0]
    assert isinstance(screen, TranscriptScreen)
    following = screen._follower
    assert isinstance(following, Following)
    following.reading.items = items
    shown = len(session_of(PATH, items).messages)
    await until(pilot, lambda: following.reading.items is items and len(screen.session.messages) == shown)
    await pilot.pause(0.15)


async def test_the_cursor_goes_to_the_header_that_a_rewound_message_is_folded_into() -> None:
    items = story()
    async with transcript(items) as (pilot, view):
        view.go_to(41, row=3)
        await rewrite(
            pilot, [value | {"rewound": True} if value["uuid"][1:] in ("10", "11") else value for value in items]
        )
        assert view.cursor.block == 40
        assert view.cursor in view.rows
        row = view.row_at(view.cursor)
        assert row is not None and "prompt number 10" in row.text


def without(items: list[Item], *names: str) -> list[Item]:
    return [value for value in items if value["uuid"] not in names]


async def test_what_changes_elsewhere_moves_nothing() -> None:
    items = story()
    async with transcript(items) as (pilot, view):
        await pilot.press(*"]]]]]]jjjjj")
        await pilot.press("enter")
        before, cursor = lines(view), lines(view).index(next(row for row in lines(view) if row.startswith("▌")))
        session = view.session
        for changed in (
            without(items, "a1", "c2"),
            [item("user", "x", "before all"), *items],
            [*without(items, "b11"), item("user", "u12", "more")],
            [*items[:6], item("assistant", "y", "one more " * 99), *items[6:]],
        ):
            await rewrite(pilot, changed)
            assert view.session is not session
            session = view.session
            after = lines(view)
            assert after[cursor].startswith("▌")
            # The numbers of exchanges may be others.
            assert [row for row in after if "prompt number" not in row] == [
                row for row in before if "prompt number" not in row
            ]


async def test_a_title_that_comes_alone_is_shown() -> None:
    async with transcript(story(2)) as (pilot, view):
        bar = view.screen.query_one("#title", TitleBar)
        assert "Lamps" not in str(bar.left)
        view.screen._follower.poll = list  # type: ignore[attr-defined]  # no change of a message, ever
        view.session.title = "Lamps and others"
        await until(pilot, lambda: "Lamps and others" in str(bar.left))


async def test_the_end_stays_in_sight_where_it_is_followed() -> None:
    items = story()
    async with transcript(items, follow=True) as (pilot, view):
        assert "end of 11" in lines(view)[-1]
        await rewrite(pilot, items[:-4])
        assert "end of 10" in lines(view)[-1]
        await rewrite(pilot, [*items[2:-4], item("user", "new", "from here")])
        assert "from here" in lines(view)[-1]


async def test_folds_stay_with_their_messages() -> None:
    items = story(4)
    async with transcript(items) as (pilot, view):
        view.folds.blocks[5] = Fold.LINE
        view.folds.exchanges[2] = False
        view._refold()
        await rewrite(pilot, [item("user", "x", "first"), *without(items, "a0", "c0", "b0")])
        assert view.folds.blocks == {3: Fold.LINE}
        assert view.folds.exchanges == {3: False}
        assert not any("answer 2" in row for row in lines(view))


async def test_who_reads_what_is_taken_back_stays_near() -> None:
    items = story()
    async with transcript(items) as (pilot, view):
        await pilot.press(*"]]]]]]")
        gone = [f"{kind}{n}" for kind in "uacb" for n in (6, 7)]
        await rewrite(pilot, without(items, *gone))
        assert view.cursor.block in range(20, 28)
        shown = "\n".join(lines(view))
        assert "prompt number 8" in shown or "end of 5" in shown
        await rewrite(pilot, [])
        assert not any(lines(view))
        await rewrite(pilot, items)
        assert "prompt number 0" in "".join(lines(view)[:2])  # below the line that says what is new


async def test_the_position_and_the_outline_follow() -> None:
    items = story()
    async with transcript(items) as (pilot, view):
        status = view.screen.query_one("#status", TitleBar)
        await pilot.press(*"]]]]]]")
        assert "exchange 7 of 12" in status.right.plain
        await pilot.press("tab")
        await rewrite(pilot, without(items, "u0", "a0", "c0", "b0"))
        assert "exchange 6 of 11" in status.right.plain
        outline = pilot.app.screen.query_one(Outline)
        assert (outline.summary, outline.current) == ("11 exchanges", 5)
        await pilot.press("down", "down")
        await rewrite(pilot, without(items, "u1", "a1", "c1", "b1", "u0", "a0", "c0", "b0"))
        assert (outline.summary, outline.current) == ("10 exchanges", 6)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert view.session.message(view.cursor.block).id == "u9"
        rewound = [value | {"rewound": True} if value["uuid"][1:] in "12" else value for value in items]
        await rewrite(pilot, rewound)
        assert "exchange 8 of 10 (2 rewound)" in status.right.plain


async def test_a_selection_stays_while_both_its_ends_do() -> None:
    items = story(4)
    async with transcript(items) as (pilot, view):
        start, end = (row_number(view.rows[n]) for n in (2, 5))
        view.screen.selections = {view: Selection(Offset(3, start), Offset(20, end))}
        text = view.screen.get_selected_text()
        assert text
        assert "answer 0" in text
        await rewrite(pilot, [item("user", "x", "first"), *items])
        selection = view.text_selection
        assert selection is not None
        assert selection.start is not None
        assert position_of(selection.start.y).block == 2
        assert view.screen.get_selected_text() == text
        await rewrite(pilot, without(items, "a0"))
        assert view.text_selection is None


async def test_the_search_follows() -> None:
    items = story()
    async with transcript(items) as (pilot, view):
        await pilot.press("/", *"end of", "enter")
        screen = view.screen
        assert isinstance(screen, TranscriptScreen)
        await until(
            pilot, lambda: screen._find is not None and screen._find.finder and len(screen._find.finder.hits) == 12
        )
        block = view.cursor.block
        await rewrite(pilot, [item("user", "x", "first"), *without(items, "b3")])
        await until(pilot, lambda: len(screen._find.finder.hits) == 11)
        assert screen._find.finder.session is view.session
        assert view.cursor.block == block + 1
        await rewrite(pilot, [item("user", "x", "the end of it"), *without(items, "b3")])
        await until(pilot, lambda: len(screen._find.finder.hits) == 12)  # a message that changed is looked at again
        await pilot.press("n")
        assert view.session.message(view.cursor.block).id == "b1"


async def test_the_line_above_what_is_new_follows() -> None:
    items = story()
    async with transcript(items) as (pilot, view):
        await pilot.press("g", "j")
        more = [*items, item("user", "n1", "new"), item("assistant", "n2", "newer")]
        await rewrite(pilot, more)
        assert view.unread == len(items)
        await rewrite(pilot, more[4:])
        assert view.unread == len(items) - 4
        assert view.layout_of._rule == view.unread


# -- whatever happens --------------------------------------------------------------------------------------------------


def mutated(items: list[Item], random: Random) -> list[Item]:
    """The items after one of the things that agents do to their history."""
    items = list(items)
    name = f"n{random.randrange(10**9)}"
    new = item(random.choice(["user", "assistant", "call"]), name, "word " * random.choice([0, 1, 40, 400]))
    at = random.randrange(len(items) + 1)
    what = random.choice(["append", "append", "insert", "drop", "change", "cut", "rewind", "move", "empty"])
    if what == "append":
        return [*items, new]
    if what == "insert":
        return [*items[:at], new, *items[at:]]
    if what == "empty":
        return [] if random.random() < 0.1 else items
    if not items:
        return [new]
    at = min(at, len(items) - 1)
    if what == "drop":
        del items[at : at + random.randrange(1, 5)]
    elif what == "change":
        items[at] = items[at] | {"text": f"changed {random.random()}\n" * random.choice([1, 9])}
    elif what == "cut":
        del items[max(at, len(items) - 30) :]
    elif what == "rewind":
        start = max(at, len(items) - 30)
        items[start:] = [value | {"rewound": True} for value in items[start:]]
    else:
        items.insert(random.randrange(len(items)), items.pop(at))
    return items


def assert_like_a_fresh_one(view: TranscriptView) -> None:
    """What stands on the screen is what a view would show that knew nothing of the past."""
    session = view.session
    fresh = Layout(session, view.folds, view.look.width)
    fresh.set_rule(view.unread)
    drawn = DrawnBlocks(session, view.look)

    def measure(block: int) -> None:
        if (fold := view.folds.fold(block)) > Fold.HIDDEN:
            fresh.set_height(block, len(drawn.get(block, fold).block.rows))

    places = view.rows
    assert view.layout_of.count == fresh.count == len(session.messages)
    if not places:
        assert fresh.visible(0) is None
        return
    place = places[0]
    for y, expected in enumerate(places):
        measure(expected.block)
        assert place == expected
        row = expected.line
        rows = drawn.get(expected.block, view.folds.fold(expected.block)).block.rows
        if row >= 0:
            assert lines(view)[y][1:].rstrip() == rows[row].text.rstrip()[: view._row_width - 1]
        place = fresh.move(place, 1, measure)
    assert len(places) == view.height_of_page or place == places[-1]
    assert view.cursor in places


@pytest.mark.parametrize("seed", range(3))
async def test_after_any_history_the_screen_shows_what_is_there(seed: int) -> None:
    random = Random(seed)
    items = story(8)
    async with transcript(items, follow=seed == 2) as (pilot, view):
        screen = view.screen
        assert isinstance(screen, TranscriptScreen)
        following = screen._follower
        assert isinstance(following, Following)
        for step in range(40):
            for _ in range(random.choice([1, 1, 3])):
                items = mutated(items, random)
            if random.random() < 0.3:
                await pilot.press(random.choice(["z", "enter", "]", "[", "space", "b", "t", "o", "G", "g", "j"]))
            following.reading.items = items
            following.poll()
            screen._take()
            await pilot.pause()
            assert_like_a_fresh_one(view)
            if step % 20 == 0:
                await pilot.pause(0.05)


async def test_what_the_source_does_not_give_is_said_in_place_of_zeros() -> None:
    async with transcript(story(2)) as (_, view):
        status = view.screen.query_one("#status", TitleBar)
        assert status.left.plain == "tokens unknown"
        view.session.lacks = frozenset(Lack)
        screen = view.screen
        assert isinstance(screen, TranscriptScreen)
        screen._figures._shown_at = 0.0
        screen._figures.show()
        line = status.render().plain
        assert line.startswith("source gives no tokens, times, thinking, tool results ")
        assert "exchange 1 of 2" in line  # both find room in 80 columns
        assert len(line) <= 80


@pytest.mark.parametrize("left", [0, 3, 40])
async def test_what_is_drawn_ahead_bears_another_session(left: int) -> None:
    """The session is read anew between two of its steps, whichever they are: what is left of it may be nothing."""
    items = story(12)
    async with transcript(items) as (pilot, view):
        await pilot.press("]", "]", "]")
        for step in range(1, 60, 4):
            whole, rest = session_of(PATH, items), session_of(PATH, items[:left])
            replace_session(view, whole)
            view.drawn_around = ()
            ahead = view.draw_ahead()
            for _ in range(step):
                next(ahead, None)
            replace_session(view, rest)
            list(ahead)
            list(view.draw_ahead())


async def test_colours_come_to_all_messages_that_wait_for_them() -> None:
    """The same code stands in two messages, and they have moved while its colours were worked out."""
    code = "```python\nx = 'lamp'\n```"
    items = [item("user", "u", "go"), item("assistant", "a", code), item("assistant", "b", code)]
    async with transcript(items) as (_, view):
        replace_session(view, session_of(PATH, items))
        (want,) = set(view.wanted)
        work = view.look.highlights.work(want)
        next(work)
        replace_session(view, session_of(PATH, [item("user", "new", "before"), *items]))
        list(work)
        view.blocks.forget_wanting(want)
        view.show()
        drawn = [view.block(index).block for index in (2, 3)]
        assert [
            any("lamp" in s.text and s.text != "x = 'lamp'" for r in b.rows for s in r.segments) for b in drawn
        ] == [
            True,
            True,
        ]

"""`/` in a transcript: it finds what the screen shows, counts the places that `n` visits, and Esc ends just that."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from unicodedata import normalize

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from renderers.terminal.code import Highlights
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.style_names import Palette
from schemas.message import Kind, Tool
from schemas.opening import read_session
from schemas.session import Session
from tests.support import Hand
from tests.viewer.test_transcript_find import shuffled
from tests.viewer.transcripts import bare, lines, story, transcript
from tests.waiting import until
from viewer.demo import demo_home, demo_session
from viewer.follow.follower import Follower
from viewer.screens.find_bar import FindBox
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.find import Finder, whole_rows
from viewer.transcript.view import TranscriptView

CORPUS = Path(__file__).parents[3] / "shared/corpus"
LOOK = Look(100, Palette(), Highlights())


@pytest.fixture(autouse=True)
def _no_history() -> None:
    FindBox.history.clear()


def count(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#find-count").render()).partition("   ")[0]


async def search(pilot: Pilot[None], words: str) -> None:
    await pilot.press("/", *words, "enter")
    for _ in range(100):
        await pilot.pause(0.02)
        if count(pilot) and not count(pilot).endswith("…"):
            return
    raise AssertionError(count(pilot))


def shown_as_found(view: TranscriptView) -> list[str]:
    """The stretches of the screen in the colour of the hit that was gone to."""
    found = view._styles_now().found
    return [
        segment.text
        for y in range(view.height_of_page)
        for segment in view.render_line(y)
        if segment.style is not None and segment.style.bgcolor == found.bgcolor
    ]


async def test_what_the_screen_shows_is_found() -> None:
    told = [
        ("Edit a.py", 3),
        ("EDIT A.PY +1 -1", 0),  # what stands at the right edge is not beside it
        ("exit 1", 3),
        ("prompt number 2", 1),
        ("opus-5", 3),
        ("80 characters", 3),
        ("reminder", 3),
        ("says why.", 3),  # the signs of Markdown are not on the screen
        ("answer", 3 * 13),  # each place counts, also on one line
        ("row 33", 3),  # below what is shown of a long output
        ("tokens: in 10", 3),
    ]
    async with transcript(story(3), size=(100, 30)) as (pilot, _, _):
        for words, places in told:
            await search(pilot, words)
            assert (words, count(pilot)) == (words, f"1 of {places}" if places else "not found")
            await pilot.press("escape", "g")


async def test_n_visits_the_places_in_the_order_of_their_numbers() -> None:
    hand = Hand()
    hand.prompt("lamp and lamp")
    hand.text("a lamp\n\nno light\n\nlamp, **la**mp " + "word " * 40 + "lamp")
    hand.tool(Tool("Read", "read", "r", {"file_path": "/home/dev/lamp-shop/lamp.py"}, text="one\nlamp lamp\nthree"))
    async with transcript(hand) as (pilot, view, _):
        await search(pilot, "lamp")
        at: list[tuple[int, int]] = []
        for number in range(1, 10):
            assert count(pilot) == f"{number} of 9"
            assert "".join(shown_as_found(view)) == "lamp"
            at.append((view.cursor.block, view.cursor.line))
            await pilot.press("n")
        assert at == sorted(at)
        assert count(pilot) == "1 of 9"
        for number in (9, 8, 7):
            await pilot.press("N")
            assert count(pilot) == f"{number} of 9"
            assert (view.cursor.block, view.cursor.line) == at[number - 1]
        await pilot.press("g", "n")  # from where the cursor is
        assert count(pilot) == "3 of 9"


async def test_a_hit_in_a_line_that_can_be_seen_opens_nothing() -> None:
    async with transcript(story(1)) as (pilot, view, _):
        await search(pilot, "pytest -q")
        assert view.folds.fold(view.cursor.block) is Fold.LINE
        await pilot.press("escape")
        await search(pilot, "row 30")
        assert view.folds.fold(view.cursor.block) is Fold.FULL


async def test_escape_ends_the_search_and_nothing_else() -> None:
    async with transcript(story(3)) as (pilot, view, _):
        await search(pilot, "row 33")
        before = lines(view), view.top, view.cursor
        await pilot.press("escape")
        await pilot.pause()
        assert (lines(view), view.top, view.cursor) == before or view.height_of_page > len(before[0])
        assert view.cursor == before[2] and view.mark_hits is None and not pilot.app.screen.query("FindBar")
        await pilot.press("escape", "escape")
        assert pilot.app.is_running and pilot.app.return_code is None


@pytest.mark.parametrize("seconds", [0.0, 9.0])
@pytest.mark.parametrize("quick", [True, False])
async def test_the_first_hit_is_gone_to_however_quick_keys_and_search_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, quick: bool
) -> None:
    monkeypatch.setattr("viewer.screens.find_bar.SLICE", seconds)
    screen = TranscriptScreen(Follower(shuffled(tmp_path / "s.jsonl")), follow=False)
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        for keys, places in (("", "1 of 6"), ("n", "2 of 6"), ("nn", "3 of 6"), ("N", "6 of 6"), ("Nn", "1 of 6")):
            await pilot.press("g")
            for key in ("slash", *"lamp", "enter", *keys):
                pilot.app.post_message(Key(key, {"slash": "/", "enter": "\r"}.get(key, key)))
                if not quick:
                    await pilot.pause(0.1)
            await until(pilot, lambda places=places: count(pilot) == places, lambda: count(pilot))
            await pilot.press("escape")


async def test_older_searches_come_back() -> None:
    async with transcript(story(2)) as (pilot, view, _):
        for words in ("answer", "row 3"):
            await search(pilot, words)
            await pilot.press("escape")
        await pilot.press("/", "up")
        box = pilot.app.screen.query_one("#find", Input)
        assert box.value == "row 3"
        await pilot.press("up", "up")
        assert box.value == "answer"
        await pilot.press("down", "down")
        assert box.value == ""
        await pilot.press("up", "enter")
        await pilot.pause(0.3)
        assert "row 3" in lines(view)[view.screen_row(view.cursor) or 0]


@pytest.mark.parametrize("typed", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
async def test_marked_letters_are_found_however_they_are_encoded(typed: str, written: str) -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text(f"open {normalize(written, 'Übersicht')}.md")
    async with transcript(hand) as (pilot, view, _):
        await pilot.press("/")
        pilot.app.screen.query_one("#find", Input).value = normalize(typed, "übersicht")
        await pilot.press("enter")
        await pilot.pause(0.3)
        assert count(pilot) == "1 of 1"
        assert shown_as_found(view) == [normalize(written, "Übersicht")]


async def test_what_comes_during_a_search_is_counted_too() -> None:
    async with transcript(story(1), follow=True) as (pilot, _, written):
        await search(pilot, "answer 0")
        assert count(pilot) == "1 of 1"
        written.write(lambda hand: hand.text("answer 0 again"))
        for _ in range(100):
            await pilot.pause(0.05)
            if count(pilot).endswith("of 2"):
                break
        assert count(pilot).endswith("of 2")


def sessions() -> list[Path]:
    found = sorted(CORPUS.glob("*/*.jsonl")) if CORPUS.is_dir() else []
    return found[::12]


def check_stretches(session: Session, chance: Random) -> int:
    """Whatever stands in a row is found in its message: the words it is drawn for are not asked for too strictly."""
    checked = 0
    for _ in range(40):
        index = chance.randrange(len(session.messages))
        rows = [row for row in whole_rows(session, index, LOOK) if row.gutter < len(row.text)]
        if not rows:
            continue
        row = chance.choice(rows)
        text = row.text[row.gutter :].rstrip()
        text = row.source if row.source is not None and text.startswith(row.source) else text
        start = chance.randrange(max(1, len(text)))
        query = text[start : start + chance.randint(1, 25)]
        if not re.search(r"\w", query) or "   " in query:  # a rule; the gap before what stands at the right edge
            continue
        assert Finder(session, query, 0, lambda: LOOK).count(index), (index, query)
        checked += 1
    return checked


def test_any_stretch_of_a_row_is_found_in_the_demo() -> None:
    with demo_home() as env:
        session = read_session(demo_session(env))
        assert check_stretches(session, Random(7)) > 10
        session.close()


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
@pytest.mark.parametrize("path", sessions(), ids=lambda path: path.name)
def test_any_stretch_of_a_row_is_found_in_real_sessions(path: Path) -> None:
    from schemas.opening import OpenError

    try:
        session = read_session(path)
    except OpenError:
        pytest.skip("no session")
    if len(session.messages):
        check_stretches(session, Random(7))
    session.close()


def test_notices_are_found_by_their_labels() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.note(Kind.INTERRUPT, "Interrupted by the person")
    hand.note(Kind.COMPACTION, "", "what was said")
    assert Finder(hand.session, "interrupted by", 0, lambda: LOOK).count(1) == 1
    assert Finder(hand.session, "Compacted · summary 13", 0, lambda: LOOK).count(2) == 1

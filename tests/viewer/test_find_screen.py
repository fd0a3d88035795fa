"""The search over all sessions on the screen: what it finds while one types, and the way into a session and back."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Static

from schemas.clean import clean
from schemas.provider import Environment
from tests.viewer.machine import Machine
from tests.viewer.test_narrowing import choose, facet_line
from tests.waiting import LIMIT, until
from viewer.index.find import Answer, Find
from viewer.index.library import Library
from viewer.index.query import Query
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.filter import Filter
from viewer.screens.find import FindScreen
from viewer.screens.find_bar import FindBar
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.colours import row_styles
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar
from viewer.widgets.hits import HitList

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def home(folder: Path) -> Machine:
    machine = Machine(folder)
    machine.session(
        ONE,
        [
            "Fix the flaky import",
            "It waits for the zebrafinch",
            "Which one?",
            "The [/red] zebrafinch lock, twice: lock",
        ],
    )
    machine.session(
        TWO, [word for n in range(6) for word in (f"zebrafinch number {n}", "yes")], cwd="/home/dev/web", minute=9
    )
    return machine


@asynccontextmanager
async def listed(folder: Path, *, indexed: bool = True, size: tuple[int, int] = (100, 30)):  # type: ignore[no-untyped-def]
    machine = home(folder)
    library = Library(Environment({}, machine.home, "linux"), machine.home / "index.sqlite", texts=indexed)
    library.bring_up_to_date()
    if not indexed:
        library.text_path.unlink(missing_ok=True)
    app = TurnlogApp()
    app.start_with(BrowserScreen(library, Path("/home/dev/web"), lambda: 1_772_700_000.0))
    async with app.run_test(size=size) as pilot:
        yield pilot


def found(pilot: Pilot[None]) -> list[str]:
    hits = pilot.app.screen.query_one(HitList)
    assert all(hits.render_line(y).cell_length == hits.size.width for y in range(hits.size.height))
    return [line for y in range(hits.size.height) if (line := hits.render_line(y).text.rstrip())]


def counts(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one(TitleBar).right)


async def search(pilot: Pilot[None], words: str) -> None:
    await pilot.press("/", *words)

    def shown() -> bool:
        groups = pilot.app.screen.query_one(HitList)._groups
        asked = bool(groups) and groups[0].query.text.endswith(words)  # and not the word before its last letter
        return asked and not any("…" in line for line in found(pilot)[:4])

    await until(pilot, shown)


async def test_hits_stand_under_their_sessions_and_what_was_looked_for_is_marked(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        await search(pilot, "zebraf")
        assert counts(pilot).startswith("8 hits in 2 sessions · ")
        lines = found(pilot)
        assert lines[0].startswith(" zebrafinch number 0") and lines[0].endswith("claude · web · 23 h · 6 hits")
        assert [line.split()[:2] for line in (lines[1][1:], *lines[2:4])] == [
            ["#1", "you"],
            ["#2", "you"],
            ["#3", "you"],
        ]
        assert lines[4].strip() == "3 more hits …"
        hits = pilot.app.screen.query_one(HitList)
        match = row_styles(hits)["match"]
        marked = [s.text for s in hits.render_line(1) if s.style and s.style.color == match.color and s.style.bold]
        assert marked == ["zebraf"]
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "number 5" in found(pilot)[6])
        await pilot.press("end")
        assert found(pilot)[-1].startswith("▌  #2.2") and "The [/red] zebrafinch lock" in found(pilot)[-1]


async def test_enter_opens_at_the_hit_and_back_is_where_one_was(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        await search(pilot, "lock zebra")
        find, before = pilot.app.screen, found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: getattr(pilot.app.screen.query_one(FindBar).finder, "done", False))
        transcript = pilot.app.screen
        assert isinstance(transcript, TranscriptScreen)
        view, hits = transcript.query_one(TranscriptView), transcript.query_one(FindBar).hits
        await until(pilot, lambda: view.cursor.block == 3 and hits.hit is not None and hits.hit[::2] == (3, 0))
        assert transcript.query_one(FindBar).box.value == "lock zebra"
        await pilot.press("n", "n")
        await until(pilot, lambda: hits.hit is not None and hits.hit[2] == 2)
        await pilot.press("escape", "q")
        await until(pilot, lambda: pilot.app.screen is find and found(pilot) == before)
        assert pilot.app.screen.query_one(Filter).value == "lock zebra"
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, BrowserScreen)


async def test_a_word_that_no_title_has_is_looked_for_in_all_and_letters_go_on(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        await until(pilot, lambda: "2 sessions" in counts(pilot))
        await pilot.press(*"twice")
        await until(pilot, lambda: isinstance(pilot.app.screen, FindScreen) and "1 hit in 1 session" in counts(pilot))
        assert pilot.app.screen.query_one(Filter).value == "twice"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, BrowserScreen))
        assert pilot.app.screen.query_one(Filter).value == "", "the search took them"


async def test_the_address_is_copied_and_opens_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(TurnlogApp, "copy_to_clipboard", lambda self, text: copied.append(text))
    async with listed(tmp_path) as pilot:
        await search(pilot, "twice")
        await pilot.press("ctrl+y")
        assert copied == [f"{ONE}#2.2"]


async def test_the_search_is_narrowed_as_the_list_is_and_by_the_same_key(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        await until(pilot, lambda: "2 sessions" in counts(pilot))
        await choose(pilot, "lamp-shop")
        await search(pilot, "zebrafinch")
        assert facet_line(pilot.app) == "agent all · in lamp-shop · any time"  # type: ignore[arg-type]
        assert counts(pilot).startswith("2 hits in 1 session")
        await choose(pilot, "lamp-shop")
        await until(pilot, lambda: counts(pilot).startswith("8 hits in 2 sessions"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", 'tool:Edit  file:db/  role:you'),
        ("role:nobody x", "role:nobody: it can be"),
        ("nosuchword", "Nothing found for nosuchword"),
        ("/no/such/path", "Nothing found for /no/such/path"),
    ],
)  # fmt: skip
async def test_what_there_is_to_say_where_there_are_no_hits(tmp_path: Path, words: str, said: str) -> None:
    async with listed(tmp_path, size=(80, 24)) as pilot:
        await pilot.press("/", *words)
        await until(pilot, lambda: said in str(pilot.app.screen.query_one("#remark", Static).content))
        assert not pilot.app.screen.query_one(HitList).display


async def test_without_an_index_the_sessions_are_looked_through_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    original = Find.groups

    def held(self: Find, query: Query, *, filling: bool) -> Iterator[Answer]:
        for answer in original(self, query, filling=False):
            yield answer
            assert answer.done or gate.wait(LIMIT)

    monkeypatch.setattr(Find, "groups", held)
    monkeypatch.setattr(BrowserScreen, "_look", lambda self: None)
    async with listed(tmp_path, indexed=False) as pilot:
        await pilot.press("/", *"twice")
        await until(pilot, lambda: "looking through 2 sessions" in counts(pilot))
        gate.set()
        await until(pilot, lambda: "1 hit in 1 session" in counts(pilot))
        await until(pilot, lambda: "#2.2" in found(pilot)[1])


WORDS = st.text(st.sampled_from("ab 日👩\u0301x"), max_size=120)


@given(WORDS, st.text("abx日👩", min_size=1, max_size=30), WORDS, st.integers(8, 100))
def test_of_a_snippet_the_first_match_is_in_sight(before: str, match: str, after: str, room: int) -> None:
    hits = HitList(lambda: 0.0)
    found = Style(bold=True)
    hits._styles = {"match": found}
    spans = [(len(before), len(before) + len(match))]
    strip = hits._snippet(before + match + after, spans, room, Style())
    assert strip.cell_length <= room
    marked = "".join(segment.text for segment in strip if segment.style == found)
    assert marked and match.startswith(marked.rstrip())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_from_the_list_to_the_hit_and_back_on_a_terminal(tmp_path: Path) -> None:
    from tests.bench.terminal import Terminal

    env = home(tmp_path).env | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path / "state")}
    terminal = Terminal([sys.executable, "-m", "viewer"], env, 100, 30)

    def press(keys: bytes, *then: bytes) -> None:
        start = len(terminal.seen)
        terminal.key(keys, LIMIT)
        for words in then:
            assert terminal.wait_for(words, LIMIT, start), (words, terminal.seen[start:])

    try:
        assert terminal.wait_for(b"2 sessions", LIMIT)
        press(b"twice", b"1 hit in 1 session", b"#2.2")  # the words
        press(b"\r", b"2 of 2", b"Which one?")  # one key, and one is there
        press(b"q", b"search all", b"#2.2")
        press(b"\x1b", b"agent all")
        press(b"\x11")
        terminal.quiet()
    finally:
        terminal.close()
    assert (tmp_path / "state/turnlog/state.json").stat().st_mode & 0o777 == 0o600


async def test_keys_that_come_at_once_are_done_in_their_order(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        app = pilot.app
        list_filter = app.screen.query_one(Filter)
        keys = ["slash", "l", "o", "c", "k", "ctrl+u", "f", "o", "x", "backspace", "ctrl+a", "i"]
        for key in keys:
            app.post_message(Key(key, {"slash": "/"}.get(key, key if len(key) == 1 else None)))
        await until(pilot, lambda: isinstance(app.screen, FindScreen) and app.screen.query_one(Filter).value == "ifo")
        assert list_filter.value == ""


def post(pilot: Pilot[None], *keys: str) -> None:
    """Press keys faster than anything is asked."""
    for key in keys:
        pilot.app.post_message(Key(key, {"slash": "/"}.get(key, key if len(key) == 1 else None)))


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("before", ["", "zebraf"])
async def test_enter_right_behind_words_opens_their_hit(tmp_path: Path, indexed: bool, before: str) -> None:
    async with listed(tmp_path, indexed=indexed) as pilot:
        if before:
            await search(pilot, before)
        post(pilot, *(["ctrl+u"] if before else ["slash"]), *"twice", "enter")
        await until(pilot, lambda: getattr(pilot.app.screen.query_one(FindBar).finder, "done", False))
        await until(pilot, lambda: pilot.app.screen.query_one("#transcript").cursor.block == 3)  # type: ignore[attr-defined]
        assert pilot.app.screen.query_one(FindBar).box.value == "twice"


async def test_other_words_behind_enter_are_typed_on_and_nothing_opens(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        post(pilot, "slash", *"qqq", "enter", *"zzz")
        await until(pilot, lambda: "0 hits" in counts(pilot))
        assert isinstance(pilot.app.screen, FindScreen) and pilot.app.screen.query_one(Filter).value == "qqqzzz"


async def test_a_session_that_grows_is_found_while_one_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.screens.browser.FIND_SECONDS", 0.1)
    async with listed(tmp_path) as pilot:
        await search(pilot, "zebraf")
        before = found(pilot)
        path = next((tmp_path / ".claude/projects").glob(f"*/{ONE}.jsonl"))
        first, *_, last = map(json.loads, path.read_text().splitlines())
        message = {"role": "user", "content": "One more zebrafinch"}
        record = first | {"uuid": "new", "parentUuid": last["uuid"], "message": message}
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        await until(pilot, lambda: counts(pilot).startswith("9 hits in 2 sessions"))
        await until(pilot, lambda: any("One more zebrafinch" in line for line in found(pilot)))
        assert before[1] in found(pilot)


async def test_what_is_pasted_is_clean_and_one_line(tmp_path: Path) -> None:
    async with listed(tmp_path) as pilot:
        await pilot.press("/")
        pilot.app.post_message(Paste("gre\u202eet\x1b[31m\nings"))
        box = pilot.app.screen.query_one(Filter)
        await until(pilot, lambda: box.value.endswith(" ings"))
        assert box.value == clean("gre\u202eet\x1b[31m") + " ings"

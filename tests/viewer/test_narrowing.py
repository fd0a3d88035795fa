"""The list narrowed and ordered: by facets, by columns, and as it was left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input, Static

from schemas.costs.responses import Response, Source, Tally
from schemas.message import Flag, Kind
from schemas.usage import TokenUsage
from tests.support import Hand
from tests.viewer.shelf import DAY, HERE, HOUR, NOW, HandLibrary, summary
from tests.viewer.test_browser import drawn, names
from tests.waiting import until
from viewer.index.summary import Summary, summarise
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.filter import Filter
from viewer.screens.find import FindScreen
from viewer.screens.narrow import NarrowScreen
from viewer.screens.watch import WatchScreen
from viewer.sessions.freshness import Side
from viewer.usage.costs import SummaryCosts
from viewer.widgets.chrome import FacetLine
from viewer.widgets.sessions import ORDERS, Facets, SessionList, Shelf, cells, choices, passing, shown

COSTS = {"a": 0.05, "b": 0.5, "c": 20.0}


def cost_of(session: Summary) -> Tally | None:
    return Tally(cost=COSTS[session.id[0]]) if session.id[0] in COSTS else None


def shelf(sessions: list[Summary]) -> Shelf:
    made = Shelf(HERE)
    made.add(sessions)
    return made


def narrowed(made: Shelf, facets: Facets, order: str = "newest", words: str = "") -> list[str]:
    rows = made.rows(words, NOW, order, passing(facets, NOW, cost_of).values(), cost_of)
    return [row.summary.id for row in rows if row.summary]


SESSIONS = st.builds(
    lambda number, first, agent, project, ago, failure: summary(
        f"{first}{number}", provider=agent, root=project and f"/src/{project}", ago=ago, failure=failure
    ),
    st.integers(0, 99),
    st.sampled_from("abcd"),
    st.sampled_from(["claude", "codex"]),
    st.sampled_from(["shop", "web", ""]),
    st.floats(0, 60 * DAY),
    st.sampled_from(["", "error", "interrupted"]),
)
FACETS = st.builds(
    Facets,
    st.sampled_from(["", "claude", "gone"]),
    st.sampled_from(["", "shop"]),
    st.sampled_from(["", "today", "7d", "30d"]),
    st.just(False),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 10.0]),
)


@given(st.lists(SESSIONS, max_size=20), FACETS)
def test_each_choice_leaves_as_many_sessions_as_it_says(sessions: list[Summary], facets: Facets) -> None:
    made = shelf(sessions)
    for words in ("", "claude", "a"):
        for choice in choices(made.fitting(words), facets, NOW, cost_of):
            chosen = facets._replace(**{choice.facet: choice.value})
            assert len(narrowed(made, chosen, words=words)) == choice.sessions, (choice, words)


@given(st.lists(SESSIONS, max_size=20), FACETS, st.sampled_from(list(ORDERS)))
def test_an_order_keeps_every_session_and_sorts_by_its_figure(
    sessions: list[Summary], facets: Facets, order: str
) -> None:
    made = shelf(sessions)
    found = narrowed(made, facets, order)
    assert sorted(found) == sorted(narrowed(made, facets))
    if figure := ORDERS[order].figure:
        by_id = {session.id: session for session in made.sessions()}
        figures = [figure(by_id[name], cost_of(by_id[name])) for name in found]
        assert figures == sorted(figures, reverse=True)


def test_an_order_by_a_figure_has_one_heading_that_says_it() -> None:
    made = shelf([summary("few", exchanges=1), summary("many", exchanges=9, ago=90 * DAY, fork="few")])
    assert names(made.rows("", NOW, "length")) == ["[most exchanges first]", "many", "few"]


@pytest.mark.parametrize("kept", [None, 3, {"agent": 3, "live": "yes", "cost": True, "what": ""}])
def test_damaged_facets_narrow_nothing(kept: object) -> None:
    assert Facets.from_json(kept) == Facets()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("width", [20, 40, 72, 100])
def test_columns_fill_the_cells_they_say_and_the_one_of_the_order_is_there(width: int, order: str) -> None:
    columns = shown(width, order)
    assert cells(width, order) == sum(column.width + 2 * (column.name == "agent") for column in columns)
    assert order == "here" or width < 40 or order in [column.order for column in columns]


# -- how the last exchange ended -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "failure"),
    [
        ([], ""),
        ([(Kind.ERROR, Flag.ERROR)], "error"),
        ([(Kind.ERROR, Flag.ERROR), (Kind.NOTE, Flag(0))], "error"),
        ([(Kind.ERROR, Flag.ERROR), (Kind.TEXT, Flag(0))], ""),
        ([(Kind.TOOL, Flag.ERROR)], "error"),
        ([(Kind.TOOL, Flag.ERROR), (Kind.TOOL, Flag(0))], ""),
        ([(Kind.TOOL, Flag.INTERRUPTED)], "interrupted"),
        ([(Kind.INTERRUPT, Flag(0)), (Kind.TOOL, Flag.ERROR)], "interrupted"),
        ([(Kind.INTERRUPT, Flag(0))], "interrupted"),
        ([(Kind.INTERRUPT, Flag(0)), (Kind.PROMPT, Flag(0)), (Kind.TEXT, Flag(0))], ""),
        ([(Kind.ERROR, Flag.ERROR | Flag.REWOUND)], ""),
    ],
)
def test_how_the_last_exchange_ended(last: list[tuple[Kind, Flag]], failure: str) -> None:
    hand = Hand()
    hand.prompt("Fix the lamp")
    hand.text("Looking")
    for kind, flags in last:
        fields: dict[str, Any] = {"opener": "More"} if kind == Kind.PROMPT else {}
        hand.add(kind, flags=flags, **fields)
    assert summarise(hand.session, Side("x", 1, 1), None, 0).failure == failure


# -- on the screen -------------------------------------------------------------------------------------------------


def listed(*sessions: Summary, kept: dict[str, Any] | None = None) -> TurnlogApp:
    app = TurnlogApp()
    library = HandLibrary(list(sessions))
    for number, session in enumerate(sessions):
        tokens = TokenUsage(number * 1_000_000, 0, 0, 0)
        library.responses[session.path] = [
            Response(Source("claude", "s", "p", "t", None), "claude", "claude-opus-5", NOW, tokens, number)
        ]
    app.start_with(BrowserScreen(library, HERE, lambda: NOW, kept=kept))  # type: ignore[arg-type]
    return app


def titles(app: TurnlogApp) -> list[str]:
    return [line[3:].split("  ")[0] for line in drawn(app) if "Title" in line]


def facet_line(app: TurnlogApp) -> str:
    return str(app.screen.query_one(FacetLine).render())


async def choose(pilot: Pilot[None], words: str) -> None:
    await pilot.press("tab")
    assert isinstance(pilot.app.screen, NarrowScreen)
    await pilot.press(*words, "enter")
    await pilot.pause()


async def test_a_key_narrows_by_what_is_typed_and_escape_takes_it_back() -> None:
    app = listed(summary("a"), summary("b", provider="codex"), summary("c", provider="codex", ago=9 * DAY))
    async with app.run_test(size=(100, 30)) as pilot:
        assert facet_line(app) == "agent all · any time · this directory first"
        await choose(pilot, "codex")
        await choose(pilot, "7")
        assert facet_line(app) == "codex · last 7 days · this directory first"
        assert titles(app) == ["Title b"]
        await pilot.press("z", "z")
        await pilot.press("escape")
        await until(pilot, lambda: titles(app) == ["Title b"])  # the words go first
        await choose(pilot, "7")
        assert titles(app) == ["Title b", "Title c"], "what was chosen is taken back"
        await pilot.press("escape")
        await until(pilot, lambda: titles(app) == ["Title a", "Title b", "Title c"])


async def test_clicks_narrow_and_order() -> None:
    few, many = summary("few", exchanges=1), summary("many", exchanges=9, ago=2 * HOUR)
    app = listed(few, many)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.click(SessionList, offset=(drawn(app)[0].index("exch.") + 2, 0))
        await pilot.pause()
        assert titles(app) == ["Title many", "Title few"]
        assert facet_line(app).endswith("most exchanges first")
        await pilot.click(FacetLine, offset=(facet_line(app).index("any time") + 2, 0))
        await pilot.pause()
        assert isinstance(app.screen, NarrowScreen)
        await pilot.press("enter")  # at the date, where it was clicked: today
        await pilot.pause()
        assert facet_line(app).startswith("agent all · today · ")


async def test_costs_are_worked_out_for_what_is_seen_and_for_all_only_where_the_order_needs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: set[str] = set()
    original = SummaryCosts.work_out

    def counted(self: SummaryCosts, summaries: list[Summary], seconds: float) -> None:
        asked.update(session.id for session in summaries)
        original(self, summaries, seconds)

    monkeypatch.setattr(SummaryCosts, "work_out", counted)
    app = listed(*(summary(f"s{number:02}", ago=number * HOUR) for number in range(60)))
    async with app.run_test(size=(150, 20)) as pilot:
        await until(pilot, lambda: "$5.00" in drawn(app)[2])
        assert "s00" in asked and len(asked) <= 20
        await pilot.press("ctrl+s", "ctrl+s", "ctrl+s")
        await until(pilot, lambda: titles(app)[0] == "Title s59")
        assert "$295.00" in drawn(app)[1]
        assert len(asked) == 60


async def test_what_failed_is_marked_and_said() -> None:
    app = listed(summary("a", failure="interrupted"), summary("b", ago=2 * HOUR))
    async with app.run_test(size=(140, 30)) as pilot:
        await pilot.pause()
        assert drawn(app)[1].startswith("▌! Title a") and drawn(app)[2].startswith("   Title b")
        assert "! its last exchange was interrupted" in str(app.screen.query_one("#preview", Static).content)
        await choose(pilot, "failed")
        assert titles(app) == ["Title a"]


async def test_the_list_comes_back_as_it_was_left_in_the_same_directory() -> None:
    kept: dict[str, Any] = {}
    sessions = [summary(name, provider=agent, ago=ago) for name, agent, ago in (("a", "pi", 1), ("b", "codex", 2))]
    sessions += [summary(f"c{number}", provider="codex", ago=HOUR + number) for number in range(9)]
    app = listed(*sessions, kept=kept)
    async with app.run_test(size=(100, 30)) as pilot:
        await choose(pilot, "codex")
        await pilot.press("ctrl+s", *"title", "down", "down")
    app = listed(*sessions, kept=kept)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert facet_line(app) == "esc clears · codex · any time · newest first"
        assert titles(app)[:2] == ["Title b", "Title c0"]
        assert drawn(app)[3].startswith("▌  Title c1")
    app = listed(*sessions, kept=kept | {"directory": "/elsewhere"})
    async with app.run_test(size=(100, 30)):
        assert titles(app)[0] == "Title a"
    assert kept["place"] == str(Path("nowhere/c1.jsonl"))


@pytest.mark.parametrize("how", ["enter", "read", "taken back"])
async def test_words_that_no_title_has_yet_stay_in_the_list_while_titles_are_read(how: str) -> None:
    app = listed(summary("a1"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: len(titles(app)) == 1)
        screen = app.screen
        assert isinstance(screen, BrowserScreen)
        await until(pilot, lambda: screen._looked)
        screen._indexed = (1, 10)
        await pilot.press(*"zebra")
        await pilot.pause()
        assert "being read   zebra" in str(app.screen.query_one("#empty", Static).content)
        if how == "enter":
            await pilot.press("enter")
        else:
            await pilot.press(*["backspace"] * (how == "taken back"))
            screen._looked_through(0.1)
        await until(pilot, lambda: isinstance(app.screen, FindScreen) or how == "taken back")
        assert isinstance(app.screen, FindScreen) == (how != "taken back")


@pytest.mark.parametrize(("keys", "left"), [("a", "a"), ("right a", "b1a"), ("backspace", "")])
async def test_what_is_typed_takes_the_place_of_the_filter_of_the_last_run(keys: str, left: str) -> None:
    kept = {"directory": str(HERE), "filter": "b1"}
    app = listed(summary("a1"), summary("b1"), kept=kept)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: len(titles(app)) == 1)
        await pilot.press(*keys.split())
        assert app.screen.query_one(Input).value == left


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_a_filter_of_the_last_run_is_seen_goes_with_escape_and_lets_the_search_open(
    size: tuple[int, int],
) -> None:
    kept = {"directory": str(HERE), "filter": "b1"}
    app = listed(summary("a1"), summary("b1"), kept=kept)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: len(titles(app)) == 1)
        assert facet_line(app).startswith("esc clears · ")
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.screen, FindScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BrowserScreen))
        await pilot.press("escape")
        await until(pilot, lambda: len(titles(app)) == 2)
        assert facet_line(app).startswith("agent all")
        await pilot.press("b", "slash")
        assert app.screen.query_one(Filter).value == "b/"


async def test_going_back_once_more_than_there_are_screens_types_nothing() -> None:
    app = listed(summary("a1"), summary("q1"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: len(titles(app)) == 2)
        box = app.screen.query_one(Filter)
        await pilot.press("q")
        assert box.value == "q"  # the list is where letters go
        await pilot.press("backspace", "ctrl+l")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, BrowserScreen))
        await pilot.press("q")
        assert box.value == "" and any("ctrl+q leaves" in note.message for note in app._notifications)
        await pilot.press("q", "1")
        assert box.value == "q1"

"""What sessions cost on the screens: exchange by exchange, with what has no price, and when prices come late."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.facts import cost_fact
from schemas.costs.prices import Prices
from schemas.costs.responses import Response, Source, Tally, responses, sum_of
from schemas.session import Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage
from tests.support import Hand
from tests.viewer.shelf import HandLibrary, summary
from tests.viewer.transcripts import lines, transcript
from tests.waiting import LIMIT, until
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.records import LookupScreen, why_screen
from viewer.usage import costs
from viewer.usage.costs import SessionCosts, _Shared, group_cost, summary_costs
from viewer.usage.family import FamilyUsage
from viewer.widgets.chrome import TitleBar
from viewer.widgets.row_list import RowsPane

DEAR = TokenUsage(1_000_000, 0, 0, 0)
OPUS, NOBODY = "claude-opus-5", "model-of-nobody"


@pytest.fixture
def not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Shared, "prices", None)


@pytest.fixture
def gate(not_loaded: None, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Prices that a screen asks for come once it is set, not before: a busy machine may have them early or late."""
    gate = threading.Event()
    monkeypatch.setattr("viewer.screens.figures.load", lambda: gate.wait(LIMIT) and costs.load())
    return gate


def talk(*models: str, usage: TokenUsage = DEAR) -> Hand:
    """An exchange of a response by each model."""
    hand = Hand()
    return more(hand, *models, usage=usage)


def more(hand: Hand, *models: str, usage: TokenUsage = DEAR) -> Hand:
    hand.prompt("Fix the lamp")
    for model in models:
        hand.text("done", model=model, usage=usage)
    return hand


def indexed(key: int, model: str, member: int = 0) -> Response:
    source = Source("claude", "a", "/a.jsonl", "a", None)
    return Response(source, "claude", model, 1_780_000_000.0, DEAR, key, member=member)


def said(hand: Hand, exchange: int = 0) -> str | None:
    return SessionCosts(hand.session).of(exchange)


def finished(hand: Hand) -> SessionCosts:
    session_costs = SessionCosts(hand.session)
    list(session_costs.run())
    return session_costs


def test_an_exchange_says_what_it_cost() -> None:
    dollars = Prices().cost("claude", OPUS, next(responses(talk(OPUS).session)).call, None)
    assert dollars and said(talk(OPUS, OPUS)) == f"${2 * dollars:.2f}"


def test_what_has_no_price_is_never_free() -> None:
    assert said(talk(NOBODY)) == said(talk()) == ""
    assert (said(talk(OPUS, NOBODY)) or "").endswith("+")
    assert said(talk("<synthetic>", usage=TokenUsage(0, 0, 0, 0))) == "$0.00"
    assert said(talk(OPUS, "", usage=TokenUsage())) == "", "no figures, no cost"


_MODELS = st.lists(st.lists(st.sampled_from([OPUS, NOBODY, "gpt-5", ""]), max_size=4), min_size=1, max_size=4)


@given(_MODELS)
def test_the_screens_say_what_usage_says(models: list[list[str]]) -> None:
    hand = Hand()
    for exchange in models:
        more(hand, *exchange)
    tally, prices = Tally(), Prices()
    for response in responses(hand.session):
        tally.add(response.price(prices))
    total = finished(hand).total
    assert total is not None
    assert total.unpriced == tally.unpriced
    assert total.cost == pytest.approx(tally.cost)
    assert cost_fact(total) == cost_fact(tally)


def test_costs_follow_what_is_read() -> None:
    hand = talk(OPUS)
    session_costs = finished(hand)
    one = session_costs.of(0)
    hand.text("more", usage=DEAR)
    assert session_costs.of(0) == one, "nobody said that it changed"
    session_costs.changed([0])
    assert session_costs.of(0) == said(hand) != one
    list(session_costs.run())
    assert session_costs.total == finished(hand).total


def test_a_response_that_moved_on_is_counted_once() -> None:
    hand = more(talk(OPUS), OPUS)
    session_costs = finished(hand)
    last, record = hand.session.exchanges[0].groups[0], hand.store.add({})
    hand.session.extend_group(last, DEAR, record)
    session_costs.changed([1])
    list(session_costs.run())
    assert session_costs.of(0) == ""
    assert session_costs.total == finished(hand).total


def test_a_session_that_was_read_anew_has_its_own_costs() -> None:
    session_costs = finished(talk(OPUS))
    old = session_costs.total
    session_costs.begin(talk(NOBODY).session)
    assert session_costs.of(0) == ""
    assert session_costs.total == old, "stands until the new one is worked out"
    list(session_costs.run())
    assert session_costs.total is not None
    assert (session_costs.total.cost, session_costs.total.unpriced) == (None, {NOBODY})


def test_a_long_exchange_keeps_nobody_waiting() -> None:
    hand = talk(*[OPUS] * 300, usage=TokenUsage(1000))
    session_costs = SessionCosts(hand.session)
    assert session_costs.of(0) is None and session_costs.late == {0}
    assert sum(1 for _ in session_costs.run()) == 300, "it gives way after each response"
    assert session_costs.of(0) == cost_fact(sum_of(group_cost(hand.session, group) for group in range(300)))


def test_no_cost_is_known_before_prices_are_loaded(not_loaded: None) -> None:
    assert said(talk(OPUS)) is None
    costs.load()
    assert said(talk(OPUS))


def test_subagents_are_priced_when_prices_come(not_loaded: None) -> None:
    hand, family = talk(OPUS), FamilyUsage()
    hand.session.subagents.append(Subagent("a", session=talk(OPUS, NOBODY, usage=DEAR + DEAR).session))
    list(family.run(hand.session))
    assert family.subagents == 1 and family.cost is None
    costs.load()
    list(family.run(hand.session))
    assert family.cost == finished(talk(OPUS, NOBODY, usage=DEAR + DEAR)).total


def test_the_index_tells_a_session_from_its_subagents() -> None:
    one = summary("a")
    one.usage, one.usage_with_subagents, one.subagents = DEAR + DEAR, DEAR + DEAR + DEAR, 1
    models = (OPUS, OPUS, NOBODY)
    rows = [indexed(number, model, number // 2) for number, model in enumerate(models)]
    own, everything = summary_costs(one, rows)
    assert own == finished(talk(OPUS, OPUS)).total
    assert (everything.cost, everything.unpriced, everything.responses) == (own.cost, {NOBODY}, 3)


def test_screens_start_without_the_prices() -> None:
    code = (
        "import viewer.screens.app, viewer.screens.transcript, viewer.screens.browser, viewer.usage.costs, sys\n"
        "print([name for name in ('genai_prices', 'pydantic', 'schemas.costs.prices') if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"


# -- on the screen ---------------------------------------------------------------------------------------------------


async def test_the_header_and_the_totals_say_it() -> None:
    async with transcript(talk(OPUS)) as (pilot, view, _):
        await until(pilot, lambda: lines(view)[0].endswith("1M · $5.00"))
        await until(
            pilot, lambda: pilot.app.screen.query_one("#status", TitleBar).left.plain.startswith("1M tokens · $5.00")
        )


async def test_a_model_without_a_price_has_no_cost() -> None:
    async with transcript(talk(NOBODY)) as (pilot, view, _):
        await pilot.pause(0.4)
        assert lines(view)[0].endswith("1M")
        assert "$" not in pilot.app.screen.query_one("#status", TitleBar).left.plain


async def test_costs_come_when_prices_do_and_nothing_moves(gate: threading.Event) -> None:
    async with transcript(more(talk(OPUS), NOBODY)) as (pilot, view, _):
        before = lines(view)
        assert not any("$" in line for line in before)
        gate.set()
        await until(pilot, lambda: "$" in lines(view)[0])
        after = lines(view)
        assert after[0].endswith(" · $5.00")
        assert [before[0], before[1]] == [after[0].removesuffix(" · $5.00"), after[1]]


async def test_what_was_looked_up_before_the_prices_came_is_filled_in(gate: threading.Event) -> None:
    async with transcript(talk(OPUS)) as (pilot, _, _):
        await pilot.press("w")
        pane = pilot.app.screen.query_one(RowsPane)
        assert "1,000,000 tokens" in pane.text and "$" not in pane.text
        await until(pilot, lambda: pane.virtual_size.height)
        before = pane.virtual_size.height
        gate.set()
        await until(pilot, lambda: "$" in pane.text)
        assert pane.text.count("$5.00") == 4, "the exchange's and the session's, that of its input, and of its call"
        # It grows with what there is to say; on a busy machine a moment after the words are there.
        await until(pilot, lambda: before < pane.virtual_size.height)


async def test_a_growing_exchange_costs_more() -> None:
    async with transcript(talk(OPUS), follow=True) as (pilot, view, written):
        written.write(lambda hand: hand.text("more", usage=DEAR))
        await until(pilot, lambda: lines(view)[0].endswith("2M · $10.00"))
        await until(pilot, lambda: "2M tokens · $10.00" in pilot.app.screen.query_one("#status", TitleBar).left.plain)


async def test_another_session_in_its_place_has_its_own_costs() -> None:
    async with transcript(talk(OPUS)) as (pilot, view, written):
        await until(pilot, lambda: lines(view)[0].endswith("1M · $5.00"))
        written.restart(talk(OPUS, OPUS, NOBODY))
        await until(pilot, lambda: lines(view)[0].endswith("3M · $10.00+"))
        await until(pilot, lambda: "3M tokens · $10.00+" in pilot.app.screen.query_one("#status", TitleBar).left.plain)


def why(hand: Hand, message: int) -> str:
    screen: LookupScreen = why_screen(hand.session, message, None, None, finished(hand))
    return "\n".join(row.text for row in screen.make(120))


def test_why_says_each_cost_and_what_has_no_price() -> None:
    text = why(talk(OPUS, NOBODY), 1)
    assert "1,000,000 tokens: in 1,000,000 · cache read 0 · cache write 0 · out 0 · $5.00\n" in text
    assert text.count("$5.00+") == 2, "of the exchange and of the session"
    assert f"no price for {NOBODY}: not in the cost" in text


def test_why_says_costs_by_kind_and_the_dearest_calls_first() -> None:
    hand = Hand()
    hand.prompt("Fix the lamp")
    for fresh in (10_000, 1_000_000, 100_000):
        hand.text("done", usage=TokenUsage(fresh, 100_000, 0, 0), model=OPUS)
    text = why(hand, 1)
    assert "out $7.50 · in $5.55" in text
    assert [line.split()[1] for line in text.splitlines() if line.startswith("#1.")] == ["$7.50", "$3.00", "$2.55"]


def test_why_says_nothing_of_costs_where_there_are_none() -> None:
    hand = Hand()
    hand.prompt("Fix the lamp")
    assert hand.session.messages.group[0] == NONE
    assert "ost" not in why(hand, 0)


async def test_the_preview_says_it(tmp_path: Path) -> None:
    one = summary("a")
    one.usage = one.usage_with_subagents = DEAR
    library = HandLibrary([one])
    library.responses[one.path] = [indexed(1, OPUS)]
    app = TurnlogApp()
    app.start_with(BrowserScreen(library, tmp_path, lambda: 1_780_000_000.0))  # type: ignore[arg-type]
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "1M · $5.00" in str(app.screen.query_one("#preview").render()))

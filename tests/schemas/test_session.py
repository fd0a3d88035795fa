from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, Part, SpanRole, Tool
from schemas.session import Session
from schemas.usage import TokenUsage, total_usage
from tests.support import START, Hand


def test_messages_before_the_first_prompt_are_a_preamble():
    hand = Hand()
    hand.note(Kind.CONTEXT, "instructions", "be kind")
    hand.prompt("go")
    hand.text("ok")
    session = hand.session
    assert [(e.opener, e.start, e.prompt) for e in session.exchanges] == [(None, 0, ""), (Kind.PROMPT, 1, "go")]
    assert [list(session.message_range(n)) for n in (0, 1)] == [[0], [1, 2]]
    assert [m.text for m in session.exchange_messages(1)] == ["go", "ok"]
    assert session.messages.has(1, Flag.OPENER)
    assert [e.index for e in session.live_exchanges] == [1]


def test_times_and_tools_are_counted():
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Bash", "shell", "t", {}))
    exchange = hand.session.exchanges[0]
    assert (exchange.started, exchange.ended, exchange.duration, exchange.tools) == (START + 5, START + 10, 5, 1)
    exchange.seconds = 2.5
    assert exchange.duration == 2.5
    assert (hand.session.created, hand.session.updated) == (START + 5, START + 10)


LATER = 10_000.0
"""Seconds after the answer."""


@pytest.mark.parametrize("kind", Kind)
def test_an_exchange_lasts_until_the_last_thing_done_for_it(kind: Kind) -> None:
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Bash", "shell", "t", {}))
    hand.text("done")
    hand.now += LATER
    hand.note(kind, "later")
    works = kind in (Kind.TEXT, Kind.THINKING, Kind.TOOL, Kind.INTERRUPT, Kind.ERROR)
    assert hand.session.exchanges[0].duration == (10 + LATER + 5 if works else 10)
    assert hand.session.updated == START + 15 + LATER + 5  # the session itself went on


def test_what_a_command_prints_belongs_to_it_and_ends_nothing_else():
    hand = Hand()
    hand.add(Kind.COMMAND, opener="!make", parts=[Part("text", "!make")])
    hand.now += 60
    hand.note(Kind.OUTPUT, "output", "made")
    hand.now += LATER
    hand.add(Kind.COMMAND, parts=[Part("text", "/exit")])
    hand.note(Kind.OUTPUT, "output", "Bye!")
    assert hand.session.exchanges[0].duration == 65


def test_a_tools_result_is_work_whenever_it_comes():
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Bash", "shell", "t", {}))
    hand.session.touch(hand.session.exchanges[0], START + 500)
    assert hand.session.exchanges[0].duration == 495


def test_a_group_counts_where_it_ends():
    hand = Hand()
    hand.prompt("one")
    hand.text("a", usage=TokenUsage(output=3))
    hand.prompt("two")
    session = hand.session
    session.extend_group(0, TokenUsage(output=9), hand.store.add({}))
    assert [session.exchange_usage(n) for n in (0, 1)] == [None, TokenUsage(output=9)]
    assert session.usage() == TokenUsage(output=9)
    assert len(session.group_spans(0)) == 2


def test_splitting_an_exchange_moves_what_stands_behind():
    hand = Hand()
    hand.prompt("one")
    hand.tool(Tool("Read", "read", "t0", {}), usage=TokenUsage(output=1))
    command = hand.add(Kind.COMMAND, parts=[Part("text", "/init")])
    hand.tool(Tool("Bash", "shell", "t", {}), usage=TokenUsage(output=2))
    session = hand.session
    session.split_exchange(command, Kind.COMMAND, "/init")
    assert [list(session.message_range(n)) for n in (0, 1)] == [[0, 1], [2, 3]]
    assert list(session.messages.exchange) == [0, 0, 1, 1]
    assert [e.tools for e in session.exchanges] == [1, 1]
    assert [session.exchange_usage(n) for n in (0, 1)] == [TokenUsage(output=1), TokenUsage(output=2)]
    assert [(e.started, e.ended) for e in session.exchanges] == [(START + 5, START + 10), (START + 15, START + 20)]
    assert session.messages.has(command, Flag.OPENER)


def test_models_are_kept_once_and_clean():
    session = Session("p", "P", Path("x"), "i")
    assert session.model_index(None) == session.model_index("") == 0
    assert session.model_index("a\x1b[2J") == session.model_index("a") == 1
    assert session.models == ["", "a"]


def test_every_message_knows_its_records():
    hand = Hand()
    hand.prompt("go")
    index = hand.tool(Tool("Bash", "shell", "t", {}))
    hand.result_span(index)
    spans = hand.session.message_spans(index)
    assert [span.role for span in spans] == [SpanRole.BODY, SpanRole.RESULT]
    assert hand.session.record(spans[1]) == {"result_of": index}
    assert hand.session.raw(spans[1]) == b'{"result_of":1}'


def test_a_session_nobody_reads_says_so():
    session = Session("p", "P", Path("x"), "i")
    with pytest.raises(LookupError):
        session.message(0)
    assert session.usage() is None
    assert session.live_exchanges == []


@given(st.lists(st.sampled_from(["prompt", "text", "usage", "extend", "split"]), max_size=25))
def test_the_laws(steps):
    """Exchanges are runs of neighbours, and each group counts exactly once, whatever came in whatever order."""
    hand = Hand()
    session = hand.session
    for number, step in enumerate(steps):
        if step == "prompt":
            hand.prompt(str(number))
        elif step == "text":
            hand.text(str(number))
        elif step == "usage":
            hand.text(str(number), usage=TokenUsage(output=number + 1))
        elif step == "extend" and session.groups.ids:
            session.extend_group(0, TokenUsage(output=number + 1), hand.store.add({}))
        elif step == "split" and session.exchanges and len(session.messages) > session.exchanges[-1].start + 1:
            session.split_exchange(len(session.messages) - 1, Kind.COMMAND, "x")
    rows = session.messages
    assert [i for n in range(len(session.exchanges)) for i in session.message_range(n)] == list(range(len(rows)))
    assert all(rows.exchange[i] == n for n in range(len(session.exchanges)) for i in session.message_range(n))
    assert sorted(g for e in session.exchanges for g in e.groups) == list(range(len(session.groups)))
    assert total_usage(session.exchange_usage(n) for n in range(len(session.exchanges))) == session.usage()

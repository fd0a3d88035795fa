"""Usage in documents of other programs: no figure counts twice, and none is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.session_data_read import read_document
from schemas.interchange.session_data_usage import own_usage, read_usage
from schemas.opening import read_session
from schemas.session import Session
from schemas.usage import TokenUsage, total_usage
from tests.schemas.session_documents import USER, messages, read, written

SHARED = Path(__file__).parents[2] / "../shared"
CODEX = {"id": "codex-cli", "name": "Codex CLI", "version": "unknown"}
USAGE = {"inputTokens": 6, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 7}


def reply(usage: object, **more: Any) -> dict[str, Any]:
    return {"role": "agent", "model": "m", "content": [{"type": "text", "text": "x"}], "usage": usage} | more


def without(*keys: str) -> dict[str, Any]:
    return {key: count for key, count in USAGE.items() if key not in keys}


def kept(session: Session) -> TokenUsage | None:
    """The total after the document was written and read again, in which it must be the same."""
    assert read_document(written(session), session.path).usage() == session.usage()
    return session.usage()


def test_usage_that_claude_repeats_counts_once():
    lines = [USAGE, USAGE | {"outputTokens": 9}, USAGE | {"cacheReadInputTokens": 200}]
    session = read(USER, *map(reply, lines))
    assert len(session.groups) == 2
    assert kept(session) == TokenUsage(12, 14, 300, 14)


@pytest.mark.parametrize(
    "left_out",
    [
        ("cacheCreationInputTokens",),
        ("cacheReadInputTokens",),
        ("cacheCreationInputTokens", "cacheReadInputTokens"),
        ("inputTokens",),
    ],
)
def test_it_does_so_whichever_figures_are_zero_and_therefore_not_written(left_out):
    usage = without(*left_out)
    session = read(USER, reply(usage), reply(usage | {"outputTokens": 9}), reply(usage | {"outputTokens": 9}))
    assert len(session.groups) == 1 and session.groups.last[0] == 3
    assert kept(session) == read_usage(usage | {"outputTokens": 9})


def _some_left_out(usage: dict[str, int]) -> st.SearchStrategy[dict[str, int]]:
    """The usage as a writer may put it that leaves out zeros now and then."""
    zeros = st.sets(st.sampled_from([key for key in USAGE if not usage.get(key)] or [""]))
    return zeros.map(lambda gone: {key: usage.get(key, 0) for key in USAGE if key not in gone})


@given(data=st.data())
def test_zero_and_not_there_are_the_same_however_they_alternate(data):
    usage = {key: data.draw(st.sampled_from([0, 7])) for key in USAGE if key != "inputTokens"} | {"inputTokens": 3}
    outputs = data.draw(st.lists(st.sampled_from([0, usage["outputTokens"]]), min_size=1, max_size=5))
    lines = [data.draw(_some_left_out(usage | {"outputTokens": count})) for count in (usage["outputTokens"], *outputs)]
    session = read(USER, *map(reply, lines))
    total = kept(session)
    assert len(session.groups) == 1 and total is not None
    figures = (total.input, total.output, total.cache_read, total.cache_write)
    assert [count or 0 for count in figures] == [usage[key] for key in USAGE]


@pytest.mark.parametrize(
    "second",
    [
        reply(USAGE, model="other"),
        reply(USAGE | {"outputTokens": 4}),
        reply(USAGE | {"inputTokens": 7}),
        reply(without("cacheCreationInputTokens")),
    ],
)
def test_another_reply_counts_by_itself(second):
    assert len(read(USER, reply(USAGE), second).groups) == 2


@pytest.mark.parametrize("between", [USER, reply(None), reply(USAGE | {"inputTokens": 7})])
def test_only_neighbours_are_lines_of_one_reply(between):
    session = read(USER, reply(USAGE), between, reply(USAGE))
    assert session.usage() == total_usage(read_usage(m.get("usage")) for m in (reply(USAGE), between, reply(USAGE)))


def test_an_exchange_ends_a_reply():
    exchanges = [{"exchangeId": str(n), "messages": [reply(USAGE)]} for n in range(2)]
    assert len(read(exchanges=exchanges).groups) == 2


def test_a_subagents_messages_between_the_lines_do_not_part_them():
    other = reply(USAGE | {"inputTokens": 1}, metadata={"isSidechain": True})
    session = read(USER, reply(USAGE), other, reply(USAGE), other)
    assert kept(session) == TokenUsage(7, 10, 200, 14)


@pytest.mark.parametrize("provider", ["codex-cli", "codex", "gemini-cli", "gemini", "cursor", "droid-cli"])
def test_agents_that_count_a_call_once_are_taken_at_their_word(provider):
    usage = {"inputTokens": 10, "outputTokens": 5}
    said = {"id": provider, "name": provider, "version": "unknown"}
    assert kept(read(USER, reply(usage), reply(usage), provider=said)) == TokenUsage(20, 10)


def test_a_thousand_lines_of_one_reply_are_one():
    session = read(USER, *[reply(USAGE)] * 1000)
    assert len(session.group_spans(0)) == 1000 and session.usage() == read_usage(USAGE)


count = st.integers(0, 50)


@st.composite
def replies(draw) -> list[list[dict[str, int]]]:
    """What a model's replies say of their usage, a figure that is zero left out; each one has read those before it."""
    said: list[list[dict[str, int]]] = []
    fresh, read_, cached = 1, 0, 0
    for _ in range(draw(st.integers(1, 6))):
        grown = draw(st.sampled_from(["input", "read", "write"]))
        fresh, read_ = fresh + (grown == "input"), read_ + (grown == "read")
        cached = cached + 1 if grown == "write" else cached
        outputs = sorted(draw(st.lists(count, min_size=1, max_size=4)))
        usage = {"inputTokens": fresh, "cacheReadInputTokens": read_, "cacheCreationInputTokens": cached}
        said.append([{k: n for k, n in (usage | {"outputTokens": output}).items() if n} for output in outputs])
    return said


@given(replies())
def test_each_reply_of_claude_counts_once_and_each_call_of_codex(said):
    lines = [usage for lines in said for usage in lines]
    claude = read(USER, *map(reply, lines))
    assert kept(claude) == total_usage(read_usage(lines[-1]) for lines in said)
    assert len(claude.groups) == len(said)
    codex = read(USER, *map(reply, lines), provider=CODEX)
    assert kept(codex) == total_usage(read_usage(usage) for usage in lines)


def test_each_agents_counting_is_understood():
    codex = {"inputTokens": 10, "cachedInputTokens": 7, "outputTokens": 5, "reasoningOutputTokens": 2}
    assert read_usage(codex) == TokenUsage(3, 5, 7, None, 2)
    assert own_usage("codex", TokenUsage(3, 5, 7, None, 2)) == codex
    written_too = codex | {"inputTokens": 14}  # what was put into the cache is part of all input
    assert own_usage("codex", TokenUsage(3, 5, 7, 4, 2)) == written_too
    gemini = {"inputTokens": 10, "cachedTokens": 7, "outputTokens": 3, "thoughtTokens": 2, "toolTokens": 4}
    assert read_usage(gemini) == TokenUsage(7, 5, 7, None, 2)
    assert read_usage({"inputTokens": "many"}) is None
    assert read_usage({}) is None
    assert read_usage(7) is None


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": 1200, "outputTokens": 3, "cachedTokens": 7, "thoughtTokens": 2, "toolTokens": 10},
        {"inputTokens": 5, "outputTokens": 3, "cachedTokens": 7},
        {"inputTokens": 9, "outputTokens": 3, "cachedTokens": 7, "thoughtTokens": 2},
    ],
)
def test_geminis_figures_are_written_as_they_were_told(usage):
    session = read(USER, reply(usage), provider={"id": "gemini", "name": "Gemini CLI", "version": "unknown"})
    out = written(session)
    assert messages(out)[1]["usage"] == usage
    assert written(read_document(out, session.path)) == out
    assert kept(session) == read_usage(usage)


def test_what_is_no_figure_is_kept_beside():
    odd = [{"inputTokens": "many"}, {"inputTokens": 5, "costUsd": 0.1}, "much"]
    session = read(USER, *map(reply, odd))
    out = written(session)
    malformed = [message["metadata"].get("malformed") for message in messages(out)[1:]]
    assert malformed == [{"usage": {"inputTokens": "many"}}, {"usage": {"costUsd": 0.1}}, {"usage": "much"}]
    assert written(read_document(out, session.path)) == out


def test_repeated_message_ids_lose_no_usage():
    session = read(USER, *[reply({"inputTokens": 5}, id="a")] * 2, provider=CODEX)
    assert kept(session) == TokenUsage(10)


GOLDEN = SHARED / "goldens/specstory/golden/claude-convo.session.json"


@pytest.mark.skipif(not GOLDEN.exists(), reason="the shared goldens are not here")
def test_the_repeated_usage_of_the_producer_adds_up_to_the_truth():
    assert kept(read_session(GOLDEN)) == TokenUsage(30, 5275, 590_265, 15_734)

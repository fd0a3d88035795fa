"""Inputs on which a release was wrong, read where they lie: what a reader sees of each, and what was spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.costs.prices import Prices
from schemas.costs.responses import responses
from schemas.opening import read_session
from tests.schemas.conformance import described, family_of
from tests.support import usage_with_subagents

SHARED = Path(__file__).parents[2] / "../shared"
pytestmark = pytest.mark.skipif(not (SHARED / "faults").exists(), reason="no shared files here")
BESIDE = "f17-btw/claude/projects/-home-kim-mill/7c1f1a00-4b1d-4f0e-9a55-000000000017.jsonl"
RESUMED = "f23-agent-resumed/claude/projects/-home-kim-mill/7c21ea00-4b1d-4f0e-9a55-000000000062.jsonl"

# What must be there, of `KIND text`, in this order among others.
SEEN: dict[str, list[str]] = {
    "faults/f18-queued-and-lost/lost-dequeue.jsonl": ["PROMPT q", "STEER why so long", "TEXT a"],
    "faults/f18-queued-and-lost/lost-enqueue.jsonl": ["PROMPT q", "TEXT a", "STEER and then push please"],
    "faults/f19-bang-entities/bang-entities.jsonl": ["COMMAND ! cat f", "OUTPUT a=1&b=2 <x>"],
    "faults/f25-odd-rows/str.jsonl": ["PROMPT LOST-TEXT"],
    "faults/f25-odd-rows/str2.jsonl": ["TEXT LOST-TEXT", "PROMPT LOST-TWO"],
    "faults/f25-odd-rows/early.jsonl": ["PROMPT Grow pears"],
    "faults/f09-stream-delta-without-type/s.jsonl": ["UNKNOWN"],
    "lab/faults/claude-3-bash-answered.jsonl": ["COMMAND ! echo typed by hand", "OUTPUT typed by hand"],
}
# Input, cache read, cache write, output: of the session and its subagents.
SPENT: dict[str, tuple[int | None, ...]] = {
    "faults/f14-costs-understated/advisor.jsonl": (150_004, None, None, 7_500),
    f"faults/{BESIDE}": (107, 1_100, 0, 13),
    "faults/f25-odd-rows/nine.jsonl": (14, 0, 0, 6),
    "lab/faults/claude-4-compaction-in-cost-state.jsonl": (21_690, 411_570, 17_910, 3_268),
    "lab/faults/claude-6-stream-resumed-totals.jsonl": (2_425, 47_525, 1_375, 245),
    "lab/faults/claude-8-stream-subagent-prompt.jsonl": (12_060, 234_180, 7_740, 1_440),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_is_seen(name: str) -> None:
    seen = iter(described(read_session(SHARED / name)))
    assert all(any(line.startswith(wanted) for line in seen) for wanted in SEEN[name])


@pytest.mark.parametrize("name", SPENT)
def test_what_was_spent(name: str) -> None:
    usage = usage_with_subagents(read_session(SHARED / name))
    assert usage is not None and (usage.input, usage.cache_read, usage.cache_write, usage.output) == SPENT[name]


def test_what_changes_the_price_of_a_call_is_priced_or_has_no_price() -> None:
    def costs(name: str) -> list[float | None]:
        session = read_session(SHARED / "faults/f14-costs-understated" / name)
        return [Prices().cost(one.provider, one.model, one.call, one.time) for one in responses(session)]

    assert costs("fast.jsonl") == [None]
    assert len(costs("advisor.jsonl")) == 2 and None not in costs("advisor.jsonl")


def test_bookkeeping_is_hidden_and_opens_no_exchange() -> None:
    for name in ("claude-1-unknown-records", "claude-2-first-record-tools-used"):
        session = read_session(SHARED / f"lab/faults/{name}.jsonl")
        assert not session.unknown and session.exchanges[0].opener is not None


def test_what_ctrl_c_ends_is_interrupted_and_not_denied() -> None:
    session = read_session(SHARED / "lab/faults/claude-5-interrupted-tool-called-denied.jsonl")
    tools = [tool for i in range(len(session.messages)) if (tool := session.message(i).tool) is not None]
    assert [tool.status for tool in tools] == ["interrupted"]


def test_a_subagent_that_is_resumed_is_led_to_twice() -> None:
    session = read_session(SHARED / "faults" / RESUMED)
    tools = [tool for i in range(len(session.messages)) if (tool := session.message(i).tool) is not None]
    assert [(tool.name, tool.subagent) for tool in tools] == [
        ("Agent", "a4155c61ac380781"),
        ("SendMessage", "a4155c61ac380781"),
    ]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("f21-mcp-blocks/mcp-blocks.jsonl", ["r https://example.org/r", "file:///a", "inner text"]),
        ("f26-spilled/agent.jsonl", ["AGENT-FINAL"]),
        ("f26-spilled/bash.jsonl", ["PREVIEW-TEXT", "1,258,291 bytes", "/1111/tool-results/abc.txt"]),
    ],
)
def test_what_a_result_says(name: str, texts: list[str]) -> None:
    session = read_session(SHARED / "faults" / name)
    tool = session.message(1).tool
    assert tool is not None and all(text in tool.text for text in texts)


def test_times_thinking_and_prompts_of_streams() -> None:
    timed = read_session(SHARED / "lab/faults/claude-7-stream-times.jsonl")
    assert not timed.lacks and timed.created is not None
    thinking = read_session(SHARED / "lab/faults/claude-9-stream-thinking-tokens.jsonl").usage()
    assert thinking is not None and thinking.reasoning == 150
    subagents = family_of(read_session(SHARED / "lab/faults/claude-8-stream-subagent-prompt.jsonl"))[1:]
    assert sorted(one.exchanges[0].prompt for one in subagents) == [
        "Count the lines of greet.py (case sub1a)",
        "List the files here (case sub1b)",
    ]


def test_a_bad_line_is_named_once() -> None:
    assert [one.line for one in read_session(SHARED / "faults/f25-odd-rows/early.jsonl").unreadable] == [2]

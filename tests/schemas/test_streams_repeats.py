"""Ids that come again with other content, as in a later turn: nothing of what was said is lost (`streams` note 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Kind, Tool, ToolStatus
from schemas.providers.streams import PROVIDER
from schemas.session import Session
from tests.fixtures.streams import THREAD, command, gemini, gemini_lines, item, saved, turn
from tests.fixtures.streams.claude_cursor import (
    cursor,
    cursor_begin,
    cursor_end,
)
from tests.fixtures.streams.claude_cursor import tool as cursor_call
from tests.schemas.conformance import assert_builds_clean, assert_nothing_lost, assert_sums, whole

TURN = {"type": "turn.started"}
CODEX = [{"type": "thread.started", "thread_id": THREAD}, TURN]


def read(folder: Path, lines: list[Any]) -> Session:
    path = saved(folder / "stream.jsonl", lines)
    session = whole(PROVIDER, path)
    assert_sums(session)
    assert_builds_clean(session)
    assert_nothing_lost(session, path.read_bytes())
    return session


def texts(session: Session) -> list[str]:
    made = (session.message(i) for i in range(len(session.messages)))
    return [message.text for message in made if message.kind is Kind.TEXT]


def tools(session: Session) -> list[Tool]:
    return [tool for i in range(len(session.messages)) if (tool := session.message(i).tool) is not None]


def says_(ident: int, words: str) -> dict[str, Any]:
    return item("completed", f"item_{ident}", "agent_message", text=words)


# -- Codex -------------------------------------------------------------------------------------------------------------


def test_codex_turns_that_number_their_items_anew(tmp_path: Path) -> None:
    lines = [*CODEX, says_(0, "one"), says_(1, "two"), turn(10, 0, 1), TURN, says_(0, "three"), says_(1, "two")]
    session = read(tmp_path, [*lines, turn(20, 0, 2), TURN, says_(0, "five"), turn(30, 0, 3)])
    assert texts(session) == ["one", "two", "three", "two", "five"]
    assert [e.index for e in session.live_exchanges] == [0, 1, 2]
    ids = [session.message(i).id for i in range(len(session.messages))]
    assert len(set(ids)) == len(ids)


def test_codex_commands_of_later_turns_have_their_own_output(tmp_path: Path) -> None:
    calls = [[command("started", "item_0", w), command("completed", "item_0", w, f"{w}\n", 0)] for w in ("ls", "pwd")]
    session = read(tmp_path, [*CODEX, *calls[0], turn(10, 0, 1), TURN, *calls[1], turn(20, 0, 2)])
    assert [(tool.input["command"], tool.text) for tool in tools(session)] == [("ls", "ls\n"), ("pwd", "pwd\n")]


def test_codex_what_begins_in_a_later_turn_is_new(tmp_path: Path) -> None:
    again = command("started", "item_0", "ls")
    session = read(tmp_path, [*CODEX, again, turn(10, 0, 1), TURN, again, command("completed", "item_0", "ls", "x", 0)])
    assert [tool.status for tool in tools(session)] == ["pending", "ok"]


def test_codex_what_is_completed_twice_in_a_turn_is_shown_twice_unless_it_is_the_same(tmp_path: Path) -> None:
    assert texts(read(tmp_path, [*CODEX, says_(0, "one"), says_(0, "one"), says_(0, "other")])) == ["one", "other"]


_STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from(["", "x", "y"])), min_size=1, max_size=12
)


@given(_STEPS)
def test_codex_no_words_are_lost_whatever_the_ids(tmp_path: Path, steps: list[tuple[str, int, str]]) -> None:
    """Of a text in each turn, or of several: all are there, in order, but for the very same once more in its turn."""
    lines: list[Any] = [*CODEX]
    expected: list[str] = []
    said: dict[int, str] = {}
    for number, (action, ident, words) in enumerate(steps):
        if action == "a":
            lines += [turn(number, 0, number), TURN]
            said = {}
        elif words:
            lines.append(says_(ident, words))
            if said.get(ident) != words:
                expected.append(words)
            said[ident] = words
    assert texts(read(tmp_path, lines)) == expected


# -- Gemini ------------------------------------------------------------------------------------------------------------


def test_gemini_a_use_and_a_result_with_an_id_that_was_there(tmp_path: Path) -> None:
    def call(words: str) -> list[Any]:
        return [
            gemini(1, "tool_use", tool_name="glob", tool_id="g-1-1", parameters={"pattern": words}),
            gemini(2, "tool_result", tool_id="g-1-1", status="success", output=words),
        ]

    more = gemini(3, "tool_result", tool_id="g-1-1", status="success", output="late")
    session = read(tmp_path, [*gemini_lines()[:3], *call("a"), *call("b"), more])
    assert [(tool.input["pattern"], tool.text) for tool in tools(session)] == [("a", "a"), ("b", "b")]


# -- Cursor ------------------------------------------------------------------------------------------------------------


def call(ident: str, path: str, found: str) -> list[Any]:
    return [
        cursor_call("started", ident, "readToolCall", {"path": path}),
        cursor_call("completed", ident, "readToolCall", {"path": path}, {"success": {"content": found}}),
    ]


def test_cursor_calls_of_later_turns(tmp_path: Path) -> None:
    asks = cursor_begin()[-1]
    session = read(tmp_path, [*cursor_begin(), *call("c", "a", "x"), cursor_end(""), asks, *call("c", "a", "x")])
    assert [tool.text for tool in tools(session)] == ["x", "x"]


def test_cursor_calls_with_one_id_in_a_turn(tmp_path: Path) -> None:
    lines = [*call("c", "a", "x"), call("c", "a", "x")[1], *call("c", "b", "y")]
    session = read(tmp_path, [*cursor_begin(), *lines, cursor_end("")])
    assert [(tool.input["path"], tool.text) for tool in tools(session)] == [("a", "x"), ("b", "y")]


def test_cursor_an_open_call_may_end_in_the_next_turn(tmp_path: Path) -> None:
    asks = cursor_begin()[-1]
    begun, over = call("c", "a", "x")
    session = read(tmp_path, [*cursor_begin(), begun, cursor_end(""), asks, over])
    assert [(tool.text, tool.status) for tool in tools(session)] == [("x", "ok")]


# -- calls without a result --------------------------------------------------------------------------------------------

OPEN = {
    "codex": ([*CODEX, command("started", "item_0", "make")], turn(1, 0, 1), {"type": "turn.failed", "error": {}}),
    "gemini": (
        [*gemini_lines()[:3], gemini(1, "tool_use", tool_name="glob", tool_id="g-1-1", parameters={})],
        gemini(2, "result", status="success", stats={}),
        gemini(2, "result", status="error", error={"type": "FatalCancellationError", "message": "x"}),
    ),
    "cursor": (
        [*cursor_begin(), call("c", "a", "x")[0]],
        cursor_end("Done."),
        cursor("result", subtype="error", is_error=True, error="x"),
    ),
}


@pytest.mark.parametrize("agent", OPEN)
def test_a_call_without_a_result_was_interrupted_only_where_the_run_failed(tmp_path: Path, agent: str) -> None:
    lines, well, failed = OPEN[agent]
    assert [tool.status for tool in tools(read(tmp_path, [*lines, well]))] == [ToolStatus.PENDING]
    assert [tool.status for tool in tools(read(tmp_path, [*lines, failed]))] == [ToolStatus.INTERRUPTED]
    cut = read(tmp_path, lines)
    made = next(m for i in range(len(cut.messages)) if (m := cut.message(i)).tool)
    assert made.metadata["ending"] == "stream ended"


def test_what_is_left_open_by_a_turn_is_not_interrupted_by_a_later_one(tmp_path: Path) -> None:
    failed: list[Any] = [TURN, command("started", "item_1", "make"), {"type": "turn.failed", "error": {}}]
    session = read(tmp_path, [*CODEX, command("started", "item_0", "ls"), turn(1, 0, 1), *failed])
    assert [tool.status for tool in tools(session)] == ["pending", "interrupted"]

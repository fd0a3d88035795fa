"""Codex's, Gemini's and OpenCode's live output, rule by rule (streams notes 3, 4 and 6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind
from schemas.providers.codex.stream import unwrapped
from schemas.providers.streams import PROVIDER
from schemas.session import Lack
from schemas.usage import TokenUsage
from tests.fixtures.streams import (
    CHILD,
    THREAD,
    codex_lines,
    command,
    gemini,
    gemini_answer,
    gemini_lines,
    item,
    turn,
)
from tests.schemas.conformance import assert_builds_clean, described, whole
from tests.schemas.printed import messages, read, tools

THREAD_STARTED = {"type": "thread.started", "thread_id": THREAD}
TURN = [THREAD_STARTED, {"type": "turn.started"}]
INIT = gemini(0, "init", session_id="6e1d0a11-0000-4000-8000-00000000000e", model="auto")


# -- Codex -------------------------------------------------------------------------------------------------------------


def test_codex_items_are_replaced_where_they_stand(tmp_path: Path) -> None:
    session = read(tmp_path, codex_lines())
    assert described(session)[:7] == [
        "PROMPT (prompt not in the stream)",
        "THINKING **Looking** for the lamp",
        "TOOL exec_command",
        "TOOL spawn_agent",
        "TOOL apply_patch",
        "TEXT Two lamps.",
        "NOTE Tokens: the thread total so far; if it was resumed, those of",
    ]
    ls = tools(session)[0]
    assert (ls.input, ls.text, ls.exit_code, ls.status) == ({"command": "ls lamps"}, "red\nblue\n", 0, "ok")
    assert ls.output == {"content": "red\nblue\n", "is_error": False, "exit_code": 0}


@pytest.mark.parametrize(
    ("command_", "shown"),
    [
        ("/bin/bash -lc 'pytest -q'", "pytest -q"),
        ('/usr/bin/zsh -lc "echo \\"hi\\""', 'echo "hi"'),
        ("bash -lc ls", "ls"),
        ("bash -lc 'it''s'", "its"),
        ("bash -lc 'unbalanced", "bash -lc 'unbalanced"),
        ("python -c 'print(1)'", "python -c 'print(1)'"),
        (["bash", "-lc", "ls -la"], "ls -la"),
        ("git commit -m 'x'", "git commit -m 'x'"),
        (None, ""),
    ],
)
def test_codex_commands_are_unwrapped(command_: Any, shown: str) -> None:
    assert unwrapped(command_) == shown


def test_codex_item_ids_begin_anew_with_each_process(tmp_path: Path) -> None:
    again = item("completed", "item_0", "agent_message", text="Second")
    session = read(tmp_path, [*TURN, item("completed", "item_0", "agent_message", text="First"), turn(10, 0, 5)])
    assert [line for line in described(session) if line.startswith("TEXT")] == ["TEXT First"]
    lines = [*TURN, item("completed", "item_0", "agent_message", text="First"), turn(10, 0, 5), *TURN, again]
    session = read(tmp_path, [*lines, turn(25, 5, 9)])
    assert [line for line in described(session) if line.startswith("TEXT")] == ["TEXT First", "TEXT Second"]
    assert len(session.live_exchanges) == 2 and session.exchange_usage(1) == TokenUsage(10, 4, 5, 0, 0)


def test_codex_totals_that_fall_begin_anew(tmp_path: Path) -> None:
    session = read(tmp_path, [*TURN, turn(100, 50, 10), *TURN, turn(40, 10, 4)])
    assert session.usage() == TokenUsage(80, 14, 60, 0, 0)


def test_codex_usage_that_is_missing_is_unknown(tmp_path: Path) -> None:
    for end in ({"type": "turn.completed"}, {"type": "turn.completed", "usage": {"input_tokens": "seven"}}):
        session = read(tmp_path, [*TURN, item("completed", "item_0", "agent_message", text="Hi"), end])
        assert session.usage() is None and session.metadata["ended"] == "completed"


def test_codex_written_cache_is_part_of_its_input(tmp_path: Path) -> None:
    end = {"input_tokens": 100, "cached_input_tokens": 60, "cache_write_input_tokens": 30, "output_tokens": 5}
    session = read(tmp_path, [*TURN, {"type": "turn.completed", "usage": end}])
    assert session.usage() == TokenUsage(10, 5, 60, 30, None)


def test_codex_a_web_search_whose_item_has_two_ids(tmp_path: Path) -> None:
    lines = [
        '{"type":"item.started","item":{"id":"item_6","type":"web_search","id":"ws_1","query":"","action":{}}}',
        '{"type":"item.completed","item":{"id":"item_6","type":"web_search","id":"ws_1","query":"lamp",'
        '"action":{"type":"search","query":"lamp"},"results":[{"title":"Lamps","url":"https://lamps.example"}]}}',
    ]
    (search,) = tools(read(tmp_path, [*TURN, *lines]))
    assert (search.name, search.type, search.input["query"], search.status) == ("web_search", "search", "lamp", "ok")
    assert search.text == "Lamps · https://lamps.example"


def test_codex_tool_failures(tmp_path: Path) -> None:
    mcp = {"server": "docs", "tool": "find", "arguments": {"q": "lamp"}}
    lines = [
        command("completed", "item_0", "false", "", 3),
        item("completed", "item_1", "command_execution", command="rm x", aggregated_output="", status="declined"),
        item("completed", "item_2", "mcp_tool_call", **mcp, result=None, error={"message": "no server"}),
        item("completed", "item_3", "mcp_tool_call", **mcp, result={"content": [{"type": "text", "text": "Yes"}]}),
        item("completed", "item_4", "mcp_tool_call", **mcp, result={"content": [], "structured_content": {"n": 1}}),
        item("completed", "item_5", "file_change", changes=[{"path": "/w/a", "kind": "delete"}], status="failed"),
    ]
    session = read(tmp_path, [*TURN, *lines, turn(1, 0, 1)])
    found = tools(session)
    assert [tool_.status for tool_ in found] == ["error", "denied", "error", "ok", "ok", "error"]
    assert [tool_.name for tool_ in found[2:4]] == ["mcp__docs__find"] * 2
    assert [tool_.text for tool_ in found[2:4]] == ["no server", "Yes"] and '"n": 1' in found[4].text
    assert (found[0].exit_code, session.exchanges[0].errors, session.exchanges[0].tools) == (3, 3, 6)


def test_codex_file_changes_name_files_without_saying_how(tmp_path: Path) -> None:
    plain = [{"path": "/w/a.py", "kind": "update"}, {"path": "/w/b.py", "kind": "add"}]
    forked = [{"path": "/w/c.py", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}]
    session = read(
        tmp_path,
        [
            *TURN,
            item("completed", "item_0", "file_change", changes=plain, status="completed"),
            item("completed", "item_1", "file_change", changes=forked, status="completed"),
        ],
    )
    first, second = (message for message in messages(session) if message.tool is not None)
    assert first.tool is not None and second.tool is not None
    assert first.tool.diffs == [] and first.tool.input == {"changes": plain}
    assert first.path_hints == ["/w/a.py", "/w/b.py"] and first.tool.type == "write"
    assert (second.tool.diffs[0].path, second.tool.diffs[0].added, second.tool.diffs[0].removed) == ("/w/c.py", 1, 1)


def test_codex_a_spawned_agent_is_a_link(tmp_path: Path) -> None:
    session = read(tmp_path, codex_lines())
    (agent,) = session.subagents
    assert (agent.id, agent.description, agent.path) == (CHILD, "Look for dust.", None)
    assert agent.tool_use is not None and session.messages.has(agent.tool_use, Flag.SUBAGENT)
    assert tools(session)[1].subagent == CHILD and tools(session)[1].text == f"{CHILD}: running"


def test_codex_a_todo_list_is_updated_and_is_no_tool_use(tmp_path: Path) -> None:
    steps = [{"text": "Dust", "completed": False}, {"text": "Shine", "completed": False}]
    done = [{**steps[0], "completed": True}, steps[1]]
    session = read(
        tmp_path,
        [
            *TURN,
            item("started", "item_0", "todo_list", items=steps),
            item("updated", "item_0", "todo_list", items=done),
        ],
    )
    note = session.message(1)
    assert (note.kind, note.label, note.text) == (Kind.NOTE, "To-do list, 1 of 2 done", "- [x] Dust\n- [ ] Shine")
    assert tools(session) == []


def test_codex_warnings_before_a_turn_belong_to_it(tmp_path: Path) -> None:
    warning = item("completed", "item_0", "error", message="old flag")
    session = read(tmp_path, [THREAD_STARTED, warning, {"type": "turn.started"}, turn(1, 0, 1)])
    assert len(session.exchanges) == 1 and session.message(1).label == "Warning"
    assert session.metadata["ended"] == "completed" and session.exchanges[0].errors == 0


def test_codex_retries_are_one_line_and_a_failure_is_shown_once(tmp_path: Path) -> None:
    session = read(tmp_path, codex_lines())
    seen = described(session)[-3:]
    assert seen == ["TOOL exec_command", "NOTE Reconnecting... 2/5 (gone)", "ERROR gone"]
    assert messages(session)[-2].label == "Retry 2 of 5" and messages(session)[-1].label == "Turn failed"
    assert session.exchanges[-1].errors == 1


def test_codex_a_second_turn_of_one_process(tmp_path: Path) -> None:
    session = read(tmp_path, [*TURN, turn(10, 0, 1), {"type": "turn.started"}, turn(15, 0, 2)])
    assert len(session.live_exchanges) == 2 and session.usage() == TokenUsage(15, 2, 0, 0, 0)


def test_codex_what_nobody_described_is_kept(tmp_path: Path) -> None:
    later = [item("started", "item_0", "dream"), item("completed", "item_0", "dream", text="sheep")]
    session = read(tmp_path, [*TURN, *later, {"type": "turn.paused"}])
    assert session.unknown == {"item dream": 2, "turn.paused": 1}  # records
    assert "sheep" in session.message(1).text


# -- Gemini ------------------------------------------------------------------------------------------------------------


def test_gemini_pieces_are_one_text_until_something_else(tmp_path: Path) -> None:
    session = read(tmp_path, gemini_lines())
    texts = [message.text for message in messages(session) if message.kind is Kind.TEXT]
    assert texts == ["I will look.\n", "Clean."]
    row = next(i for i in range(len(session.messages)) if session.messages.kind[i] == Kind.TEXT)
    assert session.messages.chars[row] == len("I will look.\n") and session.model_of(row) == "gemini-4-pro"


def test_gemini_results_come_after_all_uses_of_a_round(tmp_path: Path) -> None:
    first, second = tools(read(tmp_path, gemini_lines()))
    assert (first.name, first.text, first.status) == ("read_file", "", "ok")
    assert (second.name, second.text, second.status) == ("run_shell_command", "no make", "error")


@pytest.mark.parametrize(
    "output", ["[Operation Cancelled] Reason: User denied", "Command was cancelled by user.", "Cancelled"]
)
def test_gemini_a_cancelled_use_says_success(tmp_path: Path, output: str) -> None:
    lines = [
        gemini(1, "tool_use", tool_name="run_shell_command", tool_id="r-1-1", parameters={"command": "make"}),
        gemini(2, "tool_result", tool_id="r-1-1", status="success", output=output),
        gemini(3, "tool_use", tool_name="glob", tool_id="g-1-2", parameters={}),
        gemini(4, "tool_result", tool_id="g-1-2", status="success", output="cancel.py"),
    ]
    found = [tool_.status for tool_ in tools(read(tmp_path, [*gemini_lines()[:3], *lines]))]
    assert found[0] in ("interrupted", "denied") and found[1] == "ok"


def test_gemini_a_change_is_known_by_what_was_asked(tmp_path: Path) -> None:
    asked = {"file_path": "a.py", "content": "1\n2\n"}
    lines = [
        gemini(1, "tool_use", tool_name="write_file", tool_id="w-1-1", parameters=asked),
        gemini(2, "tool_result", tool_id="w-1-1", status="success"),
    ]
    (write,) = tools(read(tmp_path, [*gemini_lines()[:3], *lines]))
    assert (write.type, write.status, write.diffs[0].added) == ("write", "ok", 2)


def test_gemini_a_result_without_its_use_is_output(tmp_path: Path) -> None:
    answer = gemini(2, "tool_result", tool_id="read_file-1-1", status="error", output="gone")
    session = read(tmp_path, [*gemini_lines()[:3], answer])
    (row,) = (row for row in range(len(session.messages)) if session.messages.kind[row] == Kind.OUTPUT)
    assert session.message(row).text == "gone" and not tools(session)


def stats(total: Any, read_: Any, wrote: Any, **more: Any) -> dict[str, Any]:
    return {"total_tokens": total, "input_tokens": read_, "output_tokens": wrote, **more}


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (stats(150, 100, 20, cached=40, input=60), TokenUsage(60, 50, 40, 0)),
        (stats(150, 100, 20, cached=40), TokenUsage(60, 50, 40, 0)),
        (stats(110, 100, 20), TokenUsage(100, 20, 0, 0)),
        (stats(0, 0, 0), TokenUsage(0, 0, 0, 0)),
        (stats(None, "x", -1), None),
        (None, None),
    ],
)
def test_gemini_counts(tmp_path: Path, given: Any, usage: TokenUsage | None) -> None:
    session = read(tmp_path, [*gemini_lines()[:5], gemini(9, "result", status="success", stats=given)])
    assert session.usage() == usage


def test_gemini_models_are_the_same_tokens_split(tmp_path: Path) -> None:
    models = {"pro": stats(120, 90, 20, cached=0, input=90), "lite": stats(30, 10, 20, cached=0, input=10)}
    end = gemini(9, "result", status="success", stats=stats(150, 100, 40, cached=0, input=100, models=models))
    session = read(tmp_path, [*gemini_lines()[:5], end])
    assert session.usage() == TokenUsage(100, 50, 0, 0) and len(session.groups) == 2
    assert [session.models[session.groups.model[g]] for g in range(2)] == ["pro", "lite"]
    assert messages(session)[-1].text == "pro: 120 tokens\nlite: 30 tokens"
    end["stats"]["models"]["lite"]["total_tokens"] = 99  # parts that do not make up the whole are only shown
    session = read(tmp_path, [*gemini_lines()[:5], end])
    assert session.usage() == TokenUsage(100, 50, 0, 0) and len(session.groups) == 1


def test_gemini_each_process_counts_for_itself(tmp_path: Path) -> None:
    session = read(tmp_path, [*gemini_lines(), *gemini_lines()[1:]])
    assert len(session.live_exchanges) == 2 and session.usage() == TokenUsage(1000, 200, 200, 0)
    assert not any("begins" in line for line in described(session))


def test_gemini_how_it_ends(tmp_path: Path) -> None:
    error = {"type": "FatalTurnLimitedError", "message": "too many turns"}
    session = read(tmp_path, [*gemini_lines()[:5], gemini(9, "result", status="error", error=error)])
    last = messages(session)[-1]
    assert (last.kind, last.label, last.text) == (Kind.ERROR, "FatalTurnLimitedError", "too many turns")
    assert session.metadata["ended"] == "FatalTurnLimitedError" and session.usage() is None
    complaint = gemini(8, "error", severity="error", message="bad stream")
    session = read(tmp_path, [*gemini_lines()[:5], complaint, gemini(9, "result", status="error")])
    assert described(session)[-2:] == ["ERROR bad stream", "ERROR Run failed"]


def test_gemini_warnings_are_no_failure(tmp_path: Path) -> None:
    loop = gemini(8, "error", severity="warning", message="Loop detected")
    session = read(tmp_path, [*gemini_lines()[:5], loop, gemini(9, "result", status="success")])
    assert described(session)[-2:] == ["NOTE Loop detected", "NOTE Run finished"]
    assert session.exchanges[-1].errors == 0 and session.metadata["ended"] == "success"


def test_gemini_without_a_prompt(tmp_path: Path) -> None:
    """A file that could not be read into the prompt: no user line is printed."""
    session = read(tmp_path, [INIT, gemini(1, "result", status="error", error={"message": "no such file"})])
    assert [exchange.prompt for exchange in session.live_exchanges] == ["(prompt not in the stream)"]


def test_gemini_times(tmp_path: Path) -> None:
    session = read(tmp_path, gemini_lines())
    assert session.exchanges[-1].duration == 7 and session.created == 1_795_341_600
    fatal = gemini(5, "result", status="error", stats={"duration_ms": 0})
    assert read(tmp_path, [*gemini_lines()[:4], fatal]).exchanges[-1].duration == 5


@pytest.mark.parametrize("indent", [None, 2])
def test_gemini_one_json_answer(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "answer"
    path.write_text(json.dumps(gemini_answer(), indent=indent))
    session = whole(PROVIDER, path)
    assert_builds_clean(session)
    assert described(session)[:2] == ["PROMPT (prompt not in the stream)", "TEXT The lamp is clean."]
    assert session.usage() == TokenUsage(250, 30, 50, None, 10) and session.metadata["ended"] == "success"
    assert session.id == "6e1d0a11-0000-4000-8000-00000000000d" and Lack.TIMES in session.lacks
    failed = {"error": {"type": "Error", "message": "no key", "code": 41}, "stats": {}}
    path.write_text(json.dumps(failed, indent=indent))
    assert described(whole(PROVIDER, path))[-1] == "ERROR no key"

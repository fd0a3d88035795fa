"""Cline: results in their shapes, subagents and sides of a session, tasks of before 4.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Kind, Message, ToolStatus
from schemas.providers.cline import PROVIDER
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.fixtures.cline import (
    HELPER,
    LAMP,
    TASK,
    Data,
    document,
    helper,
    history,
    lamp,
    manifest,
    ms,
    request,
    result,
    said,
    seen,
    shown,
    text,
    typed,
    use,
    write,
    write_boat,
    write_lamp,
)
from tests.schemas.conformance import whole


def _messages(session: Session) -> list[Message]:
    return [session.message(i) for i in range(len(session.messages))]


def _told(session: Session) -> list[tuple[Kind, str]]:
    return [(m.kind, m.text or m.label) for m in _messages(session) if m.tool is None]


def _lone(tmp_path: Path, *messages: Data, **more: Any) -> Session:
    return whole(PROVIDER, write(tmp_path / LAMP / f"{LAMP}.messages.json", document([*messages], **more)))


RESULTS: dict[str, tuple[Any, str, ToolStatus, int | None]] = {
    "a query that succeeded": ([{"query": "ls", "result": "a\n", "success": True}], "a\n", ToolStatus.OK, None),
    "a command that failed": (
        [{"query": "x", "result": "[Command exited with code 3]\n\noh", "error": "Command exited with code 3"}],
        "oh", ToolStatus.ERROR, 3,
    ),
    "an error without a result": (
        [{"query": "x", "result": "", "error": "no such file", "success": False}],
        "no such file", ToolStatus.ERROR, None,
    ),
    "several queries": (
        [{"query": "a", "result": "1", "success": True}, {"query": "b", "result": "2", "success": True}],
        "a:\n1\n\nb:\n2", ToolStatus.OK, None,
    ),
    "a query as JSON text": (json.dumps({"result": "Edited", "success": True}), "Edited", ToolStatus.OK, None),
    "a subagent's answer": (json.dumps({"text": "Three.", "finishReason": "completed"}), "Three.", ToolStatus.OK, None),
    "JSON that is only text": ('{"a": 1}', '{"a": 1}', ToolStatus.OK, None),
    "blocks of text": ([text("1 failed")], "1 failed", ToolStatus.OK, None),
    "a result that is no text": ([{"result": {"n": 1}, "success": True}], '{"n":1}', ToolStatus.OK, None),
    "interrupted": (
        [{"query": "x", "result": "", "error": "Command failed: Command was aborted", "success": False}],
        "Command failed: Command was aborted", ToolStatus.INTERRUPTED, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RESULTS)
def test_results(case: str, tmp_path: Path) -> None:
    content, shown_as, status, code = RESULTS[case]
    session = _lone(
        tmp_path, typed(1, "Go"), said(2, use("run_commands", "c", commands=["x"])), result(3, "c", content)
    )
    tool = session.message(1).tool
    assert tool is not None
    assert (tool.text, tool.status, tool.exit_code) == (shown_as, status, code)
    assert session.exchanges[0].interrupted is (status is ToolStatus.INTERRUPTED)


def test_what_stands_around_the_words_that_were_typed(tmp_path: Path) -> None:
    both = typed(1, "Go")
    both["content"][0]["text"] += "\n<files>a.py</files>"
    session = _lone(tmp_path, both, {"role": "user", "content": "<user_input>On</user_input>"})
    assert _told(session) == [(Kind.CONTEXT, "<files>a.py</files>"), (Kind.PROMPT, "Go"), (Kind.PROMPT, "On")]


def test_a_new_file_is_added_and_an_insertion_is_not(tmp_path: Path) -> None:
    made = use("editor", "c1", path="a.py", new_text="x = 1\n")
    inserted = use("editor", "c2", path="a.py", new_text="y = 2\n", insert_line=1)
    tools = [m.tool for m in _messages(_lone(tmp_path, typed(1, "Go"), said(2, made, inserted))) if m.tool is not None]
    assert [tool.diffs[0].operation for tool in tools] == ["add", "update"]


def test_the_manifest_counts_where_no_message_has_figures(tmp_path: Path) -> None:
    spent = {"inputTokens": 50, "outputTokens": 4, "cacheReadTokens": 30, "cacheWriteTokens": 0}
    told = manifest(usage=spent, aggregateUsage={"inputTokens": 999})
    path = write_lamp(tmp_path, document([typed(1, "Go"), said(2, text("Gone."))]), told)
    session = whole(PROVIDER, path)
    assert session.usage() == TokenUsage(20, 4, 30, 0)
    assert (session.workspace_root, session.branch, session.title) == ("/home/dev/lamp-shop", "main", "Lamp shop")
    path = write_lamp(tmp_path, document([typed(1, "Go"), said(2, text("Gone."), input=9, output=1)]), told)
    assert whole(PROVIDER, path).usage() == TokenUsage(9, 1)


def test_a_manifest_of_another_session_says_nothing(tmp_path: Path) -> None:
    path = write_lamp(tmp_path, document([typed(1, "Go")]), manifest() | {"session_id": "another"})
    assert whole(PROVIDER, path).title == "Go"


def test_a_compaction_stands_where_it_was_made(tmp_path: Path) -> None:
    summary = {"kind": "compaction_summary", "summary": "A lamp.", "tokensBefore": 1200, "generatedAt": ms(3)}
    kept = {"role": "user", "content": "Context summary:\n\nA lamp.", "metadata": summary}
    messages = [typed(1, "Go"), said(2, text("Gone.")), typed(4, "On")]
    path = write_lamp(tmp_path, document(messages), manifest())
    write(path.with_name(f"{LAMP}.compaction.json"), {"source_message_count": 2, "messages": [kept, messages[2]]})
    session = whole(PROVIDER, path)
    assert [kind for kind, _ in _told(session)] == [Kind.PROMPT, Kind.TEXT, Kind.COMPACTION, Kind.PROMPT]
    assert (session.message(2).text, session.message(2).label) == ("A lamp.", "Compacted, 1,200 tokens before")


def test_the_sides_are_read_again_when_they_change(tmp_path: Path) -> None:
    path = write_lamp(tmp_path, lamp(), manifest())
    reading = PROVIDER.open(path)
    reading.step()
    assert set(reading.sources) >= {path, path.with_name(f"{LAMP}.json")}
    write(path.with_name(f"{LAMP}.json"), manifest(title="Boat yard"))
    reading.reread()  # type: ignore[attr-defined]
    assert reading.session.title == "Boat yard"


# -- subagents ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["Count them.", "In other words"])
def test_a_subagent_is_found_by_its_words_or_by_its_time(prompt: str, tmp_path: Path) -> None:
    path = write_lamp(tmp_path, lamp(), manifest())
    child = helper()
    child["messages"][0]["content"] = prompt
    write(path.with_name(f"{HELPER}.messages.json"), child)
    session = whole(PROVIDER, path)
    (subagent,) = session.subagents
    assert subagent.tool_use is not None
    tool = session.message(subagent.tool_use).tool
    assert tool is not None
    assert (tool.use_id, tool.subagent, subagent.description) == ("c3", HELPER, "Count!")


def test_a_subagent_of_a_subagent_is_not_the_sessions_own(tmp_path: Path) -> None:
    path = write_lamp(tmp_path, lamp(), manifest())
    inner, outer = helper(), f"{LAMP}__{HELPER}"
    inner["sessionId"] = f"{outer}__agent_2"
    inner["origin"] |= {"sessionId": inner["sessionId"], "parentThreadId": outer, "subagent": "agent_2"}
    write(path.with_name("agent_2.messages.json"), inner)
    assert [s.id for s in whole(PROVIDER, path).subagents] == [HELPER]
    assert [s.id for s in whole(PROVIDER, path.with_name(f"{HELPER}.messages.json")).subagents] == ["agent_2"]


def test_what_can_be_gone_on_with(tmp_path: Path) -> None:
    path = write_lamp(tmp_path, lamp(), manifest())
    assert PROVIDER.resume_command(whole(PROVIDER, path)) == ["cline", "--id", LAMP]
    assert PROVIDER.resume_command(whole(PROVIDER, path.with_name(f"{HELPER}.messages.json"))) is None
    assert PROVIDER.resume_command(whole(PROVIDER, write_boat(tmp_path))) is None


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_a_task_has_what_both_sides_say_in_the_order_of_time(tmp_path: Path) -> None:
    session = whole(PROVIDER, write_boat(tmp_path))
    assert _told(session) == [
        (Kind.PROMPT, "Build a boat"), (Kind.CONTEXT, "<environment_details>\n# Files"),
        (Kind.THINKING, "Of paper."), (Kind.TEXT, "Building."), (Kind.PROMPT, "Of tin"),
        (Kind.CONTEXT, "<environment_details>\n# Files"), (Kind.ERROR, "The editor went away"),
        (Kind.TEXT, "It floats."), (Kind.PROMPT, "Thanks"),
    ]  # fmt: skip
    assert (session.workspace_root, session.id) == ("/home/dev/boat-yard", TASK)
    assert session.message(0).timestamp == ms(201) / 1000


def test_a_task_grows_with_what_the_person_saw(tmp_path: Path) -> None:
    path = write_boat(tmp_path)
    reading = PROVIDER.open(path)
    reading.step()
    write(path.with_name("ui_messages.json"), [*seen(), request(210, tokensIn=100, tokensOut=10)])
    reading.reread()  # type: ignore[attr-defined]
    assert reading.session.usage() == TokenUsage(119, 22, 163, 80)


def test_what_the_person_saw_opens_too(tmp_path: Path) -> None:
    both = write_boat(tmp_path).with_name("ui_messages.json")
    assert [e.prompt for e in whole(PROVIDER, both).live_exchanges] == ["Build a boat", "Of tin", "Thanks"]
    command = {"ts": ms(202), "type": "ask", "ask": "command", "text": "make"}
    events = [
        shown(200, "task", "Go"),
        request(201, tokensIn=5, tokensOut=1),
        command,
        shown(203, "command_output", "ok"),
    ]
    alone = whole(PROVIDER, write(tmp_path / "alone" / "ui_messages.json", events))
    assert [m.tool.name for m in _messages(alone) if m.tool] == ["execute_command"]
    assert _told(alone) == [(Kind.PROMPT, "Go"), (Kind.OUTPUT, "ok")]
    assert alone.usage() == TokenUsage(5, 1)


def test_requests_of_a_task_with_times_go_to_the_answers_behind_them(tmp_path: Path) -> None:
    """A request that failed has no answer of its own."""
    told = history()
    for number, message in enumerate(told):
        message["ts"] = ms(200 + 2 * number)
    path = write(tmp_path / TASK / "api_conversation_history.json", told)
    write(path.with_name("ui_messages.json"), [
        request(201, tokensIn=1), request(203, tokensIn=2), request(204, tokensIn=4), request(211, tokensIn=8),
    ])  # fmt: skip
    session = whole(PROVIDER, path)
    assert [session.exchange_usage(e.index) for e in session.exchanges] == [TokenUsage(1), TokenUsage(14)]


SPOKEN: dict[str, tuple[str, list[tuple[Kind, str]]]] = {
    "cut off by the person": (
        "I beg\n\n[Response interrupted by user]", [(Kind.TEXT, "I beg"), (Kind.INTERRUPT, "Interrupted")],
    ),
    "cut off by an error": (
        "I beg\n\n[Response interrupted by API Error]", [(Kind.TEXT, "I beg"), (Kind.ERROR, "Cut off by API Error")],
    ),
    "a tag that is no tool": ("Use <b>this</b>.", [(Kind.TEXT, "Use <b>this</b>.")]),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOKEN)
def test_what_an_older_model_said(case: str, tmp_path: Path) -> None:
    words, shown_as = SPOKEN[case]
    told = [history()[0], {"role": "assistant", "content": words}]
    session = whole(PROVIDER, write(tmp_path / TASK / "api_conversation_history.json", told))
    assert _told(session)[2:] == shown_as


def test_replacements_are_a_change(tmp_path: Path) -> None:
    block = "------- SEARCH\non = 0\n=======\non = 1\n+++++++ REPLACE"
    xml = f"<replace_in_file>\n<path>lamp.py</path>\n<diff>\n{block}\n</diff>\n</replace_in_file>"
    told = [history()[0], {"role": "assistant", "content": xml}]
    (tool,) = [
        m.tool
        for m in _messages(whole(PROVIDER, write(tmp_path / TASK / "api_conversation_history.json", told)))
        if m.tool is not None
    ]
    assert [(diff.path, diff.hunks[0].lines) for diff in tool.diffs] == [("lamp.py", ["-on = 0", "+on = 1"])]

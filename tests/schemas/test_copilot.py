"""Copilot CLI: what depends on more than one event, and what lies beside the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind, ToolStatus
from schemas.providers.copilot import PROVIDER, name_in
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.fixtures.copilot import BOAT, HELPER, event, metrics, said, samples, start, use, used, write_events
from tests.schemas.conformance import whole

Data = dict[str, Any]
SLOW = use("bash", "c1", {"command": "sleep 9"})
TASK = use("task", "c1", {"prompt": "Count them.", "agent_type": "explore"})


def _session(tmp_path: Path, *events: Data) -> Session:
    return whole(PROVIDER, write_events(tmp_path / "events.jsonl", [start(0, BOAT), *events]))


def _shown(session: Session) -> list[tuple[Kind, str]]:
    messages = [session.message(i) for i in range(len(session.messages))]
    return [(m.kind, m.text or m.label) for m in messages if m.kind is not Kind.TOOL]


PROMPT = event(1, "user.message", content="Go")
TWICE: dict[str, list[Data]] = {
    "the same event": [PROMPT, said(2, "Here."), said(2, "Here.")],
    "thinking, then its message": [
        PROMPT, event(2, "assistant.reasoning", content="Hm."), said(3, "Here.", reasoningText="Hm."),
    ],
    "thinking behind its message": [
        PROMPT, said(2, "Here.", reasoningText="Hm."), event(3, "assistant.reasoning", content="Hm."),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", TWICE)
def test_what_is_told_twice_is_shown_once(case: str, tmp_path: Path) -> None:
    shown = _shown(_session(tmp_path, *TWICE[case]))
    assert len(shown) == len(set(shown)), shown
    assert (Kind.TEXT, "Here.") in shown


def test_the_same_thought_in_two_messages_is_two_thoughts(tmp_path: Path) -> None:
    events = [PROMPT, said(2, "One.", reasoningText="Hm."), said(3, "Two.", reasoningText="Hm.")]
    assert _shown(_session(tmp_path, *events)).count((Kind.THINKING, "Hm.")) == 2


TOTALS: dict[str, tuple[list[Data], TokenUsage | None]] = {
    "a record that comes twice counts once": (
        [PROMPT, used(2, "r1", input=10, output=1, cacheRead=4), used(3, "r1", input=10, output=1, cacheRead=4)],
        TokenUsage(6, 1, 4),
    ),
    "chunks of one response share its output": (
        [PROMPT, said(2, "One", apiCallId="r1", outputTokens=7), said(3, "two", apiCallId="r1", outputTokens=7)],
        TokenUsage(None, 7),
    ),
    "totals go on over resumes, and begin anew where they fall": (
        [
            PROMPT,
            event(2, "session.shutdown", modelMetrics=metrics(input=10, output=5)),
            event(3, "session.shutdown", modelMetrics=metrics(input=30, output=8)),
            event(4, "session.shutdown", modelMetrics=metrics(input=2, output=1)),
        ],
        TokenUsage(32, 9),
    ),
    "totals leave out what a compaction took": (
        [
            PROMPT,
            event(2, "session.compaction_complete", success=True, compactionTokensUsed={
                "input": 100, "output": 10, "cachedInput": 60, "model": "kestrel-1",
            }),
            event(3, "session.shutdown", modelMetrics=metrics(input=30, output=8)),
        ],
        TokenUsage(40 + 30, 10 + 8, 60),
    ),
    "a run without requests has no totals": (
        [PROMPT, event(2, "session.shutdown", modelMetrics={})], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOTALS)
def test_tokens(case: str, tmp_path: Path) -> None:
    events, usage = TOTALS[case]
    assert _session(tmp_path, *events).usage() == usage


def test_the_messages_of_a_response_are_in_its_group_and_the_context_stays_known(tmp_path: Path) -> None:
    session = _session(tmp_path, PROMPT, used(2, "r1", input=10, output=1), said(3, "Here.", apiCallId="r1"))
    assert session.message(1).group == "r1"
    assert session.context_used == 10


ENDS: dict[str, tuple[Data, ToolStatus]] = {
    "aborted": (event(3, "abort", reason="user_initiated"), ToolStatus.INTERRUPTED),
    "left by another run": (event(3, "session.resume", eventCount=3), ToolStatus.INTERRUPTED),
    "gone on with": (event(3, "session.resume", eventCount=3, continuePendingWork=True), ToolStatus.PENDING),
    "refused": (
        event(3, "permission.completed", toolCallId="c1", result={"kind": "denied-by-rules"}), ToolStatus.DENIED,
    ),
    "its subagent failed": (event(3, "subagent.failed", HELPER, toolCallId="c1", error="no"), ToolStatus.ERROR),
    "in the background": (
        event(3, "tool.execution_complete", toolCallId="c1", success=True, result={
            "content": "one\n<command with shellId: 0 is still running after 30 seconds. You will be notified.>",
        }),
        ToolStatus.BACKGROUND,
    ),
    "told by the shell's last line only": (
        event(3, "tool.execution_complete", toolCallId="c1", success=True, result={
            "content": "oh\n<shellId: 0 completed with exit code 2>",
        }),
        ToolStatus.ERROR,
    ),
    "an old result, as text": (
        event(3, "tool.execution_complete", toolCallId="c1", success=True, result="ok"), ToolStatus.OK,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_how_a_tool_use_ends(case: str, tmp_path: Path) -> None:
    end, status = ENDS[case]
    tool = _session(tmp_path, PROMPT, said(2, uses=[SLOW]), end).message(1).tool
    assert tool is not None
    assert (tool.status, "shellId: 0 completed" in tool.text) == (status, False)


def test_a_tool_use_whose_message_is_lost_is_known_by_its_start(tmp_path: Path) -> None:
    begun = event(2, "tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "ls"})
    tool = _session(tmp_path, PROMPT, begun).message(1).tool
    assert tool is not None
    assert (tool.name, tool.input) == ("bash", {"command": "ls"})


def test_a_rewind_takes_back_from_the_event_on(tmp_path: Path) -> None:
    again = event(2, "user.message", content="Again")
    rewind = event(4, "session.snapshot_rewind", upToEventId=again["id"], eventsRemoved=2)
    events = [PROMPT, again, said(3, "Here."), rewind, event(5, "user.message", content="Else")]
    assert [e.prompt for e in _session(tmp_path, *events).live_exchanges] == ["Go", "Else"]


@pytest.mark.parametrize("marked", [{"parentToolCallId": "c1"}, {}])
def test_a_subagent_belongs_to_the_tool_use_that_started_it(marked: Data, tmp_path: Path) -> None:
    """In old files its events name the tool use only, and its prompt is not among them."""
    agent = "" if marked else HELPER
    events = [
        PROMPT,
        said(2, uses=[TASK]),
        event(3, "subagent.started", agent, toolCallId="c1", agentName="explore", **marked),
        said(4, "Three.", agent, outputTokens=6, **marked),
    ]
    (subagent,) = (session := _session(tmp_path, *events)).subagents
    assert (subagent.tool_use, subagent.name) == (1, "explore")
    assert session.messages.has(1, Flag.SUBAGENT)
    assert subagent.session is not None
    assert [e.prompt for e in subagent.session.live_exchanges] == ["Count them."]
    assert subagent.session.usage() == TokenUsage(None, 6)
    assert session.usage() is None


def test_a_subagent_of_a_subagent(tmp_path: Path) -> None:
    inner = use("task", "c2", {"prompt": "Count again."})
    events = [
        PROMPT,
        said(2, uses=[TASK]),
        event(3, "subagent.started", "a", toolCallId="c1"),
        said(4, "", "a", [inner]),
        event(5, "subagent.started", "b", toolCallId="c2"),
        said(6, "Four.", "b"),
    ]
    (outer,) = _session(tmp_path, *events).subagents
    assert outer.session is not None
    assert [s.id for s in outer.session.subagents] == ["b"]


def test_model_that_is_no_longer_known(tmp_path: Path) -> None:
    reset = event(3, "session.model_change", newModel="")
    one, two = said(2, "One."), said(4, "Two.")
    del one["data"]["model"], two["data"]["model"]
    session = _session(tmp_path, PROMPT, one, reset, two)
    assert [session.message(i).model for i in (1, 2)] == ["kestrel-1", None]


def test_what_is_printed_opens_too(tmp_path: Path) -> None:
    moment = event(2, "assistant.message_delta", deltaContent="He") | {"ephemeral": True}
    result = {"type": "result", "timestamp": "2026-05-28T20:30:00Z", "sessionId": "s-1", "exitCode": 0}
    path = write_events(tmp_path / "out.jsonl", [PROMPT, moment, said(3, "Here."), result])
    session = whole(PROVIDER, path)
    assert (session.id, dict(session.unknown)) == ("s-1", {})
    assert _shown(session) == [(Kind.PROMPT, "Go"), (Kind.TEXT, "Here.")]


def test_an_edit_has_the_lines_of_its_patch(tmp_path: Path) -> None:
    (sample, _) = samples(tmp_path)
    session = whole(PROVIDER, sample.path)
    tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool is not None]
    assert [(d.path, d.hunks[0].old_start) for d in tools[0].diffs] == [("/home/dev/lamp-shop/lamp.py", 3)]
    assert tools[1].exit_code == 3


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("id: x\nname: Lamp: shop\ncwd: /", "Lamp: shop"),
        ("name: 'it''s lit'\n", "it's lit"),
        ('name: "a \\"b\\" \\u00e9"\n', 'a "b" é'),
        ("name: |-\n  first\n  second\n\n  third\nuser_named: false\n", "first second third"),
        ("name: Please do\n  more of it\nid: x\n", "Please do more of it"),
        ("name:\nid: x\n", ""),
        ("id: x\n", ""),
    ],
)
def test_name_in_a_workspace(text: str, name: str) -> None:
    assert name_in(text) == name

"""Every file of the shared corpus reads, and says what its contents say by the rules of the note."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.message import Flag, Kind, ToolStatus
from schemas.opening import head_of
from schemas.providers import providers
from schemas.providers.qwen import PROVIDER
from schemas.usage import TokenUsage
from tests.schemas.conformance import assert_all_laws, assert_claims_none, assert_same_in_pieces, described, whole

SHARED = Path(__file__).parents[2] / ".." / "shared"
CORPUS = SHARED / "corpus" / "qwen"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
FILES = sorted(CORPUS.glob("*.jsonl")) if CORPUS.is_dir() else []
VIEW = "agentsview_TestParseQwenSession"


def of(name):
    return whole(PROVIDER, CORPUS / f"{name}.jsonl")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_file_keeps_the_laws_and_is_nobody_elses(path, tmp_path):
    assert [p.id for p in providers().values() if p.detect(head_of(path))] == ["qwen"]
    session = assert_all_laws(PROVIDER, path)
    assert not session.unknown
    data = path.read_bytes()
    assert_same_in_pieces(PROVIDER, data, tmp_path, [len(data) * n // 9 for n in range(1, 9)], path.name)


def test_no_other_agents_file_is_claimed():
    others = [p for p in (SHARED / "corpus").rglob("*.json*") if "qwen" not in p.parts]
    assert others
    assert_claims_none(PROVIDER, others)


@pytest.mark.parametrize(
    ("name", "usage", "calls", "tools"),
    [
        (VIEW, TokenUsage(18009 - 12, 47, 12, None, 36), 1, 0),
        (f"{VIEW}_ShortClean", TokenUsage(10, 5, 0), 1, 0),
        (f"{VIEW}_CoalescesToolCallOnlyAssistants", TokenUsage(100 + 150 + 220, 45, 130), 3, 2),
        (f"{VIEW}_TextWithFunctionCallCoalesces", TokenUsage(100 + 130, 12, 20), 2, 1),
        (f"{VIEW}_ToolUseRoundTrip", TokenUsage(90 + 130, 12, 30), 2, 1),
        (f"{VIEW}_TrailingToolCallOnlyAssistants", TokenUsage(50 + 70, 12, 10), 2, 2),
        (f"{VIEW}_AbortedNoAssistantResponse", None, 0, 0),
        ("cchv_sample", TokenUsage(7, 34, 5), 1, 1),
        ("cchv_agents", None, 0, 2),
        ("authored_full", TokenUsage(17997 + 200, 52, 12 + 18000, None, 36), 2, 2),
    ],
)
def test_tokens_calls_and_tools(name, usage, calls, tools):
    session = of(name)
    assert session.usage() == usage and len(session.groups) == calls
    assert sum(e.tools for e in session.exchanges) == tools
    assert not any(e.rewound for e in session.exchanges if name != "authored_full")


def test_an_answer_with_its_thinking():
    session = of(VIEW)
    assert [session.messages.kind_of(i) for i in range(len(session.messages))] == [
        Kind.PROMPT, Kind.THINKING, Kind.TEXT,
    ]  # fmt: skip
    assert (session.id, session.version) == ("adc026b4-c620-43e4-8cc4-295593889d18", "0.15.6")
    assert session.models[1:] == ["cleanunicorn/qwen3-coder-30b-a3b-instruct"]
    assert session.context_used == 18009 and session.hidden == {"ui_telemetry": 1}


def test_results_in_user_records_are_no_prompts():
    session = of(f"{VIEW}_ToolUseRoundTrip")
    assert described(session) == [
        "PROMPT Read a.go", "THINKING Calling read_file.", "TOOL read_file", "TEXT That's the file.",
    ]  # fmt: skip
    assert session.message(2).tool.text == "package main\n"


def test_calls_without_results_stay_pending():
    session = of(f"{VIEW}_TrailingToolCallOnlyAssistants")
    assert [session.message(i).tool.status for i in (2, 4)] == [ToolStatus.PENDING] * 2


def test_the_authored_session_says_what_its_note_says():
    session = of("authored_full")
    assert described(session) == [
        "PROMPT set x to 2",
        "CONTEXT hook says hi",
        "THINKING plan the edit",
        "TEXT Editing.",
        "TOOL edit",
        "TEXT Done.",
        "COMMAND /about",
        "OUTPUT about cliVersion: 0.20.0",
        "PROMPT wrong prompt",
        "TEXT ABANDONED BY REWIND",
        "NOTE Rewound, 2 entries taken back",
        "PROMPT add a test",
        "TOOL run_shell_command",
        "STEER use -x",
        "NOTE <task-notification>…</task-notification>",
        "COMPACTION summary",
        "TEXT Test added.",
    ]
    assert [(e.prompt, e.rewound) for e in session.exchanges] == [
        ("set x to 2", False), ("wrong prompt", True), ("add a test", False),
    ]  # fmt: skip
    assert [i for i in range(len(session.messages)) if session.messages.has(i, Flag.REWOUND)] == [8, 9]
    assert session.title == "Set x to 2" and session.context_window == 1_000_000
    assert session.message(4).tool.diffs[0].hunks[0].lines == ["-x = 1", "+x = 2"]
    assert session.message(4).path_hints == ["a.py"]
    assert session.message(12).tool.status is ToolStatus.ERROR
    assert session.message(14).label == "Background task finished"
    assert session.message(15).label == "Compacted, 18,200 tokens before, 900 after"
    assert [u.line for u in session.unreadable] == [19]

"""Gemini CLI's corpus and case s17, read in place: the figures that their descriptions give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.message import Flag, Kind, ToolStatus
from schemas.opening import read_session
from schemas.providers.gemini import PROVIDER
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.schemas.conformance import assert_all_laws, assert_builds_clean, assert_sums, described
from tests.schemas.test_gemini_log import growing

SHARED = Path(__file__).parents[2] / "../shared"
CORPUS = SHARED / "corpus" / "gemini"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="no shared files here")
REAL = "toolpath_sample_main_with_tools.json"


def session_of(name: str) -> Session:
    return read_session(CORPUS / name)


def prompts(session: Session) -> list[str]:
    return [exchange.prompt for exchange in session.live_exchanges]


def test_every_file_is_read_by_the_laws() -> None:
    for path in sorted(CORPUS.rglob("*")):
        if path.suffix == ".jsonl":
            assert_all_laws(PROVIDER, path)
        elif path.suffix == ".json" and path.name != "projects.json":
            session = read_session(path)
            assert session.provider == "gemini"
            assert_sums(session)
            assert_builds_clean(session)


def test_the_real_sessions_tokens_are_googles_totals() -> None:
    path = CORPUS / REAL
    records = [m for m in json.loads(path.read_text())["messages"] if m.get("tokens")]
    session = session_of(REAL)
    assert len(session.groups) == len(records)
    for group, record in enumerate(records):
        usage, told = session.groups.usage[group], record["tokens"]
        assert usage.total == told["total"] == told["input"] + told["output"] + told["thoughts"] + told["tool"]
        assert usage.context == told["input"] and usage.cache_read == told["cached"]
    assert session.context_used == records[-1]["tokens"]["input"]


def test_the_real_sessions_tools() -> None:
    session = session_of(REAL)
    tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool]
    assert len(session.live_exchanges) == 2 and len(tools) == 14
    assert [str(tool.status) for tool in tools] == ["ok"] * 3 + ["error"] + ["ok"] * 9 + ["denied"]
    assert [(d.operation, d.added, d.removed) for tool in tools for d in tool.diffs] == [
        ("update", 9, 1), ("update", 2, 2), ("update", 36, 3), ("update", 1, 1),
    ]  # fmt: skip
    assert all(tool.runs for tool in tools if tool.name == "run_shell_command" and tool.status is ToolStatus.OK)
    assert tools[3].exit_code == 101
    assert session.message(len(session.messages) - 1).kind is Kind.INTERRUPT


def test_the_authored_log() -> None:
    session = session_of("authored_full.jsonl")
    assert session.title == "Set x to 2" and prompts(session) == ["set x to 2 in @a.py", "thanks, add a test"]
    assert session.usage() == TokenUsage(1000 + 300, 40 + 20 + 5, 17000, None, 20)
    assert [e.prompt for e in session.exchanges if e.rewound] == ["wrong prompt"]
    assert [gap.line for gap in session.unreadable] == [21]
    assert session.metadata["directories"] == ["/home/u/other"]


def test_the_authored_checkpoint() -> None:
    session = session_of("authored_checkpoint_messages.jsonl")
    assert prompts(session) == ["set x to 2 in @a.py", "wrong prompt", "continue"]
    assert described(session).count("COMPACTION summary of earlier work") == 1
    assert described(session).count("TEXT Done.") == 1 and session.usage() == TokenUsage(1300, 65, 17000, None, 20)


def test_the_small_ones() -> None:
    alpha = session_of("agentdata_alpha.json")
    assert alpha.title == "Main session alpha" and len(alpha.live_exchanges) == 2
    assert alpha.exchange_usage(1) == TokenUsage(10, 390, 1200, None, 50)
    upsert = session_of("agentsview_inline_jsonl.jsonl")
    assert upsert.usage() == TokenUsage(9184, 26, 0, None, None) and len(upsert.groups) == 1
    assert described(session_of("agentsview_inline_malformed_mid.jsonl")) == ["PROMPT first", "TEXT reply"]
    assert described(session_of("agentsview_inline_partial_tail.jsonl")) == ["PROMPT first"]
    system = session_of("agentsview_system_messages.json")
    assert not system.live_exchanges and len(system.messages) == 3


def test_the_case_of_upserts_and_rewinds(tmp_path: Path) -> None:
    (path,) = (SHARED / "cases").glob("s17*/tmp/*/chats/*.jsonl")
    session = assert_all_laws(PROVIDER, path)
    assert (session.title, session.workspace_root) == ("Lamp in a box", "/home/dev/lamp-shop")
    assert prompts(session) == ["What is in the box?", "Keep it, but paint it"]
    live = [i for i in range(len(session.messages)) if not session.messages.has(i, Flag.REWOUND)]
    texts = [session.message(i).text for i in live]
    assert texts.count("A lamp. GEM-ONE") == 1 and "Thrown away. GEM-REWOUND" not in texts
    assert sum(session.messages.kind[i] == Kind.TOOL for i in live) == 1
    totals = [usage.total for e in session.exchanges if (usage := session.exchange_usage(e.index))]
    assert totals == [1045, 1220, 1337] and (whole := session.usage()) and whole.total == 3602
    lines = path.read_bytes().splitlines(keepends=True)
    grown, heard = growing(tmp_path / path.name, lines)
    assert described(grown) == described(session) and heard == list(session.messages.key)

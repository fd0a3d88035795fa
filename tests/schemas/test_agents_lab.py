"""Genuine and synthetic files of the agents that have no tests of their own: totals, and what opens as what.

What an agent writes itself is in lab/, what others wrote of it in corpus/; neither is part of the repository.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.message import ToolStatus
from schemas.opening import OpenError, family, head_of, read_session, recognise
from schemas.provider import Environment, Keyed, Problem
from schemas.providers import providers
from schemas.session import Lack, Session
from schemas.usage import TokenUsage, total_usage

SHARED = Path(__file__).parents[2] / "../shared"
LAB, CORPUS = SHARED / "lab", SHARED / "corpus"
pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="no shared files here")

AGENTS = (
    "continue", "droid", "gptme", "hermes", "kimi-cli", "kimi-code", "mini-swe-agent", "nanocoder", "openhands", "vibe",
)  # fmt: skip
RUNS = [
    run
    for run in (json.loads((LAB / "expect.json").read_text()) if (LAB / "expect.json").exists() else [])
    if run["run"].split("/")[0] in AGENTS
]
UNCOUNTED = {
    # Its sums leave out a response that was served whole: that of the run whose process was ended.
    "hermes/hermes-0.19.0": TokenUsage(1154, 302, 5414, 0),
}
HELD = {
    "continue/continue-1.5.47": (3, 4, 10, 3), "droid/droid-0.215.0": (7, 7, 11, 5), "gptme/gptme-0.35.1": (2, 3, 5, 2),
    "hermes/hermes-0.19.0": (6, 7, 11, 4), "kimi-cli/kimi-cli-1.47.0": (6, 7, 11, 3),
    "kimi-code/kimi-code-2.1.0": (7, 9, 11, 4), "mini-swe-agent/mini-2.4.6": (5, 5, 17, 8),
    "nanocoder/nanocoder-1.25.2": (2, 2, 7, 5), "openhands/openhands-1.16.0": (4, 5, 11, 3),
    "vibe/vibe-2.26.1-legacy": (5, 6, 11, 4), "vibe/vibe-3.0.2": (6, 7, 9, 3),
}  # fmt: skip
"""Sessions, their prompts and tool uses, and the uses that did not end well: those of subagents apart."""


def _found(agent: str, home: Path) -> list[Path]:
    """The sessions in a home; mini-swe-agent's lie where the person put them, one is a copy of another."""
    if agent == "mini-swe-agent":
        return sorted(path for path in home.rglob("*.traj.json") if path.name != "run1.traj.json")
    problems: list[Problem] = []
    provider = providers()[agent]
    locations = provider.locations(Environment({}, home, "linux"))
    found = [file.path for location in locations for file in provider.find(location, problems)]
    assert not problems
    return [Path(path) for path in found]


def _tools(session: Session) -> list[ToolStatus]:
    messages = (session.message(at) for at in range(len(session.messages)))
    return [message.tool.status for message in messages if message.tool is not None]


@pytest.mark.parametrize("run", RUNS, ids=[run["run"] for run in RUNS])
def test_genuine_sessions_have_what_was_served(run: dict[str, Any]) -> None:
    agent = run["run"].split("/")[0]
    sessions = [read_session(path) for path in _found(agent, LAB / run["home"])]
    members = [member for session in sessions for member in family(session)]
    statuses = [status for session in sessions for status in _tools(session)]
    prompts = sum(len(session.live_exchanges) for session in sessions)
    bad = sum(status is not ToolStatus.OK for status in statuses)
    assert (len(sessions), prompts, len(statuses), bad) == HELD[run["run"]]
    assert {member.provider for member in members} == {agent}
    assert not any(member.unknown or member.unreadable for member in members)
    usage = total_usage([*(member.usage() for member in members), UNCOUNTED.get(run["run"])])
    if usage is None:
        assert all(Lack.TOKENS in member.lacks for member in members)
    else:
        assert {name: getattr(usage, name) or 0 for name in run["total"]} == run["total"]


FILES: list[tuple[str, tuple[Any, ...]]] = [
    ("amp/*MixedModels*", ("amp", 2, 0, (10, 300, 8000, 5040))),
    ("amp/*UsageOnly*", ("amp", 1, 0, (0, 0, 75, 25))),
    ("amp/*ToolResultDict*", ("amp", 0, 1, None)),
    ("amp/*ToolUse*", ("amp", 1, 1, None)),
    ("amp/T-no*", ("amp", 1, 0, None)),
    ("antigravity/**/*.jsonl", ("antigravity", 1, 0, None)),
    ("atif/*v1.4.json", ("atif", 1, 2, (920, 124, 200, None))),
    ("atif/*v1.8*", ("atif", 1, 2, (400, 80, 1000, 100))),
    ("crush/*.db", ("crush", 1, 1, None)),
    ("droid/**/*a.jsonl", ("droid", 1, 1, (7340, 475, 35188, 120))),
    ("droid/**/*.settings.json", ()),
    ("goose/*.jsonl", ("goose", 1, 0, None)),
    ("goose/*.sql", ("goose", 1, 0, None)),
    ("goose/*.db", ("goose", 1, 2, (200, 120, 15000, 800))),
    ("grok/current/**/chat_history.jsonl", ("grok", 1, 2, None)),
    ("grok/legacy/**/*.jsonl", ("grok", 1, 1, None)),
    ("grok/deja*/**/updates.jsonl", ("grok", 1, 0, None)),
    ("grok/**/*.json", ()),
    ("hermes/*.sql", ("hermes", 1, 0, None)),
    ("kimi-cli/**/wire.jsonl", ("kimi-cli", 1, 1, (100, 50, 2000, 0))),
    ("kimi-cli/**/context.jsonl", ("kimi-cli", 1, 1, None)),
    ("kimi-code/**/session_demo/agents/main/*", ("kimi-code", 1, 1, (130, 70, 4150, 0))),
    ("kimi-code/**/agent-0/*", ("kimi-code", 1, 0, (10, 5, 0, 0))),
    ("kimi-code/**/session_fixture01/agents/main/*", ("kimi-code", 2, 0, None)),
    ("kimi-code/**/state.json", ()),
    ("mini-swe-agent/*v1.1.traj.json", ("mini-swe-agent", 1, 1, (500, 80, 1000, None))),
    ("mini-swe-agent/*v0.traj.json", ("mini-swe-agent", 1, 2, None)),
    ("mini-swe-agent/*.traj", ("swe-agent", 1, 2, (1500, 80, None, None))),
    ("openai-messages/anthropic*", ("messages", 1, 1, None)),
    ("openai-messages/messages_*", ("messages", 1, 2, None)),
    ("openai-messages/request*", ("messages", 1, 2, None)),
    ("openai-messages/responses*", ("messages", 1, 1, None)),
    ("openai-messages/sharegpt*", ("messages", 1, 1, None)),
    ("roo/**/api_conversation_history.json", ("roo", 1, 0, (12, 4, None, None))),
    ("roo/**/history_item.json", ()),
    ("vibe/session_basic/*.jsonl", ("vibe", 2, 0, (100, 50, None, None))),
    ("vibe/session_with_tools/*.jsonl", ("vibe", 1, 1, (200, 100, None, None))),
    ("vibe/session_empty/*.jsonl", ()),
    ("vibe/**/meta.json", ()),
    ("zed/zed.sql", ("zed", 1, 0, None)),
]
"""A pattern; the agent, prompts, tool uses and tokens (input, output, cache read and written) of each session in each
file; nothing where files are refused."""


def _opened(path: Path, folder: Path) -> Iterator[Session]:
    """The sessions of a file; a database is made of its statements."""
    if path.suffix == ".sql":
        made = folder / f"{path.stem}.db"
        with closing(sqlite3.connect(made)) as database:
            database.executescript(path.read_text())
        path = made
    provider = recognise(head_of(path))
    if isinstance(provider, Keyed):
        yield from (read_session(Path(file.path)) for file in provider.held(path))
    else:
        yield read_session(path)


@pytest.mark.parametrize(("pattern", "expected"), FILES, ids=[pattern for pattern, _ in FILES])
def test_the_corpus_opens_as_it_should(pattern: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    paths = [path for path in sorted(CORPUS.glob(pattern)) if path.is_file()]
    assert paths
    for path in paths:
        if not expected:
            with pytest.raises(OpenError):
                list(_opened(path, tmp_path))
            continue
        sessions = list(_opened(path, tmp_path))
        assert sessions, path
        for session in sessions:
            usage, tools = session.usage(), _tools(session)
            assert (session.provider, len(session.live_exchanges), len(tools), usage and usage[:4]) == expected, path
            assert not session.unknown and not session.unreadable, path


def test_a_dataset_holds_a_session_a_row() -> None:
    (path,) = CORPUS.glob("openai-messages/dataset_*.jsonl")
    provider = recognise(head_of(path))
    assert isinstance(provider, Keyed)
    assert {file.key: len(_tools(read_session(Path(file.path)))) for file in provider.held(path)} == {"a": 2, "b": 0}


STREAMS = {
    "droid/*/stdout/*.out": "droid", "kimi-code/*/stdout/*.out": "kimi-code", "openhands/*/stdout/*.out": "openhands",
    "vibe/vibe-3*/stdout/*.out": "vibe", "pi/*/stdout/*.out": "pi", "omp/*/stdout/*.out": "omp",
    "continue/*/stdout/*.out": "continue", "kimi-cli/*/stdout/run[123].out": "kimi-cli",
}  # fmt: skip
"""Whose each is. Oh My Pi prints as Pi does; what kimi-cli printed in run7 is one message that any program might."""
PRINTED = {
    "pi/pi-1.6.0/stdout/run1.out": (1, 8, TokenUsage(7308, 1204, 30828, 0)),
    "pi/pi-1.6.0/stdout/run9.out": (1, 8, TokenUsage(9233, 3479, 48503, 0)),
    "omp/omp-18.2.3/stdout/run1.out": (1, 9, TokenUsage(9517, 1691, 40747, 0)),
    "kimi-cli/kimi-cli-1.47.0/stdout/run1.out": (1, 9, None),
    "continue/continue-1.5.47/stdout/run7.out": (1, 0, None),
}
"""Exchanges, tool uses and tokens of streams."""


@pytest.mark.parametrize(("name", "expected"), PRINTED.items())
def test_what_the_agents_printed_has_what_was_served(name: str, expected: tuple[Any, ...]) -> None:
    session = read_session(LAB / name)
    usage = session.usage()
    held = usage and TokenUsage(*usage[:4])
    assert (len(session.live_exchanges), len(_tools(session)), held) == expected


@pytest.mark.parametrize(("pattern", "agent"), STREAMS.items())
def test_what_the_agents_printed_is_read_as_theirs(pattern: str, agent: str) -> None:
    owners: dict[str, list[str]] = {}
    for path in sorted(LAB.glob(pattern)):
        try:
            session = read_session(path)
        except OpenError:
            continue  # prose, or nothing
        assert not session.unknown, path
        owners.setdefault(session.provider, []).append(path.name)
    assert set(owners) == {agent}

"""Records in which anything may stand anywhere: Claude Code's parser keeps the laws whatever it is given."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Kind
from schemas.providers.claude import PROVIDER
from schemas.session import Session
from tests.schemas.claude_lines import Lines, usage
from tests.schemas.conformance import assert_all_laws, assert_same_in_pieces

IDS = st.sampled_from(["u1", "u2", "u3", "u4", "toolu_1", "toolu_2", "11111111-2222-4333-8444-555555555555"])
TEXTS = st.sampled_from(
    [
        "hi",
        "",
        " ",
        "Let me",
        "Let me look",
        "<command-name>/review</command-name><command-args>7</command-args>",
        "<local-command-stdout>\x1b[31mdone\x1b[0m</local-command-stdout>",
        "<bash-input>ls</bash-input>",
        "<task-notification><task-id>a1</task-id><tool-use-id>toolu_1</tool-use-id></task-notification>",
        '<teammate-message teammate_id="a">x</teammate-message>',
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation",
        "<system-reminder>x</system-reminder>",
        "text\n<system-reminder>x</system-reminder>",
        "<tool_use_error>bad</tool_use_error>",
        "<persisted-output>\nFull output saved to: /a/../../b.txt\n\nPreview (first 2KB):\nx\n</persisted-output>",
        "Exit code 2\nboom",
        "\ud83d \u202e \x9b31m \x00",
    ]
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXTS | IDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "x"]), inner),
    max_leaves=6,
)
FIGURES = st.dictionaries(
    st.sampled_from(
        ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"]
    ),
    st.integers(0, 100) | ANYTHING,
)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "document", "fallback", "odd"])},
    optional={
        "text": TEXTS | ANYTHING,
        "thinking": TEXTS,
        "signature": TEXTS,
        "id": IDS | ANYTHING,
        "tool_use_id": IDS | ANYTHING,
        "name": st.sampled_from(["Bash", "Edit", "MultiEdit", "Write", "Task", "Read", "BashOutput"]) | ANYTHING,
        "input": st.dictionaries(
            st.sampled_from(["command", "file_path", "old_string", "new_string", "content", "edits", "prompt"]),
            ANYTHING,
        )
        | ANYTHING,
        "content": TEXTS | ANYTHING | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS})),
        "is_error": st.booleans() | ANYTHING,
        "source": ANYTHING,
    },
)
CONTENT = TEXTS | st.lists(BLOCKS | TEXTS | st.none(), max_size=4) | ANYTHING
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "progress", "queue-operation"]) | ANYTHING},
    optional={
        "uuid": IDS | ANYTHING,
        "parentUuid": IDS | ANYTHING,
        "timestamp": st.sampled_from(["2026-11-02T09:00:01.000Z", "2026-11-02T09:00:99.000Z", "soon"]) | ANYTHING,
        "sessionId": IDS | ANYTHING,
        "isSidechain": st.booleans() | ANYTHING,
        "agentId": st.sampled_from(["a1", "a2"]) | ANYTHING,
        "forkedFrom": ANYTHING,
        "isMeta": st.booleans(),
        "isCompactSummary": st.booleans(),
        "isApiErrorMessage": st.booleans(),
        "cwd": TEXTS | ANYTHING,
        "operation": st.sampled_from(["enqueue", "dequeue", "remove", "popAll"]) | ANYTHING,
        "content": TEXTS | ANYTHING,
        "subtype": st.sampled_from(
            [
                "compact_boundary",
                "local_command",
                "turn_duration",
                "stop_hook_summary",
                "api_error",
                "api_refusal",
                "new",
            ]
        )
        | ANYTHING,
        "compactMetadata": ANYTHING,
        "durationMs": ANYTHING,
        "hookErrors": ANYTHING,
        "error": ANYTHING,
        "customTitle": TEXTS | ANYTHING,
        "leafUuid": IDS,
        "toolUseResult": ANYTHING
        | st.dictionaries(
            st.sampled_from(["agentId", "structuredPatch", "stdout", "file", "task", "durationMs", "interrupted"]),
            ANYTHING,
        ),
        "data": st.fixed_dictionaries({"type": st.just("agent_progress")}, optional={"agentId": ANYTHING}),
        "attachment": st.fixed_dictionaries(
            {"type": st.sampled_from(["queued_command", "file", "hook_blocking_error", "diagnostics", "task_status"])},
            optional={"prompt": CONTENT, "content": ANYTHING, "files": ANYTHING, "blockingError": ANYTHING},
        )
        | ANYTHING,
        "message": st.fixed_dictionaries(
            {"content": CONTENT},
            optional={"id": IDS | ANYTHING, "model": TEXTS | ANYTHING, "usage": FIGURES | ANYTHING},
        )
        | ANYTHING,
    },
)


@given(st.lists(RECORDS, max_size=25), st.lists(st.integers(0, 9000), max_size=6))
def test_any_records_keep_the_laws(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path = folder / "session.jsonl"
    path.write_bytes(data)
    assert_all_laws(PROVIDER, path)
    assert_same_in_pieces(PROVIDER, data, folder, cuts, "pieces.jsonl")


def test_a_very_long_response_is_read_in_a_straight_line(tmp_path: Path) -> None:
    """20,000 lines of one response, each with a longer text: no walk over all that came before."""
    lines = Lines()
    lines.user("go")
    for n in range(20_000):
        lines.say("x" * (n % 50 + 1) if n % 3 else f"part {n}", response="msg_long", usage=usage(1, n))
    session = lines.read(tmp_path)
    assert session.usage() is not None and session.usage().output == 19_999
    assert len(session.groups) == 1


def test_a_thousand_roots_of_sidechains_stay_few_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines(isSidechain=False)
    lines.user("go")
    lines.use("Task", given={"prompt": "none of these"})
    for n in range(1500):
        lines.user(f"task {n}", parent=None, isSidechain=True)
    built: Counter[str] = Counter()
    message = Session.message
    monkeypatch.setattr(Session, "message", lambda session, row: built.update([session.id]) or message(session, row))
    session = lines.read(tmp_path)
    assert len(session.subagents) == 1000
    assert max(built.values()) < 10  # each compares its own prompt, however many there are


def test_deep_and_cyclic_parents(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("self", uuid="a", parent="a")
    lines.user("there", uuid="b", parent="c")
    lines.user("and back", uuid="c", parent="b")
    for _ in range(5000):
        lines.say("on")
    session = lines.read(tmp_path)
    assert len(session.exchanges) == 3 and not any(e.rewound for e in session.exchanges)


@pytest.mark.parametrize("kind", [[], {}, [1], None, 7])
def test_a_block_whose_type_is_no_word_is_shown_as_it_is(kind: object, tmp_path: Path) -> None:
    lines = Lines()
    lines.user([{"type": "text", "text": "go"}, {"type": kind}])
    lines.agent({"type": kind}, {"type": "text", "text": "done"})
    session = lines.read(tmp_path)
    assert [m.kind for m in session.exchange_messages(0)] == [Kind.PROMPT, Kind.UNKNOWN, Kind.UNKNOWN, Kind.TEXT]

"""Qwen Code: where thinking is counted, and that any record is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.providers.qwen import PROVIDER, read_usage
from schemas.usage import TokenUsage
from tests.fixtures.qwen import START, stamp
from tests.schemas.conformance import assert_all_laws, assert_same_in_pieces

# -- tokens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ((18009, 47, 36, 18056, 12, None), TokenUsage(17997, 47, 12, None, 36)),
        ((100, 10, 30, 140, 0, None), TokenUsage(100, 40, 0, None, 30)),
        ((100, 10, 30, 145, 0, 5), TokenUsage(105, 40, 0, None, 30)),
        ((100, 40, 30, None, 0, None), TokenUsage(100, 40, 0, None, 30)),
        ((100, 40, 30, 999, 0, None), TokenUsage(100, 40, 0, None, 30)),
        ((12, 34, None, None, 5, None), TokenUsage(7, 34, 5)),
        ((None, None, None, 5, None, None), None),
        (("x", -1, [], None, {}, True), None),
    ],
)
def test_where_thinking_is_counted_is_decided_by_the_total(figures, expected):
    prompt, written, thoughts, total, cached, tool = figures
    assert read_usage((prompt, written, cached, thoughts, tool, total)) == expected


@given(*[st.one_of(st.none(), st.integers(0, 10**6))] * 6)
def test_pieces_never_overlap(prompt, written, thoughts, total, cached, tool):
    usage = read_usage((prompt, written, cached, thoughts, tool, total))
    if usage is None:
        return
    assert (usage.output or 0) >= (usage.reasoning or 0) or usage.output is None
    if prompt is not None and written is not None and total == prompt + written + (thoughts or 0):
        assert usage.total == total + (tool or 0) * (total != prompt + written)


# -- hostile -----------------------------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 2**40), st.text(max_size=6), st.just("\x1b]0;x\x07\ud800")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)
PARTS = st.one_of(
    JUNK,
    st.fixed_dictionaries({}, optional={"text": JUNK, "thought": JUNK, "functionCall": JUNK, "inlineData": JUNK}),
    st.fixed_dictionaries({"functionResponse": st.one_of(JUNK, st.fixed_dictionaries({"id": JUNK, "response": JUNK}))}),
)
FIELDS = [
    "displayText", "hookContext", "phase", "rawCommand", "outputHistoryItems", "filesRead", "userText", "status",
    "info", "compressedHistory", "customTitle", "truncatedCount", "state", "error", "startedAt", "endedAt",
]  # fmt: skip
PAYLOADS = st.one_of(JUNK, st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JUNK)))
RECORDS = st.fixed_dictionaries(
    {"type": st.one_of(st.sampled_from(["user", "assistant", "tool_result", "system"]), JUNK)},
    optional={
        "uuid": st.one_of(st.sampled_from("abcde"), JUNK),
        "parentUuid": st.one_of(st.sampled_from("abcdef"), JUNK),
        "sessionId": JUNK,
        "timestamp": st.one_of(st.just(stamp(START)), JUNK),
        "subtype": st.one_of(
            st.sampled_from(["slash_command", "at_command", "rewind", "turn_result", "custom_title", "notification"]),
            JUNK,
        ),
        "message": st.one_of(JUNK, st.fixed_dictionaries({"parts": st.one_of(JUNK, st.lists(PARTS, max_size=4))})),
        "systemPayload": PAYLOADS,
        "toolCallResult": st.one_of(
            JUNK, st.fixed_dictionaries({"callId": JUNK, "resultDisplay": JUNK, "status": JUNK})
        ),
        "usageMetadata": JUNK,
        "isSidechain": st.booleans(),
        "agentId": JUNK,
        "forkedFrom": JUNK,
        "cwd": JUNK,
        "model": JUNK,
    },
)


@given(st.lists(RECORDS, max_size=8), st.lists(st.integers(0, 3000), max_size=3))
def test_any_record_is_read_and_nothing_is_lost(tmp_path_factory, records, cuts):
    folder = tmp_path_factory.mktemp("qwen")
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    assert_same_in_pieces(PROVIDER, data, folder, cuts, "x.jsonl")
    assert_all_laws(PROVIDER, folder / "x.jsonl")

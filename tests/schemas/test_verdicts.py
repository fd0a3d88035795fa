from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas.documents import NAMES, load_schema
from schemas.interchange.session_data_write import to_session_data
from schemas.interchange.snapshot import validate_snapshot
from schemas.interchange.toolpath_write import to_toolpath
from schemas.interchange.verdicts import Finding, schema_findings, shown
from tests.schemas.mutations import mutated
from tests.schemas.test_agent_response import whole
from tests.schemas.test_documents import GOOD
from tests.schemas.test_price_book import BOOK

EVENT = {
    "provider": "p", "model": "m", "session_id": "s", "timestamp": "2026-01-01T00:00:00Z",
    "usage": {
        f"{name}_tokens": 1 for name in ("input", "output", "cache_write", "cache_read", "tool_input", "tool_output")
    },
}  # fmt: skip
ROW = {"name": "m", "tokens": 5, "total_cost_usd": 1.5, "blended_usd_per_mtok": 2, "session_count": 1}
SNAPSHOT = {
    "schema_version": 1, "generated_at": "2026-01-01T00:00:00Z", "month": "2026-01", "mode": "compact",
    "totals": {
        "cost_usd": 1, "tokens": 5, "blended_usd_per_mtok": 2, "session_count": 1, "skipped_unpriced_count": 0,
    },
    "top_providers": [ROW], "top_models": [ROW], "suggestions": ["s"],
}  # fmt: skip
RESPONSE = {
    "final_response": "x",
    "messages": [{"role": "assistant", "content": None, "thinking": [{}], "tool_calls": [{"id": "c", "name": "n"}]}],
    "metadata": {},
}
TOOLPATH = json.loads(b"".join(to_toolpath(whole())))
VALID: dict[str, dict[str, Any]] = {
    "session-data": json.loads(b"".join(to_session_data(whole()))),
    "toolpath": TOOLPATH,
    "agent-coding-session-v1.0.0": TOOLPATH["paths"][0],
    "agent-coding-session-v1.1.0": TOOLPATH["paths"][0],
    "price-book": BOOK,
    "toolpath-line": {"Step": TOOLPATH["paths"][0]["steps"][0]},
    "events": EVENT,
    "snapshot": SNAPSHOT,
    "agent-response": RESPONSE,
}


def test_there_is_a_document_for_each_schema():
    assert VALID.keys() == set(NAMES)
    assert validate_snapshot(SNAPSHOT).valid


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_the_quick_test_says_what_the_validator_says(name, data):
    document = data.draw(mutated(VALID[name]))
    valid = Draft202012Validator(load_schema(name)).is_valid(document)
    assert (schema_findings(name, document) == []) == valid


@pytest.mark.parametrize("name", NAMES)
def test_nothing_stands_beside_a_reference(name):
    """Draft 7, by which the quick test goes, passes over it."""

    def walk(part: object) -> None:
        if isinstance(part, dict):
            assert "$ref" not in part or part.keys() <= {"$ref", "title", "description"}, part
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk(load_schema(name))


def test_only_what_is_wrong_is_explained_and_it_keeps_its_place():
    document = {**GOOD, "exchanges": [*GOOD["exchanges"] * 3, {"exchangeId": "x", "messages": [{"role": "x"}]}]}
    assert schema_findings("session-data", document) == [
        Finding("/exchanges/3/messages/0/role", '`role` must be one of user, agent, not "x"')
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"), (True, "true"), (1.0, "1.0"), (7, "7"), ("é\n\x1b[2J ", '"é\\n "'), ({}, "an empty object"),
        ([], "an empty array"), ([1], "an array"), ("x" * 200, '"' + "x" * 59 + '…"'),
        (10**400, "a number of more than 60 digits"), (float("inf"), "a number of more than 60 digits"),
    ],
)  # fmt: skip
def test_values_are_shown_as_json(value, words):
    assert shown(value) == words


@pytest.mark.parametrize(
    ("name", "document", "place", "sentence"),
    [
        ("agent-response", [], "", "the document must be an object, not an array"),
        ("agent-response", {"final_response": "", "messages": [5]}, "/messages/0",
         "an item of `messages` must be an object, not an integer"),
        ("agent-response", {"final_response": "", "messages": [{"role": None}]}, "/messages/0/role",
         "`role` must be one of system, user, assistant, tool, not null"),
        ("session-data", GOOD | {"schemaVersion": 1}, "/schemaVersion", '`schemaVersion` must be "1.0", not 1'),
        ("session-data", GOOD | {"schemaVersion": {"a": 1}}, "/schemaVersion",
         '`schemaVersion` must be "1.0", not an object'),
        ("session-data", GOOD | {"a/b~": 1, "sessionId": ""}, "/sessionId", "`sessionId` is empty"),
    ],
)  # fmt: skip
def test_sentences_are_plain(name, document, place, sentence):
    assert schema_findings(name, document) == [Finding(place, sentence)]

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.documents import NAMES, load_schema
from schemas.interchange.session_data_check import validate_session_data
from schemas.interchange.verdicts import Finding
from tests.schemas.mutations import changed_in

SHARED = Path(__file__).parents[2] / "../shared"

GOOD: dict[str, Any] = {
    "schemaVersion": "1.0",
    "provider": {"id": "claude", "name": "Claude Code", "version": "1"},
    "sessionId": "s",
    "createdAt": "2026-01-01T00:00:00Z",
    "workspaceRoot": "/w",
    "exchanges": [
        {
            "exchangeId": "s:0",
            "messages": [
                {"id": "u", "role": "user", "content": [{"type": "text", "text": "go"}]},
                {"id": "a", "role": "agent", "model": "m", "tool": {"name": "Read", "type": "read", "input": {}}},
            ],
        }
    ],
}


changed = partial(changed_in, GOOD)


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_a_schema(name):
    Draft202012Validator.check_schema(load_schema(name))


def test_an_unknown_schema_is_a_key_error():
    with pytest.raises(KeyError):
        load_schema("../../pyproject")


def test_a_good_document_has_no_findings():
    assert validate_session_data(GOOD) == ([], [])


ERRORS = [
    ("schemaVersion", "2.0", "/schemaVersion", '`schemaVersion` must be "1.0", not "2.0"'),
    ("sessionId", ..., "", "`sessionId` is missing"),
    ("sessionId", "", "/sessionId", "`sessionId` is empty"),
    ("provider/name", "", "/provider/name", "`name` is empty"),
    ("provider", [], "/provider", "`provider` must be an object, not an array"),
    ("workspaceRoot", 5, "/workspaceRoot", "`workspaceRoot` must be a string, not an integer"),
    ("exchanges", {}, "/exchanges", "`exchanges` must be an array, not an object"),
    ("exchanges", None, "/exchanges", "`exchanges` must be an array, not null"),
    ("exchanges/0/exchangeId", ..., "/exchanges/0", "`exchangeId` is missing"),
    ("exchanges/0/messages", None, "/exchanges/0/messages", "`messages` must be an array, not null"),
    (
        "exchanges/0/messages/0/role", "tool", "/exchanges/0/messages/0/role",
        '`role` must be one of user, agent, not "tool"',
    ),
    ("exchanges/0/messages/0/content", [], "/exchanges/0/messages/0/content", "`content` is empty"),
    ("exchanges/0/messages/0/content", ..., "/exchanges/0/messages/0", "`content` is missing"),
    ("exchanges/0/messages/0/model", "m", "/exchanges/0/messages/0/model", "a user message cannot have `model`"),
    (
        "exchanges/0/messages/0/content/0", {"type": "text", "text": "x", "lang": "en"},
        "/exchanges/0/messages/0/content/0", "`lang` does not belong here",
    ),
    (
        "exchanges/0/messages/1/tool/type", "mcp", "/exchanges/0/messages/1/tool/type",
        '`type` must be one of write, read, search, shell, task, generic, unknown, not "mcp"',
    ),
    (
        "exchanges/0/messages/0/metadata", "x", "/exchanges/0/messages/0/metadata",
        "`metadata` must be an object, not a string",
    ),
    (
        "exchanges/0/messages/1/metadata", None, "/exchanges/0/messages/1/metadata",
        "`metadata` must be an object, not null",
    ),
    (
        "exchanges/0/messages/1", {"role": "agent"}, "/exchanges/0/messages/1",
        "an agent message needs `content`, `tool` or `pathHints`",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "where", "sentence"), ERRORS)
def test_an_error_says_where_and_what(path, value, where, sentence):
    errors, _ = validate_session_data(changed(path, value))
    assert errors == [Finding(where, sentence)]


WARNINGS = [
    ("provider/id", "aider", "/provider/id", '"aider" is none of claude, cursor, codex, gemini'),
    ("extra", 1, "", "`extra` is no key of SessionData 1.0"),
    ("exchanges/0/extra", 1, "/exchanges/0", "`extra` is no key of SessionData 1.0"),
    ("createdAt", "yesterday", "/createdAt", '"yesterday" is no ISO 8601 time'),
    ("createdAt", "2026-01-01T00:00:00", "/createdAt", '"2026-01-01T00:00:00" has no time zone'),
    (
        "exchanges/0/messages/1/tool/input", "text", "/exchanges/0/messages/1/tool/input",
        "`input` should be an object, not a string",
    ),
    (
        "exchanges/0/messages/1/id", "u", "/exchanges/0/messages/1/id",
        '"u" is already the id at /exchanges/0/messages/0/id',
    ),
    (
        "exchanges/0/messages/1/usage", {"inputTokens": -1}, "/exchanges/0/messages/1/usage/inputTokens",
        "`inputTokens` should be a count, not -1",
    ),
    (
        "exchanges/0/messages/1/usage", {"inputTokens": 2.0}, "/exchanges/0/messages/1/usage/inputTokens",
        "`inputTokens` should be a count, not 2.0",
    ),
    (
        "exchanges/0/messages/1/usage", [], "/exchanges/0/messages/1/usage",
        "`usage` should be an object, not an array",
    ),
    (
        "exchanges/0/messages/1/usage", {"costUsd": 0.5}, "/exchanges/0/messages/1/usage",
        "`costUsd` is no figure that the producer counts",
    ),
    (
        "exchanges/0/messages/1/usage", {"inputTokens": 10**30}, "/exchanges/0/messages/1/usage/inputTokens",
        "`inputTokens` is larger than any count of tokens: read as unknown",
    ),
    (
        "exchanges/0/messages/1",
        {"role": "agent", "model": "m", "content": [{"type": "thinking", "text": ""}], "usage": {"inputTokens": 1}},
        "/exchanges/0/messages/1/content", "thinking without its text: there is nothing to read in this message",
    ),
    ("updatedAt", "", "/updatedAt", "an empty time: leave the key out"),
    (
        "createdAt", "20260101T000000Z", "/createdAt",
        '"20260101T000000Z" is not of the usual form, such as 2026-01-31T09:00:00Z',
    ),
    (
        "exchanges/0/messages/1", {"role": "agent", "model": "m"}, "/exchanges/0/messages/1",
        "an agent message needs `content`, `tool` or `pathHints`",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "where", "sentence"), WARNINGS)
def test_a_warning_leaves_the_document_valid(path, value, where, sentence):
    verdict = validate_session_data(changed(path, value))
    assert verdict == ([], [Finding(where, sentence)])
    assert verdict.valid


@pytest.mark.parametrize("path", ["exchanges/0/messages/0/extra", "exchanges/0/messages/1/tool/extra"])
def test_messages_and_tools_may_have_further_keys(path):
    assert validate_session_data(changed(path, 1)) == ([], [])


@pytest.mark.parametrize("value", [None, [], 5, "x"])
def test_what_is_no_object_is_one_error(value):
    errors, warnings = validate_session_data(value)
    assert [error.message.split(",")[0] for error in errors] == ["the document must be an object"]
    assert warnings == []


def test_names_in_findings_are_clean():
    errors, warnings = validate_session_data(
        changed("exchanges/0/messages/0/content/0", {"type": "\x1b[2J", "text": ""})
    )
    assert "\x1b" not in errors[0].message
    _, warnings = validate_session_data(changed("\x1b]0;x\x07", 1))
    assert "\x1b" not in warnings[0].message


GOLDENS = SHARED / "goldens/specstory"


@pytest.mark.skipif(not GOLDENS.is_dir(), reason="the shared goldens are not here")
def test_the_three_validators_verdicts():
    for name, verdicts in json.loads((GOLDENS / "expected_verdicts.json").read_text()).items():
        folder = next(f for f in ("valid", "invalid") if (GOLDENS / f / f"{name}.json").exists())
        verdict = validate_session_data(json.loads((GOLDENS / folder / f"{name}.json").read_text()))
        assert verdict.valid == (folder == "valid"), name
        if verdict.valid:
            assert bool(verdict.warnings) == (not verdicts["seed_doc_json_schema"]), name

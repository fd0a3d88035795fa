from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.interchange.registry import check, guess
from tests.schemas.test_documents import GOOD, changed
from tests.schemas.test_verdicts import EVENT, RESPONSE, SNAPSHOT, TOOLPATH


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


STREAM = [
    {"PathOpen": {"version": "1", "id": "p"}},
    {"Step": {"step": {"id": "s", "actor": "human:user", "timestamp": "2026-01-01T00:00:00Z"}, "change": {}}},
    {"Head": {"step_id": "s"}},
]


@pytest.mark.parametrize(
    ("name", "document"),
    [("session-data", GOOD), ("toolpath", TOOLPATH), ("events", EVENT), ("snapshot", SNAPSHOT),
     ("agent-response", RESPONSE)],
)  # fmt: skip
def test_a_missing_key_does_not_hide_the_format(name, document):
    for key in document:
        rest = {other: value for other, value in document.items() if other != key}
        data = json.dumps(rest).encode()
        said = guess(data)
        assert said is not None and said.name == name, key
        assert check(name, data).errors or key in ("messages", "metadata"), key


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'{"messages": []}', "agent-response"),
        (lines(EVENT, {"type": "note"}), "events"),
        (lines(*STREAM), "toolpath-jsonl"),
        (lines(*STREAM[1:]), "toolpath-jsonl"),
        (lines(STREAM[0]), "toolpath-jsonl"),
        (lines(STREAM[1]), "toolpath"),
        (lines({"Path": {}}), "toolpath"),
        (lines(EVENT, {"a": 1}), "events"),
        (b"{broken\n" + lines(EVENT, EVENT), "events"),
        (b"\xef\xbb\xbf" + lines(SNAPSHOT), "snapshot"),
        (json.dumps(GOOD, indent=2).encode()[:-3], "session-data"),
        (json.dumps(GOOD).encode()[:120], "session-data"),
        (json.dumps(GOOD).encode().replace(b"go", b"\xff\xfe"), "session-data"),
        (b'{"final_response": "' + b"x" * (2 << 20), "agent-response"),
        (b'{"final_response": "", ' + b", ".join(b'"k%d": 1' % n for n in range(15)) + b"}", "agent-response"),
    ],
)
def test_a_format_is_told_by_what_is_there(data, name):
    said = guess(data)
    assert said is not None and said.name == name


@pytest.mark.parametrize(
    "data",
    [
        b"", b"hello", b"[1]", b"{}", b'"final_response"', b'{"a": {"final_response": 1}}', b'["final_response"]',
        b'{"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "t", "message": {}}',
        lines({"role": "assistant", "provider": "anthropic", "model": "m", "usage": {"input": 1}, "timestamp": 1}),
        b'{"model": "m", "messages": [], "stream": true, "temperature": 1}', b'{"steps": [], "agent": {}, "notes": ""}',
    ],
)  # fmt: skip
def test_what_is_of_no_format_is_not_guessed(data):
    assert guess(data) is None


def test_a_byte_order_mark_is_warned_of():
    for name, data in (("session-data", lines(GOOD)), ("events", lines(EVENT))):
        verdict = check(name, b"\xef\xbb\xbf" + data)
        assert verdict.errors == []
        assert [warning.message for warning in verdict.warnings] == [
            "begins with a byte order mark, which JSON does not have"
        ]


def test_repeated_keys_are_warned_of_in_each_format():
    data = json.dumps(changed("slug", "x")).encode().replace(b'"slug": "x"', b'"slug": "x", "slug": "y"')
    assert check("session-data", data).warnings == [("", "`slug` stands more than once: most readers take the last")]
    data = lines(EVENT).replace(b'"model": "m"', b'"model": "m", "model": "n"')
    assert check("events", data).warnings == [("line 1", "`model` stands more than once: most readers take the last")]


@pytest.mark.parametrize("name", ["session-data", "toolpath", "snapshot", "agent-response"])
def test_deep_nesting_is_one_sentence(name):
    verdict = check(name, b'{"metadata": ' + b"[" * 5000 + b"]" * 5000 + b"}")
    said = "nested too deeply to be checked: level 500 begins at line 1, column 512"
    assert [error.message for error in verdict.errors] == [said]


def test_a_message_on_each_line_is_one_document():
    """As turnlog writes it: what stands on the lines are no rows."""
    tool = {"name": "Bash", "type": "shell", "useId": "t", "input": {}, "output": {}}
    messages = [{"id": str(n), "role": "agent", "model": "m", "tool": tool, "metadata": {}} for n in range(9)]
    head = {key: GOOD[key] for key in GOOD if key != "exchanges"}
    start = json.dumps(head)[:-1].encode() + b', "exchanges":[\n{"exchangeId":"e","messages":[\n'
    found = guess(start + b",\n".join(json.dumps(message).encode() for message in messages) + b"\n]}\n]}\n")
    assert found is not None and found.name == "session-data"

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from schemas.interchange.registry import NAMES
from tests.schemas.test_documents import GOOD
from tests.viewer.machine import Machine, Result


def check(machine: Machine, document: Any, *options: str) -> Result:
    path = machine.home / "document.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return machine.run("validate", str(path), *options)


def test_a_valid_document(machine):
    result = check(machine, GOOD)
    assert (result.code, result.out, result.err) == (0, "~/document.json: valid session-data\n", "")


def test_an_invalid_one_says_why(machine):
    result = check(machine, GOOD | {"sessionId": ""})
    assert result.code == 1
    assert result.out == (
        "~/document.json: error: /sessionId: `sessionId` is empty\n~/document.json: not valid session-data: 1 error\n"
    )


def test_the_json_answer(machine):
    result = check(machine, GOOD | {"sessionId": "", "slip": 1}, "--json")
    assert result.code == 1
    assert result.json == {
        "valid": False,
        "format": "session-data",
        "errors": [{"path": "/sessionId", "message": "`sessionId` is empty"}],
        "warnings": [{"path": "", "message": "`slip` is no key of SessionData 1.0"}],
    }


def test_what_is_not_json_is_invalid_where_the_format_is_named(machine):
    result = check(machine, b"{", "--as", "session-data", "--json")
    assert result.code == 1
    assert result.json["errors"][0]["message"].startswith("not JSON: ")


@pytest.mark.parametrize(
    ("document", "options", "words"),
    [
        (b"", (), "empty"),
        (json.dumps(GOOD).encode("utf-16"), (), "document.json: a text in UTF-16, where UTF-8 belongs"),
        (b"hello", (), "say which with --as"),
        (GOOD, ("--as", "yaml"), "no such format"),
    ],
)
def test_what_cannot_be_checked_ends_with_2_and_one_line(machine, document, options, words):
    result = check(machine, document, *options)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file_is_no_document_of_any_format(machine, name):
    answer = check(machine, b" \n", "--as", name, "--json")
    assert (answer.code, answer.json["valid"]) == (1, False)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"final_response": "x"}, "agent-response"),
        ({"schema_version": 1, "totals": {}}, "snapshot"),
        ({"provider": "p", "usage": {}, "session_id": "s"}, "events"),
        (b'{"provider": "p", "usage": {}, "session_id": "s"}\n{"provider": 1}\n', "events"),
        ({"graph": {"id": "g"}, "paths": []}, "toolpath"),
        (b'{"PathOpen":{}}\n{"PathClose":{}}\n', "toolpath-jsonl"),
        (GOOD, "session-data"),
    ],
)
def test_a_format_is_guessed_by_content(machine, document, name):
    assert check(machine, document, "--json").json["format"] == name


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_odd_paths(machine):
    os.mkfifo(machine.home / "pipe")
    for given, words in (
        ("pipe", "pipe: not a regular file"),
        ("/dev/null", "/dev/null: not a regular file"),
        ("", "an empty argument: no such file"),
        (".", ".: is a directory"),
        ("/proc/self/mem", "/proc/self/mem: "),
    ):
        result = machine.run("validate", given)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert result.err.startswith(f"turnlog: {words}")


def test_a_file_that_is_not_there(machine):
    result = machine.run("validate", "nowhere.json")
    assert result.code == 2
    assert "nowhere.json: no such file" in result.err


def test_what_show_writes_is_valid(machine):
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines again"])
    shown = machine.run("show", str(path), "--json")
    assert check(machine, shown.out.encode(), "--json").json == {
        "valid": True,
        "format": "session-data",
        "errors": [],
        "warnings": [],
    }


def test_a_document_without_a_required_key_is_invalid_and_not_unknown(machine):
    for document, missing in (
        ({key: value for key, value in GOOD.items() if key != "exchanges"}, "`exchanges` is missing"),
        ({"graph": {"id": "g"}}, "`paths` is missing"),
    ):
        result = check(machine, document)
        assert (result.code, result.err) == (1, "")
        assert missing in result.out


def test_a_document_that_breaks_off_or_is_no_utf8_is_invalid_with_a_place(machine):
    data = json.dumps(GOOD).encode()
    for broken, words in (
        (data[:200], "it breaks off"),
        (data.replace(b"go", b"\xff"), "the byte 0xff at line 1, column"),
    ):
        result = check(machine, broken, "--json")
        assert (result.code, result.json["format"]) == (1, "session-data")
        assert words in result.json["errors"][0]["message"]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("options", [(), ("--as", "session-data"), ("--as", "events", "--json")], ids=" ".join)
def test_utf_16_cannot_be_read_whatever_it_is_taken_for(machine, coding, options):
    result = check(machine, json.dumps(GOOD).encode(coding), *options)
    assert (result.code, result.out) == (2, "")
    assert result.err == "turnlog: ~/document.json: a text in UTF-16, where UTF-8 belongs\n"


def test_an_agents_own_session_is_of_no_published_format(machine):
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines again"])
    result = machine.run("validate", str(path))
    assert (result.code, result.out) == (2, "")
    assert "a session of Claude Code, in its own form and none of session-data, " in result.err
    assert "`turnlog export --to …`" in result.err and "--as" not in result.err


def test_text_output_is_one_line_a_finding_with_sums_at_the_end(machine):
    result = check(
        machine, GOOD | {"sessionId": "", "a\nb\x1b[2J": 1, "provider": {"id": "x", "name": "n", "version": "1"}}
    )
    assert result.out.splitlines() == [
        "~/document.json: error: /sessionId: `sessionId` is empty",
        '~/document.json: warning: /provider/id: "x" is none of claude, cursor, codex, gemini',
        "~/document.json: warning: `a b` is no key of SessionData 1.0",
        "~/document.json: not valid session-data: 1 error, 2 warnings",
    ]


def test_standard_input_is_called_so(machine):
    result = machine.run("validate", "-", stdin=json.dumps(GOOD).encode())
    assert (result.code, result.out) == (0, "standard input: valid session-data\n")

from __future__ import annotations

import json
import os
from pathlib import Path

import orjson
import pytest

from schemas.interchange.session_data_write import to_session_data
from schemas.opening import (
    OpenError,
    family,
    head_of,
    open_reading,
    read_session,
    read_subagent,
    recognise,
)
from schemas.provider import read_head
from schemas.session import Subagent
from schemas.usage import TokenUsage
from tests.support import Hand, usage_with_subagents


def document(path: Path, output: int = 1) -> Path:
    hand = Hand(session_id=path.stem)
    hand.prompt("go")
    hand.text("ok", usage=TokenUsage(output=output))
    path.write_bytes(b"".join(to_session_data(hand.session)))
    return path


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\n", "only white space"),
        (b"\x7fELF\0\0\0\1\2", "a binary file"),
        ('{"a": 1}'.encode("utf-16"), "a text in UTF-16, where UTF-8 belongs; not a session"),
        ('{"a": 1}'.encode("utf-16-le"), "a text in UTF-16, where UTF-8 belongs; not a session"),
        ('{"a": 1}'.encode("utf-32"), "a text in UTF-32, where UTF-8 belongs; not a session"),
        ('{"a": 1}'.encode("utf-32-be"), "a text in UTF-32, where UTF-8 belongs; not a session"),
        (b'{"a":\n' + b"[" * 5000 + b"]" * 5000 + b"}", "JSON that is nested too deeply: level 500 begins at line 2"),
        (b"hello there\n", "it begins with 'hello there'"),
        (b'{"a": 1,\n "b": 2}\n', "it is a JSON object with the keys a, b"),
        (b"{}\n", "an empty JSON object"),
        (b'{"a":1}\n{"b":2}\n', "line 1 is a JSON object with the keys a"),
        (b"\x1b]0;x\x07hi", "it begins with 'hi'"),
        (b"[1, 2]\n", "line 1 is a JSON array of 2 numbers; not a session turnlog knows: `turnlog doctor --formats`"),
        (b"[1]", "line 1 is a JSON array of 1 number;"),
        (b'\n["a", 1, null]\n', "line 2 is a JSON array of 3 values;"),
        (b"[]", "line 1 is a JSON array of 0 values;"),
        (b'{"a": 1, "b": "x', "a JSON object that breaks off at byte 16; not a session turnlog knows"),
        (b'[{"type": "user", "id": "x"},', "a JSON array that breaks off at byte 29;"),
    ],
)
def test_what_is_no_session_is_described_in_one_clean_line(tmp_path, content, reason):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(OpenError) as error:
        open_reading(path)
    assert reason in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value) and "\x1b" not in str(error.value)


def test_what_cannot_be_opened_says_why(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("none", "no such file"), (".", "a directory"), ("pipe", "not a regular file")):
        with pytest.raises(OpenError, match=reason):
            open_reading(tmp_path / name)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_permission_is_said(tmp_path):
    path = document(tmp_path / "x.json")
    path.chmod(0)
    with pytest.raises(OpenError, match="permission denied"):
        open_reading(path)


def test_a_damaged_compressed_file(tmp_path):
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfdgarbage")
    with pytest.raises(OpenError, match="damaged zstd file"):
        open_reading(path)


def test_a_document_larger_than_the_head_is_recognised(tmp_path):
    path = tmp_path / "x.json"
    hand = Hand()
    hand.prompt("x" * 100_000)
    value = orjson.loads(b"".join(to_session_data(hand.session)))
    for options in (0, orjson.OPT_INDENT_2):
        path.write_bytes(orjson.dumps(value, option=options))
        assert recognise(head_of(path)).id == "session-data"
        assert len(read_session(path).messages) == 1


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("size", [10, 50_000, 100_000])
def test_a_line_of_a_document_is_no_record(tmp_path, size, indent):
    # Its messages stand in lines of their own, and one of them alone would be of another form.
    message = json.dumps({"role": "assistant", "content": "x" * size})
    path = tmp_path / "run.json"
    path.write_text(f'{{"final_response": "{"x" * size}", "messages": [\n{message}\n]}}\n')
    if indent:
        path.write_text(json.dumps(json.loads(path.read_text()), indent=indent))
    assert recognise(head_of(path)).id == "agent-response"


def test_heads():
    path = Path("x")
    rows = read_head(path, b'{"a":1}\n{"b":2}\n{"c', whole=False)
    assert (rows.records, rows.document) == ([{"a": 1}, {"b": 2}], None)
    one = read_head(path, b'{"a":1}\n', whole=True)
    assert (one.records, one.document) == ([{"a": 1}], {"a": 1})
    record = '{"type": "user", "uuid": "u"}'
    spread = read_head(path, f'{{\n"list": [\n{record}\n,\n{record}\n]\n}}\n'.encode(), whole=True)
    assert spread.records == []
    assert spread.document == {"list": [json.loads(record)] * 2}


def test_a_document_on_one_line_is_parsed_once(monkeypatch):
    data = json.dumps({"exchanges": []}).encode()
    heads = [read_head(Path("x"), text, whole=True) for text in (data, b"\xef\xbb\xbf" + data, data + b"\n", data[:-1])]
    assert [head.document for head in heads] == [{"exchanges": []}] * 3 + [None]
    assert [head.records for head in heads] == [[{"exchanges": []}]] * 3 + [[]]
    for again in ("read_document", "JsonLines"):
        monkeypatch.setattr("schemas.provider." + again, lambda *_: pytest.fail("parsed again"))
    assert read_head(Path("x"), data, whole=True).document == {"exchanges": []}


def test_progress_is_told(tmp_path):
    path = document(tmp_path / "x.json")
    told: list[tuple[int, int]] = []
    read_session(path, lambda done, of: told.append((done, of)))
    assert told[-1] == (path.stat().st_size,) * 2


def test_a_family_is_counted_once_each_however_it_is_linked(tmp_path):
    paths = [document(tmp_path / f"{n}.json", output=10**n) for n in range(3)]
    session = read_session(paths[0])
    session.subagents = [
        Subagent("a", path=paths[1]),
        Subagent("b", path=paths[2]),
        Subagent("gone", path=tmp_path / "no"),
    ]
    child = read_subagent(session.subagents[0])
    assert child is not None
    assert read_subagent(session.subagents[0]) is child
    child.subagents = [Subagent("loop", path=paths[0]), Subagent("b", path=paths[2])]
    assert [member.path for member in family(session)] == paths
    assert session.usage() == TokenUsage(output=1)
    assert usage_with_subagents(session) == TokenUsage(output=111)

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.broken import read_broken, why_unread
from schemas.interchange.agent_response import to_agent_response
from schemas.interchange.session_data_write import to_session_data
from schemas.interchange.toolpath_write import to_toolpath
from schemas.opening import OpenError, head_of, open_reading, read_session, recognise
from schemas.session import Op
from tests.schemas.test_verdicts import SNAPSHOT, TOOLPATH
from tests.support import Hand
from tests.viewer.rewriting import differences

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
WRITTEN_BY = {"session-data": to_session_data, "toolpath": to_toolpath, "agent-response": to_agent_response}


@pytest.mark.parametrize(
    ("raw", "value", "end"),
    [
        ('{"a": 1, "b": 2', {"a": 1}, 7),  # it may be the beginning of 23
        ('{"a": [1, {"b": "x"', {"a": [1, {"b": "x"}]}, 19),
        ('{"a": [1, {"b": "x', {"a": [1, {}]}, 11),  # half an id would be a wrong one
        ('{"a": [1, {"b"', {"a": [1, {}]}, 11),
        ('{"a": {"b": 1}, "c": tr', {"a": {"b": 1}}, 14),
        ('{"a": {"b": 1}, "c":', {"a": {"b": 1}}, 14),
        ('{"text": "half a \\u00', {"text": "half a "}, 17),
        ('{"text": "a \\"', {"text": 'a "'}, 14),
        ('{"text": "{[,', {"text": "{[,"}, 13),
        ('{"text": ', {}, 1),
        ('{"text": "a", "id": "b', {"text": "a"}, 12),
        ("[", [], 1),
        ("\ufeff[1,", [1], 5),
    ],
)
def test_a_document_ends_with_its_last_whole_value_and_prose_where_it_breaks_off(raw, value, end):
    broken = read_broken(raw.encode())
    assert broken is not None
    assert (broken.document, broken.gap.offset, broken.gap.length) == (value, end, len(raw.encode()) - end)
    assert broken.gap.reason == f"the document breaks off at byte {len(raw.encode())}"


def test_a_character_that_is_cut_in_two_is_left_out():
    broken = read_broken('{"text": "ré'.encode()[:-1])
    assert broken is not None and broken.document == {"text": "r"}


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1]", b'{"a": 1} x', b'{"a" 1', b"hello", b'"x', b'{"a": }'])
def test_what_does_not_break_off_is_left_alone(raw):
    assert read_broken(raw) is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not a whole document (being written?)"),
        (b'{"a": [1,', "not a whole document (being written?)"),
        (b'{"a": 1}\n\n x', "not JSON: something follows its end at line 3, column 2"),
        (b'\n{"a" 1}', "not JSON: a colon is missing at line 2, column 6"),
        (b"[" * 5000 + b"]" * 5000, "nested too deeply: level 500 begins at line 1, column 500"),
        (b'\xef\xbb\xbf{"a": NaN}\n', "no longer a document of this kind"),
    ],
)
def test_why_a_file_holds_no_document_is_told(raw, reason):
    assert why_unread(raw) == reason


def test_what_stands_behind_a_document_of_each_kind_is_named(tmp_path):
    """Not "being written": nothing that comes could make it one."""
    for name, data in (("snapshot", json.dumps(SNAPSHOT)), ("toolpath", json.dumps(TOOLPATH))):
        path = tmp_path / f"{name}.json"
        path.write_text(data + "\ngarbage")
        with pytest.raises(OpenError, match="something follows its end at line 2, column 1"):
            read_session(path)


@given(VALUES, st.data())
@example({"text": 'a"\\b\ud83e'.encode("utf-8", "replace").decode()}, None)
def test_each_beginning_of_a_document_can_be_read_and_holds_nothing_else(value, data):
    raw = json.dumps({"text": value, "content": [value]}, indent=1, ensure_ascii=False).encode()
    cuts = range(1, len(raw)) if data is None else [data.draw(st.integers(1, len(raw) - 1))]
    for cut in cuts:
        broken = read_broken(raw[:cut])
        assert broken is not None
        end = broken.gap.offset
        assert broken.data[:end] == raw[:end]
        assert broken.gap.length == cut - end >= 0
        assert broken.gap.line == raw.count(b"\n", 0, end) + 1


def hand() -> Hand:
    made = Hand(session_id="s1")
    for number in range(3):
        made.prompt(f"prompt {number}")
        made.text(f"answer {number}")
    return made


@pytest.mark.parametrize("name", WRITTEN_BY)
@pytest.mark.parametrize("indent", [0, orjson.OPT_INDENT_2])
def test_a_document_that_breaks_off_opens_as_far_as_it_goes(tmp_path, name, indent):
    path = tmp_path / "x.json"
    whole = orjson.dumps(orjson.loads(b"".join(WRITTEN_BY[name](hand().session))), option=indent)
    path.write_bytes(whole[: whole.rindex(b"answer 2") + 4])
    assert recognise(head_of(path)).id == name
    session = read_session(path)
    said = [session.message(n).text for n in range(len(session.messages))]
    assert [text for text in said if text.startswith("prompt")] == ["prompt 0", "prompt 1", "prompt 2"]
    assert "answer 1" in said
    assert [bad.reason for bad in session.unreadable] == [f"the document breaks off at byte {path.stat().st_size:,}"]


@pytest.mark.parametrize("name", WRITTEN_BY)
def test_what_may_still_come_is_waited_for(tmp_path, name):
    path = tmp_path / "x.json"
    path.write_bytes(b"".join(WRITTEN_BY[name](hand().session))[:-20])
    with pytest.raises(OpenError, match="breaks off"):
        recognise(head_of(path), growing=True)


@pytest.mark.parametrize("name", WRITTEN_BY)
def test_what_is_shown_stays_while_the_document_is_written_again(tmp_path, name):
    path = tmp_path / "x.json"
    whole = b"".join(WRITTEN_BY[name](hand().session))
    path.write_bytes(whole[: whole.rindex(b"answer 1")])
    reading = open_reading(path)
    reading.step()
    shown = len(reading.session.messages)
    for end in (whole.rindex(b"answer 0"), whole.rindex(b"answer 2")):
        path.write_bytes(whole[:end])
        with pytest.raises(OSError, match="being written"):
            reading.reread()  # type: ignore[attr-defined]
        assert len(reading.session.messages) == shown
    path.write_bytes(whole)
    assert Op.APPENDED in {change.op for change in reading.reread()}  # type: ignore[attr-defined]
    assert not differences(reading.session, read_session(path))
    assert not reading.session.unreadable


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"schemaVersion": "1.0", "provider": {"id": "claude", "name": "c", "version": "1"}, "sessionId": "s",
             "createdAt": "2026-01-01T00:00:00Z", "workspaceRoot": "/"},
            "by its keys session-data, but `exchanges` is missing",
        ),
        (
            {"messages": [{"role": "user", "content": "hi"}], "metadata": {}, "more": 1},
            "by its keys agent-response, but `final_response` is missing",
        ),
        ({"final_response": "x", "messages": [], "metadata": {"a": ['"']}}, "not JSON: a comma is missing at line 1"),
    ],
)  # fmt: skip
def test_what_a_document_lacks_is_named(tmp_path, value, said):
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps(value).replace('["\\""]', '["" 1]').encode())
    with pytest.raises(OpenError) as error:
        read_session(path)
    assert said in str(error.value) and "`turnlog validate` says all" in str(error.value)

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.events import read_events, validate_events
from schemas.interchange.json_text import line_warnings, read_json, read_line
from schemas.interchange.toolpath_check import validate_stream
from tests.schemas.test_verdicts import EVENT


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "not JSON: there is nothing in it"),
        (b'{"a": 1', "not JSON: it breaks off at line 1, column 8"),
        (b'{"a": tr', "not JSON: it breaks off at line 1, column 7"),
        (b'{\n"a": "xy', "not JSON: it breaks off inside the string that begins at line 2, column 6"),
        (b'{"a": 1} x', "not JSON: something follows its end at line 1, column 10"),
        (b'{"a" 1}', "not JSON: a colon is missing at line 1, column 6"),
        (b'{"a": 1 "b": 2}', "not JSON: a comma is missing at line 1, column 9"),
        (b'["NaN",\nNaN]', "not JSON: NaN is no JSON value at line 2, column 1"),
        (b'["\n"]', "not JSON: a control character in a string at line 1, column 3"),
        ('{"é":\n"é'.encode() + b'\xff"}', "not UTF-8: the byte 0xff at line 2, column 3"),
        ('["é'.encode()[:-1], "not UTF-8: it breaks off inside the character at line 1, column 3"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8: it begins as UTF-16 does"),
        ('{"a": 1}'.encode("utf-16-le"), "not UTF-8: it begins as UTF-16 does"),
        ('{"a": 1}'.encode("utf-16-be"), "not UTF-8: it begins as UTF-16 does"),
        ('{"a": 1}'.encode("utf-32"), "not UTF-8: it begins as UTF-32 does"),
        (b'"\\u12', "not JSON: it breaks off at line 1, column 3"),
        (b'"\\u12g4"', "not JSON: a \\u without four digits at line 1, column 3"),
        (b"[" * 100_000, "nested too deeply to be checked: level 500 begins at line 1, column 500"),
        (
            b'{"[":\n"\xc3\xa9" ,"b":' + b"[" * 100_000,
            "nested too deeply to be checked: level 500 begins at line 2, column 508",
        ),
    ],
)
def test_a_fault_has_its_place_and_reason(data, fault):
    assert read_json(data).fault == fault


def test_numbers_keep_their_digits():
    assert read_json(b"[18446744073709551616, 1e3]").value == [1 << 64, 1000.0]
    assert read_json(b"[" + b"9" * 5000 + b"]").value[0] > 10**300
    assert read_json(b"[-" + b"9" * 5000 + b"]").value[0] < -(10**300)


@pytest.mark.parametrize("odd", ["1e400", "-1e400", "1" + "0" * 400, "9" * 5000, '"\\ud83e"'])
def test_a_line_is_json_where_a_document_is(odd):
    """The quickest parser refuses a number beyond a float, or half a character, that a document may have."""
    line = f'{{"x": {odd}}}'.encode()
    assert (read_line(line).value, read_line(line).fault) == (read_json(line).value, "")
    event = json.dumps(EVENT)[:-1].encode() + b', "x": ' + odd.encode() + b"}"
    assert validate_events(event).valid
    assert [found.model for found in read_events(event)] == [EVENT["model"]]
    opened = f'{{"PathOpen": {{"version": "1", "id": "p", "x": {odd}}}}}'.encode()
    assert validate_stream(opened + b'\n{"Head": {"step_id": ""}}\n').errors == []


def test_a_fault_of_a_line_names_its_column():
    assert read_line(b'{"a" 1}').fault == "not JSON: a colon is missing at column 6"
    assert read_line(b'"\xff"').fault == "not UTF-8: the byte 0xff at column 2"


def test_what_readers_differ_about_is_said():
    text = read_json(b'{"x": [{"a/b": 1, "a/b": 2}], "y": "\\ud83e", "z": "\\ud83e\\udd16", "y2": {"a": 1}}')
    assert text.value["x"] == [{"a/b": 2}]
    assert text.warnings == [
        ("/x/0", "`a/b` stands more than once: most readers take the last"),
        ("/y", "half a character (a lone surrogate): readers refuse it or replace it"),
    ]


def test_lines_have_their_numbers():
    found = list(line_warnings(b'{"a":1}\n{"a":1,"a":2}\n\nnonsense\n{"b":{"c":1,"c":1}}'))
    assert [place for place, _ in found] == ["line 2", "line 5: /b"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_json_is_read_as_it_is(value):
    assert read_json(json.dumps(value, ensure_ascii=True).encode()).value == value


@given(st.binary(max_size=30))
def test_no_bytes_stop_it(data):
    text = read_json(data)
    assert text.fault == "" or text.value is None

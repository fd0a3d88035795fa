from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import records
from schemas.records import FileStore, JsonLines, MemoryStore, Record, breaks_off, is_record, read_record, recover


def whole(data: bytes) -> tuple[list[Record], list[tuple[int, int, int]]]:
    lines = JsonLines()
    records = lines.push(data) + lines.finish()
    return records, [(bad.line, bad.offset, bad.length) for bad in lines.unreadable]


def values(data: bytes) -> list[dict]:
    return [record[3] for record in whole(data)[0]]


RECORD = {"type": "user", "uuid": "u", "text": "zwölf 🪑"}
LINE = json.dumps(RECORD, ensure_ascii=False).encode()


# -- examples ----------------------------------------------------------------------------------------------------------


def test_a_record_knows_where_it_lies():
    data = b'{"a":1}\n\n  {"b":2}\r\n{"c":3}'
    records, bad = whole(data)
    assert [(line, value) for _, _, line, value in records] == [(1, {"a": 1}), (3, {"b": 2}), (4, {"c": 3})]
    assert [orjson.loads(data[offset : offset + length]) for offset, length, _, _ in records] == [
        {"a": 1}, {"b": 2}, {"c": 3},
    ]  # fmt: skip
    assert bad == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"nonsense\n", "not JSON: a value is missing at column 1"),
        (b"[1]\n", "a JSON list, not an object"),
        (b"null\n", "a JSON null, not an object"),
        (b"1" + b"0" * 5000 + b"\n", "a JSON number, not an object"),
        (b"1e400\n", "a JSON number, not an object"),
        (b"true\n", "a JSON boolean, not an object"),
        (b"\0\0\0\n", ""),
        (b'{"a":\n', "not JSON: it breaks off at column 6"),
        (b'  {"a": "x\n', "not JSON: it breaks off inside the string that begins at column 9"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
    ],
)
def test_what_gives_no_record_is_reported_with_its_line(data, reason):
    lines = JsonLines()
    assert lines.push(b'{"a":1}\n' + data + b'{"b":2}\n')[-1][3] == {"b": 2}
    if reason:
        (bad,) = lines.unreadable
        assert (bad.line, bad.offset) == (2, 8)
        assert bad.reason.startswith(reason)
    else:
        assert lines.unreadable == []


def test_two_records_on_one_line_are_two():
    records, bad = whole(LINE + LINE + b"\n")
    assert [record[3] for record in records] == [RECORD, RECORD]
    assert [record[0] for record in records] == [0, len(LINE)]
    assert {record[2] for record in records} == {1}
    assert bad == []


def test_a_record_after_a_torn_one_is_found():
    records, bad = whole(LINE[:25] + LINE + b"\n")
    assert [record[3] for record in records] == [RECORD]
    assert bad == [(1, 0, 25)]


@pytest.mark.parametrize("piece", [b'{"type":"user",', b'{"type":"user"{', b'{{"type":"user"', b'{"a":1}', LINE[:-1]])
def test_a_line_of_very_many_faults_is_read_in_a_straight_line(piece, monkeypatch):
    """The decoder counts the lines before each fault: 60,000 of them in a megabyte took a minute."""
    before: list[int] = []

    class Decoder(json.JSONDecoder):
        def raw_decode(self, text, start=0):
            before.append(start)
            return super().raw_decode(text, start)

    monkeypatch.setattr(records, "_DECODER", Decoder())
    line = piece * (300_000 // len(piece))
    found, _ = whole(line + b"\n" + LINE)
    assert found[-1][3] == RECORD
    assert len(before) > 3000 and max(before) < 5000


def test_a_piece_of_a_record_is_no_record():
    # Only a content block survives of this line: it must not pass for a message.
    records, bad = whole(b'{"type":"user","message":{"content":[{"type":"text","text":"x"}]\n')
    assert records == []
    assert [line for line, _, _ in bad] == [1]
    assert not is_record({"type": "text", "text": "x"})


@pytest.mark.parametrize("around", [b"\0\0%b", b"\xef\xbb\xbf%b", b"%b\r", b"  %b  ", b"%b\0\0\0"])
def test_marks_around_a_record_do_no_harm(around):
    assert values(around % LINE + b"\n") == [RECORD]


def test_halves_of_characters_and_of_bytes_are_read():
    assert values(b'{"a":"\\ud83e"}\n') == [{"a": "\ud83e"}]
    assert values(b'{"a":"\xff"}\n') == [{"a": "�"}]


def test_a_number_of_any_length_is_read():
    assert values(b'{"a":' + b"9" * 5000 + b"}\n") == [{"a": None}]  # as it is once it was written down


def test_a_last_line_without_its_newline():
    lines = JsonLines()
    assert lines.push(LINE) == []
    assert lines.pending == len(LINE)
    assert [record[3] for record in lines.take_tail()] == [RECORD]
    assert lines.take_tail() == lines.push(b"\n") == []
    assert lines.push(LINE + b"\n") == [(len(LINE) + 1, len(LINE), 2, RECORD)]


def test_half_a_last_line_waits_until_no_more_comes():
    lines = JsonLines()
    lines.push(LINE[:-5])
    assert lines.take_tail() == []
    assert lines.unreadable == []
    assert lines.finish() == []
    assert [bad.reason for bad in lines.unreadable] == ["the last line is unfinished"]


def test_a_line_of_half_a_gigabyte_is_passed_over(monkeypatch):
    monkeypatch.setattr("schemas.records.MAX_LINE", 10)
    assert recover(b"x" * 11, 5, 3) == ([], [(3, "a line of 0 MB", 5, 11, "")])


# -- laws --------------------------------------------------------------------------------------------------------------

good = st.dictionaries(
    st.sampled_from(["type", "uuid", "text", "é"]),
    st.text(max_size=8) | st.integers() | st.none(),
    min_size=1,
    max_size=4,
).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
odd = st.sampled_from(
    [
        b"",
        b" ",
        b"\0\0",
        b"{",
        b"null",
        b"[1,2]",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        LINE + LINE,
        LINE[:20] + LINE,
        b"}{",
        b'"x"',
    ]
)
files = st.lists(good | odd | st.binary(max_size=12), max_size=8).flatmap(
    lambda lines: st.sampled_from([b"\n", b"\r\n"]).map(lambda end: end.join(lines))
)


@given(files, st.lists(st.integers(0, 300), max_size=10))
def test_any_cut_gives_the_same_records(data, places):
    lines = JsonLines()
    records: list[Record] = []
    cuts = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    for start, end in itertools.pairwise(cuts):
        records += lines.push(data[start:end])
    records += lines.finish()
    assert (records, [(b.line, b.offset, b.length) for b in lines.unreadable]) == whole(data)


@given(files)
def test_a_record_is_read_back_from_its_place(data):
    for offset, length, line, value in whole(data)[0]:
        assert read_record(data[offset : offset + length]) == value
        assert line == data.count(b"\n", 0, offset) + 1


@given(files)
def test_what_is_unreadable_lies_apart_from_what_is_read(data):
    records, bad = whole(data)
    spans = sorted([(r[0], r[0] + r[1]) for r in records] + [(offset, offset + length) for _, offset, length in bad])
    assert all(a_end <= b_start for (_, a_end), (b_start, _) in itertools.pairwise(spans))
    assert all(0 <= start <= end <= len(data) for start, end in spans)


@given(st.lists(good, max_size=6))
def test_nothing_of_a_sound_file_is_lost(lines):
    assert values(b"".join(line + b"\n" for line in lines)) == [orjson.loads(line) for line in lines]


# -- stores ------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_by_place_also_after_it_was_replaced(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":2}\n')
    store = FileStore(path)
    other = tmp_path / "other"
    other.write_bytes(b'{"c":3}\n')
    os.replace(other, path)
    assert store.read(8, 7) == b'{"b":2}'
    assert store.record(8, 7) == {"b": 2}
    assert store.read(100, 5) == b""
    store.close()
    store.close()


def test_a_span_of_a_file_that_shrank_is_an_empty_record(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a":1}\n')
    store = FileStore(path)
    os.truncate(path, 3)
    assert store.record(0, 7) == {}


@pytest.mark.parametrize(
    "value",
    [{"a": [1, None, "é"]}, {"a": 1 << 70}, {"a": "\ud83e"}, {"a": float("inf")}, {1: 2}],
)
def test_memory_keeps_any_value(value):
    store = MemoryStore(Path("x"))
    store.add({"first": 0})
    offset, length, line, same = store.add(value)
    assert (offset, line, same) == (1, 2, value)
    assert store.record(offset, length).keys() == {str(key) for key in value}


def test_memory_keeps_what_is_nested_too_deeply_for_json():
    value: dict = {}
    for _ in range(900):
        value = {"a": value}
    store = MemoryStore(Path("x"))
    offset, length, _, _ = store.add(value)
    assert "a" in store.record(offset, length)
    assert store.read(5, 1) == b""


# -- streams -----------------------------------------------------------------------------------------------------------


def plain_lines(data: bytes) -> tuple[list[bytes], list[str]]:
    """What a stream's lines become, as bytes, and what is reported as unreadable."""
    lines = JsonLines(plain=True)
    records = lines.push(data) + lines.finish()
    return [data[r[0] : r[0] + r[1]] for r in records], [u.reason for u in lines.unreadable]


def test_text_between_the_events_of_a_stream_is_part_of_it() -> None:
    data = b'Loading\n{"type":"a"}\nwarn {"type":"b"}{"type":"c"} end\n\n[1]\n'
    assert plain_lines(data) == (
        [b"Loading", b'{"type":"a"}', b"warn ", b'{"type":"b"}', b'{"type":"c"}', b" end", b"[1]"],
        [],
    )


def test_a_piece_of_a_damaged_event_is_no_event() -> None:
    nested = b'{"type":"a","part":{"type":"tool","id":"x"}'
    assert plain_lines(nested) == ([], ["the last line is unfinished"])
    assert plain_lines(nested + b',"n":<b>}\n') == ([nested + b',"n":<b>}'], [])
    # A line that broke off, and a whole one behind it.
    assert plain_lines(b'{"type":"a","te{"type":"b"}\n') == ([b'{"type":"a","te', b'{"type":"b"}'], [])


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(_VALUES, min_size=1) | st.dictionaries(st.text(), _VALUES, min_size=1),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_a_document_breaks_off_at_every_cut(value, indent, ascii_only):
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    assert [n for n in range(1, len(raw)) if not breaks_off(raw[:n])] == []
    assert not breaks_off(raw)
    assert not breaks_off(raw + b"\n{")


@pytest.mark.parametrize("raw", [b"", b"hello", b'"x', b'{"a\n{"b":1}', b'{"a":1,\n{"b":1}', b'{"a":1}\n{"b"', b"[1]]"])
def test_what_is_no_document_does_not_break_off(raw):
    assert not breaks_off(raw)


@pytest.mark.parametrize("opened", ["[", '{"a":'])
@pytest.mark.parametrize(("levels", "fits"), [(990, True), (1023, True), (1024, False), (3000, False)])
def test_a_record_nested_too_deeply_is_one_unreadable_line(opened, levels, fits):
    closed = {"[": "]"}.get(opened, "}")
    deep = f'{{"type":"user","x":{opened * levels}1{closed * levels}}}'.encode()
    wide = json.dumps({"type": "user", "x": [[]] * 5000}).encode()
    lines = JsonLines()
    records = lines.push(b"\n".join([wide, deep, wide, b""]))
    assert [record[2] for record in records] == ([1, 2, 3] if fits else [1, 3])
    assert [(gap.line, gap.reason) for gap in lines.unreadable] == ([] if fits else [(2, "nested too deeply")])
    assert [repr(record[3]) == repr(json.loads(deep)) and record[3] == json.loads(deep) for record in records].count(
        True
    ) == fits
    after_a_crash = JsonLines().push(b"\0" + deep + b"\n")
    assert len(after_a_crash) == fits, "the other decoder draws the same line"

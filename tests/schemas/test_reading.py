from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.session import Change, Op
from tests.viewer.toy import ToyParser, digest, line


def lines(path: Path, start: int = 0) -> LinesReading:
    return LinesReading(open_file(path), ToyParser(path), start)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line("user", "u1", "one") + line("assistant", "a1", "two") + line("assistant", "a2", "three"))
    return path


@given(st.integers(1, 300))
def test_slices_of_any_size_give_the_same_session(path, limit):
    whole = lines(path)
    whole.step()
    sliced = lines(path)
    while not sliced.done:
        sliced.step(limit)
    assert digest(sliced.session) == digest(whole.session)
    assert sliced.progress == (path.stat().st_size,) * 2


def test_it_goes_on_when_the_file_has_grown(path):
    reading = lines(path)
    reading.step()
    assert reading.done
    with path.open("ab") as file:
        file.write(line("assistant", "a3", "four"))
    assert reading.progress[0] < reading.progress[1]
    assert reading.step() == [Change(Op.APPENDED, 3)]


def test_it_can_begin_behind_the_next_newline(path):
    first = len(line("user", "u1", "one"))
    reading = lines(path, start=first - 3)
    reading.step()
    assert [reading.session.message(i).id for i in range(2)] == ["a1", "a2"]
    assert next(iter(reading.session.message_spans(0))).offset == first
    assert lines(path, start=10_000).step() == []


def test_the_end_of_an_unfinished_file_is_said(path):
    with path.open("ab") as file:
        file.write(b'{"type":"assi')
    reading = lines(path)
    reading.step()
    assert reading.take_tail() == []
    assert reading.session.unreadable == []
    assert reading.finish() == []
    assert [bad.line for bad in reading.session.unreadable] == [4]


def test_a_document_is_read_once_and_whole(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"items":[{"type":"user","uuid":"u","text":"one"},{"type":"assistant","uuid":"a"}]}')
    reading = DocumentReading(path, lambda: ToyParser(path), lambda document: document["items"])
    assert reading.step() == [Change(Op.APPENDED, 0), Change(Op.APPENDED, 1)]
    assert reading.done
    assert reading.step() == reading.finish() == []
    assert reading.progress == (path.stat().st_size,) * 2
    assert reading.session.message(0).text == "one"


def test_only_regular_files_are_opened(tmp_path):
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        open_file(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "none")

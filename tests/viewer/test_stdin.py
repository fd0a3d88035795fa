from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import Seen
from schemas.opening import OpenError, read_session
from schemas.session import Change, Op
from tests.support import catch_up, changes_by
from tests.viewer.machine import Machine
from tests.viewer.pipes import BEGIN, END, record, said
from tests.waiting import wait_until
from viewer.follow.pipe import Spool, StreamFollower, may_be_document
from viewer.output import CallError, path_text, short_path

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"


class Pipe:
    """A spool and the end that an agent writes to."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self.spool = Spool(reading)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.writing, data) :]

    def end(self) -> None:
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    def settled(self, size: int) -> None:
        wait_until(lambda: self.spool.size == size)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.end()
    wait_until(lambda: pipe.spool.ended)
    pipe.spool.close()


# -- copying -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_what_comes_is_kept_byte_for_byte_however_it_is_cut(pieces: list[bytes]) -> None:
    pipe = Pipe()
    for piece in pieces:
        pipe.write(piece)
    pipe.end()
    pipe.spool.wait_for_end()
    whole = b"".join(pieces)
    assert pipe.spool.path.read_bytes() == b"".join(pipe.spool.received()) == whole
    assert (pipe.spool.size, pipe.spool.lines) == (len(whole), whole.count(b"\n"))
    pipe.spool.close()
    assert not pipe.spool.path.parent.exists()


def test_the_writer_never_waits(pipe: Pipe) -> None:
    """Much more than any pipe holds, with nobody looking at it."""
    pipe.write(b"x" * (8 << 20))
    pipe.settled(8 << 20)


def test_every_piece_and_the_end_are_told(pipe: Pipe) -> None:
    seen: list[tuple[int, bool]] = []
    pipe.spool.listen(lambda: seen.append((pipe.spool.size, pipe.spool.ended)))
    pipe.write(b"one\n")
    wait_until(lambda: seen == [(4, False)])
    pipe.write(b"two\n")
    wait_until(lambda: seen == [(4, False), (8, False)])
    pipe.end()
    wait_until(lambda: seen[-1] == (8, True))


def test_a_descriptor_that_does_not_wait_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    spool = Spool(reading)
    time.sleep(0.05)
    os.write(writing, b"later\n")
    os.close(writing)
    spool.wait_for_end()
    assert b"".join(spool.received()) == b"later\n"
    spool.close()


def test_on_a_full_disk_the_writer_goes_on_and_the_reason_is_said(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe.write(b"kept\n")
    pipe.settled(5)

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            pass

    monkeypatch.setattr(pipe.spool, "_file", Full())
    pipe.write(b"x" * (4 << 20))
    pipe.end()
    with pytest.raises(CallError, match="standard input: no space left on device"):
        pipe.spool.wait_for_end()
    assert b"".join(pipe.spool.received()) == b"kept\n"


def test_what_is_drained_takes_no_room(pipe: Pipe) -> None:
    pipe.write(b"kept\n")
    pipe.settled(5)

    def write() -> None:
        pipe.write(b"x" * (4 << 20))
        pipe.end()

    writer = Thread(target=write)
    pipe.spool._keep = False  # so that not even the first of it is kept
    writer.start()
    pipe.spool.drain()
    writer.join()
    assert pipe.spool.path.stat().st_size == 5


def test_the_temporary_name_is_nobodys_business(pipe: Pipe) -> None:
    assert path_text(pipe.spool.path) == short_path(pipe.spool.path) == "-"
    assert str(OpenError(pipe.spool.path, "empty")) == "-: empty"


# -- whose session it is -----------------------------------------------------------------------------------------------


class Waiting:
    """`wait_for_session` in a thread, since it waits."""

    def __init__(self, spool: Spool) -> None:
        self.problem: OpenError | None = None
        self._thread = Thread(target=self._wait, args=(spool,))
        self._thread.start()

    def _wait(self, spool: Spool) -> None:
        try:
            spool.wait_for_session()
        except OpenError as error:
            self.problem = error

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def over(self) -> OpenError | None:
        wait_until(lambda: self.is_over)
        return self.problem


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\n",
        b"[SandboxDebug] starting\n\n",
        b"[1] a line\n{not json\n",
        b"{}\n",
        b"noise\n" * 20_000,
        b"[INFO] noise\n" * 10_000,
    ],
)
def test_a_stream_is_known_by_its_first_lines_while_it_runs(pipe: Pipe, before: bytes) -> None:
    waiting = Waiting(pipe.spool)
    pipe.write(before)
    pipe.write(BEGIN[:20])
    time.sleep(0.05)
    assert not waiting.is_over
    pipe.write(BEGIN[20:])
    assert waiting.over() is None
    assert not pipe.spool.ended


def test_a_session_file_is_known_while_it_comes(pipe: Pipe, tmp_path: Path) -> None:
    data = Machine(tmp_path).session(SESSION, ["Fix it", "Done", "Thanks", "Gladly"]).read_bytes()
    waiting = Waiting(pipe.spool)
    pipe.write(data[:-10])
    assert waiting.over() is None


def test_a_document_is_waited_for(pipe: Pipe, tmp_path: Path) -> None:
    from schemas.interchange.session_data_write import to_session_data

    session = read_session(Machine(tmp_path).session(SESSION, ["Fix it", "Done"]))
    document = json.dumps(json.loads(b"".join(to_session_data(session))), indent=1).encode()
    waiting = Waiting(pipe.spool)
    pipe.write(document[:-30])
    time.sleep(0.05)
    assert not waiting.is_over
    pipe.write(document[-30:])
    time.sleep(0.05)
    assert not waiting.is_over  # there could be more: another value, or text
    pipe.end()
    assert waiting.over() is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "-: nothing came on standard input"),
        (b" \n\n", "-: only white space"),
        (b"hello\nyou\n", "-: it begins with 'hello'; not a session turnlog knows"),
        (b"[1, 2,\n3]\n", "-: it is a JSON array of 3 numbers; not a session turnlog knows"),
        (b'{"a": 1}\n', "-: line 1 is a JSON object with the keys a; not a session turnlog knows"),
        (b"\x28\xb5\x2f\xfd\n\n", "-: a compressed file that holds nothing, or was cut off"),
    ],
)
def test_what_is_no_session_is_said(pipe: Pipe, data: bytes, said: str) -> None:
    pipe.write(data)
    pipe.end()
    with pytest.raises(OpenError) as caught:
        pipe.spool.wait_for_session()
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("data", [record(a=1) * 200, b"noise\n" * ((1 << 20) // 6 + 1)])
def test_noise_is_given_up_on_before_its_end(pipe: Pipe, data: bytes) -> None:
    pipe.write(data)
    pipe.settled(len(data))
    problem = Waiting(pipe.spool).over()
    assert problem is not None
    assert "not a session turnlog knows" in problem.reason
    assert not pipe.spool.ended


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
CONTAINER = JSON.filter(lambda value: isinstance(value, dict | list) and len(value) > 0)


@given(CONTAINER, st.integers(0, 4))
def test_a_value_over_many_lines_may_be_a_document(value: Any, indent: int) -> None:
    assert may_be_document(json.dumps(value, indent=indent).encode() + b"\n")


@given(CONTAINER, st.text(alphabet=st.characters(exclude_characters="\n"), max_size=9))
def test_a_value_in_one_line_is_none(value: Any, rest: str) -> None:
    assert not may_be_document(json.dumps(value).encode() + rest.encode("utf-8", "replace") + b"\nmore\n")


@pytest.mark.parametrize("line", [b"[INFO] x", b"[1/3] x", b"[2026-11-28 x", b"{x", b"x {", b"[" * 100_000])
def test_text_is_no_document(line: bytes) -> None:
    assert not may_be_document(line + b"\n{\n")


# -- following ---------------------------------------------------------------------------------------------------------


def drain(follower: StreamFollower) -> list[Change]:
    """Poll until standard input has ended and all is taken."""
    seen = Seen(follower.session)

    def over() -> bool:
        catch_up(follower)
        return follower.finished

    wait_until(over)
    return seen.changes(follower.session)


def texts(follower: StreamFollower) -> list[str]:
    session = follower.session
    return [session.message(i).text for i in range(len(session.messages))]


def test_what_comes_is_there_with_the_next_look(pipe: Pipe) -> None:
    pipe.write(BEGIN + said(0, "one"))
    pipe.settled(len(BEGIN + said(0, "one")))
    follower = StreamFollower(pipe.spool)
    assert follower.is_stream
    follower.step()
    assert texts(follower)[-1] == "one"
    pipe.write(said(1, "two"))
    pipe.settled(len(BEGIN + said(0, "one") + said(1, "two")))
    follower.poll()
    assert texts(follower)[-1] == "two"
    assert not follower.finished
    assert follower.written is not None


def test_a_document_that_an_agent_prints_is_a_stream_too(pipe: Pipe) -> None:
    events = import_module("tests.fixtures.vibe").stream()
    pipe.write(json.dumps(events, indent=2).encode())
    pipe.end()
    pipe.spool.wait_for_end()
    assert StreamFollower(pipe.spool).is_stream


def test_at_the_end_the_last_line_is_taken_and_nothing_is_looked_at_any_more(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe.write(BEGIN)
    pipe.settled(len(BEGIN))
    follower = StreamFollower(pipe.spool)
    finished: list[bool] = []
    finish = follower.reading.finish

    def counted() -> list[Change]:
        finished.append(True)
        return finish()

    monkeypatch.setattr(follower.reading, "finish", counted)
    pipe.write(said(0, "last").rstrip() + b"\n" + b'{"type":"item.comp')
    pipe.end()
    drain(follower)
    assert "last" in texts(follower)
    assert [lost.reason for lost in follower.session.unreadable] == ["the last line is unfinished"]
    assert finished == [True]
    assert follower.written is None
    monkeypatch.setattr(follower, "step", None)
    assert changes_by(follower.poll) == []
    assert finished == [True]


def test_lines_without_times_have_those_of_their_arrival(pipe: Pipe, tmp_path: Path) -> None:
    data = BEGIN + said(0, "one")
    pipe.write(data)
    pipe.settled(len(data))
    before = time.time()
    follower = StreamFollower(pipe.spool)
    follower.step()
    when = follower.session.messages.when(len(follower.session.messages) - 1)
    assert when is not None
    assert before <= when <= time.time()
    # A file was written some other day.
    (tmp_path / "saved").write_bytes(data)
    spool = Spool(os.open(tmp_path / "saved", os.O_RDONLY))
    spool.wait_for_end()
    follower = StreamFollower(spool)
    follower.step()
    assert texts(follower)[-1] == "one"
    assert follower.session.updated is None
    spool.close()


def test_a_compressed_session_is_read_once_all_of_it_is_there(pipe: Pipe) -> None:
    import zstandard

    session = {"id": "01a0eda6-0000-7000-8000-000000000001", "timestamp": "2026-03-04T09:00:00Z", "cwd": "/x"}
    text = [{"type": "input_text", "text": "Fix the lamp"}]
    payload = {"type": "message", "role": "user", "content": text}
    stamp = "2026-03-04T09:00:00Z"
    lines = record(type="session_meta", timestamp=stamp, payload=session) + record(
        type="response_item", timestamp=stamp, payload=payload
    )
    data = zstandard.compress(lines)
    waiting = Waiting(pipe.spool)
    pipe.write(data[:40])
    time.sleep(0.05)
    assert not waiting.is_over
    pipe.write(data[40:])
    pipe.end()
    assert waiting.over() is None
    follower = StreamFollower(pipe.spool)
    changes = drain(follower)
    assert {change.op for change in changes} == {Op.APPENDED}  # and not RESTARTED: it is read once
    assert "Fix the lamp" in texts(follower)


def test_what_was_saved_opens_as_the_same_session(pipe: Pipe, tmp_path: Path) -> None:
    pipe.write(b"[debug] begin\n" + BEGIN + said(0, "one") + said(1, "two") + END)
    pipe.end()
    pipe.spool.wait_for_end()
    follower = StreamFollower(pipe.spool)
    drain(follower)
    saved = tmp_path / "saved.jsonl"
    saved.write_bytes(b"".join(pipe.spool.received()))
    again = read_session(saved)
    assert [again.message(i).text for i in range(len(again.messages))] == texts(follower)
    assert again.id == follower.session.id
    assert again.usage() == follower.session.usage()

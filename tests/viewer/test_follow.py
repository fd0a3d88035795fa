from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.changes import Seen
from schemas.opening import NotYet, OpenError, open_reading
from schemas.reading import Blocks, open_file
from schemas.session import Change, Op
from schemas.table import NONE
from tests.support import catch_up, changes_by
from tests.viewer.toy import digest, line, open_toy, read_afresh, read_as_lines
from viewer.follow import follower as follow
from viewer.follow.follower import SLICE, Follower


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setattr(follow, "open_reading", open_toy)


def texts(follower: Follower) -> list[str]:
    session = follower.session
    return [session.message(i).text for i in range(len(session.messages))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "toy.jsonl"
    path.write_bytes(line("user", "u1", "one") + line("assistant", "a1", "two"))
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_reads_what_is_there_then_what_comes(path):
    follower = Follower(path)
    changes = catch_up(follower)
    assert changes == [Change(Op.APPENDED, 0), Change(Op.APPENDED, 1)]
    assert changes_by(follower.poll) == []
    append(path, line("assistant", "a2", "three"))
    assert changes_by(follower.poll) == [Change(Op.APPENDED, 2)]
    assert texts(follower) == ["one", "two", "three"]


def test_a_half_line_waits_and_is_taken_once(path):
    follower = Follower(path)
    catch_up(follower)
    whole = line("assistant", "a2", "chairs 🪑🪑")
    cut = whole.index("🪑".encode()) + 2
    append(path, whole[:cut])
    assert changes_by(follower.poll) == []
    append(path, whole[cut:-1])
    assert changes_by(follower.poll) == [Change(Op.APPENDED, 2)]  # complete, only its newline is missing
    append(path, b"\n")
    assert changes_by(follower.poll) == []
    append(path, line("assistant", "a3", "next"))
    assert changes_by(follower.poll) == [Change(Op.APPENDED, 3)]
    assert texts(follower)[2:] == ["chairs 🪑🪑", "next"]
    assert digest(follower.session) == digest(read_afresh(path))


def test_a_bad_line_is_reported_and_passed_over(path):
    follower = Follower(path)
    catch_up(follower)
    append(path, b"{broken\n" + line("assistant", "a2", "after"))
    assert changes_by(follower.poll) == [Change(Op.APPENDED, 2)]
    assert [bad.line for bad in follower.session.unreadable] == [3]


def test_a_result_updates_its_call(path):
    follower = Follower(path)
    catch_up(follower)
    append(path, line("call", "c1", "ls"))
    assert changes_by(follower.poll) == [Change(Op.APPENDED, 2)]
    append(path, line("result", "c1", "a.py"))
    assert changes_by(follower.poll) == [Change(Op.UPDATED, 2)]


def test_truncation_starts_over(path):
    follower = Follower(path)
    catch_up(follower)
    before = follower.session
    path.write_bytes(line("user", "u9", "new"))
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert texts(follower) == ["new"]
    assert before is not follower.session


def test_the_old_session_can_still_be_read_after_a_restart(path):
    follower = Follower(path)
    catch_up(follower)
    before = follower.session
    other = path.with_suffix(".new")
    other.write_bytes(line("user", "u9", "new"))
    os.replace(other, path)
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert before.message(0).text == "one"


def test_a_rewrite_of_the_same_size_starts_over(path):
    follower = Follower(path)
    catch_up(follower)
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data.replace(b"two", b"TWO"))
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert texts(follower) == ["one", "TWO"]


def test_a_rewrite_that_leaves_every_stamp_alike_is_seen_while_it_is_fresh(path, monkeypatch):
    follower = Follower(path)
    stamp = follower._look()
    monkeypatch.setattr(follower, "_look", lambda: stamp)
    catch_up(follower)
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"two", b"TWO"))
    assert catch_up(follower) == [Change(Op.RESTARTED)]


def test_a_rewrite_that_grew_starts_over(path):
    follower = Follower(path)
    catch_up(follower)
    path.write_bytes(path.read_bytes().replace(b"two", b"TWO") + line("assistant", "a2", "three"))
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert texts(follower) == ["one", "TWO", "three"]


def test_touching_the_file_changes_nothing(path):
    follower = Follower(path)
    catch_up(follower)
    os.utime(path, ns=(1, 1))
    assert changes_by(follower.poll) == []


def test_deletion_keeps_what_was_read_and_return_starts_over(path):
    follower = Follower(path)
    catch_up(follower)
    data = path.read_bytes()
    path.unlink()
    assert changes_by(follower.poll) == []
    assert follower.missing
    assert texts(follower) == ["one", "two"]
    path.write_bytes(data + line("assistant", "a2", "three"))
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert not follower.missing
    assert texts(follower) == ["one", "two", "three"]


def test_emptied_then_written_again(path):
    follower = Follower(path)
    catch_up(follower)
    path.write_bytes(b"")
    assert catch_up(follower) == []
    assert "empty" in follower.trouble
    assert len(follower.session.messages) == 2  # their bodies went with the file, the rows stay
    path.write_bytes(line("user", "u7", "again"))
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert texts(follower) == ["again"]
    assert follower.trouble == ""


def test_no_session_to_begin_with(tmp_path):
    with pytest.raises(OpenError):
        Follower(tmp_path / "none.jsonl")


def big(path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        while file.tell() < 3 << 20:
            file.write(line("user" if count % 10 == 0 else "assistant", f"m{count:07}", "x" * 500))
            count += 1
    return count


def test_a_big_file_shows_its_end_first_then_all(path):
    count = big(path)
    follower = Follower(path, from_end=True)
    follower.step(10)
    assert not follower.loaded
    assert 0 < len(follower.session.messages) < 1000
    last = follower.session.messages
    assert follower.session.message(len(last) - 1).id == f"m{count - 1:07}"
    key = last.key[len(last) - 1]
    seen = Seen(follower.session)
    while not follower.loaded:
        follower.step(10)
    assert seen.changes(follower.session) == [Change(Op.RESTARTED)]
    assert len(follower.session.messages) == count
    assert follower.session.messages.key[count - 1] == key


def test_what_is_appended_while_the_whole_is_read_is_not_lost(path):
    count = big(path)
    follower = Follower(path, from_end=True)
    follower.step(10)
    follower.step(0.0001)
    append(path, line("assistant", "last", "the end"))
    catch_up(follower)
    catch_up(follower)
    assert len(follower.session.messages) == count + 1
    assert digest(follower.session) == digest(read_afresh(path))


def test_a_slice_leaves_the_rest_for_the_next(path):
    big(path)
    follower = Follower(path)
    follower.step(1e-9)
    read, there = follower.progress
    assert 0 < read < there
    assert not follower.loaded


def test_replaced_while_it_is_loaded(path):
    big(path)
    follower = Follower(path)
    follower.step(1e-9)
    other = path.with_suffix(".new")
    other.write_bytes(line("user", "u9", "new"))
    os.replace(other, path)
    assert catch_up(follower)[-1] == Change(Op.RESTARTED)
    assert texts(follower) == ["new"]


def test_looks_beside_the_file_once_in_a_while(path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(follow.time, "monotonic", lambda: now[0])
    follower = Follower(path)
    catch_up(follower)
    parser = follower.reading.parser
    assert parser.refreshed == 1
    follower.poll()
    assert parser.refreshed == 1
    now[0] += 1
    follower.poll()
    assert parser.refreshed == 2


# -- any history ends like a fresh look --------------------------------------------------------------------------------


@st.composite
def records(draw) -> bytes:
    kind = draw(st.sampled_from(["user", "assistant", "call", "result", "weird"]))
    uuid = draw(st.sampled_from("abcdefgh"))
    text = draw(st.sampled_from(["", "x", "zwei\n", "🪑🪑", "\x1b[2J", " ", "y" * 5000]))
    more = draw(st.sampled_from([{}, {"group": "g1", "tokens": 3}, {"group": "g2", "tokens": 7}]))
    return line(kind, uuid, text, **more)


pieces = st.lists(
    st.one_of(records(), st.sampled_from([b"{bad\n", b"\n", b"\0\0\n", b"null\n", b"\xff\xfe\n"])), max_size=6
).map(b"".join)
steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "cut", "truncate", "replace", "rewrite", "delete", "flip"]),
        pieces,
        st.integers(0, 10_000),
        st.booleans(),
    ),
    max_size=12,
)


def act(path: Path, what: str, data: bytes, number: int, waiting: list[bytes]) -> None:
    """One thing that can happen to a file."""
    if what == "append":
        append(path, b"".join(waiting) + data)
        waiting.clear()
    elif what == "cut":
        append(path, b"".join(waiting))
        cut = number % (len(data) + 1)
        append(path, data[:cut])
        waiting[:] = [data[cut:]]
    elif what == "truncate" and path.exists():
        os.truncate(path, number % (path.stat().st_size + 1))
        waiting.clear()
    elif what == "replace":
        path.with_suffix(".new").write_bytes(data)
        os.replace(path.with_suffix(".new"), path)
        waiting.clear()
    elif what == "rewrite":
        path.write_bytes(data)
        waiting.clear()
    elif what == "delete":
        path.unlink(missing_ok=True)
        waiting.clear()
    elif what == "flip" and path.exists() and (content := path.read_bytes()):
        place = number % min(len(content), 4096)
        with path.open("r+b") as file:
            file.seek(place)
            file.write(bytes([content[place] ^ 1]))


@given(steps, pieces)
@example([("truncate", b"", 0, False), ("cut", line("assistant", "a"), 29, False)], line("user", "a"))
def test_any_history_ends_like_a_fresh_look(tmp_path_factory, toy, history, last):
    path = tmp_path_factory.mktemp("follow") / "toy.jsonl"
    path.write_bytes(line("user", "u", "begin"))
    follower = Follower(path)
    waiting: list[bytes] = []
    for what, data, number, look in history:
        act(path, what, data, number, waiting)
        if look:
            catch_up(follower)
    append(path, last)
    catch_up(follower)
    try:
        expected = read_afresh(path)
    except OpenError:
        # Nothing that would be opened now. What was there is kept and the trouble is named; whoever had not begun to
        # read goes on as with a session.
        assert follower.trouble or digest(follower.session) == digest(read_as_lines(path))
        return
    assert digest(follower.session) == digest(expected)


@given(st.lists(records(), min_size=1, max_size=12).map(b"".join), st.lists(st.integers(1, 400), max_size=40))
def test_changes_describe_the_session(tmp_path_factory, toy, data, cuts):
    """Whoever only listens to the changes knows every message: appended once, in order, then updated."""
    path = tmp_path_factory.mktemp("follow") / "toy.jsonl"
    path.write_bytes(line("user", "u", "begin"))
    follower = Follower(path)
    known = 0
    start = 0
    for size in [*cuts, len(data)]:
        append(path, data[start : start + size])
        start += size
        for change in catch_up(follower):
            assert change.op in (Op.APPENDED, Op.UPDATED)
            assert change.message == known if change.op is Op.APPENDED else change.message < known
            known += change.op is Op.APPENDED
    assert known == len(follower.session.messages)
    assert all(group == NONE or group < len(follower.session.groups) for group in follower.session.messages.group)


# -- rewritten in its midst --------------------------------------------------------------------------------------------


@given(pieces=st.lists(st.binary(max_size=40), max_size=8), size=st.integers(1, 16), at=st.integers(0, 400))
def test_blocks_tell_any_other_byte(tmp_path_factory, pieces, size, at):
    data = b"".join(pieces)
    blocks = Blocks()
    blocks.SIZE = size
    for piece in pieces:
        blocks.add(piece)
    path = tmp_path_factory.mktemp("blocks") / "x"
    for other in (data, data + b"more", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] if at < len(data) else b"?"):
        path.write_bytes(other)
        with closing(open_file(path)) as store:
            assert all(blocks.is_there(store, n) for n in range(len(blocks))) == other.startswith(data)


def swap_in_the_midst(path: Path) -> None:
    """Let two lines of one length change places; size and both ends stay."""
    lines = path.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    lines[middle], lines[middle + 2] = lines[middle + 2], lines[middle]
    with path.open("r+b") as file:
        file.write(b"".join(lines))


@pytest.mark.parametrize("seconds", [SLICE, 0.0], ids=["at once", "a block at a time"])
def test_lines_that_change_places_are_noticed(path, monkeypatch, seconds):
    monkeypatch.setattr(follow, "SLICE", seconds)
    path.write_bytes(b"".join(line("user", f"u{n:05}", f"text {n:05} {'x' * 500}") for n in range(9000)))
    follower = Follower(path)
    catch_up(follower)
    size = path.stat().st_size
    swap_in_the_midst(path)
    os.utime(path, (2e9, 2e9))
    changes = catch_up(follower)
    assert path.stat().st_size == size > 4 << 20
    assert changes[0].op is Op.RESTARTED and digest(follower.session) == digest(read_afresh(path))


def test_lines_that_change_places_while_they_are_compared_are_noticed(path, monkeypatch):
    monkeypatch.setattr(follow, "SLICE", 0.0)
    path.write_bytes(b"".join(line("user", f"u{n:05}", f"text {n:05} {'x' * 500}") for n in range(9000)))
    follower = Follower(path)
    catch_up(follower)
    os.utime(path, (2e9, 2e9))
    follower.poll()
    for _ in range(3):  # past the blocks in the midst
        assert not follower.loaded and changes_by(follower.poll) == []
    swap_in_the_midst(path)
    os.utime(path, (2e9, 2e9 + 9))
    catch_up(follower)
    assert digest(follower.session) == digest(read_afresh(path))


def test_a_file_that_was_only_touched_is_not_read_anew(path):
    path.write_bytes(b"".join(line("user", f"u{n:05}", "x" * 500) for n in range(3000)))
    follower = Follower(path)
    catch_up(follower)
    before = follower.session
    os.utime(path, (2e9, 2e9))
    assert catch_up(follower) == [] and follower.session is before
    # And what is written while it is compared is read afterwards.
    os.utime(path, (2e9, 2e9 + 1))
    append(path, line("assistant", "a", "late"))
    assert [change.op for change in catch_up(follower)] == [Op.APPENDED]


def test_a_file_that_grows_is_not_compared(path, monkeypatch):
    monkeypatch.setattr(Blocks, "is_there", lambda *_: pytest.fail("compared"))
    follower = Follower(path)
    catch_up(follower)
    for n in range(5):
        append(path, line("assistant", f"b{n}", "more"))
        assert [change.op for change in catch_up(follower)] == [Op.APPENDED]


# -- before the first record -------------------------------------------------------------------------------------------

FIRST = (
    b'{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u1","sessionId":"s1","cwd":"/x","version":"2.1.40",'
    b'"timestamp":"2026-03-04T09:00:05.000Z","message":{"role":"user","content":"HELLO"}}\n'
)
SUMMARY = b'{"type":"summary","summary":"x","leafUuid":"a"}\n'
BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "pieces",
    [
        [b"", FIRST],
        [b"\n", FIRST],
        [b" \r\n\n", FIRST],
        [b"{", FIRST[1:]],
        [FIRST[:40], FIRST[40:90], FIRST[90:]],
        [BOM[:1], BOM[1:2], BOM[2:], FIRST],
        [b"", BOM[:2], BOM[2:] + FIRST[:10], FIRST[10:]],
        [SUMMARY, FIRST],
        [SUMMARY[:20], SUMMARY[20:] + SUMMARY, FIRST[:50], FIRST[50:]],
    ],
    ids=lambda pieces: repr(b"|".join(pieces)[:24]),
)
def test_a_first_record_is_waited_for(tmp_path, monkeypatch, pieces):
    monkeypatch.setattr(follow, "open_reading", open_reading)
    path = tmp_path / "new.jsonl"
    path.write_bytes(pieces[0])
    with pytest.raises(NotYet):
        Follower(path)
    follower = Follower(path, wait=True)
    changes: list[Change] = []
    for piece in pieces[1:]:
        assert follower.waiting and not follower.trouble and not changes and not len(follower.session.messages)
        append(path, piece)
        changes += catch_up(follower)
    assert not follower.waiting and changes[0].op is Op.RESTARTED
    assert texts(follower) == ["HELLO"]
    append(path, FIRST.replace(b'"u1"', b'"u2"').replace(b"null", b'"u1"', 1))
    assert [change.op for change in catch_up(follower)] == [Op.APPENDED]


@pytest.mark.parametrize("data", [b"hello\n", b'{"a":1}\n', b"%PDF", b'{"a":1}\n' * 9, b"[1, 2]"])
def test_what_is_no_session_is_not_waited_for(tmp_path, monkeypatch, data):
    monkeypatch.setattr(follow, "open_reading", open_reading)
    path = tmp_path / "new.jsonl"
    path.write_bytes(data)
    with pytest.raises(OpenError):
        Follower(path, wait=True)
    path.write_bytes(b"")
    follower = Follower(path, wait=True)
    append(path, data)
    catch_up(follower)
    assert follower.waiting and follower.trouble


def test_what_tells_no_time_is_live_once_it_was_seen_to_grow(path: Path) -> None:
    follower = Follower(path)
    catch_up(follower)
    assert follower.session.updated is None and not follower.live
    append(path, line("assistant", "a2", "three"))
    os.utime(path)
    catch_up(follower)
    assert follower.live

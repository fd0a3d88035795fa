"""Following sources that rewrite history: whatever happens to them, what is told leads to what is there."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import Seen, note_changes
from schemas.opening import OpenError
from schemas.session import Change, Op, Session
from tests.viewer.rewriting import Mirror, connect, item, open_rewriting, put, session_of, shown, write_document
from tests.viewer.toy import line
from tests.waiting import wait_until
from viewer.follow import follower as follow
from viewer.follow.follower import Follower


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setattr(follow, "open_reading", open_rewriting)


def catch_up(follower: Follower) -> list[Change]:
    return catch_up_with(Seen(follower.session), follower)


def catch_up_with(seen: Seen, follower: Follower) -> list[Change]:
    """What changed since it was seen, however many looks lie between."""
    follower.poll()
    while not follower.loaded:
        follower.step()
    return seen.changes(follower.session)


def wait_for(follower: Follower) -> list[Change]:
    """Look until something changed."""
    changes: list[Change] = []
    wait_until(lambda: changes.extend(catch_up(follower)) or changes)
    return changes


def texts(session: Session) -> list[str]:
    return [session.message(i).text or "tool" for i in range(len(session.messages))]


def append(path: Path, *records: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(records))


ONE = [item("user", "u1", "one"), item("assistant", "a1", "two"), item("assistant", "a2", "three")]


# -- a log -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(line(i["type"], i["uuid"], i["text"]) for i in ONE))
    return path


def test_a_log_that_takes_messages_back(log):
    follower = Follower(log)
    catch_up(follower)
    before = follower.session
    append(log, line("back", "b", to="a1"), line("assistant", "a3", "other"))
    assert catch_up(follower) == [Change(Op.REMOVED, 1), Change(Op.REMOVED, 2), Change(Op.APPENDED, 1)]
    assert follower.session is not before
    assert texts(follower.session) == ["one", "other"]
    assert texts(before) == ["one", "two", "three"]


def test_a_log_that_writes_a_message_anew_in_its_place(log):
    follower = Follower(log)
    catch_up(follower)
    before = follower.session
    append(log, line("assistant", "a1", "2"))
    assert catch_up(follower) == [Change(Op.UPDATED, 1)]
    assert follower.session is before  # nothing moved, so whoever holds it need not look elsewhere
    assert texts(follower.session) == ["one", "2", "three"]


def test_several_rewrites_between_two_looks_are_told_as_one(log):
    follower = Follower(log)
    catch_up(follower)
    seen = Seen(follower.session)
    for records in (
        [line("assistant", "a4", "late"), line("assistant", "a1", "2")],
        [line("back", "b", to="a2")],
        [line("assistant", "a5", "new"), line("assistant", "a2", "three"), line("user", "u2", "next")],
        [line("back", "b", to="u2")],
    ):
        append(log, *records)
        catch_up(follower)
    # a4 came and went, u2 too; a2 went and came back, so nobody knows whether it is what it was.
    assert seen.changes(follower.session) == [Change(Op.UPDATED, 1), Change(Op.APPENDED, 2), Change(Op.UPDATED, 3)]
    assert texts(follower.session) == ["one", "2", "new", "three"]


def test_another_object_is_compared_with_the_one_that_was_seen():
    first, seen = session_of(Path("a"), ONE), Seen()
    assert seen.changes(first) == [Change(Op.RESTARTED)]
    same, empty = session_of(Path("a"), ONE), session_of(Path("a"), [])
    note_changes(first, same)
    assert seen.changes(same) == [] and seen.session is same
    note_changes(same, empty)
    assert seen.changes(empty) == [Change(Op.REMOVED, i) for i in range(3)]
    again = session_of(Path("a"), ONE)
    note_changes(empty, again)
    assert seen.changes(again) == [Change(Op.APPENDED, i) for i in range(3)]
    assert seen.changes(session_of(Path("a"), ONE)) == [Change(Op.RESTARTED)], "nobody said that it takes the place"


# -- a document --------------------------------------------------------------------------------------------------------


def test_a_half_written_document_is_tried_again_although_nothing_seems_to_change(tmp_path, monkeypatch):
    path = tmp_path / "session.json"
    write_document(path, ONE)
    follower = Follower(path)
    catch_up(follower)
    data = json.dumps({"messages": [*ONE, item("assistant", "a3", "four")]}).encode()
    path.write_bytes(data[:-9])
    os.utime(path, ns=(1, 1))
    assert catch_up(follower) == []
    assert follower.trouble
    # The rest comes with the very same stamp.
    seen = follower._look()
    path.write_bytes(data)
    monkeypatch.setattr(follower, "_look", lambda: seen)
    assert wait_for(follower) == [Change(Op.APPENDED, 3)]
    assert follower.trouble == ""


def test_a_document_that_becomes_a_log(tmp_path):
    path = tmp_path / "session.json"
    write_document(path, ONE)
    follower = Follower(path)
    catch_up(follower)
    path.write_bytes(line("user", "u9", "a log"))
    assert catch_up(follower) == []  # it might be half a document
    assert wait_for(follower) == [Change(Op.RESTARTED)]
    assert texts(follower.session) == ["a log"]
    append(path, line("assistant", "a9", "goes on"))
    assert wait_for(follower) == [Change(Op.APPENDED, 1)]


def test_a_broken_document_is_tried_less_and_less_often(tmp_path, monkeypatch):
    path = tmp_path / "session.json"
    write_document(path, ONE)
    follower = Follower(path)
    catch_up(follower)
    path.write_bytes(b'{"messages": [')
    os.utime(path, ns=(1, 1))
    now = [time.monotonic()]
    monkeypatch.setattr(follow.time, "monotonic", lambda: now[0])
    tries = []
    monkeypatch.setattr(type(follower.reading), "load", lambda self, known: tries.append(now[0]) or 1 / 0)
    monkeypatch.setattr(follower.reading, "reread", lambda: tries.append(now[0]) or (_ for _ in ()).throw(OSError("x")))
    for _ in range(6000):
        follower.poll()
        now[0] += 0.01
    assert tries[1] - tries[0] == pytest.approx(0.15, abs=0.02)
    assert 14 < len(tries) < 24
    assert follower.trouble == "x"
    # A change is looked at, whatever the pause.
    before = len(tries)
    path.write_bytes(b"{")
    follower.poll()
    assert len(tries) == before + 1


# -- a database --------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    database = connect(path)
    put(database, enumerate(ONE))
    database.close()
    return path


def test_what_is_only_in_the_log_of_a_database_is_seen(store):
    follower = Follower(store)
    catch_up(follower)
    assert follower.sources == [store, store.with_name("store.db-wal")]
    stamp = os.stat(store)
    database = connect(store)
    put(database, [(1.5, item("assistant", "a9", "between"))])
    assert os.stat(store).st_size == stamp.st_size
    assert wait_for(follower) == [Change(Op.APPENDED, 2)]
    assert texts(follower.session) == ["one", "two", "between", "three"]
    assert follower.written == os.stat(follower.sources[1]).st_mtime_ns / 1e9
    database.execute("DELETE FROM messages WHERE id = 'a1'")
    assert wait_for(follower) == [Change(Op.REMOVED, 1)]
    database.close()
    assert catch_up(follower) == []
    assert sorted(p.name for p in store.parent.iterdir()) == ["store.db"]


def test_a_database_that_takes_long_is_given_a_rest(store, monkeypatch):
    follower = Follower(store)
    catch_up(follower)
    now = [time.monotonic()]
    monkeypatch.setattr(follow, "_QUICK_READ", 0.02)
    monkeypatch.setattr(follow.time, "monotonic", lambda: now[0])
    reads = []

    def slow() -> list[Change]:
        reads.append(now[0])
        now[0] += 0.1
        return []

    monkeypatch.setattr(follower.reading, "reread", slow)
    for n in range(100):
        os.utime(store, ns=(n, n))
        follower.poll()
        now[0] += 0.01
    assert len(reads) == 3  # not more than a fifth of the time


def test_a_database_that_goes_and_comes_back(store):
    follower = Follower(store)
    catch_up(follower)
    store.unlink()
    assert catch_up(follower) == []
    assert follower.missing
    assert texts(follower.session) == ["one", "two", "three"]
    database = connect(store)
    put(database, enumerate(ONE[:2]))
    database.close()
    assert wait_for(follower) == [Change(Op.REMOVED, 2)]
    assert not follower.missing


def test_a_second_program_writes_while_we_look(store):
    """Each look is at some state that was committed; the last one at the last."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from tests.viewer.rewriting import connect, item, put\n"
        "from pathlib import Path\n"
        "db = connect(Path(sys.argv[1]))\n"
        "for n in range(300):\n"
        "    put(db, [(n, item('user', f'p{n}', str(n))), (n + .5, item('assistant', f'q{n}', str(n)))])\n"
        "    db.execute('DELETE FROM messages WHERE id IN (?, ?)', (f'p{n - 9}', f'q{n - 9}'))\n"
        "    if n % 50 == 49: db.execute('PRAGMA wal_checkpoint(TRUNCATE)')\n"
        "db.close()\n"
    )
    follower, mirror = Follower(store), Mirror()
    mirror.apply(catch_up(follower), follower.session)
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", script, str(store), root]) as writer:
        while writer.poll() is None:
            changes = catch_up(follower)
            mirror.apply(changes, follower.session)
            said = texts(follower.session)
            assert len(said) % 2 == 1 or len(said) == 3
            assert {path.name for path in store.parent.iterdir()} <= {"store.db", "store.db-wal", "store.db-shm"}
            time.sleep(0.005)
    assert writer.returncode == 0

    def all_seen() -> bool:
        mirror.apply(catch_up(follower), follower.session)
        return texts(follower.session)[-1] == "299" and not follower.trouble

    wait_until(all_seen)
    mirror.apply(catch_up(follower), follower.session)
    assert shown(follower.session) == shown(open_afresh(store))


# -- any history -------------------------------------------------------------------------------------------------------


def open_afresh(path: Path) -> Session:
    reading = open_rewriting(path)
    while not reading.done:
        reading.step()
    if hasattr(reading, "take_tail"):
        reading.take_tail()
    return reading.session


names = st.sampled_from([f"m{n}" for n in range(8)])
kinds = st.sampled_from(["user", "assistant", "call", "assistant"])
words = st.sampled_from(["", "x", "zwei\nzeilen", "y" * 300])
items = st.builds(item, kinds, names, words)
unique = st.lists(items, max_size=8, unique_by=lambda value: value["uuid"])
records = st.one_of(
    items.map(lambda i: line(i["type"], i["uuid"], i["text"])),
    names.map(lambda name: line("result", name, "done")),
    names.map(lambda name: line("back", "b", to=name)),
    st.sampled_from([b"{bad\n", b"\n", b"null\n"]),
)
pieces = st.lists(records, max_size=5).map(b"".join)
log_steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "cut", "truncate", "replace", "delete"]),
        pieces,
        st.integers(0, 10_000),
        st.booleans(),
    ),
    max_size=12,
)


@given(log_steps, pieces)
def test_any_history_of_a_log(tmp_path_factory, toy, history, last):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(line("user", "u", "begin"))
    follower, mirror = Follower(path), Mirror()
    waiting = b""
    for what, data, number, look in history:
        if what in ("append", "cut"):
            cut = number % (len(data) + 1) if what == "cut" else len(data)
            append(path, waiting, data[:cut])
            waiting = data[cut:]
        elif what == "truncate" and path.exists():
            os.truncate(path, number % (path.stat().st_size + 1))
            waiting = b""
        elif what == "replace":
            path.with_suffix(".new").write_bytes(data)
            os.replace(path.with_suffix(".new"), path)
            waiting = b""
        elif what == "delete":
            path.unlink(missing_ok=True)
            waiting = b""
        if look:
            changes = catch_up(follower)
            if not follower.trouble and not follower.missing:
                # Where the file was truncated and holds no session, its messages cannot be read any more.
                mirror.apply(changes, follower.session)
    append(path, waiting, b"\n", last, line("assistant", "end", "end"))
    changes = catch_up(follower)
    try:
        expected = open_afresh(path)
    except OpenError:
        return
    mirror.apply(changes, follower.session)
    assert shown(follower.session) == shown(expected)


document_steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "half", "delete", "other"]),
        unique,
        st.integers(1, 99),
        st.booleans(),
    ),
    max_size=10,
)


@given(document_steps, unique)
def test_any_history_of_a_document(tmp_path_factory, toy, history, last):
    path = tmp_path_factory.mktemp("document") / "session.json"
    write_document(path, ONE)
    follower, mirror = Follower(path), Mirror()
    for what, content, number, look in history:
        if what == "delete":
            path.unlink(missing_ok=True)
        elif what == "other":  # it becomes a log
            path.write_bytes(line("user", "u", "begin"))
        else:
            write_document(path, content)
            if what == "half":
                os.truncate(path, path.stat().st_size * number // 100)
        if look:
            changes = catch_up(follower)
            if not follower.trouble:
                mirror.apply(changes, follower.session)
    write_document(path, last)
    mirror.apply(catch_up(follower), follower.session)
    assert shown(follower.session) == shown(open_afresh(path))


database_steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "drop", "checkpoint", "close", "vacuum", "replace"]),
        st.lists(st.tuples(st.integers(0, 9), items), max_size=4),
        st.booleans(),
    ),
    max_size=10,
)


@given(database_steps)
def test_any_history_of_a_database(tmp_path_factory, toy, history):
    folder = tmp_path_factory.mktemp("store")
    path = folder / "store.db"
    database = connect(path)
    put(database, enumerate(ONE))
    follower, mirror = Follower(path), Mirror()
    for what, rows, look in history:
        if what == "put":
            put(database, rows)
        elif what == "drop":
            database.executemany("DELETE FROM messages WHERE id = ?", [(value["uuid"],) for _, value in rows])
        elif what == "checkpoint":
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        elif what == "vacuum":
            database.execute("VACUUM")
        elif what == "close":
            database.close()
            database = connect(path)
        else:
            database.close()
            other = folder / "other.db"
            database = connect(other)
            put(database, rows)
            database.close()
            os.replace(other, path)
            database = connect(path)
        if look:
            follower._due = 0.0  # two commits within the clock's grain leave one stamp
            mirror.apply(catch_up(follower), follower.session)
    follower._due = 0.0
    mirror.apply(catch_up(follower), follower.session)
    assert follower.trouble == ""
    assert shown(follower.session) == shown(open_afresh(path))
    database.close()


def test_a_connection_that_only_reads_is_not_needed(store):
    """Nothing that we do keeps the writer waiting, or its files there."""
    database = connect(store)
    put(database, [(9, item("user", "u9", "more"))])
    follower = Follower(store)
    catch_up(follower)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(sqlite3.ProgrammingError):
        database.close()
        database.execute("SELECT 1")
    assert [path.name for path in store.parent.iterdir()] == ["store.db"]

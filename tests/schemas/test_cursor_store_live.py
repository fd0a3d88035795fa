"""Reading a store again while Cursor writes it: what changed is told by message, and nothing is left beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from schemas.message import Flag
from schemas.providers.cursor import PROVIDER
from schemas.reading import WholeReading
from schemas.session import Change, Op, Session
from tests.fixtures.cursor.stores import NINE, Builder, agent, answer, create, harbour, use, user
from tests.schemas.conformance import described


def reading_of(path: Path) -> WholeReading:
    """A store's reading, which has read nothing yet."""
    reading = PROVIDER.open(path)
    assert isinstance(reading, WholeReading)
    return reading


class Live:
    """A store with a writer that stays open, as that of a running Cursor does."""

    def __init__(self, home: Path, built: Builder) -> None:
        self.built = built
        self.path = built.save(home)
        self.writer = create(self.path)
        self.reading = reading_of(self.path)
        self.reading.step()

    @property
    def session(self) -> Session:
        return self.reading.session

    def write(self) -> list[Change]:
        self.built.commit(self.writer)
        return self.reading.reread()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    found = Live(tmp_path, harbour())
    yield found
    found.writer.close()


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(p): (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in [folder, *folder.rglob("*")]
    }


def test_more_is_appended_and_the_session_stays(live: Live) -> None:
    session, before = live.session, list(live.session.messages.key)
    live.built.message(user("And the bell?"), agent("It rings."))
    changes = live.write()
    assert [c.op for c in changes] == [Op.APPENDED, Op.APPENDED]
    assert live.session is session
    assert list(session.messages.key)[: len(before)] == before
    assert described(session)[-2:] == ["PROMPT And the bell?", "TEXT It rings."]


def test_a_commit_that_changes_no_message_changes_nothing(live: Live) -> None:
    live.writer.execute("INSERT INTO blobs VALUES ('0', 'orphan')")
    assert live.reading.reread() == []


def test_a_result_that_comes_updates_its_use(live: Live) -> None:
    live.built.message(agent(use("late", "Shell", {"command": "wait"}), id="m9"))
    live.write()
    index = len(live.session.messages) - 1
    assert live.session.messages.has(index, Flag.PENDING)
    live.built.message(answer("late", "Shell", "done"))
    assert live.write() == [Change(Op.UPDATED, index)]
    tool = live.session.message(index).tool
    assert tool is not None and tool.text == "done" and not live.session.messages.has(index, Flag.PENDING)


def test_a_message_written_again_under_its_id_keeps_its_key(live: Live) -> None:
    live.built.message(agent("Half a sen", id="m9"))
    live.write()
    index = len(live.session.messages) - 1
    key = live.session.messages.key[index]
    live.built.root = live.built.root[:-34]
    live.built.message(agent("Half a sentence.", id="m9"))
    assert live.write() == [Change(Op.UPDATED, index)]
    assert live.session.messages.key[index] == key and described(live.session)[-1] == "TEXT Half a sentence."


def test_a_history_that_was_taken_back(live: Live) -> None:
    old = live.session
    live.built.root = b""
    live.built.message(user("Anew"))
    changes = live.write()
    assert live.session is not old and described(live.session)[-1] == "PROMPT Anew"
    assert Op.REMOVED in {c.op for c in changes}
    assert described(old)[1] == "PROMPT Light the harbour", "the old session can be read still"


def test_a_summary_keeps_what_turns_tell(live: Live) -> None:
    summary = {"role": "user", "content": "In short.", "providerOptions": {"cursor": {"isSummary": True}}}
    turns = live.built.root[live.built.root.index(b"\x42\x20") :]  # from the first field 8 on
    live.built.root = b""
    live.built.message(summary, user("Go on")).turn("Go on", NINE + 99_000)
    live.built.root = turns + live.built.root
    live.write()
    assert [e.prompt for e in live.session.live_exchanges] == ["Light the harbour", "And the buoy?", "Go on"]


@pytest.mark.parametrize("kind", ["PASSIVE", "RESTART", "TRUNCATE"])
def test_checkpoints_change_nothing(live: Live, kind: str) -> None:
    live.built.message(agent("more"))
    live.write()
    shown = described(live.session)
    live.writer.execute(f"PRAGMA wal_checkpoint({kind})")
    assert live.reading.reread() == []
    live.built.message(agent("and more"))
    assert [c.op for c in live.write()] == [Op.APPENDED]
    assert described(live.session) == [*shown, "TEXT and more"]


def test_the_title_beside_it_changes(live: Live) -> None:
    live.path.with_name("meta.json").write_text(json.dumps({"title": "Renamed"}))
    assert live.reading.reread() == []  # no message's change: whoever shows the title looks at it
    assert live.session.title == "Renamed"


def test_a_missing_blob_that_comes_later(tmp_path: Path) -> None:
    built = harbour()
    kept = dict(built.blobs)
    live = Live(tmp_path, built.drop(6))
    assert "NOTE A message is missing from the store" in described(live.session)
    built.blobs = kept
    built.commit(live.writer)
    changes = live.reading.reread()
    assert {c.op for c in changes} == {Op.REMOVED, Op.APPENDED}
    assert "TEXT The lamp is lit." in described(live.session)
    live.writer.close()


def test_messages_that_come_while_nothing_names_the_root(live: Live) -> None:
    """The row that tells of each new root stays the same, so the blobs must be looked at."""
    live.writer.execute("UPDATE meta SET value = 'zz'")
    live.writer.execute("DELETE FROM blobs WHERE substr(data, 1, 1) != x'7b'")
    live.reading.reread()
    before = len(live.session.messages)
    data = json.dumps(user("One more")).encode()
    live.writer.execute("INSERT INTO blobs VALUES (?, ?)", (sha256(data).hexdigest(), data))
    live.reading.reread()
    assert len(live.session.messages) == before + 1
    assert described(live.session)[-1] == "PROMPT One more"


def test_a_store_that_begins_empty(tmp_path: Path) -> None:
    live = Live(tmp_path, Builder())
    assert len(live.session.messages) == 0
    live.built.message(user("First"))
    assert [c.op for c in live.write()] == [Op.APPENDED]
    live.writer.close()


def test_a_store_that_goes_away_leaves_what_was_read(live: Live) -> None:
    live.writer.close()
    shutil.rmtree(live.path.parent)
    shown = described(live.session)
    with pytest.raises(FileNotFoundError):
        live.reading.reread()
    assert described(live.session) == shown


def test_only_in_the_log_with_and_without_shm(tmp_path: Path) -> None:
    built = harbour()
    path = tmp_path / "a" / "store.db"
    path.parent.mkdir()
    writer = create(path)
    built.commit(writer)
    bare = tmp_path / "b" / "store.db"
    bare.parent.mkdir()
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{bare}{ending}")
    for store in (path, bare):
        before = tree(store.parent)
        reading = reading_of(store)
        reading.step()
        reading.reread()
        assert len(reading.session.live_exchanges) == 2
        assert tree(store.parent) == before
    writer.close()


def test_a_place_that_may_not_be_written_to_and_a_name_full_of_signs(tmp_path: Path) -> None:
    folder = tmp_path / "100% #1 ? & so"
    folder.mkdir()
    path = harbour().save(folder)
    path.parent.chmod(0o500)
    try:
        before = tree(folder)
        reading = reading_of(path)
        reading.step()
        assert len(reading.session.live_exchanges) == 2 and tree(folder) == before
    finally:
        path.parent.chmod(0o700)


WRITER = """
import random, sys
from pathlib import Path
from tests.fixtures.cursor.stores import Builder, agent, answer, create, use, user
chance = random.Random(3)
path, built = Path(sys.argv[1]), Builder()
database = create(path)
built.commit(database)
print("ready", flush=True)
sys.stdin.readline()
for n in range(150):
    wide = "x" * chance.choice([9, 9000])
    built.message(user(f"prompt {n}"), agent(f"answer {n}", use(f"c{n}", "Read", {"path": wide})))
    built.commit(database)
    built.message(answer(f"c{n}", "Read", f"result {n}"))
    built.commit(database)
    if chance.random() < 0.4:
        kind = chance.choice(["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
        database.execute(f"PRAGMA wal_checkpoint({kind})").fetchall()
    elif chance.random() < 0.1:
        database.close()
        database = create(path)
database.close()
"""


def test_another_process_writes_and_every_reading_is_a_beginning_of_the_story(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        reading = reading_of(path)
        reading.step()
        writer.stdin.write("go\n")
        writer.stdin.flush()
        looks = grown = 0
        while writer.poll() is None:
            before = len(reading.session.messages)
            try:
                changes = reading.reread()
            except OSError as error:
                assert "written all the time" in str(error)
                continue
            looks += 1
            after = len(reading.session.messages)
            assert [c.message for c in changes if c.op is Op.APPENDED] == list(range(before, after))
            assert all(c.op in (Op.APPENDED, Op.UPDATED) for c in changes)
            grown += after > before
            assert after % 3 == 0
            for n, line in enumerate(described(reading.session)):
                assert line == [f"PROMPT prompt {n // 3}", f"TEXT answer {n // 3}", "TOOL Read"][n % 3]
        assert writer.returncode == 0
    reading.reread()
    assert len(reading.session.messages) == 450
    assert not any(reading.session.messages.has(i, Flag.PENDING) for i in range(450))
    assert looks > 3 and grown > 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store.db"]

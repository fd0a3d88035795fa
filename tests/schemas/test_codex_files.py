"""Where rollouts lie, how they are recognised, and what lies beside them (formats note 1, 8, 9)."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from random import Random

import pytest
import zstandard

from schemas import zst
from schemas.opening import OpenError, head_of, open_reading, read_session, recognise
from schemas.provider import Environment, Location, Problem
from schemas.providers.codex import PROVIDER, locate
from tests.fixtures.codex.rollouts import THREAD, Rollout, prompts, read, shown

OTHER = "019a0000-0000-7000-8000-0000000000ee"


def found(home):
    problems = []
    sessions = {s.id: s for s in PROVIDER.find(Location(home, "test"), problems)}
    return sessions, problems


def day(home, thread, root="sessions"):
    folder = home / root / "2025" / "10" / "09" if root == "sessions" else home / root
    return folder / f"rollout-2025-10-09T10-00-00-{thread}.jsonl"


def save(rollout, path):
    return rollout.save(path.parent, path.name)


@pytest.mark.parametrize(
    ("variables", "platform", "expected"),
    [
        ({}, "linux", Path("/h/.codex")),
        ({}, "win32", Path("/h/.codex")),
        ({"CODEX_HOME": "/c"}, "darwin", Path("/c")),
        ({"CODEX_HOME": ""}, "linux", Path("/h/.codex")),
    ],
)
def test_locations(variables, platform, expected):
    assert [p.path for p in PROVIDER.locations(Environment(variables, Path("/h"), platform))] == [expected]


def test_find(tmp_path):
    short = Rollout(THREAD).user("hi")
    save(short, day(tmp_path, THREAD))
    archived = save(Rollout(THREAD).user("hi").says("longer"), day(tmp_path, THREAD, "archived_sessions"))
    named = tmp_path / "archived_sessions" / "deep" / "any-name.jsonl"
    save(Rollout("019a0000-0000-7000-8000-000000000001").user("x"), named)
    plain = save(Rollout(OTHER).user("plain"), day(tmp_path, OTHER))
    plain.with_name(plain.name + ".zst").write_bytes(zstandard.compress(Rollout(OTHER).user("old copy").bytes * 50))
    (plain.parent / "half.jsonl.tmp").write_bytes(short.bytes)
    (plain.parent / "notes.jsonl").write_text('{"type":"user","message":"not a rollout"}\n')
    (tmp_path / "history.jsonl").write_text('{"session_id":"x","ts":1,"text":"x"}\n')
    document = {"session": {"id": "ts-1", "timestamp": "2025-04-30T10:00:00Z"}, "items": []}
    (tmp_path / "sessions" / "rollout-2025-04-30-x.json").write_text(json.dumps(document, indent=2))
    sessions, problems = found(tmp_path)
    assert set(sessions) == {THREAD, OTHER, "019a0000-0000-7000-8000-000000000001", "ts-1"} and problems == []
    assert sessions[THREAD].path == archived and sessions[OTHER].path == plain
    assert sessions[THREAD].size == archived.stat().st_size


@pytest.mark.parametrize("thread", ["fdeb250e-1ff4-7983-8c17-7ef447ed4260", "00000000-0000-7983-8c17-7ef447ed4260"])
def test_an_id_in_which_no_time_stands_takes_no_session_away(tmp_path, thread):
    path = save(Rollout(thread).user("hi"), day(tmp_path, thread))
    assert found(tmp_path)[0][thread].file == str(path)
    assert read_session(path).id == thread


def test_subagents_are_no_sessions_of_the_list(tmp_path):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}
    save(Rollout(OTHER, source=source).user("task"), day(tmp_path, OTHER))
    memory = "019a0000-0000-7000-8000-000000000002"
    save(Rollout(memory, source={"internal": "memory_consolidation"}).user("x"), day(tmp_path, memory))
    assert set(found(tmp_path)[0]) == {OTHER}, "its parent is not here"
    save(Rollout(THREAD).user("hi"), day(tmp_path, THREAD))
    assert set(found(tmp_path)[0]) == {THREAD}


def test_only_the_head_of_a_chain_is_listed(tmp_path):
    save(Rollout(THREAD).user("x"), day(tmp_path, OTHER))
    base = {"thread_id": OTHER, "end_byte_offset": 5}
    head = save(Rollout(THREAD, history_base=base).user("y"), day(tmp_path, "019a0000-0000-7000-8000-000000000003"))
    sessions, _ = found(tmp_path)
    assert [s.path for s in sessions.values()] == [head]


def test_a_very_long_first_line(tmp_path):
    save(Rollout(THREAD, base_instructions={"text": "x" * 3_000_000}).user("hi"), day(tmp_path, THREAD))
    assert set(found(tmp_path)[0]) == {THREAD}
    path = day(tmp_path, THREAD)
    assert prompts(read(path)) == ["hi"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_told(tmp_path):
    path = save(Rollout(THREAD).user("hi"), day(tmp_path, THREAD))
    path.chmod(0)
    assert found(tmp_path)[1][0].path == path


def test_no_folder_at_all(tmp_path):
    assert found(tmp_path / "nowhere") == ({}, [])


# -- recognising --------------------


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "thread.started", "thread_id": "x"}, {"type": "item.completed", "item": {"type": "agent_message"}}],
        [
            {
                "type": "user",
                "uuid": "u",
                "sessionId": "s",
                "timestamp": "t",
                "message": {"role": "user", "content": "x"},
            }
        ],
        [{"type": "message", "id": "1", "timestamp": "t", "message": {"role": "user"}}],
        [{"id": "1", "timestamp": "t", "text": "some log"}],
        [{"ts": 1, "dir": "x", "kind": "y"}],
        [{"type": "session_meta"}],
        [{"session_id": "x", "ts": 1, "text": "history"}],
    ],
)
def test_what_is_no_rollout(tmp_path, lines):
    path = tmp_path / "rollout-2025-10-09T10-00-00-x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert not PROVIDER.detect(head_of(path))


def test_headerless_files(tmp_path):
    for name, rollout in {
        "count": Rollout(meta=False).count((10, 5, 1), (10, 5, 1)),
        "bare": Rollout(meta=False).raw(
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
        ),
    }.items():
        path = rollout.save(tmp_path, f"{name}.jsonl")
        assert recognise(head_of(path)).id == "codex"
        session = read(path)
        assert session.id == name and PROVIDER.resume_command(session) is None


# -- old and damaged --------------------


def test_compressed(tmp_path):
    r = Rollout().user("hi").says("x" * 100_000)
    path = tmp_path / f"rollout-2025-10-09T10-00-00-{THREAD}.jsonl.zst"
    path.write_bytes(zstandard.compress(r.bytes[:500]) + zstandard.compress(r.bytes[500:]))
    session = read(path)
    assert prompts(session) == ["hi"] and len(session.message(1).text) == 100_000
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]


def test_compressed_with_a_first_line_of_megabytes(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstandard.compress(Rollout(base_instructions="x" * (1 << 20)).user("hi").bytes))
    assert recognise(head_of(path)).id == "codex"
    assert prompts(read_session(path)) == ["hi"]


@pytest.mark.parametrize("end", [b"\n", b"a", b'{"type":"event_msg","payload":{}}\n'])
def test_what_unpacks_to_no_end_is_unreadable(tmp_path, monkeypatch, end):
    monkeypatch.setattr(zst, "_ANY", 1 << 20)
    path = Rollout().user("hi").save(tmp_path / "sessions", f"rollout-2025-10-09T10-00-00-{THREAD}.jsonl.zst")
    path.write_bytes(zstandard.compress(path.read_bytes() + end * ((80 << 20) // len(end))))
    with pytest.raises(OpenError, match=r"unreadable: [\d.]+ KB that unpack to more than [\d.]+ MB"):
        read_session(path)
    assert [file.path for file in PROVIDER.find(Location(tmp_path, "default"), [])] == [path]  # and so listed as unread
    # The most that is unpacked at once is bounded too.
    sizes: list[int] = []
    real = zstandard.ZstdDecompressor

    class Decompressor:
        def decompressobj(self):
            self.inner = real().decompressobj()
            return self

        def decompress(self, data):
            sizes.append(len(piece := self.inner.decompress(data)))
            return piece

        eof, unused_data = False, b""

    monkeypatch.setattr(zstandard, "ZstdDecompressor", Decompressor)
    with pytest.raises(OSError, match="unreadable"):
        zst.decompress(path)
    assert max(sizes) <= 32 << 20


def test_a_rollout_by_name_that_is_none_is_not_left_out_without_a_word(tmp_path):
    path = tmp_path / "sessions" / "2026" / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"type":[],"payload":{}}\n')
    path.with_name("notes.json").write_bytes(b"{}")
    good = Rollout().user("hi").save(tmp_path / "archived_sessions")  # of the same id
    found = {file.path for file in PROVIDER.find(Location(tmp_path, "default"), [])}
    assert found == {path, good}
    with pytest.raises(OpenError, match="not a session turnlog knows"):
        read_session(path)


def test_a_rollout_on_which_turnlog_fails_does_not_hide_the_others(tmp_path, monkeypatch):
    good, bad = (
        Rollout().user("hi").save(tmp_path / "sessions"),
        Rollout(OTHER).save(tmp_path / "sessions", "bad.jsonl"),
    )
    real = locate._look
    monkeypatch.setattr(locate, "_look", lambda path, stat: {}["gone"] if path == bad else real(path, stat))
    problems: list[Problem] = []
    assert [file.path for file in PROVIDER.find(Location(tmp_path, "default"), problems)] == [good]
    assert problems == [Problem(bad, "turnlog failed on it, a bug: KeyError: 'gone'")]
    assert read_session(good).live_exchanges  # looks at what lies beside it


def test_links_below_the_folder_are_not_walked(tmp_path):
    there = Rollout().user("hi").save(tmp_path / "disk" / "2025")
    Rollout(OTHER).user("none of Codex's").save(tmp_path / "else", f"rollout-2025-10-09T10-00-00-{OTHER}.jsonl")
    home = tmp_path / ".codex"
    home.mkdir()
    for name, target in (("up", tmp_path), ("root", "/"), ("else", tmp_path / "else"), ("again", there.parent)):
        (there.parent / name).symlink_to(target)
    (there.parent / "rollout-2025-10-09T10-00-00-link.jsonl").symlink_to(next((tmp_path / "else").iterdir()))
    (home / "sessions").symlink_to(tmp_path / "disk")  # kept on another disk
    (home / "archived_sessions").symlink_to("/")
    problems: list[Problem] = []
    found = [file.path for file in PROVIDER.find(Location(home, "default"), problems)]
    assert [path.resolve() for path in found] == [there] and problems == []


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:20] + b"\0" * 40 + b[60:]])
def test_damaged_compressed(tmp_path, damage):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(
        damage(zstandard.compress(Random(7).randbytes(200_000).hex().encode() + Rollout().user("hi").bytes))
    )
    with pytest.raises(OpenError, match=r"a\.jsonl\.zst: .*zstd|a\.jsonl\.zst: .*not a session"):
        open_reading(path)
    path.write_bytes(damage(zstandard.compress(Rollout().user("x" * 300_000).bytes)))
    with pytest.raises(OSError, match="zstd"):
        PROVIDER.open(path)


def test_the_end_of_a_big_file(tmp_path):
    r = Rollout()
    for n in range(200):
        r.user(f"prompt {n}").says("x" * 200)
    path = r.save(tmp_path)
    reading = PROVIDER.open(path, start=path.stat().st_size - 2000)
    while not reading.done:
        reading.step()
    assert 0 < len(reading.session.messages) < 20 and reading.session.id == THREAD
    assert shown(reading.session)[-2][1] == "prompt 199"


# -- titles --------------------


def index(home, *names):
    lines = [json.dumps({"id": THREAD, "thread_name": name, "updated_at": "2026-03-01T10:00:00Z"}) for name in names]
    (home / "session_index.jsonl").write_text("\n".join(lines))


def database(home, **row):
    path = home / "state_5.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE threads (id, name, title, first_user_message)")
        db.execute(f"INSERT INTO threads (id, {', '.join(row)}) VALUES (?{', ?' * len(row)})", (THREAD, *row.values()))
    db.close()
    return path


def test_a_live_database(tmp_path):
    path = save(Rollout().user("fix it"), day(tmp_path, THREAD))
    with sqlite3.connect(database(tmp_path, title="Old", first_user_message="fix it")) as db:
        db.execute("UPDATE threads SET title = 'In the log'")
        db.commit()
        assert read(path).title == "In the log"


def test_a_new_name_is_noticed(tmp_path):
    reading = PROVIDER.open(save(Rollout().user("fix it"), day(tmp_path, THREAD)))
    reading.step()
    reading.refresh()
    index(tmp_path, "Named later")
    reading.refresh()
    assert reading.session.title == "Named later"

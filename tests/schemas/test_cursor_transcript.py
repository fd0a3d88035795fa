"""Cursor's transcripts of JSON lines: how one is told, and how it is followed (formats note 3.3)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag
from schemas.opening import head_of
from schemas.provider import Head, read_head
from schemas.providers.cursor import PROVIDER
from schemas.session import Op, Session
from tests.fixtures.cursor.transcripts import agent, child, ended, lines, today, use, user
from tests.schemas.conformance import assert_builds_clean, assert_nothing_lost, assert_sums, described, facts, whole
from tests.support import catch_up, changes_by
from viewer.follow.follower import Follower

UUID = "6a1f0c1e-0000-4000-8000-00000000000a"


def read(path: Path) -> Session:
    return whole(PROVIDER, path, beside=False)


@pytest.fixture
def session_of(tmp_path: Path) -> Any:
    def made(*records: dict[str, Any]) -> Session:
        path = tmp_path / f"{UUID}.jsonl"
        path.write_bytes(lines(*records))
        session = read(path)
        assert_nothing_lost(session, path.read_bytes())
        assert_sums(session)
        assert_builds_clean(session)
        return session

    return made


# -- recognised --------------------------------------------------------------------------------------------------------


def _head(*records: Any) -> Head:
    return read_head(Path("x"), b"".join(json.dumps(r).encode() + b"\n" for r in records), whole=True)


@pytest.mark.parametrize(
    "first",
    [
        user("hi"),
        agent(use("Read", {})),
        {"role": "assistant", "message": {"content": "text"}},
        ended(),
        ended("error", error="x"),
    ],
)
def test_any_line_of_a_transcript_tells_it(first):
    assert PROVIDER.detect(_head(first)) and PROVIDER.detect(_head(first, agent("x")))


def test_a_line_that_tells_nothing_may_stand_first():
    assert PROVIDER.detect(_head({"role": "system", "message": {"content": "x"}}, user("hi")))
    assert PROVIDER.detect(_head({"role": "user", "message": {}}, user("hi")))


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "content": "an API's line"},
        {"type": "user", "message": {"role": "user", "content": "Claude"}},
        {"type": "message", "role": "user", "message": {"content": "x"}},
        {"role": "user", "id": "1", "message": {"content": "x"}},
        {"role": "assistant", "message": {"id": "msg_1", "content": []}},
        {"role": "assistant", "message": {"role": "assistant", "content": []}},
        {"role": "user", "message": {"content": "x"}, "timestamp": "2026-01-01T00:00:00Z"},
        {"role": "user", "message": "x"},
        {"role": "user", "message": {"content": 5}},
        {"type": "turn_ended", "status": "success", "session_id": "x"},
        {"type": "turn_ended"},
        {},
    ],
)
def test_lines_of_others_are_not_claimed(record):
    assert not PROVIDER.detect(_head(record, record))


# -- hostile -----------------------------------------------------------------------------------------------------------


def test_a_line_with_very_many_blocks(session_of):
    session = session_of(user("q"), agent(*["x"] * 5_000))
    assert len(session.messages) == 5_001


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("[REDACTED]"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "text", "name", "input", "content", "output", "status", "error", "thinking", "id", "call", "path"]
    ), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
_TYPES = st.sampled_from(
    ["text", "tool_use", "tool_result", "command_output", "thinking", "turn_ended", "image", "file"]
)
_BLOCK = st.builds(lambda kind, rest: {**rest, "type": kind} if isinstance(rest, dict) else rest, _TYPES, _JSON)
_RECORD = st.builds(
    lambda role, content: {"role": role, "message": {"content": content}},
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.lists(_BLOCK, max_size=4) | _JSON,
)


@given(records=st.lists(_RECORD | _JSON.filter(lambda v: isinstance(v, dict)), min_size=1, max_size=8), data=st.data())
def test_anything_is_read_whole_as_in_pieces(tmp_path, records, data):
    path = tmp_path / f"{UUID}.jsonl"
    raw = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path.write_bytes(raw)
    whole = read(path)
    assert_nothing_lost(whole, raw)
    assert_sums(whole)
    assert_builds_clean(whole)
    cut = data.draw(st.integers(0, len(raw)))
    path.write_bytes(raw[:cut])
    reading = PROVIDER.open(path)
    reading.step()
    with path.open("ab") as file:
        file.write(raw[cut:])
    reading.step()
    reading.finish()
    assert facts(reading.session) == facts(whole)
    assert reading.session.lacks == whole.lacks


# -- live --------------------------------------------------------------------------------------------------------------


def _follow(path: Path) -> Follower:
    follower = Follower(path)
    while not follower.loaded:
        follower.step()
    return follower


def test_appended_lines_are_told(tmp_path):
    path = tmp_path / f"{UUID}.jsonl"
    path.write_bytes(lines(user("q"), agent(use("Shell", {"command": "ls"}))))
    follower = _follow(path)
    session = follower.session
    assert session.messages.has(1, Flag.PENDING)
    with path.open("ab") as file:
        file.write(lines(agent("done")))
    assert [(c.op, c.message) for c in changes_by(follower.poll)] == [(Op.UPDATED, 1), (Op.APPENDED, 2)]
    assert follower.session is session and not session.messages.has(1, Flag.PENDING)
    follower.close()


def test_a_file_rewritten_smaller_is_read_anew(tmp_path):
    path = tmp_path / f"{UUID}.jsonl"
    path.write_bytes(lines(*today()))
    follower = _follow(path)
    path.write_bytes(lines(user("afresh")))
    changes = catch_up(follower)
    assert Op.RESTARTED in {change.op for change in changes}
    assert described(follower.session) == ["PROMPT afresh"]
    follower.close()


# -- beside it ---------------------------------------------------------------------------------------------------------


def _project(tmp_path: Path) -> Path:
    folder = tmp_path / ".cursor" / "projects" / "srv-lamp" / "agent-transcripts" / UUID
    folder.mkdir(parents=True)
    path = folder / f"{UUID}.jsonl"
    path.write_bytes(lines(*today()))
    return path


def test_subagents_are_linked_by_their_prompt(tmp_path):
    path = _project(tmp_path)
    follower = _follow(path)
    assert follower.session.subagents == []
    (path.parent / "subagents").mkdir()
    run = path.parent / "subagents" / "6a1f0c1e-0000-4000-8000-00000000000b.jsonl"
    run.write_bytes(b"")
    assert follower.reading.refresh() == []
    run.write_bytes(lines(*child()))
    changes = follower.reading.refresh()
    subagent = follower.session.subagents[0]
    assert [(c.op, c.message) for c in changes] == [(Op.UPDATED, 5)]
    assert (subagent.tool_use, subagent.name, subagent.description) == (5, "explore", "Find bulbs")
    assert follower.session.message(5).tool.subagent == subagent.id == run.stem
    assert follower.reading.refresh() == []
    follower.close()
    assert read(run).lineage.parent == UUID


def test_a_subagent_nobody_asked_for_is_listed(tmp_path):
    path = _project(tmp_path)
    (path.parent / "subagents").mkdir()
    (path.parent / "subagents" / "b.jsonl").write_bytes(lines(user("Something else")))
    reading = PROVIDER.open(path)
    reading.step()
    reading.refresh()
    assert [(s.id, s.tool_use, s.description) for s in reading.session.subagents] == [("b", None, "Something else")]


def test_the_other_transcript_of_the_same_id_is_named(tmp_path):
    path = _project(tmp_path)
    other = path.parents[3] / "srv-other" / "agent-transcripts" / f"{UUID}.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(lines(user("other")))
    reading = PROVIDER.open(path)
    reading.step()
    reading.refresh()
    assert reading.session.metadata == {"otherTranscripts": [str(other)]}


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        PROVIDER.open(tmp_path / "pipe")


def test_the_head_of_a_file_tells_it(tmp_path):
    path = tmp_path / "session.bin"
    path.write_bytes(lines(user("x" * 200_000), agent("y")))
    assert PROVIDER.detect(head_of(path))

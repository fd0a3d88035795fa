"""Codex: subagents that come later, and a chain of files read in pieces (formats note 7)."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.codex.rollouts import THREAD, Rollout, prompts, read

PARENT = "019a0000-0000-7000-8000-0000000000aa"
CHILD = "019a0001-0000-7000-8000-0000000000bb"
BORN = 1_760_000_500


def spawn(parent=PARENT, **fields):
    return {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1, **fields}}}


def days(home, thread):
    return home / "sessions" / "2025" / "10" / "09" / f"rollout-2025-10-09T10-00-00-{thread}.jsonl"


def save(rollout, path):
    return rollout.save(path.parent, path.name)


def test_a_subagent_without_a_file_is_missing_until_it_is_found(tmp_path):
    from schemas.providers.codex import PROVIDER

    r = Rollout(THREAD).user("hi").call("c", "spawn_agent", message="task")
    r.event("collab_agent_spawn_end", call_id="c", new_thread_id=CHILD, new_agent_nickname="Newton", prompt="task")
    reading = PROVIDER.open(save(r.result("c", json.dumps({"agent_id": CHILD})), days(tmp_path, THREAD)))
    reading.step()
    reading.refresh()
    (agent,) = reading.session.subagents
    assert (agent.id, agent.name, agent.path, agent.tool_use) == (CHILD, "Newton", None, 1)
    save(Rollout(CHILD, source=spawn(THREAD)).user("task"), days(tmp_path, CHILD))
    reading.refresh()
    assert reading.session.subagents == [agent] and agent.path == days(tmp_path, CHILD)


def test_a_subagent_that_comes_later(tmp_path):
    from schemas.providers.codex import PROVIDER

    path = save(Rollout(THREAD).user("hi"), days(tmp_path, THREAD))
    reading = PROVIDER.open(path)
    reading.step()
    reading.refresh()
    assert reading.session.subagents == []
    days(tmp_path, CHILD).write_bytes(b'{"timestamp":"2025-')
    reading.refresh()
    save(Rollout(CHILD, source=spawn(THREAD)).user("x"), days(tmp_path, CHILD))
    reading.refresh()
    assert [s.id for s in reading.session.subagents] == [CHILD]


BASE_FILE = "019a0000-0000-7000-8000-0000000000b1"


def chained(folder, thread=THREAD, *, end=None, base=BASE_FILE):
    first = Rollout(thread).start("t1").user("first").says("one").count((100, 0, 10), (100, 0, 10)).done("t1")
    length = len(first.bytes)
    first.start("t2").user("undone").says("two").count((200, 0, 20)).done("t2")
    first.save(folder, f"rollout-2025-10-09T10-00-00-{BASE_FILE}.jsonl")
    r = Rollout(thread, BORN, history_base={"thread_id": base, "end_byte_offset": length if end is None else end})
    r.start("t3", started_at=BORN).user("second").says("three").count((250, 0, 25), (150, 0, 15)).done("t3")
    return r.save(folder, "rollout-2025-10-09T10-10-00-019a0003-0000-7000-8000-0000000000b2.jsonl")


@pytest.mark.parametrize("step", [1 << 20, 100])
def test_a_chain_of_files(tmp_path, step):
    session = read(chained(tmp_path), step)
    assert prompts(session) == ["first", "undone", "second"]
    assert [(e.inherited, e.rewound) for e in session.exchanges] == [(False, False), (False, True), (False, False)]
    assert session.usage().total == 110 + 110 + 165 and session.title == "first"
    assert len(session.stores) == 2 and session.message_spans(0)[0].store == 1


OLD_TURN = "0b5c7a52-1d3e-4f11-8a11-3c9d2e7f6a01"


def parent():
    """The session of which `forked` has a copy."""
    r = Rollout(PARENT).start(OLD_TURN).user("old prompt").says("old answer")
    return r.count((1000, 900, 100), (500, 400, 50)).done(OLD_TURN)

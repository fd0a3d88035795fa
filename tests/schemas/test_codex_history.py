"""Forks, subagents and chains: what was copied is shown and counts for nothing (formats note 7)."""

from __future__ import annotations

import json

import pytest

from schemas.message import Flag, Kind
from schemas.opening import family, usage_with_subagents
from tests.fixtures.codex.rollouts import THREAD, Rollout, prompts, read, shown, tools

PARENT = "019a0000-0000-7000-8000-0000000000aa"
CHILD = "019a0001-0000-7000-8000-0000000000bb"
BORN = 1_760_000_500


def spawn(parent=PARENT, **fields):
    return {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1, **fields}}}


def forked(old_turn, *, second_meta=True, started=None, **fields):
    """A fork: a copied turn stamped with the time of the fork, then a turn of its own."""
    r = Rollout(CHILD, BORN, forked_from_id=PARENT, **fields)
    if second_meta:
        r.line("session_meta", {"id": PARENT, "cwd": "/parent"}, at=BORN)
    at = {"at": BORN}
    r.event("task_started", turn_id=old_turn, **at, **({"started_at": started} if started else {}))
    r.item("message", role="user", content=[{"type": "input_text", "text": "old prompt"}], **at)
    r.event("agent_message", message="old answer", **at)
    r.count((1000, 900, 100), (500, 400, 50), at=BORN)
    return r


def own(r, turn="own-turn", started=BORN + 5):
    r.clock = BORN + 5
    r.start(turn, started_at=started).user("new prompt").says("new answer").count((1400, 1200, 150)).done(turn)
    return r


@pytest.mark.parametrize("second_meta", [True, False])
def test_a_fork_with_replay(tmp_path, second_meta):
    session = own(forked("old-turn", second_meta=second_meta, started=BORN - 5000)).read(tmp_path)
    assert [e.inherited for e in session.exchanges] == [True, False]
    assert [session.messages.has(i, Flag.INHERITED) for i in range(4)] == [True, True, False, False]
    assert session.usage().total == 450 and session.exchange_usage(0) is None
    assert (session.title, session.lineage.forked_from, session.lineage.parent) == ("new prompt", PARENT, None)
    assert session.workspace_root == "/w/app" and session.id == CHILD
    assert [e.prompt for e in session.live_exchanges] == ["new prompt"]


def test_the_parents_turns_tell(tmp_path):
    """Some replays have neither start times nor times in their turn ids."""
    Rollout(PARENT).start("old-turn").user("old prompt").done("old-turn").save(tmp_path, f"rollout-x-{PARENT}.jsonl")
    r = forked("old-turn", second_meta=False)
    r.clock = BORN + 5
    r.start("own-turn").user("new prompt").says("new answer").count((1400, 1200, 150))
    session = r.read(tmp_path)
    assert [e.inherited for e in session.exchanges] == [True, False] and session.usage().total == 450


def test_a_burst_of_counts_is_a_copy(tmp_path):
    r = Rollout(CHILD, BORN, forked_from_id=PARENT)
    for n in range(1, 7):
        r.event("user_message", message=f"old {n}", at=BORN).event("agent_message", message="x", at=BORN)
        r.count((100 * n, 0, 10 * n), (100, 0, 10), at=BORN)
    r.clock = BORN + 60
    session = r.user("new").says("y").count((700, 0, 70), (100, 0, 10)).read(tmp_path)
    assert [e.inherited for e in session.exchanges] == [True] * 6 + [False]
    assert session.usage().total == 110 and session.title == "new"


def test_a_child_only_file_is_all_its_own(tmp_path):
    r = Rollout(CHILD, BORN, source=spawn(agent_nickname="Confucius", agent_role="explorer"), thread_source="subagent")
    session = own(r).read(tmp_path)
    assert not any(e.inherited for e in session.exchanges) and session.usage().total == 1550
    assert session.lineage.parent == PARENT and session.metadata["agent"] == "Confucius (explorer)"


def test_an_old_turn_that_goes_on_is_no_copy(tmp_path):
    """faults/f27: the turn's time, in milliseconds, lies before the thread's."""
    r = Rollout(CHILD, BORN, source=spawn(), thread_source="subagent").start("t-1", started_at=(BORN - 400) * 1000)
    session = r.user("task").count((3100, 2500, 120), (3100, 2500, 120)).says("done").read(tmp_path)
    assert not any(e.inherited for e in session.exchanges) and session.usage().total == 3220


def test_ordinals_say_where_a_subagent_begins(tmp_path):
    r = Rollout(CHILD, BORN, meta=False)
    meta = {"id": CHILD, "timestamp": "2025-10-09T09:01:40Z", "source": spawn(), "subagent_history_start_ordinal": 3}
    r.line("session_meta", meta, ordinal=0)
    r.line("response_item", {"type": "message", "role": "user", "content": "copied"}, ordinal=1)
    r.line("response_item", {"type": "message", "role": "assistant", "content": "copied too"}, ordinal=2)
    r.line("response_item", {"type": "message", "role": "user", "content": "task"}, ordinal=3)
    session = r.read(tmp_path)
    assert [e.inherited for e in session.exchanges] == [True, False] and session.title == "task"


def test_own_work_without_prompt_does_not_hide_in_the_copy(tmp_path):
    r = forked("old-turn", started=BORN - 5000)
    r.clock = BORN + 5
    session = r.start("own", started_at=BORN + 5).says("on my own").read(tmp_path)
    assert [(e.opener, e.inherited) for e in session.exchanges] == [(Kind.PROMPT, True), (None, False)]


def test_a_subagents_task_is_its_prompt(tmp_path):
    r = Rollout(CHILD, source=spawn(agent_path="/root/scout"), agent_path="/root/scout")
    content = [{"type": "input_text", "text": "look for it"}]
    r.start("t").item("agent_message", author="/root", recipient="/root/scout", content=content).says("found")
    r.item("agent_message", author="/root/other", recipient="/root/scout", content="by the way")
    session = r.read(tmp_path)
    assert prompts(session) == ["look for it"] and shown(session, Kind.NOTE) == [(Kind.NOTE, "by the way")]


def days(home, thread):
    return home / "sessions" / "2025" / "10" / "09" / f"rollout-2025-10-09T10-00-00-{thread}.jsonl"


def save(rollout, path):
    return rollout.save(path.parent, path.name)


@pytest.mark.parametrize("how", ["output", "event", "activity", "item", "none"])
def test_subagents_are_found_and_linked(tmp_path, how):
    child = Rollout(CHILD, 1_760_000_100, source=spawn(THREAD, agent_nickname="Newton")).user("task").says("done")
    save(child.count((10, 0, 1), (10, 0, 1)), days(tmp_path, CHILD))
    guard = "019a0002-0000-7000-8000-0000000000cc"
    save(Rollout(guard, source={"subagent": {"other": "guardian"}}, parent_thread_id=THREAD), days(tmp_path, guard))
    r = Rollout(THREAD).user("hi").call("c", "spawn_agent", message="task")
    if how == "output":
        r.result("c", json.dumps({"agent_id": CHILD, "nickname": "Newton"}))
    elif how == "event":
        r.event("collab_agent_spawn_end", call_id="c", new_thread_id=CHILD, new_agent_nickname="Newton", prompt="task")
    elif how == "activity":
        r.event("sub_agent_activity", event_id="c", agent_thread_id=CHILD, agent_path="/root/newton", kind="started")
    elif how == "item":
        r.completed({"type": "CollabAgentToolCall", "id": "c", "tool": "spawnAgent", "receiver_thread_ids": [CHILD]})
    session = read(save(r.count((100, 0, 10), (100, 0, 10)), days(tmp_path, THREAD)))
    by_id = {s.id: s for s in session.subagents}
    assert set(by_id) == {CHILD, guard}
    assert by_id[CHILD].path == days(tmp_path, CHILD) and by_id[CHILD].name == "Newton"
    assert (by_id[CHILD].internal, by_id[guard].internal) == (False, True)
    assert by_id[CHILD].tool_use == (None if how == "none" else 1)
    assert tools(session)[0].tool.subagent == (None if how == "none" else CHILD)
    assert Flag.SUBAGENT in tools(session)[0].flags
    assert session.usage().total == 110 and usage_with_subagents(session).total == 121
    assert len(list(family(session))) == 3


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


def test_a_fork_has_no_subagents_of_the_session_that_it_copied(tmp_path):
    r = Rollout(CHILD, BORN, forked_from_id=THREAD).meta(id=THREAD).start("p", started_at=BORN - 100).user("hi")
    r.call("c", "spawn_agent", message="task").result("c", json.dumps({"agent_id": "other"}))
    assert r.start("own", started_at=BORN).user("mine").read(tmp_path).subagents == []


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


def test_a_chain_without_its_beginning(tmp_path):
    session = read(chained(tmp_path, base="019a0000-0000-7000-8000-0000000000ff"))
    notes = [m for i in range(len(session.messages)) if (m := session.message(i)).kind == Kind.NOTE]
    assert len(notes) == 1 and "0000000000ff" in notes[0].text and prompts(session) == ["second"]


def test_a_chain_in_a_circle(tmp_path):
    r = Rollout(THREAD, history_base={"thread_id": THREAD, "end_byte_offset": 10}).user("hi")
    assert prompts(r.read(tmp_path)) == ["hi"]


OLD_TURN = "0b5c7a52-1d3e-4f11-8a11-3c9d2e7f6a01"


def parent():
    """The session of which `forked` has a copy."""
    r = Rollout(PARENT).start(OLD_TURN).user("old prompt").says("old answer")
    return r.count((1000, 900, 100), (500, 400, 50)).done(OLD_TURN)


@pytest.mark.parametrize("second_meta", [True, False])
def test_what_a_fork_copied_is_kept_by_the_name_that_it_has_where_it_is_from(tmp_path, second_meta):
    session = own(forked(OLD_TURN, second_meta=second_meta, started=BORN - 5000)).read(tmp_path)
    (one,) = session.inherited.values()
    (tmp_path / "parent").mkdir()
    source = parent().read(tmp_path / "parent")
    assert one.group_id == source.groups.ids[0] == f"{OLD_TURN}:1"
    assert one.usage == source.groups.usage[0] and one.usage.total == 550


def test_an_exact_count_takes_the_place_of_the_difference_that_was_copied(tmp_path):
    r = forked(OLD_TURN, started=BORN - 5000)
    usage = {"input_tokens": 70, "cached_input_tokens": 0, "output_tokens": 7, "total_tokens": 77}
    response = {"thread_id": PARENT, "turn_id": OLD_TURN, "response_id": "resp_1", "usage": usage}
    r.line("token_usage_record", response, at=BORN)
    r.line("token_usage_record", response, at=BORN)
    session = own(r).read(tmp_path)
    (one,) = session.inherited.values()
    assert (one.group_id, one.usage.total) == ("resp_1", 77)
    assert [span.line for span in session.spans.chain(one.span)] == [6, 7]
    assert session.usage().total == 450


def test_a_burst_that_turns_out_to_be_a_copy_is_kept_under_its_parents_names(tmp_path):
    r = Rollout(CHILD, BORN, forked_from_id=PARENT)
    for n in range(1, 7):
        r.event("user_message", message=f"old {n}", at=BORN).event("agent_message", message="x", at=BORN)
        r.count((100 * n, 0, 10 * n), (100, 0, 10), at=BORN)
    session = r.read(tmp_path)
    assert list(session.inherited) == [f"{PARENT}:{n}" for n in range(1, 7)]
    assert {one.usage.total for one in session.inherited.values()} == {110} and session.usage() is None


def test_a_copy_that_nothing_tells_from_a_response_is_not_kept(tmp_path):
    """Its turn is called as in other sessions, and its time is that of the fork."""
    session = own(forked("1", started=BORN - 5000)).read(tmp_path)
    assert not session.inherited and session.usage().total == 450

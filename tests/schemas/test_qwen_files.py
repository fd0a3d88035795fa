"""Where Qwen Code's sessions lie, whose a file is, subagents, and a session that is followed while it grows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from schemas.message import Kind
from schemas.opening import OpenError, family, head_of, read_session, recognise
from schemas.provider import Environment, Location
from schemas.providers import providers
from schemas.providers.qwen import PROVIDER
from schemas.session import Op
from schemas.usage import TokenUsage
from tests.fixtures.qwen import SESSION, Chat, call, tokens
from tests.schemas.claude_lines import Lines
from tests.support import catch_up
from viewer.follow.follower import Follower


def small(session: str = SESSION, **envelope: object) -> Chat:
    chat = Chat(session, **envelope)
    chat.user("hi")
    chat.agent("hello")
    return chat


# -- locations ---------------------------------------------------------------------------------------------------------


def test_the_first_place_is_the_one_the_agent_uses(tmp_path):
    env = Environment({"QWEN_RUNTIME_DIR": "~/run", "QWEN_HOME": str(tmp_path / "q")}, tmp_path, "linux")
    assert PROVIDER.locations(env) == [
        Location(tmp_path / "run", "QWEN_RUNTIME_DIR"),
        Location(tmp_path / "q", "QWEN_HOME"),
        Location(tmp_path / ".qwen", "default"),
    ]


def test_only_sessions_are_found(tmp_path):
    chats = tmp_path / "projects" / "-home-dev" / "chats"
    kept = small().write(chats)
    small().write(chats, "notes.jsonl")
    small().write(chats, f"{SESSION}.notes.json")
    small().write(chats.parent / "subagents" / SESSION, "agent-a.jsonl")
    (chats / "5e55105e-0000-4000-8000-00000000000e.jsonl").touch()  # a session in which nothing was said yet
    (chats / "5e55105e-0000-4000-8000-00000000000f.jsonl").symlink_to(kept)
    problems = []
    found = list(PROVIDER.find(Location(tmp_path, "default"), problems))
    assert [(f.id, f.provider) for f in found] == [(SESSION, "qwen")]
    assert found[0].path == kept and problems == []
    assert list(PROVIDER.find(Location(tmp_path / "nowhere", "default"), problems)) == [] and problems == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_said(tmp_path):
    folder = tmp_path / "projects"
    folder.mkdir(mode=0)
    problems = []
    assert list(PROVIDER.find(Location(tmp_path, "default"), problems)) == []
    assert [p.path for p in problems] == [folder]


# -- whose a file is ---------------------------------------------------------------------------------------------------


def test_a_session_is_recognised_and_can_be_resumed(tmp_path):
    path = small().write(tmp_path, "renamed")
    assert recognise(head_of(path)).id == "qwen"
    session = read_session(path)
    assert session.id == SESSION
    assert PROVIDER.resume_command(session) == ["qwen", "--resume", SESSION]
    session.id = "$(rm)"
    assert PROVIDER.resume_command(session) is None


def test_a_claude_session_is_not_ours_nor_ours_claudes(tmp_path):
    lines = Lines()
    lines.user("hi")
    lines.agent({"type": "text", "text": "hello"})
    theirs = tmp_path / "theirs.jsonl"
    theirs.write_bytes(b"\n".join(lines.rows) + b"\n")
    ours = small().write(tmp_path)
    assert [p.id for p in providers().values() if p.detect(head_of(theirs))] == ["claude"]
    assert [p.id for p in providers().values() if p.detect(head_of(ours))] == ["qwen"]


def test_a_session_that_begins_with_facts_is_ours_alone(tmp_path):
    chat = Chat()
    chat.system("session_model", {"modelId": "m", "authType": "openai"})
    path = chat.write(tmp_path)
    assert [p.id for p in providers().values() if p.detect(head_of(path))] == ["qwen"]


def test_a_session_below_the_folder_is_read_as_what_it_is_whatever_its_name(tmp_path):
    path = small().write(tmp_path / ".qwen", "backup.txt")
    assert read_session(path).title == "hi"


def test_an_empty_file_is_no_session_yet(tmp_path):
    path = tmp_path / f"{SESSION}.jsonl"
    path.touch()
    with pytest.raises(OpenError, match="empty"):
        read_session(path)


# -- subagents ---------------------------------------------------------------------------------------------------------


def task(use: str, prompt: str) -> dict[str, object]:
    return call(use, "task", subagent_type="Explore", description="Find lamps", prompt=prompt)


def test_subagents_in_files_are_linked_by_the_calls_id(tmp_path):
    chats = tmp_path / "projects" / "p" / "chats"
    chat = Chat()
    chat.user("find lamps")
    chat.agent(task("t1", "Look."), task("t2", "Look again."), usage=tokens(100, 5))
    path = chat.write(chats)
    folder = chats.parent / "subagents" / SESSION
    for agent, meta in {
        "one": {"agentType": "Explore", "description": "d", "toolUseId": "t2", "parentAgentId": None},
        "deep": {"agentType": "Deep", "parentAgentId": "one"},
    }.items():
        side = Chat(SESSION, isSidechain=True, agentId=agent)
        side.user("Look.")
        side.agent(task("n", "Deeper."), usage=tokens(10, 1))
        side.write(folder, f"agent-{agent}.jsonl")
        (folder / f"agent-{agent}.meta.json").write_text(json.dumps({"agentId": agent, **meta}))
    (folder / "agent-link.jsonl").symlink_to(path)
    session = read_session(path)
    assert [(s.id, s.name, s.tool_use) for s in session.subagents] == [("one", "Explore", 2)]
    assert [s.id for s in family(session)] == [SESSION, "agent-one", "agent-deep"]
    assert PROVIDER.resume_command(read_session(folder / "agent-one.jsonl")) is None


def test_a_subagent_that_appears_while_the_session_is_read_is_reported(tmp_path):
    chats = tmp_path / "projects" / "p" / "chats"
    chat = Chat()
    chat.user("go")
    chat.agent(task("t1", "Look."))
    reading = PROVIDER.open(chat.write(chats))
    reading.step()
    assert reading.refresh() == []
    side = Chat(SESSION, isSidechain=True, agentId="x")
    side.user("Look.")
    side.write(chats.parent / "subagents" / SESSION, "agent-x.jsonl")
    assert [(c.op, c.message) for c in reading.refresh()] == [(Op.UPDATED, 1)]
    assert reading.refresh() == []


# -- following ---------------------------------------------------------------------------------------------------------


def changes_of(follower: Follower) -> list[tuple[Op, int]]:
    return [(c.op, c.message) for c in catch_up(follower)]


def append(path: Path, chat: Chat, known: int) -> None:
    with path.open("ab") as file:
        file.write(b"".join(row + b"\n" for row in chat.rows[known:]))


def test_a_rewind_while_following_flags_what_was_taken_back(tmp_path):
    chat = Chat()
    kept = chat.user("one")
    chat.user("two")
    chat.agent("2", usage=tokens(10, 1))
    path = chat.write(tmp_path)
    follower = Follower(path)
    changes_of(follower)
    session, keys = follower.session, list(follower.session.messages.key)
    known = len(chat.rows)
    chat.rewind(kept)
    append(path, chat, known)
    assert changes_of(follower) == [(Op.UPDATED, 1), (Op.UPDATED, 2), (Op.APPENDED, 3)]
    assert [e.prompt for e in session.live_exchanges] == ["one"]
    known = len(chat.rows)
    chat.user("three")
    append(path, chat, known)
    assert changes_of(follower) == [(Op.APPENDED, 4)]
    assert follower.session is session and list(session.messages.key)[:3] == keys
    assert [e.prompt for e in session.live_exchanges] == ["one", "three"]
    assert session.usage() == TokenUsage(10, 1, 0, None, 0)  # spent all the same
    follower.close()


def test_a_result_that_comes_while_following_updates_its_use(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.agent(call("c", "glob", pattern="*"))
    path = chat.write(tmp_path)
    follower = Follower(path)
    changes_of(follower)
    known = len(chat.rows)
    chat.result("c", "glob", {"output": "a"}, status="success")
    append(path, chat, known)
    assert changes_of(follower) == [(Op.UPDATED, 1)]
    assert follower.session.message(1).tool.text == "a"
    follower.close()


def test_a_big_file_can_be_shown_from_its_end(tmp_path):
    chat = Chat()
    for n in range(50):
        chat.user(f"prompt {n}")
        chat.agent("x" * 2000)
    path = chat.write(tmp_path)
    reading = PROVIDER.open(path, start=path.stat().st_size - 5000)
    reading.step()
    session = reading.session
    assert 0 < len(session.exchanges) < 5
    assert [e for e in session.exchanges if e.rewound] == []
    assert session.messages.kind[0] in (Kind.PROMPT, Kind.TEXT) and session.id == SESSION

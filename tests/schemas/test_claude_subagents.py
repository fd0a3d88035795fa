"""Subagents: their files, and every way in which one is linked to the tool use that started it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag
from schemas.opening import family, usage_with_subagents
from schemas.providers import claude
from schemas.providers.claude import PROVIDER
from schemas.session import Session
from tests.schemas.claude_lines import SESSION, Lines, usage
from tests.schemas.conformance import whole


def agent_file(folder: Path, agent: str, prompt: str = "look around", meta: dict[str, Any] | None = None) -> Path:
    lines = Lines(isSidechain=True, agentId=agent)
    lines.user(prompt, uuid=f"{agent}-1")
    lines.say("found", response=f"msg_{agent}", usage=usage(10, 20), uuid=f"{agent}-2")
    if meta is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"agent-{agent}.meta.json").write_text(json.dumps(meta))
    return lines.write(folder, f"agent-{agent}.jsonl")


def main_lines() -> Lines:
    lines = Lines()
    lines.user("go")
    lines.use(
        "Agent", given={"prompt": "look  around", "description": "Look", "subagent_type": "Explore"}, usage=usage(1, 1)
    )
    return lines


def side(tmp_path: Path) -> Path:
    return tmp_path / SESSION / "subagents"


def linked(session: Session) -> list[tuple[str, int | None]]:
    return [(s.id, s.tool_use) for s in session.subagents]


@pytest.mark.parametrize("way", ["meta", "result", "tail", "progress", "notification", "prompt"])
def test_each_way_to_link(tmp_path: Path, way: str) -> None:
    lines = main_lines()
    prompt = "look around" if way == "prompt" else "something else"
    agent_file(
        side(tmp_path), "a1", prompt, {"agentType": "Explore", "toolUseId": "toolu_1"} if way == "meta" else None
    )
    if way == "result":
        lines.result("ok", extra={"agentId": "a1"})
    elif way == "tail":
        lines.result("ok\nagentId: a1 (for resuming)")
    elif way == "progress":
        lines.chain("progress", parentToolUseID="toolu_1", data={"type": "agent_progress", "agentId": "a1"})
    elif way == "notification":
        lines.user("<task-notification><task-id>a1</task-id><tool-use-id>toolu_1</tool-use-id></task-notification>")
    session = lines.read(tmp_path)
    assert linked(session) == [("a1", 1)]
    assert (session.subagents[0].name, session.subagents[0].description) == ("Explore", "Look")
    assert session.messages.flags[1] & Flag.SUBAGENT
    assert session.message(1).tool.subagent == "a1"
    assert usage_with_subagents(session)[:2] == (11, 21)


def test_unlinked_ones_stay_and_helpers_are_internal(tmp_path: Path) -> None:
    agent_file(side(tmp_path), "a1", "nobody asked")
    agent_file(side(tmp_path), "acompact-1", "summarise")
    agent_file(side(tmp_path) / "workflows/wf_1", "aw1", "step")
    session = main_lines().read(tmp_path)
    assert sorted((s.id, s.tool_use, s.internal) for s in session.subagents) == [
        ("a1", None, False),
        ("acompact-1", None, True),
        ("aw1", None, False),
    ]


def test_files_beside_the_sessions_belong_to_whom_they_name(tmp_path: Path) -> None:
    agent_file(tmp_path, "ours")
    foreign = Lines("99999999-2222-4333-8444-555555555555", isSidechain=True, agentId="theirs")
    foreign.user("x")
    foreign.write(tmp_path, "agent-theirs.jsonl")
    assert linked(main_lines().read(tmp_path)) == [("ours", 1)]


def test_links_out_of_the_store_are_not_followed(tmp_path: Path) -> None:
    target = agent_file(tmp_path / "outside", "a1")
    side(tmp_path).mkdir(parents=True)
    os.symlink(target, side(tmp_path) / "agent-a1.jsonl")
    assert linked(main_lines().read(tmp_path)) == []


def test_an_agent_file_is_a_session_of_its_own(tmp_path: Path) -> None:
    path = agent_file(side(tmp_path), "a1")
    session = whole(PROVIDER, path)
    assert (session.lineage.parent, session.lineage.agent_id) == (SESSION, "a1")
    assert [e.prompt for e in session.live_exchanges] == ["look around"]
    assert session.title == "look around"
    assert session.subagents == []
    assert PROVIDER.resume_command(session) is None


def test_nested_agents_count_once(tmp_path: Path) -> None:
    outer = Lines(isSidechain=True, agentId="a1")
    outer.user("look around", uuid="o1")
    outer.use("Agent", "toolu_in", {"prompt": "deeper"}, uuid="o2", response="mo", usage=usage(5, 5))
    outer.write(side(tmp_path), "agent-a1.jsonl")
    agent_file(side(tmp_path), "a2", "deeper", {"toolUseId": "toolu_in", "spawnDepth": 2})
    session = main_lines().read(tmp_path)
    assert linked(session) == [("a1", 1), ("a2", None)]
    members = list(family(session))
    assert len(members) == 3
    assert linked(next(m for m in members if m.id == "agent-a1")) == [("a2", 1)]
    assert usage_with_subagents(session)[:2] == (16, 26)


def test_refresh_finds_what_comes_later_and_says_what_changed(tmp_path: Path) -> None:
    path = main_lines().write(tmp_path)
    reading = PROVIDER.open(path)
    while not reading.done:
        reading.step()
    assert reading.refresh() == []
    agent_file(side(tmp_path), "a1", "look around")
    assert [(c.op, c.message) for c in reading.refresh()] == [("updated", 1)]
    assert reading.refresh() == []


def test_inline_sidechains_of_1x(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("warm up", isSidechain=True, parent=None)
    lines.say("ready", isSidechain=True, response="w")
    lines.user("go", parent=None)
    call = lines.use("Task", given={"prompt": "look around", "description": "Look"}, usage=usage(1, 1))
    lines.user("look around", isSidechain=True, parent=None)
    lines.say("seen", isSidechain=True, response="s", usage=usage(10, 20))
    lines.result("done", parent=call)
    session = lines.read(tmp_path)
    assert linked(session) == [("sidechain-1", None), ("sidechain-2", 1)]
    assert session.usage()[:2] == (1, 1)
    assert usage_with_subagents(session)[:2] == (11, 21)
    assert [e.prompt for e in session.exchanges] == ["go"]
    inside = session.subagents[1].session
    assert inside is not None and [m.text for m in inside.exchange_messages(0)] == ["look around", "seen"]


def test_a_folder_of_sessions_is_looked_into_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A title may stand in any file of the folder, but thousands of sessions must not open each other's files."""
    leaf = "".join(["c" * 8, "-0000-4000-8000-", "c" * 12])
    paths = []
    for number in range(30):
        lines = Lines(f"{number:08x}-0000-4000-8000-000000000000")
        if number == 0:
            lines.fact("summary", leafUuid=leaf, summary="A title from elsewhere")
        lines.user("go", uuid=leaf if number == 29 else None)
        paths.append(lines.write(tmp_path / "project", f"{lines.session}.jsonl"))
    opened: list[Path] = []
    bytes_in = claude.bytes_in
    monkeypatch.setattr(claude, "bytes_in", lambda path, most: (opened.append(path), bytes_in(path, most))[1])
    monkeypatch.setattr(claude, "_SECONDS", 1e9)
    assert [whole(PROVIDER, path).title for path in paths] == ["go"] * 29 + ["A title from elsewhere"]
    assert sorted(opened) == paths
    new = main_lines().write(tmp_path / "project")
    assert whole(PROVIDER, new).title == "go"
    assert new in opened


def spent(fresh: int, output: int) -> dict[str, Any]:
    return {"modelUsage": {"claude-opus-5": {"inputTokens": fresh, "outputTokens": output}}}


def test_a_process_total_counts_what_neither_the_session_nor_its_subagents_tell(tmp_path: Path) -> None:
    agent_file(side(tmp_path), "a1")
    lines = main_lines()
    lines.result("ok", extra={"agentId": "a1"})
    lines.fact("cost-state", **spent(11, 21))
    lines.write(tmp_path)
    reading = PROVIDER.open(tmp_path / f"{SESSION}.jsonl")
    reading.step()
    reading.refresh()
    session = reading.session
    assert session.usage()[:2] == (1, 1) and len(session.groups) == 1
    lines.user("compact, then go on")
    lines.say("done", response="m2", usage=usage(2, 2))
    lines.fact("cost-state", **spent(1013, 73))
    lines.write(tmp_path)
    reading.step()
    reading.refresh()
    for one in (session, lines.read(tmp_path)):
        assert one.usage()[:2] == (1003, 53) and usage_with_subagents(one)[:2] == (1013, 73)
        assert [one.exchange_usage(number).input for number in (0, 1)] == [1, 1002]


@pytest.mark.parametrize("gone", ["file", "fork"])
def test_a_process_total_counts_for_nothing_where_what_it_includes_is_not_known(tmp_path: Path, gone: str) -> None:
    if gone == "fork":
        agent_file(side(tmp_path), "a1")
    lines = main_lines()
    lines.result("ok", extra={"agentId": "a1"}, **({"forkedFrom": {"sessionId": "s2"}} if gone == "fork" else {}))
    lines.fact("cost-state", **spent(1013, 73))
    assert (lines.read(tmp_path).usage() or [1])[0] == 1

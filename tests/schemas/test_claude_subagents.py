"""Subagents of Claude Code that come later, links that are not followed, totals that include them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.providers import claude
from schemas.providers.claude import PROVIDER
from schemas.session import Session
from tests.schemas.claude_lines import SESSION, Lines, usage
from tests.schemas.conformance import whole
from tests.support import usage_with_subagents


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


def test_links_out_of_the_store_are_not_followed(tmp_path: Path) -> None:
    target = agent_file(tmp_path / "outside", "a1")
    side(tmp_path).mkdir(parents=True)
    os.symlink(target, side(tmp_path) / "agent-a1.jsonl")
    assert linked(main_lines().read(tmp_path)) == []


def test_refresh_finds_what_comes_later_and_says_what_changed(tmp_path: Path) -> None:
    path = main_lines().write(tmp_path)
    reading = PROVIDER.open(path)
    while not reading.done:
        reading.step()
    assert reading.refresh() == []
    agent_file(side(tmp_path), "a1", "look around")
    assert [(c.op, c.message) for c in reading.refresh()] == [("updated", 1)]
    assert reading.refresh() == []


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

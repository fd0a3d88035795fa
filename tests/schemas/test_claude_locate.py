"""Where sessions are looked for, what is taken for one, and by what a file is recognised."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from schemas.opening import OpenError, open_reading
from schemas.provider import Environment, Location, Problem, read_head
from schemas.providers.claude import PROVIDER
from tests.schemas.claude_lines import SESSION, Lines


def places(home: Path, platform: str = "linux", **variables: str) -> list[str]:
    found = PROVIDER.locations(Environment(variables, home, platform))
    return [
        str(place.path.relative_to(home)) if place.path.is_relative_to(home) else str(place.path) for place in found
    ]


def test_default_and_variables(tmp_path: Path) -> None:
    assert places(tmp_path) == [".claude/projects", ".config/claude/projects"]
    named = {"CLAUDE_CONFIG_DIR": f"~/a,{tmp_path}/b/projects", "CLAUDE_CONFIG_DIRS": f"{tmp_path}/b:{tmp_path}/c"}
    assert places(tmp_path, **named)[:3] == ["a/projects", "b/projects", "c/projects"]
    assert places(tmp_path, XDG_CONFIG_HOME=f"{tmp_path}/xdg")[-1] == "xdg/claude/projects"
    assert places(tmp_path, "win32", USERPROFILE=str(tmp_path / "u"))[:2] == [".claude/projects", "u/.claude/projects"]


def test_siblings_links_and_the_desktop(tmp_path: Path) -> None:
    (tmp_path / ".claude/projects").mkdir(parents=True)
    (tmp_path / ".claude-work/projects").mkdir(parents=True)
    (tmp_path / ".claude-empty").mkdir()
    os.symlink(tmp_path / ".claude", tmp_path / "same")
    desktop = "Library/Application Support/Claude/local-agent-mode-sessions"
    (tmp_path / desktop / "x/y/local_1/.claude/projects").mkdir(parents=True)
    assert places(tmp_path, "darwin", CLAUDE_CONFIG_DIR=str(tmp_path / "same")) == [
        "same/projects",
        ".config/claude/projects",
        ".claude-work/projects",
        f"{desktop}/x/y/local_1/.claude/projects",
    ]


def find(projects: Path) -> tuple[list[str], list[Problem]]:
    problems: list[Problem] = []
    return [file.id for file in PROVIDER.find(Location(projects, "test"), problems)], problems


def test_only_files_directly_in_a_project(tmp_path: Path) -> None:
    project = tmp_path / "projects/-p"
    for name in ("s1.jsonl", "agent-1.jsonl", "sessions-index.json", "s1/subagents/agent-2.jsonl", "dir.jsonl/x"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("{}")
    (tmp_path / "outside.jsonl").write_text("{}")
    os.symlink(tmp_path / "outside.jsonl", project / "leak.jsonl")
    os.symlink(tmp_path / "gone", project / "dangling.jsonl")
    os.symlink(tmp_path / "projects", project / "loop")
    os.symlink(tmp_path, tmp_path / "projects/-up")
    assert find(tmp_path / "projects") == (["s1"], [])
    assert find(tmp_path / "none") == ([], [])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "projects/-p").mkdir(parents=True)
    (tmp_path / "projects/-p").chmod(0)
    found, problems = find(tmp_path / "projects")
    (tmp_path / "projects/-p").chmod(0o700)
    assert found == [] and [p.reason for p in problems] == ["permission denied"]


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("")
    assert [p.reason for p in find(tmp_path / "projects")[1]] == ["not a directory"]


def claimed(*records: dict[str, object]) -> bool:
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return PROVIDER.detect(read_head(Path("any.txt"), data, whole=True))


def test_recognised_by_content() -> None:
    user = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "x"}}
    assert claimed(user)
    assert claimed({"type": "mode", "mode": "normal", "sessionId": "s"})
    assert claimed({"type": "summary", "summary": "x", "leafUuid": "l"}, user)
    assert claimed({"type": "new-kind"}, user)
    assert not claimed({"type": "summary", "summary": "x", "leafUuid": "l"})
    assert not claimed({"type": "system", "subtype": "init", "session_id": "s", "uuid": "u", "cwd": "/"})
    assert not claimed({"type": "assistant", "uuid": "u", "session_id": "s", "message": {"content": []}})
    assert not claimed({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "parts": []}})
    assert not claimed({"type": "session_meta", "payload": {}, "timestamp": "x"})
    assert not claimed({"type": ["user"]}, {"type": None})


def test_a_file_of_ours_opens_under_any_name(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("x" * 100_000)
    assert open_reading(lines.write(tmp_path, "notes.txt")).session.id == "notes"
    (tmp_path / f"{SESSION}.jsonl").write_text('{"type":"summary","summary":"x","leafUuid":"l"}\n')
    with pytest.raises(OpenError):
        open_reading(tmp_path / f"{SESSION}.jsonl")

"""What commands say of Toolpath documents that hold more than one line of steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.schemas.test_toolpath_graph import talk
from tests.schemas.test_toolpath_read import path, step
from tests.viewer.machine import Machine


@pytest.fixture
def file(tmp_path: Path) -> Path:
    merged = path(step("u", role="user", text="go"), step("a", "u"), step("b", "u"), step("c", "a", "b", text="both"))
    file = tmp_path / "two.path.json"
    file.write_text(json.dumps({"graph": {"id": "g"}, "paths": [merged, talk("two")]}))
    return file


@pytest.mark.parametrize("form", ["markdown", "text", "json", "agent-response"])
def test_a_merge_that_a_format_cannot_say_is_said(tmp_path: Path, file: Path, form: str) -> None:
    result = Machine(tmp_path).run("export", str(file), "--to", form)
    assert f"{form}: 1 merge written as a step like any other" in result.err


@pytest.mark.parametrize("call", [["export", "--to", "toolpath"], ["usage"], ["show"], ["show", "--json"]])
def test_the_other_sessions_are_named(tmp_path: Path, file: Path, call: list[str]) -> None:
    result = Machine(tmp_path).run(call[0], str(file), *call[1:])
    assert result.err.count("1 other session in it, taken as subagents: two") == 1
    assert "merge" not in result.err or call[0] == "show"


def test_usage_counts_them(tmp_path: Path, file: Path) -> None:
    (session,) = Machine(tmp_path).run("usage", str(file), "--json").json["sessions"]
    assert session["usage"] is None and session["usageWithSubagents"]["totalTokens"] == 12


def test_what_is_only_counted_is_said(tmp_path: Path) -> None:
    said = path(step("u", role="user", text="go"))
    hidden = {"step": {"id": "h", "actor": "human:a", "timestamp": "2026-01-02T03:04:05Z", "parents": ["u"]}}
    event = {"type": "conversation.event", "entry_type": "attachment"}
    lines = [
        {"PathOpen": {"version": "1", "id": "p", "meta": said["meta"]}},
        *({"Step": one} for one in said["steps"]),
        {"Step": hidden | {"change": {"claude-code://s": {"structural": event}}}},
        {"Zzz": {}},
    ]
    file = tmp_path / "odd.path.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for form, count in (("toolpath", 0), ("json", 1), ("agent-response", 1)):
        err = Machine(tmp_path).run("export", str(file), "--to", form).err
        assert f"{form}: 1 unknown record left out, only counted" in err
        assert err.count(f"{form}: 1 hidden record left out, only counted") == count

"""The types of Claude Code's tools, and outputs that were written beside a session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Tool
from schemas.providers.claude import PROVIDER
from tests.schemas.claude_lines import SESSION, Lines


def built(
    tmp_path: Path, name: str, given: Any, content: Any, extra: Any = None, error: bool | None = None, **more: Any
) -> Tool:
    lines = Lines()
    lines.user("go")
    lines.use(name, given=given)
    if content is not None:
        lines.result(content, extra=extra, error=error, **more)
    session = lines.read(tmp_path)
    tool = session.message(1).tool
    assert tool is not None
    return tool


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Bash", "shell"),
        ("Edit", "write"),
        ("WebFetch", "read"),
        ("Grep", "search"),
        ("TodoWrite", "task"),
        ("Task", "generic"),
        ("Agent", "generic"),
        ("mcp__ide__x", "unknown"),
        ("KillShell", "shell"),
    ],
)
def test_types(name: str, kind: str) -> None:
    assert PROVIDER.tool_type(name) == kind


SPILLED = (
    "<persisted-output>\nOutput too large (29KB). Full output saved to: {}\n\n"
    "Preview (first 2KB):\nstart\n...\n</persisted-output>"
)


def test_spilled_output_is_read_from_the_sessions_own_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / SESSION / "tool-results"
    folder.mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("SECRET")
    (folder / "out.txt").write_text("all of it\n")
    os.symlink(tmp_path / "secret.txt", folder / "link.txt")
    tool = built(tmp_path, "Bash", {}, SPILLED.format("/elsewhere/tool-results/out.txt"))
    assert (tool.spilled, tool.text) == (True, "all of it")
    for bad in ("/x/link.txt", "../../secret.txt", "/x/..", "C:\\x\\gone.txt", "/x/\0"):
        tool = built(tmp_path, "Bash", {}, SPILLED.format(bad))
        assert tool.spilled and tool.text.startswith("start\n...\n\n[A preview of 29KB; the whole was saved to ")
    tool = built(tmp_path, "Bash", {}, SPILLED.format("/x/gone.txt"), {"stdout": "start\nand much more"})
    assert tool.text.startswith("start\nand much more\n\n[A preview of ")


def test_the_size_of_a_result_is_that_of_what_is_shown_of_it(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("go")
    lines.use("Read")
    lines.result("1\tx\n\n<system-reminder>be careful</system-reminder>\n")
    session = lines.read(tmp_path)
    tool = session.message(1).tool
    assert tool is not None and tool.text == "1\tx" and session.messages.chars[1] == len(tool.text)

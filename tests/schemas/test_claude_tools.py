"""A tool use with its result, as it is built for reading."""

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


def test_a_failed_command(tmp_path: Path) -> None:
    tool = built(
        tmp_path,
        "Bash",
        {"command": "pytest > out.txt"},
        "Exit code 2\n\x1b[31mFAILED\x1b[0m a\n",
        "Error: Exit code 2\n",
        True,
    )
    assert (tool.exit_code, tool.status, tool.text) == (2, "error", "FAILED a")
    assert [(run.start, run.end, run.sgr.fg) for run in tool.runs] == [(0, 6, 1)]
    assert tool.output == {"content": "Exit code 2\nFAILED a\n", "is_error": True}


def test_paths_are_seen_from_the_workspace(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("go")
    lines.use("Bash", given={"command": "touch src/a.py && echo > /home/dev/app/b.txt"})
    lines.use("Edit", "toolu_2", {"file_path": "/home/dev/app/c.py"})
    session = lines.read(tmp_path)
    assert [session.message(i).path_hints for i in (1, 2)] == [["src/a.py", "b.txt"], ["c.py"]]


@pytest.mark.parametrize(
    ("content", "extra", "error", "more", "status"),
    [
        ("ok", None, None, {}, "ok"),
        ("bad", None, True, {}, "error"),
        ("x", "User rejected tool use", True, {}, "denied"),
        ("Permission denied by rule", None, True, {"toolDenialKind": "permission-rule"}, "denied"),
        ("x", None, True, {"toolDenialKind": "interrupted"}, "interrupted"),
        ("[Request interrupted by user for tool use]", None, True, {}, "interrupted"),
        ("part", {"interrupted": True}, None, {}, "interrupted"),
        ("started", {"backgroundTaskId": "b1"}, False, {}, "background"),
        ("started", {"isAsync": True, "status": "async_launched"}, None, {}, "background"),
        (None, None, None, {}, "pending"),
    ],
)
def test_how_a_use_ends(
    tmp_path: Path, content: Any, extra: Any, error: Any, more: dict[str, Any], status: str
) -> None:
    assert built(tmp_path, "Bash", {}, content, extra, error, **more).status == status


def test_diffs_from_the_patch_else_from_the_input(tmp_path: Path) -> None:
    given = {"file_path": "/p/a.py", "old_string": "a\nb\n", "new_string": "a\nc\n"}
    patch = [{"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-b", "+c"]}]
    tool = built(tmp_path, "Edit", given, "ok", {"filePath": "/p/a.py", "structuredPatch": patch, "originalFile": "…"})
    assert [(d.path, d.added, d.removed, d.hunks[0].old_start) for d in tool.diffs] == [("/p/a.py", 1, 1, 7)]
    tool = built(tmp_path, "Edit", given, "ok")
    assert [(d.added, d.removed, d.hunks[0].old_start) for d in tool.diffs] == [(1, 1, None)]
    tool = built(tmp_path, "MultiEdit", {"file_path": "a", "edits": [given, given, "junk"]}, "ok")
    assert [(d.added, d.removed) for d in tool.diffs] == [(2, 2)]
    tool = built(
        tmp_path, "Write", {"file_path": "n.py", "content": "1\n2\n"}, "ok", {"type": "create", "structuredPatch": []}
    )
    assert [(d.operation, d.added, d.removed) for d in tool.diffs] == [("add", 2, 0)]
    assert built(tmp_path, "Edit", given, "<tool_use_error>not found</tool_use_error>", error=True).diffs == []


def test_envelopes_are_taken_off(tmp_path: Path) -> None:
    assert built(tmp_path, "Edit", {}, "<tool_use_error>not found</tool_use_error>", error=True).text == "not found"
    lines = Lines()
    lines.user("go")
    lines.use("Read")
    lines.result("1\tx\n\n<system-reminder>be careful</system-reminder>")
    message = lines.read(tmp_path).message(1)
    assert (message.tool.text, message.metadata["reminders"]) == ("1\tx", ["be careful"])
    tail = [
        {"type": "text", "text": "Found it."},
        {"type": "text", "text": "agentId: a1 (use SendMessage)\n<usage>tool_uses: 1</usage>"},
    ]
    assert built(tmp_path, "Agent", {}, tail, {"totalDurationMs": 2500}).text == "Found it."
    tool = built(
        tmp_path, "BashOutput", {"bash_id": "1"}, "<status>running</status>\n\n<stdout>\nup\n</stdout>", {"exitCode": 3}
    )
    assert (tool.text, tool.exit_code) == ("up", 3)
    assert built(tmp_path, "X", {"__unparsedToolInput": {"raw": '{"a', "len": 3}}, "ok").input == {"raw": '{"a'}


def test_images_are_placeholders(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 1000}}
    tool = built(tmp_path, "Read", {}, [image])
    assert [(p.text, p.media_type, p.size) for p in tool.images] == [
        ("[image image/png, 3,000 bytes]", "image/png", 3000)
    ]
    extra = {"type": "image", "file": {"base64": "x", "type": "image/gif", "originalSize": 77}}
    assert [(p.media_type, p.size) for p in built(tmp_path, "Read", {}, "", extra).images] == [("image/gif", 77)]


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


def test_a_result_whose_use_is_not_in_the_file_is_shown(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("go")
    lines.result("orphan", use="toolu_gone")
    message = lines.read(tmp_path).message(1)
    assert (message.kind.name, message.text) == ("OUTPUT", "orphan")

"""Tools in Toolpath: their types by name, their input, and the files that they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.interchange.session_data_read import read_document
from schemas.interchange.toolpath import KIND
from schemas.interchange.toolpath_read import read_path
from schemas.interchange.toolpath_tools import put_writes, read_write, tool_use, type_of
from schemas.interchange.toolpath_write import to_toolpath
from schemas.message import Tool, ToolStatus

HERE = Path("nowhere/x.json")
TYPES = {
    "claude": {
        "write": "Write Edit MultiEdit str_replace_editor write_file edit_file create_file append_to_file",
        "read": "Read WebFetch read_file view_file cat",
        "search": "Grep Glob WebSearch",
        "shell": "Bash TaskOutput KillShell",
        "task": "NotebookEdit TodoWrite",
        "generic": "EnterPlanMode ExitPlanMode AskUserQuestion Skill LSP Task",
    },
    "codex": {
        "write": "apply_patch",
        "read": "view_image",
        "shell": "shell shell_command exec_command",
        "task": "update_plan",
        "generic": "list_mcp_resources list_mcp_resource_templates read_mcp_resource",
    },
    "gemini": {
        "write": "write_file replace smart_edit",
        "read": "read_file read_many_files web_fetch",
        "search": "search_file_content google_web_search glob",
        "shell": "run_shell_command list_directory",
        "task": "write_todos",
        "generic": "save_memory codebase_investigator delegate_to_agent",
    },
    "cursor": {
        "write": "Write StrReplace MultiStrReplace Delete edit_file edit_file_v2 MultiEdit edit_notebook reapply"
        " search_replace write delete_file apply_patch",
        "read": "Read read_file read_file_v2",
        "search": "Grep Glob grep ripgrep grep_search list_directory file_search glob_file_search",
        "shell": "Shell LS run_terminal_cmd run_terminal_command run_terminal_command_v2",
        "task": "TodoWrite",
    },
}
"""SessionData's own table (formats/interchange.md 5.1)."""
NAMED = [(p, name, kind) for p, table in TYPES.items() for kind, names in table.items() for name in names.split()]


@pytest.mark.parametrize("category", [None, "shell", "file_read"])
def test_a_tool_that_is_known_has_the_type_of_its_name(category):
    assert [(p, name, type_of(p, name, category)) for p, name, _ in NAMED] == NAMED


@pytest.mark.parametrize(
    ("name", "category", "kind"),
    [
        ("inspect", "file_read", "read"),
        ("inspect", "network", "read"),
        ("search_it", "network", "search"),
        ("inspect", "delegation", "generic"),
        ("my_todos", None, "task"),
        ("inspect", None, "unknown"),
    ],
)
@pytest.mark.parametrize("provider", ["codex", "some-agent"])
def test_a_tool_that_is_not_known_has_the_type_of_its_category(provider, name, category, kind):
    assert type_of(provider, name, category) == kind


def test_a_document_names_the_agent_by_its_source():
    use = {"id": "t", "name": "AskUserQuestion", "input": {}, "category": None}
    (message,) = sessions_tools("claude-code", use)
    assert message.tool.type == "generic"


def sessions_tools(source: str, *uses: dict[str, Any]) -> list[Any]:
    said = {"type": "conversation.append", "role": "assistant", "text": "", "tool_uses": list(uses)}
    identity = {"id": "a", "actor": "agent:m", "timestamp": "2026-01-01T00:00:00Z"}
    turn = {"step": identity, "change": {f"{source}://s": {"structural": said}}}
    made = {"path": {"id": "p", "head": "a"}, "steps": [turn], "meta": {"kind": KIND, "source": source}}
    session = read_path(made, HERE)
    return [session.message(index) for index in range(len(session.messages))]


# -- a tool of a SessionData document ----------------------------------------------------------------------------------


def turn_of(provider: str, tool: dict[str, Any], **around: Any) -> tuple[dict[str, Any], bytes]:
    """The step that a SessionData message with a tool becomes, and the document."""
    message = {"id": "a", "role": "agent", "tool": {"type": "generic", "useId": "t"} | tool} | around
    exchange = {
        "exchangeId": "s:0",
        "startTime": "2026-01-01T00:00:00Z",
        "messages": [{"id": "u", "role": "user", "content": [{"type": "text", "text": "go"}]}, message],
    }
    session = read_document(
        {
            "schemaVersion": "1.0",
            "provider": {"id": provider, "name": "x", "version": "1"},
            "sessionId": "s",
            "createdAt": "2025-01-01T00:00:00Z",
            "workspaceRoot": "/w",
            "exchanges": [exchange],
        },
        HERE,
    )
    written = b"".join(to_toolpath(session))
    return json.loads(written)["paths"][0]["steps"][-1], written


def said_in(step: dict[str, Any]) -> dict[str, Any]:
    return next(p["structural"] for p in step["change"].values() if p["structural"]["type"] == "conversation.append")


def again(written: bytes) -> bytes:
    return b"".join(to_toolpath(read_path(json.loads(written)["paths"][0], HERE)))


def test_the_directory_that_the_producer_puts_into_the_input_is_no_part_of_it():
    given = {"command": "ls", "_cwd": "/w/inner"}
    step, written = turn_of("claude", {"name": "Bash", "type": "shell", "input": given})
    said = said_in(step)
    assert said["tool_uses"][0]["input"] == {"command": "ls"}
    assert said["environment"] == {"working_dir": "/w/inner"}
    back = read_path(json.loads(written)["paths"][0], HERE)
    assert back.message(1).tool.input == {"command": "ls"}
    assert back.message(1).metadata["cwd"] == "/w/inner"
    assert again(written) == written


@pytest.mark.parametrize(
    ("provider", "name", "given", "expected"),
    [
        ("codex", "apply_patch", {"input": "*** Begin Patch"}, "*** Begin Patch"),
        ("codex", "apply_patch", {"input": "*** Begin Patch", "_cwd": "/w"}, "*** Begin Patch"),
        ("codex", "js_repl", {"input": "1 + 1"}, {"input": "1 + 1"}),
        ("claude", "mcp__x", {"input": "text"}, {"input": "text"}),
        ("codex", "apply_patch", {"input": "x", "more": 1}, {"input": "x", "more": 1}),
    ],
)
def test_only_a_patch_is_a_text_again(provider, name, given, expected):
    step, written = turn_of(provider, {"name": name, "input": given})
    assert said_in(step)["tool_uses"][0]["input"] == expected
    assert again(written) == written


def test_a_text_that_another_program_gave_a_tool_stays_one():
    use = {"id": "t", "name": "odd", "input": "a text", "category": None}
    said = {"type": "conversation.append", "role": "assistant", "text": "", "tool_uses": [use]}
    identity = {"id": "a", "actor": "agent:m", "timestamp": "2026-01-01T00:00:00Z"}
    turn = {"step": identity, "change": {"pi://s": {"structural": said}}}
    made = {"path": {"id": "p", "head": "a"}, "steps": [turn], "meta": {"kind": KIND, "source": "pi"}}
    written = b"".join(to_toolpath(read_path(made, HERE)))
    assert said_in(json.loads(written)["paths"][0]["steps"][0])["tool_uses"][0]["input"] == "a text"


def test_a_message_without_a_time_is_of_its_exchange():
    step, _ = turn_of("claude", {"name": "Bash", "type": "shell", "input": {}})
    assert step["step"]["timestamp"] == "2026-01-01T00:00:00.000Z"


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "name", "given", "operation", "raw"),
    [
        ("claude", "NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "update", None),
        ("claude", "Write", {"file_path": "a.txt", "content": ""}, "add", None),
        ("claude", "Write", {"file_path": "a.txt", "content": "x\n"}, "add", "+x"),
        ("gemini", "replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "update", "-x\n+y"),
        ("gemini", "smart_edit", {"file_path": "a", "instruction": "do"}, "update", None),
        ("cursor", "search_replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "update", "-x\n+y"),
        ("cursor", "edit_file", {"target_file": "a", "code_edit": "…"}, "update", None),
        ("cursor", "MultiEdit", {"path": "a", "edits": [{"oldString": "x", "newString": "y"}]}, "update", "-x\n+y"),
        ("cursor", "Delete", {"path": "a"}, "delete", "--- a/a\n+++ /dev/null"),
    ],
)
def test_a_tool_that_writes_changes_a_file(provider, name, given, operation, raw):
    tool = {"name": name, "type": type_of(provider, name, None), "input": given, "output": {"content": "ok"}}
    step, written = turn_of(provider, tool)
    path = next(value for key, value in given.items() if "path" in key or "file" in key)
    change = step["change"][path]
    assert change["structural"]["operation"] == operation and change["structural"]["tool_id"] == "t"
    assert raw in change["raw"] if raw else not change.get("raw")
    assert json.loads(written)["paths"][0]["meta"]["files_changed"] == [path]
    assert again(written) == written


@pytest.mark.parametrize(
    ("name", "given", "status"),
    [
        ("Write", {"file_path": "a", "content": "x"}, "error"),
        ("str_replace_editor", {"path": "a", "command": "view"}, "ok"),
        ("Write", {"content": "x"}, "ok"),
        ("Write", "text", "ok"),
    ],
)
def test_what_wrote_nothing_changes_no_file(name, given, status):
    change: dict[str, Any] = {}
    tool = Tool(name, "write", "t", {}, status=ToolStatus(status))
    put_writes(change, {"id": "t", "name": name, "input": given, "category": None}, tool)
    assert change == {}


def test_what_only_reads_changes_no_file():
    change: dict[str, Any] = {}
    use = {"id": "t", "name": "Read", "input": {"file_path": "a"}, "category": "file_read"}
    put_writes(change, use, Tool("Read", "write", "t", {}))
    assert change == {}


@pytest.mark.parametrize(
    ("output", "status", "result"),
    [
        ({"content": "short", "raw": "the whole", "exit": 0}, "ok", {"content": "the whole", "is_error": False}),
        ({"content": "short"}, "denied", {"content": "short", "is_error": True}),
        ({"exit": 1}, "error", {"content": "shown", "is_error": True}),
        (None, "ok", {"content": "shown", "is_error": False}),
    ],
)
def test_the_raw_text_of_an_output_is_its_result(output, status, result):
    tool = Tool("shell", "shell", "t", {}, output, "shown", status=ToolStatus(status))
    assert tool_use("codex", tool, "t", None, plain=False)["result"] == result


def test_a_tool_use_without_a_result_has_none():
    tool = Tool("shell", "shell", "", {"cmd": "ls"}, status=ToolStatus.PENDING)
    assert tool_use("codex", tool, "m1", None, plain=False) == {
        "id": "m1", "name": "shell", "input": {"cmd": "ls"}, "category": "shell",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ({"operation": "update", "before": "b\n", "after": "a\n"}, ["-b", "+a"]),
        ({"operation": "add", "after": "a\n"}, ["+a"]),
        ({"operation": "delete", "before": "b\n"}, ["-b"]),
        ({"operation": "update", "before": "b\n", "after": "a\n", "rename_to": "new"}, ["-b", "+a"]),
        ({"operation": "update", "after": "a\n"}, []),  # what was there before is unknown
    ],
)
def test_a_write_without_a_diff_is_told_by_its_texts(said, lines):
    diff = read_write("old", {"raw": "", "structural": {"type": "file.write", **said}})
    assert [line for hunk in diff.hunks for line in hunk.lines] == lines
    assert diff.renamed_to == said.get("rename_to")

"""Cursor's tools: what kind each is, what it was asked, what it changed (formats note 3.2, interchange note 5.1)."""

from __future__ import annotations

import re
from typing import Any

import orjson

from schemas.clean import clean, clean_styled, clean_value, one_line
from schemas.diffs import FileDiff, added_file, from_strings, from_unified, from_v4a
from schemas.message import Tool, ToolStatus, ToolType
from schemas.path_hints import input_path_hints, resolve_hints, shell_directory, shell_path_hints
from schemas.providers.cursor.results import Outcome, decode

_TYPES: dict[str, ToolType] = {
    # The program in the terminal.
    **dict.fromkeys(["Write", "StrReplace", "MultiStrReplace", "Delete", "ApplyPatch", "EditNotebook"], "write"),
    **dict.fromkeys(["Read", "ReadFile", "WebFetch"], "read"),
    **dict.fromkeys(["Grep", "rg", "Glob", "SemanticSearch", "WebSearch"], "search"),
    **dict.fromkeys(["Shell", "LS", "Await", "AwaitShell", "WriteShellStdin"], "shell"),
    **dict.fromkeys(["TodoWrite", "UpdateCurrentStep"], "task"),
    **dict.fromkeys(["Task", "Subagent", "ReadLints", "AskQuestion", "SwitchMode", "CreatePlan"], "generic"),
    **dict.fromkeys(["CallMcpTool", "FetchMcpResource", "ListMcpResources"], "generic"),
    # The editor, whose agent writes transcripts too.
    **dict.fromkeys(["edit_file", "edit_file_v2", "MultiEdit", "edit_notebook", "reapply", "search_replace"], "write"),
    **dict.fromkeys(["write", "delete_file", "apply_patch", "Edit", "edit", "delete"], "write"),
    **dict.fromkeys(["read_file", "read_file_v2", "read", "fetch", "web_fetch"], "read"),
    **dict.fromkeys(["grep", "ripgrep", "grep_search", "list_directory", "file_search", "glob_file_search"], "search"),
    **dict.fromkeys(["list_dir", "list_dir_v2", "codebase_search", "semantic_search", "sem_search"], "search"),
    **dict.fromkeys(["ripgrep_raw_search", "glob", "web_search"], "search"),
    **dict.fromkeys(["run_terminal_cmd", "run_terminal_command", "run_terminal_command_v2"], "shell"),
    **dict.fromkeys(["shell", "ls", "write_shell_stdin"], "shell"),
    **dict.fromkeys(["todo_write", "update_todos"], "task"),
    **dict.fromkeys(["task", "task_v2", "read_lints", "ask_question", "switch_mode", "create_plan"], "generic"),
    **dict.fromkeys(["call_mcp_tool", "mcp", "list_mcp_resources", "fetch_mcp_resource"], "generic"),
}
"""Interchange note 5.1, and the names that came after it."""
SPAWNS = frozenset({"Task", "Subagent", "task", "task_v2"})
"""Tools that start a subagent."""
_PATCHES = frozenset({"ApplyPatch", "apply_patch"})
_DELETES = frozenset({"Delete", "delete_file", "delete"})
_WRITES = frozenset({"Write", "write"})
_PATHS = ("path", "file_path", "target_file", "filePath", "target_notebook", "notebook_path")
_CONTENTS = ("contents", "content", "file_text", "fileText")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str")
_SERVER = re.compile(r"[A-Za-z0-9_]+-[A-Za-z0-9_-]+")
_CALL_NUMBER = re.compile(r":\d{1,6}$")
_PATCH_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: ", re.MULTILINE)
_NEW_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)


def tool_name(name: object) -> str:
    """A tool's name without the `functions.` before it and the number of the call behind it."""
    text = one_line(name, 200) if isinstance(name, str) else ""
    if text.startswith("functions."):
        text = _CALL_NUMBER.sub("", text.removeprefix("functions."))
    return text or "(unnamed tool)"


def tool_type(name: str) -> ToolType:
    """SessionData's classification. Tools of MCP servers are named `server-tool` or `mcp_server_tool`."""
    if known := _TYPES.get(name):
        return known
    foreign = name.startswith(("mcp_", "mcp-")) or "__" in name or _SERVER.fullmatch(name)
    return "generic" if foreign else "unknown"


def tool_input(given: object) -> dict[str, Any]:
    """What a tool was asked, as an object: ApplyPatch is given a text, which then stands under `input`."""
    if isinstance(given, str):
        value = _loaded(given)
        given = value if isinstance(value, dict) else {"input": given}
    if not isinstance(given, dict):
        return {} if given is None else {"input": clean_value(given)}
    asked: dict[str, Any] = clean_value(given)
    return asked


def _loaded(text: str) -> object:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def make_tool(
    name: object,
    given: object,
    result: object = None,
    *,
    structured: object = None,
    is_error: object = False,
    use_id: object = "",
) -> Tool:
    """A tool use with its result, as a reader sees it.

    `given` is the input, an object or a text. `result` is a text, a list of content parts or any other JSON; None
    where none is recorded, and the use is then pending. `structured` is `highLevelToolCallResult`, the same result as
    Cursor's own program reads it: exit code, duration, difference.
    """
    called = tool_name(name)
    tool = Tool(called, tool_type(called), clean(use_id) if isinstance(use_id, str) else "", tool_input(given))
    found = None
    if result is None and structured is None:
        tool.status = ToolStatus.PENDING
    else:
        found = decode(result, structured, failed=is_error is True)
        _take_outcome(tool, found)
    # What failed changed nothing; without a result, it is shown as what was asked for.
    if tool.status not in (ToolStatus.ERROR, ToolStatus.DENIED):
        tool.diffs = _diffs(tool, found)
    return tool


def _take_outcome(tool: Tool, found: Outcome) -> None:
    tool.text, tool.runs = clean_styled(found.text)
    tool.exit_code, tool.seconds, tool.images = found.exit_code, found.seconds, found.images
    failed = found.failed or bool(found.exit_code)
    tool.status = (
        ToolStatus.DENIED
        if found.denied
        else ToolStatus.INTERRUPTED
        if found.interrupted
        else ToolStatus.ERROR
        if failed
        else ToolStatus.BACKGROUND
        if found.background
        else ToolStatus.OK
    )
    tool.output = {"content": tool.text, "is_error": failed or found.denied}
    if found.exit_code is not None:
        tool.output["exit_code"] = found.exit_code
    if found.seconds is not None:
        tool.output["duration_seconds"] = found.seconds


def tool_path_hints(tool: Tool, root: str | None) -> list[str]:
    """The files a tool use names or writes, as seen from the workspace, each once (interchange note 2.4)."""
    paths = input_path_hints(tool.input)
    paths += [value for key in _PATHS if isinstance(value := tool.input.get(key), str)]
    for diff in tool.diffs:
        paths += [path for path in (diff.path, diff.renamed_to) if path]
    command = tool.input.get("command")
    if tool.type == "shell" and isinstance(command, str):
        paths += shell_path_hints(command)
    place = shell_directory(tool.input, root) if tool.type == "shell" else root
    return resolve_hints(list(dict.fromkeys(paths)), place, root)


# -- what was changed --------------------------------------------------------------------------------------------------


def _diffs(tool: Tool, found: Outcome | None) -> list[FileDiff]:
    """What a tool changed: by the difference that Cursor recorded, else by what it was asked."""
    if tool.type != "write":
        return []
    asked, name = tool.input, tool.name
    path = _first(asked, _PATHS)
    if found is not None and "@@ -" in found.diff and (path or found.path):
        recorded = from_unified(path or found.path, found.diff)
        if recorded.hunks:
            return [recorded]
    if name in _PATCHES:
        return _patch_diffs(next((v for k in ("input", "patch") if isinstance(v := asked.get(k), str)), ""), path)
    if name in _DELETES:
        return [FileDiff(path, "delete")] if path else []
    if name in _WRITES:
        content = _first(asked, _CONTENTS)
        # The old text is not told, so a file that was there before can only be shown as what it became.
        return [added_file(path, content)] if content else []
    edits = asked.get("edits")
    whole = FileDiff(path)
    for edit in edits if isinstance(edits, list) else [asked]:
        if isinstance(edit, dict):
            old, new = _first(edit, _OLD), _first(edit, _NEW)
            if old or new:
                whole.hunks += from_strings(path, old, new).hunks
    return [whole] if whole.hunks else []


def _patch_diffs(patch: str, path: str) -> list[FileDiff]:
    """A patch in Codex's form names its files itself; a unified one may leave that to an argument beside it."""
    if _PATCH_FILE.search(patch):
        return from_v4a(patch)
    if not path and (named := _NEW_FILE.search(patch)):
        path = named[1].strip()
    diff = from_unified(path, patch)
    return [diff] if path and diff.hunks else []


def _first(asked: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := asked.get(key), str)), "")

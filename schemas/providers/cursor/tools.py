"""Cursor's tools: their names and types, what they were asked and what they gave back (formats note 3.2).

A result is a text, a list of content parts or any JSON; beside it may stand the same result as Cursor's own program
reads it, an object with one of `success`, `failure`, `error`, `rejected` in it.
"""

from __future__ import annotations

import re
from typing import Any

from schemas.clean import as_json, one_line
from schemas.diffs import FileDiff, changes_asked, from_unified, path_asked
from schemas.message import NO_FLAGS, Flag, Part, Tool, ToolStatus, ToolType
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.blocks import arguments_of, image_part, task_in
from schemas.providers.kit.words import Answer, Use
from schemas.published import Published, categories
from schemas.slices import Listing
from schemas.values import dict_of, number, text_of, whole

_NAMES: dict[ToolType, str] = {
    "write": "Write StrReplace MultiStrReplace Delete ApplyPatch EditNotebook edit_file edit_file_v2 MultiEdit reapply"
    " edit_notebook search_replace write delete_file apply_patch Edit edit delete",
    "read": "Read ReadFile WebFetch read_file read_file_v2 read fetch web_fetch",
    "search": "Grep rg Glob SemanticSearch WebSearch grep ripgrep grep_search list_directory file_search list_dir"
    " glob_file_search list_dir_v2 codebase_search semantic_search sem_search ripgrep_raw_search glob web_search",
    "shell": "Shell LS Await AwaitShell WriteShellStdin run_terminal_cmd run_terminal_command shell ls"
    " run_terminal_command_v2 write_shell_stdin",
    "task": "TodoWrite UpdateCurrentStep todo_write update_todos",
    "generic": "Task Subagent ReadLints AskQuestion SwitchMode CreatePlan CallMcpTool FetchMcpResource task task_v2"
    " ListMcpResources read_lints ask_question switch_mode create_plan call_mcp_tool mcp list_mcp_resources"
    " fetch_mcp_resource",
}
TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Interchange note 5.1, and the names that came after it; of the editor too, whose agent writes transcripts."""
PUBLISHED = Published(
    names=("cursoride",),
    categories=categories(
        file_read="read_file read_file_v2 read Read read_chunk list_dir list_dir_v2 ls read_project"
        " get_project_structure get_symbols get_tests gotodef summarize_code read_lints read_with_linter"
        " read_semsearch_files blame_by_file_path",
        file_write="edit_file edit_file_v2 edit Edit Write StrReplace delete_file delete new_edit new_file save_file"
        " reapply undo_edit apply_agent_diff create_rm_files add_test delete_test fix_lints fix_lints_subagent",
        file_search="glob_file_search Glob glob ripgrep_raw_search ripgrep_search grep_search grep Grep search"
        " search_symbols semantic_search semantic_search_full sem_search deep_search deep_search_subagent"
        " tool_call_file_search",
        shell="run_terminal_command_v2 run_terminal_commands run_terminal_cmd run_test write_shell_stdin Shell shell",
        network="web_search web_fetch fetch_pull_request fetch call_mcp_tool",
        delegation="task_v2 task Task task_subagent spec_subagent background_composer_followup start_grind_execution"
        " start_grind_planning",
    ),
    seller="cursor",
)
_WORKSPACE = re.compile(r"^</?workspace_result(?:\s[^<>\n]{0,4200})?>[ \t]*\n?", re.MULTILINE)
_SHELL = re.compile(
    r"\AExit code: (-?\d{1,10})\n\nCommand output:\n\n```\n(.*)\n```\n\nCommand completed in (\d{1,12}) ms\.", re.DOTALL
)
STATES = {
    "success": ToolStatus.OK, "failure": ToolStatus.ERROR, "error": ToolStatus.ERROR, "timeout": ToolStatus.ERROR,
    "rejected": ToolStatus.DENIED,
}  # fmt: skip


class Call(Use):
    """A tool use, whose id may be missing, or used again."""


def call_of(name: object, use_id: str, given: object, answer: Answer | None = None, model: str = "") -> Call:
    """A tool use, its input given as an object or a text."""
    tool, asked = one_line(text_of(name)).removeprefix("functions."), arguments_of(given)
    task = task_in(asked) if tool in ("Task", "Subagent", "task", "task_v2") else None
    return Call(
        name=tool, use_id=use_id, input=asked, task=task, answer=answer, model=model,
        flags=Flag.SUBAGENT if task else NO_FLAGS,
    )  # fmt: skip


class Tools(Agent):
    """Tools as all of Cursor's sources have them."""

    tools, listing = TYPES, Listing(r" *(\d+)\|")
    foreign = r"^mcp[_-]|__|^[A-Za-z0-9_]+-[A-Za-z0-9_-]+\Z"  # `server-tool` or `mcp_server_tool`

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool, from the difference that Cursor recorded, else from its input."""
        if tool.type != "write" or tool.status not in (ToolStatus.OK, ToolStatus.PENDING):
            return []
        known, asked = dict_of(answer.details if answer is not None else None), tool.input
        patch = next((text for text in map(text_of, (known.get("diff"), asked.get("patch"))) if "@@ -" in text), "")
        if patch:
            return [from_unified(path_asked(asked) or text_of(known.get("path")), patch)]
        return changes_asked(asked, tool.name)


def answer_of(said: object, beside: object = None, *, use_id: str = "", failed: bool = False) -> Answer:
    """A result out of its envelopes, with the facts that Cursor's program knows of it (`highLevelToolCallResult`)."""
    answer = Answer(use_id, details={})
    _take(answer, said)
    words, output = answer.text, dict_of(dict_of(beside).get("output"))
    if not STATES.keys().isdisjoint(output):
        _take(answer, output)
    text = words or answer.text or ""
    if (shell := _SHELL.match(text)) is not None:
        answer.exit_code, text, answer.seconds = int(shell[1]), shell[2], int(shell[3]) / 1000
    answer.text = _WORKSPACE.sub("", text).strip("\n") if text.startswith("<workspace_result") else text
    if answer.status is ToolStatus.OK and (failed or answer.exit_code or is_error(dict_of(beside))):
        answer.status = ToolStatus.ERROR
    return answer


def seconds_of(spent: object) -> float | None:
    """Milliseconds that something took, as seconds."""
    given = number(spent)
    return given / 1000 if given is not None and 0 <= given < 1e12 else None


def is_error(part: dict[str, Any]) -> bool:
    """Return whether a result says of itself that it is an error."""
    return part.get("isError") is True or part.get("is_error") is True


def _take(answer: Answer, value: object) -> None:
    """Take in a text, content parts, an envelope `{type, value}` or `{success: …}`, or any other JSON: its facts, and
    what a person reads of it: the output it printed, where a state tells what it is the words it holds, else all of it.
    """
    while isinstance(value, dict) and "value" in value and isinstance(kind := value.get("type"), str):
        answer.status, value = ToolStatus.ERROR if kind.startswith("error") else ToolStatus.OK, value["value"]
    if isinstance(value, dict):
        state = next((name for name in STATES if isinstance(value.get(name), dict)), "")
        answer.status = STATES.get(state, answer.status)
        body = value[state] if state else value
        answer.exit_code = whole(body.get("exitCode"))
        answer.seconds = seconds_of(body.get("executionTime"))
        answer.details = {"diff": text_of(body.get("diffString")), "path": text_of(body.get("path"))}
        if is_error(body):
            answer.status = ToolStatus.ERROR
        printed = [text for key in ("stdout", "stderr") if (text := text_of(body.get(key)))]
        if isinstance(body.get("content"), list):
            _take(answer, body["content"])
        elif printed or "exitCode" in body or body.get("diffString") or not body:
            answer.text = "\n".join(text.rstrip("\n") for text in printed)
        else:
            keys = ("content", "error", "message", "reason") if state else ()
            answer.text = next(filter(None, (text_of(body.get(key)) for key in keys)), "") or as_json(body, indent=True)
    elif isinstance(value, list):
        answer.images = [picture(part) for part in value if is_image(part)]
        answer.text = "\n".join(map(_text_in, (part for part in value if not is_image(part))))
    else:
        answer.text = value if isinstance(value, str) else "" if value is None else as_json(value, indent=True)


def _text_in(part: object) -> str:
    """The text of a content part; those of MCP are wrapped twice in streams."""
    text = part if isinstance(part, str) else dict_of(part).get("text")
    return text_of(text) or text_of(dict_of(text).get("text")) or as_json(part, indent=True)


def is_image(part: object) -> bool:
    """Return whether a content part is an image, or another file."""
    return dict_of(part).get("type") in ("image", "file")


def picture(part: dict[str, Any]) -> Part:
    """An image or another file; its data is base64 text, a data URL, or an object around one of them."""
    given = part.get("image", part.get("data"))
    inner = given if isinstance(given, dict) else {"data": given}
    types = (one.get(key) for one in (part, inner) for key in ("mediaType", "mimeType"))
    media, data = next(filter(None, map(text_of, types)), ""), text_of(inner.get("data"))
    if data.startswith("data:"):
        head, _, data = data.partition(",")
        media = media or head[5:].partition(";")[0]
    return image_part(media, data, part.get("filename"))

"""Codex's tools: what kind each is, what it was asked, and what it changed (formats note 4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.diffs import FileDiff, added_file, from_strings, from_unified, from_v4a
from schemas.message import Tool, ToolStatus, ToolType
from schemas.path_hints import shell_text
from schemas.providers.kit.words import Data, Use
from schemas.records import read_record
from schemas.values import dict_of, given, list_of, text_of, texts_of

# SessionData's own table (formats/interchange.md 5.1) and the tools that came after it.
_NAMES: dict[ToolType, str] = {
    "write": "apply_patch",
    "shell": "shell shell_command exec_command container.exec local_shell write_stdin exec js_repl unified_exec",
    "search": "web_search tool_search grep_files",
    "read": "view_image read_file list_dir",
    "task": "update_plan spawn_agent send_input send_message followup_task wait wait_agent close_agent resume_agent"
    " list_agents",
    "generic": "list_mcp_resources list_mcp_resource_templates read_mcp_resource request_user_input"
    " request_permissions tool_suggest image_generation",
}
TYPES: dict[str, ToolType] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
FOREIGN = "__"
"""What joins the names of a server and its tool."""
_COMMAND = re.compile(r"""["']?\bcmd["']?\s*:\s*("(?:[^"\\]|\\.)*")""")
SCRIPTS = ("exec", "wait")
"""The tools that run scripts, which use tools themselves: what those do is told without a use of its own."""
_SEALED = re.compile(r"gAAAAA[\w=-]{60,}")
"""What the provider alone can read (faults/f16)."""


@dataclass(slots=True)
class Call(Use):
    """A tool use, by an item or an event."""

    item: Data | None = None
    """The item, whose arguments are taken apart once somebody looks at them."""
    goes_on: str = ""
    """The process or the script that an earlier use started, with which this one goes on."""
    search: str = ""
    """What stands for a web search, whose ids often differ or lack."""


def tool_name(payload: Data) -> str:
    """A tool's name with its namespace, as Codex itself joins them: `mcp__server__tool`."""
    name, space = text_of(payload.get("name")), text_of(payload.get("namespace"))
    if space and name and not name.startswith(space):
        return f"{space.removesuffix('__')}__{name}"
    return name or "unknown"


def call_input(payload: Data) -> Data:
    """Return a tool's input as an object; other values stand under `arguments`, a custom tool's under `input`."""
    kind = payload.get("type")
    if kind == "custom_tool_call":
        text = payload.get("input")
        return {"input": text} if text is not None else {}
    if kind in ("local_shell_call", "web_search_call"):
        return dict_of(payload.get("action"))
    if kind in ("image_generation_call", "image_generation_end", "ImageGeneration", "imageGeneration"):
        return {"prompt": payload["revised_prompt"]} if payload.get("revised_prompt") else {}
    arguments = payload.get("arguments")
    given = read_record(arguments.encode("utf-8", "replace")) if isinstance(arguments, str) else arguments
    if isinstance(given, dict) and (given or arguments in ({}, "{}")):
        sealed = [key for key, value in given.items() if isinstance(value, str) and _SEALED.fullmatch(value)]
        return {**given, **dict.fromkeys(sealed, "[encrypted]")} if sealed else given
    return {} if arguments is None else {"arguments": arguments}


def command_of(asked: Data) -> str:
    """The command line that a shell tool was asked to run, without the shell around it; empty if there is none."""
    return shell_text(asked.get("command")) or shell_text(asked.get("cmd"))


def commands_in(script: str) -> list[str]:
    """The commands that a script asks for in so many words: all there is while none of them has run."""
    found = (read_record(f'{{"cmd":{match[1]}}}'.encode("utf-8", "replace")) for match in _COMMAND.finditer(script))
    return [text_of(one.get("cmd")) for one in found]


def patched(name: str, asked: Data) -> list[FileDiff]:
    """The changes of a patch in a tool use, however it is dressed: a custom tool's input, an argument, a command."""
    for key in ("input", "patch", "arguments", "cmd", "command"):
        text = "\n".join(texts_of(asked.get(key)) or [text_of(asked.get(key))])
        patch = text.partition("*** Begin Patch")[2]
        if patch.startswith("\\n"):  # in a script's string
            string = f'{{"patch":"{patch.partition("*** End")[0]}*** End Patch"}}'
            patch = text_of(read_record(string.encode()).get("patch"))
        if (name == "apply_patch" or "apply_patch" in text) and (diffs := from_v4a(patch)):
            return diffs
    return []


def change_diffs(changes: object) -> list[FileDiff]:
    """Return the changes in `patch_apply_end.changes`, with line numbers."""
    diffs: list[FileDiff] = []
    for path, change in dict_of(changes).items():
        data = dict_of(change)
        content, moved = text_of(data.get("content")), text_of(data.get("move_path")) or None
        if data.get("type") == "add":
            diffs.append(added_file(path, content))
        elif data.get("type") == "delete":
            diffs.append(from_strings(path, content, "", "delete"))
        else:
            diffs.append(from_unified(path, text_of(data.get("unified_diff")), "move" if moved else "update", moved))
    return diffs


def search_key(action: object, query: object = None) -> str:
    """Return the key by which a web search is the same in its item and in its event: the ids often differ or lack."""
    data = dict_of(action)
    for key in ("query", "url", "pattern"):
        if value := text_of(data.get(key)):
            return f"{key}:{value}"
    queries = [text_of(q) for q in list_of(data.get("queries"))]
    return f"query:{queries[0] if queries else text_of(query)}"


def complete(tool: Tool, facts: Data) -> None:
    """Tell in a tool's output how it ended, and among the facts which command line it was, if it was one."""
    if command := command_of(tool.input):
        facts.setdefault("command", command)
    if tool.output is not None:
        is_error = tool.status in (ToolStatus.ERROR, ToolStatus.DENIED)
        tool.output |= given(is_error=is_error, exit_code=tool.exit_code, duration_seconds=tool.seconds)

"""Codex's items as tool uses, named and typed as the rollout's are (`streams` note 3)."""

from __future__ import annotations

import shlex
from typing import Any

from schemas.clean import as_json, clean, clean_styled, clean_value
from schemas.diffs import FileDiff, from_unified
from schemas.message import Flag, Message, Tool, ToolStatus
from schemas.providers.codex.outputs import Outcome, exec_outcome, mcp_outcome
from schemas.providers.codex.tools import cleaned, command_line, path_hints, tool_type
from schemas.session import Session
from schemas.values import dict_of, list_of, text_of

Item = dict[str, Any]
TOOLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"})
"""Item types that are tool uses."""
_NAMES = {
    "command_execution": "exec_command",
    "file_change": "apply_patch",
    "web_search": "web_search",
}
_OPERATIONS = ("add", "update", "delete", "move")
_FAILED = ("failed", "declined", "error", "errored")


def item_failed(item: Item) -> bool:
    """Whether a tool's item says that it failed: by its status, an error, or an exit code."""
    return item.get("status") in _FAILED or item.get("error") is not None or _outcome(item).failed


def is_same_call(before: Item, item: Item) -> bool:
    """Whether two snapshots may be of one tool use: what both of them ask for is the same."""
    keys = ("command", "changes", "server", "tool", "arguments", "prompt", "query")
    return all(before.get(key) == item.get(key) for key in keys if before.get(key) and item.get(key))


def item_text(item: Item) -> str:
    """What an item says that is no tool use; a to-do list with a mark at each step."""
    if item.get("type") == "todo_list":
        steps = (dict_of(step) for step in list_of(item.get("items")))
        return "\n".join(
            f"- [{'x' if step.get('completed') is True else ' '}] {text_of(step.get('text'))}" for step in steps
        )
    return text_of(item.get("text")) or text_of(item.get("message"))


def result_text(item: Item) -> str:
    """What a tool gave back."""
    return _outcome(item).text


def build_tool(session: Session, message: Message, item: Item) -> None:
    """Fill in a message's tool from the last snapshot of its item."""
    kind = text_of(item.get("type"))
    name = _NAMES.get(kind) or clean(text_of(item.get("tool"))) or "unknown"
    if kind == "mcp_tool_call":
        name = f"mcp__{clean(text_of(item.get('server')))}__{name}"
    asked = _asked(kind, item)
    tool = Tool(name, tool_type(name), clean(text_of(item.get("id"))), asked)
    outcome = _outcome(item)
    tool.text, tool.runs = clean_styled(outcome.text)
    tool.exit_code, tool.images = outcome.exit_code, list(outcome.images)
    changes = _changes(item) if kind == "file_change" else []
    tool.diffs = [diff for diff in changes if diff.hunks]
    tool.status = _status(message.flags, item)
    tool.subagent = next((agent.id for agent in session.subagents if agent.tool_use == message.index), None)
    if tool.status is not ToolStatus.PENDING:
        tool.output = {"content": tool.text, "is_error": tool.status in (ToolStatus.ERROR, ToolStatus.DENIED)}
        if tool.exit_code is not None:
            tool.output["exit_code"] = tool.exit_code
    if command := text_of(asked.get("command")):
        message.metadata["command"] = command
    message.tool = tool
    message.path_hints = path_hints(asked, changes, session.workspace_root, session.workspace_root)


def _status(flags: Flag, item: Item) -> ToolStatus:
    if flags & Flag.PENDING:
        return ToolStatus.PENDING
    if flags & Flag.INTERRUPTED:
        return ToolStatus.INTERRUPTED
    if item.get("status") == "declined":
        return ToolStatus.DENIED
    return ToolStatus.ERROR if flags & Flag.ERROR else ToolStatus.OK


def _asked(kind: str, item: Item) -> dict[str, Any]:
    match kind:
        case "command_execution":
            return {"command": clean(unwrapped(item.get("command")))}
        case "file_change":
            return {"changes": clean_value(list_of(item.get("changes")))}
        case "mcp_tool_call":
            arguments = item.get("arguments")
            if isinstance(arguments, dict) or arguments is None:
                return cleaned(arguments)
            return {"arguments": clean_value(arguments)}
        case "collab_tool_call":
            keys = ("prompt", "receiver_thread_ids")
            return {key: clean_value(item[key]) for key in keys if item.get(key)}
        case _:
            action = cleaned(item.get("action"))
            return {**action, "query": clean(query)} if (query := text_of(item.get("query"))) else action


def unwrapped(command: object) -> str:
    """`/bin/bash -lc 'pytest -q'` as `pytest -q`; any other command as it is."""
    if isinstance(command, list) and command:
        return command_line([str(word) for word in command])
    text = text_of(command)
    if " -" in text[:100] and "c " in text[:100]:
        try:
            words = shlex.split(text)
        except ValueError:
            return text
        if len(words) == 3 and words[1].startswith("-") and command_line(words) == words[2]:
            return words[2]
    return text


def _outcome(item: Item) -> Outcome:
    """What came back, by the type of the item."""
    error = item.get("error")
    if error is not None:
        said = text_of(error) or text_of(dict_of(error).get("message"))
        return Outcome(said or as_json(error), failed=True)
    match item.get("type"):
        case "command_execution":
            return exec_outcome(item)
        case "mcp_tool_call":
            result = item.get("result")
            if isinstance(result, dict) and result.get("structured_content") is not None:
                result = {**result, "structuredContent": result["structured_content"]}
            return mcp_outcome(result)
        case "collab_tool_call":
            states = dict_of(item.get("agents_states"))
            return Outcome("\n".join(_state(thread, dict_of(state)) for thread, state in states.items()))
        case "web_search":
            found = (_hit(dict_of(hit)) for hit in list_of(item.get("results")))
            return Outcome("\n".join(filter(None, found)))
        case _:
            return Outcome("")


def _state(thread: str, state: Item) -> str:
    words = (text_of(state.get("status")).replace("_", " "), text_of(state.get("message")))
    return f"{thread}: {' · '.join(filter(None, words))}"


def _hit(hit: Item) -> str:
    return " · ".join(word for key in ("title", "url", "snippet") if (word := text_of(hit.get(key))))


def _changes(item: Item) -> list[FileDiff]:
    """The files that were changed. The stream does not say how, but for one fork of Codex."""
    diffs = []
    for change in map(dict_of, list_of(item.get("changes"))):
        kind = text_of(change.get("kind")) or text_of(dict_of(change.get("kind")).get("type"))
        operation = kind if kind in _OPERATIONS else "update"
        diffs.append(from_unified(text_of(change.get("path")), text_of(change.get("diff")), operation))
    return diffs

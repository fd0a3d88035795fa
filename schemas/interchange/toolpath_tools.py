"""Tools in Toolpath: their category, their use with its result, the files that they changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.agents import published_of, tool_type
from schemas.diffs import FileDiff, Hunk, added_file, changes_asked, from_strings, from_unified, path_asked
from schemas.interchange.toolpath import WRITE, structural_type
from schemas.message import Tool, ToolStatus, ToolType

_TYPES: dict[str, ToolType] = {
    "file_read": "read",
    "file_write": "write",
    "file_search": "search",
    "shell": "shell",
    "network": "search",
    "delegation": "generic",
}
_BY_TYPE: dict[str, str] = {kind: name for name, kind in _TYPES.items() if name not in ("network", "delegation")}
_WEB = ("web", "fetch", "url", "http")
_DELEGATION = frozenset({"task", "agent", "subagent", "spawn_agent", "delegate_to_agent"})
PLACE = "_cwd"
"""What SessionData's producer adds to the input of tools (formats note 2.3)."""
_FAILED = (ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.INTERRUPTED)
_TASKS = ("todo", "plan", "checklist")


def category(provider: str, name: str, tool_type: str) -> str | None:
    """Toolpath's category of a tool; for an agent without a table by SessionData's type (formats note 5.3)."""
    table = published_of(provider).categories
    if table is not None:
        return table.get(name)
    low = name.lower()
    if low in _DELEGATION:
        return "delegation"
    if tool_type in ("search", "read") and any(word in low for word in _WEB):
        return "network"
    return _BY_TYPE.get(tool_type)


def type_of(provider: str, name: str, said: object) -> ToolType:
    """SessionData's type of a tool: by its name where the agent's table has it, else by its category (formats note
    5.3).
    """
    if (known := tool_type(provider, name)) != "unknown":
        return known
    if isinstance(said, str) and said in _TYPES:
        if said == "network":
            return "search" if "search" in name.lower() else "read"
        return _TYPES[said]
    return "task" if any(word in name.lower() for word in _TASKS) else "unknown"


def tool_use(provider: str, tool: Tool, name: str, raw: str | None, *, plain: bool) -> dict[str, Any]:
    """A tool as an item of `tool_uses`.

    `name` stands in for an id, `raw` is the result as the source has it. `plain`: the tool takes a text; as
    SessionData's input must be an object, it stands in one.
    """
    given = {key: value for key, value in tool.input.items() if key != PLACE}
    said = tool.name or "unknown"
    use: dict[str, Any] = {"id": tool.use_id or name, "name": said, "input": given["input"] if plain else given}
    use["category"] = category(provider, said, tool.type)
    if tool.output is None and not tool.text and tool.status in (ToolStatus.PENDING, ToolStatus.OK):
        return use
    output = tool.output or {}
    texts = (raw, output.get("raw"), output.get("content"), tool.text)  # `raw` before `content` (formats note 6)
    failed = output.get("is_error")
    use["result"] = {
        "content": next((text for text in texts if isinstance(text, str)), ""),
        "is_error": failed if isinstance(failed, bool) else tool.status in _FAILED,
    }
    return use


# -- files -------------------------------------------------------------------------------------------------------------

_OPERATIONS = {"create": "add", "write": "update", "modify": "update", "remove": "delete", "rename": "move"}
_WRITTEN = {"move": "update"}
"""What the format's own producer calls operations; where the file went, `rename_to` says."""


def put_writes(change: dict[str, Any], use: dict[str, Any], tool: Tool) -> None:
    """Put the files that a tool use changed beside the turn, one artifact a path; a use that failed changed none.

    Two changes of one path in a turn share an artifact, which names the later use. Of a tool that writes and of which
    no difference is known the input tells.
    """
    if tool.status in _FAILED:
        return
    writes = use["category"] == "file_write" or (use["category"] is None and tool.type == "write")
    asked = changes_asked(use["input"], use["name"]) or [FileDiff(path_asked(use["input"]))]
    for diff in tool.diffs or (asked if writes else []):
        taken = change.get(diff.path)
        if not diff.path or (taken is not None and structural_type(taken) != WRITE):
            continue
        structural: dict[str, Any] = {"type": WRITE, "tool_id": use["id"], "tool": use["name"]}
        new = taken is not None and taken["structural"].get("operation") == "add"
        structural["operation"] = (
            "add" if new and diff.operation == "update" else _WRITTEN.get(diff.operation, diff.operation)
        )
        if diff.renamed_to:
            structural["rename_to"] = diff.renamed_to
        if diff.operation == "add" and (after := _content(use, diff)) is not None:
            structural["after"] = after
        raw = taken.get("raw", "") if taken is not None else ""
        if diff.hunks or diff.operation in ("delete", "move"):  # else it is only known that the file changed
            raw += diff.unified()
        change[diff.path] = ({"raw": raw} if raw else {}) | {"structural": structural}


def _content(use: dict[str, Any], diff: FileDiff) -> str | None:
    """Return the content of a new file, where that is known to the last newline."""
    said = use["input"]
    if isinstance(said, dict) and isinstance(said.get("content"), str):
        return str(said["content"])
    if use["name"] != "apply_patch":
        return None
    return "".join(f"{line[1:]}\n" for hunk in diff.hunks for line in hunk.lines)  # a patch adds whole lines


def read_writes(change: dict[str, Any], use_id: object) -> list[FileDiff]:
    """The files that a tool use changed, as the artifacts beside its turn tell it."""
    return [read_write(path, part) for path, part in writes_of(change, use_id)]


def writes_of(change: dict[str, Any], use_id: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """The artifacts of a step that say what a tool use wrote, each with its path."""
    for path, part in change.items():
        if structural_type(part) == WRITE and part["structural"].get("tool_id") == use_id:
            yield path, part


def read_write(path: str, part: dict[str, Any]) -> FileDiff:
    """The change of one file."""
    said = part["structural"]
    operation, target, raw = said.get("operation"), said.get("rename_to"), part.get("raw")
    operation = _OPERATIONS.get(operation, operation) if isinstance(operation, str) else "update"
    operation = operation if operation in ("add", "update", "delete", "move") else "update"
    operation = "move" if operation == "update" and isinstance(target, str) and target else operation
    diff = from_unified(
        path, raw if isinstance(raw, str) else "", operation, target if isinstance(target, str) else None
    )
    before, after = (text if isinstance(text := said.get(key), str) else None for key in ("before", "after"))
    if not diff.hunks and (after is not None or operation == "delete"):  # no diff was told: the two texts tell it
        diff.hunks = _between(path, before, after or "", operation)
    return diff


def _between(path: str, before: str | None, after: str, operation: str) -> list[Hunk]:
    """The difference of a file's two texts; of an old file whose earlier text is unknown there is none."""
    if operation == "add":
        return added_file(path, after).hunks
    return from_strings(path, before, after).hunks if before is not None else []

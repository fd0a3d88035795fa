"""The tools of a Cursor stream: what `tool_call` holds, as the tools that cursor/ knows (formats note 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import clean_value
from schemas.message import Kind, Tool, ToolStatus
from schemas.providers.cursor import PROVIDER
from schemas.providers.cursor.tools import answer_of, tool_name, tool_type
from schemas.providers.kit.blocks import arguments_of
from schemas.providers.kit.words import Use
from schemas.values import text_of

Value = dict[str, Any]
_ENDING = "ToolCall"
_NAMES = {
    "shell": "Shell",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "delete": "Delete",
    "ls": "LS",
    "glob": "Glob",
    "grep": "Grep",
    "updateTodos": "TodoWrite",
    "task": "Task",
}
"""A kind without its ending, and the name Cursor's own sessions have for the tool."""
_EDITS = {"strReplace": "StrReplace", "multiStrReplace": "MultiStrReplace", "applyPatch": "ApplyPatch"}
_STATES = frozenset("success failure error rejected permissionDenied timeout aborted cancelled".split())  # noqa: SIM905


class Asked(NamedTuple):
    """What a `tool_call` asks for."""

    name: str
    given: object
    result: object
    """What came back; None if nothing is told."""


def asked(call: object) -> Asked:
    """The tool of a `tool_call`: its only key names the kind; siblings that hold no arguments are something else."""
    if not isinstance(call, dict):
        return Asked("", {}, None)
    kinds: dict[str, Value] = {key: value for key, value in call.items() if isinstance(value, dict)}
    key = next((key for key, value in kinds.items() if "args" in value), "")
    function = kinds.get("function")
    if not key and function is not None:
        name = function.get("name")
        return Asked(name if isinstance(name, str) else "", function.get("arguments"), _result(call, function))
    if not key:
        key = next((key for key in kinds if key.endswith(_ENDING)), next(iter(kinds), ""))
    inner = kinds.get(key, {})
    given, result = inner.get("args"), inner.get("result")
    kind = key.removesuffix(_ENDING)
    if kind == "mcp" and isinstance(given, dict):
        tool = next((n for k in ("toolName", "name") if isinstance(n := given.get(k), str) and n), "")
        server = given.get("providerIdentifier")
        name = f"{server}-{tool}" if isinstance(server, str) and server else tool
        return Asked(name or key, given.get("args"), result)
    name = _NAMES.get(kind, kind)
    if kind == "edit" and isinstance(given, dict):
        name = next((name for way, name in _EDITS.items() if isinstance(given.get(way), dict)), name)
    return Asked(name, given, result)


def _result(call: Value, function: Value) -> object:
    return function["result"] if "result" in function else call.get("result")


def tool_of(call: object, use_id: object, *, completed: bool) -> Tool:
    """A tool use, with its result if it is completed."""
    name, given, result = asked(call)
    body, failed = _plain(result) if completed else (None, False)
    if completed and body is None:
        body = ""
    name = tool_name(name)
    use = Use(kind=Kind.TOOL, name=name, use_id=text_of(use_id), input=arguments_of(_flat(given)), type=tool_type(name))
    tool, _ = PROVIDER.tool(use, None if body is None else answer_of(body, failed=failed), Path())
    tool.input = clean_value(arguments_of(given))  # as it was given, whatever its differences were drawn from
    if tool.status is ToolStatus.OK and tool.input.get("isBackground") is True and tool.exit_code is None:
        tool.status = ToolStatus.BACKGROUND
    return tool


def _flat(given: object) -> object:
    """The arguments of an edit without the envelope around its way of editing, in the words cursor/ knows."""
    if not isinstance(given, dict):
        return given
    flat = {key: value for key, value in given.items() if key not in _EDITS}
    for way in _EDITS:
        inner = given.get(way)
        if isinstance(inner, dict):
            edits = inner.get("edits")
            flat |= _old_new(inner)
            if isinstance(edits, list):
                flat["edits"] = [_old_new(edit) for edit in edits if isinstance(edit, dict)]
            if isinstance(inner.get("patchContent"), str):
                flat["patch"] = inner["patchContent"]
    return flat


def _old_new(edit: Value) -> Value:
    names = {"oldText": "old_string", "newText": "new_string"}
    return {names[key]: value for key, value in edit.items() if key in names}


def _plain(result: object) -> tuple[object, bool]:
    """A result in the shape that cursor/ reads, and whether its tag says that it failed: every one but `success` does.

    Old builds have no tag around the facts.
    """
    if not isinstance(result, dict) or not result:
        return result, False
    tag = next((key for key in result if key in _STATES), None)
    if tag is None and len(result) == 1 and isinstance(body := next(iter(result.values())), dict):
        return {"error": body}, True
    if tag is None:
        return {"success": _body(result)}, result.get("isError") is True
    body = result[tag]
    if not isinstance(body, dict):
        return body if body not in (None, True) else tag, tag != "success"
    return {tag: _body(body)}, tag != "success" or body.get("isError") is True


def _body(body: Value) -> Value:
    """MCP's content parts, whose texts are wrapped twice, as one text."""
    content = body.get("content")
    if not isinstance(content, list):
        return body
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        text = text.get("text") if isinstance(text, dict) else text
        if not isinstance(text, str):
            return body
        texts.append(text)
    return body | {"content": "\n".join(texts)}

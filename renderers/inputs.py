"""The input of a tool, as blocks of text that are read as they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from renderers.headline import tool_command
from schemas.clean import Run, as_json, one_line
from schemas.diffs import NEW_TEXTS, OLD_TEXTS, WHOLE_TEXTS
from schemas.message import Tool

_COMMAND_KEYS = frozenset({"command", "commands", "cmd", "script", "action"})
_DIFF_KEYS = frozenset(
    {"file_path", "path", "notebook_path", "contents", "edits", "new_source", "patch", "changes", "input"}
    | {*OLD_TEXTS, *NEW_TEXTS, *WHOLE_TEXTS}
)
_BOXES = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
_SHORT = 160
_FILE_TOOLS = frozenset({"Read", "Write", "Edit", "MultiEdit"})


class Code(NamedTuple):
    """Text that is shown exactly as it is; `runs` are the colours a program printed it in."""

    text: str
    language: str = ""
    label: str = ""
    runs: tuple[Run, ...] = ()


def tool_inputs(tool: Tool) -> Iterator[Code]:
    """The input of a tool use: its command, its longer texts, and everything short as `name: value` lines.

    What the diff beside it shows is left out.
    """
    rest = dict(tool.input)
    command = tool_command(tool)
    if command is not None:
        rest = {key: value for key, value in rest.items() if key not in _COMMAND_KEYS}
        about = rest.get("description")
        about = one_line(about) if isinstance(about, str) and len(about) <= _SHORT else ""
        if not tool.diffs or "*** Begin Patch" not in command:
            if about:
                del rest["description"]
            yield Code(command, "sh", about)
    if tool.diffs:
        rest = {key: value for key, value in rest.items() if key not in _DIFF_KEYS}
        if rest.get("replace_all") is False:
            del rest["replace_all"]
    elif tool.name in _FILE_TOOLS and isinstance(path := rest.get("file_path"), str) and len(path) <= _SHORT:
        del rest["file_path"]  # the tool use's own line says it
    for key in ("todos", "plan"):
        if items := _checklist(rest.get(key)):
            del rest[key]
            yield Code(items)
    short: list[str] = []
    long: list[Code] = []
    for key, value in rest.items():
        text = value if isinstance(value, str) else json_text(value)
        if len(text) <= _SHORT and "\n" not in text:
            short.append(f"{key}: {text}")
        elif isinstance(value, str):
            long.append(Code(text, label=key))
        else:
            long.append(Code(json_text(value, pretty=True), "json", key))
    if short:
        yield Code("\n".join(short))
    yield from long


def _checklist(items: object) -> str:
    """A list of tasks with their boxes; empty if it is no such list."""
    if not isinstance(items, list) or not items:
        return ""
    lines: list[str] = []
    for item in items:
        text = (item.get("content") or item.get("step")) if isinstance(item, Mapping) else None
        if not isinstance(text, str):
            return ""
        lines.append(f"{_BOXES.get(str(item.get('status')), '[ ]')} {text}")
    return "\n".join(lines)


def json_text(value: Any, *, pretty: bool = False) -> str:
    """A value of a tool's input as JSON, whatever is in it."""
    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if pretty else 0)
    try:
        return orjson.dumps(value, default=str, option=option).decode()
    except orjson.JSONEncodeError:  # an integer of more than 64 bits, or nested deeper than 254 levels
        return as_json(value, indent=pretty)

"""The inner objects of a SessionData document: content parts and the tool. Used by session_data_read.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args

from schemas.clean import Run, Sgr, as_json, clean, clean_styled, clean_value
from schemas.diffs import FileDiff, added_file, diff_from_json, from_strings, from_v4a
from schemas.message import Part, Tool, ToolStatus, ToolType
from schemas.usage import as_count
from schemas.values import list_of, texts_of

_TOOL_TYPES: dict[str, ToolType] = {name: name for name in get_args(ToolType)}
_STATUSES = tuple(ToolStatus)
_TOOL_KINDS: dict[str, type] = dict.fromkeys(("name", "type", "useId", "summary", "formattedMarkdown"), str)
_CALLED = ("input", "summary", "formattedMarkdown")
_FILE = re.compile(r".*[/\\](?=[^/\\])", re.DOTALL)
"""What stands before a file's own name."""
_TOOL = frozenset({"name", "type", "useId", "input", "output", "summary", "formattedMarkdown"})


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """The value cleaned if it is a string, else an empty one."""
    return clean(value) if isinstance(value, str) else ""


def strings_in(value: object) -> Iterator[str]:
    """Each string in a JSON value, however deep, in no order; keys are none."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            waiting.extend(item.values() if isinstance(item, dict) else item)


def unsaid_hints(data: dict[str, Any]) -> list[str]:
    """The `pathHints` that nothing else of a message shows: neither its text nor what its tool is called with. A tool
    may name a file from where it runs, so that the file's own name is enough there.
    """
    if not (hints := list(map(clean, texts_of(data.get("pathHints"))))):
        return []
    text = "\n".join(map(clean, strings_in(data.get("content"))))
    tool = as_object(data.get("tool"))
    given = "\n".join(clean(word) for key in _CALLED for word in strings_in(tool.get(key)))
    return [hint for hint in hints if hint not in text and not (given and _FILE.sub("", hint) in given)]


def texts_in(value: object) -> str | None:
    """The texts of a list, each a string or an object that has one; None for anything else."""
    said = [as_object(item).get("text", item) for item in list_of(value)]
    words = [word for word in said if isinstance(word, str)]
    return "\n".join(words) if words and len(words) == len(said) else None


def read_parts(content: list[Any], ours: object) -> list[Part]:
    """Content parts; one of a type 1.0 does not have shows as text."""
    facts = list_of(ours)
    return [_part(item, as_object(facts[n]) if n < len(facts) else {}) for n, item in enumerate(content)]


def is_odd_part(item: object) -> bool:
    """Whether a part says more than its text, which is all that is shown of it."""
    return (
        isinstance(item, dict)
        and isinstance(item.get("text"), str)
        and (item.keys() != {"type", "text"} or item["type"] not in ("text", "thinking"))
    )


def _part(item: object, facts: dict[str, Any]) -> Part:
    if not isinstance(item, dict):
        return Part("text", clean(item) if isinstance(item, str) else as_json(item, indent=True))
    text = item.get("text")
    shown = clean(text) if isinstance(text, str) else as_json(item, indent=True)
    if facts.get("type") == "image":
        return _image(shown, facts)
    part = Part("thinking" if item.get("type") == "thinking" else "text", shown)
    part.runs = read_runs(facts.get("runs"), len(shown))
    part.media_type, part.size = as_text(facts.get("mediaType")) or None, as_count(facts.get("size"))
    return part


def _image(text: str, facts: dict[str, Any]) -> Part:
    runs = read_runs(facts.get("runs"), len(text))
    return Part("image", text, as_text(facts.get("mediaType")) or None, as_count(facts.get("size")), runs)


def read_runs(value: object, length: int) -> list[Run]:
    """Coloured runs, in order and within the text."""
    runs: list[Run] = []
    for row in list_of(value):
        if not isinstance(row, list) or len(row) != 3:
            continue
        start, end, style = as_count(row[0]), as_count(row[1]), as_object(row[2])
        if start is not None and end is not None and (runs[-1].end if runs else 0) <= start < end <= length:
            runs.append(Run(start, end, _sgr(style)))
    return runs


def _sgr(style: dict[str, Any]) -> Sgr:
    marks = {key: True for key in Sgr._fields[2:] if style.get(key) is True}
    return Sgr(_colour(style.get("fg")), _colour(style.get("bg")), **marks)


def _colour(value: object) -> int | tuple[int, int, int] | None:
    if isinstance(value, list):
        red, green, blue = ([as_count(v) for v in value] + [None] * 3)[:3]
        if red is None or green is None or blue is None:
            return None
        return min(red, 255), min(green, 255), min(blue, 255)
    index = as_count(value)
    return min(index, 255) if index is not None else None


def read_tool(data: dict[str, Any], ours: object, metadata: dict[str, Any]) -> Tool:
    """A tool with its result. Fields that a Tool has no place for go into `metadata["toolFields"]`, those that are of a
    wrong type, and would not be valid where they stood, into `metadata["malformed"]`.
    """
    said = data.get("input")
    tool = Tool(
        name=as_text(data.get("name")) or "unknown",
        type=_TOOL_TYPES.get(as_text(data.get("type")), "unknown"),
        use_id=as_text(data.get("useId")),
        input=clean_value(said) if isinstance(said, dict) else {} if said is None else {"input": clean_value(said)},
        summary=as_text(data.get("summary")) or None,
        formatted=as_text(data.get("formattedMarkdown")) or None,
    )
    output = data.get("output")
    if output is not None:
        tool.output = clean_value(output) if isinstance(output, dict) else {"content": clean_value(output)}
    if fields := {key: value for key, value in data.items() if key not in _TOOL}:
        metadata["toolFields"] = clean_value(fields)
    keep_malformed(metadata, wrong_kinds(data, _TOOL_KINDS))
    tool.text, tool.runs, tool.status, tool.exit_code = read_result(data, ours)
    if isinstance(ours, dict):
        _restore(tool, ours)
    elif tool.type == "write" and tool.status is not ToolStatus.ERROR:
        tool.diffs = _diffs(tool)
    return tool


class Result(NamedTuple):
    """How a tool use ended, and what is read of it."""

    text: str
    runs: list[Run]
    status: ToolStatus
    exit_code: int | None


def read_result(data: dict[str, Any], ours: object) -> Result:
    """A tool's result: what turnlog wrote about it (`ours`), or what another program's document lets us tell."""
    output = data.get("output")
    result = as_object(output)
    if isinstance(ours, dict):
        text = as_text(ours["text"] if "text" in ours else output if isinstance(output, str) else result.get("content"))
        status, code = ours.get("status"), ours.get("exitCode")
        known = ToolStatus(status) if status in _STATUSES else ToolStatus.OK
        return Result(text, read_runs(ours.get("runs"), len(text)), known, _exit_code(code))
    said = result.get("exit_code", result.get("exitCode", as_object(result.get("metadata")).get("exit_code")))
    code = _exit_code(said)
    failed = result.get("is_error") is True or bool(code)
    status = ToolStatus.PENDING if output is None else ToolStatus.ERROR if failed else ToolStatus.OK
    return Result(*clean_styled(_result_text(output)), status, code)


def _exit_code(value: object) -> int | None:
    return value if type(value) is int else None


def read_time(value: object) -> float | None:
    """ISO 8601 as seconds since 1970; without an offset it counts as UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def wrong_kinds(data: dict[str, Any], kinds: dict[str, type]) -> dict[str, Any]:
    """What stands under a known key and is not of its kind: `object` for any, `datetime` for a time as a text."""
    said = {key: data[key] for key in kinds if data.get(key) is not None}
    return {key: value for key, value in said.items() if not _is_of(kinds[key], value)}


def _is_of(kind: type, value: object) -> bool:
    if kind is datetime:
        return value == "" or read_time(value) is not None
    return kind is object or type(value) is kind


def keep_malformed(metadata: dict[str, Any], odd: dict[str, Any]) -> None:
    """Keep what would not be valid where it stood, so that it is not lost."""
    if odd:
        metadata["malformed"] = as_object(metadata.get("malformed")) | clean_value(odd)


def _restore(tool: Tool, ours: dict[str, Any]) -> None:
    """What turnlog wrote about it beside its result."""
    seconds = ours.get("seconds")
    tool.seconds = float(seconds) if isinstance(seconds, int | float) and seconds == seconds else None
    tool.diffs = [diff for item in list_of(ours.get("diffs")) if (diff := diff_from_json(item))]
    for image in map(as_object, list_of(ours.get("images"))):
        tool.images.append(_image(as_text(image.get("text")), image))
    tool.subagent = as_text(ours.get("subagent")) or None
    tool.spilled = ours.get("spilled") is True


def _result_text(output: object) -> str:
    """A result as a person reads it; what no known key holds is shown as JSON."""
    if output is None or isinstance(output, str):
        return output or ""
    if isinstance(output, dict):
        for key in ("content", "raw", "output"):
            value = output.get(key)
            if isinstance(value, str):
                return value
            if (text := texts_in(value)) is not None:
                return text
        streams = [output[key] for key in ("stdout", "stderr") if isinstance(output.get(key), str)]
        if streams:
            return "\n".join(s.rstrip("\n") for s in streams if s)
    text = texts_in(output)
    return as_json(output, indent=True) if text is None else text


def _diffs(tool: Tool) -> list[FileDiff]:
    """The change as far as the tool's input tells it."""
    said = tool.input
    patch = said.get("input", said.get("patch"))
    if isinstance(patch, str) and "*** Begin Patch" in patch:
        return from_v4a(patch)
    path = _said(said, "file_path", "path")
    if path is None:
        return []
    edits = said.get("edits")
    pairs = [_replaced(edit) for edit in map(as_object, edits)] if isinstance(edits, list) else [_replaced(said)]
    if changes := [from_strings(path, *pair) for pair in pairs if pair is not None]:
        changes[0].hunks = [hunk for change in changes for hunk in change.hunks]
        return changes[:1]
    content = _said(said, "content", "contents", "file_text")
    return [added_file(path, content)] if content is not None else []


def _replaced(edit: dict[str, Any]) -> tuple[str, str] | None:
    """The text that an edit looks for, and the one that it puts there."""
    old, new = _said(edit, "old_string", "old_str"), _said(edit, "new_string", "new_str")
    return (old, new) if old is not None and new is not None else None


def _said(data: dict[str, Any], *keys: str) -> str | None:
    """The first of these that is a string."""
    return next((value for key in keys if isinstance(value := data.get(key), str)), None)

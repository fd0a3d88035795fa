"""The inner objects of a SessionData document: content parts and the tool. Used by session_data_read.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from schemas.clean import Run, as_json, clean, clean_styled, clean_value
from schemas.diffs import changes_asked
from schemas.documents import keys_of
from schemas.interchange.session_data_facts import PART, TOOL, as_text, read_time, take, text_of_result
from schemas.message import Part, Tool, ToolStatus, ToolType
from schemas.values import dict_of, list_of, texts_of, whole

_TOOL_TYPES: dict[str, ToolType] = {name: name for name in get_args(ToolType)}
_CALLED = ("input", "summary", "formattedMarkdown")
_FILE = re.compile(r".*[/\\](?=[^/\\])", re.DOTALL)
"""What stands before a file's own name."""
_TYPES = {"string": str, "object": dict, "array": list}


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
    tool = dict_of(data.get("tool"))
    given = "\n".join(clean(word) for key in _CALLED for word in strings_in(tool.get(key)))
    return [hint for hint in hints if hint not in text and not (given and _FILE.sub("", hint) in given)]


def texts_in(value: object) -> str | None:
    """The texts of a list, each a string or an object that has one; None for anything else."""
    said = [dict_of(item).get("text", item) for item in list_of(value)]
    words = [word for word in said if isinstance(word, str)]
    return "\n".join(words) if words and len(words) == len(said) else None


def read_parts(content: list[Any], ours: object) -> list[Part]:
    """Content parts; one of a type 1.0 does not have shows as text."""
    facts = list_of(ours)
    return [_part(item, dict_of(facts[n]) if n < len(facts) else {}) for n, item in enumerate(content)]


def is_odd_part(item: object) -> bool:
    """Return whether a part says more than its text, which is all that is shown of it."""
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
    part = Part("thinking" if item.get("type") == "thinking" else "text", shown)
    take(PART, part, facts)
    return part


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
    known = keys_of("session-data", "tool") | {"type": "string"}
    if fields := {key: value for key, value in data.items() if key not in known}:
        metadata["toolFields"] = clean_value(fields)
    keep_malformed(metadata, wrong_kinds(data, known))
    if isinstance(ours, dict):
        tool.text = text_of_result(ours, output)
        take(TOOL, tool, ours)
        return tool
    tool.text, tool.runs, tool.status, tool.exit_code = read_result(output)
    if tool.type == "write" and tool.status is not ToolStatus.ERROR:
        told = changes_asked(tool.input, tool.name)
        tool.diffs = [diff for diff in told if diff.hunks or diff.operation != "update"]
    return tool


class Result(NamedTuple):
    """The result of a tool use as it is read: its text, and how the use ended."""

    text: str
    runs: list[Run]
    status: ToolStatus
    exit_code: int | None


def read_result(output: object) -> Result:
    """A tool's result, as far as another program's document lets us tell."""
    result = dict_of(output)
    said = result.get("exit_code", result.get("exitCode", dict_of(result.get("metadata")).get("exit_code")))
    code = whole(said)
    failed = result.get("is_error") is True or bool(code)
    status = ToolStatus.PENDING if output is None else ToolStatus.ERROR if failed else ToolStatus.OK
    return Result(*clean_styled(_result_text(output)), status, code)


def wrong_kinds(data: dict[str, Any], keys: dict[str, str]) -> dict[str, Any]:
    """Return the values under known keys that are not of the key's type (`keys_of`)."""
    said = {key: data[key] for key in keys if data.get(key) is not None}
    return {key: value for key, value in said.items() if not _is_of(keys[key], value)}


def _is_of(kind: str, value: object) -> bool:
    if kind == "time":
        return value == "" or read_time(value) is not None
    return kind not in _TYPES or type(value) is _TYPES[kind]


def keep_malformed(metadata: dict[str, Any], odd: dict[str, Any]) -> None:
    """Keep what would not be valid where it stood, so that it is not lost."""
    if odd:
        metadata["malformed"] = dict_of(metadata.get("malformed")) | clean_value(odd)


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

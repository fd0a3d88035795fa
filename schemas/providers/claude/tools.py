"""A tool use and its result as a person reads them (formats/claude-code.md 7)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.clean import as_json, clean, clean_styled, clean_value
from schemas.message import PREVIEW, Part, Tool, ToolStatus, ToolType
from schemas.providers.claude.classify import fold_reminders, media_part, media_parts
from schemas.providers.kit.blocks import texts_in
from schemas.providers.kit.words import Answer, Use
from schemas.usage import as_count
from schemas.values import dict_of, number, text_of, whole

_AGENTS = frozenset({"Task", "Agent"})
_EXIT = re.compile(r"\A(?:Error: )?Exit code (-?\d{1,10})[ \t]*(?:\n|\Z)")
_SIZE = re.compile(r"Output too large \(([^)\n]{1,40})\)")
_SPILLED_TO = re.compile(r"Full output saved to: (.+)")
_AGENT_TAIL = re.compile(r"\n*agentId: [A-Za-z0-9_-]+ \([^\n]*\)[^\n]*(?:\s*<usage>.*?</usage>)?\s*\Z", re.DOTALL)
_USAGE_TAIL = re.compile(r"\s*<usage>[^<]*</usage>\s*\Z")
_SHELL_FACTS = {"returnCodeInterpretation": "returnCode", "backgroundTaskId": "backgroundTask"}
_RESULT_FACTS = {"toolDenialKind": "denial", "userFeedback": "feedback"}
_MOST_SPILLED = 16 << 20
_STREAMS = re.compile(r"<(stdout|stderr|output)>\n?(.*?)\n?</\1>", re.DOTALL)

Object = dict[str, Any]


def build_tool(use: Use, answer: Answer | None, folder: Path, kind: ToolType) -> tuple[Tool, Object]:
    """The tool of a `tool_use` block, its `tool_result` block and the line's `toolUseResult`; and facts beside it.

    Spilled outputs lie in `folder`. Subagents' files carry no `toolUseResult`. Of a
    use whose JSON was broken the raw text stands under `raw`.
    """
    given: Object = dict(use.input or {})
    if isinstance(raw := dict_of(given.get("__unparsedToolInput")).get("raw"), str):
        given = {"raw": raw}
    name, status = clean(use.name) or "(unnamed tool)", ToolStatus.PENDING
    tool, facts = Tool(name, kind, clean(use.use_id), clean_value(given), status=status), Object()
    details = Object()
    if answer is not None:
        block, extra, record = answer.details or ({"content": answer.text}, None, Object())
        details, meta = dict_of(extra), dict_of(record.get("mcpMeta")) or dict_of(extra)
        _take_result(tool, block, details, meta.get("structuredContent"), folder, facts)
        tool.status, tool.seconds = answer.status, _seconds(details)
        facts |= {key: clean(text) for name, key in _RESULT_FACTS.items() if isinstance(text := record.get(name), str)}
    return tool, facts


def _take_result(tool: Tool, result: Object, details: Object, structured: object, folder: Path, facts: Object) -> None:
    failed = result.get("is_error") is True
    text, tool.images = _content(result.get("content"))
    text, reminders = fold_reminders(text)
    if reminders:
        facts["reminders"] = [clean(reminder) for reminder in reminders]
    raw, shown = text, clean(text)
    tool.output = {"content": shown, "is_error": failed}
    # What SpecStory adds to an output from `toolUseResult`: small facts, no bodies.
    tool.output |= {key: clean(said) for key in ("type", "filePath") if isinstance(said := details.get(key), str)}
    if structured is not None:
        tool.output["structuredContent"] = clean_value(structured)
        if (said := as_json(structured)) not in text:
            text = "\n".join(filter(None, (text, said)))
    bare = text.strip()
    if bare.startswith("<tool_use_error>") and bare.endswith("</tool_use_error>"):
        text = bare[len("<tool_use_error>") : -len("</tool_use_error>")]
    if tool.type == "shell" or tool.name == "Monitor":
        text = _shell(tool, text, failed, details, facts)
    if tool.name in _AGENTS and not failed:
        text = _without_tail(text)
    if "<persisted-output>" in text[:200]:
        text = _spilled(tool, text, details, folder)
    # Nearly always it is what was cleaned above: then the two are one text in memory.
    shown, runs = clean_styled(shown if text is raw and "\x1b[" not in text else text)
    tool.text = shown.rstrip("\n")
    end = len(tool.text)
    tool.runs = [run._replace(end=min(run.end, end)) for run in runs if run.start < end]
    file = dict_of(details.get("file"))
    if details.get("type") == "image" and file:  # which Read gave back
        source = {"media_type": file.get("type"), "data": file.get("base64")}
        tool.images = tool.images or [media_part({"type": "image", "source": source})]
        tool.images[0].size = as_count(file.get("originalSize")) or tool.images[0].size


def _without_tail(text: str) -> str:
    """What a subagent answered, without the few lines for the program behind it."""
    start = max(0, len(text) - 4000)
    for tail in (_AGENT_TAIL, _USAGE_TAIL):
        if match := tail.search(text, start):
            text = text[: match.start()]
    return text


def _content(content: object) -> tuple[str, list[Part]]:
    """The text of a result and its images. References to tools are named, what is unknown is shown as it is."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, Sequence):
        return ("", []) if content is None else (as_json(content), [])
    return "\n".join(filter(None, map(_block_text, content))), media_parts(content)


def _block_text(block: object) -> str:
    if not isinstance(block, dict):
        return text_of(block)
    match block.get("type"):
        case "text":
            return text_of(block.get("text"))
        case "tool_reference":
            return text_of(block.get("tool_name"))
        case "web_search_result":
            return f"{text_of(block.get('title'))}\n{text_of(block.get('url'))}"
        case "resource_link":  # faults f21
            return f"{text_of(block.get('name'))} {text_of(block.get('uri'))}".strip()
        case "resource":
            inner = dict_of(block.get("resource"))
            return f"{text_of(inner.get('uri'))}\n{text_of(inner.get('text'))}".strip() or as_json(block)
        case "image" | "document":
            return ""
    return as_json(block)


def _shell(tool: Tool, text: str, failed: bool, details: Object, facts: Object) -> str:
    """The output of a shell tool: without the line that says the exit code, streams without their tags."""
    code = whole(details.get("exitCode", dict_of(details.get("task")).get("exitCode")))
    tool.exit_code = tool.exit_code if code is None else code
    if failed and (match := _EXIT.match(text)):
        tool.exit_code = int(match[1])
        text = text[match.end() :]
    elif tool.name in ("BashOutput", "TaskOutput") and (found := _STREAMS.findall(text)):
        text = "\n".join(body for _, body in found if body.strip())
    facts |= {key: clean(said) for name, key in _SHELL_FACTS.items() if isinstance(said := details.get(name), str)}
    return text


def _spilled(tool: Tool, text: str, details: Object, folder: Path) -> str:
    """The whole output from the file beside the session, else the longest piece that the session holds, and a line that
    says so (faults f26). What a subagent answered stands in its details.

    The recorded path is another machine's and not to be trusted: only its last part counts, in this session's folder.
    """
    tool.spilled = True
    match = _SPILLED_TO.search(text)
    where = match[1] if match else text_of(details.get("persistedOutputPath"))
    name = re.split(r"[/\\]", where.strip())[-1]
    if (spilled := _read_spilled(folder, name)) is not None:
        return spilled
    _, _, preview = text.partition("Preview (first")
    preview = preview.partition("\n")[2].replace("</persisted-output>", "").rstrip("\n")
    if tool.name in _AGENTS and (answer := texts_in(details.get("content"), "\n")):
        return answer
    size, stdout = as_count(details.get("persistedOutputSize")), text_of(details.get("stdout"))
    said = f"{size:,} bytes" if size is not None else found[1] if (found := _SIZE.search(text)) else "it"
    longer = stdout if len(stdout) > len(preview) else preview or text
    return f"{longer}\n\n{PREVIEW}{said}; the whole was saved to {where.strip() or 'a file'}]"


def _read_spilled(folder: Path, name: str) -> str | None:
    if not name or name in (".", "..") or "\0" in name:
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    path = folder / name
    if folder.is_symlink() or folder.parent.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    try:
        with open(os.open(path, flags), "rb") as file:
            data = file.read(_MOST_SPILLED + 1)
    except OSError:
        return None  # gone again: the start of it is in the session
    text = data[:_MOST_SPILLED].decode("utf-8", "replace")
    return text if len(data) <= _MOST_SPILLED else text + "\n… (cut at 16 MiB)"


def _seconds(details: Object) -> float | None:
    for key, unit in (("durationMs", 1000.0), ("totalDurationMs", 1000.0), ("durationSeconds", 1.0)):
        if (value := number(details.get(key))) is not None and 0 <= value < 1e12:
            return value / unit
    return None

"""A tool use and its result as a person reads them (formats/claude-code.md 7)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas.clean import Run, as_json, clean, clean_styled, clean_value
from schemas.diffs import FileDiff, added_file, from_strings, from_structured_patch
from schemas.message import PREVIEW, Part, Tool, ToolStatus, ToolType
from schemas.providers.claude.classify import fold_reminders, media_part, media_parts, texts_of
from schemas.providers.claude.locate import side_dir
from schemas.usage import as_count
from schemas.values import dict_of, text_of

_TYPES: dict[str, ToolType] = {
    **dict.fromkeys(
        [
            "write",
            "edit",
            "multiedit",
            "str_replace_editor",
            "write_file",
            "edit_file",
            "create_file",
            "append_to_file",
        ],
        "write",
    ),
    **dict.fromkeys(["read", "webfetch", "read_file", "view_file", "cat"], "read"),
    **dict.fromkeys(["grep", "glob", "websearch"], "search"),
    **dict.fromkeys(["bash", "taskoutput", "killshell", "bashoutput", "killbash"], "shell"),
    **dict.fromkeys(["notebookedit", "todowrite", "taskcreate", "taskupdate", "taskget", "tasklist"], "task"),
    **dict.fromkeys(["enterplanmode", "exitplanmode", "askuserquestion", "skill", "lsp", "task", "agent"], "generic"),
}
"""Interchange note 5.1, in lower case, and what it forgot: Agent (Task's new name), and the task and shell families."""
_SHELLS = frozenset({"Bash", "BashOutput", "KillBash", "KillShell", "TaskOutput", "Monitor"})
_AGENTS = frozenset({"Task", "Agent"})
_WRITERS = frozenset({"Edit", "MultiEdit", "Write"})
_EXIT = re.compile(r"\A(?:Error: )?Exit code (-?\d{1,10})[ \t]*(?:\n|\Z)")
_SIZE = re.compile(r"Output too large \(([^)\n]{1,40})\)")
_SPILLED_TO = re.compile(r"Full output saved to: (.+)")
_AGENT_TAIL = re.compile(r"\n*agentId: [A-Za-z0-9_-]+ \([^\n]*\)[^\n]*(?:\s*<usage>.*?</usage>)?\s*\Z", re.DOTALL)
_USAGE_TAIL = re.compile(r"\s*<usage>[^<]*</usage>\s*\Z")
_MOST_SPILLED = 16 << 20
_STREAMS = re.compile(r"<(stdout|stderr|output)>\n?(.*?)\n?</\1>", re.DOTALL)

Object = Mapping[str, Any]


def tool_type(name: str) -> ToolType:
    """SessionData's classification of a tool."""
    return _TYPES.get(name.lower(), "unknown")


def build_tool(
    use: Object, result: Object | None, extra: object, structured: object, session: Path
) -> tuple[Tool, dict[str, Any]]:
    """The tool of a `tool_use` block, its `tool_result` block and the line's `toolUseResult`; and facts beside it.

    `structured` is the structured content of an MCP server's result; `session` the session's file, beside which
    spilled outputs lie. Subagents' files carry no `toolUseResult`. Status and diffs are the caller's.
    """
    name = text_of(use.get("name"))
    given = use.get("input")
    tool = Tool(
        name=clean(name) or "(unnamed tool)",
        type=tool_type(name),
        use_id=clean(text_of(use.get("id"))),
        input=_input(given),
        status=ToolStatus.PENDING,
    )
    facts: dict[str, Any] = {}
    details = extra if isinstance(extra, dict) else {}
    if result is not None:
        _take_result(tool, result, details, structured, session, facts)
        tool.seconds = _seconds(details)
    return tool, facts


def _input(given: object) -> dict[str, Any]:
    """The input; when the model's JSON was broken its raw text stands under `raw`."""
    if not isinstance(given, dict):
        return {} if given is None else {"input": clean_value(given)}
    broken = given.get("__unparsedToolInput")
    if isinstance(broken, dict) and isinstance(broken.get("raw"), str):
        return {"raw": clean(broken["raw"])}
    value: dict[str, Any] = clean_value(given)
    return value


def _take_result(
    tool: Tool, result: Object, details: Object, structured: object, session: Path, facts: dict[str, Any]
) -> None:
    failed = result.get("is_error") is True
    text, tool.images = _content(result.get("content"))
    text, reminders = fold_reminders(text)
    if reminders:
        facts["reminders"] = [clean(reminder) for reminder in reminders]
    whole, shown = text, clean(text)
    tool.output = {"content": shown, "is_error": failed}
    _add_details(tool.output, details)
    if structured is not None:
        tool.output["structuredContent"] = clean_value(structured)
        if (said := as_json(structured)) not in text:
            text = "\n".join(filter(None, (text, said)))
    text = _unwrapped(text)
    if tool.name in _SHELLS or tool.type == "shell":
        text = _shell(tool, text, failed, details, facts)
    if tool.name in _AGENTS and not failed:
        text = _without_tail(text)
    if "<persisted-output>" in text[:200]:
        text = _spilled(tool, text, details, session)
    # Nearly always it is what was cleaned above: then the two are one text in memory.
    tool.text, tool.runs = _styled(shown if text is whole and "\x1b[" not in text else text)
    _image_of(tool, details)


def _without_tail(text: str) -> str:
    """What a subagent answered, without the few lines for the program behind it."""
    start = max(0, len(text) - 4000)
    for tail in (_AGENT_TAIL, _USAGE_TAIL):
        if match := tail.search(text, start):
            text = text[: match.start()]
    return text


def _add_details(output: dict[str, Any], details: Object) -> None:
    """What SpecStory adds to an output from `toolUseResult`: small facts, no bodies."""
    for key in ("type", "filePath"):
        if isinstance(details.get(key), str):
            output[key] = clean(details[key])


def _content(content: object) -> tuple[str, list[Part]]:
    """The text of a result and its images. References to tools are named, what is unknown is shown as it is."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, Sequence):
        return ("", []) if content is None else (as_json(content), [])
    texts: list[str] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            kind = block.get("type")
            if kind == "text":
                texts.append(text_of(block.get("text")))
            elif kind == "tool_reference":
                texts.append(text_of(block.get("tool_name")))
            elif kind == "web_search_result":
                texts.append(f"{text_of(block.get('title'))}\n{text_of(block.get('url'))}")
            elif kind == "resource_link":  # faults f21
                texts.append(f"{text_of(block.get('name'))} {text_of(block.get('uri'))}".strip())
            elif kind == "resource":
                inner = dict_of(block.get("resource"))
                texts.append(f"{text_of(inner.get('uri'))}\n{text_of(inner.get('text'))}".strip() or as_json(block))
            elif kind not in ("image", "document"):
                texts.append(as_json(block))
    return "\n".join(text for text in texts if text), media_parts(content)


def _unwrapped(text: str) -> str:
    """Without the tag around an error."""
    bare = text.strip()
    if bare.startswith("<tool_use_error>") and bare.endswith("</tool_use_error>"):
        return bare[len("<tool_use_error>") : -len("</tool_use_error>")]
    return text


def _shell(tool: Tool, text: str, failed: bool, details: Object, facts: dict[str, Any]) -> str:
    """The output of a shell tool: without the line that says the exit code, streams without their tags."""
    task = details.get("task")
    code = details.get("exitCode", task.get("exitCode") if isinstance(task, dict) else None)
    if isinstance(code, int) and not isinstance(code, bool):
        tool.exit_code = code
    if failed and (match := _EXIT.match(text)):
        tool.exit_code = int(match[1])
        text = text[match.end() :]
    elif tool.name in ("BashOutput", "TaskOutput") and (found := _STREAMS.findall(text)):
        text = "\n".join(body for _, body in found if body.strip())
    for key, name in (("returnCodeInterpretation", "returnCode"), ("backgroundTaskId", "backgroundTask")):
        if isinstance(details.get(key), str):
            facts[name] = clean(details[key])
    return text


def _spilled(tool: Tool, text: str, details: Object, session: Path) -> str:
    """The whole output from the file beside the session, else the longest piece that the session holds, and a line that
    says so (faults f26). What a subagent answered stands in its details.

    The recorded path is another machine's and not to be trusted: only its last part counts, in this session's folder.
    """
    tool.spilled = True
    match = _SPILLED_TO.search(text)
    where = match[1] if match else text_of(details.get("persistedOutputPath"))
    name = re.split(r"[/\\]", where.strip())[-1]
    if (whole := _read_spilled(side_dir(session) / "tool-results", name)) is not None:
        return whole
    _, _, preview = text.partition("Preview (first")
    preview = preview.partition("\n")[2].replace("</persisted-output>", "").rstrip("\n")
    if tool.name in _AGENTS and (answer := "\n".join(texts_of(details.get("content")))):
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


def _styled(text: str) -> tuple[str, list[Run]]:
    shown, runs = clean_styled(text)
    stripped = shown.rstrip("\n")
    if len(stripped) == len(shown):
        return shown, runs
    end = len(stripped)
    return stripped, [Run(run.start, min(run.end, end), run.sgr) for run in runs if run.start < end]


def _image_of(tool: Tool, details: Object) -> None:
    """An image that Read gave back: its size stands in `toolUseResult`."""
    file = details.get("file")
    if details.get("type") == "image" and isinstance(file, dict):
        size = as_count(file.get("originalSize"))
        if not tool.images:
            source = {"media_type": file.get("type"), "data": file.get("base64")}
            tool.images = [media_part({"type": "image", "source": source})]
        if size is not None:
            tool.images[0].size = size


def _seconds(details: Object) -> float | None:
    for key, unit in (("durationMs", 1000.0), ("totalDurationMs", 1000.0), ("durationSeconds", 1.0)):
        value = details.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            return value / unit
    return None


def diffs_of(tool: Tool, details: Object) -> list[FileDiff]:
    """What a tool changed: from `structuredPatch`, else from the texts in its input.

    A refused or failed edit changed nothing; one without a result is shown as what was asked for.
    """
    name, given = tool.name, tool.input
    if name not in _WRITERS or tool.status not in (ToolStatus.OK, ToolStatus.PENDING, ToolStatus.BACKGROUND):
        return []
    path = text_of(details.get("filePath")) or text_of(given.get("file_path"))
    diff = from_structured_patch(path, details.get("structuredPatch"))
    if diff is not None and diff.hunks:
        return [diff]
    if name == "Write":
        content = given.get("content", details.get("content"))
        # Without the old text an overwritten file can only be shown as what it became.
        return [added_file(path, content)] if isinstance(content, str) and content else []
    edits = given.get("edits") if name == "MultiEdit" else [given]
    whole = FileDiff(clean(path))
    for edit in edits if isinstance(edits, list) else []:
        if isinstance(edit, dict):
            old, new = edit.get("old_string"), edit.get("new_string")
            if isinstance(old, str) and isinstance(new, str):
                whole.hunks += from_strings(path, old, new).hunks
    return [whole] if whole.hunks else []

"""A tool use and its result as a person reads them (formats note 7)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas.clean import Run, clean, clean_styled, clean_value
from schemas.diffs import FileDiff, added_file, from_strings, from_structured_patch
from schemas.message import Part, Tool, ToolStatus, ToolType
from schemas.path_hints import input_path_hints, resolve_hints, shell_path_hints
from schemas.providers.claude.classify import INTERRUPT_START, fold_reminders, is_refusal
from schemas.providers.claude.locate import side_dir
from schemas.providers.claude.media import media_part, media_parts
from schemas.usage import as_count

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
_SPILLED_TO = re.compile(r"Full output saved to: (.+)")
_AGENT_TAIL = re.compile(r"\n*agentId: [A-Za-z0-9_-]+ \([^\n]*\)[^\n]*(?:\s*<usage>.*?</usage>)?\s*\Z", re.DOTALL)
_USAGE_TAIL = re.compile(r"\s*<usage>[^<]*</usage>\s*\Z")
_MOST_SPILLED = 16 << 20
_STREAMS = re.compile(r"<(stdout|stderr|output)>\n?(.*?)\n?</\1>", re.DOTALL)

Object = Mapping[str, Any]


def tool_type(name: str) -> ToolType:
    """SessionData's classification of a tool."""
    return _TYPES.get(name.lower(), "unknown")


def build_tool(use: Object, result: Object | None, extra: object, session: Path) -> tuple[Tool, dict[str, Any]]:
    """The tool of a `tool_use` block, its `tool_result` block and the line's `toolUseResult`; and facts beside it.

    `session` is the session's file, beside which spilled outputs lie. Everything can be drawn from the two blocks
    alone: subagents' files carry no `toolUseResult`.
    """
    name = _string(use.get("name"))
    given = use.get("input")
    tool = Tool(
        name=clean(name) or "(unnamed tool)",
        type=tool_type(name),
        use_id=clean(_string(use.get("id"))),
        input=_input(given),
        status=ToolStatus.PENDING,
    )
    facts: dict[str, Any] = {}
    details = extra if isinstance(extra, dict) else {}
    if result is not None:
        _take_result(tool, result, extra, session, facts)
        tool.seconds = _seconds(details)
    # A refused or failed edit changed nothing; one without a result is shown as what was asked for.
    if name in _WRITERS and tool.status in (ToolStatus.OK, ToolStatus.PENDING, ToolStatus.BACKGROUND):
        tool.diffs = _diffs(name, given if isinstance(given, dict) else {}, details)
    return tool, facts


def tool_path_hints(tool: Tool, cwd: str | None, root: str | None) -> list[str]:
    """The files a tool use names or writes, as seen from the workspace (interchange note 2.4)."""
    paths = input_path_hints(tool.input)
    if tool.type == "shell":
        command = tool.input.get("command", tool.input.get("cmd"))
        paths += shell_path_hints(command) if isinstance(command, str) else []
    return resolve_hints(paths, cwd, root)


def _input(given: object) -> dict[str, Any]:
    """The input; when the model's JSON was broken its raw text stands under `raw`."""
    if not isinstance(given, dict):
        return {} if given is None else {"input": clean_value(given)}
    broken = given.get("__unparsedToolInput")
    if isinstance(broken, dict) and isinstance(broken.get("raw"), str):
        return {"raw": clean(broken["raw"])}
    value: dict[str, Any] = clean_value(given)
    return value


def _take_result(tool: Tool, result: Object, extra: object, session: Path, facts: dict[str, Any]) -> None:
    details = extra if isinstance(extra, dict) else {}
    failed = result.get("is_error") is True
    text, tool.images = _content(result.get("content"))
    text, reminders = fold_reminders(text)
    if reminders:
        facts["reminders"] = [clean(reminder) for reminder in reminders]
    whole, shown = text, clean(text)
    tool.output = {"content": shown, "is_error": failed}
    _add_details(tool.output, details)
    tool.status = _status(text, failed, extra, result)
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


def _status(text: str, failed: bool, extra: object, result: Object) -> ToolStatus:
    said = extra if isinstance(extra, str) else ""
    if failed:
        denial = result.get("denial")
        if denial == "interrupted" or text.startswith(INTERRUPT_START) or said.startswith(INTERRUPT_START):
            return ToolStatus.INTERRUPTED
        if is_refusal(text) or is_refusal(said) or isinstance(denial, str):
            return ToolStatus.DENIED
        return ToolStatus.ERROR
    if isinstance(extra, dict):
        if extra.get("interrupted") is True:
            return ToolStatus.INTERRUPTED
        if extra.get("backgroundTaskId") or extra.get("isAsync") is True or extra.get("status") == "async_launched":
            return ToolStatus.BACKGROUND
    return ToolStatus.OK


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
        return ("", []) if content is None else (str(clean_value(content)), [])
    texts: list[str] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            kind = block.get("type")
            if kind == "text":
                texts.append(_string(block.get("text")))
            elif kind == "tool_reference":
                texts.append(_string(block.get("tool_name")))
            elif kind == "web_search_result":
                texts.append(f"{_string(block.get('title'))}\n{_string(block.get('url'))}")
            elif kind not in ("image", "document"):
                texts.append(str(clean_value(block)))
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
    """The whole output from the file beside the session, else the longest piece that the session holds.

    The recorded path is another machine's and not to be trusted: only its last part counts, in this session's folder.
    """
    tool.spilled = True
    match = _SPILLED_TO.search(text)
    where = match[1] if match else _string(details.get("persistedOutputPath"))
    name = re.split(r"[/\\]", where.strip())[-1]
    if (whole := _read_spilled(side_dir(session) / "tool-results", name)) is not None:
        return whole
    _, _, preview = text.partition("Preview (first")
    preview = preview.partition("\n")[2].replace("</persisted-output>", "").rstrip("\n")
    stdout = details.get("stdout")
    longer = stdout if isinstance(stdout, str) and len(stdout) > len(preview) else ""
    return longer or preview or text


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


def _diffs(name: str, given: Object, details: Object) -> list[FileDiff]:
    """What the tool changed: from `structuredPatch`, else from the texts in its input."""
    path = _string(details.get("filePath")) or _string(given.get("file_path"))
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


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""

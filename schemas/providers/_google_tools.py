"""Tools of Gemini CLI and Qwen Code: their types, and a use with its result (formats/gemini-qwen-cursor.md 1, 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.clean import Run, Sgr, as_json, clean, clean_styled, clean_value
from schemas.diffs import FileDiff, added_file, from_strings, from_unified
from schemas.message import Part, Tool, ToolStatus, ToolType
from schemas.path_hints import input_path_hints, resolve_hints, shell_directory, shell_path_hints
from schemas.providers._google import Data, media_in, parts_of
from schemas.values import dict_of, list_of, text_of

_TYPES: dict[str, ToolType] = {
    **dict.fromkeys(("write_file", "replace", "smart_edit", "edit"), "write"),
    **dict.fromkeys(("read_file", "read_many_files", "web_fetch"), "read"),
    **dict.fromkeys(("search_file_content", "google_web_search", "glob", "grep_search", "web_search"), "search"),
    **dict.fromkeys(("run_shell_command", "list_directory"), "shell"),
    **dict.fromkeys(("write_todos", "todo_write"), "task"),
    **dict.fromkeys(
        (
            "save_memory",
            "codebase_investigator",
            "delegate_to_agent",
            "invoke_agent",
            "activate_skill",
            "ask_user",
            "task",
            "agent",
            "skill",
            "ask_user_question",
            "exit_plan_mode",
        ),
        "generic",
    ),
}
"""Interchange note 5.1, and what it forgot: grep_search (search_file_content's new name) and agents; Qwen's own."""
_WRITERS = frozenset({"write_file", "replace", "smart_edit", "edit"})
_SHELLS = frozenset({"run_shell_command"})
_RUNNING = frozenset({"validating", "scheduled", "executing", "awaiting_approval", "pending", "running"})
_DENIED = re.compile(r"\b(?:denied|did not allow|rejected|not allowed|blocked by policy)\b", re.IGNORECASE)
_BACKGROUND = re.compile(
    r"Command (?:moved to|started in|is running in) (?:the )?background\b|Background shell started"
)
_UNTRUSTED = re.compile(r"\A(Output too large\.[^\n]*\n)?<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)
_COMMAND = re.compile(r"\ACommand: .*?\nDirectory: [^\n]*\n(?=(?:Output|Stdout): )", re.DOTALL)
_STREAMS = re.compile(r"\AStdout: (.*)\nStderr: (.*)\Z", re.DOTALL)
# In the order in which they end the text, last first; each is there at most once.
_FOOTERS = ("Process Group PGID", "Background PIDs", "Signal", "Exit Code", "Error")
_MARKS = {"completed": "x", "in_progress": "~", "cancelled": "-", "blocked": "!"}
_HEX = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})")
_MOST_COLOURED = 200_000
"""Characters up to which a program's colours are looked for."""


class Result(NamedTuple):
    """How a tool use ended and what it said, raw."""

    text: str
    status: ToolStatus
    exit_code: int | None = None


def tool_type(name: str) -> ToolType:
    """SessionData's classification; a tool of an MCP server is generic, as with the other agents."""
    if known := _TYPES.get(name):
        return known
    return "generic" if name.startswith("mcp_") or "__" in name else "unknown"


# -- results -----------------------------------------------------------------------------------------------------------


def read_result(name: str, result: object, display: object = None, status: object = None) -> Result:
    """What a tool answered: `result` is content with functionResponse parts, `display` what its own screen showed.

    `status` is the agent's word for how it ended, or None where it has none.
    """
    text, failed, found = _answered(result)
    before, text = match.groups("") if (match := _UNTRUSTED.match(text)) else ("", text)
    code: int | None = None
    shown = display_text(display) if not text else ""
    if name in _SHELLS:
        text, code = unwrapped(text)
        text = before + text
    return Result(text or shown, _status(status, text or shown, failed, found or bool(shown), code), code)


def _answered(result: object) -> tuple[str, bool, bool]:
    """The text of the functionResponse parts, whether they are errors only, and whether there is any answer."""
    texts: list[str] = []
    answers = errors = 0
    for part in parts_of(result):
        answer = part.get("functionResponse")
        if not isinstance(answer, dict):
            if isinstance(text := part.get("text"), str):
                texts.append(text)
            continue
        answers += 1
        response = answer.get("response")
        errors += isinstance(response, dict) and "output" not in response and bool(response.get("error"))
        texts.append(_response_text(response))
    return "\n".join(text for text in texts if text), 0 < answers == errors, bool(answers or texts)


def _response_text(response: object) -> str:
    if not isinstance(response, dict):
        return response if isinstance(response, str) else "" if response is None else as_json(response, indent=True)
    for key in ("output", "error", "content", "result"):
        value = response.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, dict | list) and value:
            return _content_text(value)
    rest = {key: value for key, value in response.items() if value not in (None, "")}
    return as_json(rest, indent=True) if rest else ""


def _content_text(value: Data | list[Any]) -> str:
    """An MCP server's content is a list of text items; anything else is shown as JSON."""
    items = value if isinstance(value, list) else [value]
    texts = [text for item in items if isinstance(text := item.get("text") if isinstance(item, dict) else item, str)]
    return "\n".join(texts) if len(texts) == len(items) else as_json(value, indent=True)


def unwrapped(text: str) -> tuple[str, int | None]:
    """A shell tool's answer without the envelope that the model gets: `Output: …`, `Exit Code: 1`, and the like."""
    body = _COMMAND.sub("", text, count=1) if text.startswith("Command: ") else text
    if not body.startswith(("Output: ", "Stdout: ")):
        return text, None
    code: int | None = None
    certain = False
    for name in _FOOTERS:
        end = body.rfind("\n")
        if end < 0 or not body.startswith(f"{name}: ", end + 1):
            continue
        value = body[end + len(name) + 3 :].strip()
        if name in ("Signal", "Error") and value not in ("(none)", ""):
            break  # worth reading, and perhaps the program's own last line
        if name == "Exit Code" and re.fullmatch(r"-?\d{1,10}", value):
            code = int(value)
        certain = certain or name == "Process Group PGID"
        body = body[:end]
    else:
        code = 0 if code is None and certain and body is not text else code
    if body.startswith("Stdout: ") and (match := _STREAMS.match(body)):
        return "\n".join(stream for stream in match.groups() if stream not in ("", "(empty)")), code
    body = body.split(": ", 1)[1]
    return "" if body == "(empty)" else body, code


def _status(word: object, text: str, failed: bool, found: bool, code: int | None) -> ToolStatus:
    if word == "cancelled":
        return ToolStatus.DENIED if _DENIED.search(text[:500]) else ToolStatus.INTERRUPTED
    if (isinstance(word, str) and word in _RUNNING) or (not found and word is None):
        return ToolStatus.PENDING
    if word == "error" or failed or code:
        denied = "denied by policy" in text[:500].lower() or text.startswith("[Operation Cancelled]")
        return ToolStatus.DENIED if denied and _DENIED.search(text[:500]) else ToolStatus.ERROR
    if text.startswith("Command was cancelled by user"):
        return ToolStatus.INTERRUPTED
    return ToolStatus.BACKGROUND if _BACKGROUND.match(text) else ToolStatus.OK


# -- what the agent's screen showed ------------------------------------------------------------------------------------


def display_text(display: object) -> str:
    """A `resultDisplay` as text; empty for a diff, which is shown as one."""
    if isinstance(display, str):
        return display
    if lines := ansi_lines(display):
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines).rstrip("\n")
    data = dict_of(display)
    if not data or isinstance(data.get("fileDiff"), str):
        return ""
    if isinstance(todos := data.get("todos"), list):
        return "\n".join(_todo(dict_of(todo)) for todo in todos)
    if data.get("isSubagentProgress") or data.get("type") == "task_execution":
        return _subagent(data)
    for key in ("plan", "message", "summary", "content", "text"):
        if isinstance(text := data.get(key), str) and text:
            return text
    return as_json(data, indent=True)


def _todo(todo: Data) -> str:
    status = text_of(todo.get("status"))
    text = text_of(todo.get("description")) or text_of(todo.get("content"))
    return f"- [{_MARKS.get(status, ' ')}] {text}"


def _subagent(data: Data) -> str:
    """A subagent's progress: its result, else what it did last and why it ended."""
    if isinstance(result := data.get("result"), str) and result:
        return result
    name = text_of(data.get("agentName")) or text_of(data.get("subagentName"))
    state = text_of(data.get("state")) or text_of(data.get("status"))
    lines = [f"{name}: {state}" if name and state else name or state, text_of(data.get("taskDescription"))]
    for item in map(dict_of, list_of(data.get("recentActivity")) + list_of(data.get("toolCalls"))):
        words = (text_of(item.get("displayName")) or text_of(item.get("name")), text_of(item.get("content")))
        lines.append("- " + " ".join(w for w in (*words, f"({text_of(item.get('status'))})") if w and w != "()"))
    lines.append(text_of(data.get("terminateReason")))
    return "\n".join(line for line in lines if line)


def ansi_lines(display: object) -> list[list[tuple[str, Sgr]]]:
    """A terminal's screen as lines of coloured pieces; empty if the display is something else."""
    if isinstance(display, dict) and "ansiOutput" in display:
        display = display["ansiOutput"]
    if not isinstance(display, list) or not all(isinstance(line, list) for line in display):
        return []
    return [[_token(token) for token in line if isinstance(token, dict)] for line in display]


def _token(token: Data) -> tuple[str, Sgr]:
    sgr = Sgr(
        _colour(token.get("fg")),
        _colour(token.get("bg")),
        bold=token.get("bold") is True,
        dim=token.get("dim") is True,
        italic=token.get("italic") is True,
        underline=token.get("underline") is True,
        reverse=token.get("inverse") is True,
    )
    return text_of(token.get("text")), sgr


def _colour(value: object) -> tuple[int, int, int] | None:
    match = _HEX.fullmatch(value) if isinstance(value, str) else None
    return (int(match[1], 16), int(match[2], 16), int(match[3], 16)) if match else None


def _coloured(text: str, display: object) -> list[Run]:
    """The colours that the screen showed, laid over the text that the model got.

    The text is the whole output; the screen's copy is wrapped and padded to a terminal's width and may be only its
    end. So both are compared without white space, and where they agree the colours hold.
    """
    if len(text) > _MOST_COLOURED:
        return []
    styles: list[Sgr] = []
    letters: list[str] = []
    for line in ansi_lines(display):
        for piece, sgr in line:
            seen = "".join(clean(piece).split())
            letters.append(seen)
            styles += [sgr] * len(seen)
    places = [i for i, char in enumerate(text) if not char.isspace()]
    shown = "".join(letters)
    if not shown or not "".join(text.split()).endswith(shown):
        return []
    runs: list[Run] = []
    for place, sgr in zip(places[len(places) - len(styles) :], styles, strict=True):
        if sgr == Sgr():
            continue
        last = runs[-1] if runs else None
        if (
            last is not None
            and last.sgr == sgr
            and not text[last.end : place].strip()
            and "\n" not in text[last.end : place]
        ):
            runs[-1] = last._replace(end=place + 1)
        else:
            runs.append(Run(place, place + 1, sgr))
    return runs


# -- a tool use --------------------------------------------------------------------------------------------------------


def make_tool(
    name: object,
    use_id: object,
    asked: object,
    result: object = None,
    display: object = None,
    status: object = None,
) -> Tool:
    """A tool use with all that is known of it, clean. `result`, `display` and `status` as `read_result` takes them."""
    plain = text_of(name)
    ended = read_result(plain, result, display, status)
    given: Data = (
        clean_value(asked) if isinstance(asked, dict) else {} if asked is None else {"input": clean_value(asked)}
    )
    tool = Tool(clean(plain) or "(unnamed tool)", tool_type(plain), clean(text_of(use_id)), given)
    tool.text, tool.runs = clean_styled(ended.text)
    tool.runs = tool.runs or _coloured(tool.text, display)
    tool.status, tool.exit_code = ended.status, ended.exit_code
    tool.images = images_in(result)
    if ended.status in (ToolStatus.OK, ToolStatus.PENDING):  # a refused or failed edit changed nothing
        tool.diffs = diffs_of(plain, dict_of(asked), display)
    if ended.status is not ToolStatus.PENDING:
        tool.output = {"content": tool.text, "is_error": ended.status in (ToolStatus.ERROR, ToolStatus.DENIED)}
        if tool.exit_code is not None:
            tool.output["exit_code"] = tool.exit_code
    return tool


def images_in(result: object) -> list[Part]:
    """The images of a result: further parts of it, or parts within its functionResponse."""
    found = media_in(result)
    for part in parts_of(result):
        found += media_in(dict_of(part.get("functionResponse")).get("parts"))
    return found


def diffs_of(name: str, asked: Data, display: object) -> list[FileDiff]:
    """What a tool changed: the agent's own diff, else what it was asked to write."""
    data = dict_of(display)
    path = text_of(data.get("filePath")) or text_of(asked.get("file_path")) or text_of(asked.get("path"))
    path = path or text_of(data.get("fileName"))
    patch = data.get("fileDiff")
    # Qwen Code replaces a diff over 50,000 characters by a made-up one of two lines (note 2.2).
    if isinstance(patch, str) and not data.get("fileDiffTruncated", data.get("truncatedForSession")):
        is_new = data["isNewFile"] is True if "isNewFile" in data else data.get("originalContent", "") is None
        diff = from_unified(path, patch, "add" if is_new else "update")
        return [diff] if diff.hunks or not patch.strip() else []
    if name not in _WRITERS or not path:
        return []
    old, new, content = asked.get("old_string"), asked.get("new_string"), asked.get("content")
    if isinstance(old, str) and isinstance(new, str):
        return [from_strings(path, old, new)]
    return [added_file(path, content)] if isinstance(content, str) else []


def hints_of(tool: Tool, cwd: str | None, root: str | None) -> list[str]:
    """The files a tool use names, changes or writes, as seen from the workspace (interchange note 2.4)."""
    place = shell_directory(tool.input, cwd or root) if tool.name in _SHELLS else cwd
    return resolve_hints(list(dict.fromkeys(_hints(tool))), place, root)


def _hints(tool: Tool) -> Iterator[str]:
    yield from input_path_hints(tool.input)
    if isinstance(path := tool.input.get("absolute_path"), str):
        yield path
    for diff in tool.diffs:
        yield diff.path
    if tool.name in _SHELLS and isinstance(command := tool.input.get("command"), str):
        yield from shell_path_hints(command)

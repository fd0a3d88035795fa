"""Cursor's tools: their names and types, what they were asked and what they gave back (formats note 3.2).

A result is a text, a list of content parts or any JSON; beside it may stand the same result as Cursor's own program
reads it, an object with one of `success`, `failure`, `error`, `rejected` in it.
"""

from __future__ import annotations

import re
from typing import Any

from schemas.clean import as_json, one_line
from schemas.diffs import NEW_TEXTS, OLD_TEXTS, FileDiff, added_file, from_strings, from_unified, from_v4a
from schemas.message import Part, Tool, ToolStatus, ToolType
from schemas.providers.kit.blocks import image_part
from schemas.providers.kit.words import Answer, Task
from schemas.values import dict_of, list_of, number, text_of, whole

_NAMES: dict[ToolType, str] = {
    "write": "Write StrReplace MultiStrReplace Delete ApplyPatch EditNotebook edit_file edit_file_v2 MultiEdit reapply"
    " edit_notebook search_replace write delete_file apply_patch Edit edit delete",
    "read": "Read ReadFile WebFetch read_file read_file_v2 read fetch web_fetch",
    "search": "Grep rg Glob SemanticSearch WebSearch grep ripgrep grep_search list_directory file_search list_dir"
    " glob_file_search list_dir_v2 codebase_search semantic_search sem_search ripgrep_raw_search glob web_search",
    "shell": "Shell LS Await AwaitShell WriteShellStdin run_terminal_cmd run_terminal_command shell ls"
    " run_terminal_command_v2 write_shell_stdin",
    "task": "TodoWrite UpdateCurrentStep todo_write update_todos",
    "generic": "Task Subagent ReadLints AskQuestion SwitchMode CreatePlan CallMcpTool FetchMcpResource task task_v2"
    " ListMcpResources read_lints ask_question switch_mode create_plan call_mcp_tool mcp list_mcp_resources"
    " fetch_mcp_resource",
}
TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Interchange note 5.1, and the names that came after it; of the editor too, whose agent writes transcripts."""
SPAWNS = frozenset({"Task", "Subagent", "task", "task_v2"})
"""Tools that start a subagent."""
_PATHS = ("path", "file_path", "target_file", "filePath", "target_notebook", "notebook_path")
_CONTENTS = ("contents", "content", "file_text", "fileText")
_SERVER = re.compile(r"[A-Za-z0-9_]+-[A-Za-z0-9_-]+")
_CALL_NUMBER = re.compile(r":\d{1,6}$")
_PATCH_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: ", re.MULTILINE)
_NEW_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)


def tool_name(name: object) -> str:
    """A tool's name without the `functions.` before it and the number of the call behind it."""
    text = one_line(text_of(name))
    return _CALL_NUMBER.sub("", text.removeprefix("functions.")) if text.startswith("functions.") else text


def tool_type(name: str) -> ToolType:
    """SessionData's type of a tool. Tools of MCP servers are named `server-tool` or `mcp_server_tool`."""
    foreign = name.startswith(("mcp_", "mcp-")) or "__" in name or _SERVER.fullmatch(name)
    return TYPES.get(name, "generic" if foreign else "unknown")


def task_of(name: str, asked: dict[str, Any]) -> Task | None:
    """What a tool use that starts a subagent says of it."""
    names = ("subagent_type", "description", "prompt")
    return Task(*(text_of(asked.get(key)) for key in names)) if name in SPAWNS else None


# -- results -----------------------------------------------------------------------------------------------------------

_EXIT = re.compile(r"\AExit code: (-?\d{1,10})[ \t]*(?:\n|\Z)")
_FENCED = re.compile(r"\s*Command output:\s*```[^\n]*\n")
_REMARKS = re.compile(r"\s*(?:Command completed in (\d{1,12})(?:\.\d+)? ?ms\.?)?(?:\s*Shell state [^\n]{0,300})?")
_WORKSPACE = re.compile(r"^</?workspace_result(?:\s[^<>\n]{0,4200})?>[ \t]*\n?", re.MULTILINE)
_UNTRUSTED = re.compile(r"\A<(cursor_untrusted_data\w{0,40})(?:\s[^<>\n]{0,200})?>\n?")
_DENIED = re.compile(
    r"\A(?:Error: )?(?:Rejected(?: by (?:the )?user)?\b"
    r"|(?:The )?user (?:has )?(?:rejected|declined|denied|skipped|chose to skip))",
    re.IGNORECASE,
)
_LONGEST_REFUSAL, _DEEPEST = 500, 8
_SAYS = ("interleavedOutput", "content", "output", "text", "result", "message", "error", "errorMessage", "reason")
STATES = {
    "success": ToolStatus.OK, "failure": ToolStatus.ERROR, "error": ToolStatus.ERROR, "timeout": ToolStatus.ERROR,
    "permissionDenied": ToolStatus.ERROR, "rejected": ToolStatus.DENIED, "aborted": ToolStatus.INTERRUPTED,
    "cancelled": ToolStatus.INTERRUPTED,
}  # fmt: skip
_RANKS = [ToolStatus.OK, ToolStatus.BACKGROUND, ToolStatus.ERROR, ToolStatus.INTERRUPTED, ToolStatus.DENIED]


def answer_of(said: object, beside: object = None, *, use_id: str = "", failed: bool = False) -> Answer:
    """A result out of its envelopes, and what Cursor's program knows of it (`highLevelToolCallResult`): facts count as
    that has them, words as the result itself does.
    """
    answer = Answer(use_id, details={})
    _take(answer, said)
    words, known = answer.text, dict_of(beside)
    output = dict_of(known.get("output"))
    if any(isinstance(output.get(state), dict) for state in STATES):
        _take(answer, output)
        answer.text = words or answer.text
    text = _shell_output(answer, text_of(answer.text))
    answer.text = _WORKSPACE.sub("", text).strip("\n") if text.lstrip().startswith("<workspace_result") else text
    if len(text) < _LONGEST_REFUSAL and _DENIED.match(text):
        _end(answer, ToolStatus.DENIED)
    if failed or answer.exit_code or is_error(known) or is_error(output):
        _end(answer, ToolStatus.ERROR)
    return answer


def is_error(part: dict[str, Any]) -> bool:
    """Whether a result says of itself that it is an error."""
    return part.get("isError") is True or part.get("is_error") is True


def _end(answer: Answer, status: ToolStatus) -> None:
    answer.status = max(answer.status, status, key=_RANKS.index)


def _take(answer: Answer, value: object, depth: int = 0) -> None:
    """Take in a text, content parts, an envelope `{type, value}` or `{success: …}`, or any other JSON."""
    if isinstance(value, str):
        marked = _UNTRUSTED.match(value)
        answer.text = value[marked.end() :].rstrip().removesuffix(f"</{marked[1]}>").rstrip() if marked else value
    elif isinstance(value, list):
        texts = [
            part if isinstance(part, str) else text_of(dict_of(part).get("text")) or as_json(part, indent=True)
            for part in value
            if not is_image(part)
        ]
        answer.images = [*answer.images, *(picture(part) for part in value if is_image(part))]
        _take(answer, "\n".join(texts))
    elif isinstance(value, dict) and depth < _DEEPEST:
        _take_object(answer, value, depth + 1)
    else:
        answer.text = "" if value is None else as_json(value, indent=True)


def _take_object(answer: Answer, value: dict[str, Any], depth: int) -> None:
    kind, content = text_of(value.get("type")), value.get("content")
    state = next((name for name in STATES if isinstance(value.get(name), dict)), "")
    if kind == "execution-denied":
        _end(answer, ToolStatus.DENIED)
        answer.text = text_of(value.get("reason")) or "denied"
    elif kind and "value" in value and value.keys() <= {"type", "value", "providerOptions"}:
        _end(answer, ToolStatus.ERROR if kind.startswith("error") else ToolStatus.OK)
        _take(answer, value["value"], depth)
    elif is_image(value):
        answer.images = [*answer.images, picture(value)]
    elif kind == "text" and isinstance(value.get("text"), str):
        _take(answer, value["text"])
    elif state and len(value) <= 4:
        _end(answer, STATES[state])
        _take_facts(answer, value[state])
        answer.text = _words(value[state])
    elif isinstance(content, list | str) and value.keys() <= {"content", "isError", "is_error", "type"}:
        _end(answer, ToolStatus.ERROR if is_error(value) else ToolStatus.OK)
        _take(answer, content)
    else:
        _take_facts(answer, value)
        answer.text = as_json(value, indent=True)


def _words(body: dict[str, Any]) -> str:
    """What a person reads of a state: the output it printed or the words it holds, else all of it."""
    printed = [text for key in ("stdout", "stderr") if (text := text_of(body.get(key)))]
    if printed and not body.get("interleavedOutput"):
        return "\n".join(text.rstrip("\n") for text in printed)
    if words := next((text for key in _SAYS if (text := text_of(body.get(key)))), ""):
        return words
    return as_json(body, indent=True) if body and "exitCode" not in body and "diffString" not in body else ""


def _take_facts(answer: Answer, body: dict[str, Any]) -> None:
    codes = (code for key in ("exitCode", "exit_code") if (code := whole(body.get(key))) is not None)
    answer.exit_code = next(codes, answer.exit_code)
    took = (number(body.get(key)) for key in ("executionTime", "localExecutionTimeMs", "durationMs"))
    answer.seconds = next((ms / 1000 for ms in took if ms is not None and 0 <= ms < 1e12), answer.seconds)
    if body.get("isBackground") is True or body.get("backgroundTaskId"):
        _end(answer, ToolStatus.BACKGROUND)
    diff, path = text_of(body.get("diffString")) or text_of(body.get("diff")), text_of(body.get("path"))
    answer.details = {"diff": diff, "path": path} if diff or path else answer.details


def _shell_output(answer: Answer, text: str) -> str:
    """What a command printed, without its exit code, the fence around it and the remarks behind; other text stays."""
    if (code := _EXIT.match(text)) is None:
        return text
    answer.exit_code, rest = int(code[1]), text[code.end() :]
    fence, close = _FENCED.match(rest), rest.rfind("```")
    if fence is None or close < fence.end():
        return rest.strip("\n")
    printed, tail = rest[fence.end() : close].rstrip("\n"), rest[close + 3 :]
    if (remarks := _REMARKS.match(tail)) is not None:
        answer.seconds = int(remarks[1]) / 1000 if remarks[1] else answer.seconds
        tail = tail[remarks.end() :].strip()
    return f"{printed}\n\n{tail}" if tail else printed


def is_image(part: object) -> bool:
    """Whether a content part is an image, or a file that is one."""
    part = dict_of(part)
    media = text_of(part.get("mediaType")) or text_of(part.get("mimeType"))
    return part.get("type") in ("image", "image-data", "image-url", "image_url", "media") or (
        part.get("type") in ("file", "file-data") and media.startswith("image/")
    )


def picture(part: dict[str, Any]) -> Part:
    """An image or another file; its data is base64 text, a data URL, an address, or an object around one of them."""
    inner = next(
        (dict_of(part[key]) for key in ("image", "file", "image_url") if isinstance(part.get(key), dict)), part
    )
    holders = (part, inner)
    media = next(
        (text for one in holders for key in ("mediaType", "mimeType", "media_type") if (text := text_of(one.get(key)))),
        "",
    )
    data = next(
        (text for key in ("image", "data", "url", "image_url", "base64") if (text := text_of(inner.get(key)))), ""
    )
    if data.startswith("data:"):
        head, _, data = data.partition(",")
        media = media or head[5:].partition(";")[0]
    elif "://" in data[:12]:
        return image_part(media, None, data[:300])
    return image_part(media, data, part.get("filename"))


# -- what was changed --------------------------------------------------------------------------------------------------


def diffs_of(tool: Tool, answer: Answer | None) -> list[FileDiff]:
    """What a tool changed: by the difference that Cursor recorded, else by what it was asked. A use that failed changed
    nothing.
    """
    if tool.type != "write" or tool.status in (ToolStatus.ERROR, ToolStatus.DENIED):
        return []
    asked, known = tool.input, dict_of(answer.details if answer is not None else None)
    path, diff = _first(asked, _PATHS) or text_of(known.get("path")), text_of(known.get("diff"))
    patch = diff if "@@ -" in diff else text_of(asked.get("patch")) or text_of(asked.get("input"))
    if _PATCH_FILE.search(patch):
        return from_v4a(patch)
    if not path and (named := _NEW_FILE.search(patch)):
        path = named[1].strip()
    changed = from_unified(path, patch)
    if not path or changed.hunks:
        return [changed] if path else []
    if tool.name in ("Delete", "delete_file", "delete"):
        return [FileDiff(path, "delete")]
    for edit in map(dict_of, list_of(asked.get("edits")) or [asked]):
        if (old := _first(edit, OLD_TEXTS)) + (new := _first(edit, NEW_TEXTS)):
            changed.hunks += from_strings(path, old, new).hunks
    if changed.hunks:
        return [changed]
    # The old text is not told, so a file that was there before can only be shown as what it became.
    content = _first(asked, _CONTENTS) if tool.name in ("Write", "write") else ""
    return [added_file(path, content)] if content else []


def _first(asked: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if (text := text_of(asked.get(key)))), "")

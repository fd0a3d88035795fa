"""The forms that Gemini CLI and its fork Qwen Code share: lists of parts, injected context, token counts, tools.

Both hand Google's `Content` objects to disk (formats/gemini-qwen-cursor.md 1.4): a string, a part, or a list of either.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import Run, Sgr, as_json, clean
from schemas.diffs import FileDiff, from_unified, path_asked
from schemas.message import Part, Tool, ToolStatus, ToolType
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.bases import Data
from schemas.providers.kit.blocks import image_part
from schemas.providers.kit.words import Answer, Use
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, given, list_of, text_of

SUMMARY = "Summary of the earlier conversation"
_CONTEXTS = {
    "[Function Response: ": "Results of tools",
    "<state_snapshot>": SUMMARY,
    "<session_context>": "Session context",
    "<hook_context>": "Context from a hook",
    "This is the Gemini CLI.": "Session context",
    "This is the Qwen Code.": "Session context",
}
_REMINDER = re.compile(r"\s*You [^.\n]{1,100}\. You have one final chance to complete the task")
"""What a subagent is told that ended without its answer, or ran out of time or turns (found-…, G6)."""
_QUIET = frozenset({"thoughtSignature", "thought_signature", "thought", "videoMetadata", "mediaResolution"})


def parts_of(content: object) -> list[Data]:
    """Content as a list of parts; a string is a text part, and what is neither stays readable as one."""
    items = content if isinstance(content, list) else [content]
    return [
        item if isinstance(item, dict) else {"text": item if isinstance(item, str) else as_json(item, indent=True)}
        for item in items
        if item is not None
    ]


class Content(NamedTuple):
    """The contents of a list of parts, each kind in order, raw."""

    texts: list[str]
    """Those that are meant to be read."""
    thoughts: list[str]
    media: list[Part]
    """The placeholders of images and files."""
    calls: list[Data]
    """Tool uses."""
    responses: list[list[Data]]
    """The parts that are results, each with those behind it, which are its own: pictures, and the texts of files."""

    @property
    def text(self) -> str:
        """The texts, joined as they stood."""
        return "".join(self.texts)


def content_of(content: object) -> Content:
    """Take content apart."""
    found = Content([], [], [], [], [])
    if isinstance(content, str):  # as most answers are
        found.texts.append(content)
        return found
    for part in parts_of(content):
        call, response, text = part.get("functionCall"), part.get("functionResponse"), part.get("text")
        if isinstance(response, dict):
            found.responses.append([])
        if found.responses:
            found.responses[-1].append(part)
        if isinstance(call, dict):
            found.calls.append(call)
        elif isinstance(response, dict):
            continue
        elif isinstance(inline := part.get("inlineData"), dict):
            found.media.append(image_part(inline.get("mimeType"), inline.get("data"), inline.get("displayName")))
        elif isinstance(file := part.get("fileData"), dict):  # elsewhere, under an address
            found.media.append(image_part(file.get("mimeType"), None, file.get("fileUri")))
        elif isinstance(text, str):
            (found.thoughts if part.get("thought") else found.texts).append(text)
        elif part.keys() - _QUIET:  # as JSON: code that the model ran, and what it printed, too
            found.texts.append(as_json(part, indent=True))
    return found


def context_label(text: str) -> str:
    """Return the label of a user's text that no person typed (note 1.6); empty for a prompt."""
    if _REMINDER.match(text):
        return "Reminder from the program"
    start = text.lstrip()[:200]
    return next((label for begins, label in _CONTEXTS.items() if start.startswith(begins)), "")


def snapshot_text(text: str) -> str:
    """The summary without the tags around it."""
    if "<state_snapshot>" not in text:
        return text
    return re.sub(r"(?s)\s*<state_snapshot>\n?(.*?)\n?</state_snapshot>\s*", r"\1", text, count=1)


def normalised(*counts: object, thoughts_inside: bool = False) -> TokenUsage | None:
    """One model call's prompt, output, cached, thoughts and tool as turnlog counts; None where none is given.

    The prompt includes what was cached; `tool` (the results of built-in tools, read as further input) is apart from it,
    so that the parts sum to Google's total. Thinking is output and lies outside of that unless `thoughts_inside` (note
    1.5, 2.4). More cached than the prompt, which no real file shows, is cut to it: the pieces must not overlap.
    """
    read, written, hit, thought, extra = map(as_count, counts)
    if hit is not None and read is not None:
        hit = min(hit, read)
        read -= hit
    if extra is not None:
        read = extra + (read or 0)
    if thought and not thoughts_inside:
        written = thought + (written or 0)
    usage = TokenUsage(read, written, hit, None, thought)
    return None if usage.count(None) == len(usage) else usage


_NAMES: dict[ToolType, str] = {
    "write": "write_file replace smart_edit edit",
    "read": "read_file read_many_files web_fetch",
    "search": "search_file_content google_web_search glob grep_search web_search",
    "shell": "run_shell_command list_directory",
    "task": "write_todos todo_write",
    "generic": "save_memory codebase_investigator delegate_to_agent invoke_agent activate_skill ask_user task agent"
    " skill ask_user_question exit_plan_mode",
}
TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Interchange note 5.1, and what it forgot: grep_search (search_file_content's new name) and agents; Qwen's own."""
_RUNNING = frozenset({"validating", "scheduled", "executing", "awaiting_approval", "pending", "running"})
_REFUSED = re.compile(r"(?i:denied by policy)|\A\[Operation Cancelled\]|, but that permission was declined\.\Z")
_DENIED = re.compile(r"\b(?:denied|did not allow|rejected|not allowed|blocked by policy)\b", re.IGNORECASE)
_BACKGROUND = re.compile(
    r"Command (?:moved to|started in|is running in) (?:the )?background\b|Background shell started"
)
_UNTRUSTED = re.compile(r"\A(Output too large\.[^\n]*\n)?<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)
_COMMAND = re.compile(r"\ACommand: .*?\nDirectory: [^\n]*\n(?=Output: )", re.DOTALL)
# In the order in which they end the text, last first; each is there at most once.
_FOOTERS = ("Process Group PGID", "Background PIDs", "Signal", "Exit Code", "Error")


class Told(NamedTuple):
    """A result as it was told: what the agent's own screen showed, and what the model got, a shell's envelope too."""

    display: Any = None
    text: str = ""


def answer_of(use_id: str, name: str, result: object, display: object = None, status: object = None) -> Answer:
    """The result of a use of the tool `name`, with a `Told`: `result` is content with functionResponse parts, `status`
    the agent's word for how it ended, if it has one.
    """
    said, texts, failed = content_of(result), list[str](), list[bool]()
    for answer in (parts[0]["functionResponse"] for parts in said.responses):
        response = answer.get("response")
        given = dict_of(response)
        failed.append("output" not in given and bool(given.get("error")))
        # What another tool than the agents' own says may be any JSON.
        whole = given if any(given.values()) else text_of(response)
        held = next((given[key] for key in ("output", "error") if given.get(key)), whole)
        texts.append(held if isinstance(held, str) else as_json(held, indent=True))
        said.media.extend(content_of(answer["parts"]).media if "parts" in answer else ())
    text = "\n".join(filter(None, texts + said.texts))
    told = Told(display, text)
    before, text = match.groups("") if (match := _UNTRUSTED.match(text)) else ("", text)
    shown = display_text(display) if not text else ""
    text, code = unwrapped(text) if name == "run_shell_command" else (text, None)
    text = before + text or shown
    ended = _status(status, text, bool(failed) and all(failed), bool(failed or any(said.texts) or shown), code)
    return Answer(use_id, text, ended, code, images=said.media, details=told)


def unwrapped(text: str) -> tuple[str, int | None]:
    """A shell tool's answer without the envelope that the model gets: `Output: …`, `Exit Code: 1`, and the like."""
    body = _COMMAND.sub("", text, count=1) if text.startswith("Command: ") else text
    if not body.startswith("Output: "):
        return text, None
    code: int | None = None
    for name in _FOOTERS:
        end = body.rfind("\n")
        if end < 0 or not body.startswith(f"{name}: ", end + 1):
            continue
        value = body[end + len(name) + 3 :].strip()
        if name in ("Signal", "Error") and value not in ("(none)", ""):
            return body[8:], code  # worth reading, and perhaps the program's own last line
        if name == "Exit Code" and re.fullmatch(r"-?\d{1,10}", value):
            code = int(value)
        body = body[:end]
    if code is None and "\nProcess Group PGID: " in text:
        code = 0
    return "" if body == "Output: (empty)" else body[8:], code


def _status(word: object, text: str, failed: bool, found: bool, code: int | None) -> ToolStatus:
    if word == "cancelled":
        return ToolStatus.DENIED if _DENIED.search(text[:500]) else ToolStatus.INTERRUPTED
    if (isinstance(word, str) and word in _RUNNING) or (not found and word is None):
        return ToolStatus.PENDING
    if word == "error" or failed or code:
        return ToolStatus.DENIED if _REFUSED.search(text[:500]) else ToolStatus.ERROR
    return ToolStatus.BACKGROUND if _BACKGROUND.match(text) else ToolStatus.OK


def display_text(display: object) -> str:
    """A `resultDisplay` as text; empty for a diff, which is shown as one."""
    if isinstance(display, str):
        return display
    if lines := ansi_lines(display):
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines).rstrip("\n")
    data = dict_of(display)
    if not data or isinstance(data.get("fileDiff"), str):
        return ""
    if todos := list_of(data.get("todos")):
        marks = ("x" if dict_of(one).get("status") == "completed" else " " for one in todos)
        words = (text_of(one.get("description")) or text_of(one.get("content")) for one in map(dict_of, todos))
        return "\n".join(f"- [{mark}] {text}" for mark, text in zip(marks, words, strict=True))
    told = (text_of(data.get(key)) for key in ("result", "summary", "message"))
    return next(filter(None, told), "") or as_json(data, indent=True)


def ansi_lines(display: object) -> list[list[tuple[str, Sgr]]]:
    """A terminal's screen as lines of coloured pieces; empty if the display is something else."""
    lines = list_of(display.get("ansiOutput") if isinstance(display, dict) else display)
    if not all(isinstance(line, list) for line in lines):
        return []
    return [[_token(token) for token in line if isinstance(token, dict)] for line in lines]


def _token(token: Data) -> tuple[str, Sgr]:
    styles = {style: token.get(style) is True for style in ("bold", "dim", "italic", "underline")}
    colours = _colour(token.get("fg")), _colour(token.get("bg"))
    return text_of(token.get("text")), Sgr(*colours, **styles, reverse=token.get("inverse") is True)


def _colour(value: object) -> tuple[int, int, int] | None:
    match = re.fullmatch("#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})", text_of(value))
    return (int(match[1], 16), int(match[2], 16), int(match[3], 16)) if match else None


def _coloured(text: str, display: object) -> list[Run]:
    """The colours that the screen showed, laid over the text that the model got.

    The text is the whole output; the screen's copy is wrapped and padded to a terminal's width and may be only its
    end. So both are compared without white space, and where they agree the colours hold.
    """
    if len(text) > 200_000:  # it would take too long
        return []
    seen = [
        (char, sgr) for line in ansi_lines(display) for piece, sgr in line for char in "".join(clean(piece).split())
    ]
    places = [i for i, char in enumerate(text) if not char.isspace()][-len(seen) :] if seen else []
    if [text[place] for place in places] != [char for char, _ in seen]:
        return []
    runs: list[Run] = []
    for place, (_, sgr) in zip(places, seen, strict=True):
        if runs and runs[-1].sgr == sgr and "\n" not in text[runs[-1].end : place]:
            runs[-1] = runs[-1]._replace(end=place + 1)
        else:
            runs.append(Run(place, place + 1, sgr))
    return [run for run in runs if run.sgr != Sgr()]


class Tools(Agent):
    """The tools of both agents, in files and in what they print."""

    tools, foreign, listing = TYPES, "^mcp_|__", Listing()
    reuses = True

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use with all that is known of it."""
        if answer is not None and not use.name:  # what it answers is not in the file, and its envelope says it
            answer = replace(answer, text=answer.details.text or answer.text)
        tool, facts = super().tool(use, answer, path)
        if answer is not None:
            tool.runs = tool.runs or _coloured(tool.text, answer.details.display)
            failed = tool.status in (ToolStatus.ERROR, ToolStatus.DENIED)
            tool.output = {"content": tool.text, "is_error": failed} | given(exit_code=tool.exit_code)
        return tool, facts

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool: the agent's own diff, else the text it was asked to write."""
        data = dict_of(answer.details.display) if answer is not None else {}
        patch = data.get("fileDiff")
        # Qwen Code replaces a diff over 50,000 characters by a made-up one of two lines (note 2.2).
        if not isinstance(patch, str) or data.get("fileDiffTruncated", data.get("truncatedForSession")):
            return super().diffs(tool, answer)
        if tool.status not in (ToolStatus.OK, ToolStatus.PENDING):  # a refused or failed edit changed nothing
            return []
        is_new = data["isNewFile"] is True if "isNewFile" in data else data.get("originalContent", "") is None
        path = text_of(data.get("filePath")) or path_asked(tool.input) or text_of(data.get("fileName"))
        diff = from_unified(path, patch, "add" if is_new else "update")
        return [diff] if diff.hunks or not patch.strip() else []

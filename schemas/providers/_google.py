"""What Gemini CLI and its fork Qwen Code write alike: lists of parts, injected context, token counts.

Both hand Google's `Content` objects to disk (formats/gemini-qwen-cursor.md 1.4): a string, a part, or a list of either.
Tools and their results are in `_google_tools.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from schemas.clean import as_json, clean, one_line
from schemas.message import Part
from schemas.providers.kit.keys import MILLIS, SECONDS
from schemas.usage import TokenUsage, as_count
from schemas.values import text_of, when

Data = dict[str, Any]

_CONTEXTS = {
    "<session_context>": "Session context",
    "<hook_context>": "Context from a hook",
}
_NO_FIGURES = TokenUsage()
_SETUP = ("This is the Gemini CLI.", "This is the Qwen Code.")
_REMINDER = re.compile(r"\s*You [^.\n]{1,100}\. You have one final chance to complete the task")
"""What a subagent is told that ended without its answer, or ran out of time or turns (found-…, G6)."""
_ACKNOWLEDGEMENTS = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
_QUIET = frozenset({"thoughtSignature", "thought_signature", "thought", "videoMetadata", "mediaResolution"})


# -- parts -------------------------------------------------------------------------------------------------------------


def parts_of(content: object) -> list[Data]:
    """Content as a list of parts; a string is a text part, and what is neither stays readable as one."""
    if content is None:
        return []
    parts: list[Data] = []
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict):
            parts.append(item)
        elif isinstance(item, str):
            parts.append({"text": item})
        elif item is not None:
            parts.append({"text": as_json(item, indent=True)})
    return parts


def is_thought(part: Data) -> bool:
    """Whether a part is thinking, which is no part of the answer."""
    return bool(part.get("thought")) and isinstance(part.get("text"), str)


def calls_in(content: object) -> list[Data]:
    """The `functionCall` objects in content: `{id, name, args}`."""
    if isinstance(content, str):
        return []
    return [call for part in parts_of(content) if isinstance(call := part.get("functionCall"), dict)]


def responses_in(content: object) -> list[Data]:
    """The `functionResponse` objects in content: `{id, name, response, parts}`."""
    return [answer for part in parts_of(content) if isinstance(answer := part.get("functionResponse"), dict)]


def thoughts_in(content: object) -> list[str]:
    """The texts of the thinking parts."""
    if isinstance(content, str):
        return []
    return [part["text"] for part in parts_of(content) if is_thought(part) and part["text"]]


def said(content: object) -> Iterator[str]:
    """The texts of content that are meant to be read, raw: no thinking, no tool use, no result of one, no image."""
    for part in parts_of(content):
        is_tools = isinstance(part.get("functionCall"), dict) or isinstance(part.get("functionResponse"), dict)
        if is_tools or is_thought(part) or _media(part) is not None:
            continue
        if text := _text(part):
            yield text


def said_text(content: object) -> str:
    """`said`, joined as it stood."""
    return content if isinstance(content, str) else "".join(said(content))


def media_in(content: object) -> list[Part]:
    """The placeholders of images and files in content."""
    if isinstance(content, str):
        return []
    return [media for part in parts_of(content) if (media := _media(part)) is not None]


def _text(part: Data) -> str:
    """A part's text; code that the model ran, and what it printed, are text too. Unknown parts are shown as JSON."""
    if isinstance(text := part.get("text"), str):
        return text
    if isinstance(code := part.get("executableCode"), dict):
        return f"\n```{text_of(code.get('language')).lower()}\n{text_of(code.get('code'))}\n```\n"
    if isinstance(result := part.get("codeExecutionResult"), dict):
        outcome = text_of(result.get("outcome")).removeprefix("OUTCOME_").lower()
        return f"\n```text\n{text_of(result.get('output')) or outcome}\n```\n"
    return as_json(part, indent=True) if part.keys() - _QUIET else ""


def _media(part: Data) -> Part | None:
    inline, file = part.get("inlineData"), part.get("fileData")
    if isinstance(inline, dict):
        kind = clean(text_of(inline.get("mimeType"))) or "image"
        data = inline.get("data")
        size = len(data) * 3 // 4 if isinstance(data, str) else None
        name = clean(text_of(inline.get("displayName")))
        words = ["image" if kind.startswith("image") else "file", name, "" if kind == "image" else kind]
        label = " ".join(word for word in words if word)
        return Part("image", f"[{label}, {size:,} bytes]" if size is not None else f"[{label}]", kind, size)
    if isinstance(file, dict):
        kind, uri = clean(text_of(file.get("mimeType"))), one_line(text_of(file.get("fileUri")), 300)
        return Part("image", " ".join(word for word in ("[file", kind, uri) if word) + "]", kind or None)
    return None


# -- context -----------------------------------------------------------------------------------------------------------


def context_label(text: str) -> str:
    """What a user's text is that no person typed (note 1.6); empty for a prompt."""
    start = text.lstrip()[:200]
    if is_snapshot_text(text):
        return "Summary of the earlier conversation"
    for tag, label in _CONTEXTS.items():
        if start.startswith(tag):
            return label
    if _REMINDER.match(text):
        return "Reminder from the program"
    return "Session context" if start.startswith(_SETUP) else ""


def is_snapshot_text(text: str) -> bool:
    """Whether a text is the summary that takes the place of a conversation; the model may have thought aloud first."""
    start = text.lstrip()
    return start.startswith("<state_snapshot>") or (start.startswith("<scratchpad>") and "<state_snapshot>" in start)


def is_acknowledgement(text: str) -> bool:
    """Whether an answer is what the program lets the model say to the context, or to a summary."""
    return text.strip() in _ACKNOWLEDGEMENTS


_SNAPSHOT = re.compile(r"\s*<state_snapshot>\n?(.*?)\n?</state_snapshot>\s*", re.DOTALL)


def snapshot_text(text: str) -> str:
    """The summary without the tags around it."""
    return _SNAPSHOT.sub(r"\1", text, count=1) if "<state_snapshot>" in text else text


# -- times -----------------------------------------------------------------------------------------------------------


def time_of(stamp: object) -> float | None:
    """`when`, quicker for what both agents write (`2026-07-01T10:00:04.000Z`): records share their minutes."""
    try:
        return _minute(stamp[:17]) + (SECONDS[stamp[17:20]] + MILLIS[stamp[20:]])  # type: ignore[index,operator]
    except (KeyError, TypeError):
        return when(stamp)


@lru_cache(maxsize=256)
def _minute(start: str) -> float | None:
    return when(f"{start}00.000Z")


# -- tokens ------------------------------------------------------------------------------------------------------------


def normalised(
    prompt: object,
    output: object,
    cached: object = None,
    thoughts: object = None,
    tool: object = None,
    *,
    thoughts_inside: bool = False,
) -> TokenUsage | None:
    """One model call's counts as turnlog counts; None where none is given.

    `prompt` includes `cached`; `tool` (the results of built-in tools, read as further input) is apart from it, so that
    the parts sum to Google's total. Thinking is output and lies outside `output` unless `thoughts_inside` (note 1.5,
    2.4). Where cached exceeds the prompt, which no real file shows, it is cut to it: the pieces must not overlap.
    """
    counts = as_count(prompt), as_count(output), as_count(cached), as_count(thoughts), as_count(tool)
    return usage_of(*counts, thoughts_inside)


def usage_of(
    read: int | None,
    written: int | None,
    hit: int | None,
    thought: int | None,
    extra: int | None,
    thoughts_inside: bool,
) -> TokenUsage | None:
    """The same, of figures that are counts for certain."""
    if hit is not None and read is not None:
        hit = min(hit, read)
        read -= hit
    if extra is not None:
        read = extra if read is None else read + extra
    if thought and not thoughts_inside:
        written = thought if written is None else written + thought
    usage = TokenUsage(read, written, hit, None, thought)
    return None if usage == _NO_FIGURES else usage

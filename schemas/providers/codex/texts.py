"""The figures, texts, results and prompts out of the envelopes in which Codex puts them (formats note 4.2, 6.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from schemas.clean import as_json, clean
from schemas.message import Kind, Part, ToolStatus
from schemas.path_hints import local_path
from schemas.providers.kit.blocks import image_part, inclusive_figures
from schemas.providers.kit.words import Answer
from schemas.records import read_record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, whole

_FIGURES = (
    "input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens", "reasoning_output_tokens",
)  # fmt: skip


def usage_in(said: object) -> TokenUsage | None:
    """Codex's figures without overlap: cached and written tokens are part of its input. None where it gives none."""
    figures = dict_of(said)
    usage = inclusive_figures(figures, *_FIGURES)
    return usage if any(usage) or as_count(figures.get("total_tokens")) is not None else None


_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")


def image_of(url: object, name: object = None) -> list[Part]:
    """An image, by its URL, which may hold it, or else by its name; nothing if it has neither."""
    shown = text_of(url) or local_path(text_of(name))
    if match := _DATA_URL.match(shown):
        return [image_part(match[1], shown[match.end() :])]
    return [image_part(None, None, shown)] if shown else []


_TEXTS = ("output_text", "input_text", "Text", "text", "summary_text")
"""The usual types of texts, which are told at once."""


def content_items(content: object) -> list[str | Part | None]:
    """The pieces of content, one an item: a text or a name in brackets, an image, or None where there is nothing."""
    return list(map(_content_item, content)) if type(content) is list else [_content_item(content)]


def _content_item(item: object) -> str | Part | None:
    if type(item) is str:
        return item
    body = item if isinstance(item, dict) else {}
    kind, text = body.get("type"), body.get("text")
    if kind in _TEXTS and type(text) is str:
        return text
    if type(kind) is str and "image" in kind.lower():
        url = body.get("image_url") or body.get("url")
        if "data" in body:
            url = f"data:{text_of(body.get('mimeType'))},{text_of(body['data'])}"
        return next(iter(image_of(url, body.get("file_id") or body.get("path"))), None)
    if type(text) is str:
        return text
    if kind == "encrypted_content":
        sealed = text_of(body.get("encrypted_content"))
        return "[encrypted]" if sealed.startswith("gAAAAA") else sealed
    if body:
        name = body.get("name") or body.get("path") or body.get("uri")
        return f"[{clean(' '.join(str(v)[:200] for v in (text_of(kind), name) if v))}]"
    return None


def content_of(content: object, between: str = "") -> tuple[str, list[Part]]:
    """The readable text of content, and the placeholders of its images."""
    found = content_items(content)
    return between.join([one for one in found if type(one) is str]), [one for one in found if type(one) is Part]


def content_text(content: object, between: str = "") -> str:
    """The readable text of content, images apart."""
    return content_of(content, between)[0]


@dataclass(slots=True)
class Result(Answer):
    """The result of a tool use, envelopes unwrapped; the process with the id `process` goes on."""

    use_id: str = ""
    process: str = ""


def failed(found: Result, message: object = None) -> Result:
    """The same result as that of a failure, whose message is told apart from it."""
    found.status = ToolStatus.ERROR if found.status is ToolStatus.OK else found.status
    if message and not found.text:
        found.text = text_of(message) or text_of(dict_of(message).get("message")) or as_json(message)
    return found


_STARTS = ("Chunk ID: ", "Exit code: ", "Wall time: ", "Command: ", "Script ")
# Of a command, whose line may be several, of a script in code mode (lab/faults/codex-1), and of a command that a person
# typed (codex-5).
_HEADER = re.compile(
    r"(?:Command: (?s:.*?)\n)?(?:Chunk ID: [^\n]*\n)?(?:Exit code: (-?\d{1,10})\n)?"
    r"(?:Script (completed|failed|running|terminated)(?:[^\n]*cell ID (\S+))?[^\n]*\n)?"
    r"(?:Wall time:?|Duration:) (\d+(?:\.\d+)?) seconds\n"
    r"(?:Process exited with code (-?\d{1,10})\n)?(?:Process running with session ID (\S+)\n)?"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:\n?"
)
_SCRIPTS = {"failed": ToolStatus.ERROR, "terminated": ToolStatus.INTERRUPTED, "running": ToolStatus.BACKGROUND}
_ABORTED = re.compile(r"aborted(?: by user after \d+(?:\.\d+)?s)?\s*")
_FAILED = (
    "apply_patch verification failed", "failed to parse function arguments", "unsupported call",
    "unsupported custom tool", "execution error", "exec_command failed", "write_stdin failed", "tool call error",
    "err: ",
)  # fmt: skip


def decode(output: object) -> Result:
    """The result of a `function_call_output` and its like: a string, wrapped or not, a list, an object or nothing."""
    if isinstance(output, str):
        return _decode_text(output)
    if isinstance(output, dict) and ("content" in output or "output" in output):
        found = _with_metadata(decode(output.get("content", output.get("output"))), output.get("metadata"))
        return failed(found) if output.get("success") is False else found
    if isinstance(output, dict) and "type" not in output:
        return Result(text=as_json(output, indent=True))
    text, images = content_of(output, "\n")
    found = _decode_text(text)
    found.images = images
    return found


def _with_metadata(found: Result, metadata: object) -> Result:
    code, seconds = whole(dict_of(metadata).get("exit_code")), number(dict_of(metadata).get("duration_seconds"))
    found.exit_code = found.exit_code if code is None else code
    found.seconds = found.seconds if seconds is None else seconds
    return failed(found) if code else found


def _decode_text(text: str) -> Result:
    found = Result(text=text)
    if text.startswith(_STARTS) and (head := _HEADER.match(text)):
        classic, script, cell, seconds, exited, process = head.groups()
        text, found.seconds = text[head.end() :], float(seconds)
        if script is not None:
            found.text, found.status = text.lstrip("\n"), _SCRIPTS.get(script, ToolStatus.OK)
            found.process = cell or "" if script == "running" else ""
            return found
        code, found.process = exited or classic, process or ""
        found.exit_code = int(code) if code else None
        found.status = ToolStatus.ERROR if found.exit_code else found.status
        if process and not code:
            found.status = ToolStatus.BACKGROUND
    elif text.startswith("{") and '"output"' in text[:64]:
        # JSON within the string: `{"output": "…", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}`
        value = read_record(text.encode("utf-8", "replace"))
        output = value.get("output")
        if not isinstance(output, str) or not value.keys() <= {"output", "metadata"}:
            return found
        inner = _decode_text(output) if output[:1] != "{" else Result(text=output)
        return _with_metadata(inner, value.get("metadata"))
    elif "rejected by user" in text[:200]:
        found.status = ToolStatus.DENIED
    elif text.startswith(_FAILED):
        found.status = ToolStatus.ERROR
    if text.startswith("aborted") and _ABORTED.fullmatch(text):
        found.status = ToolStatus.INTERRUPTED
    found.text = text
    return found


def ended(body: dict[str, Any]) -> Result:
    """Return the result of a command or a patch, from its event or its completed item."""
    text = text_of(body.get("aggregated_output"))
    if not text:
        printed = filter(None, (text_of(body.get("stdout")), text_of(body.get("stderr"))))
        text = "\n".join(printed) or text_of(body.get("formatted_output"))
    return _with_metadata(Result(text=text), body)


Segment: TypeAlias = "tuple[Kind, str, str]"
"""A piece of a user or developer message that is shown as a message of its own: its kind, text and label."""
_PROMPT, _CONTEXT = Kind.PROMPT, Kind.CONTEXT  # an enum's member takes ten times as long to look up
_TAGS = {
    "user_instructions": "project instructions", "instructions": "project instructions",
    "environment_context": "environment", "permissions instructions": "permissions", "skills_instructions": "skills",
    "apps_instructions": "apps", "plugins_instructions": "plugins", "recommended_plugins": "plugins",
    "personality_spec": "personality", "hook_prompt": "hook", "goal_context": "goal",
}  # fmt: skip
"""What the tags are called where that is not their name."""
_TAG = re.compile(
    rf"<({'|'.join(_TAGS)}|collaboration_mode|model_switch|realtime_conversation|skill|user_action"
    r"|turn_aborted|subagent_notification|user_shell_command)(?:\s[^>]{0,200})?>",
    re.IGNORECASE,
)
_ANY_TAG = re.compile(r"<([a-z_]{3,40})>.*</\1>$", re.DOTALL)
_IDE = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_REQUEST = "## My request for Codex:"
_FOR_THE_MODEL = {
    "Another language model started to solve this problem": "summary of the earlier conversation",
    # What Codex of early 2026 told its model in the person's place.
    "Warning: apply_patch was requested via ": "warning",
    "Warning: The maximum number of unified exec processes ": "warning",
}
_IMAGE_TAG = re.compile(r"\s*</?image(?:\s[^>]{0,200})?>\s*", re.IGNORECASE)
_SHELL = re.compile(r"<command>(.*?)</command>\s*(?:<result>(.*)</result>)?", re.DOTALL)


@lru_cache(maxsize=16)  # Codex says much of it again at the beginning of each turn
def split_text(text: str, developer: bool = False) -> tuple[Segment, ...]:
    """A text cut into what Codex injected and what was typed; the typed piece is a PROMPT.

    What a `developer` wrote is of tags only, and may quote the tag that closes one (lab/faults/codex-2).
    """
    segments: list[Segment] = []
    rest = text.strip()
    while rest:
        end = len(rest)
        if match := _TAG.match(rest):
            tag, closing = match[1].lower(), f"</{match[1]}>"
            # These hold other people's text, in which the closing tag itself may stand.
            last = developer or tag in ("skill", "hook_prompt", "user_shell_command")
            stop = rest.rfind(closing, match.end()) if last else rest.find(closing, match.end())
            stop, end = (stop, stop + len(closing)) if stop >= 0 else (end, end)
            segments.extend(_tagged(tag, rest[:end], match.end(), stop))
        elif developer and (match := _ANY_TAG.match(rest)):
            segments.append((_CONTEXT, rest, match[1].replace("_", " ")))
        elif rest[:24].lower() == "# agents.md instructions":
            before, closing, _ = rest.partition("</INSTRUCTIONS>")
            end = len(before) + len(closing)
            segments.append((_CONTEXT, rest[:end], "project instructions"))
        elif label := next((label for begins, label in _FOR_THE_MODEL.items() if rest.startswith(begins)), ""):
            segments.append((_CONTEXT, rest, label))
        elif rest.startswith(_IDE) and (cut := rest.find(_REQUEST)) >= 0:
            segments.append((_CONTEXT, rest[:cut].rstrip(), "IDE context"))
            segments.append((_PROMPT, rest[cut + len(_REQUEST) :].strip(), ""))
        else:
            segments.append((_PROMPT, rest, ""))
        rest = rest[end:].strip()
    return tuple(segments)


def _tagged(tag: str, envelope: str, start: int, stop: int) -> list[Segment]:
    """The segments of what stands in a tag: from `start` to `stop` of its envelope."""
    if tag == "turn_aborted":
        return [(Kind.INTERRUPT, envelope[start:stop].strip(), "")]
    if tag == "subagent_notification":  # a child's result, as Codex tells it to its parent
        inner = envelope[start:stop].strip()
        data = read_record(inner.encode("utf-8", "replace"))
        state, text = status_text(data.get("status"))
        name = text_of(data.get("agent_path")) or text_of(data.get("agent_id"))
        return [(Kind.NOTE, text or inner, " ".join(filter(None, ("subagent", name, state))))]
    if tag == "user_shell_command" and (match := _SHELL.search(envelope, start, stop)):
        return [(Kind.COMMAND, match[1].strip(), "shell"), *printed(decode((match[2] or "").strip("\n")))]
    return [(_CONTEXT, envelope, _TAGS.get(tag) or tag.replace("_", " "))]


def printed(found: Result) -> list[Segment]:
    """Return the output of a command that a person typed, with its exit code."""
    text, ended = found.text or "", "" if found.exit_code is None else f"exit {found.exit_code}"
    return [(Kind.OUTPUT, text, ended)] if ended or text.strip() else []


def status_text(status: object) -> tuple[str, str]:
    """A subagent's status (`"running"` or `{"completed": "text"}`) as a word and its text."""
    word, text = next(iter(dict_of(status).items()), (status, ""))
    return text_of(word), text_of(text)


def segments(payload: dict[str, Any]) -> tuple[list[Segment], list[Part]]:
    """The segments of a `message` item that is no agent's, in the order of its parts, and a user's images: it may
    bundle project instructions, the environment, images and the prompt.

    All that was typed is one PROMPT, at the place of its first part; images without text make an empty one.
    """
    passed = payload.get("internal_chat_message_metadata_passthrough")
    kinds = list_of(passed.get("content_item_kinds")) if isinstance(passed, dict) else []
    is_user = payload.get("role") == "user"
    found, images, typed, at = list[Segment](), list[Part](), list[str](), -1
    for place, value in enumerate(content_items(payload.get("content"))):
        if isinstance(value, Part) and is_user:
            at = len(found) if at < 0 else at
            images.append(value)
            continue
        text = value.text if isinstance(value, Part) else value
        if not text or _IMAGE_TAG.fullmatch(text):
            continue
        for piece in split_text(text, not is_user):
            kind = text_of(kinds[place]) if place < len(kinds) else ""
            if piece[0] is not _PROMPT:
                found.append(piece)
            elif not is_user:
                found.append((_CONTEXT, piece[1], f"{text_of(payload.get('role')) or 'unknown'} message"))
            elif kind and kind != "unknown" and not kind.startswith("user."):
                found.append((_CONTEXT, piece[1], kind.rsplit(".", 1)[-1].replace("_", " ")))
            else:
                at = len(found) if at < 0 else at
                typed.append(piece[1])
    if at >= 0:
        found.insert(at, (_PROMPT, "\n".join(typed), ""))
    return found, images

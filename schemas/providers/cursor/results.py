"""What a tool gave back, out of the envelopes Cursor puts it in (formats note 3.2).

A result is a text, a list of content parts, or any JSON; beside it may stand the same result as Cursor's own program
reads it, an object with one of `success`, `failure`, `error`, `rejected` in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from schemas.clean import as_json, clean, one_line
from schemas.message import Part


@dataclass(slots=True)
class Outcome:
    """A tool's result, envelopes unwrapped."""

    text: str = ""
    exit_code: int | None = None
    seconds: float | None = None
    failed: bool = False
    denied: bool = False
    interrupted: bool = False
    background: bool = False
    images: list[Part] = field(default_factory=list)
    diff: str = ""
    """The difference it made, unified, where Cursor recorded one."""
    path: str = ""


_SHELL = re.compile(r"\AExit code: (-?\d{1,10})[ \t]*(?:\n|\Z)")
_FENCED = re.compile(r"\s*Command output:\s*?\n+```[^\n]*\n")
_TOOK = re.compile(r"\s*Command completed in (\d{1,12})(?:\.\d+)? ?ms\.?")
_KEPT = re.compile(r"\s*Shell state [^\n]{0,60}persists[^\n]{0,200}")
_WORKSPACE = re.compile(r"^</?workspace_result(?:\s[^<>\n]{0,4200})?>[ \t]*\n?", re.MULTILINE)
_UNTRUSTED = re.compile(r"\A<(cursor_untrusted_data\w{0,40})(?:\s[^<>\n]{0,200})?>\n?")
_DENIED = re.compile(
    r"\A(?:Error: )?(?:Rejected(?: by (?:the )?user)?\b"
    r"|(?:The )?user (?:has )?(?:rejected|declined|denied|skipped|chose to skip))",
    re.IGNORECASE,
)
_LONGEST_REFUSAL = 500
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")
_SAYS = ("interleavedOutput", "content", "output", "text", "result", "message", "error", "errorMessage", "reason")
_STATES = ("success", "failure", "error", "rejected", "permissionDenied", "timeout", "aborted", "cancelled")


def decode(result: object, structured: object = None, *, failed: bool = False) -> Outcome:
    """A result and what Cursor's program knows of it (`highLevelToolCallResult`) as one outcome."""
    found = Outcome(failed=failed)
    _take(found, result)
    if isinstance(structured, dict):
        if structured.get("isError") is True:
            found.failed = True
        output = structured.get("output")
        if isinstance(output, dict):
            beside = Outcome()
            if _take_state(beside, output):
                _join(found, beside)
            if output.get("isError") is True:
                found.failed = True
    if found.exit_code is None and (match := _SHELL.match(found.text)):
        found.exit_code = int(match[1])
        found.text = _shell_output(found, found.text[match.end() :])
    found.text = _unwrapped(found.text)
    if len(found.text) < _LONGEST_REFUSAL and _DENIED.match(found.text):
        found.denied = True
    return found


def result_text(result: object) -> str:
    """A result as a person reads it, not yet cleaned: for its size."""
    return decode(result).text


def _take(found: Outcome, value: object) -> None:
    if isinstance(value, str):
        text = _without_wrapper(value)
        if match := _SHELL.match(text):
            found.exit_code = int(match[1])
            text = _shell_output(found, text[match.end() :])
        found.text = text
    elif isinstance(value, list):
        _take_list(found, value)
    elif isinstance(value, dict):
        _take_object(found, value)
    elif value is not None:
        found.text = str(value)


def _take_list(found: Outcome, parts: list[Any]) -> None:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and is_image(part):
            found.images.append(image_part(part))
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            texts.append(as_json(part, indent=True))
    _take(found, "\n".join(texts))


def _take_object(found: Outcome, value: dict[str, Any]) -> None:
    """The shapes of an object: `{type, value}` of the newer kit, a state, content parts, or anything."""
    kind = value.get("type")
    if isinstance(kind, str) and "value" in value and value.keys() <= {"type", "value", "providerOptions"}:
        found.failed = found.failed or kind.startswith("error")
        found.denied = kind == "execution-denied"
        _take(found, value["value"])
    elif kind == "execution-denied":
        found.denied = True
        found.text = value["reason"] if isinstance(value.get("reason"), str) else "denied"
    elif is_image(value):
        found.images.append(image_part(value))
    elif kind == "text" and isinstance(value.get("text"), str):
        _take(found, value["text"])
    elif not _take_state(found, value):
        content = value.get("content")
        if isinstance(content, list | str) and value.keys() <= {"content", "isError", "is_error", "type"}:
            found.failed = found.failed or value.get("isError") is True or value.get("is_error") is True
            _take(found, content)
        else:
            _take_facts(found, value)
            found.text = as_json(value, indent=True)


def _take_state(found: Outcome, value: dict[str, Any]) -> bool:
    """`{"success": {…}}` and its like; False for any other object."""
    state = next((name for name in _STATES if isinstance(value.get(name), dict)), None)
    if state is None or len(value) > 4:
        return False
    body: dict[str, Any] = value[state]
    found.failed = found.failed or state in ("failure", "error", "timeout", "permissionDenied")
    found.denied = state == "rejected"
    found.interrupted = state in ("aborted", "cancelled")
    _take_facts(found, body)
    found.text = _said(body)
    return True


def _said(body: dict[str, Any]) -> str:
    """What a person reads of it: the output it printed or the words it holds, else all of it."""
    printed = [text for key in ("stdout", "stderr") if isinstance(text := body.get(key), str) and text]
    if printed and not body.get("interleavedOutput"):
        return "\n".join(text.rstrip("\n") for text in printed)
    for key in _SAYS:
        if isinstance(text := body.get(key), str) and text:
            return text
    if "exitCode" in body or isinstance(body.get("diffString"), str):
        return ""
    return as_json(body, indent=True) if body else ""


def _take_facts(found: Outcome, body: dict[str, Any]) -> None:
    for key in ("exitCode", "exit_code"):
        code = body.get(key)
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 1 << 40:
            found.exit_code = code
    for key in ("executionTime", "localExecutionTimeMs", "durationMs"):
        took = body.get(key)
        if isinstance(took, int | float) and not isinstance(took, bool) and 0 <= took < 1e12:
            found.seconds = took / 1000
    found.background = found.background or body.get("isBackground") is True or bool(body.get("backgroundTaskId"))
    for key in ("diffString", "diff"):
        if not found.diff and isinstance(text := body.get(key), str):
            found.diff = text
    if isinstance(path := body.get("path"), str):
        found.path = path


def _join(found: Outcome, beside: Outcome) -> None:
    """What stands beside a result knows facts better; the words are the result's, where it has any."""
    found.text = found.text or beside.text
    found.exit_code = found.exit_code if beside.exit_code is None else beside.exit_code
    found.seconds = found.seconds if beside.seconds is None else beside.seconds
    found.failed |= beside.failed
    found.denied |= beside.denied
    found.interrupted |= beside.interrupted
    found.background |= beside.background
    found.diff, found.path = found.diff or beside.diff, found.path or beside.path


def _without_wrapper(text: str) -> str:
    """Without the tag that marks text as not to be trusted."""
    if match := _UNTRUSTED.match(text):
        return text[match.end() :].rstrip().removesuffix(f"</{match[1]}>").rstrip()
    return text


def _shell_output(found: Outcome, rest: str) -> str:
    """What a command printed, without the fence around it and the remarks behind it; anything else stays."""
    opening = _FENCED.match(rest)
    close = rest.rfind("```") if opening else -1
    if opening is None or close < opening.end():
        return rest.strip("\n")
    tail = rest[close + 3 :]
    if (took := _TOOK.match(tail)) is not None:
        found.seconds = int(took[1]) / 1000
        tail = tail[took.end() :]
    if (kept := _KEPT.match(tail)) is not None:
        tail = tail[kept.end() :]
    printed = rest[opening.end() : close].rstrip("\n")
    return f"{printed}\n\n{tail.strip()}" if tail.strip() else printed


def _unwrapped(text: str) -> str:
    """Without the tags in which search results of each workspace stand."""
    return _WORKSPACE.sub("", text).strip("\n") if text.lstrip().startswith("<workspace_result") else text


def is_image(part: dict[str, Any]) -> bool:
    """Whether a content part is an image, or a file that is one."""
    kind, media = part.get("type"), part.get("mediaType", part.get("mimeType"))
    return kind in ("image", "image-data", "image-url", "image_url", "media") or (
        kind in ("file", "file-data") and isinstance(media, str) and media.startswith("image/")
    )


def image_part(part: dict[str, Any]) -> Part:
    """The placeholder of an image: what it is and how big, never its bytes.

    Its data is base64 text, a data URL, an address, or an object around one of them.
    """
    media = next((one_line(m, 60) for k in ("mediaType", "mimeType") if isinstance(m := part.get(k), str)), None)
    data = next((part[key] for key in ("image", "data", "url", "image_url", "file") if part.get(key)), None)
    for _ in range(3):
        if not isinstance(data, dict):
            break
        media = media or next(
            (one_line(m, 60) for k in ("mediaType", "mimeType", "media_type") if isinstance(m := data.get(k), str)),
            None,
        )
        data = next((data[key] for key in ("data", "url", "image", "base64") if data.get(key)), None)
    if isinstance(data, list):  # bytes as numbers
        return _placeholder(media, len(data))
    if not isinstance(data, str):
        return _placeholder(media, None)
    if match := _DATA_URL.match(data):
        return _placeholder(media or (clean(match[1]) if match[1] else None), (len(data) - match.end()) * 3 // 4)
    if re.match(r"[a-z]{2,10}://|/|[A-Z]:\\", data[:12]) and len(data) < 4096 and "://" in data[:12]:
        return Part("image", f"[image {one_line(data, 300)}]", media)
    return _placeholder(media, max(0, len(data) * 3 // 4 - data[-2:].count("=")))


def _placeholder(media: str | None, size: int | None) -> Part:
    facts = [media or "", f"{size:,} bytes" if size is not None else ""]
    words = ", ".join(fact for fact in facts if fact)
    return Part("image", f"[image {words}]" if words else "[image]", media, size)

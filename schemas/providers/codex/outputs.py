"""What a tool gave back, out of the many envelopes Codex puts it in (formats note 4.2)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import orjson

from schemas.clean import as_json
from schemas.message import Part
from schemas.providers.codex.values import content_images, content_text
from schemas.values import dict_of, number, text_of, whole


class Outcome(NamedTuple):
    """A tool's result, envelopes unwrapped."""

    text: str
    exit_code: int | None = None
    seconds: float | None = None
    failed: bool = False
    aborted: bool = False
    denied: bool = False
    process: str | None = None
    """Id under which a command goes on running."""
    images: tuple[Part, ...] = ()


_STARTS = ("Chunk ID: ", "Exit code: ", "Wall time: ", "Command: ", "Process ", "Script ")
# The header as Codex writes it, in one go; what it does not fit is taken apart line by line.
_HEADER = re.compile(
    r"(?:Command: [^\n]*\n)?(?:Chunk ID: [^\n]*\n)?(?:Exit code: (-?\d{1,10})\n)?Wall time: (\d+(?:\.\d+)?) seconds\n"
    r"(?:Process exited with code (-?\d{1,10})\n)?(?:Process running with session ID (\S+)\n)?"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:\n"
)
# Of a script in code mode (lab/faults/codex-1), and of a command typed by a person (codex-5).
_SCRIPT = re.compile(
    r"Script (completed|failed|running|terminated)(?:[^\n]*cell ID (\S+))?[^\n]*\nWall time:? (\d+(?:\.\d+)?) seconds\n"
    r"Output:\n*"
)
_TYPED = re.compile(r"Exit code: (-?\d{1,10})\nDuration: (\d+(?:\.\d+)?) seconds\nOutput:\n?")
_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})", re.MULTILINE)
_SECONDS = re.compile(r"^Wall time: (\d+(?:\.\d+)?)", re.MULTILINE)
_PROCESS = re.compile(r"^Process running with session ID (\S+)", re.MULTILINE)
_ABORTED = re.compile(r"aborted(?: by user after \d+(?:\.\d+)?s)?\s*")
_WRAPPER = frozenset({"output", "metadata"})
_FAILED = (
    "apply_patch verification failed",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool",
    "execution error",
    "exec_command failed",
    "write_stdin failed",
    "tool call error",
    "err: ",
)


def decode(output: object) -> Outcome:
    """The result of a `function_call_output` and its like: a string, wrapped or not, a list, an object or nothing."""
    if isinstance(output, str):
        if match := _HEADER.match(output):
            return _decode_match(output, match)
        return _decode_text(output)
    if isinstance(output, list):
        found = _decode_text(content_text(output, "\n"))
        return found._replace(images=tuple(content_images(output)))
    if isinstance(output, dict):
        return _decode_object(output)
    return Outcome("" if output is None else str(output))


def _decode_object(output: dict[str, Any]) -> Outcome:
    if isinstance(output.get("type"), str) and "content" not in output:
        return decode([output])
    if "content" in output or "output" in output:
        found = decode(output.get("content", output.get("output")))
        found = _with_metadata(found, dict_of(output.get("metadata")))
        return found._replace(failed=True) if output.get("success") is False else found
    return Outcome(as_json(output, indent=True))


def _with_metadata(found: Outcome, metadata: dict[str, Any]) -> Outcome:
    code = whole(metadata.get("exit_code"))
    seconds = number(metadata.get("duration_seconds"))
    return Outcome(  # `_replace` takes three times as long
        found.text,
        found.exit_code if code is None else code,
        found.seconds if seconds is None else seconds,
        found.failed or bool(code),
        found.aborted,
        found.denied,
        found.process,
        found.images,
    )


def _decode_text(text: str) -> Outcome:
    if text.startswith("{") and '"output"' in text[:64]:
        return _decode_wrapped(text)
    if text.startswith(_STARTS):
        return _decode_headed(text)
    if text.startswith("aborted") and _ABORTED.fullmatch(text):
        return Outcome(text, aborted=True)
    denied = "rejected by user" in text[:200]
    return Outcome(text, failed=denied or text.startswith(_FAILED), denied=denied)


def _decode_wrapped(text: str) -> Outcome:
    """JSON within the string: `{"output": "…", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}`."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return Outcome(text)
    output = value.get("output") if isinstance(value, dict) else None
    if not isinstance(output, str) or not value.keys() <= _WRAPPER:
        return Outcome(text)
    inner = _decode_text(output) if output[:1] != "{" else Outcome(output)
    return _with_metadata(inner, dict_of(value.get("metadata")))


def _decode_headed(text: str) -> Outcome:
    """A header of facts, then `Output:` and the output itself. The header may quote a command of several lines."""
    if match := _HEADER.match(text):
        return _decode_match(text, match)
    if match := _SCRIPT.match(text):
        how, cell, seconds = match.groups()
        process = cell if how == "running" else None
        return Outcome(text[match.end() :], None, float(seconds), how == "failed", how == "terminated", False, process)
    if match := _TYPED.match(text):
        return _headed(text[match.end() :], int(match[1]), float(match[2]), None)
    wall = text.find("Wall time: ")
    end = text.find("\nOutput:", wall) if wall >= 0 else -1
    if end < 0:
        return Outcome(text)
    head, body = text[:end], text[end + 8 :].removeprefix("\n")
    facts = head[head.find("\nWall time: ") + 1 :] if head.startswith("Command: ") else head
    found = _CODE.search(facts) or _CODE.search(head)
    time, running = _SECONDS.search(facts), _PROCESS.search(facts)
    code = int(found[1]) if found else None
    return _headed(body, code, float(time[1]) if time else None, running[1] if running else None)


def _decode_match(text: str, match: re.Match[str]) -> Outcome:
    classic, seconds, exited, process = match.groups()
    code = int(exited or classic) if exited or classic else None
    return _headed(text[match.end() :], code, float(seconds), process)


def _headed(body: str, code: int | None, seconds: float | None, process: str | None) -> Outcome:
    aborted = body.startswith("aborted") and len(body) < 60 and bool(_ABORTED.fullmatch(body))
    return Outcome(body, code, seconds, bool(code), aborted, False, process)


def mcp_outcome(result: object) -> Outcome:
    """The result of an MCP tool: `{"Ok": {"content": […], "isError": …}}`, `{"Err": "…"}`, or its inner object."""
    data = dict_of(result)
    if "Err" in data:
        error = data["Err"]
        return Outcome(error if isinstance(error, str) else as_json(error), failed=True)
    inner = dict_of(data.get("Ok")) or data
    content = inner.get("content")
    text = content_text(content, "\n")
    if not text and inner.get("structuredContent") is not None:
        text = as_json(inner["structuredContent"], indent=True)
    return Outcome(text, failed=inner.get("isError") is True, images=tuple(content_images(content)))


def exec_text(event: dict[str, Any]) -> str:
    """What a command printed, by an `exec_command_end` event or a `CommandExecution` item."""
    if both := text_of(event.get("aggregated_output")):
        return both
    printed, complained = text_of(event.get("stdout")), text_of(event.get("stderr"))
    both = f"{printed}\n{complained}" if printed and complained else printed or complained
    return both or text_of(event.get("formatted_output"))


def exec_outcome(event: dict[str, Any]) -> Outcome:
    """The result within an `exec_command_end` event or a `CommandExecution` item."""
    code = whole(event.get("exit_code"))
    status = text_of(event.get("status"))
    return Outcome(
        exec_text(event),
        code,
        failed=bool(code) or status in ("failed", "declined"),
        denied=status == "declined",
    )


def patch_outcome(event: dict[str, Any]) -> Outcome:
    """The result within a `patch_apply_end` event or a `FileChange` item."""
    status = text_of(event.get("status"))
    text = "\n".join(s for key in ("stdout", "stderr") if (s := text_of(event.get(key))))
    return Outcome(
        text, failed=event.get("success") is False or status in ("failed", "declined"), denied=status == "declined"
    )

"""Words and facts that claude_build.py draws from single lines of a Claude stream (formats notes 2.2, 2.3 and 2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from schemas.clean import as_json, clean, clean_value, one_line
from schemas.message import NO_FLAGS, Flag

Value = dict[str, Any]
TASK_ENDS = {"completed": NO_FLAGS, "failed": Flag.ERROR, "killed": Flag.INTERRUPTED, "stopped": Flag.INTERRUPTED}
"""How a task ended, by its status; every other status is that of a running one."""


def result_blocks(value: Value) -> list[Value]:
    """The result blocks of a line."""
    inner = value.get("message")
    content = inner.get("content") if isinstance(inner, dict) else None
    blocks = content if isinstance(content, list) else []
    return [b for b in blocks if isinstance(b, dict) and str(b.get("type")).endswith("tool_result")]


def tells(value: Value, use: Value) -> bool:
    """Whether a line tells a tool use, and not another one under its id."""
    inner = value.get("message")
    blocks = blocks_of(inner.get("content") if isinstance(inner, dict) else None)
    return any(isinstance(b, dict) and all(b.get(k) == use.get(k) for k in ("id", "name", "input")) for _, b in blocks)


def given_input(text: str, start: object) -> object:
    """A tool's input from the pieces of its JSON; its raw text while that is not whole."""
    if not text.strip():
        return start if isinstance(start, dict) else {}
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"__unparsedToolInput": {"raw": text}}


def denies(value: Value, use: object) -> bool:
    """Whether a line says that a tool use was refused."""
    if value.get("type") == "result":
        return any(denial.get("tool_use_id") == use for denial in denials(value))
    return value.get("subtype") == "permission_denied"


def task_facts(known: object, value: Value) -> Value:
    """What is known of a task after another event of it."""
    task = dict(known) if isinstance(known, dict) else {}
    patch = value.get("patch")
    said = {**value, **(patch if isinstance(patch, dict) else {})}
    for name in ("description", "summary", "last_tool_name", "output_file", "error", "subagent_type", "task_type"):
        if isinstance(fact := said.get(name), str) and fact:
            task[name] = clean(fact)
    status, _ = task_status(value)
    if status:
        task["status"] = one_line(status, 40)
    if said.get("is_backgrounded") is True:
        task["background"] = True
    if isinstance(usage := said.get("usage"), dict):
        task["usage"] = clean_value(usage)
    return task


def error_text(event: object) -> str:
    """What an `error` event of the API says."""
    error = event.get("error") if isinstance(event, dict) else None
    if isinstance(error, dict) and isinstance(text := error.get("message"), str):
        return text
    return error if isinstance(error, str) else as_json(error, indent=True) if error is not None else ""


def hook_label(value: Value, outcome: str) -> str:
    """`Hook SessionStart:startup failed (exit 1)`."""
    code = value.get("exit_code")
    ended = f" (exit {code})" if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 1 << 31 else ""
    return f"Hook {one_line(str(value.get('hook_name')), 100)} {outcome}{ended}"


def hook_output(value: Value) -> str:
    """What a hook printed, each stream once."""
    texts = [t for k in ("output", "stdout", "stderr") if isinstance(t := value.get(k), str) and t.strip()]
    return "\n".join(dict.fromkeys(text.rstrip("\n") for text in texts))


def limit_label(info: object) -> str:
    """`Rate limit is near (five hour), 91% used`."""
    facts = info if isinstance(info, dict) else {}
    status, kind = facts.get("status"), facts.get("rateLimitType")
    words = (
        "Rate limit reached" if status == "rejected" else "Rate limit is near" if status == "allowed_warning" else ""
    )
    label = words or f"Rate limit: {one_line(str(status), 60)}"
    if isinstance(kind, str):
        label += f" ({one_line(kind, 60).replace('_', ' ')})"
    used = facts.get("utilization")
    if isinstance(used, int | float) and not isinstance(used, bool) and 0 <= used <= 1000:
        label += f", {used * 100 if used <= 1 else used:.0f}% used"
    return label


def retry_label(value: Value) -> str:
    """`API error, retrying (2 of 10): 529 overloaded`."""
    attempt, most, status = value.get("attempt"), value.get("max_retries"), value.get("error_status")
    label = "API error, retrying"
    if isinstance(attempt, int) and isinstance(most, int) and abs(attempt) + abs(most) < 1 << 31:
        label += f" ({attempt} of {most})"
    words = [one_line(str(word), 120) for word in (status, value.get("error")) if isinstance(word, int | str) and word]
    return f"{label}: {' '.join(words).replace('_', ' ')}" if words else label


def is_background(extra: Value) -> bool:
    """Whether a structured result says that the tool goes on in the background."""
    return (
        bool(extra.get("backgroundTaskId")) or extra.get("isAsync") is True or extra.get("status") == "async_launched"
    )


def blocks_of(content: object) -> list[tuple[int, object]]:
    """The blocks of a message's content with their numbers; a string is one block."""
    if isinstance(content, str):
        return [(0, content)]
    return list(enumerate(content)) if isinstance(content, list) else []


def ident_of(value: Value, block: int = 0) -> str:
    """The message id of a line's block, as on disk: its uuid, with the block's number behind it from the second on."""
    uuid = value.get("uuid")
    if not isinstance(uuid, str) or not uuid:
        return ""
    return f"{clean(uuid)}:{block}" if block else clean(uuid)


def denials(value: Value) -> Iterator[Value]:
    """The tool uses that were refused, as a `result` lists them."""
    found = value.get("permission_denials")
    for denial in found if isinstance(found, list) else []:
        if isinstance(denial, dict):
            yield denial


def has_failed(value: Value) -> bool:
    """Whether a `result` reports a failure: `is_error` says so, for `success` may be one too (formats note 2.2)."""
    flag, subtype = value.get("is_error"), value.get("subtype")
    return flag if isinstance(flag, bool) else isinstance(subtype, str) and subtype.startswith("error")


def failure_text(value: Value) -> str:
    """What a failed `result` says of it."""
    errors = value.get("errors")
    said = [error for error in (errors if isinstance(errors, list) else []) if isinstance(error, str) and error]
    for key in ("result", "startup_failure_reason"):
        if isinstance(text := value.get(key), str) and text and text not in said:
            said.append(text)
    return "\n".join(said)


def is_backgrounded(value: Value) -> bool:
    """Whether a task event says that the agent does not wait for the task."""
    patch = value.get("patch")
    return (patch if isinstance(patch, dict) else value).get("is_backgrounded") is True


def task_status(value: Value) -> tuple[str, bool]:
    """The status that a task event tells, and whether it is an end."""
    patch = value.get("patch")
    status = patch.get("status") if isinstance(patch, dict) else value.get("status")
    status = status if isinstance(status, str) else ""
    return status, status in TASK_ENDS

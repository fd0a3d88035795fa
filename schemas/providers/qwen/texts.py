"""What Qwen Code's records say: prompts taken apart, results, system records in words, tokens.

Qwen Code writes to disk what the model got. What the person typed stands beside it as `displayText`, or in the
`at_command` record before; older files have neither (formats/gemini-qwen-cursor.md 2.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.clean import as_json, one_line
from schemas.message import Part, ToolStatus
from schemas.providers._google import Data, context_label, is_thought, media_in, parts_of, said, said_text, usage_of
from schemas.providers._google_tools import Result, read_result
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of

# Qwen Code renamed the tag; a hook's context is the last part of a prompt, or stands at the end of its text.
_HOOK = re.compile(r"\s*<(hook_context|qwen:user-prompt-submit-context)>\n?((?:(?!<\1>).)*?)\n?</\1>\s*\Z", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*\Z", re.DOTALL)
_FILES = re.compile(r"\s*--- Content from ")
STARTERS = frozenset({"agent", "task"})
"""Tools that start a subagent: `task`, since 2026 `agent`."""


class Prompt(NamedTuple):
    """A user record's text, raw."""

    typed: str
    """What to show as the person's words."""
    sent: str
    """What else the model got with it: the files that an @ named, reminders."""
    hook: str
    """What a hook added."""
    media: list[Part]
    label: str
    """What the text is that no person typed (`Session context`); empty for a prompt."""


def parts_in(record: Data) -> list[Data]:
    """A record's parts; files exist whose message is a bare text."""
    message = record.get("message")
    if not isinstance(message, dict):
        return parts_of(message)
    return parts_of(message["parts"] if "parts" in message else message.get("content"))


class Run(NamedTuple):
    """Neighbouring parts of an answer that belong together: `place` is the first one's place."""

    place: int
    kind: str
    """text, thinking, tool, media or result."""
    parts: list[Data]


def runs_in(parts: list[Data]) -> list[Run]:
    """An answer's parts, texts that follow one another together: they came in pieces."""
    runs: list[Run] = []
    for place, part in enumerate(parts):
        kind = _kind(part)
        if runs and kind == runs[-1].kind and kind in ("text", "thinking"):
            runs[-1].parts.append(part)
        else:
            runs.append(Run(place, kind, [part]))
    return runs


def _kind(part: Data) -> str:
    if isinstance(part.get("functionCall"), dict):
        return "tool"
    if isinstance(part.get("functionResponse"), dict):
        return "result"
    if is_thought(part):
        return "thinking"
    return "media" if media_in([part]) else "text"


def payload_of(record: Data) -> Data:
    """A record's `systemPayload`."""
    return dict_of(record.get("systemPayload"))


def display_text(record: Data) -> str | None:
    """What the person saw of a record, where it says so. An empty text counts where a hook's context stands beside."""
    payload = payload_of(record)
    text = payload.get("displayText")
    if not isinstance(text, str):
        return None
    return text if text or isinstance(payload.get("hookContext"), str) else None


def read_prompt(record: Data, typed: str | None = None) -> Prompt:
    """A user record taken apart. `typed` is what an `at_command` record before it says the person typed."""
    parts = [part for part in parts_in(record) if not isinstance(part.get("functionResponse"), dict)]
    bodies: list[str] = []
    hooks: list[str] = []
    around: list[str] = []
    files = False
    for text in said(parts):
        rest, hook = _without_hook(text)
        if hook:
            hooks.append(hook)
        files = files or bool(_FILES.match(rest))  # their contents are further texts behind the heading
        (around if files or _REMINDER.match(rest) else bodies).append(rest)
    body, sent = "".join(bodies), "".join(around)
    typed = display_text(record) if typed is None else typed
    if typed is None:
        shown = body
    else:
        shown, rest = typed, body.strip()
        if rest.split() != typed.split():
            start = typed.strip()
            sent = (rest[len(start) :] if start and rest.startswith(start) else rest) + sent
    hook = text_of(payload_of(record).get("hookContext")) or "\n\n".join(hooks)
    label = context_label(shown) if typed is None else ""
    return Prompt(shown, sent if sent.strip() else "", hook if hook.strip() else "", media_in(parts), label)


def _without_hook(text: str) -> tuple[str, str]:
    """A text, and the context of a hook that stood at its end."""
    if ">" not in text[-100:]:
        return text, ""
    # Only the last block's opening can match, so that a long text is looked at from there and not from its start.
    start = max(text.rfind("<hook_context>"), text.rfind("<qwen:user-prompt-submit-context>"))
    match = _HOOK.match(text, len(text[:start].rstrip())) if start >= 0 else None
    return (text[: match.start()], match[2]) if match else (text, "")


# -- what the program says ----------------------------------------------------------------------

NOTES = {"notification": "Notification", "cron": "Scheduled task", "goal_runtime": "Goal"}
"""Subtypes of user records that the program sends, and what to call them where they have no words for people."""


def note_texts(record: Data) -> tuple[str, str]:
    """What the person saw of such a record, in a line, and what the model got where that is more; both raw."""
    shown = (display_text(record) or "").strip()
    sent = read_prompt(record, "").sent.strip()
    if not shown:
        return NOTES.get(text_of(record.get("subtype")), "Note"), sent
    return shown, sent if sent and sent != shown else shown if "\n" in shown or len(shown) > 200 else ""


def output_text(record: Data) -> str:
    """What a command printed: the items that the screen showed, raw."""
    return "\n\n".join(
        text for item in list_of(payload_of(record).get("outputHistoryItems")) if (text := _item_text(item))
    )


def _item_text(item: Any) -> str:
    if not isinstance(item, dict):
        return "" if item is None else item if isinstance(item, str) else as_json(item, indent=True)
    for key in ("text", "message"):
        if isinstance(text := item.get(key), str) and text.strip():
            return text
    rest = {key: value for key, value in item.items() if key not in ("type", "timestamp", "id") and value is not None}
    if not rest:
        return ""
    name = text_of(item.get("type"))
    if all(isinstance(value, str | int | float) for value in rest.values()):
        lines = "\n".join(f"{key}: {value}" for key, value in rest.items())
    else:
        lines = as_json(rest, indent=True)
    return f"{name}\n{lines}" if name else lines


def is_failed_output(record: Data) -> bool:
    """Whether a command said that it failed."""
    items = list_of(payload_of(record).get("outputHistoryItems"))
    return any(dict_of(item).get("type") == "error" for item in items)


def compaction_label(record: Data) -> str:
    """`Compacted, 18,200 tokens before, 900 after`."""
    info = dict_of(payload_of(record).get("info"))
    before, after = as_count(info.get("originalTokenCount")), as_count(info.get("newTokenCount"))
    label = "Compacted"
    if before is not None:
        label += f", {before:,} tokens before"
    if after is not None:
        label += f", {after:,} after" if before is not None else f", {after:,} tokens after"
    return label


def compaction_text(record: Data) -> str:
    """The summary that took the conversation's place, raw: the first of the new history that says something."""
    for content in list_of(payload_of(record).get("compressedHistory")):
        if (text := said_text(dict_of(content).get("parts"))).strip():
            return text
    return ""


def rewind_label(record: Data) -> str:
    """`Rewound, 2 entries taken back`."""
    count = as_count(payload_of(record).get("truncatedCount"))
    if not count:
        return "Rewound"
    return f"Rewound, {count:,} {'entry' if count == 1 else 'entries'} taken back"


def turn_label(record: Data) -> str:
    """How a turn ended that did not end well."""
    payload = payload_of(record)
    if payload.get("state") == "cancelled":
        return "Cancelled"
    code = dict_of(payload.get("error")).get("code")
    return f"Error ({one_line(str(code), 80)})" if isinstance(code, str | int) and code != "" else "Error"


def turn_text(record: Data) -> str:
    """What was wrong with a turn, raw."""
    error = payload_of(record).get("error")
    return error if isinstance(error, str) else text_of(dict_of(error).get("message"))


def files_label(record: Data) -> str:
    """What an `at_command` read."""
    payload = payload_of(record)
    files = [one_line(name, 300) for name in list_of(payload.get("filesRead")) if isinstance(name, str)]
    named = files[0] if len(files) == 1 else f"{len(files)} files" if files else "files"
    return f"Could not read {named}" if payload.get("status") == "error" else f"Read {named}"


def files_text(record: Data) -> str:
    """The files that an `at_command` read, one a line, and what it said, raw."""
    payload = payload_of(record)
    files = [name for name in list_of(payload.get("filesRead")) if isinstance(name, str)]
    said = text_of(payload.get("message"))
    return "\n".join([*(files if len(files) > 1 else []), *([said] if said else [])])


# -- results --------------------------------------------------------------------------------


class Reply(NamedTuple):
    """One result: `part` is its place among the record's parts, `content` what belongs to it."""

    part: int
    call: str
    name: str
    content: list[Data]
    display: object
    status: object


def replies_in(record: Data) -> Iterator[Reply]:
    """The results in a record, in order."""
    parts = parts_in(record)
    places = [i for i, part in enumerate(parts) if isinstance(part.get("functionResponse"), dict)]
    about = dict_of(record.get("toolCallResult"))
    of = text_of(about.get("callId"))
    ends = record.get("type") == "tool_result"
    if not places and (ends or about):
        content = list_of(about.get("responseParts")) or parts
        yield Reply(0, of, "", content, _display(about), about.get("status") or "success")
    for number, place in enumerate(places):
        response = parts[place]["functionResponse"]
        call = text_of(response.get("id")) or (of if len(places) == 1 else "")
        # In a user's record the texts between results are the user's.
        start = place if number else 0
        end = places[number + 1] if number + 1 < len(places) else len(parts)
        content = parts[start:end] if ends else [parts[place]]
        mine = about if len(places) == 1 or call == of else {}
        yield Reply(place, call, text_of(response.get("name")), content, _display(mine), mine.get("status"))


def _display(about: Data) -> object:
    shown = about.get("resultDisplay")
    if shown is None:
        error = about.get("error")
        shown = error if isinstance(error, str) else dict_of(error).get("message")
    return shown


def read_reply(name: str, answer: Reply) -> Result:
    """How the tool use ended and what it said. Of a failure the screen often told more than the model got."""
    result = read_result(name or answer.name, answer.content, answer.display, answer.status)
    shown = answer.display
    if result.status is ToolStatus.ERROR and isinstance(shown, str) and shown.strip() and shown not in result.text:
        return result._replace(text=f"{result.text}\n{shown}" if result.text else shown)
    return result


# -- tokens --------------------------------------------------------------------------------

COUNTS = (
    "promptTokenCount",
    "candidatesTokenCount",
    "cachedContentTokenCount",
    "thoughtsTokenCount",
    "toolUsePromptTokenCount",
    "totalTokenCount",
)


def read_usage(metadata: object) -> TokenUsage | None:
    """An assistant record's `usageMetadata`; None if it has no figures.

    Whether thinking is counted in the candidates depends on whom Qwen Code talks to, and the total tells: an
    OpenAI-compatible service counts it in, Google does not. Without a total that fits it is taken to be counted in.
    """
    if not isinstance(metadata, dict):
        return None
    prompt, written, cached, thoughts, tool, total = map(as_count, map(metadata.get, COUNTS))
    known = (prompt or 0) + (written or 0)
    apart = known + (thoughts or 0)
    outside = total != known and total in (apart, apart + (tool or 0))
    usage = usage_of(prompt, written, cached, thoughts, None if total == known else tool, not outside)
    if (
        usage is not None
        and usage.reasoning is not None
        and usage.output is not None
        and usage.reasoning > usage.output
    ):
        return usage._replace(reasoning=usage.output)
    return usage

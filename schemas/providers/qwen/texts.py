"""What Qwen Code's records say: prompts taken apart, results, system records in words, tokens.

Qwen Code writes to disk what the model got. What the person typed stands beside it as `displayText` (formats note 2.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from schemas.clean import as_json
from schemas.message import Part, ToolStatus
from schemas.providers._google import (
    Data,
    Result,
    context_label,
    media_in,
    normalised,
    parts_of,
    read_result,
    said,
    said_text,
)
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, texts_of

# A hook's context is the last part of a prompt, or stands at the end of its text.
_HOOK = re.compile(r"\s*<hook_context>\n?((?:(?!<hook_context>).)*?)\n?</hook_context>\s*\Z", re.DOTALL)
STARTERS = frozenset({"agent", "task"})
"""Tools that start a subagent: `task`, since 2026 `agent`."""


class Prompt(NamedTuple):
    """A user record's text, raw."""

    typed: str
    """What to show as the person's words."""
    sent: str
    """What the model got, but for what a hook added."""
    hook: str
    """What a hook added."""
    media: list[Part]
    label: str
    """What the text is that no person typed (`Session context`); empty for a prompt."""


def parts_in(record: Data) -> list[Data]:
    """A record's parts."""
    return parts_of(dict_of(record.get("message")).get("parts"))


def payload_of(record: Data) -> Data:
    """A record's `systemPayload`."""
    return dict_of(record.get("systemPayload"))


def read_prompt(record: Data) -> Prompt:
    """A user record taken apart."""
    parts = [part for part in parts_in(record) if not isinstance(part.get("functionResponse"), dict)]
    payload, bodies, hooks = payload_of(record), list[str](), list[str]()
    for text in said(parts):
        # Only the last block's opening can match, so that a long text is looked at from there and not from its start.
        start = text.rfind("<hook_context>")
        match = _HOOK.match(text, len(text[:start].rstrip())) if start >= 0 else None
        bodies.append(text[: match.start()] if match else text)
        hooks += [match[1]] if match else []
    sent, typed, hook = "".join(bodies), text_of(payload.get("displayText")), text_of(payload.get("hookContext"))
    label = "" if typed else context_label(sent)
    return Prompt(typed or sent, sent, hook or "\n\n".join(hooks), media_in(parts), label)


# -- what the program says ---------------------------------------------------------------------------------------------

NOTES = {"notification": "Notification", "cron": "Scheduled task", "goal_runtime": "Goal"}
"""Subtypes of user records that the program sends, and what to call them where they have no words for people."""


def note_texts(record: Data) -> tuple[str, str]:
    """What the person saw of such a record, in a line, and what the model got where that is more; both raw."""
    shown, sent = text_of(payload_of(record).get("displayText")).strip(), read_prompt(record).sent.strip()
    if not shown:
        return NOTES[record["subtype"]], sent
    return shown, sent if sent and sent != shown else shown if "\n" in shown or len(shown) > 200 else ""


def output_text(record: Data) -> str:
    """What a command printed: the items that the screen showed, raw."""
    items = map(dict_of, list_of(payload_of(record).get("outputHistoryItems")))
    return "\n\n".join(filter(None, map(_item_text, items)))


def _item_text(item: Data) -> str:
    for key in ("text", "message"):
        if isinstance(text := item.get(key), str) and text.strip():
            return text
    rest = {key: value for key, value in item.items() if key not in ("type", "timestamp", "id") and value is not None}
    if all(isinstance(value, str | int | float) for value in rest.values()):
        lines = "\n".join(f"{key}: {value}" for key, value in rest.items())
    else:
        lines = as_json(rest, indent=True)
    return f"{text_of(item.get('type'))}\n{lines}".strip("\n") if rest else ""


def is_failed_output(record: Data) -> bool:
    """Whether a command said that it failed."""
    items = list_of(payload_of(record).get("outputHistoryItems"))
    return any(dict_of(item).get("type") == "error" for item in items)


def compaction_label(record: Data) -> str:
    """`Compacted, 18,200 tokens before, 900 after`."""
    info = dict_of(payload_of(record).get("info"))
    before, after = as_count(info.get("originalTokenCount")), as_count(info.get("newTokenCount"))
    return "Compacted" if before is None or after is None else f"Compacted, {before:,} tokens before, {after:,} after"


def compaction_text(record: Data) -> str:
    """The summary that took the conversation's place, raw: the first of the new history that says something."""
    history = list_of(payload_of(record).get("compressedHistory"))
    return next(filter(str.strip, (said_text(dict_of(content).get("parts")) for content in history)), "")


def rewind_label(record: Data) -> str:
    """`Rewound, 2 entries taken back`."""
    count = as_count(payload_of(record).get("truncatedCount"))
    return f"Rewound, {count:,} {'entry' if count == 1 else 'entries'} taken back" if count else "Rewound"


def files_texts(record: Data) -> tuple[str, str]:
    """What an `at_command` read, in a line, and the files and what it said."""
    payload = payload_of(record)
    files, told = texts_of(payload.get("filesRead")), text_of(payload.get("message"))
    named = files[0] if len(files) == 1 else f"{len(files)} files"
    failed = payload.get("status") == "error"
    return f"{'Could not read' if failed else 'Read'} {named}", "\n".join(
        [*(files if len(files) > 1 else []), *([told] if told else [])]
    )


# -- results -----------------------------------------------------------------------------------------------------------


class Reply(NamedTuple):
    """One result: `content` is what belongs to it of a record's parts."""

    call: str
    name: str
    content: list[Data]
    display: object
    status: object


def replies_in(record: Data) -> Iterator[Reply]:
    """The results in a record, in order."""
    parts, about = parts_in(record), dict_of(record.get("toolCallResult"))
    places = [i for i, part in enumerate(parts) if isinstance(part.get("functionResponse"), dict)]
    for place, end in zip(places, [*places[1:], len(parts)], strict=False):
        response = parts[place]["functionResponse"]
        call = text_of(response.get("id")) or text_of(about.get("callId"))
        # In a user's record the texts between results are the user's.
        content = parts[place:end] if record.get("type") == "tool_result" else [parts[place]]
        mine = about if len(places) == 1 or call == about.get("callId") else {}
        yield Reply(call, text_of(response.get("name")), content, _display(mine), mine.get("status"))


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


# -- tokens ------------------------------------------------------------------------------------------------------------

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
    extra = None if total == known else tool
    usage = normalised(prompt, written, cached, thoughts, extra, thoughts_inside=not outside)
    if usage is not None and (usage.reasoning or 0) > (usage.output or 0):
        return usage._replace(reasoning=usage.output)
    return usage

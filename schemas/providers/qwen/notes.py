"""System records, and what the program sends to the model by itself, in words."""

from __future__ import annotations

from typing import Any

from schemas.clean import as_json, one_line
from schemas.providers._google import Data, said_text
from schemas.providers.qwen.prompts import display_text, payload_of, read_prompt
from schemas.usage import as_count
from schemas.values import dict_of, list_of, text_of

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

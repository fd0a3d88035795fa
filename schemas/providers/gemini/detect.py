"""Which files are Gemini CLI's, by their content, and what the documents among them hold (formats note 1.2 to 1.7)."""

from __future__ import annotations

from typing import Any

from schemas.provider import Head
from schemas.values import dict_of, list_of

Data = dict[str, Any]
_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_LOOK = 50


def detect(head: Head) -> bool:
    """Whether a file that begins so is Gemini CLI's, and not the same written by an old Qwen Code."""
    return ".qwen" not in head.path.parts and looks_alike(head)


def looks_alike(head: Head) -> bool:
    """Whether a file that begins so is a session, a saved chat or a prompt log in Gemini CLI's form."""
    return is_document(head.document) or any(_is_of_a_log(record) for record in head.records[:_LOOK])


def _is_of_a_log(record: Data) -> bool:
    """Whether a line is one that only Gemini CLI writes: a header, an answer, a change of the log."""
    if is_header(record) and "messages" not in record:
        return True
    if record.get("type") == "gemini" and isinstance(record.get("id"), str):
        return True
    return record.keys() in ({"$set"}, {"$rewindTo"}) or is_chat(record)


def is_header(record: Data) -> bool:
    """Whether an object is the header of a log."""
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def is_document(value: Any) -> bool:
    """Whether a JSON document is one that turnlog reads as a session of Gemini CLI."""
    return (isinstance(value, dict) and is_header(value)) or bool(saved(value)) or is_log(value)


def is_chat(value: Any) -> bool:
    """Whether a document is a session as it was written before the log: header and messages in one object."""
    return isinstance(value, dict) and is_header(value) and isinstance(value.get("messages"), list)


def saved(value: Any) -> list[Data]:
    """The contents of a saved chat (`/chat save`), or of a restore point; empty if it is none."""
    if isinstance(value, dict):
        return saved(value.get("clientHistory")) or saved(value.get("history"))
    if not isinstance(value, list) or not value:
        return []
    contents = [item for item in value if isinstance(item, dict)]
    looks = all(c.get("role") in ("user", "model") and isinstance(c.get("parts"), list) for c in contents[:_LOOK])
    return contents if contents and len(contents) == len(value) and looks else []


def is_log(value: Any) -> bool:
    """Whether a document is a prompt log, `logs.json`."""
    items = value[:_LOOK] if isinstance(value, list) else []
    return bool(items) and all(
        "messageId" in item and isinstance(item.get("sessionId"), str) and isinstance(item.get("message"), str)
        for item in map(dict_of, items)
    )


def meta_of(record: Data) -> Data | None:
    """What a record says of the session: a header, or a change of one."""
    if isinstance(changed := record.get("$set"), dict):
        return changed
    return record if is_header(record) else None


# -- documents as the records of a log ---------------------------------------------------------------------------------


def items_of(value: Any) -> list[Data]:
    """The records that a document stands for."""
    if contents := saved(value):
        kinds = ("user" if content.get("role") == "user" else "gemini" for content in contents)
        return [
            {"id": f"m{number}", "type": kind, "content": content.get("parts")}
            for number, (kind, content) in enumerate(zip(kinds, contents, strict=True))
        ]
    if isinstance(value, list):
        return [_prompt(number, dict_of(item)) for number, item in enumerate(value)]
    header = {key: item for key, item in value.items() if key not in ("messages", "id", "$set", "$rewindTo")}
    messages = (item if isinstance(item, dict) else {"value": item} for item in list_of(value.get("messages")))
    return [header, *messages]


def _prompt(number: int, item: Data) -> Data:
    """A line of the prompt log; its numbers begin anew with every session."""
    kind = item.get("type")
    return {
        "id": f"{item.get('sessionId')}.{item.get('messageId')}.{number}",
        "timestamp": item.get("timestamp"),
        "type": kind if isinstance(kind, str) and kind in _TYPES else "user",
        "content": item.get("message"),
        "sessionId": item.get("sessionId"),
    }

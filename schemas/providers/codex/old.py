"""The rollouts of 2025: one JSON document of the TypeScript program, and lines without envelope (formats note 9)."""

from __future__ import annotations

from typing import Any

from schemas.values import dict_of, list_of, text_of


def is_old_header(value: dict[str, Any]) -> bool:
    """Whether a line is the header of a rollout of before mid-September 2025."""
    return isinstance(value.get("id"), str) and isinstance(value.get("timestamp"), str) and "type" not in value


def environment_cwd(item: dict[str, Any]) -> str:
    """The working directory that an old file names only in its environment message."""
    for part in list_of(item.get("content")):
        text = text_of(dict_of(part).get("text"))
        if text.lstrip().startswith("<environment_context>"):
            for before, after in (("<cwd>", "</cwd>"), ("Current working directory: ", "\n")):
                if before in text:
                    return text.split(before, 1)[1].split(after, 1)[0].strip()
    return ""


def is_typescript(document: object) -> bool:
    """Whether a document is a rollout of the TypeScript program."""
    if not isinstance(document, dict):
        return False
    session = document.get("session")
    return isinstance(session, dict) and isinstance(document.get("items"), list) and "timestamp" in session


def typescript_items(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of such a document: its header, then its items as the lines of the next era."""
    header = {key: value for key, value in dict_of(document.get("session")).items() if key != "type"}
    return [header, *(item for item in list_of(document.get("items")) if isinstance(item, dict))]

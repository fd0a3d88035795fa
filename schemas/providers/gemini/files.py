"""Gemini CLI's files: where they lie, how they are told, what documents among them hold (formats note 1.1 to 1.7)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from schemas.clean import clean
from schemas.folders import entries_of, matching, state_of
from schemas.provider import Head, Location, Problem, SessionFile
from schemas.providers.kit.files import bytes_in, object_in
from schemas.records import read_record
from schemas.values import dict_of, list_of, text_of

Data = dict[str, Any]
TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_LOOK = 50
_SESSION = re.compile(r"(session-.*?(?:-([0-9A-Za-z]{8}))?)\.(jsonl?)")
_HASH = re.compile(r"[0-9a-f]{64}")
_MOST_LEFT_OVER = 1 << 20
"""Bytes of context that a resume leaves in a file of its own, at most."""
_LONGEST, _MOST_FOLDERS = 8192, 5000


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions below a location, each once; subagents lie deeper and are left out.

    An upgrade copied the folder named by a hash to one named by a slug, and a session that goes on after an upgrade
    lies beside its older self (`.json`, then `.jsonl`): the slug's and the newer form is the session. Resumed in a
    later minute it goes on in its file, and leaves a second one with nothing but its context (found-…, G4).
    """
    best: dict[str, tuple[tuple[bool, bool, int], SessionFile]] = {}
    for path, stat in matching(location.path, "*/chats/session-*", problems):
        if match := _SESSION.fullmatch(os.path.basename(path)):
            project = os.path.basename(os.path.dirname(os.path.dirname(path)))
            rank = match[3] == "jsonl", not _HASH.fullmatch(project), stat.st_mtime_ns
            file = SessionFile("gemini", path, match[2] or match[1], stat.st_size, stat.st_mtime_ns)
            best[match[1]] = max(best.get(match[1], (rank, file)), (rank, file))
    largest: dict[str, int] = {}
    for _, file in best.values():
        largest[file.id] = max(file.size, largest.get(file.id, 0))
    yield from (file for _, file in best.values() if file.size == largest[file.id] or not _is_left_over(file))


def _is_left_over(file: SessionFile) -> bool:
    """Whether a log holds a header and context, and no message: all its records bring something else up to date."""
    return file.size <= _MOST_LEFT_OVER and all(
        ("sessionId" in one and "messages" not in one) or "$set" in one
        for one in map(read_record, bytes_in(file.path).splitlines())
    )


# -- the project -------------------------------------------------------------------------------------------------------


def project_root(path: Path) -> str | None:
    """The project's directory of the session in a file, clean; None where nobody tells.

    Tried in turn: the `.project_root` beside the session, the slug in projects.json, and the hash that is
    the folder's name among those of all directories that are known.
    """
    parents = list(path.absolute().parents)
    folder = next((parent.parent for parent in parents[:2] if parent.name == "chats"), parents[0])
    if (root := _read_root(folder)) or folder.parent.name != "tmp":
        return root or None
    home = folder.parent.parent
    stamp = tuple(state_of(home / name) for name in ("projects.json", "trustedFolders.json", "tmp", "history"))
    slugs, hashes = _known(home, stamp)
    return slugs.get(folder.name) or hashes.get(folder.name)


def _read_root(folder: Path) -> str:
    return clean(bytes_in(folder / ".project_root", _LONGEST).decode("utf-8", "replace")).strip()


@lru_cache(maxsize=8)
def _known(home: Path, stamp: tuple[tuple[int, int], ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Directories by slug, and by their hash; `stamp` tells when they must be looked up again."""
    from hashlib import sha256  # brings OpenSSL, for which most sessions need not wait

    listed = dict_of(object_in(home / "projects.json").get("projects"))
    slugs = {text_of(slug): clean(path) for path, slug in listed.items()}
    folders = (entry.path for base in ("tmp", "history") for entry in entries_of(home / base, [])[:_MOST_FOLDERS])
    roots = filter(None, (_read_root(Path(folder)) for folder in folders))
    known = (*listed, *object_in(home / "trustedFolders.json"), *roots)
    return slugs, {sha256(path.encode("utf-8", "surrogatepass")).hexdigest(): clean(path) for path in known}


# -- how they are told -------------------------------------------------------------------------------------------------


def looks_alike(head: Head) -> bool:
    """Whether a file that begins so is a session, a saved chat or a prompt log in Gemini CLI's form."""
    return is_document(head.document) or any(
        is_header(record)
        or (record.get("type") == "gemini" and isinstance(record.get("id"), str))
        or record.keys() in ({"$set"}, {"$rewindTo"})
        for record in head.records[:_LOOK]
    )


def is_header(value: Any) -> bool:
    """Whether a value is the header of a log, with which an older document begins too."""
    given = dict_of(value)
    return isinstance(given.get("sessionId"), str) and isinstance(given.get("projectHash"), str)


def is_document(value: Any) -> bool:
    """Whether a JSON document is one that turnlog reads as a session of Gemini CLI."""
    return is_header(value) or bool(saved(value)) or is_log(value)


def is_chat(value: Any) -> bool:
    """Whether a document is a session as it was written before the log: header and messages in one object."""
    return is_header(value) and isinstance(value.get("messages"), list)


def saved(value: Any) -> list[Data]:
    """The contents of a saved chat (`/chat save`), or of a restore point; empty if it is none."""
    if isinstance(value, dict):
        return saved(value.get("clientHistory")) or saved(value.get("history"))
    contents = list_of(value)
    looks = all(
        c.get("role") in ("user", "model") and isinstance(c.get("parts"), list) for c in map(dict_of, contents[:_LOOK])
    )
    return contents if looks and all(isinstance(content, dict) for content in contents) else []


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


def items_of(value: Any) -> list[Data]:
    """The records of a log that a document stands for."""
    if contents := saved(value):
        return [
            {"id": f"m{number}", "type": "user" if one.get("role") == "user" else "gemini", "content": one.get("parts")}
            for number, one in enumerate(contents)
        ]
    if isinstance(value, list):
        return [
            {
                # The prompt log's own numbers begin anew with every session.
                "id": f"{item.get('sessionId')}.{item.get('messageId')}.{number}",
                "timestamp": item.get("timestamp"),
                "type": kind if (kind := text_of(item.get("type"))) in TYPES else "user",
                "content": item.get("message"),
                "sessionId": item.get("sessionId"),
            }
            for number, item in enumerate(map(dict_of, value))
        ]
    header = {key: item for key, item in value.items() if key not in ("messages", "id", "$set", "$rewindTo")}
    return [header, *messages_of(value)]


def messages_of(value: Data) -> list[Data]:
    """The messages in a document, or in a change of a log."""
    return [item if isinstance(item, dict) else {"value": item} for item in list_of(value.get("messages"))]

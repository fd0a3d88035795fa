"""Toolpath documents: recognised here, checked in toolpath_check.py, read in toolpath_read.py, written in
toolpath_write.py. schemas/documents/toolpath.md says what maps to what.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.provider import HEAD_BYTES, Format, Head, Reading, Saved

if TYPE_CHECKING:
    from schemas.session import Session

KIND = "https://toolpath.net/kinds/agent-coding-session/v1.1.0"
"""What turnlog writes."""
KIND_1_0 = "https://toolpath.net/kinds/agent-coding-session/v1.0.0"
SESSION_KIND = re.compile(r"https://toolpath\.net/kinds/agent-coding-session/v1\.\d+\.\d+/?")
"""Any version of the kind that can be read: what is new in one is additive (formats note 1.9)."""
TURN, EVENT, WRITE, COMPACT = "conversation.append", "conversation.event", "file.write", "conversation.compact"
"""The structural types of the kind; `conversation.compact` is a draft's."""
SOURCES = {"claude": "claude-code", "gemini": "gemini-cli"}
"""Providers whose name in `meta.source` is another one than ours."""
PROVIDERS = {source: provider for provider, source in SOURCES.items()} | {"codex-cli": "codex"}
NAMES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "cursor": "Cursor", "opencode": "OpenCode"}
"""What people call the agents whose sessions other programs write as Toolpath."""
LEGACY_TAGS = ("Graph", "Path", "Step")
"""Keys around the root of older documents."""
_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"graph"\s*:\s*\{[^{}]*\}\s*,\s*"paths"\s*:\s*\[')
_SESSION_TYPES = (TURN, EVENT, COMPACT)


def as_graph(document: object) -> dict[str, Any] | None:
    """The graph that a document is or stands for; None if it is no Toolpath document.

    Documents until about 0.1.5 were tagged from outside, `{"Path": …}`; they, and a bare path or step, are no valid
    roots any more (formats note 1.1) but can be read.
    """
    if not isinstance(document, dict):
        return None
    if len(document) == 1 and (tag := next(iter(document))) in LEGACY_TAGS:
        document = document[tag]
        if not isinstance(document, dict):
            return None
    if isinstance(document.get("graph"), dict) and isinstance(document.get("paths"), list):
        return document
    identity = document.get("path")
    if isinstance(identity, dict) and isinstance(document.get("steps"), list):
        return {"graph": {"id": identity.get("id")}, "paths": [document]}
    identity = document.get("step")
    if isinstance(identity, dict) and isinstance(document.get("change"), dict):
        name = identity.get("id")
        return {"graph": {"id": name}, "paths": [{"path": {"id": name, "head": name}, "steps": [document]}]}
    return None


def is_session_path(path: object) -> bool:
    """Whether a path is an agent's session: by its kind, or, where it names none, by what its steps are."""
    if not isinstance(path, dict):
        return False
    meta = path.get("meta")
    kind = meta.get("kind") if isinstance(meta, dict) else None
    if isinstance(kind, str):
        return SESSION_KIND.fullmatch(kind) is not None
    steps = path.get("steps")
    return isinstance(steps, list) and any(is_session_step(step) for step in steps)


def is_session_step(step: object) -> bool:
    """Whether a step holds a turn or an event of a session."""
    change = step.get("change") if isinstance(step, dict) else None
    return isinstance(change, dict) and any(structural_type(part) in _SESSION_TYPES for part in change.values())


def structural_type(part: object) -> str | None:
    """The type of an artifact's change, where it says one."""
    structural = part.get("structural") if isinstance(part, dict) else None
    name = structural.get("type") if isinstance(structural, dict) else None
    return name if isinstance(name, str) else None


def begins_document(data: bytes) -> bool:
    """Whether bytes begin as every producer begins a graph: big ones need not be read whole to be recognised."""
    return _BEGINNING.match(data) is not None


def is_stream(head: Head) -> bool:
    """Whether a file is the stream form: its first record is a `PathOpen`."""
    return bool(head.records) and isinstance(head.records[0].get("PathOpen"), dict)


def merges_in(session: Session) -> int:
    """How many steps follow several, in a session that was read from a Toolpath document and in those within it."""
    # Asked of every session that is exported, few of which make it worth while to import the reader.
    merges: int = getattr(getattr(session.build, "__self__", None), "merges", 0)
    return merges + sum(merges_in(child.session) for child in session.subagents if child.session is not None)


def others_in(session: Session) -> list[str]:
    """The ids of the paths that are sessions too, in the document that a session was read from."""
    others: list[str] = getattr(getattr(session.build, "__self__", None), "others", [])
    return others


class ToolpathProvider(Saved):
    """Toolpath documents in the place of an agent: a file of them can be opened like any session."""

    id = "toolpath"
    name = "Toolpath"
    counting = (
        "A group's total stands on its last step and counts there, once; what steps attribute to themselves is part "
        "of it."
    )
    formats = (
        Format("Toolpath, one JSON document", "an object with graph and paths, or one path or step by itself"),
        Format("Toolpath, JSON lines", "a first record with nothing but PathOpen"),
    )

    def detect(self, head: Head) -> bool:
        """Whether the file is a Toolpath document or stream; whether it holds a session is seen when it is read."""
        if as_graph(head.document) is not None or is_stream(head):
            return True
        return len(head.data) >= HEAD_BYTES and begins_document(head.data)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Read a document or a stream; `start` means nothing, since steps name earlier ones."""
        from schemas.interchange.toolpath_open import open_toolpath

        return open_toolpath(path)


TOOLPATH = ToolpathProvider()

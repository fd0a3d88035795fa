"""Toolpath documents: recognised here, read in toolpath_read.py, written in toolpath_write.py, checked in
toolpath_check.py.

toolpath_format.py has the format's words; toolpath_document.py takes a document apart, toolpath_steps.py makes messages
of steps and toolpath_turns.py the reverse. schemas/documents/toolpath.md says what maps to what.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from schemas.interchange.toolpath_format import as_graph, begins_document, is_stream, told_of
from schemas.provider import HEAD_BYTES, Format, Head, Reading, SavedFormat

if TYPE_CHECKING:
    from schemas.session import Session


def merges_in(session: Session) -> int:
    """Count the steps that follow several, in a session read from a Toolpath document and in those within it."""
    told = told_of(session)
    inside = sum(merges_in(child.session) for child in session.subagents if child.session is not None)
    return inside + (told.merges if told is not None else 0)


def others_in(session: Session) -> list[str]:
    """The ids of the paths that are sessions too, in the document that a session was read from."""
    told = told_of(session)
    return told.others if told is not None else []


def _detect(head: Head) -> bool:
    """Return whether the file is a Toolpath document or stream; whether it holds a session is seen on reading."""
    if as_graph(head.document) is not None or is_stream(head):
        return True
    return len(head.data) >= HEAD_BYTES and begins_document(head.data)


def _open(path: Path) -> Reading:
    from schemas.interchange.toolpath_read import open_toolpath

    return open_toolpath(path)


TOOLPATH = SavedFormat(
    "toolpath",
    "Toolpath",
    "A group's total stands on its last step and counts there, once; what steps attribute to themselves is part of it.",
    (
        Format("Toolpath, one JSON document", "an object with graph and paths, or one path or step by itself"),
        Format("Toolpath, JSON lines", "a first record with nothing but PathOpen"),
    ),
    _detect,
    _open,
)

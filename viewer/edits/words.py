"""Edits in words: the same in tables, on the screens and wherever else they are spoken of."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from renderers.facts import format_age, local_time
from schemas.clean import one_line
from viewer.edits.session import Command, Edit, FileChange
from viewer.output import short_path

if TYPE_CHECKING:
    from viewer.edits.history import Commit
    from viewer.edits.trace import Origin

UNTRACED = "untraced: it cannot be told from any session on this machine"


def shown_name(file: FileChange) -> str:
    """The file's name, after the one that it had first."""
    first = file.diffs[0].path if file.diffs else file.path
    return file.path if first == file.path else f"{first} → {file.path}"


def notes(file: FileChange) -> list[str]:
    """Say what there is of a file beside its lines."""
    said = {"add": ["new"], "delete": ["deleted"], "none": ["nothing came of it"] * bool(file.edits)}.get(
        file.operation, []
    )
    if file.changed_meanwhile:
        said.append("changed by somebody else meanwhile")
    if any(stage.rewritten for stage in file.stages):
        said.append("what was in it before is not recorded")
    return said + ([counts(file.left_out)] if file.left_out else [])


def did(one: Edit | Command) -> str:
    """Say what an edit or a command did, after the subagent that did it."""
    whose = f"{one_line(one.subagent, 100)}: " if one.subagent else ""
    if isinstance(one, Edit):
        return f"{whose}{one.verb} +{one.diff.added} -{one.diff.removed}"
    changed = "any file may be changed" if not one.path else "perhaps changed" if one.perhaps else "changed"
    return f"{whose}{changed} by `{one_line(one.how, 100)}`"


def counts(ends: Counter[str]) -> str:
    """Count the edits by their end: `2 failed, 1 denied`."""
    return ", ".join(f"{count} {end}" for end, count in ends.items())


def git_words(commit: Commit | None) -> str:
    """Say what Git knows of a line."""
    if commit is None:
        return "not committed yet"
    return f"{commit.id[:10]}  {commit.author}  {local_time(commit.authored, date=True)}  {commit.summary}"


def origin_words(origin: Origin, address: str) -> str:
    """The edit from which a line came: how it was made, where it stands, and when."""
    edit = origin.edit
    age = f"  {format_age(time.time() - edit.time)} ago" if edit.time is not None else ""
    whom = f" by {one_line(edit.subagent, 100)}" if edit.subagent else ""
    return f"{edit.verb}{whom}  {address}  {origin.provider}{age}  {short_path(origin.path)}"

"""The files of a session's subagents: `chats/<session id>/<subagent id>.jsonl` (formats note 1.4)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.clean import one_line
from schemas.session import Change, Op, Subagent

if TYPE_CHECKING:
    from schemas.providers.gemini.parse import GeminiParser

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MOST_FILES = 5000


class Beside:
    """Knows a session's subagents: those that a tool use names, and those that have a file."""

    def __init__(self, parser: GeminiParser) -> None:
        self._parser = parser
        self.subagents: list[Subagent] = []
        self._by_id: dict[str, Subagent] = {}
        self._stamps: dict[Path, int] = {}

    def link(self, identifiers: Iterable[str], changed: list[int]) -> list[Change]:
        """Say which message started each of these subagents, after `changed` did; returns what else is different."""
        parser, seen = self._parser, set(changed)
        changes: list[Change] = []
        for identifier in identifiers:
            if (agent := parser.agent(identifier)) is not None:
                subagent = self._subagent(identifier)
                subagent.name, subagent.description = agent.name, agent.description
            elif identifier in self._by_id:
                subagent = self._by_id[identifier]
            else:
                continue  # no tool use names it any more
            row = parser.row_of_agent(identifier)
            if row != subagent.tool_use and row is not None and row not in seen:
                changes.append(Change(Op.UPDATED, row))
            subagent.tool_use = row
        return changes

    def refresh(self) -> list[Change]:
        """Look for files; returns the messages whose subagent got its file. Cheap when no folder changed."""
        changes: list[Change] = []
        own = self._parser.session.path.absolute()
        for folder in self._folders():
            try:
                stamp = folder.stat().st_mtime_ns
                if self._stamps.get(folder) == stamp:
                    continue
                names = sorted(name for name in os.listdir(folder) if name.endswith((".jsonl", ".json")))
            except OSError:
                continue  # most sessions have no subagents
            self._stamps[folder] = stamp
            for name in names[:_MOST_FILES]:
                path = folder / name
                if path != own and path.is_file() and not path.is_symlink():
                    changes += self._take(path)
        return changes

    def _folders(self) -> list[Path]:
        """Where they may lie: below the chats, under the session's id. A subagent's own lie beside its folder."""
        session = self._parser.session
        name = _UNSAFE.sub("_", session.id)
        folder = session.path.absolute().parent
        return [base / name for base in (folder, folder.parent) if name and (base == folder or base.name == "chats")]

    def _take(self, path: Path) -> list[Change]:
        subagent = self._subagent(one_line(path.stem, 100))
        if subagent.path is not None and (subagent.path.suffix == ".jsonl" or path.suffix == ".json"):
            return []
        subagent.path = path
        return [] if subagent.tool_use is None else [Change(Op.UPDATED, subagent.tool_use)]

    def _subagent(self, identifier: str) -> Subagent:
        subagent = self._by_id.get(identifier)
        if subagent is None:
            subagent = self._by_id[identifier] = Subagent(identifier)
            self.subagents.append(subagent)
        return subagent

"""Summaries and a library made by hand, for tests of the list."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from schemas.costs.responses import Response
from schemas.provider import Problem
from schemas.session import Lineage
from schemas.usage import TokenUsage
from viewer.index.fulltext import TextStore
from viewer.index.summary import Summary
from viewer.sessions.discover import Found

NOW = 1_780_000_000.0
HERE = Path("/home/dev/src/lamp-shop")
HOUR, DAY = 3600.0, 86400.0


def summary(
    name: str, *, ago: float = HOUR, root: str | None = str(HERE), fork: str | None = None, **fields: Any
) -> Summary:
    """A session that ended `ago` seconds before NOW."""
    values: dict[str, Any] = {
        "provider": "claude",
        "id": name,
        "file": f"nowhere/{name}.jsonl",
        "title": f"Title {name}",
        "workspace_root": root,
        "branch": "main",
        "created": NOW - ago - 600,
        "updated": NOW - ago,
        "exchanges": 3,
        "messages": 40,
        "agent_messages": 30,
        "models": ["claude-opus-5"],
        "usage": TokenUsage(1000, 2000, 30_000, 4000),
        "usage_with_subagents": TokenUsage(2000, 3000, 30_000, 4000),
        "subagents": 1,
        "first_prompt": f"first prompt of {name}",
        "last_prompt": f"last prompt of {name}",
        "last_text": f"answer of {name}",
        "size": 1000,
        "mtime_ns": int((NOW - ago) * 1e9),
        "touched_ns": int((NOW - ago) * 1e9),
        "lineage": Lineage(forked_from=fork),
    }
    if "path" in fields:
        fields["file"] = str(fields.pop("path"))
    return Summary(**values | fields)


class HandLibrary:
    """Gives what it was given: `cached` at once, `batches` one after the other when it is refreshed."""

    def __init__(self, cached: list[Summary], batches: list[list[Summary]] | None = None) -> None:
        self._known = list(cached)
        self._batches = batches or []
        self.problems: list[Problem] = []
        self.found = Found()
        self.looks = 0
        self.responses: dict[Path, list[Response]] = {}

    def cached(self) -> list[Summary]:
        return list(self._known)

    def first(self, directory: Path, limit: int = 200) -> list[Summary]:
        return self._known[:limit]

    def texts(self, report: Callable[[str], None]) -> TextStore:
        return TextStore(Path(os.devnull) / "no index", "", report)

    def lacking(self, known: dict[str, tuple[int, int]]) -> list[str]:
        return []

    def all(self) -> list[Summary]:
        return list(self._known)

    def responses_of(self, summaries: Iterable[Summary]) -> Iterator[list[Response]]:
        for summary in summaries:
            yield self.responses.get(summary.path, [])

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> Iterator[list[Summary]]:
        self.looks += 1
        batches, self._batches = self._batches, []
        for batch in batches:
            paths = {s.path for s in batch}
            self._known = [s for s in self._known if s.path not in paths] + batch
            yield batch

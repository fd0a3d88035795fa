"""Running threads of Codex: what it keeps of their last turns beside the rollouts (formats/found-live.md 4)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.folders import entries_of
from schemas.providers.kit.running import Stated, Status
from schemas.sqlite import log_of, read_database, tables_of
from schemas.values import text_of, whole

if TYPE_CHECKING:
    from schemas.provider import Location

_COLUMNS = ("thread_id", "status", "started_at", "completed_at")
_MOST_TURNS = 400
"""Turns that are looked at, the newest: those of all threads that may run."""
_LARGEST = 16 << 20
"""Bytes of a database that may be copied whenever Codex writes. Of a larger one nothing is read: the rollouts, which
the turns were taken from, tell the same.
"""
_STATUS = {"inProgress": Status.GOES_ON, "completed": Status.DONE, "interrupted": Status.DONE, "failed": Status.DONE}


def stated(locations: list[Location]) -> Iterator[Stated]:
    """Read the status of each thread's last turn. It names no process, and stays as it is after kill -9."""
    for location in locations:
        for entry in entries_of(location.path, [], is_root=True):
            path = Path(entry.path)
            if entry.name.startswith("thread_history_") and path.suffix == ".sqlite" and _size(path) <= _LARGEST:
                yield from _turns(path)


def _turns(path: Path) -> Iterator[Stated]:
    if not set(_COLUMNS) <= tables_of(path)[0].get("thread_turns", frozenset()):
        return
    asked = f"SELECT {', '.join(_COLUMNS)} FROM thread_turns ORDER BY started_at DESC LIMIT {_MOST_TURNS}"

    def read(database: sqlite3.Connection) -> list[tuple[object, ...]]:
        return database.execute(asked).fetchall()

    seen: set[str] = set()
    for thread, status, started, completed in read_database(path, read, once="turns"):
        if (session := text_of(thread)) and session not in seen:
            seen.add(session)
            since = whole(completed) or whole(started)
            known = _STATUS.get(text_of(status), Status.UNTOLD)
            yield Stated(session, status=known, since=float(since) if since else None)


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in (path, log_of(path)) if one.is_file())

"""What lies beside a rollout: the names people gave to threads, and the files of its subagents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.providers.codex.locate import Found, folders_near, home_of, is_archived, look
from schemas.providers.kit.words import Child, Fact, Item, Task, Title
from schemas.records import JsonLines
from schemas.values import text_of

if TYPE_CHECKING:
    import sqlite3

    from schemas.session import Session

_INDEX_LIMIT = 64 << 20


def stamps(session: Session) -> object:
    """The state of all that `found` looks at; None while a file there has only begun."""
    home, folders = _places(session)
    seen = [_state(folder) for folder in folders]
    if home is not None:
        seen += [_state(home / "session_index.jsonl"), *map(_state, _databases(home))]
    return None if any(not settled for _, settled in map(_rollouts_in, folders)) else tuple(seen)


def found(session: Session) -> Iterator[Item]:
    """The names of a thread, the one that counts most last, and its subagents."""
    home, folders = _places(session)
    yield Title(_fallback(session), -1)
    if is_archived(session.path.absolute()):
        yield Fact(archived=True)
    if home is not None:
        if databases := _databases(home):
            yield Title(_title_in(databases[0], session.id), 3)
        yield Title(_name_in(home / "session_index.jsonl", session.id), 4)
    for folder in folders:
        for child in _rollouts_in(folder)[0]:
            if child.subagent and child.parent == session.id != child.id:
                yield Child(child.id, child.path, task=Task(child.name), internal=child.internal)


def _places(session: Session) -> tuple[Path | None, list[Path]]:
    path = session.path.absolute()
    home = home_of(path)
    return home, folders_near(path, home, session.created, session.updated)


def _state(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return -1, -1  # there need not be one
    return stat.st_size, stat.st_mtime_ns


def _fallback(session: Session) -> str:
    """A title for a session without any: the subagent's name, or its directory and day."""
    if agent := text_of(session.metadata.get("agent")):
        return agent
    root = (session.workspace_root or "").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    day = f"{datetime.fromtimestamp(session.created):%Y-%m-%d}" if session.created else ""
    return " ".join(word for word in (root, day) if word)


# -- names -------------------------------------------------------------------------------------------------------------


def _name_in(path: Path, thread: str) -> str:
    """`session_index.jsonl`: a line a renaming, the last one for an id holds, an empty name takes it back."""
    try:
        data = path.read_bytes() if path.stat().st_size <= _INDEX_LIMIT else b""
    except OSError:
        return ""
    name = ""
    for _, _, _, value in JsonLines().push(data if data.endswith(b"\n") else data + b"\n"):
        if value.get("id") == thread:
            name = text_of(value.get("thread_name"))
    return name


def _databases(home: Path) -> list[Path]:
    """The newest `state_<n>.sqlite`, and its log."""
    from schemas.sqlite import log_of

    databases = sorted(home.glob("state_*.sqlite"), key=lambda path: (len(path.name), path.name))
    return [databases[-1], log_of(databases[-1])] if databases else []


def _title_in(path: Path, thread: str) -> str:
    """A thread's title in Codex's database; empty where it only begins as the first prompt does."""
    from schemas.sqlite import read_database

    def titles(database: sqlite3.Connection) -> list[str]:
        columns = {row[1] for row in database.execute("PRAGMA table_info(threads)")}
        names = [column for column in ("name", "title") if column in columns]
        if "id" not in columns or not names:
            return []
        first = "first_user_message" if "first_user_message" in columns else "NULL"
        row = database.execute(f"SELECT {first}, {', '.join(names)} FROM threads WHERE id = ?", (thread,)).fetchone()
        return [" ".join(text_of(value).split()) for value in row or ()]

    try:
        prompt, *named = read_database(path, titles) or [""]
    except OSError:
        return ""  # locked, damaged or of another make: the title is an extra
    return next((title for title in named if title and not prompt.startswith(title.rstrip("…"))), "")


# -- children ----------------------------------------------------------------------------------------------------------

_looked: dict[Path, tuple[int, list[Found]]] = {}
"""The rollouts in a folder, as of its last change, once each of them has a whole first line."""


def _rollouts_in(folder: Path) -> tuple[list[Found], bool]:
    """The rollouts directly in a folder, and whether that is final: not while a writer has only begun with one."""
    changed = _state(folder)[1]
    if (known := _looked.get(folder)) is not None and known[0] == changed:
        return known[1], True
    rollouts: list[Found] = []
    settled = True
    try:
        with os.scandir(folder) as entries:
            endings = (".jsonl", ".jsonl.zst")
            names = sorted(e.name for e in entries if e.name.endswith(endings) and e.is_file(follow_symlinks=False))
    except OSError:
        return rollouts, True
    for name in names:
        path = folder / name
        try:
            stat = path.stat()
            rollout = look(path, stat)
        except OSError:
            continue  # discovery reports it; here it is only not ours
        if rollout is not None:
            rollouts.append(rollout)
        elif stat.st_size < 1 << 16:
            settled = False
    if settled:
        _looked[folder] = changed, rollouts
    return rollouts, settled

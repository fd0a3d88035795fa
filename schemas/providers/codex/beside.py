"""What lies beside a rollout: the names people gave to threads, and the files of its subagents."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from schemas.clean import one_line
from schemas.providers.codex.history import agent_name
from schemas.providers.codex.locate import Found, folders_near, home_of, look
from schemas.records import JsonLines
from schemas.session import Change, Op, Session, Subagent
from schemas.values import text_of

_INDEX_LIMIT = 64 << 20


class Beside:
    """Names and children of one session, looked up again only where something changed."""

    def __init__(self, session: Session, meta: dict[str, Any]) -> None:
        self._session = session
        self._home = home_of(session.path.absolute())
        self._agent = agent_name(meta)
        self.name = ""
        self._index_state: tuple[int, int] | None = None
        self._index_name = ""
        self._state_files: tuple[tuple[str, int, int], ...] = ()
        self._state_name = ""
        self._folders: dict[Path, int] = {}
        self._sought: frozenset[str] = frozenset()

    def take_meta(self, meta: dict[str, Any]) -> None:
        """The session's header was read."""
        self._agent = agent_name(meta)

    def fallback(self) -> str:
        """A title for a session without any: the subagent's name, or its directory and day."""
        if self._agent:
            return one_line(self._agent, 100)
        session = self._session
        root = (session.workspace_root or "").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
        day = f"{datetime.fromtimestamp(session.created):%Y-%m-%d}" if session.created else ""
        return " ".join(word for word in (root, day) if word)

    def refresh(self) -> list[Change]:
        """Look again; returns the messages whose subagent got its file."""
        if self._home is not None:
            self._read_index(self._home / "session_index.jsonl")
            self._read_state(self._home)
        self.name = self._index_name or self._state_name
        return self._find_children()

    # -- names -----------------------------------------------------------------------------------------------------

    def _read_index(self, path: Path) -> None:
        """`session_index.jsonl`: a line a renaming, the last one for an id holds, an empty name takes it back."""
        try:
            stat = path.stat()
            state = (stat.st_size, stat.st_mtime_ns)
            if state == self._index_state or stat.st_size > _INDEX_LIMIT:
                return
            data = path.read_bytes()
        except OSError:
            return  # there need not be one
        self._index_state = state
        for _, _, _, value in JsonLines().push(data if data.endswith(b"\n") else data + b"\n"):
            if value.get("id") == self._session.id:
                self._index_name = one_line(text_of(value.get("thread_name")), 200)

    def _read_state(self, home: Path) -> None:
        """`state_<n>.sqlite`: its title counts where it is more than the first prompt over again."""
        databases = sorted(home.glob("state_*.sqlite"), key=lambda p: (len(p.name), p.name))
        if not databases:
            return
        path = databases[-1]
        state = tuple(_file_state(Path(f"{path}{suffix}")) for suffix in ("", "-wal", "-shm"))
        if state == self._state_files:
            return
        self._state_files = state
        self._state_name = _thread_title(path, self._session.id)

    # -- children --------------------------------------------------------------------------------------------------

    def _find_children(self) -> list[Change]:
        session = self._session
        changes: list[Change] = []
        near = folders_near(session.path.absolute(), self._home, session.created, session.updated)
        known = {s.id: s for s in session.subagents}
        missing = frozenset(s.id for s in session.subagents if s.path is None)
        sought, self._sought = self._sought, missing
        for folder in near:
            try:
                changed = folder.stat().st_mtime_ns
            except OSError:
                continue
            if self._folders.get(folder) == changed and missing <= sought:
                continue
            children, settled = _rollouts_in(folder)
            if settled:
                self._folders[folder] = changed
            for child in children:
                if child.id != session.id and (child.id in known or (child.subagent and child.parent == session.id)):
                    changes.extend(self._take_child(child, known))
        return changes

    def _take_child(self, child: Found, known: dict[str, Subagent]) -> list[Change]:
        subagent = known.get(child.id)
        if subagent is None:
            subagent = known[child.id] = Subagent(one_line(child.id, 100))
            self._session.subagents.append(subagent)
        if subagent.path is not None:
            return []
        subagent.path, subagent.internal = child.path, child.internal
        subagent.name = one_line(child.name, 100) or subagent.name
        return [] if subagent.tool_use is None else [Change(Op.UPDATED, subagent.tool_use)]


def _rollouts_in(folder: Path) -> tuple[list[Found], bool]:
    """The rollouts directly in a folder, a plain file before its compressed copy; and whether that is final.

    It is not while a file has no complete first line: its writer has only begun.
    """
    found: list[Found] = []
    settled = True
    try:
        with os.scandir(folder) as entries:
            files = sorted(
                e.name
                for e in entries
                if e.name.endswith((".jsonl", ".jsonl.zst")) and e.is_file(follow_symlinks=False)
            )
    except OSError:
        return found, True
    for name in files:
        path = folder / name
        try:
            stat = path.stat()
            rollout = look(path, stat)
        except OSError:
            continue  # discovery reports it; here it is only not ours
        if rollout is not None:
            found.append(rollout)
        elif stat.st_size < 1 << 16:
            settled = False
    return found, settled


def _file_state(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return path.name, -1, -1
    return path.name, stat.st_size, stat.st_mtime_ns


def _thread_title(path: Path, thread: str) -> str:
    """A thread's title in Codex's database, read without leaving anything beside it; empty if it has none of its own.

    A read-only connection to a database in WAL mode makes `-wal` and `-shm` files where they are missing. So without
    them the file is opened as immutable: then nobody is writing to it.
    """
    live = all(Path(f"{path}{suffix}").exists() for suffix in ("-wal", "-shm"))
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if live else '&immutable=1'}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=0.2)) as database:
            columns = {row[1] for row in database.execute("PRAGMA table_info(threads)")}
            names = [column for column in ("name", "title") if column in columns]
            if "id" not in columns or not names:
                return ""
            first = "first_user_message" if "first_user_message" in columns else "NULL"
            query = f"SELECT {first}, {', '.join(names)} FROM threads WHERE id = ?"
            row = database.execute(query, (thread,)).fetchone()
    except (sqlite3.Error, UnicodeDecodeError):  # the second for a message in which SQLite quotes damage
        return ""  # locked, damaged or of another make: the title is an extra
    if row is None:
        return ""
    prompt, *titles = (one_line(text_of(value), 200) for value in row)
    return next((title for title in titles if title and not prompt.startswith(title.rstrip("…"))), "")

"""Lays the demo's sessions out below a home directory, as the agents would, ending at a given moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from viewer.demo import others
from viewer.demo.claude import ClaudeSession
from viewer.demo.codex import CodexSession
from viewer.demo.gemini import GeminiSession
from viewer.demo.tidewatch import ROOT, tidewatch

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
DIRECTORY = Path(ROOT)
"""The directory that the demo pretends to be started in."""


def make_demo(home: Path, now: float) -> Path:
    """Write all demo sessions below `home`, the newest ended minutes before `now`; returns the main one's path."""
    main = _claude(home, lambda start: tidewatch(start)[0], now - 4 * MINUTE)
    _, agents = tidewatch(now - 4 * MINUTE - _length(lambda start: tidewatch(start)[0]))
    folder = main.with_suffix("") / "subagents"
    for agent_id, (child, meta) in agents.items():
        _write(folder / f"agent-{agent_id}.jsonl", child.records, child.now)
        _write(folder / f"agent-{agent_id}.meta.json", [meta], child.now)
    ended = main.stat().st_mtime
    for place in (folder, folder.parent):
        os.utime(place, (ended, ended))
    _codex(home, others.postbox, now - 3 * HOUR)
    _gemini(home, others.stations, now - 21 * HOUR)
    _claude(home, others.reykjavik, now - 27 * HOUR)
    asked = now - 2 * DAY
    _claude(home, others.red_ci, asked)
    begun = asked - _length(others.red_ci)
    _claude(home, lambda start: others.red_ci_fork(others.red_ci(begun), start), asked + HOUR)
    _codex(home, others.backups, now - 19 * DAY)
    return main


def claude_path(home: Path, session: ClaudeSession) -> Path:
    """Where Claude Code keeps a session."""
    folder = "".join(c if c.isalnum() and c.isascii() else "-" for c in session.files.root)
    return home / ".claude" / "projects" / folder / f"{session.id}.jsonl"


def codex_path(home: Path, session: CodexSession) -> Path:
    """Where Codex keeps a session: folders and names in local time."""
    day = datetime.fromtimestamp(session.start)
    name = f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"
    return home / ".codex" / "sessions" / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" / name


def line_of(record: dict[str, Any]) -> bytes:
    """A record as its agent writes it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _claude(home: Path, make: Callable[[float], ClaudeSession], ended: float) -> Path:
    session = make(ended - _length(make))
    path = claude_path(home, session)
    _write(path, session.records, session.now)
    return path


def _codex(home: Path, make: Callable[[float], CodexSession], ended: float) -> Path:
    session = make(ended - _length(make))
    path = codex_path(home, session)
    _write(path, session.records, session.now)
    return path


def _gemini(home: Path, make: Callable[[float], GeminiSession], ended: float) -> Path:
    session = make(ended - _length(make))
    project = home / ".gemini" / "tmp" / Path(session.files.root).name
    began = datetime.fromtimestamp(session.start, UTC)
    path = project / "chats" / f"session-{began:%Y-%m-%dT%H-%M}-{session.id[:8]}.jsonl"
    _write(path, session.records, session.now)
    (project / ".project_root").write_text(session.files.root)
    return path


def _length(make: Callable[[float], ClaudeSession | CodexSession | GeminiSession]) -> float:
    """How many seconds a session takes: its story decides, so it is told once from the beginning of time."""
    return make(0.0).now


def _write(path: Path, records: Iterable[dict[str, Any]], modified: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line_of, records)))
    os.utime(path, (modified, modified))

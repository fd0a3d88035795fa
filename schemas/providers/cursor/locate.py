"""Where Cursor's sessions lie, and what lies beside one (formats note 3.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from glob import escape
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from schemas.folders import entries_of, matching
from schemas.provider import Location, Problem, SessionFile
from schemas.providers.kit.files import bytes_in
from schemas.records import read_record
from schemas.values import text_of

if TYPE_CHECKING:
    import sqlite3

_TRANSCRIPTS = "agent-transcripts"
_ENDINGS = (".jsonl", ".txt")
_MOST_META = 1 << 20


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions in one of Cursor's folders: each id once, by its newest store or, without one, newest transcript."""
    stores, lone, hidden = dict[str, SessionFile](), dict[str, SessionFile](), set[str]()
    for path, stat in matching(location.path / "chats", "*/*/store.db", problems):
        chat = os.path.dirname(path)
        name = os.path.basename(chat)
        if read_meta(chat).get("isSubagent") is True:
            hidden.add(name)
        elif stat.st_size:  # else it was begun, but nothing was written yet
            files = [stat, *([os.stat(f"{path}-wal")] if os.path.isfile(f"{path}-wal") else [])]
            size, time = sum(file.st_size for file in files), max(file.st_mtime_ns for file in files)
            file = SessionFile("cursor", path, name, size, time)
            stores[name] = max(stores.get(name, file), file, key=lambda one: one.mtime_ns)
    for name, path, stat in _transcripts(location.path, "*", problems):
        if name not in stores and name not in hidden:
            file = SessionFile("cursor", path, name, stat.st_size, stat.st_mtime_ns)
            lone[name] = max(lone.get(name, file), file, key=lambda one: (one.mtime_ns, one.file.endswith(".jsonl")))
    yield from (*stores.values(), *lone.values())


def _transcripts(root: Path, name: str, problems: list[Problem]) -> Iterator[tuple[str, str, os.stat_result]]:
    """The transcripts whose ids fit a pattern: each in its project's folder of them, or in one of its own there."""
    for pattern in (f"*/{_TRANSCRIPTS}/{name}.*", f"*/{_TRANSCRIPTS}/{name}/{name}.*"):
        for path, stat in matching(root / "projects", pattern, problems):
            stem, ending = os.path.splitext(os.path.basename(path))
            if ending in _ENDINGS and stat.st_size and os.path.basename(os.path.dirname(path)) in (stem, _TRANSCRIPTS):
                yield stem, path, stat


def read_meta(chat: str | Path) -> dict[str, Any]:
    """The `meta.json` in a chat's folder; empty where there is none."""
    return read_record(bytes_in(Path(chat, "meta.json"), _MOST_META))


# -- beside a session --------------------------------------------------------------------------------------------------


def root_of(path: Path) -> Path | None:
    """The Cursor folder in whose `chats` or `projects` a file lies."""
    parents = path.absolute().parents
    if len(parents) > 3 and parents[2].name == "chats":
        return parents[3]
    projects = (parent.parents[1] for parent in parents if parent.name == _TRANSCRIPTS)
    return next((folder.parent for folder in projects if folder.name == "projects"), None)


def transcripts_of(root: Path | None, name: str) -> list[Path]:
    """The transcripts of a session, the one written last first: its id may stand under several projects."""
    found = _transcripts(root, escape(name), []) if root is not None and name else ()
    return [Path(path) for _, path in sorted(((stat.st_mtime_ns, path) for _, path, stat in found), reverse=True)]


def subagents_of(transcript: Path) -> list[Path]:
    """The transcripts of the runs that a session's tool uses started."""
    folder = transcript.parent if transcript.parent.name == transcript.stem else transcript.with_suffix("")
    return [
        Path(path) for path, _ in matching(folder / "subagents", "*.*", [], is_root=False) if path.endswith(_ENDINGS)
    ]


def title_of(path: Path, name: str) -> str:
    """The title in the database in which Cursor keeps summaries of some conversations, read once a change."""
    from schemas.sqlite import read_database

    def titles(database: sqlite3.Connection) -> dict[str, str]:
        rows = database.execute("SELECT conversationId, title FROM conversation_summaries")
        return {text_of(key): text_of(title) for key, title in rows}

    root = root_of(path)
    try:
        return read_database(tracking_of(root), titles, once="titles").get(name, "") if root is not None else ""
    except OSError:
        return ""  # not there, another version's, or damaged: the first prompt serves as a title


def tracking_of(root: Path) -> Path:
    """The database of such summaries."""
    return root / "ai-tracking" / "ai-code-tracking.db"


# -- the workspace -----------------------------------------------------------------------------------------------------

_MOST_FOLDERS = 400
"""Directories that resolving one slug may look into."""
_DRIVE = re.compile(r"^/(?=[A-Za-z]:)")


def workspace_by_name(path: Path, transcripts: Iterable[Path]) -> str:
    """The directory that a chat's folder or a project's is named after: the first is the MD5 of the path, the second is
    the path with everything but letters and digits as `-`. Empty where none is known.
    """
    projects = (one.absolute() for one in transcripts)
    slug = next((parent.parent.name for one in projects for parent in one.parents if parent.name == _TRANSCRIPTS), "")
    resolved = resolve_slug(slug)
    if path.name == "store.db":
        workspace = path.absolute().parents[1]
        known = (text_of(read_meta(entry.path).get("cwd")) for entry in entries_of(workspace, []))
        return next((one for one in (*known, resolved) if _hash_of(one) == workspace.name), resolved)
    return resolved


def _hash_of(path: str) -> str:
    """What Cursor calls the folder of the chats of a directory."""
    return md5(path.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def path_in(uri: str) -> str:
    """The path in a `file:` URI; empty for any other."""
    return _DRIVE.sub("", unquote(uri[7:])) if uri.startswith("file:///") else ""


@lru_cache(maxsize=512)
def resolve_slug(slug: str) -> str:
    """The directory on this machine that has the slug; the slug itself where there is none."""
    folder, rest = (f"{slug[:1]}:\\", slug[1:].lstrip("-")) if os.name == "nt" else ("/", slug)
    return (slug and _descend(folder, rest, [_MOST_FOLDERS])) or slug


def _descend(folder: str, rest: str, budget: list[int]) -> str:
    """The directory below `folder` whose remaining path has the slug `rest`: the longest names are tried first."""
    budget[0] -= 1
    if not rest or budget[0] < 0:
        return folder if not rest else ""
    fitting = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = re.sub(r"[^A-Za-z0-9]", "-", entry.name)
                # A hidden directory's dot is a dash of its own behind that of the slash.
                if (rest == name or rest.startswith(f"{name}-")) and entry.is_dir():
                    fitting.append((len(rest) - len(name), entry.path, rest[len(name) + 1 :]))
    except OSError:
        return ""
    return next(filter(None, (_descend(path, left, budget) for _, path, left in sorted(fitting))), "")

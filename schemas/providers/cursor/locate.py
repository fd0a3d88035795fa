"""Where Cursor's sessions lie, and what lies beside one (formats note 3.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from schemas.folders import entries_of, matching
from schemas.provider import Location, Problem, SessionFile
from schemas.records import read_record
from schemas.values import text_of

if TYPE_CHECKING:
    import sqlite3

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TRANSCRIPTS = "agent-transcripts"
_LAYOUTS = ("{0}/{0}.jsonl", "{0}/{0}.txt", "{0}.jsonl", "{0}.txt")
_ENDINGS = (".jsonl", ".txt")
_MOST_META = 1 << 20


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions in one of Cursor's folders: each id once, by its newest store or, without one, newest transcript."""
    best, hidden = dict[str, SessionFile](), set[str]()
    for path, stat in matching(location.path / "chats", "*/*/store.db", problems):
        chat = os.path.dirname(path)
        name, size, time = os.path.basename(chat), stat.st_size, stat.st_mtime_ns
        if read_meta(chat).get("isSubagent") is True:
            hidden.add(name)
        elif size:  # else it was begun, but nothing was written yet
            log = os.stat(f"{path}-wal") if os.path.isfile(f"{path}-wal") else None
            file = SessionFile(
                "cursor", path, name, size + (log.st_size if log else 0), max(time, log.st_mtime_ns if log else 0)
            )
            best[name] = max(file, best.get(name, file), key=lambda one: one.mtime_ns)
    lone = dict[str, SessionFile]()
    for pattern in (f"*/{_TRANSCRIPTS}/*", f"*/{_TRANSCRIPTS}/*/*"):
        for path, stat in matching(location.path / "projects", pattern, problems):
            name, ending = os.path.splitext(os.path.basename(path))
            own = pattern.endswith("/*/*") is (os.path.basename(os.path.dirname(path)) == name)
            if own and ending in _ENDINGS and stat.st_size and name not in best and name not in hidden:
                file = SessionFile("cursor", path, name, stat.st_size, stat.st_mtime_ns)
                lone[name] = max(
                    lone.get(name, file), file, key=lambda one: (one.mtime_ns, one.file.endswith(".jsonl"))
                )
    yield from (*best.values(), *lone.values())


def read_meta(chat: str | Path) -> dict[str, Any]:
    """The `meta.json` in a chat's folder; empty where there is none."""
    try:
        with open(os.path.join(chat, "meta.json"), "rb") as file:
            return read_record(file.read(_MOST_META))
    except OSError:
        return {}


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
    if root is None or name in ("", ".", ".."):
        return []
    found = []
    for project in entries_of(root / "projects", [], is_root=True):
        for layout in _LAYOUTS:
            path = Path(project.path, _TRANSCRIPTS, layout.format(name))
            if path.is_file() and not path.is_symlink() and (stat := path.stat()).st_size:
                found.append((stat.st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


def subagents_of(transcript: Path) -> list[Path]:
    """The transcripts of the runs that a session's tool uses started."""
    folder = transcript.parent if transcript.parent.name == transcript.stem else transcript.with_suffix("")
    entries = entries_of(folder / "subagents", [])
    return [Path(entry.path) for entry in entries if entry.name.endswith(_ENDINGS) and entry.is_file()]


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
_NO_PATHS = re.compile(r"empty-window|\d+|(?:private-)?var-folders-.*", re.IGNORECASE)
_DRIVE = re.compile(r"/[A-Za-z]:[/\\]?")


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
        hashed = (one for one in (*known, resolved, _here()) if one and hash_of(one) == workspace.name)
        return next(hashed, resolved)
    return resolved


def hash_of(path: str) -> str:
    """What Cursor calls the folder of the chats of a directory."""
    return md5(path.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _here() -> str:
    """Where turnlog runs, mostly the project whose sessions are looked at."""
    try:
        return os.getcwd()
    except OSError:
        return ""  # a directory that is gone


def path_in(uri: str) -> str:
    """The path in a `file:` URI; empty for any other."""
    try:
        parts = urlsplit(uri if uri.startswith("file:") else "")
    except ValueError:
        return ""
    # `#` and `?` are quoted in a URI, but not everybody quotes.
    path = unquote(parts.path + f"?{parts.query}" * bool(parts.query) + f"#{parts.fragment}" * bool(parts.fragment))
    if parts.netloc and parts.netloc != "localhost":
        return f"//{parts.netloc}{path}"
    return path[1:] if _DRIVE.match(path) else path


def resolve_slug(slug: str) -> str:
    """The directory on this machine that has the slug; the slug itself where there is none, or it is no path."""
    return (slug if not slug or _NO_PATHS.fullmatch(slug) else _resolve(slug)) or slug


@lru_cache(maxsize=512)
def _resolve(slug: str) -> str:
    if os.name == "nt":
        return _descend(f"{slug[:1]}:\\", slug[1:].lstrip("-"), [_MOST_FOLDERS])
    return _descend("/", slug, [_MOST_FOLDERS])


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

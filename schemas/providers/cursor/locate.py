"""Where Cursor's sessions lie, and what lies beside one (formats note 3.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from schemas.folders import entries_of, reason_of
from schemas.provider import Environment, Location, Problem, SessionFile
from schemas.records import read_record

PROVIDER_ID = "cursor"
PROVIDER_NAME = "Cursor CLI"
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
TRANSCRIPTS = "agent-transcripts"
_ENDINGS = (".jsonl", ".txt")
_MOST_META = 1 << 20


def locations(env: Environment) -> list[Location]:
    """Every folder that some version of Cursor uses: all are looked into, since upgrades leave the old ones behind."""
    found: list[Location] = []
    if named := env.variables.get("CURSOR_CONFIG_DIR"):
        found.append(Location(Path(named), "CURSOR_CONFIG_DIR"))
    found.append(Location(env.home / ".cursor", "default"))
    if config := env.variables.get("XDG_CONFIG_HOME"):
        found.append(Location(Path(config, "cursor"), "XDG_CONFIG_HOME"))
    found.append(Location(env.home / ".config" / "cursor", "default since 2026"))
    found.append(Location(env.home / ".cursor-server", "default on remote hosts"))
    return list({location.path: location for location in reversed(found)}.values())[::-1]


# -- discovery ---------------------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    path: str
    id: str
    size: int
    mtime_ns: int


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions in one of Cursor's folders: each id once, by its store or, without one, by its transcript."""
    root = location.path
    best: dict[str, _Found] = {}
    hidden: set[str] = set()
    for store in _stores(root, problems, hidden):
        if store.id not in best or store.mtime_ns > best[store.id].mtime_ns:
            best[store.id] = store
    lone: dict[str, _Found] = {}
    for transcript in _transcripts(root, problems):
        known = lone.get(transcript.id)
        if transcript.id not in best and (known is None or _rank(transcript) > _rank(known)):
            lone[transcript.id] = transcript
    for found in (*best.values(), *lone.values()):
        if found.id not in hidden:
            yield SessionFile(PROVIDER_ID, found.path, found.id, found.size, found.mtime_ns)


def _rank(found: _Found) -> tuple[int, bool]:
    return found.mtime_ns, found.path.endswith(".jsonl")


def _stores(root: Path, problems: list[Problem], hidden: set[str]) -> Iterator[_Found]:
    """The databases of chats. Subagents' are not given; their ids are added to `hidden`."""
    for workspace in _folders(root / "chats", problems, is_root=True):
        for chat in _folders(workspace, problems):
            store = os.path.join(chat, "store.db")
            stat = _stat(store, problems)
            if stat is None or not stat.st_size:  # begun, but nothing was written yet
                continue
            identifier = os.path.basename(chat)
            if _is_subagent(os.path.join(chat, "meta.json")):
                hidden.add(identifier)
                continue
            log = _stat(f"{store}-wal", problems)
            size, changed = (log.st_size, log.st_mtime_ns) if log else (0, 0)
            yield _Found(store, identifier, stat.st_size + size, max(stat.st_mtime_ns, changed))


def _is_subagent(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_META)
    except OSError:
        return False
    return b'"isSubagent"' in data and read_record(data).get("isSubagent") is True


def _transcripts(root: Path, problems: list[Problem]) -> Iterator[_Found]:
    """Transcripts of every layout, subagents' apart."""
    for project in _folders(root / "projects", problems, is_root=True):
        for entry in entries_of(Path(project, TRANSCRIPTS), problems):
            paths = [entry.path]
            if entry.is_dir():
                paths = [os.path.join(entry.path, entry.name + ending) for ending in _ENDINGS]
            for path in paths:
                stem, ending = os.path.splitext(os.path.basename(path))
                if ending in _ENDINGS and (stat := _stat(path, problems)) is not None and stat.st_size:
                    yield _Found(path, stem, stat.st_size, stat.st_mtime_ns)


def _folders(folder: str | Path, problems: list[Problem], *, is_root: bool = False) -> Iterator[str]:
    for entry in entries_of(folder, problems, is_root=is_root):
        if entry.is_dir():
            yield entry.path


def _stat(path: str, problems: list[Problem]) -> os.stat_result | None:
    """A regular file's state; None for anything else, and for a link."""
    try:
        stat = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        problems.append(Problem(Path(path), reason_of(error)))
        return None
    return stat if S_ISREG(stat.st_mode) else None


# -- beside a session --------------------------------------------------------------------------------------------------


def root_of(path: Path) -> Path | None:
    """The Cursor folder in whose `chats` or `projects` a file lies."""
    here = Path(os.path.abspath(path))
    chats = here.parents[2] if len(here.parents) > 3 else None
    if chats is not None and chats.name == "chats":
        return chats.parent
    for parent in here.parents:
        if parent.name == TRANSCRIPTS and parent.parent.parent.name == "projects":
            return parent.parent.parent.parent
    return None


def store_id(path: Path) -> str:
    """The session's id, which is the name of the store's folder; a lone database goes by its own name."""
    folder = Path(os.path.abspath(path)).parent.name
    return folder if path.name == "store.db" and folder else path.stem


def transcripts_of(root: Path | None, identifier: str) -> list[Path]:
    """The transcripts of a session, the one written last first: its id may stand under several projects."""
    if root is None or identifier in ("", ".", ".."):
        return []
    found: list[tuple[int, str]] = []
    for project in _folders(root / "projects", [], is_root=True):
        folder = os.path.join(project, TRANSCRIPTS)
        for base in (os.path.join(folder, identifier, identifier), os.path.join(folder, identifier)):
            for ending in _ENDINGS:
                if (stat := _stat(base + ending, [])) is not None and stat.st_size:
                    found.append((stat.st_mtime_ns, base + ending))
    return [Path(path) for _, path in sorted(found, reverse=True)]


def slug_at(path: Path) -> str | None:
    """The slug of the project in which a transcript lies."""
    for parent in Path(os.path.abspath(path)).parents:
        if parent.name == TRANSCRIPTS:
            return parent.parent.name
    return None


def subagents_of(transcript: Path) -> list[Path]:
    """The transcripts of the runs that a session's tool uses started."""
    here = Path(os.path.abspath(transcript))
    folder = here.parent if here.parent.name == here.stem else here.parent / here.stem
    return [
        Path(entry.path)
        for entry in entries_of(folder / "subagents", [])
        if entry.name.endswith(_ENDINGS) and entry.is_file()
    ]


def read_meta(path: Path) -> dict[str, Any]:
    """The `meta.json` beside a store; empty where there is none."""
    try:
        with path.with_name("meta.json").open("rb") as file:
            return read_record(file.read(_MOST_META))
    except OSError:
        return {}


def known_folders(store: Path) -> list[str]:
    """The directories that chats beside a store's say they ran in: one of them may be this one's too."""
    here = Path(os.path.abspath(store)).parents[1]
    metas = (read_meta(Path(chat, "store.db")) for chat in _folders(here, []))
    return [cwd for meta in metas if isinstance(cwd := meta.get("cwd"), str)]


_titles: dict[Path, tuple[tuple[int, int, int], dict[str, str]]] = {}


def title_of(path: Path, identifier: str) -> str:
    """The title in `ai-tracking/ai-code-tracking.db`, in which Cursor keeps summaries of some conversations."""
    root = root_of(path)
    if root is None:
        return ""
    database = root / "ai-tracking" / "ai-code-tracking.db"
    try:
        stat = database.stat()
        log = os.stat(f"{database}-wal") if os.path.exists(f"{database}-wal") else stat
        stamp = (stat.st_mtime_ns, log.st_mtime_ns, log.st_size)
    except OSError:
        return ""
    if database not in _titles or _titles[database][0] != stamp:
        _titles[database] = stamp, _read_titles(database)
    return _titles[database][1].get(identifier, "")


def _read_titles(database: Path) -> dict[str, str]:
    from schemas.sqlite import read_database

    try:
        rows: list[tuple[Any, Any]] = read_database(
            database, lambda db: db.execute("SELECT conversationId, title FROM conversation_summaries").fetchall()
        )
    except OSError:
        return {}  # another version's, or damaged: the first prompt serves as a title
    return {key: title for key, title in rows if isinstance(key, str) and isinstance(title, str)}

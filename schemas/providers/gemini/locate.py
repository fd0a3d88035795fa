"""Where Gemini CLI keeps its sessions, and which directory one belongs to (formats note 1.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from schemas.clean import clean
from schemas.folders import entries_of, matching, state_of
from schemas.provider import Location, Problem, SessionFile
from schemas.records import read_record
from schemas.values import dict_of, text_of

_SESSION = re.compile(r"(session-.*?(?:-([0-9A-Za-z]{8}))?)\.(jsonl?)")
_HASH = re.compile(r"[0-9a-f]{64}")
_MOST_LEFT_OVER = 1 << 20
"""Bytes of context that a resume leaves in a file of its own, at most."""
_LONGEST, _MOST_FOLDERS = 8192, 5000


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions below a location, each once; subagents lie deeper and are left out.

    An upgrade copied the folder named by a hash to one named by a slug, and a session that goes on after an upgrade
    lies beside its older self (`.json`, then `.jsonl`): the slug's and the newer form is the session. Resumed in a
    later minute it goes on in its file, and leaves a second one with nothing but its context (found-…, G4).
    """
    best: dict[str, tuple[tuple[bool, bool, int], SessionFile]] = {}
    for path, stat in matching(location.path, "*/chats/session-*", problems):
        if match := _SESSION.fullmatch(os.path.basename(path)):
            project = os.path.basename(os.path.dirname(os.path.dirname(path)))
            rank = match[3] == "jsonl", not _HASH.fullmatch(project), stat.st_mtime_ns
            file = SessionFile("gemini", path, match[2] or match[1], stat.st_size, stat.st_mtime_ns)
            best[match[1]] = max(best.get(match[1], (rank, file)), (rank, file))
    largest: dict[str, int] = {}
    for _, file in best.values():
        largest[file.id] = max(file.size, largest.get(file.id, 0))
    yield from (file for _, file in best.values() if file.size == largest[file.id] or not _is_left_over(file.path))


def _is_left_over(path: Path) -> bool:
    """Whether a log holds a header and context, and no message: all its records bring something else up to date."""
    try:
        with path.open("rb") as file:
            lines = file.read(_MOST_LEFT_OVER + 1)
    except OSError:
        return False
    records = map(read_record, lines.splitlines())
    return len(lines) <= _MOST_LEFT_OVER and all(
        ("sessionId" in one and "messages" not in one) or "$set" in one for one in records
    )


# -- the project -------------------------------------------------------------------------------------------------------


def project_root(path: Path) -> str | None:
    """The project's directory of the session in a file, clean; None where nobody tells.

    Tried in turn: the `.project_root` beside the session, the slug in projects.json, and the hash that is
    the folder's name among those of all directories that are known.
    """
    parents = list(path.absolute().parents)
    folder = next((parent.parent for parent in parents[:2] if parent.name == "chats"), parents[0])
    if (root := _read_root(folder)) or folder.parent.name != "tmp":
        return root or None
    home = folder.parent.parent
    stamp = tuple(state_of(home / name) for name in ("projects.json", "trustedFolders.json", "tmp", "history"))
    slugs, hashes = _known(home, stamp)
    return slugs.get(folder.name) or hashes.get(folder.name)


def _read_root(folder: Path) -> str:
    try:
        with (folder / ".project_root").open("rb") as file:
            return clean(file.read(_LONGEST).decode("utf-8", "replace")).strip()
    except OSError:
        return ""  # older versions wrote none


@lru_cache(maxsize=8)
def _known(home: Path, stamp: tuple[tuple[int, int], ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Directories by slug, and by their hash; `stamp` tells when they must be looked up again."""
    from hashlib import sha256  # brings OpenSSL, for which most sessions need not wait

    listed = dict_of(_object(home / "projects.json").get("projects"))
    slugs = {text_of(slug): clean(path) for path, slug in listed.items()}
    folders = (entry.path for base in ("tmp", "history") for entry in entries_of(home / base, [])[:_MOST_FOLDERS])
    roots = filter(None, (_read_root(Path(folder)) for folder in folders))
    known = (*listed, *_object(home / "trustedFolders.json"), *roots)
    return slugs, {sha256(path.encode("utf-8", "surrogatepass")).hexdigest(): clean(path) for path in known}


def _object(path: Path) -> dict[str, object]:
    try:
        return read_record(path.read_bytes())
    except OSError:
        return {}  # a file that Gemini CLI need not have written

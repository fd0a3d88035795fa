"""Which directory a session belongs to: the session's own file does not say (formats note 1.1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from schemas.clean import clean
from schemas.records import read_record

_LONGEST = 8192
_MOST_FOLDERS = 5000


def project_root(path: Path) -> str | None:
    """The project's directory of the session in a file, clean; None where nobody tells.

    Tried in turn: the `.project_root` beside the session, the slug in projects.json, and the hash that is
    the folder's name among those of all directories that are known.
    """
    folder = project_folder(path)
    if folder is not None and (root := _read_root(folder)):
        return root
    home = gemini_folder(folder) if folder is not None else None
    if folder is None or home is None:
        return None
    stamp = tuple(changed(home / name) for name in ("projects.json", "trustedFolders.json", "tmp", "history"))
    slugs, hashes = _known(home, stamp)
    return slugs.get(folder.name) or hashes.get(folder.name)


def project_folder(path: Path) -> Path | None:
    """The folder `~/.gemini/tmp/<id>` in which a file lies."""
    parents = list(path.absolute().parents)
    for parent in parents[:2]:
        if parent.name == "chats":
            return parent.parent
    return parents[0] if gemini_folder(parents[0]) is not None else None


def gemini_folder(folder: Path) -> Path | None:
    """The folder `.gemini` above a project's."""
    above = folder.parent.parent
    return above if folder.parent.name == "tmp" and above.name else None


def _read_root(folder: Path) -> str:
    try:
        with (folder / ".project_root").open("rb") as file:
            return clean(file.read(_LONGEST).decode("utf-8", "replace")).strip()
    except OSError:
        return ""  # older versions wrote none


def changed(path: Path) -> int:
    """When a file or folder changed, in nanoseconds; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=8)
def _known(home: Path, stamp: tuple[int, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Directories by slug, and by their hash; `stamp` tells when they must be looked up again."""
    from hashlib import sha256  # brings OpenSSL, for which most sessions need not wait

    projects = _object(home / "projects.json").get("projects")
    listed = projects if isinstance(projects, dict) else {}
    slugs = {slug: clean(path) for path, slug in listed.items() if isinstance(slug, str)}
    hashes: dict[str, str] = {}
    for path in (*listed, *_object(home / "trustedFolders.json"), *_roots(home)):
        hashes[sha256(path.encode("utf-8", "surrogatepass")).hexdigest()] = clean(path)
    return slugs, hashes


def _object(path: Path) -> dict[str, object]:
    try:
        return read_record(path.read_bytes())
    except OSError:
        return {}  # a file that Gemini CLI need not have written


def _roots(home: Path) -> Iterator[str]:
    """The directories that other projects' folders name."""
    for base in (home / "tmp", home / "history"):
        try:
            names = sorted(os.listdir(base))[:_MOST_FOLDERS]
        except OSError:
            continue
        yield from (root for name in names if (root := _read_root(base / name)))

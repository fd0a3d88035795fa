"""The directory a session ran in, from the two one-way names that Cursor makes of it (formats note 3.1).

A chat's folder is the MD5 of the path; a project's folder is the path with everything but letters and digits as `-`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import md5
from urllib.parse import unquote, urlsplit

_MOST_FOLDERS = 400
"""Directories that resolving one slug may look into."""
_NO_PATHS = re.compile(r"empty-window|\d+|(?:private-)?var-folders-.*", re.IGNORECASE)
_DRIVE = re.compile(r"/[A-Za-z]:[/\\]?")


def hash_of(path: str) -> str:
    """What Cursor calls the folder of the chats of a directory."""
    return md5(path.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def by_hash(name: str, known: Iterable[str]) -> str | None:
    """The directory among those known whose chats lie in the folder `name`."""
    return next((path for path in known if path and hash_of(path) == name), None)


def slug_of(path: str) -> str:
    """What Cursor calls the project of a directory."""
    return re.sub(r"[^A-Za-z0-9]", "-", path).lstrip("-")


def from_uri(uri: str) -> str | None:
    """The path in a `file:` URI; None for any other."""
    if not uri.startswith("file:"):
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    # `#` and `?` are quoted in a URI, but not everybody quotes.
    path = unquote(parts.path + f"?{parts.query}" * bool(parts.query) + f"#{parts.fragment}" * bool(parts.fragment))
    if parts.netloc and parts.netloc != "localhost":
        return f"//{parts.netloc}{path}"
    return path[1:] if _DRIVE.match(path) else path or None


def resolve_slug(slug: str) -> str:
    """The directory on this machine that has the slug; the slug itself where there is none, or it is no path."""
    if not slug or _NO_PATHS.fullmatch(slug):
        return slug
    return _resolve(slug) or slug


@lru_cache(maxsize=512)
def _resolve(slug: str) -> str | None:
    roots = ["/"] if os.name != "nt" else [f"{slug[:1]}:\\"]
    rest = slug if os.name != "nt" else slug[1:].lstrip("-")
    budget = [_MOST_FOLDERS]
    return next((found for root in roots if (found := _descend(root, rest, budget))), None)


def _descend(folder: str, rest: str, budget: list[int]) -> str | None:
    """The directory below `folder` whose remaining path has the slug `rest`: the longest names are tried first."""
    if not rest:
        return folder
    if budget[0] <= 0:
        return None
    budget[0] -= 1
    fitting: list[tuple[str, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = re.sub(r"[^A-Za-z0-9]", "-", entry.name)
                # A hidden directory's dot is a dash of its own behind that of the slash.
                if (rest == name or rest.startswith(name + "-")) and entry.is_dir():
                    fitting.append((entry.name, rest[len(name) + 1 :]))
    except OSError:
        return None
    fitting.sort(key=lambda pair: (len(pair[1]), pair[0]))
    below = (_descend(os.path.join(folder, name), left, budget) for name, left in fitting)
    return next(filter(None, below), None)

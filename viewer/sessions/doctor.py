"""The report of `turnlog doctor`: where turnlog looks, why there, what it found, and what this machine can do.

The report is pasted into bug reports, so it holds no content of a session, and the home directory is `~` wherever it
stands, also in the names of folders that agents make of it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from schemas import __version__
from schemas.clean import one_line
from schemas.folders import bytes_in, reason_of
from schemas.interchange.registry import readers
from schemas.paths import source_of
from schemas.provider import Environment, Provider, Retention
from schemas.providers import each_provider, providers
from schemas.troubles import guarded
from viewer.index.database import size_of
from viewer.index.library import Library
from viewer.index.summary import Summary
from viewer.output import short_path
from viewer.sessions.discover import Place, environment
from viewer.transcript.clipboard import clipboard_way

_WATCH_LIMITS = ("max_user_watches", "max_user_instances", "max_queued_events")
_LIBRARIES = ("textual", "rich", "orjson", "watchfiles", "markdown-it-py")
_TERMINAL = ("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG")


def report(library: Library) -> dict[str, Any]:
    """All of it, as `doctor --json` prints it. `library` must have been brought up to date."""
    env, summaries = environment(), library.all()
    # Of sources that hold many sessions how often.
    problems = Counter((hide_home(source_of(problem.path)[0]), problem.reason) for problem in library.problems)
    return {
        "version": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "platform": sys.platform,
        "libraries": _libraries(),
        "agents": [_agent(provider, env, library, summaries) for provider in providers().values()],
        "problems": [{"path": path, "reason": reason, "times": times} for (path, reason), times in problems.items()],
        "index": {"path": hide_home(library.path), "size": size_of(library.path) or None},
        "watchLimits": _watch_limits(),
        "terminal": _terminal(),
    }


def formats() -> list[dict[str, str]]:
    """Every kind of file that can be opened, and by what it is told."""
    return [
        {"agent": provider.name, "format": one.name, "toldBy": one.told_by}
        for provider in (*each_provider(), *readers())
        for one in provider.formats
    ]


def hide_home(path: os.PathLike[str] | str) -> str:
    """A path with the home directory as `~`, and as `-~` where an agent made it part of a folder's name."""
    text, home = short_path(path), os.path.expanduser("~")
    if home.strip("/\\") == "":
        return text
    # Claude Code and Qwen Code write `-home-user-project`, Cursor `home-user-project`.
    dashed = "".join(c if c.isascii() and c.isalnum() else "-" for c in home)
    return text.replace(dashed, "-~").replace(f"/{dashed.lstrip('-')}-", "/~-")


def _agent(provider: Provider, env: Environment, library: Library, summaries: list[Summary]) -> dict[str, Any]:
    own = [summary for summary in summaries if summary.provider == provider.id]
    read = {summary.path for summary in summaries}
    unknown: Counter[str] = Counter()
    for summary in own:
        unknown.update(summary.unknown)
    try:
        with guarded():
            retention = provider.retention(env)
    except OSError as error:
        retention = Retention("deletes sessions by settings that cannot be read", reason_of(error))
    return {
        "id": provider.id,
        "name": provider.name,
        "locations": [
            {
                "path": hide_home(place.location.path),
                "reason": place.location.reason,
                "exists": place.exists,
                "sessions": place.sessions,
                "size": place.size,
            }
            for place in _places(provider, env, library)
        ],
        "sessions": len(own),
        "unread": sum(file.provider == provider.id and file.path not in read for file in library.found.files),
        "size": sum(summary.size for summary in own),
        "withoutTokens": sum(summary.usage is None for summary in own),
        "unreadable": [
            {"path": hide_home(s.path.parent / file if file else s.path), "lines": lines}
            for s in own
            for file, lines in s.unreadable.items()
        ],
        "unknownRecords": dict(unknown.most_common()),
        "retention": None if retention is None else {"text": retention.text, "source": retention.source},
    }


def _places(provider: Provider, env: Environment, library: Library) -> list[Place]:
    """List the places where the agent was looked for; an agent that has nothing here was not asked, and would have
    looked there.
    """
    places = [place for place in library.found.places if place.provider == provider.id]
    if places or any(problem.reason.startswith(f"{provider.name}: ") for problem in library.found.problems):
        return places
    locations = {location.path: location for location in reversed(provider.locations(env))}  # the first reason counts
    return [Place(provider.id, location, False, 0, 0) for location in reversed(locations.values())]


def _libraries() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _watch_limits() -> dict[str, int | None]:
    """Linux's limits on watching files; where they are used up, following falls back to looking."""
    told = {name: bytes_in(Path("/proc/sys/fs/inotify", name)).strip() for name in _WATCH_LIMITS}
    return {name: int(limit) if limit.isdigit() else None for name, limit in told.items()}


def _terminal() -> dict[str, Any]:
    """Report what the terminal says of itself, and what follows from it."""
    size = shutil.get_terminal_size(fallback=(0, 0))
    clipboard = clipboard_way(os.environ)
    return {
        "input": _is_terminal(sys.stdin),
        "output": _is_terminal(sys.stdout),
        "columns": size.columns or None,
        "rows": size.lines or None,
        "colours": _colours(),
        "encoding": getattr(sys.stdout, "encoding", None),
        "inside": [
            name for name, said in (("tmux", "TMUX"), ("screen", "STY"), ("ssh", "SSH_TTY")) if said in os.environ
        ],
        "clipboard": {"reached": clipboard.reaches, "text": clipboard.text},
        "variables": {name: one_line(os.environ[name], 60) for name in _TERMINAL if name in os.environ},
    }


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()


def _colours() -> str:
    """Return the number of colours that its variables promise, whether or not standard output is the terminal."""
    term = os.environ.get("TERM", "")
    if os.environ.get("NO_COLOR"):
        return "none (NO_COLOR)"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "16 million"
    if "256" in term:
        return "256"
    return "none" if term in ("", "dumb", "unknown") else "16"

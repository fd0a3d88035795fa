"""`turnlog doctor`: where turnlog looks, why there, what it finds, and what it could not read."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schemas import __version__
from viewer.output import DONE, console, progress, short_path, write_json

if TYPE_CHECKING:
    from viewer.library import Library
    from viewer.summary import Summary

_SHOWN_FILES = 20
_WATCH_LIMITS = ("max_user_watches", "max_user_instances")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> int:
    """Say where turnlog looks for sessions, what it finds there, and what it could not read."""
    from viewer.library import Library

    library = Library()
    with progress("reading sessions") as bar:
        library.bring_up_to_date(bar)
    report = _report(library)
    if as_json:
        write_json(report)
    else:
        _print(report)
    return DONE


def _report(library: Library) -> dict[str, Any]:
    from schemas.providers import providers

    summaries = library.all()
    return {
        "version": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "platform": sys.platform,
        "agents": [_agent(provider.id, provider.name, library, summaries) for provider in providers().values()],
        "problems": [{"path": short_path(p.path), "reason": p.reason} for p in library.problems],
        "index": {"path": short_path(library.path), "size": _size(library.path)},
        "watchLimits": _watch_limits(),
    }


def _agent(provider: str, name: str, library: Library, summaries: list[Summary]) -> dict[str, Any]:
    own = [summary for summary in summaries if summary.provider == provider]
    unknown: Counter[str] = Counter()
    for summary in own:
        unknown.update(summary.unknown)
    damaged = [summary for summary in own if summary.unreadable]
    return {
        "id": provider,
        "name": name,
        "locations": [
            {
                "path": short_path(place.location.path),
                "reason": place.location.reason,
                "exists": place.exists,
                "sessions": place.sessions,
                "size": place.size,
            }
            for place in library.found.places
            if place.provider == provider
        ],
        "sessions": len(own),
        "size": sum(summary.size for summary in own),
        "unreadable": [{"path": short_path(s.path), "lines": s.unreadable} for s in damaged],
        "unknownRecords": dict(unknown.most_common()),
    }


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _watch_limits() -> dict[str, int | None]:
    """Linux's limits on watching files; where they are used up, following falls back to looking."""
    limits: dict[str, int | None] = {}
    for name in _WATCH_LIMITS:
        path = Path("/proc/sys/fs/inotify", name)
        try:
            limits[name] = int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            limits[name] = None
    return limits


def _print(report: dict[str, Any]) -> None:
    from rich.text import Text

    from renderers.facts import format_size, plural

    screen = console()
    screen.print(Text(f"turnlog {report['version']}, Python {report['python']}, {report['platform']}"), soft_wrap=True)
    for agent in report["agents"]:
        screen.print()
        found = f"{plural(agent['sessions'], 'session')}, {format_size(agent['size'])}" if agent["sessions"] else "none"
        screen.print(Text.assemble((agent["name"], "bold"), f"  {found}"), soft_wrap=True)
        for place in agent["locations"]:
            what = plural(place["sessions"], "session") if place["exists"] else "not there"
            shown = Text.assemble(f"  {what:<12}  ", place["path"], (f"  ({place['reason']})", "dim"))
            screen.print(shown, soft_wrap=True)
        for damaged in agent["unreadable"][:_SHOWN_FILES]:
            lines = ", ".join(map(str, damaged["lines"][:8])) + (", …" if len(damaged["lines"]) > 8 else "")
            screen.print(Text(f"  cannot read line {lines} of {damaged['path']}"), soft_wrap=True)
        if len(agent["unreadable"]) > _SHOWN_FILES:
            screen.print(
                Text(f"  and lines of {len(agent['unreadable']) - _SHOWN_FILES:,} more files (--json lists all)")
            )
        for name, count in agent["unknownRecords"].items():
            screen.print(Text(f"  unknown record type {name}: {count:,} (kept, shown as it is)"), soft_wrap=True)
    if report["problems"]:
        screen.print()
        screen.print(Text("problems", "bold"), soft_wrap=True)
        for problem in report["problems"]:
            screen.print(Text(f"  {problem['path']}: {problem['reason']}"), soft_wrap=True)
    screen.print()
    size = report["index"]["size"]
    screen.print(
        Text(f"index    {report['index']['path']}, {'not written' if size is None else format_size(size)}"),
        soft_wrap=True,
    )
    limits = ", ".join(f"{name} {count:,}" for name, count in report["watchLimits"].items() if count is not None)
    if limits:
        screen.print(Text(f"watching {limits}"), soft_wrap=True)
    screen.print(Text(f"terminal {_terminal()}"), soft_wrap=True)


def _terminal() -> str:
    """What decides colours and keys."""
    names = ("TERM", "COLORTERM", "NO_COLOR", "LANG")
    said = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    from schemas.clean import one_line

    return one_line(" ".join(said) or "says nothing of itself")

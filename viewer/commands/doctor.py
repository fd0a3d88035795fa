"""`turnlog doctor`: where turnlog looks, why there, what it finds, and what it could not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from renderers.facts import format_size, plural
from viewer.index.library import Library
from viewer.output import DONE, console, say, write_json
from viewer.sessions import doctor

_SHOWN_FILES = 20


@click.command("doctor")
@click.option("--formats", "list_formats", is_flag=True, help="List the kinds of files that can be opened instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(list_formats: bool, as_json: bool) -> int:
    """Say where turnlog looks for sessions, what it finds there, and what it could not read.

    The report is made to be pasted into a bug report: it holds nothing of what sessions say.
    """
    library = Library()
    if not list_formats:
        library.bring_up_to_date()
    value: Any = doctor.formats() if list_formats else doctor.report(library)
    if as_json:
        write_json(value)
    elif list_formats:
        screen = console()
        for row in value:
            say(screen, (row["format"], "bold"))
            say(screen, f"  told by {row['toldBy']}")
    else:
        _print(value)
    return DONE


def _print(report: dict[str, Any]) -> None:
    screen = console()

    libraries = ", ".join(f"{name} {version or 'missing'}" for name, version in report["libraries"].items())
    say(screen, f"turnlog {report['version']}, Python {report['python']}, {report['platform']}; {libraries}")
    here = [agent for agent in report["agents"] if any(place["exists"] for place in agent["locations"])]
    for agent in here:
        found = f"{plural(agent['sessions'], 'session')}, {format_size(agent['size'])}" if agent["sessions"] else "none"
        unread = f"; {plural(agent['unread'], 'session')} cannot be read" if agent["unread"] else ""
        screen.print()
        say(screen, (agent["name"], "bold"), f"  {found}{unread}")
        for line in _agent_lines(agent):
            say(screen, f"  {line}")
    if others := [agent for agent in report["agents"] if agent["locations"] and agent not in here]:
        screen.print()
        say(screen, ("Not on this machine", "bold"))
        for agent in others:
            say(screen, f"  {agent['name']}: {', '.join(_looked(place) for place in agent['locations'])}")
    if report["problems"]:
        screen.print()
        say(screen, ("Problems", "bold"))
        for problem in report["problems"]:
            times = f" ({problem['times']} times)" if problem["times"] > 1 else ""
            say(screen, f"  {problem['path']}: {problem['reason']}{times}")
    screen.print()
    for line in _machine_lines(report):
        say(screen, line)


def _looked(place: dict[str, Any]) -> str:
    return place["path"] if place["reason"] == "default" else f"{place['path']} ({place['reason']})"


def _agent_lines(agent: dict[str, Any]) -> Iterator[str]:
    for place in agent["locations"]:
        what = plural(place["sessions"], "session") if place["exists"] else "not there"
        yield f"{what:<12}  {place['path']}  ({place['reason']})"
    if agent["retention"]:
        yield f"{agent['name']} {agent['retention']['text']} ({agent['retention']['source']})"
    if agent["withoutTokens"]:
        yield f"{plural(agent['withoutTokens'], 'session')} without token figures"
    for damaged in agent["unreadable"][:_SHOWN_FILES]:
        lines = ", ".join(map(str, damaged["lines"][:8])) + (", …" if len(damaged["lines"]) > 8 else "")
        yield f"cannot read line {lines} of {damaged['path']}"
    if (more := len(agent["unreadable"]) - _SHOWN_FILES) > 0:
        yield f"and lines of {plural(more, 'more file')} (--json lists all)"
    for name, count in agent["unknownRecords"].items():
        yield f"unknown record type {name}: {count:,} (kept, shown as it is)"


def _machine_lines(report: dict[str, Any]) -> Iterator[str]:
    size, terminal = report["index"]["size"], report["terminal"]
    yield f"index     {report['index']['path']}, {'not written' if size is None else format_size(size)}"
    limits = ", ".join(f"{name} {count:,}" for name, count in report["watchLimits"].items() if count is not None)
    if limits:
        yield f"watching  {limits}"
    shape = f"{terminal['columns']}x{terminal['rows']}, " if terminal["columns"] and terminal["rows"] else ""
    inside = f", inside {' and '.join(terminal['inside'])}" if terminal["inside"] else ""
    yield f"terminal  {shape}colours: {terminal['colours']}, {terminal['encoding']}{inside}"
    said = " ".join(f"{name}={value}" for name, value in terminal["variables"].items())
    yield f"          {said or 'says nothing of itself'}"
    yield f"clipboard {terminal['clipboard']['text']}"
    if "tmux" in terminal["inside"] and not terminal["clipboard"]["reached"]:
        yield "          or turnlog export TARGET | tmux load-buffer -"

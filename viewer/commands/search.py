"""`turnlog search`: where something was said or done, in all sessions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from renderers.facts import format_age, plural
from schemas.clean import one_line
from schemas.paths import session_json
from viewer.index.find import Answer, Find, Group, Hit
from viewer.index.library import Library
from viewer.index.matching import search_key
from viewer.index.query import Filter, Query, of_arguments, parse
from viewer.output import DONE, NO, CallError, Progress, console, path_text, say, short_path, warn, warn_of, write_json
from viewer.sessions.ids import ids_of, short_ids

if TYPE_CHECKING:
    from rich.console import Console

_LIMIT = 200


# Words may begin with a dash, so nothing but long options.
@click.command("search", context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", nargs=-1)
@click.option("--file", "files", multiple=True, metavar="PATH", help="The same as file:PATH, for a path as it is here.")
@click.option("--limit", type=click.IntRange(min=0), default=_LIMIT, show_default=True, help="Hits at most; 0 for all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(words: tuple[str, ...], files: tuple[str, ...], limit: int, as_json: bool) -> int:
    """Find the messages that hold all WORDS, newest session first.

    \b
    lock         the word, and names that it is a part of: tryLockFile
    "lock file"  these words in a row          migr*   words that begin so
    -test        not this
    agent:codex  project:shop  branch:main  tool:edit  file:db/  role:you
    is:error     since:7d      before:2026-03-01

    An argument of several plain words is a phrase too. Case and accents do not matter. role: is you, agent,
    thinking or tool. Prompts, answers, thinking, tool use and output, titles and subagents are searched. A hit's
    place opens it: turnlog ID#3.7.
    """  # noqa: D301 (click wants the character, not its escape)
    if unknown := next((word for word in words if word.startswith("--")), None):
        raise CallError(f"search: no such option: {path_text(unknown)}; a word that begins so stands in quotes")
    # In a poor locale Python takes the bytes of a letter apart.
    query = parse(of_arguments(os.fsencode(word).decode("utf-8", "replace") for word in words))
    if files:
        query.filters.setdefault("file", Filter()).one_of += map(_path, files)
    if query.problem or not query:
        raise CallError(f"search: {query.problem or 'nothing to look for'}")
    library, answer = Library(texts=True), None
    find = Find(library)
    try:
        with Progress("searching") as bar:
            for _ in library.refresh(bar):
                pass
            missing = 0
            for answer in find.groups(query, "newest"):
                missing = missing or answer.missing
                bar(missing - answer.missing, missing)
        assert answer is not None
        if as_json:
            found = [_object(group, hit) for group, hits in _hits(find, answer, limit) for hit in hits]
            write_json(found)
        count = len(found) if as_json else _print(library, find, answer, query, limit)
        warn_of([*library.found.problems, *find.problems])
    finally:
        find.close()
    if library.text_was_lost:
        warn("the full-text index was gone or damaged, and was made anew")
    if reason := library.text_problem or answer.note:
        warn(f"{reason}; the sessions themselves were looked through")
    if count < answer.hits:
        warn(f"{count:,} of {answer.hits:,} hits; --limit 0 shows all")
    if not count and not as_json:
        warn("nothing found")
    return DONE if count else NO


def _path(given: str) -> str:
    """The value of `file:` for a path: one that begins here is looked for in every workspace."""
    path = os.path.normpath(os.path.expanduser(given))
    path = os.path.abspath(path) if path.startswith("..") or path == "." else path
    return search_key(f"{path}/" if given.endswith("/") else path)


def _hits(find: Find, answer: Answer, limit: int) -> Iterator[tuple[Group, list[Hit]]]:
    """The groups with their hits, as many as may be shown."""
    left = limit or answer.hits
    for group in answer.groups:
        if left <= 0:
            return
        hits = find.hits(group, 0, left)
        left -= len(hits)  # not of all that is counted a message can be shown: a session may lie in two files
        yield group, hits


def _object(group: Group, hit: Hit) -> dict[str, Any]:
    """A row of `search --json`; a title has no message."""
    inside = hit.message >= 0
    return {
        **session_json(group.provider, group.id, group.path),
        "exchangeId": f"{group.id}:{hit.exchange}" if inside else None,
        "messageId": hit.id if inside else None,
        "exchange": hit.number,
        "place": hit.place or None,
        "role": hit.role,
        "snippet": hit.snippet,
        "score": hit.score,
        "change": hit.change or None,
        "added": hit.added,
        "removed": hit.removed,
    }


def _print(library: Library, find: Find, answer: Answer, query: Query, limit: int) -> int:
    screen, count = console(), 0
    short = short_ids([group.id for group in answer.groups], ids_of(library.found.files, library))
    for group, hits in _hits(find, answer, limit):
        _print_title(screen, group, len(hits))
        count += len(hits)
        for hit in hits:
            # The ids of subagents are known from the index alone.
            name = short[group.id] if not group.above else group.id if group.sid >= 0 else path_text(group.path)
            address = f"{name}{hit.place}"
            _print_hit(screen, hit, address, of_files=query.of_files)
    return count


def _print_title(screen: Console, group: Group, listed: int) -> None:
    from rich.text import Text

    piped = not screen.is_terminal
    screen.print()
    title = Text(one_line(group.title), "bold")
    screen.print(title, soft_wrap=piped, no_wrap=not piped, overflow="ignore" if piped else "ellipsis")
    age = format_age(time.time() - group.updated)
    hits = f"{listed:,} of " * (listed < group.hits) + plural(group.hits, "hit")
    facts = (group.provider, one_line(short_path(group.path), 4096), age, hits)
    say(screen, (" · ".join(facts), "dim"))


def _print_hit(screen: Console, hit: Hit, address: str, *, of_files: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = Text(hit.snippet)
    for start, end in hit.spans:
        shown.stylize("bold reverse", start, end)
    lines = f"  +{hit.added} -{hit.removed}" if hit.added or hit.removed else ""
    shown.append(lines + (f"  {hit.change}" if of_files and hit.change else ""), "dim")
    place = Text(f"  {address:<16}  {one_line(hit.who, 12):<9}", "dim")
    if not screen.is_terminal:
        # A hit a line, for whatever reads them next.
        say(screen, place, "  ", shown)
        return
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(place, shown)
    screen.print(row)

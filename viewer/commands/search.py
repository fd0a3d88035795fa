"""`turnlog search`: where something was said, in all sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from schemas.clean import one_line
from viewer.output import DONE, NO, CallError, console, path_text, progress, short_path, warn, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from schemas.provider import Problem
    from viewer.index.search import Hit


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(words: tuple[str, ...], as_json: bool) -> int:
    """Find the messages that hold all WORDS, newest session first.

    Case does not matter; a phrase in quotes is one word. Tool use and output, thinking and subagents are searched too.
    """
    from viewer.index.library import Library
    from viewer.index.search import search

    if not any(word.strip() for word in words):
        raise CallError("search: nothing to look for")
    library = Library()
    problems: list[Problem] = []
    with progress("searching") as bar:
        library.bring_up_to_date(bar)
        files = library.files()
        total = sum(size for _, size in files)
        hits = search(words, files, problems, lambda done: bar(done, total))
        if as_json:
            found = [hit.to_json() for hit in hits]
            bar.clear()
            write_json(found)
            count = len(found)
        else:
            count = 0
            screen = console()
            last = None
            for hit in hits:
                bar.clear()
                _print(screen, hit, words, new_session=hit.path != last)
                last, count = hit.path, count + 1
    for problem in [*library.found.problems, *problems]:
        warn(f"{path_text(problem.path)}: {problem.reason}")
    if not count and not as_json:
        warn("nothing found")
    return DONE if count else NO


def _print(screen: Console, hit: Hit, words: tuple[str, ...], *, new_session: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from renderers.facts import local_time
    from viewer.index.matching import find_all, search_key

    piped = not screen.is_terminal
    if new_session:
        screen.print()
        title = Text(one_line(hit.title) or hit.session_id, "bold")
        screen.print(title, soft_wrap=piped, no_wrap=not piped, overflow="ignore" if piped else "ellipsis")
        facts = " · ".join(filter(None, (hit.provider, one_line(short_path(hit.path), 4096))))
        screen.print(Text(facts, "dim"), soft_wrap=True)
    when = "" if hit.time is None else local_time(hit.time, date=True)
    place = Text(f"  {when:<16}  {hit.kind.name.lower():<10}", "dim")
    shown = Text(hit.snippet)
    for word in words:
        for start, end in find_all(hit.snippet, search_key(" ".join(word.split()))):
            shown.stylize("bold reverse", start, end)
    if piped:
        # A hit a line, for whatever reads them next.
        screen.print(Text.assemble(place, "  ", shown), soft_wrap=True)
        return
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(place, shown)
    screen.print(row)

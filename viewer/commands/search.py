"""`turnlog search`: where something was said, in all sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from viewer.output import DONE, NO, CallError, console, path_text, progress, short_path, warn, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from schemas.provider import Problem
    from viewer.search import Hit


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(words: tuple[str, ...], as_json: bool) -> int:
    """Find the messages that hold all WORDS, newest session first.

    Case does not matter; a phrase in quotes is one word. Tool use and output, thinking and subagents are searched too.
    """
    from viewer.library import Library
    from viewer.search import search

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
    from rich.text import Text

    from renderers.facts import local_time

    if new_session:
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append(hit.title or hit.session_id, "bold")
        head.append(f"  {hit.provider} · {short_path(hit.path)}", "dim")
        screen.print()
        screen.print(head)
    line = Text("  ")
    when = "" if hit.time is None else local_time(hit.time, date=True) + "  "
    line.append(f"{when}{hit.kind.name.lower()}  ", "dim")
    shown = Text(hit.snippet)
    shown.highlight_words([" ".join(word.split()) for word in words], "bold reverse", case_sensitive=False)
    line.append_text(shown)
    screen.print(line, soft_wrap=True)

"""`turnlog index`: what the index of all sessions holds, and its end."""

from __future__ import annotations

import os
from typing import Any

import click

from renderers.facts import format_count, format_size, plural
from viewer.index.database import remove, size_of
from viewer.index.library import Library
from viewer.output import DONE, CallError, path_text, warn, write_json


@click.command("index")
@click.option("--clear", is_flag=True, help="Delete it. It is made anew when sessions are listed or searched.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(clear: bool, as_json: bool) -> int:
    """Say what the index of sessions and of their text holds, how large it is and what is missing in it.

    It lies in your cache folder, only you can read it, and deleting it loses nothing but time.
    """
    library = Library(texts=True)
    if clear:
        return _clear(library)
    library.bring_up_to_date()
    facts = _facts(library)
    if as_json:
        write_json(facts)
    else:
        _print(facts)
    for reason in filter(None, (library.store_problem, library.text_problem)):
        warn(reason)
    return DONE


def _clear(library: Library) -> int:
    for path in (library.path, library.text_path, *filter(os.path.exists, library.shared)):
        size = size_of(path)
        if not remove(path):
            raise CallError(f"{path_text(path)}: cannot be deleted")
        print(f"{path_text(path)}: {f'{format_size(size)} deleted' if size else 'was not there'}")
    return DONE


def _facts(library: Library) -> dict[str, Any]:
    with library.texts() as store:
        held = store.holds()
        missing = library.lacking(store.known())
    return {
        "path": path_text(library.path),
        "textPath": path_text(library.text_path),
        **held,
        "bytes": size_of(library.path),
        "textBytes": size_of(library.text_path),
        "missing": [path_text(path) for path in missing],
    }


def _print(facts: dict[str, Any]) -> None:
    text, sessions = facts["textCharacters"], facts["sessionBytes"]
    share = f", {facts['textBytes'] / text:.0%} of the text" if text else ""
    dead = f", {facts['deadMessages']:,} more of sessions that changed or went" if facts["deadMessages"] else ""
    lines = [
        ("sessions", f"{plural(facts['sessions'], 'session')} of {format_size(sessions)},"
         f" {plural(facts['subagents'], 'subagent')}"),
        ("text", f"{plural(facts['messages'], 'message')}, {format_count(text)} characters{dead}"),
        ("files", f"{facts['files']:,} that were read or changed"),
        ("list", f"{format_size(facts['bytes'])}  {facts['path']}"),
        ("full text", f"{format_size(facts['textBytes'])}{share}  {facts['textPath']}"),
        ("written", facts["builtAt"] or "never"),
        ("missing", plural(len(facts["missing"]), "session") if facts["missing"] else "nothing"),
    ]  # fmt: skip
    for name, value in lines:
        print(f"{name:<10} {value}")
    for path in facts["missing"][:10]:
        print(f"{'':<10} {path}")

"""`turnlog diff`: what a session changed in files, as a summary and one diff, or as a patch."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from renderers.facts import plural
from renderers.terminal.diff import diff_rows
from renderers.terminal.style_names import Palette
from schemas.clean import one_line
from schemas.diffs import diff_to_json, totals
from schemas.paths import session_json
from schemas.session import Session
from viewer.completion import target as target_completion
from viewer.edits.patch import patch_of
from viewer.edits.session import Changes, Command, FileChange, changes_of
from viewer.edits.words import counts, did, notes, shown_name
from viewer.output import DONE, NO, CallError, console, say, warn, warn_of, write_bytes, write_json
from viewer.sessions.selection import opened, part_at
from viewer.sessions.targets import Targets

if TYPE_CHECKING:
    from rich.console import Console


_LONGEST = 4096


@click.command("diff")
@click.argument("target", metavar="TARGET[#EXCHANGE]", shell_complete=target_completion)
@click.option("--stat", is_flag=True, help="Only the files, each with its edits.")
@click.option("--patch", is_flag=True, help="Print a patch for `git apply`; what it lacks goes to standard error.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str, stat: bool, patch: bool, as_json: bool) -> int:
    """Show which files a session changed, and what came of its edits as one diff.

    TARGET is a path, a session id or the beginning of one, `latest`, or - for standard input; TARGET#3 is its third
    exchange, TARGET#3-5 the third to the fifth. Subagents' edits are included. Edits that failed or were denied are
    left out and counted. What a shell command changed is named, and not in the diff; one that failed has perhaps
    changed it, and one that was denied is left out.
    """
    if stat + patch + as_json > 1:
        raise CallError("diff: one of --stat, --patch and --json")
    found = Targets().resolve(target)
    with opened(found.path) as session:
        part = part_at(session, found.place)
        changes = changes_of(session, None if part is None else part.messages(session))
        warn_of(changes.problems)
        if as_json:
            write_json(_object(session, found.place, changes))
        elif patch:
            return _print_patch(changes)
        elif changes.files or changes.commands:
            _print(console(), changes, stat)
        else:
            warn("no file was changed")
        return DONE if changes.files or changes.commands else NO


def _print_patch(changes: Changes) -> int:
    text, lacks = patch_of(changes, os.getcwd())
    write_bytes(text.encode("utf-8", "replace"))
    for lack in lacks:
        warn(f"not in the patch: {lack}")
    if not text:
        warn("nothing that a patch can hold")
    return DONE if text else NO


# -- for people ------------------------------------------------------------------------------------------------------


def _print(screen: Console, changes: Changes, stat: bool) -> None:
    from rich.text import Text

    piped = not screen.is_terminal
    for file in changes.files:
        line = Text.assemble((one_line(shown_name(file), _LONGEST), "bold"))
        if file.stages:
            line.append("  ").append_text(_lines(*totals(file.diffs)))
        line.append("".join(f"  {note}" for note in notes(file)), "dim")
        say(screen, line)
        for one in file.happened:
            screen.print(
                Text(f"  {one.place}  {did(one)}", "dim"), soft_wrap=piped, no_wrap=not piped, overflow="ellipsis"
            )
    for command_ in changes.commands:
        say(screen, (f"{command_.place}  {did(command_)}", "dim"))
    total = Text(plural(changes.changed, "file"))
    if (lines := changes.lines) is not None:
        total.append("  ").append_text(_lines(*lines))
    if left_out := changes.left_out:
        total.append(f"  left out: {counts(left_out)}", "dim")
    say(screen, total)
    if stat:
        return
    for file in changes.files:
        for diff in file.diffs:
            screen.print()
            if piped:
                sys.stdout.flush()
                write_bytes(diff.unified().encode("utf-8", "replace"))
            else:
                screen.print(Text(one_line(diff.names, _LONGEST), "bold"))
                _print_diff(screen, diff)


def _print_diff(screen: Console, diff: Any) -> None:
    from rich.style import Style

    words = Style(reverse=True)
    palette = Palette(add=Style(color="green"), remove=Style(color="red"), add_words=words, remove_words=words)
    for row in diff_rows(diff, screen.width, palette):
        say(screen, *((one.text, one.style or "") for one in row.segments))


def _lines(added: int, removed: int) -> Any:
    from rich.text import Text

    return Text.assemble((f"+{added}", "green"), " ", (f"-{removed}", "red"))


# -- for programs ----------------------------------------------------------------------------------------------------


def _object(session: Session, place: str, changes: Changes) -> dict[str, Any]:
    return {
        **session_json(session.provider, session.id, session.path),
        "workspaceRoot": session.workspace_root,
        "place": place or None,
        "files": [_file_object(session, file) for file in changes.files],
        "changedBy": [_command_object(one) for one in changes.commands],
        "leftOut": dict(changes.left_out),
    }


def _file_object(session: Session, file: FileChange) -> dict[str, Any]:
    added, removed = totals(file.diffs)
    return {
        "path": file.path,
        "operation": file.operation,
        "added": added,
        "removed": removed,
        "exchanges": list(dict.fromkeys(one.place.partition(".")[0] for one in file.edits)),
        "edits": [
            {
                "place": one.place,
                "exchangeId": session.exchanges[one.exchange].id,
                "messageId": one.message,
                "subagent": one.subagent or None,
                "verb": one.verb,
                "added": one.diff.added,
                "removed": one.diff.removed,
            }
            for one in file.edits
        ],
        "changedBy": [_command_object(one) for one in file.commands],
        "changedMeanwhile": file.changed_meanwhile,
        "leftOut": dict(file.left_out),
        "diffs": [diff_to_json(stage.diff) | {"beforeIsKnown": not stage.rewritten} for stage in file.stages],
    }


def _command_object(one: Command) -> dict[str, Any]:
    return {"how": one.how, "place": one.place, "subagent": one.subagent or None, "perhaps": one.perhaps}

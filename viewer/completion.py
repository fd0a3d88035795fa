"""The words that a shell completes: sessions for a TARGET, and the values of options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.clean import one_line

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

_PLAIN = re.compile(r"\w[\w.-]*")
"""Ids that mean themselves in every shell; what a session says of itself is not pasted into a command line."""


def sessions(incomplete: str) -> list[CompletionItem]:
    """The newest sessions of the index and of this directory whose ids begin so, and files. No session file is read,
    and no folder looked through, since a person waits: what the index has not seen is not offered.
    """
    from click.shell_completion import CompletionItem

    from viewer.index.library import Library

    known = Library().first(Path.cwd())
    fitting = [one for one in known if one.id.startswith(incomplete) and _PLAIN.fullmatch(one.id)]
    latest = ["latest"] if "latest".startswith(incomplete) else []
    return [
        CompletionItem(incomplete, type="file"),  # before the others: bash forgets what stood before it
        *(CompletionItem(name, help="the newest session") for name in latest),
        *(CompletionItem(one.id, help=one_line(one.title, 60) or "(untitled)") for one in fitting),
    ]


def target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same as an argument's `shell_complete`."""
    return sessions(incomplete)


def one_of(names: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the `shell_complete` of an option that takes one of some names."""
    return lambda ctx, param, incomplete: [name for name in names if name.startswith(incomplete)]


def agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of agents as an option's `shell_complete`."""
    from schemas.providers import ids

    return [name for name in ids() if name.startswith(incomplete)]

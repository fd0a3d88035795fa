"""A session as plain text on standard output: what a screen shows where there is no terminal."""

from __future__ import annotations

from pathlib import Path

from viewer.output import progress, warn, write_bytes


def print_text(path: Path) -> None:
    """Print a session with everything unfolded. Like the screen it replaces nothing: redacting is the export's part.

    Raises OpenError for what is no session.
    """
    from renderers.options import Include
    from schemas.opening import read_session
    from viewer.commands.export import document
    from viewer.commands.show import unreadable_notice
    from viewer.output import path_text
    from viewer.sessions import say_others

    with progress("reading") as bar:
        session = read_session(path, bar)
    try:
        for chunk in document(session, "text", Include(redact=False), None):
            write_bytes(chunk)
        say_others(session, path)
        if notice := unreadable_notice(session):
            warn(f"{path_text(path)}: {notice}")
    finally:
        session.close()

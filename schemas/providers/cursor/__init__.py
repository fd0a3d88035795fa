"""Cursor CLI: a database of blobs a session, and transcripts of it beside (formats/gemini-qwen-cursor.md 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile, moved_home
from schemas.providers.cursor import detect, locate

if TYPE_CHECKING:
    from schemas.session import Session


class Cursor:
    """The provider; see `schemas.provider.Provider`."""

    id = locate.PROVIDER_ID
    name = locate.PROVIDER_NAME
    counting = "Cursor records no tokens, only how full the context is."
    formats = (
        Format(
            "Cursor CLI store, a SQLite database",
            "tables blobs (id, data) and meta (key, value), blobs by their SHA-256 or Cursor's row in meta",
        ),
        Format("Cursor transcript, JSON lines", "a record with role and message, and no type, id or time"),
        Format("Cursor transcript before 2026, text", "lines `user:` and `assistant:`, tools as `[Tool call] NAME`"),
    )

    def locations(self, env: Environment) -> list[Location]:
        """Cursor's folders: `CURSOR_CONFIG_DIR`, `.cursor`, the one under `XDG_CONFIG_HOME`, a remote host's."""
        return locate.locations(env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """Each session once: its store, or its transcript where it has none."""
        return locate.find(location, problems)

    def detect(self, head: Head) -> bool:
        """Whether it is a store or a transcript."""
        return detect.detect(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError."""
        # Here, since looking for sessions and recognising them is done without the parsers, and often.
        if detect.is_database(path):
            from schemas.providers.cursor.store import StoreReading

            return StoreReading(path)
        from schemas.providers.cursor.transcript import open_transcript

        return open_transcript(path, start)

    def resume_command(self, session: Session) -> list[str] | None:
        """`cursor-agent --resume ID`; None for a subagent, and for an id that Cursor cannot have given."""
        if session.lineage.parent is not None or not locate.UUID.fullmatch(session.id):
            return None
        return ["cursor-agent", "--resume", session.id]

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CURSOR_CONFIG_DIR, where the session lies in none of the folders that Cursor looks into."""
        return moved_home("CURSOR_CONFIG_DIR", locate.root_of(path), [place.path for place in locate.locations(env)])

    def retention(self, env: Environment) -> Retention | None:
        """None: Cursor keeps its sessions."""
        return None


PROVIDER = Cursor()

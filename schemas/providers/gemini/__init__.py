"""Gemini CLI: an event log for each session under `~/.gemini/tmp`, and the documents before it (formats note 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile, moved_home
from schemas.providers.gemini import detect, locate

if TYPE_CHECKING:
    from schemas.session import Session

_PLAIN_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Gemini:
    """The provider; see `schemas.provider.Provider`."""

    id = locate.PROVIDER_ID
    name = "Gemini CLI"
    counting = (
        "Gemini CLI writes a message again when it knows more of it: its last figures count, once. Its input "
        "includes what came from the cache, which is taken apart here; thinking is added to the output, tool "
        "prompts to the input."
    )
    formats = (
        Format("Gemini CLI session, JSON lines", "a record with sessionId and projectHash, $set, or the type gemini"),
        Format("Gemini CLI session before 2026-04, one JSON document", "an object with sessionId and messages"),
        Format("Gemini CLI saved chat (/chat save)", "a list of contents with role and parts, or history with one"),
        Format("Gemini CLI prompt log, logs.json", "a list of objects with sessionId, messageId and message"),
    )

    def locations(self, env: Environment) -> list[Location]:
        """`.gemini/tmp` in GEMINI_CLI_HOME and in the home directory."""
        return locate.locations(env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions, each once; saved chats and prompt logs are opened when asked for, not listed."""
        return locate.find(location, problems)

    def detect(self, head: Head) -> bool:
        """Whether it is a session in either form, a saved chat or a prompt log."""
        return detect.detect(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError, also for a document that is only half-written."""
        # Here, since looking for sessions and recognising them is done without the parser, and often.
        from schemas.providers.gemini.opening import open_session

        return open_session(path, start, self.id, self.name)

    def resume_command(self, session: Session) -> list[str] | None:
        """`gemini --resume ID`; None for a subagent and for an id that Gemini CLI cannot have given."""
        if session.lineage.agent_id is not None or not _PLAIN_ID.fullmatch(session.id):
            return None
        return ["gemini", "--resume", session.id]

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """GEMINI_CLI_HOME, where the session lies in another home than that names, or the home directory."""
        return moved_home("GEMINI_CLI_HOME", locate.home_of(path), [locate.home(env)])

    def retention(self, env: Environment) -> Retention | None:
        """Present versions delete sessions after 30 days, unless `general.sessionRetention` says otherwise."""
        return locate.retention(env)


PROVIDER = Gemini()

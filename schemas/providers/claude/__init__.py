"""Claude Code: JSON lines under `~/.claude/projects`, one file a session (formats/claude-code.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile, moved_home
from schemas.providers.claude import detect, locate

if TYPE_CHECKING:
    from schemas.session import Session

_PLAIN_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class ClaudeProvider:
    """Reads what Claude Code, from 1.0.98 to 2.1.280, leaves behind."""

    id = locate.PROVIDER_ID
    name = "Claude Code"
    counting = (
        "Claude Code writes a line for each content block of a response and repeats the response's usage on each "
        "of them, so lines with one message id are one group, which counts once: of each figure the largest. "
        "Input does not include what was read from or written to the cache."
    )
    formats = (
        Format("Claude Code session, JSON lines", "a record with sessionId and uuid, parentUuid or a type of its own"),
    )

    def locations(self, env: Environment) -> list[Location]:
        """Where its sessions live on such a machine, existing or not."""
        return locate.locations(env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a location, subagents apart."""
        return locate.find(location, problems)

    def detect(self, head: Head) -> bool:
        """Whether a file with this beginning is a session of Claude Code, or one of its subagents."""
        return detect.detect(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError."""
        # Here, since looking for sessions and recognising them is done without the parser, and often.
        from schemas.providers.claude.build import build_message
        from schemas.providers.claude.parse import ClaudeParser
        from schemas.reading import LinesReading, open_file
        from schemas.session import Session

        store = open_file(path)
        session = Session(self.id, self.name, path, path.stem)
        session.build = build_message
        return LinesReading(store, ClaudeParser(session), start)

    def resume_command(self, session: Session) -> list[str] | None:
        """`claude --resume ID`; None for a subagent and for an id that Claude Code cannot have given."""
        if session.lineage.agent_id is not None or not _PLAIN_ID.fullmatch(session.id):
            return None
        return ["claude", "--resume", session.id]

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CLAUDE_CONFIG_DIR, where the session lies in another folder than that names, or `~/.claude`."""
        return moved_home("CLAUDE_CONFIG_DIR", locate.home_of(path), [locate.home(env)])

    def retention(self, env: Environment) -> Retention:
        """Claude Code deletes sessions 30 days after their last change, unless `cleanupPeriodDays` says otherwise."""
        return locate.retention(env)


PROVIDER = ClaudeProvider()

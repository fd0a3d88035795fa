"""Qwen Code: JSON lines that form a tree, under `~/.qwen/projects` (formats/gemini-qwen-cursor.md 2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile, moved_home
from schemas.providers.qwen import locate

if TYPE_CHECKING:
    from schemas.session import Session


class Qwen:
    """The provider; see `schemas.provider.Provider`."""

    id = locate.PROVIDER_ID
    name = "Qwen Code"
    counting = (
        "Each response of Qwen Code is one group; the telemetry that repeats its figures counts for nothing. Its "
        "input includes what came from the cache, which is taken apart here; whether thinking is inside the "
        "output is told by each record's own total."
    )
    formats = (
        Format(
            "Qwen Code session, JSON lines",
            "a record with uuid, sessionId and message.parts, or a systemPayload",
        ),
        Format("Qwen Code session before 0.4, one JSON document", "Gemini CLI's document, in a folder called .qwen"),
    )

    def locations(self, env: Environment) -> list[Location]:
        """Qwen Code's folder: `QWEN_RUNTIME_DIR`, `QWEN_HOME`, or `.qwen` in the home directory on every system."""
        return locate.locations(env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a location, subagents and empty files apart."""
        return locate.find(location, problems)

    def detect(self, head: Head) -> bool:
        """Whether it is a session of Qwen Code, or one of its subagents."""
        return locate.detect(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError."""
        if locate.is_old(path):
            from schemas.providers.gemini.opening import open_session

            return open_session(path, start, self.id, self.name)
        # Here, since looking for sessions and recognising them is done without the parser, and often.
        from schemas.providers.qwen.build import build_message
        from schemas.providers.qwen.parse import QwenParser
        from schemas.reading import LinesReading, open_file
        from schemas.session import Session

        store = open_file(path)
        session = Session(self.id, self.name, path, path.stem)
        session.build = build_message
        return LinesReading(store, QwenParser(session), start)

    def resume_command(self, session: Session) -> list[str] | None:
        """`qwen --resume ID`; None for a subagent, a session of before 0.4, and an id that Qwen Code cannot give."""
        if session.lineage.agent_id is not None or session.path.suffix == ".json":
            return None
        if not locate.UUID.fullmatch(session.id):
            return None
        return ["qwen", "--resume", session.id]

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """QWEN_HOME, where the session lies in another folder than the variables name, or `~/.qwen`."""
        return moved_home("QWEN_HOME", locate.home_of(path), [locate.home(env)])

    def retention(self, env: Environment) -> Retention | None:
        """None, unless the user enabled `general.sessionRetention`."""
        return locate.retention(env)


PROVIDER = Qwen()

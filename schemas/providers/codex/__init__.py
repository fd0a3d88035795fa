"""OpenAI Codex: rollouts of every era, from the TypeScript program's documents to paginated threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile, moved_home
from schemas.providers.codex import locate
from schemas.providers.codex.ids import UUID
from schemas.providers.codex.stream import CodexStream

if TYPE_CHECKING:
    from schemas.session import Session


class Codex:
    """The provider; see `schemas.provider.Provider`."""

    id = "codex"
    name = "Codex"
    counting = (
        "Codex writes a running total after each round. What a round used is the difference to the total before "
        "it; a repeated total counts for nothing. Its input includes what came from the cache, which is taken "
        "apart here; reasoning is part of the output."
    )
    formats = (
        Format(
            "Codex rollout, JSON lines, also compressed with zstd", "a session_meta, response_item, event_msg or such"
        ),
        Format("Codex rollout before 2025-09, JSON lines", "a header with id, timestamp and instructions"),
        Format("Codex's TypeScript program, one JSON document", "an object with session and items"),
    )

    def locations(self, env: Environment) -> list[Location]:
        """Codex's folder: `CODEX_HOME`, or `.codex` in the home directory on every system."""
        return locate.locations(env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """Each thread once, wherever and however often it lies there; subagents whose parent is there are left out."""
        return locate.find(location, problems)

    def detect(self, head: Head) -> bool:
        """Whether it is a rollout of any era; what `codex exec --json` prints is none."""
        return locate.detect(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a rollout. Raises OSError, also for a damaged compressed file."""
        # Here, since looking for rollouts and recognising them is done without the parser, and often.
        from schemas.providers.codex.opening import open_rollout

        return open_rollout(path, start)

    def resume_command(self, session: Session) -> list[str] | None:
        """`codex resume ID`, for ids that Codex itself makes."""
        return ["codex", "resume", session.id] if UUID.fullmatch(session.id) else None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CODEX_HOME, where the rollout lies in another folder than that names, or `~/.codex`."""
        return moved_home(
            "CODEX_HOME", locate.resumable_home(path), [location.path for location in locate.locations(env)]
        )

    def retention(self, env: Environment) -> Retention | None:
        """None: Codex keeps its rollouts."""
        return None


PROVIDER = Codex()
STREAM = CodexStream()

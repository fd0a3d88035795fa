"""What an agent's fixtures offer to the conformance suite (`test_conformance.py`).

Each provider has a package `tests.fixtures.<id>` (dashes as underscores) with `samples(folder)`, which writes its
sessions below `folder` as the agent lays them out and says what is in them, and `LOCATIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schemas.paths import source_of
from schemas.session import Lack
from schemas.usage import TokenUsage


@dataclass(frozen=True)
class Sample:
    """One session that was written, and what must be read from it."""

    path: Path
    """Its address (schemas/paths.py)."""
    lines: bool
    """Whether it is a file of JSON lines, which grows by being appended to and may be cut anywhere."""
    title: str
    prompts: list[str]
    """The prompts of the live exchanges, as `Exchange.prompt` has them."""
    usage: TokenUsage | None
    """The session's own total."""
    models: list[str]
    tools: list[tuple[str, str, str]]
    """Name, SessionData type and status of each tool use, in order."""
    created: float | None
    """Seconds since 1970; None where the source has no times."""
    updated: float | None
    lacks: frozenset[Lack] = frozenset()
    listed: bool = True
    """Whether discovery lists it (a subagent is not listed, a saved stream lies nowhere)."""
    alone: bool = True
    """Whether the file is all of the session; false where others around it belong to it."""
    placed: bool = False
    """Whether its place tells whose it is: elsewhere the same file is another agent's."""

    @property
    def source(self) -> Path:
        """The file of it."""
        return source_of(self.path)[0]


@dataclass(frozen=True)
class Place:
    """Where a provider must look on one machine; paths are below the home directory unless absolute."""

    platform: str
    """linux, darwin, win32."""
    variables: dict[str, str]
    """`{home}` in a value stands for the home directory."""
    expected: list[str]
    """Folders that must be among the locations."""

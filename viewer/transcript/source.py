"""Where a transcript screen gets its session from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from schemas.session import Change, Session

SLICE = 0.004
"""Seconds that reading or searching may keep a key waiting."""


class Following(Protocol):
    """What the screen needs of a viewer.follow.Follower."""

    loaded: bool
    missing: bool
    trouble: str
    """Why the last read failed; empty when it did not."""

    @property
    def live(self) -> bool:
        """Whether it is being written, so that more may come at any time."""
        ...

    @property
    def unfinished(self) -> int | None:
        """The number of a last line that waits for its end; None where all lines are whole."""
        ...

    @property
    def session(self) -> Session:
        """A new object after RESTARTED, or where history was rewritten."""
        ...

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read; none where nobody need listen."""
        ...

    @property
    def ahead(self) -> Callable[[], None] | None:
        """The long part of the next `step`, where a step cannot be short; may be done in a thread before it."""
        ...

    def step(self, seconds: float = SLICE) -> list[Change]:
        """Read a slice of what there is. This and `poll` give what changed since either was called last."""
        ...

    def poll(self) -> list[Change]:
        """Look whether the source changed."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


class Finished:
    """A session that was read already and grows no more: a subagent within its parent's file."""

    loaded = True
    missing = False
    trouble = ""
    live = False
    unfinished: int | None = None
    ahead: Callable[[], None] | None = None

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sources: list[Path] = []

    def step(self, seconds: float = SLICE) -> list[Change]:
        """Nothing is left to read."""
        return []

    def poll(self) -> list[Change]:
        """Nothing will come."""
        return []

    def close(self) -> None:
        """Its files are its parent's."""

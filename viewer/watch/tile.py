"""A tile: a session that runs, as people are shown it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from renderers.facts import project_name
from schemas.costs.responses import Tally
from schemas.usage import TokenUsage
from viewer.watch.state import Does, State


@dataclass(frozen=True, slots=True)
class Helper:
    """A subagent that runs."""

    id: str
    name: str
    description: str
    state: State
    usage: TokenUsage | None
    children: tuple[Helper, ...] = ()
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """A file that another session touches as well, and at least one of them changed."""

    path: str
    others: tuple[str, ...]
    """The projects of the others, or their titles where that is the same one."""
    ids: tuple[str, ...]
    """The others' ids."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A session that runs."""

    path: Path
    """Its address."""
    provider: str
    agent: str
    """The agent's name."""
    id: str
    title: str
    workspace_root: str | None
    branch: str | None
    state: State
    last: str
    """The agent's last text."""
    usage: TokenUsage | None
    """What was used so far, subagents included; None while it is not read to its end, or nothing tells."""
    cost: Tally | None
    """The cost of that; None while it is not known."""
    recent: int
    """Tokens of the last minute."""
    context_used: int | None
    context_window: int | None
    helpers: tuple[Helper, ...]
    shared: tuple[Shared, ...]
    touched: float
    """When it, or a subagent of it, was written last."""
    measured: bool = True
    """Whether it is known, as far as it can be, whether its terminal is still."""

    @property
    def may_change(self) -> bool:
        """Tell whether the verdict may become another one when it is known whether the terminal is still."""
        return not self.measured and self.state.does is Does.WORKS and not self.state.certain

    @property
    def project(self) -> str:
        """The name of its project."""
        return project_name(self.workspace_root)

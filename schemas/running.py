"""Asks the agents about their running sessions (`schemas.providers.kit.running`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from schemas.folders import reason_of
from schemas.provider import Environment, Problem
from schemas.providers import present, provider_of
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.running import Running, Stated, Status, Wait
from schemas.troubles import guarded

__all__ = ["Agent", "Running", "Stated", "Status", "Wait", "agent_of", "agents_on", "command_of", "stated_by"]


def agents_on(env: Environment) -> Iterator[Agent]:
    """The agents that may have sessions on such a machine."""
    return (one for one in present(env) if isinstance(one, Agent))


def agent_of(name: str) -> Agent | None:
    """The agent with an id; None where its sessions do not run: for an unknown one, and for documents."""
    found = provider_of(name)
    return found if isinstance(found, Agent) else None


def stated_by(agent: Agent, env: Environment, problems: list[Problem]) -> list[Stated]:
    """List what an agent says of its sessions; what cannot be read is added to `problems`."""
    try:
        with guarded():
            return list(agent.stated(env))
    except OSError as error:
        problems.append(Problem(env.home, f"{agent.name}: {reason_of(error)}"))
        return []


@lru_cache(64)
def command_of(agent: Agent) -> re.Pattern[str]:
    """The expression by which a command line is an agent's: what it declares, or the name of its command."""
    name = re.escape(agent.resume[0] if agent.resume else agent.id)
    runner = r"(?:\S*(?:node|bun|python[\d.]*)(?: -\S+)* )?"
    return re.compile(agent.running.command or rf"^{runner}(?:\S*/)?{name}(?:\.\w+)?(?: |$)")

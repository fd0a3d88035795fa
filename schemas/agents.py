"""Asks the agents: what they say of their running sessions, and what the published formats have of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from schemas.folders import reason_of
from schemas.message import ToolType
from schemas.provider import Environment, Problem
from schemas.providers import present, provider_of, table
from schemas.providers.kit.agent import Agent as Agent
from schemas.published import Published
from schemas.running import Stated
from schemas.slices import Listing
from schemas.troubles import guarded


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


@lru_cache(64)
def published_of(agent: str) -> Published:
    """Return what the formats have of the agent with an id; an empty `Published` for an unknown one."""
    found = agent_of(agent)
    return Published() if found is None else found.published


def tool_type(agent: str, name: str) -> ToolType:
    """Return the type of an agent's tool by its name; "unknown" for an unknown agent."""
    found = agent_of(agent)
    return "unknown" if found is None else found.tool_type(name)


def listing_of(agent: str) -> Listing | None:
    """Return the form in which an agent's tools show what they read of a file; None for an unknown agent."""
    found = agent_of(agent)
    return None if found is None else found.listing


def id_called(name: str) -> str:
    """The id of the agent that a format's producer calls so; the name itself where there is none."""
    return next((row.id for row in table().values() if name in row.called), name)


def name_of(agent: str) -> str:
    """Return the name of the agent with an id; empty for an unknown one."""
    found = provider_of(agent)
    return "" if found is None else found.name

"""Asks the agents what the published formats have of them (`schemas.providers.kit.published`)."""

from __future__ import annotations

from functools import lru_cache

from schemas.message import ToolType
from schemas.providers import provider_of, table
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.published import Published


@lru_cache(64)
def published_of(agent: str) -> Published:
    """What the formats have of the agent with an id; of one that is unknown nothing."""
    found = _agent(agent)
    return Published() if found is None else found.published


def _agent(agent: str) -> Agent | None:
    found: object = provider_of(agent)
    return found if isinstance(found, Agent) else None


def tool_type(agent: str, name: str) -> ToolType:
    """What kind of tool an agent calls so."""
    found = _agent(agent)
    return "unknown" if found is None else found.tool_type(name)


def id_called(name: str) -> str:
    """The id of the agent that a format's producer calls so; the name itself where there is none."""
    return next((row.id for row in table().values() if name in row.called), name)


def name_of(agent: str) -> str:
    """What people call the agent with an id; empty of one that is unknown."""
    found = provider_of(agent)
    return "" if found is None else found.name

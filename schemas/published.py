"""Asks the agents what the published formats have of them (`schemas.providers.kit.published`)."""

from __future__ import annotations

from functools import lru_cache

from schemas.message import ToolType
from schemas.providers import provider_of, table
from schemas.providers.kit.published import Published
from schemas.running import agent_of
from schemas.slices import Listing


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

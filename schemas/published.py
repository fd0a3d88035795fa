"""An agent as the published formats know it: they were made with some agents in mind, under other names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_APART = {
    "input": "inputTokens", "output": "outputTokens", "cache_write": "cacheCreationInputTokens",
    "cache_read": "cacheReadInputTokens",
}  # fmt: skip


class Published(NamedTuple):
    """An agent as SessionData, Toolpath and price tables know it; nothing need be said of one that they do not know."""

    names: tuple[str, ...] = ()
    """What their producers call it beside its id."""
    source: str = ""
    """What Toolpath calls it, where that is not its id."""
    categories: Mapping[str, str] | None = None
    """Toolpath's category of each of its tools; None where the format has no table of them."""
    figures: Mapping[str, str] = _APART
    """SessionData's names of its figures: a TokenUsage's, `context` with cached input, `spoken` without thinking."""
    inclusive: bool = False
    """Whether its own input, which Toolpath has, includes what came from the cache."""
    by_block: bool = False
    """Whether a response is several records, each with its usage, and one without text for withheld thinking."""
    slug: str = ""
    """The slug of a session of which no prompt has words."""
    untyped: re.Pattern[str] | None = None
    """What prompts look like that its program writes in a person's name: other producers keep them as prompts."""
    steps: str = ""
    """The class that says how its records are Toolpath's steps, as `module:name` in schemas.providers."""
    seller: str = ""
    """Who sells it models at other prices than their makers, as genai-prices calls that one."""


def categories(**names: str) -> dict[str, str]:
    """The tools of each of Toolpath's categories, in one text, as a table by the tool's name."""
    return {name: category for category, listed in names.items() for name in listed.split()}

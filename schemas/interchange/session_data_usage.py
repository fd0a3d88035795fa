"""A message's `usage` as SessionData's producer writes it, each agent in its own counting (formats note 2.1)."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.agents import published_of
from schemas.usage import TokenUsage, as_count, overlapping
from schemas.values import dict_of

USAGE_KEYS = frozenset({
    "inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "cachedInputTokens",
    "reasoningOutputTokens", "cachedTokens", "thoughtTokens", "toolTokens", "thinkingTokens",
})  # fmt: skip
"""What the producer counts, of all agents together."""


def read_usage(value: object) -> TokenUsage | None:
    """The figures without overlaps; None where there are none."""
    if not isinstance(value, dict):
        return None
    count = {key: as_count(item) for key, item in value.items()}
    whole, output = count.get("inputTokens"), count.get("outputTokens")
    if "cacheReadInputTokens" in count or "cacheCreationInputTokens" in count:
        read, written = count.get("cacheReadInputTokens"), count.get("cacheCreationInputTokens")
        usage = TokenUsage(whole, output, read, written, count.get("thinkingTokens"))
    else:  # the cache is part of the input
        cached, thought = count.get("cachedInputTokens"), count.get("reasoningOutputTokens")
        if {"cachedTokens", "thoughtTokens", "toolTokens"} & count.keys():
            # Thoughts are outside the output, tool tokens are part of the prompt that is counted apart.
            cached, thought = count.get("cachedTokens"), count.get("thoughtTokens")
            output = output if thought is None else (output or 0) + thought
        fresh = None if whole is None else max(whole - (cached or 0), 0) + (count.get("toolTokens") or 0)
        usage = TokenUsage(fresh, output, cached, None, thought)
    return usage if usage.total is not None else None


def uncounted(value: object) -> object:
    """Return what of a `usage` is no figure that the producer counts, so that it is kept beside; None for nothing."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key not in USAGE_KEYS or as_count(item) is None} or None


class Counted(NamedTuple):
    """The token group of the message before, as far as it has been read."""

    model: str
    usage: TokenUsage
    group: int
    span: int
    """The last of the group's records."""


def repeats(before: Counted | None, provider: str, model: str, usage: TokenUsage) -> bool:
    """Return whether a message's usage is that of the message before said again: another record of one response, of
    agents that write the response's usage on each of them (trap 2).

    It is where nothing but the output has grown. Two replies that follow each other cannot look so: the second one has
    read the first, so that its input or its cache is larger. The producer leaves out zeros, so a figure that is zero
    and one that is not there are the same, and an output of neither is one that was not told again.
    """
    return (
        before is not None
        and published_of(provider).by_block
        and before.model == model
        and _read(before.usage) == _read(usage)
        and (not usage.output or usage.output >= (before.usage.output or 0))
    )


def _read(usage: TokenUsage) -> tuple[int, int, int]:
    """Return the input, cache read and cache write of a call, 0 for what is not told."""
    return usage.input or 0, usage.cache_read or 0, usage.cache_write or 0


_TOLD = {
    "input": "inputTokens", "output": "outputTokens", "cached": "cachedTokens", "thoughts": "thoughtTokens",
    "tool": "toolTokens",
}  # fmt: skip
"""Figures of agents that count what was thought beside the output, and what the producer calls them."""


def tells_own(provider: str) -> bool:
    """Return whether an agent counts thoughts beside the output, so that its figures may be others than turnlog's."""
    return "spoken" in published_of(provider).figures


def told_tokens(metadata: dict[str, Any]) -> dict[str, int]:
    """The agent's own figures where a message's metadata has them: turnlog's do not tell all of them again."""
    said = dict_of(metadata.get("tokens"))
    return {key: count for key in _TOLD if (count := as_count(said.get(key))) is not None}


def untold_tokens(usage: object) -> dict[str, int]:
    """The agent's own figures out of a `usage`, where turnlog's do not tell all of them again."""
    figures = dict_of(usage)
    return overlapping({key: figures.get(name) for key, name in _TOLD.items()})


def own_usage(provider: str, usage: TokenUsage, metadata: dict[str, Any] | None = None) -> dict[str, int]:
    """Usage under the keys, and in the counting, that SessionData's producer uses for a provider.

    `metadata` is that of the message which the usage is of.
    """
    if tells_own(provider) and (told := told_tokens(metadata or {})):
        return {_TOLD[key]: count for key, count in told.items()}
    spoken = max(usage.output - (usage.reasoning or 0), 0) if usage.output is not None else None
    figures = usage._asdict() | {"context": usage.context, "spoken": spoken}
    names = published_of(provider).figures
    return {name: count for key, name in names.items() if (count := figures[key]) is not None}

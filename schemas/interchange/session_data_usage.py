"""A message's `usage` as SessionData's producer writes it, each agent in its own counting (formats note 2.1)."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.usage import TokenUsage, as_count, overlapping
from schemas.values import dict_of

USAGE_KEYS = frozenset({
    "inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "cachedInputTokens",
    "reasoningOutputTokens", "cachedTokens", "thoughtTokens", "toolTokens", "thinkingTokens",
})  # fmt: skip
"""What the producer counts, of all agents together."""
_REPEATING = frozenset({"claude"})
"""Agents that write a response's usage on each of its messages: Claude Code (trap 2). Codex and Gemini CLI count a
call once, so what is equal there is another call.
"""


def read_usage(value: object) -> TokenUsage | None:
    """The figures without overlaps; None where there are none."""
    if not isinstance(value, dict):
        return None
    count = {key: as_count(item) for key, item in value.items()}
    whole, output = count.get("inputTokens"), count.get("outputTokens")
    if "cacheReadInputTokens" in count or "cacheCreationInputTokens" in count:
        usage = TokenUsage(
            whole,
            output,
            count.get("cacheReadInputTokens"),
            count.get("cacheCreationInputTokens"),
            count.get("thinkingTokens"),
        )
    elif {"cachedTokens", "thoughtTokens", "toolTokens"} & count.keys():
        # Gemini: thoughts are outside the output, tool tokens are part of the prompt that is counted apart.
        cached, thoughts = count.get("cachedTokens"), count.get("thoughtTokens")
        tools = count.get("toolTokens") or 0
        fresh = max(whole - (cached or 0), 0) + tools if whole is not None else None
        usage = TokenUsage(fresh, (output or 0) + thoughts if thoughts is not None else output, cached, None, thoughts)
    else:
        cached = count.get("cachedInputTokens")
        fresh = max(whole - (cached or 0), 0) if whole is not None else None
        usage = TokenUsage(fresh, output, cached, None, count.get("reasoningOutputTokens"))
    return usage if usage.total is not None else None


def uncounted(value: object) -> object:
    """What of a `usage` is no figure that the producer counts, so that it is kept beside; None for nothing."""
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
    """Whether a message's usage is that of the message before said again: another line of one reply of Claude Code.

    It is where nothing but the output has grown. Two replies that follow each other cannot look so: the second one has
    read the first, so that its input or its cache is larger. The producer leaves out zeros, so a figure that is zero
    and one that is not there are the same, and an output of neither is one that was not told again.
    """
    return (
        before is not None
        and provider in _REPEATING
        and before.model == model
        and _read(before.usage) == _read(usage)
        and (not usage.output or usage.output >= (before.usage.output or 0))
    )


def _read(usage: TokenUsage) -> tuple[int, int, int]:
    """What a call had read, nothing for what is not told."""
    return usage.input or 0, usage.cache_read or 0, usage.cache_write or 0


_TOLD = {
    "input": "inputTokens", "output": "outputTokens", "cached": "cachedTokens", "thoughts": "thoughtTokens",
    "tool": "toolTokens",
}  # fmt: skip
"""Gemini CLI's own figures, and what the producer calls them."""


def told_tokens(metadata: dict[str, Any]) -> dict[str, int]:
    """Gemini CLI's own figures where a message's metadata has them: turnlog's do not tell all of them again."""
    said = metadata.get("tokens")
    figures = {key: as_count(said.get(key)) for key in _TOLD} if isinstance(said, dict) else {}
    return {key: count for key, count in figures.items() if count is not None}


def untold_tokens(usage: object) -> dict[str, int]:
    """Gemini CLI's own figures out of a `usage`, where turnlog's do not tell all of them again."""
    figures = dict_of(usage)
    return overlapping({key: figures.get(name) for key, name in _TOLD.items()})


def own_usage(provider: str, usage: TokenUsage, metadata: dict[str, Any] | None = None) -> dict[str, int]:
    """Usage under the keys, and in the counting, that SessionData's producer uses for a provider.

    `metadata` is that of the message which the usage is of.
    """
    if provider == "gemini" and (told := told_tokens(metadata or {})):
        return {_TOLD[key]: count for key, count in told.items()}
    whole = _sum(_sum(usage.input, usage.cache_read), usage.cache_write)
    if provider == "codex":
        keys = {
            "inputTokens": whole,
            "cachedInputTokens": usage.cache_read,
            "outputTokens": usage.output,
            "reasoningOutputTokens": usage.reasoning,
        }
    elif provider == "gemini":
        said = max(usage.output - (usage.reasoning or 0), 0) if usage.output is not None else None
        keys = {
            "inputTokens": whole,
            "cachedTokens": usage.cache_read,
            "outputTokens": said,
            "thoughtTokens": usage.reasoning,
        }
    else:
        keys = {
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "cacheCreationInputTokens": usage.cache_write,
            "cacheReadInputTokens": usage.cache_read,
        }
    return {key: count for key, count in keys.items() if count is not None}


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b

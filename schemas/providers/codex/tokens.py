"""Codex's figures: input that includes what the cache had and got, output that includes reasoning."""

from __future__ import annotations

from typing import TypeAlias

from schemas.usage import TokenUsage, as_count

Counts: TypeAlias = "list[int | None]"
"""Input, cached, cache written, output, reasoning and total, None where one is not given."""
_KEYS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    *("output_tokens", "reasoning_output_tokens", "total_tokens"),
)
_NONE = [None] * len(_KEYS)


def counts_of(usage: object) -> Counts | None:
    """The figures of a usage object; None if it is none or names no figure."""
    if not isinstance(usage, dict):
        return None
    counts = [n if n is None or (type(n) is int and 0 <= n < 1 << 62) else as_count(n) for n in map(usage.get, _KEYS)]
    return counts if counts != _NONE else None


def usage_of(counts: Counts) -> TokenUsage:
    """Codex's figures without overlap: cached and written tokens are part of its input, reasoning of its output."""
    given, cached, written, output, reasoning, _ = counts
    fresh = None if given is None else max(0, given - (cached or 0) - (written or 0))
    return TokenUsage(fresh, output, cached, written, reasoning)


def difference(new: Counts, old: Counts) -> Counts:
    """What a running total grew by."""
    return [n if n is None else max(0, n - (o or 0)) for n, o in zip(new, old, strict=True)]

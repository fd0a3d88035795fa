"""Tokens of Codex's responses: its figures, exact or as running totals that are repeated again and again.

Its input includes what the cache had and got, its output reasoning.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from schemas.providers.codex.header import UUID
from schemas.providers.kit.words import Count
from schemas.usage import TokenUsage, as_count
from schemas.values import text_of

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


class Spent:
    """The responses of a thread. A turn that has any exact counts (0.149 and later) counts by them alone."""

    def __init__(self) -> None:
        self.turn = ""
        self._counted, self._number = "", 0
        """The last response of the turn that was counted by a difference, and how many were."""
        self._total: Counts | None = None
        self._said: object = None
        """The running total, where it was needed, and the object that said it."""
        self._last: Counts | None = None
        self._exact: set[int] = set()
        self._responses: set[int] = set()

    def begin_file(self) -> None:
        """Other running totals follow."""
        self._total = self._said = None

    def begin_turn(self, turn: str) -> None:
        """A turn begins, or goes on; it may have no name."""
        if not turn or turn != self.turn:
            self.turn, self._counted, self._number = turn, "", 0 if turn else self._number

    def is_new(self, response: str) -> bool:
        """Return whether a response was not told exactly before."""
        known = bool(response) and hash(response) in self._responses
        self._responses.add(hash(response))
        return not known

    def _name(self, source: str) -> str:
        """A name for the next response, the same in a copy where its turn has a UUID, or where no turn has a name."""
        self._number += 1
        return f"{self.turn or source}:{self._number}"

    def step(self, info: dict[str, Any], source: str, *, copied: bool) -> Count | None:
        """Return the tokens that a count adds to those before it; None if it repeats them."""
        said = info.get("total_token_usage")
        if said is not None and said == self._said:
            return None  # as with every refresh of the screen
        exact = bool(self.turn) and hash(self.turn) in self._exact
        if exact and isinstance(said, dict) and as_count(said.get("total_tokens")) is not None:
            self._total, self._said = None, said
            return None
        total, before = counts_of(said), self._total or counts_of(self._said)
        if total is not None and before is not None and (total[5] or 0) >= (before[5] or 0):
            step: Counts | None = [n and max(0, n - (b or 0)) for n, b in zip(total, before, strict=True)]
        else:
            step = counts_of(info.get("last_token_usage"))
            if total is not None:
                step = step if before is not None else step or total  # the total goes on from a thread before
            else:
                # Without a running total only equal neighbours can be told for repeats.
                step, self._last = None if step == self._last else step, step
        if total is not None:
            self._total, self._said = total, said
        if exact or step is None or not any((usage := usage_of(step))[:5]):
            return None
        name = self._name(source)
        if copied and not UUID.search(name):
            return None  # nothing tells the copy, which has another time, from a response of its own
        self._counted = name
        return Count(usage, name, text_of(info.get("model")), closes=True)

    def response(self, usage: TokenUsage, name: str, turn: str, source: str) -> Count:
        """One response exactly: what was counted by a difference before may be this very one."""
        if not self.turn:
            self.begin_turn(turn)
        self._exact.add(hash(turn or self.turn))
        was, self._counted = self._counted if turn in ("", self.turn) else "", ""
        return Count(usage, name or was or self._name(source), closes=True, was=was)

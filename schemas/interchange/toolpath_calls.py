"""The model calls in a token group of another program's Toolpath document.

A group may be a whole round of calls, each of which a step attributes to itself (`attributed_token_usage`); the group's
total says what they cost together. They are read as the token groups that a native Codex session has, one a call, since
prices depend on how much a single call reads. What nobody attributes is one more, so the sum stays the group's total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemas.records import Record
from schemas.usage import TokenUsage

_SPENT = ("input", "output", "cache_read", "cache_write")


@dataclass(slots=True)
class Run:
    """The turns of one group so far."""

    name: str | None = None
    turns: list[tuple[Sequence[int], TokenUsage | None, Record]] = field(default_factory=list)
    """Of each turn its messages, what it attributes to itself, and where it lies (without the record itself)."""
    total: TokenUsage | None = None
    groups: list[int] = field(default_factory=list)
    """The session's token groups that were made of it, once its total was said."""


@dataclass(slots=True)
class CallUsage:
    """One call of a run: its messages, its tokens, and the record that says so."""

    messages: list[int]
    usage: TokenUsage
    record: Record


def calls_of(run: Run, total: TokenUsage) -> list[CallUsage]:
    """The calls, which add up to the total; one where nothing is attributed, or more than there is."""
    shares = [share for _, share, _ in run.turns if share is not None and share.total]
    rest = _rest(total, shares)
    if not shares or rest is None:
        return [CallUsage([index for messages, _, _ in run.turns for index in messages], total, run.turns[-1][2])]
    calls: list[CallUsage] = []
    waiting: list[int] = []
    for messages, share, record in run.turns:
        waiting.extend(messages)
        if share is not None and share.total:
            calls.append(CallUsage(waiting, _as_known(share, total), record))
            waiting = []
    if rest.total:
        calls.append(CallUsage(waiting, rest, run.turns[-1][2]))
    else:  # thinking is a part of the output; it can be said of the total alone
        calls[-1].messages.extend(waiting)
        calls[-1].usage = calls[-1].usage._replace(reasoning=_plus(calls[-1].usage.reasoning, rest.reasoning))
    return calls


def more_than(total: TokenUsage, known: TokenUsage) -> TokenUsage:
    """What a total has beyond another one, each figure by itself and never below 0."""
    return TokenUsage(
        *(a if a is None or b is None else max(a - b, 0) for a, b in zip(total, known, strict=True)),
    )


def _rest(total: TokenUsage, shares: list[TokenUsage]) -> TokenUsage | None:
    """What the shares leave of the total; None where they say more than it has."""
    spent = {name: sum(getattr(share, name) or 0 for share in shares) for name in _SPENT}
    if any(count > (getattr(total, name) or 0) for name, count in spent.items()):
        return None
    thought = sum(_as_known(share, total).reasoning or 0 for share in shares)
    return more_than(total, TokenUsage(**spent, reasoning=thought))


def _as_known(share: TokenUsage, total: TokenUsage) -> TokenUsage:
    """A share without figures that the total does not have: what is unknown of the whole must stay so."""
    return TokenUsage(*(None if whole is None else part for part, whole in zip(share, total, strict=True)))


def _plus(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b

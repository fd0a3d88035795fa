"""Tokens: how much one model call read and wrote, and the rules that sum calls.

A source counts in its own way (Codex and Gemini have cache inside input, Claude has not); each provider turns that
into one counting in which input, cache read, cache write and output do not overlap. Unknown is None and stays unknown:
a figure that nobody gave is never 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any, NamedTuple

_UNKNOWN = -1


class TokenUsage(NamedTuple):
    """Tokens of one call or of many, in pieces that do not overlap; a piece the source does not give is None.

    A tuple, since hundreds of thousands are made and summed: a frozen dataclass takes ten times as long to make.

    `input` excludes the cache; `reasoning` is the part of `output` that was thinking; `cache_write_1h` is the part of
    `cache_write` that is kept for an hour (it is priced apart).
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cache_write_1h: int | None = None

    @property
    def total(self) -> int | None:
        """Input, output, cache read and cache write together; None when none of them is known."""
        known = [n for n in (self.input, self.output, self.cache_read, self.cache_write) if n is not None]
        return sum(known) if known else None

    @property
    def context(self) -> int | None:
        """The tokens of the model's context that the call read: input and both cache figures."""
        fresh, _, read, written, _, _ = self
        if fresh is None and read is None and written is None:
            return None
        return (fresh or 0) + (read or 0) + (written or 0)

    def __add__(self, other: TokenUsage) -> TokenUsage:  # type: ignore[override]  # sums, does not join
        return TokenUsage(*map(_add, self, other))

    def less(self, other: TokenUsage) -> TokenUsage:
        """The rest of each piece without the other's, at least 0; None stays None."""
        return TokenUsage(*(n and max(0, n - (o or 0)) for n, o in zip(self, other, strict=True)))

    def largest(self, other: TokenUsage) -> TokenUsage:
        """The larger figure of each piece: Claude Code repeats usage on every line of a message (formats note 6)."""
        return TokenUsage(*map(_max, self, other))

    def to_json(self) -> dict[str, int | None]:
        """The USAGE object of every `--json` answer."""
        return {
            "inputTokens": self.input,
            "outputTokens": self.output,
            "cacheReadTokens": self.cache_read,
            "cacheWriteTokens": self.cache_write,
            "reasoningTokens": self.reasoning,
            "totalTokens": self.total,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TokenUsage:
        """Read what `to_json` wrote, exactly; a figure of another type than int counts as unknown."""
        names = ("input", "output", "cacheRead", "cacheWrite", "reasoning", "cacheWrite1h")
        return cls(*(as_count(data.get(f"{name}Tokens"), _LARGEST) for name in names))


_LARGEST = (1 << 64) - 1
"""What Normalized Events may count up to, so that it may stand in what we write."""
REST = "total@"
"""How the id of a token group begins that holds what a running total has and no call tells."""


def as_count(value: object, largest: int = (1 << 62) - 1) -> int | None:
    """`value` as a number of tokens, or None: sources hold nulls, texts and floats where a count should be.

    Digits as a text are a count too (faults f25).
    """
    if type(value) is int:  # not a bool
        return value if 0 <= value <= largest else None
    if type(value) is str:
        return as_count(int(value), largest) if value.isascii() and value.isdigit() and len(value) < 20 else None
    if isinstance(value, float) and value.is_integer() and 0 <= value < 1 << 53:
        return int(value)
    return None


def _add(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


def _max(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


class Call(NamedTuple):
    """The tokens of a model call, as they are priced. Tool tokens are beside input and output, not in them."""

    usage: TokenUsage
    tool_input: int = 0
    tool_output: int = 0


def total_usage(usages: Iterable[TokenUsage | None]) -> TokenUsage | None:
    """The sum; None when nothing in it is known, so that "no figures" is told from "no tokens"."""
    total: TokenUsage | None = None
    for usage in usages:
        if usage is not None and usage != _UNKNOWN_USAGE:
            total = usage if total is None else total + usage
    return total


_UNKNOWN_USAGE = TokenUsage()


def _column_total(values: Sequence[int]) -> int | None:
    missing = values.count(_UNKNOWN)
    return None if missing == len(values) else sum(values) - missing * _UNKNOWN


class UsageColumns:
    """Usage of many token groups in columns: eight bytes a figure where objects would take two hundred a group."""

    __slots__ = ("_appends", "_columns")

    def __init__(self) -> None:
        self._set(array("q") for _ in TokenUsage._fields)

    def _set(self, columns: Iterable[MutableSequence[int]]) -> None:
        self._columns = tuple(columns)
        self._appends = tuple(column.append for column in self._columns)  # looked up once: this runs for every group

    def __len__(self) -> int:
        return len(self._columns[0])

    def append(self, usage: TokenUsage) -> int:
        """Add one; returns its index."""
        add_input, add_output, add_read, add_write, add_reasoning, add_write_1h = self._appends
        fresh, output, read, write, reasoning, write_1h = usage
        try:
            add_input(_UNKNOWN if fresh is None else fresh)
            add_output(_UNKNOWN if output is None else output)
            add_read(_UNKNOWN if read is None else read)
            add_write(_UNKNOWN if write is None else write)
            add_reasoning(_UNKNOWN if reasoning is None else reasoning)
            add_write_1h(_UNKNOWN if write_1h is None else write_1h)
        except OverflowError:
            whole = min(map(len, self._columns))
            for column in self._columns:
                del column[whole:]
            self._widen()
            return self.append(usage)
        return len(self._columns[0]) - 1

    def _widen(self) -> None:
        """Lists in place of arrays: Normalized Events may count up to 2^64-1, and a figure is exact or it is wrong."""
        self._set(list(column) for column in self._columns)

    def total(self, rows: Sequence[int] | None = None) -> TokenUsage | None:
        """The sum of all, or of some, as `total_usage` makes it; of 100,000 groups in a few milliseconds."""
        columns = self._columns if rows is None else ([column[i] for i in rows] for column in self._columns)
        total = TokenUsage(*map(_column_total, columns))
        return None if total == _UNKNOWN_USAGE else total

    def __getitem__(self, index: int) -> TokenUsage:
        return TokenUsage(*(None if (v := column[index]) == _UNKNOWN else v for column in self._columns))

    def __setitem__(self, index: int, usage: TokenUsage) -> None:
        try:
            for column, value in zip(self._columns, usage, strict=True):
                column[index] = _UNKNOWN if value is None else value
        except OverflowError:
            self._widen()
            self[index] = usage


def overlapping(figures: dict[str, object]) -> dict[str, int]:
    """Gemini CLI's own figures (`input`, `output`, `cached`, `thoughts`, `tool`) where a TokenUsage does not tell them
    again: it has what built-in tools read in the input, and cuts what was cached to the input. Empty elsewhere.
    """
    told = {key: count for key, figure in figures.items() if (count := as_count(figure)) is not None}
    return told if told.get("tool") or told.get("cached", 0) > told.get("input", 0) else {}

"""What a session keeps of each message and token group: columns of numbers, no objects.

A 500 MB session has some 200,000 messages; as objects they would take a gigabyte, in columns they take ten megabytes.
The text stays in the file: each row points at its records, from which the message is made when somebody looks.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from schemas.message import Flag, Kind, Span, SpanRole
from schemas.usage import TokenUsage, UsageColumns

NONE = 0xFFFF_FFFF
"""No index."""
_KINDS = {kind.value: kind for kind in Kind}
_ROLES = tuple(SpanRole)  # by their numbers: looking one up is far quicker than SpanRole(n)


class SpanTable:
    """Where records lie, as chains: each entry names the next record of the same message or group."""

    __slots__ = ("_appends", "_length", "_line", "_next", "_offset", "_role", "_store")

    def __init__(self) -> None:
        self._store, self._role = bytearray(), bytearray()
        self._offset, self._length, self._line, self._next = array("Q"), array("I"), array("I"), array("I")
        columns: tuple[Any, ...] = (self._store, self._role, self._offset, self._length, self._line, self._next)
        self._appends = tuple(column.append for column in columns)  # looked up once: this runs for every record

    def add(self, store: int, offset: int, length: int, line: int, role: int) -> int:
        """A new chain of one; returns its head."""
        add_store, add_role, add_offset, add_length, add_line, add_next = self._appends
        add_store(store)
        add_role(role)
        add_offset(offset)
        add_length(length)
        add_line(line)
        add_next(NONE)
        return len(self._next) - 1

    def extend(self, head: int, span: int) -> None:
        """Put the entry `span` at the end of the chain that begins at `head`."""
        chain = self._next
        while chain[head] != NONE:
            head = chain[head]
        chain[head] = span

    def chain(self, head: int) -> Iterator[Span]:
        """The records from `head` on, in the order in which they were found."""
        while head != NONE:
            yield Span(
                self._store[head], self._offset[head], self._length[head], self._line[head], _ROLES[self._role[head]]
            )
            head = self._next[head]

    def owners(self, heads: Iterable[int], store: int = 0) -> Iterator[tuple[int, int]]:
        """For each record of a store in the chains that begin at `heads`: its offset, and which of the heads it is."""
        offsets, following, stores = self._offset, self._next, self._store
        for position, span in enumerate(heads):
            while span != NONE:
                if stores[span] == store:
                    yield offsets[span], position
                span = following[span]


class MessageTable:
    """One row a message. The columns are public: the screen's layout reads them directly.

    `block`: which content block of its record it is. `time`: seconds since 1970, NaN when unknown. `model`: index into
    `Session.models`. `chars` and `lines`: size of what an unfolded message shows (a tool: of its result). `key`: a
    64-bit number that stands for the message's id, equal for the same message after the session is read again.
    """

    __slots__ = (
        "_appends", "block", "chars", "exchange", "flags", "group", "key", "kind", "lines", "model", "span", "time"
    )  # fmt: skip

    def __init__(self) -> None:
        self.kind = bytearray()
        self.flags, self.block, self.model = array("H"), array("H"), array("H")
        self.exchange, self.group, self.span = array("I"), array("I"), array("I")
        self.chars, self.lines = array("I"), array("I")
        self.time = array("d")
        self.key = array("Q")
        columns: tuple[Any, ...] = (self.kind, self.flags, self.block, self.model, self.exchange, self.group, self.span)
        columns += (self.chars, self.lines, self.time, self.key)
        self._appends = tuple(column.append for column in columns)  # looked up once: this runs for every message

    def __len__(self) -> int:
        return len(self.kind)

    def append(
        self, kind: int, key: int, exchange: int, span: int, block: int, time: float | None, chars: int, lines: int
    ) -> int:
        """A new row; returns its index."""
        (
            add_kind, add_flags, add_block, add_model, add_exchange, add_group, add_span,
            add_chars, add_lines, add_time, add_key,
        ) = self._appends  # fmt: skip
        add_kind(kind)
        add_flags(0)
        add_block(block if block < 0xFFFF else 0xFFFF)
        add_model(0)
        add_exchange(exchange)
        add_group(NONE)
        add_span(span)
        add_chars(chars if chars < NONE else NONE)
        add_lines(lines if lines < NONE else NONE)
        add_time(math.nan if time is None else time)
        add_key(key & 0xFFFF_FFFF_FFFF_FFFF)
        return len(self.kind) - 1

    def when(self, index: int) -> float | None:
        """Seconds since 1970, or None."""
        time = self.time[index]
        return None if time != time else time

    def has(self, index: int, flag: Flag) -> bool:
        """Whether a flag is set."""
        return bool(self.flags[index] & flag)

    def kind_of(self, index: int) -> Kind:
        """The row's kind."""
        return _KINDS[self.kind[index]]


class GroupTable:
    """One row a token group: the source's accounting unit (Claude: a message id; Codex: a round).

    `exchange` is where the group ends and so where its total counts; `last` is its last message, which shows it (NONE
    if the group has no message); `model` indexes `Session.models`; `span` heads the chain of records with its usage.
    """

    __slots__ = ("exchange", "ids", "last", "model", "span", "usage")

    def __init__(self) -> None:
        self.usage = UsageColumns()
        self.exchange, self.last, self.span = array("I"), array("I"), array("I")
        self.model = array("H")
        self.ids: list[str] = []

    def __len__(self) -> int:
        return len(self.ids)

    def append(self, group_id: str, exchange: int, usage: TokenUsage, span: int, model: int = 0) -> int:
        """A new row; returns its index."""
        self.ids.append(group_id)
        self.exchange.append(exchange)
        self.last.append(NONE)
        self.span.append(span)
        self.model.append(model)
        return self.usage.append(usage)

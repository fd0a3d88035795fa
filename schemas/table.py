"""The tables of a session's messages and token groups: columns of numbers, no objects.

A 500 MB session has some 200,000 messages; as objects they would take a gigabyte, in columns they take ten megabytes.
The text stays in the file: each row points at its records, from which the message is made when somebody looks.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from itertools import takewhile
from struct import Struct
from typing import Any

from schemas.clean import clean
from schemas.message import Flag, Kind, Span, SpanRole
from schemas.usage import TokenUsage, UsageColumns

NONE = 0xFFFF_FFFF
"""No index."""
_SPAN = Struct("=QIIBBH")
pack_span = _SPAN.pack
"""Offset, length, line, store, role of a record and the number of an item in it, as bytes for `SpanTable.data`."""
_WITHHELD, _OLD = int(Flag.WITHHELD), int(Flag.REWOUND | Flag.INHERITED)
_HIDES = _WITHHELD | _OLD | int(Flag.GROWING)
_KINDS = {kind.value: kind for kind in Kind}
_ROLES = tuple(SpanRole)  # by their numbers: looking one up is far quicker than SpanRole(n)


class SpanTable:
    """The places of records, as chains: each entry names the next record of the same message or group."""

    __slots__ = ("_last", "data", "following")

    def __init__(self) -> None:
        self.data = bytearray()
        """The entries but for their links, as `pack_span` packs them: one append where columns take five."""
        self.following = array("I")
        """For each entry the next one of its chain, or NONE."""
        self._last: dict[int, int] = {}
        """The ends of chains of more than one, by their heads."""

    def add(self, store: int, offset: int, length: int, line: int, role: int, item: int = 0) -> int:
        """A new chain of one; returns its head. `item` is what it is of all that the record holds, at most 65,535."""
        self.data += pack_span(offset, length, line, store, role, item)
        self.following.append(NONE)
        return len(self.following) - 1

    def extend(self, head: int, span: int) -> None:
        """Put the entry `span` at the end of the chain that begins at `head`."""
        self.following[self._last.get(head, head)] = span
        self._last[head] = span

    def put(self, head: int, store: int, offset: int, length: int, line: int, role: int, item: int = 0) -> bool:
        """Put a record at the end of the chain that begins at `head`; False where it stands there already."""
        at, _, _, of, found, number = _SPAN.unpack_from(self.data, self._last.get(head, head) * _SPAN.size)
        if at == offset and of == store and found == role and number == item:
            return False
        self.extend(head, self.add(store, offset, length, line, role, item))
        return True

    def chain(self, head: int) -> Iterator[Span]:
        """The records from `head` on, in the order in which they were found."""
        while head != NONE:
            offset, length, line, store, role, item = _SPAN.unpack_from(self.data, head * _SPAN.size)
            yield Span(store, offset, length, line, _ROLES[role], item)
            head = self.following[head]

    def owners(self, heads: Iterable[int], store: int = 0) -> Iterator[tuple[int, int]]:
        """For each record of a store in the chains that begin at `heads`: its offset, and which of the heads it is."""
        data, following, unpack, size = self.data, self.following, _SPAN.unpack_from, _SPAN.size
        for position, span in enumerate(heads):
            while span != NONE:
                offset, _, _, of, _, _ = unpack(data, span * size)
                if of == store:
                    yield offset, position
                span = following[span]


class MessageTable:
    """One row a message. The columns are public: the screen's layout reads them directly.

    `block`: which content block of its record it is. `time`: seconds since 1970, NaN when unknown. `model`: index into
    `Session.models`. `chars` and `lines`: size of what an unfolded message shows (a tool: of its result). `key`: a
    64-bit number that stands for the message's id, equal for the same message after the session is read again.
    """

    __slots__ = (
        "_appends", "block", "chars", "exchange", "flags", "group", "key", "kind", "lines", "model", "span",
        "time",
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

    def resize(self, index: int, text: str) -> None:
        """Set the size of a message to that of a text."""
        size, lines = len(text), text.count("\n") + bool(text)
        self.chars[index] = size if size < NONE else NONE
        self.lines[index] = lines if lines < NONE else NONE

    def when(self, index: int) -> float | None:
        """Seconds since 1970, or None."""
        time = self.time[index]
        return None if time != time else time

    def has(self, index: int, flag: Flag) -> bool:
        """Return whether a flag is set."""
        return bool(self.flags[index] & flag)

    def joins(self, index: int) -> bool:
        """Return whether a message is context right behind other context of its exchange: they are shown as one."""
        if index == 0 or self.kind[index] != Kind.CONTEXT or self.kind[index - 1] != Kind.CONTEXT:
            return False
        same = self.exchange[index] == self.exchange[index - 1]
        return same and not (self.flags[index] ^ self.flags[index - 1]) & _OLD

    def joined(self, index: int) -> range:
        """The messages that are shown as one with message `index`, which begins them."""
        stop = index + 1
        while stop < len(self.kind) and self.joins(stop):
            stop += 1
        return range(index, stop)

    def shown_in(self, index: int) -> int:
        """The message that begins those with which message `index` is shown as one; itself where it stands alone."""
        while self.joins(index):
            index -= 1
        return index

    def repeats(self, index: int) -> bool:
        """Return whether a message is withheld thinking as an earlier one of its exchange is: that is shown once."""
        if not self._is_withheld(index):
            return False
        earlier = takewhile(lambda i: self.exchange[i] == self.exchange[index], range(index - 1, -1, -1))
        return any(map(self._is_withheld, earlier))

    def next_withheld(self, index: int) -> int | None:
        """The next withheld thinking behind message `index` in its exchange."""
        later = takewhile(lambda i: self.exchange[i] == self.exchange[index], range(index + 1, len(self.kind)))
        return next(filter(self._is_withheld, later), None)

    def _is_withheld(self, index: int) -> bool:
        return self.kind[index] == Kind.THINKING and self.flags[index] & _HIDES == _WITHHELD

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
        self.ids.append(clean(group_id))
        self.exchange.append(exchange)
        self.last.append(NONE)
        self.span.append(span)
        self.model.append(model)
        return self.usage.append(usage)

"""Messages as rows of a session's columns: the records and items that each is folded from, its id and its key."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from schemas.clean import one_line
from schemas.message import NO_FLAGS, Flag, Span, SpanRole
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.words import Say
from schemas.records import Record
from schemas.session import Exchange, Session, ends
from schemas.table import NONE

BODY, RESULT, DETAIL = int(SpanRole.BODY), int(SpanRole.RESULT), int(SpanRole.DETAIL)
_GROWING, _MORE, _INHERITED = int(Flag.GROWING), int(Flag.MORE), int(Flag.INHERITED)
LAST_ITEM = 0xFFFF
"""The highest number of an item that a span can name; a record with more repeats its last one."""
_KEPT = 8


class Items:
    """The items that `read` gave for the records asked about last: those of one record are mostly built in a row."""

    def __init__(self, read: Callable[[dict[str, Any]], Iterable[Any]]) -> None:
        self._read = read
        self._kept: OrderedDict[tuple[int, int, int], tuple[dict[str, Any], list[Any]]] = OrderedDict()

    def at(self, session: Session, span: Span) -> tuple[dict[str, Any], Any]:
        """The record of a span and the item that the span names; None where the file changed meanwhile."""
        place = span[:3]
        kept = self._kept.get(place)
        if kept is None:
            record = session.record(span)
            kept = self._kept[place] = record, list(self._read(record)) if record or not span.length else []
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        record, items = kept
        return record, items[span.item] if span.item < len(items) else None


class Rows:
    """The messages of one session; `time`, `copied`, `first` and `touched` are of the record being read."""

    # `beside`: those of another run, whose messages are the session's too
    def __init__(self, session: Session, agent: Agent, beside: Rows | None = None) -> None:
        self.session, self._name_of = session, agent.name_of
        self.changed: set[int] = set() if beside is None else beside.changed
        """Messages that changed since the piece began."""
        self.named: dict[str, int] = {}
        """Messages by the ids that their items give."""
        self.growing: dict[int, list[str]] = {}
        """The pieces of messages whose text comes piece by piece, until they are whole or a whole text comes."""
        self.made: dict[int, Say] = {}
        """Messages that stand in no record."""
        self.time: float | None = None
        self.copied = False
        """Whether the record is another session's."""
        self.store = 0
        """Which of the session's stores the record lies in."""
        self.first = 0
        """The first message that the record makes."""
        self.touched = False
        """Whether the record adds to a message."""
        self.again: list[int] = []
        """The messages that the record says again."""
        self._keys: set[int] = set() if beside is None else beside._keys
        self._renamed: dict[int, str] = {}
        self.model = cache(lambda name: self.session.model_index(name))  # noqa: PLW0108 (another session may take its place)
        """The number of a model's name in the session."""
        self._places: list[tuple[int, str]] = []
        """The messages from which on the agent works in another directory, and those."""

    def begin(self, time: float | None, copied: bool) -> int:
        """Begin another record; returns the next message."""
        self.time, self.copied, self.touched = time, copied, False
        self.first = len(self.session.messages.kind)
        if self.again:
            self.again.clear()
        return self.first

    def add(self, record: Record, number: int, say: Say, kind: int, exchange: Exchange) -> int:
        """Append a message of a kind to an exchange; returns its row."""
        session, text, name, flags = self.session, say.text, say.id, say.flags
        messages = session.messages
        item = max(0, min(number, LAST_ITEM))
        span = session.spans.add(self.store, record[0], record[1], record[2], BODY, item)
        time = self.time if say.time is None else say.time
        row = messages.append(
            kind, self._unique_key(record, number, name), exchange.index, span, item, time,
            len(text), text.count("\n") + 1 if text else 0,
        )  # fmt: skip
        if time is not None:
            session.touch(exchange, time, ends=ends(exchange, row, kind))
        if self.copied or flags is not NO_FLAGS:
            messages.flags[row] = int(flags) | _INHERITED * self.copied
        if number < 0:
            self.made[row] = say
        if name:
            self.named[name] = row
        return row

    def replace(self, row: int, record: Record, number: int, say: Say) -> None:
        """Let a message be what is said of it now: another text, or another kind, of which what it was is no part."""
        messages = self.session.messages
        if messages.kind[row] != say.kind:
            item = max(0, min(number, LAST_ITEM))
            messages.span[row] = self.session.spans.add(self.store, record[0], record[1], record[2], BODY, item)
            messages.flags[row] &= ~_MORE
            if self.time is not None:
                messages.time[row] = self.time
        self.extend(row, record, number, BODY)
        self.again.append(row)
        self.growing.pop(row, None)
        messages.flags[row] = messages.flags[row] & ~_GROWING | int(say.flags)
        messages.kind[row] = int(say.kind)
        messages.resize(row, say.text)

    def extend(self, row: int, record: Record, number: int, role: int) -> None:
        """Note another record of a message, or another item of one."""
        messages, item = self.session.messages, max(0, min(number, LAST_ITEM))
        self.changed.add(row)
        self.touched = True
        is_new = self.session.spans.put(messages.span[row], self.store, record[0], record[1], record[2], role, item)
        if is_new and role != RESULT:
            messages.flags[row] |= _MORE

    def grow(self, row: int, text: str) -> None:
        """Add text to the size of a message."""
        messages = self.session.messages
        messages.chars[row] = min(messages.chars[row] + len(text), NONE)
        messages.lines[row] = min(max(messages.lines[row], bool(text)) + text.count("\n"), NONE)

    def enter(self, place: str) -> None:
        """The agent works in a directory from here on."""
        if place and (not self._places or self._places[-1][1] != place):
            self._places.append((len(self.session.messages), place))

    def place(self, row: int) -> str:
        """The directory in which the agent worked at a message; empty where nothing told."""
        number = bisect_right(self._places, row, key=lambda entry: entry[0]) - 1
        return self._places[number][1] if number >= 0 else ""

    def _unique_key(self, record: Record, number: int, given: str) -> int:
        name = self._name(record[0], record[3], number, given)
        key = key_of(name)
        if key in self._keys:
            row = len(self.session.messages)
            self._renamed[row] = f"{_shown(name)}#{row}"
            key = key_of(self._renamed[row])
        self._keys.add(key)
        return key

    def _name(self, offset: int, record: dict[str, Any], number: int, given: str) -> str:
        """The id of a message, as the source has it: its own, or its record's and its number in that."""
        name = given or self._name_of(record) or f"@{offset}"
        return name if given or number <= 0 else f"{name}:{number}"

    def id_of(self, row: int, say: Say | None) -> str:
        """The id of a message, which `say` begins."""
        if name := self._renamed.get(row):
            return name
        first = next(self.spans(row))
        number, say = (-1, say or self.made[row]) if row in self.made else (first.item, say)
        return _shown(self._name(first.offset, self.session.record(first), number, say.id if say is not None else ""))

    def spans(self, row: int) -> Iterator[Span]:
        """The records of a message."""
        return self.session.spans.chain(self.session.messages.span[row])


_LONGEST = 200
"""Characters of an id that a message's begins with."""


def _shown(name: str) -> str:
    """An id as a message has it. What is cut off still tells it from others."""
    return one_line(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}~{key_of(name):x}", 300)


def key_of(text: str) -> int:
    """A 61-bit number for an id, the same in every process. A UUID's digits are one already.

    An integer's hash is its remainder by a Mersenne prime: good enough for ids, without the start-up cost of OpenSSL.
    """
    if len(text) == 36:
        try:
            return hash(int(text.replace("-", ""), 16))
        except ValueError:
            pass  # 36 characters, but no UUID
    return hash(int.from_bytes(text.encode("utf-8", "surrogatepass"), "little"))

"""Filling a session from entries."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import NamedTuple

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.cursor.build import Builder
from schemas.providers.cursor.entries import Block, Entry
from schemas.records import MemoryStore, Record
from schemas.session import Session

_AGENTS = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})


class _Result(NamedTuple):
    block: Block
    record: Record


class Filler:
    """Puts entries into an empty session, in order."""

    def __init__(self, session: Session, store: MemoryStore, model: str) -> None:
        self._session, self._store, self._model = session, store, model
        self._builder = Builder()
        self._taken: set[str] = set()
        self._uses: dict[str, list[int]] = defaultdict(list)
        self._results: dict[str, list[_Result]] = defaultdict(list)
        self._called: set[str] = set()
        session.build = self._builder

    def fill(self, entries: list[Entry]) -> None:
        """Add all entries."""
        self._called = {b.use_id for e in entries for b in e.blocks if b.kind is Kind.TOOL and not b.result}
        for item in entries:
            record = self._store.add({}, item.raw)
            if item.hidden:
                self._session.hidden[item.hidden] += 1
            for block in item.blocks:
                if block.result and block.use_id and block.use_id in self._called:
                    self._results[block.use_id].append(_Result(block, record))
                else:
                    self._add(item, block, record)
            if item.ended is not None and self._session.exchanges:
                self._session.touch(self._session.exchanges[-1], item.ended)
        for identifier, found in self._results.items():
            self._attach(self._uses[identifier], found)

    def _add(self, item: Entry, block: Block, record: Record) -> None:
        session = self._session
        kind = item.kinds.get(block.number, block.kind)
        if kind in (Kind.PROMPT, Kind.COMMAND):
            session.open_exchange(kind, block.head)
        identifier = self._identifier(item.id, block.number)
        time = item.times.get(block.number, block.time)
        index = session.add_message(
            kind,
            _key(identifier),
            record,
            block=block.number,
            time=time,
            chars=block.chars,
            lines=block.lines,
        )
        self._builder.ids.append(identifier)
        exchange = session.exchanges[-1]
        if kind in (Kind.PROMPT, Kind.COMMAND):
            session.mark_opener(index)
        session.messages.flags[index] |= block.flags
        if block.unknown:
            session.unknown[block.unknown] += 1
        if kind in _AGENTS and (model := session.model_index(block.model or item.model or self._model)):
            session.messages.model[index] = exchange.model = model
        if kind is Kind.INTERRUPT:
            exchange.interrupted = True
        if block.flags & Flag.ERROR:
            exchange.errors += 1
        if kind is Kind.TOOL and not block.result and block.use_id:
            self._uses[block.use_id].append(index)

    def _attach(self, uses: list[int], found: list[_Result]) -> None:
        """Give results to the uses with their id; where one use has several, the last one counts."""
        session = self._session
        for number, result in enumerate(found):
            index = uses[min(number, len(uses) - 1)]
            span = session.add_span(result.record, SpanRole.RESULT)
            session.spans.extend(session.messages.span[index], span)
            flags = session.messages.flags
            exchange = session.exchanges[session.messages.exchange[index]]
            exchange.errors += bool(result.block.flags & Flag.ERROR) - bool(flags[index] & Flag.ERROR)
            flags[index] &= ~(Flag.PENDING | Flag.ERROR | Flag.INTERRUPTED)
            flags[index] |= result.block.flags
            session.messages.chars[index], session.messages.lines[index] = result.block.chars, result.block.lines

    def _identifier(self, base: str, number: int) -> str:
        """An id that no other message has: the same content may be said twice, and ids may repeat."""
        if not (len(base) <= 200 and base.isascii() and base.replace("-", "").isalnum()):
            base = one_line(base, 200)
        wanted = f"{base}:{number}" if number else base
        found, again = wanted, 2
        while found in self._taken:
            found = f"{wanted}~{again}"
            again += 1
        self._taken.add(found)
        return found


def _key(identifier: str) -> int:
    return int.from_bytes(blake2b(identifier.encode(), digest_size=8).digest(), "little")

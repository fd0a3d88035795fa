"""From entries to a session's columns, and back as far as history was rewritten.

The session is a function of the entries alone: in whatever order they were written, dropped and written again, what
comes of it is what reading them once would give. So a change to an entry takes the session back to where that entry
begins and goes on from there; mostly that is the last few rows. Each entry has a mark of what the session was before
it, so that the work is that of the rows taken back, however long the session is.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.message import Flag, Kind, Span, SpanRole
from schemas.providers.gemini.build import Builder
from schemas.providers.gemini.entries import Entry, Mark, Place, Row
from schemas.records import Record
from schemas.session import Change, Exchange, Op, Session, ends
from schemas.table import NONE
from schemas.usage import TokenUsage

_AFTER_REWIND = "(goes on after a rewind)"
_REWOUND, _ERROR = int(Flag.REWOUND), int(Flag.ERROR)
_OWN = 0xFFFF & ~int(Flag.REWOUND | Flag.OPENER)
"""The flags of a row that its place in the session does not change."""
_TOOL, _INTERRUPT = int(Kind.TOOL), int(Kind.INTERRUPT)
_BODY, _RESULT = int(SpanRole.BODY), int(SpanRole.RESULT)
_SEEN = ("kind", "flags", "exchange", "block", "chars", "model")
"""The columns by which a message is another one than before, beside its time and its records."""


class Filler:
    """Puts entries into a session and takes them back, and knows what is to be told of all of them together."""

    def __init__(self) -> None:
        self.created: float | None = None
        self.updated: float | None = None
        """The first and the last time of a message."""
        self.context: int | None = None
        """Tokens in the context of the last call that counts."""
        self._asked = [0, 0]
        """How many exchanges at the beginning are known not to be live prompts; not to be prompts."""

    def append(self, session: Session, entries: Iterable[Entry]) -> list[Change]:
        """Add entries behind those that the session has."""
        before = len(session.messages)
        self._fill(session, entries)
        return [Change(Op.APPENDED, index) for index in range(before, len(session.messages))]

    def rewrite(self, old: Session, entries: list[Entry], first: int, known: int) -> tuple[Session, list[Change]]:
        """The session after entry number `first` and perhaps later ones changed; `known` is how many `old` was made of.

        It is `old` again where all its messages keep their places, else a new one, and `old` stays as it is.
        """
        begin, tail = entries[first], entries[first:]
        cut, mark = begin.start, begin.mark
        before = _Before.of(old, cut, entries[first:known])
        keys = array("Q", [row.key for entry in tail for row in entry.rows or ()])
        if keys[: len(before.keys)] == before.keys:
            new = old
            _take_back(new, cut, mark)
        else:
            new = _copied(old, cut, mark)
        self.created, self.updated, self.context = mark.created, mark.updated, mark.context
        self._fill(new, tail)
        return new, before.changes(new)

    def first_prompt(self, session: Session) -> str:
        """The first prompt that was not rewound, or else the first."""
        exchanges = session.exchanges
        for which, rewound in enumerate((False, True)):
            number = self._asked[which]
            while number < len(exchanges) and not _is_prompt(exchanges[number], rewound):
                number += 1
            self._asked[which] = number
            if number < len(exchanges):
                return exchanges[number].prompt
        return ""

    def _fill(self, session: Session, entries: Iterable[Entry]) -> None:
        last = max(len(session.exchanges) - 1, 0)
        session.created, session.updated = self.created, self.updated
        mark: Mark | None = None
        for entry in entries:
            if mark is None:
                mark = _mark(session, self.context)
            entry.start, entry.mark = len(session.messages), mark
            if entry.rows or entry.opens is not None or entry.breaks or entry.usage is not None:
                self._add(session, entry)
                mark = None
            else:  # it adds nothing, and so the next one has the same mark
                entry.count, entry.rows, entry.has_group = 0, None, False
        self.created, self.updated = session.created, session.updated
        self._asked = [min(number, last) for number in self._asked]
        _mark_rewound(session, last)

    def _add(self, session: Session, entry: Entry) -> None:
        """Add an entry's rows and tokens at the end."""
        rows, usage = entry.rows or [], entry.usage
        if entry.opens is not None:
            session.open_exchange(entry.opens, entry.prompt)
        elif entry.breaks:
            number = len(session.exchanges)
            session.exchanges.append(Exchange(number, entry.start, None, f"{session.id}:{number}", _AFTER_REWIND))
        model = session.model_index(entry.model) if entry.model and (rows or usage is not None) else 0
        if rows:
            _add_rows(session, entry, rows, model, NONE if usage is None else len(session.groups))
        if entry.opens is not None:
            session.mark_opener(entry.start)
        entry.has_group = usage is not None
        if usage is not None:
            name = f"{entry.id}~{entry.again}" if entry.again else entry.id
            if not name.isprintable() or " " in name or len(name) > 300:
                name = one_line(name, 300)
            group = session.add_group(name, usage, _record(entry.place), model=model)
            if rows:
                session.groups.last[group] = len(session.messages) - 1
            if not entry.rewound:
                self.context = usage.context
        entry.count, entry.rows, entry.usage = len(rows), None, None


def _is_prompt(exchange: Exchange, rewound: bool) -> bool:
    return exchange.opener == Kind.PROMPT and bool(exchange.prompt) and (rewound or not exchange.rewound)


# -- forth -------------------------------------------------------------------------------------------------------------


def _mark(session: Session, context: int | None) -> Mark:
    exchanges, groups, spans = len(session.exchanges), len(session.groups), len(session.spans.following)
    models, created, updated = len(session.models), session.created, session.updated
    if not exchanges:
        return Mark(exchanges, groups, spans, models, created, updated, context)
    e = session.exchanges[-1]
    of_last = (e.tools, e.errors, e.interrupted, e.started, e.ended, e.model, len(e.groups))
    return Mark(exchanges, groups, spans, models, created, updated, context, *of_last)


def _add_rows(session: Session, entry: Entry, rows: list[Row], model: int, group: int) -> None:
    """Append rows to the columns, all at once: a long session has a hundred thousand of them."""
    if not session.exchanges:
        session.exchanges.append(Exchange(0, 0, None, f"{session.id}:0"))
    exchange, spans, index = session.exchanges[-1], session.spans, entry.start
    number, rewound = exchange.index, _REWOUND if entry.rewound else 0
    offset, length, line = entry.place
    columns: list[tuple[Any, ...]] = []
    for kind, key, block, time, chars, lines, flags, reply in rows:
        span = spans.add(0, offset, length, line, _BODY)
        if reply is not None:
            spans.extend(span, spans.add(0, *reply, _RESULT))
        if flags & _ERROR:
            exchange.errors += 1
        if kind == _TOOL:
            exchange.tools += 1
        elif kind == _INTERRUPT:
            exchange.interrupted = True
        if time is not None:
            session.touch(exchange, time, ends=ends(exchange, index, kind))
        flags = flags & _OWN | rewound
        when = math.nan if time is None else time
        columns.append((kind, flags, min(block, 0xFFFF), model, number, group, span, chars, lines, when, key))
        if entry.again:
            _again(session)[index] = entry.again
        index += 1
    session.messages.extend(columns)


def _record(place: Place) -> Record:
    return (*place, {})


def _again(session: Session) -> dict[int, int]:
    return session.build.again if isinstance(session.build, Builder) else {}


def _mark_rewound(session: Session, first: int) -> None:
    """An exchange is rewound when everything in it is."""
    flags = session.messages.flags
    for number in range(first, len(session.exchanges)):
        rows = session.message_range(number)
        # The last row first: in a long exchange, what was rewound stands before what is live.
        is_rewound = bool(rows) and bool(flags[rows[-1]] & _REWOUND) and all(flags[i] & _REWOUND for i in rows)
        session.exchanges[number].rewound = is_rewound


# -- back --------------------------------------------------------------------------------------------------------------


def _take_back(session: Session, cut: int, mark: Mark) -> None:
    """Leave of a session what it was before an entry, whose rows began at `cut`."""
    again = _again(session)
    for row in range(cut, len(session.messages)) if again else ():
        again.pop(row, None)
    session.messages.cut(cut)
    session.groups.cut(mark.groups)
    session.spans.cut(mark.spans)
    del session.models[mark.models :]
    was_last = len(session.exchanges) == mark.exchanges
    del session.exchanges[mark.exchanges :]
    if session.exchanges:
        # Any other than the last may be that of an older session too, which stays as it is.
        exchange = session.exchanges[-1] if was_last else _own_last(session)
        _restore(exchange, mark)


def _copied(old: Session, cut: int, mark: Mark) -> Session:
    """A new session that is what `old` was then."""
    new = old.anew()
    new.messages.take(old.messages, cut)
    new.groups.take(old.groups, mark.groups)
    new.spans.take(old.spans, mark.spans)
    new.models = old.models[: mark.models]
    new.exchanges = old.exchanges[: mark.exchanges]
    new.build = Builder({row: again for row, again in _again(old).items() if row < cut})
    if new.exchanges:
        _restore(_own_last(new), mark)
    return new


def _own_last(session: Session) -> Exchange:
    last = session.exchanges[-1]
    own = session.exchanges[-1] = replace(last, groups=list(last.groups))
    return own


def _restore(exchange: Exchange, mark: Mark) -> None:
    exchange.tools, exchange.errors, exchange.interrupted = mark.tools, mark.errors, mark.interrupted
    exchange.started, exchange.ended, exchange.model = mark.started, mark.ended, mark.model
    del exchange.groups[mark.held :]


def _rows_of(session: Session, entry: Entry) -> list[Row]:
    """The rows of an entry, read back from the columns."""
    table, following = session.messages, session.spans.following
    rows: list[Row] = []
    for i in range(entry.start, entry.start + entry.count):
        reply: Place | None = None
        if following[table.span[i]] != NONE:
            reply = next((s[1:4] for s in session.message_spans(i) if s.role is SpanRole.RESULT), None)
        sizes = table.chars[i], table.lines[i]
        rows.append(Row(table.kind_of(i), table.key[i], table.block[i], table.when(i), *sizes, table.flags[i], reply))
    return rows


# -- what changed ------------------------------------------------------------------------------------------------------

_Source = tuple[list[Span], TokenUsage | None]


class _Before(NamedTuple):
    """The rows of a session from `cut` on, as they were."""

    cut: int
    keys: array[int]
    columns: tuple[bytearray | array[int], ...]
    times: array[float]
    sources: dict[int, _Source]
    """Where a message was read again: the records and tokens that it had, by its row."""

    @classmethod
    def of(cls, session: Session, cut: int, entries: list[Entry]) -> _Before:
        """The rows of these entries, which are the last; the entries that were not read again get theirs back."""
        table = session.messages
        sources: dict[int, _Source] = {}
        for entry in entries:
            usage = session.groups.usage[entry.mark.groups] if entry.has_group else None
            if entry.rows is None:
                entry.rows, entry.usage = _rows_of(session, entry), usage
            else:
                for row in range(entry.start, entry.start + entry.count):
                    sources[row] = session.message_spans(row), usage
        columns = tuple(getattr(table, name)[cut:] for name in _SEEN)
        return cls(cut, table.key[cut:], columns, table.time[cut:], sources)

    def changes(self, new: Session) -> list[Change]:
        """What `schemas.changes.differences` says, told from the columns: the file was only added to, so that the same
        span holds the same bytes.
        """
        cut, table = self.cut, new.messages
        before = {key: i for i, key in enumerate(self.keys)}
        columns = [getattr(table, name) for name in _SEEN]
        kept: set[int] = set()
        changes: list[Change] = []
        last = -1
        for index in range(cut, len(table)):
            place = before.get(table.key[index], -1)
            if place <= last:
                changes.append(Change(Op.APPENDED, index))
                continue
            kept.add(place)
            last = place
            if (
                any(was[place] != now[index] for was, now in zip(self.columns, columns, strict=True))
                or self._source_changed(new, place + cut, index)
                or not _same_time(self.times[place], table.time[index])
            ):
                changes.append(Change(Op.UPDATED, index))
        return [Change(Op.REMOVED, cut + i) for i in range(len(self.keys)) if i not in kept] + changes

    def _source_changed(self, new: Session, place: int, index: int) -> bool:
        """Whether the message has other records than before, or its call other tokens."""
        source = self.sources.get(place)
        if source is None:
            return False
        group = new.messages.group[index]
        usage = new.groups.usage[group] if group != NONE else None
        return source != (new.message_spans(index), usage)


def _same_time(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)

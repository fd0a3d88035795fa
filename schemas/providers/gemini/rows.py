"""From entries to a session's columns, and back as far as history was rewritten.

The session is a function of the entries alone: in whatever order they were written, dropped and written again, what
comes of it is what reading them once would give. So a change to an entry takes the session back to where that entry
begins and goes on from there; mostly that is the last few rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.gemini.build import Builder
from schemas.providers.gemini.entries import Entry, Place, Row
from schemas.records import Record
from schemas.session import Change, Exchange, Op, Session

_AFTER_REWIND = "(goes on after a rewind)"
_REWOUND, _ERROR = int(Flag.REWOUND), int(Flag.ERROR)


def append(session: Session, entries: Iterable[Entry]) -> list[Change]:
    """Add entries behind those that the session has."""
    before, exchanges = len(session.messages), len(session.exchanges)
    for entry in entries:
        _add(session, entry)
    _mark_rewound(session, exchanges - 1)
    return [Change(Op.APPENDED, index) for index in range(before, len(session.messages))]


def rewrite(old: Session, entries: list[Entry], first: int, known: int) -> tuple[Session, list[Change]]:
    """The session after entry number `first` and perhaps later ones changed; `known` is how many `old` was made of.

    It is `old` again where all its messages keep their places, else a new one, and `old` stays as it is.
    """
    for entry in entries[first:known]:
        if entry.rows is None:
            entry.rows = _rows_of(old, entry)
            entry.usage = old.groups.usage[entry.groups] if entry.has_group else None
    begin = entries[first]
    cut = begin.start
    new = old.anew()
    new.messages.take(old.messages, cut)
    new.groups.take(old.groups, begin.groups)
    new.spans.take(old.spans, begin.spans)
    new.models = old.models[: begin.models]
    new.exchanges = [replace(exchange, groups=list(exchange.groups)) for exchange in old.exchanges[: begin.exchanges]]
    new.build = Builder({row: again for row, again in _again(old).items() if row < cut})
    if new.exchanges:
        _recount(new, begin.groups)
    for entry in entries[first:]:
        _add(new, entry)
    _mark_rewound(new, begin.exchanges - 1)
    changes = _changes(old, new, cut)
    if new.messages.key[cut : len(old.messages)] == old.messages.key[cut:]:
        old.become(new)
        return old, changes
    return new, changes


def _again(session: Session) -> dict[int, int]:
    return session.build.again if isinstance(session.build, Builder) else {}


def _add(session: Session, entry: Entry) -> None:
    """Add an entry's rows and tokens at the end."""
    entry.start, entry.exchanges, entry.groups = len(session.messages), len(session.exchanges), len(session.groups)
    entry.spans, entry.models = len(session.spans.following), len(session.models)
    rows, record = entry.rows or [], _record(entry.place)
    if entry.opens is not None:
        session.open_exchange(entry.opens, entry.prompt)
    elif entry.breaks:
        number = entry.exchanges
        session.exchanges.append(Exchange(number, entry.start, None, f"{session.id}:{number}", _AFTER_REWIND))
    model = session.model_index(entry.model) if rows or entry.usage is not None else 0
    for row in rows:
        _add_row(session, entry, row, record, model)
    if entry.opens is not None:
        session.mark_opener(entry.start)
    entry.has_group = entry.usage is not None
    if entry.usage is not None:
        name = f"{entry.id}~{entry.again}" if entry.again else entry.id
        group = session.add_group(one_line(name, 300), entry.usage, record, model=model)
        for index in range(entry.start, len(session.messages)):
            session.join_group(index, group)
    entry.count, entry.rows, entry.usage = len(rows), None, None


def _add_row(session: Session, entry: Entry, row: Row, record: Record, model: int) -> None:
    index = session.add_message(
        row.kind, row.key, record, block=row.block, time=row.time, chars=row.chars, lines=row.lines
    )
    session.messages.model[index] = model
    flags = row.flags & ~_REWOUND | (_REWOUND if entry.rewound else 0)
    session.messages.flags[index] |= flags & ~int(Flag.OPENER)
    exchange = session.exchanges[-1]
    exchange.errors += bool(flags & _ERROR)
    exchange.interrupted = exchange.interrupted or row.kind == Kind.INTERRUPT
    if row.reply is not None:
        session.spans.extend(session.messages.span[index], session.add_span(_record(row.reply), SpanRole.RESULT))
    if entry.again:
        _again(session)[index] = entry.again


def _record(place: Place) -> Record:
    return (*place, {})


def _rows_of(session: Session, entry: Entry) -> list[Row]:
    """The rows of an entry, read back from the columns."""
    table = session.messages
    rows: list[Row] = []
    for i in range(entry.start, entry.start + entry.count):
        replies = [(s.offset, s.length, s.line) for s in session.message_spans(i) if s.role is SpanRole.RESULT]
        rows.append(
            Row(
                table.kind_of(i),
                table.key[i],
                table.block[i],
                table.when(i),
                table.chars[i],
                table.lines[i],
                table.flags[i],
                replies[0] if replies else None,
            )
        )
    return rows


def _recount(session: Session, groups: int) -> None:
    """Make the last exchange one of the rows that are left of it."""
    table, exchange = session.messages, session.exchanges[-1]
    rows = slice(exchange.start, len(table))
    exchange.tools = table.kind[rows].count(Kind.TOOL)
    exchange.interrupted = Kind.INTERRUPT in table.kind[rows]
    exchange.errors = sum(bool(flags & _ERROR) for flags in table.flags[rows])
    times = [time for time in table.time[rows] if time == time]
    exchange.started, exchange.ended = (min(times), max(times)) if times else (None, None)
    exchange.groups = [group for group in exchange.groups if group < groups]
    models = [session.groups.model[group] for group in exchange.groups]
    exchange.model = next((model for model in reversed(models) if model), 0)


def _mark_rewound(session: Session, first: int) -> None:
    """An exchange is rewound when everything in it is."""
    flags = session.messages.flags
    for exchange in session.exchanges[max(first, 0) :]:
        rows = session.message_range(exchange.index)
        exchange.rewound = bool(rows) and all(flags[i] & _REWOUND for i in rows)


def _changes(old: Session, new: Session, cut: int) -> list[Change]:
    """What `schemas.changes.differences` says, told from the columns: the file was only added to, so that the same
    span holds the same bytes.
    """
    before = {key: cut + i for i, key in enumerate(old.messages.key[cut:])}
    kept: set[int] = set()
    changes: list[Change] = []
    last = -1
    for index in range(cut, len(new.messages)):
        place = before.get(new.messages.key[index], -1)
        if place > last:
            kept.add(place)
            last = place
            if _row(old, place) != _row(new, index):
                changes.append(Change(Op.UPDATED, index))
        else:
            changes.append(Change(Op.APPENDED, index))
    return [Change(Op.REMOVED, i) for i in range(cut, len(old.messages)) if i not in kept] + changes


def _row(session: Session, index: int) -> tuple[object, ...]:
    table = session.messages
    group = table.group[index]
    usage = session.groups.usage[group] if group < len(session.groups) else None
    columns = (table.kind, table.flags, table.exchange, table.block, table.chars, table.model)
    return (*(column[index] for column in columns), table.when(index), usage, session.message_spans(index))

"""Toy sources that rewrite history, for tests of following: an event log, a JSON document, a SQLite store.

Their messages are the toy's (tests/viewer/toy.py). A log takes messages back with `{"type": "back", "to": uuid}` and
writes one anew under its `uuid`, in its old place, as Gemini CLI does.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from schemas.changes import Seen, digest, note_changes
from schemas.message import Flag
from schemas.opening import OpenError, head_of
from schemas.provider import Reading
from schemas.reading import DocumentReading, LinesReading, WholeReading, open_file
from schemas.records import MemoryStore, Record
from schemas.session import Change, Op, Session
from schemas.sqlite import log_of, read_database
from tests.viewer.toy import ToyParser

Item = dict[str, Any]


class LogParser(ToyParser):
    """Rebuilds the session whenever records come; what they did to it is found by comparing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kept: dict[str, list[Record]] = {}

    def feed(self, records: Iterable[Record]) -> list[Change]:
        for record in records:
            self._keep(record)
        old = self.session
        new = Session(old.provider, old.provider_name, old.path, old.id)
        new.stores, new.unreadable, new.build, new.lacks = old.stores, old.unreadable, old.build, old.lacks
        self.session, self.calls, self.groups = new, {}, {}
        for chain in self.kept.values():
            for record in chain:
                self.take(record)
        seen = Seen(old)
        if note_changes(old, new):
            old.become(new)
            self.session = old
        return seen.changes(self.session)

    def _keep(self, record: Record) -> None:
        value = record[3]
        kind, name = value.get("type"), str(value.get("uuid"))
        if kind == "back":
            names = list(self.kept)
            start = names.index(str(value.get("to"))) if str(value.get("to")) in names else 0
            for gone in names[start:]:
                del self.kept[gone]
        elif kind == "result":
            if name in self.kept:
                self.kept[name].append(record)
        elif kind in ("user", "assistant", "call"):
            self.kept[name] = [record]


def differences(old: Session, new: Session) -> list[Change]:
    """What leads from a session to one that takes its place."""
    note_changes(old, new)
    return Seen(old).changes(new)


class Database(WholeReading):
    """A table of messages, in the order of their places."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ToyParser(path).session)

    @property
    def sources(self) -> list[Path]:
        return [self.path, log_of(self.path)]

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        rows = read_database(self.path, lambda db: list(db.execute("SELECT item FROM messages ORDER BY place, id")))
        raw = json.dumps(rows).encode()
        mark = digest(raw)
        return None if mark == known else (mark, len(raw), session_of(self.path, (json.loads(row) for (row,) in rows)))


class Memory(WholeReading):
    """Items in memory: `items` may be anything else at any time."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        super().__init__(Path("nowhere/toy.json"), ToyParser(Path("nowhere/toy.json")).session)

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        raw = json.dumps(self.items).encode()
        return digest(raw), len(raw), session_of(self.path, json.loads(raw))


class Following:
    """Stands in for a Follower of items in memory."""

    missing = False
    trouble = ""
    loaded = True
    live = False
    unfinished: int | None = None
    ahead = None

    def __init__(self, items: list[Item]) -> None:
        self.reading = Memory(items)
        self.reading.step()
        self.sources: list[Path] = []

    @property
    def session(self) -> Session:
        return self.reading.session

    def step(self, seconds: float = 0.004) -> list[Change]:
        return []

    def poll(self) -> list[Change]:
        return self.reading.reread()

    def close(self) -> None:
        return


def item(kind: str, uuid: str, text: str = "", **more: Any) -> Item:
    """A message of a toy."""
    return {"type": kind, "uuid": uuid, "text": text} | more


def session_of(path: Path, items: Iterable[Item]) -> Session:
    """The session that consists of these. An item with `rewound` is so."""
    parser, store = ToyParser(path), MemoryStore(path)
    parser.session.stores.append(store)
    for value in items:
        change = parser.take(store.add(value))
        if value.get("rewound") and change is not None:
            session = parser.session
            session.messages.flags[change.message] |= Flag.REWOUND
            if session.messages.has(change.message, Flag.OPENER):
                session.exchanges[-1].rewound = True
    return parser.session


def open_rewriting(path: Path, *, start: int = 0, growing: bool = False) -> Reading:
    """In the place of `schemas.opening.open_reading`."""
    try:
        head = head_of(path)
        if head.tables:
            return Database(path)
        if isinstance(head.document, dict) and "messages" in head.document:
            return DocumentReading(path, lambda: ToyParser(path), lambda d: d["messages"], _is_toy)
        if not head.data.startswith(b'{"type"'):
            raise OpenError(path, "no toy session")
        return LinesReading(open_file(path), LogParser(path), start)
    except OSError as error:
        raise OpenError(path, str(error)) from error


def write_document(path: Path, items: list[Item]) -> None:
    """Write it whole, as an agent does: not in one step."""
    path.write_text(json.dumps({"messages": items}))


def connect(path: Path) -> sqlite3.Connection:
    """A connection as an agent keeps one: what it writes stays in the log until it is closed."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA wal_autocheckpoint=0")
    database.execute("CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, place REAL, item TEXT)")
    return database


def put(database: sqlite3.Connection, items: Iterable[tuple[float, Item]]) -> None:
    """Write messages at their places, in one transaction."""
    database.execute("BEGIN")
    rows = [(value["uuid"], place, json.dumps(value)) for place, value in items]
    database.executemany("INSERT OR REPLACE INTO messages VALUES (?, ?, ?)", rows)
    database.execute("COMMIT")


def shown(session: Session) -> list[tuple[int, Any]]:
    """Each message: its key and what it says."""
    return [(session.messages.key[i], _content(session, i)) for i in range(len(session.messages))]


def _content(session: Session, index: int) -> Any:
    message = session.message(index)
    tool = message.tool
    return message.kind, message.text, int(message.flags), message.exchange, tool and (tool.input, tool.text)


class Mirror:
    """Somebody who knows of a session only what changes say, and looks at no message that they do not name."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Any]] = []

    def apply(self, changes: list[Change], session: Session) -> None:
        """Follow them; what comes out must be the session."""
        for batch in _since_restart(changes):
            if batch is None:
                self.rows = shown(session)
                continue
            gone = {change.message for change in batch if change.op is Op.REMOVED}
            assert all(index < len(self.rows) for index in gone)
            self.rows = [row for index, row in enumerate(self.rows) if index not in gone]
            for change in sorted(batch, key=lambda change: change.message):
                row = (session.messages.key[change.message], None) if change.op is not Op.REMOVED else None
                if change.op is Op.APPENDED and row is not None:
                    self.rows.insert(change.message, (row[0], _content(session, change.message)))
            for change in batch:
                if change.op is Op.UPDATED:
                    assert self.rows[change.message][0] == session.messages.key[change.message]
                    self.rows[change.message] = (self.rows[change.message][0], _content(session, change.message))
        assert self.rows == shown(session)


def _since_restart(changes: list[Change]) -> Iterator[list[Change] | None]:
    start = max((i for i, change in enumerate(changes) if change.op is Op.RESTARTED), default=-1)
    yield None if start >= 0 else changes


def _is_toy(document: Any) -> bool:
    return isinstance(document, dict) and "messages" in document

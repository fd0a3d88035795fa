"""The full-text index: a SQLite file beside the index of sessions. A message is a row of an FTS5 table without content.

It holds nothing that cannot be made again. Where there can be none, or it is damaged, search reads the sessions instead
and a new one is made. A row's number is its lane, its session's number and its message's: so one range of numbers is
what was typed in a session, and hits are grouped by arithmetic.

A row is never written twice: FTS5 without content cannot take old words away. A session that only grew gets more rows,
one that was rewritten gets a new number, and the rows of the old one are dead. What may yet change stands in `tails`.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from schemas.json_output import json_bytes
from viewer.index.query import EVERY, MARK, Marks, tool_name
from viewer.index.texts import Row, SessionText, exchanges_json, head_of_columns

LAYOUT = 1
"""Raise it when the tables, or what stands in them, change."""
_APPLICATION = 0x7475726E + 1
_TABLES = (
    "CREATE TABLE sessions (sid INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE, parent BLOB, size INTEGER,"
    " mtime_ns INTEGER, reader TEXT, messages INTEGER, chars INTEGER, state INTEGER, facts BLOB)",
    "CREATE INDEX parents ON sessions (parent)",
    "CREATE TABLE messages (sid INTEGER PRIMARY KEY, exchanges BLOB, columns BLOB, spans BLOB)",
    "CREATE TABLE tails (sid INTEGER PRIMARY KEY, rows BLOB)",
    "CREATE TABLE files (file INTEGER PRIMARY KEY, root TEXT, path TEXT, UNIQUE (root, path))",
    "CREATE TABLE touches (file INTEGER, row INTEGER, changed INTEGER, added INTEGER, removed INTEGER,"
    " PRIMARY KEY (file, row)) WITHOUT ROWID",
    # The words of the index by how common they are, newline before and after each; later ones in rows of their own.
    "CREATE TABLE words (part INTEGER PRIMARY KEY, text BLOB)",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value)",
    "CREATE VIRTUAL TABLE texts USING fts5(a, content='', columnsize=0, tokenize='unicode61 remove_diacritics 0')",
    "INSERT INTO texts(texts, rank) VALUES ('hashsize', 33554432)",
    # A merge by itself would in time rewrite the one large segment for a few new rows.
    "INSERT INTO texts(texts, rank) VALUES ('automerge', 0)",
    "INSERT INTO texts(texts, rank) VALUES ('crisismerge', 32)",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(texts, 'row')",
)
_WAIT = 5.0
_BATCH_CHARS = 24 << 20
_FEW_CHARS = 4 << 20
"""So little new text has its words counted here; of more FTS5 lists them."""
MOST_WORDS = 400
"""Of the words that hold a part so many, the commonest, are looked for."""
_SID, _LANE = 20, 44
MESSAGE = (1 << _SID) - 1
_TOKEN = re.compile(rf"[^\W_]+|{MARK}\w+")


def row_of(lane: int, sid: int, message: int) -> int:
    """The number of a row."""
    return lane << _LANE | sid << _SID | message


def lane_of_row(row: int) -> int:
    """The lane in a row's number."""
    return row >> _LANE


def sid_of_row(row: int) -> int:
    """The session in a row's number."""
    return row >> _SID & 0xFF_FFFF


class Kept(NamedTuple):
    """A session in the index."""

    sid: int
    path: str
    parent: str
    size: int
    mtime_ns: int
    facts: dict[str, Any]


class TextStore:
    """A connection to the full-text index. Where there can be none, it holds nothing and says why to `report`."""

    def __init__(self, path: Path, reader: str, report: Callable[[str], None]) -> None:
        self.path, self._reader, self._report = path, reader, report
        self._batch: list[SessionText] = []
        self._chars = 0
        self._new_chars = 0
        self._new_words: set[str] = set()
        self.connection = self._open()

    def _open(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            self._report(f"no full-text index: {(error.strerror or str(error)).lower()}")
            return None
        for attempt in (1, 2):
            try:
                return _connect(self.path)
            except (sqlite3.DatabaseError, OSError) as error:
                if attempt == 1 and is_broken(error) and remove(self.path):
                    continue
                self._report(f"no full-text index: {error}")
        return None

    def close(self) -> None:
        """Let go of the database."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    # -- reading ---------------------------------------------------------------------------------------------------

    def fetch(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; none where the database fails, which is reported. Raises Interrupted."""
        if self.connection is None:
            return []
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                raise Interrupted from None
            self._give_up(error)
        except sqlite3.DatabaseError as error:
            self._give_up(error)
        return []

    def known(self) -> dict[str, tuple[int, int]]:
        """Size and time of each source whose text is here, as today's parsers read it."""
        rows = self.fetch("SELECT path, size, mtime_ns FROM sessions WHERE reader = ?", (self._reader,))
        return {os.fsdecode(path): (size, mtime_ns) for path, size, mtime_ns in rows}

    def sessions(self) -> dict[int, Kept]:
        """Every session, by its number."""
        kept: dict[int, Kept] = {}
        for sid, path, parent, size, mtime_ns, facts in self.fetch(
            "SELECT sid, path, parent, size, mtime_ns, facts FROM sessions"
        ):
            with suppress(ValueError, TypeError):
                kept[sid] = Kept(
                    sid, os.fsdecode(path), os.fsdecode(parent or b""), size, mtime_ns, orjson.loads(facts)
                )
        return kept

    def rows(self, expression: str) -> list[int]:
        """The rows that an FTS5 expression finds."""
        return [row for (row,) in self.fetch("SELECT rowid FROM texts WHERE texts MATCH ?", (expression,))]

    def words(self) -> bytes:
        """All words of the index, the commonest first, a newline before and after each."""
        return b"\n".join([b"", *(text for (text,) in self.fetch("SELECT text FROM words ORDER BY part")), b""])

    def tails(self) -> list[tuple[int, Row]]:
        """The messages that may yet change, each with its session's number."""
        found = []
        for sid, data in self.fetch("SELECT sid, rows FROM tails"):
            with suppress(ValueError, TypeError):
                found += [(sid, Row(m, lane, Marks(*marks), words)) for m, lane, marks, words in json.loads(data)]
        return found

    # -- writing ---------------------------------------------------------------------------------------------------

    def delete(self, paths: Iterable[str]) -> None:
        """Forget sessions that are gone, and their subagents."""
        names = [(os.fsencode(path),) for path in paths]

        def forget(connection: sqlite3.Connection) -> None:
            for (name,) in names:
                rows = connection.execute(
                    "SELECT sid, messages FROM sessions WHERE path = ? OR parent = ?", (name, name)
                )
                for sid, messages in rows.fetchall():
                    _drop(connection, sid, messages)

        if names:
            self._change(forget)

    def add(self, texts: Iterable[SessionText]) -> None:
        """Take in sessions; they are written when enough of them came, and with `finish`."""
        for text in texts:
            self._batch.append(text)
            self._chars += sum(len(row.words) for row in text.rows)
        if self._chars >= _BATCH_CHARS:
            self._write()

    def finish(self) -> None:
        """Write what waits, and make the index quick to ask where much came."""
        self._write()
        if not self._new_chars:
            return
        if self._new_chars < _FEW_CHARS:
            self._change(self._add_words)
        else:
            self._change(_optimize)
        self._new_chars = 0
        self._new_words.clear()
        total, dead = self.counts()
        if dead > 1000 and dead * 4 > total + dead:
            self._change(_clear)  # most of what it holds is old: what is left is read again next time

    def counts(self) -> tuple[int, int]:
        """Count the messages that it holds, and the rows that are dead."""
        (total,), *_ = self.fetch("SELECT coalesce(sum(messages), 0) FROM sessions") or [(0,)]
        dead = self.fetch("SELECT value FROM facts WHERE name = 'dead'")
        return total, dead[0][0] if dead else 0

    def _write(self) -> None:
        batch, self._batch, self._chars = self._batch, [], 0
        if batch:
            self._change(lambda connection: self._take(connection, batch))

    def _take(self, connection: sqlite3.Connection, batch: list[SessionText]) -> None:
        rows: list[tuple[int, str]] = []
        families: dict[str, set[bytes]] = {}
        for text in {text.path: text for text in batch}.values():
            families.setdefault(text.parent or text.path, set()).add(os.fsencode(text.path))
            sid, known = self._number(connection, text)
            if sid < 0:
                continue
            settled = [row for row in text.rows if row.message < text.settled]
            rows += [(row_of(row.lane, sid, row.message), _row_text(row)) for row in settled[known:]]
            tail = [row for row in text.rows if row.message >= text.settled]
            connection.execute("DELETE FROM tails WHERE sid = ?", (sid,))
            if tail:
                connection.execute("INSERT INTO tails VALUES (?, ?)", (sid, json.dumps(tail).encode()))
            data = (exchanges_json(text.exchanges), zlib.compress(text.columns, 1), zlib.compress(text.spans, 1))
            connection.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)", (sid, *data))
            self._touch(connection, text, sid)
        for parent, members in families.items():
            name = os.fsencode(parent)
            for sid, path, messages in connection.execute(
                "SELECT sid, path, messages FROM sessions WHERE parent = ?", (name,)
            ).fetchall():
                if path not in members and name in members:
                    _drop(connection, sid, messages)
        rows.sort()  # FTS5 writes out what it has whenever numbers do not ascend
        connection.executemany("INSERT INTO texts(rowid, a) VALUES (?, ?)", rows)
        new = sum(len(words) for _, words in rows)
        self._new_chars += new
        if self._new_chars < _FEW_CHARS:
            self._new_words.update(*(_TOKEN.findall(words) for _, words in rows))

    def _number(self, connection: sqlite3.Connection, text: SessionText) -> tuple[int, int]:
        """The number of a session, and how many of its messages are there already; -1 where all is as it was."""
        name, head = os.fsencode(text.path), head_of_columns(text.columns, text.settled)
        values = (
            os.fsencode(text.parent) or None, text.size, text.mtime_ns, self._reader, text.settled,
            sum(len(row.words) for row in text.rows), zlib.crc32(head), json_bytes(text.facts),
        )  # fmt: skip
        old = connection.execute("SELECT sid, messages, state, reader FROM sessions WHERE path = ?", (name,)).fetchone()
        if old is not None:
            sid, known, state, reader = old
            goes_on = known <= text.settled and zlib.crc32(head_of_columns(text.columns, known)) == state
            if goes_on and reader == self._reader:
                connection.execute(
                    "UPDATE sessions SET parent = ?, size = ?, mtime_ns = ?, reader = ?, messages = ?, chars = ?,"
                    " state = ?, facts = ? WHERE sid = ?",
                    (*values, sid),
                )
                return sid, known
            _drop(connection, sid, known)
        cursor = connection.execute(
            "INSERT INTO sessions (path, parent, size, mtime_ns, reader, messages, chars, state, facts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (name, *values),
        )
        return cursor.lastrowid or 0, 0

    def _touch(self, connection: sqlite3.Connection, text: SessionText, sid: int) -> None:
        root = text.facts["root"]
        for path in {touch.path for touch in text.touches}:
            connection.execute("INSERT OR IGNORE INTO files (root, path) VALUES (?, ?)", (root, path))
        numbers = dict(connection.execute("SELECT path, file FROM files WHERE root = ?", (root,)).fetchall())
        lanes = {row.message: row.lane for row in text.rows}
        connection.executemany(
            "INSERT OR REPLACE INTO touches VALUES (?, ?, ?, ?, ?)",
            [
                (numbers[t.path], row_of(lanes[t.message], sid, t.message), t.changed, t.added, t.removed)
                for t in text.touches
            ],
        )

    def _add_words(self, connection: sqlite3.Connection) -> None:
        """Note the words that are new, without listing all."""
        known = self.words()
        new = sorted(word for word in self._new_words if f"\n{word}\n".encode() not in known)
        if new:
            connection.execute("INSERT INTO words (text) VALUES (?)", ("\n".join(new).encode(),))

    def _change(self, change: Callable[[sqlite3.Connection], None]) -> bool:
        """Do all of a change, or none; whether it is done."""
        if self.connection is None:
            return False
        try:
            with self.connection:
                self.connection.execute("BEGIN IMMEDIATE")
                change(self.connection)
        except sqlite3.DatabaseError as error:
            self._give_up(error)
            return False
        return True

    def _give_up(self, error: sqlite3.DatabaseError) -> None:
        """A database that fails while it is used: one that is broken goes, so that the next start makes a new one."""
        self.close()
        broken = is_broken(error) and remove(self.path)
        self._report(f"no full-text index: {'it was damaged, and is made anew' if broken else error}")


class Interrupted(Exception):
    """A question that was broken off, since another one came."""


def _row_text(row: Row) -> str:
    return f"{' '.join(row.marks.tokens)} {row.words}"


def _drop(connection: sqlite3.Connection, sid: int, messages: int) -> None:
    """Forget a session; its rows stay in the index, and stand for nothing."""
    for table in ("sessions", "messages", "tails"):
        connection.execute(f"DELETE FROM {table} WHERE sid = ?", (sid,))
    connection.execute(
        "INSERT INTO facts VALUES ('dead', ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        (messages,),
    )


def _optimize(connection: sqlite3.Connection) -> None:
    """Make one segment of all, and list its words by how common they are."""
    connection.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    words = connection.execute("SELECT term FROM vocabulary ORDER BY doc DESC")
    text = "\n".join(word for (word,) in words)
    connection.execute("DELETE FROM words")
    connection.execute("INSERT INTO words (text) VALUES (?)", (text.encode(),))


def _clear(connection: sqlite3.Connection) -> None:
    for table in ("sessions", "messages", "tails", "files", "touches", "words", "facts"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT INTO texts(texts) VALUES ('delete-all')")


def words_with(words: bytes, part: str) -> Iterator[str]:
    """The words that hold a part, without those that begin with it, the commonest first."""
    sought = part.encode()
    at = words.find(sought)
    while at >= 0:
        start, end = words.rfind(b"\n", 0, at) + 1, words.find(b"\n", at)
        if start != at and not words.startswith(MARK.encode(), start):
            yield words[start:end].decode()
        at = words.find(sought, end)


def tools_in(words: bytes) -> Iterator[str]:
    """The names of the tools, from the tokens that stand for them."""
    mark = f"\n{MARK}t".encode()
    at = words.find(mark)
    while at >= 0:
        end = words.find(b"\n", at + 1)
        if (name := tool_name(words[at + 1 : end].decode())) is not None:
            yield name
        at = words.find(mark, end)


def _connect(path: Path) -> sqlite3.Connection:
    with suppress(FileExistsError):  # sessions hold what was said in private: nobody else may read it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        state = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if state != (_APPLICATION, LAYOUT):
            if state != (0, 0):
                raise Foreign("of another version")
            _create(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "SELECT sid, path, parent, size, mtime_ns, reader, messages, state, facts FROM sessions LIMIT 1"
        )
    except sqlite3.DatabaseError:
        connection.close()
        raise
    except UnicodeDecodeError as error:  # SQLite's own message, in which it quotes the damage
        connection.close()
        raise sqlite3.DatabaseError("damaged") from error
    return connection


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == LAYOUT:
            return  # another program made it while this one waited
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")


class Foreign(sqlite3.DatabaseError):
    """A database of another layout, or somebody else's, under our name."""


def is_broken(error: Exception) -> bool:
    """Tell whether the file is at fault, and not a lock, a right or a full disk."""
    if isinstance(error, Foreign):
        return True
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    # A missing table or column is a plain SQLITE_ERROR.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def remove(path: Path) -> bool:
    """Take a database and its side files away; whether that worked."""
    try:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True


@contextmanager
def text_store(path: Path, reader: str, report: Callable[[str], None]) -> Iterator[TextStore]:
    """The full-text index for a while."""
    store = TextStore(path, reader, report)
    try:
        yield store
    finally:
        store.close()


assert EVERY.startswith(MARK)

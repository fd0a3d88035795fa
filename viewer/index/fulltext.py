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
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from schemas.json_output import json_bytes
from viewer.index.database import Database
from viewer.index.query import MARK, Marks, tool_name
from viewer.index.texts import Known, Places, Row, SessionText, exchanges_from, state_of

T = TypeVar("T")
_ADD = "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value"
_BATCH_CHARS = 16 << 20
_TEXT_CHARS = 4 << 10
"""What a session that waits takes beside its text, in characters: of 100,000 short ones it is most."""
_FEW_DEAD = 1000
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


class TextStore(Database):
    """The database of all text."""

    NAME = "full-text index"
    APPLICATION = 0x7475726E + 1
    LAYOUT = 2
    TABLES = (
        "CREATE TABLE sessions (sid INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE, parent BLOB, size INTEGER,"
        " mtime_ns INTEGER, reader TEXT, messages INTEGER, chars INTEGER, state INTEGER, facts BLOB)",
        "CREATE INDEX parents ON sessions (parent)",
        "CREATE TABLE messages (sid INTEGER PRIMARY KEY, exchanges BLOB, columns BLOB, spans BLOB)",
        "CREATE TABLE tails (sid INTEGER, message INTEGER, row BLOB, PRIMARY KEY (sid, message))",
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
    PAGE = 8192
    PROBE = "SELECT sid, path, parent, size, mtime_ns, reader, messages, state, facts FROM sessions LIMIT 1"
    WAIT = 5.0

    def __init__(self, path: Path, reader: str, report: Callable[[str], None]) -> None:
        super().__init__(path, reader, report)
        self._batch: list[SessionText] = []
        self._families: dict[str, set[bytes]] = {}
        self._parts: dict[str, tuple[int, int]] = {}
        """Sessions of which slices are to come: their number, and how many of their messages were known."""
        self._chars = 0
        self._new_chars = 0
        self._new_words: set[str] = set()
        self._inode = 0
        with suppress(OSError):  # there is no index, or it has just been deleted: `is_there` says so
            self._inode = os.stat(path).st_ino

    @property
    def is_there(self) -> bool:
        """Return whether the database is open, and is still the one that lies under its name."""
        if self.connection is None:
            return False
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    # -- reading ---------------------------------------------------------------------------------------------------

    def known(self) -> dict[str, tuple[int, int] | None]:
        """Size and time of each source whose text is here; None where other parsers read it."""
        rows = self.fetch("SELECT path, size, mtime_ns, reader FROM sessions WHERE parent IS NULL")
        return {os.fsdecode(path): tuple(state) if reader == self._reader else None for path, *state, reader in rows}

    def families(self, paths: list[str]) -> dict[str, dict[str, Known]]:
        """The messages of some sessions and of their subagents that are here, as today's parsers read them."""
        found: dict[str, dict[str, Known]] = {}
        for some in _in_parts([os.fsencode(path) for path in paths]):
            among = f"IN ({','.join('?' * len(some))})"
            asked = f"SELECT path, parent, messages, state FROM sessions WHERE (path {among} OR parent {among})"
            for path, parent, *known in self.fetch(f"{asked} AND reader = ?", (*some, *some, self._reader)):
                found.setdefault(os.fsdecode(parent or path), {})[os.fsdecode(path)] = Known(*known)
        return found

    def sessions(self) -> dict[int, Kept]:
        """Every session, by its number."""
        kept: dict[int, Kept] = {}
        columns = "sid, path, parent, size, mtime_ns, facts"
        for sid, path, parent, size, mtime_ns, facts in self.fetch(f"SELECT {columns} FROM sessions"):
            with suppress(ValueError, TypeError):
                names = os.fsdecode(path), os.fsdecode(parent or b"")
                kept[sid] = Kept(sid, *names, size, mtime_ns, orjson.loads(facts))
        return kept

    def counts_of(self, expression: str) -> list[tuple[int, int]]:
        """Count what an FTS5 expression finds by session and lane: the upper bits of rows, and how many of each."""
        asked = f"SELECT rowid >> {_SID}, count(*) FROM texts WHERE texts MATCH ? GROUP BY 1"
        return self.fetch(asked, (expression,))

    def rows(self, expression: str) -> list[int]:
        """The rows that an FTS5 expression finds."""
        return [row for (row,) in self.fetch("SELECT rowid FROM texts WHERE texts MATCH ?", (expression,))]

    def touches(self, files: list[int]) -> list[int]:
        """The rows of messages that read or changed one of some files."""
        rows: list[int] = []
        for some in _in_parts(files):
            asked = f"SELECT row FROM touches WHERE file IN ({','.join('?' * len(some))})"
            rows += [row for (row,) in self.fetch(asked, some)]
        return rows

    def exchanges(self, sids: list[int]) -> dict[int, list[Places]]:
        """The exchanges of some sessions."""
        found: dict[int, list[Places]] = {}
        for some in _in_parts(sids):
            asked = f"SELECT sid, exchanges FROM messages WHERE sid IN ({','.join('?' * len(some))})"
            with suppress(ValueError, TypeError):
                found |= {sid: exchanges_from(data) for sid, data in self.fetch(asked, some)}
        return found

    def words(self) -> bytes:
        """All words of the index, the commonest first, a newline before and after each."""
        return b"\n".join([b"", *(text for (text,) in self.fetch("SELECT text FROM words ORDER BY part")), b""])

    def tails(self) -> list[tuple[int, Row]]:
        """The messages that may yet change, each with its session's number."""
        found = []
        for sid, data in self.fetch("SELECT sid, row FROM tails"):
            with suppress(ValueError, TypeError):
                message, lane, marks, words = json.loads(data)
                found.append((sid, Row(message, lane, Marks(*marks), words)))
        return found

    # -- writing ---------------------------------------------------------------------------------------------------

    def delete(self, paths: Iterable[str]) -> None:
        """Forget sessions that are gone, and their subagents."""
        names = [(os.fsencode(path),) for path in paths]

        def forget(connection: sqlite3.Connection) -> None:
            asked = "SELECT sid, messages FROM sessions WHERE path = ?1 OR parent = ?1"
            for name in names:
                for sid, messages in connection.execute(asked, name).fetchall():
                    _drop(connection, sid, messages)

        if names:
            self.change(forget)

    def start(self) -> None:
        """Throw away what is in it where that is old for the most part: sessions that changed or went, or that other
        parsers read. It is made anew then; asked while it is made, sessions are looked through.
        """
        held = self.holds()
        sums = "SELECT coalesce(sum(messages), 0) FROM sessions WHERE reader <> ?"
        old = held["deadMessages"] + sum(count for (count,) in self.fetch(sums, (self._reader,)))
        if old > _FEW_DEAD and old * 3 > held["messages"]:
            self.change(_clear)

    def add(self, text: SessionText) -> None:
        """Take in a session, or a slice of one; written when enough of them came, and with `finish`."""
        self._batch.append(text)
        self._chars += _TEXT_CHARS + sum(len(row.words) for row in text.rows)
        if self._chars >= _BATCH_CHARS:
            self._write()

    def keep(self, path: str, members: list[str]) -> None:
        """Note which sessions are all that there are of a session and its subagents."""
        self._families[path] = set(map(os.fsencode, members))

    def finish(self) -> None:
        """Write what waits, and make the index quick to ask where much came."""
        self._write()
        unlisted = sum(chars for (chars,) in self.fetch("SELECT value FROM facts WHERE name = 'unlisted'"))
        if unlisted:  # more than this program wrote where another one writes too, or was killed
            own = unlisted == self._new_chars and unlisted < _FEW_CHARS
            self.change(self._add_words if own else _list_words if unlisted < _FEW_CHARS else _optimize)
        self._new_chars = 0
        self._new_words.clear()

    def holds(self) -> dict[str, Any]:
        """Say what is in it, by the names of `index --json`: characters of the text as it is searched, bytes of the
        sessions' files, names of files that were read or changed, rows that stand for nothing any more.
        """
        sums = "count(*), count(parent), coalesce(sum(messages), 0), coalesce(sum(chars), 0), coalesce(sum(size), 0)"
        count, subagents, messages, chars, size = (self.fetch(f"SELECT {sums} FROM sessions") or [(0,) * 5])[0]
        facts = dict(self.fetch("SELECT name, value FROM facts"))
        return {
            "sessions": count - subagents,
            "subagents": subagents,
            "messages": messages,
            "textCharacters": chars,
            "files": (self.fetch("SELECT count(*) FROM files") or [(0,)])[0][0],
            "deadMessages": facts.get("dead", 0),
            "sessionBytes": size,
            "builtAt": facts.get("written"),
        }

    def _write(self) -> None:
        batch, self._batch, self._chars = self._batch, [], 0
        families, self._families = self._families, {}
        if batch or families:
            self.change(lambda connection: self._take(connection, batch, families))

    def _take(self, connection: sqlite3.Connection, batch: list[SessionText], families: dict[str, set[bytes]]) -> None:
        rows: list[tuple[int, str]] = []
        for text in batch:
            sid, known = self._number(connection, text) if text.first else self._parts[text.state.path]
            self._parts[text.state.path] = sid, known
            if text.start > known:
                # Another program took away what was there: the session stays unread, and is read whole next time.
                connection.execute("UPDATE sessions SET messages = 0, state = 0 WHERE sid = ?", (sid,))
                continue
            new = [row for row in text.rows if row.message >= known]
            settled = (row for row in new if row.message < text.settled)
            rows += [(row_of(r.lane, sid, r.message), f"{' '.join(r.marks.tokens)} {r.words}") for r in settled]
            tail = [(sid, r.message, json.dumps(r)) for r in new if r.message >= text.settled]
            connection.executemany("INSERT INTO tails VALUES (?, ?, ?)", tail)
            self._touch(connection, text, sid)
            chars = sum(len(row.words) for row in text.rows)
            connection.execute("UPDATE sessions SET chars = chars + ? WHERE sid = ?", (chars, sid))
            if text.last:
                del self._parts[text.state.path]
                state = text.state.size, text.state.mtime_ns, self._reader, sid
                connection.execute("UPDATE sessions SET size = ?, mtime_ns = ?, reader = ? WHERE sid = ?", state)
        for parent, members in families.items():
            family = "SELECT sid, path, messages FROM sessions WHERE parent = ?"
            for sid, path, messages in connection.execute(family, (os.fsencode(parent),)).fetchall():
                if path not in members:
                    _drop(connection, sid, messages)
        rows.sort()  # FTS5 writes out what it has whenever numbers do not ascend
        connection.executemany("INSERT INTO texts(rowid, a) VALUES (?, ?)", rows)
        connection.execute("INSERT OR REPLACE INTO facts VALUES ('written', datetime())")
        chars = sum(len(words) for _, words in rows)
        connection.execute(_ADD, ("unlisted", chars))
        self._new_chars += chars
        if self._new_chars < _FEW_CHARS:
            self._new_words.update(*(_TOKEN.findall(words) for _, words in rows))

    def _number(self, connection: sqlite3.Connection, text: SessionText) -> tuple[int, int]:
        """The number of a session, and how many of its messages have their rows already. Until its last slice is here
        it is of no size, and read by nobody.
        """
        name, state = os.fsencode(text.state.path), state_of(text.columns, text.settled)
        values = (os.fsencode(text.parent) or None, text.settled, state, json_bytes(text.facts))
        old = connection.execute("SELECT sid, messages, state, reader FROM sessions WHERE path = ?", (name,)).fetchone()
        sid = known = 0
        if old is not None:
            sid, known, before, reader = old
            grew = known <= text.settled and state_of(text.columns, known) == before
            if not grew or reader != self._reader:
                _drop(connection, sid, known)
                sid = known = 0
        if sid:
            unread = f"chars = {'chars' if text.start else 0}, size = -1, reader = ''"
            changed = f"UPDATE sessions SET parent = ?, messages = ?, state = ?, facts = ?, {unread} WHERE sid = ?"
            connection.execute(changed, (*values, sid))
        else:
            columns = "parent, messages, state, facts, path, chars, size, mtime_ns, reader"
            made = f"INSERT INTO sessions ({columns}) VALUES (?, ?, ?, ?, ?, 0, -1, 0, '')"
            sid = connection.execute(made, (*values, name)).lastrowid or 0
        connection.execute("DELETE FROM tails WHERE sid = ?", (sid,))
        exchanges, packed = list(map(tuple, text.exchanges)), (zlib.compress(d, 1) for d in (text.columns, text.spans))
        connection.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)", (sid, json_bytes(exchanges), *packed))
        return sid, known

    def _touch(self, connection: sqlite3.Connection, text: SessionText, sid: int) -> None:
        root = text.facts["root"]
        for path in {touch.path for touch in text.touches}:
            connection.execute("INSERT OR IGNORE INTO files (root, path) VALUES (?, ?)", (root, path))
        numbers = dict(connection.execute("SELECT path, file FROM files WHERE root = ?", (root,)).fetchall())
        lanes = {row.message: row.lane for row in text.rows}
        rows = ((numbers[t.path], row_of(lanes[t.message], sid, t.message), *t[2:]) for t in text.touches)
        connection.executemany("INSERT OR REPLACE INTO touches VALUES (?, ?, ?, ?, ?)", rows)

    def _add_words(self, connection: sqlite3.Connection) -> None:
        """Note the words that are new, without listing all."""
        known = self.words()
        new = sorted(word for word in self._new_words if f"\n{word}\n".encode() not in known)
        if new:
            connection.execute("INSERT INTO words (text) VALUES (?)", ("\n".join(new).encode(),))
        connection.execute("UPDATE facts SET value = 0 WHERE name = 'unlisted'")


def _in_parts(values: list[T]) -> Iterator[tuple[T, ...]]:
    """Values as a statement takes them: some hundred at once."""
    return (tuple(values[at : at + 400]) for at in range(0, len(values), 400))


def _drop(connection: sqlite3.Connection, sid: int, messages: int) -> None:
    """Forget a session; its rows stay in the index, and stand for nothing."""
    for table in ("sessions", "messages", "tails"):
        connection.execute(f"DELETE FROM {table} WHERE sid = ?", (sid,))
    connection.execute(_ADD, ("dead", messages))


def _optimize(connection: sqlite3.Connection) -> None:
    """Make one segment of all, and list its words."""
    connection.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    _list_words(connection)


def _list_words(connection: sqlite3.Connection) -> None:
    """List all words by how common they are."""
    words = connection.execute("SELECT term FROM vocabulary ORDER BY doc DESC")
    text = "\n".join(word for (word,) in words)
    connection.execute("DELETE FROM words")
    connection.execute("INSERT INTO words (text) VALUES (?)", (text.encode(),))
    connection.execute("UPDATE facts SET value = 0 WHERE name = 'unlisted'")


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

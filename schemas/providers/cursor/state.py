"""What a store says at one moment: its messages in order, its turns, and what it knows of itself (formats note 3.2).

Order comes from the root blob and nothing else: each turn writes a new root, so old roots and what only they name lie
about in the database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from schemas.providers.cursor.meta import ROOT, decode_meta
from schemas.providers.cursor.proto import Fields, decode
from schemas.providers.cursor.turns import Turn, read_turn
from schemas.records import read_document, read_record

_ID = 32
_MOST_APPROXIMATE = 200_000


class Item(NamedTuple):
    """A message of the store: its blob's id, and its bytes; None where the blob is missing."""

    id: str
    raw: bytes | None


class Archive(NamedTuple):
    """Messages that a summary took the place of."""

    summary: str
    items: list[Item]


class State(NamedTuple):
    """A store, read."""

    meta: dict[str, Any]
    """The `meta` row without its key for encryption, which nobody is ever shown."""
    items: list[Item]
    turns: list[Turn]
    archives: list[Archive]
    used: int | None
    window: int | None
    """Tokens in the context and tokens that fit: a snapshot, not what was spent."""
    workspaces: list[str]
    """`file:` URIs, the last one being the newest."""
    started: float | None
    wrong: str
    """What is wrong with the store, and what could be read all the same, in a sentence; empty where nothing is."""


class Blobs:
    """The blobs of an open database, those fetched before kept: a blob never changes, its id is its content's hash."""

    def __init__(self, database: sqlite3.Connection, kept: dict[str, bytes], turns: dict[str, Turn]) -> None:
        database.text_factory = bytes  # a blob may have been stored as text: its bytes are what counts
        self._database, self._kept, self._turns = database, kept, turns
        self.used: dict[str, bytes] = {}
        self.turns: dict[str, Turn] = {}
        self.missing = 0

    def get(self, identifier: str) -> bytes | None:
        """A blob by its id."""
        data = self.used.get(identifier) or self._kept.get(identifier)
        if data is None:
            row = self._database.execute("SELECT data FROM blobs WHERE id = ?", (identifier,)).fetchone()
            if row is None or not isinstance(row[0], bytes):
                return None
            data = row[0]
        self.used[identifier] = data
        return data

    def resolve(self, value: bytes, *, text: bool = False) -> Item:
        """What a field names or holds: 32 bytes are an id where such a blob exists; anything else is the thing itself.

        `text` says that it is JSON, by which 32 bytes that are no id can be told from the id of a missing blob.
        """
        if len(value) == _ID:
            data = self.get(value.hex())
            if data is None:
                inline = read_document(value) is not None if text else _is_message(value)
                if not inline:
                    self.missing += 1
                    return Item(value.hex(), None)
            else:
                return Item(value.hex(), data)
        return Item(sha256(value).hexdigest(), value)

    def turn(self, value: bytes) -> Turn | None:
        """A turn; one that was read before, all of it being there, is not read again."""
        if (turn := self._turns.get(value.hex())) is None:
            missing = self.missing
            turn = read_turn(self.resolve(value), self.resolve)
            if turn is None or missing != self.missing:
                return turn
        self.turns[value.hex()] = turn
        return turn

    def all(self) -> Iterator[tuple[str, bytes]]:
        """Every blob, in the order in which they were written."""
        for identifier, data in self._database.execute("SELECT id, data FROM blobs ORDER BY rowid"):
            if isinstance(identifier, bytes) and isinstance(data, bytes):
                yield identifier.decode("utf-8", "replace"), data

    def count(self) -> int:
        """How many there are."""
        (count,) = self._database.execute("SELECT count(*) FROM blobs").fetchone()
        return int(count)


def _is_message(value: bytes) -> bool:
    fields = decode(value)
    return fields.whole and fields.values.keys() <= {1, 2, 3, 4, 5, 57}


def read_state(raw: bytes, blobs: Blobs) -> State:
    """The conversation that the latest root names; `raw` is the text of `meta`'s row, which names the root."""
    meta = decode_meta(raw)
    name = meta.get(ROOT)
    root = blobs.get(name) or blobs.get(name.lower()) if isinstance(name, str) else None
    fields = decode(root) if root else Fields({}, False)
    items = [blobs.resolve(value, text=True) for value in fields.blobs(1)]
    turns = [turn for value in fields.blobs(8) if (turn := blobs.turn(value)) is not None]
    wrong = ""
    if not fields.whole and not turns and not any(item.raw and _is_json(item.raw) for item in items):
        items, blobs.missing = _guess(blobs), 0
        wrong = _wrong(raw, meta, root, len(items), blobs)
    elif not fields.whole:
        wrong = "The store's root is damaged: messages may be missing"
    timings = [decode(value).time(2) for value in fields.blobs(14)]
    if len(timings) == len(turns):
        turns = [t if t.started else t._replace(started=time) for t, time in zip(turns, timings, strict=True)]
    tokens = fields.message(5) or Fields({}, True)
    archives = [
        archive
        for value in (*fields.blobs(11), *fields.blobs(13))
        if (archive := _archive(blobs.resolve(value), blobs)) is not None
    ]
    workspaces = [value.decode("utf-8", "replace") for value in fields.blobs(9)]
    used, window = tokens.number(1), tokens.number(2)
    return State(meta, items, turns, archives, used or None, window or None, workspaces, fields.time(26), wrong)


def _wrong(raw: bytes, meta: dict[str, Any], root: bytes | None, found: int, blobs: Blobs) -> str:
    """Why nothing says which messages there are, and what was found; empty where nobody has said a word yet."""
    name = meta.get(ROOT)
    if not raw:
        reason = "The store's meta table has no row 0, which names the root"
    elif not meta:
        reason = "The store's meta row is neither a JSON object nor one in hexadecimal digits"
    elif not isinstance(name, str) or not name:
        reason = "The store's meta row names no root"
    elif root is None:
        reason = "The store's root is missing"
    else:
        reason = "The store's root cannot be read" if root else "The store's root is empty"
    if found:
        return (
            f"{reason}: {'1 message was' if found == 1 else f'{found:,} messages were'} found, their order is a guess"
        )
    count = blobs.count()
    if meta and not root and (count == 0 if not name else root is not None and count == 1):
        return ""
    return f"{reason}: no message found" + (f" in {count:,} blob{'s' if count != 1 else ''}" if count else "")


def _archive(item: Item, blobs: Blobs) -> Archive | None:
    if item.raw is None:
        return None
    fields = decode(item.raw)
    items = [blobs.resolve(value, text=True) for value in fields.blobs(1)]
    # What is no message of ours here is of a shape that nobody described.
    items = [entry for entry in items if entry.raw is not None and "role" in read_record(entry.raw)]
    return Archive(fields.text(2), items) if items else None


def _guess(blobs: Blobs) -> list[Item]:
    """The messages below the blob that names most others: what SpecStory does for a root that it cannot read.

    A depth-first walk, what a blob names before the blob itself; among equals the one written last is the root.
    """
    found = dict(pair for pair, _ in zip(blobs.all(), range(_MOST_APPROXIMATE), strict=False))
    named = {identifier: _named(data, found) for identifier, data in found.items() if not _is_json(data)}
    best = max(reversed(named), key=lambda identifier: len(named[identifier]), default=None)
    if best is None or not named[best]:
        return [Item(identifier, data) for identifier, data in found.items() if "role" in read_record(data)]
    items: list[Item] = []
    seen: set[str] = set()
    stack = [(best, False)]
    while stack:
        identifier, done = stack.pop()
        if done:
            if "role" in read_record(found[identifier]):
                items.append(Item(identifier, found[identifier]))
        elif identifier not in seen:
            seen.add(identifier)
            stack.append((identifier, True))
            stack += [(child, False) for child in reversed(named.get(identifier, []))]
    return items


def _is_json(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{" and bool(read_record(data))


def _named(data: bytes, known: dict[str, bytes]) -> list[str]:
    """The blobs that bytes name as field 1 of a message does: tag, length 32, id."""
    found: list[str] = []
    position = data.find(b"\x0a\x20")
    while position >= 0:
        identifier = data[position + 2 : position + 34].hex()
        if identifier in known:
            found.append(identifier)
            position = data.find(b"\x0a\x20", position + 34)
        else:
            position = data.find(b"\x0a\x20", position + 1)
    return found

"""A chat's `store.db`: blobs by their hashes, and one row that names the root of what is said now (formats note 3.2).

The order of messages comes from the root and nothing else: each turn writes a new root, so old roots and what only
they name lie about in the database. Times are in the root's turns, which say the conversation once more: a message has
the time of the turn, or of the step in it, that says the same, and without one it has none.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.provider import Head
from schemas.providers.cursor.prompts import split
from schemas.providers.cursor.proto import Fields, decode, readable
from schemas.records import read_document, read_record
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    import sqlite3

Data = dict[str, Any]
OURS = "turnlog"
"""The key under which a record has what the store says of a message; alone, it is a remark of the store's own."""
_ROOT, _SECRET = "latestRootBlobId", "blobEncryptionKey"
_TABLES = {"blobs": {"id", "data"}, "meta": {"key", "value"}}
_HASH = re.compile(r"[0-9a-fA-F]{64}")
_BLOB = "SELECT CAST(data AS BLOB) FROM blobs WHERE id = ? AND typeof(data) IN ('blob', 'text')"
_ALL = "SELECT id, CAST(data AS BLOB) FROM blobs WHERE typeof(data) IN ('blob', 'text') ORDER BY rowid LIMIT 200000"
_TOOLS = {
    1: "Shell", 3: "Delete", 4: "Glob", 5: "Grep", 8: "Read", 9: "TodoWrite", 12: "Edit", 13: "LS", 14: "ReadLints",
    15: "CallMcpTool", 16: "SemanticSearch", 17: "CreatePlan", 18: "WebSearch", 19: "Task", 23: "AskQuestion",
    24: "WebFetch", 25: "SwitchMode",
}  # fmt: skip
_USE_ID = 57


def is_store(head: Head) -> bool:
    """Whether a database has the tables of a store, and blobs by their hashes or Cursor's row in meta: either may be
    damaged, and a chat in which nobody has said a word has no blobs.
    """
    if not all(columns <= head.tables.get(name, frozenset()) for name, columns in _TABLES.items()):
        return False
    blob, row = (dict_of(head.rows.get(name)) for name in ("blobs", "meta"))
    known = {"agentId", _ROOT, _SECRET}
    return bool(_HASH.fullmatch(text_of(blob.get("id")))) or not known.isdisjoint(_decode_row(row.get("value")))


def _decode_row(value: object) -> Data:
    """The object in meta's row: JSON, mostly written in hexadecimal digits."""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value if isinstance(value, bytes) else b""
    try:
        return read_record(bytes.fromhex(raw.decode("ascii"))) or read_record(raw)
    except ValueError:
        return read_record(raw)


class _Blob(NamedTuple):
    """A blob, or what stands in its place; no bytes where it is missing."""

    id: str
    raw: bytes | None


class _Blobs:
    """The blobs of a database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def get(self, name: str) -> bytes | None:
        """The bytes of a blob; None if there is none."""
        row = self._database.execute(_BLOB, (name,)).fetchone()
        return row[0] if row else None

    def resolve(self, value: bytes, is_inline: Callable[[bytes], bool]) -> _Blob:
        """What a field names or holds: 32 bytes are an id, unless no blob has it and they are the thing itself."""
        name = value.hex()
        data = self.get(name) if len(value) == 32 else value
        return _Blob(name[:64], value if data is None and is_inline(value) else data)

    def message(self, value: bytes) -> _Blob:
        """A message of a conversation: JSON."""
        return self.resolve(value, lambda inline: read_document(inline) is not None)

    def part(self, value: bytes) -> tuple[str, Fields]:
        """A part of a turn: its id and its fields, none where it is missing."""
        name, data = self.resolve(
            value, lambda inline: decode(inline).whole and decode(inline).values.keys() <= {1, 2, 3}
        )
        return name, decode(data or b"")

    def all(self) -> dict[str, bytes]:
        """Every blob, in the order in which they were written."""
        return {text_of(name): data for name, data in self._database.execute(_ALL)}


def read_store(database: sqlite3.Connection, beside: Data) -> Iterator[Data]:
    """What a store says now: itself, then its messages in order; `beside` is the `meta.json` that lies there."""
    row = database.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
    meta = _decode_row(row[0] if row else None)
    blobs, name = _Blobs(database), text_of(meta.get(_ROOT))
    root = (blobs.get(name) or blobs.get(name.lower())) if name else None
    fields = decode(root) if root else Fields({}, False)
    found = [blobs.message(value) for value in fields.blobs(1)]
    turns = [turn for value in fields.blobs(8) if (turn := _turn(blobs, value)) is not None]
    tokens, addresses = fields.message(5) or Fields({}, True), fields.blobs(9)
    yield {OURS: {
        "store": {key: value for key, value in meta.items() if key != _SECRET}, "beside": beside,
        "used": tokens.number(1), "window": tokens.number(2),
        "workspaces": [address.decode("utf-8", "replace") for address in addresses],
    }}  # fmt: skip
    if not fields.whole and not turns and not any(read_record(blob.raw or b"") for blob in found):
        every = blobs.all()
        found = [_Blob(name, every[name]) for name in _guess(every)]
        reason = (
            "has no row in meta that can be read" if not meta else "names no root" if not name
            else "has lost its root" if root is None else "has a root that cannot be read"
        )  # fmt: skip
        (stored,) = database.execute("SELECT count(*) FROM blobs").fetchone()
        if found or stored > 1 or not meta:  # else nobody has said a word yet
            count = f"{len(found):,} messages were found, their order is a guess" if found else "no message was found"
            yield {OURS: {"remark": f"The store {reason}: {count}"}}
    elif not fields.whole:
        yield {OURS: {"remark": "The store's root is damaged: messages may be missing"}}
    yield from _with_turns(list(_records(found)), turns)


def _records(found: Iterable[_Blob]) -> Iterator[Data]:
    """Messages as records; one remark in place of all in a row that are missing."""
    for missing, blobs in groupby(found, lambda blob: blob.raw is None):
        if missing:
            names = [blob.id for blob in blobs]
            said = "A message is" if len(names) == 1 else f"{len(names):,} messages are"
            yield {OURS: {"blob": names[0], "remark": f"{said} missing from the store", "missing": names}}
            continue
        for name, raw in blobs:
            assert raw is not None
            if value := read_record(raw):
                yield {**value, OURS: {"blob": name}}
            else:
                text = f"({len(raw):,} bytes that are no JSON)" if b"\0" in raw else raw.decode("utf-8", "replace")
                yield {OURS: {"blob": name, "text": text}}


def _guess(blobs: dict[str, bytes]) -> list[str]:
    """The messages below the blob that names most others: what SpecStory does for a root that it cannot read.

    A depth-first walk, what a blob names before the blob itself; among equals the one written last is the root.
    """
    is_message = {name for name, data in blobs.items() if "role" in read_record(data)}
    named = {name: _named(data, blobs) for name, data in blobs.items() if data.lstrip()[:1] != b"{"}
    best = max(reversed(named), key=lambda name: len(named[name]), default="")
    stack = [(name, False) for name in reversed([best] if named.get(best) else [*blobs])]
    order, seen = list[str](), set[str]()
    while stack:
        name, done = stack.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            stack += [(name, True), *((child, False) for child in reversed(named.get(name, [])))]
    return [name for name in order if name in is_message]


def _named(data: bytes, known: dict[str, bytes]) -> list[str]:
    """The blobs that bytes name as field 1 of a message does: tag, length 32, id."""
    found, position = list[str](), data.find(b"\x0a\x20")
    while position >= 0:
        name = data[position + 2 : position + 34].hex()
        found += [name] if name in known else []
        position = data.find(b"\x0a\x20", position + (34 if name in known else 1))
    return found


# -- turns -------------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """A prompt and what the agent did about it, or a command that the person ran, once more."""

    records: list[Data]
    """As messages would say it."""
    text: str
    sent: float | None
    times: dict[tuple[bool, str], deque[float]]
    """When the agent said what: by whether it was thinking, and the text."""
    shell: bool


def _turn(blobs: _Blobs, value: bytes) -> _Turn | None:
    """A turn; None for what is none, and for a missing blob."""
    name, fields = blobs.part(value)
    if (agent := fields.message(1)) is not None:
        return _agent_turn(blobs, name, agent)
    if (shell := fields.message(2)) is None:
        return None
    command, output = (blobs.part(b"".join(shell.blobs(number)[-1:]))[1] for number in (1, 2))
    code = output.number(3)
    facts = {
        "command": command.text(1), "output": [output.text(1), output.text(2)],
        "code": code - (1 << 64) if code is not None and code >> 63 else code,
    }  # fmt: skip
    return _Turn([{OURS: {"blob": name, "shell": facts}}], "", None, {}, True)


def _agent_turn(blobs: _Blobs, name: str, agent: Fields) -> _Turn:
    user = blobs.part(b"".join(agent.blobs(1)[-1:]))[1]
    sent, parts, times = user.time(25) or user.time(26), list[Data](), dict[str, float | None]()
    for value in agent.blobs(2):
        step = blobs.part(value)[1]
        if (said := step.message(1)) is not None:
            times[str(len(parts))] = said.time(2)
            parts.append({"type": "text", "text": said.text(1)})
        elif (thought := step.message(3)) is not None:
            times[str(len(parts))] = thought.time(4) or thought.time(3)
            parts.append({"type": "reasoning", "text": thought.text(1)})
        elif (call := step.message(2)) is not None:
            parts += _call(call)
    records: list[Data] = [
        {"role": "user", "id": user.text(2) or name, "content": user.text(1), OURS: {"blob": name, "time": sent}},
        {"role": "assistant", "content": parts, OURS: {"blob": f"{name}:steps", "times": times}},
    ]
    said_at: dict[tuple[bool, str], deque[float]] = defaultdict(deque)
    for at, time in times.items():
        if time is not None:
            said_at[_said(parts[int(at)])].append(time)
    return _Turn(records[: 1 + bool(parts)], _norm(user.text(1)), sent, said_at, False)


def _call(call: Fields) -> Iterator[Data]:
    number = next((n for n in call.values if n != _USE_ID and call.blobs(n)), 0)
    body, use_id = call.message(number) or Fields({}, False), call.text(_USE_ID)
    asked, answer = body.message(1), body.message(2)
    given = readable(asked) if asked is not None else {}
    if number == 1:  # only of this one it is known what its fields are called
        names = {"1": "command", "2": "working_directory"}
        given = {names.get(key, key): value for key, value in given.items()}
    yield {"type": "tool-call", "toolCallId": use_id, "toolName": _TOOLS.get(number, f"tool {number}"), "args": given}
    if answer is not None:
        yield {"type": "tool-result", "toolCallId": use_id, "result": readable(answer)}


def _norm(text: str) -> str:
    return " ".join(text.split())


def _with_turns(messages: list[Data], turns: list[_Turn]) -> Iterator[Data]:
    """The messages, with the times that the turns tell, and the turns that no message tells of.

    Those are commands of the person, which never are messages, and what a summary took the place of: turns before the
    first that has a message, where no prompt stands before that. All turns are where there are no prompts.
    """
    places: dict[str, deque[int]] = defaultdict(deque)
    for number, turn in enumerate(turns):
        if not turn.shell:
            places[turn.text].append(number)
    of, current, following, prompted = dict[int, int](), -1, 0, len(messages)
    for number, message in enumerate(messages):
        if (prompt := _prompt_of(message)) is not None:
            prompted, current = min(prompted, number), -1
            same = places.get(_norm(prompt), deque())
            while same and same[0] < following:
                same.popleft()
            if same:
                current = of[number] = same.popleft()
                following = current + 1
                message[OURS]["time"] = turns[current].sent
        elif current >= 0 and message.get("role") == "assistant":
            message[OURS]["times"] = _times(message, turns[current])
    before = of.get(prompted, len(turns) if prompted == len(messages) else 0)
    begin = next((n for n, message in enumerate(messages) if not _leads(message)), len(messages))
    at, added, place = {turn: number for number, turn in of.items()}, defaultdict[int, list[_Turn]](list), len(messages)
    for number, turn in reversed([*enumerate(turns)]):
        place = at.get(number, place)
        if number < before or turn.shell:
            added[begin if number < before else place].append(turn)
    for number in range(len(messages) + 1):
        for turn in reversed(added.get(number, [])):
            yield from turn.records
        yield from messages[number : number + 1]


def _leads(message: Data) -> bool:
    """Whether a message only leads into a conversation."""
    user = message.get("role") == "user" and _prompt_of(message) is None and not is_summary(message)
    return user or message.get("role") == "system"


def is_summary(message: Data) -> bool:
    """Whether a user's message is what a summary left of older ones."""
    return options(message).get("isSummary") is True


def options(value: Data) -> Data:
    """What Cursor itself noted of a message or a part."""
    return dict_of(dict_of(value.get("providerOptions")).get("cursor"))


def parts_of(content: object) -> list[Any]:
    """The content parts of a message; plain text is one."""
    return content if isinstance(content, list) else [] if content is None else [content]


def words_of(part: object) -> str | None:
    """The text of a content part; None where it is something else."""
    if isinstance(part, str):
        return part
    given = dict_of(part)
    return text if given.get("type") in ("text", None) and isinstance(text := given.get("text"), str) else None


def _prompt_of(message: Data) -> str | None:
    if message.get("role") != "user" or is_summary(message):
        return None
    return split(text for part in parts_of(message.get("content")) if (text := words_of(part)) is not None).prompt


def _said(part: object) -> tuple[bool, str]:
    """What a text or thinking is known by: white space does not count."""
    return dict_of(part).get("type") == "reasoning", _norm(text_of(dict_of(part).get("text")) or text_of(part))


def _times(message: Data, turn: _Turn) -> dict[str, float]:
    parts = enumerate(parts_of(message.get("content")))
    return {str(number): same.popleft() for number, part in parts if (same := turn.times.get(_said(part)))}

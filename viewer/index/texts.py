"""The text of sessions as the index takes it in: a row a message, made while the session is read for its summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from renderers.headline import verb_of
from renderers.places import exchange_names
from schemas.clean import clean, one_line
from schemas.message import USER_KINDS, Flag, Kind, Message, Span, SpanRole, Tool, ToolStatus
from schemas.session import Session
from viewer.index.matching import words_of
from viewer.index.query import Marks
from viewer.index.reread import Lies
from viewer.sessions.freshness import RECENT_SECONDS, Side

PROMPTS, TALK, WORK = 2, 1, 0
"""The lanes: what a person typed, what the agent said, tool uses and the rest."""
MOST_MESSAGES = (1 << 20) - 1
"""Messages of a session that have a number in the index; what comes behind them is not searched."""
_COLUMNS = Struct("<QdIHBB")
"""Of a message: key, time, size, flags that stay, kind, and how many records it was made from."""
_SPAN = Struct("<QIHB")
"""Of a record: offset, length, item and role."""
_MOST_SPANS = 255
_STAYS = int(Flag.ERROR | Flag.PENDING)
_OPEN = int(Flag.PENDING | Flag.GROWING)
_UNDONE = (ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.INTERRUPTED)
_TALK_KINDS = (Kind.TEXT, Kind.THINKING, Kind.COMPACTION)


class Row(NamedTuple):
    """A message as it is searched."""

    message: int
    lane: int
    marks: Marks
    words: str
    """Its text as `words_of` gives it."""


class Touch(NamedTuple):
    """A file that a message read, or changed."""

    message: int
    path: str
    """As seen from the session's workspace."""
    changed: bool
    added: int
    removed: int


class Places(NamedTuple):
    """An exchange: its first message, what it is called in a place, and whether that message opens it."""

    start: int
    name: str
    opened: bool


class Known(NamedTuple):
    """The first messages of a session, as the index has them: how many, and their `state_of`."""

    messages: int
    state: int


class SessionText(NamedTuple):
    """A session, or the session of a subagent, as the index takes it in: whole, or a slice of its rows and touches."""

    state: Side
    parent: str
    """The session that it is indexed with; empty for that one itself."""
    facts: dict[str, Any]
    exchanges: list[Places]
    rows: list[Row]
    touches: list[Touch]
    settled: int
    """Messages from here on may yet change."""
    columns: bytes
    spans: bytes
    start: int = 0
    """Messages before this one are in the index already, and not in its rows."""
    first: bool = True
    """Whether no slice of it came before."""
    last: bool = True


def text_of_session(session: Session, state: Side, parent: str = "") -> SessionText:
    """The text of a session that has been read, subagents in files of their own apart."""
    return next(slices_of_session(session, state, parent, most=sys.maxsize))


def slices_of_session(
    session: Session, state: Side, parent: str = "", most: int = 4 << 20, known: Known | None = None
) -> Iterator[SessionText]:
    """The same in slices of so many characters, so that it need not lie in memory at once; without the messages that
    the index has already, as far as the session only grew.

    The messages are made when the session has been read. Made while it is read, from the records at hand, they took
    7 % longer: so many objects at once do not stay in the processor's cache.
    """
    rows: list[Row] = []
    touches: list[Touch] = []
    chars, first, inner = 0, True, within(session)
    names, columns, settled = exchange_names(session), _columns(session, inner), _settled(session, state.mtime_ns)
    grew = known is not None and known.messages <= settled and state_of(columns[0], known.messages) == known.state
    start = known.messages if known is not None and grew else 0
    whole = SessionText(
        state,
        parent,
        facts_of(session),
        [Places(e.start, name, e.opener is not None) for e, name in zip(session.exchanges, names, strict=True)],
        rows,
        touches,
        settled,
        *columns,
        start,
        first,
        False,
    )
    for index in range(start, min(len(session.messages), MOST_MESSAGES)):
        message = session.unclean_message(index)
        kind, tool, words = message.kind, message.tool, words_of("\n".join(pieces_of(message, inner.get(index, ()))))
        lane = PROMPTS if kind in USER_KINDS else TALK if kind in _TALK_KINDS else WORK
        marks = Marks(kind, message.flags, names_of(tool) if tool else (), message.timestamp)
        rows.append(Row(index, lane, marks, words))
        if message.path_hints:
            touches += touches_of(message)
        chars += len(words)
        if chars >= most:
            yield whole._replace(rows=rows, touches=touches, first=first)
            chars, first, rows, touches = 0, False, [], []
    yield whole._replace(rows=rows, touches=touches, first=first, last=True)


def _columns(session: Session, inner: Container[int]) -> tuple[bytes, bytes]:
    columns, spans, table = bytearray(), bytearray(), session.messages
    plain = len(session.stores) == 1 and session.in_lines(Span(0, 0, 0, 0, SpanRole.BODY)) and not session.is_printed
    for index in range(len(table)):
        chain = session.message_spans(index) if plain else []
        alone = not (index in inner or table.has(index, Flag.MORE) or len(chain) > _MOST_SPANS)
        if not alone or not all(span.length for span in chain):
            chain = []  # it is not told by records alone: the session is read whole to show it
        flags = table.flags[index] & _STAYS
        columns += _COLUMNS.pack(
            table.key[index], table.time[index], table.chars[index], flags, table.kind[index], len(chain)
        )
        for span in chain:
            spans += _SPAN.pack(span.offset, span.length, span.item, span.role)
    return bytes(columns), bytes(spans)


def facts_of(session: Session) -> dict[str, Any]:
    """The facts of a session that a list of hits shows."""
    live = session.live_exchanges
    return {
        "provider": session.provider,
        "id": session.id,
        "title": one_line(session.title or (live[0].prompt if live else ""), 300),
        "root": session.workspace_root or "",
        "branch": session.branch or "",
        "created": session.created,
        "updated": session.updated,
    }


class Columns:
    """The columns of all messages of a session, in order."""

    def __init__(self, columns: bytes = b"", spans: bytes = b"") -> None:
        self._rows = list(_COLUMNS.iter_unpack(columns))
        self._starts = [0, *accumulate(row[5] for row in self._rows)]
        self._spans = spans

    def __len__(self) -> int:
        return len(self._rows)

    def time(self, index: int) -> float | None:
        """The time of a message."""
        time_: float = self._rows[index][1]
        return None if time_ != time_ else time_

    def lies(self, index: int) -> Lies:
        """The place of a message's records."""
        key, _, _, flags, kind, _ = self._rows[index]
        first, last = self._starts[index] * _SPAN.size, self._starts[index + 1] * _SPAN.size
        spans = list(_SPAN.iter_unpack(self._spans[first:last]))
        return Lies(index, key, kind, flags, self.time(index), spans)


def state_of(columns: bytes, messages: int) -> int:
    """A number for the first messages: the same where they are."""
    return crc32(columns[: messages * _COLUMNS.size])


def names_of(tool: Tool) -> list[str]:
    """The names of a tool: the agent's own, and the one that is shown; of all shells also `bash` and `shell`."""
    return list(dict.fromkeys([tool.name, *(("bash", "shell") if tool.type == "shell" else (verb_of(tool),))]))


def pieces_of(message: Message, inner: Sequence[Session]) -> Iterator[str]:
    """All that a reader can see of a message, and of the subagents within that it started, in pieces, each of which a
    reader sees by itself.
    """
    pieces = [message.label, *(part.text for part in message.parts)]
    if message.tool is not None:
        pieces += [message.tool.name, *_strings(message.tool.input), message.tool.text, *_changes(message.tool)]
    yield from filter(None, pieces)
    for session in inner:
        below = within(session)
        for index in range(len(session.messages)):
            yield from pieces_of(session.unclean_message(index), below.get(index, ()))


def _changes(tool: Tool) -> list[str]:
    """The lines that a tool changed, where its input does not hold them."""
    lines = [line[1:] for diff in tool.diffs for hunk in diff.hunks for line in hunk.lines if line[:1] in ("+", "-")]
    changed = sum(map(len, lines))
    return ["\n".join(lines)] if changed and changed > sum(map(len, _strings(tool.input))) else []


def _strings(value: Any) -> Iterator[str]:
    """The strings in a tool's input; it has passed `clean_value`, which bounds how deep it is."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def within(session: Session) -> dict[int, list[Session]]:
    """The subagents that have no address of their own, by the message that started them: by the last one where nothing
    tells which that was.
    """
    found: dict[int, list[Session]] = {}
    for subagent in session.subagents:
        if subagent.path is None and subagent.session is not None and len(session.messages):
            place = len(session.messages) - 1 if subagent.tool_use is None else subagent.tool_use
            found.setdefault(place, []).append(subagent.session)
    return found


def touches_of(message: Message) -> Iterator[Touch]:
    """The files that a message names: changed, where it has a difference of them or a shell writes them; else read.
    None where the tool failed or was refused, but a shell that fails may have written before.
    """
    tool = message.tool
    if tool is not None and tool.type != "shell" and tool.status in _UNDONE:
        return
    lines: dict[str, tuple[int, int]] = {}
    for diff in tool.diffs if tool else ():
        added, removed = lines.get(diff.path, (0, 0))
        lines[diff.path] = added + diff.added, removed + diff.removed
    writes = tool is not None and tool.type in ("write", "shell") and not lines
    for hint in message.path_hints:
        # A hint is seen from the workspace, a difference's path is as the tool has it.
        counts = next((n for path, n in lines.items() if path == hint or path.endswith("/" + hint)), None)
        yield Touch(message.index, clean(hint), counts is not None or writes, *(counts or (0, 0)))


def _settled(session: Session, mtime_ns: int) -> int:
    """Count the messages, from the first, that do not change any more: all of a session that nobody writes."""
    flags = session.messages.flags
    count = min(len(flags), MOST_MESSAGES)
    if time.time() - mtime_ns / 1e9 > RECENT_SECONDS:
        return count
    return next((index for index in range(count) if flags[index] & _OPEN), count)


def exchanges_from(data: bytes) -> list[Places]:
    """Exchanges as the index keeps them. Raises ValueError, TypeError."""
    return [Places(*entry) for entry in orjson.loads(data)]

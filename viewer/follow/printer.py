"""The printers of `turnlog tail`: text in which each message stands once, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from renderers.facts import format_exact, kind_name, local_time, plural, usage_line
from renderers.headline import headline, tool_command
from renderers.places import find_place
from renderers.plain_tables import aligned_tables
from schemas.clean import one_line
from schemas.interchange.session_data_write import SessionDataWriter, dump
from schemas.message import USER_KINDS, Flag, Kind, Message, Tool
from schemas.session import Change, Op, Session
from schemas.values import text_of
from viewer.follow.family import Source
from viewer.output import path_text

OUTPUT_LINES = 20
"""Lines of a tool's output that are printed; how many more there are is said."""
_ASIDE_LINES = 4
_GROWING = (Kind.NOTE, Kind.COMPACTION)
"""Messages that a live stream adds to while they are its last: the output of a program, a compaction whose summary
follows. Of the words of a model the parser says itself whether more may come (`Flag.GROWING`).
"""


def begin(source: Source, whole: bool, place: str = "") -> set[int]:
    """The keys of messages that are not printed, since they had been there before: all but the last exchange's, or
    those before a place.
    """
    session = source.follower.session
    rows, spans = session.messages, session.spans
    if source.skip:
        return {rows.key[i] for i in range(len(rows)) if next(spans.chain(rows.span[i])).offset < source.skip}
    if source.subagent is None and not whole and session.exchanges:
        there = find_place(session, place)
        return set(rows.key[: session.exchanges[-1].start if there is None else there[1]])
    return set()


def touched(session: Session, changes: list[Change]) -> Iterable[int]:
    """The messages that a batch of changes is about, each once; all of them after a restart."""
    if _restarted(changes):
        return range(len(session.messages))
    return dict.fromkeys(change.message for change in changes if change.op is not Op.REMOVED)


def _restarted(changes: list[Change]) -> bool:
    return any(change.op is Op.RESTARTED for change in changes)


def _removed(changes: list[Change]) -> list[int]:
    return [change.message for change in changes if change.op is Op.REMOVED]


class JsonPrinter:
    """A line a change; after `restarted` what was printed of a session counts no more, and all of it follows. The lines
    of a subagent have a key more than those of the session: its id.
    """

    def __init__(self, whole: bool, place: str = "") -> None:
        self.pieces: list[bytes] = []
        self._whole, self._place = whole, place
        self._before: dict[Path, set[int]] = {}
        self._printed: dict[Path, dict[int, tuple[str, str]]] = {}
        """The exchange and the id with which messages were printed, by their keys."""
        self._writers: dict[Path, SessionDataWriter] = {}

    def take(self, source: Source, changes: list[Change]) -> None:
        """Print what changed in a session."""
        session, path = source.follower.session, source.follower.path
        if path not in self._printed:
            self._before[path], self._printed[path] = begin(source, self._whole, self._place), {}
        before, printed = self._before[path], self._printed[path]
        old, writer = self._writers.get(path), self._writer(source)
        keys = session.messages.key
        if old is not None and _restarted(changes):
            self._line(source, "restarted", None, None)
            printed.clear()
        if old is not None:
            moved = {keys[change.message] for change in changes if change.op is Op.APPENDED}
            for index in _removed(changes):
                key = old.session.messages.key[index]
                if key in printed:
                    del printed[key]
                    self._message(source, old, "removed", index)
                elif key not in moved:
                    before.discard(key)  # should it come back, it is new
        for index in touched(session, changes):
            key = keys[index]
            if key in before:
                continue
            if key not in printed:
                printed[key] = self._message(source, writer, "appended", index)
            elif not _restarted(changes):
                printed[key] = self._message(source, writer, "updated", index, printed[key])

    def _message(
        self,
        source: Source,
        writer: SessionDataWriter,
        change: str,
        index: int,
        printed: tuple[str, str] | None = None,
    ) -> tuple[str, str]:
        """Print a change of a message; returns its exchange and its id. Where it was printed with another id, that one
        goes, as when a prompt comes out of the queue and is written down.
        """
        session = writer.session
        exchange = session.exchanges[session.messages.exchange[index]].id
        message = writer.message(session.message(index))
        if printed is not None and message["id"] != printed[1]:
            self._line(source, "removed", printed[0], {**message, "id": printed[1]})
            change = "appended"
        self._line(source, change, exchange, message)
        return exchange, text_of(message["id"])

    def _line(self, source: Source, change: str, exchange: str | None, message: dict[str, Any] | None) -> None:
        value: dict[str, Any] = {"change": change, "exchangeId": exchange, "message": message}
        if source.subagent is not None:
            value["subagent"] = source.subagent.id
        self.pieces.append(dump(value) + b"\n")

    def _writer(self, source: Source) -> SessionDataWriter:
        path, session = source.follower.path, source.follower.session
        writer = self._writers.get(path)
        if writer is None or writer.session is not session:
            writer = self._writers[path] = SessionDataWriter(session)
        return writer

    def next_session(self, path: Path, twin_of: Path | None = None) -> None:
        """Another session follows: all of it is new. Or the same one goes on, and what was printed was printed."""
        self._whole = True
        if twin_of in self._printed:
            self._before[path], self._printed[path] = self._before.pop(twin_of), self._printed.pop(twin_of)
        else:
            self.pieces.append(b'{"change":"restarted","exchangeId":null,"message":null}\n')

    def end(self, sources: Iterable[Source]) -> None:
        """Do nothing: no message is held back."""


class TextPrinter:
    """Each message as text, once, when no more will be added to it: a tool use when its result is there, the words of
    a live stream when something follows on them, and in any case when their exchange or the program ends.
    """

    def __init__(self, whole: bool, most: int = OUTPUT_LINES, place: str = "") -> None:
        self.pieces: list[bytes] = []
        self._whole, self._most, self._place = whole, most, place
        self._before: dict[Path, set[int]] = {}
        self._printed: dict[Path, set[int]] = {}
        self._waiting: dict[Path, list[int]] = {}
        self._shown: dict[Path, Session] = {}
        """The session in which the waiting messages count."""
        self._rewound: set[int] = set()
        """What was said to be taken back, and is there still."""

    def take(self, source: Source, changes: list[Change]) -> None:
        """Print what changed in a session."""
        session, path = source.follower.session, source.follower.path
        if path not in self._printed:
            self._before[path], self._printed[path] = begin(source, self._whole, self._place), set()
        rows, printed, before = session.messages, self._printed[path], self._before[path]
        self._take_back(source, changes)
        waiting = self._still_waiting(path, session, changes)
        still: list[int] = []
        for index in dict.fromkeys((*waiting, *touched(session, changes))):
            if rows.key[index] in printed or rows.key[index] in before:
                continue
            if _is_unfinished(session, index):
                still.append(index)
            else:
                printed.add(rows.key[index])
                self._write(source, index)
        self._waiting[path], self._shown[path] = still, session

    def _still_waiting(self, path: Path, session: Session, changes: list[Change]) -> list[int]:
        """The messages that wait, by their places in the session as it is now."""
        waiting, old = self._waiting.pop(path, []), self._shown.get(path)
        if not waiting or _restarted(changes):
            return []
        if old is None or old is session:
            return waiting
        keys = {old.messages.key[index] for index in waiting}
        return [index for index, key in enumerate(session.messages.key) if key in keys]

    def _take_back(self, source: Source, changes: list[Change]) -> None:
        """Say in one line what was printed and is no longer part of the conversation."""
        session, path = source.follower.session, source.follower.path
        old, printed, rows = self._shown.get(path), self._printed[path], session.messages
        lost: list[tuple[Session, int]] = []
        if old is not None and not _restarted(changes):
            moved = {rows.key[change.message] for change in changes if change.op is Op.APPENDED}
            for index in _removed(changes):
                key = old.messages.key[index]
                if key in printed and key not in moved:
                    printed.discard(key)
                    if key not in self._rewound:
                        lost.append((old, index))
        for change in changes:
            if change.op is Op.UPDATED and (key := rows.key[change.message]) in printed:
                if not rows.has(change.message, Flag.REWOUND):
                    self._rewound.discard(key)
                elif key not in self._rewound:
                    self._rewound.add(key)
                    lost.append((session, change.message))
        if lost:
            more = f"{plural(len(lost), 'message')} from " if len(lost) > 1 else ""
            self._print(source, [f"- taken back: {more}{_in_short(*lost[0])}"])

    def _write(self, source: Source, index: int) -> None:
        session = source.follower.session
        rows = list(message_lines(session, session.message(index), self._most))
        if source.subagent is not None and not rows[0]:
            del rows[0]
        self._print(source, rows)

    def _print(self, source: Source, rows: list[str]) -> None:
        lead = f"{_name(source)} | " if source.subagent is not None else ""
        lines = [f"{lead}{row}".rstrip() for row in rows]
        self.pieces.append(("\n".join(lines) + "\n").encode("utf-8", "replace"))

    def next_session(self, path: Path, twin_of: Path | None = None) -> None:
        """Another session follows: all of it is new. Or the same one goes on, and what was printed was printed."""
        self._whole = True
        what = "the next session:"
        if twin_of in self._printed:
            self._before[path], self._printed[path] = self._before.pop(twin_of), self._printed.pop(twin_of)
            what = "the session goes on in"
        self.pieces.append(f"\n== {what} {path_text(path)}\n".encode("utf-8", "replace"))

    def end(self, sources: Iterable[Source]) -> None:
        """Print what still waits."""
        for source in sources:
            path = source.follower.path
            for index in self._waiting.pop(path, []):
                self._printed[path].add(source.follower.session.messages.key[index])
                self._write(source, index)


def _is_unfinished(session: Session, index: int) -> bool:
    """Tell whether more will be added to a message, so that it would be printed half."""
    rows = session.messages
    if rows.exchange[index] != len(session.exchanges) - 1:
        # An answer ends where the next exchange begins; sums of what comes behind them end with the source.
        head = session.exchanges[rows.exchange[index]].start
        return bool(rows.flags[index] & Flag.GROWING) and rows.kind[head] == Kind.NOTE
    if rows.flags[index] & (Flag.PENDING | Flag.GROWING):
        return True
    return (
        session.is_printed
        and index == len(rows) - 1
        and rows.kind[index] in _GROWING
        and session.exchanges[-1].seconds is None  # else the source said that it is over
    )


def totals_lines(session: Session) -> bytes:
    """The last line for a stream that has ended: its tokens, in the words of an export's totals."""
    return f"\n- this session: {usage_line(session.usage(), format_exact)}\n".encode()


def _in_short(session: Session, index: int) -> str:
    """A message in a few words."""
    message = session.message(index)
    title = headline(message.tool, session.workspace_root).title if message.tool else message.text or message.label
    return one_line(title, 60) or message.kind.name.lower()


def _name(source: Source) -> str:
    subagent = source.subagent
    return one_line(subagent.name or subagent.id[:8], 30) if subagent is not None else ""


# -- a message, whole, in lines that a log can hold --------------------------------------------------------------------


def message_lines(session: Session, message: Message, most: int = OUTPUT_LINES) -> Iterator[str]:
    """The lines of a message, `most` of what a tool put out; an empty line stands before what begins something new."""
    kind = message.kind
    if kind in USER_KINDS:
        when = "" if message.timestamp is None else f"{local_time(message.timestamp)} "
        yield ""
        first, *rest = (message.text or message.label).split("\n")
        yield f"{when}> {first}"
        yield from (" " * len(f"{when}> ") + row for row in rest)
    elif kind is Kind.TEXT:
        yield ""
        yield from aligned_tables(message.text).split("\n")
    elif kind is Kind.THINKING:
        if session.messages.repeats(message.index) and not message.text:
            return
        withheld = ", withheld by the provider" if message.flags & Flag.WITHHELD and not message.text else ""
        yield f"* thinking{withheld}"
        yield from _indented(message.text)
    elif message.tool is not None:
        yield from _tool_lines(session, message.tool, most)
    else:
        name = kind_name(kind)
        label = message.label if message.label.lower().startswith(name) else f"{name} {message.label}".strip()
        if message.figures:
            yield f"  {message.label}  {message.figures}"
            return
        yield f"- {label}"
        if message.text != message.label:
            yield from _cut(message.text, most if kind in (Kind.OUTPUT, Kind.ERROR) else _ASIDE_LINES)


def _tool_lines(session: Session, tool: Tool, most: int) -> Iterator[str]:
    line = headline(tool, session.workspace_root)
    yield f"* {line.title}" + (f"   {line.ending}" if line.ending else "")
    command = tool_command(tool)
    if command is not None and "\n" in command.strip():
        yield from _indented(command)
    for diff in tool.diffs:
        for hunk in diff.hunks:
            yield from ("    " + row for row in hunk.lines)
    if not tool.diffs:
        yield from _cut(tool.text, most)
    for image in tool.images:
        yield f"    {image.text}"


def _indented(text: str) -> Iterator[str]:
    if text:
        yield from ("    " + row for row in text.rstrip("\n").split("\n"))


def _cut(text: str, limit: int) -> Iterator[str]:
    """The text's first lines, indented, and how many more there are."""
    if not text.strip():
        return
    rows = text.rstrip("\n").split("\n")
    # One line more costs no more room than the line that counts it.
    shown = rows if len(rows) <= limit + 1 else rows[:limit]
    yield from ("    " + row for row in shown)
    if len(shown) < len(rows):
        yield f"    … {plural(len(rows) - len(shown), 'more line')}"

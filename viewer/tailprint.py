"""What `turnlog tail` writes for the changes of a session: text in which each message stands once, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from schemas.clean import one_line
from schemas.interchange.session_data_write import SessionDataWriter
from schemas.message import Flag
from schemas.session import Change, Op, Session
from viewer.followset import Source
from viewer.output import path_text
from viewer.tailtext import message_lines


class Printer(Protocol):
    """Gathers what is to be written in `pieces`; whoever writes it empties them."""

    pieces: list[bytes]

    def take(self, source: Source, changes: list[Change]) -> None:
        """What changed in a session."""
        ...

    def next_session(self, path: Path) -> None:
        """Another session follows on the one before."""
        ...

    def end(self, sources: Iterable[Source]) -> None:
        """No more will come of these."""
        ...


def begin(source: Source, whole: bool) -> set[int]:
    """The keys of messages that are not printed, since they had been there before: all but the last exchange's."""
    session = source.follower.session
    rows, spans = session.messages, session.spans
    if source.skip:
        return {rows.key[i] for i in range(len(rows)) if next(spans.chain(rows.span[i])).offset < source.skip}
    if source.subagent is None and not whole and session.exchanges:
        return set(rows.key[: session.exchanges[-1].start])
    return set()


def touched(session: Session, changes: list[Change]) -> Iterable[int]:
    """The messages that a batch of changes is about, each once; all of them after a restart."""
    if any(change.op is Op.RESTARTED for change in changes):
        return range(len(session.messages))
    return dict.fromkeys(change.message for change in changes if change.op is not Op.REMOVED)


class JsonPrinter:
    """A line a change. The lines of a subagent have a key more than those of the session: its id."""

    def __init__(self, whole: bool) -> None:
        self.pieces: list[bytes] = []
        self._whole = whole
        self._before: dict[Path, set[int]] = {}
        self._printed: dict[Path, set[int]] = {}
        self._writers: dict[Path, SessionDataWriter] = {}

    def take(self, source: Source, changes: list[Change]) -> None:
        """What changed in a session."""
        session, path = source.follower.session, source.follower.path
        restarted = path in self._printed and any(change.op is Op.RESTARTED for change in changes)
        if path not in self._printed:
            self._before[path], self._printed[path] = begin(source, self._whole), set()
        before, printed = self._before[path], self._printed[path]
        if restarted:
            self._line(source, "restarted", None, None)
        for change in changes:
            if change.op is Op.REMOVED:
                self._message(source, "removed", change.message)
        for index in touched(session, changes):
            key = session.messages.key[index]
            if key in before:
                continue
            if key not in printed:
                printed.add(key)
                self._message(source, "appended", index)
            elif not restarted:
                self._message(source, "updated", index)

    def _message(self, source: Source, change: str, index: int) -> None:
        session = source.follower.session
        exchange = session.exchanges[session.messages.exchange[index]]
        self._line(source, change, exchange.id, self._writer(source).message(session.message(index)))

    def _line(self, source: Source, change: str, exchange: str | None, message: dict[str, Any] | None) -> None:
        value: dict[str, Any] = {"change": change, "exchangeId": exchange, "message": message}
        if source.subagent is not None:
            value["subagent"] = source.subagent.id
        self.pieces.append(self._writer(source).dump(value) + b"\n")

    def _writer(self, source: Source) -> SessionDataWriter:
        path, session = source.follower.path, source.follower.session
        writer = self._writers.get(path)
        if writer is None or writer.session is not session:
            writer = self._writers[path] = SessionDataWriter(session)
        return writer

    def next_session(self, path: Path) -> None:
        """Another session follows: all of it is new."""
        self._whole = True
        self.pieces.append(b'{"change":"restarted","exchangeId":null,"message":null}\n')

    def end(self, sources: Iterable[Source]) -> None:
        """Nothing is held back."""


class TextPrinter:
    """Each message as text, once. A tool use waits for its result, until its exchange or the program ends."""

    def __init__(self, whole: bool) -> None:
        self.pieces: list[bytes] = []
        self._whole = whole
        self._printed: dict[Path, set[int]] = {}
        self._waiting: dict[Path, list[int]] = {}

    def take(self, source: Source, changes: list[Change]) -> None:
        """What changed in a session."""
        session, path = source.follower.session, source.follower.path
        if path not in self._printed:
            self._printed[path] = begin(source, self._whole)
        rows, printed, waiting = session.messages, self._printed[path], self._waiting.pop(path, [])
        if any(change.op is Op.RESTARTED for change in changes):
            waiting = []
        still: list[int] = []
        for index in dict.fromkeys((*waiting, *touched(session, changes))):
            if rows.key[index] in printed:
                continue
            if rows.flags[index] & Flag.PENDING and rows.exchange[index] == len(session.exchanges) - 1:
                still.append(index)
            else:
                printed.add(rows.key[index])
                self._write(source, index)
        self._waiting[path] = still

    def _write(self, source: Source, index: int) -> None:
        session = source.follower.session
        lead = f"{_name(source)} | " if source.subagent is not None else ""
        rows = list(message_lines(session, session.message(index)))
        if lead and not rows[0]:
            del rows[0]
        lines = [f"{lead}{row}".rstrip() for row in rows]
        self.pieces.append(("\n".join(lines) + "\n").encode("utf-8", "replace"))

    def next_session(self, path: Path) -> None:
        """Another session follows: all of it is new."""
        self._whole = True
        self.pieces.append(f"\n== the next session: {path_text(path)}\n".encode("utf-8", "replace"))

    def end(self, sources: Iterable[Source]) -> None:
        """Print what still waits for its result."""
        for source in sources:
            for index in self._waiting.pop(source.follower.path, []):
                self._write(source, index)


def _name(source: Source) -> str:
    subagent = source.subagent
    return one_line(subagent.name or subagent.id[:8], 30) if subagent is not None else ""

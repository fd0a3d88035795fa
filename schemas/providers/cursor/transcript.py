"""Cursor's transcripts (formats notes 3.3 to 3.5): lines of JSON with neither ids nor, but for the prompts', times.

A message is called by where it lies, `<uuid>:<byte offset>`. What most transcripts never tell is in `Session.lacks`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from schemas.clean import one_line
from schemas.message import Flag, Kind, Message, SpanRole
from schemas.provider import HEAD_BYTES, Reading, read_head
from schemas.providers.cursor.blocks import Piece, line_of
from schemas.providers.cursor.children import Children
from schemas.providers.cursor.locate import PROVIDER_ID, PROVIDER_NAME, slug_at
from schemas.providers.cursor.results import Outcome
from schemas.providers.cursor.told import detect_text
from schemas.providers.cursor.tools import SPAWNS, tool_name, tool_type
from schemas.providers.cursor.transcript_build import Lines, build, outcome_of, size_of, use_id, use_of
from schemas.providers.cursor.workspace import resolve_slug
from schemas.reading import LinesReading, open_file
from schemas.records import JsonLines, Record
from schemas.session import Change, Lack, Op, Session

_EVER_LACKING = frozenset(Lack)
_MOST_WAITING = 500
"""Tool uses at one time; looking through more of them for each result would take for ever."""


class TranscriptParser:
    """Turns the lines of a transcript into a session."""

    def __init__(self, path: Path) -> None:
        self.session = Session(PROVIDER_ID, PROVIDER_NAME, path, path.stem)
        self.session.lacks = _EVER_LACKING
        self.session.build = self._build
        if slug := slug_at(path):
            self.session.workspace_root = one_line(resolve_slug(slug), 4096)
        if path.parent.name == "subagents":
            self.session.lineage.parent = one_line(path.parent.parent.name, 300)
            self.session.lineage.agent_id = self.session.id
        self.results: dict[int, int] = {}
        """For each tool use with a result: which piece of the second record of its chain that is."""
        self.tasks: dict[int, dict[str, Any]] = {}
        """The inputs of the tool uses that start subagents."""
        self._children = Children(self.session, self.tasks)
        self._lines = Lines()
        self._told: set[Lack] = set()
        self._root_told = False
        self._time: float | None = None
        self._running: dict[int, None] = {}
        """Tool uses behind which nothing stands yet."""
        self._waiting: dict[int, str] = {}
        """Tool uses, one after the other, whose results may follow, and their names."""
        self._answered = False
        self._by_id: dict[str, int] = {}
        self._by_call: dict[int, int] = {}
        self._touched: set[int] = set()

    def _build(self, session: Session, index: int) -> Message:
        return build(session, index, self._lines, self.results)

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records, in the file's order; returns what changed."""
        before = len(self.session.messages)
        self._touched.clear()
        for record in records:
            self._take(record)
        self.session.lacks = _EVER_LACKING - self._told
        changes = [Change(Op.UPDATED, i) for i in sorted(self._touched) if i < before]
        return changes + [Change(Op.APPENDED, i) for i in range(before, len(self.session.messages))]

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file: the title that Cursor gave it, and its subagents."""
        return [Change(Op.UPDATED, index) for index in self._children.look()]

    def _take(self, record: Record) -> None:
        line = line_of(record[3])
        self._by_call.clear()
        if any(not piece.is_end for piece in line.pieces):
            self._settle()  # an end tells itself how the running uses ended
        if line.role == "user" and (line.time is not None or any(p.kind is Kind.PROMPT for p in line.pieces)):
            self._time = line.time
            if line.time is not None:
                self._told.add(Lack.TIMES)
        if line.workspace and not self._root_told:
            self._root_told, self.session.workspace_root = True, line.workspace
        shown = False
        for number, piece in enumerate(line.pieces):
            if piece.is_result:
                self._result(record, number, piece)
            elif piece.is_end:
                shown |= self._end(record, number, piece)
                continue
            else:
                self._add(record, number, piece)
            shown = True
        if not shown:
            only_end = any(piece.is_end for piece in line.pieces)
            self.session.hidden["turn_ended" if only_end else f"{one_line(line.role, 40)} without content"] += 1

    # -- messages ------------------------------------------------------------------------------------------------------

    def _add(self, record: Record, number: int, piece: Piece) -> int:
        """A message; its time is that of the prompt before it."""
        session = self.session
        if piece.kind is Kind.PROMPT:
            self._open(piece)
        chars, lines = size_of(piece.text)
        key = record[0] << 16 | number
        index = session.add_message(piece.kind, key, record, block=number, time=self._time, chars=chars, lines=lines)
        # Exact to the minute, and the same for all of an exchange: that says nothing of how long it took.
        session.exchanges[-1].ended = None
        if piece.kind is Kind.PROMPT:
            session.mark_opener(index)
        elif piece.kind is Kind.TOOL:
            self._use(index, piece.data)
        elif piece.kind is Kind.THINKING:
            if piece.text.strip():
                self._told.add(Lack.THINKING)
            else:
                session.messages.flags[index] |= Flag.WITHHELD
        elif piece.kind is Kind.UNKNOWN:
            session.unknown[piece.label] += 1
        return index

    def _open(self, piece: Piece) -> None:
        prompt = piece.text or " ".join(image.text for image in piece.images)
        self.session.open_exchange(Kind.PROMPT, prompt)
        if not self.session.title:
            self.session.title = one_line(prompt, 200)
        self._waiting.clear()
        self._by_id.clear()

    def _use(self, index: int, block: dict[str, Any]) -> None:
        if self._answered:  # results came: those that stayed without one will not get any
            self._waiting.clear()
            self._answered = False
        self._running[index] = None
        name, given = use_of(block)
        self._waiting[index] = name
        if len(self._waiting) > _MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self.session.messages.flags[index] |= Flag.PENDING
        if name in SPAWNS:
            self.session.messages.flags[index] |= Flag.SUBAGENT
            self.tasks[index] = given if isinstance(given, dict) else {}
        if identifier := use_id(block):
            self._by_id[identifier] = index
        if isinstance(call := block.get("call"), int):
            self._by_call[call] = index

    def _settle(self, *, interrupted: bool = False) -> None:
        """Something follows, so the tool uses before it are over, even if nobody tells their results."""
        flags = self.session.messages.flags
        for index in self._running:
            flags[index] &= ~Flag.PENDING
            if interrupted:
                flags[index] |= Flag.INTERRUPTED
            self._touched.add(index)
        self._running.clear()

    def _end(self, record: Record, number: int, piece: Piece) -> bool:
        """The end of a turn; whether there is something to see of it."""
        interrupted = piece.kind is Kind.INTERRUPT
        self._settle(interrupted=interrupted)
        if piece.kind is Kind.NOTE:
            return False
        index = self._add(record, number, piece)
        exchange = self.session.exchanges[-1]
        if interrupted:
            exchange.interrupted = True
        else:
            exchange.errors += 1
            self.session.messages.flags[index] |= Flag.ERROR
        return True

    # -- results -------------------------------------------------------------------------------------------------------

    def _result(self, record: Record, number: int, piece: Piece) -> None:
        """A result joins its tool use; one whose use is not known is a message of its own."""
        outcome = outcome_of(piece.data)
        self._told.add(Lack.RESULTS)
        index = self._use_of(piece.data)
        if index is None:
            self._add(record, number, piece._replace(text=outcome.text))
            return
        session = self.session
        session.spans.extend(session.messages.span[index], session.add_span(record, SpanRole.RESULT))
        session.messages.chars[index], session.messages.lines[index] = size_of(outcome.text)
        self.results[index] = number
        self._mark(index, outcome)
        self._running.pop(index, None)
        self._waiting.pop(index, None)
        self._touched.add(index)

    def _mark(self, index: int, outcome: Outcome) -> None:
        messages = self.session.messages
        flags = Flag(messages.flags[index]) & ~Flag.PENDING
        if outcome.denied or outcome.interrupted:
            flags |= Flag.INTERRUPTED
        elif outcome.failed or outcome.exit_code:
            flags |= Flag.ERROR
            self.session.exchanges[messages.exchange[index]].errors += 1
        messages.flags[index] = flags

    def _use_of(self, block: dict[str, Any]) -> int | None:
        """The tool use that a result belongs to: by its id, its name, or as the first that still waits."""
        self._answered = True
        if isinstance(call := block.get("call"), int):
            return self._by_call.pop(call, None)
        if identifier := use_id(block):
            return self._by_id.pop(identifier, None)
        named = block.get("name", block.get("toolName"))
        wanted = tool_name(named) if isinstance(named, str) and named else ""
        for index, name in self._waiting.items():
            if wanted and name != wanted:
                continue
            if block.get("type") != "command_output" or tool_type(name) == "shell":
                return index
        return None


def open_transcript(path: Path, start: int = 0) -> Reading:
    """Begin to read a transcript, of lines or in text. Raises OSError."""
    store = open_file(path)
    data = store.read(0, HEAD_BYTES)
    if detect_text(read_head(path, data, whole=len(data) < HEAD_BYTES)) or (not data.strip() and path.suffix == ".txt"):
        from schemas.providers.cursor.legacy import TextReading

        store.close()
        return TextReading(path)
    return LinesReading(store, TranscriptParser(path), start)


def transcript_records(path: Path) -> list[dict[str, Any]]:
    """The records of a transcript; those of a text have the same form as lines. Raises OSError."""
    data = path.read_bytes()
    if detect_text(read_head(path, data[:HEAD_BYTES], whole=len(data) < HEAD_BYTES)):
        from schemas.providers.cursor.legacy import text_records

        return text_records(data)
    lines = JsonLines()
    return [record[3] for record in (*lines.push(data), *lines.finish())]

"""Which run a record of a stream belongs to (`streams` note 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from schemas.clean import as_json, clean, clean_styled, one_line
from schemas.message import Flag, Kind, Message, Part, SpanRole, ToolStatus
from schemas.providers.streams.detect import MOST_BYTES, MOST_OBJECTS, Told, told_by
from schemas.providers.streams.stream import Run, Stream, Value, latest
from schemas.records import Record
from schemas.session import Change, Lack, Session
from schemas.table import NONE

NOT_ENDED = "no end marker"
_PLAIN_LINES = 500
"""Lines of plain output in one message."""


class StreamParser:
    """Fills a session from what an agent prints; see `schemas.provider.Parser`."""

    def __init__(self, session: Session, clock: Callable[[], float] | None = None) -> None:
        self.session = session
        session.build = self.build
        session.metadata["source"] = "stream"
        self.stream = Stream(session)
        self.stream.clock = clock
        self._run: Run | None = None
        self._told: Told | None = None
        self._runs: dict[tuple[Told, str], Run] = {}
        self._waiting: list[tuple[Record, Told | None]] = []
        self._waiting_bytes = 0
        self._plain = -1
        self._last: Record | None = None

    # -- reading -------------------------------------------------------------------------------------------------------

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records, in the stream's order; returns what changed."""
        self.stream.begin_batch()
        for record in records:
            self._last = (*record[:3], {})
            self._take(record)
        self._summarise()
        return self.stream.end_batch()

    def refresh(self) -> list[Change]:
        """Nothing lies beside a stream."""
        return []

    def _take(self, record: Record) -> None:
        told = told_by(record[3])
        if told is Told.ON_DISK:
            told = None
        if self._told is None:
            self._wait(record, told)
        elif record[3]:
            self._deliver(record, told)
        else:
            self._take_plain(record)

    def _wait(self, record: Record, told: Told | None) -> None:
        """No object has told yet who prints. What comes until then is kept back, but for text before any object."""
        if not record[3] and not self._waiting:
            self._take_plain(record)
            return
        self._waiting.append((record, told))
        self._waiting_bytes += record[1]
        if told is not None and told is not Told.WEAK_CODEX:
            self._decide(told)
        elif len(self._waiting) >= MOST_OBJECTS or self._waiting_bytes >= MOST_BYTES:
            self._give_up()

    def _give_up(self) -> None:
        """Nothing better will be waited for than an error that Codex may have printed."""
        if any(told is Told.WEAK_CODEX for _, told in self._waiting):
            self._decide(Told.CODEX)
            return
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for record, _ in waiting:
            if record[3]:
                self._unknown(record)
            else:
                self._take_plain(record)

    def _decide(self, told: Told) -> None:
        """It is known who prints: what was kept back is theirs."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        identifier = next((i for record, other in waiting if other is told and (i := _id_of(told, record[3]))), "")
        self._switch(told, identifier, waiting[0][0])
        for record, other in waiting:
            if record[3]:
                self._deliver(record, other)
            else:
                self._take_plain(record)

    def _deliver(self, record: Record, told: Told | None) -> None:
        """Give a record to its run, which is another one when the record says so."""
        value = record[3]
        if told is not None and told is not Told.WEAK_CODEX:
            identifier = _id_of(told, value)
            run = self._run
            if run is None or told is not self._told or (identifier and identifier != run.id):
                self._switch(told, identifier, record)
        assert self._run is not None
        self._run.take(record, value)

    def _switch(self, told: Told, identifier: str, record: Record) -> None:
        """Another run goes on, or begins."""
        if not identifier:  # the format names its session once: it is the latest of that format
            identifier = next((i for kind, i in reversed(self._runs) if kind is told), "")
        self._told = told
        run = self._runs.get((told, identifier))
        if run is None:
            run = run_class(told)(self.stream, identifier, len(self.stream.runs))
            if self.stream.runs:
                self.stream.note(record, f"{run.title} begins")
                self.session.lacks &= run.lacks
            else:
                self._adopt(run)
            self.stream.runs.append(run)
        else:
            del self._runs[told, identifier]  # put at the end again: the latest comes last
        self._runs[told, identifier] = run
        self._run = run

    def _adopt(self, run: Run) -> None:
        """The first run gives the session its name."""
        session = self.session
        session.provider, session.provider_name = run.provider, run.name
        session.lacks = run.lacks - {Lack.TIMES} if self.stream.clock is not None and not run.stamped else run.lacks
        if run.id:
            session.id = one_line(run.id, 300)
            for exchange in session.exchanges:
                exchange.id = f"{session.id}:{exchange.index}"

    # -- what no run said ----------------------------------------------------------------------------------------------

    def _take_plain(self, record: Record) -> None:
        """Text that some program printed between the events; neighbouring lines are one message."""
        stream, messages = self.stream, self.session.messages
        row = self._plain
        if row >= 0 and row == len(messages) - 1 and messages.lines[row] < _PLAIN_LINES:
            stream.extend(row, record, SpanRole.BODY)
        else:
            row = self._plain = stream.add(None, Kind.NOTE, record, f"plain@{record[0]}", 0, None)
        messages.chars[row] += record[1]
        messages.lines[row] += 1

    def _unknown(self, record: Record) -> None:
        kind = record[3].get("type")
        self.session.unknown[one_line(kind if isinstance(kind, str) and kind else "(no type)", 100)] += 1
        row = self.stream.add(None, Kind.UNKNOWN, record, f"@{record[0]}", 0, None)
        self.session.messages.chars[row], self.session.messages.lines[row] = record[1], 1

    # -- the end -------------------------------------------------------------------------------------------------------

    def finish(self, records: Iterable[Record], cut: Record | None) -> list[Change]:
        """The last records, and where a line that was cut off begins: no more will come."""
        self.stream.begin_batch()
        self.stream.closed = True
        for record in records:
            self._last = (*record[:3], {})
            self._take(record)
        if self._waiting:
            self._give_up()
        self.stream.growing.end_all()
        if cut is not None:
            self.stream.note(cut, "stream cut off: the last line is unfinished")
        elif self._last is not None:
            several = len(self.stream.runs) > 1
            for run in self.stream.runs:
                if reason := run.finish():
                    self.stream.note(self._last, f"{run.title}: {reason}" if several else reason)
        self._summarise()
        return self.stream.end_batch()

    def _summarise(self) -> None:
        """Say in the session how the stream ended so far."""
        runs = self.stream.runs
        if runs:
            self.session.metadata["ended"] = next((NOT_ENDED for run in runs if not run.ended), runs[-1].ended)

    # -- making messages -----------------------------------------------------------------------------------------------

    def build(self, session: Session, index: int) -> Message:
        """A message from its records, made by the run that said it."""
        stream, table = self.stream, session.messages
        group, kind = table.group[index], table.kind_of(index)
        message = Message(
            index,
            stream.ids[index],
            kind,
            table.exchange[index],
            table.when(index),
            session.model_of(index),
            group=session.groups.ids[group] if group != NONE else None,
            flags=Flag(table.flags[index]),
        )
        if (label := stream.labels.get(index)) is not None:
            message.label = label
            return message
        if (text := stream.growing.text(index)) is not None:
            first = next(session.spans.chain(table.span[index]))
            stream.runs[stream.owner[index]].build_growing(message, first, text)
            return message
        spans = session.message_spans(index)
        if kind is Kind.UNKNOWN:
            _build_unknown(message, session.record(latest(spans)), session.raw(latest(spans)))
        elif (owner := stream.owner[index]) < 0:
            _build_plain(message, b"\n".join(session.raw(span) for span in spans))
        else:
            run = stream.runs[owner]
            run.build(message, spans)
            pending = message.tool is not None and message.tool.status is ToolStatus.PENDING
            if pending and stream.closed and not run.ended:
                message.metadata["ending"] = "stream ended"
        return message


def _build_plain(message: Message, raw: bytes) -> None:
    message.label = "plain output"
    text, runs = clean_styled(raw.decode("utf-8", "replace"))
    message.parts = [Part("text", text, runs=runs)] if text else []


def _build_unknown(message: Message, value: Value, raw: bytes) -> None:
    """Its text is the record."""
    kind = value.get("type")
    message.label = one_line(kind if isinstance(kind, str) and kind else "record without a type", 120)
    text = as_json(value) if value else raw.decode("utf-8", "replace")
    message.parts = [Part("text", clean(text))]


def _id_of(told: Told, value: Value) -> str:
    """The session that an object names as its own; empty where its format names it elsewhere."""
    if told is Told.CODEX:
        found = value.get("thread_id") if value.get("type") == "thread.started" else None
    else:
        found = value.get("session_id")
    return found if isinstance(found, str) else ""


def run_class(told: Told) -> type[Run]:
    """The class of a format's runs."""
    match told:
        case Told.OLD_CODEX:
            from schemas.providers.streams.codex_old import OldCodexRun

            return OldCodexRun
        case _:
            from schemas.providers.streams.codex import CodexRun

            return CodexRun


def new_session(path: Path) -> Session:
    """An empty session; who printed it is told by its first event."""
    return Session("streams", "Agent stream", path, path.stem)

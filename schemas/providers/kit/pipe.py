"""The output of agents at work, live or saved: one session, filled by one run or several (formats/streams.md 1).

A pipe may carry several runs, and between their records plain text. Each run has a reader; all fill one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from schemas.clean import clean_styled, one_line
from schemas.message import Kind, Message, Part, ToolStatus
from schemas.provider import beginning
from schemas.providers.kit.bases import Data, Stream
from schemas.providers.kit.messages import BODY
from schemas.providers.kit.reader import Reader
from schemas.providers.kit.words import Item, Say
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import UNFINISHED, FileStore, Record, read_document, read_record
from schemas.session import Change, Op, Session
from schemas.troubles import guarded

MOST_RECORDS, MOST_BYTES = 200, 1 << 20
"""How far to look for a record that tells who prints."""
NOT_ENDED = "no end marker"
_PLAIN_LINES = 500
"""Lines of plain output in one message."""


class _Nobody(Stream):
    """The agent for output that no agent claims: plain text, and unknown records."""

    id = "streams"
    name = "Agent stream"

    def prints(self, record: Data) -> bool:
        return False

    def read(self, record: Data) -> Iterable[Item]:
        yield Say(Kind.UNKNOWN)


class Run:
    """One run of an agent."""

    def __init__(self, agent: Stream, name: str, reader: Reader) -> None:
        self.agent, self.id, self.reader = agent, name, reader
        self.spoke = False
        """Whether it has added a message."""

    @property
    def title(self) -> str:
        """The agent and its session, for notes."""
        return f"{self.agent.name} {one_line(self.id, 100)}".strip()


class Pipe:
    """Fills a session with what agents print; a `schemas.provider.Parser`."""

    def __init__(self, agents: Sequence[Stream], path: Path, session: Session | None = None) -> None:
        self.agents = agents
        self.clock: Callable[[], float] | None = None
        """Set while a live pipe is read: the time of arrival, for what tells no times of its own."""
        nobody = _Nobody()
        self._session = session or Session(nobody.id, nobody.name, path, path.stem)
        self._nobody = Run(nobody, "", Reader(nobody, self._session))
        self._nobody.reader.talk.turn = False
        self._nobody.reader.talk.before = partial(self._speak, self._nobody)
        self._session.build, self._session.build_bare = self._build, None
        self._session.metadata["source"] = "stream"
        self._runs: dict[tuple[str, str], Run] = {}
        """By the agent and the session; that which spoke last comes last."""
        self._current = self._speaking = self._nobody
        self._owners: list[Run] = []
        """The run of each message."""
        self._plain: set[int] = set()
        """The messages that are plain text."""
        self._waiting: list[Record] = []
        self._last: Record | None = None
        self._closed = False

    @property
    def session(self) -> Session:
        """The session that is filled."""
        return self._session

    @session.setter
    def session(self, session: Session) -> None:
        self._session = session
        for run in (self._nobody, *self._runs.values()):
            run.reader.session = session

    def feed(self, records: Iterable[Record], store: int = 0) -> list[Change]:
        """Take more records, in the order in which they were printed; returns what changed."""
        first = self._begin()
        for record in records:
            self._take(record)
        return self._changes(first)

    def finish(self, records: Iterable[Record], cut: Record | None = None) -> list[Change]:
        """Take the last records, and where a line that was cut off begins: no more will come."""
        first = self._begin()
        self._closed = True
        for record in records:
            self._take(record)
        if self._waiting:
            self._give_up()
        for run in self._runs.values():
            for reader in (run.reader, *run.reader.children.values()):
                reader.talk.stop_growing()
            run.reader.rows.changed.update(run.reader.uses.open)  # what ended them is said with them now
        if cut is not None:
            self._note(cut, "stream cut off: the last line is unfinished")
        elif self._last is not None:
            for run in list(self._runs.values()):
                if run.agent.unended and not run.reader.talk.ended:
                    self._note(self._last, f"{run.title}: " * (len(self._runs) > 1) + run.agent.unended)
        return self._changes(first)

    def refresh(self) -> list[Change]:
        """Look for what the runs say of other sessions: nothing of these lies beside a stream."""
        return []

    def _begin(self) -> int:
        self._nobody.reader.rows.changed.clear()
        return len(self.session.messages)

    def _changes(self, first: int) -> list[Change]:
        for run in self._runs.values():
            run.reader.settle()
        if self._runs:
            ends = [run.reader.talk.ended for run in self._runs.values()]
            self.session.metadata["ended"] = NOT_ENDED if "" in ends else ends[-1]
        if len(self._runs) > 1:
            self.session.metadata["runs"] = len(self._runs)
        changed = self._nobody.reader.rows.changed
        changes = [Change(Op.UPDATED, row) for row in sorted(changed) if row < first]
        return changes + [Change(Op.APPENDED, row) for row in range(first, len(self.session.messages))]

    def _take(self, record: Record) -> None:
        self._last = (*record[:3], {})
        if self._current is not self._nobody or not (record[3] or self._waiting):
            self._deliver(record)
            return
        self._waiting.append(record)  # what comes before a record that tells who prints is that agent's
        if found := self._printer(record[3]):
            self._decide(*found)
        elif len(self._waiting) >= MOST_RECORDS or sum(one[1] for one in self._waiting) >= MOST_BYTES:
            self._give_up()

    def _give_up(self) -> None:
        """Take what may be an agent's for that, where nothing better came; else it is nobody's."""
        records = [record[3] for record in self._waiting if record[3]]
        self._decide(next((agent for agent in self.agents if any(map(agent.may_print, records))), None))

    def _decide(self, agent: Stream | None, name: str = "") -> None:
        waiting, self._waiting = self._waiting, []
        if agent is not None:
            names = (agent.run_of(record[3]) for record in waiting if agent.prints(record[3]))
            self._switch(agent, name or next(filter(None, names), ""), waiting[0])
        for record in waiting:
            self._deliver(record)

    def _printer(self, record: Data) -> tuple[Stream, str] | None:
        """The agent that prints such a record, and its session as far as the record names it."""
        current = self._current.agent
        name = current.run_of(record)
        if name and name == self._current.id:  # a line of a run that lacks what tells its agent
            return current, name
        if current.prints(record) or current.may_print(record):
            return current, name
        agent = next((agent for agent in self.agents if agent.prints(record)), None)
        return (agent, agent.run_of(record)) if agent is not None else None

    def _deliver(self, record: Record) -> None:
        """Give a record to its run, which is another one where the record says so; plain text is nobody's."""
        if not record[3]:
            self._take_plain(record)
            return
        if (found := self._printer(record[3])) is not None:
            agent, name = found
            if agent is not self._current.agent or (name and name != self._current.id):
                self._switch(agent, name, record)
        self._current.reader.take(record)

    def _switch(self, agent: Stream, name: str, record: Record) -> None:
        """Another run begins or goes on. Where its record names no session it is the latest of its agent."""
        if not name:
            name = next((run.id for run in reversed(self._runs.values()) if run.agent is agent), "")
        run = self._runs.pop((agent.id, name), None)
        if run is None:
            run = Run(agent, name, Reader(agent, self.session, beside=self._nobody.reader))
            run.reader.talk.before = partial(self._speak, run)
            if self._runs:
                self._note(record, f"{run.title} begins")
                self.session.lacks &= agent.lacks
                if all(one.agent.name != agent.name for one in self._runs.values()):
                    self.session.provider_name += f" and {agent.name}"
            else:
                self._name(run)
            run.reader.clock = self.clock
        self._runs[agent.id, name] = self._current = run

    def _name(self, run: Run) -> None:
        """Let the first run give the session its name."""
        session, agent = self.session, run.agent
        session.provider, session.provider_name = agent.id, agent.name
        session.lacks = agent.lacks
        if run.id:
            session.id = one_line(run.id, 300)
            for exchange in session.exchanges:
                exchange.id = f"{session.id}:{exchange.index}"

    def _speak(self, run: Run, record: Record) -> None:
        """Note whose the next message is, and say so where another run spoke since."""
        speaking = self._speaking
        if run is not self._nobody and run is not speaking:
            self._speaking = run
            if run.spoke and speaking is not self._nobody:
                self._note(record, f"{run.title} goes on")
                run.reader.rows.first += run.reader.rows.first == len(self._owners) - 1  # the note is not the record's
            run.spoke = True
        self._owners.append(run)

    def _note(self, record: Record, label: str) -> None:
        note = Say(Kind.NOTE, label=one_line(label, 300), id=f"note@{record[0]}:{len(self._owners)}")
        self._nobody.reader.rows.begin(None, False)
        self._nobody.reader.talk.add(record, -1, note)

    def _take_plain(self, record: Record) -> None:
        """A line of text; neighbours make one message."""
        messages, rows = self.session.messages, self._nobody.reader.rows
        rows.begin(None, False)
        row = len(messages) - 1
        if row in self._plain and messages.lines[row] < _PLAIN_LINES:
            rows.extend(row, record, 0, BODY)
        else:
            row = self._nobody.reader.talk.add(record, 0, Say(Kind.NOTE, id=f"plain@{record[0]}"))
            self._plain.add(row)
        messages.chars[row] += record[1]
        messages.lines[row] += 1

    def _build(self, session: Session, index: int) -> Message:
        """A message, made by the run that said it."""
        run = self._owners[index]
        message = run.reader.build(session, index)
        if index in self._plain:
            raw = b"\n".join(session.raw(span) for span in session.message_spans(index))
            text, runs = clean_styled(raw.decode("utf-8", "replace"))
            message.label, message.parts = "plain output", [Part("text", text, runs=runs)] if text else []
        elif self._closed and message.tool is not None and message.tool.status is ToolStatus.PENDING:
            message.metadata |= {} if run.reader.talk.ended else {"ending": "stream ended"}
        return message


class Printed(LinesReading):
    """The reading of agents' output, lines and plain text; it has an end."""

    parser: Pipe

    def __init__(self, store: FileStore, parser: Pipe, start: int = 0) -> None:
        super().__init__(store, parser, start, plain=True)

    @guarded()
    def finish(self) -> list[Change]:
        """The pipe is closed: take what waits for its newline, and say what stays unfinished."""
        records, unreadable = self.lines.finish(), self.session.unreadable
        cut: Record | None = None
        if unreadable and unreadable[-1].reason == UNFINISHED:
            last = unreadable[-1]
            cut = (last.offset, last.length, last.line, {})
        return self.parser.finish(records, cut)


def open_printed(agents: Sequence[Stream], path: Path, start: int = 0) -> Printed | DocumentReading:
    """Begin to read what agents printed, or the one JSON value that one printed at its end. Raises OSError."""
    store = open_file(path)
    if not start and is_document(store):
        store.close()
        events = partial(events_in, agents)
        return DocumentReading(path, lambda: Pipe(agents, path), events, lambda document: bool(events(document)))
    return Printed(store, Pipe(agents, path), start)


def is_document(store: FileStore) -> bool:
    """Return whether all of a file is one JSON value that is written over several lines, or a list."""
    head, _ = beginning(store.read)
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if first[:1] not in (b"{", b"[") or read_record(first.partition(b"\n")[0]):
        return False
    return read_document(store.read(0, store.stat().st_size)) is not None


def events_in(agents: Sequence[Stream], document: Any) -> list[Data]:
    """The events in one JSON value that is all of an output; none where no agent printed it."""
    items = document if isinstance(document, list) else [document]
    events = [item for item in items if isinstance(item, dict)]
    mine = any(agent.prints(event) for event in events for agent in agents)
    return events if mine and len(events) == len(items) else []


def is_printed(agents: Sequence[Stream], records: Sequence[Data], document: Any) -> bool:
    """Return whether a file begins as what one of the agents prints."""
    if document is not None and not records:
        return bool(events_in(agents, document))
    records = records[:MOST_RECORDS]
    if any(agent.is_kept(record) for record in records for agent in agents):
        return False
    if any(agent.prints(record) for record in records for agent in agents):
        return True
    return bool(records) and any(all(map(agent.may_print, records)) for agent in agents)

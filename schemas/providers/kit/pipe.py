"""The output of agents at work, live or saved: one session, filled by one run or several (formats/streams.md 1).

A pipe may carry several runs, and between their records plain text. Each is a reader; all fill one session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from schemas.clean import clean_styled, one_line
from schemas.message import Kind, Message, Part, ToolStatus
from schemas.provider import beginning
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.bases import Data, Stream
from schemas.providers.kit.messages import BODY
from schemas.providers.kit.reader import Reader
from schemas.providers.kit.words import Item, Say
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import UNFINISHED, FileStore, Record, read_document, read_record
from schemas.session import Change, Session
from schemas.troubles import guarded

MOST_RECORDS, MOST_BYTES = 200, 1 << 20
"""How far to look for a record that tells who prints."""
NOT_ENDED = "no end marker"
_PLAIN_LINES = 500
"""Lines of plain output in one message."""


class _Nobody(Agent):
    """The agent for output that no agent claims: plain text, and unknown records."""

    id = "streams"
    name = "Agent stream"

    def read(self, record: Data) -> Iterable[Item]:
        yield Say(Kind.UNKNOWN)


class Run(Reader):
    """One run of an agent, which fills the session of its pipe."""

    agent: Stream

    def __init__(self, agent: Stream, name: str, pipe: Pipe) -> None:
        super().__init__(agent, pipe.session, beside=pipe)
        self.id, self.clock = name, pipe.clock

    @property
    def title(self) -> str:
        """The agent and its session, for notes."""
        return f"{self.agent.name} {one_line(self.id, 100)}".strip()


class Pipe(Reader):
    """Fills a session with what agents print, and reads itself what no agent claims.

    `clock` is set while a live pipe is read: the time of arrival, for what tells no times of its own.
    """

    def __init__(self, agents: Sequence[Stream], path: Path) -> None:
        nobody = _Nobody()
        super().__init__(nobody, Session(nobody.id, nobody.name, path, path.stem))
        self.agents = agents
        self.talk.before = partial(self._speak, None)
        self.session.build, self.session.build_bare = self._build, None
        self.session.metadata["source"] = "stream"
        self._runs: dict[tuple[str, str], Run] = {}
        """By the agent and the session; that which spoke last comes last."""
        self._current: Run | None = None
        self._speaking: Run | None = None
        self._owners: list[Run | None] = []
        """The run of each message."""
        self._plain: set[int] = set()
        """The messages that are plain text."""
        self._waiting: list[Record] = []
        self._last: Record | None = None
        self._closed = False

    def finish(self, records: Iterable[Record]) -> list[Change]:
        """Take the last records, and say what stays unfinished: no more will come."""
        first = len(self.session.messages)
        self.rows.changed.clear()
        self._closed = True
        self._read(records)
        if self._waiting:
            self._give_up()
        for run in self._runs.values():
            for reader in (run, *run.children.values()):
                reader.talk.stop_growing()
            self.rows.changed.update(run.uses.open)  # what ended them is said with them now
        if (unread := self.session.unreadable) and unread[-1].reason == UNFINISHED:
            cut = unread[-1]
            self._note((cut.offset, cut.length, cut.line, {}), "stream cut off: the last line is unfinished")
        elif self._last is not None:
            for run in list(self._runs.values()):
                if run.agent.unended and not run.talk.ended:
                    self._note(self._last, f"{run.title}: " * (len(self._runs) > 1) + run.agent.unended)
        return self._changes(first)

    def settle(self) -> None:
        """After some records: what the runs say now, and how they ended."""
        for run in self._runs.values():
            run.settle()
        if self._runs:
            ends = [run.talk.ended for run in self._runs.values()]
            self.session.metadata["ended"] = NOT_ENDED if "" in ends else ends[-1]
        if len(self._runs) > 1:
            self.session.metadata["runs"] = len(self._runs)

    def _read(self, records: Iterable[Record]) -> None:
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        """Read a record or a line of text."""
        self._last = (*record[:3], {})
        if self._current is not None or not (record[3] or self._waiting):
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
        if (run := self._current) is not None:
            name = run.agent.run_of(record)
            # A line of a run may lack what tells its agent.
            if (name and name == run.id) or run.agent.prints(record) or run.agent.may_print(record):
                return run.agent, name
        agent = next((agent for agent in self.agents if agent.prints(record)), None)
        return (agent, agent.run_of(record)) if agent is not None else None

    def _deliver(self, record: Record) -> None:
        """Give a record to its run, which is another one where the record says so; plain text is nobody's."""
        if not record[3]:
            self._take_plain(record)
            return
        run = self._current
        if (found := self._printer(record[3])) is not None:
            agent, name = found
            if run is None or agent is not run.agent or (name and name != run.id):
                run = self._switch(agent, name, record)
        if run is None:
            super()._read((record,))
        else:
            run.take(record)

    def _switch(self, agent: Stream, name: str, record: Record) -> Run:
        """Another run begins or goes on. Where its record names no session it is the latest of its agent."""
        if not name:
            name = next((run.id for run in reversed(self._runs.values()) if run.agent is agent), "")
        run = self._runs.pop((agent.id, name), None)
        if run is None:
            run = Run(agent, name, self)
            run.talk.before = partial(self._speak, run)
            self._subjects.append(run)
            if self._runs:
                self._note(record, f"{run.title} begins")
                self.session.lacks &= agent.lacks
                if all(one.agent.name != agent.name for one in self._runs.values()):
                    self.session.provider_name += f" and {agent.name}"
            else:
                self._name(run)
        self._runs[agent.id, name] = self._current = run
        return run

    def _name(self, run: Run) -> None:
        """Let the first run give the session its name."""
        session, agent = self.session, run.agent
        session.provider, session.provider_name = agent.id, agent.name
        session.lacks = agent.lacks
        if run.id:
            session.id = one_line(run.id, 300)
            for exchange in session.exchanges:
                exchange.id = f"{session.id}:{exchange.index}"

    def _speak(self, run: Run | None, record: Record) -> None:
        """Note whose the next message is, and say so where another run spoke since."""
        if run is not None and run is not self._speaking:
            before, self._speaking = self._speaking, run
            if before is not None and run in self._owners:
                self._note(record, f"{run.title} goes on")
                run.rows.first += run.rows.first == len(self._owners) - 1  # the note is not the record's
        self._owners.append(run)

    def _note(self, record: Record, label: str) -> None:
        note = Say(Kind.NOTE, label=one_line(label, 300), id=f"note@{record[0]}:{len(self._owners)}")
        self.rows.begin(None, False)
        self.talk.add(record, -1, note)

    def _take_plain(self, record: Record) -> None:
        """A line of text; neighbours make one message."""
        messages, rows = self.session.messages, self.rows
        rows.begin(None, False)
        row = len(messages) - 1
        if row in self._plain and messages.lines[row] < _PLAIN_LINES:
            rows.extend(row, record, 0, BODY)
        else:
            row = self.talk.add(record, 0, Say(Kind.NOTE, id=f"plain@{record[0]}"))
            self._plain.add(row)
        messages.chars[row] += record[1]
        messages.lines[row] += 1

    def _build(self, session: Session, index: int) -> Message:
        """A message, made by the run that said it."""
        run = self._owners[index]
        message = (run or self).build(session, index)
        if index in self._plain:
            raw = b"\n".join(session.raw(span) for span in session.message_spans(index))
            text, runs = clean_styled(raw.decode("utf-8", "replace"))
            message.label, message.parts = "plain output", [Part("text", text, runs=runs)] if text else []
        elif self._closed and message.tool is not None and message.tool.status is ToolStatus.PENDING:
            message.metadata |= {} if (run or self).talk.ended else {"ending": "stream ended"}
        return message


class Printed(LinesReading):
    """The reading of agents' output, lines and plain text; it has an end."""

    parser: Pipe

    def __init__(self, store: FileStore, parser: Pipe, start: int = 0) -> None:
        super().__init__(store, parser, start, plain=True)

    @guarded()
    def finish(self) -> list[Change]:
        """The pipe is closed: take what waits for its newline, and say what stays unfinished."""
        return self.parser.finish(self.lines.finish())


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

"""A session: what one agent run left behind, as exchanges of messages with exact token totals.

The vocabulary is SessionData 1.0's. A session is filled by a provider's parser and read by everybody else; reading it
never changes it. The laws that everything relies on:

- Messages stand in the source's order, and each exchange is a run of neighbouring messages.
- A token group's total counts once, in the exchange in which the group ends; the sum over groups is the session's
  own total. Subagents are sessions of their own.
- Every message and group knows its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import CleanCounter, CleanDict, Cleaned, clean, one_line, set_number
from schemas.message import WORK_KINDS, Flag, Kind, Message, Part, Span, SpanRole, clean_message
from schemas.message import Lack as Lack
from schemas.records import MemoryStore, Record, Store, Unreadable
from schemas.table import NONE, GroupTable, MessageTable, SpanTable
from schemas.troubles import bug
from schemas.usage import TokenUsage


class Op(StrEnum):
    """The kind of change to a message while more of the source was read."""

    APPENDED = "appended"
    UPDATED = "updated"
    REMOVED = "removed"
    RESTARTED = "restarted"


class Change(NamedTuple):
    """One change of a session. RESTARTED has no message: everything was read anew.

    Where history is only added to, the session stays the same object, and APPENDED comes at its end. Where a source
    rewrites history, the reading's `session` is a new object afterwards: REMOVED counts in the old one, APPENDED
    (anywhere) and UPDATED in the new one. `schemas.changes.Seen` makes the list, REMOVED first, then the rest in order.
    """

    op: Op
    message: int = -1


class Inherited(NamedTuple):
    """A response that was copied from the session that this one was forked from: it is in no figure of this one."""

    group_id: str
    usage: TokenUsage
    model: str
    """Empty where the source names none."""
    time: float | None
    exchange: int
    span: int
    """Where its figures stand: the first of the records. NONE where nothing says."""


class Charged(NamedTuple):
    """The model, session and agent that a token group is charged to, in a source of many sessions and agents."""

    provider: str
    model: str
    session_id: str
    agent: str | None
    """The subagent that made the call."""
    tool_input: int
    tool_output: int
    """Tokens that tools read and wrote, which the group has in its input and output."""


@dataclass(slots=True)
class Exchange(Cleaned):
    """A prompt and everything up to the next one. Its messages are `start` to the next exchange's `start`."""

    index: int
    start: int
    opener: Kind | None
    """PROMPT or COMMAND; None for the preamble, which holds what came before the first prompt, and for what follows a
    rewind without a prompt (`prompt` then says so)."""
    id: str
    prompt: str = ""
    """The opener's text on one line, cut at 300 characters."""
    started: float | None = None
    ended: float | None = None
    """When the last thing was done for it: a message of `WORK_KINDS`, or a tool's result."""
    seconds: float | None = None
    """How long it ran, where the source says so itself."""
    tools: int = 0
    errors: int = 0
    rewound: bool = False
    interrupted: bool = False
    inherited: bool = False
    groups: list[int] = field(default_factory=list)
    model: int = 0

    @property
    def duration(self) -> float | None:
        """Seconds from its prompt to the last thing done for it, or what the source says: without the time in which
        nobody did anything, until a `/exit` came.
        """
        if self.seconds is not None:
            return self.seconds
        if self.started is None or self.ended is None or self.ended < self.started:
            return None
        return self.ended - self.started


@dataclass(slots=True)
class Subagent(Cleaned):
    """A run that a tool use started, a session of its own: in a file beside this one, or within it (`session`)."""

    id: str
    name: str = ""
    """Its type or nickname: `Explore`, `Confucius`."""
    description: str = ""
    path: Path | None = None
    """Its address (schemas/paths.py)."""
    session: Session | None = None
    tool_use: int | None = None
    """Index of the message whose tool started it; None when no link is recorded."""
    internal: bool = False
    """A helper of the agent's own program (compaction, review guard): counted, not listed."""
    exported_path: str = ""
    """Its file as a document names it, also where it does not lie there."""


@dataclass(slots=True)
class Lineage(Cleaned):
    """The origin of a session; ids of other sessions."""

    forked_from: str | None = None
    continues: str | None = None
    parent: str | None = None
    """The session whose tool use started this one."""
    agent_id: str | None = None


class Session(Cleaned):
    """One session. Parsers fill it through `add_*`; readers use the rest."""

    def __init__(self, provider: str, provider_name: str, path: Path, session_id: str) -> None:
        self.provider = provider
        self.provider_name = provider_name
        self.path = path
        """Its address (schemas/paths.py)."""
        self.key = ""
        """Which session of its source it is, where that holds many."""
        self.id = one_line(session_id, 300)  # often a file's name, which is text from outside like any other
        self.title = ""
        self.workspace_root: str | None = None
        self.branch: str | None = None
        self.version: str | None = None
        """Of the agent's program."""
        self.created: float | None = None
        self.updated: float | None = None
        self.context_window: int | None = None
        self.context_used: int | None = None
        """Tokens in the model's context after the last call; None when unknown."""
        self.models: list[str] = [""]
        """Model names in order of appearance; index 0 stands for "not said"."""
        self.messages = MessageTable()
        self.groups = GroupTable()
        self.spans = SpanTable()
        self.exchanges: list[Exchange] = []
        self.stores: list[Store] = []
        self.unreadable: list[Unreadable] = []
        self.exported_from = ""
        """The file that a document was made from, where it says so."""
        self.exported_unreadable = 0
        """How many of `unreadable`, the first ones, are places in that file and not in the session's own."""
        self.exported_records: dict[int, list[Any]] = {}
        """Where records of token groups lie in that file, by the group, as the document says it."""
        self.rounds: dict[int, str] = {}
        """Of token groups that are calls of one of the source's own groups, what that one is called."""
        self.unknown = CleanCounter()
        """Record types that nobody described, and how many of each."""
        self.hidden = CleanCounter()
        """Records of known types that hold nothing to read, and how many of each."""
        self.subagents: list[Subagent] = []
        self.lineage = Lineage()
        self.links: list[str] = []
        """Addresses the session recorded about itself: pull requests, artifacts."""
        self.inherited: dict[str, Inherited] = {}
        """By id, where the provider keeps them: they count here only where the session they are from is gone."""
        self.duplicates = 0
        """Records left out because the same record stands earlier in the file."""
        self.lacks: frozenset[Lack] = frozenset()
        """What this source never tells, so that the screen can say so instead of showing nothing."""
        self.turn_end = -1
        """How many messages there were when the source said last that a turn was over; -1 where it never did."""
        self.own_total = ""
        """Stands for the token total where the source has sums of its own and no calls: a snapshot's, in words."""
        self.metadata: dict[str, Any] = CleanDict()
        self.course: object = object()
        """Shared by the sessions that took one another's place: their revisions count on."""
        self.revision = 0
        """How often a message that had been read turned out to be another one."""
        self.changed: dict[int, int] = {}
        """Those messages, each with the revision in which it last changed, in that order."""
        self.charged: Callable[[int], Charged | None] | None = None
        """Says of a token group whose it is, where the source is of many sessions; set by its reader."""
        self.build: Callable[[Session, int], Message] = _no_builder
        """Makes a message from its records; set by the provider."""
        self.build_bare: Callable[[Session, int], Message] | None = None
        """The same without its id and most facts, where that is quicker."""

    # -- reading ---------------------------------------------------------------------------------------------------

    def message(self, index: int) -> Message:
        """The message, made from its records, all its text clean. Costs a read of the file; keep what you need.

        Where the agent's code fails on them it is their raw text, and says so.
        """
        return self._made(index, self.build, clean_message)

    def unclean_message(self, index: int) -> Message:
        """The same as its provider made it, a third quicker: for an index of words, and never to be shown."""
        return self._made(index, self.build_bare or self.build, lambda message: message)

    def _made(
        self, index: int, build: Callable[[Session, int], Message], ready: Callable[[Message], Message]
    ) -> Message:
        try:
            return ready(build(self, index))
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001
            return self._as_written(index, error)

    def _as_written(self, index: int, error: Exception) -> Message:
        table, text = self.messages, b"\n".join(map(self.raw, self.message_spans(index))).decode("utf-8", "replace")
        message = self.place(Message(index, f"{self.id}:{table.key[index]:016x}", Kind.UNKNOWN, 0), index)
        message.kind, message.parts = Kind.UNKNOWN, [Part("text", clean(text))]
        message.label = f"Could not be shown: {bug(error)}"
        return message

    def place(self, message: Message, index: int) -> Message:
        """Give a message what its row says of it; returns it."""
        rows, group = self.messages, self.messages.group[index]
        message.index, message.kind, message.exchange = index, rows.kind_of(index), rows.exchange[index]
        message.timestamp, message.model = rows.when(index), self.model_of(index)
        message.group = self.groups.ids[group] if group < len(self.groups) else None
        message.flags = Flag(rows.flags[index])
        return message

    def message_range(self, exchange: int) -> range:
        """The indices of an exchange's messages."""
        start = self.exchanges[exchange].start
        last = exchange + 1 == len(self.exchanges)
        return range(start, len(self.messages) if last else self.exchanges[exchange + 1].start)

    def exchange_messages(self, exchange: int) -> Iterator[Message]:
        """The messages of an exchange, made one after the other."""
        for index in self.message_range(exchange):
            yield self.message(index)

    def message_spans(self, index: int) -> list[Span]:
        """The records a message came from."""
        return list(self.spans.chain(self.messages.span[index]))

    def group_spans(self, group: int) -> list[Span]:
        """The records a token group's usage came from."""
        return [s for s in self.spans.chain(self.groups.span[group]) if s.role == SpanRole.USAGE]

    def record(self, span: Span) -> dict[str, Any]:
        """A record read back, as the source wrote it: not cleaned, so never for the screen as it is."""
        return self.stores[span.store].record(span.offset, span.length)

    def in_lines(self, span: Span) -> bool:
        """Return whether line, offset and length of a span are those of a file, and not the number of an item in a
        document or of a row in a database.
        """
        return not isinstance(self.stores[span.store], MemoryStore)

    def raw(self, span: Span) -> bytes:
        """A record's bytes."""
        return self.stores[span.store].read(span.offset, span.length)

    def usage(self) -> TokenUsage | None:
        """The session's own total, subagents apart; None when the source gives no figures."""
        return self.groups.usage.total()

    @property
    def is_printed(self) -> bool:
        """Return whether the session is what an agent printed, and not what it keeps (`kit/pipe.py` says so)."""
        return self.metadata.get("source") == "stream"

    @property
    def is_unmetered(self) -> bool:
        """Return whether the agent did something and no figure tells what that took: a sum with it is too low."""
        kinds = self.messages.kind
        return any(kind in kinds for kind in (Kind.TEXT, Kind.THINKING, Kind.TOOL)) and self.usage() is None

    def exchange_usage(self, exchange: int) -> TokenUsage | None:
        """The sum of the groups that end in the exchange."""
        return self.groups.usage.total(self.exchanges[exchange].groups)

    def model_of(self, index: int) -> str | None:
        """The model that wrote a message."""
        return self.models[self.messages.model[index]] or None

    @property
    def inherited_exchanges(self) -> int:
        """Count the exchanges of another session, of which this one has copies."""
        return sum(exchange.inherited and exchange.opener is not None for exchange in self.exchanges)

    @property
    def live_exchanges(self) -> list[Exchange]:
        """The exchanges opened by a person, neither rewound nor inherited: what "8 exchanges" means."""
        return [e for e in self.exchanges if e.opener is not None and not e.rewound and not e.inherited]

    def last_text(self, left_out: int = Flag.REWOUND | Flag.INHERITED, messages: range | None = None) -> str:
        """The last thing that the agent said, among all messages or some, without those that have a flag of these."""
        kinds, flags = self.messages.kind, self.messages.flags
        among = reversed(range(len(kinds)) if messages is None else messages)
        last = next((i for i in among if kinds[i] == Kind.TEXT and not flags[i] & left_out), None)
        return "" if last is None else self.message(last).text

    # -- filling ---------------------------------------------------------------------------------------------------

    def add_span(self, record: Record, role: SpanRole = SpanRole.BODY, store: int = 0) -> int:
        """Note where a record lies; returns the head of a new chain."""
        return self.spans.add(store, record[0], record[1], record[2], role)

    def add_message(
        self,
        kind: Kind,
        key: int,
        record: Record,
        *,
        block: int = 0,
        time: float | None = None,
        chars: int = 0,
        lines: int = 0,
    ) -> int:
        """Append a message to the last exchange (a preamble is made if there is none); returns its index."""
        if not self.exchanges:
            self.exchanges.append(Exchange(0, 0, None, f"{self.id}:0"))
        exchange = self.exchanges[-1]
        span = self.add_span(record)
        index = self.messages.append(kind, key, exchange.index, span, block, time, chars, lines)
        if kind == Kind.TOOL:
            exchange.tools += 1
        self.touch(exchange, time, ends=ends(exchange, index, kind))
        return index

    def open_exchange(self, opener: Kind, prompt: str) -> Exchange:
        """Begin an exchange; the next message added is its opener and must be flagged so (`mark_opener`)."""
        number = len(self.exchanges)
        exchange = Exchange(number, len(self.messages), opener, f"{self.id}:{number}", one_line(prompt, 300))
        self.exchanges.append(exchange)
        return exchange

    def split_exchange(self, index: int, opener: Kind, prompt: str) -> Exchange:
        """Let message `index` of the last exchange open a new one: a command turned out to be answered by the agent."""
        old = self.exchanges[-1]
        exchange = self.open_exchange(opener, prompt)
        exchange.start = index
        for i in range(index, len(self.messages)):
            self.messages.exchange[i] = exchange.index
            if self.messages.kind[i] == Kind.TOOL:
                old.tools -= 1
                exchange.tools += 1
            self.touch(exchange, self.messages.when(i), ends=ends(exchange, i, self.messages.kind[i]))
        self.mark_opener(index)
        for group in [g for g in old.groups if self.groups.last[g] != NONE and self.groups.last[g] >= index]:
            old.groups.remove(group)
            exchange.groups.append(group)
            self.groups.exchange[group] = exchange.index
        if any(kind in WORK_KINDS for kind in self.messages.kind[index:]):
            times = [self.messages.when(i) for i in range(old.start, index) if ends(old, i, self.messages.kind[i])]
            old.ended = max((time for time in times if time is not None), default=old.started)
        return exchange

    def mark_opener(self, index: int) -> None:
        """Flag a message as the one that opens its exchange."""
        self.messages.flags[index] |= Flag.OPENER

    def touch(self, exchange: Exchange, time: float | None, *, ends: bool = True) -> None:
        """Take a record's time into the exchange's and the session's times; `ends`: the exchange lasted until then."""
        if time is None:
            return
        if exchange.started is None or time < exchange.started:
            exchange.started = time
        if exchange.ended is None or (ends and time > exchange.ended):
            set_number(exchange, "ended", time)
        if time != self.updated:
            self.pass_by(time)

    def pass_by(self, time: float) -> None:
        """Take a record's time into the session's times."""
        if self.created is None or time < self.created:
            self.created = time
        if self.updated is None or time > self.updated:
            set_number(self, "updated", time)

    def model_index(self, name: str | None) -> int:
        """The index of a model's name in `models`, adding it if it is new."""
        if not name:
            return 0
        name = one_line(name, 100)
        try:
            return self.models.index(name)
        except ValueError:
            if len(self.models) >= 0xFFFF:
                return 0
            self.models.append(name)
            return len(self.models) - 1

    def add_group(self, group_id: str, usage: TokenUsage, record: Record, *, model: int = 0, store: int = 0) -> int:
        """Begin a token group in the last exchange; returns its index."""
        if not self.exchanges:
            self.exchanges.append(Exchange(0, 0, None, f"{self.id}:0"))
        exchange = self.exchanges[-1]
        span = self.add_span(record, SpanRole.USAGE, store)
        index = self.groups.append(group_id, exchange.index, usage, span, model)
        exchange.groups.append(index)
        if model:
            set_number(exchange, "model", model)
        return index

    def extend_group(self, group: int, usage: TokenUsage, record: Record) -> None:
        """Set a group's usage after another record of it; the group now ends in the last exchange."""
        self.groups.usage[group] = usage
        self.spans.extend(self.groups.span[group], self.add_span(record, SpanRole.USAGE))
        old, new = self.exchanges[self.groups.exchange[group]], self.exchanges[-1]
        if old is not new:
            old.groups.remove(group)
            new.groups.append(group)
            self.groups.exchange[group] = new.index

    def join_group(self, message: int, group: int) -> None:
        """Make a message the (so far) last of a group."""
        self.messages.group[message] = group
        self.groups.last[group] = message

    def note_change(self, message: int) -> None:
        """Note that a message is not what it was when it was read first."""
        self.revision += 1
        self.changed.pop(message, None)
        self.changed[message] = self.revision

    def become(self, new: Session) -> None:
        """Take over all that `new` holds, so that whoever holds this session or its columns sees it."""
        for mine, other in ((self.messages, new.messages), (self.groups, new.groups), (self.spans, new.spans)):
            for name in type(mine).__slots__:
                setattr(mine, name, getattr(other, name))
        vars(self).update({**vars(new), "messages": self.messages, "groups": self.groups, "spans": self.spans})

    def unreadable_lines(self) -> dict[str, list[int]]:
        """The lines that could not be read, by their files."""
        lines: dict[str, list[int]] = {}
        for bad in self.unreadable:
            lines.setdefault(bad.file, []).append(bad.line)
        return lines

    def whose_line(self, number: int) -> str:
        """Return the words between an unreadable line's number and its fault; `number` is its place in `unreadable`."""
        if number >= self.exported_unreadable:
            file = self.unreadable[number].file
            return f" of {one_line(file, 300)}" if file else ""
        said = "from which it was exported"
        return f" of {self.exported_from}, {said}," if self.exported_from else f" of the session {said}"

    def close(self) -> None:
        """Let go of the files behind it."""
        for store in self.stores:
            store.close()


def ends(exchange: Exchange, index: int, kind: int) -> bool:
    """Return whether an exchange lasts until its message `index`, of that kind: its opener, what is done for it, and
    what a command prints at once.
    """
    return kind in WORK_KINDS or index == exchange.start or (kind == Kind.OUTPUT and index == exchange.start + 1)


def _no_builder(session: Session, index: int) -> Message:
    raise LookupError(f"nobody can build message {index} of {session.path}")

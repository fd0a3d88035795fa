"""What the formats of live output share: the rows of the one session, its openers, its token groups, its end.

A pipe may carry several runs, one after the other or mixed (`streams` note 1.2). Each run has a `Run` object of its
format's class, made by the parser, which gives it the run's records in order. All runs fill the same session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from schemas.clean import clean, one_line
from schemas.message import NO_FLAGS, Flag, Kind, Message, Part, Span, SpanRole
from schemas.providers.kit.keys import key_of
from schemas.providers.streams.growing import Growing
from schemas.records import Record
from schemas.session import Change, Exchange, Lack, Op, Session
from schemas.table import NONE
from schemas.usage import TokenUsage

Value: TypeAlias = dict[str, Any]
NOT_TOLD = "(prompt not in the stream)"
"""Title of an exchange whose prompt the agent does not print."""
NO_END = "the stream ended without its end marker"
_LIMIT = 0xFFFF_FFFF
# Plain numbers: an enum's operators would take a good part of the whole parse.
_MORE, _PENDING, _ERROR, _INTERRUPTED = (int(f) for f in (Flag.MORE, Flag.PENDING, Flag.ERROR, Flag.INTERRUPTED))


class Stream:
    """The session that a stream's runs fill, and what of it changed since somebody asked last.

    `ids` holds each message's id. Texts are not kept (but for `growing`): a message points at its records and is made
    from them.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.clock: Callable[[], float] | None = None
        """Set while a live pipe is read: the time of arrival, for runs whose format tells no times."""
        self.closed = False
        """Whether no more will come."""
        self.runs: list[Run] = []
        self.owner: list[int] = []
        """For each message the index of its run in `runs`; -1 for what no run said."""
        self.labels: dict[int, str] = {}
        """Messages that consist of these words only: openers without a prompt, and our own notes."""
        self.ids: list[str] = []
        self._taken: set[str] = set()
        self._repeats: dict[str, int] = {}
        self.growing = Growing(session, self.changed)
        self._tails: dict[int, int] = {}
        self._speaking: Run | None = None
        self._batch = 0
        self._updated: dict[int, None] = {}
        self._recounted: dict[int, None] = {}

    # -- what changed --------------------------------------------------------------------------------------------------

    def begin_batch(self) -> None:
        """More records come."""
        self._batch = len(self.session.messages)
        self._updated = {}
        self._recounted = {}

    def end_batch(self) -> list[Change]:
        """What changed since `begin_batch`: what was there before first, then what is new."""
        exchanges, exchange = self.session.exchanges, self.session.messages.exchange
        if self._recounted:
            told = {exchange[row] for row in (*self._updated, *range(self._batch, len(exchange)))}
            for number in self._recounted:
                if number not in told:
                    self.changed(exchanges[number].start)
        changes = [Change(Op.UPDATED, row) for row in self._updated]
        changes += [Change(Op.APPENDED, row) for row in range(self._batch, len(self.session.messages))]
        return changes

    def recounted(self, exchange: Exchange) -> None:
        """An exchange takes other tokens or another time, which its header says. Where none of its messages changes,
        its opener stands for that.
        """
        self._recounted[exchange.index] = None

    def changed(self, row: int) -> None:
        """Say that a message is not what it was."""
        if row < self._batch:
            self._updated[row] = None

    # -- rows ----------------------------------------------------------------------------------------------------------

    def add(self, run: Run | None, kind: Kind, record: Record, ident: str, block: int, time: float | None) -> int:
        """A new message of `run`; `ident` becomes its id, with a number behind it if another has it already."""
        if run is not None:
            self.speak(run, record)
        unique = ident = clean(ident)
        while unique in self._taken:
            self._repeats[ident] = self._repeats.get(ident, 1) + 1
            unique = f"{ident}#{self._repeats[ident]}"
        row = self.session.add_message(kind, key_of(unique), record, block=block, time=time)
        self._taken.add(unique)
        self.ids.append(unique)
        self.owner.append(-1 if run is None else run.number)
        return row

    def speak(self, run: Run, record: Record) -> None:
        """A run is about to add a message. Says so where another one spoke in between."""
        if run is not self._speaking:
            back = self._speaking is not None and run.spoke
            self._speaking, run.spoke = run, True
            if back:
                self.note(record, f"{run.title} goes on")

    def note(self, record: Record, label: str) -> int:
        """A line of our own about the stream."""
        row = self.add(None, Kind.NOTE, record, f"note@{record[0]}", 0, None)
        self.labels[row] = one_line(label, 300)
        return row

    def extend(self, row: int, record: Record, role: SpanRole) -> None:
        """Another record adds to a message."""
        spans = self.session.spans
        span = self.session.add_span(record, role)
        spans.extend(self._tails.get(row, self.session.messages.span[row]), span)
        self._tails[row] = span
        self.session.messages.flags[row] |= _MORE
        self.changed(row)


class Run:
    """One run of an agent within the stream. Each format has a class, whose own are `take` and `build`."""

    provider: ClassVar[str]
    """SessionData's id of the agent."""
    name: ClassVar[str]
    """What the agent is called."""
    stamped: ClassVar[bool] = False
    """Whether the lines (or some of them) carry the agent's own times; then none of ours is put beside them."""
    lacks: ClassVar[frozenset[Lack]] = frozenset()
    """What the format never tells."""

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        self.stream = stream
        self.session = stream.session
        self.id = identifier
        """The run's session id; empty until it is known."""
        self.number = number
        self.spoke = False
        """Whether it has added a message."""
        self.exchange: Exchange | None = None
        """The last exchange that it opened."""
        self.last = -1
        """Its last message that is no plain note of ours; -1 before the first."""
        self.ended = ""
        """How the run ended by its own end marker, in a word or two; empty while there is none."""
        self._groups: dict[str, int] = {}
        self._open: dict[int, None] = {}

    @property
    def title(self) -> str:
        """The agent and its session, for notes."""
        return f"{self.name} {one_line(self.id, 100)}".strip()

    # -- what a format says --------------------------------------------------------------------------------------------

    def take(self, record: Record, value: Value) -> None:
        """Take a record of this run. Any field may be missing or of another type."""
        raise NotImplementedError

    def build(self, message: Message, spans: list[Span]) -> None:
        """Fill in parts, tool and label of a message of this run from its records; all text must be clean."""
        raise NotImplementedError

    def build_growing(self, message: Message, first: Span, text: str) -> None:
        """The same for a message that is being written, from its first record and its `text` so far (raw)."""
        thinking = message.kind is Kind.THINKING
        message.parts = [Part("thinking", clean(text))] if thinking else text_part(text)

    def finish(self) -> str:
        """The pipe is closed. Returns what is wrong with the end, in a few words, or nothing."""
        return "" if self.ended else NO_END

    # -- exchanges -----------------------------------------------------------------------------------------------------

    def open_exchange(self, record: Record, ident: str, prompt: str, time: float | None = None) -> int:
        """A prompt that stands in the stream opens an exchange; returns its message, which `build` makes."""
        self.stream.speak(self, record)
        self.exchange = self.session.open_exchange(Kind.PROMPT, prompt)
        row = self.add(Kind.PROMPT, record, ident, text=prompt, time=time)
        self.session.mark_opener(row)
        if not self.session.title:
            self.session.title = one_line(prompt, 200)
        return row

    def open_unprompted(self, record: Record, time: float | None = None) -> int:
        """An exchange begins whose prompt the agent does not print. Its opener consists of a label, not of a text."""
        self.stream.speak(self, record)
        self.exchange = self.session.open_exchange(Kind.PROMPT, NOT_TOLD)
        row = self.add(Kind.PROMPT, record, f"prompt@{record[0]}", time=time)
        self.stream.labels[row] = NOT_TOLD
        self.session.mark_opener(row)
        return row

    def ensure_exchange(self, record: Record, time: float | None = None) -> None:
        """Open an exchange unless this run has opened one."""
        if self.exchange is None:
            self.open_unprompted(record, time)

    # -- messages ------------------------------------------------------------------------------------------------------

    def add(
        self,
        kind: Kind,
        record: Record,
        ident: str = "",
        *,
        text: str = "",
        time: float | None = None,
        model: str | None = None,
        flags: Flag = NO_FLAGS,
        block: int = 0,
    ) -> int:
        """A new message at the end; returns its row.

        `ident` is what the source calls it, unique within the run (else where its record lies stands for it); `text`
        is what an unfolded message shows, for its size; `block` is kept in the row for `build`.
        """
        prefix = f"{self.number}/" if self.number else ""
        if time is None and not self.stamped and self.stream.clock is not None:
            time = self.stream.clock()
        row = self.stream.add(self, kind, record, f"{prefix}{ident or f'@{record[0]}.{block}'}", block, time)
        messages = self.session.messages
        if flags is not NO_FLAGS:
            messages.flags[row] |= flags
            if flags & Flag.ERROR:
                self.session.exchanges[-1].errors += 1
            if flags & Flag.PENDING:
                self._open[row] = None
        if model:
            messages.model[row] = self.session.model_index(model)
        self.resize(row, text)
        self.last = row
        return row

    def extend(self, row: int, record: Record, role: SpanRole = SpanRole.DETAIL, *, more: str = "") -> None:
        """Another record adds to a message: a delta (DETAIL, with its text as `more`), a RESULT, all of it (BODY)."""
        self.stream.extend(row, record, role)
        if more:
            messages = self.session.messages
            messages.lines[row] = min(max(messages.lines[row], 1) + more.count("\n"), _LIMIT)
            messages.chars[row] = min(messages.chars[row] + len(more), _LIMIT)
        if not self.stamped and self.stream.clock is not None:
            self.touch(self.stream.clock())

    def resize(self, row: int, text: str) -> None:
        """A message shows `text`."""
        messages = self.session.messages
        messages.chars[row] = min(len(text), _LIMIT)
        messages.lines[row] = min(text.count("\n") + 1, _LIMIT) if text else 0
        self.stream.changed(row)

    def touch(self, time: float | None) -> None:
        """Let a record's time count for the running exchange."""
        if self.session.exchanges:
            self.session.touch(self.session.exchanges[-1], time)
            self.recounted(self.session.exchanges[-1])

    def mark(self, row: int, flags: Flag) -> None:
        """Set flags of a message."""
        self.session.messages.flags[row] |= flags
        self.stream.changed(row)

    def note(self, record: Record, label: str) -> int:
        """A line of our own about the run."""
        return self.stream.note(record, label)

    def hide(self, name: str) -> None:
        """A record of a known type that holds nothing to read."""
        self.session.hidden[one_line(name, 100)] += 1

    def unknown(self, record: Record, name: object, time: float | None = None) -> int:
        """A record of a type that nobody described: kept as it is and counted. The parser builds it."""
        self.session.unknown[one_line(name if isinstance(name, str) and name else "(no type)", 100)] += 1
        row = self.add(Kind.UNKNOWN, record, time=time)
        self.session.messages.chars[row], self.session.messages.lines[row] = min(record[1], _LIMIT), 1
        return row

    def joined(self, spans: Sequence[Span], piece: Callable[[Value], str]) -> str:
        """The text that the records of a message make together, for `build`. Raw."""
        return "".join(piece(self.session.record(span)) for span in spans)

    # -- tool uses -----------------------------------------------------------------------------------------------------

    def settle(self, row: int, *, failed: bool = False, interrupted: bool = False) -> None:
        """A tool use is over. May be said again: the last word counts."""
        session = self.session
        exchange = session.exchanges[session.messages.exchange[row]]
        flags = session.messages.flags[row]
        exchange.errors += failed - bool(flags & _ERROR)
        flags &= ~(_PENDING | _ERROR | _INTERRUPTED)
        session.messages.flags[row] = flags | failed * _ERROR | interrupted * _INTERRUPTED
        self._open.pop(row, None)
        self.stream.changed(row)

    def close_open(self, *, failed: bool, keep: Iterable[int] = ()) -> None:
        """An end marker came: what is open now, but for `keep`, was interrupted where the run `failed`.

        Where it ended well, nobody says why there is no result: the use stays without one (`Flag.PENDING`).
        """
        kept = set(keep)
        for row in [row for row in self._open if row not in kept]:
            if failed:
                self.settle(row, interrupted=True)
            else:
                del self._open[row]

    # -- tokens --------------------------------------------------------------------------------------------------------

    def group(self, ident: str, usage: TokenUsage, record: Record, *, row: int = -1, model: str | None = None) -> int:
        """A token group by its id: begun, or its usage replaced.

        `row` becomes its last message; else the run's last one, when the group begins.
        """
        session = self.session
        number = session.model_index(model)
        group = self._groups.get(ident)
        if group is None:
            prefix = f"{self.number}/" if self.number else ""
            group = session.add_group(clean(prefix + ident), usage, record, model=number)
            self._groups[ident] = group
            row = self.last if row < 0 else row
        else:
            session.extend_group(group, usage, record)
            session.groups.model[group] = number or session.groups.model[group]
        if row >= 0:
            self.join(row, group)
        self.recounted(session.exchanges[session.groups.exchange[group]])
        return group

    def recounted(self, exchange: Exchange) -> None:
        """An exchange takes other tokens or another time now."""
        self.stream.recounted(exchange)

    def join(self, row: int, group: int) -> None:
        """Make a message the last one of a group, unless it shows another group already."""
        session = self.session
        if (
            session.messages.group[row] in (NONE, group)
            and session.messages.exchange[row] == session.groups.exchange[group]
        ):
            session.join_group(row, group)
            self.stream.changed(row)

    def groups(self) -> list[int]:
        """The token groups of this run."""
        return list(self._groups.values())


def text_part(text: object) -> list[Part]:
    """A text as the parts of a message: one, or none if there is nothing to read."""
    return [Part("text", clean(text))] if isinstance(text, str) and text else []


def span_of(record: Record) -> Span:
    """Where a record lies, to read it back with `Session.record`."""
    return Span(0, *record[:3], SpanRole.BODY)


def latest(spans: Sequence[Span]) -> Span:
    """The last record that says all of a message, which takes the place of those before."""
    return next((span for span in reversed(spans) if span.role is not SpanRole.DETAIL), spans[-1])

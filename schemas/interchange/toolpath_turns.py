"""A session's messages as Toolpath has them: which of them are one turn, what it says, what it says of tokens.

Toolpath wants a turn's text as the agent wrote it and an event for every line that is no turn (formats note 1.4), so
some agents' own records are asked too: their `Source`, which they name themselves, says how.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from schemas.agents import published_of
from schemas.clean import clean, clean_value
from schemas.interchange.session_data_facts import as_text, iso_time, read_time
from schemas.interchange.session_data_usage import tells_own, told_tokens
from schemas.interchange.session_data_write import Names
from schemas.interchange.toolpath import ENVIRONMENT, EVENT, counted, source_name, told_of
from schemas.interchange.toolpath_tools import PLACE
from schemas.message import USER_KINDS, Kind, Message, SpanRole
from schemas.providers.kit.blocks import texts_in
from schemas.records import FileStore, JsonLines, Record, Store
from schemas.session import Session
from schemas.table import NONE
from schemas.usage import TokenUsage, total_usage
from schemas.values import given

Data = dict[str, Any]
SAID = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})
"""What an agent says and does."""
_CONTEXT = frozenset({Kind.CONTEXT})
_CHUNK = 1 << 20
_NAMED = frozenset({Kind.ERROR, Kind.COMPACTION, Kind.INTERRUPT, Kind.OUTPUT})
"""Kinds of events that are called so, whatever the agent calls its record."""


# -- tokens ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Account:
    """The account of a turn's tokens."""

    group: str | None = None
    alone: bool = False
    """Whether no other turn is of the group, so that a turn that is called like it need not name it."""
    totals: list[TokenUsage] = field(default_factory=list)
    """The usages of the groups that end with the turn."""
    shares: list[TokenUsage] = field(default_factory=list)
    """The usages of the calls of a round that are the turn's own."""
    told: Data | None = None
    """The total in the source's own figures, where turnlog's are others."""

    @property
    def is_known(self) -> bool:
        """Return whether there are figures."""
        return any(usage.total is not None for usage in (*self.totals, *self.shares))

    def total(self, provider: str) -> Data | None:
        """The total of the groups that end with the turn, as the format has it."""
        return self.told or counted(provider, total_usage(self.totals))

    def attributed(self, provider: str) -> Data | None:
        """Return the tokens that the turn attributes to itself, as the format has them."""
        return counted(provider, total_usage(self.shares))


Homeless = dict[int, list[tuple[str, Account]]]
"""By their exchange, what calls cost of which nothing else is left, each with the model."""


class Unit(NamedTuple):
    """One of the format's groups: a response, or the calls of a round."""

    name: str
    calls: list[int]
    """The session's token groups that it consists of."""
    is_round: bool


def accounts_of(source: Source, turns: list[range]) -> tuple[list[Account], Homeless]:
    """Return each turn's account of its tokens, and what no turn can say.

    A unit's total stands on the last turn of it (formats note 1.5); of a round each turn has its own share besides.
    """
    session = source.session
    groups = session.groups
    turn_of = {index: number for number, turn in enumerate(turns) for index in turn}
    accounts = [Account() for _ in turns]
    homeless: Homeless = {}
    by_call: dict[int, Unit] = {}
    ended: dict[int, Unit] = {}
    for unit in _units_of(source):
        by_call |= dict.fromkeys(unit.calls, unit)
        ends = {call: turn_of[last] for call in unit.calls if (last := groups.last[call]) in turn_of}
        usages = [groups.usage[call] for call in unit.calls]
        if not ends:
            spent = session.models[groups.model[unit.calls[-1]]], Account(totals=usages)
            homeless.setdefault(groups.exchange[unit.calls[-1]], []).append(spent)
            continue
        last = max(ends.values())
        ended[last] = unit
        accounts[last].totals += usages
        accounts[last].told = _told_total(session, unit.calls[-1])
        for call, number in ends.items() if unit.is_round else ():
            accounts[number].shares.append(groups.usage[call])
    members: Counter[str] = Counter()
    for number, turn in enumerate(turns):
        calls = (session.messages.group[index] for index in turn)
        mine = ended.get(number) or next((by_call[call] for call in calls if call in by_call), None)
        if mine is not None and mine.name:
            accounts[number].group = mine.name
            members[mine.name] += 1
    for account in accounts:
        account.alone = account.group is not None and members[account.group] == 1
    return accounts, homeless


def _units_of(source: Source) -> list[Unit]:
    """The format's groups: rounds, and calls that are of none."""
    session = source.session
    units: dict[str | int, Unit] = {}
    names = Names()
    for call, said in enumerate(session.groups.ids):
        last = session.groups.last[call]
        name = session.rounds.get(call) or (last != NONE and source.round(last)) or ""
        own = name or ("" if source.in_rounds else names.free(said or f"group-{call + 1}"))
        units.setdefault(name or call, Unit(own, [], bool(name))).calls.append(call)
    return list(units.values())


def _told_total(session: Session, group: int) -> Data | None:
    """A group's total in the agent's own figures, where turnlog's do not tell them (formats note 1.5: input, output
    with thoughts, what was cached; `tool` is left out); else None.
    """
    last = session.groups.last[group] if tells_own(session.provider) else NONE
    told = told_tokens(session.message(last).metadata) if last != NONE else {}
    if not told:
        return None
    thoughts = told.get("thoughts")
    output = told.get("output", 0) + thoughts if thoughts else told.get("output")
    parts = {"output": {"reasoning": thoughts}} if thoughts else None
    rest = given(cache_read_tokens=told.get("cached"), breakdowns=parts)
    return {"input_tokens": told.get("input"), "output_tokens": output} | rest


# -- what the source says ----------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line of the source that is no message's: where it lies, and the payload, id and time of its step."""

    offset: int
    said: Data
    name: str
    is_named: bool
    """Whether the id is the line's own."""
    time: str | None
    group: str | None = None


class Source:
    """Says how an agent's messages are turns; of one whose records nobody described here, a record is a turn."""

    in_rounds = False
    """Whether the format's groups are rounds of calls, so that a call by itself has no name."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.name = source_name(session.provider) or "unknown"
        self.has_lines = bool(session.stores) and isinstance(session.stores[0], FileStore)

    def turns(self) -> list[range]:
        """The messages of each step: neighbours from one record, that are one kind of talk and of one token group."""
        kinds, groups = self.session.messages.kind, self.session.messages.group
        turns: list[range] = []
        for run in by_record(self.session):
            start, group = run.start, NONE
            for index in run:
                mine = groups[index]
                parts = index > start and not self.goes_with(kinds[index - 1], kinds[index])
                if parts or (mine != NONE and group not in (NONE, mine)):
                    turns.append(range(start, index))
                    start, group = index, NONE
                group = mine if mine != NONE else group
            turns.append(range(start, run.stop))
        return turns

    def goes_with(self, before: int, kind: int) -> bool:
        """Return whether two messages of one record can be one step."""
        return any(before in kinds and kind in kinds for kinds in (USER_KINDS, SAID, _CONTEXT))

    def role(self, messages: list[Message]) -> str | None:
        """The turn's role: user where a person typed, assistant for what the model did; None for what is an event."""
        kinds = {message.kind for message in messages}
        if kinds & USER_KINDS:
            return "user"
        return "assistant" if kinds & SAID else "system" if Kind.CONTEXT in kinds else None

    def text(self, messages: list[Message]) -> str | None:
        """The turn's text as the source has it; None where that is not known."""
        return None

    def result(self, message: Message) -> str | None:
        """A tool's result as the model was given it; None where that is not known."""
        return None

    def takes_text(self, message: Message) -> bool:
        """Return whether a tool's input is a text, for which the object that holds it only stands."""
        tool = message.tool
        return tool is not None and tool.name == "apply_patch" and is_text(tool.input)

    def id_of(self, messages: list[Message], number: int) -> str:
        """The step's id; `number` counts turns from 1."""
        return messages[0].id

    def group(self, messages: list[Message]) -> str | None:
        """The group that a turn is of, where the source says so itself."""
        return None

    def round(self, index: int) -> str | None:
        """The round that a message is of, where token groups are calls of rounds."""
        return None

    def event(self, messages: list[Message]) -> tuple[Data, str]:
        """Return messages that are no turn as the payload of an event, and its id."""
        kind, said = messages[0].kind, as_text(messages[0].metadata.get("recordType"))
        name = kind.name.lower()
        return {"type": EVENT, "entry_type": name if kind in _NAMED else said or name}, messages[0].id

    def time(self, messages: list[Message]) -> float | None:
        """Return the time of the turn: that of its text, which may come long after the thinking before it."""
        told = [message.timestamp for message in messages if message.kind == Kind.TEXT]
        return next((time for time in (*told, *(m.timestamp for m in messages)) if time is not None), None)

    def environment(self, message: Message) -> Data:
        """Return the environment of the agent at the message: its directory, branch and revision."""
        said = message.metadata
        if message.tool is not None and PLACE in message.tool.input:
            said = {"cwd": message.tool.input[PLACE]} | said
        return {name: said[key] for name, key in ENVIRONMENT.items() if isinstance(said.get(key), str)}

    def others(self) -> Iterator[Line]:
        """The lines of the session's file that no message and no token figure was made from, in their order."""
        if self.has_lines:
            for offset, _, line, record in records_in(self.session, self.owned()):
                yield line_of(record, offset, line)

    def owned(self) -> set[int]:
        """Return the offsets of the lines that stand in the document as something else; also those of subagents in the
        file.
        """
        return offsets(self.session, self.session.stores[0])

    def record(self, message: Message, role: SpanRole = SpanRole.BODY) -> Data:
        """The message's first record of a role; an empty one if there is none."""
        span = next((span for span in self.session.message_spans(message.index) if span.role == role), None)
        return self.session.record(span) if span is not None else {}

    def event_with_record(self, messages: list[Message]) -> tuple[Data, str]:
        span = self.session.message_spans(messages[0].index)[0]
        line = line_of(self.session.record(span), span.offset, span.line)
        return line.said, line.name


def source_of(session: Session) -> Source:
    """Return the source that says how the session's messages are turns."""
    native = bool(session.stores) and all(isinstance(store, FileStore) for store in session.stores)
    steps = published_of(session.provider).steps if native and told_of(session) is None else ""
    module, _, name = steps.partition(":")
    source: type[Source] = getattr(import_module(f"schemas.providers.{module}"), name) if steps else Source
    return source(session)


def records_in(session: Session, known: Container[int] = ()) -> Iterator[Record]:
    """The records of the file that a session was read from, but for those at `known` offsets; none of what is no file
    of lines.
    """
    store = session.stores[0] if session.stores else None
    if not isinstance(store, FileStore):
        return
    lines, offset = JsonLines(), 0
    while data := store.read(offset, _CHUNK):
        yield from (record for record in lines.push(data) if record[0] not in known)
        offset += len(data)
    yield from (record for record in lines.take_tail() if record[0] not in known)


def offsets(session: Session, store: Store, *, groups: bool = True) -> set[int]:
    """Return the offsets in a store of the records that a session and the subagents in it were made from; `groups`:
    usage too.
    """
    owned: set[int] = set()
    if store in session.stores:
        number = session.stores.index(store)
        for heads in (session.messages.span, session.groups.span)[: 1 + groups]:
            owned.update(offset for offset, _ in session.spans.owners(heads, number))
    for child in session.subagents:
        if child.session is not None and child.path is None:
            owned |= offsets(child.session, store)
    return owned


def by_record(session: Session) -> list[range]:
    """The messages of a session, those together that were read from one record."""
    places = [next(session.spans.chain(head))[:2] for head in session.messages.span]
    starts = [index for index, place in enumerate(places) if not index or place != places[index - 1]]
    return [range(start, stop) for start, stop in pairwise([*starts, len(places)])]


def line_of(record: Data, offset: int, number: int) -> Line:
    """A line as an event that holds it whole."""
    value = clean_value(record)
    payload, kind = value.get("payload"), value.get("type")
    if kind in ("event_msg", "response_item") and isinstance(payload, dict):
        kind = payload.get("type", kind)
    kind = kind if isinstance(kind, str) and kind else "record"
    time, uuid = iso_time(read_time(value.get("timestamp"))), as_text(value.get("uuid"))
    name = uuid or (f"{kind}-{time}" if time else f"{kind}-line-{number}")
    return Line(offset, {"type": EVENT, "entry_type": kind, "raw": value}, name, bool(uuid), time)


def is_text(given: Data) -> bool:
    return given.keys() - {PLACE} == {"input"} and isinstance(given["input"], str)


def joined_texts(content: object, between: str) -> str | None:
    """The texts in the content of a message as Anthropic and OpenAI have it; None if there is none."""
    return clean(texts_in(content, between)) or None

"""The ledger: a row for each response of a session, and which of a response's copies counts.

Forks, resumed sessions and sidechains begin with copies of what was said elsewhere, so that one response may lie in
many files. `responses` makes the rows of a session from its token groups, `Table` holds those of a session and its
subagents as numbers, and `Ledger` settles which of them count.
"""

from __future__ import annotations

import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from schemas.clean import one_line
from schemas.json_output import json_bytes
from schemas.message import Span, SpanRole
from schemas.paths import path_text
from schemas.session import Lineage, Session
from schemas.table import NONE
from schemas.usage import REST, Call, TokenUsage
from schemas.values import when

if TYPE_CHECKING:
    from schemas.costs.prices import Prices
    from schemas.provider import Problem

NO_MODEL = "unknown"
"""What a model is called that the source does not name."""


class Source(NamedTuple):
    """The session that a response is charged to; a subagent's responses are charged to the one that started it."""

    provider: str
    id: str
    path: str
    """As it may be shown."""
    title: str
    project: str | None
    """Its workspace."""
    exchanges: Sequence[tuple[str, str]] = ()
    """The id of each exchange, and its number and prompt; empty where the files are not read."""


NOBODY = Source("", "", "", "", None)
"""Stands for the session where it makes no difference."""


class Place(NamedTuple):
    """The place of a record in a file."""

    path: str
    """As it may be shown."""
    line: int
    """From 1; the number of the record where a source has no lines."""
    offset: int
    length: int
    """In bytes of the file, where a source has lines."""
    in_lines: bool = True

    def to_json(self) -> dict[str, object]:
        """The place as an answer names it: the file, and where in it as in `usage --json`."""
        if not self.in_lines:
            return {"path": self.path, "record": self.line}
        return {"path": self.path, "line": self.line, "offset": self.offset, "length": self.length}


@dataclass(slots=True)
class Response:
    """A row of the ledger: a model call as one session has it, with what it used and what it cost."""

    session: Source
    provider: str
    model: str
    """Empty where the source names none."""
    time: float | None
    """When its last message was written, in seconds since 1970; of a session that tells no time, its file's."""
    usage: TokenUsage
    """The largest figures of all its copies, where `Ledger` says that it counts."""
    key: int = 0
    """The same for copies of one response in several files."""
    name: int = 0
    """The number of its id and the id of the session that made it; 0 where its own id tells it alone. Of what a printed
    run only sums up, that of all such sums of its session (`rest_of`).
    """
    member: int = 0
    """Whose it is: the session's own, or that of its subagents by their numbers from 1."""
    inherited: bool = False
    """Of the session that this one was forked from: it counts here only where that one is gone."""
    group: str = ""
    """The id of its token group."""
    exchange: int = 0
    """The number of its exchange in the session whose it is."""
    span: int = NONE
    """The first of its records there (`Session.spans`)."""
    records: Sequence[Place] = ()
    """The places of its figures, where they are to be explained; in fuller copies too."""
    dated: bool = True
    """Whether its session tells the time."""
    agent: str | None = None
    """The id of the subagent whose it is."""
    tool_input: int = 0
    """Tokens of `usage` that tools read and wrote, where a source tells them apart."""
    tool_output: int = 0
    own: TokenUsage | None = None
    """What its own records say, where `usage` is of a fuller copy."""
    priced: bool = False
    cost: float | None = None
    """US dollars, once it is priced; None where the model has no price."""

    @property
    def call(self) -> Call:
        """The tokens as they are priced: those of tools stand beside the others."""
        if not self.tool_input and not self.tool_output:
            return Call(self.usage)
        fresh, output = (self.usage.input or 0) - self.tool_input, (self.usage.output or 0) - self.tool_output
        usage = self.usage._replace(input=max(fresh, 0), output=max(output, 0))
        return Call(usage, self.tool_input, self.tool_output)

    def spans(self, session: Session) -> list[Span]:
        """The places of its figures in the session whose it is."""
        spans = session.spans.chain(self.span)
        return list(spans) if self.inherited else [span for span in spans if span.role == SpanRole.USAGE]

    def price(self, prices: Prices) -> Response:
        """Set `cost`, once. What used nothing costs nothing, whatever its model is called."""
        if not self.priced:
            self.priced = True
            self.cost = prices.cost(self.provider, self.model, self.call, self.time) if self.usage.total else 0.0
        return self


def costs_by_kind(rows: Iterable[Response], prices: Prices) -> dict[str, float]:
    """US dollars by the kind of token, of what has a price; empty where nothing has."""
    total: Counter[str] = Counter()
    for row in rows:
        if (parts := prices.parts(row.provider, row.model, row.call, row.time)) is not None:
            total.update(parts.by_kind())
    return dict(total)


@dataclass(slots=True)
class Tally:
    """A sum of responses."""

    usage: TokenUsage | None = None
    cost: float | None = None
    """US dollars; None where none of them has a price."""
    responses: int = 0
    unpriced: frozenset[str] = frozenset()
    """The models of responses that are not in `cost`."""

    def add(self, response: Response) -> None:
        """Count a response that was priced."""
        self.count(response.usage, response.cost, response.model or NO_MODEL)

    def count(self, usage: TokenUsage, cost: float | None, model: str) -> None:
        """Count what a response of a model used and cost."""
        self.responses += 1
        self.usage = usage if self.usage is None else self.usage + usage
        if cost is not None:
            self.cost = cost if self.cost is None else self.cost + cost
        elif model not in self.unpriced:
            self.unpriced |= {model}

    def merge(self, other: Tally) -> None:
        """Count what another sum counted."""
        self.responses += other.responses
        self.unpriced |= other.unpriced
        if other.usage is not None:
            self.usage = other.usage if self.usage is None else self.usage + other.usage
        if other.cost is not None:
            self.cost = other.cost if self.cost is None else self.cost + other.cost

    def __add__(self, other: Tally) -> Tally:
        return sum_of((self, other))

    @property
    def tokens(self) -> int:
        """All of them; 0 where none are known."""
        return (self.usage.total or 0) if self.usage else 0

    def to_json(self) -> dict[str, Any]:
        """The figures as an answer has them."""
        return {
            "usage": None if self.usage is None else self.usage.to_json(),
            "costUsd": rounded_cost(self.cost),
            "unpriced": sorted(self.unpriced),
        }


def rounded_cost(cost: float | None) -> float | None:
    """Dollars to a millionth: behind that are only the errors of floating-point sums."""
    return None if cost is None else round(cost, 6)


def tally(responses: Iterable[Response]) -> Tally:
    """The sum of some responses."""
    total = Tally()
    for response in responses:
        total.add(response)
    return total


def sum_of(tallies: Iterable[Tally]) -> Tally:
    """The sum of several sums."""
    everything = Tally()
    for one in tallies:
        everything.merge(one)
    return everything


# -- the rows of a session -------------------------------------------------------------------------------------------


def source_of_session(session: Session, path: str = "", exchanges: Sequence[tuple[str, str]] = ()) -> Source:
    """The session as its responses are charged to it; `path` as it may be shown."""
    title = session.title or next((exchange.prompt for exchange in session.live_exchanges), "")
    path = path or path_text(session.path)
    return Source(session.provider, session.id, path, title, session.workspace_root, exchanges)


def counted_groups(session: Session) -> list[int]:
    """The token groups that count here, in order: a parser takes those that turn out to be inherited from their
    exchanges, and what has no figures could hide a copy that has.
    """
    own = (group for exchange in session.exchanges for group in exchange.groups)
    return sorted(group for group in own if session.groups.usage[group].total is not None)


def time_of_group(session: Session, group: int) -> float | None:
    """The time at which a group ended: with its last message; if that has no time, or there is none (a Codex response
    that only thought), with its last record, or with its exchange, or with the session.
    """
    last = session.groups.last[group]
    time = session.messages.when(last) if last != NONE else None
    if time is None and (spans := session.group_spans(group)):
        time = when(session.record(spans[-1]).get("timestamp"))
    if time is None:
        time = session.exchanges[session.groups.exchange[group]].ended
    return session.updated if time is None else time


def time_or_files(session: Session, time: float | None) -> float | None:
    """A response's time as days and prices go by it: where the session names none (`time_of_group`), that of its file.
    None where that is gone.
    """
    if time is not None:
        return time
    try:
        return session.path.stat().st_mtime
    except OSError:
        return None


def response_of(session: Session, group: int, source: Source, member: int = 0) -> Response:
    """The row of one token group, without what tells its copies."""
    groups = session.groups
    time = time_of_group(session, group)
    row = Response(
        source,
        session.provider,
        session.models[groups.model[group]],
        time_or_files(session, time),
        groups.usage[group],
        member=member,
        group=groups.ids[group],
        exchange=groups.exchange[group],
        span=groups.span[group],
        dated=time is not None,
        agent=session.lineage.agent_id,
    )
    if session.charged is not None and (said := session.charged(group)) is not None:
        row.provider, row.model, row.agent = said.provider, said.model, said.agent
        row.tool_input, row.tool_output = said.tool_input, said.tool_output
        if said.session_id != source.id:
            title = one_line(f"{said.provider} · {said.session_id}", 300)
            row.session = source._replace(id=said.session_id, title=title)
    return row


def responses(session: Session, source: Source | None = None, member: int = 0) -> Iterator[Response]:
    """The rows of the token groups that count, in order."""
    source = source or source_of_session(session)
    for group in counted_groups(session):
        row = response_of(session, group, source, member)
        row.key, row.name = response_key(row.provider, session, group), _name_of(session, session.id, row.group)
        if row.group.startswith(REST) and session.is_printed:
            row.name = rest_of(session)
        yield row


def inherited_responses(session: Session, source: Source | None = None, member: int = 0) -> Iterator[Response]:
    """The rows of what a fork has copies of: they count only where the session they are from is gone."""
    source = source or source_of_session(session)
    for one in session.inherited.values():
        if one.usage.total is None:
            continue
        time = session.updated if one.time is None else one.time
        yield Response(
            source,
            session.provider,
            one.model,
            time_or_files(session, time),
            one.usage,
            _key(session.provider, session, one.group_id, one.usage, one.span, time),
            _name_of(session, session.lineage.forked_from, one.group_id),
            member,
            inherited=True,
            group=one.group_id,
            exchange=one.exchange,
            span=one.span,
            dated=time is not None,
            agent=session.lineage.agent_id,
        )


def family(
    session: Session, failed: list[Problem], source: Source | None = None
) -> Iterator[tuple[Session, list[Response]]]:
    """The session, then its subagents at any depth, each with its rows, own and inherited, while it is open."""
    source = source or source_of_session(session)
    for number, member in enumerate(members_of(session, failed)):
        yield member, [*responses(member, source, number), *inherited_responses(member, source, number)]


def members_of(session: Session, failed: list[Problem]) -> Iterator[Session]:
    """The session, then its subagents at any depth, each once. A subagent's file is read when it is asked for and
    closed before the next one: keep nothing of it. One that a parser fails on is added to `failed`.
    """
    from schemas.opening import MAX_DEPTH, OpenError, read_session
    from schemas.provider import Problem
    from schemas.troubles import is_failure

    yield session
    seen = {os.path.realpath(session.path)}
    queue = [(subagent, 1) for subagent in session.subagents]
    while queue:
        subagent, depth = queue.pop()
        member = subagent.session
        opened = None
        if member is None and subagent.path is not None:
            real = os.path.realpath(subagent.path)
            if real in seen or depth > MAX_DEPTH:
                continue
            seen.add(real)
            try:
                member = opened = read_session(subagent.path, agent=session.provider)
            except OpenError as error:
                # Gone, or no session: the call that started it says so in the transcript.
                if is_failure(error):
                    failed.append(Problem(subagent.path, error.reason))
                continue
        if member is None:
            continue
        try:
            yield member
            queue.extend((child, depth + 1) for child in member.subagents)
        finally:
            if opened is not None:
                opened.close()


# -- what tells a copy -----------------------------------------------------------------------------------------------

_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-z]{20,}", re.IGNORECASE)
"""What an id holds that may be given once in the world: a UUID, or a long token."""
_DIGITS = frozenset("0123456789")
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def response_key(provider: str, session: Session, group: int) -> int:
    """The number that stands for a response in whatever file it lies: a fork's copy of it has the same one.

    An id with a random part (`msg_01XFDUDYJgAACzvnptvVoYEL`, a UUID) tells it alone, as a fork may have copied only a
    part of the response, or at another time. Ids such as `g1` or `5:3` come again in sessions that have nothing to do
    with each other: with them only what has the same input and began at the same time is a copy; output grows, and a
    copy that is cut short ends earlier. Where no time is known, all figures must be the same. `provider` is the agent
    that was charged, as a file of events is of many.
    """
    groups = session.groups
    time = session.messages.when(last) if (last := groups.last[group]) != NONE else None
    return _key(provider, session, groups.ids[group], groups.usage[group], groups.span[group], time)


def _key(provider: str, session: Session, name: str, usage: TokenUsage, span: int, time: float | None) -> int:
    if _tells_alone(name):
        return _key_of(provider, name)
    if (time := began(session, span, time)) is None:
        return _key_of(provider, name, usage[:4])
    return _key_of(provider, name, (usage.input, usage.cache_read, usage.cache_write), math.floor(time))


def _name_of(session: Session, made_by: str | None, group_id: str) -> int:
    """The number of a response by its id and that of the session that made it; 0 where the id tells it alone.

    A fork may write what it inherited with other times (Codex), or fuller: its figures and time do not lead there then,
    but it says which session it is from.
    """
    return 0 if made_by is None or _tells_alone(group_id) else _key_of(session.provider, made_by, group_id)


def rest_of(session: Session) -> int:
    """Return the number of what printed runs of a session count beyond their responses."""
    return _key_of(session.provider, session.id, REST)


def _tells_alone(group_id: str) -> bool:
    """Return whether an id is given once in the world: 11111111-… was made up, and a token of letters is words."""
    token = set(match[0]) if (match := _RANDOM.search(group_id)) else set()
    digits, capitals = len(token & _DIGITS), len(token & _CAPITALS)
    mixed = capitals >= 4 and len(token) - digits - capitals >= 4  # more than the humps of words that were joined
    return len(token) >= 8 and (digits >= 2 or (digits == 1 and mixed))


def _key_of(*names: object) -> int:
    from hashlib import blake2b  # brings OpenSSL, for which a list need not wait

    name = "\0".join(map(str, names)).encode("utf-8", "replace")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)


def began(session: Session, span: int, time: float | None) -> float | None:
    """Return the time of a response's first record; `time` where it does not say."""
    first = next(iter(session.spans.chain(span)), None)
    said = None if first is None else when(session.record(first).get("timestamp"))
    return time if said is None else said


# -- the table -------------------------------------------------------------------------------------------------------

_WIDTH = 5 + len(TokenUsage._fields)


class Table:
    """The responses of a session and its subagents as rows of numbers: what is compared, and what an index keeps."""

    __slots__ = ("_models", "_numbers")

    def __init__(self, models: bytes, numbers: Sequence[int]) -> None:
        self._models, self._numbers = models, numbers  # the names as JSON: a list each would be 10,000 of them

    @classmethod
    def of(cls, rows: Iterable[Response]) -> Table:
        """The table of some rows; of their times the seconds."""
        models: dict[str, int] = {}
        numbers: list[int] = []
        for row in rows:
            model = models.setdefault(row.model, len(models))
            second = -1 if row.time is None else math.floor(row.time)
            numbers += row.key, row.name, second, ~model if row.inherited else model, row.member
            numbers += [-1 if figure is None else figure for figure in row.usage]
        names = json_bytes(list(models))
        try:
            return cls(names, array("q", numbers))
        except OverflowError:
            return cls(names, numbers)  # events may count up to 2^64-1

    @classmethod
    def from_bytes(cls, data: bytes) -> Table:
        """Read what `to_bytes` wrote."""
        names, _, packed = data.partition(b"\n")
        numbers = array("q")
        numbers.frombytes(packed)
        return cls(names, numbers)

    def to_bytes(self) -> bytes:
        """The table as an index keeps it. Raises OverflowError for figures that no agent's session has."""
        return self._models + b"\n" + array("q", self._numbers).tobytes()

    def keys(self) -> Sequence[int]:
        """The key of each row, quickly."""
        return self._numbers[::_WIDTH]

    def __iter__(self) -> Iterator[Response]:
        return self.rows()

    def rows(self, source: Source = NOBODY, time: float | None = None) -> Iterator[Response]:
        """The rows of a session of the index; `time` is that of those that have none."""
        numbers = self._numbers
        models: list[str] = orjson.loads(self._models) if numbers else []
        for start in range(0, len(numbers) - _WIDTH + 1, _WIDTH):
            key, name, second, model, member, *figures = numbers[start : start + _WIDTH]
            usage = TokenUsage(*[None if figure < 0 else figure for figure in figures])
            ended = time if second < 0 else second
            inherited = model < 0
            called = models[~model if inherited else model]
            yield Response(source, source.provider, called, ended, usage, key, name, member, inherited)


# -- which copy counts -----------------------------------------------------------------------------------------------


class Holder(NamedTuple):
    """The session whose copy of a response counts, or which of its subagents'."""

    path: str
    """As `Source` has it."""
    member: int


class Ledger:
    """Settles which copies of responses count: each once, for the session that made it first.

    A member is a session without its subagents, or one of those: a subagent that goes on with its session's talk begins
    with copies of it (Claude Code, formats note 6). Within a member the provider has told copies from responses, and
    not every agent names its responses: only what another member has is a copy.

    A copy may be fuller than what it is of: a session that ended in the midst of a response, or was forked there, has
    its first lines only. So a response counts with the largest figures of all its copies, as within one file.
    """

    def __init__(self) -> None:
        self._largest: dict[int, TokenUsage] | None = None
        """By key the figures of what several members have; None before `compare`."""
        self._holders: dict[int, Holder] = {}
        self._named: dict[int, Holder] = {}
        """Who has a response by its name (`Response.name`), of those whose ids do not tell them alone."""
        self._kept: dict[int, Holder] = {}
        """Sessions that an agent keeps, by the number of what a printed run of them counts beyond its responses: those
        are here, with all their figures.
        """
        self._inherited: list[Response] = []

    def keep(self, session: Session, path: str) -> None:
        """Note a session that will be settled, before any is: printed runs of it sum up what it has."""
        if not session.is_printed:
            self._kept[rest_of(session)] = Holder(path, 0)

    def compare(self, tables: Iterable[Table]) -> None:
        """Look for what several members have, before anything is settled."""
        self._compare([(table.keys(), table) for table in tables])

    def _compare(self, sessions: Sequence[tuple[Sequence[int], Iterable[Response]]]) -> None:
        """Find the responses that several members have. Of most sessions nothing lies elsewhere, so keys are compared
        before figures are made of numbers.
        """
        seen: set[int] = set()
        shared: set[int] = set()
        for keys, _ in sessions:
            own = set(keys)
            shared |= seen & own
            seen |= own
            if len(own) < len(keys):
                shared |= {key for key, count in Counter(keys).items() if count > 1}
        found: dict[int, tuple[tuple[int, int] | None, TokenUsage]] = {}
        for number, (keys, rows) in enumerate(sessions):
            if shared.isdisjoint(keys):
                continue
            for row in rows:
                if row.key in shared:
                    member = number, row.member
                    first, most = found.get(row.key, (member, row.usage))
                    found[row.key] = member if first == member else None, most.largest(row.usage)
        self._largest = {key: most for key, (member, most) in found.items() if member is None}

    def settle(self, rows: Iterable[Response]) -> Iterator[tuple[Response, Holder | None]]:
        """The own rows of a session and its subagents, sessions in the order in which they were made (`in_order_made`),
        each with whose copy counts; None where this one does. What is inherited waits for `settle_inherited`.
        """
        if self._largest is None:  # it is the only session
            rows = list(rows)
            self._compare([([row.key for row in rows], rows)])
        me: Holder | None = None
        for row in rows:
            if row.inherited:
                self._inherited.append(row)
                continue
            if me is None or me.member != row.member:
                me = Holder(row.session.path, row.member)
            if (kept := self._kept.get(row.name)) is not None:
                yield row, kept
                continue
            if row.name:
                self._named.setdefault(row.name, me)
            holder = self._holders.setdefault(row.key, me)
            yield (self._in_full(row), None) if holder is me else (row, holder)

    def settle_inherited(self) -> Iterator[tuple[Response, Holder | None]]:
        """Yield the copies in forks, once all sessions are settled, each with whose copy counts; None where its own."""
        for row in self._inherited:
            holder = self._holders.get(row.key) or self._named.get(row.name)
            if holder is None:
                self._holders[row.key] = me = Holder(row.session.path, row.member)
                if row.name:
                    self._named[row.name] = me
                row = self._in_full(row)
            yield row, holder

    def _in_full(self, row: Response) -> Response:
        """A row that counts, with the largest figures. A member that has a key twice has two responses, of which the
        first was copied.
        """
        most = self._largest.pop(row.key, None) if self._largest else None
        if most is None or most == row.usage:
            return row
        return replace(row, usage=most, own=row.usage, priced=False)


def each_once(rows: Iterable[Response]) -> list[Response]:
    """The responses that make up a session's total with its subagents, of all their rows."""
    return [row for row, holder in Ledger().settle([row for row in rows if not row.inherited]) if holder is None]


class Origin(NamedTuple):
    """The facts by which the copy among several sessions is known."""

    path: Path
    id: str
    created: float | None
    updated: float | None
    lineage: Lineage


def in_order_made(origins: Iterable[Origin]) -> list[Origin]:
    """Each session behind the one that it says it comes from. Else the earlier first record goes first; where that is
    the same, since a copy has it too, the earlier last one; where that is the same, the path decides.
    """
    oldest = sorted(origins, key=lambda one: (one.created is None, one.created or 0, one.updated or 0, str(one.path)))
    by_id = {one.id: one for one in reversed(oldest)}
    placed: dict[Path, Origin] = {}
    for origin in oldest:
        line: dict[Path, Origin] = {}
        one: Origin | None = origin
        while one is not None and one.path not in placed and one.path not in line:
            line[one.path] = one
            before = (one.lineage.forked_from, one.lineage.continues, one.lineage.parent)
            one = next((by_id[name] for name in before if name in by_id), None)
        placed |= dict(reversed(line.items()))
    return list(placed.values())

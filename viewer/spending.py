"""What was used and what it cost, response by response, and sums of it by whatever people ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.interchange.rfc3339 import parse_time
from schemas.values import text_of
from viewer.counting import Once, in_order_made
from viewer.output import path_text, short_path, warn
from viewer.sessions import see_its_own, see_shared

if TYPE_CHECKING:
    from schemas.charges import Charge
    from schemas.message import Span
    from schemas.prices import Call, Prices
    from schemas.provider import Problem
    from schemas.records import FileStore
    from schemas.session import Session
    from schemas.usage import TokenUsage
    from viewer.library import Library
    from viewer.summary import GroupRow
    from viewer.targets import Target

KINDS = ("session", "exchange", "group", "day", "model", "agent", "project")
"""By what sums are made."""
NO_MODEL = "unknown"
"""What a model is called that the source does not name."""
_NAMED_MODELS = 6
"""Models without a price that a note names."""


class Source(NamedTuple):
    """The session a response belongs to; a subagent's belongs to the one that started it."""

    provider: str
    id: str
    path: str
    """As it may be shown."""
    title: str
    project: str | None
    """Its workspace."""


class Part(Enum):
    """What a response is to the session that it counts for."""

    OWN = "own"
    SUBAGENT = "subagent"
    INHERITED = "inherited"


class Place(NamedTuple):
    """Where a record stands."""

    path: str
    """As it may be shown."""
    line: int
    """From 1; the number of the record where a source has no lines."""
    offset: int
    length: int
    """In bytes of the file, where a source has lines."""
    in_lines: bool = True

    def to_json(self) -> dict[str, object]:
        """As an answer names it: the file, and where in it as in `usage --json`."""
        if not self.in_lines:
            return {"path": self.path, "record": self.line}
        return {"path": self.path, "line": self.line, "offset": self.offset, "length": self.length}


class Spent(NamedTuple):
    """A response that counts."""

    source: Source
    provider: str
    model: str
    time: float | None
    usage: TokenUsage
    cost: float | None
    """US dollars; None where the model has no price."""
    group: str = ""
    exchange: str = ""
    heading: str = ""
    """The exchange's number and prompt."""
    places: Sequence[Place] = ()
    """Where its figures stand. Known where they are to be explained; those in fuller copies, which are read later, are
    added.
    """
    part: Part = Part.OWN


class LeftOut(NamedTuple):
    """Something that counts nowhere, or not here, and why."""

    path: str
    what: str
    """A response's id, or what else it is."""
    places: Sequence[Place]
    reason: str


class Coster:
    """Prices responses, and remembers what has no price."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices

    def cost(self, provider: str, model: str, call: Call, time: float | None) -> float | None:
        """US dollars; None where there is no price. What used nothing costs nothing, whatever it is called."""
        if not call.usage.total and not call.tool_input and not call.tool_output:
            return 0.0
        return self._prices.cost(provider, model, call, time)


class Filters(NamedTuple):
    """What counts; None: everything."""

    since: float | None = None
    until: float | None = None
    """Seconds since 1970; `until` is not in it any more."""
    project: str | None = None
    """A project's name, or a directory: the projects in it."""

    def fits_project(self, root: str | None) -> bool:
        """Whether a session's workspace is asked for."""
        if self.project is None:
            return True
        from renderers.facts import project_name
        from viewer.library import in_directory
        from viewer.targets import given_path

        if project_name(root).casefold() == self.project.casefold():
            return True
        return in_directory(root, given_path(self.project).absolute())

    def fits_time(self, time: float | None) -> bool:
        """Whether a response's time is asked for; one without a time is not where any is."""
        if self.since is None and self.until is None:
            return True
        if time is None:
            return False
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)


@dataclass(slots=True)
class Tally:
    """A sum of responses."""

    usage: TokenUsage | None = None
    cost: float | None = None
    responses: int = 0
    unpriced: set[str] = field(default_factory=set)
    """Models of responses that are not in `cost`."""

    def add(self, usage: TokenUsage, cost: float | None, model: str) -> None:
        """Count a response."""
        self.responses += 1
        self.usage = usage if self.usage is None else self.usage + usage
        if cost is None:
            self.unpriced.add(model or NO_MODEL)
        else:
            self.cost = cost if self.cost is None else self.cost + cost

    def __add__(self, other: Tally) -> Tally:
        both = Tally()
        both.merge(self)
        both.merge(other)
        return both

    def merge(self, other: Tally) -> None:
        """Count what another sum counted."""
        self.responses += other.responses
        self.unpriced |= other.unpriced
        if other.usage is not None:
            self.usage = other.usage if self.usage is None else self.usage + other.usage
        if other.cost is not None:
            self.cost = other.cost if self.cost is None else self.cost + other.cost

    @property
    def tokens(self) -> int:
        """All of them; 0 where none are known."""
        return (self.usage.total or 0) if self.usage else 0

    def to_json(self) -> dict[str, Any]:
        """Its figures in an answer."""
        return {
            "usage": None if self.usage is None else self.usage.to_json(),
            "costUsd": rounded_cost(self.cost),
            "unpriced": sorted(self.unpriced),
        }


def rounded_cost(cost: float | None) -> float | None:
    """Dollars to a millionth: behind that are only the errors of floating-point sums."""
    return None if cost is None else round(cost, 6)


def cost_text(tally: Tally) -> str:
    """A sum's cost for a table: `$1.25`, with a plus where something in it has no price, `-` where nothing has one."""
    from renderers.facts import cost_fact

    return cost_fact(tally.cost, partial=bool(tally.unpriced)) or "-"


def unpriced_note(tally: Tally) -> list[str]:
    """Which models have no price, in one line; none where all have."""
    from schemas.clean import one_line

    names = sorted(tally.unpriced)
    if not names:
        return []
    more = f" and {len(names) - _NAMED_MODELS} more" if len(names) > _NAMED_MODELS else ""
    return [f"no price for {', '.join(one_line(name, 60) for name in names[:_NAMED_MODELS])}{more}: not in the cost"]


def copies_note(count: int) -> str:
    """How many responses were left out as copies."""
    from renderers.facts import plural

    copies = "a copy: counted where it was made" if count == 1 else "copies: counted where they were made"
    return f"{plural(count, 'response')} left out as {copies}"


@dataclass(slots=True)
class Row:
    """A sum and what it is of."""

    key: str
    label: str
    mark: str = ""
    """What tells it from others of that label: a session's id."""
    tally: Tally = field(default_factory=Tally)
    responses: list[Spent] = field(default_factory=list)
    """Kept where they are to be explained."""
    weight: float = 0
    """How great it is beside the others: by its cost where rows stand by that, else by its tokens."""


def rows_by(kind: str, spent: Iterable[Spent], *, keep: bool = False) -> tuple[list[Row], Tally]:
    """Sums by one of KINDS and the sum of all. Days, and what follows from a file's order, stand in that order; the
    rest by cost, the dearest first, and where there is none by tokens (`weight`).
    """
    rows: dict[str, Row] = {}
    for one in spent:
        key, label = _name(kind, one)
        row = rows.get(key)
        if row is None:
            row = rows[key] = Row(key, label, one.source.id if kind in ("session", "exchange", "group") else "")
        row.tally.add(one.usage, one.cost, one.model)
        if keep:
            row.responses.append(one)
    found = list(rows.values())
    total = Tally()
    for row in found:
        total.merge(row.tally)
        row.weight = row.tally.tokens
    if kind == "day":
        found.sort(key=lambda row: row.key)
    elif kind not in ("exchange", "group"):
        found.sort(key=lambda row: (-(row.tally.cost or 0), -row.tally.tokens, row.key))
        if total.cost:
            for row in found:
                row.weight = row.tally.cost or 0
    if kind != "session" and len({row.mark for row in found}) == 1:
        for row in found:
            row.mark = ""  # all of one session, which need not be named
    return found, total


def foot(
    sessions: int, subagents: int, own: Tally, with_subagents: Tally, everything: Tally
) -> list[tuple[str, Tally]]:
    """The totals of sessions by what they are called: of one its own, of several those of all their subagents too; then
    with what only adds to it.
    """
    from renderers.facts import plural

    if sessions == 1:
        totals = [("session", own)]
        if subagents:
            totals.append((f"with {plural(subagents, 'subagent')}", with_subagents))
    else:
        more = f", {plural(subagents, 'subagent')}" if subagents else ""
        totals = [(f"{plural(sessions, 'session')}{more}", with_subagents)]
    if everything.responses > with_subagents.responses:
        totals.append(("with inherited", everything))
    return totals


def _name(kind: str, one: Spent) -> tuple[str, str]:
    """What a response is summed under, and what that is called."""
    source = one.source
    if kind == "session":
        return f"{source.path}\0{source.id}", source.title or source.id
    if kind == "exchange":
        return f"{source.path}\0{one.exchange}", one.heading
    if kind == "group":
        return f"{source.path}\0{one.exchange}\0{one.group}", one.group
    if kind == "day":
        return (day := _day(one.time)), day
    if kind == "model":
        return one.model or NO_MODEL, one.model or NO_MODEL
    if kind == "agent":
        return one.provider, one.provider
    return source.project or "", short_path(source.project) if source.project else "(no project)"


_QUARTER = 900
"""Seconds. Wherever a day begins, and a clock is changed, a quarter of an hour begins."""


def _day(time: float | None) -> str:
    """The day on this machine's clock."""
    return "unknown" if time is None else _day_of_quarter(int(time // _QUARTER))


@lru_cache(4096)
def _day_of_quarter(quarter: int) -> str:
    from datetime import datetime

    try:
        return datetime.fromtimestamp(quarter * _QUARTER).astimezone().strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "unknown"


# -- from the index --------------------------------------------------------------------------------------------------


def from_index(library: Library, filters: Filters, coster: Coster, once: Once) -> Iterator[Spent]:
    """The responses of every session of this machine, subagents included, from the library's index: no file is read.

    A session comes behind those that it was copied from, so that a response counts where it was given; what none
    of them gave counts for the first fork that has a copy.
    """
    from schemas.prices import Call
    from viewer.summary import origin_of

    indexed = {summary.path: (summary, groups) for summary, groups in library.groups()}
    see_shared(once, [groups for _, groups in indexed.values()])
    inherited: list[tuple[Source, GroupRow, float]] = []
    for origin in in_order_made(origin_of(summary) for summary, _ in indexed.values()):
        summary, groups = indexed[origin.path]
        name, member = path_text(summary.path), -1
        wanted = filters.fits_project(summary.workspace_root)
        title = summary.title or summary.first_prompt
        source = Source(summary.provider, summary.id, name, title, summary.workspace_root)
        for group in groups.rows():
            time = summary.when if group.time is None else group.time
            if group.member != member:
                member = group.member
                once.begin_member()
            if group.inherited:
                if wanted:
                    inherited.append((source, group, time))
                continue
            new, asked = once.is_new(group.key, group.name), wanted and filters.fits_time(time)
            once.copies += asked and not new
            if new and asked:
                usage = once.fullest(group.key, group.usage)
                cost = coster.cost(summary.provider, group.model, Call(usage), time)
                yield Spent(source, summary.provider, group.model, time, usage, cost)
    once.begin_member()
    for source, group, time in inherited:
        new, asked = once.takes(group.key, group.name), filters.fits_time(time)
        once.copies += asked and not new
        if new and asked:
            usage = once.fullest(group.key, group.usage)
            cost = coster.cost(source.provider, group.model, Call(usage), time)
            yield Spent(source, source.provider, group.model, time, usage, cost)


# -- from files ------------------------------------------------------------------------------------------------------


class FileSpending:
    """The responses of sessions that are read, subagents included, with the records that each comes from."""

    def __init__(self, filters: Filters, coster: Coster, once: Once, *, explain: bool = False) -> None:
        self.left_out: list[LeftOut] = []
        self.sessions = self.subagents = 0
        """How many were asked for and read."""
        self.projects: set[str | None] = set()
        """The workspaces of all that were read."""
        self._parts = {part: Tally() for part in Part}
        self._inherited: list[tuple[Spent, int, int, str]] = []
        """What forks have copies of, with its key, its name and the fork's path."""
        self._grown: dict[int, tuple[TokenUsage, list[Place]]] = {}
        """Responses with fuller copies to come: by their keys the figures found until now, and where."""
        self._filters, self._coster, self._once, self._explain = filters, coster, once, explain

    def of(self, target: Target, session: Session) -> Iterator[Spent]:
        """The responses of one session that are its own, or its subagents'."""
        for spent in self._of(target, session):
            self._parts[spent.part].add(spent.usage, spent.cost, spent.model)
            yield spent

    def foot(self) -> list[tuple[str, Tally]]:
        """When all was counted: the totals, each with what it is of."""
        own = self._parts[Part.OWN]
        both = own + self._parts[Part.SUBAGENT]
        return foot(self.sessions, self.subagents, own, both, both + self._parts[Part.INHERITED])

    def _of(self, target: Target, session: Session) -> Iterator[Spent]:
        from schemas.charges import charges, time_or_files, with_usage
        from viewer.summary import members_of, own_name, response_key

        see_its_own(self._once, session)
        wanted = self._filters.fits_project(session.workspace_root)
        self.projects.add(session.workspace_root)
        self.sessions += wanted
        title = session.title or next((e.prompt for e in session.live_exchanges), "")
        source = Source(session.provider, session.id, target.shown_path, title, session.workspace_root)
        failed: list[Problem] = []
        rest = Uncounted(target.shown_path, self._filters)
        for number, member in enumerate(members_of(session, failed)):
            self._once.begin_member(target.shown_path if member.path == session.path else path_text(member.path))
            self.subagents += wanted and number > 0
            headings = _headings(member) if member is session else {}
            for charge in charges(member):
                charge = charge._replace(time=time_or_files(member, charge.time))
                key = response_key(charge.provider, member, charge.group)
                asked = wanted and self._filters.fits_time(charge.time)
                if self._once.is_new(key, own_name(member, charge.group_id)):
                    full = with_usage(charge, self._once.fullest(key, charge.usage))
                    spent = self._spent(source, member, full, headings)
                    if asked:
                        yield self._expecting(key, spent, charge.usage)
                    continue
                self._once.copies += asked
                if self._explain:
                    places = places_of(member, charge.group)
                    reason = self._copied(key, charge.usage, places)
                    if asked:
                        self.left_out.append(LeftOut(target.shown_path, charge.group_id, places, reason))
            if wanted:
                self._take_inherited(source, member, headings)
            if self._explain and wanted:
                self._explain_rest(target, member)
                rest.note(member)
        self.left_out += rest.left_out()
        for problem in failed:
            warn(f"{path_text(problem.path)}: {problem.reason}")

    def _expecting(self, key: int, spent: Spent, own: TokenUsage) -> Spent:
        """A response that counts; where its own figures are not all of it, its places grow with those of the copies."""
        if not self._explain or spent.usage == own:
            return spent
        places = list(spent.places)
        self._grown[key] = own, places
        return spent._replace(places=places)

    def _copied(self, key: int, usage: TokenUsage, places: Sequence[Place], name: int = 0) -> str:
        """Why a copy is left out, whose figures may be a part of those that count."""
        where = self._once.where(key, name)
        own, found = self._grown.get(key, (usage, []))
        if own.largest(usage) == own:
            return f"a copy of the one in {where}, where it is counted"
        found += places
        self._grown[key] = own.largest(usage), found
        return f"a fuller copy of the one in {where}, where it is counted with these figures"

    def _spent(self, source: Source, member: Session, charge: Charge, headings: dict[int, str]) -> Spent:
        from schemas.charges import INHERITED

        copied = member.inherited[charge.group_id] if charge.group == INHERITED else None
        exchange = copied.exchange if copied else member.groups.exchange[charge.group]
        if charge.session_id != member.id:  # a file of events, which are of many sessions
            from schemas.clean import one_line

            name = one_line(f"{charge.provider} · {charge.session_id}", 300)
            source = source._replace(id=charge.session_id, title=name)
        return Spent(
            source,
            charge.provider,
            charge.model,
            charge.time,
            charge.usage,
            self._coster.cost(charge.provider, charge.model, charge.call, charge.time),
            charge.group_id,
            member.exchanges[exchange].id if headings else "subagents",
            headings.get(exchange, "(subagents)"),
            () if not self._explain else places_at(member, copied.span) if copied else places_of(member, charge.group),
            Part.INHERITED if copied else Part.OWN if headings else Part.SUBAGENT,
        )

    def _take_inherited(self, source: Source, member: Session, headings: dict[int, str]) -> None:
        from schemas.charges import inherited_charges, time_or_files
        from viewer.summary import inherited_key, inherited_name

        for charge in inherited_charges(member):
            key, name = inherited_key(member, charge), inherited_name(member, charge.group_id)
            charge = charge._replace(time=time_or_files(member, charge.time))
            self._inherited.append((self._spent(source, member, charge, headings), key, name, source.path))

    def inherited(self) -> Iterator[Spent]:
        """When all the sessions were read: what forks inherited from sessions that are not among them."""
        from schemas.prices import Call

        for one, key, name, path in self._inherited:
            self._once.begin_member(path)
            asked = self._filters.fits_time(one.time)
            if not self._once.takes(key, name):
                self._once.copies += asked
                reason = self._copied(key, one.usage, one.places, name)
                if self._explain and asked:
                    self.left_out.append(LeftOut(path, one.group, one.places, reason))
            elif asked:
                usage, spent = self._once.fullest(key, one.usage), one
                if usage != one.usage:
                    cost = self._coster.cost(one.provider, one.model, Call(usage), one.time)
                    spent = self._expecting(key, one._replace(usage=usage, cost=cost), one.usage)
                self._parts[Part.INHERITED].add(spent.usage, spent.cost, spent.model)
                yield spent

    def _note(self, target: Target, member: Session, group: int, reason: str) -> None:
        if self._explain:
            places = places_of(member, group)
            self.left_out.append(LeftOut(target.shown_path, member.groups.ids[group], places, reason))

    def _explain_rest(self, target: Target, member: Session) -> None:
        """Groups that never became a response that counts."""
        from schemas.charges import counted_groups, time_of_group, time_or_files

        counted = set(counted_groups(member))
        copied = {one.span for one in member.inherited.values()}  # said by themselves
        held = {group for exchange in member.exchanges for group in exchange.groups}
        for group in range(len(member.groups)):
            if member.groups.span[group] in copied:
                continue
            if not self._filters.fits_time(time_or_files(member, time_of_group(member, group))):
                continue
            if group not in held:
                self._note(target, member, group, _INHERITED_WORDS)
            elif group not in counted:
                self._note(target, member, group, "no figures are recorded")


def _headings(session: Session) -> dict[int, str]:
    from renderers.facts import exchange_numbers

    headings = {}
    for exchange, number in zip(session.exchanges, exchange_numbers(session), strict=True):
        prompt = exchange.prompt or ("(before the first prompt)" if exchange.opener is None else "(empty prompt)")
        mark = "(rewound) " if exchange.rewound else "(inherited) " if exchange.inherited else ""
        headings[exchange.index] = f"{number}. {prompt}" if number else mark + prompt
    return headings


def places_of(session: Session, group: int) -> tuple[Place, ...]:
    """Where a group's figures stand."""
    return tuple(_place(session, span) for span in session.group_spans(group))


def places_at(session: Session, span: int) -> tuple[Place, ...]:
    """Where the records of a chain stand."""
    return tuple(_place(session, one) for one in session.spans.chain(span))


def _place(session: Session, span: Span) -> Place:
    path = path_text(session.stores[span.store].path)
    return Place(path, span.line, span.offset, span.length, session.in_lines(span))


# -- what counts nowhere -----------------------------------------------------------------------------------------------


_FIGURES = re.compile(rb'"(?:\w*(?:in|out|total)(?:put)?_?token(?:s|_count)?|total)"\s*:\s*[1-9]', re.IGNORECASE)
"""A counter as every agent names it, one way or another, with something in it."""
_INHERITED_WORDS = "inherited from another session: it counts there, where that one is read"
_STEP = 1 << 20


class Uncounted:
    """The lines of a session's files that hold token figures and belong to no response of it or of its subagents.

    Several sessions may lie in one file, and a member's file is closed before the next one is read; so `note` looks at
    each member, and `left_out` says what none of them counted. A source without lines holds nothing twice.
    """

    def __init__(self, shown_path: str, filters: Filters) -> None:
        self._filters = filters
        self._shown_path = shown_path
        self._used: set[tuple[str, int]] = set()
        self._found: dict[str, list[LeftOut]] = {}
        self._unreadable: list[LeftOut] = []

    def note(self, member: Session) -> None:
        """Look at one member while it is open."""
        from schemas.records import FileStore

        paths = [path_text(store.path) for store in member.stores]
        for group in range(len(member.groups)):
            self._used.update((paths[span.store], span.line) for span in member.group_spans(group))
        for one in member.inherited.values():
            self._used.update((paths[span.store], span.line) for span in member.spans.chain(one.span))
        for path, store in zip(paths, member.stores, strict=True):
            if isinstance(store, FileStore) and path not in self._found:
                self._found[path] = list(self._figures(path, store))
        for bad in member.unreadable:
            own = member.path.parent / bad.file if bad.file else member.path
            place = Place(path_text(own), bad.line, bad.offset, bad.length)
            self._unreadable.append(LeftOut(self._shown_path, "", (place,), f"unreadable: {bad.reason}"))

    def left_out(self) -> Iterator[LeftOut]:
        """What nobody counted, in the order of the files."""
        for path, found in self._found.items():
            yield from (one for one in found if (path, one.places[0].line) not in self._used)
        yield from self._unreadable

    def _figures(self, path: str, store: FileStore) -> Iterator[LeftOut]:
        """Each line with figures in it, and why it would not be counted."""
        seen: dict[str, int] = {}
        for offset, length, line, record in _records(store):
            identity = record.get("uuid")
            first = seen.setdefault(identity, line) if isinstance(identity, str) else line
            time = parse_time(record.get("timestamp"))
            if not self._filters.fits_time(time.timestamp() if time else None):
                continue
            if _FIGURES.search(store.read(offset, length)):
                reason = f"the same record as line {first}" if first != line else _reason(record)
                yield LeftOut(self._shown_path, "", (Place(path, line, offset, length),), reason)


def _records(store: FileStore) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    from schemas.records import JsonLines

    lines, position = JsonLines(), 0
    while data := store.read(position, _STEP):
        position += len(data)
        yield from lines.push(data)
    yield from lines.finish()


_SUBAGENT = "what is told of a subagent, whose responses are counted by themselves"
_REASONS = {
    "event_msg": "no new tokens in it: the running total said again, or copied from the session this one continues",
    "gemini": "an earlier version of a message that was written again",
    "progress": _SUBAGENT,
    "user": _SUBAGENT,
    "system": "a report about responses, no response",
    "result": "a sum of responses, which are counted one by one",
}
"""Why lines with figures do not count, by their type: Codex, Gemini CLI, Claude Code and its streams, Qwen Code."""


def _reason(record: dict[str, Any]) -> str:
    """Why a record's figures are not those of a response."""
    if record.get("forkedFrom"):
        return _INHERITED_WORDS
    return _REASONS.get(text_of(record.get("type")), "belongs to no response")

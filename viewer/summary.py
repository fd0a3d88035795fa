"""What the library keeps of a session, and how it is made from the session's file."""

from __future__ import annotations

import json
import math
import os
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from schemas.clean import clean, one_line
from schemas.json_output import json_bytes
from schemas.message import Flag, Kind
from schemas.paths import address_json
from schemas.session import Lineage, Session
from schemas.table import NONE
from schemas.usage import TokenUsage, total_usage
from schemas.values import when
from viewer.counting import Origin, each_once
from viewer.sides import Side, file_state, is_live

if TYPE_CHECKING:
    from schemas.charges import Charge
    from schemas.provider import Problem, Reading

_AGENT_KINDS = (Kind.TEXT, Kind.THINKING, Kind.TOOL)
_FIGURES = ("input", "output", "cache_read", "cache_write", "reasoning", "cache_write_1h")


@dataclass(slots=True)
class Summary:
    """A session in a list: all that can be shown of it without its file."""

    provider: str
    id: str
    path: Path
    title: str
    workspace_root: str | None
    branch: str | None
    created: float | None
    """Seconds since 1970, from the session's own records."""
    updated: float | None
    exchanges: int
    """Opened by a person, not rewound, not inherited."""
    messages: int
    agent_messages: int
    models: list[str]
    usage: TokenUsage | None
    """Its own tokens."""
    usage_with_subagents: TokenUsage | None
    subagents: int
    """How many of them are counted in `usage_with_subagents`."""
    first_prompt: str
    last_prompt: str
    last_text: str
    """The beginning of what the agent said last."""
    size: int
    mtime_ns: int
    touched_ns: int
    """When it or one of its subagents was written last."""
    newest: float | None = None
    """The time of the newest record of it and its subagents."""
    lineage: Lineage = field(default_factory=Lineage)
    unreadable: dict[str, list[int]] = field(default_factory=dict)
    """Lines that could not be read, by the files beside its own in which they stand; its own is empty."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Record types that nobody described, and how many of each."""
    archived: bool = False
    """Whether the agent has put it away."""

    @property
    def live(self) -> bool:
        """Whether it is being written."""
        return is_live(self.touched_ns / 1e9, self.newest)

    @property
    def blank(self) -> bool:
        """Whether there is nothing to read in it: no prompt, and not a word of the agent. Lists leave it out."""
        return not self.exchanges and not self.agent_messages

    @property
    def when(self) -> float:
        """By which lists are sorted: its last record's time, the file's where it has none."""
        return self.mtime_ns / 1e9 if self.updated is None else self.updated


def origin_of(session: Session | Summary) -> Origin:
    """What tells of a session, read or summarised, whether it is a copy."""
    return Origin(session.path, session.id, session.created, session.updated, session.lineage)


class GroupRow(NamedTuple):
    """One token group for sums over many sessions. `key` is the same for copies of one response in several files."""

    key: int
    time: float | None
    usage: TokenUsage
    model: str = ""
    """Empty where the source names none."""
    inherited: bool = False
    """Of the session that this one was forked from: it counts here only where that one is gone."""
    member: int = 0
    """Whose it is: the session's own, or that of its subagents by their numbers from 1. They may have copies."""
    name: int = 0
    """`own_name`, or `inherited_name` of what was inherited."""


@dataclass(slots=True)
class Indexed:
    """What indexing a file gave, as the library stores it. `error` says why there is no summary, or why a subagent is
    not in it.
    """

    path: str
    size: int
    mtime_ns: int
    summary: bytes = b""
    listed: bytes = b""
    """Its row of `list --json` up to the value of `live`."""
    blank: bool = False
    touched_ns: int = 0
    newest: float | None = None
    when: float = 0.0
    side: str = "[]"
    groups: bytes = b""
    error: str = ""
    root: str | None = None
    """Its workspace, without `.` and `..` in it, by which a directory's sessions are found."""


def pack(summary: Summary) -> bytes:
    """A summary as bytes, its path and the file's state apart."""
    s = summary
    lineage = (s.lineage.forked_from, s.lineage.continues, s.lineage.parent, s.lineage.agent_id)
    both = True if s.usage_with_subagents == s.usage else _figures(s.usage_with_subagents)
    before = (s.title, s.workspace_root, s.branch, s.created, s.updated, s.exchanges, s.messages, s.agent_messages)
    after = (s.subagents, s.first_prompt, s.last_prompt, s.last_text)
    rest = ((s.touched_ns, s.newest), lineage if any(lineage) else None, s.unreadable, s.unknown, s.archived)
    return json_bytes((s.provider, s.id, before, s.models, _figures(s.usage), both, after, *rest))


def _figures(usage: TokenUsage | None) -> list[int | None] | None:
    return None if usage is None else [getattr(usage, name) for name in _FIGURES]


def unpack(data: bytes, path: str, size: int, mtime_ns: int) -> Summary:
    """What `pack` wrote. Raises ValueError or TypeError for anything else. A list of 10,000 waits for this."""
    provider, session_id, before, models, own, both, after, touched, *rest = orjson.loads(data)
    lineage, unreadable, unknown, archived = rest
    subagents, first_prompt, last_prompt, last_text = after
    touched_ns, newest = touched
    title, root, branch, created, updated, exchanges, messages, agent_messages = before
    usage = None if own is None else TokenUsage(*own)
    return Summary(
        provider,
        session_id,
        Path(path),
        title,
        root,
        branch,
        created,
        updated,
        exchanges,
        messages,
        agent_messages,
        models,
        usage,
        usage if both is True else None if both is None else TokenUsage(*both),
        subagents,
        first_prompt,
        last_prompt,
        last_text,
        size,
        mtime_ns,
        touched_ns,
        newest,
        _NO_LINEAGE if lineage is None else Lineage(*lineage),
        unreadable,
        unknown,
        archived,
    )


_NO_LINEAGE = Lineage()
"""Shared by most summaries; nobody changes a summary's lineage."""


def list_object(summary: Summary) -> dict[str, Any]:
    """A row of `list --json`; `live`, which changes with time, is its last value."""
    from renderers.facts import iso_time

    return {
        "provider": summary.provider,
        "id": summary.id,
        **address_json(summary.path),
        "title": summary.title,
        "workspaceRoot": summary.workspace_root,
        "createdAt": None if summary.created is None else iso_time(summary.created),
        "updatedAt": None if summary.updated is None else iso_time(summary.updated),
        "exchanges": summary.exchanges,
        "messages": summary.messages,
        "models": summary.models,
        "usage": None if summary.usage is None else summary.usage.to_json(),
        "archived": summary.archived,
        "live": summary.live,
    }


def index_file(path: str, found: tuple[int, int] | None = None, agent: str = "") -> Indexed:
    """Read a session and its subagents, one after the other, and keep what a list needs.

    `found` is the size and the time of the session as discovery saw it: of a source with several files they are not
    those of one of them. `agent` is the one in whose home it was found.
    """
    # Imported here: a list that is up to date reads no session.
    from schemas.opening import OpenError, open_reading, read_to_end

    state = file_state(path) if found is None else Side(path, *found)
    indexed = Indexed(path, state.size, state.mtime_ns)
    sides: dict[str, Side] = {}
    try:
        reading = open_reading(Path(path), agent=agent)
        _add_sources(reading, sides)
        session = read_to_end(reading)
        _add_sources(reading, sides)  # what it found only now
    except OpenError as error:
        indexed.error = error.reason
        return indexed
    try:
        members = 0
        groups = array("q")
        models: dict[str, int] = {}
        failed: list[Problem] = []
        newest: float | None = None
        for member in members_of(session, failed):
            newest = max((t for t in (newest, member.updated or member.created) if t is not None), default=None)
            _add_groups(member, members, groups, models)
            members += 1
            if member.path != session.path:
                for beside in (str(member.path), str(member.path.parent)):
                    sides[beside] = sides.get(beside, file_state(beside))._replace(holds=beside == str(member.path))
        if any(flags & Flag.SUBAGENT for flags in session.messages.flags):
            # The folder may be made later, without a change of the session's own file.
            beside = str(Path(path).with_suffix(""))
            sides.setdefault(beside, file_state(beside)._replace(holds=False))
        indexed.groups = json_bytes(list(models)) + b"\n" + groups.tobytes()
        counted = counted_rows(group_rows(indexed.groups))
        both = session.usage() if members == 1 else total_usage(row.usage for row in counted)
        summary = summarise(session, state, both, members - 1)
        summary.touched_ns = max(state.mtime_ns, *(s.mtime_ns for s in sides.values()), 0)
        summary.newest = newest
        indexed.summary = pack(summary)
        row = list_object(summary)
        del row["live"]
        indexed.listed = json_bytes(row)[:-1] + b',"live":'
        indexed.blank, indexed.when = summary.blank, summary.when
        indexed.touched_ns, indexed.newest = summary.touched_ns, newest
        # The standard json keeps file names that are no UTF-8.
        indexed.side = json.dumps(list(sides.values()))
        indexed.root = os.path.normpath(summary.workspace_root) if summary.workspace_root else None
        indexed.error = "; ".join(f"{clean(problem.path.name)}: {problem.reason}" for problem in failed)
    except OSError as error:
        indexed.error = (error.strerror or str(error)).lower()
    finally:
        session.close()
    return indexed


def _add_sources(reading: Reading, sides: dict[str, Side]) -> None:
    """Note the files beside its own that a session is read from: a database's log, a transcript."""
    for source in map(str, reading.sources):
        if source != str(reading.session.path) and source not in sides:
            sides[source] = file_state(source)._replace(holds=False)


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


def says_something(session: Session) -> bool:
    """Whether there is anything to read in what was read of a session by now: what `Summary.blank` denies."""
    kinds = session.messages.kind
    return any(kind in kinds for kind in _AGENT_KINDS) or bool(session.live_exchanges)


def summarise(session: Session, state: Side, with_subagents: TokenUsage | None, subagents: int) -> Summary:
    """The summary of a session that has been read."""
    live = session.live_exchanges
    kinds = session.messages.kind
    return Summary(
        session.provider,
        session.id,
        session.path,
        session.title or (one_line(live[0].prompt) if live else ""),
        session.workspace_root,
        session.branch,
        session.created,
        session.updated,
        len(live),
        len(session.messages),
        sum(kinds.count(kind) for kind in _AGENT_KINDS),
        [model for model in session.models if model],
        session.usage(),
        with_subagents,
        subagents,
        live[0].prompt if live else "",
        live[-1].prompt if live else "",
        _last_text(session),
        state.size,
        state.mtime_ns,
        state.mtime_ns,
        session.updated,
        session.lineage,
        {file: lines[:100] for file, lines in session.unreadable_lines().items()},
        dict(session.unknown),
        session.metadata.get("archived") is True,
    )


def _last_text(session: Session) -> str:
    left_out = Flag.REWOUND | Flag.INHERITED
    for index in range(len(session.messages) - 1, -1, -1):
        if session.messages.kind[index] == Kind.TEXT and not session.messages.flags[index] & left_out:
            return one_line(session.message(index).text, 300)
    return ""


_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-z]{20,}", re.IGNORECASE)
"""What an id holds that may be given once in the world: a UUID, or a long token."""
_DIGITS = frozenset("0123456789")
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def response_key(provider: str, session: Session, group: int) -> int:
    """A number that stands for a response in whatever file it lies: a fork's copy of it has the same one.

    An id with a random part (`msg_01XFDUDYJgAACzvnptvVoYEL`, a UUID) tells it alone, as a fork may have copied only a
    part of the response, or at another time. Ids such as `g1` or `5:3` come again in sessions that have nothing to do
    with each other: with them only what has the same input and began at the same time is a copy; output grows, and a
    copy that is cut short ends earlier. Where no time is known, all figures must be the same. `provider` is the agent
    that was charged, as a file of events is of many.
    """
    name = session.groups.ids[group]
    if _tells_alone(name):
        return _key_of(provider, name)
    last = session.groups.last[group]
    time = session.messages.when(last) if last != NONE else None
    return _weak_key(provider, name, session.groups.usage[group], _began(session, session.groups.span[group], time))


def inherited_key(session: Session, charge: Charge) -> int:
    """The `response_key` of a response that a fork inherited (`schemas.charges.inherited_charges`)."""
    if _tells_alone(charge.group_id):
        return _key_of(charge.provider, charge.group_id)
    began = _began(session, session.inherited[charge.group_id].span, charge.time)
    return _weak_key(charge.provider, charge.group_id, charge.usage, began)


def own_name(session: Session, group_id: str) -> int:
    """A number for one of a session's responses by its id and the session's; 0 where the id tells it alone.

    A fork may write what it inherited with other times (Codex), or fuller: its figures and time do not lead there then,
    but it says which session it is from.
    """
    return 0 if _tells_alone(group_id) else _key_of(session.provider, session.id, group_id)


def inherited_name(session: Session, group_id: str) -> int:
    """The `own_name` that a response which a session inherited has where it is from."""
    origin = session.lineage.forked_from
    return 0 if origin is None or _tells_alone(group_id) else _key_of(session.provider, origin, group_id)


def _tells_alone(group_id: str) -> bool:
    """Whether an id is given once in the world: 11111111-… was made up, and a token of letters is words."""
    token = set(match[0]) if (match := _RANDOM.search(group_id)) else set()
    digits, capitals = len(token & _DIGITS), len(token & _CAPITALS)
    mixed = capitals >= 4 and len(token) - digits - capitals >= 4  # more than the humps of words that were joined
    return len(token) >= 8 and (digits >= 2 or (digits == 1 and mixed))


def _key_of(*names: object) -> int:
    from hashlib import blake2b  # brings OpenSSL, for which a list need not wait

    name = "\0".join(map(str, names)).encode("utf-8", "replace")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)


def _weak_key(provider: str, group_id: str, usage: TokenUsage, began: float | None) -> int:
    if began is None:
        return _key_of(provider, group_id, usage[:4])
    return _key_of(provider, group_id, (usage.input, usage.cache_read, usage.cache_write), math.floor(began))


def _began(session: Session, span: int, time: float | None) -> float | None:
    """When the first record of a response was written; `time` where it does not say."""
    first = next(iter(session.spans.chain(span)), None)
    began = None if first is None else when(session.record(first).get("timestamp"))
    return time if began is None else began


def _add_groups(session: Session, number: int, rows: array[int], models: dict[str, int]) -> None:
    """Append a row of numbers a group, and one an inherited response. `number` is the member's; `models` numbers the
    names of models.
    """
    # These bring the prices, for which a list need not wait.
    from schemas.charges import inherited_charges, time_of_group, time_or_files

    def add(key: int, name: int, time: float | None, model: int, usage: TokenUsage) -> None:
        second = time_or_files(session, time)
        rows.extend((key, name, -1 if second is None else math.floor(second), model, number))
        rows.extend(-1 if (figure := getattr(usage, name)) is None else figure for name in _FIGURES)

    for group in range(len(session.groups.ids)):
        usage = session.groups.usage[group]
        if usage.total is None:
            continue  # nothing to count; a copy of the response may lie elsewhere with its figures
        model = models.setdefault(session.models[session.groups.model[group]], len(models))
        key, name = response_key(session.provider, session, group), own_name(session, session.groups.ids[group])
        add(key, name, time_of_group(session, group), model, usage)
    for charge in inherited_charges(session):
        model = models.setdefault(charge.model, len(models))
        key, name = inherited_key(session, charge), inherited_name(session, charge.group_id)
        add(key, name, charge.time, ~model, charge.usage)  # below 0, so that it is told from its own


class Groups(NamedTuple):
    """The token groups of a session and its subagents as `index_file` packed them."""

    packed: bytes

    def rows(self) -> Iterator[GroupRow]:
        """They themselves."""
        return group_rows(self.packed)

    def keys(self) -> array[int]:
        """The key of each, quickly."""
        return _numbers(self.packed.partition(b"\n")[2])[::_WIDTH]


_WIDTH = 5 + len(_FIGURES)


def _numbers(packed: bytes) -> array[int]:
    rows = array("q")
    rows.frombytes(packed)
    return rows


def group_rows(data: bytes) -> Iterator[GroupRow]:
    """The rows that `index_file` packed."""
    names, _, packed = data.partition(b"\n")
    if not packed:
        return
    models: list[str] = orjson.loads(names)
    rows = _numbers(packed)
    for start in range(0, len(rows) - _WIDTH + 1, _WIDTH):
        key, name, second, model, member, *figures = rows[start : start + _WIDTH]
        usage = TokenUsage(*[None if n < 0 else n for n in figures])
        time = None if second < 0 else second
        yield GroupRow(key, time, usage, models[max(model, ~model)], model < 0, member, name)


def counted_rows(rows: Iterable[GroupRow]) -> Iterator[GroupRow]:
    """Of the rows of a session and its subagents those that make up its total with them: each response once."""
    members: dict[int, list[GroupRow]] = {}
    for row in rows:
        if not row.inherited:
            members.setdefault(row.member, []).append(row)
    packs = list(members.values())
    for number, place, usage in each_once([(row.key, row.usage) for row in pack] for pack in packs):
        yield packs[number][place]._replace(usage=usage)

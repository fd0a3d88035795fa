"""The summary of a session, which the library keeps, and how it is made from the session's file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

import orjson

from schemas.clean import clean, one_line
from schemas.costs.responses import Origin, Response, Source, Table, each_once, family, tally
from schemas.json_output import json_bytes
from schemas.message import Flag, Kind
from schemas.paths import path_text, session_json
from schemas.session import Exchange, Lineage, Session
from schemas.usage import TokenUsage
from viewer.index.database import Indexed, Row
from viewer.sessions.freshness import Side, file_state, is_live

if TYPE_CHECKING:
    from schemas.provider import Problem, Reading, SessionFile
    from viewer.index.texts import Known, SessionText

_AGENT_KINDS = (Kind.TEXT, Kind.THINKING, Kind.TOOL)
_NO_LINEAGE = Lineage()
"""Shared by most summaries: nobody changes one."""
_NONE: dict[str, Any] = {}


@dataclass(slots=True)
class Summary:
    """A session in a list: all that can be shown of it without its file."""

    provider: str
    id: str
    file: str
    """Its address: text, since 100,000 paths take 50 MB."""
    size: int
    mtime_ns: int
    touched_ns: int
    """When it or one of its subagents was written last."""
    newest: float | None = None
    """The time of the newest record of it and its subagents."""
    title: str = ""
    workspace_root: str | None = None
    branch: str | None = None
    created: float | None = None
    """Seconds since 1970, from the session's own records."""
    updated: float | None = None
    exchanges: int = 0
    """Opened by a person, not rewound, not inherited."""
    messages: int = 0
    agent_messages: int = 0
    models: list[str] = field(default_factory=list)
    usage: TokenUsage | None = None
    """Its own tokens."""
    usage_with_subagents: TokenUsage | None = None
    subagents: int = 0
    """How many of them are counted in `usage_with_subagents`."""
    first_prompt: str = ""
    last_prompt: str = ""
    last_text: str = ""
    """The beginning of what the agent said last."""
    lineage: Lineage = field(default_factory=lambda: _NO_LINEAGE)
    unreadable: dict[str, list[int]] = field(default_factory=lambda: _NONE)
    """Lines that could not be read, by the files beside its own in which they stand; its own is empty."""
    unknown: dict[str, int] = field(default_factory=lambda: _NONE)
    """Record types that nobody described, and how many of each."""
    archived: bool = False
    """Whether the agent has put it away."""
    failure: str = ""
    """How its last exchange ended, where that was not well: `error` or `interrupted`."""
    read: bool = True
    """False where its file was found and not read yet: nothing is known but that it is there."""

    @property
    def path(self) -> Path:
        """The same as a path."""
        return Path(self.file)

    def become(self, read: Summary) -> None:
        """Take over what was read, so that whoever shows this one shows it."""
        for name in self.__slots__:
            setattr(self, name, getattr(read, name))

    @property
    def shown_title(self) -> str:
        """Its title, or words for there being none."""
        return self.title or ("(no title)" if self.read else "(not read yet)")

    @property
    def live(self) -> bool:
        """Tell whether it is being written."""
        return is_live(self.touched_ns / 1e9, self.newest)

    @property
    def blank(self) -> bool:
        """Tell whether there is nothing to read in it: no prompt, and not a word of the agent. Lists leave it out."""
        return self.read and not self.exchanges and not self.agent_messages

    @property
    def when(self) -> float:
        """The time by which lists are sorted: its last record's, the file's where it has none."""
        return self.mtime_ns / 1e9 if self.updated is None else self.updated

    @property
    def origin(self) -> Origin:
        """Return what tells whether it is a copy of another."""
        return Origin(self.path, self.id, self.created, self.updated, self.lineage)

    @property
    def source(self) -> Source:
        """The session as its responses are charged to it."""
        title = self.title or self.first_prompt
        return Source(self.provider, self.id, path_text(self.path), title, self.workspace_root)


def pack(summary: Summary) -> bytes:
    """A summary as bytes, its path and the file's state apart."""
    s = summary
    lineage = (s.lineage.forked_from, s.lineage.continues, s.lineage.parent, s.lineage.agent_id)
    # As plain tuples: orjson takes no others, and without it a summary takes twice as long.
    own, whole = (None if usage is None else tuple(usage) for usage in (s.usage, s.usage_with_subagents))
    both = True if whole == own else whole
    facts = (s.title, s.workspace_root, s.branch, s.created, s.updated, s.exchanges, s.messages, s.agent_messages)
    texts = (s.subagents, s.first_prompt, s.last_prompt, s.last_text)
    rest = (lineage if any(lineage) else None, s.unreadable, s.unknown, s.archived, s.failure)
    return json_bytes((s.provider, s.id, s.touched_ns, s.newest, facts, s.models, own, both, texts, *rest))


def unpack(data: bytes, path: str, size: int, mtime_ns: int) -> Summary:
    """Read what `pack` wrote. Raises ValueError or TypeError for anything else. A list of 10,000 waits for this."""
    provider, session_id, touched_ns, newest, facts, models, own, both, texts, *rest = orjson.loads(data)
    title, root, branch, created, updated, exchanges, messages, agent_messages = facts
    subagents, first, last, last_text = texts
    lineage, unreadable, unknown, archived, failure = rest
    usage = None if own is None else TokenUsage(*own)
    # Equal texts and numbers are one object: a list may hold 100,000.
    return Summary(
        intern(provider), session_id, path, size, mtime_ns, mtime_ns if touched_ns == mtime_ns else touched_ns,
        updated if newest == updated else newest, title, root and intern(root), branch and intern(branch), created,
        updated, exchanges, messages, agent_messages, list(map(intern, models)), usage,
        usage if both is True else None if both is None else TokenUsage(*both), subagents,
        title if title == first else first, first if first == last else last, last_text,
        _NO_LINEAGE if lineage is None else Lineage(*lineage), unreadable or _NONE, unknown or _NONE, archived, failure,
    )  # fmt: skip


def summary_of_found(file: SessionFile) -> Summary:
    """Make the summary of a session that is not read yet: whose it is, and when it was written."""
    return Summary(file.provider, file.id, file.file, file.size, file.mtime_ns, file.mtime_ns, read=False)


def list_object(summary: Summary) -> dict[str, Any]:
    """A row of `list --json`; `live`, which changes with time, is its last value."""
    from renderers.facts import iso_time

    return {
        **session_json(summary.provider, summary.id, summary.path),
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


def index_file(
    path: str,
    found: tuple[int, int] | None = None,
    agent: str = "",
    take: Callable[[SessionText], None] = lambda text: None,
    known: dict[str, Known] | None = None,
) -> Indexed:
    """Read a session and its subagents, one after the other, and keep what a list needs; `take` is given their text,
    as far as it is not `known`.

    `found` is the size and the time of the session as discovery saw it: of a source with several files they are not
    those of one of them. `agent` is the one in whose home it was found.
    """
    # Imported here: a list that is up to date reads no session.
    from schemas.opening import OpenError, open_reading, read_to_end
    from viewer.index.texts import slices_of_session

    state = file_state(path) if found is None else Side(path, *found)
    indexed = Indexed(path, Row(state.size, state.mtime_ns))
    sides: dict[str, Side] = {}

    def failed_with(reason: str) -> Indexed:
        indexed.row = indexed.row._replace(error=reason)
        return indexed

    try:
        reading = open_reading(Path(path), agent=agent)
        _add_sources(reading, sides)
        session = read_to_end(reading)
        _add_sources(reading, sides)  # what it found only now
    except OpenError as error:
        return failed_with(error.reason)
    try:
        members = 0
        responses: list[Response] = []
        failed: list[Problem] = []
        newest: float | None = None
        for member, rows in family(session, failed):
            newest = max((t for t in (newest, member.updated or member.created) if t is not None), default=None)
            responses += rows
            members += 1
            if member is session or member.path != session.path:
                own = state if member is session else file_state(member.path)
                there = (known or {}).get(own.path)
                for text in slices_of_session(member, own, "" if member is session else path, known=there):
                    take(text)
                indexed.members.append(own.path)
            if member.path != session.path:
                for beside in (str(member.path), str(member.path.parent)):
                    sides.setdefault(beside, file_state(beside))
        if any(flags & Flag.SUBAGENT for flags in session.messages.flags):
            # The folder may be made later, without a change of the session's own file.
            beside = str(Path(path).with_suffix(""))
            sides.setdefault(beside, file_state(beside))
        indexed.groups = Table.of(responses).to_bytes()
        both = session.usage() if members == 1 else tally(each_once(responses)).usage
        summary = summarise(session, state, both, members - 1)
        summary.touched_ns = max(state.mtime_ns, *(s.mtime_ns for s in sides.values()), 0)
        summary.newest = newest
        indexed.summary = pack(summary)
        row = list_object(summary)
        del row["live"]
        indexed.listed = json_bytes(row)[:-1] + b',"live":'
        indexed.root = os.path.normpath(summary.workspace_root) if summary.workspace_root else None
        indexed.row = indexed.row._replace(
            listed=1,
            blank=summary.blank,
            when=summary.when,
            touched_ns=summary.touched_ns,
            newest=newest,
            side=json.dumps(list(sides.values())),  # the standard json keeps file names that are no UTF-8
            error="; ".join(f"{clean(problem.path.name)}: {problem.reason}" for problem in failed),
        )
    except OSError as error:
        return failed_with((error.strerror or str(error)).lower())
    finally:
        session.close()
    return indexed


def _add_sources(reading: Reading, sides: dict[str, Side]) -> None:
    """Note the files beside its own that a session is read from: a database's log, a transcript."""
    for source in map(str, reading.sources):
        if source != str(reading.session.path) and source not in sides:
            sides[source] = file_state(source)


def says_something(session: Session) -> bool:
    """Tell whether there is anything to read in what was read of a session by now: what `Summary.blank` denies."""
    kinds = session.messages.kind
    return any(kind in kinds for kind in _AGENT_KINDS) or bool(session.live_exchanges)


def summarise(session: Session, state: Side, with_subagents: TokenUsage | None, subagents: int) -> Summary:
    """The summary of a session that has been read."""
    live = session.live_exchanges
    kinds = session.messages.kind
    return Summary(
        session.provider,
        session.id,
        str(session.path),
        state.size,
        state.mtime_ns,
        state.mtime_ns,
        session.updated,
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
        one_line(session.last_text(), 300),
        session.lineage,
        {file: lines[:100] for file, lines in session.unreadable_lines().items()},
        dict(session.unknown),
        session.metadata.get("archived") is True,
        _failure(session, live[-1]) if live else "",
    )


_AFTERWORDS = (Kind.OUTPUT, Kind.COMPACTION, Kind.CONTEXT, Kind.NOTE, Kind.UNKNOWN)
"""What may come after the end of an exchange, and says nothing about it."""


def _failure(session: Session, last: Exchange) -> str:
    """Tell how the last exchange ended, if not well: with an error (the program's, or that of a tool that no answer
    came after), or interrupted or refused by the person.
    """
    messages, failure = session.messages, ""
    for index in reversed(session.message_range(last.index)):
        kind, flags = messages.kind[index], messages.flags[index]
        if kind in _AFTERWORDS or flags & (Flag.REWOUND | Flag.INHERITED):
            continue
        if kind == Kind.INTERRUPT or flags & Flag.INTERRUPTED:
            return "interrupted"
        if kind == Kind.ERROR:
            return "error"
        if kind != Kind.TOOL or not flags & Flag.ERROR:
            break
        failure = "error"  # unless somebody interrupted it: that may stand before
    return failure

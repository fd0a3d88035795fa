"""The scan: records into a session's columns.

It runs over every record of files of hundreds of megabytes, so it keeps numbers and hashes, never texts or records;
what a message says is read back from its records by build.py. Feeding a file in pieces gives the same session as
feeding it whole.

Rules of our own, where the format leaves room:

- A record is inherited when it carries `forkedFrom`. Another `sessionId` alone is only a hint (`lineage.continues`):
  Claude Code also writes it where nothing was copied (formats note 1, "File name").
- A command opens an exchange once the agent answers it; until then, and for good if it only prints something, it is a
  row of the exchange it stands in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from schemas.clean import clean, one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude import notices
from schemas.providers.claude.agent import AgentLines
from schemas.providers.claude.branches import NOBODY, Branches
from schemas.providers.claude.groups import Groups
from schemas.providers.claude.inline import Sidechains
from schemas.providers.claude.links import TaskLinks
from schemas.providers.claude.people import UserLines
from schemas.providers.claude.results import Results
from schemas.providers.claude.subagents import SideFiles
from schemas.providers.claude.titles import Titles
from schemas.providers.kit.keys import Clock, block_key, key_of
from schemas.records import Record
from schemas.session import Change, Exchange, Op, Session, ends

Value: TypeAlias = dict[str, Any]
_LAST_FACTS = {
    "cwd": "lastCwd",
    "gitBranch": "lastBranch",
    "version": "lastVersion",
    "sessionId": "sessionId",
    "entrypoint": "entrypoint",
    "slug": "slug",
    "sessionKind": "sessionKind",
    "teamName": "teamName",
}
_as_change: Callable[[tuple[Op, int]], Change] = partial(tuple.__new__, Change)
_REWOUND, _INHERITED = int(Flag.REWOUND), int(Flag.INHERITED)


class ClaudeParser:
    """Fills a session from the records of one file, or (`agent`) of one inline sidechain."""

    def __init__(self, session: Session, *, agent: bool = False) -> None:
        self.session = session
        self.branches = Branches()
        self.groups = Groups(session)
        self.titles = Titles()
        self.links = TaskLinks(session)
        self.changed: set[int] = set()
        """Messages that changed since the current piece began."""
        self.queue = notices.Queue()
        self.notices = notices.Notices(self)
        self.time: float | None = None
        """Of the record being read."""
        self.owner = NOBODY
        """The prompt under which the record being read stands."""
        self.inherited = False
        self.agent = agent
        self._placed = agent
        self._key = 0
        self.node = self.parent = NOBODY
        self.clock = Clock()
        self._sidechains = Sidechains(self)
        self._files = SideFiles(self)
        self.results = Results(self)
        self.people = UserLines(self)
        self.agent_lines = AgentLines(self)
        self.command_row = -1
        """The command typed last, while the agent may still answer it; else -1."""
        self._first_id: str | None = None
        self._learned = False
        self.facts: Value | None = None
        """The last record of the piece that names a working directory: only what it says counts, so that it does not
        matter where pieces are cut."""
        self.oldest, self.newest = math.inf, -math.inf
        self._nodes, self._owner_of, self._read_time = self.branches.nodes, self.branches.owner, self.clock.read
        self._handlers: dict[str, Callable[[Record, Value], None]] = {
            "user": self.people.user,
            "assistant": self.agent_lines.assistant,
            "system": self.notices.system,
            "attachment": self.notices.attachment,
            "progress": self._progress,
            "compact_boundary": self.notices.boundary,
        }

    # -- the loop --------------------------------------------------------------------------------------------------

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records, in the file's order; returns what changed."""
        first = len(self.session.messages)
        self.changed.clear()
        for record in records:
            self._take(record)
        self._sidechains.flush()
        self._settle()
        changes = [Change(Op.UPDATED, i) for i in sorted(self.changed) if i < first]
        # Made without a call of Python code each: there is one a message.
        changes.extend(map(_as_change, zip(repeat(Op.APPENDED), range(first, len(self.session.messages)))))
        return changes

    def _take(self, record: Record) -> None:
        """Take one record."""
        value = record[3]
        kind = value.get("type")
        handler = self._handlers.get(kind) if type(kind) is str else None
        if handler is None:
            self._key = 0
            if "cwd" in value and "uuid" not in value:
                self._note_facts(value)
            if "uuid" not in value or self._enter(record, value, kind):  # an unknown type may be a link of the chain
                self.notices.metadata(record, value, kind)
        elif self._enter(record, value, kind):
            handler(record, value)

    def _enter(self, record: Record, value: Value, kind: object) -> bool:
        """Place a chain record in the tree; False if it is done with: a duplicate, or part of a sidechain.

        The hottest code there is, which is why it calls little.
        """
        if value.get("isSidechain") is True or not self._placed:
            if not self._placed:
                self._place(value)
            if not self.agent and value.get("isSidechain") is True:
                self._sidechains.take(record, value)
                return False
        self._key = 0
        if type(value.get("cwd")) is str:
            self.facts = value
        owner, nodes = self._owner_of, self._nodes
        parent = value.get("parentUuid")
        above = nodes.get(hash(parent), NOBODY) if type(parent) is str else NOBODY
        uuid = value.get("uuid")
        identity = 0
        if type(uuid) is str:  # an empty one hashes to 0: no identity
            identity = hash(uuid)
            if identity in nodes:
                self.session.duplicates += 1
                return False
        if above == NOBODY or kind == "user" or kind == "assistant":
            node = len(owner)
            owner.append(owner[above])
        else:
            node = above
        if identity:
            nodes[identity] = node
        self.node, self.parent, self.owner = node, above, owner[node]
        self.inherited = inherited = bool(value.get("forkedFrom"))
        self.time = time = self._read_time(value.get("timestamp"))
        if time is not None:
            if time > self.newest:
                self.newest = time
            if time < self.oldest:
                self.oldest = time
        if inherited or not self._learned:
            self._learn(value)
        return True

    def _place(self, value: Value) -> None:
        """Decide from the first chain record whether the whole file is one subagent's (formats note 1)."""
        self._placed = True
        agent = value.get("agentId")
        named = self.session.path.name.startswith("agent-")
        self.agent = value.get("isSidechain") is True and (named or (isinstance(agent, str) and bool(agent)))
        parent = value.get("sessionId")
        if self.agent:
            lineage = self.session.lineage
            lineage.agent_id = clean(agent) if isinstance(agent, str) else self.session.path.stem.removeprefix("agent-")
            lineage.parent = clean(parent) if isinstance(parent, str) else None

    def _learn(self, value: Value) -> None:
        """Facts of the session that stand on every record: the first that is said counts."""
        session = self.session
        if session.workspace_root is None and isinstance(cwd := value.get("cwd"), str) and cwd:
            session.workspace_root = clean(cwd)
        if session.version is None and isinstance(version := value.get("version"), str) and version:
            session.version = one_line(version, 100)
        if session.branch is None and isinstance(branch := value.get("gitBranch"), str) and branch:
            session.branch = one_line(branch, 200)
        self._learned = (
            session.workspace_root is not None and session.branch is not None and session.version is not None
        )
        if self._first_id is None and isinstance(first := value.get("sessionId"), str):
            self._first_id = first
            # A copy that an old `--resume` wrote begins with lines of the session it goes on with.
            if not self.agent and len(first) == len(session.path.stem) == 36 and first != session.path.stem:
                session.lineage.continues = clean(first)
        if self.inherited and session.lineage.forked_from is None:
            origin = value["forkedFrom"]
            source = origin.get("sessionId") if isinstance(origin, Mapping) else origin
            session.lineage.forked_from = clean(source) if isinstance(source, str) else None
            session.lineage.continues = None

    def _note_facts(self, value: Value) -> None:
        """Remember a record outside the chain if it says where the agent works."""
        if isinstance(value.get("cwd"), str) and (self.agent or value.get("isSidechain") is not True):
            self.facts = value

    def _settle(self) -> None:
        """After a piece: what is known of the session as a whole."""
        session = self.session
        if self.newest >= self.oldest:
            session.created = min(self.oldest, session.created if session.created is not None else self.oldest)
            session.updated = max(self.newest, session.updated if session.updated is not None else self.newest)
        context = self.groups.context
        session.context_used = context.context if context is not None else None
        session.title = self.titles.best(session, self.branches.nodes)
        if (facts := self.facts) is not None:
            self.facts = None
            for name, key in _LAST_FACTS.items():
                fact = facts.get(name)
                if isinstance(fact, str) and fact:
                    session.metadata[key] = one_line(fact, 300)
                else:
                    session.metadata.pop(key, None)

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file: subagents, and titles that other files hold."""
        self.changed.clear()
        if not self._sidechains.child:
            self._files.refresh()
            self.session.title = self.titles.best(self.session, self.branches.nodes)
        return [Change(Op.UPDATED, i) for i in sorted(self.changed)]

    def become_child(self) -> None:
        """Be the parser of a sidechain within another session's file: nothing lies beside it."""
        self._sidechains.child = True

    def set_time(self, stamp: object) -> None:
        """The time of the record being read, for records outside the chain."""
        self.time = time = self.clock.read(stamp)
        if time is not None:
            self.oldest, self.newest = min(self.oldest, time), max(self.newest, time)

    # -- rows ------------------------------------------------------------------------------------------------------

    def row(self, kind: Kind, record: Record, block: int = 0, chars: int = 0, lines: int = 0) -> int:
        """Append a message that the current record makes; returns its index.

        What `Session.add_message` does, without what a record's place in the tree has settled already.
        """
        key = self._key
        if not key:
            uuid = record[3].get("uuid")
            name = uuid if type(uuid) is str and uuid else f"{record[3].get('type')}@{record[0]}"
            key = self._key = key_of(name) or 1
        session, time = self.session, self.time
        messages = session.messages
        if not session.exchanges:
            session.exchanges.append(Exchange(0, 0, None, f"{session.id}:0"))
        exchange = session.exchanges[-1]
        span = session.spans.add(0, record[0], record[1], record[2], 0)
        index = messages.append(
            kind, block_key(key, block) if block else key, exchange.index, span, block, time, chars, lines
        )
        if kind is Kind.TOOL:
            exchange.tools += 1
        if time is not None:
            if exchange.started is None or time < exchange.started:
                exchange.started = time
            if exchange.ended is None or (time > exchange.ended and ends(exchange, index, kind)):
                exchange.ended = time
        if self.inherited:
            messages.flags[index] |= _INHERITED
        if exchange.opener is None:
            exchange.inherited = self.inherited
        if self.owner != NOBODY:
            prompt = self.branches.prompts[self.owner]
            prompt.rows.append(index)
            if prompt.abandoned:
                messages.flags[index] |= _REWOUND
        return index

    def text_row(self, kind: Kind, record: Record, text: str, block: int = 0) -> int:
        """Append a message that shows `text`."""
        return self.row(kind, record, block, len(text), text.count("\n") + bool(text))

    def hide(self, what: str) -> None:
        """Count a record that holds nothing to read."""
        self.session.hidden[what] += 1

    def unknown(self, record: Record, what: str, *, block: int = 0) -> None:
        """A record or block of a type nobody described: shown as it is, and counted."""
        self.session.unknown[one_line(what, 80)] += 1
        row = self.row(Kind.UNKNOWN, record, block=block, chars=record[1], lines=1)
        self.session.messages.key[row] ^= 1  # another message may stand for the record's first block

    def result_span(self, row: int, record: Record, role: SpanRole) -> None:
        """Note another record of a message."""
        spans = self.session.spans
        spans.extend(self.session.messages.span[row], spans.add(0, record[0], record[1], record[2], role))
        self.changed.add(row)

    # -- progress --------------------------------------------------------------------------------------------------

    def _progress(self, record: Record, value: Value) -> None:
        """Only a link of the chain, and of a subagent to its call."""
        data = value.get("data")
        if type(data) is dict and data.get("type") == "agent_progress":
            self.links.progress(value.get("parentToolUseID"), data.get("agentId"))
        self.session.hidden["progress"] += 1

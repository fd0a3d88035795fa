"""The scan: records into a session's columns (formats/gemini-qwen-cursor.md 2).

It keeps numbers, never texts; what a message says is read back from its records by build.py. Messages stand in the
file's order, also those that a rewind took back: they are flagged, and flagged anew when the live branch changes.

Rules of our own, where the format leaves room:

- A command never opens an exchange: what it sends to the model comes as a `user` record behind it.
- A prompt with @ is written twice: as `at_command` with what was typed, then as `user` with what the model got. The
  first opens the exchange, the second is part of it.
- What comes after a rewind and before the next prompt is in an exchange of its own without an opener, so that it is
  not taken for a part of what was taken back.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.kit.keys import Clock, block_key, key_of
from schemas.providers.kit.tree import NOBODY, Tree
from schemas.providers.qwen import blocks
from schemas.providers.qwen.agent import AgentLines
from schemas.providers.qwen.locate import UUID
from schemas.providers.qwen.people import UserLines
from schemas.providers.qwen.results import Results
from schemas.providers.qwen.sides import Sidechains, SideFiles, is_side
from schemas.providers.qwen.system import SystemLines, is_beside
from schemas.records import Record
from schemas.session import Change, Exchange, Op, Session
from schemas.values import text_of, when

Value = dict[str, Any]
TITLE_LENGTH = 200
AFTER_REWIND = "After the rewind"


class QwenParser:
    """Fills a session from the records of one file, or (`child`) of one subagent within another session's file."""

    def __init__(self, session: Session, *, child: bool = False) -> None:
        self.session = session
        self.child = child
        self.agent = child
        """Whether all of it is one subagent's."""
        self.changed: set[int] = set()
        """Messages that changed since the current piece began."""
        self.custom_title = ""
        self.time: float | None = None
        """Of the record being read."""
        self.node = NOBODY
        """Where the record being read stands in the tree."""
        self.again = False
        """Whether a record with its uuid was read before."""
        self.inherited = False
        """Whether it is a copy from the session this one was forked from."""
        self.rewound = False
        """Whether no exchange was opened since the last rewind."""
        self.tree = Tree()
        self.offsets, self.lengths = array("Q"), array("I")
        """Where the record of each node lies."""
        self.placed = child
        """Whether it is known whose the file is."""
        self.learned = False
        """Whether all is known that stands on every record."""
        self.clock = Clock()
        self.results = Results(self)
        self.sidechains = Sidechains(self)
        self._files = SideFiles(self)
        self.people = UserLines(self)
        self.agent_lines = AgentLines(self)
        self._handlers: dict[str, Callable[[Record], None]] = {
            "user": self.people.user,
            "assistant": self.agent_lines.assistant,
            "tool_result": self.people.tool_result,
            "system": SystemLines(self).system,
        }

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records, in the file's order; returns what changed."""
        first = len(self.session.messages)
        self.changed.clear()
        for record in records:
            self._take(record)
        self.sidechains.flush()
        self._settle(first)
        changes = [Change(Op.UPDATED, i) for i in sorted(self.changed) if i < first]
        return changes + [Change(Op.APPENDED, i) for i in range(first, len(self.session.messages))]

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file: subagents."""
        self.changed.clear()
        if not self.child:
            self._files.refresh()
        return [Change(Op.UPDATED, i) for i in sorted(self.changed)]

    # -- a record --------------------------------------------------------------------------------------------------

    def _take(self, record: Record) -> None:
        """Take one record."""
        value = record[3]
        if not self.placed:
            self._place(value)
        if not self.agent and is_side(value):
            self.sidechains.take(record)
            return
        kind = value.get("type")
        if not self._enter(record, value, kind):
            self.session.duplicates += 1
            return
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            self.unknown(record, "(no type)" if kind is None else str(kind))
        else:
            handler(record)

    def _place(self, value: Value) -> None:
        """Decide from the first record whose the file is, and what it is called."""
        self.placed = True
        session, agent, owner = self.session, text_of(value.get("agentId")), value.get("sessionId")
        if agent and is_side(value):
            self.agent = True
            session.lineage.agent_id = one_line(agent, 80)
            session.lineage.parent = one_line(owner, 300) if isinstance(owner, str) else None
        elif isinstance(owner, str) and owner and not UUID.fullmatch(session.id):
            session.id = one_line(owner, 300)  # a copy under another name; Qwen Code names the file after the id

    def _enter(self, record: Record, value: Value, kind: object) -> bool:
        """Put a record into the tree; False for a copy of one that was read before."""
        stamp = value.get("timestamp")
        self.time = time = self.clock.read(stamp) if type(stamp) is str else when(stamp)
        origin = value.get("forkedFrom")
        self.inherited = isinstance(origin, dict)
        uuid, tree = value.get("uuid"), self.tree
        self.again, self.node = False, tree.last
        if isinstance(uuid, str) and uuid:
            if node := tree.find(uuid):
                if self._is_copy(node, value):
                    return False
                self.again, self.node = True, node
                tree.again(node)
            else:
                subtype = value.get("subtype")
                self.node = tree.add(
                    uuid,
                    value.get("parentUuid", ...),
                    metadata=kind not in blocks.TALK and subtype != "rewind",
                    beside=kind == "system" and is_beside(subtype),
                )
                while len(self.offsets) < len(tree):  # a parent that is not there has a node of its own
                    self.offsets.append(0)
                    self.lengths.append(0)
                self.offsets[self.node], self.lengths[self.node] = record[0], record[1]
        session = self.session
        if time is not None:
            if session.created is None or time < session.created:
                session.created = time
            if session.updated is None or time > session.updated:
                session.updated = time
        if not self.learned:
            self.learn(value)
        if isinstance(origin, dict) and session.lineage.forked_from is None:
            session.lineage.forked_from = one_line(text_of(origin.get("sessionId")), 300) or None
        return True

    def _is_copy(self, node: int, value: Value) -> bool:
        """Whether a record says what the first one with its uuid said: a line that was written twice."""
        first = self.session.stores[0].record(self.offsets[node], self.lengths[node])
        ignored = ("timestamp", "parentUuid")
        try:
            return all(first.get(k) == value.get(k) for k in {*first, *value} if k not in ignored)
        except RecursionError:  # nested so deeply that nobody reads it: two records, then
            return False

    def learn(self, value: Value) -> None:
        """Facts that stand on every record: the first that is said counts."""
        session = self.session
        if session.workspace_root is None and (cwd := text_of(value.get("cwd"))):
            session.workspace_root = one_line(cwd, 4096)
        if session.version is None and (version := text_of(value.get("version"))):
            session.version = one_line(version, 100)
        if session.branch is None and (branch := text_of(value.get("gitBranch"))):
            session.branch = one_line(branch, 200)
        self.learned = None not in (session.workspace_root, session.version, session.branch)

    # -- what records make -----------------------------------------------------------------------------------------

    def row(self, kind: Kind, record: Record, block: int = 0, chars: int = 0, lines: int = 0) -> int:
        """Append a message that the current record makes; returns its index."""
        session, value = self.session, record[3]
        if self.rewound:
            self.rewound = False
            number = len(session.exchanges)
            session.exchanges.append(
                Exchange(number, len(session.messages), None, f"{session.id}:{number}", AFTER_REWIND)
            )
        key = key_of(blocks.record_id(value, record[0], again=self.again))
        index = session.add_message(
            kind, block_key(key, block), record, block=block, time=self.time, chars=chars, lines=lines
        )
        if self.inherited:
            session.messages.flags[index] |= Flag.INHERITED
        if self.again:
            session.messages.flags[index] |= Flag.MORE
        self.tree.own(self.node, index)
        return index

    def text_row(self, kind: Kind, record: Record, text: str, block: int = 0) -> int:
        """Append a message that shows `text`."""
        return self.row(kind, record, block, len(text), text.count("\n") + bool(text))

    def open(self, kind: Kind, record: Record, prompt: str, chars: int, lines: int) -> int:
        """Open an exchange; returns the index of its opener."""
        self.rewound = False
        exchange = self.session.open_exchange(kind, prompt)
        exchange.inherited = self.inherited
        row = self.row(kind, record, 0, chars, lines)
        self.session.mark_opener(row)
        return row

    def add_span(self, row: int, record: Record, role: SpanRole) -> None:
        """Note another record of a message."""
        session = self.session
        session.spans.extend(session.messages.span[row], session.add_span(record, role))
        self.changed.add(row)

    def hide(self, what: object) -> None:
        """Count a record of a known type that holds nothing to read."""
        self.session.hidden[one_line(str(what), 80)] += 1

    def unknown(self, record: Record, what: str) -> None:
        """A record of a type nobody described: shown as it is, and counted."""
        self.session.unknown[one_line(what, 80)] += 1
        self.row(Kind.UNKNOWN, record, 0, record[1], 1)

    # -- after a piece ---------------------------------------------------------------------------------------------

    def _settle(self, first: int) -> None:
        """Flag what is off the live chain, and what is on it again."""
        session = self.session
        flags, exchange_of, rewound = session.messages.flags, session.messages.exchange, int(Flag.REWOUND)
        touched = {number for number in set(exchange_of[first:]) if session.exchanges[number].opener is None}
        for row, live in self.tree.settle():
            if live == bool(flags[row] & rewound):
                flags[row] ^= rewound
                self.changed.add(row)
                touched.add(exchange_of[row])
        for number in touched:
            exchange = session.exchanges[number]
            rows = session.message_range(number) if exchange.opener is None else (exchange.start,)
            exchange.rewound = bool(rows) and all(flags[row] & rewound for row in rows)
        session.title = self.custom_title or self._first_prompt()

    def _first_prompt(self) -> str:
        """The first prompt that was not taken back or copied, else the first of all."""
        first = ""
        for exchange in self.session.exchanges:
            if exchange.opener is Kind.PROMPT and exchange.prompt:
                first = first or exchange.prompt
                if not exchange.rewound and not exchange.inherited:
                    return one_line(exchange.prompt, TITLE_LENGTH)
        return one_line(first, TITLE_LENGTH)

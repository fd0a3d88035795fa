"""What a rollout's reader knows while it reads: the session it fills, the running turn, and what still waits for its
second half (tool uses for their results, texts for their copies).

Nothing in here keeps a body: texts are hashed, messages point at their records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import repeat
from math import nan
from pathlib import Path
from typing import Any

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.path_hints import local_path
from schemas.providers.codex.history import History, agent_name, agent_path, is_subagent, parent_of
from schemas.providers.codex.mirrors import Mirrors, key_of
from schemas.providers.codex.places import Places
from schemas.providers.codex.tokens import Tokens
from schemas.records import Record
from schemas.session import Change, Exchange, Op, Session, Subagent, ends
from schemas.table import NONE, pack_span
from schemas.values import dict_of, text_of, when

# Plain numbers: an enum's operators and hashes would take a good part of the whole parse.
PENDING, ERROR, INTERRUPTED = int(Flag.PENDING), int(Flag.ERROR), int(Flag.INTERRUPTED)
WITHHELD, SUBAGENT, INHERITED = int(Flag.WITHHELD), int(Flag.SUBAGENT), int(Flag.INHERITED)
PROMPT, TEXT, THINKING, TOOL = int(Kind.PROMPT), int(Kind.TEXT), int(Kind.THINKING), int(Kind.TOOL)
INTERRUPT = int(Kind.INTERRUPT)
RESULT, _DETAIL = int(SpanRole.RESULT), int(SpanRole.DETAIL)
_APPENDED, _UPDATED = Op.APPENDED, Op.UPDATED
_new_change: Callable[[tuple[Op, int]], Change] = partial(tuple.__new__, Change)  # without the call into Python
TurnsOfParent = Callable[[dict[str, Any]], frozenset[str]]
"""The turn ids of the session that a header names as its parent, if they are at hand."""
_KEPT_CALLS = 4096
"""Tool uses that can still be named by a late record; older ones are let go so that memory stays flat."""


class Scan:
    """The state of one reading."""

    def __init__(self, session: Session, meta: dict[str, Any], turns_of_parent: TurnsOfParent) -> None:
        self.session = session
        self.meta = meta
        table = session.messages
        columns: tuple[Any, ...] = (table.kind, table.flags, table.block, table.model, table.exchange, table.group)
        columns += (table.span, table.chars, table.lines, table.time, table.key)
        self._columns = tuple(column.append for column in columns)
        self.store = 0
        self._turns_of_parent = turns_of_parent
        self.history = History({}, frozenset())
        self.inherited = self.history.inherited
        """Whether what is read now is a copy of another session's records."""
        self.batch = 0
        """Messages from here on are new to whoever asked for more: that they changed too says nothing more."""
        self._updated: dict[int, None] = {}
        self.places = Places()
        self.tokens = Tokens(session)
        self._tails: dict[int, int] = {}
        """The last record of messages that were added to lately: a command that is polled has thousands."""
        self.prompts = Mirrors()
        """Prompts and injected context, until the agent says something."""
        self.texts = Mirrors()
        """What the agent said and did in this turn."""
        self.calls: dict[str, int] = {}
        self.earlier_calls: dict[str, list[int]] = {}
        self.from_events: set[int] = set()
        self.spawns: set[int] = set()
        self.processes: dict[str, Record] = {}
        self.agent_path = ""
        self.model = 0
        self.turn = ""
        self.in_turn = False
        self.prompted = False
        self.bare_thinking = -1
        """The last thinking message, while more of it may come: withheld, or known from events only."""
        self.goal = ""
        self.name = ""
        self.first_prompt = ""
        self._own_begins = False
        self.take_meta(meta)

    # -- the session's header ----------------------------------------------------------------------------------------

    def take_meta(self, meta: dict[str, Any]) -> None:
        """The first `session_meta`, or the header of an old file."""
        session = self.session
        if not meta:
            return
        self.meta = meta
        self.history = History(meta, self._turns_of_parent(meta))
        self.inherited = self.history.inherited
        if identifier := text_of(meta.get("id")):
            session.id = one_line(identifier, 100)
        session.workspace_root = one_line(local_path(text_of(meta.get("cwd"))), 1000) or session.workspace_root
        self.enter(meta.get("cwd"))
        git = dict_of(meta.get("git"))
        session.branch = one_line(text_of(git.get("branch")), 200) or None
        for name, key in (("commit_hash", "gitRevision"), ("repository_url", "gitRemote")):
            if value := one_line(text_of(git.get(name)), 300):
                session.metadata[key] = value
        session.version = one_line(text_of(meta.get("cli_version")), 40) or None
        session.created = session.updated = when(meta.get("timestamp"))
        self.agent_path = agent_path(meta)
        session.lineage.parent = parent_of(meta)
        fork = text_of(meta.get("forked_from_id"))
        session.lineage.forked_from = (fork or None) if not is_subagent(meta) else None
        session.lineage.agent_id = session.id if session.lineage.parent else None
        for key in ("originator", "model_provider"):
            if value := one_line(text_of(meta.get(key)), 100):
                session.metadata[key] = value
        source = meta.get("source")
        session.metadata["source"] = one_line(source, 100) if isinstance(source, str) else "subagent" if source else ""
        if name := one_line(agent_name(meta), 100):
            session.metadata["agent"] = name

    # -- what changed --------------------------------------------------------------------------------------------------

    def begin_batch(self) -> None:
        """More records come."""
        self.batch = len(self.session.messages.kind)

    def end_batch(self) -> list[Change]:
        """What the records since `begin_batch` changed: what was there before first, then what is new."""
        changes = [Change(_UPDATED, message) for message in self._updated]
        self._updated = {}
        new = range(self.batch, len(self.session.messages))
        changes.extend(map(_new_change, zip(repeat(_APPENDED), new, strict=False)))
        return changes

    def changed(self, message: int) -> None:
        """Say that a message is not what it was."""
        if message < self.batch:
            self._updated[message] = None

    # -- messages ------------------------------------------------------------------------------------------------------

    def add(
        self,
        kind: int,
        record: Record,
        block: int = 0,
        text: str | None = None,
        chars: int = 0,
        lines: int = 0,
        flags: int = 0,
    ) -> int:
        """A new message, made from `record`; `text` or `chars` and `lines` say how big it is."""
        if text is not None:
            chars, lines = len(text), text.count("\n") + 1 if text else 0
        offset, length, line, value = record
        time = when(value.get("timestamp"))
        if self.inherited:
            return self._add_inherited(kind, record, time, block, chars, lines, flags)
        if self._own_begins and kind != PROMPT:
            self._open_unprompted()
        # What `Session.add_message` does, without its calls: these are the hottest lines of the parse.
        session = self.session
        exchange = session.exchanges[-1] if session.exchanges else self._preamble()
        spans, table = session.spans, session.messages
        (
            add_kind, add_flags, add_block, add_model, add_exchange, add_group, add_span,
            add_chars, add_lines, add_time, add_key,
        ) = self._columns  # fmt: skip
        index = len(table.kind)
        model = 0
        if TEXT <= kind <= TOOL:
            model = self.model
            if kind == TOOL:
                exchange.tools += 1
            if self.prompts.entries:
                self.prompts.clear()
        add_span(len(spans.following))
        spans.data += pack_span(offset, length, line, self.store, 0, 0)
        spans.following.append(NONE)
        add_kind(kind)
        add_flags(flags)
        add_block(block if block < 0xFFFF else 0xFFFF)
        add_model(model)
        add_exchange(exchange.index)
        add_group(NONE)
        add_chars(chars)
        add_lines(lines)
        add_time(nan if time is None else time)
        add_key((self.store << 60) ^ (offset << 8) ^ block)
        session.touch(exchange, time, ends=ends(exchange, index, kind))
        return index

    def _preamble(self) -> Exchange:
        session = self.session
        session.exchanges.append(Exchange(0, 0, None, f"{session.id}:0"))
        return session.exchanges[-1]

    def _add_inherited(
        self, kind: int, record: Record, time: float | None, block: int, chars: int, lines: int, flags: int
    ) -> int:
        session = self.session
        passthrough = dict_of(dict_of(record[3].get("payload")).get("internal_chat_message_metadata_passthrough"))
        time = when(passthrough.get("create_time")) or time
        key = (self.store << 60) ^ (record[0] << 8) ^ block
        created, updated = session.created, session.updated
        index = session.add_message(
            Kind(kind), key, record, block=block, time=time, chars=chars, lines=lines, store=self.store
        )
        session.created, session.updated = created, updated
        session.exchanges[-1].inherited = True
        session.messages.flags[index] = flags | INHERITED
        if TEXT <= kind <= TOOL:
            session.messages.model[index] = self.model
            self.prompts.clear()
        return index

    def _open_unprompted(self) -> None:
        """Own work behind an inherited beginning must not hide in the inherited exchange."""
        session = self.session
        self._own_begins = False
        if session.exchanges:
            number = len(session.exchanges)
            session.exchanges.append(Exchange(number, len(session.messages), None, f"{session.id}:{number}"))

    def own_begins(self) -> None:
        """The inherited beginning is over."""
        self._own_begins = True
        self.prompts.clear()
        self.texts.clear()
        self.bare_thinking = -1

    def all_inherited(self) -> None:
        """Everything read so far turned out to be a copy."""
        session = self.session
        for exchange in session.exchanges:
            exchange.inherited = True
        for index in range(len(session.messages)):
            session.messages.flags[index] |= INHERITED
            self.changed(index)
        self.tokens.drop_all()
        self.first_prompt = ""

    def prompt(self, record: Record, text: str, block: int) -> int:
        """A prompt: it opens an exchange, or joins the running turn that already has one."""
        if self.in_turn and self.prompted:
            return self.add(Kind.STEER, record, block, text)
        return self.open(record, text, block)

    def open(self, record: Record, text: str, block: int) -> int:
        """Open an exchange with a prompt."""
        self._own_begins = False
        self.prompted = True
        self.texts.clear()
        self.session.open_exchange(Kind.PROMPT, text or "[Image]")
        index = self.add(PROMPT, record, block, text)
        self.session.mark_opener(index)
        if not self.first_prompt and not self.inherited:
            self.first_prompt = one_line(text or "[Image]", 100)
        return index

    def attach(self, message: int, record: Record, role: int = _DETAIL) -> None:
        """Add a record to a message."""
        spans, tails = self.session.spans, self._tails
        following = spans.following
        span = len(following)
        offset, length, line, _ = record
        spans.data += pack_span(offset, length, line, self.store, role, 0)
        following.append(NONE)
        tail = tails.get(message)
        if tail is None:
            spans.extend(self.session.messages.span[message], span)
            if len(tails) >= _KEPT_CALLS:
                tails.clear()
        else:
            following[tail] = span
        tails[message] = span
        if message < self.batch:
            self._updated[message] = None

    def once(self, mirrors: Mirrors, kind: int, name: int | str, text: str, record: Record, source: int) -> int | None:
        """A message for a text that may be written twice; None if it was a copy, which joins the message it copies."""
        key = key_of(name, text)
        if (message := mirrors.match(key, source)) is not None:
            self.attach(message, record)
            return None
        index = self.add(kind, record, 0, text)
        mirrors.note(key, index, source)
        return index

    # -- turns -----------------------------------------------------------------------------------------------------

    def begin_turn(self, turn: str) -> None:
        """A turn began; what the one before left open is over."""
        if self.in_turn and turn and turn == self.turn:
            return
        self.turn, self.in_turn, self.prompted = turn, True, False
        self.texts.clear()
        self.bare_thinking = -1
        self.tokens.begin_turn(turn)

    def end_turn(self) -> None:
        """The turn is over."""
        self.in_turn = self.prompted = False

    def touch(self, record: Record) -> None:
        """Let a record's time count for the running exchange."""
        if self.session.exchanges and not self.inherited:
            self.session.touch(self.session.exchanges[-1], when(record[3].get("timestamp")))

    def enter(self, place: object) -> None:
        """The agent works in that directory from here on; the first one is the session's."""
        session = self.session
        self.places.enter(place, len(session.messages))
        session.workspace_root = session.workspace_root or self.places.at(len(session.messages))

    def set_model(self, name: object) -> str:
        """The model from here on; returns the one before if it was another."""
        if not isinstance(name, str) or not name:
            return ""
        before, self.model = self.model, self.session.model_index(name)
        return self.session.models[before] if before != self.model else ""

    # -- tool uses ---------------------------------------------------------------------------------------------------

    def remember_call(self, call_id: object, message: int) -> None:
        """A tool use by its id, for its result and the events about it."""
        if type(call_id) is not str or not call_id:
            return
        calls = self.calls
        if call_id in calls:
            old = calls.pop(call_id)
            if self.session.messages.flags[old] & PENDING:
                self.earlier_calls.setdefault(call_id, []).append(old)
        calls[call_id] = message
        if len(calls) > _KEPT_CALLS:
            for old_id in list(calls)[: _KEPT_CALLS // 2]:
                self.earlier_calls.pop(old_id, None)
                self.from_events.discard(calls.pop(old_id))

    def find_call(self, call_id: object) -> int | None:
        """The message of a tool use."""
        return self.calls.get(call_id) if type(call_id) is str else None

    def find_unanswered(self, call_id: object) -> int | None:
        """The latest use of this id that has no result; the latest of all if each has one."""
        if type(call_id) is not str:
            return None
        message = self.calls.get(call_id)
        if self.earlier_calls and message is not None and not self.session.messages.flags[message] & PENDING:
            stack = self.earlier_calls.get(call_id)
            if stack:
                return stack.pop()
        return message

    def settle(self, message: int, failed: bool, interrupted: bool = False) -> None:
        """A tool use has its result."""
        session = self.session
        flags = session.messages.flags[message] & ~PENDING
        if interrupted:
            flags |= INTERRUPTED
        if failed and not flags & ERROR:
            flags |= ERROR
            session.exchanges[session.messages.exchange[message]].errors += 1
        session.messages.flags[message] = flags

    def resize(self, message: int, chars: int, lines: int) -> None:
        """A message shows at least this much."""
        messages = self.session.messages
        if chars > messages.chars[message]:
            messages.chars[message] = min(chars, 0xFFFF_FFFF)
            messages.lines[message] = min(lines, 0xFFFF_FFFF)

    def fit(self, message: int, text: str, start: int = 0) -> None:
        """A message shows at least `text` from `start` on; its lines are counted only if it is the longest so far."""
        messages = self.session.messages
        chars = len(text) - start
        if chars > messages.chars[message]:
            messages.chars[message] = min(chars, 0xFFFF_FFFF)
            messages.lines[message] = min(text.count("\n", start) + 1, 0xFFFF_FFFF)

    def link_subagent(self, message: int | None, thread: object, name: str, task: str) -> None:
        """A tool use started another thread."""
        thread = one_line(text_of(thread), 100)
        if not thread or thread == self.session.id or self.inherited:
            return
        if message is not None:
            self.session.messages.flags[message] |= SUBAGENT
        for known in self.session.subagents:
            if known.id == thread:
                known.name = known.name or one_line(name, 100)
                known.description = known.description or one_line(task, 200)
                known.tool_use = message if known.tool_use is None else known.tool_use
                return
        self.session.subagents.append(Subagent(thread, one_line(name, 100), one_line(task, 200), tool_use=message))


def make_session(path: Path, identifier: str) -> Session:
    """An empty Codex session."""
    return Session("codex", "Codex", path, identifier)

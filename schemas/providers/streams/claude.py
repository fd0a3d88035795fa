"""`claude -p --output-format stream-json`: one run, with the subagents within it (formats note 2).

- The prompt is printed only with `--replay-user-messages`. Without it, what the agent says opens an exchange; after a
  `result`, an `init` begins the next turn and so the next exchange, unless a finished background task woke the agent.
- Lines with a `parent_tool_use_id` are a subagent's: they become a session within the session, linked to the tool use
  that started it, at any depth; to none while nobody knows that use.
- Tokens are counted in the session itself, subagents' included: see claude_tokens.py.

Qwen Code prints the same envelope and says so in `init`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.clean import clean_value, one_line
from schemas.message import Flag, Kind, Span
from schemas.providers.streams import claude_events as events
from schemas.providers.streams.claude_lines import Lines
from schemas.providers.streams.claude_tokens import Books
from schemas.providers.streams.claude_words import denials, has_failed
from schemas.providers.streams.stream import NO_END, Stream, span_of
from schemas.records import Record
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage

Value = dict[str, Any]
_MOST = 1000  # subagents of one run; the lines of more go to the last one, as each costs some kilobytes
_DONE = "finished"


class Call(NamedTuple):
    """A tool use: who made it, and the message that shows it."""

    lines: Lines
    row: int
    turn: int
    told: Span
    """The line that told it."""


class ClaudeRun(Lines):
    """One run: the main agent's lines, and all that stands between them."""

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self.root = self
        self.books = Books(self)
        self.calls: dict[str, Call] = {}
        """Every tool use by its id, whoever made it."""
        self.events = events.Events(self)
        self._subagents: dict[str, SubagentRun] = {}
        self._orphans: dict[str, SubagentRun] = {}
        self._described: dict[str, tuple[object, object]] = {}
        self._seen: dict[int, int] = {}
        """Where each line with a uuid lies, by that and its length."""
        self.turn = 0
        self._deferred: set[int] = set()
        """Tool uses that the program left for later when it ended."""
        self._turn_over = self._new_turn = self._woken = False
        self._texts_before = 0
        self._qwen = False

    @property
    def title(self) -> str:
        """The agent and its session, for notes."""
        return f"{'Qwen Code' if self._qwen else self.name} {one_line(self.id, 100)}".strip()

    # -- records -------------------------------------------------------------------------------------------------------

    def take(self, record: Record, value: Value) -> None:
        """Take a line."""
        kind = value.get("type")
        if kind in ("assistant", "user", "stream_event"):
            self._talk(record, value, str(kind))
        elif kind == "result":
            self._result(record, value)
        elif kind == "system" and value.get("subtype") == "init":
            self._init(value)
        else:
            self.events.take(record, value)

    def _talk(self, record: Record, value: Value, kind: str) -> None:
        uuid = value.get("uuid")
        if isinstance(uuid, str):  # the same line may be printed again, by a resumed run for one
            mark = hash((uuid, kind, record[1]))
            before = self._seen.get(mark)
            if before is not None and self.session.stores[0].record(before, record[1]) == value:
                self.session.duplicates += 1
                return
            self._seen[mark] = record[0]
        parent = value.get("parent_tool_use_id")
        lines: Lines = self._subagent(parent, value) if isinstance(parent, str) and parent else self
        if isinstance(lines, SubagentRun) and lines.above is not None and lines.subagent.tool_use is not None:
            lines.above.stream.changed(lines.subagent.tool_use)
        if kind == "assistant":
            lines.assistant(record, value)
        elif kind == "user":
            lines.user(record, value)
        else:
            lines.drafts.event(record, value)

    def _init(self, value: Value) -> None:
        """What is known of the session; repeated at the start of every turn."""
        self.hide("system init")
        session = self.session
        self._new_turn = True
        self._next_turn()
        if session.workspace_root is None and isinstance(cwd := value.get("cwd"), str) and cwd:
            session.workspace_root = clean_value(cwd)
        qwen = value.get("qwen_code_version")
        if isinstance(qwen, str):
            self._qwen = True
            if not self.number:
                session.provider, session.provider_name = "qwen", "Qwen Code"
        version = qwen if isinstance(qwen, str) else value.get("claude_code_version")
        if isinstance(version, str) and version:
            session.version = one_line(version, 100)
        for name, key in events.FACTS.items():
            if isinstance(fact := value.get(name), str) and fact:
                session.metadata[key] = one_line(fact, 300)
        for child in self._subagents.values():
            child.session.workspace_root, child.session.version = session.workspace_root, session.version

    # -- turns ---------------------------------------------------------------------------------------------------------

    def _next_turn(self) -> None:
        self.turn += 1
        self.forget()

    def wake(self) -> None:
        """Something other than a person lets the agent go on."""
        self._woken = True

    def begin(self, record: Record) -> None:
        """The main agent is about to say something."""
        if self._turn_over:
            next_turn = self._new_turn and not self._woken
            self._over(False)
            if next_turn:
                self.open_unprompted(record)
                return
        self.ensure_exchange(record)

    def prompted(self, record: Record, ident: str, text: str, kind: Kind) -> int:
        """A prompt opens an exchange."""
        self._over(False)
        return super().prompted(record, ident, text, kind)

    def _over(self, over: bool) -> None:
        """A turn begins or is over. The end marker of one turn is none for the next."""
        self._turn_over, self._woken = over, False
        self._new_turn = self._new_turn and not over
        self.ended = _DONE if over else ""
        if over:
            self._next_turn()
        else:
            self._texts_before = self.texts

    def _result(self, record: Record, value: Value) -> None:
        """The end marker of a turn; more turns may follow, so nothing is closed."""
        self.ensure_exchange(record)
        self.books.result(value, record)
        self.events.result(record, value, silent=self.texts == self._texts_before)
        for denial in denials(value):
            self.events.denied(record, denial)
        self._close(value)
        self._over(True)
        if has_failed(value):
            self.ended = "failed"

    def _close(self, value: Value) -> None:
        """No more results are waited for when a turn ends, but for what goes on or was left for later."""
        failed = has_failed(value) or str(value.get("subtype")).startswith("error")
        failed = failed or self.session.exchanges[-1].interrupted
        running = self.events.running
        deferred = value.get("deferred_tool_use")
        left = self.calls.get(str(deferred.get("id"))) if isinstance(deferred, dict) else None
        if left is not None and left.lines is self:
            self._deferred.add(left.row)
        going_on = {call for use in running if (call := self.calls.get(use)) is not None}
        for lines in (self, *self._subagents.values()):
            if lines is self or lines.id not in running:
                kept = {call.row for call in going_on if call.lines is lines}
                lines.close_open(failed=failed, keep=kept | self._deferred if lines is self else kept)

    def finish(self) -> str:
        """The pipe is closed."""
        if self.ended:
            for lines in (self, *self._subagents.values()):
                lines.close_open(failed=self.ended != _DONE, keep=self._deferred if lines is self else ())
        self.session.metadata.pop("activity", None)
        return "" if self.ended else NO_END

    # -- subagents -----------------------------------------------------------------------------------------------------

    def call_shown(self, use: str, lines: Lines, row: int, record: Record) -> None:
        """A tool use is shown; a subagent that waits for it is linked."""
        self.calls[use] = Call(lines, row, self.turn, span_of(record))
        child = self._orphans.get(use)
        if child is not None and not child.is_above(lines):
            del self._orphans[use]
            self.session.subagents.remove(child.subagent)
            child.link(self.calls[use])

    def _subagent(self, use: str, value: Value) -> SubagentRun:
        """The subagent that a tool use started."""
        child = self._subagents.get(use)
        if child is None:
            if len(self._subagents) >= _MOST:
                return next(reversed(self._subagents.values()))
            child = self._subagents[use] = SubagentRun.within(self, use)
            call = self.calls.get(use)
            if call is not None:
                child.link(call)
            else:
                self._orphans[use] = child
                self.session.subagents.append(child.subagent)
            child.describe(*self._described.get(use, (None, None)))
        child.describe(value.get("subagent_type"), value.get("task_description"))
        return child

    def describe(self, use: str, kind: object, description: object) -> None:
        """What a tool use or a task event says of the subagent it starts: its type, and what it is to do."""
        if not isinstance(kind, str) and not isinstance(description, str):
            return
        self._described.setdefault(use, (kind, description))
        if (child := self._subagents.get(use)) is not None:
            child.describe(kind, description)


class SubagentRun(Lines):
    """A subagent of a run, with a session of its own over the same stream."""

    subagent: Subagent

    @classmethod
    def within(cls, root: ClaudeRun, use: str) -> SubagentRun:
        """A subagent that no tool use is known for yet."""
        from schemas.providers.streams.parser import StreamParser  # which makes runs of this module

        own = root.session
        name = one_line(use, 80)
        session = Session(own.provider, own.provider_name, own.path, f"{own.id}:{name}")
        session.stores, session.lacks = own.stores, own.lacks
        session.workspace_root, session.version = own.workspace_root, own.version
        session.lineage.parent, session.lineage.agent_id = own.id, name
        stream = StreamParser(session, root.stream.clock).stream
        run = cls(stream, use, 0)
        stream.runs.append(run)
        root.stream.growing.inner.append(stream.growing)
        run.root = root
        run.subagent = Subagent(name, session=session)
        return run

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self.above: Lines | None = None
        """Whose tool use started it."""
        self._total = TokenUsage()

    def take(self, record: Record, value: Value) -> None:
        """The run gives it its lines itself."""
        raise NotImplementedError

    def count_usage(self, call: str, usage: object, record: Record, model: str | None) -> bool:
        """Count it in the run, and note in the subagent's session what it took so far by its lines."""
        before = self.root.books.live(call)
        counted = super().count_usage(call, usage, record, model)
        if counted:
            after = self.root.books.live(call)
            self._total += TokenUsage(
                *(None if n is None else n - (o or 0) for o, n in zip(before, after, strict=True))
            )
            self.session.metadata["usageInParent"] = self._total.to_json()
        return counted

    def is_above(self, lines: Lines) -> bool:
        """Whether `lines` are this subagent's or those of one that it started, at any depth."""
        other: Lines | None = lines
        while isinstance(other, SubagentRun):
            if other is self:
                return True
            other = other.above
        return False

    def link(self, call: Call) -> None:
        """The tool use that started it is known."""
        self.above = call.lines
        self.subagent.tool_use = call.row
        self.session.lineage.parent = call.lines.session.id
        call.lines.session.subagents.append(self.subagent)
        call.lines.mark(call.row, Flag.SUBAGENT)

    def describe(self, kind: object, description: object) -> None:
        """Its type and what it is to do, where a line says so."""
        if isinstance(kind, str) and kind and not self.subagent.name:
            self.subagent.name = one_line(kind, 80)
        if isinstance(description, str) and description and not self.subagent.description:
            self.subagent.description = self.session.title = one_line(description, 200)

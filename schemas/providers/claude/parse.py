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

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from schemas.clean import clean, one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude import notices
from schemas.providers.claude.branches import NOBODY, Branches
from schemas.providers.claude.classify import (
    UserLine,
    classify,
    command_label,
    command_output,
    fold_reminders,
    has_media,
    is_refusal,
    typed_text,
)
from schemas.providers.claude.groups import Groups
from schemas.providers.claude.inline import Sidechains
from schemas.providers.claude.keys import Clock, block_key, key_of
from schemas.providers.claude.links import TaskLinks
from schemas.providers.claude.subagents import SideFiles
from schemas.providers.claude.titles import Titles
from schemas.records import Record
from schemas.session import Change, Op, Session

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
_PENDING, _REWOUND, _INHERITED = int(Flag.PENDING), int(Flag.REWOUND), int(Flag.INHERITED)
_OPENER, _WITHHELD, _MORE = int(Flag.OPENER), int(Flag.WITHHELD), int(Flag.MORE)
_ERROR, _INTERRUPTED = int(Flag.ERROR), int(Flag.INTERRUPTED)
_RESULT, _BODY = int(SpanRole.RESULT), int(SpanRole.BODY)
SYNTHETIC = "<synthetic>"
"""The model name of what Claude Code itself wrote in the model's place."""
TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


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
        self._node = self._parent = NOBODY
        self._clock = Clock()
        self._sidechains = Sidechains(self)
        self._files = SideFiles(self)
        self._uses: dict[int, int] = {}
        self._blocks: set[int] = set()
        self._replays: set[int] = set()
        self._growing: tuple[int, int, int, str] | None = None
        self._model: tuple[object, int] = (None, 0)
        self._command = -1
        self._repeats = 0
        self._first_id: str | None = None
        self._handlers: dict[str, Callable[[Record, Value], None]] = {
            "user": self._user,
            "assistant": self._assistant,
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
        handlers, metadata = self._handlers, self.notices.metadata
        batch = records if isinstance(records, list) else list(records)
        for record in batch:
            value = record[3]
            kind = value.get("type")
            handler = handlers.get(kind) if type(kind) is str else None
            if handler is None:
                self._key = 0
                metadata(record, value, kind)
            elif self._enter(record, value, kind):
                handler(record, value)
        self._sidechains.flush()
        self._settle(batch)
        changes = [Change(Op.UPDATED, i) for i in sorted(self.changed) if i < first]
        changes += [Change(Op.APPENDED, i) for i in range(first, len(self.session.messages))]
        return changes

    def _enter(self, record: Record, value: Value, kind: object) -> bool:
        """Place a chain record in the tree; False if it is done with: a duplicate, or part of a sidechain."""
        if not self._placed:
            self._place(value)
        if value.get("isSidechain") is True and not self.agent:
            self._sidechains.take(record, value)
            return False
        branches = self.branches
        nodes = branches.nodes
        parent = value.get("parentUuid")
        above = nodes.get(hash(parent), NOBODY) if type(parent) is str else NOBODY
        uuid = value.get("uuid")
        if type(uuid) is str:
            identity = hash(uuid)
            if identity in nodes:
                self.session.duplicates += 1
                return False
            self._key = 0
        else:
            identity = 0
        if kind == "user" or kind == "assistant" or above == NOBODY:
            branches.owner.append(branches.owner[above])
            node = len(branches.owner) - 1
        else:
            node = above
        if identity:
            nodes[identity] = node
        else:
            self._key = 0
        self._node, self._parent = node, above
        self.owner = branches.owner[node]
        self.time = time = self._clock.read(value.get("timestamp"))
        self.inherited = bool(value.get("forkedFrom"))
        session = self.session
        if time is not None:
            if session.updated is None or time > session.updated:
                session.updated = time
            if session.created is None or time < session.created:
                session.created = time
        if self.inherited or session.branch is None or session.workspace_root is None or session.version is None:
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

    def _settle(self, batch: list[Record]) -> None:
        """After a piece: what is known of the session as a whole."""
        session = self.session
        context = self.groups.context
        session.context_used = context.context if context is not None else None
        session.title = self.titles.best(session, self.branches.nodes)
        # What the last record with a working directory says, so that it does not matter where pieces were cut.
        for record in reversed(batch):
            value = record[3]
            if isinstance(value.get("cwd"), str) and (self.agent or value.get("isSidechain") is not True):
                for name, key in _LAST_FACTS.items():
                    fact = value.get(name)
                    if isinstance(fact, str) and fact:
                        session.metadata[key] = one_line(fact, 300)
                    else:
                        session.metadata.pop(key, None)
                break

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file: subagents, and titles that other files hold."""
        self.changed.clear()
        if not self._sidechains.child:
            self._files.refresh()
            self.session.title = self.titles.best(self.session, self.branches.nodes)
        return [Change(Op.UPDATED, i) for i in sorted(self.changed)]

    def become_child(self) -> None:
        """This parser reads a sidechain within another session's file: nothing lies beside it."""
        self._sidechains.child = True

    def set_time(self, stamp: object) -> None:
        """The time of the record being read, for records outside the chain."""
        self.time = self._clock.read(stamp)

    # -- rows ------------------------------------------------------------------------------------------------------

    def row(self, kind: Kind, record: Record, *, block: int = 0, chars: int = 0, lines: int = 0) -> int:
        """Append a message that the current record makes; returns its index."""
        key = self._key
        if not key:
            uuid = record[3].get("uuid")
            key = self._key = key_of(uuid if type(uuid) is str else f"{record[3].get('type')}@{record[0]}") or 1
        session = self.session
        index = session.add_message(
            kind, block_key(key, block), record, block=block, time=self.time, chars=chars, lines=lines
        )
        if self.inherited:
            session.messages.flags[index] |= _INHERITED
        exchange = session.exchanges[-1]
        if exchange.opener is None:
            exchange.inherited = self.inherited
        if self.owner != NOBODY:
            prompt = self.branches.prompts[self.owner]
            prompt.rows.append(index)
            if prompt.abandoned:
                session.messages.flags[index] |= _REWOUND
        return index

    def text_row(self, kind: Kind, record: Record, text: str, *, block: int = 0) -> int:
        """Append a message that shows `text`."""
        return self.row(kind, record, block=block, chars=len(text), lines=text.count("\n") + bool(text))

    def hide(self, what: str) -> None:
        """Count a record that holds nothing to read."""
        self.session.hidden[what] += 1

    def unknown(self, record: Record, what: str, *, block: int = 0) -> None:
        """A record or block of a type nobody described: shown as it is, and counted."""
        self.session.unknown[one_line(what, 80)] += 1
        self.row(Kind.UNKNOWN, record, block=block, chars=record[1], lines=1)

    def result_span(self, row: int, record: Record, role: SpanRole) -> None:
        """Note another record of a message."""
        spans = self.session.spans
        spans.extend(self.session.messages.span[row], spans.add(0, record[0], record[1], record[2], role))
        self.changed.add(row)

    # -- what people typed -----------------------------------------------------------------------------------------

    def _user(self, record: Record, value: Value) -> None:
        message = value.get("message")
        content = message.get("content") if type(message) is dict else None
        if type(content) is list:
            results = [b for b in content if type(b) is dict and b.get("type") == "tool_result"]
            if results and value.get("isCompactSummary") is not True:
                for block in results:
                    self._result(record, value, block, alone=len(results) == 1)
                if len(results) < len(content):
                    self._beside_results(record, value, [b for b in content if type(b) is not dict or b.get("type") != "tool_result"])
                return
        line, text = classify(value, content)
        if line is not UserLine.SUMMARY and self._is_replay(value):
            self.session.duplicates += 1
        elif line is UserLine.PROMPT or (line is UserLine.TEAMMATE and self.agent):
            self._prompt(record, value, text, content)
        elif line in (UserLine.COMMAND, UserLine.BASH):
            self.command(record, text)
        else:
            self._injected(record, value, line, text, content)

    def _is_replay(self, value: Value) -> bool:
        """Compaction writes kept messages again under new uuids, with the old parent and time (formats note 9).

        Results and what the agent said are told by their own ids, so only a person's lines need this.
        """
        parent, stamp = value.get("parentUuid"), value.get("timestamp")
        if type(parent) is not str or type(stamp) is not str:
            return False
        identity = hash((parent, stamp))
        if identity in self._replays:
            return True
        self._replays.add(identity)
        return False

    def _prompt(self, record: Record, value: Value, text: str, content: object) -> None:
        """A person's prompt opens an exchange, and may replace an earlier one (a rewind)."""
        self._command = -1
        session, branches = self.session, self.branches
        shown = text or ("(image)" if has_media(content) else "")
        row = self.queue.delivered(text, session)
        if row >= 0:
            exchange = session.split_exchange(row, Kind.PROMPT, shown)
            session.messages.kind[row] = Kind.PROMPT
            self.result_span(row, record, SpanRole.BODY)
            self.changed.update(range(row, len(session.messages)))
        else:
            exchange = session.open_exchange(Kind.PROMPT, shown)
            self.owner = NOBODY
            row = self.text_row(Kind.PROMPT, record, text)
            session.mark_opener(row)
        exchange.inherited = self.inherited
        number = self.owner = branches.add_prompt(self._node, self._parent, row)
        if branches.prompts[number].abandoned:
            self._flag_rewound(number)
        rival = branches.rival(number, self._parent)
        if "parentUuid" in value and value["parentUuid"] is None:
            rival = branches.root_rival(number, hash(str(value.get("sessionId"))))
        if rival != NOBODY:
            self._rewind(rival)

    def _rewind(self, number: int) -> None:
        for prompt in self.branches.abandon(number):
            self._flag_rewound(self.branches.owner[prompt.node])

    def _flag_rewound(self, number: int) -> None:
        messages, prompt = self.session.messages, self.branches.prompts[number]
        if messages.flags[prompt.row] & _OPENER:
            self.session.exchanges[messages.exchange[prompt.row]].rewound = True
        for row in (prompt.row, *prompt.rows):
            messages.flags[row] |= _REWOUND
            self.changed.add(row)

    def command(self, record: Record, text: str) -> None:
        """A slash command or a `!` command: a row, which opens an exchange if the agent answers it."""
        label = command_label(text)
        self.titles.add_command(label)
        self.owner = NOBODY
        row = self.row(Kind.COMMAND, record, chars=len(label), lines=1)
        self._command = row
        self.owner = self.branches.add_prompt(self._node, self._parent, row)
        if self.branches.prompts[self.owner].abandoned:
            self._flag_rewound(self.owner)

    def output(self, record: Record, text: str) -> None:
        """What a local command printed; so the agent was not asked."""
        self._command = -1
        self.text_row(Kind.OUTPUT, record, command_output(text))

    def promote(self) -> None:
        """The agent answers the command typed last: it opens an exchange of its own."""
        row, self._command = self._command, -1
        if row < 0:
            return
        session = self.session
        record = session.record(session.message_spans(row)[0])
        message = record.get("message")
        content = message.get("content") if isinstance(message, Mapping) else record.get("content")
        label = command_label(typed_text(content)[0])
        exchange = session.exchanges[-1]
        if exchange.start == row:  # nothing stands before it, so the preamble becomes its exchange
            exchange.opener, exchange.prompt = Kind.COMMAND, one_line(label, 300)
            session.mark_opener(row)
        else:
            exchange = session.split_exchange(row, Kind.COMMAND, label)
        exchange.inherited = session.messages.has(row, Flag.INHERITED)
        exchange.rewound = session.messages.has(row, Flag.REWOUND)
        self.changed.update(range(row, len(session.messages)))

    def _injected(self, record: Record, value: Value, line: UserLine, text: str, content: object) -> None:
        """User lines that nobody typed."""
        if line is UserLine.CAVEAT:
            self.hide("user caveat")
        elif line is UserLine.EMPTY and not (isinstance(content, list) and any(isinstance(b, dict) for b in content)):
            self.hide("user empty")
        elif line is UserLine.EMPTY:
            self._odd_blocks(record, content)
        elif line is UserLine.SUMMARY:
            self.notices.summary(record, value, text)
        elif line is UserLine.INTERRUPT:
            self.text_row(Kind.INTERRUPT, record, text)
            self.session.exchanges[-1].interrupted = True
        elif line is UserLine.OUTPUT:
            self.output(record, text)
        elif line is UserLine.NOTIFICATION:
            self.links.notification(text)
            self.text_row(Kind.NOTE, record, text)
        elif line is UserLine.TEAMMATE:
            self.text_row(Kind.NOTE, record, text)
        else:
            self.text_row(Kind.CONTEXT, record, text)

    def _odd_blocks(self, record: Record, content: object) -> None:
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        odd = [b for b in blocks if b.get("type") != "text"]
        if odd:
            self.unknown(record, f"user block {odd[0].get('type')}")
        else:
            self.hide("user empty")

    # -- tool results ----------------------------------------------------------------------------------------------

    def _result(self, record: Record, value: Value, block: Value, *, alone: bool) -> None:
        """Give a tool use its result."""
        session, messages = self.session, self.session.messages
        use = block.get("tool_use_id")
        row = self._uses.get(hash(use), -1) if type(use) is str else -1
        content = block.get("content")
        text = content if type(content) is str else _joined(content)
        if text.endswith("</system-reminder>"):
            text = fold_reminders(text)[0]
        chars, lines = len(text), text.count("\n") + bool(text)
        if row < 0 or not messages.flags[row] & _PENDING:
            if row >= 0 and messages.chars[row] == chars:
                session.duplicates += 1
            else:
                self.row(Kind.OUTPUT, record, block=_position(record, block), chars=chars, lines=lines)
            return
        flags = messages.flags[row] & ~_PENDING
        extra = value.get("toolUseResult") if alone else None
        exchange = session.exchanges[messages.exchange[row]]
        if block.get("is_error") is True:
            refused = is_refusal(text) or (type(extra) is str and is_refusal(extra)) or "toolDenialKind" in value
            flags |= _INTERRUPTED if refused else _ERROR
            exchange.errors += not refused
        elif type(extra) is dict and extra.get("interrupted") is True:
            flags |= _INTERRUPTED
        messages.flags[row] = flags
        messages.chars[row], messages.lines[row] = min(chars, 0xFFFF_FFFF), min(lines, 0xFFFF_FFFF)
        spans = session.spans
        spans.extend(messages.span[row], spans.add(0, record[0], record[1], record[2], _RESULT))
        session.touch(exchange, self.time)
        self.changed.add(row)
        if row in self.links.tasks:
            self.links.result(row, extra, text)

    def _beside_results(self, record: Record, value: Value, blocks: list[Any]) -> None:
        """Text beside tool results: what a person typed when refusing a tool, an interrupt, a reminder."""
        first = _position(record, blocks[0])
        line, text = classify({k: v for k, v in value.items() if k != "isMeta"}, blocks)
        if line is UserLine.PROMPT:
            self.text_row(Kind.STEER, record, text, block=first)
        elif line is UserLine.INTERRUPT:
            self.text_row(Kind.INTERRUPT, record, text, block=first)
            self.session.exchanges[-1].interrupted = True
        elif text:
            self.text_row(Kind.CONTEXT, record, text, block=first)

    # -- what the agent said ---------------------------------------------------------------------------------------

    def _assistant(self, record: Record, value: Value) -> None:
        message = value.get("message")
        if type(message) is not dict:
            self.hide("assistant empty")
            return
        content = message.get("content")
        model = message.get("model")
        if model == SYNTHETIC or value.get("isApiErrorMessage") is True:
            self._synthetic(record, value, content)
            return
        name = message.get("id") or value.get("requestId") or value.get("uuid")
        group_id = name if type(name) is str else f"{record[0]}"
        identity = hash(group_id)
        session = self.session
        messages = session.messages
        first = len(messages)
        repeats = self._repeats
        touched = self._said(record, content, identity)
        if model is not self._model[0]:
            self._model = (model, session.model_index(model) if type(model) is str else 0)
        number = self._model[1]
        end = len(messages)
        if number:
            for row in range(first, end):
                messages.model[row] = number
        usage = message.get("usage")
        group = -1
        if type(usage) is dict and not self.inherited:
            group = self.groups.take(clean(group_id), usage, record, number, moves=end > first or touched)
        if group >= 0:
            if end > first:
                last = session.groups.last[group]
                if last < first:
                    self.changed.add(last)
                for row in range(first, end):
                    messages.group[row] = group
                session.groups.last[group] = end - 1
        elif end == first and not touched:
            if self._repeats > repeats:
                session.duplicates += 1
            else:
                self.hide("assistant empty")

    def _said(self, record: Record, content: object, group: int) -> bool:
        """The blocks of a line; True if it only made an earlier message longer."""
        if type(content) is str:
            return self._text(record, content, 0, group)
        touched = False
        if type(content) is not list:
            return False
        for number, block in enumerate(content):
            if type(block) is str:
                touched |= self._text(record, block, number, group)
                continue
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if kind == "tool_use":
                self._tool_use(record, block, number)
            elif kind == "text":
                text = block.get("text")
                touched |= self._text(record, text, number, group) if type(text) is str else False
            elif kind == "thinking" or kind == "redacted_thinking":
                self._thinking(record, block, number, group)
            else:
                self._other_block(record, block, kind, number)
        return touched

    def _text(self, record: Record, text: str, number: int, group: int) -> bool:
        """A text block; True if it is a longer version of the one before in the same response (formats note 6)."""
        if not text or text.isspace():
            return False
        identity = hash((group, text))
        if identity in self._blocks:
            self._repeats += 1
            return False
        messages = self.session.messages
        growing = self._growing
        if growing is not None and growing[0] == group:
            _, row, tail, before = growing
            if before.startswith(text):
                self._repeats += 1
                return False
            if text.startswith(before):
                span = self.session.add_span(record)
                self.session.spans.extend(tail, span)
                messages.block[row] = min(number, 0xFFFF)
                messages.chars[row], messages.lines[row] = len(text), text.count("\n") + 1
                messages.flags[row] |= _MORE
                self._blocks.add(identity)
                self._growing = (group, row, span, text)
                self.changed.add(row)
                return True
        self._blocks.add(identity)
        self.promote()
        row = self.row(Kind.TEXT, record, block=number, chars=len(text), lines=text.count("\n") + 1)
        self._growing = (group, row, messages.span[row], text)
        return False

    def _thinking(self, record: Record, block: Value, number: int, group: int) -> None:
        text = block.get("thinking")
        text = text if type(text) is str else ""
        mark = text or block.get("signature") or block.get("data")
        identity = hash((group, "thinking", mark if type(mark) is str else ""))
        if identity in self._blocks:
            self._repeats += 1
            return
        self._blocks.add(identity)
        self.promote()
        row = self.row(Kind.THINKING, record, block=number, chars=len(text), lines=text.count("\n") + bool(text))
        if not text:
            self.session.messages.flags[row] |= _WITHHELD

    def _tool_use(self, record: Record, block: Value, number: int) -> None:
        use = block.get("id")
        if type(use) is str:
            identity = hash(use)
            if identity in self._uses:
                self._repeats += 1
                return
        else:
            identity = 0
        self.promote()
        row = self.row(Kind.TOOL, record, block=number)
        self.session.messages.flags[row] |= _PENDING
        if identity:
            self._uses[identity] = row
        name = block.get("name")
        if name == "Task" or name == "Agent" or name == "Workflow":
            self.links.call(row, use, block.get("input"))

    def _other_block(self, record: Record, block: Value, kind: object, number: int) -> None:
        if kind in TOOL_USES:
            self._tool_use(record, block, number)
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            self._result(record, {}, block, alone=False)
        elif kind == "fallback":
            self.row(Kind.NOTE, record, block=number, chars=40, lines=1)
        elif kind in ("image", "document"):
            self.promote()
            self.row(Kind.TEXT, record, block=number, chars=40, lines=1)
        else:
            self.unknown(record, f"assistant block {kind}", block=number)

    def _synthetic(self, record: Record, value: Value, content: object) -> None:
        """What Claude Code wrote in the model's place: an API error, or a note."""
        text = content if isinstance(content, str) else _joined(content)
        if value.get("isApiErrorMessage") is True:
            self.promote()
            row = self.text_row(Kind.ERROR, record, text)
            self.session.messages.flags[row] |= _ERROR
            self.session.exchanges[-1].errors += 1
        elif text.strip():
            self.text_row(Kind.NOTE, record, text)
        else:
            self.hide("assistant empty")

    def _progress(self, record: Record, value: Value) -> None:
        """Only a link of the chain, and of a subagent to its call."""
        data = value.get("data")
        if type(data) is dict and data.get("type") == "agent_progress":
            self.links.progress(value.get("parentToolUseID"), data.get("agentId"))
        self.session.hidden["progress"] += 1

    def row_of_use(self, use: object) -> int:
        """The message of a tool use; -1 if it is not in this session."""
        return self._uses.get(hash(use), -1) if isinstance(use, str) else -1


def _joined(content: object) -> str:
    if not isinstance(content, list):
        return ""
    return "\n".join(
        b["text"] for b in content if type(b) is dict and b.get("type") == "text" and type(b.get("text")) is str
    )


def _position(record: Record, block: Value) -> int:
    """The place of a block in its record's content."""
    message = record[3].get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return next((i for i, b in enumerate(content) if b is block), 0) if isinstance(content, list) else 0

"""What one speaker of a Claude stream says and is told: `assistant`, `user` and `stream_event` lines (note 2.2).

The main agent is one speaker; each subagent is another, with a session of its own (claude.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from schemas.message import NO_FLAGS, Flag, Kind, Message, Span, SpanRole
from schemas.providers.claude.agent import SYNTHETIC, TOOL_USES
from schemas.providers.claude.classify import (
    UserLine,
    classify,
    command_label,
    command_output,
    fold_reminders,
    has_media,
    texts_of,
)
from schemas.providers.claude.results import failure, joined, position
from schemas.providers.streams.claude_build import build_message
from schemas.providers.streams.claude_drafts import Drafts
from schemas.providers.streams.claude_words import blocks_of, ident_of, is_background, tells
from schemas.providers.streams.stream import Run, Stream
from schemas.records import Record
from schemas.session import Lack

if TYPE_CHECKING:
    from schemas.providers.streams.claude import ClaudeRun

Value = dict[str, Any]
_HUMAN = frozenset({"human", "user", "channel"})
"""Kinds of `origin` that a person's prompt may have; every other one is the program's."""
_BLOCKS = frozenset({"text", "image", "document", "tool_result", "tool_reference"})


class Lines(Run):
    """The lines of one speaker, as messages of its session."""

    provider = "claude"
    name = "Claude Code"
    lacks = frozenset({Lack.TIMES})
    root: ClaudeRun
    """The run of the main agent, which knows what all speakers share."""

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self.drafts = Drafts(self)
        self._said: set[int] = set()
        self.answered: set[int] = set()
        """Its tool uses that have a result."""
        self._denied: set[int] = set()
        self.background: set[int] = set()
        """Its tool uses that go on after their result."""
        self.error: tuple[int, str] = (-1, "")
        """The last message that reports an error, and its text."""
        self._rows: dict[int, list[int]] = {}
        self._boundary = -1
        """The compaction whose summary has not come yet."""
        self.texts = 0
        """How many texts the agent has said."""

    def build(self, message: Message, spans: list[Span]) -> None:
        """Fill in a message from its lines."""
        build_message(self.session, message, spans)

    def build_growing(self, message: Message, first: Span, text: str) -> None:
        """The same for a block that is being written."""
        build_message(self.session, message, [first], text)

    def extend(self, row: int, record: Record, role: SpanRole = SpanRole.DETAIL, *, more: str = "") -> None:
        """Another line adds to a message; what is no delta ends the writing of a block."""
        self.stream.growing.end(row)
        super().extend(row, record, role, more=more)

    def extend_draft(self, row: int, record: Record, *, more: str = "") -> None:
        """A delta adds to a block."""
        super().extend(row, record, more=more)

    # -- what claude.py decides ----------------------------------------------------------------------------------------

    def begin(self, record: Record) -> None:
        """The agent is about to say something: there is an exchange from here on."""
        self.ensure_exchange(record)

    def prompted(self, record: Record, ident: str, text: str, kind: Kind) -> int:
        """A prompt opens an exchange."""
        row = self.open_exchange(record, ident, text, self.time_of(record[3]))
        if kind is not Kind.PROMPT and self.exchange is not None:
            self.session.messages.kind[row] = kind
            self.exchange.opener = kind
        return row

    # -- shared --------------------------------------------------------------------------------------------------------

    def knows(self, use: str) -> bool:
        """Whether a tool use is shown already. Its id in a later turn, when it has its result, is another one's."""
        call = self.root.calls.get(use)
        return call is not None and (call.turn == self.root.turn or call.row not in call.lines.answered)

    def forget(self) -> None:
        """A turn is over: what is said in the next one is new, whatever its ids."""
        self.drafts.forget()
        self._said.clear()

    def count_usage(self, call: str, usage: object, record: Record, model: str | None) -> bool:
        """Count the usage that a line or event repeats; False if it says none."""
        if not call or not isinstance(usage, dict):
            return False
        self.root.ensure_exchange(record)
        counted = self.root.books.take(call, usage, record, model, main=self is self.root)
        if counted:
            self.root.recounted(self.root.session.exchanges[-1])
        return counted

    def join_response(self, row: int, call: str) -> None:
        """Let a message be part of its response's token group, which lies in the main session."""
        group = self.root.books.group_of(call) if self is self.root else -1
        if group >= 0:
            self.join(row, group)

    def time_of(self, value: Value) -> float | None:
        """The time on a line; recent builds put one on some `user` lines. None while a live pipe is stamped."""
        stamp = value.get("timestamp")
        if self.stream.clock is not None or not isinstance(stamp, str):
            return None
        try:
            moment = datetime.fromisoformat(stamp)
            time = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
        self.session.lacks -= {Lack.TIMES}
        return time

    def note_rows(self, value: Value, rows: Iterable[int]) -> None:
        """Remember which messages a line made, should it be retracted."""
        uuid = value.get("uuid")
        if isinstance(uuid, str) and rows:
            self._rows.setdefault(hash(uuid), []).extend(rows)

    def retract(self, uuid: str) -> None:
        """A line was taken back by the program: its messages stay, greyed out."""
        for row in self._rows.get(hash(uuid), ()):
            if not self.session.messages.flags[row] & Flag.OPENER:
                self.mark(row, Flag.REWOUND)

    # -- assistant -----------------------------------------------------------------------------------------------------

    def assistant(self, record: Record, value: Value) -> None:
        """A line of type `assistant`: one block of a response, complete."""
        message = value.get("message")
        if not isinstance(message, dict):
            self.hide("assistant empty")
            return
        name, model, content = message.get("id"), message.get("model"), message.get("content")
        if model == SYNTHETIC:
            self._synthetic(record, value, content)
            return
        call = name if isinstance(name, str) and name else ident_of(value) or f"@{record[0]}"
        model = model if isinstance(model, str) else None
        first = len(self.session.messages)
        shown = [self._block(record, value, call, model, i, block) for i, block in blocks_of(content)]
        if isinstance(value.get("error"), str):
            self.failed(record, value)
            shown.append(True)
        counted = self.count_usage(call, message.get("usage"), record, model)
        for row in range(first, len(self.session.messages)):
            if self.session.messages.kind[row] in (Kind.TEXT, Kind.THINKING, Kind.TOOL):
                self.join_response(row, call)
        self.note_rows(value, range(first, len(self.session.messages)))
        if not counted and True not in shown:
            if False in shown:
                self.session.duplicates += 1
            else:
                self.hide("assistant empty")

    def _block(
        self, record: Record, value: Value, call: str, model: str | None, number: int, block: object
    ) -> bool | None:
        """A block; True if it is shown, False if it was shown before, None if there is nothing to show."""
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        if not isinstance(block, dict):
            return None
        kind = block.get("type")
        if kind == "text" or kind in ("thinking", "redacted_thinking"):
            return self._words(record, value, call, model, number, block, str(kind))
        if isinstance(kind, str) and kind in TOOL_USES:
            return self._tool_use(record, value, call, model, number, block)
        if isinstance(kind, str) and kind.endswith("tool_result"):
            self._pair(record, {}, block, alone=False)
        elif kind in ("image", "document"):
            self.begin(record)
            self.add(Kind.TEXT, record, ident_of(value, number), text="[image]", model=model, block=number)
            self.texts += 1
        elif kind == "fallback":
            self.add(Kind.NOTE, record, ident_of(value, number), text="fallback", block=number)
        else:
            self.unknown(record, f"assistant block {kind}")
        return True

    def _words(
        self, record: Record, value: Value, call: str, model: str | None, number: int, block: Value, kind: str
    ) -> bool | None:
        """A text or a thinking."""
        text = block.get("text" if kind == "text" else "thinking")
        text = text if isinstance(text, str) else ""
        seal = "" if kind == "text" else text or block.get("signature") or block.get("data") or ""
        mark = hash((call, kind, seal if isinstance(seal, str) and seal else text))
        draft = self.drafts.claim(call, kind)
        said = kind == "text" and bool(text.strip())
        if draft is not None:
            self.texts += said
            self._said.add(mark)
            if text or not self.session.messages.chars[draft.row]:
                self.extend(draft.row, record, SpanRole.BODY)
                self.session.messages.block[draft.row] = min(number, 0xFFFF)
                self.resize(draft.row, text)
            else:  # the complete block keeps back what its deltas said
                self.extend(draft.row, record)
            if kind != "text" and not self.session.messages.chars[draft.row]:
                self.mark(draft.row, Flag.WITHHELD)
            self.note_rows(value, [draft.row])
            return True
        if kind == "text" and not text.strip():
            return None
        if mark in self._said:
            return False
        self._said.add(mark)
        self.begin(record)  # which may begin a turn, of which the text is the first
        self.texts += said
        flags = NO_FLAGS if text else Flag.WITHHELD
        what = Kind.TEXT if kind == "text" else Kind.THINKING
        self.add(what, record, ident_of(value, number), text=text, model=model, flags=flags, block=number)
        return True

    def _tool_use(
        self, record: Record, value: Value, call: str, model: str | None, number: int, block: Value
    ) -> bool | None:
        use = block.get("id")
        draft = self.drafts.claim(call, "tool_use", use)
        if draft is not None:
            self.extend(draft.row, record, SpanRole.BODY)
            self.session.messages.block[draft.row] = min(number, 0xFFFF)
            self.note_rows(value, [draft.row])
            row = draft.row
        elif isinstance(use, str) and self.knows(use) and tells(self.session.record(self.root.calls[use].told), block):
            return False
        else:
            self.begin(record)
            row = self.add(Kind.TOOL, record, ident_of(value, number), model=model, flags=Flag.PENDING, block=number)
        if isinstance(use, str):
            self.root.call_shown(use, self, row, record)
            given = block.get("input")
            if isinstance(given, dict):
                self.root.describe(use, given.get("subagent_type"), given.get("description"))
        return True

    def _synthetic(self, record: Record, value: Value, content: object) -> None:
        """What Claude Code wrote in the model's place: an API error, or a note. It cost nothing."""
        text = "\n\n".join(texts_of(content))
        if isinstance(value.get("error"), str) or text.startswith("API Error"):
            self.failed(record, value, text)
        elif text.strip():
            self.begin(record)
            self.add(Kind.NOTE, record, ident_of(value), text=text)
        else:
            self.hide("assistant empty")

    def failed(self, record: Record, value: Value, text: str = "") -> None:
        """A line that reports an error."""
        self.begin(record)
        ident = f"{uuid}:error" if (uuid := ident_of(value)) else ""
        row = self.add(Kind.ERROR, record, ident, text=text, flags=Flag.ERROR)
        self.error = (row, text)

    # -- user ----------------------------------------------------------------------------------------------------------

    def user(self, record: Record, value: Value) -> None:
        """A line of type `user`: results, or a prompt, or what the program says in the person's place."""
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else []
        results = [b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"]
        first = len(self.session.messages)
        for block in results:
            self._pair(record, value, block, alone=len(results) == 1)
        others = [b for b in blocks if not (isinstance(b, dict) and b.get("type") == "tool_result")]
        if not results:
            self._said_to(record, value, content)
        elif others:
            self._beside(record, value, others)
        for block in others:
            if isinstance(block, dict) and str(block.get("type")) not in _BLOCKS:
                self.unknown(record, f"user block {block.get('type')}")
        self.note_rows(value, range(first, len(self.session.messages)))

    def _said_to(self, record: Record, value: Value, content: object) -> None:
        """What a person typed, or the program put there; the first of the note's rules that fits wins."""
        line, text = classify({"isCompactSummary": value.get("isCompactSummary")}, content)
        ident, time = ident_of(value), self.time_of(value)
        origin = value.get("origin")
        kind = origin.get("kind") if isinstance(origin, dict) else None
        synthetic = value.get("isSynthetic") is True or (isinstance(kind, str) and kind not in _HUMAN)
        if line is UserLine.EMPTY:
            self.hide("user empty")
        elif self is not self.root:
            self.prompted(record, ident, text or joined(content), Kind.PROMPT)
        elif line is UserLine.SUMMARY or (synthetic and self._boundary >= 0 and not text.startswith(("<", "["))):
            self._summary(record, ident, text)
        elif line is UserLine.INTERRUPT:
            self.add(Kind.INTERRUPT, record, ident, text=text, time=time)
            self.session.exchanges[-1].interrupted = True
        elif line is UserLine.CAVEAT:
            self.hide("user caveat")
        elif line is UserLine.OUTPUT:
            self.add(Kind.OUTPUT, record, ident, text=command_output(text), time=time)
        elif line in (UserLine.NOTIFICATION, UserLine.TEAMMATE) or kind in ("task-notification", "peer", "coordinator"):
            self.root.wake()
            self.add(Kind.NOTE, record, ident, text=text, time=time)
        elif synthetic or line in (UserLine.META, UserLine.HOOK):
            self.root.wake()
            self.add(Kind.CONTEXT, record, ident, text=text, time=time)
        elif line in (UserLine.COMMAND, UserLine.BASH):
            self.prompted(record, ident, command_label(text), Kind.COMMAND)
        else:
            self.prompted(record, ident, text or ("(image)" if has_media(content) else ""), Kind.PROMPT)

    def _beside(self, record: Record, value: Value, blocks: list[Any]) -> None:
        """Text beside results: an interrupt, a reminder, what a person typed when refusing."""
        line, text = classify({}, blocks)
        block = position(record, blocks[0])
        kind = {UserLine.PROMPT: Kind.STEER, UserLine.INTERRUPT: Kind.INTERRUPT}.get(line, Kind.CONTEXT)
        if not text and not has_media(blocks):
            return
        if kind is Kind.STEER and (value.get("isSynthetic") is True or self is not self.root):
            kind = Kind.CONTEXT
        self.add(kind, record, f"{ident_of(value)}:beside" if ident_of(value) else "", text=text, block=block)
        if kind is Kind.INTERRUPT:
            self.session.exchanges[-1].interrupted = True

    # -- compaction ----------------------------------------------------------------------------------------------------

    def boundary(self, record: Record, value: Value) -> None:
        """Where the context was compacted; the summary that follows is part of the same message."""
        self._boundary = self.add(Kind.COMPACTION, record, ident_of(value))

    def _summary(self, record: Record, ident: str, text: str) -> None:
        row, self._boundary = self._boundary, -1
        if row < 0:
            self.add(Kind.COMPACTION, record, ident, text=text)
            return
        self.extend(row, record)
        self.resize(row, text)

    # -- results -------------------------------------------------------------------------------------------------------

    def _pair(self, record: Record, value: Value, block: Value, *, alone: bool) -> None:
        """Give a tool use its result, wherever in the stream it stands."""
        use = block.get("tool_use_id")
        call = self.root.calls.get(use) if isinstance(use, str) else None
        content = block.get("content")
        text = content if isinstance(content, str) else joined(content)
        if text.endswith("</system-reminder>"):
            text = fold_reminders(text)[0]
        if call is not None:
            call.lines.answer(call.row, record, value, text, block, alone=alone)
            return
        number = position(record, block)
        ident = ident_of(record[3], number)
        self.add(Kind.OUTPUT, record, f"{ident}:result" if ident else "", text=text, block=number)

    def answer(self, row: int, record: Record, value: Value, text: str, block: Value, *, alone: bool) -> None:
        """A result of one of this speaker's tool uses; after the first, others stand below it."""
        if row in self.answered:
            self.extend(row, record, more=text)
            return
        self.answered.add(row)
        self.extend(row, record, SpanRole.RESULT)
        extra = value.get("tool_use_result") if alone else None
        failed = block.get("is_error") is True
        if failed and text.startswith("Exit code "):
            text = text.partition("\n")[2]
        self.resize(row, text)
        if isinstance(extra, dict) and is_background(extra):
            self.background.add(row)
        refused = row in self._denied or (failed and failure(text, extra, value) == Flag.INTERRUPTED)
        interrupted = refused or (not failed and isinstance(extra, dict) and extra.get("interrupted") is True)
        self.settle(row, failed=failed and not refused, interrupted=interrupted)

    def deny(self, row: int, record: Record) -> None:
        """A rule or the person refused a tool use; its result, a failure, may stand before or behind."""
        self._denied.add(row)
        self.extend(row, record)
        if row in self.answered:
            self.settle(row, interrupted=True)
        else:
            self.mark(row, Flag.INTERRUPTED)

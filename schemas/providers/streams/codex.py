"""`codex exec --json` (`streams` note 3): items as whole snapshots, usage as the thread's running total."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.clean import clean, one_line
from schemas.message import NO_FLAGS, Flag, Kind, Message, Part, Span, SpanRole
from schemas.providers.codex.tokens import Counts, counts_of, usage_of
from schemas.providers.streams.codex_tools import (
    TOOLS,
    build_tool,
    is_same_call,
    item_failed,
    item_text,
    result_text,
)
from schemas.providers.streams.stream import Run, Stream, Value, latest, span_of, text_part
from schemas.records import Record
from schemas.session import Lack, Subagent
from schemas.values import dict_of, list_of, text_of

_RETRY = re.compile(r"\s*(?:Reconnecting|Retrying)\b.*?\d+\s*/\s*\d+", re.DOTALL)
_SO_FAR = "thread total so far"
_SAID = {
    "agent_message": Kind.TEXT,
    "plan": Kind.TEXT,
    "reasoning": Kind.THINKING,
    "error": Kind.NOTE,
    "todo_list": Kind.NOTE,
}


@dataclass(slots=True)
class _Item:
    """What goes by a name (process, id and type) now."""

    row: int
    turn: int
    """In which it came first."""
    completed: int = -1
    """The turn in which it was completed; -1 before that."""
    told: Span | None = None
    """Its last snapshot."""


class CodexRun(Run):
    """One thread; several processes may go on with it, each of which numbers its items anew, and so may each turn."""

    provider = "codex"
    name = "Codex"
    lacks = frozenset({Lack.TIMES})

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self._process = 0
        self._in_turn = False
        self._turn = 0
        self._items: dict[str, _Item] = {}
        self._total: Counts | None = None
        self._turns = 0
        self._retry = -1
        self._error = ("", -1)

    # -- lines ---------------------------------------------------------------------------------------------------------

    def take(self, record: Record, value: Value) -> None:
        """Take a line; what a newer Codex may print beside these is kept as it is."""
        kind = text_of(value.get("type"))
        if kind != "error":
            self._retry = -1
        match kind:
            case "thread.started":
                self._process += 1
                self._items.clear()  # the names of the process before come no more
                self._begin(record)
                self._in_turn = False  # its turn.started is still to come
            case "turn.started":
                self._begin_turn(record)
            case "turn.completed":
                self.ensure_exchange(record)
                self._usage(record, value)
                self._end("completed")
            case "turn.failed":
                self.ensure_exchange(record)
                self._fail(record, text_of(dict_of(value.get("error")).get("message")) or text_of(value.get("error")))
                self._end("failed")
            case "error":
                self._complain(record, text_of(value.get("message")))
            case "item.started" | "item.updated" | "item.completed":
                self.ensure_exchange(record)
                self._item(record, dict_of(value.get("item")), kind)
            case "item.plan.delta":
                self.ensure_exchange(record)
                self._delta(record, value)
            case "request_user_input":
                self.ensure_exchange(record)
                self.add(Kind.NOTE, record)
            case _:
                self.unknown(record, kind)

    def _begin(self, record: Record) -> None:
        self.ended = ""
        self._turn += 1
        self._error = ("", -1)
        self.open_unprompted(record)

    def _begin_turn(self, record: Record) -> None:
        """Normally the one turn of a process, whose exchange its thread.started has opened."""
        if self.exchange is None or self._in_turn or self.ended:
            self._begin(record)
        else:
            self.hide("turn.started")
        self._in_turn = True

    def _end(self, how: str) -> None:
        self.close_open(failed=how == "failed")
        self.ended, self._in_turn = how, True
        self._turn += 1  # what comes before the next turn.started belongs to it

    # -- tokens --------------------------------------------------------------------------------------------------------

    def _usage(self, record: Record, value: Value) -> None:
        """What the thread's total grew by. The first total of a thread that was resumed holds what nobody here saw."""
        counts = counts_of(value.get("usage"))
        self._turns += 1
        if counts is None:
            self.hide("turn.completed")
            return
        before, self._total = self._total, counts
        ident = f"turn {self._turns}"
        if before is None:
            ident += f" ({_SO_FAR})"
        elif not any(
            new is not None and old is not None and new < old for new, old in zip(counts, before, strict=True)
        ):
            counts = _difference(counts, before)
        usage = usage_of(counts)
        if usage.input is not None:  # what is left out of its input is none of it
            usage = usage._replace(cache_read=usage.cache_read or 0, cache_write=usage.cache_write or 0)
        self.group(ident, usage, record)
        if before is None:
            self.note(record, f"Tokens: the {_SO_FAR}; if it was resumed, those of earlier turns are in it")

    # -- errors --------------------------------------------------------------------------------------------------------

    def _complain(self, record: Record, text: str) -> None:
        """An error line is a retry's notice, or what the turn will fail with."""
        if _RETRY.match(text):
            if self._retry >= 0:
                self.extend(self._retry, record, SpanRole.BODY)
                self.resize(self._retry, text)
            else:
                self._retry = self.add(Kind.NOTE, record, text=text)
            return
        self._retry = -1
        self._fail(record, text)

    def _fail(self, record: Record, text: str) -> None:
        """A failure; an error line that its turn.failed repeats is one."""
        said, row = self._error
        if row >= 0 and said == text:
            self.extend(row, record)
            return
        self._error = (text, self.add(Kind.ERROR, record, text=text, flags=Flag.ERROR))

    # -- items ---------------------------------------------------------------------------------------------------------

    def _item(self, record: Record, item: Value, event: str) -> None:
        """A snapshot of an item takes the place of the one before, where that one stands."""
        kind, completed = text_of(item.get("type")), event == "item.completed"
        ident = f"{self._process}/{item['id']}" if isinstance(item.get("id"), str | int) else ""
        name = f"{ident} {kind}" if ident else ""
        known = self._known(name, item, event)
        text = item_text(item)
        tool = kind in TOOLS
        if known is not None:
            row = known.row
            role = SpanRole.RESULT if tool and completed else SpanRole.BODY
            # A snapshot without text does not take the place of one that has some.
            self.extend(row, record, SpanRole.DETAIL if kind in _SAID and not text else role)
        elif tool:
            row = self.add(Kind.TOOL, record, ident, flags=NO_FLAGS if completed else Flag.PENDING)
        elif kind not in _SAID:
            row = self.unknown(record, f"item {kind}" if kind else "item")
        elif text:
            row = self.add(_SAID[kind], record, ident, text=text)
        else:
            self.hide(f"{kind} without text")
            return
        if name:
            known = self._items[name] = known or _Item(row, self._turn)
            known.completed = self._turn if completed else known.completed
            known.told = span_of(record)
        self.stream.growing.end(row)
        if not tool:
            if kind in _SAID and text:
                self.resize(row, text)
            return
        self.resize(row, result_text(item))
        if completed:
            self.settle(row, failed=item_failed(item))
        if kind == "collab_tool_call":
            self._link(row, item)

    def _known(self, name: str, item: Value, event: str) -> _Item | None:
        """The item that a snapshot belongs to; None if it is another one, since a turn may number its items anew.

        What was completed is over, but for the same snapshot once more in its turn. A tool use without a result may
        be completed in a later turn, as long as it is not asked for anything else.
        """
        known = self._items.get(name)
        if known is None or (known.completed < 0 and known.turn == self._turn):
            return known
        before = dict_of(self.session.record(known.told).get("item")) if known.told is not None else {}
        if known.completed >= 0:
            goes_on = known.completed == self._turn and before == item
        else:
            goes_on = self.session.messages.kind[known.row] == Kind.TOOL and event != "item.started"
            goes_on = goes_on and is_same_call(before, item)
        return known if goes_on else None

    def _delta(self, record: Record, value: Value) -> None:
        """A piece of a plan that its item will say again as a whole."""
        ident = f"{self._process}/{value.get('item_id')}"
        known, delta = self._items.get(f"{ident} plan"), text_of(value.get("delta"))
        if known is not None and known.turn == self._turn:
            self.extend(known.row, record, more=delta if self.stream.growing.add(known.row, delta) else "")
        elif delta:
            row = self.add(Kind.TEXT, record, ident, text=delta)
            self._items[f"{ident} plan"] = _Item(row, self._turn)
            self.stream.growing.begin(row, delta)
        else:
            self.hide("item.plan.delta")

    def _link(self, row: int, item: Value) -> None:
        """An agent that was spawned is a thread of its own, which is not in the stream."""
        if item.get("tool") != "spawn_agent":
            return
        known = {agent.id for agent in self.session.subagents}
        for thread in list_of(item.get("receiver_thread_ids")):
            identifier = one_line(text_of(thread), 100)
            if identifier and identifier not in known and identifier != self.id:
                known.add(identifier)
                task = one_line(text_of(item.get("prompt")), 200)
                self.session.subagents.append(Subagent(identifier, description=task, tool_use=row))
                self.mark(row, Flag.SUBAGENT)

    # -- making messages -----------------------------------------------------------------------------------------------

    def build(self, message: Message, spans: list[Span]) -> None:
        """From the last snapshot; a plan that has none yet from its pieces."""
        value = self.session.record(latest(spans))
        item = dict_of(value.get("item"))
        text = item_text(item)
        match message.kind:
            case Kind.TOOL:
                build_tool(self.session, message, item)
            case Kind.THINKING:
                message.parts = [Part("thinking", clean(text))]
            case Kind.TEXT if not item:
                message.parts = text_part(self.joined(spans, lambda piece: text_of(piece.get("delta"))))
            case Kind.TEXT:
                message.parts = text_part(text)
            case Kind.ERROR:
                first = self.session.record(spans[0])
                error = first.get("error")
                turn = len(spans) > 1 or value.get("type") == "turn.failed"
                message.label = "Turn failed" if turn else "Error"
                said = text_of(first.get("message")) or text_of(dict_of(error).get("message")) or text_of(error)
                message.parts = text_part(said)
            case _:
                _build_note(message, value, item, text, len(spans))


def _build_note(message: Message, value: Value, item: Value, text: str, count: int) -> None:
    """A warning, a retry, a question."""
    if item.get("type") == "todo_list":
        steps = [dict_of(step) for step in list_of(item.get("items"))]
        done = sum(step.get("completed") is True for step in steps)
        message.label, message.parts = f"To-do list, {done} of {len(steps)} done", text_part(text)
    elif item:
        message.label, message.parts = "Warning", text_part(text)
    elif value.get("type") == "request_user_input":
        message.label = "Question"
        asked = (
            text_of(dict_of(q).get("question")) or text_of(dict_of(q).get("header"))
            for q in list_of(value.get("questions"))
        )
        message.parts = text_part("\n".join(filter(None, asked)))
    else:
        message.label = f"Retried {count} times" if count > 1 else "Retry"
        message.parts = text_part(value.get("message"))


def _difference(new: Counts, old: Counts) -> Counts:
    a, b, c, d, e, f = (n if n is None else n - (o or 0) for n, o in zip(new, old, strict=True))
    return a, b, c, d, e, f

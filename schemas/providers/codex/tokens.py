"""Tokens of a rollout, exactly after the formats note, 6.1.

`token_count` events hold running totals and are written again for every refresh of the screen; the differences of
those that advance are the rounds. `token_usage_record` (0.149 and later) gives one response exactly; a turn that has
any counts by them alone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from schemas.clean import clean
from schemas.message import Kind, SpanRole
from schemas.providers.codex.ids import UUID
from schemas.records import Record
from schemas.session import Exchange, Inherited, Session
from schemas.table import NONE
from schemas.usage import TokenUsage, as_count
from schemas.values import text_of, when

_Count: TypeAlias = int | None
Counts: TypeAlias = tuple[_Count, _Count, _Count, _Count, _Count, _Count]
"""Input, cached, cache written, output, reasoning and total, None where one is not given."""

_NOTHING: Counts = (None, None, None, None, None, None)
_BITS = 62
"""As `as_count` has it."""
_FIRST_OF_ROUND, _LAST_OF_ROUND = int(Kind.TEXT), int(Kind.TOOL)  # text, thinking, tool
_USAGE = int(SpanRole.USAGE)


def counts_of(usage: object) -> Counts | None:
    """The figures of a usage object; None if it is none or names no figure."""
    if not isinstance(usage, dict):
        return None
    get = usage.get
    given, cached, written = get("input_tokens"), get("cached_input_tokens"), get("cache_write_input_tokens")
    output, reasoning, total = get("output_tokens"), get("reasoning_output_tokens"), get("total_tokens")
    # As a rule all are what they should be: none is negative or too large if no such bit is set in any of them.
    if (
        type(given) is type(cached) is type(output) is type(reasoning) is type(total) is int
        and (written is None or type(written) is int)
        and not (given | cached | (written or 0) | output | reasoning | total) >> _BITS
    ):
        return given, cached, written, output, reasoning, total
    counts = (
        as_count(given),
        as_count(cached),
        as_count(written),
        as_count(output),
        as_count(reasoning),
        as_count(total),
    )
    return None if counts == _NOTHING else counts


def usage_of(counts: Counts) -> TokenUsage:
    """Codex's figures without overlap: cached and written tokens are part of its input, reasoning of its output."""
    total_in, cached, written, output, reasoning, _ = counts
    fresh = total_in
    if fresh is not None:
        fresh -= (cached or 0) + (written or 0)
        if fresh < 0:
            fresh = 0
    return TokenUsage(fresh, output, cached, written, reasoning)


def _difference(new: Counts, old: Counts) -> Counts:
    # Written out: a loop takes five times as long, and this runs for every response.
    fresh, cached, written, output, reasoning, _ = new
    fresh0, cached0, written0, output0, reasoning0, _ = old
    return (
        fresh if fresh is None or not fresh0 else fresh - fresh0 if fresh > fresh0 else 0,
        cached if cached is None or not cached0 else cached - cached0 if cached > cached0 else 0,
        written if written is None or not written0 else written - written0 if written > written0 else 0,
        output if output is None or not output0 else output - output0 if output > output0 else 0,
        reasoning if reasoning is None or not reasoning0 else reasoning - reasoning0 if reasoning > reasoning0 else 0,
        None,  # nobody asks for it
    )


def _same(a: Counts, b: Counts) -> bool:
    return a == b or all((x or 0) == (y or 0) for x, y in zip(a, b, strict=True))


class Tokens:
    """The token groups of one rollout: a group is a round, that is one response of the model."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._total: Counts | None = None
        self._last: Counts | None = None
        self._turn = ""
        self._exact: set[int] = set()
        self._responses: set[int] = set()
        self._deltas: list[int] = []
        self._copied: list[str] = []
        """The turn's inherited responses that are told by differences."""
        self._number = 0
        self._round = 0

    def begin_turn(self, turn: str) -> None:
        """A turn began; `turn` is its id, which may be empty."""
        if turn and turn == self._turn:
            return
        self._turn = turn
        self._deltas, self._copied = [], []
        if turn:
            self._number = 0

    def count(self, record: Record, payload: dict[str, Any], model: int, store: int, own: bool) -> bool:
        """Take a `token_count` event. True if it made a group."""
        info = payload.get("info")
        if type(info) is not dict:
            return False
        last = info.get("last_token_usage")
        self._note_context(info.get("model_context_window"), last)
        advance = self._advance(counts_of(info.get("total_token_usage")), last)
        if advance is None:
            return False
        usage = usage_of(advance)
        if not (usage[0] or usage[1] or usage[2] or usage[3] or usage[4]):
            return False
        if self._exact and self._turn and hash(self._turn) in self._exact:
            return False
        if "model" in info and (name := text_of(info["model"])):
            model = self._session.model_index(name)
        if not own:
            if name := self._inherit("", usage, record, model, store):
                self._copied.append(name)
            return False
        self._deltas.append(self._add("", usage, record, model, store))
        return True

    def _note_context(self, window: object, last: object) -> None:
        session = self._session
        if window and window != session.context_window:
            session.context_window = as_count(window) or session.context_window
        if type(last) is dict and (used := as_count(last.get("total_tokens"))):
            session.context_used = used

    def _advance(self, total: Counts | None, last: object) -> Counts | None:
        """What this event adds to the ones before it; None if it repeats them."""
        if total is None:
            # Without a running total only equal neighbours can be told for repeats.
            latest = counts_of(last)
            repeat, self._last = latest is None or latest == self._last, latest
            return None if repeat else latest
        before, self._total = self._total, total
        if before is None:
            return counts_of(last) or total  # the total may go on from a resumed or forked thread
        now, then = total[5] or 0, before[5] or 0
        if now == then and _same(before, total):
            return None
        if now < then:
            return counts_of(last)
        return _difference(total, before)

    def response(self, record: Record, payload: dict[str, Any], model: int, store: int, own: bool) -> str:
        """Take a `token_usage_record`: "counted", "foreign" or "repeated"."""
        counts = counts_of(payload.get("usage"))
        if counts is None or (own and payload.get("thread_id") not in (None, self._session.id)):
            return "foreign"
        response = text_of(payload.get("response_id"))
        if response:
            if hash(response) in self._responses:
                return "repeated"
            self._responses.add(hash(response))
        turn = text_of(payload.get("turn_id")) or self._turn
        if not self._turn:
            self.begin_turn(turn)
        self._exact.add(hash(turn))
        usage = usage_of(counts)
        if not own:
            copied, self._copied = (self._copied, []) if turn == self._turn else ([], self._copied)
            self._inherit_exactly(response, copied, usage, record, model, store)
            return "foreign"
        if turn == self._turn and self._deltas:
            # This turn began to be counted by differences; its last one may be this very response.
            self._take_over(response, usage, record, store)
        else:
            self._add(response, usage, record, model, store)
        return "counted"

    def _take_over(self, response: str, usage: TokenUsage, record: Record, store: int) -> None:
        session, groups = self._session, self._session.groups
        *others, group = self._deltas
        self._deltas = []
        for other in others:
            self._empty(other)
        groups.usage[group] = usage
        groups.ids[group] = clean(response) or groups.ids[group]
        session.spans.extend(groups.span[group], session.spans.add(store, record[0], record[1], record[2], _USAGE))
        self._claim(group)

    def _empty(self, group: int) -> None:
        session, groups = self._session, self._session.groups
        groups.usage[group] = TokenUsage()
        groups.last[group] = NONE
        for index in range(session.exchanges[groups.exchange[group]].start, len(session.messages)):
            if session.messages.group[index] == group:
                session.messages.group[index] = NONE

    def drop_all(self) -> None:
        """Everything counted so far was inherited."""
        session, groups = self._session, self._session.groups
        for group in range(len(groups)):
            last, span, exchange = groups.last[group], groups.span[group], groups.exchange[group]
            time = session.messages.when(last) if last != NONE else None
            name = groups.ids[group]
            if name.startswith(f"{session.id}:"):
                name = self._origin + name[len(session.id) :]
            if groups.usage[group] != TokenUsage() and (UUID.search(name) or ":" not in name):
                model = session.models[groups.model[group]]
                session.inherited[name] = Inherited(name, groups.usage[group], model, time, exchange, span, span)
            groups.usage[group] = TokenUsage()
            groups.last[group] = NONE
        for index in range(len(session.messages)):
            session.messages.group[index] = NONE
        self._deltas = []

    @property
    def _origin(self) -> str:
        """The session that what is inherited is from, by whose id it named its responses."""
        lineage = self._session.lineage
        return lineage.forked_from or lineage.parent or self._session.id

    def _inherit(self, name: str, usage: TokenUsage, record: Record, model: int, store: int) -> str:
        """Keep a copied response's figures, by the name that `_add` gives it in the session it is from: they count here
        only where that one is gone. Returns the name; without a turn's UUID nothing would tell the copy, which has
        another time, from a response of its own, so it is not kept.
        """
        session = self._session
        self._number += 1
        name = clean(name)
        if not name and not UUID.search(name := clean(f"{self._turn or self._origin}:{self._number}")):
            return ""
        if not session.exchanges:
            session.exchanges.append(Exchange(0, 0, None, f"{session.id}:0", inherited=True))
        offset, length, line, value = record
        span = session.spans.add(store, offset, length, line, _USAGE)
        time, exchange = when(value.get("timestamp")), len(session.exchanges) - 1
        session.inherited[name] = Inherited(name, usage, session.models[model], time, exchange, span, span)
        return name

    def _inherit_exactly(
        self, response: str, copied: list[str], usage: TokenUsage, record: Record, model: int, store: int
    ) -> None:
        """A copied response that is told exactly, as `_take_over` has it for one's own."""
        before = [self._session.inherited.pop(name, None) for name in copied]
        self._number -= bool(copied)
        name = self._inherit(response or (copied[-1] if copied else ""), usage, record, model, store)
        if before and before[-1] is not None:
            span, own = before[-1].span, self._session.inherited[name]
            self._session.spans.extend(span, own.span)
            self._session.inherited[name] = own._replace(span=span)

    def _add(self, name: str, usage: TokenUsage, record: Record, model: int, store: int) -> int:
        self._number += 1
        name = name or f"{self._turn or self._session.id}:{self._number}"
        session = self._session
        exchanges = session.exchanges
        if not exchanges:
            exchanges.append(Exchange(0, 0, None, f"{session.id}:0"))
        # What `Session.add_group` does, without its calls.
        exchange = exchanges[-1]
        offset, length, line, _ = record
        span = session.spans.add(store, offset, length, line, _USAGE)
        group = session.groups.append(name, exchange.index, usage, span, model)
        exchange.groups.append(group)
        if model:
            exchange.model = model
        self._claim(group)
        return group

    def _claim(self, group: int) -> None:
        """Join the round's messages, those since the last group, to the group; it ends where the last one stands."""
        session = self._session
        kinds, column = session.messages.kind, session.messages.group
        count, begin = len(kinds), self._round
        self._round = count
        # What was said before the last prompt belongs to a round whose figures never came, unless nothing came since.
        start = session.exchanges[-1].start
        last = -1
        for index in range(start if start > begin else begin, count):
            if _FIRST_OF_ROUND <= kinds[index] <= _LAST_OF_ROUND:
                column[index] = group
                last = index
        if last < 0:
            for index in range(begin, start):
                if _FIRST_OF_ROUND <= kinds[index] <= _LAST_OF_ROUND:
                    column[index] = group
                    last = index
            if last < 0:
                return
        groups = session.groups
        groups.last[group] = last
        exchange, now = session.messages.exchange[last], groups.exchange[group]
        if exchange != now:
            session.exchanges[now].groups.remove(group)
            session.exchanges[exchange].groups.append(group)
            session.exchanges[exchange].model = groups.model[group] or session.exchanges[exchange].model
            groups.exchange[group] = exchange

    def note_window(self, payload: dict[str, Any]) -> None:
        """The context window that `task_started` names."""
        self._note_context(payload.get("model_context_window"), None)

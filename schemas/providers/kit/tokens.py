"""Tokens: each model call counts once, in the exchange in which it ends; running totals give what no call says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from schemas.clean import clean, set_number
from schemas.message import Kind, SpanRole
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.messages import Rows
from schemas.providers.kit.talk import Talk
from schemas.providers.kit.words import Count, Total
from schemas.records import Record
from schemas.session import Inherited
from schemas.table import NONE
from schemas.usage import REST, TokenUsage, total_usage

_USAGE = int(SpanRole.USAGE)
_TEXT, _TOOL = int(Kind.TEXT), int(Kind.TOOL)
_NOTHING = TokenUsage()


class _Rest(NamedTuple):
    """The rest of a running total, and its place."""

    usage: TokenUsage
    record: Record
    store: int
    exchange: int


class Tokens:
    """The token groups of one session."""

    def __init__(self, rows: Rows, talk: Talk, agent: Agent) -> None:
        self._rows, self._talk, self._agent, self.session = rows, talk, agent, rows.session
        self.family: Callable[[], Iterable[Tokens]] = lambda: (self,)
        """These tokens and those of the subagents within the source."""
        self._groups: dict[str, int] = {}
        self._last: tuple[int, TokenUsage] = -1, _NOTHING
        """The group that was counted last, and its figures."""
        self._closed = 0
        """The messages before this one are no longer waiting for a count that closes."""
        self._totals: dict[str, tuple[TokenUsage, TokenUsage]] = {}
        """For each model what was counted by processes that are gone, and the running total said last."""
        self.open: dict[str, _Rest] = {}
        """For each model what is left of a running total that includes subagents in sources of their own."""

    def count(self, record: Record, number: int, count: Count) -> bool | None:
        """Tokens of a model call: said once, or again with other figures."""
        usage, name, told, beside, closes, was = count
        known, rows, session = self._groups, self._rows, self.session
        if usage == _NOTHING and name not in known and not rows.copied:
            return None
        name = name or self._agent.name_of(record[3]) or f"@{record[0]}"
        if rows.copied:
            self._inherit(record, clean(name), usage, rows.model(told or self._talk.model), clean(was))
            return True
        if self._talk.turn:
            self._talk.open_untold(record)
        groups = session.groups
        if was in known:
            known[name] = known.pop(was)
            groups.ids[known[name]] = clean(name)
        group = known.get(name, -1)
        new: Sequence[int] = self._since_last() if closes else range(rows.first, len(session.messages.kind))
        if group < 0:
            model = rows.model(told or self._talk.model)
            group = known[name] = session.add_group(name, usage, record, model=model, store=rows.store)
        else:
            before = self._last[1] if self._last[0] == group else groups.usage[group]
            if before != usage and self._agent.recount == "largest":
                usage = before.largest(usage)
            if before != usage:
                groups.usage[group] = usage
            session.spans.put(groups.span[group], rows.store, record[0], record[1], record[2], _USAGE)
            # Only with something new to read: a mere repeat must not carry the group into a later exchange.
            if (new or rows.touched) and groups.exchange[group] != session.exchanges[-1].index:
                self._move(group, session.exchanges[-1].index)
        self._last = group, usage
        changed, column, last = rows.changed, session.messages.group, groups.last[group]
        changed.add(session.exchanges[groups.exchange[group]].start)
        joined = [row for row in ([*rows.again, *new] if rows.again else new) if column[row] == NONE]
        for row in joined:
            column[row] = group
        if last != NONE:  # which was shown with the figures until now
            joined.append(last)
        if joined:  # the last one is shown with them now
            changed.update(joined)
            groups.last[group] = max(joined)
        if closes and new:
            self._move(group, session.messages.exchange[new[-1]])
        if number >= 0 and not beside:
            set_number(session, "context_used", usage.context)
        return True

    def _since_last(self) -> Sequence[int]:
        """Return the agent's messages since the last count that closed: behind the last prompt, or else before it."""
        kinds, first = self.session.messages.kind, self._closed
        start = max(first, self.session.exchanges[-1].start) if self.session.exchanges else first
        self._closed = len(kinds)
        spoken = [row for row in range(start, len(kinds)) if _TEXT <= kinds[row] <= _TOOL]
        return spoken or [row for row in range(first, start) if _TEXT <= kinds[row] <= _TOOL]

    def _move(self, group: int, exchange: int) -> None:
        """Let a group end in another exchange."""
        session, now = self.session, self.session.groups.exchange[group]
        if now != exchange:
            session.exchanges[now].groups.remove(group)
            self._rows.changed.add(session.exchanges[now].start)
            session.exchanges[exchange].groups.append(group)
            session.exchanges[exchange].model = session.groups.model[group] or session.exchanges[exchange].model
            session.groups.exchange[group] = exchange

    def _inherit(self, record: Record, name: str, usage: TokenUsage, model: int, was: str) -> None:
        """A copied response: its figures are kept, and count for nothing."""
        session = self.session
        span, before = session.add_span(record, SpanRole.USAGE, self._rows.store), session.inherited.get(name)
        if usage == _NOTHING:
            session.inherited.pop(name, None)
            return
        if before is None and (old := session.inherited.pop(was, None)) is not None:
            before = old._replace(group_id=name, usage=_NOTHING)
        if before is None:
            exchange = max(len(session.exchanges) - 1, 0)
            before = Inherited(name, usage, session.models[model], None, exchange, span)
        else:
            session.spans.extend(before.span, span)
        session.inherited[name] = before._replace(usage=before.usage.largest(usage), time=self._rows.time)

    def inherit_groups(self, first: int, source: str) -> None:
        """Let the groups from `first` on be another session's, also by name."""
        session, groups = self.session, self.session.groups
        self._last = -1, _NOTHING
        for group in range(first, len(groups)):
            name, span = groups.ids[group], groups.span[group]
            if name.startswith(f"{session.id}:"):
                name = source + name[len(session.id) :]
            session.inherited[name] = Inherited(
                name, groups.usage[group], session.models[groups.model[group]], None, groups.exchange[group], span
            )
            groups.usage[group] = _NOTHING

    def total(self, record: Record, total: Total, *, elsewhere: bool) -> bool | None:
        """A running total: what no call accounts for yet becomes a group of its own.

        `elsewhere`: it includes subagents in other sources; `close` counts it.
        """
        if (earlier := self.open.pop(total.name, None)) is not None:
            self._give(earlier, total.name, _NOTHING)
        base, last = self._totals.get(total.name, (_NOTHING, _NOTHING))
        if any((now or 0) < (before or 0) for now, before in zip(total.usage[:4], last[:4], strict=True)):
            base += last  # another process went on
        self._totals[total.name] = base, total.usage
        known = total_usage(self._counted(total.name)) or _NOTHING
        spent = TokenUsage(*(n if n is None else n + (b or 0) for n, b in zip(total.usage, base, strict=True)))
        rest = spent.less(known)
        if not any(rest):
            return None
        if elsewhere:
            number = max(len(self.session.exchanges) - 1, 0)
            self.open[total.name] = _Rest(rest, (*record[:3], {}), self._rows.store, number)
            return None
        place: object = record[0]
        if total.of_thread:  # named alike in every run, so that the ledger counts the largest
            place = f"{self.session.id}:{sum(name.startswith(REST) for name in self._groups)}"
        return self.count(record, -1, Count(rest, f"{REST}{place}:{total.name}", total.name))

    def close(self, spent: Sequence[tuple[str, TokenUsage]]) -> None:
        """Count what is left of running totals once it is known what the subagents in other sources took, by model."""
        for name, rest in self.open.items():
            took = total_usage(usage for model, usage in spent if self._agent.same_model(model, name)) or _NOTHING
            self._give(rest, name, rest.usage.less(took))

    def _give(self, rest: _Rest, model: str, usage: TokenUsage) -> None:
        """Let a rest count as much as is known of it now."""
        session, name = self.session, f"{REST}{rest.record[0]}:{model}"
        group = self._groups.get(name, -1)
        if group < 0 and any(usage):
            number = self._rows.model(model)
            group = self._groups[name] = session.add_group(name, usage, rest.record, model=number, store=rest.store)
            self._move(group, rest.exchange)
        if group >= 0:
            session.groups.usage[group] = usage if any(usage) else _NOTHING
            self._rows.changed.add(session.exchanges[rest.exchange].start)

    def _counted(self, name: str) -> Iterator[TokenUsage | None]:
        """Yield the tokens of a model's calls, those of subagents and those that were copied included."""
        for tokens in self.family():
            groups, models = tokens.session.groups, tokens.session.models
            same = {n for n, model in enumerate(models) if self._agent.same_model(model, name)}
            yield groups.usage.total([g for g in tokens._groups.values() if groups.model[g] in same])
        yield from (one.usage for one in self.session.inherited.values() if self._agent.same_model(one.model, name))

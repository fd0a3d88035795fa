"""Token groups: the lines of one response share a `message.id` and repeat its usage (formats note 6)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from schemas.clean import clean
from schemas.message import SpanRole
from schemas.records import Record
from schemas.session import Session
from schemas.usage import TokenUsage, as_count

_USAGE = int(SpanRole.USAGE)


def read_usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Claude's figures do not overlap already; None if there is not one of them. `iterations` is never added."""
    get = usage.get
    written, kept, details = get("cache_creation_input_tokens"), get("cache_creation"), get("output_tokens_details")
    hour = reasoning = None
    written = as_count(written)
    if type(kept) is dict:  # not isinstance with Mapping: that costs more than the rest, and JSON knows dicts only
        hour = as_count(kept.get("ephemeral_1h_input_tokens"))
        if written is None:
            minutes = as_count(kept.get("ephemeral_5m_input_tokens"))
            written = None if hour is None and minutes is None else (hour or 0) + (minutes or 0)
    if type(details) is dict:
        reasoning = as_count(details.get("thinking_tokens"))
    given, said = as_count(get("input_tokens")), as_count(get("output_tokens"))
    read = as_count(get("cache_read_input_tokens"))
    if given is None and said is None and read is None and written is None:
        return None
    return TokenUsage(given, said, read, written, reasoning, hour)


class Groups:
    """The groups of one session while it is read: which line belongs to which, and the blocks seen in each."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.by_id: dict[int, int] = {}
        self.tails = array("I")
        self._last_group = -1
        self._last_usage: object = None
        self._last_figures: TokenUsage | None = None
        """The last group's total, to spare a look into the columns."""
        self.context: TokenUsage | None = None
        """The usage of the call that was read last."""

    def take(self, group_id: str, usage: Mapping[str, Any], record: Record, model: int, *, moves: bool) -> int:
        """Count a line's usage; returns its group, or -1 if it has no figures.

        A group's total is the largest of each figure over its lines and ends at its last line. `moves` is False for a
        line that only repeats blocks: a replay must not carry the group into a later exchange.
        """
        session, identity = self._session, hash(group_id)
        group = self.by_id.get(identity, -1)
        if group < 0:
            figures = read_usage(usage)
            if figures is None:
                return -1
            group = self.by_id[identity] = self._begin(group_id, figures, record, model)
            self._last_figures = self.context = figures
        else:
            if self._last_group != group or self._last_usage != usage:
                self._grow(group, usage)
            # The chain's end is kept, as walking there from its head takes the square of a long group's lines.
            tail = session.spans.add(0, record[0], record[1], record[2], _USAGE)
            session.spans.extend(self.tails[group], tail)
            self.tails[group] = tail
            if moves and session.groups.exchange[group] != session.exchanges[-1].index:
                self._move(group)
        self._last_group, self._last_usage = group, usage
        return group

    def _begin(self, group_id: str, figures: TokenUsage, record: Record, model: int) -> int:
        """What `Session.add_group` does, written out: it runs for every response of the model."""
        session = self._session
        if not session.exchanges:
            group = session.add_group(clean(group_id), figures, record, model=model)
            self.tails.append(session.groups.span[group])
            return group
        exchange, groups = session.exchanges[-1], session.groups
        span = session.spans.add(0, record[0], record[1], record[2], _USAGE)
        # Ids that Claude Code makes need no cleaning, and a look at their letters is the cheapest way to know.
        group = groups.append(
            group_id if group_id.isascii() and group_id.isidentifier() else clean(group_id),
            exchange.index,
            figures,
            span,
            model,
        )
        self.tails.append(span)
        exchange.groups.append(group)
        if model:
            exchange.model = model
        return group

    def _grow(self, group: int, usage: Mapping[str, Any]) -> None:
        """Take the figures of another line into the group's."""
        figures = read_usage(usage)
        if figures is None:
            self._last_figures = None
            return
        known = self._last_figures if self._last_group == group else None
        total = (known if known is not None else self._session.groups.usage[group]).largest(figures)
        if total != known:
            self._session.groups.usage[group] = total
        self._last_figures, self.context = total, figures

    def _move(self, group: int) -> None:
        groups, exchanges = self._session.groups, self._session.exchanges
        exchanges[groups.exchange[group]].groups.remove(group)
        exchanges[-1].groups.append(group)
        groups.exchange[group] = exchanges[-1].index

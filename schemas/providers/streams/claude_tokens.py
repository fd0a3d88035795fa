"""What a run of `claude -p` cost: live figures first, then the final ones in their place (formats note 2.6).

A stream tells the same tokens up to three times: on every line of a response, in each `result`'s `usage` (one turn,
main loop) and in its `modelUsage` (the whole process so far, with subagents, compaction and helper calls that no line
shows). They replace each other and are never added:

- Live: per `message.id` the largest of each figure, subagents' responses included, since the final figure includes
  them too. All groups lie in the session itself; a subagent within a stream carries messages only, so that "with
  subagents" is the session's own total and nothing counts twice.
- At a `result` the session's total is the final figure. Responses keep their figures, and what no line showed becomes
  one group more for each model, the rest of the run, in the exchange that the result ends. Where the lines say more of
  a model than the final figure (another name for it, a process that began anew), theirs are withdrawn and the rest
  group holds the whole.
- Several results: `modelUsage` is a running total, so the newer one counts, unless a counter fell: then another
  process goes on under the same id, and it is added to what was before. Results without `modelUsage` are summed by
  their `usage`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.clean import clean, one_line
from schemas.message import SpanRole
from schemas.providers.claude.groups import read_usage
from schemas.providers.streams.stream import Run
from schemas.records import Record
from schemas.session import Session
from schemas.usage import TokenUsage, as_count, total_usage

_MOST = (1 << 62) - 1
_COUNTERS = ("input", "output", "cache_read", "cache_write")
_WITHIN = {"output": "reasoning", "cache_write": "cache_write_1h"}
"""Figures that are part of a counter, and so go where it goes."""
_VARIANT = re.compile(r"(?:-\d{8})?(?:\[[^\]]*\])?\Z")
_NOTHING = TokenUsage()
SO_FAR, FINAL = "so far", "final"
"""What `metadata["tokens"]` says of the session's total."""


@dataclass(slots=True)
class _Call:
    """One response of the model."""

    group: int
    live: TokenUsage
    """The largest of each figure over its lines, whatever of it still counts."""
    tail: int
    """The last of its records' spans, for walking there from the first takes the square of its lines."""


class Books:
    """The token groups of one run while its stream is read."""

    def __init__(self, run: Run) -> None:
        self._session = run.session
        self._prefix = f"{run.number}/" if run.number else ""
        self._calls: dict[str, _Call] = {}
        self._own: list[int] = []
        self._final = _Final()
        self._rests = 0

    def group_of(self, call_id: str) -> int:
        """The group of a response; -1 if it has none (yet)."""
        call = self._calls.get(call_id)
        return -1 if call is None else call.group

    def live(self, call_id: str) -> TokenUsage:
        """What a response took by its lines so far."""
        call = self._calls.get(call_id)
        return _NOTHING if call is None else call.live

    def take(self, call_id: str, usage: object, record: Record, model: str | None, *, main: bool) -> bool:
        """Count a line's usage towards the response `call_id`; False if it has no figures.

        `main` is False for a subagent's response, which says nothing of the session's own context and model.
        """
        session = self._session
        figures = read_usage(usage) if isinstance(usage, dict) else None
        if figures is None:
            return False
        call = self._calls.get(call_id)
        if call is None:
            number = session.model_index(model)
            group = self._add(self._prefix + call_id, figures, record, number, speaks=main)
            call = self._calls[call_id] = _Call(group, figures, session.groups.span[group])
        else:
            live = call.live.largest(figures)
            session.groups.usage[call.group] = _grown(session.groups.usage[call.group], call.live, live)
            call.live = live
            self._extend(call, record)
        if main:
            session.context_used = call.live.context
        session.metadata["tokens"] = SO_FAR
        return True

    def _extend(self, call: _Call, record: Record) -> None:
        """Another record of a response: it ends in the last exchange."""
        session, groups = self._session, self._session.groups
        span = session.add_span(record, SpanRole.USAGE)
        session.spans.extend(call.tail, span)
        call.tail = span
        old, new = session.exchanges[groups.exchange[call.group]], session.exchanges[-1]
        if old is not new:
            old.groups.remove(call.group)
            new.groups.append(call.group)
            groups.exchange[call.group] = new.index

    def result(self, value: Mapping[str, Any], record: Record) -> None:
        """Let the final figures of a `result` line take the place of the live ones; without any, nothing changes."""
        final, session, usage = self._final, self._session, self._session.groups.usage
        if not final.take(value):
            return
        total = final.total()
        if not any(u.total for u in total.values()) and any(usage[group].total for group in self._own):
            return  # a failure that reports zeros, after calls that said what they took
        models = session.groups.model
        if final.by_model:
            members: dict[str, list[int]] = {_plain(name): [] for name in total}
            for group in self._own:
                members.setdefault(_plain(session.models[models[group]]), []).append(group)
            for plain, groups in members.items():
                names = [name for name in total if _plain(name) == plain]
                said = total_usage(total[name] for name in names) or TokenUsage(0, 0, 0, 0)
                model = models[groups[0]] if groups else session.model_index(names[0])
                self._settle(groups, said, record, model)
        else:
            spoke = {models[group] for group in self._own}
            whole = total_usage(total.values()) or _NOTHING
            self._settle(list(self._own), whole, record, spoke.pop() if len(spoke) == 1 else 0)
        if not self._own:
            self._add(self._rest_id(0), TokenUsage(0, 0, 0, 0), record, 0, speaks=False)
        session.metadata["tokens"] = FINAL
        if (window := _window(value, session)) is not None:
            session.context_window = window

    def _settle(self, groups: list[int], final: TokenUsage, record: Record, model: int) -> None:
        """Make the total of some groups the final one, by a group more or by withdrawing what they say."""
        usage = self._session.groups.usage
        rest: dict[str, int] = {}
        for counter in _COUNTERS:
            said = getattr(final, counter)
            if said is None:
                continue
            counted = sum(getattr(usage[group], counter) or 0 for group in groups)
            if said < counted:
                gone: dict[str, Any] = {name: None for name in (counter, _WITHIN.get(counter)) if name}
                for group in groups:
                    usage[group] = usage[group]._replace(**gone)
                counted = 0
            elif said == 0 and groups and all(getattr(usage[group], counter) is None for group in groups):
                usage[groups[-1]] = usage[groups[-1]]._replace(**{counter: 0})  # no line told it; now it is known
            rest[counter] = said - counted
        if any(rest.values()):
            self._add(self._rest_id(model), TokenUsage(**rest), record, model, speaks=False)

    def _add(self, ident: str, usage: TokenUsage, record: Record, model: int, *, speaks: bool) -> int:
        """A group more. The exchange's model is that of the main agent's responses only (`speaks`)."""
        session = self._session
        spoke = session.exchanges[-1].model if session.exchanges else 0
        group = session.add_group(clean(ident), usage, record, model=model)
        if not speaks:
            session.exchanges[-1].model = spoke
        self._own.append(group)
        return group

    def _rest_id(self, model: int) -> str:
        self._rests += 1
        name = self._session.models[model]
        return one_line(f"{self._prefix}{self._session.id}:rest:{self._rests}:{name}", 400).rstrip(":")


class _Final:
    """The final figures as of the results read so far."""

    def __init__(self) -> None:
        self.by_model = True
        """Whether all figures are told per model."""
        self._before: dict[str, TokenUsage] = {}
        """What processes took that ended before."""
        self._last: dict[str, TokenUsage] = {}
        """The last running total."""
        self._loose: TokenUsage | None = None
        """The sum of results that came without a running total."""

    def take(self, value: Mapping[str, Any]) -> bool:
        """Take a `result` line; False if it has no figures."""
        running = _by_model(value.get("modelUsage"))
        if running:
            if _fell(self._last, running):
                for name, ended in self._last.items():
                    self._before[name] = self._before[name] + ended if name in self._before else ended
            else:
                self._loose = None  # within the running total
            self._last = running
        else:
            said = value.get("usage")
            figures = read_usage(said) if isinstance(said, dict) else None
            if figures is None:
                return False
            self._loose = figures if self._loose is None else self._loose + figures
        self.by_model = self._loose is None
        return True

    def total(self) -> dict[str, TokenUsage]:
        """The figures by the model's name; those of no model under an empty one."""
        total = dict(self._before)
        for name, usage in self._last.items():
            total[name] = total[name] + usage if name in total else usage
        if self._loose is not None:
            total[""] = self._loose
        return {name: _bounded(usage) for name, usage in total.items()}


def _by_model(value: object) -> dict[str, TokenUsage]:
    """The figures of a `modelUsage`, without models of which it says none."""
    if not isinstance(value, dict):
        return {}
    found = {}
    for name, entry in value.items():
        if isinstance(entry, dict):
            usage = TokenUsage(
                as_count(entry.get("inputTokens")),
                as_count(entry.get("outputTokens")),
                as_count(entry.get("cacheReadInputTokens")),
                as_count(entry.get("cacheCreationInputTokens")),
            )
            if usage != _NOTHING:
                found[one_line(name, 100)] = usage
    return found


def _fell(before: Mapping[str, TokenUsage], after: Mapping[str, TokenUsage]) -> bool:
    """Whether a counter is smaller than it was, which no running total becomes."""
    return any(
        (getattr(usage, counter) or 0) > (getattr(after.get(name, _NOTHING), counter) or 0)
        for name, usage in before.items()
        for counter in _COUNTERS
    )


def _grown(counted: TokenUsage, before: TokenUsage, after: TokenUsage) -> TokenUsage:
    """What counts of a response whose figures grew: what did before, and the growth."""
    if counted == before:
        return after
    grown = {
        name: min((kept or 0) + new - (old or 0), _MOST)
        for name, kept, old, new in zip(TokenUsage._fields, counted, before, after, strict=True)
        if new is not None and new != old
    }
    return counted._replace(**grown)


def _window(value: Mapping[str, Any], session: Session) -> int | None:
    """The size of the context of the model that the session's last response came from."""
    entries = value.get("modelUsage")
    if not isinstance(entries, dict) or not session.exchanges:
        return None
    spoke = _plain(session.models[session.exchanges[-1].model])
    sizes = [
        size
        for name, entry in entries.items()
        if isinstance(entry, dict) and (size := as_count(entry.get("contextWindow"))) and _plain(name) == spoke
    ]
    return max(sizes, default=None)


def _plain(name: str) -> str:
    """A model's name without its date and the mark of a longer context: lines and results differ in these."""
    return _VARIANT.sub("", name)


def _bounded(usage: TokenUsage) -> TokenUsage:
    return TokenUsage(*(None if n is None else min(n, _MOST) for n in usage))

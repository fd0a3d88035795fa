"""The origin of figures: the records of each response, and the records that are in no figure, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from renderers.facts import format_cost, format_exact, kinds_line, usage_line
from schemas.clean import one_line
from schemas.costs.responses import (
    Holder,
    Place,
    Response,
    Tally,
    costs_by_kind,
    counted_groups,
    rounded_cost,
    time_of_group,
    time_or_files,
)
from schemas.interchange.rfc3339 import parse_time
from schemas.message import Span
from schemas.paths import path_text
from schemas.providers import provider_of
from schemas.records import FileStore
from schemas.session import Session
from schemas.usage import REST, TokenUsage
from schemas.values import text_of
from viewer.output import say
from viewer.usage.context import addition_lines, context_line
from viewer.usage.sums import Filters, Row, cost_cell

if TYPE_CHECKING:
    from rich.console import Console

    from schemas.costs.prices import Prices

_FIGURES = re.compile(rb'"(?:\w*(?:in|out|total)(?:put)?_?token(?:s|_count)?|total)"\s*:\s*[1-9]', re.IGNORECASE)
"""A counter as every agent names it, one way or another, with something in it."""
_INHERITED = "inherited from another session: it counts there, where that one is read"
_STEP = 1 << 20


class LeftOut(NamedTuple):
    """Something that counts nowhere, or not here, and why."""

    path: str
    what: str
    """A response's id, or what else it is."""
    places: Sequence[Place]
    reason: str

    def to_json(self) -> dict[str, object]:
        """Return it as an answer has it."""
        records = [place.to_json() for place in self.places]
        return {"path": self.path, "what": self.what, "records": records, "reason": self.reason}


class Explanation:
    """The records behind the figures of sessions that are read one after the other, and what is left out of them.

    Several sessions may lie in one file, and a member's file is closed before the next one is read; so `look` takes
    what it needs of each member, and `end_session` says what none of them counted.
    """

    def __init__(self, filters: Filters, *, contexts: bool = False) -> None:
        """With `contexts` it is told for people what filled them."""
        self.left_out: list[LeftOut] = []
        self.contexts: list[tuple[str, list[str]]] = []
        """Of each session its path, and the lines that say what filled its context."""
        self._filters, self._tell_contexts = filters, contexts
        self._files: dict[Holder, str] = {}
        self._grown: dict[int, tuple[TokenUsage, list[Place]]] = {}
        """Responses with fuller copies to come: by their keys the figures found until now, and where."""
        self._begin_session()

    def _begin_session(self) -> None:
        self._source: Path | None = None
        self._responses: list[tuple[int, bool, LeftOut]] = []
        """Copies in the session, and what has no figures (True), each behind its member's number."""
        self._used: set[tuple[str, int]] = set()
        """The lines in which figures of responses stand."""
        self._found: dict[str, list[LeftOut]] = {}
        """The lines with figures, by file. A source without lines holds nothing twice."""
        self._unreadable: list[LeftOut] = []

    def look(self, member: Session, number: int, rows: list[Response], shown_path: str, *, wanted: bool) -> None:
        """Take note of a member while it is open. `shown_path` is its session's, `wanted` whether that is asked for."""
        self._source = self._source or member.path
        beside = member.path != self._source
        self._files[Holder(shown_path, number)] = path_text(member.path) if beside else shown_path
        for row in rows:
            row.records = [_place(member, span) for span in row.spans(member)]
        if wanted and not number and self._tell_contexts:
            lines = [*filter(None, [context_line(member)]), *addition_lines(member)]
            self.contexts.append((shown_path, lines))
        if wanted:
            self._responses += [(number, True, one) for one in self._without_figures(member, shown_path)]
            self._look_at_lines(member, shown_path)

    def end_session(self) -> None:
        """Take in what a session and its subagents have that is in no figure, when they are settled."""
        self.left_out += [one for *_, one in sorted(self._responses, key=lambda one: one[:2])]
        for path, found in self._found.items():
            self.left_out += (one for one in found if (path, one.places[0].line) not in self._used)
        self.left_out += self._unreadable
        self._begin_session()

    def counted(self, row: Response) -> None:
        """A response counts: where its own figures are not all of it, its places grow with those of the copies."""
        if row.own is not None:
            places = list(row.records)
            row.records = places
            self._grown[row.key] = row.own, places

    def copied(self, row: Response, holder: Holder, *, asked: bool) -> None:
        """A response counts elsewhere; its figures may be a part of those that count there."""
        own, found = self._grown.get(row.key, (row.usage, []))
        where = self._files[holder]
        if own.largest(row.usage) == own:
            reason = f"a copy of the one in {where}, where it is counted"
        else:
            reason = f"a fuller copy of the one in {where}, where it is counted with these figures"
            found += row.records
            self._grown[row.key] = own.largest(row.usage), found
        if not asked:
            return
        one = LeftOut(row.session.path, row.group, row.records, reason)
        if row.inherited:
            self.left_out.append(one)
        else:
            self._responses.append((row.member, False, one))

    def _without_figures(self, member: Session, shown_path: str) -> Iterator[LeftOut]:
        """The groups that never became a response that counts."""
        counted = set(counted_groups(member))
        copied = {one.span for one in member.inherited.values()}  # said by themselves
        held = {group for exchange in member.exchanges for group in exchange.groups}
        for group in range(len(member.groups)):
            if member.groups.span[group] in copied or group in counted:
                continue
            if self._filters.fit_time(time_or_files(member, time_of_group(member, group))):
                places = [_place(member, span) for span in member.group_spans(group)]
                reason = "no figures are recorded" if group in held else _INHERITED
                yield LeftOut(shown_path, member.groups.ids[group], places, reason)

    def _look_at_lines(self, member: Session, shown_path: str) -> None:
        from schemas.records import FileStore

        paths = [path_text(store.path) for store in member.stores]
        for group in range(len(member.groups)):
            self._used.update((paths[span.store], span.line) for span in member.group_spans(group))
        for one in member.inherited.values():
            self._used.update((paths[span.store], span.line) for span in member.spans.chain(one.span))
        for path, store in zip(paths, member.stores, strict=True):
            if isinstance(store, FileStore) and path not in self._found:
                self._found[path] = list(self._lines_with_figures(member.provider, path, store, shown_path))
        for bad in member.unreadable:
            own = member.path.parent / bad.file if bad.file else member.path
            place = Place(path_text(own), bad.line, bad.offset, bad.length)
            self._unreadable.append(LeftOut(shown_path, "", (place,), f"unreadable: {bad.reason}"))

    def _lines_with_figures(self, agent: str, path: str, store: FileStore, shown_path: str) -> Iterator[LeftOut]:
        """Each line with figures in it, and why it would not be counted."""
        seen: dict[str, int] = {}
        for offset, length, line, record in _records(store):
            identity = record.get("uuid")
            first = seen.setdefault(identity, line) if isinstance(identity, str) else line
            time = parse_time(record.get("timestamp"))
            if not self._filters.fit_time(time.timestamp() if time else None):
                continue
            if _FIGURES.search(store.read(offset, length)):
                reason = f"the same record as line {first}" if first != line else _reason(agent, record)
                yield LeftOut(shown_path, "", (Place(path, line, offset, length),), reason)


def _place(session: Session, span: Span) -> Place:
    path = path_text(session.stores[span.store].path)
    return Place(path, span.line, span.offset, span.length, session.in_lines(span))


def _records(store: FileStore) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    from schemas.records import JsonLines

    lines, position = JsonLines(), 0
    while data := store.read(position, _STEP):
        position += len(data)
        yield from lines.push(data)
    yield from lines.finish()


def _reason(agent: str, record: dict[str, Any]) -> str:
    """Say why a record's figures are not those of a response."""
    if record.get("forkedFrom"):
        return _INHERITED
    provider = provider_of(agent)
    reasons = provider.uncounted if provider is not None else {}
    return reasons.get(text_of(record.get("type")), "belongs to no response")


def responses_json(responses: list[Response], prices: Prices) -> list[dict[str, object]]:
    """The responses of a sum as an answer has them."""
    return [
        {
            "path": one.session.path,
            "groupId": one.group,
            "model": one.model or None,
            "usage": one.usage.to_json(),
            "costUsd": rounded_cost(one.cost),
            "costByKind": kinds_json([one], prices),
            "records": [place.to_json() for place in one.records],
        }
        for one in responses
    ]


def kinds_json(responses: list[Response], prices: Prices) -> dict[str, float | None]:
    """Costs by the kind of token, as an answer has them; empty where nothing has a price."""
    return {kind: rounded_cost(cost) for kind, cost in costs_by_kind(responses, prices).items()}


# -- for people ------------------------------------------------------------------------------------------------------


def print_explanation(
    screen: Console, rows: list[Row], totals: list[tuple[str, Tally]], explanation: Explanation, prices: Prices
) -> None:
    """Print each figure with its cost by kind and its responses, the dearest first, with their records; the sums; what
    filled the context; then what is in no figure.
    """
    for row in rows:
        label = f"{row.mark}  {row.label}" if row.mark else row.label
        say(screen, (one_line(label, 200), "bold"), f"  {row.tally.tokens:,} tokens, {cost_cell(row.tally)}")
        if money := kinds_line(costs_by_kind(row.responses, prices)):
            say(screen, f"  {money}")
        for line in _response_lines(sorted(row.responses, key=lambda one: (-(one.cost or 0), -(one.usage.total or 0)))):
            say(screen, line)
        screen.print()
    if rows:
        for label, total in totals:
            say(screen, (label, "bold"), f"  {total.tokens:,} tokens, {cost_cell(total)}")
        screen.print()
    for path, lines in explanation.contexts:
        if lines:
            whose = f"  {one_line(path, 300)}" if len(explanation.contexts) > 1 else ""
            say(screen, ("what filled the context", "bold"), whose)
            for line in lines:
                say(screen, f"  {line}")
            screen.print()
    if explanation.left_out:
        say(screen, ("left out", "bold"))
        for one in explanation.left_out:
            what = "  ".join(filter(None, (one_line(one.what, 200), _places_text(one.places))))
            say(screen, f"  {what}: {one_line(one.reason, 300)}")
        screen.print()


def _response_lines(responses: list[Response]) -> Iterator[str]:
    for one in responses:
        cost = "no price" if one.cost is None else format_cost(one.cost)
        hour = f", {format_exact(one.usage.cache_write_1h)} of the cache writes for an hour"
        model = one_line(one.model, 100) or "no model named"
        yield (
            f"  {one_line(one.group, 200)}  {model}  {usage_line(one.usage, format_exact)}"
            f"{hour if one.usage.cache_write_1h else ''}  {cost}"
        )
        if one.records:
            repeated = ": one response, told several times" if len(one.records) > 1 else ""
            if one.group.startswith(REST):
                repeated = ": of its running total what is in no record of a response"
            yield f"    {_places_text(one.records)}{repeated}"


def _places_text(places: Sequence[Place]) -> str:
    """Say where records stand: `lines 3, 5 of x.jsonl (bytes 812+2044, 3100+67)`, each with its offset and length, or
    `record 2 of …` where a source has no lines; in several files where a copy is fuller.
    """
    return ", ".join(_in_file(list(own)) for _, own in groupby(places, key=lambda place: place.path))


def _in_file(places: list[Place]) -> str:
    first, many = places[0], "s" if len(places) > 1 else ""
    numbers = ", ".join(str(place.line) for place in places)
    name = one_line(re.split(r"[/\\]", first.path)[-1], 200)
    if not first.in_lines:
        return f"record{many} {numbers} of {name}"
    return f"line{many} {numbers} of {name} (bytes {', '.join(f'{p.offset}+{p.length}' for p in places)})"

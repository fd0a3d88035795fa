"""The total with subagents, worked out a slice at a time: a session may have hundreds of them, each a file."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from renderers.facts import format_count, plural
from schemas.costs.responses import NOBODY, Response, Tally, each_once, response_key, response_of
from schemas.opening import MAX_DEPTH, OpenError, open_reading
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage, total_usage
from viewer.sessions.freshness import Side, file_state
from viewer.usage.costs import loaded, priced

_SLICE = 256 << 10


class _Known(NamedTuple):
    """The content of a subagent's session; of one in a file of its own while its sources were in that state."""

    state: Set[Side]
    messages: int
    usage: TokenUsage | None
    unmetered: bool
    responses: list[Response]
    subagents: list[Subagent]


class FamilyUsage:
    """Remembers what it read, so that asking again reads only files that grew."""

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._usages: list[TokenUsage | None] = []
        self.cost: Tally | None = None
        """What the subagents cost, as of the last complete run; None where the prices were not loaded then."""
        self.subagents = 0
        """How many of them were found, as of the last complete run."""
        self.unread = 0
        """How many of those that are listed could not be read, so that nobody knows what they used."""
        self.unmetered = False
        """Whether one of those that were found has no figures."""
        self.done: dict[int, str] = {}
        """What each did so far (`14 messages · 22k`), by the key of the message whose tool started it."""

    def run(self, session: Session) -> Iterator[None]:
        """Work it out, giving way after each slice."""
        members: list[list[Response]] = []
        seen: set[Path | int] = {session.path}
        queue = [(subagent, 1) for subagent in session.subagents]
        count = unread = unmetered = 0
        done: dict[int, str] = {}
        while queue:
            subagent, depth = queue.pop()
            inner = subagent.session
            inside = inner is not None and inner.path == session.path
            key = id(inner) if inside else subagent.path or (inner.path if inner else None)
            if key is None:
                unread += not subagent.internal
                continue
            if key in seen or depth > MAX_DEPTH:
                continue
            seen.add(key)
            if inside and inner is not None:
                known: _Known | None = yield from _facts_of(inner)
            else:
                known = yield from self._read(subagent.path or (inner.path if inner else session.path))
            if known is None:
                unread += not subagent.internal
                continue
            members.append(known.responses)
            unmetered += known.unmetered
            if depth == 1 and subagent.tool_use is not None:
                tokens = None if known.usage is None else known.usage.total
                words = [plural(known.messages, "message"), *([] if tokens is None else [format_count(tokens)])]
                done[session.messages.key[subagent.tool_use]] = " · ".join(words)
            count += 1
            queue.extend((child, depth + 1) for child in known.subagents)
            yield
        used = {response.group for responses in members for response in responses}
        copied = [group for group, group_id in enumerate(session.groups.ids) if group_id in used]
        family = [(yield from _responses(session, copied)), *members]
        for number, responses in enumerate(family):
            for response in responses:
                response.member = number
                priced([response])  # they may have been read before the prices were there
                yield
        self._usages, self.cost = _added([response for responses in family for response in responses])
        self.subagents, self.unread, self.unmetered, self.done = count, unread, bool(unmetered), done

    def total(self, session: Session) -> TokenUsage | None:
        """The session's total as it is now with that of its subagents as of the last run: never less than its own."""
        return total_usage([session.usage(), *self._usages])

    def by_message(self, session: Session) -> Mapping[int, str]:
        """`done` by the messages of the session as it is now."""
        if not self.done:
            return {}
        keys, uses = session.messages.key, (subagent.tool_use for subagent in session.subagents)
        return {i: said for i in uses if i is not None and (said := self.done.get(keys[i])) is not None}

    def _read(self, path: Path) -> Generator[None, None, _Known | None]:
        """Read a file unless it is as it was when it was last read. One that cannot be read counts for nothing."""
        try:
            known = self._known.get(path)
            if known is not None and known.state == {file_state(side.path) for side in known.state}:
                return known
            reading = open_reading(path)
            state = {file_state(source) for source in (path, *reading.sources)}
            while not reading.done:
                reading.step(_SLICE)
                yield
            reading.finish()
            reading.refresh()
        except (OSError, OpenError):
            self._known.pop(path, None)
            return None
        self._known[path] = known = yield from _facts_of(reading.session, state)
        reading.session.close()
        return known


def _facts_of(session: Session, state: Set[Side] = frozenset()) -> Generator[None, None, _Known]:
    """Return what a session holds, giving way after each response."""
    responses = yield from _responses(session, range(len(session.groups)))
    return _Known(state, len(session.messages), session.usage(), session.is_unmetered, responses, session.subagents)


def _responses(session: Session, groups: Iterable[int]) -> Generator[None, None, list[Response]]:
    """Return the responses of those groups that have figures, giving way after each."""
    found = []
    for group in groups:
        if session.groups.usage[group].total is not None:
            response = response_of(session, group, NOBODY)
            response.key = response_key(response.provider, session, group)
            found.append(response)
        yield
    return found


def _added(responses: list[Response]) -> tuple[list[TokenUsage | None], Tally | None]:
    """Sum what the subagents add to the session's total, and what that costs: their responses that are no copies, and
    what a copy has more of than the session's own.
    """
    usages: list[TokenUsage | None] = []
    costs = Tally()
    for one in each_once(responses):
        if one.member:
            usages.append(one.usage)
            costs.merge(priced([one]))
        elif one.own is not None:
            pieces = zip(one.usage, one.own, strict=True)
            usages.append(TokenUsage(*(a if a is None else a - (b or 0) for a, b in pieces)))
            before = priced([replace(one, usage=one.own, priced=False)])
            costs.merge(Tally(cost=(priced([one]).cost or 0) - (before.cost or 0)))
    return usages, costs if loaded() else None

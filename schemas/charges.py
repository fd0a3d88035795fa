"""What a session is charged for: its token groups, each with whom, for what and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schemas.prices import Call
from schemas.session import Session
from schemas.table import NONE
from schemas.usage import TokenUsage
from schemas.values import when


class Charge(NamedTuple):
    """A token group as it is counted and priced."""

    group: int
    provider: str
    model: str
    """Empty where the source names none."""
    session_id: str
    time: float | None
    """When the group's last message was written, in seconds since 1970; see `time_of_group`."""
    usage: TokenUsage
    call: Call
    group_id: str
    agent: str | None = None
    """The subagent whose it is."""


def counted_groups(session: Session) -> list[int]:
    """The token groups that count here, in order: a parser takes those that turn out to be inherited from their
    exchanges, and what has no figures could hide a copy that has.
    """
    own = (group for exchange in session.exchanges for group in exchange.groups)
    return sorted(group for group in own if session.groups.usage[group].total is not None)


def time_of_group(session: Session, group: int) -> float | None:
    """When a group ended: with its last message; if that has no time, or there is none (a Codex response that only
    thought), with its last record, or with its exchange, or with the session.
    """
    last = session.groups.last[group]
    time = session.messages.when(last) if last != NONE else None
    if time is None and (spans := session.group_spans(group)):
        time = when(session.record(spans[-1]).get("timestamp"))
    if time is None:
        time = session.exchanges[session.groups.exchange[group]].ended
    return session.updated if time is None else time


def time_or_files(session: Session, time: float | None) -> float | None:
    """A response's time as days and prices go by it: where the session names none (`time_of_group`), that of its file.
    None where that is gone.
    """
    if time is not None:
        return time
    try:
        return session.path.stat().st_mtime
    except OSError:
        return None


def charges(session: Session) -> Iterator[Charge]:
    """The groups that count, in order."""
    return (charge_of(session, group) for group in counted_groups(session))


def charge_of(session: Session, group: int) -> Charge:
    """A token group as it is charged for."""
    usage = session.groups.usage[group]
    charge = Charge(
        group,
        session.provider,
        session.models[session.groups.model[group]],
        session.id,
        time_of_group(session, group),
        usage,
        Call(usage),
        session.groups.ids[group],
        session.lineage.agent_id,
    )
    return _as_the_event_says(session, charge) if session.provider == "events" else charge


def with_usage(charge: Charge, usage: TokenUsage) -> Charge:
    """A charge with other figures: those of a fuller copy of its response."""
    if usage == charge.usage:
        return charge
    call = charge.call
    if call.tool_input or call.tool_output:
        fresh, output = (usage.input or 0) - call.tool_input, (usage.output or 0) - call.tool_output
        return charge._replace(
            usage=usage, call=call._replace(usage=usage._replace(input=max(fresh, 0), output=max(output, 0)))
        )
    return charge._replace(usage=usage, call=Call(usage))


INHERITED = -1
"""Stands for the group of a response that has none in this session, as it was copied from another."""


def inherited_charges(session: Session) -> Iterator[Charge]:
    """The responses that a fork has copies of: they are charged for only where the session they are from is gone."""
    for one in session.inherited.values():
        if one.usage.total is not None:
            time = session.updated if one.time is None else one.time
            names = session.provider, one.model, session.id
            yield Charge(INHERITED, *names, time, one.usage, Call(one.usage), one.group_id, session.lineage.agent_id)


def _as_the_event_says(session: Session, charge: Charge) -> Charge:
    """A file of events is of many sessions and providers, and tells tool tokens apart."""
    from schemas.interchange.events_read import EventError, event_of

    spans = session.group_spans(charge.group)
    if not spans:
        return charge
    try:
        event = event_of(session.record(spans[0]))
    except EventError:
        return charge  # read from another format than a file of events
    return charge._replace(
        provider=event.provider, model=event.model, session_id=event.session_id, call=event.call, agent=event.agent
    )

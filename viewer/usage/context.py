"""The growth of a session's context, from the figures of its calls, and the messages that made it grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from renderers.facts import format_exact, plural
from renderers.headline import headline
from renderers.places import place_of
from schemas.clean import one_line
from schemas.costs.responses import counted_groups
from schemas.session import Session

_SHOWN = 8
"""Additions that are listed."""
_BACK = 100
"""Messages of the exchange before among which its last call is looked for."""


class Addition(NamedTuple):
    """The growth of the context from one call to the next."""

    tokens: int
    messages: list[int]
    """What came between: what the first call said, the results of its tools, prompts; the longest first."""
    group: int
    """The second call, which read them first."""


def additions(session: Session, exchange: int | None = None) -> list[Addition]:
    """The growth before each call whose context is known, of a session or an exchange, the largest first. Before the
    first call that is its whole context: the program's own instructions and tools are in no record.
    """
    table, groups = session.messages, session.groups
    held, start, end = 0, 0, len(table)
    if exchange is None:
        calls = counted_groups(session)
    else:
        calls, messages = sorted(session.exchanges[exchange].groups), session.message_range(exchange)
        start, end = messages.start, messages.stop
        earlier = (max(e.groups) for e in reversed(session.exchanges[:exchange]) if e.groups)
        if (before := next(earlier, None)) is not None:
            held = groups.usage[before].context or 0
            start = next((i for i in range(max(0, start - _BACK), start) if table.group[i] == before), start)
    firsts: dict[int, int] = {}
    for index in range(start, end):
        firsts.setdefault(table.group[index], index)
    found: list[Addition] = []
    for group in calls:
        usage = groups.usage[group]
        if (context := usage.context) is None or group not in firsts:
            continue
        if context > held:
            between = sorted(range(start, firsts[group]), key=lambda i: -table.chars[i])
            found.append(Addition(context - held, between, group))
        held, start = context, firsts[group]
    return sorted(found, key=lambda one: -one.tokens)


def context_line(session: Session) -> str:
    """The context as the source says it: `context: 120,000 of 200,000 tokens`; empty where it does not."""
    if session.context_used is None:
        return ""
    window = f" of {format_exact(session.context_window)}" if session.context_window else ""
    return f"context: {format_exact(session.context_used)}{window} tokens"


def addition_lines(session: Session, exchange: int | None = None) -> Iterator[str]:
    """The largest additions to the context in a session, or in an exchange, a line each."""
    rows = additions(session, exchange)
    for row in rows[:_SHOWN]:
        more = f" and {plural(len(row.messages) - 1, 'more message')}" if len(row.messages) > 1 else ""
        what = _name(session, row.messages[0]) + more if row.messages else "what no message shows"
        what = f"the program's own instructions and tools, {what}" if 0 in row.messages else what
        last = session.groups.last[row.group]
        yield f"+{format_exact(row.tokens)}  before {place_of(session, last)}: {what}"


def _name(session: Session, index: int) -> str:
    """A message in a few words."""
    message = session.message(index)
    if message.tool is not None:
        line = headline(message.tool, session.workspace_root)
        return one_line(f"{line.verb} {line.object}", 80)
    return one_line(f"{message.kind.name.lower()} {message.label or message.text}", 80)

"""The report session by session: their exchanges and responses, and what must be said beside the figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderers.facts import format_exact, plural
from schemas.clean import one_line
from schemas.costs.responses import Response, Tally, each_once, rounded_cost, tally
from schemas.json_output import json_bytes
from schemas.paths import session_json
from schemas.session import Session
from schemas.usage import TokenUsage
from viewer.output import console, say, short_path
from viewer.sessions.ids import ids_on_this_machine
from viewer.sessions.selection import each_session, failed, in_order_made, say_others
from viewer.sessions.targets import Target
from viewer.usage.spending import Spending, Taken, numbered_prompts
from viewer.usage.sums import copies_note, in_full, unpriced_note

if TYPE_CHECKING:
    from schemas.costs.prices import Prices
    from viewer.usage.table import Rows


class Report:
    """The usage of some sessions, read one after the other so that only figures stay in memory."""

    def __init__(self, prices: Prices, *, tables: bool) -> None:
        self.spending = Spending(prices)
        self.sessions: list[tuple[Target, bytes]] = []
        self.tables: list[tuple[Target, Rows, list[str]]] = []
        self._prices, self._make_tables = prices, tables
        self._read: set[str] = set()
        """The ids of sessions that were read."""

    def read(self, targets: list[Target], bar: Callable[[int, int], None], *, strict: bool) -> None:
        """Read the targets; the answers stand in their order. A file that is no session is an error where it was named,
        else it is left out and said.
        """
        ordered, ledger = in_order_made(targets, bar, strict=strict)
        self.spending.ledger = ledger
        for target, session in each_session(ordered, bar, strict=strict):
            try:
                self._add(target, session)
            except Exception as error:  # noqa: BLE001
                failed(target, error, strict=strict)
        inherited = list(self.spending.end())
        if len(self.tables) == 1 and inherited:
            _, rows, notes = self.tables[0]
            label, total = self.spending.foot()[-1]
            rows.total(label, total)
            notes[0] += f", {in_full(total)} {label}"
        places = {target.path: place for place, target in enumerate(targets)}
        self.sessions.sort(key=lambda answer: places[answer[0].path])
        self.tables.sort(key=lambda answer: places[answer[0].path])

    def _add(self, target: Target, session: Session) -> None:
        taken = self.spending.take(target, session)
        self._read.add(session.id)
        say_others(session, target.path)
        rows = [row.price(self._prices) for row in taken.rows]
        own = [row for row in rows if not row.member]
        everything = tally(row.price(self._prices) for row in each_once(rows))
        if self._make_tables:
            table = _session_table(session, own, everything, taken.subagents)
            notes = _notes(session, target, tally(own), everything, taken)
            if (origin := _origin(session)) is not None:
                here = origin in self._read or origin in self._on_this_machine
                notes.insert(1, _inherited_note(session, origin, here=here))
            self.tables.append((target, table, notes))
        else:
            both = everything.usage if taken.subagents else session.usage()
            answer = session_object(target.path, session, both, own)
            answer["costUsd"] = rounded_cost(tally(own).cost)
            answer["costUsdWithSubagents"] = rounded_cost(everything.cost)
            self.sessions.append((target, json_bytes(answer)))

    @cached_property
    def _on_this_machine(self) -> set[str]:
        return ids_on_this_machine()

    def to_json(self) -> bytes:
        """The answer of `usage --json`."""
        totals = self.spending.total.to_json()
        rest = json_bytes({"total": totals["usage"], "costUsd": totals["costUsd"], "unpriced": totals["unpriced"]})
        return b'{"sessions":[' + b",".join(answer for _, answer in self.sessions) + b"]," + rest[1:] + b"\n"

    def print(self) -> None:
        """Print the answer for people."""
        from viewer.usage.table import Rows

        screen = console()
        several = len(self.tables) > 1
        for target, table, notes in self.tables:
            if several:
                say(screen, (short_path(target.path) if target.given != "-" else "-", "bold"))
            table.print(screen)
            screen.print()
            for note in notes:
                say(screen, (note, "dim"))
            if several:
                screen.print()
        if several:
            rows = Rows("")
            for label, total in self.spending.foot():
                rows.total(label, total)
            rows.print(screen)
        for note in copies_note(self.spending.copies):
            say(screen, (note, "dim"))


def session_object(
    address: Path, session: Session, with_subagents: TokenUsage | None, rows: list[Response]
) -> dict[str, Any]:
    """A session of `usage --json`; the shape is that of the design's section 3. `rows` are its own."""

    def figures(usage: TokenUsage | None) -> dict[str, int | None] | None:
        return None if usage is None else usage.to_json()

    exchanges = _by_exchange(session, rows)
    return {
        **session_json(session.provider, session.id, address),
        "usage": figures(session.usage()),
        "usageWithSubagents": figures(with_subagents),
        "exchanges": [
            {
                "exchangeId": e.id,
                # A prompt that was rewound, or copied from elsewhere, is none of this talk; what it cost was spent.
                "prompt": None if e.rewound or e.inherited or e.opener is None else e.prompt,
                **({"rewound": e.prompt} if e.rewound else {"inherited": e.prompt} if e.inherited else {}),
                "usage": figures(total.usage),
                "costUsd": rounded_cost(total.cost),
            }
            for e, total in zip(session.exchanges, exchanges, strict=True)
        ],
        "groups": [
            {
                "groupId": row.group,
                "exchangeId": session.exchanges[row.exchange].id,
                "model": row.model or None,
                "usage": row.usage.to_json(),
                "costUsd": rounded_cost(row.cost),
                "records": [
                    {"line": span.line, "offset": span.offset, "length": span.length}
                    for span in row.spans(session)
                    if session.in_lines(span)
                ],
            }
            for row in rows
        ],
        "unreadable": [
            {"line": bad.line, "reason": bad.reason} | ({"file": bad.file} if bad.file else {})
            for bad in session.unreadable
        ],
        "unknownRecords": dict(session.unknown),
    }


def _by_exchange(session: Session, rows: list[Response]) -> list[Tally]:
    """The sum of each exchange's responses."""
    sums = [Tally() for _ in session.exchanges]
    for row in rows:
        sums[row.exchange].add(row)
    return sums


def _session_table(session: Session, own: list[Response], everything: Tally, subagents: int) -> Rows:
    """A row an exchange; at the foot the session's total, unless its one row says it, and that with its subagents."""
    from viewer.usage.table import Rows

    table, total = Rows("prompt"), tally(own)
    sums = _by_exchange(session, own)
    for exchange, (number, prompt), used in zip(session.exchanges, numbered_prompts(session), sums, strict=True):
        if exchange.groups or exchange.opener is not None:
            table.add(number, prompt, used)
    if subagents or not table.say(total):
        table.total("session", total)
    if subagents:
        table.total(f"with {plural(subagents, 'subagent')}", everything)
    return table


def _notes(session: Session, target: Target, own: Tally, everything: Tally, taken: Taken) -> list[str]:
    """Return what must be said beside the figures."""
    notes = [f"total {in_full(own, ' tokens')}" if own.usage else _no_figures(session)]
    if taken.subagents and everything.usage:
        notes[0] += f", {in_full(everything, '+' * taken.unmetered)} with {plural(taken.subagents, 'subagent')}"
    unread = sum(agent.path is None and agent.session is None and not agent.internal for agent in session.subagents)
    if unread:
        notes.append(f"{plural(unread, 'subagent')} not included: no session of theirs was found")
    notes += unpriced_note(everything.unpriced)
    if session.duplicates:
        notes.append(f"{plural(session.duplicates, 'record')} left out, a copy of one above it")
    for file, bad in session.unreadable_lines().items():
        lines = ", ".join(map(str, bad[:5])) + (", …" if len(bad) > 5 else "")
        path = target.path.parent / file if file else target.path
        name = "standard input" if target.given == "-" else short_path(path)
        notes.append(f"{plural(len(bad), 'unreadable line')} in {name}: {lines}")
    return notes


def _no_figures(session: Session) -> str:
    """Say why a session has no total."""
    if session.own_total:
        return f"a snapshot holds sums and no responses: {session.own_total} in all (turnlog show has its tables)"
    if session.inherited or any(exchange.inherited for exchange in session.exchanges):
        return "no tokens of its own"
    return "the agent wrote no token figures"


def _origin(session: Session) -> str | None:
    """The session that a fork has copies of, empty where nobody says which; None for what is no fork."""
    if not session.inherited and not any(exchange.inherited for exchange in session.exchanges):
        return None
    return session.lineage.forked_from or session.lineage.parent or ""


def _inherited_note(session: Session, origin: str, *, here: bool) -> str:
    """Say what a fork has copies of, and whether the session that it is from is there to count it."""
    known = [one.usage.total for one in session.inherited.values() if one.usage.total]
    tokens = f" ({format_exact(sum(known))} tokens)" if known else ""
    whose = f"session {one_line(origin, 80)}" if origin else "another session"
    counted = "only in the total with inherited" if known else "in no figure of this one"
    where = "counted there" if here else f"which is not here; {counted}"
    return f"{plural(session.inherited_exchanges, 'exchange')}{tokens} inherited from {whose}, {where}"

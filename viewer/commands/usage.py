"""`turnlog usage`: tokens and costs of sessions, exchanges and responses, each figure with the records behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from schemas.json_output import json_bytes
from schemas.paths import address_json
from viewer.counting import Once, each_once
from viewer.output import DONE, NO, console, path_text, progress, warn, write_bytes
from viewer.sessions import chosen, each_session, failed, in_order_made, say_others, see_its_own
from viewer.spending import KINDS, Coster, Filters, Tally, copies_note, cost_text, foot, rounded_cost, unpriced_note

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.charges import Charge
    from schemas.provider import Problem
    from schemas.session import Session
    from schemas.usage import TokenUsage
    from viewer.targets import Target
    from viewer.usagetable import Rows


@click.command("usage")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--by", "kind", type=click.Choice(KINDS), help="Sum by that.")
@click.option("--since", metavar="WHEN", help="Only responses since a day (2026-03-01, today) or an age (12h, 7d, 2w).")
@click.option("--until", metavar="WHEN", help="Only responses up to the end of a day, or of that age and older.")
@click.option("--project", metavar="NAME|DIR", help="Only sessions of that project, or of that directory and below.")
@click.option("--pricing", metavar="BOOK.json", help="Prices that go before those of genai-prices.")
@click.option("--explain", is_flag=True, help="Name the records of each figure, and what was left out and why.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    targets: tuple[str, ...],
    kind: str | None,
    since: str | None,
    until: str | None,
    project: str | None,
    pricing: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Count tokens and what they cost: of the TARGETs, or of every session on this machine.

    A session's own tokens and those with its subagents are told apart; totals of several sessions, the total of --json
    and sums with --by have them in. A response that lies in several places, as subagents, forks and resumed sessions
    copy them, counts once, with the largest figures of its copies, for whoever made it first; if that session is not
    read, for the fork (of Codex only where turns have UUIDs or responses ids: nothing else tells a copy). Days are
    those of this machine's clock; a response without a time counts as of its file's. Costs are what the API would
    charge at that time; a model without a price is named, and is in no sum of costs.
    """
    from schemas.prices import Prices

    book = None
    if pricing is not None:
        from viewer.pricing import load

        book = load(pricing)
    coster = Coster(Prices(book))
    filters = _filters(since, until, project)
    if kind or explain or any(filters) or (not targets and not as_json):
        from viewer.commands.usage_by import print_sums

        by = kind or ("exchange" if targets else "day")
        return print_sums(targets, by, filters, coster, explain=explain, as_json=as_json)
    report = _Report(coster, tables=not as_json)
    with progress("reading sessions") as bar:
        report.read(chosen(targets), bar, strict=bool(targets))
    if as_json:
        write_bytes(report.to_json())
    else:
        report.print()
    return DONE if report.sessions or report.tables else NO


def _filters(since: str | None, until: str | None, project: str | None) -> Filters:
    from viewer.dates import since as beginning
    from viewer.dates import until as end

    return Filters(None if since is None else beginning(since), None if until is None else end(until), project)


class _Report:
    """The usage of some sessions, read one after the other so that only figures stay in memory."""

    def __init__(self, coster: Coster, *, tables: bool) -> None:
        self._coster = coster
        self._make_tables = tables
        self.total = Tally()
        """Of everything that was read, each response once."""
        self.subagents = 0
        """That are in it."""
        self.once = Once()
        self._known: set[str] = set()
        """The ids of sessions that were read, or are on this machine where that was asked."""
        self._looked = False
        self._inherited: list[tuple[int, int, Charge, float | None]] = []
        """What forks have copies of, with its key and cost."""
        self.sessions: list[tuple[Target, bytes]] = []
        self.tables: list[tuple[Target, Rows, list[str]]] = []
        self.totals: list[tuple[str, Tally]] = []
        """At the foot of several tables, by what they are called."""

    def read(self, targets: list[Target], bar: Callable[[int, int], None], *, strict: bool) -> None:
        """Read the targets; the answers stand in their order. A file that is no session is an error where it was named,
        else it is left out and said.
        """
        for target, session in each_session(in_order_made(targets, self.once, bar, strict=strict), bar, strict=strict):
            try:
                self._add(target, session)
            except Exception as error:  # noqa: BLE001
                failed(target, error, strict=strict)
        without = Tally()
        without.merge(self.total)
        for key, name, charge, cost in self._inherited:
            if self.once.takes(key, name):
                self._count(key, charge, cost)
            else:
                self.once.copies += 1
        self._say_foot(without)
        places = {target.path: place for place, target in enumerate(targets)}
        self.sessions.sort(key=lambda answer: places[answer[0].path])
        self.tables.sort(key=lambda answer: places[answer[0].path])

    def _say_foot(self, without: Tally) -> None:
        """In the answer for people, what was inherited and counts. `without` is the total without it."""
        totals = foot(len(self.tables), self.subagents, Tally(), without, self.total)
        if len(self.tables) > 1:
            self.totals = totals
        elif self.tables and self.total.responses > without.responses:
            _, rows, notes = self.tables[0]
            label, total = totals[-1]
            rows.total(label, total.usage, cost_text(total))
            notes[0] += f", {_in_full(total)} {label}"

    def _add(self, target: Target, session: Session) -> None:
        see_its_own(self.once, session)
        self._known.add(session.id)
        lost: list[Problem] = []
        members, partial = self._charges(session, lost)
        costs = {charge.group: cost for _, charge, cost in members[0]}
        own, everything = Tally(), Tally()
        for _, charge, cost in members[0]:
            own.add(charge.usage, cost, charge.model)
        for number, place, usage in each_once([(key, charge.usage) for key, charge, _ in some] for some in members):
            _, charge, cost = members[number][place]
            self._add_full(everything, charge, cost, usage)
        subagents = len(members) - 1
        self.subagents += subagents
        both = everything.usage if subagents else session.usage()
        say_others(session, target.path)
        for problem in lost:
            warn(f"{path_text(problem.path)}: {problem.reason}")
        if not self._make_tables:
            answer = session_object(target.path, session, both, costs)
            answer["costUsd"], answer["costUsdWithSubagents"] = rounded_cost(own.cost), rounded_cost(everything.cost)
            self.sessions.append((target, json_bytes(answer)))
        else:
            rows = _session_table(session, costs, own, everything, subagents)
            notes = _notes(session, target, own, everything, subagents, partial=partial)
            if (origin := _origin(session)) is not None:
                notes.insert(1, _inherited_note(session, origin, here=self._is_known(origin)))
            self.tables.append((target, rows, notes))

    def _charges(
        self, session: Session, lost: list[Problem]
    ) -> tuple[list[list[tuple[int, Charge, float | None]]], bool]:
        """The responses of a session and of its subagents, with key and cost; those that are new are counted. And
        whether one of them has no figures.
        """
        from schemas.charges import charges, time_or_files
        from viewer.summary import members_of, own_name, response_key

        members, partial = [], False
        for member in members_of(session, lost):
            partial = partial or member.is_unmetered
            self.once.begin_member()
            found: list[tuple[int, Charge, float | None]] = []
            for charge in charges(member):
                charge = charge._replace(time=time_or_files(member, charge.time))
                key, cost = response_key(charge.provider, member, charge.group), self._cost(charge)
                found.append((key, charge, cost))
                if self.once.is_new(key, own_name(member, charge.group_id)):
                    self._count(key, charge, cost)
                else:
                    self.once.copies += 1
            members.append(found)
            self._take_inherited(member)
        return members, partial

    def _is_known(self, session_id: str) -> bool:
        """Whether a session is among those that are read, or on this machine."""
        from viewer.ids import ids_of
        from viewer.targets import Targets

        if session_id not in self._known and not self._looked:
            machine = Targets()
            self._known |= ids_of(machine.found.files, machine.library)
            self._looked = True
        return session_id in self._known

    def _take_inherited(self, member: Session) -> None:
        from schemas.charges import inherited_charges, time_or_files
        from viewer.summary import inherited_key, inherited_name

        for charge in inherited_charges(member):
            timed = charge._replace(time=time_or_files(member, charge.time))
            key, name = inherited_key(member, charge), inherited_name(member, charge.group_id)
            self._inherited.append((key, name, timed, self._cost(timed)))

    def _count(self, key: int, charge: Charge, cost: float | None) -> None:
        """Add a response to the total, with the figures of its fullest copy."""
        self._add_full(self.total, charge, cost, self.once.fullest(key, charge.usage))

    def _add_full(self, tally: Tally, charge: Charge, cost: float | None, usage: TokenUsage) -> None:
        """Add a response with the figures of its fullest copy; `cost` is that of its own."""
        from schemas.charges import with_usage

        full = with_usage(charge, usage)
        tally.add(full.usage, cost if full is charge else self._cost(full), full.model)

    def _cost(self, charge: Charge) -> float | None:
        return self._coster.cost(charge.provider, charge.model, charge.call, charge.time)

    def to_json(self) -> bytes:
        """The answer of `usage --json`."""
        totals = self.total.to_json()
        rest = json_bytes({"total": totals["usage"], "costUsd": totals["costUsd"], "unpriced": totals["unpriced"]})
        return b'{"sessions":[' + b",".join(answer for _, answer in self.sessions) + b"]," + rest[1:] + b"\n"

    def print(self) -> None:
        """The answer for people."""
        from rich.text import Text

        from viewer.output import short_path
        from viewer.usagetable import Rows

        screen = console()
        for target, session_table, notes in self.tables:
            if len(self.tables) > 1:
                screen.print(Text(short_path(target.path) if target.given != "-" else "-", "bold"), soft_wrap=True)
            session_table.print(screen)
            screen.print()
            for note in notes:
                screen.print(Text(note, "dim"), soft_wrap=True)
            if len(self.tables) > 1:
                screen.print()
        if len(self.tables) > 1:
            rows = Rows("")
            for label, total in self.totals:
                rows.total(label, total.usage, cost_text(total))
            rows.print(screen)
        if self.once.copies:
            screen.print(Text(copies_note(self.once.copies), "dim"), soft_wrap=True)


def session_object(
    address: Path, session: Session, with_subagents: TokenUsage | None, costs: dict[int, float | None]
) -> dict[str, Any]:
    """A session of `usage --json`; the shape is that of the design's section 3. `costs` are those of its groups."""
    from schemas.charges import counted_groups

    def figures(usage: TokenUsage | None) -> dict[str, int | None] | None:
        return None if usage is None else usage.to_json()

    groups = session.groups
    return {
        "provider": session.provider,
        "id": session.id,
        **address_json(address),
        "usage": figures(session.usage()),
        "usageWithSubagents": figures(with_subagents),
        "exchanges": [
            {
                "exchangeId": e.id,
                # A prompt that was rewound, or copied from elsewhere, is none of this talk; what it cost was spent.
                "prompt": None if e.rewound or e.inherited or e.opener is None else e.prompt,
                **({"rewound": e.prompt} if e.rewound else {"inherited": e.prompt} if e.inherited else {}),
                "usage": figures(session.exchange_usage(e.index)),
                "costUsd": rounded_cost(_sum_costs(e.groups, costs)),
            }
            for e in session.exchanges
        ],
        "groups": [
            {
                "groupId": groups.ids[index],
                "exchangeId": session.exchanges[groups.exchange[index]].id,
                "model": session.models[groups.model[index]] or None,
                "usage": groups.usage[index].to_json(),
                "costUsd": rounded_cost(costs.get(index)),
                "records": [
                    {"line": span.line, "offset": span.offset, "length": span.length}
                    for span in filter(session.in_lines, session.group_spans(index))
                ],
            }
            for index in counted_groups(session)
        ],
        "unreadable": [
            {"line": bad.line, "reason": bad.reason} | ({"file": bad.file} if bad.file else {})
            for bad in session.unreadable
        ],
        "unknownRecords": dict(session.unknown),
    }


def _sum_costs(groups: list[int], costs: dict[int, float | None]) -> float | None:
    known = [cost for group in groups if (cost := costs.get(group)) is not None]
    return sum(known) if known else None


def _in_full(tally: Tally, unit: str = "") -> str:
    """A sum's tokens, every one of them, and its cost where there is one: `1,234 tokens ($0.08)`."""
    from renderers.facts import format_exact

    cost = cost_text(tally)
    return f"{format_exact(tally.tokens)}{unit}{'' if cost == '-' else f' ({cost})'}"


def _session_table(
    session: Session, costs: dict[int, float | None], own: Tally, everything: Tally, subagents: int
) -> Rows:
    """A row an exchange; at the foot the session's total, unless its one row says it, and that with its subagents."""
    from renderers.facts import exchange_numbers, plural
    from viewer.usagetable import Rows

    rows = Rows("prompt")
    for exchange, number in zip(session.exchanges, exchange_numbers(session), strict=True):
        if not exchange.groups and exchange.opener is None:
            continue
        prompt = exchange.prompt or ("(before the first prompt)" if exchange.opener is None else "(empty prompt)")
        if exchange.rewound or exchange.inherited:
            prompt = f"({'rewound' if exchange.rewound else 'inherited'}) {prompt}"
        tally = Tally()
        for group in exchange.groups:
            if group in costs:
                tally.add(session.groups.usage[group], costs[group], session.models[session.groups.model[group]])
        rows.add(str(number or ""), prompt, session.exchange_usage(exchange.index), cost_text(tally))
    usage = session.usage()
    if subagents or not rows.say(usage):
        rows.total("session", usage, cost_text(own))
    if subagents:
        rows.total(f"with {plural(subagents, 'subagent')}", everything.usage, cost_text(everything))
    return rows


def _notes(
    session: Session, target: Target, own: Tally, everything: Tally, subagents: int, *, partial: bool
) -> list[str]:
    """What must be said beside the figures."""
    from renderers.facts import plural
    from viewer.output import short_path

    notes = [f"total {_in_full(own, ' tokens')}" if own.usage else _no_figures(session)]
    if subagents and everything.usage:
        notes[0] += f", {_in_full(everything, '+' * partial)} with {plural(subagents, 'subagent')}"
    unread = sum(agent.path is None and agent.session is None and not agent.internal for agent in session.subagents)
    if unread:
        notes.append(f"{plural(unread, 'subagent')} not included: no session of theirs was found")
    notes += unpriced_note(everything)
    if session.duplicates:
        notes.append(f"{plural(session.duplicates, 'record')} left out, a copy of one above it")
    for file, bad in session.unreadable_lines().items():
        lines = ", ".join(map(str, bad[:5])) + (", …" if len(bad) > 5 else "")
        path = target.path.parent / file if file else target.path
        name = "standard input" if target.given == "-" else short_path(path)
        notes.append(f"{plural(len(bad), 'unreadable line')} in {name}: {lines}")
    return notes


def _no_figures(session: Session) -> str:
    """Why a session has no total."""
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
    """What a fork has copies of, and whether the session that it is from is there to count it."""
    from renderers.facts import format_exact, plural
    from schemas.clean import one_line

    exchanges = sum(exchange.inherited for exchange in session.exchanges)
    known = [one.usage.total for one in session.inherited.values() if one.usage.total]
    tokens = f" ({format_exact(sum(known))} tokens)" if known else ""
    whose = f"session {one_line(origin, 80)}" if origin else "another session"
    counted = "only in the total with inherited" if known else "in no figure of this one"
    where = "counted there" if here else f"which is not here; {counted}"
    return f"{plural(exchanges, 'exchange')}{tokens} inherited from {whose}, {where}"

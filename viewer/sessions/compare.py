"""Two sessions beside each other: what was asked, done, spent and changed in each, of forks from where they part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from renderers.facts import format_count, format_seconds, iso_time, local_time, plural, short_model
from renderers.places import exchange_names
from schemas.clean import one_line
from schemas.costs.prices import Prices
from schemas.costs.responses import Response, Tally, each_once, family, tally
from schemas.message import Flag, Kind
from schemas.opening import read_session
from schemas.paths import session_json
from schemas.provider import Problem
from schemas.session import Session
from viewer.edits.session import changes_of
from viewer.sessions.selection import begun_in, exchanges_at, is_begun
from viewer.sessions.targets import Target
from viewer.usage.sums import cost_cell

_TOOLS = ("read", "search", "write", "shell", "task", "other")
_FILES = 20
"""Files that are named."""


@dataclass(slots=True)
class Side:
    """The figures of one of both sessions, from the exchange where they part, or at a place."""

    session: Session
    counted: range
    """The indices of the exchanges that count."""
    place: str = ""
    """The place that was asked for: `#3-5`; empty where that is all from the first that counts."""
    prompts: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    files: dict[str, Counter[str]] = field(default_factory=dict)
    """The lines that came and went in the end, as `turnlog diff` has them, by the file's path in the workspace."""
    subagents: int = 0
    own: Tally = field(default_factory=Tally)
    everything: Tally = field(default_factory=Tally)
    """With subagents."""
    answer: str = ""
    """The last thing that the agent said."""

    @property
    def exchanges(self) -> int:
        """The number of exchanges that a person opened here."""
        return sum(exchange.index in self.counted for exchange in self.session.live_exchanges)

    @property
    def seconds(self) -> float | None:
        """The time in which the agent worked; None where the source tells no times."""
        exchanges = [self.session.exchanges[index] for index in self.counted]
        known = [e.duration for e in exchanges if e.duration is not None and not e.inherited]
        return sum(known) if known else None

    @property
    def begins(self) -> str:
        """The place from which it is counted: `#4`, or `its end`; empty where that is its beginning."""
        names, start = exchange_names(self.session), self.counted.start
        return "" if not start else f"#{names[start]}" if start < len(names) else "its end"

    @property
    def begun(self) -> float | None:
        """The time from which it is counted."""
        exchanges = self.session.exchanges[self.counted.start :]
        return next((e.started for e in exchanges if e.started is not None), self.session.created)

    def to_json(self) -> dict[str, Any]:
        """The side as an answer has it."""
        session, own = self.session, self.own.to_json()
        return {
            **session_json(session.provider, session.id, session.path),
            "title": session.title,
            "models": [model for model in session.models if model],
            "begunAt": None if self.begun is None else iso_time(self.begun),
            "from": self.begins or None,
            "place": self.place or None,
            "prompts": self.prompts,
            "exchanges": self.exchanges,
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "subagents": self.subagents,
            "tools": dict(self.tools),
            "failures": self.failures,
            "usage": own["usage"],
            "costUsd": own["costUsd"],
            "withSubagents": self.everything.to_json(),
            "files": [{"path": path, "added": n["+"], "removed": n["-"]} for path, n in self.files.items()],
            "lastAnswer": self.answer,
        }


@dataclass(slots=True)
class Comparison:
    """Both sessions, and how many exchanges they have in common."""

    sides: tuple[Side, Side]
    shared: int
    failed: list[Problem]
    """Subagents that could not be read."""

    def to_json(self) -> dict[str, Any]:
        """The answer of `compare --json`."""
        return {"sessions": [side.to_json() for side in self.sides], "sharedExchanges": self.shared}

    def rows(self) -> list[tuple[str, str, str]]:
        """A table for people: what, and of each session how much; sums that are 0 in both are left out."""
        sides, rows = self.sides, list[tuple[str, str, str]]()

        def row(label: str, cells: Iterable[object]) -> None:
            one, other = (one_line(str(cell), 300) for cell in cells)
            if (one, other) not in (("0", "0"), ("", "")):
                rows.append((label, one, other))

        row("title", (side.session.title or "(untitled)" for side in sides))
        row("agent", (side.session.provider_name for side in sides))
        row("models", (", ".join(filter(None, map(short_model, side.session.models))) or "unknown" for side in sides))
        row("counted", (f"only {side.place}" if side.place else "" for side in sides))
        begins = ("" if s.place else s.begins or ("the beginning" if self.shared else "") for s in sides)
        row("counted from", begins)
        row("begun", ("?" if side.begun is None else local_time(side.begun, date=True) for side in sides))
        row("worked", (format_seconds(side.seconds) for side in sides))
        row("exchanges", (side.exchanges for side in sides))
        row("prompts", (side.prompts for side in sides))
        row("subagents", (side.subagents for side in sides))
        row("tool uses", (side.tools.total() for side in sides))
        for name in _TOOLS:
            row(f"  {name}", [side.tools[name] for side in sides])
        row("failures", (side.failures for side in sides))
        row("tokens", (format_count(side.own.usage.total if side.own.usage else None) for side in sides))
        row("cost", (cost_cell(side.own) for side in sides))
        if any(side.subagents for side in sides):
            row("with subagents", (f"{format_count(s.everything.tokens)} {cost_cell(s.everything)}" for s in sides))
        changed = (f"{len(side.files)} ({_lines(side.files.values())})" if side.files else 0 for side in sides)
        row("files changed", changed)
        paths = list(dict.fromkeys(path for side in sides for path in side.files))
        for path in paths[:_FILES]:
            row(f"  {path}", [_lines([side.files[path]]) if path in side.files else "-" for side in sides])
        if len(paths) > _FILES:
            rows.append((f"  {plural(len(paths) - _FILES, 'more file')}", "", ""))
        return rows


def _lines(files: Collection[Counter[str]]) -> str:
    """The lines that came and went in some files: `+12 -3`."""
    added, removed = (sum(count[sign] for count in files) for sign in "+-")
    return f"+{added} -{removed}"


def compare(one: Session, other: Session, prices: Prices, places: tuple[str, str] = ("", "")) -> Comparison:
    """Compare two sessions that are open, or what is at places in them. Raises CallError for a place that is none."""
    shared, failed = 0 if any(places) else _shared(one, other), list[Problem]()
    first, second = (
        _side(session, shared, place, prices, failed) for session, place in zip((one, other), places, strict=True)
    )
    return Comparison((first, second), shared, failed)


def _shared(one: Session, other: Session) -> int:
    """Return the number of exchanges at the beginning that a fork has from the other session, or both from one."""
    kin = [{s.id, s.lineage.forked_from, s.lineage.continues} - {None} for s in (one, other)]
    if kin[0].isdisjoint(kin[1]):
        return 0
    count = 0
    for a, b in zip(one.exchanges, other.exchanges, strict=False):
        if not (a.inherited or b.inherited) or (a.opener, a.prompt) != (b.opener, b.prompt):
            break
        count += 1
    return count


def _side(session: Session, start: int, place: str, prices: Prices, failed: list[Problem]) -> Side:
    exchanges = session.exchanges
    if (part := exchanges_at(session, place)) is not None:
        counted, messages = part.exchanges, part.messages(session)
        since, begun = None, begun_in(session.subagents, messages)
    else:
        while start < len(exchanges) and exchanges[start].inherited:
            start += 1
        counted, begun = range(start, len(exchanges)), set[Path | int]()
        since = exchanges[start].started if counted else None
        messages = range(exchanges[start].start if counted else len(session.messages), len(session.messages))
    side = Side(session, counted, place)
    for file in changes_of(session, messages).files:
        if file.stages or file.commands:
            counts = {"+": sum(diff.added for diff in file.diffs), "-": sum(diff.removed for diff in file.diffs)}
            side.files[file.path] = Counter(counts)
    rows: list[Response] = []
    for member, found in family(session, failed):
        if member is session:
            rows += (row for row in found if row.exchange in counted and not row.inherited)
            _count(side, member, messages)
            continue
        if part is not None:
            if not is_begun(member, begun):
                continue
        elif start and (since is None or (member.created or since) < since):
            continue  # it was called before they parted
        side.subagents += 1
        rows += (row for row in found if not row.inherited)
        _count(side, member, range(len(member.messages)))
    for row in rows:
        row.price(prices)
    side.own = tally(row for row in rows if not row.member)
    side.everything = tally(each_once(rows))
    return side


def _count(side: Side, member: Session, messages: range) -> None:
    """Count some messages of the session or of a subagent."""
    table, main = member.messages, member is side.session
    for index in messages:
        flags, kind = table.flags[index], table.kind[index]
        if flags & Flag.INHERITED:
            continue
        side.failures += kind in (Kind.TOOL, Kind.ERROR) and bool(flags & Flag.ERROR or kind == Kind.ERROR)
        if main and kind in (Kind.PROMPT, Kind.STEER) and not flags & Flag.REWOUND:
            side.prompts += 1
        if kind == Kind.TOOL and (tool := member.message(index).tool) is not None:
            side.tools[tool.type if tool.type in _TOOLS else "other"] += 1
    if main:
        side.answer = member.last_text(messages=messages)


def compare_files(one: Target, other: Target, prices: Prices, progress: Callable[[int, int], None]) -> Comparison:
    """Read and compare two sessions, or what is at places in them. Raises OpenError, and CallError for no place."""
    with closing(read_session(one.path, progress)) as first, closing(read_session(other.path, progress)) as second:
        return compare(first, second, prices, (one.place, other.place))

"""Sums of responses by what people ask for: the responses that are asked for, the rows and what is said with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from renderers.facts import cost_fact, format_exact, plural, project_name, some
from schemas.clean import one_line
from schemas.costs.responses import NO_MODEL, Response, Tally
from viewer.output import short_path

KINDS = ("session", "exchange", "group", "day", "model", "agent", "project")
"""By what sums are made."""
SUBAGENTS = ("subagents", "(subagents)")
"""The exchange that subagents' responses are summed under."""


class Filters(NamedTuple):
    """The filters of a question; None: everything."""

    since: float | None = None
    until: float | None = None
    """Seconds since 1970; `until` is not in it any more."""
    project: str | None = None
    """A project's name, or a directory: the projects in it."""
    agent: str | None = None

    def fit(self, response: Response) -> bool:
        """Tell whether a response is asked for."""
        return self.fit_time(response.time) and self.fit_session(response.session.provider, response.session.project)

    def fit_session(self, agent: str, root: str | None) -> bool:
        """Tell whether an agent's sessions of a workspace are asked for."""
        return self.agent in (None, agent) and self.fit_project(root)

    def fit_project(self, root: str | None) -> bool:
        """Tell whether sessions of a workspace are asked for."""
        return self.project is None or _is_in_project(self.project, root)

    def fit_time(self, time: float | None) -> bool:
        """Tell whether a time is asked for; an unknown one is not where any is."""
        if self.since is None and self.until is None:
            return True
        if time is None:
            return False
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)


EVERYTHING = Filters()


@lru_cache(4096)
def _is_in_project(project: str, root: str | None) -> bool:
    from viewer.index.library import in_directory
    from viewer.sessions.targets import given_path

    return project_name(root).casefold() == project.casefold() or in_directory(root, given_path(project).absolute())


@dataclass(slots=True)
class Row:
    """A sum and what it is of."""

    key: str
    label: str
    mark: str = ""
    """What tells it from others of that label: a session's id."""
    tally: Tally = field(default_factory=Tally)
    responses: list[Response] = field(default_factory=list)
    """Kept where they are to be explained."""
    weight: float = 0
    """How great it is beside the others: by its cost where rows stand by that, else by its tokens."""


def rows_by(kind: str, responses: Iterable[Response], *, keep: bool = False) -> tuple[list[Row], Tally]:
    """Sums by one of KINDS and the sum of all. Days, and what follows from a file's order, stand in that order; the
    rest by cost, the dearest first, and where there is none by tokens (`weight`).
    """
    rows: dict[str, Row] = {}
    for one in responses:
        key, label = _name(kind, one)
        row = rows.get(key)
        if row is None:
            row = rows[key] = Row(key, label, one.session.id if kind in ("session", "exchange", "group") else "")
        row.tally.add(one)
        if keep:
            row.responses.append(one)
    found = list(rows.values())
    total = Tally()
    for row in found:
        total.merge(row.tally)
        row.weight = row.tally.tokens
    if kind == "day":
        found.sort(key=lambda row: row.key)
    elif kind not in ("exchange", "group"):
        found.sort(key=lambda row: (-(row.tally.cost or 0), -row.tally.tokens, row.key))
        if total.cost:
            for row in found:
                row.weight = row.tally.cost or 0
    if kind != "session" and len({row.mark for row in found}) == 1:
        for row in found:
            row.mark = ""  # all of one session, which need not be named
    return found, total


def _name(kind: str, one: Response) -> tuple[str, str]:
    """Return what a response is summed under, and what that is called."""
    session = one.session
    if kind == "session":
        return f"{session.path}\0{session.id}", session.title or session.id
    if kind == "day":
        day = "unknown" if one.time is None else _day_of_quarter(int(one.time // _QUARTER))
        return day, day
    if kind == "model":
        return one.model or NO_MODEL, one.model or NO_MODEL
    if kind == "agent":
        return one.provider, one.provider
    if kind == "project":
        return session.project or "", short_path(session.project) if session.project else "(no project)"
    exchange, heading = SUBAGENTS if one.member else session.exchanges[one.exchange]
    if kind == "exchange":
        return f"{session.path}\0{exchange}", heading
    return f"{session.path}\0{exchange}\0{one.group}", one.group


_QUARTER = 900
"""Seconds. Wherever a day begins, and a clock is changed, a quarter of an hour begins."""


@lru_cache(4096)
def _day_of_quarter(quarter: int) -> str:
    """The day on this machine's clock."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(quarter * _QUARTER).astimezone().strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "unknown"


# -- in words --------------------------------------------------------------------------------------------------------


def cost_cell(tally: Tally) -> str:
    """A sum's cost in a table: `$1.25`, with a plus where something in it has no price, `-` where nothing has one."""
    return cost_fact(tally) or "-"


def in_full(tally: Tally, unit: str = "") -> str:
    """A sum's tokens, every one of them, and its cost where there is one: `1,234 tokens ($0.08)`."""
    cost = cost_fact(tally)
    return f"{format_exact(tally.tokens)}{unit}{f' ({cost})' if cost else ''}"


def unpriced_note(models: Iterable[str]) -> list[str]:
    """Name the models that have no price, in one line; none where all have."""
    names = [one_line(name, 60) for name in sorted(models)]
    return [f"no price for {some(names, 6)}: not in the cost"] if names else []


def copies_note(count: int) -> list[str]:
    """Say how many responses were left out as copies, in one line; none where there are none."""
    copies = "a copy: counted where it was made" if count == 1 else "copies: counted where they were made"
    return [f"{plural(count, 'response')} left out as {copies}"] if count else []

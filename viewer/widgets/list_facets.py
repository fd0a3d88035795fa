"""The facets of the list of sessions: what it is narrowed by beside words, and what there is to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from renderers.facts import project_name
from schemas.figures import format_cost
from schemas.values import dict_of
from viewer.widgets.sessions import CostOf, Days

if TYPE_CHECKING:
    from viewer.index.summary import Summary

Value = str | int | float | bool
_DATES = {"today": "today", "yesterday": "yesterday", "7d": "last 7 days", "30d": "last 30 days"}
"""The days from which on, as a search is told them, and the heading under which they begin."""
_COSTS = (0.1, 1.0, 10.0)
_project = lru_cache(4096)(project_name)


class Facets(NamedTuple):
    """The values that a list is narrowed by; a facet with its empty value narrows nothing."""

    agent: str = ""
    project: str = ""
    """Its name."""
    since: str = ""
    """A key of `_DATES`."""
    live: bool = False
    """Only what is being written."""
    failed: bool = False
    """Only sessions whose last exchange ended in an error or was interrupted."""
    cost: float = 0.0
    """US dollars, at least."""

    @classmethod
    def from_json(cls, kept: object) -> Facets:
        """Facets as `_asdict` gave them; what is none is left out."""
        empty = cls()._asdict()
        return cls(**{k: v for k, v in dict_of(kept).items() if k in empty and type(v) is type(empty[k])})

    def toggled(self, facet: str, value: Value) -> Facets:
        """Narrowed by a value; no more if it was."""
        changes: dict[str, Any] = {facet: Facets._field_defaults[facet] if getattr(self, facet) == value else value}
        return self._replace(**changes)

    def only(self, facets: Iterable[str]) -> Facets:
        """Some of them, the others empty."""
        return Facets()._replace(**{facet: getattr(self, facet) for facet in facets})

    def query(self) -> str:
        """The same in the language of searches (viewer/index/query.py), as far as that knows them."""
        values = (("agent", self.agent), ("project", self.project), ("since", self.since))
        return " ".join(f'{facet}:"{value}"' for facet, value in values if value)

    def labels(self) -> list[tuple[str, str, bool]]:
        """Facet, words and whether it narrows: agent and date always, the others where they do."""
        facets = self._asdict().items()
        pieces = [(f, label(f, value), bool(value)) for f, value in facets if value or f in ("agent", "since")]
        return [(f, f"in {words}" if f == "project" else words, narrows) for f, words, narrows in pieces]


def label(facet: str, value: Value) -> str:
    """A facet's value in words."""
    if facet == "since":
        return "since yesterday" if value == "yesterday" else _DATES.get(str(value), "any time")
    if facet == "cost":
        return f"{format_cost(float(value))} and more"
    if facet == "agent":
        return str(value or "agent all")
    return facet if value is True else str(value)


class Choice(NamedTuple):
    """Something to narrow a list by, or an order for it."""

    facet: str
    value: Value
    label: str
    sessions: int | None = None
    """How many sessions it would leave, where the other facets are as they are."""


def _values(now: float, cost_of: CostOf) -> dict[str, Callable[[Summary], Collection[Value]]]:
    """Return by facet what a session has of it: it passes where the wanted value is among these."""
    days = Days(now)
    starts = {key: days.start(name) for key, name in _DATES.items()}

    def costs(summary: Summary) -> list[Value]:
        tally = cost_of(summary)
        cost = 0.0 if tally is None or tally.cost is None else tally.cost
        return [least for least in _COSTS if cost >= least]

    return {
        "agent": lambda s: (s.provider,),
        "project": lambda s: (_project(s.workspace_root),),
        "since": lambda s: [key for key, start in starts.items() if s.when >= start],
        "live": lambda s: (s.live,),
        "failed": lambda s: (bool(s.failure) and not s.live,),
        "cost": costs,
    }


def passing(facets: Facets, now: float, cost_of: CostOf) -> dict[str, Callable[[Summary], bool]]:
    """Return for each facet that narrows a test that tells whether a session passes it."""
    values = _values(now, cost_of)
    return {
        facet: lambda s, wanted=wanted, has=values[facet]: wanted in has(s)  # type: ignore[misc]
        for facet, wanted in facets._asdict().items()
        if wanted
    }


def choices(
    sessions: Iterable[Summary], facets: Facets, now: float, cost_of: CostOf, only: Collection[str] = Facets._fields
) -> list[Choice]:
    """The values that sessions have, facet by facet, with the numbers of sessions that each would leave."""
    values, wanted = _values(now, cost_of), passing(facets, now, cost_of)
    fitting = list(sessions)
    others: dict[str, list[Summary]] = {facet: [] for facet in only}
    """Of each facet the sessions that miss it, and no other."""
    if wanted:
        tried = [(s, [facet for facet, test in wanted.items() if not test(s)]) for s in fitting]
        fitting = [session for session, missed in tried if not missed]
        for session, missed in tried:
            if len(missed) == 1 and missed[0] in others:
                others[missed[0]].append(session)
    counts = {facet: Counter(chain.from_iterable(map(values[facet], [*fitting, *others[facet]]))) for facet in only}
    order: dict[str, Collection[Value]] = {"since": _DATES, "cost": _COSTS, "live": (True,), "failed": (True,)}
    return [
        Choice(facet, value, label(facet, value), count[value])
        for facet, count in counts.items()
        for value in order.get(facet) or _most_first(count, getattr(facets, facet))
    ]


def _most_first(count: Counter[Value], chosen: Value) -> list[Value]:
    """The values that are not empty; what is chosen is among them, so that it can be taken back."""
    found = [value for value, _ in count.most_common() if value]
    return found if chosen in found or not chosen else [*found, chosen]

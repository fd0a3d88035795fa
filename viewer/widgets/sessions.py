"""The list of sessions: its columns and orders, its rows (filtered, grouped and in order), its facets, the widget that
draws what one sees of it, so that ten thousand sessions cost what a screenful costs, and the preview of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.message import Message
from textual.strip import Strip

from renderers.facts import (
    cost_fact,
    format_age,
    format_count,
    format_size,
    local_time,
    plural,
    project_name,
    short_model,
)
from schemas.clean import one_line
from schemas.figures import format_cost
from schemas.values import dict_of
from viewer.index.library import in_directory, uncollected
from viewer.index.matching import search_key
from viewer.output import short_path
from viewer.usage.costs import NO_COSTS, Costs
from viewer.widgets.row_list import RowList

if TYPE_CHECKING:
    from schemas.costs.responses import Tally
    from schemas.usage import TokenUsage
    from viewer.index.summary import Summary

_TITLE = 8
"""The fewest cells of a title beside which the number of new messages is said."""
_PROJECT = 18
"""The most cells that a project's name takes from the title."""


CostOf = Callable[["Summary"], "Tally | None"]
"""Gives what a session cost without its subagents; None where that is not known yet."""


class Order(NamedTuple):
    """An order of the list. Without a figure its sessions stand by age, else those with the largest come first."""

    label: str
    figure: Callable[[Summary, Tally | None], float] | None = None


HERE_FIRST, NEWEST = "here", "newest"
ORDERS = {
    HERE_FIRST: Order("this directory first"),
    NEWEST: Order("newest first"),
    "tokens": Order("most tokens first", lambda s, _: (s.usage.total or 0) if s.usage else -1),
    "cost": Order("highest cost first", lambda _, cost: -1 if cost is None or cost.cost is None else cost.cost),
    "length": Order("most exchanges first", lambda s, _: s.exchanges),
}
"""By their names; the first one is where the list begins."""


class Column(NamedTuple):
    """A column right of the title."""

    name: str
    width: int
    least: int
    """The width that the list must have for it to be shown."""
    order: str
    """The order that a click on its name chooses; empty for none."""
    text: Callable[[Summary, float, Tally | None], str]
    """Its words for a session, at a time, with its cost."""


# Figures are a session's own, as `turnlog list` says them; the preview also says those with subagents.
COLUMNS = (
    Column("agent", 8, 34, "", lambda s, now, cost: s.provider),
    Column("age", 5, 24, NEWEST, lambda s, now, cost: format_age(now - s.when)),
    Column("exch.", 6, 58, "length", lambda s, now, cost: format_count(s.exchanges) if s.read else ""),
    Column("tokens", 7, 44, "tokens", lambda s, now, cost: format_count(s.usage and s.usage.total) if s.read else ""),
    # None is to be worked out.
    Column("cost", 8, 84, "cost", lambda s, now, cost: "" if cost is None else cost_fact(cost) or "?"),
)
_GAP = 2
"""Cells before a column of words."""


_LEAST_ORDERED = 34
"""The width from which on the column that a list is ordered by is shown, whatever width it asks for."""


def shown(width: int, order: str = "") -> list[Column]:
    """The columns for which a list has room, and the one by which it is ordered."""
    least = {order: _LEAST_ORDERED} if order else {}
    return [column for column in COLUMNS if width >= min(column.least, least.get(column.order, column.least))]


def cell(column: Column, text: str) -> str:
    """A text as wide as its column: words from the left, figures to the right."""
    if column.name == "agent":
        return " " * _GAP + set_cell_size(cut(text, column.width), column.width)
    return text.rjust(column.width)


def cells(width: int, order: str = "") -> int:
    """The cells that all shown columns fill together."""
    return sum(len(cell(column, "")) for column in shown(width, order))


def cut(text: str, width: int) -> str:
    """`text`, ending in an ellipsis if it is wider than `width` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


class Row(NamedTuple):
    """A line of the list: a session, or the heading of a group."""

    summary: Summary | None
    heading: str
    """The group's name; a session's row has that of its group."""
    depth: int = 0
    """1 for a fork that stands under the session it was forked from."""


class Shelf:
    """All sessions by path, and the rows that a filter and a scope make of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._sessions: dict[str, Summary] = {}
        self._order: list[Summary] | None = None
        """All, newest first; None until somebody asks, since each of many batches would sort 100,000."""
        self._texts: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def replace(self, summaries: Iterable[Summary]) -> None:
        """These are all there are."""
        self._sessions.clear()
        self._texts.clear()
        self.add(summaries)

    def add(self, summaries: Iterable[Summary]) -> None:
        """Take sessions in; one that is known is replaced. Those that hold nothing to read are left out."""
        for summary in summaries:
            key = summary.file
            self._texts.pop(key, None)
            if (known := self._sessions.get(key)) is not None and not known.read:
                known.become(summary)  # the rows that show it need not be made again
                summary = known
            if summary.blank:
                self._sessions.pop(key, None)
            else:
                self._sessions[key] = summary
        self._order = None

    def unsorted(self) -> Collection[Summary]:
        """All, in no order."""
        return self._sessions.values()

    def sessions(self) -> list[Summary]:
        """All, newest first."""
        if self._order is None:
            self._order = sorted(self._sessions.values(), key=lambda summary: summary.when, reverse=True)
        return self._order

    def rows(
        self,
        words: str,
        now: float,
        order: str = HERE_FIRST,
        tests: Collection[Callable[[Summary], bool]] = (),
        cost_of: CostOf = lambda summary: None,
    ) -> list[Row]:
        """The rows of sessions that fit the words and pass the tests. By age, this directory's first if so ordered,
        forks stand under their parents; by a figure each stands for itself.
        """
        with uncollected():
            fitting = self.fitting(words)
            if tests:
                fitting = [s for s in fitting if all(test(s) for test in tests)]
            if (figure := ORDERS[order].figure) is None:
                return list(_grouped(_families(fitting), self.directory, now, order == HERE_FIRST))
            ordered = sorted(fitting, key=lambda summary: figure(summary, cost_of(summary)), reverse=True)
            heading = ORDERS[order].label
            return [Row(None, heading), *(Row(s, heading) for s in ordered)] if ordered else []

    def fitting(self, words: str) -> list[Summary]:
        """The sessions that fit the words, newest first."""
        wanted = search_key(words).split()
        return [s for s in self.sessions() if self._fits(s, wanted)] if wanted else self.sessions()

    def _fits(self, summary: Summary, words: list[str]) -> bool:
        key = summary.file
        text = self._texts.get(key)
        if text is None:
            names = summary.workspace_root, summary.provider, summary.branch, summary.id, *summary.models
            texts = summary.title, summary.first_prompt, summary.last_prompt
            text = self._texts[key] = search_key("\n".join(filter(None, (*names, *texts))))
        return all(word in text for word in words)


def _families(sessions: list[Summary]) -> list[tuple[Summary, int]]:
    """Sessions in their order, each fork moved under the session it was forked from, where that one is listed."""
    if not any(session.lineage.forked_from for session in sessions):
        return [(session, 0) for session in sessions]
    by_id = {session.id: session for session in sessions}
    children: dict[str, list[Summary]] = {}
    roots = []
    for session in sessions:
        root = _root(session, by_id)
        if root is session:
            roots.append(session)
        else:
            children.setdefault(root.id, []).append(session)
    # A family stands where its newest member would.
    roots.sort(key=lambda root: max([root.when, *(s.when for s in children.get(root.id, ()))]), reverse=True)
    family: list[tuple[Summary, int]] = []
    for root in roots:
        family.append((root, 0))
        family += [(child, 1) for child in children.get(root.id, ())]
    return family


def _root(session: Summary, by_id: dict[str, Summary]) -> Summary:
    """The first ancestor that is listed; the session itself where there is none, or where sessions form a ring."""
    seen = {session.id}
    root = session
    while (parent := root.lineage.forked_from) is not None and parent in by_id:
        if parent in seen:
            return session
        seen.add(parent)
        root = by_id[parent]
    return root


HERE = "this directory"


def _grouped(family: list[tuple[Summary, int]], directory: Path, now: float, here_first: bool) -> Iterator[Row]:
    groups: dict[str, list[Row]] = {HERE: []}
    days = Days(now)
    within: dict[str | None, bool] = {}
    heading, rows = HERE, groups[HERE]
    for session, depth in family:
        if depth == 0:  # a fork stays in its parent's group
            root = session.workspace_root
            if root not in within:
                within[root] = here_first and in_directory(root, directory)
            heading = HERE if within[root] else days.group(session.when)
            rows = groups.setdefault(heading, [])
        rows.append(Row(session, heading, depth))
    for name, rows in groups.items():
        if rows:
            yield Row(None, name)
            yield from rows


_DAYS = {"today": (0, "today"), "yesterday": (1, "yesterday"), "7d": (6, "last 7 days"), "30d": (29, "last 30 days")}
"""The days from which on, as a search is told them: how long ago each is, and the heading under which they begin."""


class Days:
    """The headings under which sessions stand by their age: calendar days, as people count them."""

    def __init__(self, now: float) -> None:
        midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
        self.starts = {key: (midnight - timedelta(days=days)).timestamp() for key, (days, _) in _DAYS.items()}
        """The time at which each day of `_DAYS` begins."""

    def group(self, when: float) -> str:
        """The heading for a session of that time."""
        for key, start in self.starts.items():
            if when >= start:
                return _DAYS[key][1]
        return "earlier"


Value = str | int | float | bool
_COSTS = (0.1, 1.0, 10.0)
_project = lru_cache(4096)(project_name)


class Facets(NamedTuple):
    """The values that a list is narrowed by; a facet with its empty value narrows nothing."""

    agent: str = ""
    project: str = ""
    """Its name."""
    since: str = ""
    """A key of `_DAYS`."""
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
        return "since yesterday" if value == "yesterday" else _DAYS.get(str(value), (0, "any time"))[1]
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
    starts = Days(now).starts

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
    order: dict[str, Collection[Value]] = {"since": _DAYS, "cost": _COSTS, "live": (True,), "failed": (True,)}
    return [
        Choice(facet, value, label(facet, value), count[value])
        for facet, count in counts.items()
        for value in order.get(facet) or _most_first(count, getattr(facets, facet))
    ]


def _most_first(count: Counter[Value], chosen: Value) -> list[Value]:
    """The values that are not empty; what is chosen is among them, so that it can be taken back."""
    found = [value for value, _ in count.most_common() if value]
    return found if chosen in found or not chosen else [*found, chosen]


class SessionList(RowList):
    """Rows of sessions under a heading line that stays. The cursor belongs to a session, not to a line."""

    HEAD = 1

    @dataclass
    class Ordered(Message):
        """The name of a column was clicked: its order is wanted."""

        order: str

    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float],
        cost_of: CostOf = lambda summary: None,
        place: Path | None = None,
        new_in: Callable[[Summary], int] = lambda summary: 0,
        **options: Any,
    ) -> None:
        """`place` is the session that the cursor begins on, if it is there. `new_in` says how many messages came to a
        session since it was read last.
        """
        super().__init__(**options)
        self._directory, self._clock, self._cost_of, self._new_in = directory, clock, cost_of, new_in
        self._rows: list[Row]
        self._order = NEWEST
        self._place = place
        """The session under the cursor, or that it is to be on."""
        self._chosen = place is not None
        self.marked: list[Path] = []
        """The sessions that are to be compared."""

    # -- content ---------------------------------------------------------------------------------------------------

    def show(self, rows: list[Row], order: str, *, to_top: bool = False) -> None:
        """Show other rows, in an order. The cursor stays on its session, and that on its line, unless `to_top`, and
        unless nobody has moved.
        """
        self._order = order
        to_top = to_top or not (self._chosen or self._top)
        was, line = self.current, 0 if self._cursor is None else self._cursor - self._top
        # The line on top says what the first group is.
        self._rows = rows[1:] if rows and rows[0].summary is None else rows
        self._cursor = None if to_top else self._find(self._place)
        if self._cursor is None:
            self._cursor = self._next(0, 1)
            line = 0
        self._fit()
        # A list that shows its beginning goes on showing it while the cursor is in sight.
        top = self._top if self._top == 0 and not to_top else (self._cursor or 0) - line
        self._scroll_top(top)
        self._keep_cursor_in_sight()
        self.refresh()
        if (now := self.current) is not None:
            self._place = now.path
        if now is None or was is None or now.path != was.path or now is not was:
            self.post_message(self.Moved())

    def _find(self, path: Path | None) -> int | None:
        file = None if path is None else str(path)
        rows = enumerate(self._rows) if file else ()
        return next((i for i, row in rows if row.summary is not None and row.summary.file == file), None)

    @property
    def current(self) -> Summary | None:
        """The session under the cursor."""
        return None if self._cursor is None else self._rows[self._cursor].summary

    def in_sight(self) -> list[Summary]:
        """The sessions that can be seen."""
        rows = self._rows[self._top : self._top + self._page]
        return [row.summary for row in rows if row.summary is not None]

    def _can(self, index: int) -> bool:
        return self._rows[index].summary is not None

    def _moved(self) -> None:
        if (now := self.current) is not None:
            self._place = now.path
        super()._moved()

    def _head_clicked(self, x: int) -> None:
        """The name of a column was clicked."""
        width = self.size.width
        end = self._title_width(width) + cells(width, self._order)
        for column in reversed(shown(width, self._order)):
            end -= len(cell(column, ""))
            if x >= end:
                if column.order:
                    self.post_message(self.Ordered(column.order))
                return

    # -- drawing ---------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The heading that stays, then the rows."""
        if y or not self._styles or not self._rows:
            return super().render_line(y)
        width, dim = self.size.width, self._styles["dim"]
        heading = self._rows[min(self._top, len(self._rows) - 1)].heading
        strip = [Segment(set_cell_size(f" {heading}", self._title_width(width)), self._styles["accent"])]
        for column in shown(width, self._order):
            style = self._styles["accent"] if column.order == self._order else dim
            strip.append(Segment(cell(column, column.name), style))
        return Strip(strip).adjust_cell_length(width, dim)

    def _row(self, index: int, width: int) -> Iterable[Segment]:
        row = self._rows[index]
        if row.summary is not None:
            return self._session(row, row.summary, width, index == self._cursor)
        # Right below the line on top it would be said twice.
        return [Segment("" if index == self._top else row.heading, self._styles["accent"])]

    def _title_width(self, width: int) -> int:
        return max(8, width - cells(width, self._order) - 1)

    def _session(self, row: Row, summary: Summary, width: int, cursor: bool) -> list[Segment]:
        styles = self._styles
        room = self._title_width(width) - 3
        lead = ("  " * row.depth + "↳ ") if row.depth else ""
        now, cost = self._clock(), self._cost_of(summary)
        facts = "".join(cell(column, column.text(summary, now, cost)) for column in shown(width, self._order))
        here = row.heading == HERE and summary.workspace_root == str(self._directory)
        project = "" if here else cut(project_name(summary.workspace_root), min(_PROJECT, room // 3))
        if project:
            room -= cell_len(project) + 2
            project = f"  {project}"
        new = f"  {count:,} new" if (count := self._new_in(summary)) else ""
        new = new if cell_len(new) + _TITLE <= room else ""
        room -= cell_len(new)
        title = set_cell_size(cut(lead + (summary.shown_title), room), room)
        return [
            Segment("✓", styles["accent"]) if summary.path in self.marked else _mark(summary, styles),
            Segment(" ", None),
            Segment(title, styles["text"] + Style(bold=True) if cursor else styles["text"]),
            Segment(project, styles["dim"]),
            Segment(new, styles["accent"]),
            Segment(facts, styles["dim"]),
        ]


def _mark(summary: Summary, styles: dict[str, Style]) -> Segment:
    """The mark of a session that is being written, or of one that ended badly."""
    if summary.live:
        return Segment("●", styles["good"])
    return Segment("!" if summary.failure else " ", styles["warn"])


_PROMPT_CHARS = 600


def preview(summary: Summary, costs: Costs = NO_COSTS) -> Content:
    """The preview of a session: what was asked first, what was asked last, what was answered, what it took. `costs`:
    without and with its subagents, as far as they are known.
    """
    dim = "$text-muted"
    pieces: list[Content] = [Content.styled(summary.shown_title, "bold"), Content("\n")]
    if not summary.read:
        return Content("").join([*pieces, Content.styled(f"{summary.provider}\n{short_path(summary.path)}", dim)])
    models = ", ".join(filter(None, map(short_model, summary.models)))
    facts = [summary.provider, models, plural(summary.exchanges, "exchange")]
    pieces.append(Content.styled(" · ".join(filter(None, facts)), dim))
    where = short_path(one_line(summary.workspace_root, 4096)) if summary.workspace_root else ""
    if summary.branch:
        where += f" on {summary.branch}"
    pieces.append(Content.styled(f"\n{where}" if where else "", dim))
    pieces.append(Content.styled(f"\n{_times(summary)}", dim))
    if summary.failure and not summary.live:
        ended = "was interrupted" if summary.failure == "interrupted" else "ended in an error"
        pieces.append(Content.styled(f"\n! its last exchange {ended}", "$warning"))
    for label, text in _words(summary):
        pieces += [Content.styled(f"\n\n{label}\n", "$accent"), Content(text)]
    pieces += [Content.styled("\n\ntokens\n", "$accent"), *_tokens(summary, costs)]
    lines = sum(map(len, summary.unreadable.values()))
    if lines:
        pieces.append(Content.styled(f"\n{plural(lines, 'line')} could not be read", "$warning"))
    pieces.append(Content.styled(f"\n\n{format_size(summary.size)} · {summary.id}", dim))
    return Content("").join(pieces)


def _times(summary: Summary) -> str:
    ended = summary.when
    if summary.created is None:
        return local_time(ended, date=True)
    begun = local_time(summary.created, date=True)
    last = local_time(ended, date=True)
    return f"{begun} – {last[11:] if last[:10] == begun[:10] else last}"


def _words(summary: Summary) -> list[tuple[str, str]]:
    last = summary.last_prompt if summary.last_prompt != summary.first_prompt else ""
    words = ("first prompt", summary.first_prompt), ("last prompt", last), ("last answer", summary.last_text)
    return [(label, text[:_PROMPT_CHARS]) for label, text in words if text]


def _tokens(summary: Summary, costs: Costs) -> list[Content]:
    own, everything = summary.usage, summary.usage_with_subagents
    cost, whole_cost = map(cost_fact, costs)
    if own is None or own.total is None:
        return [Content.styled("unknown", "$text-muted")]
    pieces = [
        Content(" · ".join(filter(None, (format_count(own.total), cost if own.total else "")))),
        Content.styled(f"\n{_parts(own)}", "$text-muted"),
    ]
    if summary.subagents and everything is not None and everything.total != own.total:
        with_them = f"{format_count(everything.total)} with {plural(summary.subagents, 'subagent')}"
        pieces.append(Content.styled("\n" + " · ".join(filter(None, (with_them, whole_cost))), "$text-muted"))
    return pieces


def _parts(usage: TokenUsage) -> str:
    figures = {"in": usage.input, "cache read": usage.cache_read, "write": usage.cache_write, "out": usage.output}
    said = (f"{name} {format_count(count)}" for name, count in figures.items() if count is not None)
    return " · ".join(one.replace(" ", "\u00a0") for one in said)  # a line may end between figures, not within one

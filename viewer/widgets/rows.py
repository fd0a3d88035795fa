"""The rows of the list of sessions: filtered, grouped and in order. Knows nothing of the screen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from viewer.index.library import in_directory, uncollected
from viewer.index.matching import search_key
from viewer.widgets.list_columns import HERE_FIRST, ORDERS, CostOf

if TYPE_CHECKING:
    from viewer.index.summary import Summary


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
            parts = (
                summary.title,
                summary.workspace_root,
                summary.provider,
                summary.branch,
                summary.id,
                *summary.models,
            )
            text = search_key("\n".join([*(p for p in parts if p), summary.first_prompt, summary.last_prompt]))
            self._texts[key] = text
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


class Days:
    """The headings under which sessions stand by their age: calendar days, as people count them."""

    def __init__(self, now: float) -> None:
        midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
        names = ((0, "today"), (1, "yesterday"), (6, "last 7 days"), (29, "last 30 days"))
        self._starts = [((midnight - timedelta(days=days)).timestamp(), name) for days, name in names]

    def start(self, heading: str) -> float:
        """The time at which the days of a heading begin."""
        return next(start for start, name in self._starts if name == heading)

    def group(self, when: float) -> str:
        """The heading for a session of that time."""
        for start, name in self._starts:
            if when >= start:
                return name
        return "earlier"

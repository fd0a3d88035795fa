"""From which edit of which session the lines of a file came: the edits are aligned with the file's history, in order.

Each version of the file is laid beside what the sessions had made of it by then. A line that is new in it, and stands
among the same lines as one that an edit added, is from that edit; so no line of a version before can be from it.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

from schemas.opening import read_session
from schemas.provider import Problem
from schemas.troubles import OpenError, bug
from viewer.edits.history import Change, Commit, Repository, file_lines
from viewer.edits.lines import Contradiction, FileLines, Line, differences, find
from viewer.edits.session import Command, Edit, Read, Step, put, put_anew, steps_of
from viewer.index.find import Find
from viewer.index.library import Library
from viewer.index.matching import search_key
from viewer.index.query import Filter, Query

_SLACK = 2.0
"""Seconds: Git keeps whole ones."""
_TELLING, _NAMING = 18, 6
"""Letters and digits that stand together in two texts by no accident, and in a line that others do not resemble."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The edit from which a line came, and for which prompt of which session it was made."""

    provider: str
    id: str
    path: Path
    """The session's address."""
    exchange_id: str
    prompt: str
    edit: Edit


@dataclass(slots=True)
class TracedLine:
    """A line of a file: the commit from which Git has it, None for one that is not committed, and its origins: none
    where no edit of a session is known to have added it, several where it may be from each of them.
    """

    number: int
    text: str
    commit: Commit | None
    origins: list[Origin] = field(default_factory=list)


# -- which edits there are -------------------------------------------------------------------------------------------


class Places:
    """The paths at which sessions may have known a file: its names, in each working tree of the repository, and in one
    that is gone, if it was below this one or bore its name.
    """

    def __init__(self, repository: Repository, names: set[str]) -> None:
        self._root = os.path.realpath(repository.root)
        self._roots = {os.path.realpath(root) for root in repository.worktrees()}
        self.names = names

    def name_at(self, path: str) -> str | None:
        """The name under which a path is the file; None for another file."""
        if not path.endswith(tuple(self.names)):
            return None
        path = os.path.realpath(path)
        for name in self.names:
            root = path.removesuffix(f"/{name}")
            if root in self._roots or (root != path and self._was(root)):
                return name
        return None

    def may_lie(self, workspace: str) -> bool:
        """Tell whether paths in a workspace may be the file's."""
        place = os.path.realpath(workspace) + "/"
        near = any(place.startswith(f"{root}/") or f"{root}/".startswith(place) for root in self._roots)
        return not workspace or near or self._was(place.rstrip("/"))

    def _was(self, root: str) -> bool:
        """Tell whether a folder was a working tree that is gone."""
        known = root.startswith(f"{self._root}/") or os.path.basename(self._root) in root.split("/")
        return known and not os.path.exists(root)


def sessions_touching(
    library: Library, places: Places, progress: Callable[[int, int], None], problems: list[Problem]
) -> list[Path]:
    """The addresses of the sessions that read or changed a file, subagents' with the session's own."""
    asked = Query(filters={"file": Filter([search_key(f"/{name}") for name in sorted(places.names)])})
    library.bring_up_to_date(progress)
    find, answer, missing = Find(library), None, 0
    try:
        for answer in find.groups(asked, "newest"):
            missing = missing or answer.missing
            progress(missing - answer.missing, missing)
    finally:
        find.close()
    problems += find.problems
    found = answer.groups if answer else []
    return list(dict.fromkeys(group.parent or group.path for group in found if places.may_lie(group.root)))


class Timeline:
    """One file in one place as sessions changed it, edit by edit."""

    def __init__(self, name: str) -> None:
        self.name = name
        """The file's name, seen from the working tree."""
        self.steps: list[Step] = []
        self.times: list[float] = []
        self.views: list[list[list[Line]]] = []
        """The lines that were known after each edit."""
        self.lasts: list[int] = []
        """The edits after which it was found to be another file."""
        self.spans: dict[Line, tuple[int, int, str]] = {}
        """After which edit a line stood there first, and after which it no longer did; its text as it is compared."""
        self.open: list[Line] = []
        """Those that may come in a version that was not looked at yet."""
        self.used: set[Line] = set()
        self.passed = -1
        """The edits until here are in the history: what of them is not in it never will be."""
        self.common: Counter[str] = Counter()
        """How many lines that edits added have a text."""

    def run(self) -> None:
        """Go through the steps in the order of time."""
        file = FileLines()
        for step in sorted(self.steps, key=lambda step: step.time):
            if isinstance(step.what, Command):
                if step.what.replaces:
                    self.lasts.append(len(self.views) - 1)
                    file = FileLines()
            elif isinstance(step.what, (Edit, Read)):
                try:
                    put(file, step.what)
                except Contradiction:
                    self.lasts.append(len(self.views) - 1)
                    file = put_anew(step.what)
                if isinstance(step.what, Edit):
                    self._keep(file, step.time)
        self.common.update(text for *_, text in self.spans.values())
        self.open = list(self.spans)

    def _keep(self, file: FileLines, at: float) -> None:
        number = len(self.views)
        self.times.append(at)
        self.views.append(file.view)
        for line in (line for run in self.views[-1] for line in run if line.edit is not None):
            old = self.spans.get(line)
            self.spans[line] = (number, number + 1, plain(line.text)) if old is None else (old[0], number + 1, old[2])

    def _at(self, commit: Commit, texts: Sequence[str], added: set[int]) -> int:
        """The edit after which the file was most like a version: -1 where nothing of it is from here. One made later
        than Git says of the version (it may have been made again, or of several) must have most of what is new in it.
        """
        new, all_ = {texts[i] for i in added}, set(texts)
        same, other = [0.0] * (len(self.views) + 1), [0] * (len(self.views) + 1)
        self.open = list(filter(self._fresh, self.open))
        for line in self.open:
            first, last, text = self.spans[line]
            if text in new:
                worth = min(_telling(text), _TELLING) / self.common[text]
                same[first] += worth
                same[last] -= worth
            elif text not in all_:
                other[first] += 1
                other[last] -= 1
        most = sum(min(_telling(text), _TELLING) for text in new) / 2
        best, found, equal, more = (0.0, 0), -1, 0.0, 0
        for number, made in enumerate(self.times):
            equal, more = equal + same[number], more + other[number]
            late = made > commit.authored + _SLACK
            if made > commit.committed + _SLACK:
                break
            if equal > max(most, 2 * best[0]) if late else equal > 1e-6 and (equal, -more) >= best:
                best, found = (equal, -more), number
        return found

    def match(self, commit: Commit, texts: Sequence[str], added: set[int]) -> dict[int, Line]:
        """The lines of a version that an edit added, as far as they are among those that are new in it."""
        number = self._at(commit, texts, added)
        matched: dict[int, Line] = {}
        for at in [number, *(last for last in reversed(self.lasts) if self.passed < last < number)]:
            if at >= 0:
                self._lay(self.views[at], texts, added, matched)
        named = [line for line in matched.values() if self._fresh(line) and self.common[self.spans[line][2]] == 1]
        self.passed = max([self.passed, *(self.spans[line][0] - 1 for line in named)])
        self.used.update(matched.values())
        return matched

    def _lay(self, runs: list[list[Line]], texts: Sequence[str], added: set[int], matched: dict[int, Line]) -> None:
        """Match what is new in a version with the lines that were known after an edit."""
        free: dict[str, list[tuple[list[Line], int]]] = {}
        for run in runs:
            for j, line in enumerate(run):
                if self._fresh(line):
                    free.setdefault(self.spans[line][2], []).append((run, j))
        for text, count in Counter(texts[i] for i in added).items():
            if count == 1 and len(free.get(text, ())) == 1 and _telling(text) >= _NAMING:
                at = next(i for i in added if texts[i] == text)
                if at not in matched:
                    self._extend(texts, at, *free[text][0], added, matched)

    def _fresh(self, line: Line) -> bool:
        return line.edit is not None and line not in self.used and self.spans[line][0] > self.passed

    def _extend(
        self, texts: Sequence[str], i: int, run: list[Line], j: int, added: set[int], matched: dict[int, Line]
    ) -> None:
        """Match two lines and those that are the same before and behind them, if that is no accident."""
        low = high = 0
        while i - low > 0 and j - low > 0 and texts[i - low - 1] == plain(run[j - low - 1].text):
            low += 1
        most = min(len(texts) - i, len(run) - j) - 1
        while high < most and texts[i + high + 1] == plain(run[j + high + 1].text):
            high += 1
        rare = self.common[texts[i]] == 1 and texts.count(texts[i]) == 1
        if sum(map(_telling, texts[i - low : i + high + 1])) < _TELLING * (1 if rare else 2):
            return
        block = {at: run[at - i + j] for at in range(i - low, i + high + 1)}
        # Where lines are alike, Git may call others new than those that were put in: it is believed where an edit has
        # most of its lines from before, as one has that wrote the file anew.
        known: Counter[object] = Counter()
        for at, line in block.items():
            known[line.edit] += (1 if at in added else -1) if self._fresh(line) else 0
        for at, line in block.items():
            if line.edit is not None and (at in added or (known[line.edit] >= 0 and self._fresh(line))):
                matched.setdefault(at, line)


def plain(text: str) -> str:
    """A line as it is compared: white space does not count."""
    return " ".join(text.split())


def _telling(text: str) -> int:
    return sum(map(str.isalnum, text))


# -- the answer ------------------------------------------------------------------------------------------------------


def trace(
    repository: Repository, name: str, library: Library, progress: Callable[[int, int], None], problems: list[Problem]
) -> list[TracedLine]:
    """Each line of a file as it is on disk, with the commit and the edit from which it came. Raises GitError."""
    commits = repository.versions(name)
    places = Places(repository, {name, *(commit.name for commit in commits)})
    owners, timelines = read_edits(sessions_touching(library, places, progress, problems), places, problems)
    texts = file_lines((repository.root / name).read_bytes())
    return lay_beside(repository, name, commits, texts, owners, timelines)


def read_edits(
    addresses: Iterable[Path], places: Places, problems: list[Problem]
) -> tuple[dict[Edit, Origin], list[Timeline]]:
    """The edits of a file in sessions, and what they made of it in each place."""
    owners: dict[Edit, Origin] = {}
    timelines: dict[str, Timeline] = {}
    for address in addresses:
        try:
            session = read_session(address)
            steps = steps_of(session, None, problems)
            session.close()
        except OpenError as error:
            problems.append(Problem(address, error.reason))
            continue
        except Exception as error:  # noqa: BLE001
            problems.append(Problem(address, bug(error)))  # which must not take the others away
            continue
        for step in steps:
            place = os.path.join(session.workspace_root or "/", step.what.path)
            if not step.what.path or not step.inside or (called := places.name_at(place)) is None:
                continue
            timelines.setdefault(place, Timeline(called)).steps.append(step)
            if isinstance(step.what, Edit):
                exchange = session.exchanges[step.what.exchange]
                owners[step.what] = Origin(
                    session.provider, session.id, address, exchange.id, exchange.prompt, step.what
                )  # fmt: skip
    for timeline in timelines.values():
        timeline.run()
    return owners, list(timelines.values())


Sources = tuple[Line, ...]


def lay_beside(
    repository: Repository,
    name: str,
    commits: list[Commit],
    texts: list[str],
    owners: dict[Edit, Origin],
    timelines: list[Timeline],
) -> list[TracedLine]:
    """Align the edits with all versions of a file, `texts` as the last one, and trace each of its lines."""
    versions = list(repository.contents(commits))
    blamed = repository.blame(name) if versions and versions[-1] else []
    news = list(map(plain, texts))
    changes, committed = _uncommitted([plain(text) for _, text in blamed], news)
    now = time.time()
    last = Commit("", name, "", now, now, "", "", changes)
    before: list[str] = []
    called = ""
    sources: list[Sources] = []
    for commit, lines in zip([*commits, last], [*versions, texts], strict=True):
        plains = list(map(plain, lines))
        sources = _version(commit, called, before, plains, sources, timelines)
        before, called = plains, commit.name
    _doubt(news, sources)
    traced: list[TracedLine] = []
    for i, (text, old) in enumerate(zip(texts, committed, strict=True)):
        origins = sorted({owners[line.edit] for line in sources[i]}, key=lambda one: one.edit.time or 0)
        traced.append(TracedLine(i + 1, text, None if old is None else blamed[old][0], origins))
    return traced


def _version(
    commit: Commit, name: str, before: list[str], texts: list[str], sources: list[Sources], timelines: list[Timeline]
) -> list[Sources]:
    """The edits from which each line of a version is, by those of the version before, in which it has that name."""
    made: list[Sources] = []
    at = 0
    for old, new in commit.hunks:
        made += sources[at : old.start] + [()] * len(new)
        at = old.stop
    made += sources[at:]
    made = (made + [()] * len(texts))[: len(texts)]  # a version that Git cannot show has no lines
    added = {i for change in commit.hunks for i in change.new if i < len(texts)}
    fresh: dict[int, Sources] = {}
    for timeline in timelines:
        if timeline.name in (commit.name, name):
            for i, line in timeline.match(commit, texts, added).items():
                fresh[i] = (*fresh.get(i, ()), line)
    _move(commit, before, texts, sources, made, added - fresh.keys())
    for i, lines in fresh.items():
        made[i] = lines
    return made


def _move(
    commit: Commit, before: list[str], texts: list[str], sources: list[Sources], made: list[Sources], added: set[int]
) -> None:
    """Let lines that were taken out in one place and put in at another keep their sources."""
    gone = {i for change in commit.hunks for i in change.old if i < len(sources)}
    places = {before[i]: i for i in gone}
    counts, new = Counter(before[i] for i in gone), Counter(texts[i] for i in added)
    for i in sorted(added):
        text = texts[i]
        if counts[text] == new[text] == 1 and _telling(text) >= _TELLING:
            for step in (1, -1):
                at, old = i, places[text]
                while at in added and old in gone and texts[at] == before[old]:
                    made[at] = sources[old]
                    at, old = at + step, old + step


def _doubt(texts: list[str], sources: list[Sources]) -> None:
    """Believe of a short line like others in the file that it is from the edit that wrote it in a row with those before
    and behind it: a blank line, a bracket or a `return None` may have changed places with another.
    """
    counts = Counter(texts)
    telling = [i for i, text in enumerate(texts) if _telling(text) >= (_TELLING if counts[text] > 1 else 1)]
    for first, last in pairwise([-1, *telling, len(texts)]):
        if last - first > 1:
            ends = [sources[i] for i in (first, last) if 0 <= i < len(texts)]
            edits = {line.edit for lines in [*ends, *sources[first + 1 : last]] for line in lines}
            if len(ends) < 2 or len(edits) != 1 or not _wrote(edits.pop(), texts[first : last + 1]):
                sources[first + 1 : last] = [()] * (last - first - 1)


def _wrote(edit: Edit, texts: list[str]) -> bool:
    """Tell whether an edit added these lines in a row."""
    return any(
        find([plain(line[1:]) if line[:1] == "+" else "\n" for line in hunk.lines], texts) for hunk in edit.diff.hunks
    )


def _uncommitted(olds: list[str], news: list[str]) -> tuple[list[Change], list[int | None]]:
    """Tell what is not committed, and for each line as it is now which committed line it is; None for a new one."""
    changes: list[Change] = []
    lines: list[int | None] = []
    old = 0
    for same, group in groupby(differences(olds, news), lambda line: line[:1] == " "):
        signs = [line[:1] for line in group]
        gone = range(old, old + len(signs) - signs.count("+"))
        if not same:
            changes.append(Change(gone, range(len(lines), len(lines) + signs.count("+"))))
        lines += gone if same else [None] * signs.count("+")
        old = gone.stop
    return changes, lines

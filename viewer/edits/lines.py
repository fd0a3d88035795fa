"""A file as a session knows it: runs of lines that reads, writes and edits told of, and one diff of what came of them.

What no record tells is left open: a file may be known in parts, each with the line at which it begins or without.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from schemas.diffs import FileDiff, Hunk

CONTEXT = 3
_QUADRATIC = 4000


class Contradiction(Exception):
    """The file is not what the edits until now made of it: somebody else changed it meanwhile."""


@dataclass(slots=True, eq=False)
class Line:
    """A line that stands in the file, or stood in it before (`old`)."""

    text: str
    old: bool = True
    edit: Any = None
    """What added it; None for a line that was there, or of which nothing tells."""
    new: bool = True
    gone: Any = None
    """What took it out."""


@dataclass(slots=True, eq=False)
class Run:
    """Lines that follow each other, those that were taken out among them."""

    lines: list[Line]
    start: int | None = None
    """The number of its first line in the file as it is now, from 1."""
    ends: bool = False
    """Whether the file ends with it."""

    @property
    def view(self) -> list[Line]:
        """Its lines as they are now."""
        return [line for line in self.lines if line.new]

    @property
    def growth(self) -> int:
        """The number of lines that it has more than it had."""
        return sum(line.new - line.old for line in self.lines)


@dataclass(slots=True)
class Stage:
    """The outcome of edits that follow each other."""

    diff: FileDiff
    made_by: list[Any] = field(default_factory=list)
    """The edit behind each line of its hunks, None for those that stayed."""
    open: list[Hunk] = field(default_factory=list)
    """Its hunks behind which neither the file's end nor a line is known."""
    rewritten: bool = False
    """Whether what was in the file before is not recorded."""
    follows: bool = False
    """Whether a change before it is not recorded."""


@dataclass(slots=True)
class FileLines:
    """The runs of a file. `absent`: it was not there before the first edit; `rewritten`: what was is not recorded."""

    runs: list[Run] = field(default_factory=list)
    absent: bool = False
    rewritten: bool = False
    deleted: bool = False

    # -- what it was and becomes -----------------------------------------------------------------------------------

    @property
    def whole(self) -> Run | None:
        """The run that is all of the file; None where it is not known so well."""
        run = self.runs[0] if len(self.runs) == 1 else None
        return run if run is not None and run.start == 1 and run.ends else None

    @property
    def view(self) -> list[list[Line]]:
        """The lines of each run as they are now."""
        return [run.view for run in self.runs]

    def learn(self, start: int, texts: Sequence[str], *, ends: bool = False) -> Run:
        """Take in lines of which it is told that they stand there. Raises Contradiction where others are known to."""
        stop = start + len(texts)
        numbered = sorted((run for run in self.runs if run.start is not None), key=lambda run: run.start or 0)
        met = [run for run in numbered if (run.start or 0) <= stop and start <= (run.start or 0) + len(run.view)]
        first = min([start, *(run.start or 0 for run in met)])
        lines: list[Line] = []
        at = first
        for run in met:
            begin = run.start or 0
            lines += [Line(text) for text in texts[max(0, at - start) : max(0, begin - start)]]
            view = run.view
            low, high = max(begin, start), min(begin + len(view), stop)
            for line, text in zip(view[low - begin : high - begin], texts[low - start : high - start], strict=True):
                _compare(line, text)
            if (run.ends and stop > begin + len(view)) or (ends and stop < begin + len(view)):
                raise Contradiction
            lines += run.lines
            at = begin + len(view)
        lines += [Line(text) for text in texts[max(0, at - start) :]]
        merged = Run(lines, first, ends or any(run.ends for run in met))
        self.runs = [run for run in self.runs if run not in met] + [merged]
        self._place(merged)
        return merged

    def _place(self, known: Run) -> None:
        """Put the runs without a number that are found once in a run with one into it."""
        for run in [run for run in self.runs if run.start is None and run.view]:
            texts, view = [line.text for line in run.view], known.view
            found = find([line.text for line in view], texts)
            if len(found) == 1:
                low = known.lines.index(view[found[0]])
                high = known.lines.index(view[found[0] + len(texts) - 1]) + 1
                if all(line.old and line.new for line in known.lines[low:high]):
                    known.lines[low:high] = run.lines
                    self.runs.remove(run)

    def apply(self, hunks: Sequence[Hunk], edit: Any, *, everywhere: bool = False) -> None:
        """Change it as an edit says, `everywhere` where that replaced each place. Raises Contradiction."""
        after: tuple[Run, int] | None = None
        for hunk in hunks:  # all, before any of them changes something
            if hunk.old_start and hunk.new_start is not None:
                self.learn(hunk.old_start, [line[1:] for line in hunk.lines if line[:1] != "+"])
        for hunk in hunks:
            olds = [line[1:] for line in hunk.lines if line[:1] != "+"]
            if hunk.old_start is not None and hunk.new_start is not None:
                start = hunk.new_start if olds else hunk.old_start + 1
                run = self.learn(max(start, 1), olds, ends=_ends(hunk.lines))
                after = run, self._change(run, max(start, 1) - (run.start or 1), hunk.lines, edit)
            else:
                after = self._search(hunk.lines, olds, edit, after, everywhere)

    def _search(
        self, changed: list[str], olds: list[str], edit: Any, after: tuple[Run, int] | None, everywhere: bool
    ) -> tuple[Run, int]:
        """Apply a hunk without a number where its lines stand, or parts of them; by itself where they are not known."""
        found: list[tuple[Run, int]] = []
        for run in self.runs if olds else []:
            texts = [line.text for line in run.view]
            found += [(run, at) for at in find(texts, olds)]
        if found:
            later = [(run, at) for run, at in found if after and run is after[0] and at >= after[1]]
            chosen = found[::-1] if everywhere else [(later or found)[0]]
            for run, at in chosen:
                after = run, self._change(run, at, changed, edit)
            assert after is not None
            return after
        old, new = "\n".join(olds), "\n".join(line[1:] for line in changed if line[:1] != "-")
        for run in self.runs if old.strip() else []:
            texts = [line.text for line in run.view]
            text = "\n".join(texts)
            if (at := text.find(old)) >= 0:  # the edit names a part of a line
                if everywhere:
                    return run, self._change(run, 0, differences(texts, text.replace(old, new).split("\n")), edit)
                low = text.count("\n", 0, at)
                high = low + old.count("\n") + 1
                inside = "\n".join(texts[low:high])
                cut = at - (text.rfind("\n", 0, at) + 1)
                made = (inside[:cut] + new + inside[cut + len(old) :]).split("\n")
                return run, self._change(run, low, differences(texts[low:high], made), edit)
        if (whole := self.whole) is not None and whole.lines and olds:
            raise Contradiction
        run = Run([Line(text) for text in olds])
        self.runs.append(run)
        after = run, self._change(run, 0, changed, edit)
        if run.growth:  # before which of the others it stands is not known
            for other in self.runs:
                other.start = None
        return after

    def _change(self, run: Run, at: int, changed: Iterable[str], edit: Any) -> int:
        """Change a run from its line `at` on, as lines with their signs say; returns the line behind it."""
        before = run.growth
        place, seen = 0, 0
        while place < len(run.lines) and (seen < at or not run.lines[place].new):
            seen += run.lines[place].new
            place += 1
        for line in changed:
            if line[:1] == "+":
                run.lines.insert(place, Line(line[1:], old=False, edit=edit))
                place, seen = place + 1, seen + 1
                continue
            while not run.lines[place].new:
                place += 1
            if line[:1] != "-":
                place, seen = place + 1, seen + 1
            elif run.lines[place].old:
                run.lines[place].new, run.lines[place].gone = False, edit
                place += 1
            else:
                del run.lines[place]
        grown = run.growth - before
        for other in self.runs:
            if run.start is not None and other.start is not None and other.start > run.start:
                other.start += grown
        return seen

    def write(self, texts: Sequence[str], edit: Any) -> None:
        """Make these lines all of the file, a new one if nothing is known of it."""
        if (run := self.whole) is not None:
            self._change(run, 0, differences([line.text for line in run.view], texts), edit)
        else:
            self.absent = not self.runs
            self.rewritten = not self.absent
            self.runs = [Run([Line(text, old=False, edit=edit) for text in texts], 1, True)]
        self.deleted = False

    def delete(self) -> None:
        """Take all of it away."""
        for run in self.runs:
            for line in run.lines:
                line.new = False
            run.lines = [line for line in run.lines if line.old]
        self.deleted = True

    def settle(self) -> None:
        """Let what it is now be what it was before."""
        for run in self.runs:
            run.lines = [Line(line.text, edit=line.edit) for line in run.view]
        self.absent = self.deleted or (self.absent and not self.runs)
        self.rewritten = self.deleted = False

    # -- what came of it -------------------------------------------------------------------------------------------

    def stage(self, name: str, path: str) -> Stage:
        """The difference between what was, under its old name, and what is."""
        diff = FileDiff(name, "move" if path != name else "update", renamed_to=path if path != name else None)
        made = Stage(diff, rewritten=self.rewritten and not self.deleted)
        if self.absent and self.deleted:
            return made
        if self.absent or self.deleted:
            diff.operation, diff.renamed_to = ("add", None) if self.absent else ("delete", None)
            diff.path = path if self.absent else name
            made.rewritten = self.deleted and self.whole is None
        grown: int | None = 0
        for run in sorted(self.runs, key=lambda run: (run.start is None, run.start or 0)):
            old = None if run.start is None or grown is None else run.start - grown
            for hunk, made_by, ends in _hunks(run, old, run.start):
                diff.hunks.append(hunk)
                made.made_by += made_by
                if not ends and hunk.lines[-1][:1] != " ":
                    made.open.append(hunk)
            grown = None if run.start is None or grown is None else grown + run.growth
        return made


def between(old: list[str], now: list[Line], *, absent: bool, deleted: bool) -> FileLines:
    """A file of which all lines are known before and now, as one change."""
    lines, left = list[Line](), iter(now)
    for changed in differences(old, [line.text for line in now]):
        edit = next(left).edit if changed[0] != "-" else None
        lines.append(Line(changed[1:], changed[0] != "+", edit if changed[0] == "+" else None, changed[0] != "-"))
    return FileLines([Run(lines, 1, True)], absent, deleted=deleted)


def _ends(lines: list[str]) -> bool:
    """Tell whether a file ends with a hunk: one that has all context before it, and none behind."""
    return len(lines) > CONTEXT and lines[-1][:1] != " " and all(line[:1] == " " for line in lines[:CONTEXT])


def _compare(line: Line, text: str) -> None:
    """Raise Contradiction where a line is another one. Some agents' patches have spaces for a tab, which is right."""
    if line.text != text:
        if line.text.split() != text.split() or ("\t" in line.text) == ("\t" in text):
            raise Contradiction
        line.text = text if "\t" in text else line.text


def _hunks(run: Run, old: int | None, new: int | None) -> Iterator[tuple[Hunk, list[Any], bool]]:
    lines, edits = _netted(run.lines)
    changed = [i for i, line in enumerate(lines) if line[0] != " "]
    at = 0
    while at < len(changed):
        last = at
        while last + 1 < len(changed) and changed[last + 1] - changed[last] <= 2 * CONTEXT + 1:
            last += 1
        low, high = max(0, changed[at] - CONTEXT), min(len(lines), changed[last] + 1 + CONTEXT)
        before = lines[:low]
        starts = [
            None if start is None else start + sum(line[0] != sign for line in before)
            for start, sign in ((old, "+"), (new, "-"))
        ]
        yield Hunk(lines[low:high], *starts), edits[low:high], run.ends and high == len(lines)
        at = last + 1


def _netted(lines: list[Line]) -> tuple[list[str], list[Any]]:
    """Lines with their signs, and the edit behind each; what was taken out and put back within one change is none."""
    signed: list[str] = []
    edits: list[Any] = []
    for _, group in groupby(lines, lambda line: line.old and line.new):
        both = list(group)
        olds, news = [line for line in both if line.old], [line for line in both if line.new]
        behind = {"-": iter(olds), "+": iter(news)}
        for line in differences([line.text for line in olds], [line.text for line in news]):
            changed = [next(behind[sign]) for sign in (line[0] if line[0] != " " else "-+")]
            signed.append(line)
            edits.append(None if len(changed) == 2 else changed[0].edit or changed[0].gone)
    return signed, edits


def differences(olds: Sequence[str], news: Sequence[str]) -> list[str]:
    """Return all lines of two texts with their signs."""
    low = 0
    while low < min(len(olds), len(news)) and olds[low] == news[low]:
        low += 1
    end = 0
    while end < min(len(olds), len(news)) - low and olds[-1 - end] == news[-1 - end]:
        end += 1
    signed = [" " + text for text in olds[:low]]
    a, b = olds[low : len(olds) - end], news[low : len(news) - end]
    small = len(a) + len(b) <= _QUADRATIC and a and b
    codes = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if small else [("", 0, len(a), 0, len(b))]
    for tag, i, j, k, n in codes:
        if tag == "equal":
            signed += [" " + text for text in a[i:j]]
        else:
            signed += ["-" + text for text in a[i:j]] + ["+" + text for text in b[k:n]]
    return signed + [" " + text for text in olds[len(olds) - end :]]


def find(texts: list[str], wanted: list[str]) -> list[int]:
    """The places at which lines stand in a row."""
    first, size = wanted[0], len(wanted)
    return [i for i, text in enumerate(texts) if text == first and texts[i : i + size] == wanted]

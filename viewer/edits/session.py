"""The changes of a session and its subagents in files: the edits of each file, and what came of them."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from renderers.headline import tool_command, tool_slice, verb_of
from renderers.places import place_of
from schemas.costs.responses import members_of
from schemas.diffs import FileDiff, Hunk, lines_of, texts_asked, totals
from schemas.message import Flag, Kind, Message, Tool, ToolStatus
from schemas.path_hints import resolve_hints, rewrites, shell_changes, shell_directory
from schemas.session import Session
from schemas.slices import path_in
from viewer.edits.lines import Contradiction, FileLines, Stage, between, differences

if TYPE_CHECKING:
    from schemas.provider import Problem

_NOT_DONE = {
    ToolStatus.ERROR: "failed",
    ToolStatus.DENIED: "denied",
    ToolStatus.INTERRUPTED: "interrupted",
    ToolStatus.PENDING: "without a result",
}
_EVERYWHERE = ("replace_all", "replaceAll")


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """One edit of one file: by which message of which session, for which prompt."""

    path: str
    """The file as seen from the workspace."""
    diff: FileDiff
    verb: str
    """What the edit is called in a transcript: `Edit`, `Write`."""
    time: float | None
    exchange: int
    """Index of the exchange, in the session that the person began."""
    place: str
    """Where the edit stands, or the use that started the subagent which made it: `#3.7`."""
    message: str
    """The message's id."""
    subagent: str = ""
    """Which subagent made it."""
    everywhere: bool = False
    """Whether each place was replaced that holds the text."""


class Command(NamedTuple):
    """A shell command, or another tool, that changed a file in a way that no record tells."""

    path: str
    """Empty where it may have been any file."""
    how: str
    place: str
    subagent: str
    perhaps: bool = False
    """Whether it is not known that it did: it failed, was broken off or has no result, perhaps after the change."""

    @property
    def replaces(self) -> bool:
        """Tell whether the file is another one after it, and not the same with other lines."""
        return not self.perhaps and not rewrites(self.how)


@dataclass(slots=True, eq=False)
class FileChange:
    """A file that a session changed."""

    path: str
    """As it is called in the end, seen from the workspace."""
    happened: list[Edit | Command] = field(default_factory=list)
    """The edits, and what changed it otherwise, in the order of time."""
    stages: list[Stage] = field(default_factory=list)
    """What came of the edits: one difference, and another one after each change that is not recorded."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Edits that changed nothing, by their end: `failed`, `denied`, `interrupted`, `without a result`, `rewound`."""
    changed_meanwhile: bool = False
    """Whether lines were others than the edits had left: somebody else changed it."""
    complete: bool = False
    """Whether `stages` are all that became of it, whatever else changed it in between."""

    @property
    def edits(self) -> list[Edit]:
        """The edits, in order."""
        return [one for one in self.happened if isinstance(one, Edit)]

    @property
    def commands(self) -> list[Command]:
        """The commands that changed it, `sed -i` for instance: nothing of that is in `stages`."""
        return [one for one in self.happened if isinstance(one, Command)]

    @property
    def diffs(self) -> list[FileDiff]:
        """The differences, in order."""
        return [stage.diff for stage in self.stages]

    @property
    def operation(self) -> str:
        """Tell what became of it: add, update, delete or move; `none` where nothing came of its edits."""
        if not self.stages:
            return "none" if self.edits or all(one.perhaps for one in self.commands) else "update"
        first, last = self.diffs[0].operation, self.diffs[-1].operation
        return last if last == "delete" or first == "update" else first


@dataclass(slots=True)
class Changes:
    """The changes of a session, or of a part of it."""

    files: list[FileChange] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    """Those that may have changed any file: `git apply`."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Edits that changed nothing, over all files."""
    problems: list[Problem] = field(default_factory=list)
    """Subagents that could not be read."""

    @property
    def changed(self) -> int:
        """Count the files that something changed: not those in which all edits failed or came to nothing."""
        return sum(bool(file.stages or file.commands) for file in self.files)

    @property
    def lines(self) -> tuple[int, int] | None:
        """Count the lines that came and those that went; None where no record tells of any."""
        told = any(file.stages for file in self.files)
        return totals([diff for file in self.files for diff in file.diffs]) if told else None


class Read(NamedTuple):
    """Lines of a file that a tool showed."""

    path: str
    start: int
    lines: list[str]
    ends: bool


class Left(NamedTuple):
    """An edit that changed nothing."""

    path: str
    end: str


class Step(NamedTuple):
    """Something that happened to a file, in the order of time."""

    time: float
    inside: bool
    """Whether it stands in the part that was asked for."""
    what: Edit | Read | Left | Command


class _Origin(NamedTuple):
    """The start of a subagent: in which message of the session itself, and what it is called."""

    message: int = -1
    subagent: str = ""


# -- steps -----------------------------------------------------------------------------------------------------------


def steps_of(session: Session, messages: range | None = None, problems: list[Problem] | None = None) -> list[Step]:
    """All that happened to files in a session and its subagents, in order; `messages` are those that are asked for."""
    origins: dict[object, _Origin] = {}
    lanes: list[list[Step]] = []
    reads: set[str] = set()
    for member in members_of(session, [] if problems is None else problems):
        known = origins.get(id(member)) or origins.get(os.path.realpath(member.path)) if member is not session else None
        origin = known or _Origin()
        for subagent in member.subagents:
            start = origin.message if member is not session else -1 if subagent.tool_use is None else subagent.tool_use
            key = id(subagent.session) if subagent.session is not None else os.path.realpath(subagent.path or "")
            origins.setdefault(key, _Origin(start, subagent.name or subagent.description or subagent.id))
        lanes.append(list(_member_steps(session, member, origin, messages, reads)))
    return list(heapq.merge(*lanes, key=lambda step: step.time))


def _member_steps(
    session: Session, member: Session, origin: _Origin, messages: range | None, reads: set[str]
) -> Iterator[Step]:
    main, root = member is session, session.workspace_root or member.workspace_root
    kinds, time = member.messages.kind, 0.0
    if not main and origin.message >= 0:
        time = session.messages.when(origin.message) or 0.0
    shown: list[tuple[float, bool, int, str]] = []
    steps: list[tuple[int, Step]] = []
    for index in range(len(kinds)):
        time = max(time, member.messages.when(index) or 0.0)
        if kinds[index] != Kind.TOOL:
            continue
        message = member.message(index)
        at = index if main else origin.message
        inside = (messages is None or at in messages) and not message.flags & Flag.INHERITED
        if message.tool is None:
            continue
        cwd = message.metadata.get("cwd") or member.workspace_root
        if not message.tool.diffs and (part := tool_slice(message.tool)) is not None and part.start:
            place = shell_directory(message.tool.input, cwd) if message.tool.type == "shell" else cwd
            shown.append((time, inside, index, _seen(part.path, place, root)))
        for what in _happened(session, member, root, message, message.tool, at, origin):
            steps.append((index, Step(time, inside, what)))
            if isinstance(what, Edit):
                reads |= {what.path, *filter(None, [what.diff.renamed_to])}
    for at_time, inside, index, path in shown:  # what is in other files need not be kept until here
        tool = member.message(index).tool if path in reads else None
        if tool is not None and (part := tool_slice(tool)) is not None and part.start:
            steps.append((index, Step(at_time, inside, Read(path, part.start, lines_of(part.text), part.ends))))
    yield from (step for _, step in sorted(steps, key=lambda pair: pair[0]))


def _happened(
    session: Session, member: Session, root: str | None, message: Message, tool: Tool, at: int, origin: _Origin
) -> Iterator[Edit | Left | Command]:
    """Tell what a tool use did to files."""
    cwd = message.metadata.get("cwd") or member.workspace_root
    started = 0 <= at < len(session.messages)
    if tool.diffs or tool.type == "write":
        place = place_of(session, at) if started else ""
        hints = [_seen(diff.path, cwd, root) for diff in tool.diffs] or message.path_hints
        hints = hints or [_seen(path_in(tool.input), cwd, root)]
        end = "rewound" if message.flags & Flag.REWOUND else _NOT_DONE.get(tool.status, "")
        if end:
            yield from (Left(path, end) for path in dict.fromkeys(hints))
        elif not tool.diffs:
            yield from (Command(path, tool.name, place, origin.subagent) for path in hints)
        verb = verb_of(tool)
        everywhere = any(tool.input.get(key) is True for key in _EVERYWHERE)
        exchange = session.messages.exchange[at] if started else 0
        # What is shown of the texts that were replaced is cut.
        given = [Hunk(differences(lines_of(old), lines_of(new))) for old, new in texts_asked(tool.input) if old]
        for diff, path in zip(tool.diffs if not end else [], hints, strict=False):
            if given and len(tool.diffs) == 1 and all(hunk.old_start is None for hunk in diff.hunks):
                diff = replace(diff, hunks=given)
            if diff.renamed_to:
                diff = replace(diff, renamed_to=_seen(diff.renamed_to, cwd, root))
            yield Edit(
                path, diff, verb, message.timestamp, exchange, place, message.id, origin.subagent, everywhere
            )  # fmt: skip
        return
    command = tool_command(tool) if tool.type == "shell" else None
    for how, path in shell_changes(command, shell_directory(tool.input, cwd)) if command else []:
        seen = _seen(path, cwd, root)
        if tool.status is ToolStatus.DENIED:
            yield Left(seen, "denied")
        else:
            # What failed may have done a part of its work, and no agent tells which.
            perhaps = tool.status in _NOT_DONE or bool(tool.exit_code)
            yield Command(seen, how, place_of(session, at) if started else "", origin.subagent, perhaps)


def _seen(path: str, cwd: str | None, root: str | None) -> str:
    return path and next(iter(resolve_hints([path], cwd, root)), path)


# -- files -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _File:
    """A file while the steps are gone through."""

    change: FileChange
    name: str
    """What it was called when this stage began."""
    lines: FileLines = field(default_factory=FileLines)

    follows: bool = False
    """Whether a change that is not recorded came before."""
    commanded: bool = False
    """Whether a command may have changed its lines since the last edit."""
    began: tuple[str, list[str], bool] | None = None
    """The name and all lines before the first stage, and whether it was absent; None where that is not known."""

    def end_stage(self) -> None:
        """Note what came of the edits until now, and that of what is in the file nothing is known any more. Where all
        of it is known, before the first stage and now, what was not recorded in between does not matter.
        """
        lines, change = self.lines, self.change
        if not self.follows and (lines.absent or (lines.whole is not None and not lines.rewritten)):
            old = [] if lines.absent or lines.whole is None else [line.text for line in lines.whole.lines if line.old]
            self.began = self.name, old, lines.absent
        stage = lines.stage(self.name, change.path)
        stage.follows = self.follows
        change.complete = False
        if self.began is not None and lines.whole is not None and stage.follows:
            change.complete = not self.commanded
            name, old, absent = self.began
            stage = between(old, lines.whole.view, absent=absent, deleted=lines.deleted).stage(name, change.path)
            change.stages.clear()
        if stage.rewritten:
            change.stages.clear()
        if stage.diff.hunks or stage.diff.operation != "update":
            change.stages.append(stage)
        self.lines, self.name = FileLines(), change.path

    def begin(self) -> None:
        """Let what it is now be what it was before."""
        self.lines.settle()
        self.change.stages.clear()
        self.began, self.follows, self.name = None, False, self.change.path

    def take(self, what: Edit | Read) -> None:
        """Take in an edit or a read; where it does not fit, somebody else changed the file before."""
        try:
            put(self.lines, what)
        except Contradiction:
            self.end_stage()
            if self.change.edits:
                self.follows = True
                self.change.changed_meanwhile |= not self.commanded
            self.lines = put_anew(what)


def put(lines: FileLines, what: Edit | Read) -> None:
    """Let an edit change a file, or a read tell of it. Raises Contradiction where it does not fit."""
    if isinstance(what, Read):
        lines.learn(what.start, what.lines, ends=what.ends)
        return
    diff = what.diff
    fills = not lines.runs and [hunk.old_start for hunk in diff.hunks] == [0]  # an empty file, or a new one
    if diff.operation == "add" or (fills and not diff.removed):
        lines.write([line[1:] for hunk in diff.hunks for line in hunk.lines], what)
    elif diff.operation == "delete":
        if lines.whole is None and diff.hunks:
            lines.learn(1, [line[1:] for line in diff.hunks[0].lines], ends=True)
        lines.delete()
    else:
        lines.apply(diff.hunks, what, everywhere=what.everywhere)


def put_anew(what: Edit | Read) -> FileLines:
    """A file of which nothing is known but an edit, or a read."""
    lines = FileLines()
    try:
        put(lines, what)
    except Contradiction:  # its hunks contradict each other, so none is where it says
        lines = FileLines()
        if isinstance(what, Edit):
            lines.apply([Hunk(hunk.lines) for hunk in what.diff.hunks], what)
    return lines


def changes_of(session: Session, messages: range | None = None) -> Changes:
    """The changes of a session and its subagents: all, or those of some of its messages."""
    changes = Changes()
    files: dict[str, _File] = {}
    steps = steps_of(session, messages, changes.problems)
    asked = [i for i, step in enumerate(steps) if step.inside and not isinstance(step.what, Read)]
    for i, step in enumerate(steps[: asked[-1] + 1] if asked else []):
        what = step.what
        if i == asked[0]:
            for file in files.values():
                file.begin()
        if not step.inside and i > asked[0] and not isinstance(what, Read):
            continue
        if isinstance(what, Left) and step.inside:
            changes.left_out[what.end] += 1
        if not what.path:
            for file in files.values():
                file.commanded = True
            changes.commands += [what] if step.inside and isinstance(what, Command) else []
            continue
        file = files.setdefault(what.path, _File(FileChange(what.path), what.path))
        if step.inside and file.change not in changes.files and not isinstance(what, Read):
            changes.files.append(file.change)
        if isinstance(what, Left):
            file.change.left_out.update([what.end] * step.inside)
            continue
        if not isinstance(what, Command):
            file.take(what)
            file.commanded = False
        elif what.replaces:
            file.end_stage()
            file.follows = True
        else:
            file.commanded = True
        if not isinstance(what, Read):
            file.change.happened += [what] if step.inside else []
        if isinstance(what, Edit) and what.diff.renamed_to:
            file.change.path = what.diff.renamed_to
            files[file.change.path] = files.pop(what.path)
    for file in files.values():
        if file.change in changes.files:
            file.end_stage()
    return changes

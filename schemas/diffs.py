"""Diffs: the changes of a tool in a file, in one shape whatever form the agent recorded them in."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.clean import clean

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SIDE_BY_SIDE_LIMIT = 4000  # lines; difflib is quadratic at its worst, and such a change is read in an editor


@dataclass(slots=True)
class Hunk:
    """A run of changed lines with their context. Each line begins with a space, `+` or `-` and has no newline.

    `old_start` and `new_start` count from 1; None where the source gives text without its place in the file.
    """

    lines: list[str]
    old_start: int | None = None
    new_start: int | None = None

    @property
    def header(self) -> str:
        """The line above it in a unified diff: where it stands and how many lines it has of both sides."""
        olds, news = (len(self.lines) - _count(self.lines, sign) for sign in "+-")
        start_old = self.old_start if self.old_start is not None else 1
        start_new = self.new_start if self.new_start is not None else 1
        return f"@@ -{start_old if olds else 0},{olds} +{start_new if news else 0},{news} @@"


@dataclass(slots=True)
class FileDiff:
    """The change of one file: `operation` is add, update, delete or move."""

    path: str
    operation: str = "update"
    hunks: list[Hunk] = field(default_factory=list)
    renamed_to: str | None = None

    @property
    def added(self) -> int:
        """Lines that came."""
        return sum(_count(hunk.lines, "+") for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines that went."""
        return sum(_count(hunk.lines, "-") for hunk in self.hunks)

    def unified(self) -> str:
        """The change as a unified diff with its two header lines; ends in a newline."""
        old = "/dev/null" if self.operation == "add" else f"a/{self.path.lstrip('/')}"
        new = "/dev/null" if self.operation == "delete" else f"b/{(self.renamed_to or self.path).lstrip('/')}"
        out = [f"--- {old}", f"+++ {new}"]
        for hunk in self.hunks:
            out.append(hunk.header)
            out.extend(hunk.lines)
        return "\n".join(out) + "\n"


OLD_TEXTS = ("old_string", "oldString", "old_text", "oldText", "old_str")
NEW_TEXTS = ("new_string", "newString", "new_text", "newText", "new_str")
WHOLE_TEXTS = ("content", "contents", "file_text", "fileText")
"""What tools that change files call their inputs: the text before and after, and the whole of a new file."""


def _count(lines: list[str], sign: str) -> int:
    return [line[:1] for line in lines].count(sign)


def from_strings(path: str, old: str, new: str, operation: str = "update") -> FileDiff:
    """The difference of two texts. Their place in the file is unknown, so the hunks have no line numbers."""
    olds, news = clean(old).split("\n"), clean(new).split("\n")
    if old == "":
        olds = []
    if new == "":
        news = []
    for side in (olds, news):
        if side and side[-1] == "":
            side.pop()
    if len(olds) + len(news) > _SIDE_BY_SIDE_LIMIT or not olds or not news:
        lines = [*("-" + line for line in olds), *("+" + line for line in news)]
        return FileDiff(clean(path), operation, [Hunk(lines)] if lines else [])
    hunks: list[Hunk] = []
    for line in difflib.unified_diff(olds, news, lineterm="", n=3):
        if line.startswith(("---", "+++")) and not hunks:
            continue
        if line.startswith("@@") and _HUNK.match(line):
            hunks.append(Hunk([]))
        elif hunks:
            hunks[-1].lines.append(line)
    return FileDiff(clean(path), operation, hunks)


def added_file(path: str, content: str) -> FileDiff:
    """A file that was not there before."""
    diff = from_strings(path, "", content, "add")
    for hunk in diff.hunks:
        hunk.old_start, hunk.new_start = 0, 1
    return diff


def from_structured_patch(path: str, patch: object, texts: Iterable[object] = ()) -> FileDiff | None:
    """Claude Code's `structuredPatch`: a list of `{oldStart, newStart, lines}`; None if it is something else. A tab
    is two spaces in it; `texts`, of which it was made, have the lines as they are.
    """
    if not isinstance(patch, list):
        return None
    tabbed = [line for text in texts if isinstance(text, str) and "\t" in text for line in clean(text).split("\n")]
    exact = {line.replace("\t", "  "): line for line in tabbed if "\t" in line}
    hunks: list[Hunk] = []
    for item in patch:
        if not isinstance(item, Mapping) or not isinstance(item.get("lines"), list):
            return None
        # "\ No newline at end of file" is a remark, not a line.
        lines = [line for line in item["lines"] if isinstance(line, str) and not line.startswith("\\")]
        lines = [one for line in lines for one in _hunk_lines(line)]
        lines = [line[:1] + exact.get(line[1:], line[1:]) for line in lines]
        hunks.append(Hunk(lines, _start(item.get("oldStart")), _start(item.get("newStart"))))
    return FileDiff(clean(path), "update", hunks)


def _hunk_lines(line: str) -> list[str]:
    """A line as a hunk holds it. One without a mark is context; one with newlines in it is several, and a last newline
    (of a file with CRLF) is the line's own end.
    """
    line = clean(line)
    if line[:1] in _MARKS and "\n" not in line:
        return [line]
    mark, body = (line[0], line[1:]) if line[:1] in _MARKS else (" ", line)
    return [mark + piece for piece in body.removesuffix("\n").split("\n")]


def _start(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def from_unified(path: str, text: str, operation: str = "update", renamed_to: str | None = None) -> FileDiff:
    """A unified diff of one file, with or without its header lines."""
    hunks: list[Hunk] = []
    for line in clean(text).split("\n"):
        if match := _HUNK.match(line):
            hunks.append(Hunk([], int(match[1]), int(match[3])))
        elif hunks and line[:1] in (" ", "+", "-"):
            hunks[-1].lines.append(line)
        elif hunks and line == "" and hunks[-1].lines:
            hunks[-1].lines.append(" ")
    for hunk in hunks:  # the text's last newline is no context line
        while hunk.lines and hunk.lines[-1] == " ":
            hunk.lines.pop()
    return FileDiff(clean(path), operation, hunks, clean(renamed_to) if renamed_to else None)


_MARKS = (" ", "+", "-")
_V4A_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.*)$")


def from_v4a(patch: str) -> list[FileDiff]:
    """Codex's `apply_patch` text (`*** Begin Patch` … `*** End Patch`): one diff a file, without line numbers.

    Tolerant: what is not part of a file's section is passed over, so a heredoc around the patch does no harm.
    """
    diffs: list[FileDiff] = []
    for line in clean(patch).split("\n"):
        if match := _V4A_FILE.match(line):
            diffs.append(FileDiff(match[2].strip(), match[1].lower()))
        elif line.startswith("*** End Patch"):
            break
        elif not diffs:
            continue
        elif line.startswith("*** Move to: "):
            diffs[-1].renamed_to, diffs[-1].operation = line[13:].strip(), "move"
        elif line.startswith("@@"):
            diffs[-1].hunks.append(Hunk([]))
        elif line.startswith("*** "):
            continue
        elif line[:1] in (" ", "+", "-") or (line == "" and diffs[-1].hunks):
            if not diffs[-1].hunks:
                diffs[-1].hunks.append(Hunk([]))
            diffs[-1].hunks[-1].lines.append(line or " ")
    for diff in diffs:
        diff.hunks = [hunk for hunk in diff.hunks if hunk.lines]
        if diff.operation == "add" and diff.hunks:
            diff.hunks[0].old_start, diff.hunks[0].new_start = 0, 1
    return diffs


def totals(diffs: Iterable[FileDiff]) -> tuple[int, int]:
    """Lines added and removed over all of them."""
    added = removed = 0
    for diff in diffs:
        added += diff.added
        removed += diff.removed
    return added, removed


def diff_to_json(diff: FileDiff) -> dict[str, Any]:
    """A diff as a JSON object; `diff_from_json` reads it back."""
    hunks = [{"oldStart": h.old_start, "newStart": h.new_start, "lines": h.lines} for h in diff.hunks]
    data: dict[str, Any] = {"path": diff.path, "operation": diff.operation, "hunks": hunks}
    if diff.renamed_to:
        data["renamedTo"] = diff.renamed_to
    return data


def diff_from_json(data: object) -> FileDiff | None:
    """Read what `diff_to_json` wrote; None if it is something else."""
    if not isinstance(data, Mapping) or not isinstance(data.get("path"), str):
        return None
    diff = from_structured_patch(data["path"], data.get("hunks")) or FileDiff(clean(data["path"]))
    diff.operation = data["operation"] if data.get("operation") in ("add", "update", "delete", "move") else "update"
    renamed = data.get("renamedTo")
    diff.renamed_to = clean(renamed) if isinstance(renamed, str) else None
    return diff

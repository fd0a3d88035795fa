"""Diffs: the changes of a tool in a file, in one shape whatever form the agent recorded them in."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any, NamedTuple

from schemas.clean import clean
from schemas.slices import FILE_INPUTS
from schemas.values import dict_of, list_of, text_of

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_SIDE_BY_SIDE_LIMIT = 4000  # lines; difflib is quadratic at its worst, and such a change is read in an editor


@dataclass(slots=True)
class Hunk:
    """A run of changed lines with their context. Each line begins with a space, `+` or `-` and has no newline; one that
    begins with a backslash is a remark on the line before, that no newline is at the file's end.

    `old_start` and `new_start` count from 1; None where the source gives text without its place in the file.
    """

    lines: list[str]
    old_start: int | None = None
    new_start: int | None = None
    heading: str = field(default="", kw_only=True)
    """What stands behind its header: Git names the function around it."""

    @property
    def header(self) -> str:
        """The line above it in a unified diff: where it stands and how many lines it has of both sides."""
        olds, news = (len(self.lines) - _count(self.lines, "\\") - _count(self.lines, sign) for sign in "+-")
        start_old = self.old_start if self.old_start is not None else 1
        start_new = self.new_start if self.new_start is not None else 1
        return f"@@ -{start_old if olds else 0},{olds} +{start_new if news else 0},{news} @@{self.heading}"


@dataclass(slots=True)
class FileDiff:
    """The change of one file: `operation` is add, update, delete or move, in what Git printed copy as well."""

    path: str
    operation: str = "update"
    hunks: list[Hunk] = field(default_factory=list)
    renamed_to: str | None = None
    cleaned: bool = field(default=False, compare=False)
    """Whether its texts had characters that are not shown as they are: control characters, other ends of lines."""
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    """What Git said of it beside its lines: its mode, that it is binary."""

    @property
    def names(self) -> str:
        """The name of the file, the one that it had before in front of it."""
        return f"{self.path} → {self.renamed_to}" if self.renamed_to else self.path

    @property
    def title(self) -> str:
        """The words above the change: what was done to which file."""
        return ", ".join((("" if self.operation == "update" else f"{self.operation} ") + self.names, *self.notes))

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


def lines_of(text: str) -> list[str]:
    """The lines of a text, the last one with a newline behind it or without."""
    return text.removesuffix("\n").split("\n") if text else []


def _count(lines: list[str], sign: str) -> int:
    return [line[:1] for line in lines].count(sign)


def from_strings(path: str, old: str, new: str, operation: str = "update") -> FileDiff:
    """The difference of two texts. Their place in the file is unknown, so the hunks have no line numbers."""
    olds, news = lines_of(clean(old)), lines_of(clean(new))
    if len(olds) + len(news) > _SIDE_BY_SIDE_LIMIT or not olds or not news:
        lines = [*("-" + line for line in olds), *("+" + line for line in news)]
        return FileDiff(clean(path), operation, [Hunk(lines)] if lines else [])
    hunks: list[Hunk] = []
    for line in islice(difflib.unified_diff(olds, news, lineterm="", n=3), 2, None):  # behind both names
        if line.startswith("@@"):
            hunks.append(Hunk([]))
        else:
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
        elif hunks and (line[:1] in _MARKS or (not line and hunks[-1].lines)):
            hunks[-1].lines.append(line or " ")
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
        elif line[:1] in _MARKS or (not line and diffs[-1].hunks):
            diffs[-1].hunks = diffs[-1].hunks or [Hunk([])]
            diffs[-1].hunks[-1].lines.append(line or " ")
    for diff in diffs:
        diff.hunks = [hunk for hunk in diff.hunks if hunk.lines]
        if diff.operation == "add" and diff.hunks:
            diff.hunks[0].old_start, diff.hunks[0].new_start = 0, 1
    return diffs


def totals(diffs: Sequence[FileDiff]) -> tuple[int, int]:
    """Lines added and removed over all of them."""
    return sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)


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


def path_asked(given: object) -> str:
    """The file that a tool is asked to change; empty where its input names none, or asks to see it."""
    said = dict_of(given)
    return "" if said.get("command") == "view" else _first(said, FILE_INPUTS)


def changes_asked(given: object, name: str = "") -> list[FileDiff]:
    """The changes for which the input of a tool asks, by the names that most agents give its parts; `name` is that of
    the tool, where it may be one that deletes.
    """
    said = dict_of(given)
    if found := from_v4a(given if isinstance(given, str) else _first(said, ("patchText", "patch", "input"))):
        return found
    path = path_asked(given)
    if path and name.lower().startswith("delete"):
        return [FileDiff(clean(path), "delete")]
    if hunks := [hunk for old, new in texts_asked(said) if old or new for hunk in from_strings(path, old, new).hunks]:
        return [FileDiff(clean(path), "update", hunks)]
    content = next((said[key] for key in WHOLE_TEXTS if isinstance(said.get(key), str)), None)
    return [] if content is None or not path else [added_file(path, content)]


def texts_asked(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The texts that the input of a tool asks to replace, each with what is to stand there."""
    edits = list_of(given.get("edits")) or list_of(given.get("content")) or [given]
    return [(_first(edit, OLD_TEXTS), _first(edit, NEW_TEXTS)) for edit in map(dict_of, edits)]


def _first(said: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The first text under one of these keys; empty if there is none."""
    return next((text for key in keys if (text := text_of(said.get(key)))), "")


class Passage(NamedTuple):
    """A stretch of a text from `start` to `end`, without the newline behind it: the difference of one file, or what
    stands between two (`diff` is None). At `head` its names and the line above its first hunk end.
    """

    start: int
    end: int
    diff: FileDiff | None = None
    head: int = 0


_GIT_FILE = "diff --git "
_GIT_HEADER = re.compile(
    r"index [0-9a-f]+\.\.|(?P<how>old|new|new file|deleted file) mode (?P<mode>\d+)|(?:dis)?similarity index \d"
    r"|(?P<kind>rename|copy) (?P<way>from|to) (?P<name>.+)|(?P<binary>Binary files .* differ$)"
)
_PORCELAIN = "\n~\n"
"""The end of a line in `git diff --word-diff=porcelain`."""
_WORD_MARKS = re.compile(r"\[-.*-\]|\{\+.*\+\}")
"""What went and what came in `git diff --word-diff`."""
_OPERATIONS = {"new file": "add", "deleted file": "delete", "rename": "move", "copy": "copy"}


def passages_in(text: str) -> Iterator[Passage]:
    """Take apart what a program printed: the differences, as Git and diff write them, and what stands between. A hunk
    counts whose lines are as many as it says, or which the text breaks off. What only looks like a difference stays
    text, as do changes against several parents, and all of a text that tells them by word.
    """
    some = ("@@ -" in text or _GIT_FILE in text) and _PORCELAIN not in f"{text}\n"
    lines = text.split("\n") if some else []
    found: list[tuple[int, FileDiff, int, int]] = []
    at = others = 0
    while at < len(lines):
        if lines[at].startswith((_GIT_FILE, "--- ")) and (one := _difference_at(lines, at)):
            found.append((at, *one))
            at = one[2]
        else:
            others += lines[at].startswith("@@ -")
            at += 1
    if others and not any(diff.hunks for _, diff, _, _ in found):  # what has no hunks is told as the rest is
        found.clear()
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    before = 0
    for at, diff, head, end in found:
        if at > before:
            yield Passage(offsets[before], offsets[at] - 1)
        yield Passage(offsets[at], offsets[end] - 1, diff, offsets[head] - 1)
        before = end
    if offsets[before] < len(text) or not before:
        yield Passage(offsets[before], len(text))


def _difference_at(lines: Sequence[str], start: int) -> tuple[FileDiff, int, int] | None:
    """Return the difference of one file that begins there, if one does, and where its head and itself end."""
    at, diff, modes = start, FileDiff(""), dict[str, str]()
    if lines[at].startswith(_GIT_FILE):
        names = lines[at][len(_GIT_FILE) :]
        old, new = _unquoted(names[: len(names) // 2]), _unquoted(names[len(names) // 2 + 1 :])
        # Letters of diff.mnemonicPrefix differ; without prefixes the two are the same.
        lettered = old[1:2] == "/" and old[1:] == new[1:] and old != new
        diff.path = new[2:] if lettered else _without_prefix(new)
        at += 1
        while at < len(lines) and (match := _GIT_HEADER.match(lines[at])):
            how, mode, kind, way, name, binary = match.group("how", "mode", "kind", "way", "name", "binary")
            diff.operation = _OPERATIONS.get(how or kind or "", diff.operation)
            if mode:
                modes[how] = mode
            elif way == "from":
                diff.path = _unquoted(name)
            elif way == "to":
                diff.renamed_to = _unquoted(name)
            elif binary:
                diff.notes = ("binary",)
            at += 1
        if "old" in modes:
            diff.notes = (f"mode {modes['old']} → {modes.get('new', '')}", *diff.notes)
    named = at + 1 < len(lines) and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")
    if named:
        said = _named(*lines[at : at + 2])
        if said.operation != "update":
            diff.operation = said.operation
        if not (diff.renamed_to or (diff.path and diff.path in (said.path, said.path[2:]))):
            diff.path, diff.renamed_to = said.path, said.renamed_to
        at += 2
    head = at
    while named and (end := _hunk_at(lines, at, diff)):
        at = end
    whole = diff.added or diff.removed if named else diff.notes or diff.operation != "update"
    return (diff, head + bool(diff.hunks), at) if whole else None


def _named(before: str, after: str) -> FileDiff:
    """Return a difference without its hunks, of which two lines name both sides."""
    old, new = (_without_prefix(_unquoted(line[4:].partition("\t")[0])) for line in (before, after))
    if "/dev/null" in (old, new):
        return FileDiff(new, "add") if old == "/dev/null" else FileDiff(old, "delete")
    return FileDiff(old, renamed_to=new if new != old else None)


def _unquoted(name: str) -> str:
    """Return a file's name as it is, where Git quotes it."""
    if len(name) < 2 or not name[0] == name[-1] == '"':
        return name
    # As Git quotes it: a byte in octal digits, or a character behind a backslash.
    raw = _QUOTED.sub(
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else _ESCAPES.get(match[1], match[1]),
        name[1:-1].encode(),
    )
    return clean(raw.decode("utf-8", "replace"))


_QUOTED = re.compile(rb"\\([0-3][0-7]{2}|.)")
_ESCAPES = {b"n": b"\n", b"t": b"\t"}


def _without_prefix(name: str) -> str:
    return name[2:] if name[:2] in ("a/", "b/") else name


def _hunk_at(lines: Sequence[str], at: int, diff: FileDiff) -> int:
    """Add the hunk that begins there; return where it ends, 0 if there is none."""
    match = _HUNK.match(lines[at]) if at < len(lines) else None
    if match is None:
        return 0
    old, new = (1 if match[group] is None else int(match[group]) for group in (2, 4))
    body: list[str] = []
    at += 1
    while at < len(lines) and (old > 0 or new > 0):
        sign = lines[at][:1] or " "  # blank context may have lost its space
        if sign != "\\":
            if sign not in _MARKS:
                return 0
            old, new = old - (sign != "+"), new - (sign != "-")
        body.append(lines[at] or " ")
        at += 1
    if old < 0 or new < 0 or not body or (old + new and any(map(_WORD_MARKS.search, body))):
        return 0
    if at < len(lines) and lines[at].startswith("\\ "):
        body.append(lines[at])
        at += 1
    diff.hunks.append(Hunk(body, int(match[1]), int(match[3]), heading=match.string[match.end() :]))
    return at


def quoted_diffs(text: str) -> list[FileDiff]:
    """The differences that somebody wrote by hand: headers may be missing and counts wrong. None where a line is not of
    a difference.
    """
    if text.startswith("*** Begin Patch"):
        return from_v4a(text)
    printed = [passage.diff for passage in passages_in(text.rstrip("\n"))]
    if None not in printed:
        return [diff for diff in printed if diff is not None]
    diffs: list[FileDiff] = []
    before = ""
    for line in text.split("\n"):
        if before.startswith("--- ") and line.startswith("+++ "):
            diffs[-1].hunks[-1].lines.pop()
            diffs.append(_named(before, line))
        elif line.startswith("@@"):
            diffs = diffs or [FileDiff("")]
            match = _HUNK.match(line)
            diffs[-1].hunks.append(Hunk([], *((int(match[1]), int(match[3])) if match else ())))
        elif line[:1] in _MARKS or not line or (before and line.startswith("\\ ")):
            diffs = diffs or [FileDiff("")]
            diffs[-1].hunks = diffs[-1].hunks or [Hunk([])]
            diffs[-1].hunks[-1].lines.append(line)
        elif not line.startswith(_GIT_FILE) and not _GIT_HEADER.match(line):
            return []
        before = line
    for diff in diffs:
        diff.hunks = [hunk for hunk in diff.hunks if hunk.lines]
    return [diff for diff in diffs if diff.hunks] if any(diff.added or diff.removed for diff in diffs) else []

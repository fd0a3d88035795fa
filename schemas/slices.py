"""Slices of files that tools read: their lines without the numbers that an agent's program prints before each."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.values import list_of, text_of

FILE_INPUTS = (
    "file_path", "path", "filePath", "notebook_path", "absolute_path", "target_file", "target_notebook", "filepath",
    "filename",
)  # fmt: skip
"""What tools call the file that they read or write."""
_PARTS = frozenset({"offset", "start_line", "startLine", "line_offset", "line", "start", "view_range", "line_range"})
_ENDS = ("limit", "end_line", "endLine", "line_limit", "end")
_ABOVE = 3
"""Lines above the first numbered one, at most."""
_CUT = re.compile(r"truncated|omitted|Showing lines")
_BEGINNING = 500
_LONGEST_READ = 1900
"""Lines: of a longer file the agents show a part, mostly of 2,000."""


class Listing(NamedTuple):
    """The form in which an agent's program shows what it read of a file, as patterns."""

    number: str = ""
    """What stands before each line, its number as a group. Empty where lines stand as they are."""
    first: str = ""
    """The input that names the first line, from 1, where lines have no numbers."""
    head: str = ""
    tail: str = ""
    """What stands above and below lines that have no numbers."""
    bare: bool = False
    """Whether some versions print no numbers."""


class Slice(NamedTuple):
    """Lines of a file, and what the agent's program says above and below them."""

    path: str
    text: str
    start: int | None = None
    """The number of the first line; None where that is not known."""
    before: str = ""
    after: str = ""
    ends: bool = False
    """Whether the file ends with it."""

    @property
    def whole(self) -> str:
        """The lines with what stands around them."""
        return "\n".join(filter(None, (self.before, self.text, self.after)))


def slice_of(text: str, given: Mapping[str, Any], listing: Listing) -> Slice | None:
    """Return the slice that a tool with these inputs read; None if `text` is something else."""
    if not (path := path_in(given)):
        return None
    asked = {key: value for key, value in given.items() if key in (*_PARTS, *_ENDS) and value}
    ends = not asked and text.count("\n") < _LONGEST_READ and not _CUT.search(text[-_BEGINNING:])
    numbered = _numbered(path, text, listing.number, ends=ends) if listing.number else None
    if numbered is not None or (listing.number and not listing.bare):
        return numbered
    if "." not in re.split(r"[/\\]", path)[-1][1:] or "\n" not in text:  # a folder, or a word about a picture
        return None
    parts = {key: value for key, value in asked.items() if key in _PARTS}
    start = parts.pop(listing.first, 1)
    known = isinstance(start, int) and start > 0 and not parts and not _CUT.search(text[:_BEGINNING])
    head = re.match(listing.head, text)
    tail = re.search(rf"\s*(?:{listing.tail})\s*\Z", text) if listing.tail else None
    before, after = (match[0].strip("\n") if match else "" for match in (head, tail))
    text = text[head.end() if head else 0 : tail.start() if tail else None].removesuffix("\n")
    return Slice(path, text, start if known else None, before, after, ends and "more lines" not in after)


def path_in(given: Mapping[str, Any]) -> str:
    """The one file that a tool's input names; empty where it names none."""
    if len(files := list_of(given.get("files"))) == 1 and isinstance(files[0], Mapping):
        given = files[0]
    return next(filter(None, (text_of(given.get(key)) for key in FILE_INPUTS)), "")


def _numbered(path: str, text: str, number: str, *, ends: bool = False) -> Slice | None:
    """Return the lines whose numbers follow each other; None if there are none."""
    pattern = re.compile(f"^(?:{number})", re.MULTILINE)
    begin = pattern.search(text)
    if begin is None or text.count("\n", 0, begin.start()) > _ABOVE or len(begin[1]) > 9:
        return None
    before, text, start = text[: begin.start()].strip("\n"), text[begin.start() :], int(begin[1])
    found = pattern.findall(text)
    if len(found) == text.count("\n") + 1 and found == [*map(str, range(start, start + len(found)))]:
        return Slice(path, pattern.sub("", text), start, before, ends=ends)
    body: list[str] = []
    lines = text.split("\n")
    for line in lines:
        match = pattern.match(line)
        if match is None or match[1].lstrip("0") != str(start + len(body)):
            break
        body.append(line[match.end() :])
    ends = ends and not pattern.match(lines[len(body)])  # a remark stands there, and no other line
    after = "\n".join(lines[len(body) :]).strip("\n")
    return Slice(path, "\n".join(body), start, before, after, ends) if body else None


_TABBED = r" *(\d+)\t"
_LINES = re.compile(r"(\d{1,9}),(\d{1,9})p")
_PATTERN = re.compile(r"[*?$`;&|<>(){}]")
_LONGEST = 500


def shell_slice(command: str, text: str) -> Slice | None:
    """Return the slice of a file that a shell command printed, if that is all that the command does: `cat`, `cat -n`,
    `nl -ba`, `sed -n 12,40p`, and the numbered ones cut by another.
    """
    if len(command) > _LONGEST or "\n" in command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    place, words = (words[1], words[3:]) if words[:1] == ["cd"] and words[2:3] == ["&&"] else ("", words)
    first, cut = (words[: words.index("|")], words[words.index("|") + 1 :]) if "|" in words else (words, [])
    if len(first) < 2 or _PATTERN.search(path := first[-1]) or path.startswith("-"):
        return None
    path = os.path.join(place, path)
    match first[:-1]:
        case ["cat", "-n"] | ["nl", "-ba"] | ["nl", "-b", "a"] if not cut or cut[0] in ("sed", "head", "tail"):
            return _numbered(path, text, _TABBED, ends=not cut and not _CUT.search(text))
        case ["cat"] if not cut:
            return _unless_cut(path, text, 1, ends=True)
        case ["sed", "-n", lines] if not cut and (found := _LINES.fullmatch(lines)):
            room = int(found[2]) - int(found[1]) + 1
            return _unless_cut(path, text, int(found[1])) if text.count("\n") <= room else None
    return None


def _unless_cut(path: str, text: str, start: int, *, ends: bool = False) -> Slice:
    """Return lines as they are; their numbers are not known where some may have been left out."""
    known = not _CUT.search(text)
    return Slice(path, text.removesuffix("\n"), start if known else None, ends=ends and known)

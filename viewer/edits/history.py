"""The history of a file in Git: its versions, and the commit from which each line came. Nothing in it is changed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from schemas.clean import clean, one_line
from schemas.diffs import lines_of

_QUIET = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false", "protocol.allow=never",
    "color.ui=false", "log.showSignature=false", "log.showRoot=true", "diff.interHunkContext=0", "diff.renames=true",
    "blame.ignoreRevsFile=", "i18n.logOutputEncoding=UTF-8",
)  # fmt: skip
"""Settings that start programs, reach for the network or change what is read here."""
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class GitError(Exception):
    """Git cannot answer; its text is one line for the person who asked."""


class Change(NamedTuple):
    """Lines that took the place of others, by their numbers from 0: `old` of the version before, `new` of this one."""

    old: range
    new: range


@dataclass(slots=True)
class Commit:
    """A commit that changed the file."""

    id: str
    name: str
    """The file's name in it, seen from the repository's root."""
    blob: str
    """The file's content in it; empty where Git was not asked for it."""
    authored: float
    committed: float
    author: str
    summary: str
    hunks: list[Change] = field(default_factory=list)
    """What it changed in the version before, white space apart."""


@dataclass(slots=True)
class Repository:
    """A Git repository's working tree, or a folder in it."""

    root: Path

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what a command of Git prints. Raises GitError."""
        settings = [word for setting in _QUIET for word in ("-c", setting)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            done = subprocess.run(
                ["git", "--no-pager", "--literal-pathspecs", *settings, "-C", os.fspath(self.root), *arguments],
                input=given, capture_output=True, check=False, env=kept | _ENVIRONMENT,
            )  # fmt: skip
        except FileNotFoundError:
            raise GitError("the history is asked of git, which is not installed") from None
        except OSError as error:
            raise GitError(f"git: {(error.strerror or str(error)).lower()}") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise GitError(one_line(said or "git failed", 300))
        return done.stdout

    def worktrees(self) -> list[Path]:
        """The working trees of the repository, this one among them."""
        lines = self.run("worktree", "list", "--porcelain", "-z").split(b"\0")
        found = [Path(os.fsdecode(line[9:])) for line in lines if line.startswith(b"worktree ")]
        return list(dict.fromkeys([self.root, *found]))

    def versions(self, name: str) -> list[Commit]:
        """The commits that changed a file, the oldest first, renames followed; a merge with all that it brought."""
        if not self.run("rev-list", "--all", "--max-count=1"):
            return []  # nothing is committed yet
        form = "--format=%x01%H%x00%at%x00%ct%x00%an%x00%s%x00"
        told = self.run(
            "log", "--follow", "--first-parent", "--diff-merges=first-parent", "--no-ext-diff", "--no-textconv", "-w",
            "--raw", "--no-abbrev", "-p", "-U0", form, "HEAD", "--", name,
        )  # fmt: skip
        return [_commit(name, entry) for entry in told.split(b"\x01")[1:]][::-1]

    def contents(self, commits: list[Commit]) -> Iterator[list[str]]:
        """The file's lines in each of some commits; none where it is not in one."""
        told = self.run("cat-file", "--batch", given="".join(f"{commit.blob}\n" for commit in commits).encode())
        at = 0
        for _ in commits:
            end = told.index(b"\n", at)
            head = told[at:end].split()
            size = int(head[2]) if len(head) == 3 and head[1] == b"blob" else -1
            yield file_lines(told[end + 1 : end + 1 + size]) if size >= 0 else []
            at = end + 1 + (size + 1 if size >= 0 else 0)

    def blame(self, name: str) -> list[tuple[Commit, str]]:
        """The commit and the text of each line of the file as it is committed; white space and moves within the file
        are passed over.
        """
        told = self.run("blame", "--porcelain", "-w", "-M", "--no-textconv", "HEAD", "--", name).split(b"\n")
        found: list[tuple[Commit, str]] = []
        commits: dict[str, Commit] = {}
        commit = Commit("", name, "", 0.0, 0.0, "", "")
        for line in told:
            word, _, value = line.partition(b" ")
            text = value.decode("utf-8", "replace")
            if line[:1] == b"\t":
                found.append((commit, clean(line[1:].decode("utf-8", "replace"))))
            elif match := re.match(rb"[0-9a-f]{40,64}(?= \d+ \d+)", line):
                number = match[0].decode()
                commit = commits.setdefault(number, Commit(number, name, "", 0.0, 0.0, "", ""))
            elif word == b"author":
                commit.author = one_line(text, 100)
            elif word == b"author-time":
                commit.authored = float(text)
            elif word == b"committer-time":
                commit.committed = float(text)
            elif word == b"summary":
                commit.summary = one_line(text, 300)
        return found


def repository_of(file: Path) -> Repository:
    """The repository that a file lies in. Raises GitError."""
    folder = file.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return Repository(Path(os.fsdecode(Repository(folder).run("rev-parse", "--show-toplevel").rstrip(b"\n"))))


def file_lines(data: bytes) -> list[str]:
    """A file's lines as they are compared and shown."""
    return lines_of(clean(data.decode("utf-8", "replace")))


def _commit(name: str, entry: bytes) -> Commit:
    number, authored, committed, author, summary, patch = entry.split(b"\0", 5)
    commit = Commit(
        number.decode(), name, "", float(authored), float(committed),
        one_line(author.decode("utf-8", "replace"), 100), one_line(summary.decode("utf-8", "replace"), 300),
    )  # fmt: skip
    for line in patch.split(b"\n"):
        if match := _HUNK.match(line):
            commit.hunks.append(Change(_range(match[1], match[2]), _range(match[3], match[4])))
        elif line[:1] == b":" and not commit.hunks:
            fields, _, told = line.rpartition(b"\t")
            commit.blob = fields.split(b" ")[3].decode()
            if told[:1] == b'"':
                told = told[1:-1].decode("unicode_escape").encode("latin-1")
            commit.name = os.fsdecode(told)
    return commit


def _range(start: bytes, count: bytes | None) -> range:
    """Lines by the numbers that a diff has of them, where one without lines names the line before."""
    size = 1 if count is None else int(count)
    first = int(start) - 1 if size else int(start)
    return range(first, first + size)

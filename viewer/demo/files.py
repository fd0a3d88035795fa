"""An imaginary working directory: demo agents read and edit it, so that what they show is true of it."""

from __future__ import annotations

import difflib
from typing import Any


class Files:
    """File contents by absolute path."""

    def __init__(self, root: str, contents: dict[str, str]) -> None:
        self.root = root
        self._contents = {f"{root}/{name}": text for name, text in contents.items()}

    def path(self, name: str) -> str:
        """The absolute path of a name."""
        return f"{self.root}/{name}"

    def read(self, name: str) -> str:
        """A file's content."""
        return self._contents[self.path(name)]

    def write(self, name: str, text: str) -> None:
        """Make or replace a file."""
        self._contents[self.path(name)] = text

    def replace(self, name: str, old: str, new: str) -> tuple[str, str]:
        """Replace the one place that reads `old`; returns the file before and after."""
        before = self.read(name)
        if before.count(old) != 1:
            raise ValueError(f"{old!r} stands {before.count(old)} times in {name}")
        after = before.replace(old, new)
        self.write(name, after)
        return before, after


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    """The difference as Claude Code's `structuredPatch`."""
    a, b = before.splitlines(), after.splitlines()
    patch = []
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in a[i1:i2]]
            else:
                lines += ["-" + line for line in a[i1:i2]] + ["+" + line for line in b[j1:j2]]
        first, last = group[0], group[-1]
        patch.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return patch


def numbered(text: str) -> str:
    """A file as Claude Code's Read gives it to the model."""
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.splitlines(), 1))

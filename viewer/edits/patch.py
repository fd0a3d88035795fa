"""The changes of a session as a patch that `git apply` takes, and what of them no patch can hold."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from renderers.facts import plural
from renderers.headline import from_root
from schemas.diffs import FileDiff
from viewer.edits.lines import Stage
from viewer.edits.session import Changes
from viewer.edits.words import did

_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_ANYWHERE = 2
"""The line that a hunk without a number is said to begin with: of one at line 1 Git believes it."""


def patch_of(changes: Changes, here: str) -> tuple[str, list[str]]:
    """The patch, and what is not in it, a line each. Absolute paths are seen from the folder `here`."""
    texts: list[str] = []
    lacks: list[str] = []
    for file in changes.files:
        if any(edit.diff.cleaned for edit in file.edits):
            lacks.append(f"{file.path}: it has control characters or other line ends, which are not kept")
            continue
        for stage in file.stages:
            texts.append(_stage(replace(stage, diff=from_root(stage.diff, here)), lacks))
        if file.complete:
            continue
        lacks += [f"{file.path}: {did(one)} ({one.place})" for one in file.commands]
        lacks += [f"{file.path}: changed by somebody else between two edits"] * file.changed_meanwhile
    lacks += [f"{did(one)} ({one.place})" for one in changes.commands]
    return "".join(texts), lacks


def _stage(stage: Stage, lacks: list[str]) -> str:
    diff = stage.diff
    if stage.follows:
        lacks.append(f"{diff.path}: the edits after a change that is not recorded")
        return ""
    if os.path.isabs(diff.path) or diff.path.startswith(("~", "../")) or re.match(r"[A-Za-z]:\\", diff.path):
        lacks.append(f"{diff.path}: outside the workspace")
        return ""
    if stage.rewritten:
        what = "deleted" if diff.operation == "delete" else "written anew"
        lacks.append(f"{diff.path}: {what}, and what was in it before is not recorded")
        return ""
    hunks = [hunk for hunk in diff.hunks if hunk not in stage.open]
    if missing := len(diff.hunks) - len(hunks):
        lacks.append(f"{diff.path}: {missing} of {plural(len(diff.hunks), 'change')}: no line behind is recorded")
    if unplaced := sum(hunk.old_start is None for hunk in hunks):
        lacks.append(f"{diff.path}: the line numbers of {plural(unplaced, 'change')}; their context is in the patch")
    # The numbers of hunks behind one that is left out count it.
    for hunk in hunks:
        if hunk.old_start is None or hunk.new_start is None:
            hunks[hunks.index(hunk)] = replace(hunk, old_start=_ANYWHERE, new_start=_ANYWHERE)
    return _text(replace(diff, hunks=hunks)) if hunks or diff.operation != "update" else ""


def _text(diff: FileDiff) -> str:
    old, new = _quoted(f"a/{diff.path}"), _quoted(f"b/{diff.renamed_to or diff.path}")
    head = [f"diff --git {old} {new}"]
    if diff.operation == "add":
        head.append("new file mode 100644")
        head += ["index 0000000..e69de29"] * (not diff.hunks)  # an empty file's
    elif diff.operation == "delete":
        head.append("deleted file mode 100644")
    elif diff.renamed_to:
        head += [f"rename from {_quoted(diff.path)}", f"rename to {_quoted(diff.renamed_to)}"]
    body = ""
    if diff.hunks:
        sides = "/dev/null" if diff.operation == "add" else old, "/dev/null" if diff.operation == "delete" else new
        # The tab is where such a name ends.
        head += [f"{sign} {name}" + "\t" * (" " in name) for sign, name in zip(("---", "+++"), sides, strict=True)]
        body = replace(diff, path="", renamed_to=None).unified().split("\n", 2)[2]
    return "\n".join(head) + "\n" + body


def _quoted(path: str) -> str:
    """A path as Git writes it."""
    if not _SPECIAL.search(path):
        return path
    return '"' + _SPECIAL.sub(lambda match: f"\\{ord(match[0]):03o}", path) + '"'

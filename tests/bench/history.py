"""A repository of many commits by people and by agents' sessions, in which the origin of each line is known."""

from __future__ import annotations

import difflib
import json
import os
import random
import subprocess
from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from viewer.edits.lines import differences

START = 1_780_000_000
_FILLERS = (
    "        return None",
    "    else:",
    "        pass",
    "    try:",
    "    return result",
    "",
    "    }",
    "        continue",
)


@dataclass(slots=True, eq=False)
class Made:
    """A line, and the id of the message that added it; None where a person did."""

    text: str
    by: str | None = None
    also: frozenset[str | None] = frozenset()
    """Who else may be said to have: of a line that was taken out and put back between two commits, for Git the same."""


@dataclass
class History:
    """Makes the repository and the sessions, an action at a time; `files` is what each file holds."""

    root: Path
    sessions: Path
    rng: random.Random
    now: int = START
    files: dict[str, list[Made]] = field(default_factory=dict)
    stream: list[bytes] = field(default_factory=list)
    committed: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[Made]] = field(default_factory=dict)
    commits: int = 0
    numbers: int = 0

    # -- what people and agents do -----------------------------------------------------------------------------------

    def function(self, by: str | None) -> list[Made]:
        """A function as somebody writes it, with lines that stand in many."""
        self.numbers += 1
        number = self.rng.randrange(10_000)
        lines = [f"def step_{self.numbers}(items):", f"    result = measure(items, {number})"]
        for _ in range(self.rng.randrange(1, 5)):
            lines.append(self.rng.choice(_FILLERS))
            if self.rng.random() < 0.6:
                lines.append(f"    result += weigh({self.rng.choice('abcdef')}, {self.rng.randrange(300)})")
        return [Made(line, by) for line in [*lines, f"    return finish({number})", "", ""]]

    def change(self, name: str, by: str | None) -> None:
        """Change a file somewhere: a new function, other lines, a line less."""
        lines = self.files[name]
        at = self.rng.randrange(len(lines) + 1)
        kind = self.rng.random()
        if kind < 0.45 or len(lines) < 8:
            while 0 < at < len(lines) and not lines[at].text.startswith("def "):
                at += 1
            self.put(lines, at, self.function(by))
        elif kind < 0.8:
            at = min(at, len(lines) - 3)
            lines[at : at + 2] = [
                Made(f"    result -= adjust({self.rng.randrange(9999)})", by) for _ in range(self.rng.randrange(1, 4))
            ]
        elif kind < 0.9:
            self.take(lines, min(at, len(lines) - 2), self.rng.randrange(1, 3))
        else:
            self.put(lines, at, [Made(self.rng.choice(_FILLERS), by)])

    def put(self, lines: list[Made], at: int, block: list[Made]) -> None:
        """Put lines in, where no other place would give the same text: else nobody could tell which are new."""
        if not _slides(lines[:at][::-1], block[::-1]) and not _slides(lines[at:], block):
            lines[at:at] = block

    def take(self, lines: list[Made], at: int, count: int) -> list[Made]:
        """Take lines out, where no others would leave the same text."""
        block = lines[at : at + count]
        if _slides(lines[:at][::-1], block[::-1]) or _slides(lines[at + count :], block):
            return []
        del lines[at : at + count]
        return block

    def person(self, name: str) -> None:
        """What people do by hand."""
        lines, kind = self.files[name], self.rng.random()
        if kind < 0.5:
            self.change(name, None)
        elif kind < 0.6:  # a formatter
            for line in lines:
                line.text = line.text.replace("    ", "  ") if "    " in line.text else line.text.replace("  ", "    ")
        elif kind < 0.75 and len(lines) > 20:  # a block moves
            at = self.rng.randrange(len(lines) - 10)
            kept = list(lines)
            block = self.take(lines, at, 6)
            self.put(lines, self.rng.randrange(len(lines)), block)
            if block and len(lines) != len(kept):
                lines[:] = kept
        elif kind < 0.9:  # the text of some line once more, elsewhere
            self.put(lines, self.rng.randrange(len(lines) + 1), [Made(self.rng.choice(lines).text)])
        else:
            self.numbers += 1
            self.commit()
            new = f"src/part_{self.numbers}.py"
            self.files[new] = self.files.pop(name)
            self.commit()  # else Git may not see that it is the same file

    def session(self, edits: int) -> None:
        """A session of some edits, each tool use with what the agent knows of it."""
        self.now += 600
        number = f"{len(list(self.sessions.iterdir())):08d}"
        writer = _Claude if self.rng.random() < 0.5 else _Pi
        session = writer(f"{number}-0000-4000-8000-000000000000", str(self.root))
        session.prompt(self.now, f"task {number}")
        for i in range(edits):
            self.now += 20
            name, by = self.rng.choice(list(self.files)), f"{number}-{i}"
            before = [line.text for line in self.files[name]]
            if self.rng.random() < 0.6:
                session.read(self.now, name, before)
            kept = list(self.files[name])
            self.change(name, by)
            after = [line.text for line in self.files[name]]
            if before != after and not session.edit(self.now + 5, name, before, after, by):
                self.files[name] = kept
        path = self.sessions / f"{session.id}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in session.records), "utf-8")

    def commit(self, *, rebased: int | None = None) -> None:
        """Commit all; `rebased`: when the commits were made again."""
        self.now += 300
        self.commits += 1
        message = f"Change {self.commits}".encode()
        author = b"Dev <dev@example.com>"
        out = [
            b"commit refs/heads/main", b"author %s %d +0000" % (author, self.now),
            b"committer %s %d +0000" % (author, rebased or self.now), b"data %d" % len(message), message,
        ]  # fmt: skip
        out += [b"D " + name.encode() for name in self.committed.keys() - self.files.keys()]
        for name, lines in self.files.items():
            self._put_back(self.kept.get(name, []), lines)
            texts = [line.text for line in lines]
            if self.committed.get(name) != texts:
                data = "".join(text + "\n" for text in texts).encode()
                out += [b"M 100644 inline " + name.encode(), b"data %d" % len(data), data]
        self.committed = {name: [line.text for line in lines] for name, lines in self.files.items()}
        self.kept = {
            name: [Made(line.text, line.by, line.also) for line in lines] for name, lines in self.files.items()
        }
        self.stream.append(b"\n".join(out) + b"\n")

    @staticmethod
    def _put_back(olds: list[Made], news: list[Made]) -> None:
        texts = [[" ".join(line.text.split()) for line in lines] for lines in (olds, news)]
        old = new = 0
        for line in differences(*texts):
            if line[:1] == " " and olds[old].by != news[new].by:
                news[new].also |= {olds[old].by, *olds[old].also}
            old += line[:1] != "+"
            new += line[:1] != "-"

    def finish(self) -> None:
        """Make the repository, and its working tree."""
        git = ["git", "-C", str(self.root)]
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.root)], check=True)
        subprocess.run([*git, "fast-import", "--quiet"], input=b"".join(self.stream), check=True)
        subprocess.run([*git, "reset", "-q", "--hard"], check=True)


def _slides(beside: list[Made], block: list[Made]) -> bool:
    """Tell whether lines with letters would be the same, were the block put in a little further on."""
    for one, other in zip(beside, block, strict=False):
        if one.text.split() != other.text.split():
            return False
        if any(map(str.isalnum, one.text)):
            return True
    return False


class _Writer:
    """A session as an agent writes it."""

    def __init__(self, session_id: str, root: str) -> None:
        self.id, self.root = session_id, root
        self.records: list[dict[str, Any]] = []
        self.parent: str | None = None

    def at(self, seconds: float) -> str:
        """A time as the records have it."""
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class _Claude(_Writer):
    """Claude Code: an edit's record holds the change with its lines' numbers."""

    def add(self, now: float, kind: str, content: Any, record_id: str, **more: Any) -> None:
        """A record."""
        self.records.append(
            {
                "parentUuid": self.parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": self.root,
                "sessionId": self.id,
                "version": "2.1.40",
                "type": kind,
                "uuid": record_id,
                "timestamp": self.at(now),
                "message": {"role": kind, "content": content, "id": record_id},
                **more,
            }
        )
        self.parent = record_id

    def prompt(self, now: float, text: str) -> None:
        """A prompt."""
        self.add(now, "user", text, f"{self.id}-p")

    def use(self, now: float, name: str, given: dict[str, Any], text: str, use_id: str, **more: Any) -> None:
        """A tool use and its result."""
        block = {"type": "tool_use", "id": use_id, "name": name, "input": given}
        self.add(now, "assistant", [block], use_id)
        self.add(now, "user", [{"type": "tool_result", "tool_use_id": use_id, "content": text}], f"{use_id}-r", **more)

    def read(self, now: float, name: str, lines: list[str]) -> None:
        """The file is read."""
        text = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
        self.use(now, "Read", {"file_path": f"{self.root}/{name}"}, text, f"r{len(self.records)}-{self.id[:8]}")

    def edit(self, now: float, name: str, before: list[str], after: list[str], by: str) -> bool:
        """The file is changed."""
        patch: list[dict[str, Any]] = []
        for line in list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]:
            if line.startswith("@@"):
                old, new = (int(part[1:].split(",")[0]) for part in line.split()[1:3])
                patch.append({"oldStart": old, "newStart": new, "lines": []})
            else:
                patch[-1]["lines"].append(line)
        path = f"{self.root}/{name}"
        given = {"file_path": path, "old_string": "\n".join(before), "new_string": "\n".join(after)}
        result = {"filePath": path, "structuredPatch": patch}
        self.use(now, "Edit", given, "Done.", by, toolUseResult=result)
        return True


class _Pi(_Writer):
    """Pi, as it was: of an edit the old and the new text are known, and no numbers."""

    def add(self, now: float, record_id: str, message: dict[str, Any]) -> None:
        """A record."""
        if not self.records:
            head = {"type": "session", "version": 3, "id": self.id, "timestamp": self.at(now), "cwd": self.root}
            self.records.append(head)
        record = {"type": "message", "id": record_id, "parentId": self.parent, "timestamp": self.at(now)}
        self.records.append(record | {"message": message})
        self.parent = record_id

    def prompt(self, now: float, text: str) -> None:
        """A prompt."""
        self.add(now, "p", {"role": "user", "content": [{"type": "text", "text": text}]})

    def use(self, now: float, name: str, given: dict[str, Any], text: str, use_id: str) -> None:
        """A tool use and its result."""
        call = {"type": "toolCall", "id": use_id, "name": name, "arguments": given}
        self.add(now, use_id, {"role": "assistant", "content": [call], "model": "kestrel-1"})
        result = {"role": "toolResult", "toolCallId": use_id, "toolName": name}
        self.add(now, f"{use_id}-r", result | {"content": [{"type": "text", "text": text}]})

    def read(self, now: float, name: str, lines: list[str]) -> None:
        """The file is read."""
        text = "\n".join([*lines, ""])
        self.use(now, "read", {"path": f"{self.root}/{name}"}, text, f"r{len(self.records)}")

    def edit(self, now: float, name: str, before: list[str], after: list[str], by: str) -> bool:
        """The file is changed, where the old text stands there once only: else the agent could not."""
        low = 0
        while low < min(len(before), len(after)) and before[low] == after[low]:
            low += 1
        end = 0
        while end < min(len(before), len(after)) - low and before[-1 - end] == after[-1 - end]:
            end += 1
        for around in range(8):
            first, last = max(0, low - around), max(0, end - around)
            old, new = before[first : len(before) - last], after[first : len(after) - last]
            if old and "\n".join(before).count("\n".join(old)) == 1:
                given = {"path": f"{self.root}/{name}", "oldText": "\n".join(old), "newText": "\n".join(new)}
                self.use(now, "edit", given, "Replaced 1 block.", by)
                return True
        return False


def make(folder: Path, commits: int, seed: int) -> History:
    """A repository and the sessions that worked in it: half of the commits made again later, some of them squashed."""
    sessions = folder / "sessions"
    sessions.mkdir(parents=True)
    history = History(Path(os.path.realpath(folder)) / "repo", sessions, random.Random(seed))
    history.files = {f"src/file_{i}.py": history.function(None) for i in range(3)}
    history.commit()
    end = START + commits * 2000
    while history.commits < commits:
        for _ in range(history.rng.choice((1, 1, 1, 2, 4))):  # more than one: squashed
            if history.rng.random() < 0.6:
                history.session(history.rng.randrange(1, 6))
            if history.rng.random() < 0.5:
                history.person(history.rng.choice(list(history.files)))
            if history.rng.random() < 0.1:  # what was not committed is thrown away
                name = history.rng.choice(list(history.files))
                history.files[name] = list(map(copy, history.kept[name]))
        history.commit(rebased=end if history.commits < commits // 2 else None)
    history.finish()
    return history


def judge(history: History) -> Counter[str]:
    """How the lines of today's files are traced: of those by sessions that have letters or digits `right`, `several`
    with the right one among them, `untraced`; of all `wrong`.
    """
    from viewer.edits.history import Repository
    from viewer.edits.trace import Places, lay_beside, read_edits

    repository, counts = Repository(history.root), Counter[str]()
    addresses = sorted(history.sessions.iterdir())
    for name, lines in history.files.items():
        commits = repository.versions(name)
        places = Places(repository, {name, *(commit.name for commit in commits)})
        owners, timelines = read_edits(addresses, places, [])
        texts = [line.text for line in lines]
        for line, traced in zip(lines, lay_beside(repository, name, commits, texts, owners, timelines), strict=True):
            ids = [origin.edit.message.removesuffix(":0").rpartition(":")[2] for origin in traced.origins]
            telling = any(map(str.isalnum, line.text))
            if ids and not {line.by, *line.also}.intersection(ids):
                counts["wrong"] += 1
            elif line.by is None:
                counts["by hand"] += 1
            elif not telling:
                counts["blank"] += 1
            else:
                counts["untraced" if not ids else "right" if len(ids) == 1 else "several"] += 1
    return counts

"""Aider: `.aider.chat.history.md`, a Markdown file of all runs in a repository (others.md 14, found-others.md 12).

Each run is a conversation of its own, so each is a session, called by when it began. Whose a text is shows at the ends
of lines: Aider ends each line of a prompt and each of its own remarks with two spaces, the model's words have none. So
a heading or a quotation in an answer is part of it, and a remark of several lines (a commit's message) ends where the
spaces are. An editor may have taken them away; then fences and the order must do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.diffs import FileDiff, added_file, from_strings
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.paths import source_of
from schemas.provider import Environment, Format, Head, Location
from schemas.providers.kit.bases import Data, Home, Prose, Section
from schemas.providers.kit.words import Answer, Fact, Item, Say, Use
from schemas.values import dict_of, list_of, text_of, when

if TYPE_CHECKING:
    from schemas.session import Session

_BEGUN = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)[ \t]*\r?$", re.MULTILINE)
_PROMPT, _REMARK = "#### ", "> "
_THINKING = re.compile(r"<(thinking-content-\w+)>\n?(.*?)(?:</\1>|\Z)", re.DOTALL)
_EDIT = re.compile(
    r"^(?P<path>[^\n`]*)\n(?P<fence>`{3,})[^\n`]*\n"
    r"<{5,9} SEARCH\n(?P<old>.*?)\n?={5,9}\n(?P<new>.*?)\n?>{5,9} REPLACE\n(?P=fence)",
    re.DOTALL | re.MULTILINE,
)
_DONE = re.compile(
    r"(?P<no>Did not apply edit to |Skipping edits to )?(?:Applied edit to )?"
    r"(?P<path>.+?)(?: \(--dry-run\)| that matches .*)?$"
)
_ASKED = re.compile(r"Run shell commands?\? .*\[\w+\]: ?(?P<answer>\w*)$")
_MODEL = re.compile(r"(?:Main model|Model): (?P<model>\S+)")
_VERSION = re.compile(r"Aider v(?P<version>\S+)")
_FAULT = re.compile(r"(?:litellm\.)?[A-Z]\w*(?:Error|Exception)\b")


class Aider(Prose):
    """Aider's history in Markdown, which has no structure: tool uses come from its remarks on what the model wrote."""

    id = "aider"
    name = "Aider"
    verified = "genuine runs of 0.86.2"
    counting = (
        "Aider writes down only estimates of its own, rounded (2.5k sent, 106 received): they stand among its remarks "
        "and count as no figures."
    )
    formats = (Format("Aider chat history, Markdown", "`# aider chat started at` and a time on a line of its own"),)
    homes = (Home(""),)
    marks = (b"aider chat started at",)
    files = (".aider.chat.history.md",)
    lacks = frozenset({Lack.TOKENS, Lack.TIMES, Lack.RESULTS})
    deniers = ((r"\?.*: *[Nn]\w*$|^Skipping edits", "you"),)
    tools = {"edit": "write", "shell": "shell"}

    def locations(self, env: Environment) -> list[Location]:
        """The file that a variable names, the repository in which one is, and the home directory: there is no list of
        all repositories.
        """
        named, place = (env.variables.get(name, "") for name in ("AIDER_CHAT_HISTORY_FILE", "PWD"))
        file, here = Path(f"{env.home}{named[1:]}" if named.startswith("~/") else named), Path(place)
        found = [Location(file, "AIDER_CHAT_HISTORY_FILE")] if file.is_absolute() else []
        if here.is_absolute():
            near = (path for path in (here, *here.parents) if path != env.home and (path / self.files[0]).is_file())
            found += [Location(path, "PWD") for path in islice(near, 1)]
        return found + super().locations(env)

    def detect(self, head: Head) -> bool:
        """The first thing in it is the line with which a run begins."""
        text = head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].decode("utf-8", "replace")
        return _BEGUN.match(text) is not None

    def sections(self, path: Path, text: str) -> Sequence[Section]:
        """The runs in which something was asked; of two that began in the same second the later has a number."""
        begins = [*_BEGUN.finditer(text)]
        ends = [*(match.start() for match in begins[1:]), len(text)]
        found: dict[str, Section] = {}
        for match, end in zip(begins, ends, strict=True):
            run = text[match.start() : end]
            if f"\n{_PROMPT}" not in run:
                continue  # started and left again
            key, number = f"{match[1]}T{match[2]}", 2
            while key in found:
                key, number = f"{match[1]}T{match[2]}.{number}", number + 1
            found[key] = Section(
                key, f"{path.absolute().parent.name}-{key}", when(f"{match[1]}T{match[2]}", local=True), run
            )
        return list(found.values())

    def pieces(self, text: str) -> Iterator[Data]:
        """Split a history in order: the header, prompts, answers, thinking, remarks, edits and commands."""
        yield from _Pieces(text).read()

    def beside(self, session: Session) -> Iterator[Item]:
        """The file lies in the folder of the repository."""
        if source_of(session.path)[0].name in self.files:
            yield Fact(workspace_root=str(session.path.absolute().parent))

    def resume_command(self, session: Session) -> list[str] | None:
        """Aider goes on with the file, whatever run was the last."""
        return ["aider", "--restore-chat-history"]

    def name_of(self, record: Data) -> str:
        """Records have no ids."""
        return ""

    def time(self, record: Data) -> float | None:
        """Only when a run began is known."""
        return None

    def read(self, record: Data) -> Iterator[Item]:
        text = text_of(record.get("text"))
        match record.get("type"):
            case "begun":
                match = _BEGUN.match(text)
                begun = when(f"{match[1]}T{match[2]}", local=True) if match is not None else None
                model, version = _MODEL.search(text), _VERSION.search(text)
                yield Fact(
                    created=begun, updated=begun, model=model["model"] if model else "",
                    version=version["version"] if version else "",
                )  # fmt: skip
                yield Say(Kind.CONTEXT, text.partition("\n")[2], label="Aider started")
            case "prompt":
                yield Say(Kind.COMMAND if text.startswith(("/", "!")) else Kind.PROMPT, text)
            case "answer":
                yield Say(Kind.TEXT, text)
            case "thinking":
                yield Say(Kind.THINKING, text)
            case "edit":
                path, ok = text_of(record.get("path")), record.get("applied") is True
                given = {"file_path": path, "edits": record.get("edits") or []}
                status = ToolStatus.OK if ok else ToolStatus.DENIED
                yield Use(name="edit", input=given, answer=Answer("", text, status))
            case "shell":
                ok = record.get("agreed") is True
                status = ToolStatus.OK if ok else ToolStatus.DENIED
                yield Use(
                    name="shell", input={"command": text}, answer=Answer("", text_of(record.get("question")), status)
                )
            case "interrupt":
                yield Say(Kind.INTERRUPT, text, label="Interrupted")
            case "error":
                yield Say(Kind.ERROR, text, label="Error")
            case "tokens":
                yield Say(Kind.NOTE, label=f"Aider's estimate: {text.removeprefix('Tokens: ')}")
            case "remark":
                first, _, rest = text.partition("\n")
                yield Say(Kind.NOTE, rest, label=first)
                if model := _MODEL.search(text):
                    yield Fact(model=model["model"])
            case _:
                yield Say(Kind.UNKNOWN)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The blocks that were applied."""
        path, found = text_of(tool.input.get("file_path")), []
        if tool.status is ToolStatus.OK:
            for edit in map(dict_of, list_of(tool.input.get("edits"))):
                old, new = text_of(edit.get("old")), text_of(edit.get("new"))
                found.append(from_strings(path, old, new) if old else added_file(path, new))
        return found


class _Pieces:
    """The text of one run, taken apart."""

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._ends = any(line.startswith(_REMARK) and line.endswith("  ") for line in self._lines)
        """Whether lines have the spaces at their ends; an editor or a copy may have taken them."""
        self._edits: dict[str, list[dict[str, str]]] = {}
        """The blocks of the last answers that no remark has spoken of, by their file."""
        self._waiting: list[str] = []
        """Remarks that a question may turn into a command."""

    def read(self) -> Iterator[Data]:
        """The records of the run."""
        lines, answer, head, before = self._lines, list[str](), [self._lines[0]], self._lines[0]
        at, banner = 1, True
        while at < len(lines):
            line, above, at = lines[at], lines[at - 1], at + 1
            if self._is_prompt(line, before, answer):
                if banner:
                    yield {"type": "begun", "text": "\n".join(head)}
                    banner = False
                yield from self._told(answer)
                prompt = [line]
                while at < len(lines) and lines[at].startswith(_PROMPT):
                    prompt.append(lines[at])
                    at += 1
                said = "\n".join(one.removeprefix(_PROMPT).rstrip() for one in prompt)
                yield {"type": "prompt", "text": said.strip()}
                self._edits = {}
            elif self._is_remark(line, above, answer):
                yield from self._told(answer, waiting=False)
                remark = [line[2:]]
                while self._ends and not remark[-1].endswith("  ") and at < len(lines) and not self._begins(lines[at]):
                    remark.append(lines[at])
                    at += 1
                said = "\n".join(remark).strip()
                if banner:
                    head.append(said)
                elif said:
                    yield from self._remark(said)
            elif not banner:
                answer.append(line)
            elif line.strip():
                head.append(line)
            before = line if line.strip() else before
        if banner:
            yield {"type": "begun", "text": "\n".join(head)}
        yield from self._told(answer)

    def _is_prompt(self, line: str, before: str, answer: list[str]) -> bool:
        """Return whether a line begins a prompt, not a heading in an answer; `before` is the last line with text."""
        if not line.startswith(_PROMPT):
            return False
        return line.endswith("  ") if self._ends else before.startswith((_REMARK, "# aider chat")) and not _open(answer)

    def _is_remark(self, line: str, above: str, answer: list[str]) -> bool:
        """Return whether a line begins a remark and is no quotation in an answer."""
        if not line.startswith(">") or line[1:2].strip():
            return False
        return line.endswith("  ") or above.endswith("  ") if self._ends else not _open(answer)

    def _begins(self, line: str) -> bool:
        """Return whether a line begins something of its own, whatever stands before it."""
        return (line.startswith((_REMARK, _PROMPT)) and line.endswith("  ")) or _BEGUN.match(line) is not None

    def _told(self, answer: list[str], *, waiting: bool = True) -> Iterator[Data]:
        """Yield the model's answer until here, and with `waiting` the remarks before it that were no command."""
        text = "\n".join(answer).strip("\n")
        answer.clear()
        if waiting or text.strip():
            yield from self._flush()
        at = 0
        for match in _THINKING.finditer(text):
            yield from self._said(text[at : match.start()])
            yield {"type": "thinking", "text": match[2].strip()}
            at = match.end()
        yield from self._said(text[at:])

    def _said(self, text: str) -> Iterator[Data]:
        if not text.strip():
            return
        yield {"type": "answer", "text": text.strip()}
        for match in _EDIT.finditer(text):
            self._edits.setdefault(match["path"].strip(), []).append({"old": match["old"], "new": match["new"]})

    def _flush(self) -> Iterator[Data]:
        if self._waiting:
            yield {"type": "remark", "text": "\n".join(self._waiting)}
            self._waiting = []

    def _remark(self, said: str) -> Iterator[Data]:
        """One thing that Aider said of its own doing."""
        if asked := _ASKED.match(said):
            command, self._waiting = "\n".join(self._waiting), []
            agreed = asked["answer"].lower()[:1] in ("y", "a")
            yield {"type": "shell", "text": command, "agreed": agreed, "question": said}
            return
        kind = next((kind for begin, kind in _KINDS.items() if said.startswith(begin)), "")
        if not kind and _FAULT.match(said):
            kind = "error"
        if not kind:
            self._waiting.append(said)
            return
        yield from self._flush()
        if kind == "edit" and (done := _DONE.match(said)):
            path = done["path"]
            applied = not done["no"]
            edits = self._edits.pop(path, []) if applied else self._edits.get(path, [])
            yield {"type": "edit", "text": said, "path": path, "applied": applied, "edits": edits}
        else:
            yield {"type": kind, "text": said}


def _open(answer: list[str]) -> bool:
    """Return whether an answer ends within a fence."""
    return sum(line.startswith("```") for line in answer) % 2 == 1


_KINDS = {
    "Applied edit to ": "edit", "Did not apply edit to ": "edit", "Skipping edits to ": "edit", "^C": "interrupt",
    "Tokens: ": "tokens", "Commit ": "remark",
}  # fmt: skip

PROVIDER = Aider()

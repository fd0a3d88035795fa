"""The files of a session's subagents: which there are, and which tool use started each (formats notes 1 and 7)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.message import Flag
from schemas.providers.claude.classify import tag, typed_text
from schemas.providers.claude.locate import side_dir
from schemas.records import JsonLines, read_record
from schemas.session import Subagent

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

_HEAD = 64 << 10
_MOST_FILES = 5000
_MOST_SIBLINGS = 200
"""Files of the project that are looked into for a title: old ones only, and each for its first 64 KB."""


@dataclass(slots=True)
class _AgentFile:
    subagent: Subagent
    use: str | None
    """The id of the tool use, from the sidecar `agent-*.meta.json`."""
    session: str | None = None
    prompt: str | None = None
    looked: bool = False


class SideFiles:
    """Looks beside one session file, again and again while it grows."""

    def __init__(self, parser: ClaudeParser) -> None:
        self._parser = parser
        self._stamps: dict[Path, int] = {}
        self._files: dict[Path, _AgentFile] = {}
        self._version = -1
        self._project_stamp = 0

    def refresh(self) -> None:
        """Find new agent files and link those that can be linked now. Cheap when no folder changed."""
        parser = self._parser
        folders = list(self._folders())
        stamps = {folder: _stamp(folder) for folder in folders}
        if stamps != self._stamps:
            self._stamps = stamps
            for folder in folders:
                self._list(folder)
        elif self._version == parser.links.version:
            return
        self._version = parser.links.version
        for file in self._files.values():
            self._link(file)
        if not parser.titles.settled and not parser.agent:
            self._borrow_title()

    def _folders(self) -> Iterator[Path]:
        path = self._parser.session.path
        base = side_dir(path) / "subagents"
        yield base
        workflows = base / "workflows"
        yield workflows
        try:
            with os.scandir(workflows) as entries:
                yield from sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))
        except OSError:
            pass  # most sessions have no workflows
        if path.parent != base:
            yield path.parent

    def _list(self, folder: Path) -> None:
        """Take in the agent files of one folder."""
        parser = self._parser
        own = parser.session.path
        try:
            with os.scandir(folder) as entries:
                names = sorted(
                    e.name
                    for e in entries
                    if e.name.startswith("agent-") and e.name.endswith(".jsonl") and e.is_file(follow_symlinks=False)
                )
        except OSError:
            return  # the folder is not there, or not ours to read: there are no subagents to show
        for name in names[:_MOST_FILES]:
            path = folder / name
            if path in self._files or path == own:
                continue
            agent = name[len("agent-") : -len(".jsonl")]
            meta = _meta(path)
            use, kind = meta.get("toolUseId"), meta.get("agentType")
            subagent = Subagent(one_line(agent, 80), path=path, internal=agent.startswith("acompact-"))
            subagent.name = one_line(kind, 80) if isinstance(kind, str) else ""
            for key in ("description", "name"):
                if isinstance(text := meta.get(key), str) and not subagent.description:
                    subagent.description = one_line(text, 200)
            file = _AgentFile(subagent, use if isinstance(use, str) else None)
            if folder == own.parent and own.parent.name != "subagents":
                _look(file, path)  # beside the sessions of 2.0.x: whose it is stands in the file only
                if file.session not in (parser.session.id, parser.session.metadata.get("sessionId")):
                    continue
            self._files[path] = file
            if not parser.agent:
                parser.session.subagents.append(subagent)

    def _link(self, file: _AgentFile) -> None:
        parser, subagent = self._parser, file.subagent
        if subagent.tool_use is not None or subagent.internal:
            return
        row = parser.links.find(subagent.id, file.use, None)
        if row is None and file.use is None:
            _look(file, subagent.path)
            row = parser.links.find(subagent.id, None, file.prompt)
        if row is None:
            return
        if subagent not in parser.session.subagents:  # an agent's own helpers lie among its siblings
            parser.session.subagents.append(subagent)
        task = parser.links.tasks[row]
        subagent.tool_use = row
        subagent.name = subagent.name or task.kind
        subagent.description = task.description or subagent.description
        parser.session.messages.flags[row] |= Flag.SUBAGENT
        parser.changed.add(row)

    def _borrow_title(self) -> None:
        """Old versions wrote a session's summary into whatever file was open, beside the uuid of its last record."""
        parser = self._parser
        project = parser.session.path.parent
        stamp = _stamp(project)
        if stamp == self._project_stamp:
            return
        self._project_stamp = stamp
        try:
            with os.scandir(project) as entries:
                names = [e.path for e in entries if e.name.endswith(".jsonl") and e.is_file(follow_symlinks=False)]
        except OSError:
            return  # a title from elsewhere is a courtesy
        for name in sorted(names)[:_MOST_SIBLINGS]:
            data = _head(Path(name))
            if name == str(parser.session.path) or b'"leafUuid"' not in data:
                continue
            for record in JsonLines().push(data):
                value = record[3]
                leaf, text = value.get("leafUuid"), value.get("summary")
                if value.get("type") != "summary" or not isinstance(leaf, str) or not isinstance(text, str):
                    continue
                if hash(leaf) in parser.branches.nodes:
                    parser.titles.borrowed = one_line(text)


def _stamp(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""  # gone again, or unreadable: it will say so itself when it is opened


def _meta(path: Path) -> dict[str, Any]:
    sidecar = path.with_name(path.name.removesuffix(".jsonl") + ".meta.json")
    return read_record(_head(sidecar)) if sidecar.is_file() and not sidecar.is_symlink() else {}


def _look(file: _AgentFile, path: Path | None) -> None:
    """Read the session id and the first prompt from the beginning of an agent file."""
    if file.looked or path is None:
        return
    file.looked = True
    lines = JsonLines()
    for record in lines.push(_head(path)) + lines.take_tail():
        value = record[3]
        if file.session is None and isinstance(value.get("sessionId"), str):
            file.session = value["sessionId"]
        message = value.get("message")
        if value.get("type") == "user" and isinstance(message, dict):
            text = typed_text(message.get("content"))[0]
            start = text.find(">") + 1 if text.startswith("<teammate-message") else 0
            file.prompt = (
                (tag("<t>" + text[start:].replace("</teammate-message>", "</t>"), "t") or "") if start else text
            )
            return

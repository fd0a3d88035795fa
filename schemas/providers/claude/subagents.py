"""The files of a session's subagents: which there are, and which tool use started each (formats notes 1 and 7)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.message import Flag
from schemas.providers.claude.classify import tag, typed_text
from schemas.providers.claude.locate import side_dir
from schemas.providers.claude.project import head_of, look_at, stamp_of
from schemas.records import JsonLines, read_record
from schemas.session import Subagent
from schemas.troubles import Failure, guarded

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

_MOST_FILES = 5000


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
        stamps = {folder: stamp_of(folder) for folder in folders}
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
        project = look_at(folder)
        for name in project.agents[:_MOST_FILES]:
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
                # Beside the sessions of 2.0.x: whose it is stands in the file only.
                if name in project.openings:
                    file.looked, (file.session, file.prompt) = True, project.openings[name]
                else:
                    _look(file, path)
                    if file.prompt is not None:  # else it is being written
                        project.openings[name] = (file.session, file.prompt)
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
        """A title from another file of the project."""
        parser = self._parser
        project = parser.session.path.parent
        stamp = stamp_of(project)
        if stamp == self._project_stamp:
            return
        self._project_stamp = stamp
        nodes = parser.branches.nodes
        for leaf, text in look_at(project).summaries().items():
            if leaf in nodes:
                parser.titles.borrowed = text


def _meta(path: Path) -> dict[str, Any]:
    sidecar = path.with_name(path.name.removesuffix(".jsonl") + ".meta.json")
    return read_record(head_of(sidecar)) if sidecar.is_file() and not sidecar.is_symlink() else {}


def _look(file: _AgentFile, path: Path | None) -> None:
    """Read the session id and the first prompt from the beginning of an agent file."""
    if file.looked or path is None:
        return
    file.looked = True
    with suppress(Failure), guarded():  # opening the file says what turnlog fails on; its parent is not to blame
        _read_opening(file, path)


def _read_opening(file: _AgentFile, path: Path) -> None:
    lines = JsonLines()
    for record in lines.push(head_of(path)) + lines.take_tail():
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

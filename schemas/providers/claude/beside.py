"""What lies beside a session: the files of its subagents, and titles in the folder of its project.

A project's folder is looked at once for all its sessions: thousands of them may lie side by side.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.folders import entries_of, state_of
from schemas.providers.claude.classify import typed_text
from schemas.providers.claude.locate import side_dir
from schemas.providers.claude.notes import notification
from schemas.providers.kit.words import Child, Task
from schemas.records import JsonLines, read_record
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.provider import Reading
    from schemas.session import Session
    from schemas.usage import TokenUsage

HEAD = 64 << 10
_MOST_SIBLINGS = 200
"""Files that are looked into for titles: old ones only, and each for its first 64 KB."""
_MOST_FOLDERS = 20
_MOST_AGENTS = 5000
_SECONDS = 2.0
"""A folder's time does not tell that a file in it has grown, so what was seen is not believed for longer than this."""


@dataclass(slots=True)
class Project:
    """A folder as it was a moment ago."""

    stamp: tuple[int, int]
    seen: float
    sessions: list[str]
    """The paths of its `*.jsonl`, sorted, those of subagents apart."""
    agents: list[str]
    """The names of its `agent-*.jsonl`, sorted: Claude Code 2.0.x put them beside the sessions."""
    openings: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For the name of an agent's file: the session it names, and its first prompt."""
    _summaries: dict[int, str] | None = None

    def summaries(self) -> dict[int, str]:
        """The titles that files of the folder hold for whichever session has the record with such a hash.

        Old versions wrote a session's summary into whatever file was open, beside the uuid of its last record.
        """
        if self._summaries is None:
            self._summaries = {}
            for name in self.sessions[:_MOST_SIBLINGS]:
                data = head_of(Path(name))
                if b'"leafUuid"' not in data:
                    continue
                for record in JsonLines().push(data):
                    leaf, text = record[3].get("leafUuid"), record[3].get("summary")
                    if record[3].get("type") == "summary" and isinstance(leaf, str) and isinstance(text, str):
                        self._summaries.pop(hash(leaf), None)  # the last one that is said counts
                        self._summaries[hash(leaf)] = one_line(text)
        return self._summaries


_projects: OrderedDict[Path, Project] = OrderedDict()
_spent: OrderedDict[Path, tuple[tuple[int, int], list[tuple[str, TokenUsage]]]] = OrderedDict()


def look_at(folder: Path) -> Project:
    """A folder's state, kept while its time stays the same and for two seconds at most; empty if it is not there."""
    stamp, now = state_of(folder), time.monotonic()
    if not any(stamp):
        return Project(stamp, now, [], [])
    known = _projects.get(folder)
    if known is not None and known.stamp == stamp and now - known.seen < _SECONDS:
        _projects.move_to_end(folder)
        return known
    names = [entry.name for entry in entries_of(folder, [], is_root=True) if entry.is_file()]
    names = [name for name in names if name.endswith(".jsonl")]
    agents = [name for name in names if name.startswith("agent-")]
    sessions = [str(folder / name) for name in names if not name.startswith("agent-")]
    project = Project(stamp, now, sessions, agents)
    if known is not None and known.agents == project.agents:
        project.openings = known.openings
    _projects[folder] = project
    _projects.move_to_end(folder)
    if len(_projects) > _MOST_FOLDERS:
        _projects.popitem(last=False)
    return project


def head_of(path: Path) -> bytes:
    """A file's first 64 KB; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""  # gone again, or unreadable: it will say so itself when it is opened


# -- subagents ---------------------------------------------------------------------------------------------------------


def folders_of(path: Path) -> list[Path]:
    """The folders in which a session's subagents may lie; versions 2.0.x put them beside the sessions."""
    base = side_dir(path) / "subagents"
    flows = base / "workflows"
    inner = [Path(entry.path) for entry in entries_of(flows, [], is_root=True) if entry.is_dir()]
    return [base, flows, *inner, *([path.parent] if path.parent != base else [])]


def subagents_of(session: Session) -> Iterator[Child]:
    """The files of subagents. A subagent's siblings may be its own helpers: those count if one of its uses says so."""
    own, mine = session.path, (session.id, session.metadata.get("sessionId"))
    nested = own.name.startswith("agent-")
    for folder in folders_of(own):
        beside_sessions = folder == own.parent and folder.name != "subagents"
        project = look_at(folder)
        for name in project.agents[:_MOST_AGENTS]:
            path = folder / name
            if path == own:
                continue
            meta, prompt = _object_in(path.with_suffix(".meta.json")), ""
            use = text_of(meta.get("toolUseId"))
            if beside_sessions or not use:
                source, prompt = project.openings.get(name) or _opening(path)
                if prompt:  # else it is being written
                    project.openings[name] = source, prompt
                if beside_sessions and source not in mine:
                    continue
            agent = name[len("agent-") : -len(".jsonl")]
            about = text_of(meta.get("description")) or text_of(meta.get("name"))
            task = Task(text_of(meta.get("agentType")), about, prompt)
            yield Child(agent, path, "", task, use, internal=agent.startswith("acompact-"), own=not nested)


def spent(path: Path, open_: Callable[[Path], Reading]) -> list[tuple[str, TokenUsage]]:
    """What the responses in a subagent's file took, each with its model; read once a change. Raises OSError."""
    state = state_of(path)
    if (known := _spent.get(path)) is None or known[0] != state:
        reading = open_(path)
        while not reading.done:
            reading.step()
        groups, models = reading.session.groups, reading.session.models
        found = [(models[groups.model[g]], groups.usage[g]) for g in range(len(groups))]
        known = _spent[path] = state, found
        if len(_spent) > _MOST_AGENTS:
            _spent.popitem(last=False)
    return known[1]


def given_title(path: Path) -> str:
    """The name that a person gave to a session, where it stands in a file of its own."""
    return text_of(_object_in(side_dir(path) / "custom-title.json").get("customTitle"))


def _object_in(path: Path) -> dict[str, Any]:
    return read_record(head_of(path)) if path.is_file() and not path.is_symlink() else {}


def _opening(path: Path) -> tuple[str, str]:
    """The session that a subagent's file names, and its first prompt."""
    lines, source = JsonLines(), ""
    for record in lines.push(head_of(path)) + lines.take_tail():
        source = source or text_of(record[3].get("sessionId"))
        if record[3].get("type") == "user":
            text = typed_text(dict_of(record[3].get("message")).get("content"))[0]
            return source, notification(text)[1] if text.startswith("<teammate-message") else text
    return source, ""

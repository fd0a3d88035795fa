"""Subagents: within the session's own file (`isSidechain`), or in files beside it that are named after the session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.clean import one_line
from schemas.message import Flag
from schemas.providers._google import Data
from schemas.providers.qwen.locate import subagents_folder
from schemas.providers.qwen.prompts import read_prompt
from schemas.records import JsonLines, Record, read_record
from schemas.session import Session, Subagent
from schemas.values import text_of

if TYPE_CHECKING:
    from schemas.providers.qwen.parse import QwenParser

_MOST_CHAINS = 1000  # sessions within one file; what comes after goes to the last, as each costs some kilobytes
_MOST_FILES = 5000
_HEAD = 64 << 10


def is_side(value: Data) -> bool:
    """Whether a record is a subagent's."""
    return value.get("isSidechain") is True or ("isSidechain" not in value and bool(text_of(value.get("agentId"))))


def _link(parser: QwenParser, subagent: Subagent, call: str, prompt: str) -> None:
    """Find the tool use that started a subagent, if the session holds it by now."""
    row = parser.results.task(call, prompt)
    if row is None:
        return
    task = parser.results.tasks[row]
    subagent.tool_use = row
    subagent.name = subagent.name or task.kind
    subagent.description = task.description or subagent.description
    parser.session.messages.flags[row] |= Flag.SUBAGENT
    parser.changed.add(row)


class Sidechains:
    """Gives each subagent whose records stand among the session's a session of its own over the same file."""

    def __init__(self, parser: QwenParser) -> None:
        self._parser = parser
        self._chains: list[tuple[QwenParser, list[Record]]] = []
        self._by_record: dict[int, int] = {}
        self._by_agent: dict[str, int] = {}

    def take(self, record: Record) -> None:
        """A record of a subagent; it is read when the piece ends."""
        value = record[3]
        agent, parent, uuid = text_of(value.get("agentId")), value.get("parentUuid"), value.get("uuid")
        number = self._by_agent.get(agent, -1) if agent else -1
        if number < 0 and not agent and isinstance(parent, str):
            number = self._by_record.get(hash(parent), -1)
        if number < 0:
            number = self._begin(value, agent)
        if isinstance(uuid, str):
            self._by_record.setdefault(hash(uuid), number)
        if agent:
            self._by_agent.setdefault(agent, number)
        self._chains[number][1].append(record)

    def _begin(self, value: Data, agent: str) -> int:
        if len(self._chains) >= _MOST_CHAINS:
            return _MOST_CHAINS - 1
        parser = self._parser
        own = parser.session
        name = one_line(agent or f"sidechain-{len(self._chains) + 1}", 80)
        session = Session(own.provider, own.provider_name, own.path, f"{own.id}:{name}")
        session.stores, session.build = own.stores, own.build
        session.lineage.parent, session.lineage.agent_id = own.id, name
        subagent = Subagent(name, one_line(text_of(value.get("agentName")), 80), session=session)
        _link(parser, subagent, "", read_prompt(value).typed if value.get("type") == "user" else "")
        own.subagents.append(subagent)
        self._chains.append((type(parser)(session, child=True), []))
        return len(self._chains) - 1

    def flush(self) -> None:
        """Read what was taken since the last time."""
        for child, records in self._chains:
            if records:
                child.feed(records)
                records.clear()


class SideFiles:
    """Looks for the files of a session's subagents, again and again while it grows."""

    def __init__(self, parser: QwenParser) -> None:
        self._parser = parser
        self._stamp = -1
        self._calls = -1
        self._found: dict[str, tuple[Subagent, str, str]] = {}
        """The subagents by their files' names, each with the id of its call and its first prompt."""

    def refresh(self) -> None:
        """Find new files and link those that can be linked now. Cheap when nothing changed."""
        parser = self._parser
        folder = subagents_folder(parser.session.path)
        if folder is None:
            return
        try:
            stamp = os.stat(folder).st_mtime_ns
        except OSError:
            return  # most sessions have no subagents
        calls = len(parser.results.tasks)
        if stamp != self._stamp:
            self._list(folder)
        elif calls == self._calls:
            return
        self._stamp, self._calls = stamp, calls
        for subagent, call, prompt in self._found.values():
            if subagent.tool_use is None:
                _link(parser, subagent, call, prompt)

    def _list(self, folder: Path) -> None:
        """Take in the files that are new; a folder that is a link may lead anywhere and is not followed."""
        if folder.is_symlink() or folder.parent.is_symlink():
            return
        session = self._parser.session
        names = sorted(name for name in os.listdir(folder) if name.startswith("agent-") and name.endswith(".jsonl"))
        for name in names[:_MOST_FILES]:
            path = folder / name
            if name in self._found or path == session.path or path.is_symlink() or not path.is_file():
                continue
            meta = _meta(path)
            if text_of(meta.get("parentAgentId")) != (session.lineage.agent_id or ""):
                continue  # started by another of the session's agents
            agent, prompt = _look(path)
            if agent is None:
                continue  # being written
            subagent = Subagent(one_line(agent or path.stem.removeprefix("agent-"), 80), path=path)
            subagent.name = one_line(text_of(meta.get("agentType")), 80)
            subagent.description = one_line(text_of(meta.get("description")), 200)
            self._found[name] = (subagent, text_of(meta.get("toolUseId")), prompt)
            session.subagents.append(subagent)


def _meta(path: Path) -> Data:
    sidecar = path.with_name(path.name.removesuffix(".jsonl") + ".meta.json")
    return read_record(_head(sidecar)) if sidecar.is_file() and not sidecar.is_symlink() else {}


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""  # gone again, or not ours to read; the file is then listed by its name


def _look(path: Path) -> tuple[str | None, str]:
    """A subagent's id and its first prompt, from the beginning of its file; no id where nothing is there yet."""
    lines = JsonLines()
    agent: str | None = None
    for record in lines.push(_head(path)) + lines.take_tail():
        agent = agent or text_of(record[3].get("agentId"))
        if record[3].get("type") == "user":
            return agent, read_prompt(record[3]).typed
    return agent, ""

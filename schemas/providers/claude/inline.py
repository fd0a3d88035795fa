"""Subagents of Claude Code 1.x: their records stand in the session's own file, marked `isSidechain` (note 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.message import Flag
from schemas.providers.claude.classify import typed_text
from schemas.records import Record
from schemas.session import Session, Subagent

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

_MOST = 1000  # sessions within one file; what comes after goes to the last, as each costs some kilobytes


class Sidechains:
    """Gives each sidechain a session of its own over the same file."""

    def __init__(self, parser: ClaudeParser) -> None:
        self.child = False
        """Whether the parser is itself one of a sidechain."""
        self._parser = parser
        self._chains: list[tuple[ClaudeParser, list[Record]]] = []
        self._by_record: dict[int, int] = {}
        self._by_agent: dict[str, int] = {}

    def take(self, record: Record, value: dict[str, Any]) -> None:
        """A record of a sidechain; it is read when the piece ends."""
        agent, parent, uuid = value.get("agentId"), value.get("parentUuid"), value.get("uuid")
        number = self._by_agent.get(agent, -1) if isinstance(agent, str) else -1
        if number < 0 and isinstance(parent, str):
            number = self._by_record.get(hash(parent), -1)
        if number < 0:
            number = self._begin(value, agent if isinstance(agent, str) else "")
        if isinstance(uuid, str):
            self._by_record.setdefault(hash(uuid), number)
        if isinstance(agent, str) and agent:
            self._by_agent.setdefault(agent, number)
        self._chains[number][1].append(record)

    def _begin(self, value: Mapping[str, Any], agent: str) -> int:
        if len(self._chains) >= _MOST:
            return _MOST - 1
        parser = self._parser
        own = parser.session
        name = agent or f"sidechain-{len(self._chains) + 1}"
        session = Session(own.provider, own.provider_name, own.path, f"{own.id}:{one_line(name, 80)}")
        session.stores = own.stores
        session.build = own.build
        session.lineage.parent, session.lineage.agent_id = own.id, one_line(name, 80)
        child = type(parser)(session, agent=True)
        child.become_child()
        message = value.get("message")
        prompt = typed_text(message.get("content"))[0] if isinstance(message, Mapping) else ""
        row = parser.links.find(agent, None, prompt)
        subagent = Subagent(one_line(name, 80), session=session, tool_use=row)
        if row is not None:
            task = parser.links.tasks[row]
            subagent.name, subagent.description = task.kind, task.description
            child.titles.task = task.description
            own.messages.flags[row] |= Flag.SUBAGENT
            parser.changed.add(row)
        own.subagents.append(subagent)
        self._chains.append((child, []))
        return len(self._chains) - 1

    def flush(self) -> None:
        """Read what was taken since the last time."""
        for child, records in self._chains:
            if records:
                child.feed(records)
                records.clear()

"""Which tool use started which subagent: everything the session file itself says about it (formats note 7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from schemas.clean import one_line
from schemas.providers.claude.classify import tag
from schemas.session import Session

_AGENT_ID = re.compile(r"agentId: ([A-Za-z0-9_-]{1,80})")
_TAIL = 4000


class Task(NamedTuple):
    """A tool use that starts a subagent."""

    kind: str
    description: str


def prompt_hash(text: str) -> int:
    """A number for a prompt whose white space may have been changed on the way."""
    return hash(" ".join(text.split()))


class TaskLinks:
    """Collects the links while the session is scanned, and answers who started an agent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.tasks: dict[int, Task] = {}
        self.version = 0
        """Grows whenever a link was added that could find an agent which was not found before."""
        self._by_use: dict[str, int] = {}
        self._by_agent: dict[str, int] = {}
        self._by_prompt: dict[int, list[int]] = {}

    def call(self, row: int, use: object, given: object) -> None:
        """A tool use that starts a subagent."""
        values = given if isinstance(given, Mapping) else {}
        kind = values.get("subagent_type") or values.get("name")
        description = values.get("description")
        self.tasks[row] = Task(
            one_line(kind, 80) if isinstance(kind, str) else "",
            one_line(description, 200) if isinstance(description, str) else "",
        )
        if isinstance(use, str):
            self._by_use[use] = row
        if isinstance(prompt := values.get("prompt"), str):
            self._by_prompt.setdefault(prompt_hash(prompt), []).append(row)
        self.version += 1

    def result(self, row: int, extra: object, text: str) -> None:
        """The result of such a use: `toolUseResult.agentId`, else the tail of the text."""
        agent = extra.get("agentId") if isinstance(extra, Mapping) else None
        if not isinstance(agent, str) and (found := _AGENT_ID.search(text[-_TAIL:])):
            agent = found[1]
        self._learn(agent, row)

    def progress(self, use: object, agent: object) -> None:
        """`agent_progress` (until mid-2026): the use's id beside the agent's."""
        if isinstance(use, str):
            self._learn(agent, self._by_use.get(use, -1))

    def notification(self, text: str) -> None:
        """The end of a background task."""
        if (use := tag(text, "tool-use-id")) and (agent := tag(text, "task-id")):
            self._learn(agent.strip(), self._by_use.get(use.strip(), -1))

    def _learn(self, agent: object, row: int) -> None:
        if row >= 0 and isinstance(agent, str) and agent not in self._by_agent:
            self._by_agent[agent] = row
            self.version += 1

    def find(self, agent: str, use: str | None, prompt: str | None) -> int | None:
        """The message that started an agent: by its file's meta data, by what the session says, by equal prompts."""
        if use is not None and use in self._by_use:
            return self._by_use[use]
        if agent in self._by_agent:
            return self._by_agent[agent]
        taken = {s.tool_use for s in self._session.subagents}
        rows = self._by_prompt.get(prompt_hash(prompt), []) if prompt else []
        return next((row for row in rows if row not in taken), None)

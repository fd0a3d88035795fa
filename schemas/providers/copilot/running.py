"""Running sessions of Copilot CLI: its list of open ones, their locks, and what they ask (formats/found-live.md 6)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.folders import entries_of, object_in
from schemas.provider import Environment, Home, places_of
from schemas.records import JsonLines
from schemas.running import Running, Stated, Status, Wait
from schemas.values import dict_of, text_of, when

if TYPE_CHECKING:
    from schemas.session import Session

RUNNING = Running(
    headless=r" (?:-p|--prompt)(?: |$)", variables=("COPILOT_AGENT_SESSION_ID",), questions=("ask_user",),
    plans=("exit_plan_mode",), draws=True,
)  # fmt: skip
HOMES = (
    Home("$COPILOT_HOME/session-state", "COPILOT_HOME"),
    Home("$XDG_STATE_HOME/.copilot/session-state", "XDG_STATE_HOME"),  # until 0.0.421 (github/copilot-cli#1954)
    Home(".copilot/session-state"),
)
_LOCK = re.compile(r"inuse\.(\d+)\.lock")
_LONGEST = 4 << 20
"""Bytes behind a tool use in which its permission is looked for."""


def stated(env: Environment) -> Iterator[Stated]:
    """Read the list of open sessions, whose entries stay after kill -9; a lock names the process of each."""
    for location in places_of(HOMES, env):
        for session, said in object_in(location.path.with_name("open-sessions-state.json")).items():
            working = dict_of(said).get("working")
            status = Status.UNTOLD if not isinstance(working, bool) else Status.WORKS if working else Status.DONE
            for entry in entries_of(location.path / os.path.basename(session), []):
                if lock := _LOCK.fullmatch(entry.name):
                    yield Stated(session, int(lock[1]), status=status)


def waits(session: Session, index: int, use: str) -> Wait | float | None:
    """Return whether a tool use waits for permission: asked for in a record behind it, and not completed; else when it
    was.
    """
    span, asked, given = session.message_spans(index)[0], set[object](), None
    for _, _, _, record in JsonLines().push(session.stores[span.store].read(span.offset, _LONGEST)):
        data = dict_of(record.get("data"))
        if record.get("type") == "permission.requested":
            if use and dict_of(data.get("permissionRequest")).get("toolCallId") == use:
                asked.add(text_of(data.get("requestId")))
        elif record.get("type") == "permission.completed" and (request := text_of(data.get("requestId"))) in asked:
            asked.discard(request)
            approved = text_of(dict_of(data.get("result")).get("kind")).startswith("approved")
            given = when(record.get("timestamp")) if approved else None
    return Wait.PERMISSION if asked else given

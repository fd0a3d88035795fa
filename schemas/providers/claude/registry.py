"""Claude Code's registry of running sessions, a file a process (formats/found-live.md 3), and its names in formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.folders import entries_of, object_in
from schemas.providers.kit.published import Published, categories
from schemas.providers.kit.running import Running, Stated, Status, Wait
from schemas.values import text_of, when, whole

if TYPE_CHECKING:
    from schemas.provider import Environment
    from schemas.providers.kit.agent import Agent

RUNNING = Running(
    headless=r" (?:-p|--print)(?: |$)", variables=("CLAUDE_CODE_SESSION_ID",), questions=("AskUserQuestion",),
    plans=("ExitPlanMode",), draws=True,
)  # fmt: skip
_STATUS: Mapping[str, tuple[Status, str]] = {
    "busy": (Status.WORKS, ""), "idle": (Status.DONE, ""), "waiting": (Status.WAITS, ""),
    "shell": (Status.DONE, "a background command runs"),
}  # fmt: skip
_WAITS = {
    "permission prompt": Wait.PERMISSION, "sandbox request": Wait.PERMISSION, "input needed": Wait.QUESTION,
    "goal proposal": Wait.PLAN,
}  # fmt: skip
_SPACE = re.compile(r"pid:\[\d+\]")


def stated(agent: Agent, env: Environment) -> Iterator[Stated]:
    """Read the registries beside the folders of projects: a file is removed at an exit, and stays after kill -9."""
    for folder in dict.fromkeys(location.path.with_name("sessions") for location in agent.locations(env)):
        for entry in entries_of(folder, [], is_root=True):
            said = object_in(Path(entry.path)) if entry.name.endswith(".json") else {}
            if (pid := whole(said.get("pid"))) and (session := text_of(said.get("sessionId"))):
                status, note = _STATUS.get(text_of(said.get("status")), (Status.UNTOLD, ""))
                wait = _WAITS.get(text_of(said.get("waitingFor"))) if status is Status.WAITS else None
                if status is Status.WAITS and wait is None:
                    status = Status.UNTOLD  # a dialog that the person opened, or a reason that nobody described
                start, space = text_of(said.get("procStart")), _SPACE.search(text_of(said.get("pidDomain")))
                yield Stated(
                    session, pid, int(start) if start.isdecimal() else 0, space[0] if space else "", status, wait,
                    when(said.get("statusUpdatedAt")), note,
                )  # fmt: skip


_SCAFFOLD = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-stdout>", "<local-command-stderr>",
    "<local-command-caveat>", "[Request interrupted by user",
)  # fmt: skip
"""How messages begin that the program writes in a person's name."""
PUBLISHED = Published(
    names=("claude-code",),
    source="claude-code",
    categories=categories(
        file_read="Read",
        file_write="Write Edit MultiEdit NotebookEdit",
        file_search="Glob Grep",
        shell="Bash",
        network="WebFetch WebSearch",
        delegation="Task Agent",
    ),
    by_block=True,
    untyped=re.compile(rf"^(?:{'|'.join(map(re.escape, _SCAFFOLD))})|<TEXTBLOCK>|(?i:warmup)"),
    steps="claude.steps:ClaudeSource",
)

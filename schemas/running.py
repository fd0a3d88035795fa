"""Running sessions, as an agent declares them: how its processes are known, and what it says of its sessions itself.

What is sure, what is a guess and how soon it stands on disk was measured (formats/found-live.md). An agent that
declares nothing is known by the name of its command.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Wait(StrEnum):
    """The thing for which a session waits."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"


class Status(StrEnum):
    """The status of a session in an agent's own words, as far as it gives any."""

    WORKS = "works"
    GOES_ON = "goes on"
    """The turn is not over: it works, or waits for somebody."""
    WAITS = "waits"
    DONE = "done"
    """The turn is over."""
    UNTOLD = ""


class Stated(NamedTuple):
    """A statement of an agent about a session of its own that runs, or ran when it was killed."""

    session: str
    """The session's id."""
    pid: int = 0
    """The process that works on it; 0 where the agent names none."""
    start: int = 0
    """When that process began, in clock ticks since the machine did: another process with its number began later."""
    namespace: str = ""
    """The namespace of process numbers in which `pid` counts (`pid:[4026531836]`); empty where it is not told."""
    status: Status = Status.UNTOLD
    wait: Wait | None = None
    since: float | None = None
    """When it got that status, in seconds since 1970."""
    note: str = ""
    """What else is to be said of the status, in a few words: `a background command runs`."""


class Running(NamedTuple):
    """The marks of an agent's processes and of what its sessions wait for."""

    command: str = ""
    """A regular expression that is found in the command lines of its processes; by default its command's name."""
    unseen: str = ""
    """One for those among them, and among their children, that are no tool and have no terminal."""
    headless: str = ""
    """One for command lines with which it asks nobody: `claude -p`."""
    variables: tuple[str, ...] = ()
    """Variables of its tools' processes that hold the session's id or file. No others are looked at."""
    opens: bool = False
    """Whether the process that works on a session has its file open."""
    asks: bool = True
    """Whether a tool use may wait for a person's permission."""
    late: bool = False
    """Whether a tool use is written when it is over, so that a wait for permission cannot be seen."""
    draws: bool = False
    """Whether its program draws all the time while the model is at work, so that a still terminal tells something."""
    ends: bool = False
    """Whether it always says that a turn is over, so that a text need not be the end."""
    questions: tuple[str, ...] = ()
    """Tools that ask the person something."""
    plans: tuple[str, ...] = ()
    """Tools that ask whether a plan is good."""

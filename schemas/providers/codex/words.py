"""What records of a rollout can hold beyond the words of the kit: `history` says what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from schemas.providers.codex.tokens import Counts
from schemas.providers.kit.words import Piece, Say, Use
from schemas.usage import TokenUsage

ITEM, EVENT, COMPLETED, LINE = 1, 2, 4, 8
"""Where a copy of a text stands."""


@dataclass(slots=True)
class Twin(Say):
    """A text that another source may tell as well."""

    source: int = ITEM
    plan: str = ""
    """The plan that it is, or that stands in the text."""


@dataclass(slots=True)
class Thought(Piece):
    """A part of the thinking; one without text where the provider keeps it back."""

    apart: bool = True
    source: int = ITEM


@dataclass(slots=True)
class Instruction(Piece):
    """What the program tells the model before a turn, in many records: one line of bookkeeping, not a screen of it."""

    apart: bool = True


@dataclass(slots=True)
class Mail(Say):
    """A message between agents: the first one of a turn to this agent is its task."""

    recipient: str = ""


@dataclass(slots=True)
class Setting(Say):
    """The `model` and the directory from here on; a line tells when the model is another one."""

    cwd: str = ""
    turn: str = ""
    """The turn, where it names that."""
    record: str = ""
    """The type of the record, where it holds nothing else."""


@dataclass(slots=True)
class Goal(Say):
    """The thread's goal, which is written again with every count of its tokens."""


@dataclass(slots=True)
class Call(Use):
    """A tool use. What it goes on with: the process or the script that an earlier one started."""

    goes_on: str = ""
    search: str = ""
    """What stands for a web search, whose ids often differ or lack."""


@dataclass(slots=True)
class Event(Call):
    """What an event tells of a tool use, by its `answer`; a use of its own where there is no other, else a note."""

    links: Sequence[str] = ()
    """The threads that it started."""
    source: int = EVENT


@dataclass(slots=True)
class Header(Say):
    """A `session_meta`, or the header of an old file; its text says that the beginning is missing."""

    meta: dict[str, Any] | None = None


class Began(NamedTuple):
    """A turn begins."""

    turn: str


class Ended(NamedTuple):
    """A turn is over; `stopped` by the person."""

    seconds: float | None = None
    stopped: bool = False


class Round(NamedTuple):
    """Running totals, and what came last to them."""

    total: Counts | None
    last: Counts | None
    model: str = ""


class Response(NamedTuple):
    """One response exactly (0.149 and later): a turn that has any counts by them alone."""

    usage: TokenUsage
    id: str
    turn: str
    thread: object

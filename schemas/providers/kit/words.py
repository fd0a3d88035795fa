"""The words of the kit: what a record can hold. All text in them is as the source has it; the kit cleans it.

An agent may have words of its own, subclasses of these or other classes: the kit gives what it does not know to the
agent's `History`, which answers in the words of this page.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from schemas.message import NO_FLAGS, Flag, Kind, Part, ToolStatus, ToolType
from schemas.usage import TokenUsage

Data: TypeAlias = dict[str, Any]
"""A record."""
NOT_TOLD = "(prompt not in the stream)"
"""The label of a prompt that the source does not tell."""


@dataclass(slots=True)
class Say:
    """A message. PROMPT opens an exchange; COMMAND does once the agent answers it."""

    kind: Kind
    text: str = ""
    label: str = ""
    model: str = ""
    id: str = ""
    """The message's own. Said again with the same id, it takes the place of what was said before."""
    once: Hashable = None
    """What stands for it where the source repeats messages: the second with an equal one is left out."""
    asks: bool = False
    """Of a command's output: the agent is asked about it, so what follows answers the command."""
    time: float | None = None
    """Seconds since 1970, where it is not the record's."""
    images: Sequence[Part] = ()
    flags: Flag = NO_FLAGS
    extra: Mapping[str, Any] | None = None
    """Facts for the message's metadata."""
    row: int = -1
    """What `id` is, for a message that has none: its row, which the agent's `History` learns from `own`."""


@dataclass(slots=True)
class Piece(Say):
    """Text that is added to the message with the same id, or begins it: a live delta, a summary that comes later."""

    apart: bool = False
    """A paragraph of its own, and whole: no delta."""


@dataclass(slots=True)
class Held(Piece):
    """A text in which other records have a say: what becomes of it, the agent's `History` decides by its `role`."""

    role: str = ""


@dataclass(slots=True)
class Also(Say):
    """The same message, told by another record: it gives the text, label, images and facts that the message lacks.

    A `History` says it in place of any other `Say`.
    """


@dataclass(slots=True)
class Answer:
    """The result of the tool use `use_id`."""

    use_id: str
    text: str | None = ""
    """None where only `status` is known: that stays, whatever a result says."""
    status: ToolStatus = ToolStatus.OK
    exit_code: int | None = None
    seconds: float | None = None
    images: Sequence[Part] = ()
    subagent: str = ""
    """The id of the subagent that the use started."""
    late: bool = False
    """The end of a use in the background: it counts only where the use is in the background."""
    details: Any = None
    """What the agent's `tool` reads again when the message is built."""
    beside: bool = False
    """What another record tells of the use, shown only where there is no result. A status that is not OK stays,
    whatever a result says; PENDING says nothing.
    """
    more: Sequence[Answer] = ()
    """For the agent's `tool`: all that was told `beside` this result."""


class Task(NamedTuple):
    """The task of a subagent, as the tool use that starts it gives it."""

    name: str = ""
    description: str = ""
    prompt: str = ""


@dataclass(slots=True)
class Use(Say):
    """A tool use, with its `answer` where the same record has it."""

    kind: Kind = Kind.TOOL
    name: str = ""
    use_id: str = ""
    input: Mapping[str, Any] | None = None
    type: ToolType = "unknown"
    """Where the agent's `tools` do not know the name."""
    answer: Answer | None = None
    subagent: str = ""
    """The id of the subagent that it started."""
    task: Task | None = None


class Link(NamedTuple):
    """The tool use `use_id` started the subagent `agent`."""

    use_id: str
    agent: str


class Child(NamedTuple):
    """A subagent whose session is a source of its own."""

    id: str
    path: Path | None = None
    """None for another session of this source, `key`; with neither nobody knows where, or it is found later."""
    key: str = ""
    task: Task = Task()
    use_id: str = ""
    """The tool use that started it, where that is known."""
    internal: bool = False
    """A helper of the agent's own program: counted, not listed."""
    own: bool = True
    """False where it may be another session's: then it counts only if a tool use links it."""


class Count(NamedTuple):
    """Tokens of a model call. With the id of an earlier one: its figures, said again."""

    usage: TokenUsage
    id: str = ""
    model: str = ""
    beside: bool = False
    """A call beside the conversation, which says nothing of its context."""
    closes: bool = False
    """Of a record behind those of the call: all that the agent said since the last such count is of this call."""
    was: str = ""
    """The id under which these figures were counted until now."""


class Total(NamedTuple):
    """Tokens of a model (`name`) until now: of this session, its subagents and what it was copied from."""

    usage: TokenUsage
    name: str
    beside: bool = False
    """It includes subagents in sources of their own: the rest is counted once it is known what those took. A fork's
    includes all that was spent before, also what no record of that tells: it is left out.
    """
    of_thread: bool = False
    """It goes on through all runs of a thread: of those that are printed apart, the largest total is all."""


class Title(NamedTuple):
    """A name of the session. The highest rank counts, of one rank the last. The first prompt has rank 0."""

    text: str
    rank: int = 1
    of: Hashable = None
    """The id of a record, where the title is that of the session which holds that record."""
    first: bool = False
    """Of this rank the first counts."""


class Dropped(NamedTuple):
    """History that was taken back: the last `turns` exchanges, or all from the message `since` on."""

    turns: int = 0
    since: str = ""


class Turn(NamedTuple):
    """The agent's turn begins, or ends. What it says in a turn that no prompt opened opens an exchange."""

    begins: bool = True
    seconds: float | None = None
    failed: bool | None = None
    """Of an end: what becomes of tool uses without a result. None: they stay pending; True: interrupted."""
    how: str = ""
    """Of an end in a stream: how it ended, in a word; empty where it is not the end yet."""


@dataclass(slots=True, init=False)
class Fact:
    """A fact from here on: a part of `Session` or `Lineage`, `model`, `cwd`, `link` or a metadata key."""

    said: dict[str, Any]

    def __init__(self, **said: Any) -> None:
        self.said = said


class Skip(NamedTuple):
    """A record, or a part of one, that holds nothing to read; counted under `what`."""

    what: str


Item: TypeAlias = Say | Answer | Count | Total | Title | Link | Child | Dropped | Turn | Fact | Skip

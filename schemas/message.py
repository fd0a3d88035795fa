"""A message as a reader sees it: parts, at most one tool, and where it was read.

Messages are made on demand from their records (`Session.message`); what a session keeps of each one lies in the
columns of schemas/table.py. All text in here has passed schemas/clean.py (`clean_message`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag, StrEnum
from operator import is_
from typing import Any, Literal, NamedTuple

from schemas.clean import Run, clean
from schemas.diffs import FileDiff, Hunk
from schemas.slices import Listing


class Kind(IntEnum):
    """The kind of a message. PROMPT and COMMAND may open an exchange; the rest belong to the one they stand in."""

    PROMPT = 1
    """Typed by a person."""
    STEER = 2
    """Typed by a person while the agent was working; it joins the running exchange."""
    COMMAND = 3
    """A slash command, or a shell command typed with `!`."""
    TEXT = 4
    """What the agent said."""
    THINKING = 5
    TOOL = 6
    """One tool use together with its result."""
    COMPACTION = 7
    """Where the context was compacted; its text is the summary."""
    INTERRUPT = 8
    ERROR = 9
    """What the agent's program reported as failed: an API error, a hook that blocked."""
    OUTPUT = 10
    """What a command printed."""
    CONTEXT = 11
    """Put into the conversation by the program, not by a person: reminders, project instructions, skill bodies."""
    NOTE = 12
    """Anything else worth a line: a finished background task, mail from another agent, a recap, a retry."""
    UNKNOWN = 13
    """A record of a type nobody described; its text is the record."""


class Lack(StrEnum):
    """Something that a source never tells of its messages."""

    TIMES = "times"
    TOKENS = "tokens"
    THINKING = "thinking"
    RESULTS = "tool results"


USER_KINDS = frozenset({Kind.PROMPT, Kind.STEER, Kind.COMMAND})
"""The kinds whose role is `user`; every other message is the agent's."""


WORK_KINDS = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL, Kind.INTERRUPT, Kind.ERROR})
"""What the agent does for an exchange, or what ends it: how long an exchange took goes by these. Commands, notes,
context and bookkeeping stand in it as well, but may come hours after its answer.
"""


class Flag(IntFlag):
    """A property of a message beside its kind."""

    OPENER = 1
    """It opens an exchange."""
    ERROR = 2
    """Its tool failed, or it reports an error."""
    REWOUND = 4
    """It is on a branch that was abandoned by a rewind or rolled back."""
    PENDING = 8
    """A tool use that has no result (still running, or the program was stopped)."""
    INHERITED = 16
    """Copied from the session this one was forked from; it counts for nothing here."""
    WITHHELD = 32
    """Thinking whose text the provider keeps back."""
    SUBAGENT = 64
    """A tool use that started a subagent."""
    INTERRUPTED = 128
    """A tool use that was interrupted or refused by the person."""
    MORE = 256
    """Several records or events add to it; all are in its spans."""
    GROWING = 512
    """Words of which pieces come one by one, and which may not be whole yet."""


NO_FLAGS = Flag(0)


class SpanRole(IntEnum):
    """The share of a record in the message or group that points at it."""

    BODY = 0
    RESULT = 1
    DETAIL = 2
    USAGE = 3


class Span(NamedTuple):
    """The place of one record: which of the session's stores, offset and length in bytes, line from 1."""

    store: int
    offset: int
    length: int
    line: int
    role: SpanRole
    item: int = 0
    """Which of the items that the record holds (schemas/providers/kit), from 0."""


@dataclass(slots=True)
class Part:
    """A piece of content. `text` is what can be read; for an image it is a placeholder with its type and size."""

    type: Literal["text", "thinking", "image"]
    text: str
    media_type: str | None = None
    size: int | None = None
    """Bytes of the image; None if unknown."""
    runs: list[Run] = field(default_factory=list)
    """Colour that a program printed, for command output."""
    data: str = field(default="", repr=False, compare=False)
    """The image in base64, where it is recorded."""


class ToolStatus(StrEnum):
    """The end of a tool use."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    """The person or a rule said no."""
    INTERRUPTED = "interrupted"
    PENDING = "pending"
    """No result is recorded."""
    BACKGROUND = "background"
    """Started, and goes on in the background."""


ToolType = Literal["write", "read", "search", "shell", "task", "generic", "unknown"]
"""SessionData 1.0's classification of tools."""


PREVIEW = "[A preview of "
"""How the line begins that stands behind a part of an output which was written beside the session."""


@dataclass(slots=True)
class Tool:
    """A tool use and its result."""

    name: str
    type: ToolType
    use_id: str
    input: dict[str, Any]
    output: dict[str, Any] | None = None
    """The result as SessionData keeps it: at least `content` and `is_error`."""
    text: str = ""
    """The result as a person reads it, envelopes unwrapped."""
    runs: list[Run] = field(default_factory=list)
    status: ToolStatus = ToolStatus.OK
    exit_code: int | None = None
    seconds: float | None = None
    diffs: list[FileDiff] = field(default_factory=list)
    images: list[Part] = field(default_factory=list)
    subagent: str | None = None
    """Id of the subagent this call started (`Session.subagents`)."""
    spilled: bool = False
    """The full output was written beside the session; `text` holds it if the file could be read, else its start."""
    summary: str | None = None
    """What the source itself calls the use, where it does."""
    listing: Listing | None = None
    """The form in which its agent shows what it read of a file, where it has one."""
    denier: str = ""
    """Who denied it, where that is known: "you", "a rule"."""
    formatted: str | None = None
    """What the source shows of the use and its result, as Markdown: shown in place of both (SessionData)."""


@dataclass(slots=True)
class Message:
    """One message. `index` is its place in the session, `id` is the source's or derived from it, stable over time."""

    index: int
    id: str
    kind: Kind
    exchange: int
    """Index of its exchange."""
    timestamp: float | None = None
    """Seconds since 1970, UTC."""
    model: str | None = None
    parts: list[Part] = field(default_factory=list)
    tool: Tool | None = None
    group: str | None = None
    """Id of the token group it belongs to."""
    flags: Flag = NO_FLAGS
    label: str = ""
    """For everything that is not prose or a tool: what it is, in a few words ("Compacted, auto, 170k → 8k")."""
    figures: str = ""
    """What belongs at the right edge of the label's line: a row of figures, as wide as those of the rows around it."""
    path_hints: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    """Facts that SessionData has no field for: stop reason, cwd, branch, provider's record type."""

    @property
    def role(self) -> Literal["user", "agent"]:
        """SessionData's role."""
        return "user" if self.kind in USER_KINDS else "agent"

    @property
    def images(self) -> list[Part]:
        """Its images, and its tool's."""
        return [*(part for part in self.parts if part.type == "image"), *(self.tool.images if self.tool else ())]

    @property
    def text(self) -> str:
        """All its readable parts, tool apart."""
        return "\n\n".join(part.text for part in self.parts if part.text)


def clean_message(message: Message) -> Message:
    """The same message, every text in it clean: also one that its provider took out of a record as it was."""
    _clean_fields(message)
    return message


def _clean_fields(value: Any) -> None:
    """Clean the fields of a message, or of what it consists of, in place. Most are clean already, and stay."""
    for name in value.__slots__:
        before = getattr(value, name)
        after = _cleaned(before)
        if after is not before:
            setattr(value, name, after)


def _cleaned(value: Any, depth: int = 0) -> Any:
    """The value if all text in it is clean, else a clean copy."""
    kind = type(value)
    if kind is str:
        return clean(value)
    if kind is list or kind is tuple:
        if depth > 200:
            return "(nested too deeply)"
        items = [_cleaned(item, depth + 1) for item in value]
        return value if all(map(is_, items, value)) else kind(items)
    if kind is dict:
        if depth > 200:
            return "(nested too deeply)"
        made = {clean(key) if type(key) is str else key: _cleaned(item, depth + 1) for key, item in value.items()}
        same = len(made) == len(value) and all(map(is_, made, value)) and all(map(is_, made.values(), value.values()))
        return value if same else made
    if kind in _PARTS:
        _clean_fields(value)
    return value


_PARTS = frozenset({Part, Tool, FileDiff, Hunk})

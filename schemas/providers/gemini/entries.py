"""What one record of the log is to a reader: an `Entry` with the rows that it makes (formats note 1.4 and 1.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from schemas.clean import as_json, clean, one_line
from schemas.message import Flag, Kind, ToolStatus
from schemas.providers._google import (
    Data,
    calls_in,
    context_label,
    is_snapshot_text,
    is_thought,
    media_in,
    normalised,
    only_responses,
    parts_of,
    responses_in,
    said_text,
    snapshot_text,
    thoughts_in,
    time_of,
)
from schemas.providers._google_tools import ok_text, read_result
from schemas.usage import TokenUsage
from schemas.values import dict_of, list_of, text_of

Place: TypeAlias = tuple[int, int, int]
"""Where a record lies: offset, length, line."""
THINKING, TEXT, TOOLS = 0, 1, 2
"""The blocks of an answer: its thinking, its text, its tool uses from here on."""
_FLAGS = {
    ToolStatus.PENDING: Flag.PENDING,
    ToolStatus.ERROR: Flag.ERROR,
    ToolStatus.DENIED: Flag.INTERRUPTED,
    ToolStatus.INTERRUPTED: Flag.INTERRUPTED,
}
_KEY_LENGTH = 4000
COUNTS = ("input", "output", "cached", "thoughts", "tool")
MASKED = "<tool_output_masked>"
"""What a result begins with that the CLI took out of the model's context."""


class Row(NamedTuple):
    """One message of the session, as its columns will hold it."""

    kind: Kind
    key: int
    block: int
    time: float | None
    chars: int
    lines: int
    flags: int = 0
    reply: Place | None = None
    """For a tool use: another record that has its result."""


class Agent(NamedTuple):
    """A subagent that a tool use names: its id, which of the entry's rows the use is, and what it is called."""

    id: str
    row: int
    name: str
    description: str


class Mark(NamedTuple):
    """What a session held before an entry was added: enough to take it back to there without looking at the rest."""

    exchanges: int = 0
    groups: int = 0
    spans: int = 0
    models: int = 0
    created: float | None = None
    updated: float | None = None
    context: int | None = None
    """Tokens in the context of the last call that counts."""
    tools: int = 0
    errors: int = 0
    interrupted: bool = False
    started: float | None = None
    ended: float | None = None
    model: int = 0
    held: int = 0
    """From `tools` on: of the last exchange, and lastly how many groups it had."""


_NOTHING = Mark()


@dataclass(slots=True)
class Entry:
    """A message of the log, however often it was written. `again` tells it from those of its id that were dropped."""

    id: str
    again: int
    index: int
    place: Place
    nested: bool = False
    """It was read from a checkpoint, whose line is accounted for apart."""
    rewound: bool = False
    opens: Kind | None = None
    answered: bool = False
    """A command that the agent answered, and so a prompt in effect."""
    breaks: bool = False
    """It goes on after everything before it in its exchange was dropped."""
    prompt: str = ""
    rows: list[Row] | None = None
    """What it makes; None once the session has it."""
    usage: TokenUsage | None = None
    model: str = ""
    quiet: str = ""
    """Why it makes no rows."""
    unknown: str = ""
    pending: Sequence[tuple[str, str]] = ()
    """The tool uses without result: their tags and names."""
    before: Place | None = None
    """The record as it was before a checkpoint masked its tools' results."""
    replies: dict[str, Place] | None = None
    """The results that came in records of their own, by the tag of the use."""
    agents: Sequence[Agent] = ()
    has_group: bool = False
    start: int = 0
    count: int = 0
    """Its rows in the session: the first, and how many."""
    mark: Mark = _NOTHING


def key_of(identifier: str, again: int, tag: str) -> int:
    """The number that stands for a message in the columns; the same in every process."""
    text = f"{tag}\0{again}\0{identifier}"[:_KEY_LENGTH]
    return hash(int.from_bytes(text.encode("utf-8", "surrogatepass"), "little"))


# -- pieces of a record ------------------------------------------------------------------------------------------------


def thoughts_of(value: Data) -> list[str]:
    """The thoughts of an answer, raw; those in its content count only where there are no others (note 1.4)."""
    thoughts = value.get("thoughts")
    texts = [text for item in thoughts if (text := _thought(item))] if thoughts and isinstance(thoughts, list) else []
    return texts or thoughts_in(value.get("content"))


def _thought(item: object) -> str:
    if not isinstance(item, dict):
        return text_of(item)
    subject, description = text_of(item.get("subject")).strip(), text_of(item.get("description"))
    return f"**{subject}**\n\n{description}".strip() if subject else description


def calls_of(value: Data) -> list[Data]:
    """The tool uses of an answer: its records, then those of its content that have none."""
    calls = [call for call in list_of(value.get("toolCalls")) if isinstance(call, dict)]
    if isinstance(value.get("content"), str):
        return calls
    known = {call["id"] for call in calls if isinstance(call.get("id"), str)}
    others = calls_in(value.get("content"))
    # One without an id is told from the records by nothing.
    return calls + [call for call in others if (call["id"] not in known if text_of(call.get("id")) else not calls)]


def tags_of(calls: list[Data]) -> list[str]:
    """A name for each tool use by which it is known again: its id, or its place among those without."""
    tags: list[str] = []
    for number, call in enumerate(calls):
        tag = text_of(call.get("id"))
        tags.append(tag if tag and tag not in tags else f"#{number}")
    return tags


class Piece(NamedTuple):
    """A part of what stands under the user's name."""

    kind: Kind
    label: str
    content: list[Data]


def pieces_of(value: Data) -> list[Piece]:
    """What was typed, and what was put beside it (note 1.6). What was typed is the first, if there is anything."""
    parts = parts_of(value.get("content"))
    injected = [part for part in parts if not is_thought(part) and context_label(text_of(part.get("text")))]
    shown = parts_of(value.get("displayContent"))
    typed = shown if said_text(shown).strip() or media_in(shown) else [p for p in parts if p not in injected]
    pieces: list[Piece] = []
    text = said_text(typed)
    if text.strip() or media_in(typed):
        start = text.lstrip()[:2]
        is_command = start[:1] in ("/", "?") and start not in ("//", "/*")
        pieces.append(Piece(Kind.COMMAND if is_command else Kind.PROMPT, "", typed))
    for part in injected:
        snapshot = is_snapshot_text(part["text"])
        kind = Kind.COMPACTION if snapshot else Kind.CONTEXT
        pieces.append(Piece(kind, "Compacted" if snapshot else context_label(part["text"]), [part]))
    return pieces


def agent_name(call: Data) -> str:
    """What the subagent of a tool use is called."""
    asked, shown = dict_of(call.get("args")), dict_of(call.get("resultDisplay"))
    names = (shown.get("agentName"), asked.get("agent_name"), asked.get("agentName"), call.get("name"))
    return next((one_line(name, 80) for name in names if isinstance(name, str) and name), "")


# -- reading a record --------------------------------------------------------------------------------------------------


def read_entry(entry: Entry, value: Data, reply_of: Callable[[Place], Data]) -> None:
    """Fill in an entry from its record, which may be a later writing of it. `reply_of` reads a record back."""
    entry.opens, entry.prompt, entry.usage, entry.model = None, "", None, ""
    entry.quiet = entry.unknown = ""
    entry.pending = entry.agents = ()
    entry.rows = []
    kind = value.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        entry.unknown = one_line(kind if isinstance(kind, str) else "record without a type", 60) or "?"
        _add(entry, value, Kind.UNKNOWN, "?", 0, as_json(value, indent=True))
    else:
        reader(entry, value, reply_of)
    if not entry.rows and not entry.quiet:
        entry.quiet = "empty message" if entry.usage is None else ""


def _add(entry: Entry, value: Data, kind: Kind, tag: str, block: int, text: str, flags: int = 0) -> None:
    """A row of an entry, `text` being what it shows."""
    _add_at(entry, time_of(value.get("timestamp")), kind, tag, block, text, flags)


def _add_at(
    entry: Entry,
    time: float | None,
    kind: Kind,
    tag: str,
    block: int,
    text: str,
    flags: int = 0,
    reply: Place | None = None,
) -> None:
    """The same, at a time of its own."""
    assert entry.rows is not None
    lines = text.count("\n") + 1 if text else 0
    entry.rows.append(Row(kind, key_of(entry.id, entry.again, tag), block, time, len(text), lines, flags, reply))


def _read_user(entry: Entry, value: Data, reply_of: Callable[[Place], Data]) -> None:
    if only_responses(value.get("content")) and not parts_of(value.get("displayContent")):
        entry.quiet = "tool response"
        return
    for number, piece in enumerate(pieces_of(value)):
        text = said_text(piece.content)
        if piece.kind in (Kind.PROMPT, Kind.COMMAND):
            entry.prompt = one_line(text, 300) or next((one_line(m.text, 300) for m in media_in(piece.content)), "")
            if piece.kind == Kind.PROMPT or entry.answered:
                entry.opens = piece.kind
        _add(entry, value, piece.kind, f"u{number}", number, snapshot_text(text))


@lru_cache(maxsize=64)
def _model_name(name: str) -> str:
    """A model's name, clean; there are few of them and many answers."""
    return one_line(name, 100)


def _read_answer(entry: Entry, value: Data, reply_of: Callable[[Place], Data]) -> None:
    tokens, thoughts, content, uses = map(value.get, ("tokens", "thoughts", "content", "toolCalls"))
    if tokens and isinstance(tokens, dict):
        entry.usage = normalised(*map(tokens.get, COUNTS))
    entry.model = _model_name(text_of(value.get("model")))
    time = time_of(value.get("timestamp"))
    if (thoughts or not isinstance(content, str)) and (texts := thoughts_of(value)):
        first = next((item for item in list_of(thoughts) if isinstance(item, dict)), {})
        begun = time_of(first.get("timestamp"))
        _add_at(entry, time if begun is None else begun, Kind.THINKING, "thinking", THINKING, "\n\n".join(texts))
    text = said_text(content)
    if (text and not text.isspace()) or media_in(content):
        _add_at(entry, time, Kind.TEXT, "text", TEXT, text)
    if uses or not isinstance(content, str):
        calls = calls_of(value)
        for number, tag in enumerate(tags_of(calls)):
            _read_call(entry, time, calls, number, tag, reply_of)


def _read_call(
    entry: Entry, time: float | None, calls: list[Data], number: int, tag: str, reply_of: Callable[[Place], Data]
) -> None:
    """A tool use; `time` is that of its answer, which counts where the use has none."""
    call = calls[number]
    name = text_of(call.get("name"))
    result, display, status = call.get("result"), call.get("resultDisplay"), call.get("status")
    reply: Place | None = None
    flags = 0
    text = ok_text(name, result, status)
    if text is None or (entry.before is not None and text.startswith(MASKED)):
        ended = read_result(name, result, display, status)
        if is_open(call):
            reply = entry.replies.get(tag) if entry.replies else None
            if reply is None:
                entry.pending = [*entry.pending, (tag, name)]
            else:
                ended = read_result(name, reply_in(reply_of(reply), calls, number), display, status)
        elif (before := entry.before) is not None and ended.text.startswith(MASKED):
            earlier = unmasked(reply_of(before), call)
            if earlier is not None:
                reply, ended = before, read_result(name, earlier, display, status)
        text, flags = ended.text, int(_FLAGS.get(ended.status, 0))
    if agent := text_of(call.get("agentId")):
        flags |= Flag.SUBAGENT
        assert entry.rows is not None
        about = one_line(text_of(call.get("description")), 200)
        entry.agents = [*entry.agents, Agent(one_line(agent, 100), len(entry.rows), agent_name(call), about)]
    own = time_of(call.get("timestamp"))
    _add_at(entry, time if own is None else own, Kind.TOOL, f"t{tag}", TOOLS + number, text, flags, reply)


def leaves_nothing(value: Data) -> bool:
    """Whether it makes no difference that an answer was written so, once it is written again: it waits for no results
    and names no subagent.
    """
    calls = value.get("toolCalls")
    return isinstance(value.get("content"), str) and (
        not calls or (isinstance(calls, list) and all(isinstance(call, dict) and _is_done(call) for call in calls))
    )


def _is_done(call: Data) -> bool:
    return call.get("status") == "success" and "agentId" not in call


def is_open(call: Data) -> bool:
    """Whether a tool use has no result of its own, so that another record may hold it."""
    return not parts_of(call.get("result")) and call.get("status") not in ("success", "error", "cancelled")


def unmasked(value: Data, call: Data) -> object:
    """The result of a tool use in an earlier version of its record; None if it is not there."""
    identifier = text_of(call.get("id"))
    return next((c.get("result") for c in calls_of(value) if identifier and c.get("id") == identifier), None)


def reply_in(value: Data, calls: list[Data], number: int) -> list[Data]:
    """The result of use `number` in a record of results: the one with its id, else its turn among those of its name."""
    call, answers = calls[number], responses_in(value.get("content"))
    name = call.get("name")
    if identifier := text_of(call.get("id")):
        found = [answer for answer in answers if answer.get("id") == identifier]
    else:
        turn = sum(not text_of(other.get("id")) and other.get("name") == name for other in calls[:number])
        found = [answer for answer in answers if not text_of(answer.get("id")) and answer.get("name") == name][turn:]
    return [{"functionResponse": answer} for answer in found[:1]]


def _read_notice(entry: Entry, value: Data, reply_of: Callable[[Place], Data]) -> None:
    text = said_text(value.get("content"))
    if not text.strip():
        return
    kind = {"error": Kind.ERROR, "info": Kind.NOTE, "warning": Kind.NOTE}[value["type"]]
    if value["type"] == "info" and clean(text).strip() == "Request cancelled.":
        kind = Kind.INTERRUPT
    _add(entry, value, kind, "notice", 0, text, int(Flag.ERROR) if kind is Kind.ERROR else 0)


def _read_rewrite(entry: Entry, value: Data, reply_of: Callable[[Place], Data]) -> None:
    """A checkpoint that left messages out without a summary of them."""
    _add(entry, value, Kind.NOTE, "rewrite", 0, "")


_READERS: dict[str, Callable[[Entry, Data, Callable[[Place], Data]], None]] = {
    "user": _read_user,
    "gemini": _read_answer,
    "info": _read_notice,
    "error": _read_notice,
    "warning": _read_notice,
    "$rewrite": _read_rewrite,
}

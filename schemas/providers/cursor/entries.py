"""Entries: the messages of a session before it is filled, each with what its blocks are and how big."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.message import Flag, Kind
from schemas.providers.cursor import messages, results
from schemas.providers.cursor.messages import BLOBS, NOTE, Draft
from schemas.providers.cursor.tools import SPAWNS, tool_input
from schemas.providers.cursor.turns import Turn
from schemas.records import read_record

_HEAD = 300
TURNS, TRANSCRIPT = "the turns", "the transcript"
"""What tells of a session beside its messages."""


class Block(NamedTuple):
    """What is kept of one block of a message."""

    number: int
    """Its place among the message's drafts."""
    kind: Kind
    chars: int
    lines: int
    flags: Flag
    mark: int
    """Equal for equal content, white space aside: by it the store, its turns and a transcript are laid side by side."""
    head: str
    """A prompt's beginning, on one line."""
    use_id: str
    result: bool
    model: str
    unknown: str
    time: float | None


class Sketch(NamedTuple):
    """What is kept of a message, so that it need not be decoded again while its blob stays the same."""

    blocks: tuple[Block, ...]
    hidden: str
    workspace: str | None
    id: str
    """The message's own id; empty for most."""


@dataclass(slots=True)
class Entry:
    """One record of the session to be."""

    id: str
    raw: bytes
    blocks: tuple[Block, ...]
    hidden: str = ""
    gap: bool = False
    """Whether it stands where a message is missing."""
    taken: str = ""
    """Where a message that the store has not was taken from."""
    times: dict[int, float] = field(default_factory=dict)
    """Times of blocks, by their numbers."""
    kinds: dict[int, Kind] = field(default_factory=dict)
    """Kinds that a turn knows better than the message."""
    ended: float | None = None
    """When the turn ended that it opens."""
    model: str = ""


def sketch(value: dict[str, Any], raw: bytes) -> Sketch:
    """The blocks of a message, measured."""
    found = messages.drafts(value, raw)
    identifier = value.get("id")
    return Sketch(
        tuple(_block(n, draft) for n, draft in enumerate(found.blocks)),
        found.hidden,
        found.workspace,
        identifier if isinstance(identifier, str) else "",
    )


def entry(identifier: str, raw: bytes, kept: Sketch) -> Entry:
    """A message as an entry."""
    return Entry(kept.id or identifier, raw, kept.blocks, kept.hidden)


def made(identifier: str, value: dict[str, Any], **facts: Any) -> Entry:
    """An entry whose record is made here: from a turn, or a remark of ours."""
    raw = messages.as_text(value).encode()
    found = sketch(read_record(raw), raw)
    return Entry(identifier, raw, found.blocks, found.hidden, **facts)


def gap(identifier: str) -> Entry:
    """What stands where a message is missing."""
    return Entry(identifier, b"", (), gap=True)


def note(identifier: str, text: str, blobs: list[str]) -> Entry:
    """A remark about the store, and the ids of the blobs that it is about."""
    return made(identifier, {NOTE: text, BLOBS: blobs} if blobs else {NOTE: text})


def of_turn(turn: Turn) -> list[Entry]:
    """A turn as messages, where no message tells of it."""
    if turn.shell is not None:
        run = turn.shell
        value = {"role": "shell", "command": run.command, "stdout": run.stdout, "stderr": run.stderr}
        return [made(turn.id, value if run.exit_code is None else {**value, "exitCode": run.exit_code})]
    prompt = made(turn.id, {"role": "user", "content": turn.text}, ended=turn.ended, taken=TURNS)
    date(prompt, turn)
    found = [prompt]
    for n, step in enumerate(turn.steps):
        identifier = f"{turn.id}.{n}"
        part: dict[str, Any]
        if step.kind is Kind.TOOL:
            part = {"type": "tool-call", "toolCallId": step.use_id, "toolName": step.name, "args": step.given}
        else:
            part = {"type": "text" if step.kind is Kind.TEXT else "reasoning", "text": step.text}
        said = made(identifier, {"role": "assistant", "content": [part]}, model=turn.model, taken=TURNS)
        if step.time is not None:
            said.times = {block.number: step.time for block in said.blocks}
        found.append(said)
        if step.kind is Kind.TOOL and step.result is not None:
            answer = {"type": "tool-result", "toolCallId": step.use_id, "toolName": step.name, "result": step.result}
            found.append(made(f"{identifier}r", {"role": "tool", "content": [answer]}, taken=TURNS))
    return found


def date(opening: Entry, turn: Turn, number: int | None = None) -> None:
    """Give a user's message what its turn knows: when it was sent, whether a person sent it, and while what ran.

    `number` is the block that the turn's text is; all of them without.
    """
    for block in opening.blocks:
        if number is None or block.number == number or block.kind is Kind.CONTEXT:
            if turn.started is not None:
                opening.times[block.number] = turn.started
            if block.kind is Kind.PROMPT and (turn.steer or turn.simulated):
                opening.kinds[block.number] = Kind.CONTEXT if turn.simulated else Kind.STEER
    opening.ended = turn.ended


def mark_of(kind: Kind, text: str) -> int:
    """A number for a block's content; white space does not count."""
    return hash((kind is Kind.THINKING, " ".join(text.split())))


def _block(number: int, draft: Draft) -> Block:
    text = draft.text
    flags = Flag.WITHHELD if draft.withheld else Flag(0)
    mark = mark_of(draft.kind, text)
    if draft.kind is Kind.TOOL:
        text, flags, mark = _tool(draft)
    elif draft.kind is Kind.ERROR:
        flags |= Flag.ERROR
    head = ""
    if draft.kind in (Kind.PROMPT, Kind.COMMAND):
        head = one_line(text or " ".join(image.text for image in draft.images), _HEAD)
    lines = text.count("\n") + 1 if text else 0
    return Block(
        number,
        draft.kind,
        len(text),
        lines,
        flags,
        mark,
        head,
        draft.use_id,
        draft.result,
        draft.model,
        draft.unknown,
        draft.time,
    )


def _tool(draft: Draft) -> tuple[str, Flag, int]:
    """A tool block's size is its result's; a use that waits for its result has none yet."""
    part = draft.part
    name = messages.name_of(part)
    if not draft.result:
        flags = Flag.PENDING | (Flag.SUBAGENT if name in SPAWNS else Flag(0))
        return "", flags, hash((name, messages.as_text(tool_input(messages.given_of(part)))))
    found = outcome(part)
    flags = Flag(0)
    if found.denied or found.interrupted:
        flags = Flag.INTERRUPTED
    elif found.failed or found.exit_code:
        flags = Flag.ERROR
    return found.text, flags, 0


def outcome(part: dict[str, Any]) -> results.Outcome:
    """A tool's result."""
    failed = is_error(part)
    return results.decode(messages.answer_of(part), part.get("highLevelToolCallResult"), failed=failed)


def is_error(part: dict[str, Any]) -> bool:
    """Whether a result says of itself that it is an error."""
    return any(part.get(key) is True for key in ("isError", "is_error"))

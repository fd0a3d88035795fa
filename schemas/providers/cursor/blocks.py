"""What a line of a transcript holds, as the pieces that become messages (formats note 3.3)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from schemas.clean import as_json, one_line
from schemas.message import Kind, Part
from schemas.providers.cursor.prompts import Split, split_prompts, workspace_of
from schemas.providers.cursor.results import image_part, is_image

Data = dict[str, Any]
MOST_BLOCKS = 30_000
"""Blocks of one line that become messages of their own, two at most each; what is beyond is one message."""
_REDACTED = "[REDACTED]"
_ABORTED = re.compile(r"abort|interrupt|cancel", re.IGNORECASE)
_FINE = frozenset({"success", "completed", "complete", "ok", "finished", ""})
_THOUGHTS = ("thinking", "reasoning")
_HIDDEN_THOUGHTS = ("redacted", "redacted_thinking", "redacted-reasoning", "redacted_reasoning")
_RESULTS = ("tool_result", "tool-result", "command_output")
_USES = ("tool_use", "tool-call", "tool_call")


class Piece(NamedTuple):
    """A piece of a line. RESULT and END are no kinds of messages: a result joins its use, an end may show nothing."""

    kind: Kind
    text: str = ""
    label: str = ""
    images: tuple[Part, ...] = ()
    data: Data = {}
    """The block itself, for a tool use, a result and the end of a turn."""
    is_result: bool = False
    is_end: bool = False


class Line(NamedTuple):
    """A line of a transcript, taken apart."""

    role: str
    """user, assistant, another, or empty for the end of a turn and for what is no message."""
    pieces: list[Piece]
    time: float | None = None
    workspace: str | None = None


def line_of(record: Data) -> Line:
    """What a record holds. The same record always gives the same pieces, by whose numbers they are found again."""
    role = record.get("role")
    if record.get("type") == "turn_ended" and not isinstance(role, str):
        return Line("", [_end(record)])
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else record.get("content")
    if not isinstance(role, str) or not (isinstance(message, dict) or "content" in record):
        return Line("", [_unknown(record, record.get("type") or "record without a type")])
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    if len(blocks) > MOST_BLOCKS:
        rest = {"blocks": blocks[MOST_BLOCKS:]}
        line = _user(blocks[:MOST_BLOCKS]) if role == "user" else _agent(role, blocks[:MOST_BLOCKS])
        line.pieces.append(_unknown(rest, f"{len(blocks) - MOST_BLOCKS:,} more blocks"))
        return line
    return _user(blocks) if role == "user" else _agent(role, blocks)


def _user(blocks: list[Any]) -> Line:
    """A user's line: all texts in it are one text, in which the prompt stands at its place."""
    texts = [text for block in blocks if (text := _text_of(block)) is not None and text.strip() != _REDACTED]
    split = split_prompts(texts)
    images = (*split.images, *(image_part(b) for b in blocks if isinstance(b, dict) and is_image(b)))
    pieces = [Piece(s.kind, s.text, s.label, images if s.kind is Kind.PROMPT else ()) for s in split.segments]
    if images and split.prompt is None and len(images) > len(split.images):
        pieces.append(Piece(Kind.PROMPT, "", "", images))  # images without a word
    for block in blocks:
        text = _text_of(block)
        if text is None and not (isinstance(block, dict) and is_image(block)):
            pieces.append(_block(block))
        elif text is not None and text.strip() == _REDACTED:
            pieces.append(Piece(Kind.THINKING))
    # What is kept back here was no thinking, and whether a person wrote it nobody knows.
    withheld = Piece(Kind.CONTEXT, "", "withheld by Cursor")
    pieces = [withheld if piece.kind is Kind.THINKING and not piece.text.strip() else piece for piece in pieces]
    return Line("user", pieces, split.time, _workspace(split))


def _workspace(split: Split) -> str | None:
    return next((root for segment in split.context if (root := workspace_of(segment.text))), None)


def _agent(role: str, blocks: list[Any]) -> Line:
    pieces: list[Piece] = []
    for block in blocks:
        text = _text_of(block)
        if text is None:
            pieces.append(_block(block))
        elif role == "assistant":
            pieces += _said(text)
        elif text.strip():
            pieces.append(Piece(Kind.CONTEXT, text, f"{one_line(role, 40)} message"))
    return Line(role, pieces)


def _text_of(block: object) -> str | None:
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") in ("text", None) and isinstance(text := block.get("text"), str):
        return text
    return None


def _said(text: str) -> list[Piece]:
    """What the agent said. `[REDACTED]` alone or at its end stands for thinking whose text is kept back."""
    bare = text.rstrip()
    hidden = bare.endswith(_REDACTED)
    while bare.endswith(_REDACTED):
        bare = bare.removesuffix(_REDACTED).rstrip()
    said = [Piece(Kind.TEXT, bare if hidden else text)] if bare.strip() else []
    return [*said, Piece(Kind.THINKING)] if hidden else said


def _block(block: object) -> Piece:
    """A block that is no text."""
    if not isinstance(block, dict):
        return _unknown({"block": block}, "block without a type")
    kind = block.get("type")
    if kind in _USES:
        return Piece(Kind.TOOL, data=block)
    if kind in _RESULTS:
        return Piece(Kind.OUTPUT, data=block, is_result=True)
    if kind == "turn_ended":
        return _end(block)
    if kind in _THOUGHTS:
        text = next((text for key in ("thinking", "text", "reasoning") if isinstance(text := block.get(key), str)), "")
        return Piece(Kind.THINKING, "" if text.strip() == _REDACTED else text)
    if kind in _HIDDEN_THOUGHTS:
        return Piece(Kind.THINKING)
    if is_image(block):
        return Piece(Kind.TEXT, images=(image_part(block),))
    return _unknown(block, f"block {kind}" if isinstance(kind, str) else "block without a type")


def _end(data: Data) -> Piece:
    """The end of a turn: nothing to see when all went well, else an interruption or an error."""
    status, error = data.get("status"), data.get("error")
    text = error if isinstance(error, str) else "" if error is None else as_json(error)
    word = status if isinstance(status, str) else "" if status is None else as_json(status)
    if word in _FINE and not text:
        return Piece(Kind.NOTE, is_end=True)
    if _ABORTED.search(word) or _ABORTED.search(text):
        return Piece(Kind.INTERRUPT, text, "interrupted", is_end=True)
    label = "the turn ended with an error" if word in ("error", *_FINE) else f"the turn ended: {one_line(word, 60)}"
    return Piece(Kind.ERROR, text, label, is_end=True)


def _unknown(value: Data, label: object) -> Piece:
    return Piece(Kind.UNKNOWN, as_json(value), one_line(str(label), 120))

"""A message of a transcript made from its lines, when somebody looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.clean import clean, clean_styled, one_line
from schemas.message import Flag, Kind, Message, Part, Span, ToolStatus
from schemas.providers.cursor.blocks import Line, Piece, line_of
from schemas.providers.cursor.results import Outcome, decode
from schemas.providers.cursor.tools import make_tool, tool_name, tool_path_hints
from schemas.session import Session

Block = dict[str, Any]
_WITHHELD = "Cursor keeps the text of this thinking back."
_KEEP = 8
_IDS = ("id", "tool_use_id", "toolCallId", "tool_call_id")


def use_of(block: Block) -> tuple[str, object]:
    """A tool use's name and input, by whichever names a version gave them."""
    given = next((block[key] for key in ("input", "args", "arguments") if key in block), None)
    return tool_name(block.get("name", block.get("toolName"))), given


def use_id(block: Block) -> str:
    """The id of a tool use or of a result's use; empty in most transcripts."""
    return next((value for key in _IDS if isinstance(value := block.get(key), str)), "")


def outcome_of(block: Block) -> Outcome:
    """What a result block says."""
    return decode(_result(block), failed=_failed(block))


def _result(block: Block) -> object:
    return next((block[key] for key in ("content", "output", "result", "text") if block.get(key) is not None), "")


def _failed(block: Block) -> bool:
    return block.get("is_error") is True or block.get("isError") is True


def size_of(text: str) -> tuple[int, int]:
    """Characters and lines of a text."""
    return len(text), text.count("\n") + 1 if text else 0


class Lines:
    """The lines read back last: the messages of one line are mostly wanted one after the other."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int, int], Line] = {}

    def at(self, session: Session, span: Span) -> Line:
        """The line in a span."""
        key = span.store, span.offset, span.length
        if (line := self._kept.get(key)) is None:
            if len(self._kept) >= _KEEP:
                self._kept.clear()
            line = self._kept[key] = line_of(session.record(span))
        return line


def build(session: Session, index: int, lines: Lines, results: Mapping[int, int]) -> Message:
    """The message at `index`; `results` says which piece of its second record is a tool use's result."""
    table = session.messages
    block = table.block[index]
    spans = session.message_spans(index)
    message = Message(
        index,
        f"{session.id}:{spans[0].offset}{f'.{block}' if block else ''}",
        table.kind_of(index),
        table.exchange[index],
        table.when(index),
        session.model_of(index),
        flags=Flag(table.flags[index]),
    )
    piece = _piece(lines.at(session, spans[0]), block)
    if piece is None:  # the file changed under us
        message.label = "this line is not in the file any more"
        piece = Piece(message.kind)
    message.label = message.label or one_line(piece.label, 200)
    if message.kind is Kind.TOOL:
        answer = _piece(lines.at(session, spans[1]), results[index]) if index in results else None
        _tool(session, message, piece.data, answer.data if answer is not None else None)
    elif message.kind is Kind.THINKING:
        if piece.text.strip():
            message.parts.append(Part("thinking", clean(piece.text)))
        else:
            message.label = _WITHHELD
    elif message.kind is Kind.OUTPUT:
        _output(message, piece.data)
    elif piece.text:
        message.parts.append(Part("text", clean(piece.text)))
    message.parts += piece.images
    return message


def _piece(line: Line, number: int) -> Piece | None:
    return line.pieces[number] if number < len(line.pieces) else None


def _tool(session: Session, message: Message, block: Block, answer: Block | None) -> None:
    name, given = use_of(block)
    tool = make_tool(
        name,
        given,
        _result(answer) if answer is not None else None,
        is_error=answer is not None and _failed(answer),
        use_id=use_id(block) or message.id,
    )
    if tool.status is ToolStatus.PENDING and not message.flags & Flag.PENDING:
        # Over, and nobody tells how it went; the session says that this source has no results.
        tool.status = ToolStatus.INTERRUPTED if message.flags & Flag.INTERRUPTED else ToolStatus.OK
    root = session.workspace_root
    message.path_hints = tool_path_hints(tool, root if root and ("/" in root or "\\" in root) else None)
    tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)
    message.tool = tool


def _output(message: Message, block: Block) -> None:
    """A result whose tool use is not in the file."""
    outcome = outcome_of(block)
    message.label = "command output" if block.get("type") == "command_output" else "tool result"
    text, runs = clean_styled(outcome.text)
    if text:
        message.parts.append(Part("text", text, runs=runs))
    message.parts += outcome.images

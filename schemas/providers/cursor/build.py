"""A message of a store made from its records, when somebody looks at it."""

from __future__ import annotations

from typing import Any

from schemas.clean import clean, clean_styled, one_line
from schemas.message import Flag, Kind, Message, Part, SpanRole, ToolStatus
from schemas.providers.cursor.entries import is_error
from schemas.providers.cursor.messages import Draft, answer_of, drafts, given_of, name_of, options
from schemas.providers.cursor.tools import make_tool, tool_path_hints
from schemas.session import Session


class Builder:
    """Makes the messages of one session. `ids` are theirs, in order: they are made unique when it is filled."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def __call__(self, session: Session, index: int) -> Message:
        """The message at `index`."""
        rows = session.messages
        spans = session.message_spans(index)
        body = session.record(spans[0])
        draft = _draft(body, session.raw(spans[0]), rows.block[index])
        message = Message(
            index,
            self.ids[index],
            rows.kind_of(index),
            rows.exchange[index],
            rows.when(index),
            session.model_of(index),
            flags=Flag(rows.flags[index]),
            label=one_line(draft.label, 200),
        )
        if message.kind is Kind.TOOL:
            results = [session.record(span) for span in spans if span.role is SpanRole.RESULT]
            _tool(session, message, draft, results)
            return message
        if draft.text:
            kind = "thinking" if message.kind is Kind.THINKING else "text"
            text, runs = clean_styled(draft.text) if message.kind is Kind.OUTPUT else (clean(draft.text), [])
            message.parts.append(Part("thinking" if kind == "thinking" else "text", text, runs=runs))
        message.parts += draft.images
        if request := options(body).get("requestId"):
            message.metadata["request_id"] = one_line(str(request), 100)
        return message


def _draft(body: dict[str, Any], raw: bytes, number: int) -> Draft:
    """The block of a record that a row stands for."""
    blocks = drafts(body, raw).blocks
    return blocks[number] if number < len(blocks) else Draft(Kind.UNKNOWN, label="gone")


def _tool(session: Session, message: Message, draft: Draft, results: list[dict[str, Any]]) -> None:
    """A tool use with its result, or a result whose use nobody recorded."""
    if draft.result:
        answer, given = draft.part, None
    else:
        found = [block for body in results for block in drafts(body).blocks if block.result]
        answer = next((b.part for b in reversed(found) if b.use_id == draft.use_id), {})
        given = given_of(draft.part)
    name = name_of(draft.part)
    message.tool = make_tool(
        name,
        given,
        answer_of(answer) if answer else None,
        structured=answer.get("highLevelToolCallResult"),
        is_error=is_error(answer),
        use_id=draft.use_id,
    )
    if message.tool.status is ToolStatus.PENDING and not message.flags & Flag.PENDING:
        message.tool.status = ToolStatus.OK  # a transcript's, which tells no results
    message.tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)
    message.path_hints = tool_path_hints(message.tool, session.workspace_root)

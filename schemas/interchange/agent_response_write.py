"""A session as an Agent Response v1, written a message at a time.

Every message of the session becomes one of the document: a person's words `user`, the agent's `assistant`, what the
program put in `system`; a tool's result follows its call as a message of the role `tool`. What the format has no place
for goes under `turnlog`, which it allows (schemas/documents/agent-response.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.diffs import diff_to_json
from schemas.interchange.session_data_write import Edit, SessionDataWriter, iso_time
from schemas.message import USER_KINDS, Flag, Kind, Message, Part, Tool, ToolStatus
from schemas.session import Session
from schemas.table import NONE

KEEP = "agentResponse"
"""Key of `Session.metadata` under which the reader keeps what a document says that a Session has no place for."""
END = "agentResponseEnd"
"""Key of a message's metadata that marks a note which the reader made of the document's end."""
NO_ANSWER = "(the agent gave no final answer)"
"""Stands where the platform wants words and there are none."""
_LEFT_OUT = Flag.REWOUND
_ASSISTANT = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})


def losses(session: Session) -> list[str]:
    """What of a session the format cannot hold, in plain words."""
    gone = sum(bool(flags & _LEFT_OUT) for flags in session.messages.flags)
    found = []
    if gone:
        found.append(f"{gone:,} message{'s' if gone != 1 else ''} taken back by a rewind")
    if agents := len(session.subagents):
        found.append(f"the session{'s' if agents != 1 else ''} of {agents:,} subagent{'s' if agents != 1 else ''}")
    if session.unreadable:
        found.append(f"{len(session.unreadable):,} unreadable line{'s' if len(session.unreadable) != 1 else ''}")
    return found


def to_agent_response(session: Session, *, edit: Edit | None = None) -> Iterator[bytes]:
    """The document in pieces, a message a line; joined they are one JSON object and a newline.

    `edit` is applied to every string that came from the session.
    """
    writer = SessionDataWriter(session, edit=edit)
    final, placeholder = _final(session)
    kept = _object(session.metadata.get(KEEP))
    head = _object(kept.get("fields")) | {
        "final_response": final,
        "metadata": _object(kept.get("metadata")) | _metadata(session, writer, placeholder),
    }
    yield writer.dump(head)[:-1] + b',"messages":['
    lead = b"\n"
    for index in range(len(session.messages)):
        if session.messages.flags[index] & _LEFT_OUT:
            continue
        for message in _messages(session, session.message(index)):
            yield lead + writer.dump(message)
            lead = b",\n"
    yield b"\n]}\n"


def _final(session: Session) -> tuple[str, bool]:
    """What the agent said last, and whether that only stands in."""
    kinds, flags = session.messages.kind, session.messages.flags
    for index in range(len(session.messages) - 1, -1, -1):
        if kinds[index] == Kind.TEXT and not flags[index] & _LEFT_OUT and (text := session.message(index).text).strip():
            return text, False
    return NO_ANSWER, True


def _metadata(session: Session, writer: SessionDataWriter, placeholder: bool) -> dict[str, Any]:
    """The keys that the platform shows, and the session's facts."""
    usage, models = session.usage(), [model for model in session.models if model]
    took = [exchange.duration for exchange in session.live_exchanges if exchange.duration is not None]
    header = writer.header()
    facts = {
        "provider": session.provider,
        "providerName": session.provider_name,
        "sessionId": session.id,
        "version": session.version,
        "title": session.title or None,
        "workspaceRoot": session.workspace_root,
        "branch": session.branch,
        "createdAt": header["createdAt"],
        "updatedAt": header.get("updatedAt"),
        "placeholder": placeholder or None,
    }
    last = session.models[session.exchanges[-1].model] if session.exchanges else ""
    return _given(
        model=last or (models[-1] if models else None),
        total_input_tokens=usage.context if usage else None,
        total_output_tokens=usage.output if usage else None,
        agent_runtime_ms=round(sum(took) * 1000) if took else None,
        turnlog=_given(**facts),
    )


def _messages(session: Session, message: Message) -> Iterator[dict[str, Any]]:
    """The document's messages for one of the session."""
    if message.metadata.get(END):
        return
    ours = _facts(session, message)
    if message.kind in USER_KINDS:
        yield {"role": "user", "content": _content(message) or "", "turnlog": ours}
    elif message.tool is not None:
        yield from _tool(message, message.tool, ours)
    elif message.kind == Kind.THINKING:
        thinking = [{"type": "text", "text": part.text} for part in message.parts]
        yield {"role": "assistant", "content": None} | _given(thinking=thinking or None) | {"turnlog": ours}
    elif message.kind == Kind.TEXT:
        yield {"role": "assistant", "content": _content(message), "turnlog": ours}
    else:
        said = _content(message)
        if not said:
            ours["placeholder"] = True  # it has no words of its own: what it is stands in
        yield {"role": "system", "content": said or message.label, "turnlog": ours}


def _content(message: Message) -> str | list[dict[str, Any]] | None:
    """A message's text: a string, or parts where there are several."""
    parts = [part for part in message.parts if part.text]
    if len(parts) == 1 and parts[0].type != "image":
        return parts[0].text
    return [_part(part) for part in parts] or None


def _part(part: Part) -> dict[str, Any]:
    if part.type != "image":
        return {"type": "text", "text": part.text}
    # An image's bytes are not kept; what is written is its placeholder, which readers show.
    ours = _given(type="image", mediaType=part.media_type, size=part.size)
    return {"type": "text", "text": part.text, "turnlog": ours}


def _tool(message: Message, tool: Tool, ours: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = tool.use_id or f"call-{message.index}"
    ours["tool"] = _given(
        type=tool.type,
        status=tool.status.value,
        exitCode=tool.exit_code,
        seconds=tool.seconds,
        diffs=[diff_to_json(diff) for diff in tool.diffs] or None,
    )
    call = {"id": name, "name": tool.name or "unknown", "arguments": tool.input}
    yield {"role": "assistant", "content": None, "tool_calls": [call], "turnlog": ours}
    if tool.text or tool.output is not None or tool.images or tool.status != ToolStatus.PENDING:
        parts = [*([Part("text", tool.text)] if tool.text else []), *tool.images]
        yield {"role": "tool", "tool_call_id": name, "content": [*map(_part, parts)] if tool.images else tool.text}


def _facts(session: Session, message: Message) -> dict[str, Any]:
    """What is true of a message beside its words."""
    group = session.messages.group[message.index]
    last = group != NONE and session.groups.last[group] == message.index
    usage = session.groups.usage[group] if last else None
    counts = None if usage is None else usage.to_json() | _given(cacheWrite1hTokens=usage.cache_write_1h)
    flags = [flag.name.lower() for flag in message.flags & ~(Flag.PENDING | Flag.ERROR) if flag.name]
    return {"kind": message.kind.name.lower(), "id": message.id} | _given(
        time=iso_time(message.timestamp),
        model=message.model,
        label=message.label or None,
        flags=flags or None,
        group=session.groups.ids[group] if group != NONE else None,
        usage=counts,
        pathHints=message.path_hints or None,
        metadata={key: value for key, value in message.metadata.items() if key != "records"} or None,
    )


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def _object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}

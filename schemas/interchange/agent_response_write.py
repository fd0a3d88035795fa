"""A session as an Agent Response v1, written a message at a time.

Every message of the session becomes one of the document: a person's words `user`, the agent's `assistant`, what the
program put in `system`; a tool's result follows its call as a message of the role `tool`. What the format has no place
for goes under `turnlog`, which it allows (schemas/documents/agent-response.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from schemas.interchange.session_data_write import Edit, SessionDataWriter, iso_time, unseen
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
_ELSEWHERE = frozenset({"title", "branch", "source", "subagents", "fields"})
"""Facts of a session that stand elsewhere in the document, or in none."""
_ASSISTANT = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})


def losses(session: Session) -> list[str]:
    """What of a session the format cannot hold, in plain words."""
    gone = sum(bool(flags & _LEFT_OUT) for flags in session.messages.flags)
    found = []
    if gone:
        found.append(f"{gone:,} message{'s' if gone != 1 else ''} taken back by a rewind")
    if agents := len(session.subagents):
        found.append(f"the session{'s' if agents != 1 else ''} of {agents:,} subagent{'s' if agents != 1 else ''}")
    return found


def to_agent_response(
    session: Session, *, edit: Edit | None = None, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The document in pieces, a message a line; joined they are one JSON object and a newline.

    `edit` is applied to every part of it. `lost` counts what is not in it, beside `losses`.
    """
    writer = SessionDataWriter(session, edit=edit, lost=lost)
    writer.lost["hidden record"] += sum(session.hidden.values())
    writer.lost["unknown record"] += unseen(session)
    final, placeholder = _final(session)
    kept = _object(session.metadata.get(KEEP))
    head = _object(kept.get("fields")) | {
        "final_response": final,
        "metadata": _object(kept.get("metadata")) | _metadata(writer, placeholder),
    }
    yield writer.dump(head)[:-1] + b',"messages":['
    lead = b"\n"
    for index in range(len(session.messages)):
        if session.messages.flags[index] & _LEFT_OUT:
            continue
        for message in _messages(writer, session.message(index)):
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


def _metadata(writer: SessionDataWriter, placeholder: bool) -> dict[str, Any]:
    """The keys that the platform shows, and the session's facts."""
    session = writer.session
    usage = session.usage()
    took = [exchange.duration for exchange in session.live_exchanges if exchange.duration is not None]
    facts = {
        "provider": session.provider,
        "providerName": session.provider_name,
        "sessionId": session.id,
        "version": session.version,
        "title": session.title or None,
        "workspaceRoot": session.workspace_root,
        "branch": session.branch,
        "createdAt": iso_time(session.created),
        "updatedAt": iso_time(session.updated),
        "placeholder": placeholder or None,
        "session": _session_facts(writer) or None,
        "groups": [
            {"id": writer.group_id(group), "usage": _usage(session, group, None)} for group in _homeless(session)
        ]
        or None,
    }
    return _given(
        model=next((session.models[number] for number in reversed(session.messages.model) if number), None),
        total_input_tokens=usage.context if usage else None,
        total_output_tokens=usage.output if usage else None,
        agent_runtime_ms=round(sum(took) * 1000) if took else None,
        turnlog=_given(**facts),
    )


def _messages(writer: SessionDataWriter, message: Message) -> Iterator[dict[str, Any]]:
    """The document's messages for one of the session."""
    if message.metadata.get(END):
        return
    ours = _facts(writer, message)
    if message.kind in USER_KINDS:
        yield {"role": "user", "content": _content(message) or "", "turnlog": ours}
    elif message.tool is not None:
        yield from _tool(writer, message, message.tool, ours)
    elif message.kind == Kind.THINKING:
        thinking = [{"type": "text", "text": part.text} for part in message.parts]
        yield {"role": "assistant", "content": None} | _given(thinking=thinking or None) | {"turnlog": ours}
    elif message.kind == Kind.TEXT:
        yield {"role": "assistant", "content": _content(message), "turnlog": ours}
    else:
        said = _content(message)
        if not said:
            ours["placeholder"] = True  # it has no words of its own: what it is stands in
        yield {**_whose(message, ours), "content": said or message.label, "turnlog": ours}


def _whose(message: Message, ours: dict[str, Any]) -> dict[str, Any]:
    """The role of a message that is neither a person's nor the agent's: a tool's, with the call that it names, where it
    was one and no call was there for it.
    """
    facts = dict(message.metadata)
    if message.kind != Kind.OUTPUT or facts.pop("role", None) != "tool":
        return {"role": "system"}
    named = isinstance(facts.get("tool_call_id"), str)
    said = {"role": "tool"} | ({"tool_call_id": facts.pop("tool_call_id")} if named else {})
    ours.pop("metadata", None)
    ours |= _given(metadata={key: value for key, value in facts.items() if key != "records"} or None)
    return said


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


def _tool(writer: SessionDataWriter, message: Message, tool: Tool, ours: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = tool.use_id or f"call-{message.index}"
    facts = {key: value for key, value in writer.tool_facts(tool).items() if key not in ("text", "images")}
    result = None  # where it says no more than its text and whether the tool failed
    if tool.output not in (None, {"content": tool.text, "is_error": tool.status == ToolStatus.ERROR}):
        result = {key: value for key, value in _object(tool.output).items() if (key, value) != ("content", tool.text)}
    ours["tool"] = facts | _given(
        type=tool.type,
        useId=None if tool.use_id else "",
        summary=tool.summary,
        formattedMarkdown=tool.formatted,
        output=result,
    )
    call = {"id": name, "name": tool.name or "unknown", "arguments": tool.input}
    yield {"role": "assistant", "content": None, "tool_calls": [call], "turnlog": ours}
    # Of a result that no source tells there is no message: an empty one would say that there was nothing in it.
    if tool.text or tool.output is not None or tool.images:
        parts = [*([Part("text", tool.text)] if tool.text else []), *tool.images]
        yield {"role": "tool", "tool_call_id": name, "content": [*map(_part, parts)] if tool.images else tool.text}


def _facts(writer: SessionDataWriter, message: Message) -> dict[str, Any]:
    """What is true of a message beside its words."""
    session = writer.session
    group = session.messages.group[message.index]
    last = group != NONE and session.groups.last[group] == message.index
    runs = [writer.runs(part.runs) for part in message.parts]
    writer.lost["image"] += sum(part.type == "image" for part in message.parts)
    told = message.tool is not None and message.tool.status == ToolStatus.ERROR  # by the tool's status
    flags = [f.name.lower() for f in message.flags & ~(Flag.PENDING | (Flag.ERROR if told else 0)) if f.name]
    return {"kind": message.kind.name.lower(), "id": message.id} | _given(
        time=iso_time(message.timestamp),
        model=message.model,
        label=message.label or None,
        figures=message.figures or None,
        flags=flags or None,
        runs=runs if any(runs) else None,
        group=writer.group_id(group) if group != NONE else None,
        usage=_usage(session, group, message.model) if last else None,
        pathHints=message.path_hints or None,
        metadata={key: value for key, value in message.metadata.items() if key != "records"} or None,
    )


def _usage(session: Session, group: int, model: str | None) -> dict[str, Any]:
    """What a token group used, and by which model where that is not `model`."""
    usage, name = session.groups.usage[group], session.models[session.groups.model[group]]
    return usage.to_json() | _given(
        cacheWrite1hTokens=usage.cache_write_1h, model=name if name and name != model else None
    )


def _homeless(session: Session) -> list[int]:
    """The token groups that end with no message of the document: what they used was used all the same."""
    flags, last = session.messages.flags, session.groups.last
    counted = sorted(group for exchange in session.exchanges for group in exchange.groups)
    return [group for group in counted if last[group] == NONE or flags[last[group]] & _LEFT_OUT]


def _session_facts(writer: SessionDataWriter) -> dict[str, Any]:
    """What is true of the whole session and stands nowhere else in the document."""
    facts = {key: value for key, value in writer.session_facts().items() if key not in _ELSEWHERE}
    metadata = {key: value for key, value in _object(facts.pop("metadata", None)).items() if key != KEEP}
    return facts | _given(metadata=metadata or None)


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def _object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}

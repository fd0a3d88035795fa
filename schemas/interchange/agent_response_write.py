"""A session as an Agent Response v1, written a message at a time: what the format has, and nothing beside it.

A person's words become `user`, the agent's `assistant`, what the program put in `system`; a tool's result follows its
call as a message of the role `tool`. What the format has no place for is counted, by the names of `LOSSES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from schemas.interchange.session_data_write import Edit, dump, unseen
from schemas.message import USER_KINDS, Flag, Kind, Message, Part, Tool, ToolStatus
from schemas.session import Session

LOSSES = {
    "image": "named, not included",
    "coloured run": "shown plain",
    "diff": "left out, but for what the tool was called with",
    "note": "left out, being no part of the talk",
    "empty message": "left out",
    "rewound message": "left out",
    "subagent session": "left out: the format holds one run",
    "inherited response": "left out, with its tokens",
    "hidden record": "left out, only counted",
    "unknown record": "left out, only counted",
    "token figure": "kept in the totals only",
    "fact": "left out: times, ids, models, outcomes and the like have no place",
}
"""What the format cannot hold; and what became of it."""
NO_ANSWER = "(the agent gave no final answer)"
"""Stands where the platform wants words and there are none."""


def to_agent_response(
    session: Session, *, edit: Edit | None = None, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The document in pieces, a message a line; joined they are one JSON object and a newline.

    `edit` is applied to every part of it. `lost` counts what is not in it.
    """
    lost = Counter() if lost is None else lost
    _count_beside(session, lost)
    yield dump({"final_response": _final(session), "metadata": _metadata(session)}, edit)[:-1] + b',"messages":['
    lead = b"\n"
    for index in _told(session):
        message = session.message(index)
        _count(message, lost)
        for written in _messages(message, lost):
            yield lead + dump(written, edit)
            lead = b",\n"
    yield b"\n]}\n"


def _told(session: Session) -> Iterator[int]:
    """The messages that no rewind took back."""
    return (index for index, flags in enumerate(session.messages.flags) if not flags & Flag.REWOUND)


def _count_beside(session: Session, lost: Counter[str]) -> None:
    """Count what of a session stands in none of its messages."""
    lost["hidden record"] += sum(session.hidden.values())
    lost["unknown record"] += unseen(session)
    lost["subagent session"] += len(session.subagents)
    lost["inherited response"] += len(session.inherited)
    lost["rewound message"] += len(session.messages) - sum(1 for _ in _told(session))
    lost["token figure"] += len(session.groups) if len(session.groups) > 1 else 0
    facts = (session.title, session.id, session.version, session.workspace_root, session.branch, session.created)
    lost["fact"] += sum(map(bool, facts)) + max(len(session.models) - 2, 0)


def _count(message: Message, lost: Counter[str]) -> None:
    """Count what of a message has no place in the document."""
    tool = message.tool
    lost["image"] += len(message.images)
    lost["coloured run"] += sum(len(part.runs) for part in message.parts)
    lost["fact"] += (message.timestamp is not None) + len(message.metadata)
    if tool is not None:
        lost["coloured run"] += len(tool.runs)
        lost["diff"] += len(tool.diffs)
        outcome = tool.status not in (ToolStatus.OK, ToolStatus.PENDING), tool.exit_code is not None, bool(tool.seconds)
        lost["fact"] += sum(outcome)


def _final(session: Session) -> str:
    """Return the agent's last text, or `NO_ANSWER`."""
    for index in reversed(list(_told(session))):
        if session.messages.kind[index] == Kind.TEXT and (text := session.message(index).text).strip():
            return text
    return NO_ANSWER


def _metadata(session: Session) -> dict[str, Any]:
    """The keys that the platform shows in places of their own, beside what else the session's source says of it."""
    usage = session.usage()
    took = [exchange.duration for exchange in session.live_exchanges if exchange.duration is not None]
    facts = {
        "model": next((session.models[number] for number in reversed(session.messages.model) if number), None),
        "total_input_tokens": usage.context if usage else None,
        "total_output_tokens": usage.output if usage else None,
        "agent_runtime_ms": round(sum(took) * 1000) if took else None,
    }
    return session.metadata | {key: value for key, value in facts.items() if value is not None}


def _messages(message: Message, lost: Counter[str]) -> Iterator[dict[str, Any]]:
    """The document's messages for one of the session."""
    content = _content(message.parts)
    if message.kind in USER_KINDS:
        yield {"role": "user", "content": content or ""}
    elif message.tool is not None:
        yield from _tool(message.tool, message.index)
    elif message.kind == Kind.NOTE:
        lost["note"] += 1
    elif not content and (message.kind in (Kind.TEXT, Kind.THINKING) or not message.label):
        lost["empty message"] += 1
    elif message.kind == Kind.THINKING:
        yield {"role": "assistant", "content": None, "thinking": [_part(part) for part in message.parts]}
    elif message.kind == Kind.TEXT:
        yield {"role": "assistant", "content": content}
    else:
        yield _whose(message) | {"content": content or message.label}


def _whose(message: Message) -> dict[str, Any]:
    """The role of a message that is neither a person's nor the agent's: a tool's, with the call that it names, where
    its source has it as one and no call was there for it.
    """
    if message.kind != Kind.OUTPUT or message.metadata.get("role") != "tool":
        return {"role": "system"}
    named = message.metadata.get("tool_call_id")
    return {"role": "tool"} | ({"tool_call_id": named} if isinstance(named, str) else {})


def _content(parts: list[Part]) -> str | list[dict[str, Any]] | None:
    """A message's text: a string, or parts where there are several."""
    said = [part for part in parts if part.text]
    return said[0].text if len(said) == 1 else [_part(part) for part in said] or None


def _part(part: Part) -> dict[str, Any]:
    """A piece of text. An image's bytes are not kept; what is written is its placeholder."""
    return {"type": "text", "text": part.text}


def _tool(tool: Tool, index: int) -> Iterator[dict[str, Any]]:
    """A call, and its result: of one that no source tells there is no message, as an empty one would say that there was
    nothing in it.
    """
    name = tool.use_id or f"call-{index}"
    call = {"id": name, "name": tool.name or "unknown", "arguments": tool.input}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    if tool.text or tool.output is not None or tool.images:
        parts = [Part("text", tool.text), *tool.images]
        yield {"role": "tool", "tool_call_id": name, "content": _content(parts) or ""}

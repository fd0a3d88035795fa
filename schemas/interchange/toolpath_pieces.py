"""A message inside a step: most of it is the step's own payload, the rest stands under `meta.turnlog.messages`.

What stands there is the message as SessionData has it (schemas/documents/session-data.md) without what the payload
says: a part of the content names its place in the payload's text instead of holding it, and a tool the item of
`tool_uses` that it is. `take_apart` makes that, `put_together` reads it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.diffs import diff_to_json
from schemas.interchange.toolpath import EVENT
from schemas.interchange.toolpath_tools import drop_told, put_writes, read_writes, tool_back, tool_use
from schemas.message import Message

BETWEEN = {"text": "\n\n", "thinking": "\n"}
"""What stands between the pieces of a turn's text and of its thinking (formats note 6)."""
CONVERSATION = frozenset({"prompt", "steer", "command", "text", "thinking", "tool"})
"""The kinds of which a turn consists; of other messages that share its record only the turn's text may tell."""


class Payload(NamedTuple):
    """What a step's messages say in the terms of the format."""

    text: str
    thinking: str
    uses: list[dict[str, Any]]
    writes: dict[str, Any]
    """Artifacts that stand beside the turn."""


def take_apart(
    provider: str,
    messages: list[dict[str, Any]],
    raw: str | None,
    results: list[str | None],
    writes: dict[str, Any] | None = None,
    *,
    plain: list[bool],
    aside: bool = False,
) -> Payload:
    """The payload of a step; `messages` (SessionData's) lose what it says and get places in it.

    `aside`: the step is neither a person's nor the agent's turn, so that any message of it may be its text.
    `raw` is the step's text as its source had it, where that is known; likewise `results` are the tools' results and
    `writes` the artifacts beside the turn. `plain`: which of the messages' tools take a text.
    """
    pieces: dict[str, list[str]] = {"text": [], "thinking": []}
    lengths = {"text": 0, "thinking": 0}
    uses: list[dict[str, Any]] = []
    beside: dict[str, Any] = {} if writes is None else writes
    told_by: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for number, message in enumerate(messages):
        ours = message["metadata"]["turnlog"]
        if ours.get("placeholder"):
            message.pop("content", None)
        told = aside or ours["kind"] in CONVERSATION
        facts = ours.get("parts") or []
        for place, part in enumerate(message.get("content", ())):
            is_image = place < len(facts) and (facts[place] or {}).get("type") == "image"
            if not is_image:  # its text only stands for it
                _place(part, pieces, lengths, raw, told=told)
        message.pop("usage", None)
        facts = ours.get("tool")
        if "tool" in message and isinstance(facts, dict):
            name = f"{message['id']}"
            result = results[number] if number < len(results) else None
            use = tool_use(provider, message["tool"], facts, name, result, plain=plain[number])
            message["tool"]["use"] = len(uses)
            uses.append(use)
            told_by.append((use, facts))
            if writes is None:
                put_writes(beside, use, facts, message["tool"]["type"])
    for use, facts in told_by:
        drop_told(beside, use, facts)
    text = raw if raw is not None else BETWEEN["text"].join(pieces["text"])
    return Payload(text, BETWEEN["thinking"].join(pieces["thinking"]), uses, beside)


def _place(
    part: dict[str, Any], pieces: dict[str, list[str]], lengths: dict[str, int], raw: str | None, *, told: bool
) -> None:
    """Replace the text of a content part by its place, where the payload has it."""
    kind, text = "thinking" if part["type"] == "thinking" else "text", part["text"]
    if not text:
        return
    if kind == "text" and raw is not None:
        start = raw.find(text, lengths[kind])
        if start < 0:
            return
    elif not told:
        return
    else:
        start = lengths[kind] + (len(BETWEEN[kind]) if pieces[kind] else 0)
        pieces[kind].append(text)
    lengths[kind] = start + len(text)
    del part["text"]
    part["at"] = [start, start + len(text)]


def put_together(
    structural: dict[str, Any], change: dict[str, Any], kept: object, time: object
) -> list[dict[str, Any]] | None:
    """The messages of a step as SessionData has them; None where what was kept does not fit the payload any more."""
    if not isinstance(kept, list) or not all(_fits(item, structural) for item in kept):
        return None
    return [_whole(item, structural, change, time) for item in kept]


def _fits(item: object, structural: dict[str, Any]) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
        return False
    ours = item["metadata"].get("turnlog")
    if not isinstance(ours, dict) or not isinstance(ours.get("kind"), str):
        return False
    content = item.get("content", [])
    if not isinstance(content, list) or not all(_place_fits(part, structural) for part in content):
        return False
    tool = item.get("tool")
    return tool is None or _use(tool, structural) is not None


def _place_fits(part: object, structural: dict[str, Any]) -> bool:
    if not isinstance(part, dict):
        return False
    if "at" not in part:
        return isinstance(part.get("text"), str)
    at, text = part["at"], structural.get("thinking" if part.get("type") == "thinking" else "text", "")
    return (
        isinstance(at, list)
        and len(at) == 2
        and all(isinstance(place, int) for place in at)
        and isinstance(text, str)
        and 0 <= at[0] <= at[1] <= len(text)
    )


def _use(tool: object, structural: dict[str, Any]) -> dict[str, Any] | None:
    uses, number = structural.get("tool_uses"), tool.get("use") if isinstance(tool, dict) else None
    if not isinstance(uses, list) or not isinstance(number, int) or not 0 <= number < len(uses):
        return None
    use = uses[number]
    return use if isinstance(use, dict) else None


def _whole(item: dict[str, Any], structural: dict[str, Any], change: dict[str, Any], time: object) -> dict[str, Any]:
    message = dict(item)
    ours = {"records": []} | message["metadata"]["turnlog"]  # none are known: this document's own lines are not meant
    message["metadata"] = message["metadata"] | {"turnlog": ours}
    if "timestamp" not in message:
        message["timestamp"] = time
    if "content" in message:
        message["content"] = [_part(part, structural) for part in message["content"]]
    tool = message.get("tool")
    if isinstance(tool, dict) and (use := _use(tool, structural)) is not None:
        message["tool"] = tool_back(use, tool)
        if isinstance(facts := ours.get("tool"), dict) and "diffs" not in facts:
            diffs = [diff_to_json(diff) for diff in read_writes(change, use.get("id"))]
            ours["tool"] = facts | ({"diffs": diffs} if diffs else {})
    return message


def _part(part: dict[str, Any], structural: dict[str, Any]) -> dict[str, Any]:
    if "at" not in part:
        return part
    start, end = part["at"]
    text = structural.get("thinking" if part.get("type") == "thinking" else "text", "")
    return {"type": part.get("type"), "text": text[start:end]}


# -- what messages say beside their texts ------------------------------------------------------------------------------


def handed(use: dict[str, Any], agent: str) -> dict[str, Any]:
    """A tool use as a delegation."""
    said = use["input"] if isinstance(use["input"], dict) else {"prompt": use["input"]}
    words = (said.get(key) for key in ("prompt", "message", "task", "description"))
    row: dict[str, Any] = {
        "agent_id": agent or use["id"],
        "prompt": next((word for word in words if isinstance(word, str)), ""),
    }
    if "result" in use and not use["result"]["is_error"]:
        row["result"] = use["result"]["content"]
    return row


def thin(item: dict[str, Any], time: str) -> None:
    """Leave out of a message what the step says as well."""
    if item.get("timestamp") == time:
        del item["timestamp"]
    elif "timestamp" not in item:
        item["timestamp"] = None


def count_images(message: Message) -> int:
    """How many images a message has, its tool's included."""
    in_parts = sum(part.type == "image" for part in message.parts)
    return in_parts + (len(message.tool.images) if message.tool is not None else 0)


def count_runs(message: Message) -> int:
    """How many runs of coloured text a message has, its tool's included."""
    tool = message.tool
    parts = message.parts if tool is None else [*message.parts, *tool.images]
    return sum(len(part.runs) for part in parts) + (len(tool.runs) if tool is not None else 0)


def told_as_event(message: Message, kept: dict[str, Any], text: str, name: str) -> dict[str, Any]:
    """A message that is no turn as the payload of an event."""
    said: dict[str, Any] = {"type": EVENT, "entry_type": _entry_type(message), "event_source_id": name}
    if label := kept["metadata"]["turnlog"].get("label"):
        said["label"] = label
    return said | ({"text": text} if text else {})


def beside_turn(messages: list[Message], environment: dict[str, Any]) -> dict[str, Any]:
    """A turn's stop reason and environment."""
    reasons = [m.metadata["stopReason"] for m in messages if isinstance(m.metadata.get("stopReason"), str)]
    return ({"stop_reason": reasons[-1]} if reasons else {}) | ({"environment": environment} if environment else {})


def _entry_type(message: Message) -> str:
    said = message.metadata.get("recordType")
    return said if isinstance(said, str) and said else message.kind.name.lower()

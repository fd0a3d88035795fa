"""Lists of messages that people exchange: OpenAI's (chat and responses), Anthropic's, ShareGPT's (others.md 13).

One JSON document, or JSON lines: a message a line, or a conversation a line, each a session of its own. Agents that
keep such lists are asked before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from schemas.message import NO_FLAGS, Flag, Kind, Lack
from schemas.provider import Format, Head
from schemas.providers import likely
from schemas.providers.kit.bases import Data, Prose, Section
from schemas.providers.kit.blocks import arguments_of, block_items, figures_in, message_items, texts_in
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Use
from schemas.records import JsonLines, read_document, read_record
from schemas.values import dict_of, list_of, text_of, when

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_KEYS = frozenset(
    """role content name tool_calls tool_call_id function_call reasoning reasoning_content reasoning_details thinking
    refusal audio annotations id type status weight is_error stop_reason usage model phase""".split()  # noqa: SIM905
)
_REQUEST = frozenset(
    """model messages system tools tool_choice temperature top_p max_tokens max_completion_tokens stream metadata stop
    thinking id parallel_tool_calls response_format reasoning_effort functions conversations timestamp completed source
    reasoning chat_template_kwargs split prompt_id category score label""".split()  # noqa: SIM905
)
"""Keys of a request, and of a row in a dataset. With others it is some program's own file."""
_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
_SPEAKERS = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant",
    "model": "assistant", "system": "system", "tool": "tool", "observation": "tool", "function_response": "tool",
}  # fmt: skip
_TAGS = re.compile(r"<(think|tool_call)>\n?(.*?)\n?(?:</\1>|\Z)", re.DOTALL)
_RESPONSE = re.compile(r"\A\s*<tool_response>\n?(.*?)\n?</tool_response>\s*\Z", re.DOTALL)


class Messages(Prose):
    """Lists of messages."""

    id = "messages"
    name = "Messages"
    verified = "made-up files of each form"
    counting = "Lists of messages mostly have no tokens; those that a message has (`usage`) count for it."
    marks: ClassVar[tuple[bytes, ...]] = (
        b'"role"',
        b'"conversations"',
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Messages of OpenAI's or Anthropic's form, JSON or JSON lines", "messages with a role, and no more"),
        Format("Conversations, JSON lines", "rows with messages or conversations, each a session"),
    )
    files = ()
    lacks = frozenset({Lack.TIMES, Lack.TOKENS, Lack.THINKING})
    tools = {"bash": "shell", "shell": "shell", "python": "shell", "read_file": "read", "write_file": "write"}

    def detect(self, head: Head) -> bool:
        """A list of messages or a request with them, and nothing that a program adds to its own."""
        document = head.document
        if isinstance(document, list):
            others = (other for other in likely(head) if other.id != self.id)
            return _are_messages(document) and not any(other.detect(head) for other in others)
        if isinstance(document, dict):
            return _is_row(document)
        return bool(head.records) and (all(map(_is_row, head.records)) or _are_messages(head.records))

    def sections(self, path: Path, text: str) -> Sequence[Section]:
        """The one conversation of a document, or each of those in rows."""
        raw = text.encode("utf-8", "replace")
        document = read_document(raw)
        lines = JsonLines()
        rows = [] if document is not None else lines.push(raw) + lines.finish()
        if len(rows) < 2 or not all(_is_row(row[3]) for row in rows):
            begun = when(document.get("timestamp")) if isinstance(document, dict) else None
            return [Section("", path.stem, begun, text)]
        found: list[Section] = []
        for number, (offset, length, _, row) in enumerate(rows, 1):
            key = text_of(row.get("id")) or str(number)
            key = key if all(one.key != key for one in found[-50:]) else f"{key}.{number}"
            begun = when(row.get("timestamp"))
            found.append(Section(key, key, begun, raw[offset : offset + length].decode("utf-8", "replace")))
        return found

    def pieces(self, text: str) -> Iterator[Data]:
        """Split a transcript into the facts of all messages, and the messages."""
        raw = text.encode("utf-8", "replace")
        document = read_document(raw)
        if isinstance(document, dict) and not _is_row(document) and "role" in document:
            document = [document]
        if document is None:
            lines = JsonLines()
            document = [row[3] for row in lines.push(raw) + lines.finish()]
        if isinstance(document, list):
            yield from _numbered(map(dict_of, document))
            return
        messages = list_of(document.get("messages")) or [
            _spoken(dict_of(m)) for m in list_of(document["conversations"])
        ]
        yield {"type": "request", "model": document.get("model")}
        if system := texts_in(document.get("system")):
            yield {"role": "system", "content": system}
        yield from _numbered(map(dict_of, messages))

    def type(self, record: Data) -> str:
        """A message's role, or an item's type."""
        return text_of(record.get("role")) or text_of(record.get("type")) or "(no role)"

    def name_of(self, record: Data) -> str:
        """Ids may be given twice, so messages are called by their places."""
        return ""

    def read(self, record: Data) -> Iterator[Item]:
        content, role, model = record.get("content"), record.get("role"), text_of(record.get("model"))
        blocks = [dict_of(block) for block in list_of(content)]
        if record.get("type") == "request":
            yield Fact(model=record.get("model"))
            yield Skip("request")
        elif role is None:
            yield from _item(record)
        elif any(block.get("type") in ("tool_use", "tool_result", "thinking", "redacted_thinking") for block in blocks):
            yield from block_items(blocks, text_of(role), model)
        else:
            yield from message_items(record, model)
        if any(figures := figures_in(record.get("usage"))):
            yield Count(figures, model=model)


def _are_messages(items: Sequence[Any]) -> bool:
    found = [dict_of(item) for item in items[:200]]
    said = [item for item in found if text_of(item.get("role")) in _ROLES and item.keys() <= _KEYS]
    others = [item for item in found if text_of(item.get("type")) in _ITEMS and "role" not in item]
    return bool(said) and len(said) + len(others) == len(found) and ("content" in said[0] or "tool_calls" in said[0])


def _is_row(row: Data) -> bool:
    if not row.keys() <= _REQUEST:
        return False
    talk = [dict_of(turn) for turn in list_of(row.get("conversations"))]
    return _are_messages(list_of(row.get("messages"))) or (
        bool(talk) and all({"from", "value"} <= turn.keys() and text_of(turn["from"]) in _SPEAKERS for turn in talk)
    )


def _spoken(turn: Data) -> Data:
    """A turn of ShareGPT's as a message."""
    text = text_of(turn.get("value"))
    response = _RESPONSE.match(text)
    return {"role": _SPEAKERS.get(text_of(turn.get("from")), ""), "content": response[1] if response else text}


def _numbered(messages: Iterator[Data]) -> Iterator[Data]:
    """The messages with ids of tool uses that occur once: some give the same ids in each turn, some give none. A result
    belongs to the nearest use before it.
    """
    ids: dict[str, str] = {}
    waiting: list[str] = []
    number = 0

    def named(call_id: str) -> str:
        nonlocal number
        number += 1
        ids[call_id] = f"{call_id}.{number}" if not call_id or call_id in ids else call_id
        waiting.append(ids[call_id])
        return ids[call_id]

    def of(call_id: str) -> str:
        name = ids.get(call_id, call_id) if call_id else waiting[0] if waiting else ""
        if name in waiting:
            waiting.remove(name)
        return name

    for message in messages:
        changed = _apart(message)
        if isinstance(changed.get("tool_calls"), list):
            calls = [dict_of(call) for call in changed["tool_calls"]]
            changed["tool_calls"] = [call | {"id": named(text_of(call.get("id")))} for call in calls]
        if call := dict_of(message.get("function_call")):
            changed["tool_calls"] = [{"id": named(""), "function": call}]
        if message.get("role") in ("tool", "function"):
            changed["tool_call_id"] = of(text_of(message.get("tool_call_id")))
        blocks = [dict_of(block) for block in list_of(message.get("content"))]
        if any(block.get("type") in ("tool_use", "tool_result") for block in blocks):
            for block in blocks:
                if block.get("type") == "tool_use":
                    block["id"] = named(text_of(block.get("id")))
                elif block.get("type") == "tool_result":
                    block["tool_use_id"] = of(text_of(block.get("tool_use_id")))
            changed["content"] = blocks
        yield changed


def _apart(message: Data) -> Data:
    """A message whose text has thinking and tool uses in tags, with these taken out of it."""
    text = message.get("content")
    if message.get("role") != "assistant" or not isinstance(text, str) or "<" not in text:
        return dict(message)
    if "</think>" in text and "<think>" not in text:
        text = f"<think>{text}"
    found = _TAGS.findall(text)
    thoughts = [body.strip() for tag, body in found if tag == "think"]
    calls = [
        read_record(body.encode("utf-8", "replace")) or {"name": body} for tag, body in found if tag == "tool_call"
    ]
    changed = dict(message) | {"content": _TAGS.sub("", text).strip() if found else text}
    if any(thoughts):
        changed["reasoning_content"] = "\n\n".join(filter(None, thoughts))
    if calls:
        changed["tool_calls"] = [{"function": call} for call in calls]
    return changed


def _item(record: Data) -> Iterator[Item]:
    """An item of OpenAI's responses that is no message."""
    match record.get("type"):
        case "reasoning":
            thought = texts_in(record.get("summary")) or texts_in(record.get("content"))
            yield Say(Kind.THINKING, thought, flags=NO_FLAGS if thought else Flag.WITHHELD)
        case "function_call":
            given = arguments_of(record.get("arguments"), "raw")
            yield Use(name=text_of(record.get("name")), use_id=text_of(record.get("call_id")), input=given)
        case "function_call_output":
            yield Answer(text_of(record.get("call_id")), texts_in(record.get("output")))
        case _:
            yield Say(Kind.UNKNOWN)


PROVIDER = Messages()

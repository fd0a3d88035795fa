"""What the four protocols stream for one answer of the mock model, as server-sent events."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]


@dataclass(frozen=True)
class Usage:
    """The figures of one answer as turnlog counts: input without the cache, output with thinking."""

    input: int
    cache_read: int
    cache_write: int
    output: int
    thinking: int

    @property
    def prompt(self) -> int:
        """All that went in."""
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True)
class Call:
    """A tool use in the words of the agent that is to run it; a text as input is a script (Codex)."""

    name: str
    input: dict[str, Any] | str


@dataclass(frozen=True)
class Answer:
    """One answer of the model."""

    id: str
    model: str
    usage: Usage
    thinking: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list)


def _pieces(text: str) -> list[str]:
    """The text in parts of a few words."""
    return re.findall(r"(?:\S+\s*){1,4}", text)


def messages(answer: Answer) -> Iterator[Event]:
    """Anthropic's Messages: blocks one after another, the input's figures at the start, the output's at the end."""
    start = {
        "input_tokens": answer.usage.input,
        "cache_read_input_tokens": answer.usage.cache_read,
        "cache_creation_input_tokens": answer.usage.cache_write,
        "output_tokens": 1,
    }
    message = {"id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": start}}
    blocks: list[tuple[Event, str, str, list[str]]] = [
        ({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", _pieces(answer.thinking)),
        ({"type": "text", "text": ""}, "text_delta", "text", _pieces(answer.text)),
    ]
    for number, call in enumerate(answer.calls):
        use = {"type": "tool_use", "id": f"toolu_{answer.id}_{number}", "name": call.name, "input": {}}
        blocks.append((use, "input_json_delta", "partial_json", [json.dumps(call.input)]))
    for index, (block, kind, key, parts) in enumerate([block for block in blocks if block[3]]):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        deltas = [{"type": kind, key: part} for part in parts]
        if kind == "thinking_delta":
            deltas.append({"type": "signature_delta", "signature": "bW9jaw=="})
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    thinking = {"thinking_tokens": answer.usage.thinking}
    end = {"output_tokens": answer.usage.output, "output_tokens_details": thinking}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if answer.calls else "end_turn"}, "usage": end}
    yield {"type": "message_stop"}


def responses(answer: Answer) -> Iterator[Event]:
    """OpenAI's Responses: items, then the whole with the figures. Codex keeps nothing of an item until it is done."""
    items: list[Event] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"type": "reasoning", "id": f"rs_{answer.id}", "summary": summary, "encrypted_content": "bW9j"})
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{answer.id}", "role": "assistant", "content": content}
        items.append({**item, "phase": "commentary" if answer.calls else "final_answer"})
    for number, call in enumerate(answer.calls):
        item = {"id": f"tc_{answer.id}_{number}", "call_id": f"call_{answer.id}_{number}", "name": call.name}
        items.append({"type": "custom_tool_call", **item, "input": call.input})
    cache = {"cached_tokens": answer.usage.cache_read, "cache_write_tokens": answer.usage.cache_write}
    usage = {
        "input_tokens": answer.usage.prompt,
        "input_tokens_details": cache,
        "output_tokens": answer.usage.output,
        "output_tokens_details": {"reasoning_tokens": answer.usage.thinking},
        "total_tokens": answer.usage.prompt + answer.usage.output,
    }
    whole = {"id": answer.id, "object": "response", "model": answer.model}
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": {**whole, "status": "completed", "output": items, "usage": usage}}


def chat(answer: Answer) -> Iterator[Event]:
    """OpenAI's Chat Completions: deltas, and the figures in a last chunk without any."""
    deltas: list[Event] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": part} for part in _pieces(answer.thinking)]
    deltas += [{"content": part} for part in _pieces(answer.text)]
    for number, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": json.dumps(call.input)}
        use = {"index": number, "id": f"call_{answer.id}_{number}", "type": "function", "function": function}
        deltas.append({"tool_calls": [use]})
    whole = {"id": answer.id, "object": "chat.completion.chunk", "created": 1, "model": answer.model}
    for delta in deltas:
        yield {**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    finish = "tool_calls" if answer.calls else "stop"
    yield {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    usage = {
        "prompt_tokens": answer.usage.prompt,
        "prompt_tokens_details": {"cached_tokens": answer.usage.cache_read},
        "completion_tokens": answer.usage.output,
        "completion_tokens_details": {"reasoning_tokens": answer.usage.thinking},
        "total_tokens": answer.usage.prompt + answer.usage.output,
    }
    yield {**whole, "choices": [], "usage": usage}


def gemini(answer: Answer) -> Iterator[Event]:
    """Gemini's streamGenerateContent: parts, with an output that grows until the last chunk."""
    parts: list[Event] = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
    parts += [{"text": part} for part in _pieces(answer.text)]
    parts += [{"functionCall": {"name": call.name, "args": call.input}} for call in answer.calls]
    parts.append({"text": ""})
    for number, part in enumerate(parts, 1):
        said = (answer.usage.output - answer.usage.thinking) * number // len(parts)
        usage = {
            "promptTokenCount": answer.usage.prompt,
            "cachedContentTokenCount": answer.usage.cache_read,
            "candidatesTokenCount": said,
            "thoughtsTokenCount": answer.usage.thinking,
            "totalTokenCount": answer.usage.prompt + said + answer.usage.thinking,
        }
        candidate: Event = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if number == len(parts):
            candidate["finishReason"] = "STOP"
        whole = {"responseId": answer.id, "modelVersion": answer.model}
        yield {**whole, "candidates": [candidate], "usageMetadata": usage}


Protocol = Callable[[Answer], Iterator[Event]]
PATHS: list[tuple[str, Protocol]] = [
    (r"/v1/messages$", messages),
    (r"/v1/responses$", responses),
    (r"/v1/chat/completions$", chat),
    (r":streamGenerateContent$", gemini),
]
"""The end of a path, and who answers there."""
NO_CACHE_WRITES = (chat, gemini)
"""They have no figure for what was written to the cache."""

"""The pieces of an Agent Response, normalised as the platform does it, and what it only warns of (formats note 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from schemas.clean import clean, clean_value, one_line
from schemas.message import Part
from schemas.usage import as_count

LONGEST = 50_000
"""Characters of a final response that the platform keeps, about."""
ROLES = ("system", "user", "assistant", "tool")
FIRST_CLASS = ("model", "system_prompt_id", "total_input_tokens", "total_output_tokens", "agent_runtime_ms")
"""Keys of `metadata` that have places of their own."""
_NUMBERS = frozenset(FIRST_CLASS[2:])
_OF_A_CALL = frozenset({"id", "type", "name", "arguments", "function"})


class Use(NamedTuple):
    """A tool call in its flat form."""

    id: str
    name: str
    input: dict[str, Any]
    more: dict[str, Any]
    """What else the document says of it."""


class OpenCalls:
    """The calls that have no answer yet, each a number."""

    def __init__(self) -> None:
        self.count = 0
        """How many there have been."""
        self._open: set[int] = set()
        self._of_id: dict[str, deque[int]] = {}
        self._order: deque[int] = deque()

    def add(self, name: str, call: int) -> None:
        """A call with this id, which may be empty."""
        self.count += 1
        self._open.add(call)
        self._of_id.setdefault(name, deque()).append(call)
        self._order.append(call)

    def has(self, name: str) -> bool:
        """Whether a call had this id, answered or not."""
        return name in self._of_id

    def answer(self, message: dict[str, Any]) -> int | None:
        """The call that a tool's message answers, which has its answer then: that with its id, or, where it names none,
        the first still open. Of an id that stands twice the later call is meant; those without any are answered in
        their order.
        """
        named = "tool_call_id" in message
        name = id_of(message["tool_call_id"]) if named else ""
        waiting = self._of_id.get(name, deque()) if named else self._order
        while waiting:
            call = waiting.pop() if name else waiting.popleft()
            if call in self._open:
                self._open.remove(call)
                return call
        return None


def items(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def tool_uses(message: dict[str, Any]) -> list[Use]:
    """The tool calls of a message, flat or nested; one that names no tool is left out."""
    uses = []
    said = message.get("tool_calls")
    for entry in map(as_object, [said] if isinstance(said, dict) else items(said)):
        if name := tool_name(entry):
            flat, inner = _is_name(entry.get("name")), as_object(entry.get("function"))
            said_above = flat and entry.get("arguments") is not None
            used = ({"arguments"} if not said_above else set()) | ({"name"} if not flat else set())
            more = {key: value for key, value in entry.items() if key not in _OF_A_CALL}
            if rest := {key: value for key, value in inner.items() if key not in used}:
                more["function"] = rest
            given = _arguments((entry if said_above else inner).get("arguments"))
            uses.append(Use(id_of(entry.get("id")), clean(name), given, more))
    return uses


def nameless_calls(message: dict[str, Any]) -> object:
    """What stands among the tool calls and names no tool, so that there is no use of it; None where nothing does."""
    said = message.get("tool_calls")
    if not isinstance(said, list | dict):
        return said or None
    return [entry for entry in (said if isinstance(said, list) else [said]) if not tool_name(as_object(entry))] or None


def tool_name(entry: dict[str, Any]) -> str:
    """The tool that a call names: its own `name` before its function's; empty where there is neither."""
    for name in (entry.get("name"), as_object(entry.get("function")).get("name")):
        if _is_name(name):
            return str(name)
    return ""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def id_of(value: object) -> str:
    """A call's id as text; some write a number."""
    return clean(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _arguments(value: object) -> dict[str, Any]:
    """Arguments as an object: JSON in a string is read, other text stands under `input`."""
    if isinstance(value, str):
        try:
            said = orjson.loads(value)
        except orjson.JSONDecodeError:
            said = None
        value = said if isinstance(said, dict) else {"input": value} if value else {}
    if value is None:
        return {}
    cleaned: dict[str, Any] = clean_value(value if isinstance(value, dict) else {"input": value})
    return cleaned


def thoughts(message: dict[str, Any]) -> list[str]:
    """The thinking blocks' texts; one without `text` as JSON."""
    return [_thought(block) for block in thinking_blocks(message)]


def thinking_blocks(message: dict[str, Any]) -> list[Any]:
    """The blocks of a message's thinking. What stands there by itself is one."""
    said = message.get("thinking")
    return items(said) if isinstance(said, list) or not said else [said]


def says_more(block: object) -> bool:
    """Whether a thinking block, or a part that is no image, says more than its text, which is what is shown of it."""
    if not isinstance(block, dict):
        return False
    plain = block.keys() <= {"type", "text"} and isinstance(block.get("text"), str)
    return not (plain and block.get("type", "text") in ("text", "thinking"))


def odd_parts(content: object) -> list[Any]:
    """The parts of a message's content that say more than is shown of them; bytes of images are never kept."""
    parts = content if isinstance(content, list) else [content]
    return [part for part in parts if says_more(part) and _part(part).type != "image"]


def _thought(block: object) -> str:
    text = block.get("text") if isinstance(block, dict) else block
    return clean(text) if isinstance(text, str) else as_json(block)


def content_parts(content: object) -> list[Part]:
    """What a message says: a string, or parts of which those that are no text show as JSON or as an image's name."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Part("text", clean(content))]
    if not isinstance(content, list | dict):
        return [Part("text", as_json(content))]
    return [_part(item) for item in (content if isinstance(content, list) else [content])]


def _part(item: object) -> Part:
    if isinstance(item, str):
        return Part("text", clean(item))
    data = as_object(item)
    if isinstance(text := data.get("text"), str):
        ours = as_object(data.get("turnlog"))
        if ours.get("type") != "image":
            return Part("text", clean(text))
        kind = ours.get("mediaType")
        return Part("image", clean(text), clean(kind) if isinstance(kind, str) else None, as_count(ours.get("size")))
    kind = data.get("type")
    if isinstance(kind, str) and "image" in kind:
        return Part("image", _image(data))
    return Part("text", as_json(item))


def _image(data: dict[str, Any]) -> str:
    place = data.get("image_url")
    url = as_object(place).get("url") if isinstance(place, dict) else place
    if not isinstance(url, str):
        return "[image]"
    return f"[image, {len(url):,} characters]" if url.startswith("data:") else f"[image {one_line(url, 200)}]"


def as_json(value: object) -> str:
    """A value as indented JSON."""
    try:
        return orjson.dumps(clean_value(value), option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return clean(str(value))


# -- what the platform warns of ----------------------------------------------------------------------------------------


def soft_warnings(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What does not make a run fail, but is not shown as it was meant: a JSON pointer and a sentence each."""
    final = document.get("final_response")
    if not isinstance(final, str):
        yield "/final_response", "`final_response` is no text"
    elif len(final) > LONGEST:
        yield "/final_response", f"`final_response` has {len(final):,} characters: cut at about {LONGEST:,}"
    elif not final.strip():
        yield "/final_response", "`final_response` is empty: the platform rejects that"
    messages = document.get("messages")
    if messages is not None and not isinstance(messages, list):
        yield "/messages", "`messages` is no list: the platform shows only the final response"
    calls = OpenCalls()
    for number, message in enumerate(items(messages)):
        place = f"/messages/{number}"
        if isinstance(message, dict):
            yield from _of_message(place, message, calls)
        else:
            yield place, "not an object: shown as JSON"
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        yield "/metadata", "`metadata` is no object: shown as JSON"
    for key in FIRST_CLASS:
        value = as_object(metadata).get(key)
        fits = isinstance(value, str) != (key in _NUMBERS) and not isinstance(value, bool | list | dict)
        if value is not None and not fits:
            yield f"/metadata/{key}", f"`{key}` is no {'number' if key in _NUMBERS else 'text'}: not shown in its place"


def _of_message(place: str, message: dict[str, Any], calls: OpenCalls) -> Iterator[tuple[str, str]]:
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        yield f"{place}/role", f"`role` is none of {', '.join(ROLES)}"
    if content is not None and not isinstance(content, str | list):
        yield f"{place}/content", "`content` is neither text nor a list"
    for key in ("tool_calls", "thinking"):
        if key in message and not isinstance(message[key], list):
            said = "null: leave the key out" if message[key] is None else "no list: the platform leaves it out"
            yield f"{place}/{key}", f"`{key}` is {said}"
    for number, call in enumerate(items(message.get("tool_calls"))):
        yield from _of_call(f"{place}/tool_calls/{number}", call)
    for use in tool_uses(message) if role == "assistant" else ():
        calls.add(use.id, calls.count)
    for number, block in enumerate(items(message.get("thinking"))):
        if not isinstance(as_object(block).get("text"), str):
            yield f"{place}/thinking/{number}", "a thinking block without `text`: shown as JSON"
    if role == "tool":
        answers = "kind" not in as_object(message.get("turnlog")) and calls.answer(message) is not None
        if "tool_call_id" not in message:
            first = "taken for the answer to the first open call" if answers else "no call is open: shown by itself"
            yield place, f"a tool's message without `tool_call_id`: {first}"
        elif not answers:
            known = calls.has(id_of(message["tool_call_id"]))
            said = "the call with this id has its answer already" if known else "no call before it has this id"
            yield f"{place}/tool_call_id", f"{said}: shown by itself"


def _of_call(place: str, call: object) -> Iterator[tuple[str, str]]:
    entry = as_object(call)
    if not tool_name(entry):
        yield place, "a tool call that names no tool: dropped"
    elif "name" in entry and "function" in entry:
        yield place, "both `name` and `function`: the former counts" if _is_name(entry["name"]) else "an empty `name`"

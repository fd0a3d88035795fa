"""Readers of content that many agents share: images, arguments as JSON text, texts in lists of parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.clean import as_json, one_line
from schemas.images import picture_in
from schemas.message import NO_FLAGS, Flag, Kind, Part, ToolStatus
from schemas.providers.kit.words import Answer, Item, Say, Skip, Task, Use
from schemas.records import read_record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of


def image_part(media_type: object, data: object = None, name: object = None) -> Part:
    """An image or a file as what can be read of it: its type, its size (`data` is its base64 text), or its name."""
    kind, data = one_line(text_of(media_type), 80), text_of(data)
    size = len(data) * 3 // 4 if data else None
    words = [one_line(text_of(name), 300) or kind or "of unknown type"]
    words += [f"{picture.width} x {picture.height}"] if (picture := picture_in(data)) else []
    words += [f"{size:,} bytes"] if size is not None else []
    what = "image" if not kind or kind.startswith("image") else "file"
    return Part("image", f"[{what} {', '.join(words)}]", kind or None, size, data=data)


def arguments_of(said: object, otherwise: str = "input") -> dict[str, Any]:
    """A tool's input, given as an object or as JSON text; other text stands under the key `otherwise`."""
    if isinstance(said, str):
        given = read_record(said.encode("utf-8", "surrogatepass"))
        return given or ({otherwise: said} if said.strip(" \t\r\n{}") else {})
    return said if isinstance(said, dict) else {}


def texts_in(content: object, between: str = "\n\n") -> str:
    """The text of a message's content: of a text, or of a list of texts and parts."""
    parts = [content] if isinstance(content, str) else list_of(content)
    texts = (part if isinstance(part, str) else text_of(dict_of(part).get("text")) for part in parts)
    return between.join(text for text in texts if text)


def calls_in(message: dict[str, Any], model: str = "") -> Iterator[Use]:
    """The tool uses of a message of OpenAI's form."""
    for call in map(dict_of, list_of(message.get("tool_calls"))):
        function = dict_of(call.get("function"))
        yield Use(
            name=text_of(function.get("name")), use_id=text_of(call.get("id")), model=model,
            input=arguments_of(function.get("arguments"), "raw"),
        )  # fmt: skip


def task_in(given: dict[str, Any]) -> Task:
    """Return the task in the input of a tool use that starts a subagent."""
    names = (text_of(given.get(key)) for key in ("subagent_type", "name", "agent_type"))
    return Task(next(filter(None, names), ""), text_of(given.get("description")), text_of(given.get("prompt")))


def figures_in(usage: object) -> TokenUsage:
    """The figures of a call as OpenAI's interfaces tell them: the input includes the cache, the output thinking."""
    given = dict_of(usage)
    fresh, output = (
        next((n for key in keys if (n := as_count(given.get(key))) is not None), None)
        for keys in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    )
    inner = dict_of(given.get("prompt_tokens_details")) or dict_of(given.get("input_tokens_details"))
    outer = dict_of(given.get("completion_tokens_details")) or dict_of(given.get("output_tokens_details"))
    read, written = as_count(inner.get("cached_tokens")), as_count(inner.get("cache_write_tokens"))
    return _apart(fresh, output, read, written, as_count(outer.get("reasoning_tokens")))


def inclusive_figures(said: dict[str, Any], *keys: str) -> TokenUsage:
    """The figures of a call under these names: input with both caches in it, output, cache read, written, thinking."""
    return _apart(*[as_count(said.get(key)) for key in keys])


def _apart(
    given: int | None,
    output: int | None,
    read: int | None = None,
    written: int | None = None,
    thinking: int | None = None,
) -> TokenUsage:
    fresh = None if given is None else max(0, given - (read or 0) - (written or 0))
    usage = TokenUsage(fresh, output, read, written, thinking)
    return usage if any(usage) else TokenUsage()


def images_in(content: object) -> list[Part]:
    """The images of a message's content, of OpenAI's form or of Anthropic's."""
    found = []
    for part in map(dict_of, list_of(content)):
        kind = part.get("type")
        if kind == "image" or kind == "document":
            source = dict_of(part.get("source"))
            found.append(image_part(source.get("media_type"), source.get("data"), source.get("url")))
        elif kind == "image_url" or kind == "input_image":
            url = part.get("image_url")
            address = text_of(dict_of(url).get("url")) or text_of(url)
            media, _, data = address.removeprefix("data:").partition(";base64,")
            found.append(image_part(media, data) if data else image_part(None, None, address))
    return found


def message_items(message: dict[str, Any], model: str = "") -> Iterator[Item]:
    """Read the items of a message of OpenAI's form, without its figures."""
    content, role = message.get("content"), message.get("role")
    text = texts_in(content)
    match role:
        case "user":
            yield Say(Kind.PROMPT, text, images=images_in(content))
        case "system" | "developer":
            yield Say(Kind.CONTEXT, text, label="System prompt")
        case "assistant":
            thought = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
            if thought.strip():
                yield Say(Kind.THINKING, thought, model=model)
            if text.strip():
                yield Say(Kind.TEXT, text, model=model)
            yield from calls_in(message, model)
        case "tool" | "function":
            yield Answer(text_of(message.get("tool_call_id")), text, images=images_in(content))
        case _:
            yield Say(Kind.UNKNOWN, label=f"message of {text_of(role) or 'nobody'}")


def block_items(blocks: list[dict[str, Any]], role: str, model: str = "") -> Iterator[Item]:
    """Read the items of the content blocks of a message of Anthropic's form."""
    for block in blocks:
        text = text_of(block.get("text"))
        match block.get("type"):
            case "text" if text.strip():
                yield Say(Kind.TEXT if role == "assistant" else Kind.PROMPT, text, model=model)
            case "text":
                yield Skip("text")
            case "thinking" | "redacted_thinking":
                thought = text_of(block.get("thinking"))
                yield Say(Kind.THINKING, thought, model=model, flags=NO_FLAGS if thought else Flag.WITHHELD)
            case "tool_use":
                given = arguments_of(block.get("input"))
                yield Use(name=text_of(block.get("name")), use_id=text_of(block.get("id")), input=given, model=model)
            case "tool_result":
                status = ToolStatus.ERROR if block.get("is_error") is True else ToolStatus.OK
                content = block.get("content")
                yield Answer(text_of(block.get("tool_use_id")), texts_in(content), status, images=images_in(content))
            case "image":
                yield Say(Kind.TEXT if role == "assistant" else Kind.PROMPT, images=images_in([block]))
            case kind:
                yield Say(Kind.UNKNOWN, as_json(block), label=f"block {text_of(kind)}")

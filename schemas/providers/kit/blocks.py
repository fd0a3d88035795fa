"""Readers of content that many agents share: images, arguments as JSON text, texts in lists of parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.clean import one_line
from schemas.message import Part
from schemas.providers.kit.words import Use
from schemas.records import read_record
from schemas.values import dict_of, list_of, text_of


def image_part(media_type: object, data: object = None, name: object = None) -> Part:
    """An image as what can be read of it: its type, its size (`data` is its base64 text), or its name."""
    kind = one_line(text_of(media_type), 80)
    size = len(data) * 3 // 4 if isinstance(data, str) and data else None
    words = [one_line(text_of(name), 200) or kind or "of unknown type"]
    words += [f"{size:,} bytes"] if size is not None else []
    return Part("image", f"[image {', '.join(words)}]", kind or None, size)


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

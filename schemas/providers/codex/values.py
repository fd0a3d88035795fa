"""Small readers of what a rollout's fields hold: any of them may be missing or of another type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from schemas.clean import clean
from schemas.message import Part
from schemas.path_hints import local_path
from schemas.values import number, text_of

_TEXTS = ("output_text", "input_text", "text", "Text")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")


def seconds_of(duration: object) -> float | None:
    """A duration as Rust serialises it (`{"secs": 1, "nanos": 5}`), or a number of seconds."""
    if isinstance(duration, dict):
        secs, nanos = number(duration.get("secs")), number(duration.get("nanos"))
        return None if secs is None else secs + (nanos or 0) / 1e9
    return number(duration)


def image_part(url: object, name: object = None) -> Part | None:
    """The placeholder of an image: what it is and how big, never its bytes; None if there is nothing to name."""
    if isinstance(url, str) and (match := _DATA_URL.match(url)):
        size = (len(url) - match.end()) * 3 // 4
        media = clean(match[1] or "image")
        return Part("image", f"[image {media}, {size:,} bytes]", media, size)
    if isinstance(url, str) and url:
        return Part("image", f"[image {clean(url[:200])}]")
    if isinstance(name, str) and name:
        return Part("image", f"[image {clean(local_path(name)[:200])}]")
    return None


def base64_part(data: object, media: object) -> Part:
    """The placeholder of an image that is given as base64 text."""
    size = len(data) * 3 // 4 if isinstance(data, str) else None
    kind = clean(media) if isinstance(media, str) else "image"
    return Part("image", f"[image {kind}, {size:,} bytes]" if size is not None else f"[image {kind}]", kind, size)


def content_items(content: object) -> Iterator[tuple[str, Any]]:
    """The pieces of a message's or an output's content, one an item: ("text", str), ("image", Part), ("other", label),
    and ("none", "") for what holds nothing to show.
    """
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield "text", item
        elif isinstance(item, dict):
            kind = text_of(item.get("type"))
            if isinstance(item.get("text"), str) and "image" not in kind.lower():
                yield "text", item["text"]
            elif "image" in kind.lower():
                if "data" in item:
                    yield "image", base64_part(item["data"], item.get("mimeType"))
                elif part := image_part(
                    item.get("image_url") or item.get("url"), item.get("file_id") or item.get("path")
                ):
                    yield "image", part
                else:
                    yield "none", ""
            elif kind == "encrypted_content":
                sealed = text_of(item.get("encrypted_content"))
                yield ("other", "[encrypted]") if sealed.startswith("gAAAAA") else ("text", sealed)
            elif "audio" in kind.lower():
                yield "other", "[audio]"
            else:
                name = item.get("name") or item.get("path") or item.get("uri")
                yield "other", f"[{clean(' '.join(str(v)[:200] for v in (kind, name) if v))}]"
        else:
            yield "none", ""


def content_text(content: object, between: str = "") -> str:
    """The readable text of content, images apart."""
    if isinstance(content, str):
        return content
    if type(content) is list and len(content) == 1 and type(item := content[0]) is dict:
        text = item.get("text")
        if type(text) is str and item.get("type") in _TEXTS:
            return text
    return between.join(value for kind, value in content_items(content) if kind in ("text", "other"))


def content_images(content: object) -> list[Part]:
    """The placeholders of the images in content."""
    return [value for kind, value in content_items(content) if kind == "image"]

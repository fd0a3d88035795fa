"""Images and documents: what can be said of them without showing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.clean import clean, one_line
from schemas.message import Part

_KINDS = {"image": "Image", "document": "Document"}


def media_parts(content: object) -> list[Part]:
    """A placeholder for each image and document among the blocks of a message."""
    if not isinstance(content, list):
        return []
    return [media_part(b) for b in content if isinstance(b, dict) and str(b.get("type")) in _KINDS]


def media_part(block: Mapping[str, Any]) -> Part:
    """`[Image image/png, 311 KB]`, or the address of an image that is not in the session."""
    source = block.get("source")
    if not isinstance(source, dict):
        source = {}
    kind = _KINDS.get(str(block.get("type")), "Image")
    media_type = source.get("media_type")
    media_type = one_line(media_type, 60) if isinstance(media_type, str) else None
    data, url = source.get("data"), source.get("url")
    size = None
    if isinstance(data, str) and source.get("type") != "text":
        size = max(0, len(data) * 3 // 4 - data[-2:].count("="))
    elif isinstance(data, str):
        return Part("text", clean(data), media_type)
    facts = [media_type or "", _size(size) if size is not None else ""]
    text = f"{kind} {', '.join(fact for fact in facts if fact)}".strip()
    if isinstance(url, str):
        text = f"{text} {one_line(url, 300)}"
    return Part("image", f"[{text}]", media_type, size)


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"

"""Images as sessions hold them: how large they are, and their bytes."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import NamedTuple

_HEAD = 1 << 17
"""Characters of base64 in which the size of an image stands."""
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG's markers between 0xC0 and 0xCF that begin no frame."""


class Picture(NamedTuple):
    """The facts that the first bytes of an image tell."""

    kind: str
    """png, jpeg, gif or webp."""
    width: int
    height: int


def image_bytes(data: str) -> bytes | None:
    """The bytes that base64 stands for, a URL before it or not; None for what is no base64."""
    _, mark, rest = data[:200].partition("base64,")
    try:
        return base64.b64decode(rest + data[200:] if mark else data)
    except (binascii.Error, ValueError):
        return None


def picture_in(data: str) -> Picture | None:
    """The picture that base64 stands for; None where it is of another kind, or damaged before its size."""
    head = image_bytes(data[: 64 if data.startswith("iVBOR") else _HEAD])
    return picture_of(head) if head else None


def picture_of(head: bytes) -> Picture | None:
    """The picture that begins with these bytes."""
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
            return Picture("png", *struct.unpack_from(">II", head, 16))
        if head.startswith((b"GIF87a", b"GIF89a")):
            return Picture("gif", *struct.unpack_from("<HH", head, 6))
        if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
            return _webp(head)
        if head.startswith(b"\xff\xd8"):
            return _jpeg(head)
    except (struct.error, IndexError):  # it breaks off
        return None
    return None


def _webp(head: bytes) -> Picture | None:
    form = head[12:16]
    if form == b"VP8X" and len(head) >= 30:
        return Picture("webp", *(1 + int.from_bytes(head[at : at + 3], "little") for at in (24, 27)))
    if form == b"VP8 ":
        return Picture("webp", *(side & 0x3FFF for side in struct.unpack_from("<HH", head, 26)))
    if form == b"VP8L":
        (bits,) = struct.unpack_from("<I", head, 21)
        return Picture("webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    return None


def _jpeg(head: bytes) -> Picture | None:
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return Picture("jpeg", width, height)
        at += 1 if marker == 0xFF else 2 + struct.unpack_from(">H", head, at + 2)[0]
    return None

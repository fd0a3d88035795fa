"""Ids and times as agents write them, the same on each run: the demo must not change from one start to the next."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from uuid import UUID

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def digest(*parts: object) -> bytes:
    """Bytes that depend on the parts only."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def uuid4(*parts: object) -> str:
    """A random-looking UUID, as Claude Code uses."""
    return str(UUID(bytes=digest(*parts)[:16], version=4))


def uuid7(seconds: float, *parts: object) -> str:
    """A UUID that begins with its time, as Codex uses."""
    data = int(seconds * 1000).to_bytes(6, "big") + digest(*parts)[:10]
    number = int.from_bytes(data, "big")
    number = number & ~(0xF << 76) | 7 << 76
    return str(UUID(int=number & ~(0x3 << 62) | 0x2 << 62))


def token(prefix: str, length: int, *parts: object) -> str:
    """`msg_01…`, `toolu_01…`, `call_…`: a prefix and letters."""
    number = int.from_bytes(digest(prefix, *parts), "big")
    letters = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return prefix + "".join(letters)


def iso(seconds: float) -> str:
    """UTC with milliseconds and a Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return len(text) // 4 + 1

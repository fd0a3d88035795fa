"""Numbers that stand for ids and times, made fast: a session has hundreds of thousands of them."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b


def key_of(text: str) -> int:
    """A 61-bit number for an id, the same in every process. A UUID's digits are one already."""
    if len(text) == 36:
        try:
            return hash(int(text.replace("-", ""), 16))
        except ValueError:
            pass  # 36 characters, but no UUID
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "little")


def block_key(key: int, block: int) -> int:
    """The number of content block `block` of the record with the number `key`."""
    return (key + block * 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_FFFF_FFFF


class Clock:
    """Reads Claude Code's timestamps (`2026-11-02T09:00:01.000Z`). Neighbouring records share their minute, so only
    the seconds are new work.
    """

    __slots__ = ("_base", "_minute")

    def __init__(self) -> None:
        self._minute = ""
        self._base = 0.0

    def read(self, text: object) -> float | None:
        """Seconds since 1970 (UTC), or None for what is no timestamp."""
        if type(text) is not str:
            return None
        if len(text) == 24 and text[:17] == self._minute and text[23] == "Z":
            seconds = text[17:23]
            if seconds[:2].isdigit() and seconds[2] == "." and seconds[3:].isdigit() and seconds.isascii():
                return self._base + float(seconds)
        try:
            moment = datetime.fromisoformat(text)
            time = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
        if len(text) == 24 and text[23] == "Z" and text[19] == ".":
            self._minute = text[:17]
            self._base = time - float(text[17:23])
        return time

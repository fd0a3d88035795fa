"""Numbers that stand for ids and times, made fast: a session has hundreds of thousands of them."""

from __future__ import annotations

from datetime import UTC, datetime


def key_of(text: str) -> int:
    """A 61-bit number for an id, the same in every process. A UUID's digits are one already.

    An integer's hash is its remainder by a Mersenne prime: good enough for ids, without the start-up cost of OpenSSL.
    """
    if len(text) == 36:
        try:
            return hash(int(text.replace("-", ""), 16))
        except ValueError:
            pass  # 36 characters, but no UUID
    return hash(int.from_bytes(text.encode("utf-8", "surrogatepass"), "little"))


def block_key(key: int, block: int) -> int:
    """The number of content block `block` of the record with the number `key`."""
    return (key + block * 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_FFFF_FFFF


SECONDS = {f"{second:02d}.": float(second) for second in range(60)}
MILLIS = {f"{milli:03d}Z": milli / 1000 for milli in range(1000)}


class Clock:
    """Reads Claude Code's timestamps (`2026-11-02T09:00:01.000Z`). Neighbouring records share their minute, so only
    the seconds are new work.
    """

    __slots__ = ("base", "minute")

    def __init__(self) -> None:
        self.minute = ""
        self.base = 0.0

    def read(self, text: object) -> float | None:
        """Seconds since 1970 (UTC), or None for what is no timestamp."""
        if type(text) is not str:
            return None
        if text[:17] == self.minute:
            try:
                return self.base + (SECONDS[text[17:20]] + MILLIS[text[20:]])
            except KeyError:
                pass  # another precision, or a leap second
        time = _parse(text)
        if time is not None and text[17:20] in SECONDS and text[20:] in MILLIS:
            self.minute, self.base = text[:17], _parse(f"{text[:17]}00.000Z") or 0.0
            return self.base + (SECONDS[text[17:20]] + MILLIS[text[20:]])
        return time


def _parse(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None

"""Protocol buffers without a schema: the fields of a message by their numbers, as far as the bytes make sense."""

from __future__ import annotations

from typing import Any, NamedTuple

_MOST_FIELDS = 1_000_000
_DEEPEST = 8


class Fields(NamedTuple):
    """The fields of one message."""

    values: dict[int, list[int | bytes]]
    whole: bool
    """Whether the bytes were a message to their end."""

    def blobs(self, number: int) -> list[bytes]:
        """All values of a field that are bytes, in order."""
        return [value for value in self.values.get(number, []) if isinstance(value, bytes)]

    def message(self, number: int) -> Fields | None:
        """A field that is a message itself; of a field that is not repeated, the last one counts."""
        found = self.blobs(number)
        return decode(found[-1]) if found else None

    def text(self, number: int) -> str:
        """A field that is a string; empty where it is missing or is none."""
        return b"".join(self.blobs(number)[-1:]).decode("utf-8", "replace")

    def number(self, number: int) -> int | None:
        """A field that is a number."""
        found = [value for value in self.values.get(number, []) if isinstance(value, int)]
        return found[-1] if found else None

    def time(self, number: int) -> float | None:
        """A field of milliseconds since 1970, as seconds. What is no time of this age is something else (note 3.2)."""
        value = self.number(number)
        return value / 1000 if value is not None and 10**12 <= value < 10**14 else None


def decode(data: bytes) -> Fields:
    """The fields of a message. What follows the first thing that is no field is left out."""
    values: dict[int, list[int | bytes]] = {}
    position, size = 0, len(data)
    for _ in range(_MOST_FIELDS):
        if position >= size:
            return Fields(values, True)
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if position < 0 or not 0 < number < 1 << 29 or wire not in (0, 1, 2, 5):
            break  # groups, which nobody writes any more, and what is no wire type
        value: int | bytes
        if wire == 0:
            value, position = _varint(data, position)
            if position < 0:
                break
        else:
            length, position = _varint(data, position) if wire == 2 else (8 if wire == 1 else 4, position)
            if position < 0 or position + length > size:
                break
            value, position = data[position : position + length], position + length
            value = value if wire == 2 else int.from_bytes(value, "little")
        values.setdefault(number, []).append(value)
    return Fields(values, False)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number and where it ends; -1 for what is none."""
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
    return 0, -1


def readable(fields: Fields, depth: int = 0) -> dict[str, Any]:
    """The fields of a message that nobody described, by their numbers: texts, numbers, messages."""
    found = {number: [_shown(value, depth) for value in values] for number, values in fields.values.items()}
    return {str(number): shown[0] if len(shown) == 1 else shown for number, shown in found.items()}


def _shown(value: int | bytes, depth: int) -> Any:
    if isinstance(value, int):
        return value
    text = value.decode("utf-8", "surrogateescape")
    if all(" " <= c < "\udc80" or c > "\udcff" or c in "\t\n\r\x1b" for c in text):
        return text
    inner = decode(value)
    return readable(inner, depth + 1) if inner.whole and depth < _DEEPEST else f"({len(value):,} bytes)"

"""Protocol buffers without a schema: the fields of a message by their numbers, as far as the bytes make sense."""

from __future__ import annotations

from typing import NamedTuple

_FIXED = {1: 8, 5: 4}
"""The sizes of numbers by their wire types."""


class Fields(NamedTuple):
    """The fields of one message by their numbers, as far as the bytes make sense."""

    values: dict[int, list[int | bytes]]
    whole: bool = False
    """Whether the bytes were a message to their end."""

    def blobs(self, number: int) -> list[bytes]:
        """All values of a field that are bytes, in order."""
        return [value for value in self.values.get(number, []) if isinstance(value, bytes)]

    def blob(self, number: int) -> bytes:
        """The bytes of a field; of one that is not repeated, the last value counts."""
        return b"".join(self.blobs(number)[-1:])

    def message(self, number: int) -> Fields | None:
        """A field that is a message itself."""
        found = self.blobs(number)
        return decode(found[-1]) if found else None

    def text(self, number: int) -> str:
        """A field that is a string; empty where it is missing or is none."""
        return self.blob(number).decode("utf-8", "replace")

    def number(self, number: int) -> int | None:
        """A field that is a number."""
        found = [value for value in self.values.get(number, []) if isinstance(value, int)]
        return found[-1] if found else None

    def time(self, number: int) -> float | None:
        """A field of milliseconds since 1970, as seconds. What is no time of this age is something else."""
        value = self.number(number)
        return value / 1000 if value is not None and 10**12 <= value < 10**14 else None


def decode(data: bytes) -> Fields:
    """The fields of a message. What follows the first thing that is no field is left out."""
    values, position, size = dict[int, list[int | bytes]](), 0, len(data)
    value: int | bytes
    try:
        while position < size:
            tag, position = _varint(data, position)
            number, wire = tag >> 3, tag & 7
            if wire == 0:
                value, position = _varint(data, position)
            else:
                length, position = _varint(data, position) if wire == 2 else (_FIXED[wire], position)
                value, position = data[position : position + length], position + length
                value = value if wire == 2 else int.from_bytes(value, "little")
            if position > size or not 0 < number < 1 << 29:
                return Fields(values)
            values.setdefault(number, []).append(value)
    except LookupError:  # no number, or no wire type (groups, which nobody writes any more): it ends before that
        return Fields(values)
    return Fields(values, True)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number and where it ends. Raises IndexError for what is none."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for place in range(1, 10):
        byte = data[position + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + place + 1
    raise IndexError

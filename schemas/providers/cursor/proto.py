"""Protocol buffers without a schema: the fields of a message by their numbers, as far as the bytes make sense."""

from __future__ import annotations

from typing import NamedTuple

_MOST_FIELDS = 1_000_000


class Fields(NamedTuple):
    """The fields of one message. `whole` says that the bytes were one to their end."""

    values: dict[int, list[int | bytes]]
    whole: bool

    def blobs(self, number: int) -> list[bytes]:
        """All values of a field that are bytes, in order."""
        return [value for value in self.values.get(number, []) if isinstance(value, bytes)]

    def blob(self, number: int) -> bytes | None:
        """The last value of a field that is bytes: of a field that is not repeated, the last one counts."""
        found = self.blobs(number)
        return found[-1] if found else None

    def message(self, number: int) -> Fields | None:
        """A field that is a message itself."""
        data = self.blob(number)
        return None if data is None else decode(data)

    def text(self, number: int) -> str:
        """A field that is a string; empty where it is missing or is none."""
        return (self.blob(number) or b"").decode("utf-8", "replace")

    def number(self, number: int) -> int | None:
        """A field that is a number."""
        found = [value for value in self.values.get(number, []) if isinstance(value, int)]
        return found[-1] if found else None

    def time(self, number: int) -> float | None:
        """A field of milliseconds since 1970 as seconds. What is no time of this age is something else (note 3.2)."""
        value = self.number(number)
        return value / 1000 if value is not None and 10**12 <= value < 10**14 else None


def decode(data: bytes) -> Fields:
    """The fields of a message. Never raises: what follows the first thing that is no field is left out."""
    values: dict[int, list[int | bytes]] = {}
    position, size = 0, len(data)
    for _ in range(_MOST_FIELDS):
        if position >= size:
            return Fields(values, True)
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if position < 0 or not 0 < number < 1 << 29:
            break
        value: int | bytes
        if wire == 0:
            value, position = _varint(data, position)
            if position < 0:
                break
        elif wire in (1, 5):
            end = position + (8 if wire == 1 else 4)
            if end > size:
                break
            value, position = int.from_bytes(data[position:end], "little"), end
        elif wire == 2:
            length, position = _varint(data, position)
            if position < 0 or position + length > size:
                break
            value, position = data[position : position + length], position + length
        else:
            break  # groups, which nobody writes any more, and what is no wire type
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

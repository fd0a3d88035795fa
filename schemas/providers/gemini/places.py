"""Where the messages of a checkpoint lie within its line, so that each can be read back like a record of its own."""

from __future__ import annotations

import json
import re

_DECODER = json.JSONDecoder(strict=False, parse_int=lambda digits: 0, parse_float=lambda digits: 0.0)
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")


def places_of(raw: bytes, *path: str) -> list[tuple[int, int]]:
    """Offset and length, within `raw`, of each item of the array under the keys `path`; empty if it is not to be had.

    Where a key stands twice the last one counts, as it does for every reader of JSON.
    """
    # Latin-1 keeps one character a byte, so that the decoder's index is a byte offset.
    text = raw.decode("latin-1")
    try:
        position = text.index("{")
        for key in path:
            position = _member(text, position, key)
        return _items(text, position)
    except (ValueError, RecursionError, IndexError):
        return []


def _member(text: str, position: int, name: str) -> int:
    """Where the value of a member of the object at `position` begins. Raises ValueError where there is none."""
    if text[position] != "{":
        raise ValueError("not an object")
    found = -1
    position = _skip(text, position + 1)
    while text[position] != "}":
        key, position = _DECODER.raw_decode(text, position)
        colon = _COLON.match(text, position)
        position = colon.end() if colon else position
        if key == name:
            found = position
        _, position = _DECODER.raw_decode(text, position)
        comma = _COMMA.match(text, position)
        position = comma.end() if comma else position
    if found < 0:
        raise ValueError("no such member")
    return found


def _items(text: str, position: int) -> list[tuple[int, int]]:
    if text[position] != "[":
        raise ValueError("not an array")
    items: list[tuple[int, int]] = []
    position = _skip(text, position + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        items.append((position, end - position))
        comma = _COMMA.match(text, end)
        position = comma.end() if comma else end
    return items


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position

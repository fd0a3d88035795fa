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
        return _array(text, text.index("{"), path)[0]
    except (ValueError, RecursionError, IndexError):
        return []


def _array(text: str, position: int, path: tuple[str, ...]) -> tuple[list[tuple[int, int]], int]:
    """The items of the array that lies under `path` in the value at `position`, and where that value ends."""
    if not path:
        return _items(text, position)
    if text[position] != "{":
        return [], _DECODER.raw_decode(text, position)[1]
    found: list[tuple[int, int]] = []
    position = _skip(text, position + 1)
    while text[position] != "}":
        key, position = _DECODER.raw_decode(text, position)
        position = _past(_COLON, text, position)
        if key == path[0]:
            found, position = _array(text, position, path[1:])
        else:
            _, position = _DECODER.raw_decode(text, position)
        position = _past(_COMMA, text, position)
    return found, position + 1


def _items(text: str, position: int) -> tuple[list[tuple[int, int]], int]:
    if text[position] != "[":
        return [], _DECODER.raw_decode(text, position)[1]
    items: list[tuple[int, int]] = []
    position = _skip(text, position + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        items.append((position, end - position))
        position = _past(_COMMA, text, end)
    return items, position + 1


def _skip(text: str, position: int) -> int:
    return _past(_SPACE, text, position)


def _past(what: re.Pattern[str], text: str, position: int) -> int:
    match = what.match(text, position)
    return match.end() if match else position

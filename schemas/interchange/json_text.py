"""JSON that is to be judged: read by the letter, with the place of a fault and with what readers differ about.

The reading of sessions is tolerant and takes the quickest parser (schemas/records.py). Here a number keeps its digits,
a key that stands twice is noticed, and what is no JSON is said in words that name a line and a column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.interchange.verdicts import Finding, pointer
from schemas.json_faults import say_fault

BOM = b"\xef\xbb\xbf"
_HUGE = 10**400
"""Stands for a number of more digits than Python turns into one (4,300)."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONSTANT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN', re.DOTALL)


class Text(NamedTuple):
    """What a text holds."""

    value: Any
    fault: str
    """Why there is no value, as a sentence; empty where there is one."""
    warnings: list[Finding]


def read_json(data: bytes) -> Text:
    """The JSON value that is all of `data`, which is without a byte order mark."""
    repeated: list[tuple[dict[str, Any], str]] = []

    def as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend((made, key) for key in made if keys.count(key) > 1)
        return made

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Text(None, f"not UTF-8: {_bytes(data, error)}", [])
    try:
        value = _parsed(text, object_pairs_hook=as_dict)
    except json.JSONDecodeError as error:
        return Text(None, f"not JSON: {say_fault(error)}", [])
    except RecursionError:
        return Text(None, "nested too deeply to be checked", [])
    halves = "\\ud" in text or "\\uD" in text
    return Text(value, "", list(_doubtful(value, repeated)) if repeated or halves else [])


def line_fault(line: bytes) -> str:
    """Why a line that is refused is no JSON, or which JSON of it is refused. Its number stands elsewhere."""
    text = read_json(line)
    if text.fault:
        return text.fault.replace("line 1, column", "column")
    return text.warnings[0].message if text.warnings else "not JSON as every reader takes it"


def line_warnings(data: bytes) -> Iterator[Finding]:
    """The same warnings for a file of JSON lines, each with its line."""
    for number, line in enumerate(data.split(b"\n"), 1):
        for place, message in read_json(line).warnings:
            yield Finding(f"line {number}: {place}" if place else f"line {number}", message)


def _parsed(text: str, **options: Any) -> Any:
    def constant(_name: str) -> None:
        found = next(match for match in _CONSTANT.finditer(text) if not match[0].startswith('"'))
        raise json.JSONDecodeError(f"{found[0]} is no JSON value", text, found.start())

    try:
        return json.loads(text, parse_constant=constant, **options)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number too long for Python; asking for each number costs time, so only then
        return json.loads(text, parse_constant=constant, parse_int=_integer, **options)


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < 4000 else -_HUGE if digits.startswith("-") else _HUGE


def _bytes(data: bytes, error: UnicodeDecodeError) -> str:
    line = data.count(b"\n", 0, error.start) + 1
    column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode()) + 1
    where = f"line {line}, column {column}"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "it begins as UTF-16 does"
    if error.reason == "unexpected end of data":
        return f"it breaks off inside the character at {where}"
    return f"the byte 0x{data[error.start]:02x} at {where}"


def _doubtful(value: Any, repeated: list[tuple[dict[str, Any], str]]) -> Iterator[Finding]:
    """Keys that stand twice and halves of characters, with their places, in the value's order."""
    keys: dict[int, list[str]] = {}
    for made, key in repeated:
        keys.setdefault(id(made), []).append(key)
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                yield Finding(pointer(path), "half a character (a lone surrogate): readers refuse it or replace it")
        elif isinstance(item, dict):
            for key in keys.get(id(item), ()):
                yield Finding(pointer(path), f"`{one_line(key, 60)}` stands more than once: most readers take the last")
            waiting.extend(reversed([((*path, key), inner) for key, inner in item.items()]))
        elif isinstance(item, list):
            waiting.extend(reversed([((*path, number), inner) for number, inner in enumerate(item)]))

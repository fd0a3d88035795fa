"""JSON that is to be judged: read by the letter, with the place of a fault and with what readers differ about.

The reading of sessions is tolerant and takes the quickest parser (schemas/records.py). Here a number keeps its digits,
a key that stands twice is noticed, and what is no JSON is said in words that name a line and a column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from schemas.clean import one_line
from schemas.interchange.verdicts import Finding, pointer
from schemas.json_faults import say_depth, say_fault, wide_encoding

BOM = b"\xef\xbb\xbf"
_HUGE = 10**400
"""Stands for a number of more digits than Python turns into one (4,300)."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONSTANT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN', re.DOTALL)


class Text(NamedTuple):
    """The value of a JSON text or its fault, and warnings."""

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

    if wide := wide_encoding(data):
        return Text(None, f"not UTF-8: it begins as {wide} does", [])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Text(None, f"not UTF-8: {_bytes(data, error)}", [])
    try:
        value = _parsed(text, object_pairs_hook=as_dict)
    except json.JSONDecodeError as error:
        return Text(None, f"not JSON: {say_fault(error)}", [])
    except RecursionError:
        return Text(None, f"nested too deeply to be checked{say_depth(data)}", [])
    halves = "\\ud" in text or "\\uD" in text
    return Text(value, "", list(_doubtful(value, repeated)) if repeated or halves else [])


def read_line(line: bytes) -> Text:
    """The JSON value that is a line of a stream, with the same rule as for a document: what the quickest parser refuses
    though it is JSON (a number of 400 digits, half a character) is none the worse. A fault names the column, since the
    line's number stands elsewhere.
    """
    try:
        return Text(orjson.loads(line), "", [])
    except orjson.JSONDecodeError:
        text = read_json(line)
        return text._replace(fault=text.fault.replace("line 1, column", "column"))


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

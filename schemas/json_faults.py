"""Faults of JSON in plain words: Python's parser says "unterminated string starting at"."""

from __future__ import annotations

import json
import re

_BEGUN = re.compile(r"(?:[-+.eE\d]*|t|tr|tru|f|fa|fal|fals|n|nu|nul)\s*\Z")
"""Nothing, or the beginning of a number or of one of JSON's words, and then the end."""
_REASONS = {
    "Expecting value": "a value is missing",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing",
    "Invalid control character at": "a control character in a string",
    "Invalid \\escape": "a backslash that escapes nothing",
    "Invalid \\uXXXX escape": "a \\u without four digits",
    "Extra data": "something follows its end",
}
"""What Python's parser says, in plain words."""
_ESCAPE_BEGUN = re.compile(r"u[0-9a-fA-F]{0,3}\Z")
_DEEP = 500
"""Levels that no document has. Python's parser gives up at about 1,000, sooner where much has been called already."""
_LEVEL = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)


def say_fault(error: json.JSONDecodeError, *, shift: int | None = None) -> str:
    """The fault and its place: line and column, or, with `shift`, only the column, so many characters further on: of a
    line whose number stands elsewhere, and whose first characters were passed over.
    """
    where = f"line {error.lineno}, column {error.colno}" if shift is None else f"column {error.colno + shift}"
    if not error.doc.strip():
        return "there is nothing in it"
    if error.msg.startswith("Unterminated string"):
        return f"it breaks off inside the string that begins at {where}"
    begun = _ESCAPE_BEGUN if error.msg == "Invalid \\uXXXX escape" else _BEGUN
    if error.msg != "Extra data" and begun.match(error.doc, error.pos):
        return f"it breaks off at {where}"
    return f"{_REASONS.get(error.msg, error.msg)} at {where}"


def say_depth(data: bytes) -> str:
    """Name the place where JSON is nested too deeply for any parser; empty where that is not the JSON's fault."""
    depth = 0
    for token in _LEVEL.finditer(data):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
        if depth == _DEEP:
            line = data.count(b"\n", 0, token.start()) + 1
            column = len(data[data.rfind(b"\n", 0, token.start()) + 1 : token.start()].decode("utf-8", "replace")) + 1
            return f": level {_DEEP} begins at line {line}, column {column}"
    return ""


_WIDE = {
    # A mark, or two ASCII characters of four or two bytes each. UTF-32 first: its mark begins as that of UTF-16.
    "UTF-32": re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff|(?:[\t\n\r -~]\0\0\0){2}|(?:\0\0\0[\t\n\r -~]){2}"),
    "UTF-16": re.compile(rb"\xff\xfe|\xfe\xff|(?:[\t\n\r -~]\0){2}|(?:\0[\t\n\r -~]){2}"),
}


def wide_encoding(data: bytes) -> str:
    """The encoding other than UTF-8 that a text begins as, `UTF-16` or `UTF-32`; empty for all else."""
    return next((name for name, beginning in _WIDE.items() if beginning.match(data)), "")

"""What is wrong with JSON, in plain words: Python's parser says "unterminated string starting at"."""

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


def say_fault(error: json.JSONDecodeError, *, shift: int | None = None) -> str:
    """The fault and its place: line and column, or, with `shift`, only the column, so many characters further on: of a
    line whose number stands elsewhere, and whose first characters were passed over.
    """
    where = f"line {error.lineno}, column {error.colno}" if shift is None else f"column {error.colno + shift}"
    if not error.doc.strip():
        return "there is nothing in it"
    if error.msg.startswith("Unterminated string"):
        return f"it breaks off inside the string that begins at {where}"
    if error.msg != "Extra data" and _BEGUN.match(error.doc, error.pos):
        return f"it breaks off at {where}"
    return f"{_REASONS.get(error.msg, error.msg)} at {where}"

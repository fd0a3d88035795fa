"""JSON as commands print it and exports hold it: every value goes through `json_bytes`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson

# JSON's own rules let all of these stand in a string, where a terminal would act on them: DEL, C1, the marks and
# controls of bidirectional text, and the separators that some readers take for the end of a line.
_UNSAFE = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf")


def json_bytes(value: Any, *, indent: bool = False, fit: Callable[[Any], Any] | None = None) -> bytes:
    """A value as JSON that can be shown anywhere: what a terminal would act on is escaped, so that the value stays.

    `fit` makes something else of a value that holds integers beyond 64 bits; without it they are written in full.
    """
    option = orjson.OPT_INDENT_2 if indent else 0
    try:
        data = orjson.dumps(value, option=option)
    except TypeError:  # a sum of counters beyond 64 bits, half a character
        if fit is None:
            data = json.dumps(value, indent=2 if indent else None, separators=None if indent else (",", ":")).encode()
        else:
            data = orjson.dumps(fit(value), option=option)
    if data.isascii() and b"\x7f" not in data:
        return data
    return _UNSAFE.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), data)

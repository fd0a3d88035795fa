"""Our JSON Schema documents, one a format."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

NAMES = (
    "session-data", "toolpath", "toolpath-line", "agent-coding-session-v1.0.0", "agent-coding-session-v1.1.0", "events",
    "snapshot", "agent-response", "price-book",
)  # fmt: skip
"""The formats that have one."""


def load_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a format. Raises KeyError for a name that is not in NAMES."""
    if name not in NAMES:
        raise KeyError(name)
    schema: dict[str, Any] = json.loads(Path(__file__).with_name(f"{name}.schema.json").read_bytes())
    return schema


@cache
def keys_of(name: str, of: str = "") -> dict[str, str]:
    """The keys of a format's document, or of the objects that its schema calls `of`, each with the JSON type of what
    stands there: `time` for a text that is one, nothing where it may be anything, or a list of further objects.
    """
    schema = load_schema(name)
    owner = schema if not of else schema["$defs"].get(of) or schema["properties"][of]
    return {key: _type_of(schema, value) for key, value in owner["properties"].items()}


def _type_of(schema: dict[str, Any], value: dict[str, Any]) -> str:
    if (named := value.get("$ref")) is not None:
        value = schema["$defs"][named.rpartition("/")[2]]
    kind = value.get("type", "")
    if kind == "array" and "$ref" in value["items"]:
        return ""
    return "time" if value.get("format") == "date-time" else str(kind)

"""Our JSON Schema documents, one a format."""

from __future__ import annotations

import json
from typing import Any

NAMES = (
    "session-data", "toolpath", "agent-coding-session-v1.0.0", "agent-coding-session-v1.1.0", "events", "snapshot",
    "agent-response",
)  # fmt: skip
"""The formats that have one."""


def load_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a format. Raises KeyError for a name that is not in NAMES."""
    if name not in NAMES:
        raise KeyError(name)
    from importlib.resources import files  # who only opens a document need not wait for it

    schema: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.schema.json").read_text("utf-8"))
    return schema

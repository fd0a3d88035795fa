"""Ids as Codex makes them: UUIDs, lately of version 7."""

from __future__ import annotations

import re

_UUID7 = re.compile(r"^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def uuid_time(value: object) -> float | None:
    """The creation time within a version 7 UUID."""
    match = _UUID7.match(value) if isinstance(value, str) else None
    return int(match[1] + match[2], 16) / 1000 if match else None

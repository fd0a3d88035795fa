"""How messages of one record are told apart, by the scan and by whoever builds them.

A message's block is the place of its part among an assistant record's parts. A user record makes up to three messages
of its own, and one for each result that answers no known call.
"""

from __future__ import annotations

from typing import Any

from schemas.clean import clean, one_line

TALK = ("user", "assistant", "tool_result")
"""The types of the conversation itself; every other record is about it."""
TYPED, SENT, HOOK, FILES = 0, 1, 2, 3
"""Of a user record: what was typed, what else was sent, what a hook added; of an `at_command`: the files it read."""
ORPHAN = 8
"""A result without a call: its block is this and its part's place."""
MOST_PARTS = 0xFF00
"""A record's further parts are counted, not shown: a block is 16 bits wide."""


def record_id(value: dict[str, Any], offset: int, *, again: bool) -> str:
    """What the ids of a record's messages begin with; `again` for a further record with the same uuid."""
    uuid = value.get("uuid")
    if not isinstance(uuid, str) or not uuid:
        return f"{one_line(str(value.get('type')), 40)}@{offset}"
    return f"{clean(uuid)}@{offset}" if again else clean(uuid)


def message_id(base: str, block: int) -> str:
    """A message's id."""
    return f"{base}:{block}" if block else base

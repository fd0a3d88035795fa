"""Cursor's transcripts in text, as they were before 2026 (formats note 3.4).

A line `user:` or `assistant:` (older: `A:`) opens a block, which becomes a record like a line of today's transcripts.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from schemas.records import read_record

_SIGN = re.compile(rb"^\[(?:Thinking|Tool call|Tool result)\](?:[ \t\r]|$)", re.MULTILINE)
_QUERY = re.compile(rb"^<(?:user_query|user_info|timestamp)>", re.MULTILINE)
_ROLES = frozenset({b"user:", b"assistant:", b"A:"})
# Within an open `<user_query>` a person may quote what looks like a role.
_BLOCK = re.compile(
    r"<user_query>[^<]*(?:<(?!/?user_query>)[^<]*)*</user_query>|^(user|assistant|A):[ \t]*$", re.MULTILINE
)
_MARKED = re.compile(r"^\[(Thinking|Tool call|Tool result)\](?:[ \t]+(.*))?((?:\n(?:[ \t].*)?)*)$", re.MULTILINE)
"""A marker and the lines below it that are indented."""
_KEY = re.compile(r"([A-Za-z_-][\w.-]{0,60})(?:: ?|=)(.*)$")


def is_text(data: bytes) -> bool:
    """Whether a transcript in text begins so: `user:` alone on its first line, and something that only Cursor writes.

    A file may begin with the agent's part; then it must use a tool or think.
    """
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = data.partition(b"\n")[0].rstrip()
    return first in _ROLES and bool(_SIGN.search(data) or (first == b"user:" and _QUERY.search(data)))


def records_of(data: bytes) -> Iterator[dict[str, Any]]:
    """The blocks of a text."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    roles = [match for match in _BLOCK.finditer(text) if match[1]]
    for match, end in zip(roles, [*(match.start() for match in roles[1:]), len(text)], strict=True):
        body = text[match.end() : end].strip("\n")
        if match[1] == "user":
            yield {"role": "user", "message": {"content": body}}
        else:
            yield {"role": "assistant", "message": {"content": _parts(body)}}


def _parts(body: str) -> list[dict[str, Any]]:
    """What the agent said, thought and used, in order; a result stands with its use where the block has that."""
    found, position = list[dict[str, Any]](), 0
    waiting: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
    for match in _MARKED.finditer(body):
        _say(found, body[position : match.start()])
        position, name, text = match.end(), (match[2] or "").strip(), dedent(match[3]).strip("\n")
        if match[1] == "Thinking":
            found.append({"type": "thinking", "thinking": "\n".join(filter(None, [name, text]))})
        elif match[1] == "Tool call":
            found.append({"type": "tool_use", "name": name, "input": _input(text)})
            waiting[name].append(found[-1])
        elif text and waiting[name]:  # most say only that there was a result
            waiting[name].popleft()["result"] = text
        elif text:
            found.append({"type": "tool_result", "content": text})
    _say(found, body[position:])
    return found


def _say(found: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        found.append({"type": "text", "text": text.strip("\n")})


def _input(body: str) -> object:
    """A tool's input: JSON, a text as of a patch, or keys with their values."""
    if given := read_record(body.encode("utf-8", "surrogatepass")):
        return given
    if not _KEY.match(body.partition("\n")[0]):
        return body or {}
    values, key = dict[str, str](), ""
    for line in body.split("\n"):
        if (match := _KEY.match(line)) and match[1] not in values:
            key = match[1]
            values[key] = match[2]
        else:
            values[key] = f"{values[key]}\n{line}"
    return values

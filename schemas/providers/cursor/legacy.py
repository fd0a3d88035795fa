"""Cursor's transcripts in text, as they were before 2026 (formats note 3.4).

A line `user:` or `assistant:` (older: `A:`) opens a block, which becomes a record like a line of today's transcripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from schemas.provider import Head
from schemas.providers.cursor.store import OURS
from schemas.records import read_document

_ROLES = {b"user:": "user", b"assistant:": "assistant", b"A:": "assistant"}
_SIGN = re.compile(rb"^\[(?:Thinking|Tool call|Tool result)\](?:[ \t\r]|$)", re.MULTILINE)
_QUERY = re.compile(rb"^<(?:user_query|user_info|timestamp)>", re.MULTILINE)
_MARKER = re.compile(r"\[(Thinking|Tool call|Tool result)\](?:[ \t]+(.*))?$")
_OPEN, _CLOSE = b"<user_query>", b"</user_query>"
_KEY = re.compile(r"([A-Za-z_-][\w.-]{0,60})(?:: ?|=)(.*)$")
_LONG = frozenset(["old_string", "new_string", "contents", "content", "file_text", "code_edit", "patch"])
"""Values that Cursor writes over many lines as they are, without indenting them."""
_SIBLINGS = _LONG | frozenset(["path", "file_path", "target_file", "replace_all", "instructions"])
"""The keys that may follow one."""
_TEXTS = _SIBLINGS - {"replace_all"} | frozenset(
    ["command", "pattern", "query", "search_term", "prompt", "description"]
)
"""Values that stay text whatever they look like."""


def is_text(head: Head) -> bool:
    """Whether a file is a transcript in text: `user:` alone on its first line, and something that only Cursor writes.

    A file may begin with the agent's part; then it must use a tool or think.
    """
    if head.records or head.document is not None or head.tables:
        return False
    data = head.data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = data.partition(b"\n")[0].rstrip()
    return first in _ROLES and bool(_SIGN.search(data) or (first == b"user:" and _QUERY.search(data)))


def records_of(data: bytes) -> Iterator[dict[str, Any]]:
    """The blocks of a text."""
    for start, end in pairwise([*_starts(data), len(data)]):
        text = data[start:end].decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
        first, _, body = text.lstrip("\n").partition("\n")
        role = _ROLES.get(first.rstrip().encode())
        if role is not None:
            content = body.strip("\n") if role == "user" else _parts(body.split("\n"))
            yield {"role": role, "message": {"content": content}}
        elif text.strip():
            yield {OURS: {"context": text.strip("\n")}}


def _starts(data: bytes) -> Iterator[int]:
    """Where blocks begin. Within an open `<user_query>` a person may quote what looks like a role."""
    lines = data.split(b"\n")
    # Where agents are called otherwise, `A:` is an answer that somebody wrote down.
    roles = set(_ROLES) - ({b"A:"} if any(line.rstrip() == b"assistant:" for line in lines) else set())
    yield 0
    position = query = 0
    last_close = data.rfind(_CLOSE)
    for line in lines:
        if position and query <= position and line.rstrip() in roles:
            yield position
        if query <= position and (opened := line.find(_OPEN)) >= 0 and position + opened < last_close:
            query = data.find(_CLOSE, position + opened)
        position += len(line) + 1


def _parts(lines: list[str]) -> list[dict[str, Any]]:
    """What the agent said, thought and used, in order; a result stands with its use where the block has that."""
    found, said, at = list[dict[str, Any]](), list[str](), 0
    goes_on = _goes_on(lines)
    while at < len(lines):
        match = _MARKER.match(lines[at])
        if match is None:
            said.append(lines[at])
            at += 1
            continue
        _say(found, said)
        end = _body_end(lines, at + 1, goes_on if match[1] == "Tool call" else [])
        name, body = (match[2] or "").strip(), lines[at + 1 : end]
        at = end
        if match[1] == "Thinking":
            found.append({"type": "thinking", "thinking": "\n".join(filter(None, [name, _dedent(body)]))})
        elif match[1] == "Tool call":
            word, _, rest = name.partition(" ")
            inline = read_document(rest.encode("utf-8", "surrogatepass"))
            word, asked = (word, inline) if isinstance(inline, dict) else (name, _input(body))
            found.append({"type": "tool_use", "name": word, "input": asked})
        elif any(line.strip() for line in body):  # most say only that there was a result
            _answer(found, name, _dedent(body))
    _say(found, said)
    return found


def _say(found: list[dict[str, Any]], said: list[str]) -> None:
    if (text := "\n".join(said).strip("\n")).strip():
        found.append({"type": "text", "text": text})
    said.clear()


def _answer(found: list[dict[str, Any]], name: str, text: str) -> None:
    """Give a result to its use: the first of its name, or the last where it has no name."""
    open_uses = [part for part in found if part["type"] == "tool_use" and "result" not in part]
    same = [part for part in open_uses if part["name"] == name] if name else open_uses[-1:]
    if same:
        same[0]["result"] = text
    else:
        found.append({"type": "tool_result", "name": name, "content": text})


def _body_end(lines: list[str], at: int, goes_on: list[bool]) -> int:
    """Where the body of a marker ends: at the first line that is not indented, unless that goes on with a value."""
    margin, long, seen = _margin(lines[at : at + 1]), False, set[str]()
    while at < len(lines) and not _MARKER.match(line := lines[at]):
        if (key := _key(line, margin)) and key[0] not in seen:
            long = key[0] in _LONG or (long and key[0] not in _SIBLINGS)
            seen.add(key[0])
        elif line and line[:1] not in (" ", "\t") and not (long and goes_on and goes_on[at]):
            break
        at += 1
    return at


def _goes_on(lines: list[str]) -> list[bool]:
    """For each line, whether it could be part of a tool's value: another key, use or result follows in its block.

    After a last tool use, what is not indented is what the agent said then.
    """
    follows = [False] * len(lines)
    for at in range(len(lines) - 2, -1, -1):
        marker, key = _MARKER.match(lines[at + 1]), _key(lines[at + 1], "  ")
        sign = marker[1] != "Thinking" if marker else True if key and key[0] in _SIBLINGS else None
        follows[at] = follows[at + 1] if sign is None else sign
    return follows


def _margin(lines: list[str]) -> str:
    return next((line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()), "")


def _key(line: str, margin: str) -> tuple[str, str] | None:
    """The key and the beginning of its value on a line that is indented as far as the first key is."""
    match = _KEY.match(line, len(margin)) if margin and line.startswith(margin) else None
    return (match[1], match[2]) if match else None


def _dedent(lines: list[str]) -> str:
    """The lines of a body without the indentation that all of them have."""
    margin = min((len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines).strip("\n")


def _input(body: list[str]) -> object:
    """A tool's input: JSON, a patch, or keys with their values."""
    text, margin = _dedent(body), _margin(body)
    if isinstance(value := read_document(text.encode("utf-8", "surrogatepass")), dict):
        return value
    if text.startswith("@@ "):
        return {"patch": text}
    if text.startswith("*** Begin Patch") or not any(_key(line, margin) for line in body):
        return text or {}
    values: dict[str, list[str]] = {}
    key = "text"  # what stands before the first key
    for line in body:
        found = _key(line, margin)
        if found and found[0] not in values and (key not in _LONG or found[0] in _SIBLINGS):
            key = found[0]
            values[key] = [found[1]]
        elif line.strip() or key in values:
            values.setdefault(key, []).append(line)
    return {key: _value(key, "\n".join(parts).rstrip("\n")) for key, parts in values.items()}


def _value(key: str, text: str) -> object:
    """A value as JSON where it is a list, an object, a whole number or a truth."""
    if key in _TEXTS:
        return text
    found = read_document(f"[{text}]".encode("utf-8", "surrogatepass"))
    whole = (
        isinstance(found, list) and len(found) == 1 and not isinstance(found[0], float | str) and found[0] is not None
    )
    return found[0] if isinstance(found, list) and whole else text

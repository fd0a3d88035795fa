"""Cursor's transcripts in text, as they were before 2026 (formats note 3.4).

A line `user:` or `assistant:` (older: `A:`) opens a block, which is one record here: its bytes are those of the file,
its object has the form of a line of today's transcripts, so that both are read by the same parser.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from schemas.provider import Parser
from schemas.providers.cursor.transcript import TranscriptParser
from schemas.reading import ParsedReading
from schemas.records import Record

_ROLES = {b"user:": "user", b"assistant:": "assistant", b"A:": "assistant"}
_MARKER = re.compile(r"\[(Thinking|Tool call|Tool result)\](?:[ \t]+(.*))?$")
_OPEN, _CLOSE = b"<user_query>", b"</user_query>"
_KEY = re.compile(r"([A-Za-z_-][\w.-]{0,60})(?:: ?|=)(.*)$")
# Values that Cursor writes over many lines as they are, without indenting them, and the keys that may follow one.
_LONG = frozenset(["old_string", "new_string", "contents", "content", "file_text", "code_edit", "patch"])
_SIBLINGS = _LONG | frozenset(["path", "file_path", "target_file", "replace_all", "instructions"])
# Values that stay text whatever they look like.
_TEXTS = _SIBLINGS - {"replace_all"} | frozenset(
    ["command", "pattern", "query", "search_term", "prompt", "description"]
)


class TextReading(ParsedReading):
    """A transcript in text, read anew whenever it changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, TranscriptParser(path))

    def parse(self, data: bytes) -> Parser:
        """The blocks of the text, one record after the other."""
        parser, store = TranscriptParser(self.path), TextStore(self.path, data)
        parser.session.stores.append(store)
        parser.feed(store.records())
        return parser


class TextStore:
    """The blocks of a text, whose bytes are kept: transcripts of that time have at most a few MB."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self._data = data

    def records(self) -> list[Record]:
        """All blocks, in order."""
        found: list[Record] = []
        line, ends = 1, [*_starts(self._data), len(self._data)]
        for start, end in pairwise(ends):
            raw = self._data[start:end]
            if raw.strip():
                found.append((start, len(raw), line, block_record(raw)))
            line += raw.count(b"\n")
        return found

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a block."""
        return self._data[offset : offset + length]

    def record(self, offset: int, length: int) -> dict[str, Any]:
        """The record of a block."""
        return block_record(self.read(offset, length))

    def close(self) -> None:
        """Let go of the text."""
        self._data = b""


def text_records(data: bytes) -> list[dict[str, Any]]:
    """The records of a transcript in text."""
    return [record[3] for record in TextStore(Path(), data).records()]


# -- blocks ------------------------------------------------------------------------------------------------------------


def _starts(data: bytes) -> list[int]:
    """Where blocks begin. Within an open `<user_query>` a person may quote what looks like a role."""
    lines = data.split(b"\n")
    roles = set(_ROLES)
    if any(line.rstrip() == b"assistant:" for line in lines):
        roles.discard(b"A:")  # then it is an answer that somebody wrote down
    starts = [0]
    position = query = 0
    last_close = data.rfind(_CLOSE)
    for line in lines:
        if query <= position and line.rstrip().removeprefix(b"\xef\xbb\xbf") in roles and position:
            starts.append(position)
        if query <= position and (opened := line.find(_OPEN)) >= 0 and position + opened < last_close:
            query = data.find(_CLOSE, position + opened)
        position += len(line) + 1
    return starts


def block_record(raw: bytes) -> dict[str, Any]:
    """A block as a line of a transcript would have it. What stands before the first role is taken for context."""
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    first, _, body = text.lstrip("\n").partition("\n")
    role = _ROLES.get(first.rstrip().encode())
    if role is None:
        return {"role": "system", "message": {"content": text.strip("\n")}}
    if role == "user":
        return {"role": role, "message": {"content": body.strip("\n")}}
    return {"role": role, "message": {"content": _blocks(body.split("\n"))}}


def _blocks(lines: list[str]) -> list[dict[str, Any]]:
    """What the agent said, thought and used, in order."""
    found: list[dict[str, Any]] = []
    calls: list[str] = []
    answered: set[int] = set()
    said: list[str] = []
    goes_on = _goes_on(lines)
    at = 0
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
            inline, name = _inline(name)
            found.append({"type": "tool_use", "name": name, "input": inline or _input(body), "call": len(calls)})
            calls.append(name)
        elif any(line.strip() for line in body):  # most say only that there was a result
            result: dict[str, Any] = {"type": "tool_result", "name": name, "content": _dedent(body)}
            if (call := _call_of(name, calls, answered)) is not None:
                answered.add(call)
                result["call"] = call
            found.append(result)
    _say(found, said)
    return found


def _say(found: list[dict[str, Any]], said: list[str]) -> None:
    if (text := "\n".join(said).strip("\n")).strip():
        found.append({"type": "text", "text": text})
    said.clear()


def _call_of(name: str, calls: list[str], answered: set[int]) -> int | None:
    """The use in the same block that a result belongs to: the first of its name, or the last where it has no name."""
    free = [n for n, call in enumerate(calls) if n not in answered and (call == name or not name)]
    return None if not free else free[0] if name else free[-1]


def _body_end(lines: list[str], at: int, goes_on: list[bool]) -> int:
    """Where the body of a marker ends: at the first line that is not indented, unless that goes on with a value."""
    margin, long, seen = _margin(lines[at : at + 1]), False, set[str]()
    while at < len(lines):
        line = lines[at]
        if _MARKER.match(line):
            break
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


def _inline(name: str) -> tuple[dict[str, Any] | None, str]:
    """An input that stands behind the name on the same line."""
    word, _, rest = name.partition(" ")
    value = _json(rest) if rest.lstrip().startswith("{") else None
    return (value, word) if isinstance(value, dict) else (None, name)


def _input(body: list[str]) -> object:
    """A tool's input: JSON, a patch, or keys with their values."""
    text, margin = _dedent(body), _margin(body)
    if text.startswith("{") and isinstance(value := _json(text), dict):
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
    if key in _TEXTS:
        return text
    value = _json(text.strip()) if text.strip()[:1] in "[{-0123456789tf" and text.strip() else None
    return text if value is None or isinstance(value, float) else value


def _json(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None

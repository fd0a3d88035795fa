"""A JSON document that breaks off, closed where it can still be read: what a killed program or a full disk leaves."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from schemas.records import Unreadable, breaks_off, document_fault, read_document

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}\[\],"]', re.DOTALL)
_BEGUN = re.compile(rb'\s*"((?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u])*)', re.DOTALL)
"""A string without its end, as far as its escapes are whole."""
_TEXTS = frozenset({b'"text"', b'"content"', b'"thinking"', b'"final_response"'})
"""Keys whose string is prose: half of it is worth reading, while half an id or a time would be a wrong one."""
_CLOSED_BY = {b"{": b"}", b"[": b"]"}


class Broken(NamedTuple):
    """The readable part of a document that breaks off."""

    data: bytes
    """The document up to its last whole value, and what closes it: up to there each byte lies where it lay."""
    document: dict[str, Any] | list[Any]
    """The value of `data`."""
    gap: Unreadable
    """What comes after it."""


def read_broken(raw: bytes) -> Broken | None:
    """Read a document that breaks off as far as it goes; None of anything else."""
    if not breaks_off(raw):
        return None
    data, end = _closed(raw)
    document = read_document(data)
    if document is None:
        return None
    reason = f"the document breaks off at byte {len(raw):,}"
    return Broken(data, document, Unreadable(raw.count(b"\n", 0, end) + 1, reason, end, len(raw) - end))


def why_unread(raw: bytes) -> str:
    """Why a file in which a document was expected holds none of its kind."""
    if not raw.strip() or breaks_off(raw):
        return "not a whole document (being written?)"
    return document_fault(raw) or "no longer a document of this kind"


def _closed(raw: bytes) -> tuple[bytes, int]:
    """`raw` up to its last whole value with all closed that is open there, and where that value ends."""
    brackets: list[bytes] = []
    key, end, at, is_key = b"", 0, 0, False
    for token in _TOKEN.finditer(raw):
        word = token[0]
        if word == b'"':  # a string without its end: what looks like brackets in it is none
            break
        at = token.end()
        match word[:1]:
            case b"{" | b"[":
                brackets.append(word)
                key, end, is_key = b"", at, word == b"{"
            case b"}" | b"]":
                brackets.pop()
                end, is_key = at, False
            case b",":  # what stands before it is whole, also a number
                key, end, is_key = b"", token.start(), brackets[-1] == b"{"
            case _ if is_key:
                key, is_key = word[: -len(token[1] or b"")], False
            case _:
                end = at
    head, begun = raw[:end], _BEGUN.match(raw, at)
    if key in _TEXTS and begun:
        text = _whole_characters(begun[1])
        end = begun.start(1) + len(text)
        head = raw[:end] + b'"'
    return head + b"".join(_CLOSED_BY[bracket] for bracket in reversed(brackets)), end


def _whole_characters(text: bytes) -> bytes:
    """The text without the character that its end cuts in two, if it does."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start] if error.reason == "unexpected end of data" else text
    return text

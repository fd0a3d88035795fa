"""Markdown within a paragraph, made safe: tags, images and links, with code spans left as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

# An address in angle brackets stays one for GitHub if its bracket is an entity too; with "[" in it, it may be more.
_INLINE = re.compile(
    r"<(?:https?://|mailto:)[^\s<>`\\|\[\]]*>|\\?<|\\[!-/:-@\[-`{-~]|`+|!\[|\]\((?:\s*<[^<>`\\\n]*>)?", re.IGNORECASE
)
_NOT_BARE = re.compile(r"[\s()\[\]]")
# `](` and what makes it a link to a safe place. A colon makes a scheme, and entities and backslashes could spell one;
# what stands here without a match is no link any more, so that a backtick in a destination cannot move code spans.
_START = r"https?://|mailto:|[#/?.]|[\w~%@+-][\w.~%@+-]*(?=[/?#)>\s])"
_LINK = re.compile(
    rf"\]\(\s*(?:<(?:{_START})[^<>`\\\n]*>|(?:{_START})(?:[^\s()<>`\\]|\([^\s()<>`\\]*\))*)?"
    r"(?:\s+(?:\"[^\"`\\]*\"|'[^'`\\]*'|\([^()`\\]*\)))?\s*\)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"://|www\.|mailto:|xmpp:|@", re.IGNORECASE)
_LONG_WORD = 500


def safe_inline(text: str, *, code: bool = True) -> str:
    """Inline Markdown made safe. With `code=False`, as if there were no code spans."""
    pieces: list[str] = []
    position = 0
    for start, end, closed in _spans(text) if code else ():
        if not closed:
            break  # cmark-gfm 0.29 finds only some of the code spans behind backticks that open none
        if _ends_in_address(text, position, start):
            return _prose(text)
        pieces += [_prose(text[position:start]), _span(text[start:end])]
        position = end
    pieces.append(_prose(text[position:]))
    return "".join(pieces)


def _ends_in_address(text: str, start: int, end: int) -> bool:
    """Return whether a bare address ends at `end`: readers that link those let it swallow the backtick behind it."""
    words = text[max(start, end - _LONG_WORD) : end].rsplit(None, 1)
    if not words or text[end - 1].isspace():
        return False
    return len(words[-1]) == _LONG_WORD or _ADDRESS.search(words[-1]) is not None


def _span(text: str) -> str:
    """A code span. A line of it that begins with a tag would begin an HTML block all the same."""
    return re.sub(r"(\n[ \t]*)<", r"\1&lt;", text) if "\n" in text else text


def _prose(text: str) -> str:
    """Inline Markdown made safe wherever it stands, outside code spans or not.

    A "<" becomes an entity, whatever stands before it: to GitHub a backslash may be the end of a bare address.
    """

    def replace(match: re.Match[str]) -> str:
        mark = match[0]
        if mark[0] == "<":
            return f"&lt;{mark[1:-1]}&gt;" if mark != "<" else "&lt;"
        if mark == "\\<":
            return "&lt;"
        if mark == "![":
            return "\\!["
        if mark.startswith("]("):
            if _LINK.match(text, match.start()):
                return "](" + _NOT_BARE.sub(_percent, mark[2:].strip().strip("<>"))
            return "]\\(" + _prose(mark[2:])
        return mark

    return _INLINE.sub(replace, text)


def _percent(match: re.Match[str]) -> str:
    """A character of a link's destination that may stand in angle brackets only, which would begin a tag for GitHub if
    a bare address has swallowed what stands before them.
    """
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def safe_table(text: str) -> str:
    """Lines that some readers take for a table. There a code span ends with its cell, so both readings must agree."""
    pieces = re.split(r"([|\n])", text)
    position = 0
    for piece in pieces:
        for start, _, closed in _spans(piece):
            if not closed or _ends_in_address(text, 0, position + start):
                return safe_inline(text, code=False)
        position += len(piece)
    return "".join(safe_inline(piece) for piece in pieces)


def _spans(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each code span, and of each run of backticks that opens none (then the third is False)."""
    if "`" not in text:
        return
    closers: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        closers.setdefault(len(run[0]), []).append(run.start())
    for starts in closers.values():
        starts.reverse()
    position = 0
    for match in _INLINE.finditer(text):
        if match.start() < position or text[match.start()] != "`":
            continue
        starts = closers.get(len(match[0]), [])
        while starts and starts[-1] < match.end():
            starts.pop()
        position = starts[-1] + len(match[0]) if starts else match.end()
        yield match.start(), position, bool(starts)

"""Markdown within a paragraph, made safe: tags, images and links, with code spans left as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

_INLINE = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<|!\[|\]\(")
_AUTOLINK = re.compile(r"<(?:https?://|mailto:)[^\s<>`\\|]*>", re.IGNORECASE)
_TAG_START = re.compile(r"<[A-Za-z/!?]")
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
    spans = [span for span in _spans(text) if span[2]] if code else []
    pieces: list[str] = []
    position = 0
    for start, end, _ in spans:
        if _ends_in_address(text, position, start):
            return _prose(text)
        pieces += [_prose(text[position:start]), _span(text[start:end])]
        position = end
    pieces.append(_prose(text[position:]))
    return "".join(pieces)


def _ends_in_address(text: str, start: int, end: int) -> bool:
    """Whether a bare address ends at `end`: readers that make links of those let it swallow the backtick behind it."""
    words = text[max(start, end - _LONG_WORD) : end].rsplit(None, 1)
    if not words or text[end - 1].isspace():
        return False
    return len(words[-1]) == _LONG_WORD or _ADDRESS.search(words[-1]) is not None


def _span(text: str) -> str:
    """A code span. A line of it that begins with a tag would begin an HTML block all the same."""
    return re.sub(r"(\n[ \t]*)<", r"\1&lt;", text) if "\n" in text else text


def _prose(text: str) -> str:
    """Inline Markdown made safe wherever it stands, outside code spans or not."""
    skip = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal skip
        mark, start = match[0], match.start()
        if start < skip:
            return mark
        if mark == "<":
            if link := _AUTOLINK.match(text, start):
                skip = link.end()
                return mark
            return "&lt;" if _TAG_START.match(text, start) or start + 1 == len(text) else mark
        if mark == "![":
            return "\\!["
        if mark == "](":
            return mark if _LINK.match(text, start) else "]\\("
        return mark

    return _INLINE.sub(replace, text)


def safe_table(text: str) -> str:
    """Lines that some readers take for a table. There a code span ends with its cell, so both readings must agree."""
    pieces = re.split(r"([|\n])", text)
    if any(has_open_spans(piece) for piece in pieces):
        return safe_inline(text, code=False)
    return "".join(safe_inline(piece) for piece in pieces)


def has_open_spans(text: str) -> bool:
    """Whether some backticks in it open no code span."""
    return any(not closed for _, _, closed in _spans(text))


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

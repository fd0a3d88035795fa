"""The quick way of renderers/contain.py: most texts can be made safe line by line, without a parser.

It holds where no line can be code and no code span can reach beyond its line (or its cell): then it does not matter how
lines make up paragraphs, lists or tables. Everything else is left to the parser.
"""

from __future__ import annotations

import re

from renderers.inline import has_open_spans, safe_inline

OUR_LEVELS = 3
_CONTAINERS = re.compile(r"(?:[ \t]|>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")
# A text without any of these needs no change: no tag, image, link, definition or fence, and no line that makes a
# heading of itself or of the line above.
RISKY = re.compile(r"<|!\[|\]\(|\]:|```|~~~|^[ \t>*+.)0-9-]*(?:#|=+[ \t]*$)|^[ \t>*+.)0-9-]+$", re.MULTILINE)
_INLINE_RISK = re.compile(r"<|!\[|\]\(")
# Code and link definitions are not for us, ...
_BEYOND = ("]:", "```", "~~~")
# ... nor is a bare address that may swallow the backtick behind it. (Atomic: a word of many addresses is read once.)
_ADDRESSES = ("://", "www.", "mailto:", "xmpp:", "@")
_OPEN_ADDRESS = re.compile(r"(?<![^\s<`])(?>[^\s<`]*?(?:://|www\.|mailto:|xmpp:|@))[^\s<`]*+`", re.IGNORECASE)
_DASHES = re.compile(r"[ ]{0,3}-[ \t]*-[ \t]*-[ \t-]*")
_HASHES = re.compile(r"#{1,6}(?=[ \t]|$)")
_UNDERLINE = re.compile(r"=+[ \t]*")


def contain_lines(lines: list[str]) -> list[str] | None:
    """The lines made safe; None if that takes a parser."""
    text = "\n".join(lines)
    if any(mark in text for mark in _BEYOND):
        return None
    ticks = "`" in text
    if ticks and _has_address(text.lower()) and _OPEN_ADDRESS.search(text):
        return None
    spans_matter = ticks and _INLINE_RISK.search(text) is not None
    out: list[str] = []
    for line in lines:
        if spans_matter and "`" in line and any(has_open_spans(piece) for piece in line.split("|")):
            return None
        safe = _line(line) if RISKY.search(line) else line
        if safe is None:
            return None
        out.append(safe)
    return out


def _has_address(text: str) -> bool:
    return any(sign in text for sign in _ADDRESSES)


def text_start(line: str) -> int:
    """Return the start of a line's own text, behind the marks of quotes and lists."""
    match = _CONTAINERS.match(line)
    return match.end() if match else 0


def _line(line: str) -> str | None:
    if _DASHES.fullmatch(line):
        return "***"
    if line.rstrip().endswith("-") and not line.strip(" \t>*+.)0123456789-"):
        return None  # perhaps the underline of a heading
    at = text_start(line)
    safe = _edited(line[:at], line[at:])
    # Deep enough to be code, perhaps, which is not to be changed.
    return None if safe != line and ("    " in line[:at] or "\t" in line[:at]) else safe


def _edited(start: str, rest: str) -> str:
    """A line made safe, cut where its own text begins."""
    if rest.startswith("#"):
        if hashes := _HASHES.match(rest):
            return start + "#" * min(6, len(hashes[0]) + OUR_LEVELS) + _pieces(rest[hashes.end() :])
    elif _UNDERLINE.fullmatch(rest):
        return f"{start}\\{rest}"
    return start + _pieces(rest)


def _pieces(text: str) -> str:
    """A line whose cells, if it has any, hold their code spans."""
    return "|".join(safe_inline(piece) for piece in text.split("|"))

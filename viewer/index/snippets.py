"""Snippets: one line of a message around what was looked for, and where in it that stands."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple
from unicodedata import combining

from renderers.headline import headline
from schemas.clean import one_line
from schemas.message import Kind, Message
from schemas.session import Session
from viewer.index.matching import words_of
from viewer.index.query import Query
from viewer.index.texts import pieces_of, within

_AROUND = 70
_MOST = 100
"""Places of a word that are looked at."""
_OBJECT = 60
"""Characters of what a tool use was about that stand before the hit itself."""
_NAMES = {
    Kind.PROMPT: "you", Kind.STEER: "you", Kind.COMMAND: "you", Kind.TEXT: "agent", Kind.THINKING: "thinking",
}  # fmt: skip


class Snippet(NamedTuple):
    """A line and the spans in it that were looked for; `who` is whose it is."""

    text: str
    spans: list[tuple[int, int]]
    who: str = ""


def snippet_of_message(session: Session, message: Message, query: Query) -> Snippet:
    """The line of a hit. Of a tool use it begins with what that was about."""
    who = _NAMES.get(message.kind, message.kind.name.lower())
    pieces = list(pieces_of(message, within(session).get(message.index, ())))
    if message.tool is None:
        return snippet_of("\n".join(pieces), query)._replace(who=who)
    line = headline(message.tool, session.workspace_root)
    words = words_of(line.object)
    if not query.patterns or all(pattern.search(words) for pattern in query.patterns):
        return snippet_of(line.object, query)._replace(who=line.verb)
    # The piece with the most of the words: what the tool was given, what it gave, or what it changed.
    best = max(pieces, key=lambda piece: _count(words_of(piece), query))
    object_, found = one_line(line.object, _OBJECT), snippet_of(best, query).text
    shown = f"{object_}  {found}" if object_ else found
    return Snippet(shown, spans_in(shown, query), line.verb)


def _count(words: str, query: Query) -> int:
    """Count the words that are in a text, those that are there as they were typed twice."""
    return sum(bool(p.search(words)) for p in query.patterns) + sum(bool(p.search(words)) for p in query.exact)


def snippet_of(text: str, query: Query) -> Snippet:
    """The line of a text: around what was looked for, where all of it is closest; its beginning where none is in it."""
    words = words_of(text)
    patterns = query.exact if query.in_full(words) else query.patterns
    found = [places for p in patterns if (places := [m.start() for m in islice(p.finditer(words), _MOST)])]
    at = _in_text(text, words, _closest(found)) if found else 0
    line = _cut(text, at, at + 1)
    return Snippet(line, spans_in(line, query))


def _closest(found: list[list[int]]) -> int:
    """The place of the rarest word that has the others nearest to it."""

    def apart(place: int) -> int:
        return sum(min(abs(place - other) for other in places) for places in found)

    rarest: list[int] = min(found, key=len)
    return min(rarest, key=apart) if len(found) > 1 else rarest[0]


def spans_in(line: str, query: Query) -> list[tuple[int, int]]:
    """The spans of a line that were looked for: in order, none within another."""
    words = words_of(line)
    spans: list[tuple[int, int]] = []
    found = sorted(match.span() for pattern in query.patterns for match in pattern.finditer(words))
    for start, end in found:
        start, last = _in_text(line, words, start), _in_text(line, words, end - 1)
        while last + 1 < len(line) and combining(line[last + 1]):
            last += 1
        if not spans or start >= spans[-1][1]:
            spans.append((start, last + 1))
        elif last >= spans[-1][1]:
            spans[-1] = spans[-1][0], last + 1
    return spans


def _in_text(text: str, words: str, at: int) -> int:
    """The place in a text of which `words_of` made the character at a place of `words`."""
    if len(words) == len(text) and text.isascii():
        return at
    line = words.count("\n", 0, at)
    column = at - (words.rfind("\n", 0, at) + 1)
    start = 0
    for _ in range(line):
        start = text.index("\n", start) + 1
    end = text.find("\n", start)
    content = text[start : end if end >= 0 else len(text)]
    low, high = 0, max(len(content) - 1, 0)
    while low < high:  # the shortest beginning that gives more than so many characters
        middle = (low + high) // 2
        if len(words_of(content[: middle + 1])) > column:
            high = middle
        else:
            low = middle + 1
    return start + low


def _cut(text: str, first: int, end_: int) -> str:
    """The text around a place on one line, cut at words, with an ellipsis where something was left out."""
    start, end = max(0, first - _AROUND), min(len(text), end_ + 2 * _AROUND)
    if start and (gap := re.search(r"\s", text[start:first])):
        start += gap.end()
    if end < len(text) and (gaps := list(re.finditer(r"\s", text[end_:end]))):
        end = end_ + gaps[-1].start()
    line = one_line(text[start:end], 400)
    return f"{'… ' if start else ''}{line}{' …' if end < len(text) else ''}"

"""Secrets that something goes through which is no part of them: line ends with their marks, signs nobody sees.

One rule: what joins two pieces of a text is taken out, and the text is looked at again without it. Signs of no width
go out everywhere. Line ends go out one by one where a secret may be, since nearly all of them end one: what stands
behind has to go on as what is drawn at random does.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from renderers.secret_looks import Found, decoded, digit_and_letter, drawn, slug, unspeakable

_Look = Callable[[bytes], list[Found]]

# -- signs that nobody sees --------------------------------------------------------------------------------------------

# Soft hyphens and signs of no width, as pages break long words with; and what schemas/clean.py shows for a sign that
# changes the direction of writing.
_INVISIBLE = [mark.encode() for mark in ("\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "⟨")]
_ANY_INVISIBLE = re.compile(
    b"|".join((*_INVISIBLE[:-1], "⟨(?:ALM|LRM|RLM|LRE|RLE|PDF|LRO|RLO|LRI|RLI|FSI|PDI)⟩".encode()))
)


def without_marks(raw: bytes, find: _Look) -> Iterator[Found]:
    """The secrets of a text in which there are signs that nobody sees, by their places with the signs."""
    if raw.isascii() or not any(mark in raw for mark in _INVISIBLE):
        return
    places, offsets, position = [0], [0], 0
    for mark in _ANY_INVISIBLE.finditer(raw):
        offsets.append(offsets[-1] + mark.start() - position)
        places.append(position := mark.end())
    if position:
        for start, end, kind in find(_ANY_INVISIBLE.sub(b"", raw)):
            first, last = bisect_right(offsets, start) - 1, bisect_left(offsets, end) - 1
            yield Found(places[first] + start - offsets[first], places[last] + end - offsets[last], kind)


# -- line ends ---------------------------------------------------------------------------------------------------------

MARKS = rb"[ \t]*+(?:\\+t)*+(?:(?:[+|>#*-]|//|\xe2\x94\x82|\d{1,6}(?:\xe2\x86\x92|\t|[:|] ))[ \t]*+){0,2}+"
"""What goes before a line: a diff's, a list's, a quotation's or a comment's sign, a line's number."""
_SIDE = rb"[A-Za-z0-9_./+=%~!*^$-]"
_SIDES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=%~!*^$-")
# A line's end: as it is, at a table's edge, where a shell takes two lines together, escaped, and between two strings of
# an array.
_JOINT = re.compile(
    rb"(?:[ \t]*(?:\xe2\x94\x82|\|)?[ \t]*\\?\r?\n|(?:\\+r)?\\+n|\\*[\"'],\s*\\*[\"'])"
    + MARKS
    + rb"(?="
    + _SIDE
    + rb")"
)
_RUN = re.compile(_SIDE + rb"+")
# What is behind the space has a digit or changes its case, as words don't.
_UP_TO_SPACE = re.compile(_SIDE + rb"++(?= (?:" + _SIDE + rb"{0,60}?[0-9]|[A-Za-z]{0,40}?[a-z][A-Z])" + _SIDE + rb"*+)")
_BODY = MARKS + rb"(?=" + _SIDE + rb"{16})(?=[A-Za-z_./+=%~-]{0,24}[0-9])(?=[A-Za-z0-9_./+%~-]++(?![(\[{=]))"
_BODY_BEHIND = re.compile(rb"\n" + _BODY)
_BODY_BEHIND_ESCAPED = re.compile(rb"\\n" + _BODY)
"""Behind a line's end stands the better part of a token, of which the telling sign may have been cut in two."""
_LONG_LINE = 40
"""Of a text that was wrapped."""
_LONGEST = 16_000
"""Characters that one token is looked for in."""
_FEW = 450
"""Characters that are looked at first, so that wrapped base64 costs little."""
_NUMBER = re.compile(rb"\d:\Z")  # of a bot, with which its token begins
_ALONE = re.compile(rb"[ \t]*(?:\xe2\x94\x82|\|)?[ \t]*(?:[\r\n\"'`]|\\|\Z)")


def over_joints(
    raw: bytes, places: list[int], looks: list[int], known: list[Found], look: _Look, general: frozenset[str]
) -> Iterator[Found]:
    """Secrets that line ends go through, or the spaces that a title has for them. `places` are those of literals, of
    which `looks` stand in tokens, and `known` is what was found without this, all in order; `general` are the kinds
    that only a name tells.
    """
    starts = [one.start for one in known]
    reach = 0

    def in_window(window: list[tuple[int, int]]) -> Iterator[Found]:
        # A word that begins the line behind a token is mostly no part of it.
        for pieces in (window[:-1], window) if len(window) > 2 and not _is_rest(raw, window) else (window,):
            found = False
            for one in look(b"".join(raw[first:last] for first, last in pieces)):
                start, last, number = _in_text(pieces, one)
                at = bisect_right(starts, start) - 1
                before = known[at] if at >= 0 and known[at].end > start else None
                follows = starts[at + 1] if at + 1 < len(starts) else -1
                whole = Found(start, last, one.kind)
                if number > 1 and _is_whole(raw, pieces[:number], whole, before, follows, general):
                    found = True
                    yield whole
            if found:
                return

    for start, end in _joints(raw, places, looks):
        if start < reach:
            continue  # looked at with one before it
        # A dash at a line's beginning is a diff's sign or a part of the token.
        for first in (end, end - 1) if raw[end - 1] in b"+-" else (end,):
            window = _window(raw, start, first, _FEW)
            if len(window) < 2:
                continue
            found = list(in_window(window))
            if window[-1][1] - start >= _FEW and any(one.end >= window[-1][0] for one in found):  # a long one
                window = _window(raw, start, first, _LONGEST)
                found = list(in_window(window))
            yield from found
            if found:
                reach = window[-1][0]
                break


def _joints(raw: bytes, places: list[int], looks: list[int]) -> Iterator[tuple[int, int]]:
    """Return the places at which a token may have been broken: the ends of lines with a literal, and before what may be
    a token's body.
    """
    found: set[tuple[int, int] | None] = set()
    ends = [sign for sign in (b"\n", b"\\n") if sign in raw]
    reach = {sign: -1 for sign in (*ends, b'",') if sign in raw}
    nearest = min(reach.values(), default=len(raw))
    for place in places:
        if place < nearest:
            continue
        for sign, known in reach.items():
            if known <= place:
                at = raw.find(sign, place, place + 400)
                reach[sign] = at if at >= 0 else place + 400
                if at >= 0 and raw[at - 1] in _BEFORE:
                    found.add(_joint_at(raw, at))
        nearest = min(reach.values())
    for place in looks:
        if (run := _UP_TO_SPACE.match(raw, place)) and _may_go_on(_piece(raw, run.end() + 1)):
            found.add((run.end(), run.end() + 1))
        # A telling sign inside a token, of which the beginning is in the line before.
        at = max((raw.rfind(sign, max(0, place - 48), place) for sign in ends), default=-1)
        if at >= 0 and raw[at - 1] in _BEFORE and (one := _joint_at(raw, at)) and _reaches(raw, one[1], place):
            found.add(one)
    for body in (_BODY_BEHIND, _BODY_BEHIND_ESCAPED) if b"\\n" in ends else (_BODY_BEHIND,):
        found.update(_joint_at(raw, match.start()) for match in body.finditer(raw))
    return iter(sorted(one for one in found if one))


_BEFORE = _SIDES | frozenset(b" \t\r\\|\x82:")  # the last byte of a table's edge


def _joint_at(raw: bytes, at: int) -> tuple[int, int] | None:
    """The joint of which the line's end stands at `at`, up to where the next line begins behind its marks."""
    left = raw[max(0, at - 40) : at]
    rest = left.rstrip(b" \t\r\\|\xe2\x94\x82")
    if rest[-1:] == b"r" and rest[-2:-1] == b"\\":
        rest = rest[:-1].rstrip(b"\\")
    if not rest or not (rest[-1] in _SIDES or _NUMBER.search(rest)):
        return None
    start = at - len(left) + len(rest)
    match = _JOINT.match(raw, start)
    return (start, match.end()) if match else None


def _piece(raw: bytes, at: int) -> str:
    run = _RUN.match(raw, at, at + 400)
    return decoded(raw, *run.span()) if run else ""


def _reaches(raw: bytes, at: int, place: int) -> bool:
    run = _RUN.match(raw, at)
    return run is not None and run.end() >= place >= at and _may_go_on(decoded(raw, *run.span()))


def _goes_on(more: str) -> bool:
    """Return whether it may be the rest of what was drawn at random, and is no word."""
    run = re.sub(r"[^A-Za-z0-9]", "", more)
    if len(run) >= 10 and (drawn(run) or unspeakable(run)):
        return True
    return len(run) >= 4 and digit_and_letter(run) and (not slug(more) or re.search(r"\w[!^%$]\w", more) is not None)


def _may_go_on(more: str) -> bool:
    """The same, where the whole has to be a token by its look."""
    return digit_and_letter(more) or _goes_on(more)


def _window(raw: bytes, start: int, end: int, longest: int) -> list[tuple[int, int]]:
    """The pieces of text around a joint, and around those that follow, which may be one secret without them."""
    lowest = max(0, start - 200)
    begin = max(raw.rfind(b"\n", lowest, start) + 1, raw.rfind(b"\\n", lowest, start) + 2, lowest)
    window = [(begin if begin > 1 else lowest, start)]
    while end - start < longest and (run := _RUN.match(raw, end)):
        behind = run.end()
        follows = raw[behind : behind + 2]
        if b"=" in run[0].rstrip(b"=") or follows[:1] in (b"(", b"[", b"{") or follows == b'":':
            break  # the next line has a name of its own
        if follows[:1] in (b":", b"@"):
            if follows[1:] and follows[1] in _SIDES:  # a password goes to there, or a bot's number
                window.append((end, _UP_TO_BLANK.match(raw, end).end()))  # type: ignore[union-attr]
            break
        more = _JOINT.match(raw, behind) if behind - end >= 8 else None
        window.append((end, behind + (more is None)))
        if more is None:
            break
        end = more.end()
    return window


_UP_TO_BLANK = re.compile(rb"[^\s\"'<>\\]*")


def _is_whole(
    raw: bytes, window: list[tuple[int, int]], one: Found, before: Found | None, follows: int, general: frozenset[str]
) -> bool:
    """Return whether what was found in the joined pieces is one secret. `before` is what was found of it without,
    `follows` where the next that was found begins.
    """
    first, joint = window[0]
    long = joint - first >= _LONG_LINE
    head, rest = decoded(raw, one.start, joint), "".join(decoded(raw, a, min(b, one.end)) for a, b in window[1:])
    if raw[joint : window[1][0]] == b" ":  # in a title
        return before is None and one.kind not in general and _may_go_on(rest) and not _RUN.match(raw, one.end)
    # Strings of an array are mostly many texts.
    if (len(head) < 4 and not long) or (one.kind in general and raw[joint : joint + 1] not in b"\r\n \t\\|\xe2"):
        return False
    if before is None and one.kind == "password in a URL":
        return not head.isdigit() and (_goes_on(head) or _goes_on(rest))  # digits are a port
    if before is None and one.kind not in general:
        return long or _goes_on(rest) or _goes_on(head)
    if not _goes_on(rest) or _is_other(head, rest) or (before and one.end <= before.end) or joint < follows < one.end:
        return False
    return long or _ALONE.match(raw, one.end) is not None or (one.kind not in general and len(rest) >= 8)


def _is_rest(raw: bytes, window: list[tuple[int, int]]) -> bool:
    """Return whether the last piece goes on as the others do: at random, or as the end of lines of one length."""
    lengths = {b - a for a, b in window[1:-1]}
    begin, end = window[-1]
    wrapped = len(lengths) == 1 and len(window) > 3 and end - 1 - begin <= lengths.pop()
    return _goes_on(_piece(raw, begin)) or (wrapped and _ALONE.match(raw, end - 1) is not None)


_HASH = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _is_other(token: str, rest: str) -> bool:
    """Return whether the rest is a hash or an id beside a token of other signs, and no part of it."""
    return _HASH.fullmatch(rest) is not None and re.search(r"[g-zA-Z]", token[8:]) is not None


def _in_text(window: list[tuple[int, int]], one: Found) -> tuple[int, int, int]:
    """Return the place of a secret of the joined pieces in the text, and over how many pieces it goes."""
    start = end = -1
    pieces, at = 0, 0
    for first, last in window:
        length = last - first
        if start < 0 and one.start < at + length:
            start = first + one.start - at
        if start >= 0:
            pieces += 1
        if one.end <= at + length:
            end = first + one.end - at
            break
        at += length
    return start, end, pieces

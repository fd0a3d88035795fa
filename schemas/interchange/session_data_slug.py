"""A session's slug, the short name of SessionData that is safe in file names (formats note 2.5)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from schemas.message import Kind
from schemas.published import published_of
from schemas.session import Session

_WORDS = 4
_LONGEST = 80
"""Characters of a slug. The producer sets no limit, but a prompt may be one word of a megabyte, and no file name is."""
_LOOKED_AT = 2_000
"""Characters of a prompt, its blocks apart, in which the first words are looked for."""
_OPENING = re.compile(r"<([A-Za-z_][\w-]*)(?:\s[^<>]*?)?(/?)>")
_CLOSING = re.compile(r"</([A-Za-z_][\w-]*)\s*>")
_HEADING = re.compile(r"#{1,6}\s+")
_PLAN = "Implement the following plan:"
_SPOKEN = {"@": " at ", "&": " and ", "#": " hash "}


def session_slug(session: Session, edit: Callable[[Any], Any] | None = None) -> str:
    """The slug of a session's first prompt; empty if it has no words. `edit` takes secrets out before it is made."""
    slug = slug_of(_first_prompt(session), edit)
    return slug or published_of(session.provider).slug


def _first_prompt(session: Session) -> str:
    untyped = published_of(session.provider).untyped
    for exchange in session.exchanges:
        if exchange.opener is not Kind.PROMPT or exchange.rewound or not session.message_range(exchange.index):
            continue
        text = session.message(exchange.start).text.strip()
        if untyped is None:
            return text
        if not untyped.search(text):
            return text.removeprefix(_PLAN)
    return ""


def slug_of(text: str, edit: Callable[[Any], Any] | None = None) -> str:
    """The first four words of `text` in plain lower-case letters and digits: `fix-the-login-bug`."""
    text = _without_blocks(text).strip()
    if edit is not None:  # what is a secret can only be told while its signs still stand in it, and while it is whole
        text = edit(text)
    text = text[:_LOOKED_AT]
    if heading := _HEADING.match(text):
        text = text[heading.end() :]
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()
    for sign, word in _SPOKEN.items():
        plain = plain.replace(sign, word)
    return "-".join(re.findall("[a-z0-9]+", plain)[:_WORDS])[:_LONGEST].rstrip("-")


def _without_blocks(text: str) -> str:
    """The text without what stands between tags, such as the file that an editor names: `<a>…</a>` and `<a/>`."""
    last = {match[1]: match.start() for match in _CLOSING.finditer(text)}
    pieces, end = [], 0
    for tag in _OPENING.finditer(text):
        if tag.start() < end:
            continue
        if tag[2]:
            pieces.append(text[end : tag.start()])
            end = tag.end()
        elif last.get(tag[1], -1) >= tag.end():
            closing = next(m for m in _CLOSING.finditer(text, tag.end()) if m[1] == tag[1])
            pieces.append(text[end : tag.start()])
            end = closing.end()
    return " ".join([*pieces, text[end:]])

"""Secrets out of exports: each becomes `[redacted: github token]`, and is counted. What is one: secret_kinds.py."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from renderers.secret_kinds import find, find_in_arguments, names_a_secret
from renderers.secret_looks import Found

T = TypeVar("T")
# Stands before each mark until the text is written: what was cut, repeated or left out between is counted as it is in
# the document. A code point that Unicode keeps for such uses, so no text has it.
_SIGN = "\ufdd0"
_MARKS = re.compile(_SIGN + r"\\?\[redacted: (?:([A-Za-z0-9. ]+)\\?\])?")
_SIGN_BYTES = _SIGN.encode()
_NAMES = ("name", "key", "header", "Name", "Key")
_VALUES = ("value", "Value")


def marks_in(text: str) -> Counter[str]:
    """Count the marks of each kind in a text that is not finished yet."""
    return Counter(match[1] or "secret" for match in _MARKS.finditer(text))


class Redactor:
    """Replaces secrets by marks and counts the marks that get into the document.

    `hide` puts marks in place of secrets; `finish` is the door through which everything that is written goes. So the
    number is the number of marks in the document, in every format.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How many of each kind."""

    @property
    def count(self) -> int:
        """The number of marks that were written."""
        return self.counts.total()

    def redact(self, text: str) -> str:
        """`text` without its secrets, to be shown as it is."""
        return self.finish(self.hide(text))

    def finish(self, text: str) -> str:
        """A piece of the document as it is written; its marks are counted."""
        if _SIGN not in text:
            return text
        self.counts += marks_in(text)
        return text.replace(_SIGN, "")

    def finish_bytes(self, data: bytes) -> bytes:
        """Finish a piece in UTF-8, as `finish` does."""
        return self.finish(data.decode()).encode() if _SIGN_BYTES in data else data

    def hide(self, value: T) -> T:
        """A text, or a JSON value with its members' names, with marks in place of its secrets.

        A list of lines is one text, as the lines of a diff or the words of a command are; there are as many afterwards.
        A member's name may say that its value is a secret.
        """
        hidden: T = _whole(value)
        return hidden


# No pattern begins in one text and ends in the next over it, but for private keys, which costs time and nothing else.
_APART = "\n\0\n"


def _whole(value: Any) -> Any:
    """A JSON value without its secrets. Nearly always there is none, and all its strings are looked through at once."""
    if isinstance(value, dict | list | tuple):
        texts: list[str] = []
        if not _gathered(value, texts) and not find(_APART.join(texts).encode("utf-8", "replace")):
            return value
    return _hidden(value)


def _gathered(value: Any, texts: list[str]) -> bool:
    """Add the strings of a value to `texts`; whether a name in it makes a closer look necessary anyway."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        if any(name in value for name in _VALUES):
            return True
        for key, item in value.items():
            if not isinstance(key, str) or (len(key) > 7 and _key(key) != key):
                return True
            if isinstance(item, str):
                if _may_name(key):
                    return True
                texts.append(item)
            elif isinstance(item, dict | list | tuple) and (_gathered(item, texts) or (_may_name(key) and item)):
                return True
    elif isinstance(value, list | tuple):
        if _are_lines(value):
            texts.append("\n".join(value))
            if _is_command(value):
                texts.append(" ".join(value))
        else:
            for item in value:
                if _gathered(item, texts):
                    return True
    return False


def _are_lines(items: Sequence[Any]) -> bool:
    return len(items) > 1 and all(isinstance(item, str) and "\n" not in item for item in items)


def _is_command(words: Sequence[str]) -> bool:
    """Return whether they are a program and its arguments: `["mysql", "-u", "root"]`."""
    return re.fullmatch(r"[\w./][\w./-]*", words[0]) is not None and any(map(_OPTION.match, words))


_OPTION = re.compile(r"--?[A-Za-z]")


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, list | tuple):
        if _are_lines(value):
            return _lines(value)
        return [_hidden(item) for item in value]
    return value


def _text(text: str) -> str:
    if len(text) < 8:
        return text
    raw = text.encode("utf-8", "replace")
    found = find(raw)
    return _replaced(raw, found) if found else text


def _replaced(raw: bytes, found: Iterable[Found], *, lines: bool = False) -> str:
    """A text with marks in place of its secrets. With `lines` it has as many as before: a secret over several is marked
    in the first, of the others a diff's sign stays.
    """
    pieces: list[bytes] = []
    position = 0
    for start, end, kind in found:
        pieces += [raw[position:start], _mark(kind).encode()]
        for line in raw[start:end].split(b"\n")[1:] if lines else ():
            pieces.append(b"\n" + (line[:1] if line[:1] in (b"+", b"-", b" ") else b""))
        position = end
    return b"".join((*pieces, raw[position:])).decode("utf-8", "replace")


def _mark(kind: str) -> str:
    return f"{_SIGN}[redacted: {kind}]"


def _lines(lines: Iterable[str]) -> list[str]:
    """The lines of a text, as many as before."""
    lines = list(lines)
    raw = "\n".join(lines).encode("utf-8", "replace")
    found = find_in_arguments(raw.split(b"\n")) if _is_command(lines) else find(raw)
    return _replaced(raw, found, lines=True).split("\n") if found else lines


def _object(members: dict[Any, Any]) -> dict[Any, Any]:
    hidden: dict[Any, Any] = {}
    called = next((name for key in _NAMES if isinstance(name := members.get(key), str) and len(name) <= 100), "")
    for key, value in members.items():
        if not isinstance(key, str):
            hidden[key] = _hidden(value)
            continue
        name = called if key in _VALUES and called else key
        item = _member(name, value) if len(name) <= 100 else _hidden(value)
        key = new = _key(key)
        number = 1
        while key in hidden:  # two names that were secrets
            number += 1
            key = f"{new} {number}"
        hidden[key] = item
    return hidden


@lru_cache(4096)
def _key(key: str) -> str:
    return _text(key)


@lru_cache(4096)
def _may_name(name: str) -> bool:
    """Return whether there is any value that the name would call a secret."""
    return names_a_secret(name, "a1B2c3D4e5F6g7H8i9J0") is not None


def _member(name: str, value: Any) -> Any:
    if isinstance(value, str) and value:
        if len(value) >= 4 and _may_name(name) and (kind := names_a_secret(name, value)):
            return _mark(kind)
        return _text(value)
    if isinstance(value, list) and value and _may_name(name) and all(isinstance(item, str) for item in value):
        return [_member(name, item) for item in value]
    return _hidden(value)

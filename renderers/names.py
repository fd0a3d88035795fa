"""File names and shell lines made of what a session says about itself, which may be anything."""

from __future__ import annotations

import hashlib
import re
import shlex
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from renderers.facts import iso_time
from renderers.redact import Redactor
from schemas.clean import clean
from schemas.session import Session

_NAME_BYTES = 200

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def export_name(session: Session, suffix: str, *, redact: bool = True) -> str:
    """The file name of an export: date, title, and what tells the session from others of that title.

    `2026-03-04-fix-the-flaky-test-3f2a9c1d-5b7e.md`. It is legal on Linux, macOS and Windows: only letters and digits
    of any script, hyphens and underscores before `suffix` (so no reserved name can stand before a dot), at most 200
    bytes in all. A secret in the title does not get into it, unless `redact` is off.
    """
    title = Redactor().redact(session.title) if redact else session.title
    tail = export_tail(session)
    day = "" if session.created is None else iso_time(session.created)[:10].strip("?")
    room = _NAME_BYTES - len(f"{day}--{tail}{suffix}".encode())
    return "-".join(filter(None, (day, _slug(title, room), tail))) + suffix


def export_tail(session: Session) -> str:
    """The end of an export's name, which tells the session: the beginning of its id, which is what people give to
    `turnlog ID` (of a UUID its first 12 digits, which hold the milliseconds where it begins with its time), else a
    digest.
    """
    digest = hashlib.blake2b(session.id.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return session.id[:13] if _UUID.fullmatch(session.id) else digest


def _slug(title: str, room: int) -> str:
    """`title` in letters, digits, hyphens and underscores, in at most `room` bytes and 80 characters."""
    text = unicodedata.normalize("NFC", clean(title)).casefold()
    kept = "".join(c if c.isalnum() or c == "_" else "-" if not unicodedata.combining(c) else c for c in text)
    slug = re.sub("-{2,}", "-", kept).strip("-_")[:80]
    return slug.encode()[:room].decode("utf-8", "ignore").strip("-_")


class ShellLine(NamedTuple):
    """A line that can be pasted into a POSIX shell; None if there is none, and then `reason` says why."""

    line: str | None
    reason: str = ""


def shell_line(argv: Sequence[str], cwd: str | None, variable: tuple[str, str] | None = None) -> ShellLine:
    """The line that goes to `cwd` and runs `argv` with a `variable`: `cd -- '/dir' && A='/x y' claude --resume ID`.

    Every word is quoted. What holds a newline, another control character or an invisible one is refused, since a
    terminal may act on it before any shell sees the quotes.
    """
    if not argv:
        return ShellLine(None, "its id is not one that the agent could resume")
    texts = [("the directory", cwd or ""), *(("the command", word) for word in argv)]
    if variable is not None:
        texts.append((variable[0], variable[1]))
    for what, text in texts:
        if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text):
            return ShellLine(None, f"{what} holds a control character")
    command = shlex.join(argv)
    if variable is not None:
        command = f"{variable[0]}={shlex.quote(variable[1])} {command}"
    if not cwd:
        return ShellLine(command)
    # `cd -- -` goes to the directory before, and a relative path is looked up in CDPATH.
    place = cwd if cwd.startswith("/") else f"./{cwd}"
    return ShellLine(f"cd -- {shlex.quote(place)} && {command}")

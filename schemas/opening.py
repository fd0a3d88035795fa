"""From a path to a session: recognise the file by its content, read it, find its subagents.

Raises `OpenError`, whose text is one line that can be shown to a person, for everything that is not a session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from schemas.clean import clean
from schemas.interchange.session_data import SESSION_DATA
from schemas.provider import HEAD_BYTES, Head, Provider, Reading, read_head
from schemas.providers import each_provider
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage, total_usage

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MAX_DEPTH = 100
"""Subagents of subagents: 79 levels have been seen; a cycle must end somewhere."""


class OpenError(Exception):
    """A path that is no session, with the reason in one line."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{clean(str(path))}: {reason}")
        self.reason = reason


def open_reading(path: Path, *, start: int = 0) -> Reading:
    """Begin to read the session in a file. `start` skips to a big file's end."""
    try:
        head = head_of(path)
        return recognise(head).open(path, start=start)
    except OSError as error:
        raise OpenError(path, _why(error)) from error


def head_of(path: Path) -> Head:
    """The beginning of a file. Raises OSError, or OpenError for what is empty or no regular file."""
    if path.is_dir():
        raise OpenError(path, "a directory, not a session file")
    if path.exists() and not path.is_file():
        raise OpenError(path, "not a regular file")
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
        if data[:4] == _ZSTD_MAGIC:
            return read_head(path, _decompressed_head(path), whole=False, compressed=True)
        if not data.strip():
            raise OpenError(path, "empty" if not data else "only white space")
        whole = len(data) < HEAD_BYTES
        # One JSON document has no newline-ended first record; it is read whole, lines are not.
        head = read_head(path, data, whole=whole)
        if not whole and not head.records and data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            head = read_head(path, data + file.read(), whole=True)
    return head


def _decompressed_head(path: Path) -> bytes:
    import zstandard

    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            return stream.read(HEAD_BYTES)
    except zstandard.ZstdError as error:
        raise OpenError(path, f"damaged zstd file ({error})") from error


def recognise(head: Head) -> Provider:
    """The provider whose session this is. Raises OpenError that says what was seen instead."""
    for provider in each_provider():
        if provider.detect(head):
            return provider
    if SESSION_DATA.detect(head):
        return SESSION_DATA
    raise OpenError(head.path, f"not a session turnlog knows: {_describe(head)}")


def _describe(head: Head) -> str:
    if b"\0" in head.data[:4096] and not head.records:
        return "a binary file"
    if head.document is not None and not head.records[1:]:
        keys = ", ".join(clean(str(key))[:40] for key in list(head.document)[:4])
        return f"one JSON object with the keys {keys}" if keys else "an empty JSON object"
    if head.records:
        keys = ", ".join(clean(str(key))[:40] for key in list(head.records[0])[:4])
        return f"line 1 is a JSON object with the keys {keys}" if keys else "line 1 is an empty JSON object"
    first = clean(head.data[:200].decode("utf-8", "replace")).strip().split("\n")[0][:40]
    return f"it begins with {first!r}"


def _why(error: OSError) -> str:
    """An operating system error in plain words."""
    words = {FileNotFoundError: "no such file", PermissionError: "permission denied", IsADirectoryError: "a directory"}
    return words.get(type(error), (os.strerror(error.errno) if error.errno else str(error)).lower())


def read_session(path: Path, progress: Callable[[int, int], None] | None = None) -> Session:
    """The whole session in a file, its subagents found and linked but not read.

    `progress` is called after each MB with the bytes read and the bytes there are.
    """
    reading = open_reading(path)
    try:
        while not reading.done:
            reading.step()
            if progress:
                progress(*reading.progress)
        reading.finish()
        reading.refresh()
    except OSError as error:
        raise OpenError(path, _why(error)) from error
    return reading.session


def read_subagent(subagent: Subagent) -> Session | None:
    """A subagent's session, read once and kept; None when its file is gone or is no session."""
    if subagent.session is None and subagent.path is not None:
        try:
            subagent.session = read_session(subagent.path)
        except OpenError:
            return None
    return subagent.session


def family(session: Session) -> Iterator[Session]:
    """The session and all its subagents at any depth, each once."""
    # A session in a file is told by its path, since two links read it twice; one within its parent's file by itself.
    seen: set[Path | int] = set()
    queue: list[tuple[Session, Path | int, int]] = [(session, session.path, 0)]
    while queue:
        member, key, depth = queue.pop(0)
        if key in seen or depth > MAX_DEPTH:
            continue
        seen.add(key)
        yield member
        for subagent in member.subagents:
            if subagent.path not in seen and (child := read_subagent(subagent)) is not None:
                queue.append((child, subagent.path or id(child), depth + 1))


def usage_with_subagents(session: Session) -> TokenUsage | None:
    """The session's own total and those of all its subagents."""
    return total_usage(member.usage() for member in family(session))

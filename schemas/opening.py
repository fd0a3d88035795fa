"""From a path to a session: recognise the file by its content, read it, find its subagents.

Raises `OpenError`, whose text is one line that can be shown to a person, for everything that is not a session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from schemas import zst
from schemas.broken import read_broken
from schemas.clean import clean, one_line
from schemas.interchange.registry import check, guess, readers
from schemas.interchange.toolpath import begins_document
from schemas.json_faults import wide_encoding
from schemas.paths import source_of
from schemas.provider import HEAD_BYTES, NOISE_BYTES, Foreworded, Head, Keyed, Provider, Reading, beginning, read_head
from schemas.providers import each_provider, likely, provider_of
from schemas.records import MAX_LINE, breaks_off, document_fault, read_document, read_record
from schemas.session import Session, Subagent
from schemas.troubles import NotYet as NotYet
from schemas.troubles import OpenError as OpenError
from schemas.troubles import bug, guarded

_BLANK = b"\xef\xbb\xbf \t\r\n"
MAX_DEPTH = 100
"""Subagents of subagents: 79 levels have been seen; a cycle must end somewhere."""


def open_reading(path: Path, *, start: int = 0, growing: bool = False, agent: str = "") -> Reading:
    """Begin to read the session at an address; of a source that holds many, and no key, the newest.

    `start` skips to a big file's end; `growing` and `agent` are recognise's.
    """
    source, key = source_of(path)
    try:
        provider = recognise(head_of(source), growing=growing, agent=agent)
        with guarded():
            if isinstance(provider, Keyed):
                if not key and not (held := provider.held(source)):
                    raise OpenError(path, f"a database of {provider.name} that holds no session")
                return provider.open_key(source, key or held[0].key)
            if key:
                raise OpenError(path, f"a session of {provider.name}, not a source of many")
            return provider.open(source, start=start)
    except OSError as error:
        raise OpenError(path, _why(error)) from error


def addresses_in(path: Path) -> list[Path]:
    """The addresses of all sessions in a source, the newest first; of most sources it is the path itself."""
    source, key = source_of(path)
    try:
        if key or not source.is_file():
            return [path]
        with source.open("rb") as file:
            if file.read(1) in b"{[":  # nobody keeps many sessions in one text of JSON
                return [path]
        provider = recognise(head_of(source))
        return [file.path for file in provider.held(source)] if isinstance(provider, Keyed) else [path]
    except (OSError, OpenError):
        return [path]  # opening it says what is wrong


@guarded()
def head_of(path: Path) -> Head:
    """The beginning of the file at an address. Raises OSError, or OpenError for what is empty or no regular file."""
    path = source_of(path)[0]
    if path.is_dir():
        raise OpenError(path, "a directory, not a session file")
    if path.exists() and not path.is_file():
        raise OpenError(path, "not a regular file")
    with path.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        data = read(0, HEAD_BYTES)
        if data[:4] == zst.MAGIC:
            try:
                return read_head(path, zst.beginning_of(path), whole=False, compressed=True)
            except OSError as error:
                raise OpenError(path, str(error)) from error
        if data[:16] == b"SQLite format 3\0":
            from schemas.sqlite import tables_of

            tables, rows = tables_of(path)
            return Head(path, data, [], None, tables=tables, rows=rows)
        start = data.lstrip(_BLANK)
        if not data.strip():
            raise NotYet(path, "empty" if not data else "only white space")
        if len(data) == HEAD_BYTES and begins_document(data):
            # That is enough to tell it by, and as one value it takes ten times its size. Its lines are no records.
            return Head(path, data, [], None)
        data, whole = beginning(read)
        # One JSON document has no newline-ended first record; it is read whole, lines are not.
        head = read_head(path, data, whole=whole)
        # What was found in lines that are no records themselves may be part of a document with newlines in it.
        found = head.records and any(map(read_record, data.lstrip(_BLANK).split(b"\n")))
        if not whole and not found and start[:1] in (b"{", b"["):
            head = read_head(path, read(0, -1), whole=True)
        elif not whole and not head.records:
            # An agent's stream begins where other programs have said what they had to say.
            data = read(0, NOISE_BYTES)
            if data.rpartition(b"\n")[2].lstrip().startswith(b"{"):
                file.seek(len(data))
                data += file.readline(MAX_LINE)
            head = read_head(path, data, whole=False)
    return head


@guarded()
def recognise(head: Head, *, growing: bool = False, agent: str = "") -> Provider:
    """The provider whose session this is; the `agent` in whose home it lies is asked first. Raises OpenError that says
    what was seen instead.

    Of the published formats and of agents that keep a document a session also one that breaks off, unless it is
    `growing`, so that the rest may come.
    """
    failed: list[str] = []
    finder = provider_of(agent) if agent else None
    if provider := _first_that_detects(chain([finder] if finder else [], likely(head), readers()), head, failed):
        return provider
    if not growing and not head.records and not head.compressed and (broken := read_broken(head.data)):
        part = head._replace(document=broken.document)
        from schemas.providers.kit.bases import Document  # whoever comes here has imported it with an agent

        agents = (agent for agent in likely(part) if isinstance(agent, Document))  # they read it as far as it goes
        if provider := _first_that_detects(chain(agents, readers()), part, failed):
            return provider
    trouble = NotYet if _may_begin(head) else OpenError
    reason = _nearly(head) or f"{_describe(head)}; not a session turnlog knows: `turnlog doctor --formats`"
    raise trouble(head.path, "; ".join([reason, *failed]))


def agent_of(head: Head) -> Provider | None:
    """The agent whose own session file this is; None for any other file."""
    return _first_that_detects(likely(head), head, [])


def _first_that_detects(among: Iterable[Provider], head: Head, failed: list[str]) -> Provider | None:
    """The first provider that knows the file. One that fails on it does not keep the others from being asked; the words
    for it are added to `failed`.
    """
    for provider in among:
        try:
            if provider.detect(head):
                return provider
        except Exception as error:  # noqa: BLE001
            failed.append(f"{provider.name}: {bug(error)}")
    return None


def _may_begin(head: Head) -> bool:
    """Return whether no record is whole yet that could tell whose session it is: half a line, or half a document, or
    what an agent writes before a session's first record (faults f04).
    """
    data = head.data.lstrip(_BLANK)
    if head.compressed or head.data.startswith(b"SQLite"):
        return False
    if not data:
        return True
    if head.records:
        return any(isinstance(agent, Foreworded) and agent.is_foreword(head.records) for agent in each_provider())
    return head.document is None and data.startswith((b"{", b"[")) and (b"\n" not in data or breaks_off(head.data))


def _nearly(head: Head) -> str:
    """Describe the fault of a document that has the keys of a published format; empty for any other file."""
    whole = len(head.data) < HEAD_BYTES or not head.records
    begins = head.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    said = guess(head.data) if begins and whole and len(head.records) < 2 else None
    errors = check(said.name, head.data).errors if said else []
    if said is None or not errors:
        return ""
    place, message = errors[0]
    more = f" and {len(errors) - 1:,} more" if len(errors) > 1 else ""
    return f"by its keys {said.name}, but {f'{place}: ' if place else ''}{message}{more}: `turnlog validate` says all"


def _describe(head: Head) -> str:
    """Describe what was seen, in a few words."""
    if head.data.startswith(b"SQLite"):
        names = ", ".join(one_line(name, 40) for name in sorted(head.tables)[:4])
        return f"a SQLite database with {f'the tables {names}' if names else 'no tables'}"
    if not head.data.strip():  # of a file that is not compressed `head_of` says so itself
        return "a compressed file that holds nothing, or was cut off"
    if wide := wide_encoding(head.data):
        return f"a text in {wide}, where UTF-8 belongs"
    if b"\0" in head.data[:4096] and not head.records:
        return "a binary file"
    if not head.records and not head.compressed and breaks_off(head.data):  # what begins so was read whole
        kind = "array" if head.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") else "object"
        return f"a JSON {kind} that breaks off at byte {len(head.data):,}"
    number, line = next((n, line) for n, line in enumerate(head.data.split(b"\n"), 1) if line.strip())
    if (value := read_document(line)) is not None:
        return f"line {number} is {_value(value)}"
    if head.document is not None:
        return f"it is {_value(head.document)}"
    if line.lstrip().startswith((b"{", b"[")) and (fault := document_fault(head.data)).startswith("nested"):
        return f"JSON that is {fault}"
    return f"it begins with {clean(line[:200].decode('utf-8', 'replace')).strip()[:40]!r}"


def _value(value: Any) -> str:
    """A JSON value as a person would name it."""
    if isinstance(value, dict):
        keys = ", ".join(one_line(str(key), 40) for key in list(value)[:4])
        return f"a JSON object with the keys {keys}" if keys else "an empty JSON object"
    kinds = {_NAMES.get(type(item), "null") for item in value}
    what = f"{kinds.pop()}s" if len(kinds) == 1 else "values"
    return f"a JSON array of {len(value):,} {what if len(value) != 1 else what.removesuffix('s')}"


_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", list: "array", dict: "object"}


def _why(error: OSError) -> str:
    """An operating system error in plain words."""
    words = {FileNotFoundError: "no such file", PermissionError: "permission denied", IsADirectoryError: "a directory"}
    return words.get(type(error), os.strerror(error.errno).lower() if error.errno else str(error))


def read_session(path: Path, progress: Callable[[int, int], None] | None = None, *, agent: str = "") -> Session:
    """The whole session at an address, its subagents found and linked but not read.

    `progress` is called after each MB with the bytes read and the bytes there are; `agent` is recognise's.
    """
    return read_to_end(open_reading(path, agent=agent), progress)


def read_to_end(reading: Reading, progress: Callable[[int, int], None] | None = None) -> Session:
    """The same for a reading that was begun."""
    try:
        while not reading.done:
            reading.step()
            if progress:
                progress(*reading.progress)
        reading.finish()
        reading.refresh()
    except OSError as error:
        raise OpenError(reading.session.path, _why(error)) from error
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
    # A session is told by its address, since two links read it twice; one within its parent's source by itself.
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

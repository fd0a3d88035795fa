"""Bytes to records: tolerant JSON lines, and the stores that records are read back from.

A record is one JSON object of a session file together with where it lies. Everything turnlog shows knows its records,
so that a body need not be kept in memory and every figure can be traced back.

What agents really leave behind (formats/claude-code.md 12 and 13): half lines, two records glued on one line, runs of
NUL bytes after a crash, invalid UTF-8, lone surrogates, integers of 5,000 digits. Each is read as far as it can be and
what cannot be read is reported with its line.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import OrderedDict
from io import BytesIO
from itertools import chain
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from schemas.clean import clean_value
from schemas.json_faults import say_depth, say_fault

Record: TypeAlias = tuple[int, int, int, dict[str, Any]]
"""Offset of its first byte, its length in bytes, its line (from 1), and the object itself."""

UNFINISHED = "the last line is unfinished"
"""What is wrong with a line at whose end a file or a pipe breaks off."""
# A line longer than this is reported and passed over: no agent writes one, and a file that holds one is not a session.
MAX_LINE = 512 << 20
_DEEPEST = 1024
"""Levels of a record: as many as orjson reads."""
sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * _DEEPEST))  # for what Python does with each level of a record
_MARKER = re.compile(rb'\{\s*"[A-Za-z_]+"\s*:')
_OF_A_RECORD = frozenset("uuid parentUuid timestamp sessionId payload leafUuid messageId id record_type".split())  # noqa: SIM905


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if isfinite(number) else None


# What no JSON can say is null, here as in a record that is written down and read back (`_dump`).
_DECODER = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < 4000 else None,
    parse_float=_finite,
    parse_constant=lambda _: None,
)


class Unreadable(NamedTuple):
    """A stretch of a file that gave no record: its line (from 1), why, and where it lies."""

    line: int
    reason: str
    offset: int
    length: int
    file: str = ""
    """The file in which it lies, as seen from the session's folder; empty for the session's own."""


def is_record(value: dict[str, Any]) -> bool:
    """Return whether an object inside a damaged line is a record and no piece of one, such as a content block."""
    if "role" in value and isinstance(value.get("message"), dict):  # Cursor's lines have nothing else
        return True
    return ("type" in value or "record_type" in value) and not _OF_A_RECORD.isdisjoint(value)


class JsonLines:
    """Turns the bytes of a JSON lines file into records, however the bytes are cut into pieces.

    `push` takes bytes as they come and gives the records of the lines that are complete; what follows the last newline
    waits. `finish` says that no more will come. Feeding a file in any pieces gives the same records as feeding it at
    once. With `plain`, text that is no record is a record without keys instead of unreadable: what a program printed
    between the events of a stream is part of it.
    """

    def __init__(self, offset: int = 0, line: int = 1, *, plain: bool = False) -> None:
        self._plain = plain
        self.offset = offset
        """Where the first byte that has not become a record lies in the file."""
        self.line = line
        """The line that byte is on, from 1."""
        self.unreadable: list[Unreadable] = []
        self._waiting: list[bytes] = []

    @property
    def pending(self) -> int:
        """The number of bytes that wait for their newline."""
        return sum(map(len, self._waiting))

    def push(self, data: bytes) -> list[Record]:
        """The records of the lines which `data` completes."""
        end = data.rfind(b"\n")
        if end < 0:
            if data:
                self._waiting.append(data)
            return []
        block = b"".join((*self._waiting, data[: end + 1]))
        self._waiting = [data[end + 1 :]] if end + 1 < len(data) else []
        records: list[Record] = []
        offset, line, loads, add = self.offset, self.line, orjson.loads, records.append
        for raw in BytesIO(block):  # which leaps from newline to newline, where `split` looks at every byte
            size = len(raw)
            if raw.isspace():  # a file may hold millions of empty lines
                offset += size
                line += 1
                continue
            try:
                value = loads(raw)
            except orjson.JSONDecodeError:
                value = None
            if type(value) is dict:
                add((offset, size - 1, line, value))
            else:
                self._recover(raw[:-1], offset, line, records)
            offset += size
            line += 1
        self.offset, self.line = offset, line
        return records

    def take_tail(self) -> list[Record]:
        """The waiting bytes as a record, if they are a whole object already: a writer may add the newline later."""
        tail = b"".join(self._waiting)
        if not tail.rstrip().endswith(b"}"):
            return []
        try:
            value = orjson.loads(tail)
        except orjson.JSONDecodeError:
            return []
        self._waiting = []
        record = (self.offset, len(tail), self.line, value)
        self.offset += len(tail)
        return [record] if isinstance(value, dict) else []

    def finish(self) -> list[Record]:
        """Read the waiting bytes, now that no newline will come; the rest of them is reported as unfinished."""
        if records := self.take_tail():
            return records
        tail = b"".join(self._waiting)
        self._waiting = []
        if tail.strip(b" \t\r\n\0"):
            self._recover(tail, self.offset, self.line, records, unfinished=True)
        self.offset += len(tail)
        return records

    def _recover(self, raw: bytes, offset: int, line: int, records: list[Record], *, unfinished: bool = False) -> None:
        """Everything that can be read of a line that is not one JSON object."""
        found, lost = recover(raw, offset, line, anything=self._plain, unfinished=unfinished)
        if unfinished and lost and lost[-1].offset + lost[-1].length >= offset + len(raw.rstrip()):
            lost[-1] = lost[-1]._replace(reason=UNFINISHED)
        if self._plain:
            # What begins as an object is the beginning of a record, and no text that a program printed.
            begun = unfinished and lost and raw[lost[-1].offset - offset :].lstrip().startswith(b"{")
            cut = lost.pop() if begun else None
            found = sorted([*found, *((gap.offset, gap.length, gap.line, {}) for gap in lost)], key=itemgetter(0))
            lost = [] if cut is None else [cut]
        records.extend(found)
        self.unreadable.extend(lost)


def recover(
    raw: bytes, offset: int, line: int, *, anything: bool = False, unfinished: bool = False
) -> tuple[list[Record], list[Unreadable]]:
    """The records in a damaged line, and the stretches of it that hold none.

    Offsets count bytes of the file. Tried in turn: the line as a whole after a byte order mark, NUL bytes and a
    carriage return are gone, then one object after the other, taking up again at the next `{"name":` after damage.
    `anything` takes every object that has a type for a record, and not only what looks like a record of a session; but
    what follows the beginning of an object that is damaged may be a piece of that one: it is taken only if it ends the
    line (half a line, then a whole one), and not if the line itself is `unfinished`.
    """
    if len(raw) > MAX_LINE:
        return [], [Unreadable(line, f"a line of {len(raw) >> 20} MB", offset, len(raw))]
    whole = _decode(raw)
    if isinstance(whole, dict):
        return [(offset, len(raw), line, whole)], []
    if not isinstance(whole, _Bad):
        kind = _NAMES.get(type(whole), "null" if b"null" in raw else "number")  # one too large is None
        return [], [Unreadable(line, f"a JSON {kind}, not an object", offset, len(raw))]
    last = -1 if unfinished else len(raw.rstrip())
    return _split(raw, offset, line, whole.reason, last if anything else None)


_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", list: "list"}
_AROUND = "\ufeff\0 \t\r\n"
"""What may stand around a record and is no part of it."""


class _Bad(NamedTuple):
    reason: str


def _decode(raw: bytes) -> Any:
    """`raw` as JSON, or a `_Bad` that says why not."""
    line = raw.decode("utf-8", "replace").rstrip(_AROUND)
    text = line.lstrip(_AROUND)
    if not text:
        return _Bad("only NUL bytes")
    try:
        value, end = _DECODER.raw_decode(text)
    except RecursionError:
        return _Bad("nested too deeply")
    except json.JSONDecodeError as error:
        return _Bad(f"not JSON: {say_fault(error, shift=len(line) - len(text))}")
    except ValueError:
        return _Bad("not JSON: a number too long")
    if end < len(text):
        return _Bad("more than one JSON value")
    return _Bad("nested too deeply") if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    """Return whether JSON is nested more deeply than a record may be."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST + 1):
        level = [node for node in level if type(node) is dict or type(node) is list]
        if not level:
            return False
        level = list(chain.from_iterable(node.values() if type(node) is dict else node for node in level))
    return True


def _split(
    raw: bytes, offset: int, line: int, reason: str, end_of_any: int | None
) -> tuple[list[Record], list[Unreadable]]:
    """`end_of_any`: where an object within a damaged one must end, if any is taken; None if only records are."""
    records: list[Record] = []
    lost: list[Unreadable] = []
    good_until = 0
    position = 0
    deep = False
    # Latin-1 keeps one character a byte, so that the decoder's index is a byte offset. It counts the lines before each
    # fault that it finds, so what it is given begins near the place: a line of a megabyte may have 60,000 faults.
    text, base, near = raw.decode("latin-1"), 0, max(1 << 12, len(raw) >> 8)
    while match := _MARKER.search(raw, position):
        start = match.start()
        if start - base > near:
            text, base = text[start - base :], start
        try:
            end = _DECODER.raw_decode(text, start - base)[1] + base
        except RecursionError:
            deep = True
            position = start + 1
            break
        except ValueError:
            position = start + 1
            continue
        value = _decode(raw[start:end])
        if end_of_any is None:
            # What stands behind a colon or a bracket is a piece of the damaged object, unless it ends the line.
            within = raw[good_until:start].rstrip().endswith((b":", b"[")) and raw[end:].strip(b" \t\r\n\0,")
            good = isinstance(value, dict) and is_record(value) and not within
        else:
            good = (
                isinstance(value, dict) and "type" in value and (end == end_of_any or b"{" not in raw[good_until:start])
            )
        if not isinstance(value, dict) or not good:
            position = start + 1
            continue
        _note_gap(raw, good_until, start, offset, line, reason, lost)
        records.append((offset + start, end - start, line, value))
        good_until = position = end
    _note_gap(raw, good_until, len(raw), offset, line, "nested too deeply" if deep else reason, lost)
    return records, lost


def _note_gap(raw: bytes, start: int, end: int, offset: int, line: int, reason: str, lost: list[Unreadable]) -> None:
    if raw[start:end].strip(b" \t\r\n\0,").removeprefix(b"\xef\xbb\xbf"):
        lost.append(Unreadable(line, reason, offset + start, end - start))


def read_record(raw: bytes) -> dict[str, Any]:
    """The object of one record read back from its span; an empty one if the file changed under us."""
    value = read_document(raw)
    return value if isinstance(value, dict) else {}


def read_document(raw: bytes) -> dict[str, Any] | list[Any] | None:
    """The object or list that is all of `raw`; None for anything else."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = _decode(raw)
    return value if isinstance(value, dict | list) else None


def document_fault(raw: bytes) -> str:
    """Why there is no JSON document in all of `raw`, as a sentence with the place; empty where there is one."""
    text = raw.decode("utf-8", "replace").rstrip(_AROUND)
    start = len(text) - len(text.lstrip(_AROUND))
    try:
        _, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        return f"nested too deeply{say_depth(raw)}"
    except json.JSONDecodeError as error:
        return f"not JSON: {say_fault(error)}"
    except ValueError:
        return "not JSON: a number too long"
    end += len(text[end:]) - len(text[end:].lstrip())
    return f"not JSON: {say_fault(json.JSONDecodeError('Extra data', text, end))}" if end < len(text) else ""


def breaks_off(raw: bytes) -> bool:
    """Return whether `raw` is the beginning of one JSON object or list, without a fault as far as it goes, and no more.

    So is a document that is being written. A log is not, once its first line has ended.
    """
    text = raw.decode("utf-8", "replace").lstrip("\ufeff \t\r\n").rstrip()
    if not text.startswith(("{", "[")):
        return False
    try:
        orjson.loads(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError as error:
        return error.pos >= len(text)  # what is missing is missed at the very end
    return False


class Store:
    """A source of bytes from which records are read again, by offset and length. Those read last are kept: a message
    with several blocks, or a tool with its result, asks for the same one again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._recent: OrderedDict[int, dict[str, Any]] = OrderedDict()

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a span; fewer when the file has shrunk."""
        raise NotImplementedError

    def record(self, offset: int, length: int) -> dict[str, Any]:
        """The record of a span, as an object."""
        record = self._recent.get(offset)
        if record is None:
            record = self._recent[offset] = read_record(self.read(offset, length))
            if len(self._recent) > _MOST_RECENT:
                self._recent.popitem(last=False)
        return record

    def close(self) -> None:
        """Let go of the file."""


_MOST_RECENT = 8
"""Records that a store keeps."""


class FileStore(Store):
    """A session file, opened for reading once. Spans are read with `pread`: no lock, no seek, no mapping that a
    truncation would turn into a bus error.
    """

    def __init__(self, path: Path, fd: int | None = None) -> None:
        super().__init__(path)
        self.fd = -1  # for `__del__`, should opening fail
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        self.fd = os.open(path, flags) if fd is None else fd

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a span; fewer when the file has shrunk."""
        if hasattr(os, "pread"):
            return os.pread(self.fd, length, offset)
        os.lseek(self.fd, offset, os.SEEK_SET)  # Windows has no pread; we read from one thread
        return os.read(self.fd, length)

    def first_line(self) -> bytes:
        """The first line with anything in it, 16 MB of it at most."""
        data = b""
        while b"\n" not in data.lstrip() and len(data) < 16 << 20 and (more := self.read(len(data), 1 << 16)):
            data += more
        return data.lstrip().partition(b"\n")[0]

    def stat(self) -> os.stat_result:
        """The open file's state, whatever lies under its name by now."""
        return os.fstat(self.fd)

    def close(self) -> None:
        """Let go of the file."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        self.close()


class MemoryStore(Store):
    """Records that are no lines of a file (the items of one JSON document, rows of a database), kept in memory.

    The offset of a span is the number of the record, its length is that of its bytes.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rows: list[bytes] = []

    def add(self, value: dict[str, Any], raw: bytes | None = None) -> Record:
        """Keep a record; returns it with its place. `raw` are its bytes, where the source has it as JSON text."""
        if raw is None:
            raw = _dump(value)
        self._rows.append(raw)
        return (len(self._rows) - 1, len(raw), len(self._rows), value)

    def whole(self) -> bytes:
        """All records, to tell whether they are the same as before."""
        return b"\0".join(self._rows)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of record number `offset`."""
        return self._rows[offset][:length] if 0 <= offset < len(self._rows) else b""

    def close(self) -> None:
        """Let go of the records."""
        self._rows = []


def _dump(value: dict[str, Any]) -> bytes:
    try:
        # A copy: orjson's own bytes keep the memory they were made in, eight times their length for a message.
        return memoryview(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)).tobytes()
    except TypeError:  # lone surrogates, integers beyond 64 bits, deep nesting: `_decode` reads what orjson does not
        return json.dumps(clean_value(value), default=str).encode()

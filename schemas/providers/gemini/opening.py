"""From a path to a reading: a log of JSON lines, or one of the documents (formats note 1.2, 1.3, 1.7)."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from schemas.provider import Reading
from schemas.providers.gemini.detect import is_chat, is_document, is_header, is_log, items_of, saved
from schemas.providers.gemini.parse import GeminiParser
from schemas.reading import DocumentReading, LinesReading, open_file
from schemas.records import FileStore, read_document, read_record
from schemas.session import Lack, Session

_FIRST_LINE = 16 << 20
"""Bytes. A line that is longer is no header."""
_SAVED = re.compile(r"checkpoint-(.+)\.json")


def open_session(path: Path, start: int, provider: str, name: str) -> Reading:
    """Begin to read a file. Raises OSError."""
    store = open_file(path)
    make = partial(Session, provider, name, path, _file_id(path))
    first = _first_line(store)
    document = _document(store, path, first)
    if document is not None:
        store.close()
        return DocumentReading(path, partial(_document_parser, make, document), items_of, is_document)
    parser = GeminiParser(make())
    reading = LinesReading(store, parser, start)
    if start and is_header(header := read_record(first)):
        # So that a big file's end has its name, its id and its project too.
        parser.feed([(0, len(first), 1, header)])
    return reading


def _file_id(path: Path) -> str:
    """What stands for the session's id until its header was read."""
    return path.name.removesuffix(".jsonl").removesuffix(".json")


def _first_line(store: FileStore) -> bytes:
    data = b""
    while b"\n" not in data.lstrip() and len(data) < _FIRST_LINE and (more := store.read(len(data), 1 << 16)):
        data += more
    return data.lstrip().partition(b"\n")[0]


def _document(store: FileStore, path: Path, first: bytes) -> Any:
    """The document that a file is, if it is one: its first line is not a record, or it is all of it."""
    record = read_record(first)
    if record and not is_chat(record) and not saved(record):
        return None
    if is_chat(record) and is_header(record) and path.suffix != ".json":
        return None  # the header of a log may hold messages
    document = read_document(store.read(0, store.stat().st_size))
    return document if is_document(document) else None


def _document_parser(make: partial[Session], document: Any) -> GeminiParser:
    """A parser for a document of this kind."""
    session = make()
    parser = GeminiParser(session)
    if is_chat(document):
        return parser
    if is_log(document):
        session.lacks = frozenset({Lack.TOKENS, Lack.THINKING, Lack.RESULTS})
    else:
        session.lacks = frozenset({Lack.TIMES, Lack.TOKENS})
        if match := _SAVED.fullmatch(session.path.name):
            parser.meta["tag"] = unquote(match[1])
    return parser

"""A file that holds a Toolpath document or stream as a session: recognised by its beginning, taken apart, read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.broken import why_unread
from schemas.clean import one_line
from schemas.interchange.session_data_parts import as_object
from schemas.interchange.toolpath import SESSION_KIND, as_graph, begins_document, is_session_step
from schemas.interchange.toolpath_document import StepStore, in_place, session_lines, skim
from schemas.interchange.toolpath_read import ToolpathParser
from schemas.provider import HEAD_BYTES, Reading, beginning
from schemas.reading import LinesReading, ParsedReading, open_file
from schemas.records import JsonLines, MemoryStore, read_document

Data = dict[str, Any]


def open_toolpath(path: Path) -> Reading:
    """A reading of the session in a file; one that is empty so far becomes a stream.

    Raises OSError for a document, or the beginning of a stream, of paths that are no sessions.
    """
    store = open_file(path)
    start = store.read(0, HEAD_BYTES)
    if not begins_document(start):
        start, _ = beginning(store.read)
    records = JsonLines().push(start if start.endswith(b"\n") else start + b"\n")
    if start.strip() and not (records and "PathOpen" in records[0][3]):
        store.close()
        return ToolpathReading(path)
    try:
        _refuse_stream([record[3] for record in records])
    except OSError:
        store.close()
        raise
    return LinesReading(store, ToolpathParser(path))


class ToolpathReading(ParsedReading):
    """A document. Its steps stay the bytes they are, where it is one as producers write them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ToolpathParser(path))

    def parse(self, data: bytes) -> ToolpathParser:
        """The document's first session, with the others. Raises OSError for what is no document, or holds none."""
        parser = self._parse(data)
        if parser is None and (broken := self.broken(data)) and (parser := self._parse(broken.data)):
            parser.session.unreadable.append(broken.gap)
        if parser is None:
            raise OSError(why_unread(data))
        return parser

    def _parse(self, data: bytes) -> ToolpathParser | None:
        """None of what is no document."""
        try:
            sessions = session_lines(skim(data))
        except (ValueError, RecursionError):
            sessions = []  # damaged, or not a whole one
        if sessions and all(map(in_place, sessions)):
            return self._read(sessions, lambda: StepStore(self.path, data))
        document = read_document(data)
        if as_graph(document) is None:
            return None
        return self._read(session_lines(document), lambda: MemoryStore(self.path))

    def _read(self, sessions: list[list[Data]], make_store: Callable[[], StepStore | MemoryStore]) -> ToolpathParser:
        parsers = []
        for lines in sessions:
            parser, store = ToolpathParser(self.path), make_store()
            parser.session.stores.append(store)
            parser.feed(map(store.add, lines))
            parsers.append(parser)
        parsers[0].take_others(parsers[1:])
        return parsers[0]


def _refuse_stream(records: list[Data]) -> None:
    kind = as_object(as_object(records[0].get("PathOpen")).get("meta")).get("kind") if records else None
    step = next((record["Step"] for record in records if "Step" in record), None)
    if isinstance(kind, str) and not SESSION_KIND.fullmatch(kind):
        raise OSError(f"a Toolpath stream of the kind {one_line(kind, 80)}, which is no agent's session")
    if kind is None and step is not None and not is_session_step(step):
        raise OSError("a Toolpath stream of a path that names no kind and is no agent's session")

"""Search over all sessions: for now a scan of their files, newest first.

A file is asked first whether its bytes can hold the words at all, then its records, and only messages of records that
can are built and looked at. An index can take this module's place behind `search`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.clean import one_line
from schemas.message import Kind, Message
from schemas.opening import OpenError, read_session
from schemas.paths import source_of
from schemas.provider import Problem
from schemas.session import Session
from schemas.troubles import bug
from viewer.index.matching import in_text, plain_runs, search_key

_BLOCK = 4 << 20
_AROUND = 70
_UNLIKE_LINES = (b"\x28\xb5\x2f\xfd", b"SQLite format 3\0")
"""How files begin whose bytes do not show what is said in them: zstd; databases, which keep long texts in pieces, and
the newest ones in another file.
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that holds all the words."""

    provider: str
    session_id: str
    path: Path
    title: str
    time: float | None
    exchange_id: str
    message_id: str
    role: str
    kind: Kind
    snippet: str
    """One line around the first word found."""
    score: float
    """How often the words occur; twice as much in what a person typed."""

    def to_json(self) -> dict[str, Any]:
        """A row of `search --json`."""
        from schemas.paths import address_json

        return {
            "provider": self.provider,
            "id": self.session_id,
            **address_json(self.path),
            "exchangeId": self.exchange_id,
            "messageId": self.message_id,
            "role": self.role,
            "snippet": self.snippet,
            "score": self.score,
        }


class Needles:
    """The words looked for: each a word or a phrase, whatever its case; white space in a phrase matches any."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = [" ".join(word.split()) for word in words if word.strip()]
        keys = [search_key(word).split(" ") for word in self.words]
        self._patterns = [re.compile(r"\s+".join(map(re.escape, key))) for key in keys]
        # Of each word a piece that stands in the file as it is typed, whatever JSON escapes around it. A word without
        # two plain letters or digits in a row has none and rules nothing out.
        longest = [max(plain_runs(word), key=len, default="") for word in self.words]
        self._pieces = [piece.encode() for piece in longest if len(piece) > 1]

    def missing(self, lowered: bytes, pieces: list[bytes] | None = None) -> list[bytes]:
        """The pieces that do not occur in the bytes, of those still missing."""
        return [piece for piece in (self._pieces if pieces is None else pieces) if piece not in lowered]

    def find(self, text: str) -> tuple[int, list[tuple[int, int]]] | None:
        """Count the words in a text, and find the first of each; None unless all occur."""
        count, places = 0, []
        key = search_key(text)
        for pattern in self._patterns:
            first = pattern.search(key)
            if first is None:
                return None
            places.append(first.span())
            count += sum(1 for _ in pattern.finditer(key))
        return count, in_text(text, places)


def search(
    words: Iterable[str],
    files: Iterable[tuple[Path, int]],
    problems: list[Problem],
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Hit]:
    """The messages that hold all words, in the files' order and from each file's end to its start.

    `files` are paths with their sizes; `progress` is called with the bytes that were looked through.
    """
    needles = Needles(words)
    done = 0
    for path, size in files:
        try:
            if needles.words and _file_may_hold(path, needles):
                session = read_session(path)
                try:
                    yield from _hits(session, needles)
                finally:
                    session.close()
        except OpenError as error:
            problems.append(Problem(path, error.reason))
        except OSError as error:
            problems.append(Problem(path, (error.strerror or str(error)).lower()))
        except Exception as error:  # noqa: BLE001
            # A bug that one file brings to light must not end the search through all the others.
            problems.append(Problem(path, bug(error)))
        done += size
        progress(done)


def _file_may_hold(path: Path, needles: Needles) -> bool:
    missing = needles.missing(b"")
    overlap = max(map(len, missing), default=1) - 1
    with source_of(path)[0].open("rb") as file:
        tail = b""
        first = True
        while missing and (block := file.read(_BLOCK)):
            if first and block.startswith(_UNLIKE_LINES):
                return True
            first = False
            lowered = tail + block.lower()
            missing = needles.missing(lowered, missing)
            tail = lowered[-overlap:] if overlap else b""
    return not missing


def _hits(session: Session, needles: Needles) -> Iterator[Hit]:
    for index in range(len(session.messages) - 1, -1, -1):
        spans = session.message_spans(index)
        # One record may hold one word and another the next: a tool use and its result are one message.
        missing = needles.missing(b"")
        for span in spans:
            if not missing:
                break
            missing = needles.missing(session.raw(span).lower(), missing)
        if missing:
            continue
        message = session.message(index)
        text = searchable(message)
        if found := needles.find(text):
            yield _hit(session, message, text, *found)


def searchable(message: Message) -> str:
    """All that a reader can see of a message."""
    pieces = [message.label, *(part.text for part in message.parts)]
    if message.tool is not None:
        pieces += [message.tool.name, *_strings(message.tool.input), message.tool.text]
        pieces += [line for diff in message.tool.diffs for hunk in diff.hunks for line in hunk.lines]
    return "\n".join(filter(None, pieces))


def _strings(value: Any) -> Iterator[str]:
    """The strings in a tool's input; it has passed `clean_value`, which bounds how deep it is."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _hit(session: Session, message: Message, text: str, count: int, places: list[tuple[int, int]]) -> Hit:
    exchange = session.exchanges[message.exchange]
    weight = 2.0 if message.role == "user" else 1.0
    return Hit(
        session.provider,
        session.id,
        session.path,
        session.title,
        message.timestamp,
        exchange.id,
        message.id,
        message.role,
        message.kind,
        snippet(text, min(places)),
        count * weight,
    )


def snippet(text: str, place: tuple[int, int]) -> str:
    """The text around a hit on one line, cut at words, with an ellipsis where something was left out."""
    start, end = max(0, place[0] - _AROUND), min(len(text), place[1] + _AROUND)
    if start and (gap := re.search(r"\s", text[start : place[0]])):
        start += gap.end()
    if end < len(text) and (gaps := list(re.finditer(r"\s", text[place[1] : end]))):
        end = place[1] + gaps[-1].start()
    line = one_line(text[start:end], 400)
    return f"{'… ' if start else ''}{line}{' …' if end < len(text) else ''}"

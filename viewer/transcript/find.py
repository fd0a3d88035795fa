"""Search in one session, a slice at a time, so that half a gigabyte is searched while keys still answer.

What counts is what the screen shows of a message that is open: its headline, its text without Markdown's signs, what
the tool was given, changed and printed. Drawing everything would take seconds, so a message is drawn only if all words
occur in what it is made of; and the bytes of the file are asked first, which are a hundred times as fast as messages,
so that most hits come at once. The search begins at the cursor and goes round: the next hit is found first.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from unicodedata import normalize

from renderers.facts import format_exact, usage_line
from renderers.headline import headline
from renderers.terminal.block import render_block
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.rows import Row
from schemas.changes import Moves
from schemas.message import Flag, Kind, Message
from schemas.records import FileStore
from schemas.session import Session
from schemas.table import NONE
from viewer.index.matching import find_all, plain_runs, search_key

_CHUNK = 512 << 10
_MESSAGE_BITS = 28
_WORD = re.compile(r"\w+")
_MARKS = str.maketrans("", "", "*_`~\\")
"""Signs of Markdown that the screen does not show."""
_OURS = (
    "thinking withheld characters summary compacted context unknown record command note interrupted error output lines "
    "running rewound inherited"
)
"""The words in which the screen itself says what a message is (renderers/terminal/block.py)."""


ALL_LINES = 1 << 30
"""More lines than any text has: nothing of it is left out."""


class Stretch(NamedTuple):
    """Characters of one row."""

    row: int
    start: int
    end: int


Place = list[Stretch]
"""Where a match stands: on more than one row where it is wrapped."""


def matches(rows: list[Row], key: str) -> list[Place]:
    """Each match of `key`, a `search_key`, in the order in which it is read; with lines in it, of each of them."""
    pieces, text = _pieces(rows)
    starts = [at for at, _ in pieces]
    found: list[Place] = []
    for begin, end in sorted(span for part in key.split("\n") for span in find_all(text, part)):
        place: Place = []
        number = max(0, bisect_right(starts, begin) - 1)
        while number < len(pieces) and starts[number] < end:
            at, (row, start, stop) = pieces[number]
            first, last = max(begin, at), min(end, at + stop - start)
            if last > first:
                place.append(Stretch(row, start + first - at, start + last - at))
            number += 1
        if place:
            found.append(place)
    return sorted(found)


def _pieces(rows: list[Row]) -> tuple[list[tuple[int, Stretch]], str]:
    """The text of rows with wrapped lines joined again, and where in it each row's characters begin.

    What stands beside a prompt comes behind everything, since the prompt may go on in the next row. Remarks of ours
    (how much is not shown) are left out.
    """
    pieces: list[tuple[int, Stretch]] = []
    texts: list[str] = []
    size = 0

    def add(join: str, row: int, start: int, text: str) -> None:
        nonlocal size
        join = join if texts else ""
        texts.append(join + text)
        pieces.append((size + len(join), Stretch(row, start, start + len(text))))
        size += len(join) + len(text)

    beside: list[tuple[int, int, str]] = []
    for number, row in enumerate(rows):
        shown, start = row.text, row.gutter
        if start >= len(shown):
            if row.act != "fold":
                continue
            start = len(shown) - len(shown.lstrip())  # the facts of an exchange, on a line of their own
        text = shown[start:]
        if row.source is not None and text.startswith(row.source):
            facts = text[len(row.source) :]
            if facts.strip():
                beside.append((number, start + len(text) - len(facts.lstrip()), facts.strip()))
            text = row.source
        add(row.join, number, start, text)
    for number, start, text in beside:
        add("\n", number, start, text)
    return pieces, "".join(texts)


def whole_rows(session: Session, index: int, look: Look) -> list[Row]:
    """The rows of a message that is open, nothing of it left out."""
    return render_block(session, index, Fold.FULL, replace(look, full=ALL_LINES)).rows


def material(session: Session, message: Message, look: Look) -> Iterator[str]:
    """The texts that the screen makes a message of: every word that it shows is in one of them."""
    yield _OURS
    yield message.label
    for part in message.parts:
        yield part.text
    yield f"{message.figures} {format_exact(len(message.text))} {format_exact(message.text.count(chr(10)) + 1)}"
    if tool := message.tool:
        head = headline(tool, session.workspace_root)
        yield f"{head.title} {head.ending} {look.subagents.get(message.index, '')}"
        for text in (tool.summary, tool.formatted, *_scalars(tool.input), tool.text):
            if text:
                yield text
        for diff in tool.diffs:
            yield f"{diff.operation} {diff.path} {diff.renamed_to or ''}"
            for hunk in diff.hunks:
                yield "\n".join(hunk.lines)
    group = session.messages.group[message.index]
    if group != NONE and session.groups.last[group] == message.index:
        yield usage_line(session.groups.usage[group])


def _scalars(value: object) -> Iterator[str]:
    """The names and values in a tool's input, as JSON writes them."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from map(str, item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        else:
            yield json.dumps(item, default=str)


def _is_markdown(message: Message) -> bool:
    """Tell whether the screen leaves signs out of what is drawn of a message."""
    tool = message.tool
    return message.kind is not Kind.OUTPUT and (tool is None or tool.type == "task" or bool(tool.formatted))


def needles(query: str) -> list[bytes]:
    """Byte strings of which a record in JSON that holds the query most likely holds one when lowered."""
    longest = max(plain_runs(query), key=len, default="")
    if len(longest) >= 2 or (longest and longest == query.lower()):
        return [longest.encode()]
    found: set[bytes] = set()
    for form in {form for text in (query, normalize("NFC", query), normalize("NFD", query)) for form in _cases(text)}:
        for ascii_only in (True, False):
            text = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
            for way in (text, text.replace("/", "\\/")):
                found.add(way.encode("utf-8", "surrogatepass").lower())
    return sorted(found)


def _cases(text: str) -> set[str]:
    """A text in its likely cases: lowering bytes changes ASCII only."""
    return {text, text.lower(), text.upper(), text.title(), text.casefold()}


class Finder:
    """The places of a session that show a query; where that has lines, those of each, in messages that show all of
    them. `hits` grows in order while `run` is driven.
    """

    def __init__(self, session: Session, query: str, start: int, look: Callable[[], Look]) -> None:
        self.session = session
        self.query = query
        self.key = search_key(query)
        self.hits: list[int] = []
        """The messages that show it."""
        self.counts: dict[int, int] = {}
        """How often each of them does."""
        self.done = False
        self._look = look
        self._words = _WORD.findall(self.key) or self.key.split()
        self._start = start
        self._seen: set[int] = set()
        self._scanned = False
        self._reached = 0
        """How many messages from the start on, and round to it, were searched without a gap."""

    def is_next(self, hit: int) -> bool:
        """Tell whether a hit is the first one behind the start, round to the start itself: all between was searched."""
        size = len(self.session.messages)
        while self._reached < size and (self._start + self._reached) % size in self._seen:
            self._reached += 1
        return self._reached > (hit - self._start - 1) % size

    @property
    def total(self) -> int:
        """The number of places that were found."""
        return sum(self.counts.values())

    def number(self, index: int, ordinal: int) -> int:
        """The number, from 1, of a place: the `ordinal`th (from 0) of message `index`."""
        return sum(self.counts[hit] for hit in self.hits[: bisect_left(self.hits, index)]) + ordinal + 1

    @property
    def is_outdated(self) -> bool:
        """Tell whether more came after everything had been searched."""
        return self.done and len(self._seen) != len(self.session.messages)

    def forget(self, indices: Iterable[int]) -> None:
        """Drop what was found in these messages: they changed, and `run` searches them again."""
        self._reached = 0
        for index in indices:
            self._seen.discard(index)
            if self.counts.pop(index, 0):
                self.hits.remove(index)

    def follow(self, moves: Moves) -> None:
        """Go over to the session that took the other one's place; what was found in the messages that stayed counts."""
        self.session, self._start, self._reached = moves.new, moves.near(self._start), 0
        self._seen = {place for index in self._seen if (place := moves.find(index)) is not None}
        found = {moves.find(index): count for index, count in self.counts.items()}
        self.counts = {place: count for place, count in found.items() if place is not None}
        self.hits = sorted(self.counts)

    def renew(self, indices: Iterable[int]) -> None:
        """Search these messages at once, which changed or are new."""
        indices = list(indices)
        self.forget(indices)
        for index in indices:
            self._try(index)

    def run(self) -> Iterator[None]:
        """Search everything that has not been searched yet, giving way every few milliseconds."""
        self.done = False
        stores = self.session.stores
        # In a live stream a word may begin in one record and end in the next.
        pieces = self.session.is_printed
        if len(stores) == 1 and isinstance(stores[0], FileStore) and not pieces and not self._scanned:
            for _ in self._run_file(stores[0]):
                yield
                # What no record tells, or one that comes later, may show it before the first that was found.
                if (at := bisect_right(self.hits, self._start)) < len(self.hits) and not self.is_next(self.hits[at]):
                    for index in range(self._start, self.hits[at]):
                        self._try(index)
                        yield
        self._scanned = True
        # What the screen makes of records, such as headlines, stands in none of them. Some may change meanwhile.
        while len(self._seen) < len(self.session.messages):
            for index in self._round():
                self._try(index)
                yield
        self.done = True

    def _round(self) -> Iterator[int]:
        """All messages from the start on, those included that come meanwhile, then round to it."""
        index = self._start
        while index < len(self.session.messages):
            yield index
            index += 1
        yield from range(min(self._start, len(self.session.messages)))

    def _try(self, index: int) -> None:
        if index in self._seen:
            return
        self._seen.add(index)
        if count := self.count(index):
            self.counts[index] = count
            insort(self.hits, index)

    def count(self, index: int) -> int:
        """Count how often a message shows the query."""
        look = self._look()
        # The lines that open exchanges show facts of the whole exchange, and they are few.
        if not self.session.messages.has(index, Flag.OPENER) or "\n" in self.query:
            message = self.session.message(index)
            text = search_key("\n".join(material(self.session, message, look)))
            if not self._holds(text) and not (_is_markdown(message) and self._holds(text.translate(_MARKS))):
                return 0
        return len(matches(whole_rows(self.session, index, look), self.key))

    def _holds(self, text: str) -> bool:
        return all(word in text for word in self._words)

    def _run_file(self, store: FileStore) -> Iterator[None]:
        places = yield from self._places()
        if not places:
            return
        begin = min((span.offset for span in self.session.message_spans(self._start)), default=0)
        # From the start of the record under the cursor to the end, then round to it.
        for start, stop in ((begin, None), (0, begin)):
            yield from self._scan(store, places, start, stop)

    def _places(self) -> Generator[None, None, array[int]]:
        """List where each record begins and whose it is, sorted: offset and message in one number."""
        found: list[int] = []
        for n, (offset, index) in enumerate(self.session.spans.owners(self.session.messages.span)):
            found.append(offset << _MESSAGE_BITS | index)
            if n % 10_000 == 9_999:
                yield
        found.sort()  # nearly sorted already, so this is quick
        return array("Q", found)

    def _scan(self, store: FileStore, places: array[int], start: int, stop: int | None) -> Iterator[None]:
        sought = needles(max(self.query.split("\n"), key=len))
        overlap = max(map(len, sought)) - 1
        at = start
        while stop is None or at < stop:
            size = (_CHUNK if stop is None else min(_CHUNK, stop - at)) + overlap
            data = store.read(at, size).lower()
            if not data:
                return
            yield
            position = 0
            while (hit := _first(data, sought, position)) >= 0:
                record = bisect_right(places, (at + hit << _MESSAGE_BITS) | ((1 << _MESSAGE_BITS) - 1))
                if record:
                    offset = places[record - 1] >> _MESSAGE_BITS
                    while record and places[record - 1] >> _MESSAGE_BITS == offset:
                        record -= 1
                        self._try(places[record] & ((1 << _MESSAGE_BITS) - 1))
                        yield
                following = bisect_left(places, (at + hit + 1) << _MESSAGE_BITS)
                if following == len(places):
                    return
                position = max(hit + 1, (places[following] >> _MESSAGE_BITS) - at)
                if position >= len(data):
                    break
            if len(data) < size:
                return
            at += max(1, len(data) - overlap)


def _first(data: bytes, sought: list[bytes], position: int) -> int:
    return min((at for needle in sought if (at := data.find(needle, position)) >= 0), default=-1)

"""Search in one session, a slice at a time, so that half a gigabyte is searched while keys still answer.

The bytes of the file are asked first, which are a hundred times as fast as messages; only a message whose record could
hold the words is made and looked at. The search begins at the cursor and goes round: the next hit is found first.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Generator, Iterable, Iterator

from renderers.headline import headline
from schemas.message import Message
from schemas.records import FileStore
from schemas.session import Session

_CHUNK = 512 << 10
_MESSAGE_BITS = 28
_SAFE = re.compile(r"[A-Za-z0-9 _.,:;=+*()\[\]{}!?@#$%^~|-]+")
"""What every writer of JSON leaves as it is."""


def searchable(message: Message, workspace_root: str | None) -> Iterator[str]:
    """All text of a message that the screen can show."""
    yield message.label
    for part in message.parts:
        yield part.text
    if tool := message.tool:
        yield headline(tool, workspace_root).title
        yield from _strings(tool.input)
        yield tool.text
        for diff in tool.diffs:
            for hunk in diff.hunks:
                yield "\n".join(hunk.lines)


def _strings(value: object) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def needles(query: str) -> list[bytes]:
    """Byte strings of which a record in JSON that holds the query, in whatever case, holds one when lowered.

    Lowering is ASCII's only, so a query without any ASCII run is looked for in each of its likely cases.
    """
    runs = _SAFE.findall(query)
    longest = max(runs, key=len, default="").lower()
    if len(longest.strip()) >= 2 or (longest.strip() and longest == query.lower()):
        return [longest.encode()]
    forms = {query, query.lower(), query.upper(), query.title(), query.casefold()}
    found: set[bytes] = set()
    for form in forms:
        for ascii_only in (True, False):
            text = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
            for way in (text, text.replace("/", "\\/")):
                found.add(way.encode("utf-8", "surrogatepass").lower())
    return sorted(found)


class Finder:
    """The messages of a session that hold a query. `hits` grows in order while `run` is driven."""

    def __init__(self, session: Session, query: str, start: int) -> None:
        self.session = session
        self.query = query
        self.ignore_case = query == query.lower()
        self.hits: list[int] = []
        self.done = False
        self._start = start
        self._seen: set[int] = set()
        self._count = len(session.messages)
        self._needles = needles(query)

    @property
    def is_outdated(self) -> bool:
        """Whether more came after everything had been searched."""
        return self.done and self._count != len(self.session.messages)

    def renew(self, indices: Iterable[int]) -> None:
        """These messages changed."""
        for index in indices:
            if index in self._seen:
                self._seen.discard(index)
                if index in self.hits:
                    self.hits.remove(index)
            self._try(index)

    def matches(self, text: str) -> bool:
        """Whether a text holds the query."""
        return self.query in (text.lower() if self.ignore_case else text)

    def run(self) -> Iterator[None]:
        """Search everything, giving way every few milliseconds."""
        stores = self.session.stores
        # In a live stream a word may begin in one record and end in the next.
        pieces = self.session.metadata.get("source") == "stream"
        if len(stores) == 1 and isinstance(stores[0], FileStore) and not pieces:
            yield from self._run_file(stores[0])
        else:
            yield from self._run_messages()
        self.done = True

    def _run_messages(self) -> Iterator[None]:
        count = len(self.session.messages)
        for i in range(count):
            self._try((self._start + i) % count)
            yield

    def _try(self, index: int) -> None:
        if index in self._seen:
            return
        self._seen.add(index)
        if self.holds(index):
            insort(self.hits, index)

    def holds(self, index: int) -> bool:
        """Whether a message holds the query."""
        message = self.session.message(index)
        return any(map(self.matches, searchable(message, self.session.workspace_root)))

    def _run_file(self, store: FileStore) -> Iterator[None]:
        places = yield from self._places()
        if not places:
            return
        begin = min((span.offset for span in self.session.message_spans(self._start)), default=0)
        # From the start of the record under the cursor to the end, then round to it.
        for start, stop in ((begin, None), (0, begin)):
            yield from self._scan(store, places, start, stop)

    def _places(self) -> Generator[None, None, array[int]]:
        """Where each record begins and whose it is, sorted: offset and message in one number."""
        found: list[int] = []
        for n, (offset, index) in enumerate(self.session.spans.owners(self.session.messages.span)):
            found.append(offset << _MESSAGE_BITS | index)
            if n % 10_000 == 9_999:
                yield
        found.sort()  # nearly sorted already, so this is quick
        return array("Q", found)

    def _scan(self, store: FileStore, places: array[int], start: int, stop: int | None) -> Iterator[None]:
        overlap = max(map(len, self._needles)) - 1
        at = start
        while stop is None or at < stop:
            size = (_CHUNK if stop is None else min(_CHUNK, stop - at)) + overlap
            data = store.read(at, size).lower()
            if not data:
                return
            yield
            position = 0
            while (hit := self._first(data, position)) >= 0:
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

    def _first(self, data: bytes, position: int) -> int:
        found = [at for needle in self._needles if (at := data.find(needle, position)) >= 0]
        return min(found, default=-1)

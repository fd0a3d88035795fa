"""Records that tell of tokens and are part of no figure: what `usage --explain` names besides what counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from schemas.interchange.rfc3339 import parse_time
from schemas.values import text_of
from viewer.output import path_text
from viewer.spending import LeftOut, Place

if TYPE_CHECKING:
    from schemas.records import FileStore
    from schemas.session import Session
    from viewer.spending import Filters

_FIGURES = re.compile(rb'"(?:\w*(?:in|out|total)(?:put)?_?token(?:s|_count)?|total)"\s*:\s*[1-9]', re.IGNORECASE)
"""A counter as every agent names it, one way or another, with something in it."""
INHERITED = "inherited from another session: it counts there, where that one is read"
_STEP = 1 << 20


class Uncounted:
    """The lines of a session's files that hold token figures and belong to no response of it or of its subagents.

    Several sessions may lie in one file, and a member's file is closed before the next one is read; so `note` looks at
    each member, and `left_out` says what none of them counted. A source without lines holds nothing twice.
    """

    def __init__(self, shown_path: str, filters: Filters) -> None:
        self._filters = filters
        self._shown_path = shown_path
        self._used: set[tuple[str, int]] = set()
        self._found: dict[str, list[LeftOut]] = {}
        self._unreadable: list[LeftOut] = []

    def note(self, member: Session) -> None:
        """Look at one member while it is open."""
        from schemas.records import FileStore

        paths = [path_text(store.path) for store in member.stores]
        for group in range(len(member.groups)):
            self._used.update((paths[span.store], span.line) for span in member.group_spans(group))
        for one in member.inherited.values():
            self._used.update((paths[span.store], span.line) for span in member.spans.chain(one.span))
        for path, store in zip(paths, member.stores, strict=True):
            if isinstance(store, FileStore) and path not in self._found:
                self._found[path] = list(self._figures(path, store))
        for bad in member.unreadable:
            own = member.path.parent / bad.file if bad.file else member.path
            place = Place(path_text(own), bad.line, bad.offset, bad.length)
            self._unreadable.append(LeftOut(self._shown_path, "", (place,), f"unreadable: {bad.reason}"))

    def left_out(self) -> Iterator[LeftOut]:
        """What nobody counted, in the order of the files."""
        for path, found in self._found.items():
            yield from (one for one in found if (path, one.places[0].line) not in self._used)
        yield from self._unreadable

    def _figures(self, path: str, store: FileStore) -> Iterator[LeftOut]:
        """Each line with figures in it, and why it would not be counted."""
        seen: dict[str, int] = {}
        for offset, length, line, record in _records(store):
            identity = record.get("uuid")
            first = seen.setdefault(identity, line) if isinstance(identity, str) else line
            time = parse_time(record.get("timestamp"))
            if not self._filters.fits_time(time.timestamp() if time else None):
                continue
            if _FIGURES.search(store.read(offset, length)):
                reason = f"the same record as line {first}" if first != line else _reason(record)
                yield LeftOut(self._shown_path, "", (Place(path, line, offset, length),), reason)


def _records(store: FileStore) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    from schemas.records import JsonLines

    lines, position = JsonLines(), 0
    while data := store.read(position, _STEP):
        position += len(data)
        yield from lines.push(data)
    yield from lines.finish()


_SUBAGENT = "what is told of a subagent, whose responses are counted by themselves"
_REASONS = {
    "event_msg": "no new tokens in it: the running total said again, or copied from the session this one continues",
    "gemini": "an earlier version of a message that was written again",
    "progress": _SUBAGENT,
    "user": _SUBAGENT,
    "system": "a report about responses, no response",
    "result": "a sum of responses, which are counted one by one",
}
"""Why lines with figures do not count, by their type: Codex, Gemini CLI, Claude Code and its streams, Qwen Code."""


def _reason(record: dict[str, Any]) -> str:
    """Why a record's figures are not those of a response."""
    if record.get("forkedFrom"):
        return INHERITED
    return _REASONS.get(text_of(record.get("type")), "belongs to no response")

"""Find: which messages of all sessions a query means, for the screen and for `turnlog search`.

The full-text index answers; sessions that it does not hold (not read yet, or there can be no index) are looked through.
A `Find` belongs to one thread at a time; `cancel` may come from any.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zlib import decompress

from schemas.clean import clean, one_line
from schemas.diffs import totals
from schemas.message import Kind, Message
from schemas.troubles import OpenError
from viewer.index.fulltext import (
    MESSAGE,
    MOST_WORDS,
    Interrupted,
    Kept,
    TextStore,
    lane_of_row,
    row_of,
    sid_of_row,
    tools_in,
    words_with,
)
from viewer.index.query import Facts, Query
from viewer.index.scan import TITLE, look_through
from viewer.index.snippets import snippet_of, snippet_of_message
from viewer.index.texts import PROMPTS, Column, Places, Row, SessionText, columns_of, exchanges_from, touches_of

if TYPE_CHECKING:
    from schemas.provider import Problem
    from schemas.session import Session
    from viewer.index.library import Library

_WEIGHTS = (1.0, 3.0, 8.0, 8.0)
"""What a hit is worth by its lane: what a person typed stands above tool noise."""
_PART = 0.3
"""The share of it that counts where only parts of words were found."""
_OPEN_SESSIONS = 8
_EVERY_SECONDS = 0.15
"""How often an answer is given while sessions are looked through."""
Order = Literal["best", "newest"]


@dataclass(slots=True)
class Group:
    """The hits of one session. A subagent's session is a group of its own; `parent` is the session it belongs to."""

    path: Path
    """Its address."""
    provider: str
    id: str
    title: str
    root: str
    """Its workspace; empty where nothing tells."""
    branch: str
    updated: float
    """When it was said to last, in seconds since 1970."""
    parent: Path | None
    query: Query
    rows: list[int]
    """The hits, best first: lane and message, as `viewer.index.fulltext.row_of` packs them."""
    score: float
    outright: set[int]
    """The rows, of all groups, in which the words stand, and not only parts of words."""
    sid: int
    """Its number in the index; -1 where it was looked through."""
    scanned: SessionText | None = None

    @property
    def hits(self) -> int:
        """Count its hits."""
        return len(self.rows)

    @property
    def target(self) -> str:
        """The TARGET that opens it on the command line: its id; of a subagent its address."""
        return self.id if self.parent is None else clean(str(self.path))


class Hit(NamedTuple):
    """A message that a query means, or the title of a session (`message` -1)."""

    path: Path
    """The session's address."""
    message: int
    """Its index in the session."""
    key: int
    """The message's key, the same after the session is read again."""
    place: str
    """`#3.7`; empty for a title."""
    who: str
    """`you`, `agent`, `thinking`, `title`; of a tool use its verb (`Edit`, `$`); else the message's kind."""
    kind: Kind | None
    time: float | None
    snippet: str
    """One line."""
    spans: list[tuple[int, int]]
    """What of it was looked for."""
    change: str = ""
    """`read` or `changed`, where files were asked for; else empty."""
    added: int = 0
    removed: int = 0
    id: str = ""
    """The message's, as `show --json` has it."""
    exchange: int = -1
    """Index of its exchange."""
    number: int | None = None
    """What people call that exchange; None where it has no number of its own."""
    score: float = 0.0
    """Its worth: more in what a person typed, less where only a part of a word was found."""

    @property
    def role(self) -> str:
        """`user` or `agent`, as SessionData has it."""
        return "user" if self.who == "you" else "agent"


@dataclass(slots=True)
class Answer:
    """The groups found by now."""

    groups: list[Group] = field(default_factory=list)
    at_least: bool = False
    """Whether there may be more: a part that too many words hold, or not all was looked at."""
    done: bool = False
    missing: int = 0
    """Sessions that the index does not hold and that were not looked through by now."""
    note: str = ""
    """Why the sessions are looked through, where there is no index."""

    @property
    def hits(self) -> int:
        """Count the hits of all groups."""
        return sum(map(len, (group.rows for group in self.groups)))


class _Held(NamedTuple):
    """The exchanges and messages of a session, as the index has them."""

    exchanges: list[Places]
    columns: list[Column]


class Find:
    """Questions to the index of a library. `groups` asks, `hits` makes the lines that somebody looks at."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._note = ""
        self._store: TextStore | None = None
        self._version: object = None
        self._sessions: dict[int, Kept] = {}
        self._words = b""
        self._tools: list[str] = []
        self._files: list[tuple[int, str, str]] = []
        self._tails: list[tuple[int, Row]] = []
        self._held: OrderedDict[int, _Held] = OrderedDict()
        self._open: OrderedDict[Path, Session] = OrderedDict()
        self._cancelled = False
        self.problems: list[Problem] = []
        """What could not be read while sessions were looked through."""

    def close(self) -> None:
        """Let go of the index and of the sessions that were opened."""
        if self._store is not None:
            self._store.close()
        self._store = None
        while self._open:
            self._open.popitem()[1].close()

    def cancel(self) -> None:
        """Break off what another thread asks: its `groups` ends without another answer."""
        self._cancelled = True
        if (store := self._store) is not None and store.connection is not None:
            store.connection.interrupt()

    # -- which messages --------------------------------------------------------------------------------------------

    def groups(self, query: Query, order: Order = "best") -> Iterator[Answer]:
        """The sessions in which a query means something: an answer at once, and another whenever there is more. The
        last one is `done`. Ends without it when `cancel` is called.
        """
        self._cancelled = False
        try:
            if not query:
                yield Answer(done=True)
                return
            answer = self._indexed(query)
            missing = self._missing()
            answer.missing, answer.note = len(missing), self._note
            answer.done = not missing
            _sort(answer.groups, order)
            yield answer
            yield from self._scan(query, answer, missing, order)
        except Interrupted:
            return

    def _indexed(self, query: Query) -> Answer:
        """Ask the index."""
        self._load()
        if self._store is None or self._store.connection is None:
            return Answer()
        capped = False

        def words(part: str) -> list[str]:
            nonlocal capped
            found = list(islice(words_with(self._words, part), MOST_WORDS + 1))
            capped = capped or len(found) > MOST_WORDS
            return found[:MOST_WORDS]

        expression = query.match(words, self._tools)
        rows = self._store.rows(expression)
        for sid, row in self._tails:
            if query.finds(row.words, row.marks):
                rows.append(row_of(row.lane, sid, row.message))
        plainly = query.outright().match(words, self._tools)
        outright = set(rows if plainly == expression else self._store.rows(plainly))
        groups: list[Group] = []
        for sid, own in self._by_session(query, rows).items():
            kept = self._sessions[sid]
            groups.append(_group(query, kept.facts, kept.path, kept.parent, kept.mtime_ns, own, sid, outright))
        return Answer(groups, capped)

    def _by_session(self, query: Query, rows: list[int]) -> dict[int, list[int]]:
        """The rows that the filters leave, by their session."""
        touched = self._touched(query) if query.of_files else None
        if touched is not None and not query.of_exchanges:
            rows = [row for row in rows if row in touched]
        found: dict[int, list[int]] = {}
        for row in rows:
            sid = sid_of_row(row)
            if sid in found:
                found[sid].append(row)
            else:
                found[sid] = [row]
        self._look()
        if query.of_sessions:
            for sid, kept in self._sessions.items():
                if query.titled(kept.facts["title"]) and not any(map(_is_prompt, found.get(sid, ()))):
                    found.setdefault(sid, []).append(row_of(TITLE, sid, MESSAGE))
        exchanges = _exchanges_of(touched, self) if touched is not None and query.of_exchanges else None
        left: dict[int, list[int]] = {}
        for sid, own in found.items():
            if sid not in self._sessions or not query.session(_facts(self._sessions[sid].facts)):
                continue
            if exchanges is not None:
                own = [row for row in own if _in_ranges(row & MESSAGE, exchanges.get(sid, ()))]
            if query.timed and not _all_in_time(query, self._sessions[sid].facts):
                own = self._in_time(query, sid, own)
            if own:
                left[sid] = own
        return left

    def _touched(self, query: Query) -> set[int]:
        """The rows of messages that read or changed a file that is asked for."""
        assert self._store is not None
        files = [file for file, root, path in self._files if query.file(root, path)]
        rows: set[int] = set()
        for at in range(0, len(files), 500):
            some = files[at : at + 500]
            marks = ",".join("?" * len(some))
            rows.update(
                r for (r,) in self._store.fetch(f"SELECT row FROM touches WHERE file IN ({marks})", tuple(some))
            )
        return rows

    def _in_time(self, query: Query, sid: int, rows: list[int]) -> list[int]:
        created = self._sessions[sid].facts["created"]
        columns = self.held(sid).columns
        return [row for row in rows if query.when(created if row & MESSAGE == MESSAGE else columns[row & MESSAGE].time)]

    # -- sessions that the index does not hold ---------------------------------------------------------------------

    def _missing(self) -> list[str]:
        """The addresses of the sessions that are not in the index as they are now, newest first."""
        known = {kept.path: (kept.size, kept.mtime_ns) for kept in self._sessions.values() if not kept.parent}
        return [path for path, state in self._library.states() if known.get(path) != state]

    def _scan(self, query: Query, answer: Answer, missing: list[str], order: Order) -> Iterator[Answer]:
        due = time.monotonic() + _EVERY_SECONDS
        paths = set(missing)
        groups = [group for group in answer.groups if str(group.parent or group.path) not in paths]
        for number, path in enumerate(missing, 1):
            for text, rows in look_through(path, query, self.problems):
                outright = (
                    set(rows)
                    if not query.terms
                    else {
                        row_of(r.lane, 0, r.message) for r in text.rows if all(p.search(r.words) for p in query.exact)
                    }
                )
                facts = text.facts
                groups.append(
                    _group(
                        query, facts, text.path, text.parent, text.mtime_ns, rows, -1, outright, text._replace(rows=[])
                    )
                )
                self._look()
            self._look()
            last = number == len(missing)
            if last or time.monotonic() >= due:
                due = time.monotonic() + _EVERY_SECONDS
                _sort(groups, order)
                yield Answer(list(groups), answer.at_least, last, len(missing) - number, answer.note)

    def _look(self) -> None:
        if self._cancelled:
            raise Interrupted

    # -- lines -----------------------------------------------------------------------------------------------------

    def hits(self, group: Group, start: int = 0, stop: int | None = None) -> list[Hit]:
        """The lines of some of a group's hits, the best first. Costs a read of the session's file."""
        return [hit for row in group.rows[start:stop] if (hit := self._hit(group, row)) is not None]

    def _hit(self, group: Group, row: int) -> Hit | None:
        index = row & MESSAGE
        if lane_of_row(row) == TITLE:
            shown = snippet_of(group.title, group.query)
            line = shown.text, shown.spans
            return Hit(group.path, -1, 0, "", "title", None, group.updated, *line, score=_WEIGHTS[TITLE])
        held = self.held(group.sid) if group.sid >= 0 else None
        if held is None and group.scanned is not None:
            held = _Held(group.scanned.exchanges, list(columns_of(group.scanned.columns, group.scanned.spans)))
        if held is None or index >= len(held.columns):
            return None
        place, exchange = _place(held.exchanges, index)
        name = held.exchanges[exchange].name
        column = held.columns[index]
        try:
            session = self._session(group.path)
            if index >= len(session.messages) or session.messages.key[index] != column.key:
                return None  # rewritten since: the next answer knows
            message = session.message(index)
            shown = snippet_of_message(session, message, group.query)
        except (OSError, OpenError):
            return None
        change, added, removed = _change_of(message, group.query, group.root)
        return Hit(
            group.path, index, column.key, place, shown.who, message.kind, message.timestamp, shown.text, shown.spans,
            change, added, removed, message.id, exchange,
            int(name) if name.isdecimal() and name != "0" else None,
            _WEIGHTS[lane_of_row(row)] * (1.0 if row in group.outright else _PART),
        )  # fmt: skip

    def _session(self, path: Path) -> Session:
        """A session, read and kept for the next hits."""
        from schemas.opening import read_session

        session = self._open.get(path)
        if session is None:
            session = self._open[path] = read_session(path)
            if len(self._open) > _OPEN_SESSIONS:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(path)
        return session

    # -- what the index holds --------------------------------------------------------------------------------------

    def held(self, sid: int) -> _Held:
        """Exchanges and columns of a session in the index."""
        held = self._held.get(sid)
        if held is None:
            assert self._store is not None
            rows = self._store.fetch("SELECT exchanges, columns, spans FROM messages WHERE sid = ?", (sid,))
            try:
                exchanges, columns, spans = rows[0]
                held = _Held(exchanges_from(exchanges), list(columns_of(decompress(columns), decompress(spans))))
            except (LookupError, ValueError, TypeError):
                held = _Held([], [])
            self._held[sid] = held
            if len(self._held) > 200:
                self._held.popitem(last=False)
        return held

    def _load(self) -> None:
        """Bring what is kept of the index in memory up to date: when somebody has written to it."""
        if self._store is None or self._store.connection is None:
            self._note = ""
            self._store = TextStore(self._library.text_path, self._library.reader, self._report)
            self._version = None
        version = self._store.fetch("PRAGMA data_version")
        if version == self._version and version:
            return
        self._version = version
        self._sessions = self._store.sessions()
        self._words = self._store.words()
        self._tools = list(tools_in(self._words))
        self._files = self._store.fetch("SELECT file, root, path FROM files")
        self._tails = self._store.tails()
        self._held.clear()
        while self._open:
            self._open.popitem()[1].close()

    def _report(self, reason: str) -> None:
        self._note = reason


def _group(
    query: Query,
    facts: dict[str, Any],
    path: str,
    parent: str,
    mtime_ns: int,
    rows: list[int],
    sid: int,
    outright: set[int],
    scanned: SessionText | None = None,
) -> Group:
    """A group of rows, which are put in order: by lane, words before parts of words, as they stand in the session."""
    rows.sort(key=lambda row: (-lane_of_row(row), row not in outright, row))
    counts = [[0, 0] for _ in _WEIGHTS]
    for row in rows:
        counts[lane_of_row(row)][row in outright or lane_of_row(row) == TITLE] += 1
    score = sum(w * (log(1 + whole) + _PART * log(1 + part)) for w, (part, whole) in zip(_WEIGHTS, counts, strict=True))
    return Group(
        Path(path),
        facts["provider"],
        facts["id"],
        one_line(facts["title"], 300) or facts["id"],
        facts["root"],
        facts["branch"],
        facts["updated"] if facts["updated"] is not None else mtime_ns / 1e9,
        Path(parent) if parent else None,
        query,
        rows,
        score,
        outright,
        sid,
        scanned,
    )


def _sort(groups: list[Group], order: Order) -> None:
    groups.sort(key=lambda g: (g.score if order == "best" else 0.0, g.updated, str(g.path)), reverse=True)


def _facts(facts: dict[str, Any]) -> Facts:
    return Facts(facts["provider"], facts["root"], facts["branch"])


def _is_prompt(row: int) -> bool:
    return lane_of_row(row) == PROMPTS


def _all_in_time(query: Query, facts: dict[str, Any]) -> bool:
    """Tell whether every message of a session lies in the time that is asked for."""
    return query.when(facts["created"]) and query.when(facts["updated"])


def _exchanges_of(rows: set[int], find: Find) -> dict[int, list[tuple[int, int]]]:
    """The first and the last message of each exchange in which one of the rows stands, by session."""
    found: dict[int, set[tuple[int, int]]] = {}
    for row in rows:
        sid, message = sid_of_row(row), row & MESSAGE
        starts = [exchange.start for exchange in find.held(sid).exchanges]
        at = bisect_right(starts, message)
        if at:
            found.setdefault(sid, set()).add((starts[at - 1], starts[at] - 1 if at < len(starts) else MESSAGE - 1))
    return {sid: sorted(ranges) for sid, ranges in found.items()}


def _in_ranges(message: int, ranges: list[tuple[int, int]] | tuple[()]) -> bool:
    return any(first <= message <= last for first, last in ranges)


def _place(exchanges: list[Places], index: int) -> tuple[str, int]:
    """The place of a message and the index of its exchange: renderers/places.py says it of a session that was read."""
    at = max(bisect_right(exchanges, index, key=lambda exchange: exchange.start) - 1, 0)
    exchange = exchanges[at]
    inside = "" if index == exchange.start and exchange.opened else f".{index - exchange.start + 1}"
    return f"#{exchange.name}{inside}", at


def _change_of(message: Message, query: Query, root: str) -> tuple[str, int, int]:
    """Return how a message treated the files that are asked for; for other queries what it changed at all."""
    if not query.of_files:
        return ("", *totals(message.tool.diffs)) if message.tool else ("", 0, 0)
    touches = [touch for touch in touches_of(message) if query.file(root, touch.path)]
    if not touches:
        return "", 0, 0
    changed = any(touch.changed for touch in touches)
    added, removed = sum(t.added for t in touches), sum(t.removed for t in touches)
    return "changed" if changed else "read", added, removed

"""Find: which messages of all sessions a query means, for the screen and for `turnlog search`.

The full-text index answers; sessions that it does not hold (not read yet, or there can be no index) are looked through.
A `Find` belongs to one thread at a time; `cancel` may come from any.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import log
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zlib import decompress

from schemas.clean import clean
from schemas.costs.responses import members_of
from schemas.diffs import totals
from schemas.message import Kind, Message
from schemas.opening import read_session
from schemas.provider import Problem
from schemas.troubles import OpenError, bug
from viewer.index.database import WRONG_VALUES, Interrupted
from viewer.index.fulltext import (
    MESSAGE,
    MOST_WORDS,
    Kept,
    TextStore,
    lane_of_row,
    row_of,
    sid_of_row,
    tools_in,
    words_with,
)
from viewer.index.library import Library
from viewer.index.matching import words_of
from viewer.index.query import Query
from viewer.index.reread import Rereader
from viewer.index.snippets import snippet_of, snippet_of_message
from viewer.index.texts import PROMPTS, Columns, Places, Row, SessionText, exchanges_from, text_of_session, touches_of
from viewer.sessions.freshness import file_state

TITLE = 3
"""The lane of a session's title; its row has the message `MESSAGE`."""
_WEIGHTS = (1.0, 3.0, 8.0, 8.0)
"""What a hit is worth by its lane: what a person typed stands above tool noise."""
_PART = 0.3
"""The share of it that counts where only parts of words were found."""
_EVERY_SECONDS = 0.15
"""How often an answer is given while sessions are looked through."""
Order = Literal["best", "newest"]


class _Ask(NamedTuple):
    """A query as it was put to the index."""

    query: Query
    expression: str
    outright: str
    """The same for words in full, where parts of words are meant too."""
    tails: dict[int, list[Row]]
    """Messages found among those that may yet change, by session."""
    touched: dict[int, Callable[[int], bool]] | None
    """By session what tells whether a message read or changed a file that is asked for; None where none is."""
    rows: dict[str, dict[int, list[int]]]
    """The rows of each expression by session, once somebody wanted to see some."""


@dataclass(slots=True)
class Group:
    """The hits of one session. A subagent's session is a group of its own; `parent` is the session it belongs to."""

    address: str
    """Its address as text: of thousands that are found a screen shows ten."""
    above: str
    """That of the session it belongs to; empty where it is no subagent's."""
    provider: str
    id: str
    title: str
    root: str
    """Its workspace; empty where nothing tells."""
    branch: str
    updated: float
    """When it was said to last, in seconds since 1970."""
    query: Query
    hits: int
    score: float
    sid: int = -1
    """Its number in the index; -1 where it was looked through."""
    rows: list[int] | None = None
    """The hits, best first, as `viewer.index.fulltext.row_of` packs them; None until somebody wants to see them."""
    outright: set[int] = field(default_factory=set)
    """The rows in which the words stand, and not only parts of words."""
    ask: _Ask | None = None
    scanned: SessionText | None = None

    @property
    def path(self) -> Path:
        """Its address."""
        return Path(self.address)

    @property
    def parent(self) -> Path | None:
        """The address of the session it belongs to; None where it is no subagent's."""
        return Path(self.above) if self.above else None

    @property
    def target(self) -> str:
        """The TARGET that opens it on the command line: its id; of a subagent its address."""
        return clean(self.address) if self.above else self.id


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
        return sum(group.hits for group in self.groups)


class _Held(NamedTuple):
    """The exchanges and messages of a session, as the index has them."""

    exchanges: list[Places]
    columns: Columns


class Find:
    """Questions to the index of a library. `groups` asks, `hits` makes the lines that somebody looks at."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._note = ""
        self._store: TextStore | None = None
        self._version: object = None
        self._sessions: dict[int, Kept] = {}
        self._known: dict[str, tuple[int, int]] = {}
        self._titles = ""
        self._words = b""
        self._tools: list[str] = []
        self._files: list[tuple[int, str, str]] = []
        self._tails: list[tuple[int, Row]] = []
        self._held: OrderedDict[int, _Held] = OrderedDict()
        self._reread = Rereader()
        self._cancelled = False
        self.problems: list[Problem] = []
        """What could not be read while sessions were looked through."""

    def close(self) -> None:
        """Let go of the index and of the sessions that were opened."""
        if self._store is not None:
            self._store.close()
        self._store = None
        self._reread.close()

    def cancel(self) -> None:
        """Break off what another thread asks: its `groups` ends without another answer."""
        self._cancelled = True
        if (store := self._store) is not None and store.connection is not None:
            store.connection.interrupt()

    # -- which messages --------------------------------------------------------------------------------------------

    def groups(self, query: Query, order: Order = "best", *, filling: bool = False) -> Iterator[Answer]:
        """The sessions in which a query means something: an answer at once, and another whenever there is more. The
        last one is `done`. Ends without it when `cancel` is called. While somebody is `filling` the index what it does
        not hold yet is not looked through: that would be read twice.
        """
        self._cancelled = False
        try:
            if not query:
                yield Answer(done=True)
                return
            answer = self._asked(query)
            missing = self._library.lacking(self._known)
            answer.missing, answer.note = len(missing), self._note
            answer.done = not missing or (filling and not self._note)
            _sort(answer.groups, order)
            yield answer
            if not answer.done:
                yield from self._scan(query, answer, missing, order)
        except Interrupted:
            return

    def _asked(self, query: Query) -> Answer:
        """Ask the index. One that fails meanwhile holds nothing: the sessions are looked through."""
        self._load()
        assert self._store is not None
        try:
            answer = self._indexed(query)
        except WRONG_VALUES as error:
            self._store.give_up(error)
        if self._store.connection is None:
            self._known = {}
            return Answer()
        return answer

    def _indexed(self, query: Query) -> Answer:
        capped = False

        def words(part: str) -> list[str]:
            nonlocal capped
            found = list(islice(words_with(self._words, part), MOST_WORDS + 1))
            capped = capped or len(found) > MOST_WORDS
            return found[:MOST_WORDS]

        tails: dict[int, list[Row]] = {}
        for sid, row in self._tails:
            if query.finds(row.words, row.marks):
                tails.setdefault(sid, []).append(row)
        touched = self._touched(query) if query.of_files else None
        ask = _Ask(
            query, query.match(words, self._tools), query.outright().match(words, self._tools), tails, touched, {}
        )
        groups = [self._group(ask, sid, *found) for sid, found in self._counts(ask).items() if found[0]]
        return Answer(groups, capped)

    def _counts(self, ask: _Ask) -> dict[int, tuple[int, float]]:
        """Count the hits of each session that the filters leave, and what they are worth."""
        assert self._store is not None
        query = ask.query
        every: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 8)
        if ask.touched is None:
            self._add_counts(every, ask.expression, 0)
            if ask.outright != ask.expression:
                self._add_counts(every, ask.outright, 4)
            for sid, tail in ask.tails.items():
                for row in tail:
                    every[sid][row.lane] += 1
                    every[sid][row.lane + 4] += query.in_full(row.words)
        titled = self._titled(query) if query.of_sessions else set()
        every.update((sid, [0] * 8) for sid in {*titled, *(ask.touched or ())} - every.keys())
        found: dict[int, tuple[int, float]] = {}
        plain = ask.outright == ask.expression
        for sid, counts in every.items():
            allowed, whole = self._allowed(query, sid)
            if not allowed:
                continue
            if not whole or ask.touched is not None:
                rows, outright = self._rows(ask, sid)
                counts = [0] * 8
                for one in rows:
                    counts[lane_of_row(one)] += 1
                    counts[lane_of_row(one) + 4] += one in outright
            else:
                counts[TITLE] = counts[TITLE + 4] = sid in titled and not counts[PROMPTS]
            found[sid] = sum(counts[:4]), _score(counts[:4], counts[:4] if plain else counts[4:])
            self._look()
        return found

    def _add_counts(self, every: defaultdict[int, list[int]], expression: str, at: int) -> None:
        assert self._store is not None
        for key, count in self._store.counts_of(expression):
            sid, lane = sid_of_row(key << 20), lane_of_row(key << 20)
            every[sid][lane + at] = count

    def _allowed(self, query: Query, sid: int) -> tuple[bool, bool]:
        """Tell whether the filters leave a session, and whether all that was said in it lies in the time asked for."""
        kept = self._sessions.get(sid)
        if kept is None:
            return False, False
        facts = kept.facts
        created, updated = facts["created"], facts["updated"]
        if query.filters and not query.session(facts):
            return False, False
        return query.overlaps(created, updated), not query.timed or (query.when(created) and query.when(updated))

    def _titled(self, query: Query) -> set[int]:
        """The sessions whose title is meant."""
        if not all(pattern.search(self._titles) for pattern in query.patterns):
            return set()
        return {sid for sid, kept in self._sessions.items() if query.titled(kept.facts)}

    def _touched(self, query: Query) -> dict[int, Callable[[int], bool]]:
        """The tests by session whether a message read or changed a file that is asked for; with words whether one of
        its exchange did.
        """
        assert self._store is not None
        touches: dict[int, set[int]] = {}
        for row in self._store.touches([file for file, root, path in self._files if query.file(root, path)]):
            if sid_of_row(row) in self._sessions:
                touches.setdefault(sid_of_row(row), set()).add(row & MESSAGE)
        found: dict[int, Callable[[int], bool]] = {sid: those.__contains__ for sid, those in touches.items()}
        if query.of_exchanges:
            for sid, exchanges in self._store.exchanges(list(found)).items():
                starts = [exchange.start for exchange in exchanges]
                found[sid] = partial(_is_beside, starts, {bisect_right(starts, message) for message in touches[sid]})
        return found

    def _rows(self, ask: _Ask, sid: int) -> tuple[list[int], set[int]]:
        """The hits of a session, and those of them in which the words stand in full."""
        assert self._store is not None
        query, facts = ask.query, self._sessions[sid].facts
        rows, outright = self._found(ask, ask.expression, sid)[:], set(self._found(ask, ask.outright, sid))
        for tail in ask.tails.get(sid, ()):
            rows.append(row_of(tail.lane, sid, tail.message))
            if query.in_full(tail.words):
                outright.add(rows[-1])
        if ask.touched is not None:
            is_touched = ask.touched.get(sid, frozenset[int]().__contains__)
            rows = [row for row in rows if is_touched(row & MESSAGE)]
        if query.timed:
            columns = self.held(sid).columns
            rows = [row for row in rows if query.when(columns.time(row & MESSAGE))]
        if query.titled(facts) and not any(lane_of_row(row) == PROMPTS for row in rows):
            rows.append(row_of(TITLE, sid, MESSAGE))
            outright.add(rows[-1])
        return rows, outright

    def _found(self, ask: _Ask, expression: str, sid: int) -> list[int]:
        """The rows of a session that an expression finds. It is asked for all sessions at once: FTS5 joins the words
        that begin so before it looks at numbers, so that one session takes as long.
        """
        assert self._store is not None
        if expression not in ask.rows:
            found = ask.rows[expression] = defaultdict(list)
            for row in self._store.rows(expression):
                found[sid_of_row(row)].append(row)
        return ask.rows[expression].get(sid, [])

    def _group(self, ask: _Ask, sid: int, hits: int, score: float) -> Group:
        kept = self._sessions[sid]
        group = _group_of(ask.query, kept.facts, kept.path, kept.parent, kept.mtime_ns, hits, score)
        group.sid, group.ask = sid, ask
        return group

    # -- sessions that the index does not hold ---------------------------------------------------------------------

    def _scan(self, query: Query, answer: Answer, missing: list[str], order: Order) -> Iterator[Answer]:
        due = time.monotonic() + _EVERY_SECONDS
        paths = set(missing)
        groups = [group for group in answer.groups if (group.above or group.address) not in paths]
        for number, path in enumerate(missing, 1):
            for text, rows in look_through(path, query, self.problems):
                groups.append(_scanned(query, text, rows))
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
        """The lines of some of a group's hits, the best first; none where `cancel` is called meanwhile, or where the
        session is not there any more. Costs a look into the session's file.
        """
        try:
            if group.rows is None and group.ask is not None and group.sid in self._sessions:
                rows, group.outright = self._rows(group.ask, group.sid)
                group.rows = _in_order(rows, group.outright)
            return [hit for row in (group.rows or [])[start:stop] if (hit := self._hit(group, row)) is not None]
        except Interrupted:
            return []

    def _hit(self, group: Group, row: int) -> Hit | None:
        index = row & MESSAGE
        if lane_of_row(row) == TITLE:
            shown = snippet_of(group.title, group.query)
            line = shown.text, shown.spans
            return Hit(group.path, -1, 0, "", "title", None, group.updated, *line, score=_WEIGHTS[TITLE])
        held = self.held(group.sid) if group.sid >= 0 else None
        if held is None and group.scanned is not None:
            held = _Held(group.scanned.exchanges, Columns(group.scanned.columns, group.scanned.spans))
        if held is None or index >= len(held.columns) or not held.exchanges:
            return None
        place, exchange = _place(held.exchanges, index)
        name, lies = held.exchanges[exchange].name, held.columns.lies(index)
        try:
            found = self._reread.message(group.path, group.provider, group.root, lies)
            if found is None:
                return None  # rewritten since: the next answer knows
            session, message = found
            shown = snippet_of_message(session, message, group.query)
        except (OSError, OpenError):
            return None
        change, added, removed = _change_of(message, group.query, group.root)
        return Hit(
            group.path, index, lies.key, place, shown.who, message.kind, message.timestamp, shown.text, shown.spans,
            change, added, removed, message.id, exchange,
            int(name) if name.isdecimal() and name != "0" else None,
            _WEIGHTS[lane_of_row(row)] * (1.0 if row in group.outright else _PART),
        )  # fmt: skip

    # -- what the index holds --------------------------------------------------------------------------------------

    def held(self, sid: int) -> _Held:
        """Exchanges and columns of a session in the index."""
        held = self._held.get(sid)
        if held is None:
            assert self._store is not None
            rows = self._store.fetch("SELECT exchanges, columns, spans FROM messages WHERE sid = ?", (sid,))
            try:
                exchanges, columns, spans = rows[0]
                held = _Held(exchanges_from(exchanges), Columns(decompress(columns), decompress(spans)))
            except WRONG_VALUES:  # damaged, or written anew meanwhile: there is nothing to show
                held = _Held([], Columns())
            self._held[sid] = held
            if len(self._held) > 200:
                self._held.popitem(last=False)
        return held

    def _load(self) -> None:
        """Bring what is kept of the index in memory up to date: when somebody has written to it."""
        if self._store is None or not self._store.is_there:
            if self._store is not None:
                self._store.close()
            self._note = ""
            self._store = self._library.texts(partial(setattr, self, "_note"))
            self._version = None
        version = self._store.fetch("PRAGMA data_version")
        if version == self._version and version:
            return
        self._version = None  # until all is taken in, which may be broken off
        self._held.clear()
        self._reread.close()
        try:
            self._take_in(self._store)
        except WRONG_VALUES as error:
            self._store.give_up(error)
        self._version = version

    def _take_in(self, store: TextStore) -> None:
        self._sessions = store.sessions()
        self._known = {k.path: (k.size, k.mtime_ns) for k in self._sessions.values() if not k.parent}
        self._titles = "\n".join(words_of(kept.facts["title"]) for kept in self._sessions.values())
        self._words = store.words()
        self._tools = list(tools_in(self._words))
        self._files = store.fetch("SELECT file, root, path FROM files")
        self._tails = store.tails()


def _scanned(query: Query, text: SessionText, rows: list[int]) -> Group:
    """The group of a session that was looked through."""
    exact = {row.message for row in text.rows if query.in_full(row.words)}
    outright = {row for row in rows if row & MESSAGE in exact or lane_of_row(row) == TITLE}
    counts = [[lane_of_row(row) for row in some].count for some in (rows, outright)]
    score = _score(*([count(lane) for lane in range(4)] for count in counts))
    group = _group_of(query, text.facts, text.state.path, text.parent, text.state.mtime_ns, len(rows), score)
    group.rows, group.outright, group.scanned = _in_order(rows, outright), outright, text._replace(rows=[])
    return group


def _group_of(
    query: Query, facts: dict[str, Any], path: str, parent: str, mtime_ns: int, hits: int, score: float
) -> Group:
    updated = facts["updated"] if facts["updated"] is not None else mtime_ns / 1e9
    title = facts["title"] or facts["id"]
    about = (facts["provider"], facts["id"], title, facts["root"], facts["branch"], updated)
    return Group(path, parent, *about, query, hits, score)


def _is_beside(starts: list[int], exchanges: set[int], message: int) -> bool:
    return bisect_right(starts, message) in exchanges


def _in_order(rows: list[int], outright: set[int]) -> list[int]:
    """Rows by their lane, words before parts of words, else as they stand in the session."""
    return sorted(rows, key=lambda row: (-lane_of_row(row), row not in outright, row))


def _score(every: list[int], whole: list[int]) -> float:
    """The worth of hits by their lanes: of all, and of those in which the words stand in full."""
    return sum(w * (log(1 + n) + _PART * log(1 + all_ - n)) for w, all_, n in zip(_WEIGHTS, every, whole, strict=True))


def _sort(groups: list[Group], order: Order) -> None:
    groups.sort(key=lambda g: (g.score if order == "best" else 0.0, g.updated, g.address), reverse=True)


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


# -- sessions that the index does not hold -----------------------------------------------------------------------------


def look_through(path: str, query: Query, problems: list[Problem]) -> Iterator[tuple[SessionText, list[int]]]:
    """The rows that a query means of a session and of each of its subagents, as the index would give them."""
    try:
        session = read_session(Path(path))
        try:
            for member in members_of(session, problems):
                if member is session or member.path != session.path:
                    text = text_of_session(member, file_state(member.path), "" if member is session else path)
                    if rows := rows_in(text, query):
                        yield text, rows
        finally:
            session.close()
    except OpenError as error:
        problems.append(Problem(Path(path), error.reason))
    except OSError as error:
        problems.append(Problem(Path(path), (error.strerror or str(error)).lower()))
    except Exception as error:  # noqa: BLE001
        # A bug that one file brings to light must not end the search through all the others.
        problems.append(Problem(Path(path), bug(error)))


def rows_in(text: SessionText, query: Query) -> list[int]:
    """The rows of a session that a query means, by looking at its text."""
    if not query.session(text.facts):
        return []
    found = [row for row in text.rows if query.finds(row.words, row.marks)]
    if query.of_files:
        touched = {touch.message for touch in text.touches if query.file(text.facts["root"], touch.path)}
        if query.of_exchanges:
            starts = [exchange.start for exchange in text.exchanges]
            exchanges = {bisect_right(starts, message) for message in touched}
            touched = {row.message for row in found if bisect_right(starts, row.message) in exchanges}
        found = [row for row in found if row.message in touched]
    rows = [row_of(row.lane, 0, row.message) for row in found]
    if query.titled(text.facts) and not any(row.lane == PROMPTS for row in found):
        rows.append(row_of(TITLE, 0, MESSAGE))
    return rows

"""What depends on more than one record of a rollout: texts written twice, pairs, running totals, whose records are.

Codex writes most texts as a response item, for the model, and as an event, for its screen, in either order (formats
note 5.4). Whichever comes first makes the message, the other one joins it. Two equal texts of one source are two
messages: identical prompts are legitimate.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from schemas.message import Kind, ToolStatus
from schemas.providers.codex.header import UUID, Ownership, agent_path, facts_of
from schemas.providers.codex.tokens import Counts, difference, usage_of
from schemas.providers.codex.tools import SCRIPTS
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import (
    Also,
    Answer,
    Child,
    Count,
    Dropped,
    Fact,
    Link,
    Piece,
    Say,
    Skip,
    Task,
    Title,
    Turn,
    Use,
)
from schemas.usage import TokenUsage
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

ITEM, EVENT, COMPLETED, LINE = 1, 2, 4, 8
"""Where a copy of a text stands."""
_PROMPT, _TEXT, _TOOL, _ERROR = int(Kind.PROMPT), int(Kind.TEXT), int(Kind.TOOL), int(Kind.ERROR)
_MARKS = (Kind.INTERRUPT, Kind.COMPACTION)
"""Of these there is one at a time, whatever is said of it."""
_NOTHING = TokenUsage()
_AGENTS = (Kind.TEXT, Kind.THINKING, Kind.ERROR)


@dataclass(slots=True)
class Twin(Say):
    """A text that another source may tell as well."""

    source: int = ITEM
    plan: str = ""
    """The plan that it is, or that stands in the text."""


@dataclass(slots=True)
class Heard(Piece):
    """A part of the thinking, which an event tells."""

    apart: bool = True


@dataclass(slots=True)
class Instruction(Piece):
    """What the program tells the model before a turn, in many records: one line of bookkeeping, not a screen of it."""

    apart: bool = True


@dataclass(slots=True)
class Thought(Say):
    """Thinking with all its parts; none where the provider keeps them back."""

    parts: Sequence[str] = ()
    source: int = ITEM


@dataclass(slots=True)
class Mail(Say):
    """A message between agents: the first one of a turn to this agent is its task."""

    recipient: str = ""


@dataclass(slots=True)
class Setting(Say):
    """The model and the directory from here on; a line tells when the model is another one."""

    names: str = ""
    """The model. (`model` is that of the message.)"""
    cwd: str = ""
    turn: str = ""
    """The turn, where it names that."""
    record: str = ""
    """The type of the record, where it holds nothing else."""


@dataclass(slots=True)
class Goal(Say):
    """The thread's goal, which is written again with every count of its tokens."""


@dataclass(slots=True)
class ThreadName(Say):
    """The name that a thread was given."""

    thread: object = None


@dataclass(slots=True)
class Call(Use):
    """A tool use. What it goes on with: the process or the script that an earlier one started."""

    goes_on: str = ""
    search: str = ""
    """What stands for a web search, whose ids often differ or lack."""


@dataclass(slots=True)
class Result(Answer):
    """The result of a tool use; `process` goes on."""

    process: str = ""


@dataclass(slots=True)
class Event(Call):
    """What an event tells of a tool use; a use of its own, with its `answer`, where there is no other."""

    alone: bool = True
    """Whether it may be a use of its own; else it is a note."""
    links: Sequence[str] = ()
    """The threads that it started."""
    source: int = EVENT


@dataclass(slots=True)
class Header(Say):
    """A `session_meta`, or the header of an old file; its text says that the beginning is missing."""

    meta: dict[str, Any] | None = None


@dataclass(slots=True)
class Began:
    """A turn begins."""

    turn: str


@dataclass(slots=True)
class Ended:
    """A turn is over; `stopped` by the person."""

    seconds: float | None = None
    stopped: bool = False


@dataclass(slots=True)
class RolledBack:
    """The last turns are undone; their tokens were spent all the same."""

    turns: int


@dataclass(slots=True)
class Round:
    """Running totals, and what came last to them."""

    total: Counts | None
    last: Counts | None
    model: str = ""


@dataclass(slots=True)
class Response:
    """One response exactly (0.149 and later): a turn that has any counts by them alone."""

    usage: TokenUsage
    id: str
    turn: str
    thread: object


class _Texts:
    """The texts, by their hashes, that may still come from another source."""

    def __init__(self) -> None:
        self._rows: dict[int, list[list[int]]] = {}

    def match(self, key: int, source: int) -> int:
        """The message that shows a text and was not met in `source` yet, now it is; -1 if there is none."""
        for entry in self._rows.get(key, ()):
            if not entry[1] & source:
                entry[1] |= source
                return entry[0]
        return -1

    def note(self, key: int, row: int, source: int) -> None:
        """A message shows a text."""
        self._rows.setdefault(key, []).append([row, source])

    def clear(self) -> None:
        """Nothing that came so far comes again."""
        if self._rows:
            self._rows = {}


class Rollout(History):
    """The policy of one thread."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._owner = Ownership({}, frozenset())
        self._parent_turns: Callable[[dict[str, Any]], frozenset[str]] = lambda meta: frozenset()
        self._meta: dict[str, Any] = {}
        self._headed = False
        self.base_read = False
        """Whether the beginning that the header names was found."""
        self._foreign = ""
        """The thread from whose file the records come, where it is another one."""
        self._prompts, self._texts = _Texts(), _Texts()
        self._row = self._bare = self._instructed = -1
        """The last message; the last that is thinking of which more may come; the last that is an instruction."""
        self._turn, self._in_turn, self._prompted = "", False, False
        self._model = self._goal = ""
        self._uses: dict[int, int] = {}
        """How often each id of a use came, by its hash."""
        self._waiting: dict[str, list[tuple[str, Record, int]]] = {}
        """The uses without a result, by their ids: their names, records and items."""
        self._scripts: list[str] = []
        """The scripts without a result: what they run tells only of itself."""
        self._processes: dict[str, tuple[Record, int]] = {}
        """The uses that started what goes on."""
        self._searches: dict[int, str] = {}
        """The names of web searches, by their messages."""
        self._by_event: set[int] = set()
        """Uses that only an event told until now."""
        self._total: Counts | None = None
        self._last: Counts | None = None
        self._totals: dict[int, tuple[array[int], array[int]]] = {}
        """For each store the places of the running totals, and their hashes."""
        self._store = 0
        self._resumed: int | None = None
        """At the beginning of another file of the thread: the total that it goes on from, 0 if there is none."""
        self._exact: set[int] = set()
        self._responses: set[int] = set()
        self._rounds: list[str] = []
        self._number = 0
        self._words: dict[type, Callable[[Record, int, Any], Iterator[Placed]]] = {
            Twin: self._twin, Heard: self._thought, Thought: self._thought, Instruction: self._instruction,
            Mail: self._mail, Setting: self._setting, Goal: self._goal_set, ThreadName: self._named_anew,
            Header: self._header, Call: self._call, Result: self._result, Event: self._event, Began: self._turn_begins,
            Ended: self._turn_ends, RolledBack: self._rolled_back, Round: self._round, Response: self._response,
        }  # fmt: skip
        self._ends: dict[int, float] = {}
        """For each store where the live conversation leaves it."""
        self._settled = 0

    # -- the files of a thread -------------------------------------------------------------------------------------

    def begin(self, meta: dict[str, Any], parent_turns: Callable[[dict[str, Any]], frozenset[str]]) -> None:
        """Take the thread's header, and how to ask for the turns of the session that it was copied from."""
        self._parent_turns = parent_turns
        self._head(meta)

    def _head(self, meta: dict[str, Any]) -> None:
        if meta:
            self._meta, self._owner = meta, Ownership(meta, self._parent_turns(meta))

    def begin_file(self, store: int, foreign: str = "", base: int = 0, end: float = inf) -> None:
        """The records of another file follow: of another thread, which this one goes on from, or its own, which goes on
        from the store `base` where that ends.
        """
        places, totals = self._totals.get(base, (array("Q"), array("q")))
        number = bisect_left(places, end)
        self._resumed = totals[number - 1] if number else 0
        self._store, self._foreign, self._in_turn, self._prompted = store, foreign, False, False
        self._processes.clear()
        self._forget(agent=True)

    def leave(self, ends: dict[int, float]) -> None:
        """Note where the live conversation leaves each of several files: what stands behind was taken back."""
        if ends != self._ends:
            self._ends, self._settled = ends, 0

    def settle(self) -> Iterator[tuple[int, bool]]:
        first, self._settled = self._settled, len(self.session.messages)
        if self._ends:
            spans = self.session.spans
            for row in range(first, self._settled):
                span = next(spans.chain(self.session.messages.span[row]))
                if span.offset >= self._ends.get(span.store, inf):
                    yield row, False

    # -- records ---------------------------------------------------------------------------------------------------

    def enter(self, record: Record, time: float | None) -> bool:
        """Tell whose a record is; a response that was counted is left out."""
        value, owner = record[3], self._owner
        if self._foreign:
            self.copied = self._foreign
        elif not owner.settled:
            before = bool(self.copied)
            owner.look(value, time)
            self.copied = (owner.source or "another session") if owner.inherited else ""
            if before and not self.copied:
                self._forget(agent=True)
        elif self.copied:
            self.copied = ""
        if value.get("type") == "token_usage_record":
            response = text_of(dict_of(value.get("payload")).get("response_id"))
            if response and hash(response) in self._responses:
                return False
            self._responses.add(hash(response))
        return True

    def own(self, row: int, kind: int) -> None:
        self._row = row
        if _TEXT <= kind <= _TOOL:
            self._prompts.clear()

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        word = self._words.get(type(item))
        return word(record, number, item) if word is not None else super().sift(record, number, item)

    # -- the thread ------------------------------------------------------------------------------------------------

    def _header(self, record: Record, number: int, header: Header) -> Iterator[Placed]:
        meta = header.meta or {}
        if not self._headed and not self._foreign and (not self._meta or meta.get("id") == self._meta.get("id")):
            self._headed = True
            if not self._meta:
                self._head(meta)
                self._owner.look(record[3], None)
            yield record, number, facts_of(meta)
            if header.text and not self.base_read:
                yield record, number, header
                return
        elif meta.get("id") == self._meta.get("id"):  # resumed by a newer build
            yield record, number, Fact(version=text_of(meta.get("cli_version")))
        yield record, number, Skip("session_meta")

    def _setting(self, record: Record, number: int, setting: Setting) -> Iterator[Placed]:
        if setting.turn and not self._in_turn:
            self._name_turn(setting.turn)
        changed = bool(setting.names) and self._model not in ("", setting.names)
        self._model = setting.names or self._model
        root = "" if self.session.workspace_root else setting.cwd
        yield record, number, Fact(model=self._model, cwd=setting.cwd, workspace_root=root)
        if changed or setting.record:
            yield record, number, setting if changed else Skip(setting.record)

    def _goal_set(self, record: Record, number: int, goal: Goal) -> Iterator[Placed]:
        state = f"{goal.text}\n{goal.label}"
        yield record, number, Skip("thread_goal_updated") if state == self._goal else goal
        self._goal = state

    def _named_anew(self, record: Record, number: int, name: ThreadName) -> Iterator[Placed]:
        if name.thread in (None, self.session.id):
            yield record, number, Title(name.text, 2)
        yield record, number, Skip("thread_name_updated")

    def _turn_begins(self, record: Record, number: int, began: Began) -> Iterator[Placed]:
        if not (self._in_turn and began.turn and began.turn == self._turn):
            self._name_turn(began.turn)
            self._in_turn, self._prompted, self._bare = True, False, -1
            self._texts.clear()
        yield record, number, Skip("task_started")

    def _name_turn(self, turn: str) -> None:
        if not turn or turn != self._turn:
            self._turn, self._rounds, self._number = turn, [], 0 if turn else self._number

    def _turn_ends(self, record: Record, number: int, ended: Ended) -> Iterator[Placed]:
        seconds = ended.seconds if self._in_turn else None
        yield record, number, Turn(begins=False, seconds=seconds, failed=ended.stopped or None)
        self._in_turn = self._prompted = False

    def _rolled_back(self, record: Record, number: int, item: RolledBack) -> Iterator[Placed]:
        yield record, number, Dropped(item.turns)
        self._in_turn = self._prompted = False

    # -- texts -----------------------------------------------------------------------------------------------------

    def _twin(self, record: Record, number: int, say: Twin) -> Iterator[Placed]:
        texts = self._texts if say.kind in _AGENTS or say.plan else self._prompts
        key = hash((int(say.kind), "" if say.kind in _MARKS else say.text.strip()))
        row = texts.match(key, say.source)
        if row >= 0:
            self._prompted |= say.kind is Kind.PROMPT and self._in_turn
            yield record, number, Also(say.kind, say.text, say.label, row=row, images=say.images, extra=say.extra)
            return
        if say.kind is Kind.PROMPT:
            if self._in_turn and self._prompted:
                say.kind = Kind.STEER
            else:
                self._open()
        yield record, number, say
        texts.note(key, self._row, say.source)
        if say.plan:
            texts.note(hash((int(Kind.NOTE), say.plan.strip())), self._row, say.source)

    def _instruction(self, record: Record, number: int, say: Instruction) -> Iterator[Placed]:
        say.row = self._row if self._row == self._instructed else -1
        yield record, number, say
        self._instructed = self._row

    def _mail(self, record: Record, number: int, mail: Mail) -> Iterator[Placed]:
        if mail.recipient and not self._prompted and mail.recipient == agent_path(self._meta):
            mail.kind = Kind.PROMPT
            self._open()
        yield record, number, mail

    def _thought(self, record: Record, number: int, say: Thought | Heard) -> Iterator[Placed]:
        source = say.source if isinstance(say, Thought) else EVENT
        parts = say.parts if isinstance(say, Thought) else [say.text]
        keys = [hash(("thinking", part.strip())) for part in parts]
        rows = [row for key in keys if (row := self._texts.match(key, source)) >= 0]
        goes_on = self._bare == self._row >= 0
        if rows and len(rows) == len(keys):
            yield record, number, Also(Kind.THINKING, row=rows[0])
            self._bare = -1 if source == ITEM else self._bare
            return
        if rows:
            say.row = rows[0]
            self._bare = -1 if source == ITEM else self._bare
        elif not parts and goes_on:
            yield record, number, Also(Kind.THINKING, row=self._row)
            self._bare = -1
            return
        elif source == EVENT and goes_on:
            say.row = self._row
        yield record, number, say
        row = say.row if say.row >= 0 else self._row
        if say.row < 0:
            self._bare = row if source == EVENT or not parts else -1
        for key in keys:
            self._texts.note(key, row, source)

    def _open(self) -> None:
        self._prompted = True
        self._texts.clear()

    def _forget(self, *, agent: bool) -> None:
        self._prompts.clear()
        self._bare = -1
        if agent:
            self._texts.clear()

    # -- tool uses -------------------------------------------------------------------------------------------------

    def _call(self, record: Record, number: int, use: Call) -> Iterator[Placed]:
        name, key = use.use_id, hash(use.use_id)
        if (name and key in self._by_event) or (use.search and self._same_search(use, ITEM)):
            self._by_event.discard(key)
            yield record, number, Skip("told by its event")
            return
        count = self._uses.get(key, 0)
        if name:
            self._uses[key] = count + 1
            use.use_id = f"{name}#{count}" if count else name
        elif use.search:
            use.use_id = f"search#{len(self._searches)}"
        if name and use.answer is None:
            self._waiting.setdefault(name, []).append((use.use_id, (*record[:3], {}), number))
            if use.name in SCRIPTS:
                self._scripts.append(use.use_id)
        yield record, number, use
        self._note_search(use, ITEM)
        if (origin := self._processes.get(use.goes_on)) is not None:
            yield *origin, Also(Kind.TOOL, row=self._row)

    def _same_search(self, use: Call, source: int) -> str:
        """The name of the use that another source told of the same web search."""
        row = self._texts.match(hash(("search", use.search)), source)
        return self._searches.get(row, "")

    def _note_search(self, use: Call, source: int) -> None:
        if use.search:
            self._texts.note(hash(("search", use.search)), self._row, source)
            self._searches[self._row] = use.use_id

    def _named(self, use_id: str) -> str:
        """The latest use with an id, as the kit knows it; empty if there is none."""
        count = self._uses.get(hash(use_id), 0) if use_id else 0
        return "" if not count else use_id if count == 1 else f"{use_id}#{count - 1}"

    def _result(self, record: Record, number: int, answer: Result) -> Iterator[Placed]:
        waiting = self._waiting.get(answer.use_id)
        if waiting:
            name, place, at = waiting.pop()
            if not waiting:
                del self._waiting[answer.use_id]
            if answer.process:
                self._processes[answer.process] = place, at
            if name in self._scripts:
                self._scripts.remove(name)
        else:
            name = self._named(answer.use_id)
        answer.use_id = name
        yield record, number, answer
        if answer.subagent:
            yield from self._started(record, number, answer.subagent, name, None)

    def _started(self, record: Record, number: int, thread: str, use_id: str, task: Task | None) -> Iterator[Placed]:
        """A thread that was started is counted as missing where its file is."""
        if not self.copied and thread != self.session.id:
            yield record, number, Child(thread, task=Task(task.name if task else ""), use_id=use_id)

    def _event(self, record: Record, number: int, event: Event) -> Iterator[Placed]:
        name, answer = self._named(event.use_id), event.answer or Answer("", status=ToolStatus.PENDING)
        if not name and event.search:
            name = self._same_search(event, event.source)
        if not name and event.alone and self._scripts:
            name = self._scripts[-1]
            answer.status = ToolStatus.PENDING if answer.status is ToolStatus.OK else answer.status
        if name:
            answer.use_id, answer.beside = name, True
            yield record, number, answer
        elif event.alone:
            name = event.use_id = event.use_id or f"search#{len(self._searches)}"
            self._uses[hash(name)] = 1
            self._by_event.add(hash(name))
            answer.use_id = name
            yield record, number, event
            self._note_search(event, event.source)
        else:
            yield record, number, Say(Kind.NOTE, event.text, event.label)
        for thread in event.links:
            yield record, number, Link(name, thread)
            yield from self._started(record, number, thread, name, event.task)

    # -- tokens ----------------------------------------------------------------------------------------------------

    def _name(self) -> str:
        """A name for the next response, the same in a copy where its turn has a UUID, or where no turn has a name."""
        self._number += 1
        return f"{self._turn or self.copied or self.session.id}:{self._number}"

    def _round(self, record: Record, number: int, item: Round) -> Iterator[Placed]:
        yield record, number, self._step(item, record[0]) or Skip("token_count")

    def _step(self, item: Round, place: int) -> Count | None:
        """What an event adds to those before it; None if it repeats them."""
        total, before = item.total, self._total
        if total is None:
            # Without a running total only equal neighbours can be told for repeats.
            step, self._last = None if item.last == self._last else item.last, item.last
        elif self._resumed == hash(total):
            step = None  # what the thread had come to where this file goes on from
        else:
            self._total = total
            places, totals = self._totals.setdefault(self._store, (array("Q"), array("q")))
            places.append(place)
            totals.append(hash(total))
            if before is None or (self._resumed is not None and item.last):
                step = item.last or total  # the total goes on from a thread before
            elif (total[5] or 0) < (before[5] or 0):
                step = item.last
            else:
                step = difference(total, before)
            self._resumed = None
        usage = usage_of(step) if step is not None else _NOTHING
        if not any(usage[:5]) or (self._turn and hash(self._turn) in self._exact):
            return None
        name = self._name()
        if self.copied and not UUID.search(name):
            return None  # nothing tells the copy, which has another time, from a response of its own
        self._rounds.append(name)
        return Count(usage, name, item.model, closes=True)

    def _response(self, record: Record, number: int, item: Response) -> Iterator[Placed]:
        if not self.copied and item.thread not in (None, self.session.id):
            yield record, number, Skip("token_usage_record")
            return
        if not self._turn:
            self._name_turn(item.turn)
        self._exact.add(hash(item.turn or self._turn))
        # A turn that began to be counted by differences: the last of them may be this very response.
        *others, last = self._rounds if item.turn in ("", self._turn) and self._rounds else [""]
        self._rounds = []
        for name in others:
            yield record, number, Count(_NOTHING, name)
        yield record, number, Count(item.usage, item.id or last or self._name(), closes=True, was=last)

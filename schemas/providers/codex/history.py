"""The policy for what depends on several records of a rollout: repeated texts, pairs, totals, records' owners.

Codex writes most texts as a response item, for the model, and as an event, for its screen, in either order (formats
note 5.4). Whichever comes first makes the message, the other one joins it. Two equal texts of one source are two
messages: identical prompts are legitimate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from math import floor, inf
from typing import TYPE_CHECKING, Any

from schemas.message import Kind, ToolStatus
from schemas.providers.codex import items
from schemas.providers.codex.items import EVENT, ITEM
from schemas.providers.codex.locate import UUID, facts_of, origin_of, uuid_time
from schemas.providers.codex.texts import Result, usage_in
from schemas.providers.codex.tools import SCRIPTS, Call
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Also, Answer, Child, Count, Data, Fact, Held, Link, Say, Skip, Task, Turn
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, text_of, when, whole

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

_PROMPT, _TEXT, _TOOL, _ERROR = Kind.PROMPT, Kind.TEXT, Kind.TOOL, Kind.ERROR
_INTERRUPT, _COMPACTION = Kind.INTERRUPT, Kind.COMPACTION


class _Texts(dict[int, list[list[Any]]]):
    """The messages, and the sources that were met, of the texts, by their hashes, that may still come from another."""

    def match(self, key: Hashable, source: int) -> Any:
        """Return the note of a text that was not met in `source` yet, and mark it as met there; -1 if there is none."""
        for entry in self.get(hash(key), ()):
            if not entry[1] & source:
                entry[1] |= source
                return entry[0]
        return -1

    def note(self, key: Hashable, shown: int | str, source: int) -> None:
        """A message shows a text, or the use with that name a web search."""
        self.setdefault(hash(key), []).append([shown, source])


class Ownership:
    """Tells own records from copies by the rules of formats note 7.1 in their order; in doubt it is the thread's."""

    def __init__(self, meta: Data) -> None:
        self._id, self._born = text_of(meta.get("id")), when(meta.get("timestamp"))
        self.parent_turns = frozenset[str]()
        """The parent's turn ids, where its file is at hand."""
        self.source = text_of(meta.get("forked_from_id")) or origin_of(meta).parent
        self._first: float | None = None
        self._counts = self._lines = 0
        self._dated = False
        """Whether a turn that is older than the thread began, and none of its own."""
        start = whole(meta.get("subagent_history_start_ordinal"))
        if start is None and not meta.get("history_base"):
            start = whole(meta.get("forked_from_ordinal_exclusive"))
        self._start = start if start is not None and start > 1 else None
        self._open = bool(self.source)
        """Whether the parent's history may be copied here."""
        self.inherited = self._start is not None

    def _settle(self, *, boundary: bool = False) -> None:
        """The thread's own records follow; at a `boundary` all before were copies."""
        self._open, self.inherited, self._lines = False, boundary, max(self._lines, 2)

    def look(self, value: Data, time: float | None) -> bool:
        """Take notice of a record: `inherited` says whether all until it are copies; returns whether that is final."""
        payload, kind = dict_of(value.get("payload")), value.get("type")
        self._lines += 1
        if self.inherited and not self._open and self._start is None:
            self.inherited = False  # behind the boundary
        elif self._start is not None:
            ordinal = whole(value.get("ordinal"))
            if ordinal is None or ordinal >= self._start:
                self._start = None
                self._settle()
        elif kind == "session_meta":
            # Some builds forked without saying so; then the parent's header is the second line.
            other = self._lines > 1 and payload.get("id") not in (self._id, None)
            if other and (self._open or self._lines == 2):
                self.inherited = self._open = True
                self.source = self.source or text_of(payload.get("id"))
        elif self._open:
            sub = payload.get("type")
            if kind == "turn_context" or sub in ("task_started", "turn_started"):
                self._look_at_turn(payload, started=kind != "turn_context")
            elif time is not None:
                self._look_at_time(time, sub == "token_count" and bool(dict_of(payload.get("info"))))
        return not self._open and not self.inherited and self._lines > 1

    def _look_at_turn(self, payload: Data, *, started: bool) -> None:
        own, turn = None, text_of(payload.get("turn_id"))
        if self.parent_turns and turn:
            own = turn not in self.parent_turns
            self.inherited = self.inherited or not own
        elif self._born is not None and started:
            if (at := when(payload.get("started_at"))) is not None:
                own = at >= floor(self._born)
            elif (made := uuid_time(turn)) is not None:
                own = made >= (uuid_time(self._id) or self._born) - 1
        if own:
            self._settle(boundary=self._dated and not self.inherited)
        elif own is False:
            self._dated = True

    def _look_at_time(self, time: float, counts: bool) -> None:
        if self._first is None:
            self._first = time
        if time > self._first + 1.0:  # a copied prefix is stamped anew, all of it within a second of the first line
            # An old turn that goes on is no copy (faults/f27); one with copied times is older than the thread.
            lived = not self._dated or (not self.inherited and self._born is not None and time >= self._born)
            if lived and not self.parent_turns:
                self._settle()
            return
        self._counts += counts
        self.inherited = self.inherited or self._counts >= 5  # so many were not earned within a second


class Spent:
    """The responses of a thread. A turn that has any exact counts (0.149 and later) counts by them alone."""

    def __init__(self) -> None:
        self.turn = ""
        self._counted, self._number = "", 0
        """The last response of the turn that was counted by a difference, and how many were."""
        self._total: TokenUsage | None = None
        self._said: object = None
        """The running total, where it was read, and the object that said it."""
        self._last: TokenUsage | None = None
        self._exact: set[int] = set()

    def begin_file(self) -> None:
        """Other running totals follow."""
        self._total = self._said = None

    def begin_turn(self, turn: str) -> None:
        """A turn begins, or goes on; it may have no name."""
        if not turn or turn != self.turn:
            self.turn, self._counted, self._number = turn, "", 0 if turn else self._number

    def _name(self, source: str) -> str:
        """A name for the next response, the same in a copy where its turn has a UUID, or where no turn has a name."""
        self._number += 1
        return f"{self.turn or source}:{self._number}"

    def step(self, info: dict[str, Any], source: str, *, copied: bool) -> Count | None:
        """Return the tokens that a count adds to those before it; None if it repeats them."""
        said, known = info.get("total_token_usage"), self._said
        if said is not None and said == known:
            return None  # as with every refresh of the screen
        if self.turn and hash(self.turn) in self._exact:
            self._total, self._said = (None, said) if type(said) is dict else (self._total, known)
            return None
        total, before = usage_in(said), self._total or usage_in(known)
        if total is not None:
            self._total, self._said = total, said
        tokens, fewer = (as_count(dict_of(one).get("total_tokens")) or 0 for one in (said, known))
        if total is not None and before is not None and tokens >= fewer:
            step: TokenUsage | None = total.less(before)
        else:
            step = usage_in(info.get("last_token_usage"))
            if total is not None:
                step = step if before is not None else step or total  # the total goes on from a thread before
            else:
                # Without a running total only equal neighbours can be told for repeats.
                step, self._last = None if step == self._last else step, step
        if step is None or not any(step):
            return None
        name = self._name(source)
        if copied and not UUID.search(name):
            return None  # nothing tells the copy, which has another time, from a response of its own
        self._counted = name
        return Count(step, name, text_of(info.get("model")), closes=True)

    def response(self, usage: TokenUsage, name: str, turn: str, source: str) -> Count:
        """One response exactly: what was counted by a difference before may be this very one."""
        if not self.turn:
            self.begin_turn(turn)
        self._exact.add(hash(turn or self.turn))
        was, self._counted = self._counted if turn in ("", self.turn) else "", ""
        return Count(usage, name or was or self._name(source), closes=True, was=was)


class Rollout(History):
    """The policy of one thread."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.begin({})
        self._headed = self.base_read = False
        """Whether the beginning that the header names was found."""
        self._foreign = ""
        """The thread from whose file the records come, where it is another one."""
        self._prompts, self._texts = _Texts(), _Texts()
        self._row = self._bare = self._thinking = self._instructed = -1
        """The last message; the last thinking, where more of it may come; the last thinking; the last instruction."""
        self._in_turn = self._prompted = False
        self._place, self._goal = ("", ""), ("", "")
        """The model and the directory; the goal and its label."""
        self._uses: dict[int, int] = {}
        """How often each id of a use came, by its hash."""
        self._waiting: dict[str, list[tuple[str, Record, int]]] = {}
        """The uses without a result, by their ids: their names, records and items."""
        self._scripts: dict[str, None] = {}
        """The scripts without a result: what they run tells only of itself."""
        self._processes: dict[str, tuple[Record, int]] = {}
        """The uses that started what goes on."""
        self._by_event: set[int] = set()
        """Uses that only an event told until now."""
        self._viewed: list[str] = []
        """The uses whose image follows as a message of role user (until early 2026)."""
        self._spent = Spent()
        self._words: dict[type, Callable[[Record, int, Any], Iterator[Placed]]] = {
            items.Twin: self._twin, items.Thought: self._thought, Held: self._held, items.Setting: self._setting,
            Call: self._call, Result: self._result, items.Event: self._event, items.Border: self._border,
            items.Tokens: self._tokens,
        }  # fmt: skip
        self._ends: dict[int, float] = {}
        """For each store where the live conversation leaves it."""
        self._settled = 0

    def begin(self, meta: dict[str, Any]) -> Ownership:
        """Take the thread's header."""
        self._meta, owner = meta, Ownership(meta)
        self._owner: Ownership | None = owner
        """Whose the records are, until nothing can change that."""
        return owner

    def begin_file(self, thread: str) -> None:
        """The records of another file follow: of another thread, which this one goes on from, or its own."""
        foreign = "" if thread == self._meta.get("id") else thread
        self._in_turn = self._prompted = False
        self.copied = self._foreign = foreign
        self._spent.begin_file()
        self._processes.clear()
        self._forget()

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

    def knows(self, name: object) -> bool:
        """Return whether a name is the thread's: those of other threads stand here too."""
        return name == self.session.id

    def enter(self, record: Record, time: float | None) -> bool:
        """Tell whose a record is."""
        value, owner = record[3], self._owner
        if owner is not None and not self._foreign:
            before, settled = self.copied, owner.look(value, time)
            # A header is no copy: whose the records behind it are is asked when it is known who the parent is.
            inherited = owner.inherited and value.get("type") != "session_meta"
            self.copied = (owner.source or "another session") if inherited else ""
            if before and not self.copied:
                self._forget()
            if settled:
                self._owner = None
        return True

    def own(self, row: int, kind: int) -> None:
        self._row = row
        if _TEXT <= kind <= _TOOL:
            self._prompts.clear()

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        return self._words[type(item)](record, number, item)

    def _header(self, record: Record, number: int, header: Held) -> Iterator[Placed]:
        meta = record[3]["payload"] if type(record[3].get("payload")) is dict else record[3]
        if not self._headed and not self._foreign and (not self._meta or meta.get("id") == self._meta.get("id")):
            self._headed = True
            if not self._meta:
                self.begin(meta).look(record[3], None)
            yield record, number, facts_of(meta)
            if header.text and not self.base_read:
                yield record, number, as_word(header, Say)
        elif meta.get("id") == self._meta.get("id"):  # resumed by a newer build
            yield record, number, Fact(version=text_of(meta.get("cli_version")))

    def _setting(self, record: Record, number: int, setting: items.Setting) -> Iterator[Placed]:
        if setting.turn and not self._in_turn:
            self._spent.begin_turn(setting.turn)
        before, model = self._place, setting.model or self._place[0]
        self._place = model, setting.cwd
        if self._place != before:
            root = "" if self.session.workspace_root else setting.cwd
            yield record, number, Fact(model=model, cwd=setting.cwd, workspace_root=root)
        if before[0] not in ("", model):
            yield record, number, setting

    def _held(self, record: Record, number: int, say: Held) -> Iterator[Placed]:
        match say.role:
            case "header":
                yield from self._header(record, number, say)
            case "goal":  # which is written again with every count of its tokens
                goal, self._goal = self._goal, (say.text, say.label)
                if goal != self._goal:
                    yield record, number, as_word(say, Say)
            case "mute":  # the end of a turn without a last message, which is not told in plan mode either
                answered = self._row >= 0 and self.session.messages.kind[self._row] == _TEXT
                if self._in_turn and self._prompted and not answered:
                    yield record, number, as_word(say, Say)
            case "mail":  # of which the first one of a turn to this agent is its task
                path = origin_of(self._meta).path
                task = path and not self._prompted and path == dict_of(record[3].get("payload")).get("recipient")
                if task:
                    self._open()
                yield record, number, as_word(say, Say, kind=_PROMPT if task else say.kind)
            case _:  # instructions before a turn
                say.row = self._row if self._row == self._instructed else -1
                yield record, number, say
                self._instructed = self._row

    def _border(self, record: Record, number: int, border: items.Border) -> Iterator[Placed]:
        if not border.begins:
            seconds = border.seconds if self._in_turn else None
            yield record, number, Turn(begins=False, seconds=seconds, failed=border.failed)
            self._in_turn = self._prompted = False
        elif not (self._in_turn and border.how and border.how == self._spent.turn):
            self._spent.begin_turn(border.how)
            self._in_turn, self._prompted, self._bare = True, False, -1
            self._texts.clear()

    def _twin(self, record: Record, number: int, say: items.Twin) -> Iterator[Placed]:
        texts = self._texts if say.kind in (_TEXT, _ERROR) or say.plan else self._prompts
        # Of these there is one at a time, whatever is said of it.
        key = int(say.kind), "" if say.kind in (_INTERRUPT, _COMPACTION) else say.text.strip()
        if self._viewed and key == (_PROMPT, "") and say.images and say.source == ITEM:
            yield record, number, Answer(self._viewed.pop(0), images=say.images, beside=True)
            return
        row = texts.match(key, say.source)
        if row >= 0:
            self._prompted |= say.kind is _PROMPT and self._in_turn
            yield record, number, Also(say.kind, say.text, row=row)
            return
        if say.kind is _PROMPT:
            if self._in_turn and self._prompted:
                say.kind = Kind.STEER
            else:
                self._open()
        yield record, number, say
        texts.note(key, self._row, say.source)
        if say.plan:
            texts.note((int(Kind.NOTE), say.plan.strip()), self._row, say.source)

    def _thought(self, record: Record, number: int, say: items.Thought) -> Iterator[Placed]:
        key, goes_on = ("thinking", say.text.strip()), self._bare == self._row >= 0
        row = known = self._texts.match(key, say.source) if say.text else -1
        if row < 0 and number > 0:  # another part of an item
            row = self._thinking
        elif row < 0 and goes_on and (say.source == EVENT or not say.text):
            row = self._row
        say.row = row
        yield record, number, Also(say.kind, row=row) if row >= 0 and (known >= 0 or not say.text) else say
        self._thinking = row if row >= 0 else self._row
        if say.source != EVENT:
            self._bare = self._thinking if row < 0 and not say.text else -1
        elif row < 0:
            self._bare = self._thinking
        if say.text and known < 0:
            self._texts.note(key, self._thinking, say.source)

    def _open(self) -> None:
        self._prompted = True
        self._viewed.clear()
        self._texts.clear()

    def _forget(self) -> None:
        self._prompts.clear()
        self._texts.clear()
        self._bare = -1

    def _call(self, record: Record, number: int, use: Call) -> Iterator[Placed]:
        name, key = use.use_id, hash(use.use_id)
        if (name and key in self._by_event) or self._same_search(use, ITEM):
            self._by_event.discard(key)
            yield record, number, Skip("told by its event")
            return
        count = self._uses.get(key, 0)
        if name:
            self._uses[key] = count + 1
            use.use_id = f"{name}#{count}" if count else name
        elif use.search:
            use.use_id = f"search#{len(self.session.messages)}"
        if name and use.answer is None:
            self._waiting.setdefault(name, []).append((use.use_id, (*record[:3], {}), number))
            if use.name in SCRIPTS:
                self._scripts[use.use_id] = None
        yield record, number, use
        if use.search:
            self._texts.note(("search", use.search), use.use_id, ITEM)
        if (origin := self._processes.get(use.goes_on)) is not None:
            yield *origin, Also(Kind.TOOL, row=self._row)

    def _same_search(self, use: Call, source: int) -> str:
        """The name of the use that another source told of the same web search."""
        found = self._texts.match(("search", use.search), source) if use.search else ""
        return found if isinstance(found, str) else ""

    def _named(self, use_id: str) -> str:
        """The latest use with an id, as the kit knows it; empty if there is none."""
        count = self._uses.get(hash(use_id), 0) if use_id else 0
        return "" if not count else use_id if count == 1 else f"{use_id}#{count - 1}"

    def _result(self, record: Record, number: int, answer: Result) -> Iterator[Placed]:
        if waiting := self._waiting.get(answer.use_id):
            name, *_ = use = waiting.pop()
            if answer.process:
                self._processes[answer.process] = use[1:]
            self._scripts.pop(name, None)
        else:
            name = self._named(answer.use_id)
        answer.use_id = name
        if answer.text == "attached local image path":
            self._viewed.append(name)
        yield record, number, answer
        if answer.subagent:
            yield from self._started(record, number, answer.subagent, name)

    def _started(self, record: Record, number: int, thread: str, use_id: str, name: str = "") -> Iterator[Placed]:
        """A thread that was started is counted as missing where its file is."""
        if not self.copied and thread != self.session.id:
            yield record, number, Child(thread, task=Task(name), use_id=use_id)

    def _event(self, record: Record, number: int, event: items.Event) -> Iterator[Placed]:
        name, answer = self._named(event.use_id), event.answer or Answer("")
        alone = event.kind is _TOOL
        name = name or self._same_search(event, event.source)
        if not name and alone and self._scripts:
            name = next(reversed(self._scripts))
            answer.status = ToolStatus.PENDING if answer.status is ToolStatus.OK else answer.status
        if name:
            answer.use_id, answer.beside = name, True
            yield record, number, answer
        elif alone:
            answer.use_id = event.use_id = name = event.use_id or f"search#{len(self.session.messages)}"
            self._uses[hash(name)] = 1
            self._by_event.add(hash(name))
            yield record, number, event
            if event.search:
                self._texts.note(("search", event.search), name, event.source)
        else:
            yield record, number, Say(Kind.NOTE, event.text, event.label)
        for thread in event.links:
            yield record, number, Link(name, thread)
            yield from self._started(record, number, thread, name, event.task.name if event.task else "")

    def _tokens(self, record: Record, number: int, item: items.Tokens) -> Iterator[Placed]:
        said, source = item.said, self.copied or self.session.id
        if record[3]["type"] == "event_msg":  # running totals, what came last to them, and the size of the window
            if count := self._spent.step(info := said["info"], source, copied=bool(self.copied)):
                yield record, number, count
            used = as_count(dict_of(info.get("last_token_usage")).get("total_tokens"))
            yield record, number, Fact(context_window=whole(info.get("model_context_window")), context_used=used)
        elif (self.copied or said.get("thread_id") in (None, source)) and (usage := usage_in(said.get("usage"))):
            name, turn = text_of(said.get("response_id")), text_of(said.get("turn_id"))
            yield record, number, self._spent.response(usage, name, turn, source)

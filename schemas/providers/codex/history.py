"""The policy for what depends on several records of a rollout: repeated texts, pairs, totals, records' owners.

Codex writes most texts as a response item, for the model, and as an event, for its screen, in either order (formats
note 5.4). Whichever comes first makes the message, the other one joins it. Two equal texts of one source are two
messages: identical prompts are legitimate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from math import inf
from typing import TYPE_CHECKING, Any

from schemas.message import Kind, ToolStatus
from schemas.providers.codex import items
from schemas.providers.codex.header import Ownership, facts_of, of_subagent
from schemas.providers.codex.items import EVENT, ITEM
from schemas.providers.codex.texts import Result
from schemas.providers.codex.tokens import Spent
from schemas.providers.codex.tools import SCRIPTS, Call
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import Also, Answer, Child, Fact, Link, Say, Skip, Task, Turn
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

_PROMPT, _TEXT, _TOOL = Kind.PROMPT, Kind.TEXT, Kind.TOOL
_MARKS = (Kind.INTERRUPT, Kind.COMPACTION)
"""Of these there is one at a time, whatever is said of it."""
_AGENTS = (Kind.TEXT, Kind.THINKING, Kind.ERROR)


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


class Rollout(History):
    """The policy of one thread."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.begin({})
        self._headed = False
        self.base_read = False
        """Whether the beginning that the header names was found."""
        self._foreign = ""
        """The thread from whose file the records come, where it is another one."""
        self._prompts, self._texts = _Texts(), _Texts()
        self._row = self._bare = self._thinking = self._instructed = -1
        """The last message; the last thinking, where more of it may come; the last thinking; the last instruction."""
        self._in_turn = self._prompted = False
        self._model = self._goal = ""
        self._place = "", ""
        """The model and the directory that were told last."""
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
            items.Twin: self._twin, items.Thought: self._thought, items.Instruction: self._instruction,
            items.Mail: self._mail, items.Setting: self._setting, items.Goal: self._goal_set,
            items.Header: self._header, Call: self._call, Result: self._result, items.Event: self._event,
            items.Border: self._border, items.Mute: self._mute, items.Round: self._round,
            items.Response: self._response,
        }  # fmt: skip
        self._ends: dict[int, float] = {}
        """For each store where the live conversation leaves it."""
        self._settled = 0

    # -- the files of a thread -------------------------------------------------------------------------------------

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

    # -- records ---------------------------------------------------------------------------------------------------

    def enter(self, record: Record, time: float | None) -> bool:
        """Tell whose a record is; a response that was counted is left out."""
        value, owner = record[3], self._owner
        if owner is not None and not self._foreign:
            before = self.copied
            owner.look(value, time)
            # A header is no copy: whose the records behind it are is asked when it is known who the parent is.
            inherited = owner.inherited and value.get("type") != "session_meta"
            self.copied = (owner.source or "another session") if inherited else ""
            if before and not self.copied:
                self._forget()
            if owner.settled:
                self._owner = None
        if value.get("type") != "token_usage_record":
            return True
        return self._spent.is_new(text_of(dict_of(value.get("payload")).get("response_id")))

    def own(self, row: int, kind: int) -> None:
        self._row = row
        if _TEXT <= kind <= _TOOL:
            self._prompts.clear()

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        return self._words[type(item)](record, number, item)

    # -- the thread ------------------------------------------------------------------------------------------------

    def _header(self, record: Record, number: int, header: items.Header) -> Iterator[Placed]:
        meta = header.meta or {}
        if not self._headed and not self._foreign and (not self._meta or meta.get("id") == self._meta.get("id")):
            self._headed, self._place = True, ("", "")
            if not self._meta:
                self.begin(meta).look(record[3], None)
            yield record, number, facts_of(meta)
            if header.text and not self.base_read:
                yield record, number, header
                return
        elif meta.get("id") == self._meta.get("id"):  # resumed by a newer build
            yield record, number, Fact(version=text_of(meta.get("cli_version")))
        yield record, number, Skip("session_meta")

    def _setting(self, record: Record, number: int, setting: items.Setting) -> Iterator[Placed]:
        if setting.turn and not self._in_turn:
            self._spent.begin_turn(setting.turn)
        changed = bool(setting.model) and self._model not in ("", setting.model)
        self._model = setting.model or self._model
        if (place := (self._model, setting.cwd)) != self._place:
            self._place, root = place, "" if self.session.workspace_root else setting.cwd
            yield record, number, Fact(model=self._model, cwd=setting.cwd, workspace_root=root)
        if changed or setting.record:
            yield record, number, setting if changed else Skip(setting.record)

    def _goal_set(self, record: Record, number: int, goal: items.Goal) -> Iterator[Placed]:
        state = f"{goal.text}\n{goal.label}"
        yield record, number, Skip("thread_goal_updated") if state == self._goal else goal
        self._goal = state

    def _border(self, record: Record, number: int, border: items.Border) -> Iterator[Placed]:
        if not border.begins:
            seconds = border.seconds if self._in_turn else None
            yield record, number, Turn(begins=False, seconds=seconds, failed=border.stopped or None)
            self._in_turn = self._prompted = False
            return
        if not (self._in_turn and border.turn and border.turn == self._spent.turn):
            self._spent.begin_turn(border.turn)
            self._in_turn, self._prompted, self._bare = True, False, -1
            self._texts.clear()
        yield record, number, Skip("task_started")

    def _mute(self, record: Record, number: int, say: items.Mute) -> Iterator[Placed]:
        answered = self._row >= 0 and self.session.messages.kind[self._row] == _TEXT  # in plan mode that is not told
        yield record, number, say if self._in_turn and self._prompted and not answered else Skip("task_complete")

    # -- texts -----------------------------------------------------------------------------------------------------

    def _twin(self, record: Record, number: int, say: items.Twin) -> Iterator[Placed]:
        texts = self._texts if say.kind in _AGENTS or say.plan else self._prompts
        key = int(say.kind), "" if say.kind in _MARKS else say.text.strip()
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

    def _instruction(self, record: Record, number: int, say: items.Instruction) -> Iterator[Placed]:
        say.row = self._row if self._row == self._instructed else -1
        yield record, number, say
        self._instructed = self._row

    def _mail(self, record: Record, number: int, mail: items.Mail) -> Iterator[Placed]:
        if mail.recipient and not self._prompted and mail.recipient == of_subagent(self._meta, "agent_path"):
            mail.kind = Kind.PROMPT
            self._open()
        yield record, number, mail

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

    # -- tool uses -------------------------------------------------------------------------------------------------

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

    # -- tokens ----------------------------------------------------------------------------------------------------

    def _round(self, record: Record, number: int, item: items.Round) -> Iterator[Placed]:
        count = self._spent.step(item.info, self.copied or self.session.id, copied=bool(self.copied))
        yield record, number, count or Skip("token_count")
        yield record, number, item

    def _response(self, record: Record, number: int, item: items.Response) -> Iterator[Placed]:
        if not self.copied and item.thread not in (None, self.session.id):
            yield record, number, Skip("token_usage_record")
        else:
            count = self._spent.response(item.usage, item.id, item.turn, self.copied or self.session.id)
            yield record, number, count

"""The reader: records into a session, any number at a time, the same for a whole file and for one that grows.

`Reader` is the loop over records; what an item means lies with its subject. Subagents within have readers of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from schemas.clean import one_line
from schemas.message import Flag, Kind
from schemas.paths import address_of, source_of
from schemas.providers.kit import words
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.build import builder
from schemas.providers.kit.facts import Facts
from schemas.providers.kit.history import History
from schemas.providers.kit.messages import Items, Rows
from schemas.providers.kit.talk import Talk
from schemas.providers.kit.tokens import Tokens
from schemas.providers.kit.uses import Uses
from schemas.records import Record
from schemas.session import Change, Lack, Op, Session, Subagent
from schemas.values import text_of

_INHERITED = int(Flag.INHERITED)
_APPENDED = Op.APPENDED
_MOST_CHILDREN = 1000
"""Subagents within one source; the records of more go to the last, as each costs some kilobytes."""
_NOWHERE: Record = (0, 0, 0, {})
_short = lru_cache(256)(partial(one_line, limit=80))  # the same few names, record after record
Meaning: TypeAlias = "Callable[[Record, int, Any], bool | None]"
"""What is done for an item: True where its record holds something, False where it says again what another one did."""


class _Derived(dict[type, Meaning]):
    """The handlers of the kit's words, and of an agent's own those of the words from which they derive."""

    def __missing__(self, kind: type) -> Meaning:
        self[kind] = meaning = next(self[base] for base in kind.__mro__ if base in self)
        return meaning


class Reader:
    """Fills a session from records; a `schemas.provider.Parser`.

    `root` is the main agent's, for a subagent within; `beside` that of another run that fills the same session.
    """

    def __init__(
        self, agent: Agent, session: Session, root: Reader | None = None, beside: Reader | None = None
    ) -> None:
        self.clock: Callable[[], float] | None = root.clock if root is not None else None
        """The time of what has none, while a pipe is read live and has told no time of its own."""
        self.agent, self.root = agent, root
        self.history: History = agent.history(session)
        self._sorts = root is None and type(self.history).whose is not History.whose
        """Whether records of subagents may stand among these."""
        self.rows: Rows = Rows(session, agent, beside.rows if beside is not None else None)
        self.talk = Talk(self.rows, self.history.own, agent)
        self.uses = Uses(self.rows, self.talk, agent)
        self.tokens = Tokens(self.rows, self.talk, agent)
        self.facts = Facts(session)
        self._subjects: list[Any] = [self.history, self.rows, self.talk, self.uses, self.tokens, self.facts]
        """What has the session too: its parts, and the runs of a pipe."""
        self.session = session
        self.above: Reader | None = None
        """Of a subagent within: the reader of the agent that started it, once that is known."""
        self.subagent = Subagent("", session=session)
        """What it is for that agent."""
        self.children: dict[str, Reader] = {}
        """The subagents whose records stand among these, by name."""
        self._started_by: dict[str, str] = {}
        """The ids of the uses that started them, where those are not their names."""
        self._beside: dict[Path | str, tuple[words.Child, Subagent]] = {}
        self._stamps: object = None
        self._inherited = 0, 0
        """How many messages and groups were another session's."""
        self._settled = 0
        """How many messages were looked at for what they tell."""
        self._places: dict[int, tuple[int, int]] | None = {} if agent.copies else None
        """Where records stand, by `_is_copy`'s marks: the store and the offset; None where a history tells copies."""
        self.items: Items = root.items if root is not None else Items(agent.read)
        self.build = builder(agent, self.rows, self.uses, self.items)
        """Builds the messages that came of its records."""
        if beside is None:
            session.build, session.lacks = self.build, agent.lacks
            session.build_bare = builder(agent, self.rows, self.uses, self.items, bare=True)
        if root is None:
            self.tokens.family = lambda: (self.tokens, *(child.tokens for child in self.children.values()))
        self._meanings: dict[type, Meaning] = {
            words.Say: self.talk.say,
            words.Use: self.uses.use,
            words.Piece: self.talk.piece,
            words.Also: self.talk.also,
            words.Answer: self.uses.answer,
            words.Count: self.tokens.count,
            words.Total: self._total,
            words.Title: lambda record, number, title: self.facts.title(title),
            words.Link: self._link,
            words.Turn: self._turn,
            words.Dropped: lambda record, number, dropped: self.talk.drop(dropped),
            words.Fact: self._fact,
            words.Skip: self._skip,
            words.Child: lambda record, number, child: self._child_beside(child),
        }  # fmt: skip
        self._derived = _Derived(self._meanings)

    @property
    def session(self) -> Session:
        """The session that is filled. A reading may let another one take over what was filled: then that goes on."""
        return self._session

    @session.setter
    def session(self, session: Session) -> None:
        self._session = session
        for subject in self._subjects:
            subject.session = session

    def feed(self, records: Iterable[Record], store: int = 0) -> list[Change]:
        """Take more records, in the order of their source, one of the session's stores; returns what changed."""
        first, self.rows.store = len(self.session.messages), store
        self.rows.changed.clear()
        self._read(records)
        return self._changes(first)

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the source."""
        self.rows.changed.clear()
        stamps = self.agent.stamps(self.session), self.uses.links
        if stamps[0] is None or stamps != self._stamps:
            self._stamps = stamps
            for item in self.agent.beside(self.session):
                self._derived[type(item)](_NOWHERE, -1, item)
        if self.tokens.open:
            self._link_beside()
            paths = [child.path for child, _ in self._beside.values() if child.path is not None]
            if self.uses.all_led() and (spent := self.agent.spent(paths)) is not None:
                self.tokens.close(spent)
        return self._changes(len(self.session.messages))

    def _changes(self, first: int) -> list[Change]:
        self.settle()
        changes = [Change(Op.UPDATED, row) for row in sorted(self.rows.changed) if row < first]
        return changes + [Change(_APPENDED, row) for row in range(first, len(self.session.messages))]

    def take(self, record: Record) -> None:
        """Read a record."""
        self._read((record,))

    def _read(self, records: Iterable[Record]) -> None:
        # What every record asks for is looked up once.
        agent, session, history, facts, rows = self.agent, self._session, self.history, self.facts, self.rows
        silent, sorts, places, kinds = agent.silent, self._sorts, self._places, session.messages.kind
        time_of, type_of, items_of, sift = agent.time, agent.type, agent.read, history.sift
        enter, begin, pass_by, hide = history.enter, rows.begin, session.pass_by, self._hide
        meanings, derived = self._meanings, self._derived
        for record in records:
            value = record[3]
            kind = value.get("type")
            if type(kind) is str and kind in silent:
                hide(kind)
                continue
            if sorts and (whose := history.whose(value)):
                child = self._child(whose)
                child.rows.store = rows.store
                child.take(record)
                if child.above is self and (row := child.subagent.tool_use) is not None:
                    rows.changed.add(row)
                continue
            time = time_of(value)
            if time is not None:
                self.clock = None
                pass_by(time)
            elif self.clock is not None:
                time = self.clock()
            if (places is not None and self._is_copy(record, time, places)) or not enter(record, time):
                session.duplicates += 1
                continue
            if not facts.setting_known:
                facts.set(agent.setting(value))
            copied = history.copied
            first = begin(time, copied != "")
            if history.whole and rows.growing:
                self.talk.stop_growing()
            if history.branched:
                self.talk.branched = True
            if copied or history.forked:
                self._inherit(copied or history.forked)
            used = repeats = False
            for number, item in enumerate(items_of(value)):
                if (meaning := meanings.get(type(item))) is not None:
                    if (done := meaning(record, number, item)) is not None:
                        used, repeats = used or done, repeats or not done
                    continue
                for place, at, known in sift(record, number, item):
                    if (done := derived[type(known)](place, at, known)) is not None:
                        used, repeats = used or done, repeats or not done
            if used or len(kinds) > first:
                continue
            if repeats:
                session.duplicates += 1
            else:
                hide(type_of(value))

    def _hide(self, what: str) -> None:
        """Count a record, or a part of one, that holds nothing to read."""
        hidden, what = self._session.hidden, _short(what)
        dict.__setitem__(hidden, what, hidden.get(what, 0) + 1)  # it is clean already

    def _is_copy(self, record: Record, time: float | None, places: dict[int, tuple[int, int]]) -> bool:
        """Return whether an equal record was read before, and its id or its time tells that it is no other one."""
        value, here, stores = record[3], (self.rows.store, record[0]), self.session.stores
        name = self.agent.name_of(value)
        if not name and time is None:
            return False
        # Of records with one time and one length the first stands under these, the others under all that they say.
        for every in (False, True):
            mark = hash(repr(value) if every else (name, time, record[1]))
            store, offset = places.setdefault(mark, here)
            if (store, offset) == here:
                return False
            if stores[store].record(offset, record[1]) == value:
                return True
        return False

    def _turn(self, record: Record, number: int, turn: words.Turn) -> None:
        self.talk.begin_turn(turn)
        if not turn.begins:
            self.uses.end_turn(turn.failed)

    def _fact(self, record: Record, number: int, fact: words.Fact) -> None:
        said = fact.said
        if (model := said.pop("model", None)) is not None:
            self.talk.model = model if isinstance(model, str) else ""
        if isinstance(place := said.pop("cwd", None), str):
            self.rows.enter(one_line(place, 4096))
        self.facts.learn(fact)

    def _skip(self, record: Record, number: int, skip: words.Skip) -> bool:
        self._hide(skip.what)
        return True

    def _total(self, record: Record, number: int, total: words.Total) -> bool | None:
        if total.beside and self.session.lineage.forked_from:
            return None
        return self.tokens.total(record, total, elsewhere=total.beside and bool(self._beside or self.uses.tasks))

    def _inherit(self, source: str) -> None:
        """The record is another session's, and so is all that was read before it."""
        session, (rows, groups) = self.session, self._inherited
        messages = session.messages
        if source != session.lineage.parent:
            session.lineage.forked_from = session.lineage.forked_from or one_line(source, 300)
        for row in range(rows, len(messages)):
            if not messages.flags[row] & _INHERITED:
                messages.flags[row] |= _INHERITED
                self.rows.changed.add(row)
        for exchange in session.exchanges[messages.exchange[rows - 1] if rows else 0 :]:
            exchange.inherited = True
        self.tokens.inherit_groups(groups, source)
        self._inherited = len(messages), len(session.groups)

    def _child(self, name: str) -> Reader:
        """The reader of a subagent within this source."""
        child = self.children.get(name)
        if child is None and len(self.children) >= _MOST_CHILDREN:
            return next(reversed(self.children.values()))
        if child is None:
            own, shown = self.session, one_line(name, 80)
            session = Session(own.provider, own.provider_name, own.path, f"{own.id}:{shown}")
            session.stores, session.lineage.parent, session.lineage.agent_id = own.stores, own.id, shown
            child = self.children[name] = Reader(self.agent, session, self)
            child.subagent.id, child.talk.untold = shown, partial(self._task_prompt, name)
            own.subagents.append(child.subagent)
        return child

    def _task_prompt(self, name: str) -> str:
        """The prompt of a subagent within, as the tool use that started it has it; empty where none is known."""
        for reader in (self, *self.children.values()):
            if (task := reader.uses.tasks.get(reader.uses.row(self._started_by.get(name, name)))) is not None:
                return task.prompt
        return ""

    def _link(self, record: Record, number: int, link: words.Link) -> None:
        (self.root or self)._started_by[link.agent] = link.use_id
        self.uses.link(link)

    def _child_beside(self, child: words.Child) -> None:
        path = child.path or (address_of(source_of(self.session.path)[0], child.key) if child.key else None)
        if (path or child.id) in self._beside:
            return
        named = None if path is None else self._beside.pop(child.id, None)
        if path is None and any(known.id == child.id for known, _ in self._beside.values()):
            return
        subagent = named[1] if named is not None else Subagent(one_line(child.id, 80))
        subagent.path, subagent.internal = path, child.internal
        subagent.name = one_line(child.task.name, 80) or subagent.name
        subagent.description = one_line(child.task.description, 200) or subagent.description
        self._beside[path or child.id] = child, subagent
        if child.own and named is None:
            self.session.subagents.append(subagent)

    def _link_beside(self) -> None:
        for child, subagent in self._beside.values():
            if subagent.tool_use is None and not child.internal:
                row = self.uses.find(child.id, child.use_id, child.task.prompt)
                if row >= 0:
                    self.uses.attach(subagent, row)

    def _link_within(self) -> None:
        readers = [reader for reader in (self, *self.children.values()) if reader.uses]
        if not readers or all(child.above for child in self.children.values()):
            return
        any_unled = any(reader.uses.any_unled() for reader in readers)
        for name, child in self.children.items():
            if child.above is not None:
                continue
            subagent = child.subagent
            subagent.name = subagent.name or text_of(child.session.metadata.get("agentName"))
            use_id = self._started_by.get(name, name)
            prompt = child.prompt() if any_unled else ""
            for reader in readers:
                if (row := reader.uses.find(name, use_id, prompt)) < 0 or child.is_above(reader):
                    continue  # not its use, or it claims to have started itself
                child.above = reader
                if reader is not self:
                    self.session.subagents.remove(subagent)
                reader.uses.attach(subagent, row)
                child.session.lineage.parent = reader.session.id
                break

    def is_above(self, reader: Reader) -> bool:
        """Return whether a reader is this one, or that of a subagent which its agent started, at any depth."""
        found: Reader | None = reader
        while found is not None and found is not self:
            found = found.above
        return found is self

    def prompt(self) -> str:
        """The whole text of the first prompt."""
        row = next((e.start for e in self.session.exchanges if e.opener is Kind.PROMPT), -1)
        return "" if row < 0 else self.session.message(row).text

    def settle(self) -> None:
        """After some records: what was taken back, who started whom, the title."""
        for row, live in self.history.settle():
            self.talk.mark(row, live=live)
        self.talk.settle()
        for child in self.children.values():
            child.settle()
            for row in child.rows.changed:  # a subagent's changes are in nobody's list
                child.session.note_change(row)
            child.rows.changed.clear()
        if self.session.lacks:
            self.session.lacks -= set(self._told())
        self._link_within()
        self._link_beside()
        self.facts.settle_title(self.history.knows)

    def _told(self) -> Iterator[Lack]:
        """Yield the facts that the messages since the last time have, though the agent's sources may lack them."""
        messages, first = self.session.messages, self._settled
        self._settled = len(messages)
        new = range(first, len(messages))
        if any(messages.when(row) is not None for row in new):
            yield Lack.TIMES
        if any(messages.kind[row] == Kind.THINKING and messages.chars[row] for row in new):
            yield Lack.THINKING
        if self.uses.answered:
            yield Lack.RESULTS
        if len(self.session.groups):
            yield Lack.TOKENS

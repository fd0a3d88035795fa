"""A Toolpath path as a session, whether its steps stand in a document or in a stream.

Read are versions 1.0.0 and 1.1.0 of the kind, both drafts of 1.2, and documents of the older, tagged form (formats
note 1.9). Steps stay in the document's order, so that a stream can be followed; those on a branch that led nowhere are
marked as rewound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from schemas.agents import id_called, name_of
from schemas.broken import why_unread
from schemas.clean import clean, clean_value, one_line
from schemas.interchange.parser import RecordParser
from schemas.interchange.session_data_facts import as_text
from schemas.interchange.session_data_write import Names
from schemas.interchange.toolpath import (
    EVENT,
    KIND,
    KIND_1_0,
    SESSION_KIND,
    TURN,
    Told,
    as_graph,
    begins_document,
    identity_of,
    is_session_step,
    is_stream,
    parents_of,
    payload_of,
    payloads_of,
    read_counted,
    structural_type,
)
from schemas.interchange.toolpath_document import Branches, StepStore, in_place, session_lines, skim
from schemas.interchange.toolpath_steps import delegation_of, delegations_of, step_messages, uses_of
from schemas.message import Flag, Kind, Message
from schemas.provider import HEAD_BYTES, Format, Head, Reading, SavedFormat, beginning
from schemas.reading import LinesReading, ParsedReading, open_file
from schemas.records import JsonLines, MemoryStore, Record, read_document
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage
from schemas.values import dict_of, list_of

Data = dict[str, Any]
_MADE_ANEW = ("turnlog", "actors", "signatures", "kind", "source", "title", "producer", "files_changed")
"""Keys of a path's meta that a session has a place for, and the one that earlier versions of turnlog wrote."""
_DEEPEST = 80
"""Subagents within subagents; 79 levels have been seen, and a session must not end in Python's own limit."""


# -- files -------------------------------------------------------------------------------------------------------------


def open_toolpath(path: Path) -> Reading:
    """A reading of the session in a file; one that is empty so far becomes a stream.

    Raises OSError for a document, or the beginning of a stream, of paths that are no sessions.
    """
    store = open_file(path)
    start = store.read(0, HEAD_BYTES)
    if not begins_document(start):
        start, _ = beginning(store.read)
    records = JsonLines().push(start if start.endswith(b"\n") else start + b"\n")
    if start.strip() and not (records and "PathOpen" in records[0][3]):
        store.close()
        return ToolpathReading(path)
    try:
        _refuse_stream([record[3] for record in records])
    except OSError:
        store.close()
        raise
    return LinesReading(store, ToolpathParser(path))


class ToolpathReading(ParsedReading):
    """A document. Its steps stay the bytes they are, where it is one as producers write them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ToolpathParser(path))

    def parse(self, data: bytes) -> ToolpathParser:
        """The document's first session, with the others. Raises OSError for what is no document, or holds none."""
        parser = self._parse(data)
        if parser is None and (broken := self.broken(data)) and (parser := self._parse(broken.data)):
            parser.session.unreadable.append(broken.gap)
        if parser is None:
            raise OSError(why_unread(data))
        return parser

    def _parse(self, data: bytes) -> ToolpathParser | None:
        """None of what is no document."""
        try:
            sessions = session_lines(skim(data))
        except (ValueError, RecursionError):
            sessions = []  # damaged, or not a whole one
        if sessions and all(map(in_place, sessions)):
            return self._read(sessions, lambda: StepStore(self.path, data))
        document = read_document(data)
        if as_graph(document) is None:
            return None
        return self._read(session_lines(document), lambda: MemoryStore(self.path))

    def _read(self, sessions: list[list[Data]], make_store: Callable[[], StepStore | MemoryStore]) -> ToolpathParser:
        parsers = []
        for lines in sessions:
            parser, store = ToolpathParser(self.path), make_store()
            parser.session.stores.append(store)
            parser.feed(map(store.add, lines))
            parsers.append(parser)
        parsers[0].take_others(parsers[1:])
        return parsers[0]


def _refuse_stream(records: list[Data]) -> None:
    kind = dict_of(dict_of(records[0].get("PathOpen")).get("meta")).get("kind") if records else None
    step = next((record["Step"] for record in records if "Step" in record), None)
    if isinstance(kind, str) and not SESSION_KIND.fullmatch(kind):
        raise OSError(f"a Toolpath stream of the kind {one_line(kind, 80)}, which is no agent's session")
    if kind is None and step is not None and not is_session_step(step):
        raise OSError("a Toolpath stream of a path that names no kind and is no agent's session")


def read_path(path: Data, file: Path, depth: int = 0) -> Session:
    """The session in a path that is at hand already, such as a subagent's within its parent's."""
    parser, store = ToolpathParser(file, depth), MemoryStore(file)
    parser.session.stores.append(store)
    parser.feed([store.add(line) for line in session_lines({"graph": {}, "paths": [path]})[0]])
    return parser.session


# -- tokens ------------------------------------------------------------------------------------------------------------
#
# A group may be a whole round of calls, each of which a step attributes to itself (`attributed_token_usage`); the
# group's total says what they cost together. They are read as the token groups that a native Codex session has, one a
# call, since prices depend on how much a single call reads. What nobody attributes is one more, so the sum stays the
# group's total.

_SPENT = ("input", "output", "cache_read", "cache_write")


@dataclass(slots=True)
class Run:
    """The turns of one group so far."""

    name: str | None = None
    turns: list[tuple[Sequence[int], TokenUsage | None, Record]] = field(default_factory=list)
    """Of each turn its messages, what it attributes to itself, and where it lies (without the record itself)."""
    total: TokenUsage | None = None
    groups: list[int] = field(default_factory=list)
    """The session's token groups that were made of it, once its total was said."""


CallUsage = tuple[list[int], TokenUsage, Record]
"""One call of a run: its messages, its tokens, and the record that says so."""


def calls_of(run: Run, total: TokenUsage) -> list[CallUsage]:
    """The calls, which add up to the total; one where nothing is attributed, or more than there is."""
    shares = [share for _, share, _ in run.turns if share is not None and share.total]
    rest, last = _rest(total, shares), run.turns[-1][2]
    if not shares or rest is None:
        return [([index for messages, _, _ in run.turns for index in messages], total, last)]
    calls: list[CallUsage] = []
    waiting: list[int] = []
    for messages, share, record in run.turns:
        waiting.extend(messages)
        if share is not None and share.total:
            calls.append((waiting, _as_known(share, total), record))
            waiting = []
    if not rest.total:  # thinking is a part of the output; it can be said of the total alone
        before, usage, last = calls.pop()
        waiting, rest = before + waiting, usage + TokenUsage(reasoning=rest.reasoning)
    return [*calls, (waiting, rest, last)]


def _rest(total: TokenUsage, shares: list[TokenUsage]) -> TokenUsage | None:
    """Return what the shares leave of the total; None where they say more than it has."""
    spent = {name: sum(getattr(share, name) or 0 for share in shares) for name in _SPENT}
    if any(count > (getattr(total, name) or 0) for name, count in spent.items()):
        return None
    thought = sum(_as_known(share, total).reasoning or 0 for share in shares)
    return total.less(TokenUsage(**spent, reasoning=thought))


def _as_known(share: TokenUsage, total: TokenUsage) -> TokenUsage:
    """A share without figures that the total does not have: what is unknown of the whole must stay so."""
    return TokenUsage(*(None if whole is None else part for part, whole in zip(share, total, strict=True)))


class ToolpathParser(RecordParser):
    """Takes the lines of a stream, any number at a time."""

    def __init__(self, path: Path, depth: int = 0) -> None:
        super().__init__(Session("toolpath", "Toolpath", path, path.stem))
        self.told = Told()
        self._source = ""
        """Who made the session, as the path says it."""
        self.path_id = ""
        self._depth = depth
        self._opened = self._named = self._old = False
        self._meta: Data = {}
        self._branches = Branches()
        self._run = Run()
        self._run_group = self._run_model = -1
        self._group_names = Names()

    def messages(self, value: Data) -> list[Message]:
        """The messages of a line: those of a step, or a note of what else is in the document, as the first says it."""
        if (step := value.get("Step")) is not None:
            return step_messages(dict_of(step), self._source)
        note = as_text(dict_of(value.get("PathOpen")).get("note"))
        return [Message(-1, "toolpath-note", Kind.NOTE, 0, label=one_line(note, 300))]

    def take(self, record: Record) -> None:
        """Take one more line."""
        if len(record[3]) != 1:
            self.session.unknown["line with several keys"] += 1
            return
        ((variant, body),) = record[3].items()
        self._take_line(variant, dict_of(body), record)

    def _take_line(self, variant: str, body: Data, record: Record) -> None:
        if variant == "PathOpen" and not self._opened:
            self._open(body, record)
        elif variant == "Step":
            self._take_step(body, record)
        elif variant == "ActorDef":
            self.told.actors[as_text(body.get("actor"))] = dict_of(body.get("definition"))
        elif variant == "PathMeta":
            self._take_meta(dict_of(body.get("patch")))
        elif variant == "Head":
            self.told.head = as_text(body.get("step_id"))
            self._branches.lead_to(self.told.head)
        elif variant == "Signature":
            self.session.hidden[variant] += 1
        elif variant != "PathClose":
            self.session.unknown[one_line(variant, 60)] += 1

    def settle(self) -> set[int]:
        """See which turns are rewound by now; returns the messages that changed."""
        session, flag = self.session, int(Flag.REWOUND)
        updated: set[int] = set()
        for index, rewound in self._branches.marks():
            if bool(session.messages.flags[index] & flag) != rewound:
                session.messages.flags[index] ^= flag
                updated.add(index)
        if updated:
            for exchange in session.exchanges:
                of = session.message_range(exchange.index)
                exchange.rewound = bool(of) and all(session.messages.flags[index] & flag for index in of)
        return updated

    # -- the path --------------------------------------------------------------------------------------------------

    def _open(self, body: Data, record: Record) -> None:
        session, meta, base = self.session, dict_of(body.get("meta")), dict_of(body.get("base"))
        self._opened = True
        self._old = meta.get("kind") == KIND_1_0
        self.path_id = as_text(body.get("id"))
        session.id = self.path_id or session.id
        session.lineage.continues = as_text(dict_of(body.get("parent")).get("path")) or None
        session.branch = as_text(base.get("branch")) or None
        uri = as_text(base.get("uri"))
        if uri.startswith("toolpath:"):  # `toolpath:<path>/<step>`: the path branches off from another one's step
            session.lineage.forked_from = uri.removeprefix("toolpath:").rpartition("/")[0] or None
        session.workspace_root = unquote(uri.removeprefix("file://")) if uri.startswith("file://") else None
        around = dict_of(body.get("around"))
        session.hidden.update(dict_of(around.get("hidden")))
        session.metadata["toolpath"] = clean_value(
            {key: value for key, value in around.items() if value}
            | {key: body[key] for key in ("id", "base", "parent") if key in body}
            | ({"graphRef": body["graph_ref"]} if "graph_ref" in body else {})
        )
        self.told.actors |= dict_of(meta.get("actors"))
        self._hide_signatures(meta)
        self._take_meta(meta)
        if "note" in body:
            self.add(record)

    def _take_meta(self, patch: Data) -> None:
        """Take the path's meta, or what a later line says it is by now."""
        self._meta |= patch
        meta, session = self._meta, self.session
        source = self._source = as_text(meta.get("source"))
        graph = dict_of(dict_of(session.metadata.get("toolpath")).get("graphMeta"))
        session.title = one_line(as_text(meta.get("title")) or as_text(graph.get("title")))
        session.provider = id_called(source) or "toolpath"
        producer = dict_of(meta.get("producer"))
        name = as_text(producer.get("name"))
        session.version = as_text(producer.get("version")) or None
        session.provider_name = name_of(session.provider) or name or session.provider
        if name:
            session.metadata["originator"] = name
        foreign = {key: value for key, value in meta.items() if key not in _MADE_ANEW}
        session.metadata["toolpath"] = session.metadata.get("toolpath", {}) | {"meta": clean_value(foreign)}

    def _hide_signatures(self, meta: Data) -> None:
        if signatures := list_of(meta.get("signatures")):
            self.session.hidden["Signature"] += len(signatures)

    def take_others(self, others: Iterable[ToolpathParser]) -> None:
        """Take the document's other sessions: as subagents that no tool use started, so that who opens this one gets at
        them.
        """
        for other in others:
            title = f": {other.session.title}" if other.session.title else ""
            child = Subagent(other.path_id or other.session.id, session=other.session)
            child.description = one_line(f"another session of the document{title}", 200)
            self.session.subagents.append(child)
            self.told.others.append(child.id)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _take_step(self, step: Data, record: Record) -> None:
        session = self.session
        parents = parents_of(step)
        self.told.steps.append(record[:2])
        self.told.merges += len(set(parents)) > 1
        if not self._named:
            self._name_session(step)
        rows = self.add(record, self._model(step))
        said, turns = payload_of(step), list(payloads_of(step, TURN))
        if not rows:
            session.hidden[one_line(as_text(said.get("entry_type")) or "step without a change", 60)] += 1
        name = as_text(identity_of(step, "step").get("id"))
        self._branches.add(name, [clean(parent) for parent in parents], rows if turns else None)
        self._hide_signatures(dict_of(step.get("meta")))
        for turn in turns:  # no producer writes two into a step
            self._count(turn, name, rows, record)
            for row in delegations_of(turn):
                self._delegate(row, turn, rows.start)

    def _name_session(self, step: Data) -> None:
        """Name the session: its id stands in the address of its conversation."""
        for key, part in dict_of(step.get("change")).items():
            if structural_type(part) in (TURN, EVENT) and "://" in key:
                scheme, name = key.split("://", 1)
                name = name.partition("/")[2] or name if scheme == "agent" else name
                self.session.id = one_line(name, 300) or self.session.id
                self._named = True

    def _model(self, step: Data) -> str:
        """The real name of the step's model: of a draft's turn, of the actor, or made of the actor's name."""
        if model := as_text(payload_of(step).get("model")):
            return model
        actor = as_text(identity_of(step, "step").get("actor"))
        if not actor.startswith("agent:"):
            return ""
        name = as_text(dict_of(self.told.actors.get(actor)).get("model")) or actor.removeprefix("agent:")
        return "" if name == "unknown" else name

    # -- tokens ----------------------------------------------------------------------------------------------------

    def _count(self, said: Data, name: str, messages: range, record: Record) -> None:
        """Put a turn's messages into their token group; the total comes with the group's last turn."""
        usage, share = self._usage_of(said, "token_usage"), self._usage_of(said, "attributed_token_usage")
        role = as_text(said.get("role")).lower()
        if self._old:
            self._count_old(usage, name, role, messages, record)
            return
        group, run = as_text(said.get("group_id")) or None, self._run
        silent = group is None and usage is None and share is None
        if silent and not run.groups and role not in ("assistant", "agent"):
            return  # somebody spoke while a round went on: of Codex only the model's turns are its (formats note 1.5)
        if group is None or group != run.name:
            run = self._run = Run(group)
        run.turns.append((messages, share, (*record[:3], {})))
        if usage is None:
            return
        session = self.session
        if run.total is None:
            calls = calls_of(run, usage)
            run.groups = [self._group(group or name, *call) for call in calls]
            if any(share is not None for _, share, _ in run.turns):  # they are calls of the document's group
                session.rounds |= dict.fromkeys(run.groups, session.groups.ids[run.groups[0]])
            run.total = usage
        else:  # a total of the group was said too early
            more = run.total.largest(usage)
            last = run.groups[-1]
            session.extend_group(last, session.groups.usage[last] + more.less(run.total), record)
            run.total = more
            for index in messages:
                session.join_group(index, last)

    def _usage_of(self, said: Data, key: str) -> TokenUsage | None:
        value = said.get(key)
        usage = read_counted(self.session.provider, value) if isinstance(value, dict) else None
        return usage if usage is not None and usage.total is not None else None

    def _count_old(self, usage: TokenUsage | None, name: str, role: str, messages: range, record: Record) -> None:
        """Version 1.0.0 repeats usage on every turn of a message, so neighbours that say the same are one group; what a
        person says in between ends it, as the next turn answers that.
        """
        if role == "user":
            self._run_group = -1
        if usage is None:
            return
        session = self.session
        model = session.messages.model[messages[0]] if messages else 0
        last = session.groups.usage[self._run_group] if self._run_group >= 0 else None
        same = last is not None and last._replace(output=None, reasoning=None) == usage._replace(
            output=None, reasoning=None
        )
        if last is not None and same and (usage.output or 0) >= (last.output or 0) and self._run_model == model:
            session.extend_group(self._run_group, last.largest(usage), record)
            for index in messages:
                session.join_group(index, self._run_group)
        else:
            self._run_group = self._group(name, messages, usage, record)
        self._run_model = model

    def _group(self, name: str, messages: Sequence[int], usage: TokenUsage, record: Record) -> int:
        session = self.session
        latest = messages[-1] if messages else len(session.messages) - 1
        model = session.messages.model[latest] if latest >= 0 else 0
        # The format's own producer gives each run of one message's turns a total.
        group = session.add_group(self._group_names.free(name), usage, record, model=model)
        for index in messages:
            session.join_group(index, group)
        if messages and (ended := session.messages.exchange[latest]) != session.groups.exchange[group]:
            session.exchanges[-1].groups.remove(group)  # a call of a round that went on beyond the next prompt
            session.exchanges[ended].groups.append(group)
            session.groups.exchange[group] = ended
        return group

    # -- subagents -------------------------------------------------------------------------------------------------

    def _delegate(self, row: Data, said: Data, first: int) -> None:
        """Take a subagent, with its session where its turns stand here."""
        session, turns, name = self.session, list_of(row.get("turns")), as_text(row.get("agent_id"))
        child = next((subagent for subagent in session.subagents if subagent.id == name), None) if name else None
        if child is None:
            child = Subagent(name or f"{session.id}:{len(session.subagents)}")
            child.description = one_line(as_text(row.get("prompt")), 200)
            child.tool_use = self._tool_of(row, said, first)
            session.subagents.append(child)
        if turns and child.session is None and self._depth < _DEEPEST:
            steps = [self._as_step(turn, child.id, number) for number, turn in enumerate(turns)]
            meta = {"kind": KIND, "source": self._source, "actors": self.told.actors}
            path = {"path": {"id": child.id}, "steps": steps, "meta": meta}
            child.session = read_path(path, session.path, self._depth + 1)
            child.session.lineage.parent = session.id

    def _tool_of(self, row: Data, said: Data, first: int) -> int | None:
        kinds = self.session.messages.kind
        tools = [index for index in range(first, len(kinds)) if kinds[index] == Kind.TOOL]
        for use, index in zip(uses_of(said), tools, strict=False):
            if delegation_of(use, said) is row:
                return index
        return None

    def _as_step(self, turn: object, agent: str, number: int) -> Data:
        """A subagent's turn as a step: it is one, stands by itself as the payload of one, or is something else (the
        schema says nothing of what `turns` holds), which becomes an event so that it can be read.
        """
        if isinstance(turn, dict) and "step" in turn:
            return turn
        held = dict_of(turn)
        role, model = as_text(held.get("role")).lower(), as_text(held.get("model")) or "unknown"
        actor = "human:user" if role == "user" else f"agent:{model}"
        said = {key: value for key, value in held.items() if key not in ("id", "timestamp")} | {"type": TURN}
        if not isinstance(turn, dict):
            actor = f"tool:{self._source or 'unknown'}"
            said = {"type": EVENT, "entry_type": "turn", "text" if isinstance(turn, str) else "value": turn}
        name = as_text(held.get("id")) or f"{agent}-{number}"
        identity = {"id": name, "actor": actor, "timestamp": held.get("timestamp")}
        return {"step": identity, "change": {f"{self._source}://{agent}": {"structural": said}}}


def _detect(head: Head) -> bool:
    """Return whether the file is a Toolpath document or stream; whether it holds a session is seen on reading."""
    if as_graph(head.document) is not None or is_stream(head):
        return True
    return len(head.data) >= HEAD_BYTES and begins_document(head.data)


TOOLPATH = SavedFormat(
    "toolpath",
    "Toolpath",
    "A group's total stands on its last step and counts there, once; what steps attribute to themselves is part of it.",
    (
        Format("Toolpath, one JSON document", "an object with graph and paths, or one path or step by itself"),
        Format("Toolpath, JSON lines", "a first record with nothing but PathOpen"),
    ),
    _detect,
    open_toolpath,
)

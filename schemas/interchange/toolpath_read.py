"""A Toolpath path as a session, whether its steps stand in a document or in a stream (toolpath_open.py).

Read are versions 1.0.0 and 1.1.0 of the kind, both drafts of 1.2, and documents of the older, tagged form (formats
note 1.9). What turnlog wrote comes back as it was from `meta.turnlog`; toolpath_write.py is the other half. Steps stay
in the document's order, so that a stream can be followed; those on a branch that led nowhere are marked as rewound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from schemas.clean import clean, clean_value, one_line
from schemas.interchange.session_data_parts import as_object, as_text
from schemas.interchange.session_data_read import SessionDataParser, make_message, read_time, take_inherited
from schemas.interchange.session_data_write import EPOCH, KEEP
from schemas.interchange.toolpath import (
    EVENT,
    KIND,
    KIND_1_0,
    NAMES,
    PROVIDERS,
    TURN,
    structural_type,
)
from schemas.interchange.toolpath_accounts import read_counted
from schemas.interchange.toolpath_branches import Branches
from schemas.interchange.toolpath_calls import Run, calls_of, more_than
from schemas.interchange.toolpath_document import session_lines
from schemas.interchange.toolpath_foreign import delegation_of, delegations_of, is_started, step_messages, turns_of
from schemas.interchange.toolpath_origin import payload_of
from schemas.interchange.toolpath_pieces import put_together
from schemas.interchange.toolpath_stream import parents_of
from schemas.message import Flag, Kind, Message
from schemas.records import MemoryStore, Record
from schemas.session import Change, Op, Session, Subagent
from schemas.usage import TokenUsage

Data = dict[str, Any]
_MADE_ANEW = ("turnlog", "actors", "signatures", "kind", "source", "title", "producer", "files_changed")
"""Keys of a path's meta that a session has a place for."""
_DEEPEST = 80
"""Subagents within subagents; 79 levels have been seen, and a session must not end in Python's own limit."""


def read_path(path: Data, file: Path, depth: int = 0) -> Session:
    """The session in a path that is at hand already, such as a subagent's within its parent's."""
    parser, store = ToolpathParser(file, depth), MemoryStore(file)
    parser.session.stores.append(store)
    parser.feed([store.add(line) for line in session_lines({"graph": {}, "paths": [path]})[0]])
    return parser.session


def parser_of(session: Session) -> ToolpathParser | None:
    """What read the session, if it was read from a Toolpath document."""
    parser = getattr(session.build, "__self__", None)
    return parser if isinstance(parser, ToolpathParser) else None


class ToolpathParser(SessionDataParser):
    """Takes the lines of a stream, any number at a time."""

    def __init__(self, path: Path, depth: int = 0) -> None:
        super().__init__(path)
        self.session.provider, self.session.provider_name = "toolpath", "Toolpath"
        self.session.build = self._build
        self.rounds = False
        """Whether turnlog wrote it of a session whose token groups are parts of the format's."""
        self.merges = 0
        """Steps that follow several, which no other format can say."""
        self.attributes = False
        """Whether a message may say what its turn attributes to itself."""
        self.alone: dict[tuple[int, int], Subagent] = {}
        """The subagents that a turn names and no tool use started, by the step's offset and the place in its list."""
        self.others: list[str] = []
        """The ids of the document's other paths that are sessions too."""
        self._path_id = ""
        self._built: tuple[Data, list[Data]] = {}, []
        """The step of which a message was built last, and its messages: they are asked for in turn."""
        self._depth = depth
        self._opened = self._named = False
        self._ours = False
        self._source = ""
        self._old = False
        self.actors: dict[str, Any] = {}
        """Who the document says its actors are."""
        self._meta: Data = {}
        self._rows: list[Data] = []
        self._exact: dict[int, tuple[float | None, float | None]] = {}
        self._branches = Branches()
        self._run = Run()
        self._run_group = self._run_model = -1
        self._group_names: set[str] = set()
        self._repeats: dict[str, int] = {}

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more lines."""
        before = len(self.session.messages)
        for record in records:
            for variant, body in record[3].items() if len(record[3]) == 1 else ():
                self._take_line(variant, as_object(body), record)
            if len(record[3]) != 1:
                self.session.unknown["line with several keys"] += 1
        updated = self._settle()
        appended = [Change(Op.APPENDED, index) for index in range(before, len(self.session.messages))]
        return [Change(Op.UPDATED, index) for index in sorted(updated) if index < before] + appended

    def _take_line(self, variant: str, body: Data, record: Record) -> None:
        if variant == "PathOpen" and not self._opened:
            self._open(body, record)
        elif variant == "Step":
            self._take_step(body, record)
        elif variant == "ActorDef":
            self.actors[as_text(body.get("actor"))] = as_object(body.get("definition"))
        elif variant == "PathMeta":
            self._take_meta(as_object(body.get("patch")))
        elif variant == "Head":
            self._branches.lead_to(as_text(body.get("step_id")))
        elif variant == "Signature":
            self.session.hidden[variant] += 1
        elif variant != "PathClose":
            self.session.unknown[one_line(variant, 60)] += 1

    # -- the path --------------------------------------------------------------------------------------------------

    def _open(self, body: Data, record: Record) -> None:
        self._opened = True
        self._path_id = as_text(body.get("id"))
        meta = as_object(body.get("meta"))
        ours = as_object(meta.get("turnlog"))
        self._ours = isinstance(ours.get("document"), dict)
        self._old = meta.get("kind") == KIND_1_0
        session = self.session
        self.attributes = self._ours
        if self._ours:
            self.rounds = ours.get("accounting") == "rounds"
            self._take_head(ours["document"])
            self._take_facts(as_object(ours.get("session")), record)
            for row in _list(self._facts.get("subagents")):
                self._rows.append(as_object(row))
                session.subagents.append(self._subagent(as_object(row)))
        else:
            session.id = as_text(body.get("id")) or session.id
            session.lineage.continues = as_text(as_object(body.get("parent")).get("path")) or None
            base = as_object(body.get("base"))
            session.branch = as_text(base.get("branch")) or None
            uri = as_text(base.get("uri"))
            if uri.startswith("toolpath:"):  # `toolpath:<path>/<step>`: the path branches off from another one's step
                session.lineage.forked_from = uri.removeprefix("toolpath:").rpartition("/")[0] or None
            self._hide_signatures(meta)
            session.workspace_root = unquote(uri.removeprefix("file://")) if uri.startswith("file://") else None
            around = as_object(body.get("around"))
            session.metadata["toolpath"] = clean_value(
                {key: value for key, value in around.items() if value}
                | {key: body[key] for key in ("id", "base", "parent") if key in body}
                | ({"graphRef": body["graph_ref"]} if "graph_ref" in body else {})
            )
            self.session.hidden.update(as_object(around.get("hidden")))
        self.actors |= as_object(meta.get("actors"))
        self._take_meta(meta)
        if "note" in body and not self._ours:  # what turnlog wrote has it already
            self._add([self._note(body)], record)

    def take_others(self, others: Iterable[ToolpathParser]) -> None:
        """The document's other sessions: who opens this one gets at them as at subagents that no tool use started."""
        session = self.session
        rows = zip(self._rows, session.subagents, strict=False)  # turnlog's own document has a row for each
        known = {as_text(row.get("graphPath")): child for row, child in rows}
        for other in others:
            child = known.get(other._path_id) if other._path_id else None
            if child is None:
                title = f": {other.session.title}" if other.session.title else ""
                child = Subagent(other._path_id or other.session.id)
                child.description = one_line(f"another session of the document{title}", 200)
                session.subagents.append(child)
            child.session = other.session
            self.others.append(child.id)

    def _take_meta(self, patch: Data) -> None:
        """The path's meta, or what a later line says it is by now."""
        self._meta |= patch
        meta, session = self._meta, self.session
        self._source = as_text(meta.get("source"))
        if self._ours:
            return
        graph = as_object(as_object(session.metadata.get("toolpath")).get("graphMeta"))
        session.title = one_line(as_text(meta.get("title")) or as_text(graph.get("title")))
        session.provider = PROVIDERS.get(self._source, self._source) or "toolpath"
        producer = as_object(meta.get("producer"))
        session.version = as_text(producer.get("version")) or None
        session.provider_name = NAMES.get(session.provider) or as_text(producer.get("name")) or session.provider
        if name := as_text(producer.get("name")):
            session.metadata["originator"] = name
        foreign = {key: value for key, value in meta.items() if key not in _MADE_ANEW}
        session.metadata["toolpath"] = session.metadata.get("toolpath", {}) | {"meta": clean_value(foreign)}

    def _hide_signatures(self, meta: Data) -> None:
        if signatures := _list(meta.get("signatures")):
            self.session.hidden["Signature"] += len(signatures)

    def _note(self, body: Data) -> Data:
        ours = {"kind": "note", "label": one_line(as_text(body.get("note")), 300)}
        return {"id": "toolpath-note", "role": "agent", "metadata": {"turnlog": ours}}

    # -- steps -----------------------------------------------------------------------------------------------------

    def _messages_of(self, line: Data) -> list[Data]:
        """The messages of a line in SessionData's shape."""
        if "Step" not in line:
            return [self._note(as_object(line.get("PathOpen")))]
        step = as_object(line.get("Step"))
        kept = self._kept_of(step)
        if kept is not None:
            payload, change = payload_of(step), as_object(step.get("change"))
            messages = put_together(payload, change, kept, as_object(step.get("step")).get("timestamp"))
            if messages is not None:
                return messages
        return step_messages(step, self._source)

    def _kept_of(self, step: Data) -> list[Any] | None:
        """What turnlog wrote about a step's messages; None where it is another program's step."""
        ours = as_object(as_object(step.get("meta")).get("turnlog"))
        kept = ours.get("messages")
        if self._ours and ours.keys() == {"record"}:
            return []
        return kept if self._ours and isinstance(kept, list) else None

    def _build(self, session: Session, index: int) -> Message:
        rows = session.messages
        line = session.record(next(session.spans.chain(rows.span[index])))
        if self._built[0] is not line:
            self._built = line, self._messages_of(line)
        messages = self._built[1]
        block = rows.block[index]
        return make_message(session, index, messages[block] if block < len(messages) else {}, block, 0)

    def _take_step(self, step: Data, record: Record) -> None:
        session = self.session
        identity = as_object(step.get("step"))
        self.merges += len(set(parents_of(step))) > 1
        if not self._named and not self._ours:
            self._name_session(step)
        ours = as_object(as_object(step.get("meta")).get("turnlog"))
        if self._ours and isinstance(ours.get("exchange"), dict):
            self._open_exchange(ours["exchange"], record)
        kept = self._kept_of(step)
        messages = self._messages_of(record[3])
        first = len(session.messages)
        self._add(messages, record, model=self._model(step) if kept is None else "", own=kept is not None)
        said = payload_of(step)
        if kept is None:
            if not messages and not self._ours:  # turnlog's own document says how many were hidden
                session.hidden[one_line(as_text(said.get("entry_type")) or "step without a change", 60)] += 1
            name = as_text(identity.get("id"))
            parents = [clean(p) for p in parents_of(step)]
            is_turn = said.get("type") == TURN
            self._branches.add(name, parents, range(first, len(session.messages)) if is_turn else None)
            if is_turn:
                self._count(said, name, range(first, len(session.messages)), record)
            self._hide_signatures(as_object(step.get("meta")))
        for number, row in enumerate(delegations_of(said)):
            child = self._delegate(row, said, first, own=kept is not None)
            ours = as_object(row.get("turnlog"))
            alone = ours.get("alone") is True if kept is not None else not is_started(row, said)
            if child is not None and alone:
                self.alone[record[0], number] = child
        for other in turns_of(step)[1:] if kept is None else ():  # no producer writes two turns into a step
            self._count(other, name, range(0), record)
            for row in delegations_of(other):
                self._delegate(row, other, first, own=False)

    def _name_session(self, step: Data) -> None:
        """A session's id stands in the address of its conversation."""
        for key, part in as_object(step.get("change")).items():
            if structural_type(part) == TURN and "://" in key:
                scheme, name = key.split("://", 1)
                name = name.partition("/")[2] or name if scheme == "agent" else name
                self.session.id = one_line(name, 300) or self.session.id
                self._named = True

    def _model(self, step: Data) -> str:
        """The real name of the step's model: of a draft's turn, of the actor, or made of the actor's name."""
        if model := as_text(payload_of(step).get("model")):
            return model
        actor = as_text(as_object(step.get("step")).get("actor"))
        if not actor.startswith("agent:"):
            return ""
        name = as_text(as_object(self.actors.get(actor)).get("model")) or actor.removeprefix("agent:")
        return "" if name == "unknown" else name

    def _add(self, messages: list[Data], record: Record, model: str = "", *, own: bool = False) -> None:
        """Add the messages of a step; each prompt of another program's document opens an exchange."""
        for at, data in enumerate(messages):
            ours = as_object(as_object(data.get("metadata")).get("turnlog"))
            kind = ours.get("kind")
            if not own and kind in ("prompt", "command"):
                text = "".join(as_text(part.get("text")) for part in data.get("content", ()))
                self._open_exchange({"metadata": {"turnlog": {"opener": kind, "prompt": text[:1000]}}}, record)
            elif not self.session.exchanges:
                self._open_exchange({"metadata": {"turnlog": {"opener": None}}}, record)
            self._own = True
            self._take_message(data | ({"model": model} if model else {}), at, record, at=at)
            if not own:
                self._mark(kind, ours)

    def _mark(self, kind: object, ours: Data) -> None:
        session = self.session
        if kind in ("prompt", "command"):
            session.mark_opener(len(session.messages) - 1)
        if kind == "tool" and "error" in _list(ours.get("flags")):
            session.exchanges[-1].errors += 1

    def _open_exchange(self, data: Data, record: Record) -> None:
        number = len(self.session.exchanges)
        self._take_exchange(data, record)
        if "exchangeId" in data:
            self._exact[number] = read_time(data.get("startTime")), read_time(data.get("endTime"))

    # -- tokens ----------------------------------------------------------------------------------------------------

    def _count(self, said: Data, name: str, messages: range, record: Record) -> None:
        """Put a turn's messages into their token group; the total comes with the group's last turn."""
        usage, share = self._usage_of(said, "token_usage"), self._usage_of(said, "attributed_token_usage")
        self.attributes = self.attributes or share is not None
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
            run.groups = [self._group(group or name, call.usage, call.messages, call.record) for call in calls]
            if len(calls) > 1:
                self._kept["rounds"] |= {str(index): session.groups.ids[run.groups[0]] for index in run.groups}
            run.total = usage
        else:  # a total of the group was said too early
            more = run.total.largest(usage)
            last = run.groups[-1]
            session.extend_group(last, session.groups.usage[last] + more_than(more, run.total), record)
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
            self._run_group = self._group(name, usage, messages, record)
        self._run_model = model

    def _group(self, name: str, usage: TokenUsage, messages: Sequence[int], record: Record) -> int:
        session = self.session
        number, free = self._repeats.get(name, 1), name
        while free in self._group_names:  # the format's own producer gives each run of one message's turns a total
            number += 1
            free = f"{name}#{number}"
        self._group_names.add(free)
        self._repeats[name] = number
        latest = messages[-1] if messages else len(session.messages) - 1
        model = session.messages.model[latest] if latest >= 0 else 0
        self._kept["groupRecords"].append([])
        group = session.add_group(free, usage, record, model=model)
        for index in messages:
            session.join_group(index, group)
        if messages and (ended := session.messages.exchange[latest]) != session.groups.exchange[group]:
            session.exchanges[-1].groups.remove(group)  # a call of a round that went on beyond the next prompt
            session.exchanges[ended].groups.append(group)
            session.groups.exchange[group] = ended
        return group

    # -- subagents -------------------------------------------------------------------------------------------------

    def _delegate(self, row: Data, said: Data, first: int, *, own: bool) -> Subagent | None:
        """A subagent, with its session where its turns stand here; None where turnlog's own facts know none."""
        session, turns = self.session, _list(row.get("turns"))
        ours = as_object(row.get("turnlog"))
        name = as_text(ours.get("id")) if own else as_text(row.get("agent_id"))
        child = next((subagent for subagent in session.subagents if subagent.id == name), None) if name else None
        if own and child is None:
            return None
        if child is None:
            child = Subagent(name or f"{session.id}:{len(session.subagents)}")
            child.description = one_line(as_text(row.get("prompt")), 200)
            child.tool_use = self._tool_of(row, said, first)
            session.subagents.append(child)
        if turns and child.session is None and self._depth < _DEEPEST:
            steps = [self._as_step(turn, child.id, number) for number, turn in enumerate(turns)]
            path: Data = {"path": as_object(ours.get("path")) or {"id": child.id}, "steps": steps}
            path["meta"] = as_object(ours.get("meta")) or {"kind": KIND, "source": self._source, "actors": self.actors}
            child.session = read_path(path, session.path, self._depth + 1)
            child.session.lineage.parent = child.session.lineage.parent or (None if own else session.id)
        return child

    def _tool_of(self, row: Data, said: Data, first: int) -> int | None:
        uses = [use for use in _list(said.get("tool_uses")) if isinstance(use, dict)]
        kinds = self.session.messages.kind
        tools = [index for index in range(first, len(kinds)) if kinds[index] == Kind.TOOL]
        for use, index in zip(uses, tools, strict=False):
            if delegation_of(use, said) is row:
                return index
        return None

    def _as_step(self, turn: object, agent: str, number: int) -> Data:
        """A subagent's turn as a step: it is one, stands by itself as the payload of one, or is something else (the
        schema says nothing of what `turns` holds), which becomes an event so that it can be read.
        """
        if not isinstance(turn, dict):
            said = {"type": EVENT, "entry_type": "turn", "text" if isinstance(turn, str) else "value": turn}
            event: Data = {"id": f"{agent}-{number}", "actor": f"tool:{self._source or 'unknown'}", "timestamp": None}
            return {"step": event, "change": {f"{self._source}://{agent}": {"structural": said}}}
        if "step" in turn:
            return turn
        role = as_text(turn.get("role")).lower()
        model = as_text(turn.get("model")) or "unknown"
        identity = {
            "id": as_text(turn.get("id")) or f"{agent}-{number}",
            "actor": "human:user" if role == "user" else f"agent:{model}",
            "timestamp": turn.get("timestamp"),
        }
        said = {key: value for key, value in turn.items() if key not in ("id", "timestamp")} | {"type": TURN}
        return {"step": identity, "change": {f"{self._source}://{agent}": {"structural": said}}}

    # -- after each feed -------------------------------------------------------------------------------------------

    def _settle(self) -> set[int]:
        """What more lines may change: branches, ends of groups, times. Returns the messages that changed."""
        session = self.session
        updated: set[int] = set()
        for group, index in self._last.items():
            session.groups.last[group] = index
        flag = int(Flag.REWOUND)
        for index, rewound in self._branches.marks():
            if bool(session.messages.flags[index] & flag) != rewound:
                session.messages.flags[index] ^= flag
                updated.add(index)
        if updated:
            for exchange in session.exchanges:
                of = session.message_range(exchange.index)
                exchange.rewound = bool(of) and all(session.messages.flags[index] & flag for index in of)
        for number, (started, ended) in self._exact.items():
            session.exchanges[number].started, session.exchanges[number].ended = started, ended
        if self._ours:
            created = self._document.get("createdAt")
            session.created = None if created == EPOCH else read_time(created) or session.created
            session.updated = read_time(self._document.get("updatedAt"))
            for subagent, row in zip(session.subagents, self._rows, strict=False):
                subagent.tool_use = self._tools.get(as_text(row.get("toolUse")))
            take_inherited(session, self._facts, self._facts_span)
        session.metadata[KEEP] = self._kept
        return updated


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

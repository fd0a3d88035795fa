"""A session as a Toolpath document of the kind agent-coding-session v1.1.0, or as the stream form of it.

Steps stand in the session's order: a turn follows the turn before it, what is no turn hangs beside it as an event. So
the head's ancestors are all turns that were not rewound. A session that was read from Toolpath is written step by step
as it was. What the format has no place for is counted, for `export` to name it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from schemas.clean import clean, clean_value, one_line
from schemas.documents import load_schema
from schemas.interchange.session_data_facts import as_text, iso_time
from schemas.interchange.session_data_usage import tells_own, told_tokens
from schemas.interchange.session_data_write import Edit, Names, dump, unseen
from schemas.interchange.toolpath import (
    EVENT,
    KIND,
    TURN,
    WRITE,
    Told,
    id_of,
    parents_of,
    payloads_of,
    read_counted,
    structural_type,
    told_of,
)
from schemas.interchange.toolpath_document import OTHER_PATH
from schemas.interchange.toolpath_steps import delegations_of, words_of
from schemas.interchange.toolpath_tools import put_writes, tool_use
from schemas.interchange.toolpath_turns import SAID, Account, Line, accounts_of, by_record, source_of
from schemas.message import USER_KINDS, Flag, Kind, Message, ToolStatus
from schemas.session import Session, Subagent
from schemas.values import dict_of, list_of, text_of

LOSSES = {
    "image": "named, not included",
    "subagent session": "left out: in files of their own, nested too deeply, or started by no tool use",
    "other path": "left out, being no session's",
    "merge": "written as a step like any other, since only Toolpath has them",
    "hidden record": "left out, only counted",
    "unknown record": "left out, only counted",
    "signature": "left out, since what was signed is another document",
    "coloured run": "shown plain",
    "inherited response": "left out: what a fork has copies of counts in the session that it was forked from",
    "one-hour cache write": "written as any other cache write",
    "rewound turn": "written like any other: with no turn that stays before it, or none behind it, it is no branch",
    "odd total": "written in the agent's own figures, which are another sum than turnlog's",
    "tool fact": "left out: exit codes, durations, what is known of a failure",
    "message fact": "left out: what an agent notes about its messages",
    "session fact": "left out: origin, links, size of the context, names of subagents, lines that could not be read",
}
"""What the format, or this document, cannot hold; and what became of it."""
_NO_NAME = re.compile(r"[^a-zA-Z0-9_.-]")
_MADE = ("title", "kind", "source", "producer", "files_changed")
"""Keys of a path's meta that are made anew."""
_DEEPEST = 20
"""How deep subagents' turns nest; JSON readers have limits."""
_NO_TIME = "1970-01-01T00:00:00.000Z"
"""Stands where a step needs a time and none is known so far."""
_BETWEEN = {"text": "\n\n", "thinking": "\n"}
"""What stands between the pieces of a turn's text and of its thinking (formats note 6)."""
_CONVERSATION = SAID | USER_KINDS
"""The kinds of which a turn consists; of other messages that share its record only the turn's text may tell."""
_CARRIED = frozenset({"cwd", "gitBranch", "gitRevision", "stopReason", "recordType", "records", "tokens"})
"""Keys of a message's metadata that its step says, or that only say where it came from."""
_TOLD_STATUSES = (ToolStatus.OK, ToolStatus.ERROR, ToolStatus.PENDING)
Data = dict[str, Any]


def to_toolpath(
    session: Session, *, edit: Edit | None = None, subagents: bool = False, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The document in pieces, a step a line. `edit` and `subagents` are as for `to_session_data`.

    What the format cannot hold is counted in `lost`, by what it is.
    """
    writer = ToolpathWriter(session, edit=edit, subagents=subagents, lost=lost)
    others = writer.others_beside()
    graph = writer.graph
    yield dump({"graph": graph["graph"]})[:-1] + b',"paths":['
    yield from _path_pieces(writer)
    for other in others:
        yield b","
        yield from _path_pieces(other)
    refs = b"".join(b",\n" + dump(ref) for ref in graph["refs"])
    about = b',"meta":' + dump(graph["meta"]) if graph["meta"] else b""
    yield refs + b"]" + about + b"}\n"


def _path_pieces(writer: ToolpathWriter) -> Iterator[bytes]:
    """A path, a step a line."""
    lead = b'{"steps":[\n'
    for step in writer.steps():
        yield lead + dump(step)
        lead = b",\n"
    # The last step's line goes on: no line of the document is a record by itself, so none is taken for a session's.
    opening = b'{"steps":[' if lead.startswith(b"{") else b""
    yield opening + b"]," + dump({"path": writer.identity(), "meta": writer.meta()})[1:]


def to_toolpath_stream(
    session: Session, *, edit: Edit | None = None, subagents: bool = False, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The stream form, a line at a time, in the order that the format's own producer has (formats note 1.6)."""
    writer = ToolpathWriter(session, edit=edit, subagents=subagents, lost=lost)
    writer.leave_out_others()
    meta = writer.meta()
    actors = meta.pop("actors")
    opening: Data = {"version": "1"} | {key: item for key, item in writer.identity().items() if key != "head"}
    yield dump({"PathOpen": opening | {"meta": meta}}) + b"\n"
    for actor in sorted(actors):
        yield dump({"ActorDef": {"actor": actor, "definition": actors[actor]}}) + b"\n"
    for step in writer.steps():
        yield dump({"Step": step}) + b"\n"
    if changed := writer.meta().get("files_changed"):
        yield dump({"PathMeta": {"patch": {"files_changed": changed}}}) + b"\n"
    yield dump({"Head": {"step_id": writer.head}}) + b"\n"
    yield dump({"PathClose": {}}) + b"\n"


class ToolpathWriter:
    """The parts of one session's path. `head` and the files that changed are known once all steps were made."""

    def __init__(
        self,
        session: Session,
        *,
        edit: Edit | None = None,
        subagents: bool = False,
        lost: Counter[str] | None = None,
        parent: ToolpathWriter | None = None,
    ) -> None:
        self.session = session
        self.head = ""
        self._edit: Edit = edit or _as_it_is
        self._subagents = subagents
        self._lost: Counter[str] = Counter() if lost is None else lost
        self._depth: int = parent._depth + 1 if parent else 0
        self._source = source_of(session)
        self._told = told_of(session)
        self._kept = dict_of(session.metadata.get("toolpath"))
        """What another document says of its path, and of the graph around it."""
        self._names = Names()
        self._files: set[str] = set()
        self._time: str = iso_time(session.created) or (parent._time if parent else _NO_TIME)
        self._live = self._latest = ""
        self._at_end = 0
        """How many rewound turns came since the last one that stays."""
        self._turns = 0
        self._group: str | None = None
        """The group that the latest turn names."""
        self._ended = False
        """Whether it said the group's total, so that no further turn may be of it."""
        self.path_id = as_text(self._kept.get("id")) or f"path-{self._source.name}-{(session.id or 'session')[:8]}"
        within = [child for child in session.subagents if self._is_within(child)]
        outside = sum(child.path is not None and not self._is_within(child) for child in session.subagents)
        self._lost["subagent session"] += outside
        self._children: dict[int, list[Subagent]] = {}
        """The subagents whose turns go into this path, by the tool use that started them."""
        self._beside: list[Subagent] = []
        """Those of which nobody knows what started them, or that nest too deeply."""
        for child in within:
            if self._told is not None:
                if child.id in self._told.others:  # else its turns stand in the steps
                    self._beside.append(child)
            elif self._depth < _DEEPEST and child.tool_use is not None and self._is_tool(child.tool_use):
                self._children.setdefault(child.tool_use, []).append(child)
            else:
                self._beside.append(child)
        self._actors: dict[str, str] = parent._actors if parent else self._model_actors()
        """The actor of each model, subagents' included."""
        self._count_losses()

    def _is_within(self, child: Subagent) -> bool:
        return child.session is not None and (self._subagents or child.path is None)

    def _is_tool(self, index: int) -> bool:
        return self.session.messages.kind[index] == Kind.TOOL

    def others_beside(self) -> list[ToolpathWriter]:
        """The writers of the paths that stand beside this one: subagents of which nobody knows what started them."""
        names = Names()
        names.free(self.path_id)
        writers = []
        for child in self._beside:
            if child.session is not None:
                writer = self._writer_of(child.session)
                writer.path_id = names.free(writer.path_id)
                writer.leave_out_others()
                writers.append(writer)
        return writers

    def leave_out_others(self) -> None:
        """Count the subagents that would need a path of their own, where there is no place for one."""
        self._lost["subagent session"] += len(self._beside)

    def _writer_of(self, session: Session) -> ToolpathWriter:
        return ToolpathWriter(session, edit=self._edit, subagents=self._subagents, lost=self._lost, parent=self)

    # -- what is lost ----------------------------------------------------------------------------------------------

    def _count_losses(self) -> None:
        """Count what of the session as a whole has no place in the format."""
        session, lost, line = self.session, self._lost, self.session.lineage
        lost["unknown record"] += unseen(session)
        lost["signature"] += session.hidden["Signature"]
        lost["other path"] += session.hidden[OTHER_PATH]
        lost["session fact"] += bool(session.unreadable)
        if self._told is not None:
            return
        if not self._source.has_lines:
            lost["hidden record"] += sum(session.hidden.values())
        lost["inherited response"] += len(session.inherited)
        usages = map(session.groups.usage.__getitem__, range(len(session.groups)))
        lost["one-hour cache write"] += sum(bool(usage.cache_write_1h) for usage in usages)
        ancestors = (line.forked_from, line.continues, self._depth == 0 and line.parent)
        facts = (*ancestors, session.links, session.own_total, session.context_window, session.context_used)
        lost["session fact"] += sum(map(bool, facts)) + sum(bool(child.name) for child in session.subagents)

    def _count_message(self, message: Message) -> None:
        """Count what of a message has no place in the format."""
        tool, lost = message.tool, self._lost
        lost["image"] += len(message.images)
        lost["coloured run"] += sum(len(part.runs) for part in (*message.parts, *([tool] if tool is not None else ())))
        lost["odd total"] += tells_own(self.session.provider) and bool(told_tokens(message.metadata))
        lost["message fact"] += bool(message.metadata.keys() - _CARRIED)
        if tool is not None:
            facts = (tool.exit_code, tool.seconds, tool.summary, tool.formatted)
            told = sum(fact is not None for fact in facts) + tool.spilled
            lost["tool fact"] += told + (tool.status not in _TOLD_STATUSES)

    # -- the path --------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Data:
        """Return what stands around the paths: the graph's id and meta, and the paths that were only referred to."""
        refs = self._kept.get("refs")
        return self._edit(
            {
                "graph": {"id": as_text(self._kept.get("graph")) or self.path_id},
                "meta": sound_meta(self._kept.get("graphMeta")),
                "refs": [{"$ref": ref} for ref in (refs if isinstance(refs, list) else ()) if isinstance(ref, str)],
            }
        )

    def identity(self) -> Data:
        """The path's own object."""
        session, kept = self.session, self._kept
        identity: Data = {"id": self.path_id, "head": self.head}
        base = sound_base(kept.get("base"))
        if root := session.workspace_root:
            base = {"uri": f"file://{root}"} | base
        known = {"ref": session.metadata.get("gitRevision"), "branch": session.branch}
        base |= {key: item for key, item in known.items() if isinstance(item, str) and item and "uri" in base}
        if base:
            identity["base"] = base
        if graph_ref := as_text(kept.get("graphRef")):
            identity["graph_ref"] = graph_ref
        return self._edit(identity)

    def meta(self) -> Data:
        """The path's meta object."""
        session, source = self.session, self._source.name
        title = session.title or f"{session.provider_name} session: {session.id[:8]}"
        meta: Data = {"title": one_line(title), "kind": KIND, "source": source}
        meta |= {key: item for key, item in sound_meta(self._kept.get("meta")).items() if key not in _MADE}
        if remote := as_text(session.metadata.get("gitRemote")):
            meta["vcs_remote"] = remote
        if session.version:
            name = as_text(session.metadata.get("originator")) or source
            meta["producer"] = {"name": name, "version": session.version}
        if self._files:
            meta["files_changed"] = sorted(self._files)
        return self._edit(meta) | {"actors": self._actor_definitions()}

    def _model_actors(self) -> dict[str, str]:
        """For each model its actor: the pattern allows few characters, and two models must not become one."""
        names: dict[str, str] = {}
        for model in dict.fromkeys(_models_in(self.session)):
            if model in ("<synthetic>", ""):
                continue
            first, slash, rest = self._edit(model).partition("/")
            name = _NO_NAME.sub("-", first) or "-"
            name += f"/{_NO_NAME.sub('-', rest)}" if slash and rest else ""
            while f"agent:{name}" in names.values():
                name += "-"
            names[model] = f"agent:{name}"
        return names

    def _actor_definitions(self) -> Data:
        source = self._source.name
        if self._told is not None:
            said = {name: sound_actor(about) for name, about in self._told.actors.items() if is_actor(name)}
            return self._edit(said)
        actors: Data = {"human:user": {"name": "user"}, self._tool: {"name": source, "provider": source}}
        for model, actor in self._actors.items():
            actors[actor] = self._edit({"name": model, "provider": source, "model": model})
        table = self.session.messages
        if any(kind in SAID and not table.model[i] for i, kind in enumerate(table.kind)):
            actors["agent:unknown"] = {"name": "unknown", "provider": source}
        return actors

    @property
    def _tool(self) -> str:
        return f"tool:{_NO_NAME.sub('-', self._source.name) or 'unknown'}"

    def _actor(self, messages: list[Message]) -> str:
        if any(message.kind in USER_KINDS for message in messages):
            return "human:user"
        said = next((message for message in messages if message.kind in SAID), None)
        return self._tool if said is None else self._agent(said.model)

    def _agent(self, model: str | None) -> str:
        return self._tool if model == "<synthetic>" else self._actors.get(model or "", "agent:unknown")

    # -- steps -----------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[Data]:
        """All steps in order; to be gone through once."""
        return self._made_steps() if self._told is None else self._steps_again(self._told)

    def _made_steps(self) -> Iterator[Data]:
        session = self.session
        runs = self._source.turns()
        accounts, homeless = accounts_of(self._source, runs)
        # What else lies in a file of several sessions is said by the one that the file is of.
        others = iter(self._source.others() if self._depth == 0 else ())
        waiting = next(others, None)
        turns = zip(runs, accounts, strict=True)
        turn = next(turns, None)
        for exchange in session.exchanges:
            self._time = iso_time(exchange.started) or iso_time(exchange.ended) or self._time
            while turn is not None and session.messages.exchange[turn[0][0]] == exchange.index:
                place = self._place(turn[0][0])
                while waiting is not None and place is not None and waiting.offset <= place:
                    yield from self._other(waiting)
                    waiting = next(others, None)
                yield from self._steps_of(*turn)
                turn = next(turns, None)
            for model, spent in homeless.get(exchange.index, ()):
                if spent.is_known:
                    yield self._spent(model, spent)
        while waiting is not None:
            yield from self._other(waiting)
            waiting = next(others, None)
        self._lost["rewound turn"] += self._at_end

    def _place(self, index: int) -> int | None:
        """Return the offset of a message's record in the session's first store; None if it is in another."""
        span = next(self.session.spans.chain(self.session.messages.span[index]))
        return span.offset if span.store == 0 else None

    def _steps_of(self, turn: range, account: Account) -> Iterator[Data]:
        """The step of a run of messages; what a call cost that is no turn, such as a compaction's, is a turn behind."""
        messages = [self.session.message(index) for index in turn]
        for message in messages:
            self._count_message(message)
        role = self._source.role(messages)
        if role is None and account.is_known:
            if not all(message.kind in SAID for message in messages):
                yield self._step(messages, None, Account())
                yield self._spent(messages[0].model or "", account)
                return
            role = "assistant"
        yield self._step(messages, role, account)

    def _step(self, messages: list[Message], role: str | None, account: Account) -> Data:
        source = self._source
        self._turns += role is not None
        writes: Data = {}
        if role is not None:
            name = self._name(source.id_of(messages, self._turns))
            text = source.text(messages)
            said: Data = {"type": TURN, "role": role}
            unknown = all(message.kind is Kind.UNKNOWN for message in messages)  # also what turnlog fails on
            said["text"] = _words(messages, "text", everything=role == "system" or unknown) if text is None else text
            said |= self._facts(messages)
        else:
            said, name = source.event(messages)
            name = said["event_source_id"] = self._name(name)
            if label := messages[0].label:
                said["label"] = label
            if text := _words(messages, "text", everything=True):
                said["text"] = text
        if thinking := _words(messages, "thinking", everything=True):
            said["thinking"] = thinking
        if uses := [self._use(message, writes) for message in messages if message.tool and _acts(message)]:
            said["tool_uses"] = uses
        if role is not None:
            if delegations := self._delegations(messages, uses):
                said["delegations"] = delegations
            self._put_account(said, account, name, source.group(messages))
        self._time = iso_time(source.time(messages)) or self._time
        change = {self._artifact: {"structural": self._edited(said)}} | self._edited_writes(writes)
        rewound = all(Flag.REWOUND in message.flags for message in messages)
        return self._assemble(name, self._actor(messages), change, turn=role is not None, rewound=rewound)

    def _facts(self, messages: list[Message]) -> Data:
        """A turn's stop reason and environment."""
        reasons = [reason for message in messages if (reason := as_text(message.metadata.get("stopReason")))]
        environment = self._source.environment(messages[0])
        return ({"stop_reason": reasons[-1]} if reasons else {}) | ({"environment": environment} if environment else {})

    def _use(self, message: Message, writes: Data) -> Data:
        """A tool use, which puts the files that it changed into `writes`."""
        source, tool = self._source, message.tool
        assert tool is not None
        plain = source.takes_text(message)
        use = tool_use(self.session.provider, tool, message.id, source.result(message), plain=plain)
        put_writes(writes, use, tool)
        return use

    def _edited(self, said: Data) -> Data:
        """A payload after redaction, of which the format's own words stay."""
        edited = self._edit(said)
        edited["type"] = said["type"]
        for use, was in zip(edited.get("tool_uses", ()), said.get("tool_uses", ()), strict=False):
            use["category"] = was["category"]
        return edited

    def _edited_writes(self, writes: Data) -> Data:
        edited = self._edit(writes)
        for part in edited.values():
            part["structural"]["type"] = WRITE
        self._files.update(edited)
        return edited

    def _put_account(self, said: Data, account: Account, name: str, known: str | None) -> None:
        """Say of which group a turn is, the group's total and the turn's share of it. `known` is what the source calls
        the group, also where it has no figures.

        A total is said last, so a turn behind it is of no group.
        """
        group = known or account.group
        if (account.alone and group == name) or (self._ended and group == self._group):
            group = None
        if group is not None:
            said["group_id"] = self._edit(group)
        provider = self.session.provider
        if (total := account.total(provider)) is not None:
            said["token_usage"] = total
        if (share := account.attributed(provider)) is not None:
            said["attributed_token_usage"] = share
        self._group, self._ended = group, total is not None

    def _assemble(self, name: str, actor: str, change: Data, *, turn: bool, rewound: bool = False) -> Data:
        """A step behind the right parent: a turn behind the turn before it, rewound ones beside what goes on."""
        parent = self._latest if rewound or not turn else self._live
        if turn:
            self._latest = name
            if not rewound:
                self._live, self._at_end = name, 0
            elif self._live:
                self._at_end += 1
            else:
                self._lost["rewound turn"] += 1
        if (turn and not rewound) or not self.head:
            self.head = name
        identity: Data = {"id": name, "actor": actor, "timestamp": self._time}
        if parent:
            identity["parents"] = [parent]
        return {"step": identity, "change": change}

    def _spent(self, model: str, account: Account) -> Data:
        """A turn that only says what a call cost of which nothing else is left: the sum over steps must be right."""
        said: Data = {"type": TURN, "role": "assistant", "text": ""}
        name = self._name("response")
        self._put_account(said, account, name, None)
        return self._assemble(name, self._agent(model), {self._artifact: {"structural": said}}, turn=True)

    def _other(self, line: Line) -> Iterator[Data]:
        """A line that no message was made from: an event that holds it whole, or a turn.

        A copy of a line that is a step already is left out; its uuid tells (Claude Code repeats lines).
        """
        if line.is_named and self._edit(line.name) in self._names.taken:
            return
        said, name, turn = dict(line.said), self._name(line.name), line.said["type"] == TURN
        if turn:
            self._put_account(said, Account(), name, line.group)
        else:
            said["event_source_id"] = name
        self._time = line.time or self._time
        yield self._assemble(name, self._tool, {self._artifact: {"structural": self._edited(said)}}, turn=turn)

    def _delegations(self, messages: list[Message], uses: list[Data]) -> list[Data]:
        """Return what was handed to subagents, with their own turns where they stand in this document."""
        found: list[Data] = []
        acting = [message for message in messages if message.tool and _acts(message)]
        for message, use in zip(acting, uses, strict=True):
            children = self._children.get(message.index, [])
            name = message.tool.subagent if message.tool is not None else None
            started = self.session.messages.has(message.index, Flag.SUBAGENT)
            if use["category"] != "delegation" and not (started or name or children):
                continue
            row = _handed(use, name if use["category"] == "delegation" else None)
            sessions = [child.session for child in children if child.session is not None]
            found += [row | {"turns": self._turns_of(session)} for session in sessions] or [row]
        return found

    def _turns_of(self, session: Session) -> list[Data]:
        writer = self._writer_of(session)
        writer.leave_out_others()
        return list(writer.steps())

    @property
    def _artifact(self) -> str:
        return self._edit(f"{self._source.name}://{self.session.id or 'session'}")

    def _name(self, name: str) -> str:
        """An id that no step has."""
        return self._names.free(self._edit(name) or f"turn-{len(self._names.taken) + 1}")

    # -- steps of another document ---------------------------------------------------------------------------------

    def _steps_again(self, told: Told) -> Iterator[Data]:
        """The document's steps as they were, but for what no schema allows; what they say of tokens is made anew."""
        rows: dict[int, int] = {}
        runs = by_record(self.session)
        for number, run in enumerate(runs):
            rows.setdefault(self._place(run[0]) or 0, number)
        accounts, _ = accounts_of(self._source, runs)
        names: dict[str, str] = {}
        for offset, length in told.steps:
            whole = dict_of(self.session.stores[0].record(offset, length).get("Step"))
            self._lost["subagent session"] += cut_deep(whole, _DEEPEST)
            parents = [names[parent] for parent in parents_of(whole) if parent in names]
            edited = self._edit(clean_value(whole))
            step = sound_step(edited)
            identity = step["step"]
            said = id_of(whole, "step") or ""
            identity["id"] = self._name(said or "step")
            names.setdefault(said, identity["id"])
            if parents:
                identity["parents"] = list(dict.fromkeys(parents))
            identity["timestamp"] = self._time = identity["timestamp"] or self._time
            turn = next(payloads_of(step, TURN), None)
            if turn is not None:
                account = accounts[rows[offset]] if offset in rows else Account()
                was = next(payloads_of(edited, TURN))
                if account.shares:  # the last one has what nobody attributed, too
                    said_share = dict_of(was.get("attributed_token_usage"))
                    account.shares = [read_counted(self.session.provider, said_share)]
                self._put_account(turn, account, clean(said), as_text(was.get("group_id")) or None)
            self._files.update(key for key, part in step["change"].items() if structural_type(part) == WRITE)
            self.head = identity["id"]
            yield step
        self.head = names.get(told.head, self.head)


def _as_it_is(value: Any) -> Any:
    return value


def _models_in(session: Session) -> Iterator[str]:
    """The models of a session and of the subagents in it."""
    yield from session.models
    for child in session.subagents:
        if child.session is not None:
            yield from _models_in(child.session)


def _acts(message: Message) -> bool:
    """Return whether a message's tool is one that the agent used."""
    return message.tool is not None and message.kind not in USER_KINDS


def _words(messages: list[Message], kind: str, *, everything: bool) -> str:
    """The texts or the thinking of messages; of what is no talk only where everything counts. An image is named where
    there is no text.
    """
    parts = [part for message in messages if everything or message.kind in _CONVERSATION for part in message.parts]
    texts = [part.text for part in parts if part.type == kind and part.text]
    if not texts and kind == "text":
        texts = [part.text for part in parts if part.type == "image" and part.text]
    return _BETWEEN[kind].join(texts)


def _handed(use: Data, agent: str | None) -> Data:
    """A tool use as a delegation."""
    said = use["input"] if isinstance(use["input"], dict) else {"prompt": use["input"]}
    words = (said.get(key) for key in ("prompt", "message", "task", "description"))
    row: Data = {"agent_id": agent or use["id"], "prompt": next((word for word in words if isinstance(word, str)), "")}
    if "result" in use and not use["result"]["is_error"]:
        row["result"] = use["result"]["content"]
    return row


# -- what the schemas allow of another document ------------------------------------------------------------------------


_KIND = "agent-coding-session-v1.1.0"
_PAYLOADS = {TURN: "turn", EVENT: "event", WRITE: "fileWrite"}
_OURS = "turnlog"
"""The key under which earlier versions wrote their own view of a session."""
_UNSIGNED = frozenset({"actors", "signatures"})
_TOKENS = ("group_id", "token_usage", "attributed_token_usage")
"""Keys of a turn's payload that are the account's."""
_FILLED = ("tool_uses", "delegations", "environment")
"""Keys of a turn's payload under which there is something, or they are left out."""
_NOTHING = object()
"""Stands for a value that cannot stand at its place."""
_EMPTY = {"string": "", "boolean": False}

schema_of = cache(load_schema)


def sound_meta(value: object, of: str = "pathAbout") -> Data:
    """The meta object of a graph or a path (or of a step: `stepAbout`), without actors and signatures."""
    meta = {key: item for key, item in dict_of(clean_value(value)).items() if key not in _UNSIGNED}
    return dict_of(_fit(meta, of))


def sound_actor(value: object) -> Data:
    """The definition of an actor, without what the schema does not allow."""
    return dict_of(_fit(clean_value(value), "actorDefinition"))


def is_actor(name: str) -> bool:
    """Return whether an actor may have that name."""
    return re.match(schema_of("toolpath")["$defs"]["actor"]["pattern"], name) is not None


def sound_base(value: object) -> Data:
    """The base at which a path starts; empty if the path does not say."""
    base = dict_of(_fit(value, "base"))
    return base if base.get("uri") else {}


def sound_step(value: object) -> Data:
    """A clean step as the base schema and its kind's want it, its turns without tokens; parents are the writer's."""
    step = dict_of(value)
    change = {key: part for key, part in dict_of(step.get("change")).items() if _is_named(part)}
    sound = dict_of(_fit({"step": dict_of(step.get("step")), "change": change, "meta": {}}, "step"))
    sound["step"].pop("parents", None)
    sound["step"]["actor"] = sound["step"]["actor"] or "tool:unknown"
    for part in sound["change"].values():
        payload = part.get("structural")
        if (kind := structural_type(part)) in _PAYLOADS:
            said = {key: item for key, item in payload.items() if kind != TURN or key not in _TOKENS}
            made = _fit(said, _PAYLOADS[kind], _KIND)
            part["structural"] = {key: item for key, item in made.items() if item or key not in _FILLED}
    del sound["meta"]
    meta = sound_meta(step.get("meta"), "stepAbout")
    return sound | ({"meta": meta} if meta else {})


def _is_named(part: object) -> bool:
    """Return whether an artifact's change says what it is, if it is no diff alone."""
    return "structural" not in dict_of(part) or structural_type(part) is not None


def _fit(value: object, of: str, name: str = "toolpath") -> Any:
    return fit(value, {"$ref": f"/{of}"}, schema_of(name)["$defs"])


def fit(value: Any, rule: Any, named: Data) -> Any:
    """A value as a rule of a JSON Schema wants it: what cannot stand where it does goes, what must be there is empty.

    `named` are the schema's `$defs`. It knows the rules that decide over a step: types, keys, patterns, choices.
    """
    rule = _resolved(rule, named)
    for other in rule.get("allOf", ()):
        value = fit(value, other, named)
    kind, choice = rule.get("type"), rule.get("enum")
    if choice is not None:
        return value if value in choice else None if None in choice else _NOTHING
    if kind == "string":  # texts in parts are a text
        text = value if isinstance(value, str) else words_of(value)
        return text if re.match(rule.get("pattern", ""), text) and (text or value == "") else _NOTHING
    if kind == "boolean":
        return value if isinstance(value, bool) else _NOTHING
    if kind == "array":
        return _as_list(value, _resolved(rule.get("items"), named), named)
    return _as_object(value, rule, named) if kind == "object" or "properties" in rule else value


def _resolved(rule: Any, named: Data) -> Data:
    """A rule, or what it refers to; one that takes everything is empty."""
    said = dict_of(rule)
    return named[said["$ref"].rpartition("/")[2]] if "$ref" in said else said


def _as_list(value: object, rule: Data, named: Data) -> object:
    """Fit each item of a list; where the rule allows no other keys, items that lack a required one are left out."""
    if not isinstance(value, list):
        return _NOTHING
    least = rule.get("required", ()) if rule.get("additionalProperties") is False else ()
    rows = [fit(item, rule, named) for item in value if not least or dict_of(item).keys() >= set(least)]
    return [row for row in rows if row is not _NOTHING]


def _as_object(value: object, rule: Data, named: Data) -> object:
    if not isinstance(value, dict):
        return _NOTHING
    known, others = rule.get("properties", {}), rule.get("additionalProperties", {})
    made = {
        key: one
        for key, item in value.items()
        if key != _OURS
        and (key in known or others is not False)
        and (one := fit(item, known.get(key, others), named)) is not _NOTHING
    }
    for key in rule.get("required", ()):
        made.setdefault(key, _EMPTY.get(text_of(_resolved(known[key], named).get("type"))))
        if None not in _resolved(known[key], named).get("enum", [None]) and made[key] is None:
            return _NOTHING
    either = rule.get("anyOf")
    return made if either is None or any(made.keys() >= set(one["required"]) for one in either) else _NOTHING


def cut_deep(step: Data, levels: int) -> int:
    """Take out of a step the turns of subagents that nest deeper, as JSON readers have limits; returns how many have
    lost theirs.
    """
    cut, waiting = 0, [(said, levels) for said in payloads_of(step, TURN)]
    while waiting:
        said, left = waiting.pop()
        for row in delegations_of(said):
            if (turns := list_of(row.get("turns"))) and left <= 0:
                del row["turns"]
                cut += 1
                continue
            for turn in map(dict_of, turns):
                waiting += [(inner, left - 1) for inner in (payloads_of(turn, TURN) if "step" in turn else (turn,))]
    return cut

"""A session as a Toolpath document of the kind agent-coding-session v1.1.0, or as the stream form of it.

Steps stand in the session's order: a turn follows the turn before it, what is no turn hangs beside it as an event. So
the head's ancestors are all turns that were not rewound. What the format has no place for stands under `meta.turnlog`
of the path and of its steps; schemas/documents/toolpath.md lists the keys, toolpath_read.py reads them back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeVar

import orjson

from schemas.interchange.session_data_parts import as_object
from schemas.interchange.session_data_write import Edit, SessionDataWriter, iso_time, to_session_data, unseen
from schemas.interchange.toolpath import EVENT, KIND, TURN, structural_type
from schemas.interchange.toolpath_accounts import Account, counted, plan_of
from schemas.interchange.toolpath_document import OTHER_PATH
from schemas.interchange.toolpath_origin import MADE, ClaudeOrigin, ToolpathOrigin, event_of, origin_of
from schemas.interchange.toolpath_pieces import (
    Payload,
    beside_turn,
    count_images,
    count_runs,
    handed,
    take_apart,
    thin,
    told_as_event,
)
from schemas.interchange.toolpath_sound import sound_base, sound_meta, sound_step, sound_step_meta
from schemas.message import USER_KINDS, Flag, Kind, Message
from schemas.session import Exchange, Session, Subagent

LOSSES = {
    "image": "named, not included",
    "subagent session": "named only: in files of their own, or nested too deeply",
    "other path": "left out, being no session's",
    "merge": "written as a step like any other, since only Toolpath has them",
    "hidden record": "left out, only counted",
    "unknown record": "left out, only counted",
    "signature": "left out, since what was signed is another document",
    "coloured run": "shown plain: redaction may change the text that a run counts characters of",
}
"""What the format, or this document, cannot hold; and what became of it."""
_NO_NAME = re.compile(r"[^a-zA-Z0-9_.-]")
_SAID = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})
_MADE = ("title", "kind", "source", "producer", "files_changed")
"""Keys of a path's meta that are made anew."""
_DEEPEST = 20
"""How deep subagents' turns nest; JSON readers have limits, so deeper ones stand in the session's facts."""
_NO_TIME = "1970-01-01T00:00:00.000Z"
"""Stands where a step needs a time and none is known so far."""
Data = dict[str, Any]
T = TypeVar("T")


def to_toolpath(
    session: Session, *, edit: Edit | None = None, subagents: bool = False, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The document in pieces, a step a line. `edit` and `subagents` are as for `to_session_data`.

    What the format cannot hold is counted in `lost`, by what it is.
    """
    writer = ToolpathWriter(session, edit=edit, subagents=subagents, lost=lost)
    others = writer.put_beside()
    graph = writer.graph
    yield writer.dump({"graph": graph["graph"]})[:-1] + b',"paths":['
    yield from _path_pieces(writer)
    for other in others:
        yield b","
        yield from _path_pieces(other)
    refs = b"".join(b",\n" + writer.dump(ref) for ref in graph["refs"])
    about = b',"meta":' + writer.dump(graph["meta"]) if graph["meta"] else b""
    yield refs + b"]" + about + b"}\n"


def _path_pieces(writer: ToolpathWriter) -> Iterator[bytes]:
    """A path, a step a line."""
    lead = b'{"steps":[\n'
    for step in writer.steps():
        yield lead + writer.dump(step)
        lead = b",\n"
    # The last step's line goes on: no line of the document is a record by itself, so none is taken for a session's.
    opening = b'{"steps":[' if lead.startswith(b"{") else b""
    yield opening + b"]," + writer.dump({"path": writer.identity(), "meta": writer.meta()})[1:]


def to_toolpath_stream(
    session: Session, *, edit: Edit | None = None, subagents: bool = False, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The stream form, a line at a time, in the order that the format's own producer has (formats note 1.6)."""
    writer = ToolpathWriter(session, edit=edit, subagents=subagents, lost=lost)
    meta = writer.meta()
    actors = meta.pop("actors")
    opening: Data = {"version": "1"} | {key: item for key, item in writer.identity().items() if key != "head"}
    yield writer.dump({"PathOpen": opening | {"meta": meta}}) + b"\n"
    for actor in sorted(actors):
        yield writer.dump({"ActorDef": {"actor": actor, "definition": actors[actor]}}) + b"\n"
    for step in writer.steps():
        yield writer.dump({"Step": step}) + b"\n"
    if changed := writer.meta().get("files_changed"):
        yield writer.dump({"PathMeta": {"patch": {"files_changed": changed}}}) + b"\n"
    yield writer.dump({"Head": {"step_id": writer.head}}) + b"\n"
    yield writer.dump({"PathClose": {}}) + b"\n"


def _to_path(writer: ToolpathWriter) -> Data:
    """A subagent's session as a path, whole."""
    steps = list(writer.steps())
    return {"path": writer.identity(), "steps": steps, "meta": writer.meta()}


class ToolpathWriter:
    """The parts of one session's path. `head` and the files that changed are known once all steps were made."""

    def __init__(
        self,
        session: Session,
        *,
        edit: Edit | None = None,
        subagents: bool = False,
        lost: Counter[str] | None = None,
        inside: bool = False,
        depth: int = 0,
        since: str = _NO_TIME,
    ) -> None:
        self.session = session
        self._inside = inside
        self._depth = depth
        self._lost: Counter[str] = Counter() if lost is None else lost
        self.head = ""
        self._edit = edit
        self._subagents = subagents
        self._plain = SessionDataWriter(session)
        self._data = SessionDataWriter(session, edit=edit)
        self._origin = origin_of(session)
        self._plan = plan_of(session, self._origin)
        kept = session.metadata.get("toolpath")
        self._kept: Data = kept if isinstance(kept, dict) else {}
        self._taken: set[str] = set()
        self._repeats: dict[str, int] = {}
        self._files: set[str] = set()
        self._time = iso_time(session.created) or since
        self._live = self._latest = ""
        self._turns = 0
        self._group: str | None = None
        """The group that the latest turn names."""
        self._ended = False
        """Whether it said the group's total, so that no further turn may be of it."""
        self._children: dict[int, list[Subagent]] = {}
        """The subagents whose turns go into this document, by the tool use that started them."""
        kinds = session.messages.kind
        for child in session.subagents if depth < _DEEPEST else ():
            if self._is_within(child) and child.tool_use is not None and kinds[child.tool_use] == Kind.TOOL:
                self._children.setdefault(child.tool_use, []).append(child)
        self._alone = self._origin.alone if isinstance(self._origin, ToolpathOrigin) else {}
        within = (child for some in self._children.values() for child in some)
        self._placed = {id(child) for child in (*within, *self._alone.values())}
        """The subagents whose turns stand with the turn that handed them their work."""
        self._path_id = _word(self._kept.get("id")) or f"path-{self._origin.source}-{(session.id or 'session')[:8]}"
        self._paths: dict[int, str] = {}
        """The subagents that are paths of their own, by their place, each with its path's id."""
        self._agents = self._agent_names()
        outside = [child for child in session.subagents if not self._is_within(child)]
        self._lost["subagent session"] += sum(child.path is not None for child in outside)
        if depth >= _DEEPEST:
            self._lost["subagent session"] += len(session.subagents) - len(outside)
        self._lost["unknown record"] += unseen(session)
        self._lost["signature"] += session.hidden["Signature"]
        self._lost["other path"] += session.hidden[OTHER_PATH]

    def put_beside(self) -> list[ToolpathWriter]:
        """Let the subagents of which nobody knows what started them be paths of their own; returns their writers."""
        taken, writers = {self._path_id}, []
        for place, child in enumerate(self.session.subagents):
            if child.session is None or not self._is_within(child) or id(child) in self._placed:
                continue
            writer = self._writer_of(child, child.session, self._depth)
            name, number = writer._path_id, 1
            while writer._path_id in taken:
                number += 1
                writer._path_id = f"{name}#{number}"
            taken.add(writer._path_id)
            self._paths[place] = writer._path_id
            writers.append(writer)
        return writers

    def _writer_of(self, child: Subagent, session: Session, depth: int) -> ToolpathWriter:
        return ToolpathWriter(
            session,
            edit=self._edit,
            subagents=self._subagents,
            lost=self._lost,
            inside=child.path is None,
            depth=depth,
            since=self._time,
        )

    def _is_within(self, child: Subagent) -> bool:
        return child.session is not None and (self._subagents or child.path is None)

    def dump(self, value: Data) -> bytes:
        """A part of the document as JSON."""
        return self._plain.dump(value)

    # -- the path --------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Data:
        """What stands around the paths: the graph's id and meta, and the paths that were only referred to."""
        kept = self._kept
        return self._edited(
            {
                "graph": {"id": _word(kept.get("graph")) or self.identity()["id"]},
                "meta": sound_meta(kept.get("graphMeta")),
                "refs": [{"$ref": ref} for ref in _list(kept.get("refs")) if isinstance(ref, str)],
            }
        )

    def identity(self) -> Data:
        """The path's own object."""
        session, kept = self.session, self._kept
        identity: Data = {"id": self._path_id, "head": self.head}
        base = sound_base(kept.get("base"))
        if root := session.workspace_root:
            base = {"uri": base.get("uri") or f"file://{root}"} | base
        known = {"ref": session.metadata.get("gitRevision"), "branch": session.branch}
        base |= {key: item for key, item in known.items() if isinstance(item, str) and item and "uri" in base}
        if base:
            identity["base"] = base
        if graph_ref := _word(kept.get("graphRef")):
            identity["graph_ref"] = graph_ref
        return self._edited(identity)

    def meta(self) -> Data:
        """The path's meta object."""
        session = self.session
        header = self._data.header()
        meta = {key: item for key, item in sound_meta(self._kept.get("meta")).items() if key not in _MADE}
        meta["title"] = session.title or f"{session.provider_name} session: {session.id[:8]}"
        meta |= {"kind": KIND, "source": self._origin.source}
        if remote := _word(session.metadata.get("gitRemote")):
            meta["vcs_remote"] = remote
        if session.version:
            name = session.metadata.get("originator")
            meta["producer"] = {
                "name": name if isinstance(name, str) else self._origin.source,
                "version": session.version,
            }
        if self._files:
            meta["files_changed"] = sorted(self._files)
        facts = self._data.session_facts()
        for place, (row, child) in enumerate(zip(facts.get("subagents", ()), session.subagents, strict=False)):
            self._put_child(row, child, self._paths.get(place))
        ours: Data = {"document": header, "session": facts}
        if self._plan.rounds:
            ours["accounting"] = "rounds"
        meta = self._edited(meta | {"turnlog": ours})
        meta["actors"] = self._actors()
        return meta

    def _put_child(self, row: Data, child: Subagent, path: str | None) -> None:
        """See to it that a subagent's session stands in one place: with the turn that handed it its work, in a path of
        its own, or with the facts about it, where there is no other place.
        """
        if path is not None:
            row["graphPath"] = path
        if path is not None or self._depth >= _DEEPEST or id(child) in self._placed:
            row.pop("session", None)
        elif "session" not in row and child.session is not None and self._is_within(child):
            document = to_session_data(child.session, edit=self._edit, subagents=self._subagents)
            row["session"] = orjson.loads(b"".join(document))

    def _agent_names(self) -> dict[str, str]:
        """For each model its actor: the pattern allows few characters, and two models must not become one."""
        names: dict[str, str] = {}
        for model in self.session.models:
            if model in ("<synthetic>", ""):
                continue
            first, slash, rest = self._edited(model).partition("/")
            name = _NO_NAME.sub("-", first) or "-"
            name += f"/{_NO_NAME.sub('-', rest)}" if slash and rest else ""
            while f"agent:{name}" in names.values():
                name += "-"
            names[model] = f"agent:{name}"
        return names

    def _actors(self) -> Data:
        source = self._origin.source
        actors: Data = {"human:user": {"name": "user"}, self._tool: {"name": source, "provider": source}}
        for model, actor in self._agents.items():
            actors[actor] = self._edited({"name": model, "provider": source, "model": model})
        table = self.session.messages
        if any(kind in _SAID and not table.model[i] for i, kind in enumerate(table.kind)):
            actors["agent:unknown"] = {"name": "unknown", "provider": source}
        return actors | self._edited(self._origin.actors())

    @property
    def _tool(self) -> str:
        return f"tool:{_NO_NAME.sub('-', self._origin.source) or 'unknown'}"

    def _actor(self, messages: list[Message]) -> str:
        if (actor := self._origin.actor(messages)) is not None:
            return actor
        if any(message.kind in USER_KINDS for message in messages):
            return "human:user"
        said = next((message for message in messages if message.kind in _SAID), None)
        return self._tool if said is None else self._agent(said.model)

    def _agent(self, model: str | None) -> str:
        return self._tool if model == "<synthetic>" else self._agents.get(model or "", "agent:unknown")

    # -- steps -----------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[Data]:
        """All steps in order; to be gone through once."""
        session = self.session
        # What else lies in a file of several sessions is said by the one that the file is of.
        others: Iterator[tuple[int, int, Data]] = iter(())
        if not self._inside or isinstance(self._origin, ToolpathOrigin):
            others = self._origin.others()
        waiting = next(others, None)
        turns = enumerate(self._plan.turns)
        turn = next(turns, None)
        for exchange in session.exchanges:
            opened = False
            self._time = (
                iso_time(next((t for t in (exchange.started, exchange.ended) if t is not None), None)) or self._time
            )
            while turn is not None and session.messages.exchange[turn[1][0]] == exchange.index:
                place = self._place(turn[1][0])
                while waiting is not None and place is not None and waiting[0] <= place:
                    yield from self._other(*waiting)
                    waiting = next(others, None)
                yield self._step(*turn, None if opened else exchange)
                opened, turn = True, next(turns, None)
            if not opened:
                yield self._made("exchange", {"type": EVENT, "entry_type": "turnlog.exchange"}, exchange)
            for group in self._plan.homeless.get(exchange.index, ()):
                yield self._homeless(group)
        while waiting is not None:
            yield from self._other(*waiting)
            waiting = next(others, None)

    def _place(self, index: int) -> int | None:
        """Where a message's record lies in the session's first store."""
        span = next(self.session.spans.chain(self.session.messages.span[index]))
        return span.offset if span.store == 0 else None

    def _step(self, number: int, turn: range, opened: Exchange | None) -> Data:
        """The step of a run of messages; with what there is to say of the exchange that it opens."""
        origin, account = self._origin, self._plan.accounts.get(number, Account())
        messages = [self.session.message(index) for index in turn]
        self._lost["image"] += sum(map(count_images, messages))
        self._lost["coloured run"] += sum(map(count_runs, messages)) if self._edit is not None else 0
        role = origin.role(messages)
        role = "assistant" if role is None and (account.total or account.attributed) else role
        event = self._edited(origin.event(messages)) if role is None else None
        kept = [self._edited(self._data.message(message)) for message in messages]
        payload = self._payload(messages, kept, role, event)
        self._turns += role is not None
        recorded = origin.recorded(messages) if role is None and event is None else None
        name = self._name(origin.name(messages, self._turns) if recorded is None else recorded[1], number)
        said = {} if event is None else event
        if role is not None:
            said = self._turn(role, payload, account, messages, {name, kept[0]["id"]})
        elif event is None:
            said = told_as_event(messages[0], kept[0], payload.text, name)
            said |= (
                self._edited({key: recorded[0][key] for key in ("entry_type", "raw")}) if recorded is not None else {}
            )
        if payload.thinking:
            said["thinking"] = payload.thinking
        if payload.uses:
            said["tool_uses"] = payload.uses
        time = iso_time(origin.time(messages)) or self._time
        for item in kept:
            thin(item, time)
        ours: Data = {"messages": kept}
        if opened is not None:
            ours["exchange"] = self._exchange(opened)
        self._files.update(payload.writes)
        change = {self._artifact: {"structural": said}} | payload.writes
        rewound = all(self.session.messages.has(index, Flag.REWOUND) for index in turn)
        actor = self._actor(messages)
        step = self._assemble(name, actor, time, change, ours, turn=role is not None, rewound=rewound)
        named = map(self._edited, origin.parents(messages))
        if parents := [parent for parent in named if parent != name and parent in self._taken]:
            step["step"]["parents"] = parents
        foreign = messages[0].metadata.get("stepMeta")
        if isinstance(foreign, dict):
            step["meta"] = self._edited(sound_step_meta(foreign)) | step["meta"]
        return step

    def _payload(self, messages: list[Message], kept: list[Data], role: str | None, event: Data | None) -> Payload:
        """What the messages say in the format's terms; `kept` lose it."""
        origin = self._origin
        text = origin.text(messages)
        if event is not None:
            text = event["text"] if isinstance(event.get("text"), str) else None
        known = [self._edited(one) for one in (text, *map(origin.result, messages))]
        writes = self._edited(origin.writes(messages))
        aside = event is None and role not in ("user", "assistant")
        plain = [message.tool is not None and origin.takes_text(message, message.tool) for message in messages]
        return take_apart(self.session.provider, kept, known[0], known[1:], writes, plain=plain, aside=aside)

    def _turn(self, role: str, payload: Payload, account: Account, messages: list[Message], names: set[str]) -> Data:
        """A turn's payload, thinking and tools apart. `names`: what the turn is called."""
        said: Data = {"type": TURN, "role": self._edited(role), "text": payload.text}
        self._put_account(said, account, names, messages[0].index)
        said |= self._edited(beside_turn(messages, self._origin.environment(messages[0])))
        if delegations := self._delegations(messages, payload.uses):
            said["delegations"] = delegations
        return said

    def _put_account(self, said: Data, account: Account, names: set[str], index: int) -> None:
        """The group, its total and the turn's share of it; a group that has no figures is named all the same."""
        group = account.group if account.alone not in names else None
        known = self._origin.round(index) if isinstance(self._origin, ToolpathOrigin | ClaudeOrigin) else None
        if known is not None and account.group is None:
            group = self._free(known)
        elif known is not None and known != self._group and group is not None and group.startswith(f"{known}#"):
            group = known
        if group is not None:
            said["group_id"] = self._edited(group)
        if account.total is not None:
            said["token_usage"] = account.total
        if account.attributed is not None:
            said["attributed_token_usage"] = account.attributed
        self._group, self._ended = group, account.total is not None

    def _free(self, group: str) -> str | None:
        """The group of a turn that has no figures, which is named all the same unless its total was said just now."""
        return None if self._ended and group == self._group else group

    def _in_group(self, said: Data) -> Data:
        """The payload of a turn without messages, of the group that it may be of."""
        group = self._free(said["group_id"]) if "group_id" in said else None
        self._group, self._ended = group, "token_usage" in said
        return {key: value for key, value in said.items() if key != "group_id" or group is not None}

    def _assemble(
        self, name: str, actor: str, time: str, change: Data, ours: Data, *, turn: bool, rewound: bool = False
    ) -> Data:
        """A step behind the right parent: a turn behind the turn before it, rewound ones beside what goes on."""
        parent = self._latest if rewound or not turn else self._live
        if turn:
            self._latest = name
            if not rewound:
                self._live = name
        if (turn and not rewound) or not self.head:
            self.head = name
        identity: Data = {"id": name, "actor": actor, "timestamp": time}
        if parent:
            identity["parents"] = [parent]
        self._time = time
        return {"step": identity, "change": change, "meta": {"turnlog": ours}}

    def _exchange(self, exchange: Exchange) -> Data:
        return self._edited(self._data.exchange(exchange))

    def _made(self, what: str, said: Data, exchange: Exchange | None = None, actor: str | None = None) -> Data:
        """A step without a message."""
        name = self._name(f"turnlog-{what}-{exchange.index if exchange else len(self._taken)}", -1)
        if said["type"] == EVENT:
            said["event_source_id"] = name
        ours: Data = {MADE: True, "messages": []}
        if exchange is not None:
            ours["exchange"] = self._exchange(exchange)
        change = {self._artifact: {"structural": said}}
        return self._assemble(name, actor or self._tool, self._time, change, ours, turn=said["type"] == TURN)

    def _homeless(self, group: int) -> Data:
        """A turn that only says what a call cost of which nothing else is left: the sum over steps must be right."""
        groups = self.session.groups
        said: Data = {"type": TURN, "role": "assistant", "text": ""}
        if (total := counted(self.session.provider, groups.usage[group])) is None:
            said = {"type": EVENT, "entry_type": "turnlog.group"}
        else:
            said["token_usage"] = total
            self._group = None
        actor = self._agent(self.session.models[groups.model[group]])
        return self._made(f"group-{group}", said, actor=actor if total is not None else None)

    def _other(self, offset: int, line: int, record: Data) -> Iterator[Data]:
        """A record that no message was made from: an event that holds it whole, a turn, or the step that it is.

        A copy of a line that is a step already is left out; its uuid tells (Claude Code repeats lines).
        """
        if isinstance(self._origin, ToolpathOrigin):
            yield self._again(record)
        elif not isinstance(uuid := record.get("uuid"), str) or uuid not in self._taken:
            said, name, time = event_of(record, line, self._time)
            turn = self._origin.turn(record)
            if turn is not None:
                said = self._in_group(turn)
            said = self._edited(said) | {"type": said["type"]}
            name = self._name(name, -1)
            if turn is None:
                said["event_source_id"] = name
            change = {self._artifact: {"structural": said}}
            ours = {"record": {"line": line, "offset": offset}}
            yield self._assemble(name, self._tool, time, change, ours, turn=turn is not None)

    def _again(self, record: Data) -> Data:
        """A step of another document, behind the steps that it followed there."""
        step: Data = self._edited(sound_step(record["Step"]))
        identity, turn = step["step"], False
        for part in step["change"].values():
            if structural_type(part) == TURN:
                turn, part["structural"] = True, self._in_group(part["structural"])
        said = _list(as_object(as_object(record["Step"]).get("step")).get("parents"))
        known = [name for name in map(self._edited, said) if isinstance(name, str) and name in self._taken]
        if parents := list(dict.fromkeys(known or ([self._latest] if self._latest else []))):
            identity["parents"] = parents
        identity["id"] = self._name(identity["id"] or "step", -1)
        if turn:
            self._live = self._latest = self.head = identity["id"]
        self.head = self.head or identity["id"]
        return step

    def _delegations(self, messages: list[Message], uses: list[Data]) -> list[Data]:
        """What was handed to subagents, with their own turns where they have no file of their own."""
        found: list[Data] = []
        tools = [message for message in messages if message.tool is not None and message.kind not in USER_KINDS]
        for message, use in zip(tools, uses, strict=False):
            children = self._children.get(message.index, [])
            started = self.session.messages.has(message.index, Flag.SUBAGENT)
            name = message.tool.subagent if message.tool is not None else None
            if not (use["category"] == "delegation" or started or name or children):
                continue
            row = handed(use, self._edited(name or ""))
            found += [row | self._turns_of(child) for child in children] or [row]
        for row, child in self._origin.delegations(messages):
            within = self._turns_of(child) if child.tool_use is None and self._depth < _DEEPEST else {}
            ours = {"id": self._edited(child.id), "alone": True} | within.pop("turnlog", {})
            found.append(self._edited(row) | within | {"turnlog": ours})
        return found

    def _turns_of(self, child: Subagent) -> Data:
        if child.session is None:
            return {}
        path = _to_path(self._writer_of(child, child.session, self._depth + 1))
        known = self._edited({"id": child.id})
        return {"turns": path["steps"], "turnlog": known | {"path": path["path"], "meta": path["meta"]}}

    @property
    def _artifact(self) -> str:
        return self._edited(f"{self._origin.source}://{self.session.id or 'session'}")

    def _name(self, name: str, number: int) -> str:
        """An id that no step has: a repeated one gets `#2`, `#3`, … (formats note 1.4)."""
        name = self._edited(name) or f"turn-{number + 1}"
        count, free = self._repeats.get(name, 1), name
        while free in self._taken:
            count += 1
            free = f"{name}#{count}"
        self._taken.add(free)
        self._repeats[name] = count
        return free

    def _edited(self, value: T) -> T:
        edited: T = value if self._edit is None else self._edit(value)
        return edited


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

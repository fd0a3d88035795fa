"""What a session's source says beyond what a Session keeps of it: verbatim texts, roles, rounds, other records.

Toolpath wants a turn's text as the agent wrote it and an event for every line that is no turn (formats note 1.4), so
the writer goes back to the records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from schemas.clean import clean, clean_value
from schemas.interchange.session_data_read import read_time
from schemas.interchange.session_data_usage import told_tokens
from schemas.interchange.session_data_write import KEEP, iso_time
from schemas.interchange.toolpath import COMPACT, EVENT, SOURCES, TURN, structural_type
from schemas.interchange.toolpath_document import StepStore
from schemas.interchange.toolpath_foreign import delegations_of
from schemas.interchange.toolpath_sound import ACTOR, is_event, sound_actor, sound_change
from schemas.interchange.toolpath_tools import PLACE
from schemas.message import USER_KINDS, Kind, Message, SpanRole, Tool
from schemas.records import FileStore, JsonLines, MemoryStore, Record, Store, read_record
from schemas.session import Session, Subagent
from schemas.table import NONE

if TYPE_CHECKING:
    from schemas.interchange.toolpath_read import ToolpathParser

_CHUNK = 1 << 20
_HANDED = ("agent_id", "prompt", "result")
"""What a delegation says beside its turns."""
_ALL = 1 << 62
_SAID = frozenset({Kind.TEXT, Kind.THINKING, Kind.TOOL})


class Origin:
    """Of an agent whose records nobody described here: a turn is a record, and the rest is as the session has it."""

    provider = ""
    attributes = True
    """Whether messages may say what their turn attributes to itself."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.source = SOURCES.get(session.provider, session.provider) or "unknown"
        self.provider = session.provider
        self._found: tuple[tuple[int, SpanRole] | None, dict[str, Any]] = (None, {})

    def record(self, message: Message, role: SpanRole = SpanRole.BODY) -> dict[str, Any]:
        """The message's first record of a role; an empty one if there is none."""
        asked = message.index, role
        if self._found[0] != asked:  # what there is to say of a turn asks for the same one again and again
            spans = self.session.message_spans(message.index)
            span = next((span for span in spans if span.role == role), None)
            self._found = asked, self.session.record(span) if span is not None else {}
        return self._found[1]

    def _as_event(self, message: Message) -> tuple[dict[str, Any], str] | None:
        for span in self.session.message_spans(message.index):
            if span.role == SpanRole.BODY:
                return event_of(self.session.record(span), span.line, "")[:2]
        return None

    def role(self, messages: list[Message]) -> str | None:
        """The turn's role: user where a person typed, assistant for what the model did; None for what is an event."""
        kinds = {message.kind for message in messages}
        if kinds & USER_KINDS:
            return "user"
        if kinds & _SAID:
            return "assistant"
        return "system" if Kind.CONTEXT in kinds else None

    def text(self, messages: list[Message]) -> str | None:
        """The turn's text as the source has it; None where that is not known."""
        return None

    def result(self, message: Message) -> str | None:
        """A tool's result as the model was given it; None where that is not known."""
        return None

    def takes_text(self, message: Message, tool: Tool) -> bool:
        """Whether a tool's input is a text, for which the object that holds it only stands."""
        return tool.name == "apply_patch" and _is_text(tool.input)

    def delegations(self, messages: list[Message]) -> list[tuple[dict[str, Any], Subagent]]:
        """What a turn handed to subagents without a tool use, each with the subagent."""
        return []

    def name(self, messages: list[Message], number: int) -> str:
        """The step's id; `number` counts turns from 1."""
        return messages[0].id

    def event(self, messages: list[Message]) -> dict[str, Any] | None:
        """The payload of an event that was read from one; else None."""
        return None

    def recorded(self, messages: list[Message]) -> tuple[dict[str, Any], str] | None:
        """The record of what is no turn as the payload of an event, and its name; None where it need not be kept."""
        return None

    def writes(self, messages: list[Message]) -> dict[str, Any] | None:
        """The artifacts that stood beside a turn; None where they have to be made."""
        return None

    def actor(self, messages: list[Message]) -> str | None:
        """Who a step of the source says did it; None where it has to be made out."""
        return None

    def parents(self, messages: list[Message]) -> list[str]:
        """The steps that a step of the source follows; none where it has to be made out."""
        return []

    def actors(self) -> dict[str, Any]:
        """Who the actors are, where the source says."""
        return {}

    def time(self, messages: list[Message]) -> float | None:
        """When the turn was: at its text, which may come long after the thinking before it."""
        told = [message.timestamp for message in messages if message.kind == Kind.TEXT]
        return next((time for time in (*told, *(m.timestamp for m in messages)) if time is not None), None)

    def round(self, index: int) -> str | None:
        """The accounting unit that the message is part of, where the source has larger ones than token groups."""
        return None

    def total(self, group: int) -> dict[str, Any] | None:
        """A group's total in the source's own figures, where turnlog's do not tell them (Gemini CLI, formats note 1.5:
        input, output with thoughts, what was cached; `tool` is left out); else None.
        """
        last = self.session.groups.last[group] if self.provider == "gemini" else NONE
        told = told_tokens(self.session.message(last).metadata) if last != NONE else {}
        if not told:
            return None
        thoughts = told.get("thoughts")
        output = told.get("output", 0) + thoughts if thoughts else told.get("output")
        data: dict[str, Any] = {"input_tokens": told.get("input"), "output_tokens": output}
        if "cached" in told:
            data["cache_read_tokens"] = told["cached"]
        return data | ({"breakdowns": {"output": {"reasoning": thoughts}}} if thoughts else {})

    def turn(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """A record that no message was made from as a turn's payload; None where it is none."""
        return None

    def environment(self, message: Message) -> dict[str, Any]:
        """Where the agent worked at the message."""
        said = message.metadata
        if message.tool is not None and PLACE in message.tool.input:
            said = {"cwd": message.tool.input[PLACE]} | said
        names = (("cwd", "working_dir"), ("gitBranch", "vcs_branch"), ("gitRevision", "vcs_revision"))
        return {name: said[key] for key, name in names if isinstance(said.get(key), str)}

    def others(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Offset, line and content of each record that no message and no token figure was made from."""
        session = self.session
        if not session.stores or KEEP in session.metadata:  # of a SessionData document all is in the session
            return
        for offset, _, line, value in _records(session, self._owned()):
            yield offset, line, value

    def _owned(self) -> set[int]:
        """Where the records are that stand in the document as something else; also those of subagents in the file."""
        return _offsets(self.session, self.session.stores[0])


def _records(session: Session, known: Container[int] = ()) -> Iterator[Record]:
    """The records of the session's first store, but for those at `known` offsets."""
    store = session.stores[0]
    if isinstance(store, FileStore):
        lines, offset = JsonLines(), 0
        while data := store.read(offset, _CHUNK):
            yield from (record for record in lines.push(data) if record[0] not in known)
            offset += len(data)
        yield from (record for record in lines.take_tail() if record[0] not in known)
    elif isinstance(store, StepStore):
        yield from store.records(known)
    elif isinstance(store, MemoryStore):
        number = 0
        while raw := store.read(number, _ALL):
            if number not in known:
                yield number, len(raw), number + 1, read_record(raw)
            number += 1


def _offsets(session: Session, store: Store, *, groups: bool = True) -> set[int]:
    """Where in a store the records lie that a session and the subagents in it were made from; `groups`: usage too."""
    owned: set[int] = set()
    if store in session.stores:
        number = session.stores.index(store)
        for heads in (session.messages.span, session.groups.span)[: 1 + groups]:
            owned.update(offset for offset, _ in session.spans.owners(heads, number))
    for child in session.subagents:
        if child.session is not None and child.path is None:
            owned |= _offsets(child.session, store)
    return owned


def _message_id(record: dict[str, Any]) -> str | None:
    said = record.get("message")
    name = said.get("id") if isinstance(said, dict) and record.get("type") == "assistant" else None
    return clean(name) if isinstance(name, str) and name else None


class ClaudeOrigin(Origin):
    """Claude Code: each line of type user or assistant is a turn with the line's role.

    A compaction is two lines, and in Toolpath two steps: the boundary an event, the summary a turn.
    """

    def recorded(self, messages: list[Message]) -> tuple[dict[str, Any], str] | None:
        """The line."""
        return self._as_event(messages[0])

    def _line(self, message: Message) -> dict[str, Any]:
        """The line that a message's turn is."""
        summary = self.record(message, SpanRole.DETAIL) if message.kind == Kind.COMPACTION else {}
        return summary if summary.get("isCompactSummary") is True else self.record(message)

    def role(self, messages: list[Message]) -> str | None:
        """The line's type; a line of another type is a turn only if a person typed what it holds."""
        said = self._line(messages[0]).get("type")
        if said in ("user", "assistant"):
            return str(said)
        return "user" if messages[0].kind in USER_KINDS else None

    def round(self, index: int) -> str | None:
        """The id of the model's message that the line is of."""
        span = next(self.session.spans.chain(self.session.messages.span[index]))
        return _message_id(self.session.record(span))

    def turn(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """A line of the conversation that holds nothing to read here: a turn with its text."""
        said = record.get("message")
        if record.get("type") not in ("user", "assistant") or not isinstance(said, dict):
            return None
        payload = {"type": TURN, "role": record["type"], "text": _joined(said.get("content"), "\n\n") or ""}
        return payload | ({"group_id": group} if (group := _message_id(record)) else {})

    def text(self, messages: list[Message]) -> str | None:
        """The texts of the line's content, where it was typed or injected; tool results are no text."""
        if messages[0].kind in _SAID:
            return None
        said = self._line(messages[0]).get("message")
        content = said.get("content") if isinstance(said, dict) else None
        return _joined(content, "\n\n")

    def name(self, messages: list[Message], number: int) -> str:
        """The line's uuid."""
        name = self._line(messages[0]).get("uuid")
        return clean(name) if isinstance(name, str) and name else super().name(messages, number)

    def time(self, messages: list[Message]) -> float | None:
        """The line's time."""
        return read_time(self._line(messages[0]).get("timestamp")) or super().time(messages)

    def _owned(self) -> set[int]:
        table = self.session.messages
        # A line that only gave its usage to a group is a turn of the conversation all the same.
        owned = _offsets(self.session, self.session.stores[0], groups=False)
        for index, kind in enumerate(table.kind):
            if kind == Kind.COMPACTION:
                body, *others = self.session.message_spans(index)
                if any(self.session.record(span).get("isCompactSummary") is True for span in others):
                    owned.discard(body.offset)
        return owned


class CodexOrigin(Origin):
    """Codex: a turn is a message item with the tool uses behind it, a round is what `turn_id` names."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._offsets: list[int] = []
        self._rounds: list[str | None] = []
        self._events: set[int] = set()
        """Where the lines are that tell of what the items say too: a command's end, a count, a text."""
        if session.stores:
            self._find_rounds()

    def _find_rounds(self) -> None:
        # Formats note 1.5: from `turn_context` or `task_started` on, until `task_complete`.
        for offset, _, _, value in _records(self.session):
            payload = value.get("payload")
            if not isinstance(payload, dict):
                continue
            kind, turn = value.get("type"), payload.get("turn_id")
            if kind == "event_msg":
                kind = payload.get("type")
                self._events.add(offset)
            if kind == "task_complete":
                self._note(offset, None)
            elif kind in ("turn_context", "task_started") and isinstance(turn, str) and turn:
                self._note(offset, clean(turn))

    def _note(self, offset: int, turn: str | None) -> None:
        self._offsets.append(offset)
        self._rounds.append(turn)

    def round(self, index: int) -> str | None:
        """The turn id that held where the message's record lies."""
        span = next(self.session.spans.chain(self.session.messages.span[index]), None)
        if span is None or span.store != 0:
            return None
        place = bisect_right(self._offsets, span.offset)
        return self._rounds[place - 1] if place else None

    def role(self, messages: list[Message]) -> str | None:
        """The item's role; the developer's is the system's. Thinking of which nothing can be read is no turn."""
        if all(message.kind == Kind.THINKING and not message.text for message in messages):
            return None
        payload = self._payload(messages[0])
        if payload.get("type") == "message" and isinstance(role := payload.get("role"), str):
            return "system" if role == "developer" else clean(role)
        role = super().role(messages)
        return None if role == "system" else role

    def text(self, messages: list[Message]) -> str | None:
        """The texts of the item's content, where it was typed or injected."""
        if messages[0].kind in _SAID:
            return None
        payload = self._payload(messages[0])
        return _joined(payload.get("content"), "\n") if payload.get("type") == "message" else None

    def result(self, message: Message) -> str | None:
        """The output item's text, envelope included."""
        payload = self.record(message, SpanRole.RESULT).get("payload")
        output = payload.get("output") if isinstance(payload, dict) else None
        return clean(output) if isinstance(output, str) else None

    def name(self, messages: list[Message], number: int) -> str:
        """Items have no ids that could be relied on, so turns are numbered as the format's own producer does."""
        return f"codex-turn-{number:04}"

    def recorded(self, messages: list[Message]) -> tuple[dict[str, Any], str] | None:
        """The line, named as those that no message was made from."""
        return self._as_event(messages[0])

    def takes_text(self, message: Message, tool: Tool) -> bool:
        """Whether the item is one of a custom tool."""
        return _is_text(tool.input) and self._payload(message).get("type") == "custom_tool_call"

    def environment(self, message: Message) -> dict[str, Any]:
        """The directory of the turn, else the one that the session names."""
        root = self.session.workspace_root
        return ({"working_dir": root} if root else {}) | super().environment(message)

    def _owned(self) -> set[int]:
        # Items are the turns. What an event tells of an item too (a text again, how a command ended, a count) is an
        # event all the same, also where no item tells it; only a notice's own step is one that holds the line.
        noted: set[int] = set()
        table = self.session.messages
        for head, kind in zip(table.span, table.kind, strict=True):
            span = next(self.session.spans.chain(head))
            if span.store == 0 and kind not in _SAID and kind not in USER_KINDS:
                noted.add(span.offset)
        return super()._owned() - (self._events - noted)

    def _payload(self, message: Message) -> dict[str, Any]:
        payload = self.record(message).get("payload")
        return payload if isinstance(payload, dict) else {}


class ToolpathOrigin(Origin):
    """A Toolpath document: each step is written again as it was."""

    def __init__(self, session: Session, parser: ToolpathParser) -> None:
        super().__init__(session)
        self._actors, self.alone, self.attributes = parser.actors, parser.alone, parser.attributes
        self.rounds = parser.rounds
        """Whether turnlog wrote it of a session whose token groups are parts of rounds."""
        self._asked: tuple[int, dict[str, Any]] = -1, {}

    def others(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """The steps that no message was made from, but for those that the writer makes itself."""
        session = self.session
        owned = {offset for offset, _ in session.spans.owners(session.messages.span)}
        for offset, _, line, value in _records(session, owned):
            if (step := _step(value)) and not is_made(step):
                yield offset, line, value

    def round(self, index: int) -> str | None:
        """The turn's group."""
        for span in self.session.message_spans(index)[:1]:
            group = payload_of(_step(self.session.record(span))).get("group_id")
            return clean(group) if isinstance(group, str) else None
        return None

    def _said(self, message: Message) -> dict[str, Any]:
        if self._asked[0] != message.index:  # what there is to say of a turn asks again and again
            self._asked = message.index, payload_of(_step(self.record(message)))
        return self._asked[1]

    def event(self, messages: list[Message]) -> dict[str, Any] | None:
        """The event's; a draft's compaction becomes one."""
        said: dict[str, Any] = clean_value(self._said(messages[0]))
        if said.get("type") == COMPACT:
            said |= {"type": EVENT, "entry_type": COMPACT}
        return said if said.get("type") == EVENT and is_event(said) else None

    def actor(self, messages: list[Message]) -> str | None:
        """The step's, if it is well-formed."""
        said = self._identity(messages).get("actor")
        return said if isinstance(said, str) and ACTOR.fullmatch(said) else None

    def parents(self, messages: list[Message]) -> list[str]:
        """The step's."""
        said = self._identity(messages).get("parents")
        return [clean(name) for name in said if isinstance(name, str)] if isinstance(said, list) else []

    def actors(self) -> dict[str, Any]:
        """The document's, as far as the schema allows."""
        return {name: sound_actor(said) for name, said in self._actors.items() if ACTOR.fullmatch(name)}

    def _identity(self, messages: list[Message]) -> dict[str, Any]:
        identity = _step(self.record(messages[0])).get("step")
        return identity if isinstance(identity, dict) else {}

    def writes(self, messages: list[Message]) -> dict[str, Any] | None:
        """What stood beside the turn."""
        change = sound_change(_step(self.record(messages[0])).get("change"))
        return {key: part for key, part in change.items() if structural_type(part) != EVENT}

    def time(self, messages: list[Message]) -> float | None:
        """The step's."""
        identity = _step(self.record(messages[0])).get("step")
        return read_time(identity.get("timestamp")) if isinstance(identity, dict) else super().time(messages)

    def environment(self, message: Message) -> dict[str, Any]:
        """The turn's."""
        said = self._said(message).get("environment")
        return {k: clean(v) for k, v in said.items() if isinstance(v, str)} if isinstance(said, dict) else {}

    def role(self, messages: list[Message]) -> str | None:
        """The turn's."""
        said = self._said(messages[0])
        if said.get("type") == TURN:
            return clean(role) if isinstance(role := said.get("role"), str) else "user"
        return None if said.get("type") == EVENT else super().role(messages)

    def text(self, messages: list[Message]) -> str | None:
        """The turn's."""
        said = self._said(messages[0])
        return clean(text) if said.get("type") == TURN and isinstance(text := said.get("text"), str) else None

    def result(self, message: Message) -> str | None:
        """The result of the item that has the tool's id."""
        result = self._use(message).get("result")
        content = result.get("content") if isinstance(result, dict) else None
        return clean(content) if isinstance(content, str) else None

    def takes_text(self, message: Message, tool: Tool) -> bool:
        """Whether the item's input is one."""
        return _is_text(tool.input) and isinstance(self._use(message).get("input"), str)

    def delegations(self, messages: list[Message]) -> list[tuple[dict[str, Any], Subagent]]:
        """The turn's delegations that no tool use started, as far as the schema allows, each with its subagent."""
        span = self.session.message_spans(messages[0].index)[0]
        found: list[tuple[dict[str, Any], Subagent]] = []
        for number, row in enumerate(delegations_of(self._said(messages[0]))):
            if (child := self.alone.get((span.offset, number))) is not None:
                words = {key: clean(text) for key in _HANDED if isinstance(text := row.get(key), str)}
                found.append(({"agent_id": "", "prompt": ""} | words, child))
        return found

    def _use(self, message: Message) -> dict[str, Any]:
        """The item that has the tool's id."""
        uses = self._said(message).get("tool_uses")
        names = (message.tool.use_id, message.id) if message.tool is not None else ()
        items = (use for use in (uses if isinstance(uses, list) else ()) if isinstance(use, dict))
        return next((use for use in items if use.get("id") in names), {})

    def name(self, messages: list[Message], number: int) -> str:
        """The step's."""
        identity = _step(self.record(messages[0])).get("step")
        name = identity.get("id") if isinstance(identity, dict) else None
        return clean(name) if isinstance(name, str) and name else super().name(messages, number)


MADE = "made"
"""Of a step's `meta.turnlog`: that it holds no message but only what has no place elsewhere."""


def is_made(step: dict[str, Any]) -> bool:
    """Whether the writer made a step for what has no message: an exchange without any, a token group without any."""
    meta = step.get("meta")
    ours = meta.get("turnlog") if isinstance(meta, dict) else None
    return isinstance(ours, dict) and ours.get(MADE) is True


def payload_of(step: dict[str, Any]) -> dict[str, Any]:
    """The payload of a session's step: a turn, or else an event; empty if it is neither."""
    found: dict[str, Any] = {}
    change = step.get("change")
    for part in change.values() if isinstance(change, dict) else ():
        kind = structural_type(part)
        if kind == TURN:
            turn: dict[str, Any] = part["structural"]
            return turn
        if kind in (EVENT, COMPACT) and not found:
            found = part["structural"]
    return found


def _is_text(given: dict[str, Any]) -> bool:
    return given.keys() - {PLACE} == {"input"} and isinstance(given["input"], str)


def _step(record: dict[str, Any]) -> dict[str, Any]:
    step = record.get("Step")
    return step if isinstance(step, dict) else {}


def _joined(content: object, between: str) -> str | None:
    """The texts in the content of a message as Anthropic and OpenAI have it; None if there is none."""
    if isinstance(content, str):
        return clean(content)
    texts = [
        item["text"]
        for item in (content if isinstance(content, list) else [])
        if isinstance(item, dict) and isinstance(item.get("text"), str)
    ]
    return clean(between.join(texts)) if texts else None


def origin_of(session: Session) -> Origin:
    """What can be asked about a session's source."""
    from schemas.interchange.toolpath_read import parser_of

    if (parser := parser_of(session)) is not None:
        return ToolpathOrigin(session, parser)
    native = all(isinstance(store, FileStore) for store in session.stores) and bool(session.stores)
    kinds: dict[str, type[Origin]] = {"claude": ClaudeOrigin, "codex": CodexOrigin} if native else {}
    return kinds.get(session.provider, Origin)(session)


def event_of(record: dict[str, Any], line: int, time: str) -> tuple[dict[str, Any], str, str]:
    """A record as the payload of an event, the step's id, and its time (`time` where it has none)."""
    value = clean_value(record)
    payload = value.get("payload")
    kind = value.get("type")
    if kind in ("event_msg", "response_item") and isinstance(payload, dict):
        kind = payload.get("type", kind)
    kind = kind if isinstance(kind, str) and kind else "record"
    said = iso_time(read_time(value.get("timestamp")))
    name = value.get("uuid")
    if not isinstance(name, str) or not name:
        name = f"{kind}-{said}" if said else f"{kind}-line-{line}"
    return {"type": EVENT, "entry_type": kind, "event_source_id": name, "raw": value}, name, said or time

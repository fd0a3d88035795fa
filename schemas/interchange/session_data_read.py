"""SessionData 1.0 documents: told by their keys, and read as sessions.

The union of what is about is read (formats note 2.1 and 2.2): the producer's own provider ids and `usage`, tool input
as a string, messages that hold text, thinking and a tool at once. A document that turnlog wrote gets back all that its
`metadata.turnlog` says (schemas/documents/session-data.md), which session_data_write.py writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import clean, clean_value, one_line
from schemas.interchange.session_data_parts import (
    as_object,
    as_text,
    is_odd_part,
    keep_malformed,
    read_parts,
    read_result,
    read_tool,
    unsaid_hints,
    wrong_kinds,
)
from schemas.interchange.session_data_parts import read_time as read_time
from schemas.interchange.session_data_usage import Counted, read_usage, repeats, uncounted, untold_tokens
from schemas.interchange.session_data_write import KEEP
from schemas.message import USER_KINDS, Flag, Kind, Message, SpanRole, ToolStatus
from schemas.provider import Format, Head, Reading, Saved
from schemas.reading import DocumentReading
from schemas.records import MemoryStore, Record, Unreadable
from schemas.session import Change, Exchange, Inherited, Lack, Op, Session, Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage, as_count
from schemas.values import list_of, texts_of

_PROVIDERS = {"claude-code": "claude", "codex-cli": "codex", "gemini-cli": "gemini", "cursoride": "cursor"}
"""The producer's own ids that the published document has another word for (formats note 2.1)."""
_UNKNOWN = ("", "unknown")
"""What stands where a version or a workspace root is required and none is known."""
_NO_TIME = "1970-01-01T00:00:00Z"
"""What stands where the time of creation is required and none is known."""
_DOCUMENT: dict[str, type] = {
    "schemaVersion": object, "exchanges": object, "provider": dict, "sessionId": str, "createdAt": datetime,
    "updatedAt": datetime, "slug": str, "workspaceRoot": str,
}  # fmt: skip
_PROVIDER: dict[str, type] = dict.fromkeys(("id", "name", "version"), str)
_EXCHANGE: dict[str, type] = {
    "exchangeId": str, "startTime": datetime, "endTime": datetime, "messages": object, "metadata": dict,
}  # fmt: skip
_MESSAGE: dict[str, type] = {
    "id": str, "timestamp": datetime, "role": object, "model": str, "content": object, "tool": dict, "pathHints": list,
    "metadata": dict, "usage": object,
}  # fmt: skip
"""The keys that 1.0 has, and what stands under them; `datetime` for a time as a text."""
_REQUIRED = frozenset({"schemaVersion", "provider", "sessionId", "createdAt", "workspaceRoot"})
_VERSION = re.compile(r"\s*(?:1(?:\.0)*)?\s*")
"""1.0 as it may be written, or nothing."""
_FLAGS = {name.lower(): flag.value for name, flag in Flag.__members__.items()}
_ASIDE = frozenset({"rewoundBefore", "rewoundAfter"})


def is_session_data(document: object) -> bool:
    """Whether a JSON value has `exchanges` and two more keys that only SessionData requires."""
    return isinstance(document, dict) and "exchanges" in document and len(_REQUIRED & document.keys()) >= 2


class SessionDataProvider(Saved):
    """SessionData documents in the place of an agent: a file of them can be opened like any session."""

    id = "session-data"
    name = "SessionData"
    counting = "The document's own figures, each group once."
    formats = (
        Format("SessionData 1.0, one JSON document", "an object with exchanges and two of SessionData's other keys"),
    )

    def detect(self, head: Head) -> bool:
        """Whether the file is one JSON object with `exchanges` and two more keys that only SessionData requires.

        The version is not looked at here: a newer document is refused when it is read, with its version named.
        """
        return is_session_data(head.document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Read a document; `start` means nothing, since a document is read whole. Raises OSError on another version of
        SessionData than 1.0.
        """
        return DocumentReading(path, lambda: SessionDataParser(path), document_records, is_session_data)


SESSION_DATA = SessionDataProvider()


def document_records(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The document taken apart: its head, then each exchange followed by its messages, in their order."""
    version = document.get("schemaVersion")
    if isinstance(version, str | int | float) and not _VERSION.fullmatch(str(version)):
        # A newer one may mean other things by the same keys (formats note 2.1).
        said = one_line(str(version), 20)
        raise OSError(f"/schemaVersion: a SessionData document of version {said}; only 1.0 can be read")
    exchanges = document.get("exchanges")
    if not isinstance(exchanges, list):
        raise OSError("/exchanges: a SessionData document whose exchanges are no list")
    head = {key: value for key, value in document.items() if key != "exchanges"}
    facts = as_object(_ours((exchanges or [None])[0]).get("session"))
    records: list[dict[str, Any]] = [{"document": head, "facts": facts}]
    for exchange in _with_rewound(exchanges):
        records.append({"exchange": {key: value for key, value in exchange.items() if key != "messages"}})
        messages = exchange.get("messages")
        items = messages if isinstance(messages, list) else [] if messages is None else [messages]
        records.extend({"message": _as_message(item), "number": n} for n, item in enumerate(items))
    return records


def _ours(item: object) -> dict[str, Any]:
    """What turnlog says of an exchange."""
    return as_object(as_object(as_object(item).get("metadata")).get("turnlog"))


def _with_rewound(exchanges: list[Any]) -> Iterator[dict[str, Any]]:
    """All exchanges in their order: those of the document, and the rewound ones that turnlog kept beside them."""
    for item in exchanges:
        exchange = item if isinstance(item, dict) else {"messages": [item]}
        ours = _ours(exchange)
        if ours.keys() & _ASIDE:
            yield from (e for e in list_of(ours.get("rewoundBefore")) if isinstance(e, dict))
            kept = {key: value for key, value in ours.items() if key not in _ASIDE}
            yield exchange | {"metadata": as_object(exchange.get("metadata")) | {"turnlog": kept}}
            yield from (e for e in list_of(ours.get("rewoundAfter")) if isinstance(e, dict))
        else:
            yield exchange


def _as_message(item: object) -> dict[str, Any]:
    """The item; one that is no object becomes a message of unknown kind that shows it."""
    if isinstance(item, dict):
        return item
    return {"role": "agent", "content": [item], "metadata": {"turnlog": {"kind": "unknown"}}}


def read_document(document: dict[str, Any], path: Path) -> Session:
    """The session in a document that is at hand already, such as a subagent's within its parent's."""
    parser, store = SessionDataParser(path), MemoryStore(path)
    parser.session.stores.append(store)
    parser.feed([store.add(item) for item in document_records(document)])
    return parser.session


class _Block(NamedTuple):
    """What becomes one message: a run of equal content parts, or the tool."""

    kind: Kind
    parts: list[Any]
    tool: dict[str, Any] | None = None


class SessionDataParser:
    """Takes the records of `document_records`, all in one `feed`."""

    def __init__(self, path: Path) -> None:
        self.session = Session("session-data", "SessionData", path, path.stem)
        self.session.build = _Builder()
        self._kept: dict[str, Any] = {"groupRecords": [], "rounds": {}, "paths": {}}
        self._facts: dict[str, Any] = {}
        self._facts_span = NONE
        self._document: dict[str, Any] = {}
        self._exchange_times: list[tuple[float | None, float | None, bool]] = []
        self._groups: dict[str, int] = {}
        self._homeless: dict[str, list[tuple[int, bool]]] = {}
        self._last: dict[int, int] = {}
        self._counted: dict[bool, Counted] = {}
        """The last usage of the talk, and that of the subagents' messages, which may stand between."""
        self._tools: dict[str, int] = {}
        self._own = False

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take the records of a document."""
        for record in records:
            item = record[3]
            if "document" in item:
                self._take_facts(as_object(item.get("facts")), record)
                self._take_head(as_object(item["document"]))
            elif "exchange" in item:
                self._take_exchange(as_object(item["exchange"]), record)
            else:
                self._take_message(as_object(item.get("message")), item.get("number", 0), record)
        self._complete()
        return [Change(Op.APPENDED, index) for index in range(len(self.session.messages))]

    def refresh(self) -> list[Change]:
        """Nothing lies beside a document."""
        return []

    # -- the document ----------------------------------------------------------------------------------------------

    def _take_head(self, document: dict[str, Any]) -> None:
        session, self._document = self.session, document
        provider = as_object(document.get("provider"))
        name = as_text(provider.get("id")) or session.provider
        session.provider = _PROVIDERS.get(name, name)
        session.provider_name = as_text(provider.get("name")) or session.provider
        version, root = as_text(provider.get("version")), as_text(document.get("workspaceRoot"))
        session.version = None if version in _UNKNOWN else version
        session.id = as_text(document.get("sessionId")) or session.id
        session.workspace_root = None if root in _UNKNOWN else root
        fields = {key: value for key, value in document.items() if key not in _DOCUMENT}
        fields |= wrong_kinds(document, _DOCUMENT)
        unknown = {key: value for key, value in provider.items() if key not in _PROVIDER}
        if odd := unknown | wrong_kinds(provider, _PROVIDER):
            fields["provider"] = odd
        if fields:
            session.metadata["fields"] = as_object(session.metadata.get("fields")) | clean_value(fields)

    def _take_facts(self, facts: dict[str, Any], record: Record) -> None:
        """What turnlog says of the whole session; it stands in the document's first exchange."""
        session, self._facts = self.session, facts
        self._facts_span = facts_span(session, facts, record)
        session.title = as_text(facts.get("title")).replace("\n", " ")
        session.branch = as_text(facts.get("branch")) or None
        take_facts(session, facts)
        session.metadata |= as_object(clean_value(facts.get("metadata")))
        if fields := as_object(facts.get("fields")):  # where earlier versions wrote them
            session.metadata["fields"] = clean_value(fields)

    def _complete(self) -> None:
        """What can only be known, or must not be overruled, once all messages are there."""
        session = self.session
        for group, index in self._last.items():
            session.groups.last[group] = index
        for exchange, (started, ended, exact) in zip(session.exchanges, self._exchange_times, strict=True):
            exchange.started = started if exact or started is not None else exchange.started
            exchange.ended = ended if exact or ended is not None else exchange.ended
        created, updated = (self._document.get(key) for key in ("createdAt", "updatedAt"))
        session.created = None if created == _NO_TIME else read_time(created) or session.created
        if (moment := read_time(updated)) is not None or self._own:
            session.updated = moment
        for row in map(as_object, list_of(self._facts.get("subagents"))):
            session.subagents.append(self._subagent(row))
        take_inherited(session, self._facts, self._facts_span)
        session.metadata[KEEP] = self._kept

    def _subagent(self, row: dict[str, Any]) -> Subagent:
        subagent = Subagent(as_text(row.get("id")), as_text(row.get("name")), as_text(row.get("description")))
        subagent.internal = row.get("internal") is True
        subagent.tool_use = self._tools.get(as_text(row.get("toolUse")))
        if path := as_text(row.get("path")):
            # A document may come from anywhere: a path in it is followed only below its own directory.
            place, home = Path(path), self.session.path.resolve().parent
            inside = place.is_absolute() and place.resolve().is_relative_to(home) and place.is_file()
            subagent.path = place if inside else None
            self._kept["paths"][subagent.id] = path
        if document := as_object(row.get("session")):
            try:
                subagent.session = read_document(document, self.session.path)
            except OSError as error:
                raise OSError(f"in the document of the subagent {one_line(subagent.id, 60)}: {error}") from error
        return subagent

    # -- exchanges -------------------------------------------------------------------------------------------------

    def _take_exchange(self, data: dict[str, Any], record: Record) -> None:
        session = self.session
        number = len(session.exchanges)
        metadata = as_object(data.get("metadata"))
        ours = as_object(metadata.get("turnlog"))
        self._own = "opener" in ours
        self._counted.clear()
        opener = _kind(ours.get("opener"))
        exchange = Exchange(
            number, len(session.messages), opener, as_text(data.get("exchangeId")) or f"{session.id}:{number}"
        )
        exchange.prompt = one_line(as_text(ours.get("prompt")), 300)
        seconds = ours.get("seconds")
        exchange.seconds = float(seconds) if isinstance(seconds, int | float) and seconds == seconds else None
        exchange.errors = as_count(ours.get("errors")) or 0
        exchange.rewound, exchange.interrupted = ours.get("rewound") is True, ours.get("interrupted") is True
        exchange.inherited = ours.get("inherited") is True
        session.exchanges.append(exchange)
        self._exchange_times.append((read_time(data.get("startTime")), read_time(data.get("endTime")), self._own))
        for group in map(as_object, list_of(ours.get("groups"))):
            self._take_group(group, record)
        exchange.model = session.model_index(as_text(ours.get("model")))
        theirs = {key: value for key, value in metadata.items() if value is not ours}
        theirs |= {key: value for key, value in data.items() if key not in _EXCHANGE}
        keep_malformed(theirs, wrong_kinds(data, _EXCHANGE))
        if theirs:  # an exchange has no facts of its own
            known = as_object(session.metadata.get("exchanges"))
            session.metadata["exchanges"] = known | {str(number): clean_value(theirs)}

    def _take_group(self, group: dict[str, Any], record: Record) -> None:
        session = self.session
        usage = TokenUsage.from_json(as_object(group.get("usage")))
        name = as_text(group.get("id"))
        index = session.add_group(name, usage, record, model=session.model_index(as_text(group.get("model"))))
        self._kept["groupRecords"].append(clean_value(list_of(group.get("records"))))
        if name_of_round := as_text(group.get("round")):
            self._kept["rounds"][str(index)] = name_of_round
        self._groups[name] = index
        for message, last in self._homeless.pop(name, ()):
            self._join(message, index, last)

    def _join(self, message: int, group: int, last: bool) -> None:
        self.session.join_group(message, group)
        if last:
            self._last[group] = message

    # -- messages --------------------------------------------------------------------------------------------------

    def _take_message(self, data: dict[str, Any], number: int, record: Record) -> None:
        """Take one message of a document."""
        session, exchange = self.session, self.session.exchanges[-1]
        ours = as_object(as_object(data.get("metadata")).get("turnlog"))
        model = session.model_index(as_text(data.get("model")) or as_text(ours.get("model")))
        time = read_time(data.get("timestamp"))
        first = len(session.messages) == exchange.start
        index, group = -1, ""
        for block, piece in enumerate(_blocks(data, ours)):
            kind = piece.kind
            if kind == Kind.PROMPT and not self._own and not first:
                kind = Kind.STEER
            name = _id(data, exchange, number, block)
            index = session.add_message(kind, key_of(name), record, block=block, time=time)
            session.messages.model[index] = model
            if first and kind in USER_KINDS and not self._own:
                exchange.opener = kind
                session.mark_opener(index)
            text = self._measure(index, piece, ours)
            if first and not self._own and exchange.opener:
                exchange.prompt = one_line(text, 300)
            if kind == Kind.TOOL:
                self._tools.setdefault(name, index)
            first = False
            if kind == Kind.NOTE and block:
                index -= 1  # the paths that the message names: its tokens stay where its words are
            else:
                group = name
        if index >= 0:
            self._account(data, ours, index, model, group, record)

    def _measure(self, index: int, piece: _Block, ours: dict[str, Any]) -> str:
        """Fill the row's flags and sizes; returns what the message's size is that of."""
        # Not by `session.message`, which would read the record back and make all of it, for each message of a file.
        messages = self.session.messages
        flags = _flags(ours.get("flags"))
        if piece.tool is None:
            text = "\n\n".join(part.text for part in read_parts(piece.parts, ours.get("parts")) if part.text)
        else:
            text, _, status, _ = read_result(piece.tool, ours.get("tool"))
            if not self._own:
                failed, pending = status is ToolStatus.ERROR, status is ToolStatus.PENDING
                flags |= (Flag.ERROR.value if failed else 0) | (Flag.PENDING.value if pending else 0)
                self.session.exchanges[-1].errors += failed
        messages.flags[index] |= flags
        messages.chars[index] = min(len(text), 0xFFFFFFFF)
        messages.lines[index] = min(text.count("\n") + bool(text), 0xFFFFFFFF)
        return text

    def _account(
        self, data: dict[str, Any], ours: dict[str, Any], index: int, model: int, name: str, record: Record
    ) -> None:
        """Put the message into its token group; the producer's documents say only usage, and repeat it."""
        session = self.session
        if self._own:
            if isinstance(group_id := ours.get("group"), str):
                group, last = self._groups.get(group_id), "usage" in ours
                if group is None:
                    self._homeless.setdefault(group_id, []).append((index, last))
                else:
                    self._join(index, group, last)
            return
        usage = read_usage(data.get("usage"))
        aside = as_object(data.get("metadata")).get("isSidechain") is True
        before = self._counted.pop(aside, None)
        if data.get("role") == "user":
            self._counted.clear()
            before = None
        if usage is None:
            return
        model_name = session.models[model]
        if before is not None and repeats(before, session.provider, model_name, usage):
            group, usage = before.group, before.usage.largest(usage)
            span = session.add_span(record, SpanRole.USAGE)
            session.spans.extend(before.span, span)
            session.groups.usage[group] = usage
        else:
            group = session.add_group(name, usage, record, model=model)
            span = session.groups.span[group]
            self._kept["groupRecords"].append([])
        session.join_group(index, group)
        self._counted[aside] = Counted(model_name, usage, group, span)


def take_facts(session: Session, facts: dict[str, Any]) -> None:
    """What turnlog says of a whole session and only a Session has a place for."""
    session.context_window, session.context_used = (
        as_count(facts.get("contextWindow")),
        as_count(facts.get("contextUsed")),
    )
    session.duplicates = as_count(facts.get("duplicates")) or 0
    session.own_total = as_text(facts.get("ownTotal")).replace("\n", " ")
    said_lacks = list_of(facts.get("lacks"))
    session.lacks = frozenset(lack for lack in Lack if lack.value in said_lacks)
    session.links = [clean(link) for link in texts_of(facts.get("links"))]
    for model in list_of(facts.get("models")):
        session.model_index(as_text(model))
    line, said = session.lineage, as_object(facts.get("lineage"))
    line.forked_from, line.continues = as_text(said.get("forkedFrom")) or None, as_text(said.get("continues")) or None
    line.parent, line.agent_id = as_text(said.get("parent")) or None, as_text(said.get("agentId")) or None
    for row in map(as_object, list_of(facts.get("unreadable"))):
        place = [as_count(row.get(key)) or 0 for key in ("line", "offset", "length")]
        reason, file = as_text(row.get("reason")), as_text(row.get("file"))
        session.unreadable.append(Unreadable(place[0], reason, place[1], place[2], file))
    session.exported_from = one_line(as_text(facts.get("source")), 4000)
    session.exported_unreadable = len(session.unreadable)
    for counter, key in ((session.unknown, "unknownRecords"), (session.hidden, "hiddenRecords")):
        for name, count in as_object(facts.get(key)).items():
            counter[clean(name)] += as_count(count) or 0


def facts_span(session: Session, facts: dict[str, Any], record: Record) -> int:
    """The record in which turnlog says what a session inherited; NONE where it says nothing, or the record is only made
    up of what stands around the steps of a Toolpath document.
    """
    return session.add_span(record, SpanRole.USAGE) if facts.get("inherited") and record[1] else NONE


def take_inherited(session: Session, facts: dict[str, Any], span: int) -> None:
    """The responses that turnlog says a fork has copies of, once the exchanges are known, as each stands in one.

    `span`: where the document says it (`facts_span`).
    """
    session.inherited.clear()
    for row in map(as_object, list_of(facts.get("inherited")) if session.exchanges else ()):
        name, usage = as_text(row.get("id")), TokenUsage.from_json(as_object(row.get("usage")))
        model, time = one_line(as_text(row.get("model")), 100), read_time(row.get("time"))
        exchange = min(as_count(row.get("exchange")) or 0, len(session.exchanges) - 1)
        session.inherited[name] = Inherited(name, usage, model, time, exchange, span, span)


def _blocks(data: dict[str, Any], ours: dict[str, Any]) -> list[_Block]:
    """What a message of a document consists of; turnlog's own is always one block."""
    content, tool = _content(data), data.get("tool")
    tool = tool if isinstance(tool, dict) else None
    user = data.get("role") == "user"
    kind = _kind(ours.get("kind"))
    if kind is not None and (kind in USER_KINDS) == user and (kind == Kind.TOOL) == (tool is not None):
        return [_Block(kind, [] if ours.get("placeholder") is True else content, tool)]
    blocks: list[_Block] = [_Block(Kind.PROMPT, content)] if user else []
    for part in () if user else content:
        of = Kind.THINKING if isinstance(part, dict) and part.get("type") == "thinking" else Kind.TEXT
        if not blocks or blocks[-1].kind != of:
            blocks.append(_Block(of, []))
        blocks[-1].parts.append(part)
    if tool:
        blocks.append(_Block(Kind.TOOL, [], tool))
    if not blocks or unsaid_hints(data):
        blocks.append(_Block(Kind.NOTE, []))
    return blocks


def _content(data: dict[str, Any]) -> list[Any]:
    """The parts of a message; a text or a part that stands there by itself is one."""
    content = data.get("content")
    return [content] if isinstance(content, dict) or (content and isinstance(content, str)) else list_of(content)


def _metadata(data: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """What others say of a message, and what a Message has no field for: nothing is lost. `ours` is what turnlog
    says of it.
    """
    metadata = {key: value for key, value in as_object(data.get("metadata")).items() if value is not ours}
    if (foreign := metadata.pop("turnlog", ours.get("foreign"))) is not None:
        metadata["foreign"] = foreign  # somebody else's key of that name
    if fields := {key: value for key, value in data.items() if key not in _MESSAGE}:
        metadata["messageFields"] = fields
    if (records := ours.get("records")) is not None:
        metadata["records"] = records
    if (role := data.get("role")) not in ("user", "agent"):
        metadata["role"] = role
    keep_malformed(metadata, _malformed(data, ours))
    return metadata


def _malformed(data: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """What stands under a message's own keys and is not what belongs there."""
    odd = wrong_kinds(data, _MESSAGE)
    if (content := data.get("content")) is not None and not isinstance(content, str | list | dict):
        odd["content"] = content
    if hints := [hint for hint in list_of(data.get("pathHints")) if not isinstance(hint, str)]:
        odd["pathHints"] = hints
    if "kind" not in ours:
        if (usage := uncounted(data.get("usage"))) is not None:
            odd["usage"] = usage
        if parts := [part for part in _content(data) if is_odd_part(part)]:
            odd["content"] = parts
    return odd


class _Opened(NamedTuple):
    """A message of a document, with what is the same for each of the blocks that it is taken apart into."""

    data: dict[str, Any]
    ours: dict[str, Any]
    blocks: list[_Block]
    metadata: dict[str, Any]


def _opened(data: dict[str, Any]) -> _Opened:
    ours = as_object(as_object(data.get("metadata")).get("turnlog"))
    return _Opened(data, ours, _blocks(data, ours), _metadata(data, ours))


class _Builder:
    """Makes messages from a document's records. What was opened last is kept, since its blocks come in turn."""

    def __init__(self) -> None:
        self._last = _opened({})

    def __call__(self, session: Session, index: int) -> Message:
        rows = session.messages
        record = session.record(next(session.spans.chain(rows.span[index])))
        data = as_object(record.get("message"))
        if self._last.data is not data:
            self._last = _opened(data)
        return _made(session, index, self._last, record.get("number", 0), rows.block[index])


def _made(session: Session, index: int, opened: _Opened, number: int, block: int) -> Message:
    rows, (data, ours, blocks, theirs) = session.messages, opened
    metadata = dict(theirs)
    piece = blocks[min(block, len(blocks) - 1)]
    exchange = session.exchanges[rows.exchange[index]]
    group = rows.group[index]
    message = Message(
        index=index,
        id=_id(data, exchange, number, block),
        kind=Kind(rows.kind[index]),
        exchange=exchange.index,
        timestamp=rows.when(index),
        model=session.model_of(index),
        parts=read_parts(piece.parts, ours.get("parts")),
        tool=read_tool(piece.tool, ours.get("tool"), metadata) if piece.tool is not None else None,
        group=session.groups.ids[group] if group < len(session.groups) else None,
        flags=Flag(rows.flags[index]),
        label=as_text(ours.get("label")).replace("\n", " "),
        figures=as_text(ours.get("figures")).replace("\n", " "),
        metadata=metadata,
    )
    counts = group < len(session.groups) and session.groups.last[group] == index
    if counts and session.provider == "gemini" and "kind" not in ours and (told := untold_tokens(data.get("usage"))):
        metadata.setdefault("tokens", told)
    if block == next((n for n in reversed(range(len(blocks))) if blocks[n].kind != Kind.NOTE), 0):
        message.path_hints = texts_of(data.get("pathHints"))
    if piece.kind == Kind.NOTE and "kind" not in ours:
        hints = unsaid_hints(data)
        message.label = "files: " + one_line(", ".join(hints)) if hints else "empty message"
    return message


def _id(data: dict[str, Any], exchange: Exchange, number: int, block: int) -> str:
    name = as_text(data.get("id")) or f"{exchange.id}/{number}"
    return f"{name}#{block + 1}" if block else name


def key_of(name: str) -> int:
    """The 64-bit number that stands for a message's id."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


def _kind(value: object) -> Kind | None:
    return Kind.__members__.get(value.upper()) if isinstance(value, str) else None


def _flags(value: object) -> int:
    """The flags of these names, as a number: an enum's own arithmetic takes a quarter of a message's time."""
    flags = 0
    for name in list_of(value):
        flags |= _FLAGS.get(name, 0) if isinstance(name, str) else 0
    return flags

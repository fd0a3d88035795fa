"""SessionData 1.0 documents: told by their keys, and read as sessions.

The union of what is about is read (formats note 2.1 and 2.2): the producer's own provider ids and `usage`, tool input
as a string, messages that hold text, thinking and a tool at once. A document that turnlog wrote gets back all that its
`metadata.turnlog` says (session_data_facts.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import clean_value, one_line
from schemas.documents import keys_of
from schemas.interchange.parser import RecordParser, key_of
from schemas.interchange.session_data_facts import (
    EXCHANGE,
    SESSION,
    SUBAGENT,
    Group,
    as_line,
    as_text,
    read_flags,
    read_kind,
    read_time,
    take,
    take_inherited,
    text_of_result,
)
from schemas.interchange.session_data_parts import (
    is_odd_part,
    keep_malformed,
    read_parts,
    read_result,
    read_tool,
    unsaid_hints,
    wrong_kinds,
)
from schemas.interchange.session_data_usage import Counted, read_usage, repeats, tells_own, uncounted, untold_tokens
from schemas.message import USER_KINDS, Flag, Kind, Message, SpanRole, ToolStatus
from schemas.provider import Format, SavedFormat
from schemas.published import id_called, listing_of
from schemas.reading import DocumentReading
from schemas.records import MemoryStore, Record
from schemas.session import Exchange, Session, Subagent
from schemas.table import NONE
from schemas.values import dict_of, list_of, texts_of

_UNKNOWN = ("", "unknown")
"""What stands where a version or a workspace root is required and none is known."""
_NO_TIME = "1970-01-01T00:00:00Z"
"""What stands where the time of creation is required and none is known."""
_REQUIRED = frozenset({"schemaVersion", "provider", "sessionId", "createdAt", "workspaceRoot"})
_VERSION = re.compile(r"\s*(?:1(?:\.0)*)?\s*")
"""1.0 as it may be written, or nothing."""
_ASIDE = frozenset({"rewoundBefore", "rewoundAfter"})


def is_session_data(document: object) -> bool:
    """Return whether a JSON value has `exchanges` and two more keys that only SessionData requires."""
    return isinstance(document, dict) and "exchanges" in document and len(_REQUIRED & document.keys()) >= 2


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
    facts = dict_of(_ours((exchanges or [None])[0]).get("session"))
    records: list[dict[str, Any]] = [{"document": head, "facts": facts}]
    for exchange in _with_rewound(exchanges):
        records.append({"exchange": {key: value for key, value in exchange.items() if key != "messages"}})
        messages = exchange.get("messages")
        items = messages if isinstance(messages, list) else [] if messages is None else [messages]
        records.extend({"message": _as_message(item), "number": n} for n, item in enumerate(items))
    return records


def _ours(item: object) -> dict[str, Any]:
    """Return turnlog's own facts of an exchange."""
    return dict_of(dict_of(dict_of(item).get("metadata")).get("turnlog"))


def _with_rewound(exchanges: list[Any]) -> Iterator[dict[str, Any]]:
    """All exchanges in their order: those of the document, and the rewound ones that turnlog kept beside them."""
    for item in exchanges:
        exchange = item if isinstance(item, dict) else {"messages": [item]}
        ours = _ours(exchange)
        if ours.keys() & _ASIDE:
            yield from (e for e in list_of(ours.get("rewoundBefore")) if isinstance(e, dict))
            kept = {key: value for key, value in ours.items() if key not in _ASIDE}
            yield exchange | {"metadata": dict_of(exchange.get("metadata")) | {"turnlog": kept}}
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
    """The content of one message: a run of content parts of one kind, or the tool."""

    kind: Kind
    parts: list[Any]
    tool: dict[str, Any] | None = None


class SessionDataParser(RecordParser):
    """Takes the records of `document_records`, all in one `feed`."""

    def __init__(self, path: Path) -> None:
        super().__init__(Session("session-data", "SessionData", path, path.stem))
        self._opened = _opened({})
        """The message of the document that was asked for last."""
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

    def take(self, record: Record) -> None:
        """Take the head, an exchange or a message."""
        item = record[3]
        if "document" in item:
            self._take_facts(dict_of(item.get("facts")), record)
            self._take_head(dict_of(item["document"]))
        elif "exchange" in item:
            self._take_exchange(dict_of(item["exchange"]), record)
        else:
            self._take_message(dict_of(item.get("message")), item.get("number", 0), record)

    def __call__(self, session: Session, index: int) -> Message:
        """The message of a row."""
        rows = session.messages
        record = session.record(next(session.spans.chain(rows.span[index])))
        data = dict_of(record.get("message"))
        if self._opened.data is not data:
            self._opened = _opened(data)
        return _message(session, index, self._opened, record.get("number", 0), rows.block[index])

    # -- the document ----------------------------------------------------------------------------------------------

    def _take_head(self, document: dict[str, Any]) -> None:
        session, self._document = self.session, document
        provider = dict_of(document.get("provider"))
        session.provider = id_called(as_text(provider.get("id")) or session.provider)
        session.provider_name = as_text(provider.get("name")) or session.provider
        version, root = as_text(provider.get("version")), as_text(document.get("workspaceRoot"))
        session.version = None if version in _UNKNOWN else version
        session.id = as_text(document.get("sessionId")) or session.id
        session.workspace_root = None if root in _UNKNOWN else root
        fields = _beyond(document, "")
        if odd := _beyond(provider, "provider"):
            fields["provider"] = odd
        if fields:
            session.metadata["fields"] = dict_of(session.metadata.get("fields")) | clean_value(fields)

    def _take_facts(self, facts: dict[str, Any], record: Record) -> None:
        """Take in turnlog's facts of the whole session; they stand in the document's first exchange."""
        session, self._facts = self.session, facts
        self._facts_span = session.add_span(record, SpanRole.USAGE) if facts.get("inherited") else NONE
        take(SESSION, session, facts)
        session.metadata |= dict_of(clean_value(facts.get("metadata")))
        if fields := dict_of(facts.get("fields")):  # where earlier versions wrote them
            session.metadata["fields"] = clean_value(fields)

    def settle(self) -> Iterable[int]:
        """Set what can only be known, or must not be overruled, once all messages are there."""
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
        for row in map(dict_of, list_of(self._facts.get("subagents"))):
            session.subagents.append(self._subagent(row))
        take_inherited(session, self._facts.get("inherited"), self._facts_span)
        return ()

    def _subagent(self, row: dict[str, Any]) -> Subagent:
        subagent = Subagent(as_text(row.get("id")))
        take(SUBAGENT, subagent, row)
        subagent.tool_use = self._tools.get(as_text(row.get("toolUse")))
        if path := as_text(row.get("path")):
            # A document may come from anywhere: a path in it is followed only below its own directory.
            place, home = Path(path), self.session.path.resolve().parent
            inside = place.is_absolute() and place.resolve().is_relative_to(home) and place.is_file()
            subagent.path = place if inside else None
            subagent.exported_path = path
        if document := dict_of(row.get("session")):
            try:
                subagent.session = read_document(document, self.session.path)
            except OSError as error:
                raise OSError(f"in the document of the subagent {one_line(subagent.id, 60)}: {error}") from error
        return subagent

    # -- exchanges -------------------------------------------------------------------------------------------------

    def _take_exchange(self, data: dict[str, Any], record: Record) -> None:
        session = self.session
        number = len(session.exchanges)
        metadata = dict_of(data.get("metadata"))
        ours = dict_of(metadata.get("turnlog"))
        self._own = "opener" in ours
        self._counted.clear()
        opener = read_kind(ours.get("opener"))
        exchange = Exchange(
            number, len(session.messages), opener, as_text(data.get("exchangeId")) or f"{session.id}:{number}"
        )
        take(EXCHANGE, exchange, ours)
        session.exchanges.append(exchange)
        self._exchange_times.append((read_time(data.get("startTime")), read_time(data.get("endTime")), self._own))
        for group in map(dict_of, list_of(ours.get("groups"))):
            self._take_group(group, record)
        exchange.model = session.model_index(as_text(ours.get("model")))
        theirs = {key: value for key, value in metadata.items() if value is not ours}
        known = keys_of("session-data", "exchange")
        theirs |= {key: value for key, value in data.items() if key not in known}
        keep_malformed(theirs, wrong_kinds(data, known))
        if theirs:  # an exchange has no facts of its own
            others = dict_of(session.metadata.get("exchanges"))
            session.metadata["exchanges"] = others | {str(number): clean_value(theirs)}

    def _take_group(self, data: dict[str, Any], record: Record) -> None:
        session, group = self.session, Group.from_json(data)
        index = session.add_group(group.id, group.usage, record, model=session.model_index(group.model))
        if group.records:
            session.exported_records[index] = group.records
        if group.round:
            session.rounds[index] = group.round
        self._groups[group.id] = index
        for message, last in self._homeless.pop(group.id, ()):
            self._join(message, index, last)

    def _join(self, message: int, group: int, last: bool) -> None:
        self.session.join_group(message, group)
        if last:
            self._last[group] = message

    # -- messages --------------------------------------------------------------------------------------------------

    def _take_message(self, data: dict[str, Any], number: int, record: Record) -> None:
        """Take one message of a document."""
        session, exchange = self.session, self.session.exchanges[-1]
        ours = dict_of(dict_of(data.get("metadata")).get("turnlog"))
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
        flags = read_flags(ours.get("flags"))
        if piece.tool is None:
            text = "\n\n".join(part.text for part in read_parts(piece.parts, ours.get("parts")) if part.text)
        elif isinstance(said := ours.get("tool"), dict) and self._own:
            text = text_of_result(said, piece.tool.get("output"))
        else:
            text, _, status, _ = read_result(piece.tool.get("output"))
            if not self._own:
                failed, pending = status is ToolStatus.ERROR, status is ToolStatus.PENDING
                flags |= (Flag.ERROR.value if failed else 0) | (Flag.PENDING.value if pending else 0)
                self.session.exchanges[-1].errors += failed
        messages.flags[index] |= flags
        messages.resize(index, text)
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
        aside = dict_of(data.get("metadata")).get("isSidechain") is True
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
        session.join_group(index, group)
        self._counted[aside] = Counted(model_name, usage, group, span)


def _beyond(data: dict[str, Any], of: str) -> dict[str, Any]:
    """Return what an object has that 1.0 does not have there: other keys, and values of a wrong type."""
    known = keys_of("session-data", of)
    return {key: value for key, value in data.items() if key not in known} | wrong_kinds(data, known)


def _blocks(data: dict[str, Any], ours: dict[str, Any]) -> list[_Block]:
    """Take a message of a document apart into blocks; turnlog's own is always one block."""
    content, tool = _content(data), data.get("tool")
    tool = tool if isinstance(tool, dict) else None
    user = data.get("role") == "user"
    kind = read_kind(ours.get("kind"))
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
    """Return what others say of a message, and what a Message has no field for: nothing is lost. `ours` is what turnlog
    says of it.
    """
    metadata = {key: value for key, value in dict_of(data.get("metadata")).items() if value is not ours}
    if (foreign := metadata.pop("turnlog", ours.get("foreign"))) is not None:
        metadata["foreign"] = foreign  # somebody else's key of that name
    known = keys_of("session-data", "message")
    if fields := {key: value for key, value in data.items() if key not in known}:
        metadata["messageFields"] = fields
    if (records := ours.get("records")) is not None:
        metadata["records"] = records
    if (role := data.get("role")) not in ("user", "agent"):
        metadata["role"] = role
    keep_malformed(metadata, _malformed(data, ours))
    return metadata


def _malformed(data: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return the values under a message's own keys that do not belong there."""
    odd = wrong_kinds(data, keys_of("session-data", "message"))
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
    ours = dict_of(dict_of(data.get("metadata")).get("turnlog"))
    return _Opened(data, ours, _blocks(data, ours), _metadata(data, ours))


def _message(session: Session, index: int, opened: _Opened, number: int, block: int) -> Message:
    data, ours, blocks, theirs = opened
    metadata = dict(theirs)
    piece = blocks[min(block, len(blocks) - 1)]
    exchange, group = session.exchanges[session.messages.exchange[index]], session.messages.group[index]
    message = session.place(Message(-1, _id(data, exchange, number, block), piece.kind, 0), index)
    message.parts, message.metadata = read_parts(piece.parts, ours.get("parts")), metadata
    message.tool = read_tool(piece.tool, ours.get("tool"), metadata) if piece.tool is not None else None
    message.label, message.figures = as_line(ours.get("label")), as_line(ours.get("figures"))
    if message.tool is not None:
        message.tool.listing = listing_of(session.provider)
    counts = group < len(session.groups) and session.groups.last[group] == index
    if counts and tells_own(session.provider) and "kind" not in ours and (told := untold_tokens(data.get("usage"))):
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


SESSION_DATA = SavedFormat(
    "session-data",
    "SessionData",
    "The document's own figures, each group once.",
    (Format("SessionData 1.0, one JSON document", "an object with exchanges and two of SessionData's other keys"),),
    # The version is not looked at here: a newer document is refused when it is read, with its version named.
    lambda head: is_session_data(head.document),
    lambda path: DocumentReading(path, lambda: SessionDataParser(path), document_records, is_session_data),
)

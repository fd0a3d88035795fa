"""SessionData 1.0 documents: told by their keys, and read as sessions.

The union of what is about is read (formats note 2.1 and 2.2): the producer's own provider ids and `usage`, tool input
as a string, messages that hold text, thinking and a tool at once. A document that turnlog wrote gets back all that its
`metadata.turnlog` says (session_data_facts.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

from schemas.agents import id_called, listing_of
from schemas.clean import as_json, clean, clean_styled, clean_value, one_line
from schemas.diffs import changes_asked
from schemas.documents import keys_of
from schemas.interchange.parser import RecordParser
from schemas.interchange.session_data_facts import (
    EXCHANGE,
    PART,
    SESSION,
    SUBAGENT,
    TOOL,
    as_line,
    as_text,
    read_flags,
    read_kind,
    read_time,
    take,
    take_inherited,
    text_of_result,
)
from schemas.interchange.session_data_usage import Counted, read_usage, repeats, tells_own, uncounted, untold_tokens
from schemas.message import NO_FLAGS, USER_KINDS, Flag, Kind, Message, Part, SpanRole, Tool, ToolStatus, ToolType
from schemas.provider import Format, SavedFormat
from schemas.reading import DocumentReading
from schemas.records import MemoryStore, Record
from schemas.session import Exchange, Session, Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage
from schemas.values import dict_of, list_of, texts_of, whole

_UNKNOWN = ("", "unknown")
"""What stands where a version or a workspace root is required and none is known."""
_NO_TIME = "1970-01-01T00:00:00Z"
"""What stands where the time of creation is required and none is known."""
_REQUIRED = frozenset({"schemaVersion", "provider", "sessionId", "createdAt", "workspaceRoot"})
_VERSION = re.compile(r"\s*(?:1(?:\.0)*)?\s*")
"""1.0 as it may be written, or nothing."""
_ASIDE = frozenset({"rewoundBefore", "rewoundAfter"})
_TOOL_TYPES: dict[str, ToolType] = {name: name for name in get_args(ToolType)}
_CALLED = ("input", "summary", "formattedMarkdown")
_FILE = re.compile(r".*[/\\](?=[^/\\])", re.DOTALL)
"""What stands before a file's own name."""
_TYPES = {"string": str, "object": dict, "array": list}
ENDS = {ToolStatus.ERROR: Flag.ERROR, ToolStatus.PENDING: Flag.PENDING}
"""Ends of a tool use that flag its message."""


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
    for place, exchange in enumerate(_with_rewound(exchanges)):
        records.append({"exchange": {key: value for key, value in exchange.items() if key != "messages"}})
        messages = exchange.get("messages")
        items = messages if isinstance(messages, list) else [] if messages is None else [messages]
        records.extend({"message": _as_message(item), "exchange": place, "number": n} for n, item in enumerate(items))
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
        self._facts: dict[str, Any] = {}
        self._facts_span = NONE
        self._document: dict[str, Any] = {}
        self._exchange_times: list[tuple[float | None, float | None]] = []
        self._groups: dict[str, int] = {}
        self._members: list[tuple[int, str, bool]] = []
        """Messages of turnlog's own, each with the id of its group, and whether it is the last one of that."""
        self._counted: dict[bool, Counted] = {}
        """The last usage of the talk, and that of the subagents' messages, which may stand between."""
        self._tools: dict[str, int] = {}
        self._own: list[bool] = []
        """Of each exchange, whether turnlog wrote it."""

    def take(self, record: Record) -> None:
        """Take the head, an exchange or a message."""
        item = record[3]
        if "document" in item:
            self._take_facts(dict_of(item.get("facts")), record)
            self._take_head(dict_of(item["document"]))
        elif "message" in item:
            self._take_message(dict_of(item["message"]), record)
        else:
            self._take_exchange(dict_of(item["exchange"]), record)

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
        others, wrong = _beyond(document, "")
        if any(odd := _beyond(provider, "provider")):
            wrong["provider"] = odd[0] | odd[1]
        if fields := others | wrong:
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
        for index, name, _ in sorted(self._members, key=itemgetter(2)):
            if (group := self._groups.get(name)) is not None:
                session.join_group(index, group)
        for exchange, (started, ended), own in zip(session.exchanges, self._exchange_times, self._own, strict=True):
            exchange.started = started if own or started is not None else exchange.started
            exchange.ended = ended if own or ended is not None else exchange.ended
        created, updated = (self._document.get(key) for key in ("createdAt", "updatedAt"))
        session.created = None if created == _NO_TIME else read_time(created) or session.created
        if (moment := read_time(updated)) is not None or any(self._own):
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
        self._own.append("opener" in ours)
        self._counted.clear()
        opener = read_kind(ours.get("opener"))
        exchange = Exchange(
            number, len(session.messages), opener, as_text(data.get("exchangeId")) or f"{session.id}:{number}"
        )
        take(EXCHANGE, exchange, ours)
        session.exchanges.append(exchange)
        self._exchange_times.append((read_time(data.get("startTime")), read_time(data.get("endTime"))))
        for group in map(dict_of, list_of(ours.get("groups"))):
            self._take_group(group, record)
        exchange.model = session.model_index(as_text(ours.get("model")))
        others, wrong = _beyond(data, "exchange")
        theirs = {key: value for key, value in metadata.items() if value is not ours} | others
        _keep_malformed(theirs, wrong)
        if theirs:  # an exchange has no facts of its own
            others = dict_of(session.metadata.get("exchanges"))
            session.metadata["exchanges"] = others | {str(number): clean_value(theirs)}

    def _take_group(self, data: dict[str, Any], record: Record) -> None:
        session = self.session
        name, model, called = (as_text(data.get(key)) for key in ("id", "model", "round"))
        usage = TokenUsage.from_json(dict_of(data.get("usage")))
        index = session.add_group(name, usage, record, model=session.model_index(model))
        if records := list_of(data.get("records")):
            session.exported_records[index] = clean_value(records)
        if called:
            session.rounds[index] = called
        self._groups[name] = index

    # -- messages --------------------------------------------------------------------------------------------------

    def messages(self, value: dict[str, Any]) -> list[Message]:
        """The messages that a message of the document is taken apart into; turnlog's own is always one."""
        data, number = dict_of(value.get("message")), value["number"]
        exchange = self.session.exchanges[value["exchange"]]
        ours, own = _ours(data), self._own[exchange.index]
        name, flags = as_text(data.get("id")) or f"{exchange.id}/{number}", read_flags(ours.get("flags"))
        time, theirs = read_time(data.get("timestamp")), _metadata(data, ours)
        made: list[Message] = []
        for kind, content, tool in _blocks(data, ours):
            if kind == Kind.PROMPT and number and not own:
                kind = Kind.STEER
            message = Message(-1, f"{name}#{len(made) + 1}" if made else name, kind, 0, time, metadata=dict(theirs))
            message.parts, message.flags = _read_parts(content, ours.get("parts")), Flag(flags)
            message.label, message.figures = as_line(ours.get("label")), as_line(ours.get("figures"))
            if tool is not None:
                message.tool = read_tool(tool, ours.get("tool"), message.metadata)
                message.tool.listing = listing_of(self.session.provider)
                if not own:
                    message.flags |= ENDS.get(message.tool.status, NO_FLAGS)
            made.append(message)
        spoken = made[_spoken(made)]
        if tells_own(self.session.provider) and "kind" not in ours and (told := untold_tokens(data.get("usage"))):
            spoken.metadata.setdefault("tokens", told)
        spoken.path_hints = texts_of(data.get("pathHints"))
        if made[-1].kind == Kind.NOTE and "kind" not in ours:
            hints = _unsaid_hints(data)
            made[-1].label = "files: " + one_line(", ".join(hints)) if hints else "empty message"
        return made

    def _take_message(self, data: dict[str, Any], record: Record) -> None:
        """Take one message of a document."""
        session, exchange, ours = self.session, self.session.exchanges[-1], _ours(data)
        rows = self.add(record, as_text(data.get("model")) or as_text(ours.get("model")), within=True)
        made = self._made(record[3])
        if not self._own[-1]:
            exchange.errors += sum(Flag.ERROR in message.flags for message in made)
            if rows.start == exchange.start and made[0].kind in USER_KINDS:
                exchange.opener, exchange.prompt = made[0].kind, one_line(made[0].text, 300)
                session.mark_opener(rows.start)
        for message, index in zip(made, rows, strict=True):
            if message.tool is not None:
                self._tools.setdefault(message.id, index)
        spoken = _spoken(made)
        self._account(data, ours, rows[spoken], made[spoken].id, record)

    def _account(self, data: dict[str, Any], ours: dict[str, Any], index: int, name: str, record: Record) -> None:
        """Put the message into its token group; the producer's documents say only usage, and repeat it."""
        session = self.session
        if self._own[-1]:
            if isinstance(group_id := ours.get("group"), str):
                self._members.append((index, group_id, "usage" in ours))
            return
        usage = read_usage(data.get("usage"))
        aside = dict_of(data.get("metadata")).get("isSidechain") is True
        before = self._counted.pop(aside, None)
        if data.get("role") == "user":
            self._counted.clear()
            before = None
        if usage is None:
            return
        model = session.messages.model[index]
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


def _blocks(data: dict[str, Any], ours: dict[str, Any]) -> list[_Block]:
    """Take a message of a document apart into blocks."""
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
    if not blocks or _unsaid_hints(data):
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
    others, wrong = _beyond(data, "message")
    if others:
        metadata["messageFields"] = others
    if (records := ours.get("records")) is not None:
        metadata["records"] = records
    if (role := data.get("role")) not in ("user", "agent"):
        metadata["role"] = role
    if (content := data.get("content")) is not None and not isinstance(content, str | list | dict):
        wrong["content"] = content
    if hints := [hint for hint in list_of(data.get("pathHints")) if not isinstance(hint, str)]:
        wrong["pathHints"] = hints
    if "kind" not in ours:
        if (usage := uncounted(data.get("usage"))) is not None:
            wrong["usage"] = usage
        if parts := [part for part in _content(data) if _is_odd_part(part)]:
            wrong["content"] = parts
    _keep_malformed(metadata, wrong)
    return metadata


def _spoken(made: Sequence[Message]) -> int:
    """The place among the messages of one that is the last of them, but for the note of the paths that it names."""
    return len(made) - (2 if len(made) > 1 and made[-1].kind == Kind.NOTE else 1)


# -- parts, tools, values that do not belong where they stand ----------------------------------------------------------


def _strings_in(value: object) -> Iterator[str]:
    """Each string in a JSON value, however deep, in no order; keys are none."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            waiting.extend(item.values() if isinstance(item, dict) else item)


def _unsaid_hints(data: dict[str, Any]) -> list[str]:
    """The `pathHints` that nothing else of a message shows: neither its text nor what its tool is called with. A tool
    may name a file from where it runs, so that the file's own name is enough there.
    """
    if not (hints := list(map(clean, texts_of(data.get("pathHints"))))):
        return []
    text = "\n".join(map(clean, _strings_in(data.get("content"))))
    tool = dict_of(data.get("tool"))
    given = "\n".join(clean(word) for key in _CALLED for word in _strings_in(tool.get(key)))
    return [hint for hint in hints if hint not in text and not (given and _FILE.sub("", hint) in given)]


def texts_in(value: object) -> str | None:
    """The texts of a list, each a string or an object that has one; None for anything else."""
    said = [dict_of(item).get("text", item) for item in list_of(value)]
    words = [word for word in said if isinstance(word, str)]
    return "\n".join(words) if words and len(words) == len(said) else None


def _read_parts(content: list[Any], ours: object) -> list[Part]:
    """Content parts; one of a type 1.0 does not have shows as text."""
    facts = list_of(ours)
    return [_part(item, dict_of(facts[n]) if n < len(facts) else {}) for n, item in enumerate(content)]


def _is_odd_part(item: object) -> bool:
    """Return whether a part says more than its text, which is all that is shown of it."""
    return (
        isinstance(item, dict)
        and isinstance(item.get("text"), str)
        and (item.keys() != {"type", "text"} or item["type"] not in ("text", "thinking"))
    )


def _part(item: object, facts: dict[str, Any]) -> Part:
    if not isinstance(item, dict):
        return Part("text", clean(item) if isinstance(item, str) else as_json(item, indent=True))
    text = item.get("text")
    shown = clean(text) if isinstance(text, str) else as_json(item, indent=True)
    part = Part("thinking" if item.get("type") == "thinking" else "text", shown)
    take(PART, part, facts)
    return part


def read_tool(data: dict[str, Any], ours: object, metadata: dict[str, Any]) -> Tool:
    """A tool with its result. Fields that a Tool has no place for go into `metadata["toolFields"]`, those that are of a
    wrong type, and would not be valid where they stood, into `metadata["malformed"]`.
    """
    said = data.get("input")
    tool = Tool(
        name=as_text(data.get("name")) or "unknown",
        type=_TOOL_TYPES.get(as_text(data.get("type")), "unknown"),
        use_id=as_text(data.get("useId")),
        input=clean_value(said) if isinstance(said, dict) else {} if said is None else {"input": clean_value(said)},
        summary=as_text(data.get("summary")) or None,
        formatted=as_text(data.get("formattedMarkdown")) or None,
    )
    output = data.get("output")
    if output is not None:
        tool.output = clean_value(output) if isinstance(output, dict) else {"content": clean_value(output)}
    others, wrong = _beyond(data, "tool", type="string")
    if others:
        metadata["toolFields"] = clean_value(others)
    _keep_malformed(metadata, wrong)
    if isinstance(ours, dict):
        tool.text = text_of_result(ours, output)
        take(TOOL, tool, ours)
        return tool
    tool.text, tool.runs = clean_styled(_result_text(output))
    result = dict_of(output)
    code = result.get("exit_code", result.get("exitCode", dict_of(result.get("metadata")).get("exit_code")))
    tool.exit_code = whole(code)
    failed = result.get("is_error") is True or bool(tool.exit_code)
    tool.status = ToolStatus.PENDING if output is None else ToolStatus.ERROR if failed else ToolStatus.OK
    if tool.type == "write" and tool.status is not ToolStatus.ERROR:
        told = changes_asked(tool.input, tool.name)
        tool.diffs = [diff for diff in told if diff.hunks or diff.operation != "update"]
    return tool


def _beyond(data: dict[str, Any], of: str, **kinds: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what an object has that 1.0 does not have there: other keys, and values of a wrong type. `kinds` are types
    beside those of the schema.
    """
    known = keys_of("session-data", of) | kinds
    wrong = {key: data[key] for key, kind in known.items() if not _is_of(kind, data.get(key))}
    return {key: value for key, value in data.items() if key not in known}, wrong


def _is_of(kind: str, value: object) -> bool:
    if kind == "time":
        return value is None or value == "" or read_time(value) is not None
    return value is None or kind not in _TYPES or type(value) is _TYPES[kind]


def _keep_malformed(metadata: dict[str, Any], odd: dict[str, Any]) -> None:
    """Keep what would not be valid where it stood, so that it is not lost."""
    if odd:
        metadata["malformed"] = dict_of(metadata.get("malformed")) | clean_value(odd)


def _result_text(output: object) -> str:
    """A result as a person reads it; what no known key holds is shown as JSON."""
    if output is None or isinstance(output, str):
        return output or ""
    if isinstance(output, dict):
        for key in ("content", "raw", "output"):
            value = output.get(key)
            if isinstance(value, str):
                return value
            if (text := texts_in(value)) is not None:
                return text
        streams = [output[key] for key in ("stdout", "stderr") if isinstance(output.get(key), str)]
        if streams:
            return "\n".join(s.rstrip("\n") for s in streams if s)
    text = texts_in(output)
    return as_json(output, indent=True) if text is None else text


SESSION_DATA = SavedFormat(
    "session-data",
    "SessionData",
    "The document's own figures, each group once.",
    (Format("SessionData 1.0, one JSON document", "an object with exchanges and two of SessionData's other keys"),),
    # The version is not looked at here: a newer document is refused when it is read, with its version named.
    lambda head: is_session_data(head.document),
    lambda path: DocumentReading(path, lambda: SessionDataParser(path), document_records, is_session_data),
)

"""An Agent Response document as a session.

A user's message opens an exchange; an assistant's becomes its thinking, its text and its tool uses, each with the
result that a tool's message gives it. Soft warnings and metadata stand at the end. A document that turnlog wrote gets
back what its `turnlog` keys say; agent_response_write.py is the other half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import clean, clean_value, one_line
from schemas.interchange.agent_response import is_agent_response
from schemas.interchange.agent_response_parts import (
    FIRST_CLASS,
    LONGEST,
    OpenCalls,
    Use,
    as_json,
    as_object,
    content_parts,
    items,
    nameless_calls,
    odd_parts,
    says_more,
    soft_warnings,
    thinking_blocks,
    thoughts,
    tool_uses,
)
from schemas.interchange.agent_response_parts import id_of as call_id
from schemas.interchange.agent_response_write import END, KEEP
from schemas.interchange.session_data_parts import read_runs, read_tool
from schemas.interchange.session_data_read import facts_span, key_of, read_time, take_facts, take_inherited
from schemas.message import USER_KINDS, Flag, Kind, Message, Part, Span, SpanRole, Tool, ToolStatus
from schemas.reading import DocumentReading
from schemas.records import Record
from schemas.session import Change, Exchange, Op, Session
from schemas.usage import TokenUsage, as_count

_ENDED = tuple(status for status in ToolStatus if status is not ToolStatus.PENDING)
_OWN = frozenset({"turnlog"})
_HEAD = frozenset({"final_response", "metadata"})
_OF_A_RESULT = frozenset({"role", "content", "tool_call_id"})
_KNOWN = frozenset({"role", "content", "tool_call_id", "tool_calls", "thinking", "turnlog"})


def open_document(path: Path) -> DocumentReading:
    """A reading of the document in a file."""
    return DocumentReading(path, lambda: AgentResponseParser(path), document_records, is_agent_response)


def document_records(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The document taken apart: what stands beside the messages, then each message, then the end."""
    head = {key: value for key, value in document.items() if key != "messages"}
    messages = items(document.get("messages"))
    said = document.get("messages")
    odd = {} if said is None or isinstance(said, list) else {"messages": said}
    warnings = [f"{path or 'document'}: {text}" for path, text in soft_warnings(document)]
    return [
        {"head": head} | odd,
        *({"message": message, "number": number} for number, message in enumerate(messages)),
        {"end": {"final": head.get("final_response"), "metadata": head.get("metadata"), "warnings": warnings} | odd},
    ]


class _Block(NamedTuple):
    """What becomes one message."""

    kind: Kind
    text: str = ""
    use: Use | None = None


def _blocks(message: object) -> list[_Block]:
    """What a message of the document consists of; its text is taken from the record again when somebody looks."""
    data = as_object(message)
    ours = as_object(data.get("turnlog"))
    role = data.get("role")
    kind = Kind.__members__.get(str(ours.get("kind")).upper())
    if role == "user":
        return [_Block(kind if kind in USER_KINDS else Kind.PROMPT)]
    if role != "assistant":
        others = (Kind.CONTEXT, Kind.OUTPUT, Kind.NOTE, Kind.COMPACTION, Kind.INTERRUPT, Kind.ERROR, Kind.UNKNOWN)
        by_role = {"system": Kind.CONTEXT, "developer": Kind.CONTEXT, "tool": Kind.OUTPUT, "function": Kind.OUTPUT}
        return [_Block(kind if kind in others else by_role.get(str(role), Kind.NOTE))]
    if kind == Kind.THINKING:
        return [_Block(kind)]  # one message that turnlog wrote, of however many parts
    blocks = [_Block(Kind.THINKING, text) for text in thoughts(data)]
    if content_parts(data.get("content")):
        blocks.append(_Block(Kind.TEXT))
    blocks += [_Block(Kind.TOOL, use=use) for use in tool_uses(data)]
    return blocks or [_Block(Kind.TEXT if kind == Kind.TEXT else Kind.NOTE)]


class AgentResponseParser:
    """Takes the records of `document_records`, all in one `feed`."""

    def __init__(self, path: Path) -> None:
        self.session = Session("agent-response", "Agent Response", path, path.stem)
        self.session.build = build
        self._metadata: dict[str, Any] = {}
        self._calls = OpenCalls()
        self._last_texts: set[str] = set()
        self._groups: dict[str, int] = {}

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take the records of a document."""
        for record in records:
            item = record[3]
            if "head" in item:
                self._take_head(as_object(item["head"]), item.get("messages"))
            elif "end" in item:
                self._take_end(as_object(item["end"]), record)
            else:
                self._take_message(item, record)
        return [Change(Op.APPENDED, index) for index in range(len(self.session.messages))]

    def refresh(self) -> list[Change]:
        """Nothing lies beside a document."""
        return []

    def _take_head(self, head: dict[str, Any], malformed: object) -> None:
        """What stands beside the messages; `malformed` is what stands in their place and is no list."""
        session = self.session
        self._metadata = as_object(head.get("metadata"))
        ours = as_object(self._metadata.get("turnlog"))
        for key, attribute in _FACTS.items():
            if isinstance(value := ours.get(key), str) and value:
                setattr(session, attribute, one_line(value, 1000))
        facts = as_object(ours.get("session"))
        take_facts(session, facts)
        session.metadata.update(as_object(clean_value(facts.get("metadata"))))
        if malformed is not None:
            session.metadata["malformedMessages"] = clean_value(malformed)
        session.metadata[KEEP] = {
            "metadata": clean_value({key: value for key, value in self._metadata.items() if key not in _OWN}),
            "fields": clean_value({key: value for key, value in head.items() if key not in _HEAD}),
        }
        if isinstance(model := self._metadata.get("model"), str):
            session.model_index(model)

    def _take_message(self, item: dict[str, Any], record: Record) -> None:
        session, message = self.session, item.get("message")
        data = as_object(message)
        ours = as_object(data.get("turnlog"))
        if data.get("role") == "tool" and "kind" not in ours and self._join_result(data, record):
            return
        time = read_time(ours.get("time"))
        index = -1
        for block, piece in enumerate(_blocks(message)):
            opens = "opener" in _flags(ours) if "kind" in ours else piece.kind == Kind.PROMPT
            parts = _parts(message, ours, piece)
            if opens and piece.kind in USER_KINDS:
                session.open_exchange(piece.kind, _prompt(parts))
            name = _id(ours, item.get("number", 0), block)
            index = session.add_message(piece.kind, key_of(name), record, block=block, time=time)
            for flag in _flags(ours):
                session.messages.flags[index] |= Flag.__members__.get(flag.upper(), Flag(0))
            if opens and piece.kind in USER_KINDS:
                session.mark_opener(index)
            status = as_object(ours.get("tool")).get("status") if piece.use is not None else None
            if status == ToolStatus.ERROR or "error" in _flags(ours):
                self._fails(index)
            self._name_model(index, data, ours)
            if piece.use is not None:
                if status not in _ENDED:  # else it ended, whether or not its result is told
                    session.messages.flags[index] |= Flag.PENDING
                self._calls.add(piece.use.id, index)
            self._measure(index, _joined(parts))
            if piece.kind == Kind.TEXT:
                self._last_texts = {_joined(parts), _joined(part for part in parts if part.type == "text")}
        if index >= 0:
            self._account(ours, index, record)

    def _name_model(self, index: int, data: dict[str, Any], ours: dict[str, Any]) -> None:
        """The model of an assistant's message: its own, where turnlog wrote it, else the run's."""
        session = self.session
        said = self._metadata.get("model") if data.get("role") == "assistant" and "kind" not in ours else None
        name = ours.get("model") or said
        model = session.messages.model[index] = session.model_index(name if isinstance(name, str) else None)
        session.exchanges[-1].model = model or session.exchanges[-1].model

    def _join_result(self, data: dict[str, Any], record: Record) -> bool:
        """Give a tool's message to the call it answers; False where there is none."""
        session = self.session
        index = self._calls.answer(data)
        if index is None:
            return False
        session.spans.extend(session.messages.span[index], session.add_span(record, SpanRole.RESULT))
        session.messages.flags[index] &= ~Flag.PENDING & 0xFFFF
        self._measure(index, _joined(part for part in content_parts(data.get("content")) if part.type == "text"))
        return True

    def _measure(self, index: int, text: str) -> None:
        rows = self.session.messages
        rows.chars[index] = min(len(text), 0xFFFFFFFF)
        rows.lines[index] = min(text.count("\n") + bool(text), 0xFFFFFFFF)

    def _fails(self, index: int) -> None:
        self.session.messages.flags[index] |= Flag.ERROR
        self.session.exchanges[self.session.messages.exchange[index]].errors += 1

    def _account(self, ours: dict[str, Any], index: int, record: Record) -> None:
        """Put a message into the token group that turnlog wrote for it; other documents have one total at the end."""
        session, name = self.session, ours.get("group")
        if not isinstance(name, str):
            return
        usage = TokenUsage.from_json(as_object(ours.get("usage")))
        if name not in self._groups:
            model = session.messages.model[index]
            self._groups[name] = session.add_group(clean(name), usage, record, model=model)
        elif "usage" in ours:
            session.extend_group(self._groups[name], usage, record)
        session.join_group(index, self._groups[name])
        if isinstance(named := as_object(ours.get("usage")).get("model"), str):
            session.groups.model[self._groups[name]] = session.model_index(named)

    # -- the end ---------------------------------------------------------------------------------------------------

    def _take_end(self, end: dict[str, Any], record: Record) -> None:
        session, ours = self.session, as_object(self._metadata.get("turnlog"))
        last = len(session.messages) - 1
        for block, page in enumerate(_pages(end)):
            if page.kind == Kind.TEXT and (page.text in self._last_texts or ours.get("placeholder") is True):
                continue  # the transcript ends with it, or there is none
            index = session.add_message(page.kind, key_of(f"end:{block}"), record, block=block)
            self._measure(index, page.text if page.kind == Kind.TEXT else page.text.partition("\n")[2])
            if page.kind == Kind.TEXT:
                last = index
                model = self._metadata.get("model")
                number = session.messages.model[index] = session.model_index(model if isinstance(model, str) else None)
                session.exchanges[-1].model = number or session.exchanges[-1].model
        if not session.live_exchanges and session.exchanges:
            session.exchanges[0].prompt = "Response"  # nobody asked, as far as the document says
            if ours.get("placeholder") is not True and end.get("final"):
                session.title = session.title or one_line(next(_pages(end)).text, 80)
        for row in map(as_object, items(ours.get("groups"))):
            usage = as_object(row.get("usage"))
            model = usage.get("model")
            number = session.model_index(model if isinstance(model, str) else None)
            name = call_id(row.get("id"))
            self._groups[name] = session.add_group(name, TokenUsage.from_json(usage), record, model=number)
        self._take_totals(record, last)
        facts = as_object(ours.get("session"))
        if facts.get("inherited") and not session.exchanges:  # a fork of which nothing is there but what it copied
            session.exchanges.append(Exchange(0, 0, None, f"{session.id}:0", inherited=True))
        take_inherited(session, facts, facts_span(session, facts, record))
        session.created = read_time(ours.get("createdAt")) or session.created
        session.updated = read_time(ours.get("updatedAt")) or session.updated
        runtime = self._metadata.get("agent_runtime_ms")
        if len(session.live_exchanges) == 1 and isinstance(runtime, int | float) and 0 <= runtime < 1e13:
            session.live_exchanges[0].seconds = runtime / 1000

    def _take_totals(self, record: Record, last: int) -> None:
        """The run's totals as one token group of its last message, where no message names a group of its own."""
        session = self.session
        usage = TokenUsage(*(as_count(self._metadata.get(f"total_{key}_tokens")) for key in ("input", "output")))
        if usage.total is not None and not self._groups and last >= 0:
            model = min(1, len(session.models) - 1)
            group = session.add_group(f"{session.id}:total", usage, record, model=model)
            session.join_group(last, group)


_FACTS = {
    "provider": "provider",
    "providerName": "provider_name",
    "sessionId": "id",
    "title": "title",
    "workspaceRoot": "workspace_root",
    "branch": "branch",
    "version": "version",
}
"""Keys of `metadata.turnlog` and the session's attributes they fill."""


def _pages(end: dict[str, Any]) -> Iterator[_Block]:
    """What stands behind the transcript: the final response, what will be cut of it, metadata, soft warnings."""
    final = end.get("final")
    said = final if isinstance(final, str | list | dict) else as_json(final)  # "null" is what was answered, too
    yield _Block(Kind.TEXT, _joined(content_parts(said)))
    if isinstance(final, str) and len(final) > LONGEST:
        cut = f"the platform cuts the final response at about {LONGEST:,} of its {len(final):,} characters"
        yield _Block(Kind.NOTE, cut)
    if (messages := end.get("messages")) is not None:
        yield _Block(Kind.NOTE, "messages\n" + (clean(messages) if isinstance(messages, str) else as_json(messages)))
    metadata = end.get("metadata")
    if isinstance(metadata, dict):
        names = [*(key for key in FIRST_CLASS if key in metadata), *(key for key in metadata if key not in FIRST_CLASS)]
        lines = [f"{one_line(str(key), 100)}: {_fact(metadata[key])}" for key in names if key != "turnlog"]
        if lines and "turnlog" not in metadata:
            yield _Block(Kind.NOTE, "metadata\n" + "\n".join(lines))
    elif metadata is not None:
        yield _Block(Kind.NOTE, "metadata\n" + as_json(metadata))
    if warnings := items(end.get("warnings")):
        yield _Block(Kind.NOTE, f"soft warnings: {len(warnings)}\n" + "\n".join(clean(str(one)) for one in warnings))


def _fact(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return clean(value) if isinstance(value, str) else as_json(value)


def build(session: Session, index: int) -> Message:
    """A message, from the document's record of it."""
    rows = session.messages
    spans = session.message_spans(index)
    record = session.record(spans[0])
    block, kind = rows.block[index], rows.kind_of(index)
    group = rows.group[index]
    message = Message(
        index,
        f"end:{block}",
        kind,
        rows.exchange[index],
        rows.when(index),
        session.model_of(index),
        group=session.groups.ids[group] if group < len(session.groups) else None,
        flags=Flag(rows.flags[index]),
    )
    if "end" in record:
        page = list(_pages(as_object(record["end"])))[block]
        if kind == Kind.NOTE:
            _fill_note(message, page.text)
        else:
            message.parts = [Part("text", page.text)]
        return message
    said = record.get("message")
    data = as_object(said)
    ours = as_object(data.get("turnlog"))
    piece = _blocks(said)[block]
    message.id = _id(ours, record.get("number", 0), block)
    message.label = one_line(str(ours.get("label") or _label(data, kind)), 300)
    message.figures = one_line(str(ours.get("figures") or ""), 300)
    message.metadata = _kept(data, ours) | _more(session, data, ours, piece, block, spans[1:])
    message.path_hints = [clean(hint) for hint in items(ours.get("pathHints")) if isinstance(hint, str)]
    if piece.use is not None:
        message.tool = _tool(session, piece.use, as_object(ours.get("tool")), spans[1:])
    else:
        message.parts = _parts(said, ours, piece)
        for part, runs in zip(message.parts, items(ours.get("runs")), strict=False):
            part.runs = read_runs(runs, len(part.text))
    return message


def _parts(message: object, ours: dict[str, Any], piece: _Block) -> list[Part]:
    """What one block of a message says; a tool use says nothing itself."""
    if piece.use is not None or ours.get("placeholder") is True:
        return []
    if piece.kind == Kind.THINKING:
        ours_alone = str(ours.get("kind")).upper() == Kind.THINKING.name  # one message, see `_blocks`
        return [Part("thinking", text) for text in (thoughts(as_object(message)) if ours_alone else [piece.text])]
    return content_parts(message.get("content")) if isinstance(message, dict) else [Part("text", as_json(message))]


def _joined(parts: Iterable[Part]) -> str:
    """As `Message.text` has it."""
    return "\n\n".join(part.text for part in parts if part.text)


def _prompt(parts: list[Part]) -> str:
    """The words of a prompt; what stands for an image only where there are no words."""
    words = " ".join(part.text for part in parts if part.type == "text")
    return words if words.strip() else " ".join(part.text for part in parts)


def _fill_note(message: Message, text: str) -> None:
    message.metadata = {END: True}
    message.label, _, rest = text.partition("\n")
    message.parts = [Part("text", rest)] if rest else []


def _label(data: dict[str, Any], kind: Kind) -> str:
    """What a message is that is neither prose nor a tool."""
    role = data.get("role")
    if kind == Kind.CONTEXT:
        return "system message" if role == "system" else f"{role} message"
    if kind == Kind.OUTPUT:
        return "tool result without its call"
    return "empty message" if kind == Kind.NOTE and role == "assistant" else "message" if kind == Kind.NOTE else ""


def _kept(data: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """A message's facts that have no place of their own: turnlog's, and keys the format does not have."""
    kept = dict(as_object(ours.get("metadata"))) | {key: value for key, value in data.items() if key not in _KNOWN}
    if (calls := nameless_calls(data)) is not None:
        kept["tool_calls"] = calls
    if (role := data.get("role")) not in (None, "system", "user", "assistant"):
        kept["role"] = role
    if "tool_call_id" in data:
        kept["tool_call_id"] = data["tool_call_id"]
    cleaned: dict[str, Any] = clean_value(kept)
    return cleaned


def _more(
    session: Session, data: dict[str, Any], ours: dict[str, Any], piece: _Block, block: int, results: list[Span]
) -> dict[str, Any]:
    """What a document of another program says of one block of a message, beside what is shown of it."""
    more: dict[str, Any] = {}
    if piece.use is not None:
        more["toolCall"] = piece.use.more
        said = as_object(session.record(results[0]).get("message")) if results else {}
        more["toolMessage"] = {key: value for key, value in said.items() if key not in _OF_A_RESULT}
    elif piece.kind == Kind.THINKING and "kind" not in ours:
        more["thinking"] = [one for one in thinking_blocks(data)[block : block + 1] if says_more(one)]
    elif "kind" not in ours:
        more["content"] = odd_parts(data.get("content"))
    cleaned: dict[str, Any] = clean_value({key: value for key, value in more.items() if value})
    return cleaned


def _tool(session: Session, use: Use, ours: dict[str, Any], results: list[Any]) -> Tool:
    status = ours.get("status")
    said = {"name": use.name, "type": ours.get("type"), "useId": ours.get("useId", use.id), "input": use.input}
    known = {key: ours.get(key) for key in ("summary", "formattedMarkdown") if isinstance(ours.get(key), str)}
    tool = read_tool(said | known, ours, {})
    if results:
        parts = content_parts(as_object(session.record(results[0]).get("message")).get("content"))
        tool.text = "\n\n".join(part.text for part in parts if part.type == "text")
        tool.images = [part for part in parts if part.type == "image"]
        result = ours.get("output")  # but for what is the text, where it is not just what follows from that
        rest = result if isinstance(result, dict) else {"is_error": status == ToolStatus.ERROR}
        tool.output = clean_value({"content": tool.text} | rest)
        tool.runs = read_runs(ours.get("runs"), len(tool.text))
    if status not in list(ToolStatus):
        tool.status = ToolStatus.OK if results else ToolStatus.PENDING
    return tool


def _flags(ours: dict[str, Any]) -> list[str]:
    return [flag for flag in items(ours.get("flags")) if isinstance(flag, str)]


def _id(ours: dict[str, Any], number: int, block: int) -> str:
    said = ours.get("id")
    name = (clean(said) if isinstance(said, str) else "") or f"message-{number}"
    return f"{name}#{block + 1}" if block else name

"""A message made from its records, when somebody looks at it."""

from __future__ import annotations

from schemas.clean import as_json, clean, one_line
from schemas.message import Flag, Kind, Message, Part, SpanRole
from schemas.providers._google import Data, said_text, shown_parts, snapshot_text
from schemas.providers._google_tools import display_text, hints_of, make_tool
from schemas.providers.gemini.entries import (
    COUNTS,
    MASKED,
    TOOLS,
    calls_of,
    is_open,
    pieces_of,
    reply_in,
    tags_of,
    thoughts_of,
    unmasked,
)
from schemas.session import Session
from schemas.table import NONE
from schemas.usage import overlapping
from schemas.values import text_of

_RAW_LIMIT = 1 << 20
_LABELS = {"error": "Error", "warning": "Warning", "info": ""}
_REWRITTEN = "The agent rewrote its context; what it left out stands above as rewound"


class Builder:
    """Makes messages of one session. `again` has the rows whose id stands for an earlier, dropped message too."""

    def __init__(self, again: dict[int, int] | None = None) -> None:
        self.again = again if again is not None else {}

    def __call__(self, session: Session, index: int) -> Message:
        """The message at `index`; what can still be read of it, where the file changed meanwhile."""
        table = session.messages
        span = session.message_spans(index)[0]
        value, block, group = session.record(span), table.block[index], table.group[index]
        message = Message(
            index,
            "",
            table.kind_of(index),
            table.exchange[index],
            table.when(index),
            session.model_of(index),
            group=session.groups.ids[group] if group != NONE else None,
            flags=Flag(table.flags[index]),
        )
        base = one_line(text_of(value.get("id")), 300) or f"@{span.offset}"
        if number := self.again.get(index, 0):
            base += f"~{number}"
        message.id = base + self._fill(session, message, value, block)
        if isinstance(other := value.get("sessionId"), str):
            message.metadata["sessionId"] = clean(other)
        if group != NONE and session.groups.last[group] == index and (told := _untold(value)):
            message.metadata["tokens"] = told
        if not message.parts and message.tool is None and not message.label:
            message.label = "(nothing to read)"  # its words are control characters, or the file changed meanwhile
        return message

    def _fill(self, session: Session, message: Message, value: Data, block: int) -> str:
        """Parts, tool and label; returns what tells the message from others of its record."""
        kind = message.kind
        if kind is Kind.TOOL:
            return _tool(session, message, value, block)
        if kind is Kind.UNKNOWN:
            _unknown(session, message, value)
            return ":unknown"
        if "$set" in value:
            message.label = _REWRITTEN
            return ":rewrite"
        if kind is Kind.THINKING:
            text = clean("\n\n".join(thoughts_of(value)))
            message.parts = [Part("thinking", text)] if text else []
            return ":thinking"
        if kind is Kind.TEXT:
            message.parts = shown_parts(value.get("content"))
            return ""
        if value.get("type") == "user":
            _user(message, value, block)
            return f":{block}" if block else ""
        message.parts = shown_parts(value.get("content"))
        message.label = _LABELS.get(text_of(value.get("type")), "")
        if kind in (Kind.NOTE, Kind.INTERRUPT) and "\n" not in message.text.strip():
            message.label = one_line(": ".join(word for word in (message.label, message.text) if word), 300)
            message.parts = [] if len(message.text) < 200 else message.parts
        return ""


def _untold(value: Data) -> dict[str, int]:
    """The program's own figures where turnlog's do not tell them."""
    said = value.get("tokens")
    return overlapping({key: said.get(key) for key in COUNTS}) if isinstance(said, dict) else {}


def _user(message: Message, value: Data, block: int) -> None:
    """What stands under the user's name: typed, or put there by the program."""
    pieces = pieces_of(value)
    if block >= len(pieces):
        return
    piece = pieces[block]
    message.label = piece.label
    message.parts = shown_parts(piece.content)
    if message.kind is Kind.COMPACTION:
        message.parts = [Part("text", clean(snapshot_text(said_text(piece.content))))]
    if message.kind in (Kind.PROMPT, Kind.COMMAND):
        sent = said_text(value.get("content"))
        if value.get("displayContent") is not None and sent != said_text(piece.content):
            message.metadata["sentToModel"] = clean(sent)
    if message.kind is Kind.COMMAND:
        message.label = one_line(message.text)


def _tool(session: Session, message: Message, value: Data, block: int) -> str:
    """A tool use, with its result from its own record or from the one that came after."""
    calls = calls_of(value)
    number = block - TOOLS
    if not 0 <= number < len(calls):
        message.tool = make_tool("", "", None)
        return f":{block}"
    call, tag = calls[number], tags_of(calls)[number]
    result = call.get("result")
    for span in session.message_spans(message.index):
        if span.role is SpanRole.RESULT:
            other = session.record(span)
            result = reply_in(other, calls, number) if is_open(call) else unmasked(other, call)
    display = call.get("resultDisplay")
    tool = make_tool(call.get("name"), call.get("id"), call.get("args"), result, display, call.get("status"))
    message.tool = tool
    tool.spilled = tool.text.startswith(MASKED)
    if about := one_line(text_of(call.get("description")), 300):
        # The program makes it of the input, or takes the words that describe the tool to the model.
        if tool.type in ("generic", "unknown"):
            tool.summary = about
        else:
            message.metadata["description"] = about
    shown = clean(display_text(display)).strip()
    if shown and "".join(shown.split()) not in "".join(tool.text.split()):
        message.metadata["display"] = shown
    message.path_hints = hints_of(tool, session.workspace_root, session.workspace_root)
    if message.flags & Flag.SUBAGENT:
        tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)
    return f":{clean(tag)}"


def _unknown(session: Session, message: Message, value: Data) -> None:
    """A record that nobody described, as it is."""
    message.label = f"Unknown record {one_line(text_of(value.get('type')), 80)}".rstrip()
    raw = session.raw(session.message_spans(message.index)[0])
    text = as_json(value, indent=True) if value else raw[:_RAW_LIMIT].decode("utf-8", "replace")
    message.parts = [Part("text", clean(text))]

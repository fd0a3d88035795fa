"""Lines of type `assistant`: one API message is spread over several of them (formats notes 4 and 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemas.clean import clean
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude.groups import read_usage
from schemas.providers.claude.results import joined
from schemas.records import Record
from schemas.session import Inherited

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

Value = dict[str, Any]
_PENDING, _WITHHELD = int(Flag.PENDING), int(Flag.WITHHELD)
_MORE, _ERROR = int(Flag.MORE), int(Flag.ERROR)
SYNTHETIC = "<synthetic>"
"""The model name of what Claude Code itself wrote in the model's place."""
STARTERS = ("Task", "Agent", "Workflow")
"""The tools that start subagents."""
TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class AgentLines:
    """Handles the assistant lines of one parser: a message a block, none twice."""

    def __init__(self, parser: ClaudeParser) -> None:
        self._parser = parser
        self._session = parser.session
        self.blocks: set[int] = set()
        self.growing: tuple[int, int, int, str] | None = None
        self.model: object = None
        """The model that spoke last, and its index in `Session.models`."""
        self.model_number = 0
        self._repeats = 0
        """Blocks that were left out because they stood in an earlier line of the same response."""

    def assistant(self, record: Record, value: Value) -> None:
        """A line of type `assistant`."""
        message = value.get("message")
        if type(message) is not dict:
            self._parser.hide("assistant empty")
            return
        content = message.get("content")
        model = message.get("model")
        if model == SYNTHETIC or value.get("isApiErrorMessage") is True:
            self._synthetic(record, value, content)
            return
        name = message.get("id") or value.get("requestId") or value.get("uuid")
        group_id = name if type(name) is str else f"{record[0]}"
        identity = hash(group_id)
        session = self._session
        messages = session.messages
        first = len(messages.kind)
        repeats = self._repeats
        touched = self._said(record, content, identity)
        if model != self.model:
            self.model, self.model_number = model, session.model_index(model) if type(model) is str else 0
        number = self.model_number
        end = len(messages.kind)
        if number:
            for row in range(first, end):
                messages.model[row] = number
        usage = message.get("usage")
        group = -1
        if type(usage) is dict and self._parser.inherited:
            self._inherit(group_id, usage, record, number)
        elif type(usage) is dict:
            group = self._parser.groups.take(group_id, usage, record, number, moves=end > first or touched)
        if group >= 0:
            if end > first:
                last = session.groups.last[group]
                if last < first:
                    self._parser.changed.add(last)
                for row in range(first, end):
                    messages.group[row] = group
                session.groups.last[group] = end - 1
        elif end == first and not touched:
            if self._repeats > repeats:
                session.duplicates += 1
            else:
                self._parser.hide("assistant empty")

    def _inherit(self, group_id: str, usage: Value, record: Record, model: int) -> None:
        """Keep a copied response's figures; as with a group, the largest over its lines."""
        session, figures = self._session, read_usage(usage)
        if figures is None:
            return
        name = clean(group_id)
        before = session.inherited.get(name)
        span = session.add_span(record, SpanRole.USAGE)
        if before is None:
            exchange = max(len(session.exchanges) - 1, 0)
            before = Inherited(name, figures, session.models[model], None, exchange, span, span)
        else:
            session.spans.extend(before.tail, span)
        most = before.usage.largest(figures)
        session.inherited[name] = before._replace(usage=most, time=self._parser.time, tail=span)

    def _said(self, record: Record, content: object, group: int) -> bool:
        """The blocks of a line; True if it only made an earlier message longer."""
        if type(content) is str:
            return self._text(record, content, 0, group)
        touched = False
        if type(content) is not list:
            return False
        for number, block in enumerate(content):
            if type(block) is str:
                touched |= self._text(record, block, number, group)
                continue
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if kind == "tool_use":
                self._tool_use(record, block, number)
            elif kind == "text":
                text = block.get("text")
                touched |= self._text(record, text, number, group) if type(text) is str else False
            elif kind == "thinking" or kind == "redacted_thinking":
                self._thinking(record, block, number, group)
            else:
                self._other_block(record, block, kind, number)
        return touched

    def _text(self, record: Record, text: str, number: int, group: int) -> bool:
        """A text block; True if it is a longer version of the one before in the same response (formats note 6)."""
        if not text or text.isspace():
            return False
        identity = hash((group, text))
        if identity in self.blocks:
            self._repeats += 1
            return False
        messages = self._session.messages
        growing = self.growing
        if growing is not None and growing[0] == group:
            _, row, tail, before = growing
            if before.startswith(text):
                self._repeats += 1
                return False
            if text.startswith(before):
                span = self._session.add_span(record)
                self._session.spans.extend(tail, span)
                messages.block[row] = min(number, 0xFFFF)
                messages.chars[row], messages.lines[row] = len(text), text.count("\n") + 1
                messages.flags[row] |= _MORE
                self.blocks.add(identity)
                self.growing = (group, row, span, text)
                self._parser.changed.add(row)
                return True
        self.blocks.add(identity)
        if self._parser.command_row >= 0:
            self._parser.people.promote()
        row = self._parser.row(Kind.TEXT, record, number, len(text), text.count("\n") + 1)
        self.growing = (group, row, messages.span[row], text)
        return False

    def _thinking(self, record: Record, block: Value, number: int, group: int) -> None:
        text = block.get("thinking")
        text = text if type(text) is str else ""
        mark = text or block.get("signature") or block.get("data")
        identity = hash((group, "thinking", mark if type(mark) is str else ""))
        if identity in self.blocks:
            self._repeats += 1
            return
        self.blocks.add(identity)
        if self._parser.command_row >= 0:
            self._parser.people.promote()
        row = self._parser.row(
            Kind.THINKING, record, block=number, chars=len(text), lines=text.count("\n") + bool(text)
        )
        if not text:
            self._session.messages.flags[row] |= _WITHHELD

    def _tool_use(self, record: Record, block: Value, number: int) -> None:
        use = block.get("id")
        if type(use) is str:
            identity = hash(use)
            if identity in self._parser.results.uses:
                self._repeats += 1
                return
        else:
            identity = 0
        if self._parser.command_row >= 0:
            self._parser.people.promote()
        row = self._parser.row(Kind.TOOL, record, block=number)
        self._session.messages.flags[row] |= _PENDING
        if identity:
            self._parser.results.uses[identity] = row
        name = block.get("name")
        if name in STARTERS:
            self._parser.links.call(row, use, block.get("input"))

    def _other_block(self, record: Record, block: Value, kind: object, number: int) -> None:
        if not isinstance(kind, str):
            self._parser.unknown(record, f"assistant block {kind}", block=number)
        elif kind in TOOL_USES:
            self._tool_use(record, block, number)
        elif kind.endswith("tool_result"):
            self._parser.results.take(record, {}, block, alone=False)
        elif kind == "fallback":
            self._parser.row(Kind.NOTE, record, block=number, chars=40, lines=1)
        elif kind in ("image", "document"):
            if self._parser.command_row >= 0:
                self._parser.people.promote()
            self._parser.row(Kind.TEXT, record, block=number, chars=40, lines=1)
        else:
            self._parser.unknown(record, f"assistant block {kind}", block=number)

    def _synthetic(self, record: Record, value: Value, content: object) -> None:
        """What Claude Code wrote in the model's place: an API error, or a note."""
        text = content if isinstance(content, str) else joined(content)
        if value.get("isApiErrorMessage") is True:
            if self._parser.command_row >= 0:
                self._parser.people.promote()
            row = self._parser.text_row(Kind.ERROR, record, text)
            self._session.messages.flags[row] |= _ERROR
            self._session.exchanges[-1].errors += 1
        elif text.strip():
            self._parser.text_row(Kind.NOTE, record, text)
        else:
            self._parser.hide("assistant empty")

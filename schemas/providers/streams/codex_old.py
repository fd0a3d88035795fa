"""What `codex exec --json` printed before about 0.44: a rollout's events in another envelope (`streams` note 1.2)."""

from __future__ import annotations

from schemas.clean import clean
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole, Tool, ToolStatus
from schemas.providers.codex.outputs import exec_outcome
from schemas.providers.codex.tools import command_line, tool_type
from schemas.providers.streams.stream import Run, Stream, Value, text_part
from schemas.records import Record
from schemas.session import Lack
from schemas.values import dict_of, list_of, text_of

_TEXTS = {"agent_message": Kind.TEXT, "agent_reasoning": Kind.THINKING, "error": Kind.ERROR}
_COMMANDS = ("exec_command_begin", "exec_command_end")
_SILENT = frozenset(
    {"task_started", "token_count", "session_configured", "agent_reasoning_section_break", "turn_diff"}
    | {"agent_message_delta", "agent_reasoning_delta", "exec_command_output_delta"}
)


class OldCodexRun(Run):
    """Its texts, its thinking and its commands; everything else is shown as it is."""

    provider = "codex"
    name = "Codex"
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self._calls: dict[str, int] = {}
        """The commands that have begun and not ended."""

    def take(self, record: Record, value: Value) -> None:
        """Take a line."""
        if self.exchange is None:
            self.ensure_exchange(record)
            self.note(record, "old format of `codex exec --json` (before 0.44): shown as far as it is known")
        event = dict_of(value.get("msg"))
        kind = text_of(event.get("type"))
        if kind in _TEXTS and (text := _text(event)):
            flags = Flag.ERROR if kind == "error" else Flag(0)
            self.add(_TEXTS[kind], record, text=text, flags=flags)
        elif kind in _COMMANDS:
            self._command(record, event, kind == "exec_command_end")
        elif kind == "task_complete":
            self.close_open(failed=False)
            self.ended = "completed"
            self.hide(kind)
        elif kind in _SILENT or not event:
            self.hide(kind or "settings")
        else:
            self.unknown(record, kind)

    def _command(self, record: Record, event: Value, ended: bool) -> None:
        """A command begins, which is always another one, or is over."""
        ident = text_of(event.get("call_id"))
        row = self._calls.pop(ident, None) if ended else None
        if row is None:
            row = self.add(Kind.TOOL, record, ident, flags=Flag.PENDING)
        else:
            self.extend(row, record, SpanRole.RESULT)
        if ident and not ended:
            self._calls[ident] = row
        if ended:
            outcome = exec_outcome(event)
            self.resize(row, outcome.text)
            self.settle(row, failed=outcome.failed)

    def build(self, message: Message, spans: list[Span]) -> None:
        """A text from its event, a command from its two."""
        events = [dict_of(self.session.record(span).get("msg")) for span in spans]
        if message.kind is Kind.THINKING:
            message.parts = [Part("thinking", clean(_text(events[0])))]
        elif message.kind is not Kind.TOOL:
            message.label = "Error" if message.kind is Kind.ERROR else ""
            message.parts = text_part(_text(events[0]))
        else:
            message.tool = _tool(message, events)


def _text(event: Value) -> str:
    return text_of(event.get("message")) or text_of(event.get("text"))


def _tool(message: Message, events: list[Value]) -> Tool:
    words = next((given for event in events if (given := list_of(event.get("command")))), [])
    command = command_line([str(word) for word in words]) if words else ""
    tool = Tool("exec_command", tool_type("exec_command"), clean(text_of(events[0].get("call_id"))), {})
    tool.input = {"command": clean(command)}
    outcome = exec_outcome(events[-1])
    tool.text, tool.exit_code = clean(outcome.text), outcome.exit_code
    if message.flags & Flag.PENDING:
        tool.status = ToolStatus.PENDING
    elif message.flags & Flag.INTERRUPTED:
        tool.status = ToolStatus.INTERRUPTED
    elif message.flags & Flag.ERROR:
        tool.status = ToolStatus.ERROR
    if tool.status is not ToolStatus.PENDING:
        tool.output = {"content": tool.text, "is_error": tool.status is ToolStatus.ERROR}
    return tool

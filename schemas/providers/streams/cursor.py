"""`cursor-agent -p --output-format stream-json`: one run (formats note 5).

Text comes complete, or as deltas with the same text again behind them. A segment is what stands between two lines that
are not `assistant`; within it, what is being written is the draft:

1. A line with a time and no `model_call_id` is a delta of it.
2. Any other line behind deltas is the same text again: it takes the draft's place and closes the segment.
3. Without a draft, such a line is a whole message.
4. Builds of 2025 put neither on their deltas: of several such lines in a row, one that begins with all before it
   takes its place, another one is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.clean import as_json, clean, one_line
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole, Tool, ToolStatus
from schemas.path_hints import input_path_hints, resolve_hints, shell_directory, shell_path_hints
from schemas.providers.streams.cursor_calls import asked, tool_of
from schemas.providers.streams.stream import Run, Stream, span_of, text_part
from schemas.records import Record
from schemas.session import Lack
from schemas.usage import TokenUsage, as_count

Value = dict[str, Any]
_NOTES = frozenset({"interaction_query", "connection", "retry"})
_NO_FIGURES = TokenUsage()


@dataclass(slots=True)
class _Call:
    """A tool use, and its line that told most."""

    row: int
    told: Span
    completed: bool = False


class CursorRun(Run):
    """A run of Cursor's program in the terminal."""

    provider = "cursor"
    name = "Cursor CLI"
    stamped = True
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    """Until a line has a time, and a `result` (since 2026) the tokens."""

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self._calls: dict[str, _Call] = {}
        self._draft = -1
        """The text that is being written; -1 if none is."""
        self._unmarked: str | None = None
        """Its text so far, where its lines carry neither time nor call: rule 4."""
        self._thinking = -1
        self._model: str | None = None
        self._texts = 0
        self._results = 0

    # -- lines ---------------------------------------------------------------------------------------------------------

    def take(self, record: Record, value: Value) -> None:
        """Take a line."""
        kind, subtype = str(value.get("type")), value.get("subtype")
        time = self._time(value)
        if kind != "assistant":
            self._close_draft()
        if kind != "thinking":
            self.stream.growing.end(self._thinking)
            self._thinking = -1
        if kind == "assistant":
            self._assistant(record, value, time)
        elif kind == "tool_call":
            self._tool_call(record, value, time)
        elif kind == "thinking":
            self._think(record, value, time)
        elif kind == "user":
            self._user(record, value, time)
        elif kind == "system" and subtype == "init":
            self._init(value)
        elif kind == "result":
            self._result(record, value)
        elif kind in _NOTES:
            self.add(Kind.NOTE, record, text=kind, time=time)
        else:
            self.unknown(record, f"system {subtype}" if kind == "system" else value.get("type"), time)

    def _time(self, value: Value) -> float | None:
        stamp = value.get("timestamp_ms")
        if not isinstance(stamp, int | float) or isinstance(stamp, bool) or not 0 < stamp < 1e14:
            return None
        self.session.lacks -= {Lack.TIMES}
        self.touch(stamp / 1000)
        return stamp / 1000

    def _init(self, value: Value) -> None:
        self.hide("system init")
        session = self.session
        if session.workspace_root is None and isinstance(cwd := value.get("cwd"), str) and cwd:
            session.workspace_root = clean(cwd)
        for name, key in (("model", "model"), ("permissionMode", "permissionMode"), ("apiKeySource", "apiKeySource")):
            if isinstance(fact := value.get(name), str) and fact:
                session.metadata[key] = one_line(fact, 100)
        if isinstance(model := value.get("model"), str) and model:
            self._model = model

    def _user(self, record: Record, value: Value, time: float | None) -> None:
        text, _ = _texts(value)
        if not text.strip():
            self.hide("user empty")
            return
        self.ended = ""
        # Another turn, in which what was completed comes no more.
        self._calls = {ident: call for ident, call in self._calls.items() if not call.completed}
        self.open_exchange(record, "", text, time)
        self._texts = 0

    def _think(self, record: Record, value: Value, time: float | None) -> None:
        text = value.get("text")
        text = text if isinstance(text, str) else ""
        row = self._thinking
        over = value.get("subtype") == "completed"
        if row >= 0:
            # What ends it may repeat the whole, and adds nothing to what its deltas said.
            self.extend(row, record, more="" if over else text)
            self.stream.growing.add(row, "" if over else text)
        elif text:
            self.ensure_exchange(record, time)
            row = self.add(Kind.THINKING, record, text=text, time=time, model=self._model)
            self.stream.growing.begin(row, text)
        else:
            self.hide(f"thinking {value.get('subtype')}")
        if over:
            self.stream.growing.end(row)
        self._thinking = -1 if over else row

    # -- text ----------------------------------------------------------------------------------------------------------

    def _assistant(self, record: Record, value: Value, time: float | None) -> None:
        text, odd = _texts(value)
        if odd and not text:
            self.unknown(record, f"assistant block {odd}", time)
        elif not text:
            self.hide("assistant empty")
        elif value.get("timestamp_ms") is not None and value.get("model_call_id") is None:
            self._delta(record, text, time)
        elif self._draft >= 0 and self._unmarked is None:
            self._replace(record, text)
            self._close_draft()
        elif value.get("model_call_id") is None and value.get("timestamp_ms") is None:
            self._without_marks(record, text, time)
        elif self._unmarked is not None and text.startswith(self._unmarked):
            self._replace(record, text)
            self._close_draft()
        else:
            self._close_draft()
            self._say(record, text, time)

    def _close_draft(self) -> None:
        """What is being written is whole."""
        self.stream.growing.end(self._draft)
        self._draft, self._unmarked = -1, None

    def _delta(self, record: Record, text: str, time: float | None) -> None:
        if self._draft >= 0 and self._unmarked is None:
            self.extend(self._draft, record, more=text)
            self.stream.growing.add(self._draft, text)
        else:
            self._close_draft()
            self._draft = self._say(record, text, time)
            self.stream.growing.begin(self._draft, text)

    def _without_marks(self, record: Record, text: str, time: float | None) -> None:
        before = self._unmarked
        if before is None:
            self._draft, self._unmarked = self._say(record, text, time), text
            self.stream.growing.begin(self._draft, text)
        elif text.startswith(before):
            self._replace(record, text)
            self._unmarked = text
            self.stream.growing.add(self._draft, text[len(before) :])
        else:
            self.extend(self._draft, record, more=text)
            self._unmarked = before + text
            self.stream.growing.add(self._draft, text)

    def _say(self, record: Record, text: str, time: float | None) -> int:
        self.ensure_exchange(record, time)
        self._texts += 1
        return self.add(Kind.TEXT, record, text=text, time=time, model=self._model)

    def _replace(self, record: Record, text: str) -> None:
        self.extend(self._draft, record, SpanRole.BODY)
        self.resize(self._draft, text)

    # -- tool uses -----------------------------------------------------------------------------------------------------

    def _tool_call(self, record: Record, value: Value, time: float | None) -> None:
        """A tool use begins or is over, paired by the whole `call_id` (it may hold a newline)."""
        call_id = value.get("call_id")
        completed = value.get("subtype") == "completed"
        call = self._calls.get(call_id) if isinstance(call_id, str) else None
        if call is not None and not self._is_again(call, value, completed):
            call = None
        if call is not None and call.completed:
            self.extend(call.row, record)
            return
        if call is None:
            self.ensure_exchange(record, time)
            ident = one_line(call_id.replace("\n", "\\n"), 300) if isinstance(call_id, str) else ""
            row = self.add(Kind.TOOL, record, ident, time=time, model=self._model, flags=Flag.PENDING)
        else:
            row = call.row
            self.extend(row, record, SpanRole.RESULT if completed else SpanRole.BODY)
        if isinstance(call_id, str):
            self._calls[call_id] = _Call(row, span_of(record), completed)
        if completed:
            tool = tool_of(value.get("tool_call"), call_id, completed=True)
            self.resize(row, tool.text)
            refused = tool.status in (ToolStatus.DENIED, ToolStatus.INTERRUPTED)
            self.settle(row, failed=tool.status is ToolStatus.ERROR, interrupted=refused)

    def _is_again(self, call: _Call, value: Value, completed: bool) -> bool:
        """Whether a line tells of a tool use that is known, and not of another one under the same id.

        One that is open is completed by what comes; its arguments may be told again, and then in full.
        """
        if completed and not call.completed:
            return True
        before, now = self.session.record(call.told).get("tool_call"), value.get("tool_call")
        if completed:
            return before == now
        old, new = asked(before), asked(now)
        return (old.name, old.given) == (new.name, new.given) or (not call.completed and not old.given)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _result(self, record: Record, value: Value) -> None:
        """The end marker, printed when all went well; a failure has one only in some builds."""
        self.ensure_exchange(record)
        flag, subtype = value.get("is_error"), value.get("subtype")
        failed = flag if isinstance(flag, bool) else subtype == "error"
        text = value.get("result")
        if failed:
            self.add(Kind.ERROR, record, text=_failure(value), flags=Flag.ERROR)
        elif isinstance(text, str) and text.strip() and not self._texts:
            self.add(Kind.TEXT, record, text=text, model=self._model)
        else:
            self.hide("result")
        self._count(record, value)
        spent = value.get("duration_ms")
        if isinstance(spent, int | float) and not isinstance(spent, bool) and 0 <= spent < 1e12:
            exchange = self.session.exchanges[-1]
            exchange.seconds = (exchange.seconds or 0.0) + spent / 1000
            self.recounted(exchange)
        if isinstance(request := value.get("request_id"), str):
            self.session.metadata["requestId"] = one_line(request, 100)
        self.close_open(failed=failed)
        self.ended = "failed" if failed else "finished"

    def _count(self, record: Record, value: Value) -> None:
        """The tokens of the run. What the figures mean is nowhere said; they are taken not to overlap."""
        usage = value.get("usage")
        if not isinstance(usage, dict):
            return
        names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
        figures = TokenUsage(*(as_count(usage.get(name)) for name in names))
        if figures != _NO_FIGURES:
            self._results += 1
            self.group(f"{self.id}:run:{self._results}", figures, record, model=self._model)
            self.session.lacks -= {Lack.TOKENS}

    # -- making messages -----------------------------------------------------------------------------------------------

    def build(self, message: Message, spans: list[Span]) -> None:
        """Fill in a message from its lines."""
        values = [self.session.record(span) for span in spans]
        kind = message.kind
        message.metadata["recordType"] = one_line(str(values[0].get("type")), 60)
        if kind is Kind.TOOL:
            self._build_tool(message, values, spans)
        elif kind is Kind.THINKING:
            deltas = [v for i, v in enumerate(values) if not i or v.get("subtype") != "completed"]
            message.parts = [Part("thinking", clean("".join(t for v in deltas if isinstance(t := v.get("text"), str))))]
        elif kind is Kind.ERROR:
            message.label, message.parts = "The run failed", text_part(_failure(values[0]))
        elif kind is Kind.NOTE:
            facts = {k: v for k, v in values[0].items() if k not in ("type", "session_id", "timestamp_ms")}
            message.label = one_line(str(values[0].get("type")).replace("_", " "), 60)
            message.parts = text_part(as_json(facts) if facts else "")
        elif values[0].get("type") == "result":
            message.parts = text_part(values[0].get("result"))
        else:
            whole = max(i for i, span in enumerate(spans) if span.role is SpanRole.BODY)
            message.parts = text_part("".join(_texts(value)[0] for value in values[whole:]))
        if not message.parts and message.tool is None and not message.label:
            message.label = "(nothing to read)"

    def build_growing(self, message: Message, first: Span, text: str) -> None:
        """The same for what is being written."""
        super().build_growing(message, first, text)
        message.metadata["recordType"] = "thinking" if message.kind is Kind.THINKING else "assistant"

    def _build_tool(self, message: Message, values: list[Value], spans: list[Span]) -> None:
        done = next((v for v in values if v.get("subtype") == "completed"), None)
        value = done if done is not None else values[-1]
        message.tool = tool = tool_of(value.get("tool_call"), value.get("call_id"), completed=done is not None)
        message.path_hints = _hints(tool, self.session.workspace_root)
        if tool.status is ToolStatus.PENDING and message.flags & Flag.INTERRUPTED:
            tool.status = ToolStatus.INTERRUPTED
        begun, over = (v.get("timestamp_ms") for v in (values[0], value))
        if tool.seconds is None and isinstance(begun, int | float) and isinstance(over, int | float):
            tool.seconds = (over - begun) / 1000 if done is not None and 0 < begun < over < 1e14 else None


def _texts(value: Value) -> tuple[str, str]:
    """The text of a line's message, and the type of the first block in it that is none."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content, ""
    texts, odd = [], ""
    for block in content if isinstance(content, list) else []:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            texts.append(text)
        elif isinstance(block, dict):
            odd = odd or str(block.get("type"))
    return "".join(texts), odd


def _failure(value: Value) -> str:
    """What a failed `result` says of it."""
    error = value.get("error")
    if isinstance(error, dict):
        message = error.get("message")
        error = message if isinstance(message, str) else as_json(error)
    result = value.get("result")
    return "\n".join(text for text in (error, result) if isinstance(text, str) and text)


def _hints(tool: Tool, root: str | None) -> list[str]:
    hints = input_path_hints(tool.input)
    if tool.type == "shell":
        hints += shell_path_hints(str(tool.input.get("command") or ""))
    place = shell_directory(tool.input, root) if tool.type == "shell" else root
    return resolve_hints([*hints, *(diff.path for diff in tool.diffs)], place, root)

"""`gemini -o stream-json` (`streams` note 4), and the one object that `-o json` prints."""

from __future__ import annotations

import re

from schemas.clean import clean, one_line
from schemas.message import NO_FLAGS, Flag, Kind, Message, Part, Span, SpanRole, ToolStatus
from schemas.providers._google import normalised
from schemas.providers._google_tools import Result, hints_of, make_tool, read_result
from schemas.providers.streams.stream import Run, Stream, Value, text_part
from schemas.records import Record
from schemas.session import Lack
from schemas.usage import TokenUsage, as_count, total_usage
from schemas.values import dict_of, text_of, when

_CANCELLED = re.compile(r"\s*\[?(?:[A-Za-z_]+ ){0,4}cancell?ed\b", re.IGNORECASE)
_NAME_IN_ID = re.compile(r"([A-Za-z_]\w*)-\d")
_SAID = {"assistant": Kind.TEXT, "thought": Kind.THINKING}
_KNOWN = frozenset({"tool_use", "tool_result", "error", "result"})
_THOUGHTS = ("content", "text", "thought", "description")


class GeminiRun(Run):
    """One session; each process of it begins with `init` and ends with `result`."""

    provider = "gemini"
    name = "Gemini CLI"
    stamped = True
    lacks = frozenset({Lack.THINKING})

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self._model = ""
        self._speech = ("", -1)
        self._calls: dict[str, tuple[int, str]] = {}
        self._results = 0

    def take(self, record: Record, value: Value) -> None:
        """Take a line. Only neighbouring pieces of speech are one text: anything else ends it."""
        kind, time = text_of(value.get("type")), when(value.get("timestamp"))
        speech = "thought" if kind == "thought" else text_of(value.get("role")) if kind == "message" else ""
        if speech != self._speech[0]:
            self.stream.growing.end(self._speech[1])
            self._speech = ("", -1)
        if kind == "init":
            self._begin(value)
            return
        if speech == "user":
            self.ended = ""
            self.open_exchange(record, "", text_of(value.get("content")), time)
            return
        answer = not kind and ("response" in value or "stats" in value)
        if not answer and speech not in _SAID and kind not in _KNOWN:
            self.unknown(record, kind, time)
            return
        self.ensure_exchange(record, time)
        self.touch(time)
        if speech in _SAID:
            self._say(record, speech, _spoken(value), time)
        elif kind == "tool_use":
            self._call(record, value, time)
        elif kind == "tool_result":
            self._answer(record, value, time)
        elif kind == "error":
            failed = value.get("severity") == "error"
            flags = Flag.ERROR if failed else NO_FLAGS
            self.add(Kind.ERROR if failed else Kind.NOTE, record, text=_error_text(value), time=time, flags=flags)
        elif kind == "result":
            self._end(record, value, time)
        else:
            self._take_answer(record, value)

    def _begin(self, value: Value) -> None:
        """A process begins; whatever comes before a prompt belongs to an exchange whose prompt was not printed."""
        self.ended, self.exchange = "", None
        self._model = text_of(value.get("model"))
        self.session.model_index(self._model)
        self.hide("init")

    def _say(self, record: Record, speech: str, text: str, time: float | None) -> None:
        said, row = self._speech
        if said == speech:
            self.extend(row, record, more=text)
            self.stream.growing.add(row, text)
        elif text:
            row = self.add(_SAID[speech], record, text=text, time=time, model=self._model)
            self._speech = (speech, row)
            self.stream.growing.begin(row, text)
        else:
            self.hide("message without text")

    # -- tool uses -----------------------------------------------------------------------------------------------------

    def _call(self, record: Record, value: Value, time: float | None) -> None:
        ident = text_of(value.get("tool_id"))
        row = self.add(Kind.TOOL, record, ident, time=time, model=self._model, flags=Flag.PENDING)
        if ident:
            self._calls[ident] = (row, text_of(value.get("tool_name")))

    def _answer(self, record: Record, value: Value, time: float | None) -> None:
        """A result; one without its use is a use of which nothing else is known. Of two results the first counts."""
        ident = text_of(value.get("tool_id"))
        row, name = self._calls.get(ident, (-1, ""))
        known = row >= 0
        if not known:
            name = _name_of(ident)
            row = self.add(Kind.TOOL, record, ident, time=time, model=self._model, flags=Flag.PENDING)
            self._calls[ident] = (row, name)
        result = _result(name, value)
        if known and not self.session.messages.has(row, Flag.PENDING):  # one more result stands below the first
            self.extend(row, record, SpanRole.RESULT, more=f"\n\n{result.text}")
            return
        if known:
            self.extend(row, record, SpanRole.RESULT)
        self.resize(row, result.text)
        failed = result.status in (ToolStatus.ERROR, ToolStatus.DENIED)
        self.settle(row, failed=failed, interrupted=result.status is ToolStatus.INTERRUPTED)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _end(self, record: Record, value: Value, time: float | None) -> None:
        """The process's result: how it ended, and the tokens of all its model calls."""
        failed = value.get("status") == "error" or value.get("error") is not None
        self.ended = one_line(text_of(dict_of(value.get("error")).get("type")), 80) or (
            "error" if failed else "success"
        )
        self.close_open(failed=failed)
        stats = dict_of(value.get("stats"))
        text = _error_text(dict_of(value.get("error"))) if failed else _split_text(stats)
        row = self.add(
            Kind.ERROR if failed else Kind.NOTE,
            record,
            text=text,
            time=time,
            flags=Flag.ERROR if failed else NO_FLAGS,
        )
        seconds = as_count(stats.get("duration_ms"))
        if seconds and self.exchange is not None:  # 0 after a fatal error
            self.exchange.seconds = (self.exchange.seconds or 0) + seconds / 1000
        self._count(record, stats, row)

    def _count(self, record: Record, stats: Value, row: int) -> None:
        """The total, once: by model where the parts make it up exactly, so that each can be priced as what it is."""
        self._results += 1
        whole = _usage(stats)
        if whole is None:
            return
        parts = {name: _usage(dict_of(part)) for name, part in dict_of(stats.get("models")).items()}
        known = {name: part for name, part in parts.items() if part is not None}
        if total_usage(known.values()) == whole and len(known) == len(parts):
            for name, part in known.items():
                self.group(f"result {self._results} {one_line(name, 100)}", part, record, row=row, model=name)
            self.session.exchanges[-1].model = self.session.model_index(next(iter(known)))
        else:
            model = next(iter(known)) if len(known) == 1 else self._model
            self.group(f"result {self._results}", whole, record, row=row, model=model)

    def _take_answer(self, record: Record, value: Value) -> None:
        """All of it in one object: an answer, how it ended, and counts as Gemini keeps them on disk."""
        self.session.lacks |= {Lack.TIMES}
        error = value.get("error")
        models = dict_of(dict_of(value.get("stats")).get("models"))
        names = list(models)
        self._model = names[0] if names else ""
        text = text_of(value.get("response"))
        if text or error is None:
            self.add(Kind.TEXT, record, "answer", text=text, model=self._model)
        if error is not None:
            said = _error_text(dict_of(error))
            self.add(Kind.ERROR, record, "error", text=said, flags=Flag.ERROR, block=1)
        self.ended = "success" if error is None else one_line(text_of(dict_of(error).get("type")), 80) or "error"
        for name in names:
            tokens = dict_of(dict_of(models[name]).get("tokens"))
            counts = [tokens.get(key) for key in ("prompt", "candidates", "cached", "thoughts", "tool")]
            if (usage := normalised(*counts)) is not None:
                self.group(f"answer {one_line(name, 100)}", usage, record, model=name)
        self.session.exchanges[-1].model = self.session.model_index(self._model)

    # -- making messages -----------------------------------------------------------------------------------------------

    def build(self, message: Message, spans: list[Span]) -> None:
        """Speech from all its pieces, a tool use from its two lines, anything else from its one."""
        value = self.session.record(spans[0])
        match message.kind:
            case Kind.TEXT | Kind.THINKING:
                text = clean(self.joined(spans, _spoken))
                message.parts = [Part("thinking" if message.kind is Kind.THINKING else "text", text)]
            case Kind.PROMPT:
                message.parts = text_part(value.get("content"))
                message.label = "" if message.parts else "(empty prompt)"
            case Kind.TOOL:
                self._build_tool(message, value, spans)
            case _:
                _build_note(message, value)

    def _build_tool(self, message: Message, value: Value, spans: list[Span]) -> None:
        values = (self.session.record(span) for span in spans)
        answers = [value for value in values if value.get("type") == "tool_result"]
        ident = text_of(value.get("tool_id"))
        name = _name_of(ident) if value.get("type") == "tool_result" else text_of(value.get("tool_name"))
        status, text = (_word(answers[0]), _answered(name, answers)) if answers else (None, None)
        tool = make_tool(name, ident, value.get("parameters"), None, text, status)
        if message.flags & Flag.INTERRUPTED:
            tool.status = ToolStatus.INTERRUPTED
        if answers:
            error = dict_of(answers[0].get("error"))
            if kind := one_line(text_of(error.get("type")), 80):
                message.metadata["errorType"] = kind
            said = clean(text_of(error.get("message")))
            if said and said != tool.text:
                message.metadata["error"] = said
        message.tool = tool
        message.path_hints = hints_of(tool, None, self.session.workspace_root)


def _spoken(value: Value) -> str:
    """The text of a piece of speech, of a thought, or of the one answer."""
    if "response" in value and "type" not in value:
        return text_of(value.get("response"))
    return next((text for key in _THOUGHTS if (text := text_of(value.get(key)))), "")


def _name_of(ident: str) -> str:
    """The tool's name, with which Gemini's ids begin: `read_file-1795-1`."""
    match = _NAME_IN_ID.match(ident)
    return match[1] if match else ""


def _word(answer: Value) -> str:
    """How a tool use ended. Cancelled ones are reported as successes whose output says otherwise."""
    output = text_of(answer.get("output"))
    if _CANCELLED.match(output[:200]):
        return "cancelled"
    return "error" if answer.get("status") == "error" or answer.get("error") is not None else "success"


def _result(name: str, answer: Value) -> Result:
    output = text_of(answer.get("output")) or text_of(dict_of(answer.get("error")).get("message"))
    return read_result(name, None, output, _word(answer))


def _answered(name: str, answers: list[Value]) -> str:
    """What all results of a tool use say."""
    return "\n\n".join(_result(name, answer).text for answer in answers)


def _error_text(value: Value) -> str:
    return text_of(value.get("message")) or text_of(value.get("error"))


def _usage(stats: Value) -> TokenUsage | None:
    """Counts without overlap. `output_tokens` leaves out thinking and built-in tools' prompts; the total has them."""
    total, read, output = (as_count(stats.get(key)) for key in ("total_tokens", "input_tokens", "output_tokens"))
    cached, fresh = as_count(stats.get("cached")), as_count(stats.get("input"))
    if total is None and read is None and output is None:
        return None
    if fresh is None and read is not None:
        fresh = max(0, read - (cached or 0))
    if total is not None and read is not None:
        output = max(output or 0, total - read)
    return TokenUsage(fresh, output, cached if cached is not None else 0 if read is not None else None, 0)


def _split_text(stats: Value) -> str:
    """The total by model, if there are several."""
    models = {name: _usage(dict_of(part)) for name, part in dict_of(stats.get("models")).items()}
    if len(models) < 2:
        return ""
    return "\n".join(f"{name}: {usage.total:,} tokens" for name, usage in models.items() if usage and usage.total)


def _build_note(message: Message, value: Value) -> None:
    """A warning, an error, or the end."""
    if value.get("type") not in ("result", None):
        message.label = (
            "Error" if message.kind is Kind.ERROR else one_line(text_of(value.get("severity")) or "Note", 40)
        )
        message.label = message.label.capitalize()
        message.parts = text_part(_error_text(value))
        return
    stats, error = dict_of(value.get("stats")), dict_of(value.get("error"))
    if message.kind is Kind.ERROR:
        message.label = one_line(text_of(error.get("type")), 120) or "Run failed"
        message.parts = text_part(_error_text(error))
        return
    calls = as_count(stats.get("tool_calls"))
    message.label = "Run finished" + (f", {calls} tool call{'' if calls == 1 else 's'}" if calls else "")
    message.parts = text_part(_split_text(stats))

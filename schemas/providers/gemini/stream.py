"""`gemini -o stream-json`, and the one object that `-o json` prints (formats/streams.md 4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.clean import clean, one_line
from schemas.message import Kind, Lack, Tool
from schemas.provider import Format
from schemas.providers._google import Told, Tools, answer_of, normalised
from schemas.providers.kit.bases import Data, Stream
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Count, Fact, Held, Piece, Say, Turn, Use
from schemas.usage import TokenUsage, as_count, total_usage
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

_CANCELLED = re.compile(r"\s*\[?(?:[A-Za-z_]+ ){0,4}cancell?ed\b", re.IGNORECASE)
_TELLING = {
    "init": ("session_id", "model"),
    "message": ("role",),
    "tool_use": ("tool_name", "tool_id"),
    "tool_result": ("tool_id",),
    "error": ("severity", "message"),
    "result": ("status", "stats"),
}
"""The types of records, and the fields of which each has one: files on disk have an `error` with other ones."""


class Spent(Count):
    """The tokens that a process took of one model, or of all."""


class Speech(History):
    """The policy that joins pieces of speech to one text: anything else between them ends it."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._name = ""

    def enter(self, record: Record, time: float | None) -> bool:
        """Note whether a record goes on with the speech before it."""
        self.whole = not _is_speech(record[3])
        self._name = "" if self.whole else self._name
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """Speech under the place of its first piece, figures under that of the result."""
        if isinstance(item, Spent):
            yield record, number, item._replace(id=f"result {record[0]} {item.model}", beside=True)
        elif item.text or self._name:
            self._name = self._name or f"@{record[0]}"
            yield record, number, as_word(item, Piece, id=self._name)


class GeminiStream(Stream, Tools):
    """One session; each process of it begins with `init` and ends with `result`."""

    id = "gemini"
    name = "Gemini CLI"
    formats = (Format("Gemini CLI, `-o stream-json` (or json)", "init, message, tool_use … with an ISO timestamp"),)
    history = Speech
    answers = "first"
    lacks = frozenset({Lack.THINKING, Lack.TIMES})

    def prints(self, record: Data) -> bool:
        """Its types with an ISO time; or an answer and counts in one object without a type."""
        kind = record.get("type")
        if kind is None:
            return isinstance(record.get("stats"), dict) and ("response" in record or "error" in record)
        return (
            isinstance(kind, str)
            and any(key in record for key in _TELLING.get(kind, ()))
            and isinstance(record.get("timestamp"), str)
            and (kind != "message" or isinstance(record.get("content"), str))
            and record.keys().isdisjoint(("uuid", "parentUuid", "payload"))
        )

    def run_of(self, record: Data) -> str:
        """The session's id, which only the first record of a process names."""
        return text_of(record.get("session_id")) if record.get("type") in ("init", None) else ""

    def type(self, record: Data) -> str:
        return "message without text" if _is_speech(record) else super().type(record)

    def read(self, record: Data) -> Iterator[Any]:
        match text_of(record.get("type")):
            case "init":
                yield Fact(model=text_of(record.get("model")))
                yield Turn()
            case "message" if _is_speech(record):
                yield Held(Kind.TEXT, text_of(record.get("content")))
            case "message" if record.get("role") == "user":
                yield Say(Kind.PROMPT, text_of(record.get("content")))
            case "tool_use":
                name, asked = text_of(record.get("tool_name")), dict_of(record.get("parameters"))
                yield Use(name=name, use_id=text_of(record.get("tool_id")), input=asked)
            case "tool_result":
                error = dict_of(record.get("error"))
                output = text_of(record.get("output")) or text_of(error.get("message"))
                word = "error" if record.get("status") == "error" or error else "success"
                if _CANCELLED.match(output[:200]):  # which is reported as a success
                    word = "cancelled"
                yield replace(answer_of(text_of(record.get("tool_id")), "", None, output, word), details=Told(error))
            case "error":
                failed, text = record.get("severity") == "error", text_of(record.get("message"))
                label = (text_of(record.get("severity")) or "note").capitalize()
                yield Say(Kind.ERROR if failed else Kind.NOTE, text, label)
            case "result":
                yield from _read_end(record)
            case "" if "response" in record or "stats" in record:  # all of it in one object
                yield Fact(model=next(iter(dict_of(dict_of(record.get("stats")).get("models"))), ""))
                if (text := text_of(record.get("response"))) or not record.get("error"):
                    yield Say(Kind.TEXT, text)
                yield from _read_end(record)
            case _:
                yield Say(Kind.UNKNOWN)

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result. What went wrong is said in two ways."""
        tool, facts = super().tool(use, answer, path)
        error = answer.details.display if answer is not None else {}
        if kind := one_line(text_of(error.get("type")), 80):
            facts["errorType"] = kind
        if (told := clean(text_of(error.get("message")))) and told != tool.text:
            facts["error"] = told
        return tool, facts


def _is_speech(record: Data) -> bool:
    return record.get("type") == "message" and record.get("role") == "assistant"


def _read_end(record: Data) -> Iterator[Any]:
    """A process's end: how it ended, and the tokens of all its model calls."""
    stats, error = dict_of(record.get("stats")), dict_of(record.get("error"))
    failed, kind = record.get("status") == "error" or bool(error), one_line(text_of(error.get("type")), 80)
    parts = {name: _usage_of(dict_of(part)) for name, part in dict_of(stats.get("models")).items()}
    known = {name: part for name, part in parts.items() if part is not None}
    if failed:
        yield Say(Kind.ERROR, text_of(error.get("message")), kind or "Run failed")
    elif "type" in record:
        calls = as_count(stats.get("tool_calls"))
        label = "Run finished" + (f", {calls} tool call{'' if calls == 1 else 's'}" if calls else "")
        lines = [f"{name}: {usage.total:,} tokens" for name, usage in known.items() if usage.total]
        yield Say(Kind.NOTE, "\n".join(lines) if len(parts) > 1 else "", label)
    whole, told = _usage_of(stats), total_usage(known.values())
    # By model where the parts make it up exactly, so that each can be priced as what it is.
    if told is not None and whole in (None, told):
        yield from (Spent(part, model=name) for name, part in known.items())
    elif whole is not None:
        yield Spent(whole, model=next(iter(known)) if len(known) == 1 else "")
    seconds = (as_count(stats.get("duration_ms")) or 0) / 1000 or None  # 0 after a fatal error
    yield Turn(begins=False, seconds=seconds, failed=failed, how=kind or ("error" if failed else "success"))


def _usage_of(stats: Data) -> TokenUsage | None:
    """Counts without overlap. `output_tokens` leaves out thinking and built-in tools' prompts; the total has them."""
    if "tokens" in stats:  # as files have them
        return normalised(*map(dict_of(stats["tokens"]).get, ("prompt", "candidates", "cached", "thoughts", "tool")))
    names = ("total_tokens", "input_tokens", "output_tokens", "cached", "input")
    total, read, output, cached, fresh = (as_count(stats.get(name)) for name in names)
    if total is None and read is None and output is None:
        return None
    if read is not None:  # early builds tell neither `cached` nor `input`
        cached = cached or 0
        fresh = max(0, read - cached) if fresh is None else fresh
        output = output if total is None else max(output or 0, total - read)
    return TokenUsage(fresh, output, cached, 0)


STREAM = GeminiStream()

"""`cursor-agent -p --output-format stream-json`: one run (formats/streams.md 5).

Text comes complete, or as deltas with the same text again behind them. A segment is what stands between two lines that
are not `assistant`; within it, what is being written is the draft:

1. A line with a time and no `model_call_id` is a delta of it.
2. Any other line behind deltas is the same text again: it takes the draft's place and closes the segment.
3. Without a draft, such a line is a whole message.
4. Builds of 2025 put neither on their deltas: of several such lines in a row, one that begins with all before it
   takes its place, another one is added to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemas.clean import as_json
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format
from schemas.providers.cursor.tools import STATES, Call, Tools, answer_of, call_of, seconds_of
from schemas.providers.kit.bases import Data, Stream
from schemas.providers.kit.blocks import texts_in
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Count, Fact, Held, Item, Piece, Say, Skip, Turn, Use
from schemas.records import Record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, text_of, when

if TYPE_CHECKING:
    from schemas.diffs import FileDiff
    from schemas.session import Session

_NAMES = {
    "shell": "Shell", "read": "Read", "write": "Write", "edit": "Edit", "delete": "Delete", "ls": "LS", "glob": "Glob",
    "grep": "Grep", "updateTodos": "TodoWrite", "task": "Task",
}  # fmt: skip
"""A kind without its ending, and the name that Cursor's own sessions have for the tool."""
_EDITS = {"strReplace": "StrReplace", "multiStrReplace": "MultiStrReplace", "applyPatch": "ApplyPatch"}


class Drafts(History):
    """The policy that keeps the text being written, and finds the tool use of each line."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._draft = self._type = ""
        self._text: str | None = None
        """The draft so far, where its lines carry neither time nor call: rule 4."""
        self._spoke = False
        self._uses: dict[str, tuple[str, bool]] = {}
        """The names of tool uses by their ids, and whether they are over."""

    def enter(self, record: Record, time: float | None) -> bool:
        """End the draft with the first line of another type, and thinking with the line that says so."""
        kind = text_of(record[3].get("type"))
        self.whole = kind != self._type or record[3].get("subtype") == "completed"
        if self.whole:
            self._type, self._draft, self._text = kind, "", None
        return True

    def own(self, row: int, kind: int) -> None:
        self._spoke = kind == Kind.TEXT or (self._spoke and kind != Kind.PROMPT)

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """A text that is the draft's, or a delta of it; the run's `final` one, shown where it said nothing else."""
        value, told = record[3], self._text
        timed, marked = value.get("timestamp_ms") is not None, value.get("model_call_id") is not None
        goes_on = told is None or (isinstance(item, Held) and item.text.startswith(told))
        match item:
            case Held(role="final"):
                if not self._spoke:
                    yield record, number, as_word(item, Say)
            case Held(role="text") if marked or (not timed and self._draft and goes_on):
                yield record, number, as_word(item, Say, id=self._draft)
                self._draft, self._text = ("", None) if marked or told is None else (self._draft, item.text)
            case Held():
                if item.role == "text" and not timed:
                    self._text = (told or "") + item.text
                self._draft = self._draft or f"draft@{record[0]}"
                yield record, number, as_word(item, Piece, id=self._draft)
            case Call():
                name, over = self._uses.get(item.use_id, ("", False))
                if not name or (over and item.answer is None):
                    name = f"{item.use_id}@{record[0]}" if name or not item.use_id else item.use_id
                self._uses[item.use_id] = name, item.answer is not None
                yield record, number, as_word(item, Use, use_id=name, id=name)


class CursorStream(Tools, Stream):
    """The output of Cursor's program in the terminal."""

    id = "cursor"
    name = "Cursor CLI"
    formats = (Format("Cursor CLI, `-p --output-format stream-json` (or json)", "session_id without uuid"),)
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    history = Drafts

    def prints(self, record: Data) -> bool:
        """A session's id without the `uuid` of Claude Code's lines. Droid prints such types with other fields."""
        if not isinstance(record.get("session_id"), str) or "uuid" in record:
            return False
        match record.get("type"):
            case "system":
                facts = "apiKeySource" in record or "permissionMode" in record
                return record.get("subtype") == "init" and facts and "tools" not in record
            case "assistant" | "user":
                return "message" in record
            case "tool_call":
                return "tool_call" in record
            case "result":
                return "duration_ms" in record and "num_turns" not in record and "total_cost_usd" not in record
            case kind:
                return kind == "thinking"

    def run_of(self, record: Data) -> str:
        return text_of(record.get("session_id"))

    def time(self, record: Data) -> float | None:
        return when(record.get("timestamp_ms"))

    def setting(self, record: Data) -> Fact:
        return Fact(workspace_root=record.get("cwd") if record.get("type") == "system" else "")

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """An edit's arguments stand in an envelope that says its way of editing."""
        given = dict(tool.input)
        for inner in (dict_of(given.pop(way, None)) for way in _EDITS):
            given |= {"patch" if key == "patchContent" else key: value for key, value in inner.items()}
        return super().diffs(replace(tool, input=given), answer)

    def read(self, record: Data) -> Iterator[Item]:
        kind, subtype = text_of(record.get("type")), text_of(record.get("subtype"))
        said = texts_in(dict_of(record.get("message")).get("content"), "")
        match kind:
            case "assistant":
                yield Held(Kind.TEXT, said, role="text") if said else Skip("assistant empty")
            case "thinking":
                text = text_of(record.get("text"))
                goes_on = text and subtype != "completed"
                yield Held(Kind.THINKING, text, role="delta") if goes_on else Skip("thinking completed")
            case "tool_call":
                yield _call(record, over=subtype == "completed")
            case "user":
                yield Say(Kind.PROMPT, said) if said.strip() else Skip("user empty")
            case "system" if subtype == "init":
                names = ("model", "permissionMode", "apiKeySource")
                yield Fact(**{name: text_of(record.get(name)) for name in names})
                yield Skip("system init")
            case "result":
                yield from _result(record)
            case "interaction_query" | "connection" | "retry":
                facts = {k: v for k, v in record.items() if k not in ("type", "session_id", "timestamp_ms")}
                yield Say(Kind.NOTE, as_json(facts) if facts else "", label=kind.replace("_", " "))
            case _:
                yield Say(Kind.UNKNOWN, label=f"system {subtype}" if kind == "system" else kind or "(no type)")


def _result(record: Data) -> Iterator[Item]:
    """The end marker, which failures have only in some builds. Its figures are taken not to overlap: nobody says."""
    error, text = record.get("error"), text_of(record.get("result"))
    failed = record.get("is_error") is True or record.get("subtype") == "error"
    if failed:
        told = text_of(dict_of(error).get("message")) or text_of(error) or (as_json(error) if error else "")
        yield Say(Kind.ERROR, "\n".join(filter(None, (told, text))), label="The run failed")
    elif text.strip():
        yield Held(Kind.TEXT, text, role="final")
    usage = dict_of(record.get("usage"))
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    yield Count(TokenUsage(*(as_count(usage.get(name)) for name in names)), beside=True)
    yield Fact(requestId=text_of(record.get("request_id")))
    seconds, how = seconds_of(record.get("duration_ms")), "failed" if failed else "finished"
    yield Turn(begins=False, seconds=seconds, failed=failed or None, how=how)
    yield Skip("result")


def _call(record: Data, *, over: bool) -> Call:
    """A tool use: the only key of its `tool_call` that holds arguments names the kind."""
    kinds = {key: value for key, value in dict_of(record.get("tool_call")).items() if isinstance(value, dict)}
    key, body = max(kinds.items(), key=lambda one: "args" in one[1], default=("", dict[str, Any]()))
    given, said, kind = body.get("args", body.get("arguments")), body.get("result"), key.removesuffix("ToolCall")
    asked, name = dict_of(given), _NAMES.get(kind, kind)
    if kind == "function":
        name = text_of(body.get("name"))
    elif kind == "mcp":
        name, given = f"{text_of(asked.get('providerIdentifier'))}-{text_of(asked.get('toolName'))}", asked.get("args")
    elif kind == "edit":
        name = next((name for way, name in _EDITS.items() if isinstance(asked.get(way), dict)), name)
    if isinstance(said, dict) and said and STATES.keys().isdisjoint(said):  # a failure of another name, or no tag
        inner = next(iter(said.values()))
        said = {"error": inner} if len(said) == 1 and isinstance(inner, dict) else {"success": said}
    answer = answer_of(said) if over else None
    if answer is not None and asked.get("isBackground") is True and (answer.status, answer.exit_code) == ("ok", None):
        answer.status = ToolStatus.BACKGROUND
    return call_of(name, text_of(record.get("call_id")), given, answer)


STREAM = CursorStream()

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
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.clean import as_json
from schemas.message import Flag, Kind, Lack, Tool, ToolStatus, ToolType
from schemas.provider import Format
from schemas.providers.cursor.store import parts_of
from schemas.providers.cursor.tools import SPAWNS, STATES, answer_of, diffs_of, is_error, task_of, tool_name, tool_type
from schemas.providers.kit.agent import Data, Stream
from schemas.providers.kit.blocks import arguments_of
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Count, Fact, Item, Piece, Say, Skip, Turn, Use
from schemas.records import Record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of

if TYPE_CHECKING:
    from schemas.diffs import FileDiff
    from schemas.session import Session

_NOTES = frozenset({"interaction_query", "connection", "retry"})
_NAMES = {
    "shell": "Shell", "read": "Read", "write": "Write", "edit": "Edit", "delete": "Delete", "ls": "LS", "glob": "Glob",
    "grep": "Grep", "updateTodos": "TodoWrite", "task": "Task",
}  # fmt: skip
"""A kind without its ending, and the name that Cursor's own sessions have for the tool."""
_EDITS = {"strReplace": "StrReplace", "multiStrReplace": "MultiStrReplace", "applyPatch": "ApplyPatch"}


class Close(Piece):
    """The end of a draft of another kind, which each line is."""


class Delta(Piece):
    """A piece of a text, or of thinking."""


class Whole(Say):
    """A whole text, which may be that of the draft."""


class Final(Say):
    """The run's whole text, told at its end: shown where nothing was said before."""


class Call(Use):
    """A tool use that begins, or is over; its id may be used again."""


class _Known(NamedTuple):
    name: str
    asked: str
    over: str
    """What told its end; empty while it is open."""


class Drafts(History):
    """Which text is being written, and which line tells of which tool use."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._draft, self._kind = "", Kind.TEXT
        self._unmarked: str | None = None
        """The draft so far, where its lines carry neither time nor call: rule 4."""
        self._appends = self._spoke = False
        self._calls: dict[str, _Known] = {}
        self._names: set[str] = set()

    def own(self, row: int, kind: int) -> None:
        if kind == Kind.PROMPT:  # another turn, in which what is over comes no more
            self._calls = {ident: call for ident, call in self._calls.items() if not call.over}
        self._spoke = kind == Kind.TEXT or (self._spoke and kind != Kind.PROMPT)

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """The stream's own words in those of the kit."""
        match item:
            case Close():
                if self._kind is not item.kind:
                    yield from self._end(record)
            case Delta():
                if self._appends or item.kind is Kind.THINKING or record[3].get("timestamp_ms") is not None:
                    yield from self._go_on(record, item)
                    yield record, number, as_word(item, Piece, id=self._draft)
            case Whole():
                yield from self._whole(record, number, item)
            case Final():
                if not self._spoke:
                    yield record, number, as_word(item, Say)
            case Call():
                yield record, number, self._call(record, item)
            case _:
                yield from super().sift(record, number, item)

    def _end(self, record: Record) -> Iterator[Placed]:
        """End the draft; a line's first item is its `Close`, which adds nothing."""
        if self._draft:
            yield record, 0, Piece(self._kind, id=self._draft, last=True)
        self._draft, self._unmarked = "", None

    def _go_on(self, record: Record, item: Delta) -> Iterator[Placed]:
        """Begin a draft, unless the delta goes on with the one there is."""
        unmarked, self._appends = self._appends, False
        if not self._draft or (self._unmarked is not None) is not unmarked:
            yield from self._end(record)
            self._draft, self._kind = f"draft@{record[0]}", item.kind
            self._unmarked = "" if unmarked else None
        if self._unmarked is not None:
            self._unmarked += item.text

    def _whole(self, record: Record, number: int, item: Whole) -> Iterator[Placed]:
        draft, unmarked, marked = self._draft, self._unmarked, record[3].get("model_call_id") is not None
        if item.kind is Kind.THINKING:  # what ends it may repeat the whole
            yield from self._end(record)
            if not draft and item.text:
                yield record, number, as_word(item, Say)
        elif draft and (unmarked is None or item.text.startswith(unmarked)):
            goes_on = unmarked is not None and not marked
            self._draft, self._unmarked = (draft, item.text) if goes_on else ("", None)
            yield record, number, as_word(item, Say, id=draft)
        elif marked:
            yield from self._end(record)
            yield record, number, as_word(item, Say)
        else:
            self._appends = True

    def _call(self, record: Record, item: Call) -> Use:
        """Name a use: a line tells of one that is known, or of another one under the same id. One that is open is
        completed by what comes; its arguments may be told again, and then in full.
        """
        ident, over = item.use_id, repr(record[3].get("tool_call")) if item.answer is not None else ""
        asked, known = repr((item.name, item.input)) if item.input else "", self._calls.get(ident)
        if known is not None and (known.over == over if known.over and over else over or known.asked in (asked, "")):
            if known.over:
                return as_word(item, Use, use_id=known.name)  # told before
            name = known.name
        else:
            name = ident if ident and ident not in self._names else f"{ident}@{record[0]}"
        self._names.add(name)
        self._calls[ident] = _Known(name, asked, over)
        return as_word(item, Use, use_id=name, id=name)


class CursorStream(Stream):
    """What Cursor's program in the terminal prints."""

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
        """The session's id."""
        return text_of(record.get("session_id"))

    def time(self, record: Data) -> float | None:
        """When it was printed, which some lines tell."""
        stamp = number(record.get("timestamp_ms"))
        return stamp / 1000 if stamp is not None and 0 < stamp < 1e14 else None

    def setting(self, record: Data) -> Fact:
        """Where the agent works."""
        return Fact(workspace_root=record.get("cwd") if record.get("type") == "system" else "")

    def tool_type(self, name: str) -> ToolType:
        return tool_type(name)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """An edit's arguments stand in an envelope that says its way of editing."""
        given = dict(tool.input)
        for inner in (dict_of(given.pop(way, None)) for way in _EDITS):
            given |= {"patch" if key == "patchContent" else key: value for key, value in inner.items()}
        return diffs_of(replace(tool, input=given), answer)

    def read(self, record: Data) -> Iterator[Item]:
        kind, subtype = text_of(record.get("type")), text_of(record.get("subtype"))
        goes_on = {"assistant": Kind.TEXT, "thinking": Kind.THINKING}
        yield Close(goes_on.get(kind, Kind.NOTE))
        match kind:
            case "assistant":
                yield from _said(record)
            case "thinking":
                text = text_of(record.get("text"))
                if subtype == "completed":
                    yield Whole(Kind.THINKING, text)
                elif text:
                    yield Delta(Kind.THINKING, text)
            case "tool_call":
                yield _call(record, over=subtype == "completed")
            case "user":
                text, _ = _texts(record)
                yield Say(Kind.PROMPT, text) if text.strip() else Skip("user empty")
            case "system" if subtype == "init":
                names = ("model", "permissionMode", "apiKeySource")
                yield Fact(**{name: text_of(record.get(name)) for name in names})
                yield Skip("system init")
            case "result":
                yield from _result(record)
            case _ if kind in _NOTES:
                facts = {k: v for k, v in record.items() if k not in ("type", "session_id", "timestamp_ms")}
                yield Say(Kind.NOTE, as_json(facts) if facts else "", label=kind.replace("_", " "))
            case _:
                yield Say(Kind.UNKNOWN, label=f"system {subtype}" if kind == "system" else kind or "(no type)")


def _texts(record: Data) -> tuple[str, str]:
    """The text of a line's message, and the type of the first block in it that is none."""
    parts = parts_of(dict_of(record.get("message")).get("content"))
    odd = (part.get("type") for part in parts if isinstance(part, dict) and not isinstance(part.get("text"), str))
    return "".join(text_of(part) or text_of(dict_of(part).get("text")) for part in parts), text_of(next(odd, ""))


def _said(record: Data) -> Iterator[Item]:
    text, odd = _texts(record)
    if not text:
        yield Say(Kind.UNKNOWN, label=f"assistant block {odd}") if odd else Skip("assistant empty")
        return
    stamped, called = (record.get(name) is not None for name in ("timestamp_ms", "model_call_id"))
    if called or not stamped:
        yield Whole(Kind.TEXT, text)
    if not called:
        yield Delta(Kind.TEXT, text)


def _result(record: Data) -> Iterator[Item]:
    """The end marker, printed when all went well; a failure has one only in some builds. What its figures mean is
    nowhere said; they are taken not to overlap.
    """
    flag, error, text = record.get("is_error"), record.get("error"), text_of(record.get("result"))
    failed = flag if isinstance(flag, bool) else record.get("subtype") == "error"
    if failed:
        told = text_of(dict_of(error).get("message")) or text_of(error) or (as_json(error) if error else "")
        yield Say(Kind.ERROR, "\n".join(filter(None, (told, text))), label="The run failed")
    elif text.strip():
        yield Final(Kind.TEXT, text)
    usage = dict_of(record.get("usage"))
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    yield Count(TokenUsage(*(as_count(usage.get(name)) for name in names)), beside=True)
    spent = number(record.get("duration_ms"))
    yield Fact(requestId=text_of(record.get("request_id")))
    seconds = spent / 1000 if spent is not None and 0 <= spent < 1e12 else None
    yield Turn(begins=False, seconds=seconds, failed=failed or None, how="failed" if failed else "finished")
    yield Skip("result")


# -- tools -------------------------------------------------------------------------------------------------------------


def _call(record: Data, *, over: bool) -> Call:
    """A tool use: the only key of its `tool_call` that holds arguments names the kind."""
    call = dict_of(record.get("tool_call"))
    kinds = {key: value for key, value in call.items() if isinstance(value, dict)}
    key = next((key for key, value in kinds.items() if "args" in value), "")
    if not key and "function" in kinds:
        function = kinds["function"]
        name, given, said = function.get("name"), function.get("arguments"), function.get("result", call.get("result"))
    else:
        key = key or next((key for key in kinds if key.endswith("ToolCall")), next(iter(kinds), ""))
        given, said = kinds.get(key, {}).get("args"), kinds.get(key, {}).get("result")
        asked, kind = dict_of(given), key.removesuffix("ToolCall")
        name = _NAMES.get(kind, kind)
        if kind == "mcp":
            tool, server = text_of(asked.get("toolName")) or text_of(asked.get("name")), asked.get("providerIdentifier")
            name, given = f"{server}-{tool}" if server and isinstance(server, str) else tool or key, asked.get("args")
        elif kind == "edit":
            name = next((name for way, name in _EDITS.items() if isinstance(asked.get(way), dict)), name)
    name, asked = tool_name(name), arguments_of(given)
    answer = answer_of(_plain(said)) if over else None
    if answer is not None and answer.status is ToolStatus.OK and asked.get("isBackground") is True:
        answer.status = ToolStatus.BACKGROUND if answer.exit_code is None else answer.status
    return Call(
        name=name, use_id=text_of(record.get("call_id")), input=asked, type=tool_type(name), answer=answer,
        task=task_of(name, asked), flags=Flag.SUBAGENT if name in SPAWNS else Flag(0),
    )  # fmt: skip


def _plain(said: object) -> object:
    """A result in the shape that stores have. Its tag says that it failed, unless it is `success`; old builds have no
    tag around the facts.
    """
    if not isinstance(said, dict) or not said:
        return said
    tag = next((key for key in said if key in STATES), "")
    inner = next(iter(said.values()))
    body = said[tag] if tag else inner if len(said) == 1 and isinstance(inner, dict) else said
    tag = tag or ("success" if body is said else "error")
    if not isinstance(body, dict):
        return {tag: {"message": text_of(body) or tag}}
    texts = [part.get("text") for part in map(dict_of, list_of(body.get("content")))]
    if texts:  # MCP's content parts, whose texts are wrapped twice
        body = body | {"content": "\n".join(text_of(dict_of(text).get("text")) or text_of(text) for text in texts)}
    return {"error" if is_error(body) else tag: body}

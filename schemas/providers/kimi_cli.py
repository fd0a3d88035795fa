"""kimi-cli, the Python program before Kimi Code: a wire of events a session (others.md 9.2, found-others.md 7).

Events of subagents are mirrored in the wire of the session; the subagents' own files say the same and are not read.
Beside the wire lies the model's context: messages of OpenAI's form, the session where a wire tells no event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.diffs import FileDiff, from_strings
from schemas.folders import bytes_in, object_in
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format, Head, Location, Problem, SessionFile
from schemas.providers.kit.bases import Data, Home, Lines, Stream
from schemas.providers.kit.blocks import arguments_of, texts_in
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Count, Fact, Item, Link, Piece, Say, Skip, Task, Title, Turn, Use
from schemas.records import Record, read_record
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, whole

if TYPE_CHECKING:
    from schemas.session import Session

_WIRE, _CONTEXT = "wire.jsonl", "context.jsonl"
_EXIT = re.compile(r"exit code: (-?\d{1,6})")
_SILENT = frozenset(
    """metadata StepBegin ApprovalRequest ApprovalResponse ApprovalRequestResolved CompactionEnd ToolCallRequest
    MCPLoadingBegin MCPLoadingEnd MCPStatusSnapshot BtwBegin BtwEnd HookTriggered HookResolved PlanDisplay
    QuestionRequest""".split()  # noqa: SIM905
)


class More(Piece):
    """The next part of the arguments of the tool use that came last."""


class Wire(History):
    """The policy that finds the agent of each event, and keeps the last tool use."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._use = ""

    def whose(self, record: Data) -> str:
        message = dict_of(record.get("message"))
        inner = dict_of(message.get("payload"))
        if message.get("type") != "SubagentEvent":
            return ""
        return text_of(inner.get("agent_id")) or text_of(inner.get("parent_tool_call_id")) or "subagent"

    def enter(self, record: Record, time: float | None) -> bool:
        kind, payload = event_of(record[3])
        self._use = text_of(payload.get("id")) if kind == "ToolCall" else self._use
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """Parts of arguments, where there is a tool use."""
        if self._use:
            yield record, number, as_word(item, Piece, id=self._use)


class KimiCli(Lines):
    """kimi-cli's wires and contexts."""

    id = "kimi-cli"
    name = "kimi-cli"
    verified = "genuine sessions of 1.47.0"
    counting = (
        "kimi-cli writes the tokens of each step; input excludes the cache, output includes thinking. It does not say "
        "which model answered. Calls that were cut off have no figures."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"payload"', b'"protocol_version"', b'"_system_prompt"', b'"_checkpoint"')
    formats: ClassVar[tuple[Format, ...]] = (
        Format("kimi-cli wire, JSON lines", "records with a timestamp and a message of type and payload"),
        Format("kimi-cli context, JSON lines", "messages, and roles that begin with _"),
    )
    homes = (Home("$KIMI_SHARE_DIR/sessions", "KIMI_SHARE_DIR"), Home(".kimi/sessions"))
    files = (f"*/*/{_WIRE}", f"*/*/{_CONTEXT}")
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    history: ClassVar[type[History]] = Wire
    resume = ("kimi", "--session")
    listing = Listing(r" *(\d+)\t")
    tools = {
        "Shell": "shell", "Bash": "shell", "CMD": "shell", "ReadFile": "read", "ReadMediaFile": "read", "FetchURL":
        "read", "WriteFile": "write", "StrReplaceFile": "write", "PatchFile": "write", "Grep": "search", "Glob":
        "search", "SearchWeb": "search", "Task": "task", "Agent": "task", "SetTodoList": "task", "Think": "generic",
        "SendDMail": "generic", "TaskOutput": "task", "TaskStop": "task", "TaskList": "task",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """An event in its envelope, the version of the protocol without a time, or a context's own roles."""
        return any(
            (isinstance(record.get("timestamp"), int | float) and event_of(record)[0])
            or (record.get("type") == "metadata" and "protocol_version" in record and "created_at" not in record)
            or is_of_context(record)
            for record in head.first
        )

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The wires, and the contexts of those that are not there or tell no event."""
        for file in super().find(location, problems):
            wire, context = (file.path.with_name(name) for name in (_WIRE, _CONTEXT))
            instead = b'"payload"' not in bytes_in(wire, 4096) and bool(bytes_in(context, 1))
            if file.path == (context if instead else wire):
                yield file

    def id_of(self, path: Path) -> str:
        """The session's folder."""
        return path.parent.name

    def stamps(self, session: Session) -> object:
        """Return the contents of the session's state, which show a change."""
        return bytes_in(session.path.with_name("state.json"))

    def beside(self, session: Session) -> Iterable[Item]:
        """The title in `state.json`, and the place whose digest the folder above is called by."""
        state = object_in(session.path.with_name("state.json"))
        yield Title(text_of(state.get("custom_title")), 1 if state.get("title_generated") is True else 3)
        yield Fact(archived=state.get("archived") is True)
        folder = session.path.parents[1].name if len(session.path.parents) > 1 else ""
        home = session.path.parents[3] if len(session.path.parents) > 3 else session.path.parent
        for place in map(dict_of, list_of(object_in(home / "kimi.json").get("work_dirs"))):
            name = text_of(place.get("path"))
            if name and folder.endswith(md5(name.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()):
                yield Fact(workspace_root=name)

    # -- records ---------------------------------------------------------------------------------------------------

    def type(self, record: Data) -> str:
        """The event's type, or the message's role."""
        return event_of(record)[0] or text_of(record.get("type")) or text_of(record.get("role")) or "(no type)"

    def read(self, record: Data) -> Iterator[Item]:
        kind, payload = event_of(record)
        outer = dict_of(dict_of(record.get("message")).get("payload"))
        if text_of(outer.get("agent_id")):
            yield Link(text_of(outer.get("parent_tool_call_id")), text_of(outer.get("agent_id")))
        match kind or record.get("type"):
            case "TurnBegin":
                yield Say(Kind.PROMPT, texts_in(payload.get("user_input")))
            case "SteerInput":
                yield Say(Kind.STEER, texts_in(payload.get("user_input")))
            case "ContentPart":
                yield _part(payload)
            case "ToolCall":
                yield from _call(payload)
            case "ToolCallPart":
                yield More(Kind.TOOL, text_of(payload.get("arguments_part")))
                yield Skip("ToolCallPart")
            case "ToolResult":
                yield _result(payload)
            case "StatusUpdate":
                given = dict_of(payload.get("token_usage"))
                names = ("input_other", "output", "input_cache_read", "input_cache_creation")
                usage = TokenUsage(*(as_count(given.get(name)) for name in names))
                yield Fact(context_window=whole(payload.get("max_context_tokens")))
                yield Count(usage if any(usage) else TokenUsage(), text_of(payload.get("message_id")), closes=True)
                yield Skip("StatusUpdate")
            case "StepInterrupted":
                yield Say(Kind.INTERRUPT, label="Interrupted, or the model could not be asked")
            case "StepRetry":
                yield Say(Kind.NOTE, text_of(payload.get("error")), label="API error, retrying")
            case "TurnEnd":
                yield Turn(begins=False, failed=False)
                yield Skip("TurnEnd")
            case "CompactionBegin":
                yield Say(Kind.COMPACTION)
            case "Notification":
                yield Say(Kind.NOTE, text_of(payload.get("body")), text_of(payload.get("title")) or "Notification")
            case None:
                yield from _message(record)
            case str() as what if what in _SILENT:
                yield Skip(what)
            case _:
                yield Say(Kind.UNKNOWN)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool: those that the result displays, else those of the input."""
        shown = [dict_of(one) for one in list_of(answer.details)] if answer is not None else []
        found = [
            from_strings(text_of(one.get("path")), text_of(one.get("old_text")), text_of(one.get("new_text")))
            for one in shown if one.get("type") == "diff"
        ]  # fmt: skip
        if tool.type == "write" and found and tool.status is ToolStatus.OK:
            return found
        edits = [dict_of(edit) for edit in list_of(tool.input.get("edit")) or [tool.input.get("edit")]]
        pairs = [(text_of(edit.get("old")), text_of(edit.get("new"))) for edit in edits]
        if tool.type == "write" and any(map(any, pairs)) and tool.status in (ToolStatus.OK, ToolStatus.PENDING):
            return [from_strings(text_of(tool.input.get("path")), old, new) for old, new in pairs if old or new]
        return super().diffs(tool, answer)


def event_of(record: Data) -> tuple[str, Data]:
    """The type and the payload of an event; of a subagent's those of the event within."""
    message = dict_of(record.get("message"))
    if message.get("type") == "SubagentEvent":
        message = dict_of(dict_of(message.get("payload")).get("event"))
    payload = message.get("payload")
    return (text_of(message.get("type")), payload) if isinstance(payload, dict) else ("", {})


def is_of_context(record: Data) -> bool:
    """Return whether a record is one of those in a context that are no messages."""
    return record.get("role") in ("_system_prompt", "_checkpoint")


def _message(record: Data) -> Iterator[Item]:
    """Read the items of a message of a context or a stream."""
    content = record.get("content")
    match record.get("role"):
        case "assistant":
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
            yield from map(_part, map(dict_of, parts))
            for call in list_of(record.get("tool_calls")):
                yield from _call(dict_of(call))
        case "tool":
            said, _, text = texts_in(content).removeprefix("<system>").partition("</system>")
            value = {"output": text.removeprefix("\n\n"), "message": said, "is_error": said.startswith("ERROR: ")}
            yield _result({"tool_call_id": record.get("tool_call_id"), "return_value": value})
        case "user":
            yield Say(Kind.PROMPT, texts_in(content))
        case "_checkpoint" | "_usage" as role:
            yield Skip(role)
        case "_system_prompt":
            yield Say(Kind.CONTEXT, texts_in(content), label="System prompt")
        case _:
            yield Say(Kind.UNKNOWN)


def _part(payload: Data) -> Item:
    match payload.get("type"):
        case "think":
            return Say(Kind.THINKING, text_of(payload.get("think")))
        case "text":
            text = text_of(payload.get("text"))
            return Say(Kind.TEXT, text) if text.strip() else Skip("ContentPart")
        case kind:
            return Say(Kind.NOTE, label=f"[{text_of(kind).removesuffix('_url') or 'part'}]")


def _call(payload: Data) -> Iterator[Item]:
    function, use_id = dict_of(payload.get("function")), text_of(payload.get("id"))
    name, said = text_of(function.get("name")), function.get("arguments")
    given = read_record(said.encode("utf-8", "replace")) if isinstance(said, str) else dict_of(said)
    task = Task(*(text_of(given.get(key)) for key in ("subagent_name", "description", "prompt")))
    if given or not said:
        yield Use(name=name, use_id=use_id, input=given, task=task if given and name in ("Task", "Agent") else None)
    else:  # its parts follow
        yield Use(name=name, use_id=use_id, input=arguments_of(said, "raw"), id=use_id)
        yield Piece(Kind.TOOL, text_of(said), id=use_id)


def _result(payload: Data) -> Answer:
    value = dict_of(payload.get("return_value"))
    text, message = texts_in(value.get("output")), text_of(value.get("message"))
    code = _EXIT.search(message)
    failed = value.get("is_error") is True
    status = ToolStatus.ERROR if failed else ToolStatus.OK
    if failed and ("rejected by the user" in message or "Rejected by user" in message):
        status = ToolStatus.DENIED
    elif code is not None and int(code[1]) < 0:  # a signal: the person interrupted it
        status = ToolStatus.INTERRUPTED
    return Answer(
        text_of(payload.get("tool_call_id")), text or message, status, int(code[1]) if code else None,
        details=value.get("display"),
    )  # fmt: skip


class KimiCliStream(Stream, KimiCli):
    """`kimi --print --output-format stream-json`: messages of OpenAI's form, without the prompt."""

    formats = (Format("kimi-cli, `--output-format stream-json`", "a message whose content has a part of type think"),)
    history = History
    unended = ""

    def prints(self, record: Data) -> bool:
        """Thinking as its wire has it, or a result whose first words are the program's."""
        parts = [dict_of(part) for part in list_of(record.get("content"))]
        if record.get("role") == "assistant":
            return any(part.get("type") == "think" and "think" in part for part in parts)
        return record.get("role") == "tool" and texts_in(record.get("content")).startswith("<system>")

    def is_kept(self, record: Data) -> bool:
        """A context's own roles."""
        return is_of_context(record)

    def may_print(self, record: Data) -> bool:
        """A message."""
        return record.get("role") in ("assistant", "tool")


PROVIDER = KimiCli()
STREAM = KimiCliStream()

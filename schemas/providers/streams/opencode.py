"""`opencode run --format json` (`streams` note 6): finished parts, tokens a step, no end marker."""

from __future__ import annotations

from typing import Any

from schemas.clean import as_json, clean, clean_styled, clean_value, one_line
from schemas.diffs import added_file, from_strings, from_unified, from_v4a
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole, Tool, ToolStatus, ToolType
from schemas.path_hints import input_path_hints, resolve_hints, shell_directory, shell_path_hints
from schemas.providers.codex.values import image_part
from schemas.providers.streams.stream import Run, Stream, Value, latest, span_of, text_part
from schemas.records import Record
from schemas.session import Subagent
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when, whole

_TYPES: dict[str, ToolType] = {
    "bash": "shell",
    "read": "read",
    "webfetch": "read",
    "write": "write",
    "edit": "write",
    "multiedit": "write",
    "patch": "write",
    "apply_patch": "write",
    "glob": "search",
    "grep": "search",
    "list": "search",
    "websearch": "search",
    "codesearch": "search",
    "task": "task",
    "todowrite": "task",
    "todoread": "task",
    "skill": "generic",
    "question": "generic",
    "lsp": "generic",
    "batch": "generic",
}
_KNOWN = frozenset({"step_start", "text", "reasoning", "tool_use", "step_finish", "error", "done", "snapshot", "patch"})
_UNFINISHED = ("pending", "running")
_GOES_ON = frozenset({"tool-calls", ""})
_CUT = "possibly cut off: the last step has no end; the session in OpenCode's own database may hold the rest"


class OpenCodeRun(Run):
    """One process, which is one exchange; its prompt is not printed."""

    provider = "opencode"
    name = "OpenCode"
    stamped = True

    def __init__(self, stream: Stream, identifier: str, number: int) -> None:
        super().__init__(stream, identifier, number)
        self._costs: dict[str, float] = {}
        self._children: set[str] = set()
        self._parts: dict[str, tuple[int, Span]] = {}
        """The message of each part by its id, and the record that told it last."""
        self._steps: dict[str, str] = {}

    def take(self, record: Record, value: Value) -> None:
        """Take a line: a part, or an error. What has a part is read by that part's type."""
        part = dict_of(value.get("part"))
        time = when(value.get("timestamp"))
        kind = text_of(part.get("type")).replace("-", "_") or text_of(value.get("type"))
        kind = "tool_use" if kind == "tool" else kind
        if kind not in _KNOWN:
            self.unknown(record, part.get("type") or value.get("type"), time)
            return
        self.ensure_exchange(record, time)
        self.touch(time)
        match kind:
            case "step_start":
                self._reason("")
                self.hide("step_start")
            case "text":
                self._said(record, Kind.TEXT, part, time)
            case "reasoning":
                self._said(record, Kind.THINKING, part, time)
            case "tool_use":
                self._tool(record, part, time)
            case "step_finish":
                self._finish_step(record, part)
            case "error":
                self.ended = "error"
                self.add(Kind.ERROR, record, text=_error_text(value), time=time, flags=Flag.ERROR)
            case "done":
                self.ended = self.ended or one_line(text_of(value.get("reason")), 60) or "done"
                self.hide("done")
            case _:
                self.hide(kind)

    def finish(self) -> str:
        """Released builds print no end marker; the reason of the last step stands for it."""
        return "" if self.ended else _CUT

    def _reason(self, reason: str) -> None:
        """How it ended as far as one can tell. After an error it is not complete, whatever the last step says."""
        if self.ended != "error":
            self.ended = reason

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _said(self, record: Record, kind: Kind, part: Value, time: float | None) -> None:
        text, ident = text_of(part.get("text")), text_of(part.get("id"))
        row = self._known(ident, kind, part)
        if row is not None:
            self.extend(row, record, SpanRole.BODY if text else SpanRole.DETAIL)
            if text:
                self.resize(row, text)
        elif text:
            row = self.add(kind, record, ident, text=text, time=time)
        else:
            self.hide(f"{part.get('type')} without text")
        if row is not None and text and ident:
            self._parts[ident] = (row, span_of(record))

    def _known(self, ident: str, kind: Kind, part: Value) -> int | None:
        """The message of a part that is printed again: with what it said before, or more.

        A part of which that is not true is another one under the same id.
        """
        row, span = self._parts.get(ident, (-1, None))
        if span is None or self.session.messages.kind[row] != kind:
            return None
        return row if _goes_on(dict_of(self.session.record(span).get("part")), part) else None

    def _tool(self, record: Record, part: Value, time: float | None) -> None:
        ident, state = text_of(part.get("id")), dict_of(part.get("state"))
        row = self._known(ident, Kind.TOOL, part)
        if row is None:
            row = self.add(Kind.TOOL, record, ident, time=time)
        else:
            self.extend(row, record, SpanRole.BODY)
        if ident:
            self._parts[ident] = (row, span_of(record))
        self.resize(row, _result(state))
        if state.get("status") in _UNFINISHED:
            self._open[row] = None
            self.mark(row, Flag.PENDING)
        else:
            self.settle(row, failed=_failed(part, state))
        self._link(record, row, part, state)

    def _link(self, record: Record, row: int, part: Value, state: Value) -> None:
        """A child session: its events are not in the stream, nor are its tokens."""
        child = one_line(text_of(dict_of(state.get("metadata")).get("sessionId")), 100)
        if part.get("tool") != "task" or not child or child in self._children or child == self.id:
            return
        self._children.add(child)
        asked = dict_of(state.get("input"))
        name, task = text_of(asked.get("subagent_type")), text_of(asked.get("description"))
        self.session.subagents.append(Subagent(child, one_line(name, 100), one_line(task, 200), tool_use=row))
        self.mark(row, Flag.SUBAGENT)
        if len(self._children) == 1:
            self.note(record, "Tokens exclude subagents: theirs are in their own sessions, not in the stream")

    # -- tokens --------------------------------------------------------------------------------------------------------

    def _finish_step(self, record: Record, part: Value) -> None:
        """A step's tokens, once however often its part is printed."""
        reason = text_of(part.get("reason"))
        self._reason("" if reason in _GOES_ON else one_line(reason, 60))
        usage, cost = _usage(part), number(part.get("cost"))
        ident, message = text_of(part.get("id")) or f"@{record[0]}", text_of(part.get("messageID"))
        if self._steps.setdefault(ident, message) != message:  # that of another message under the same id
            ident = f"{message}/{ident}"
        if usage is None:
            self.hide("step_finish without tokens")
        else:
            self.group(ident, usage, record)
            self.session.context_used = usage.context
        if cost is not None and (cost or usage is not None):
            self._costs[ident] = cost
            self.session.metadata["costUsd"] = round(sum(self._costs.values()), 9)

    # -- making messages -----------------------------------------------------------------------------------------------

    def build(self, message: Message, spans: list[Span]) -> None:
        """From the part as it was printed last."""
        value = self.session.record(latest(spans))
        part = dict_of(value.get("part"))
        match message.kind:
            case Kind.TOOL:
                build_tool(self, message, part)
            case Kind.THINKING:
                message.parts = [Part("thinking", clean(text_of(part.get("text"))))]
            case Kind.ERROR:
                error = dict_of(value.get("error"))
                name, code = text_of(error.get("name")), whole(dict_of(error.get("data")).get("statusCode"))
                message.label = one_line(f"{name or 'Error'}{f' {code}' if code is not None else ''}", 120)
                message.parts = text_part(_error_text(value))
            case _:
                message.parts = text_part(part.get("text"))
        if step := text_of(part.get("messageID")):
            message.metadata["messageId"] = clean(step)


def _goes_on(before: Value, part: Value) -> bool:
    """Whether a part is the one before, printed again: nothing that was said is taken back."""
    old, new = dict_of(before.get("state")), dict_of(part.get("state"))
    if before.get("tool") != part.get("tool"):
        return False
    if old.get("status") in _UNFINISHED:
        return not old.get("input") or old.get("input") == new.get("input")
    if old.get("input") != new.get("input"):
        return False
    said, says = text_of(before.get("text")) or _result(old), text_of(part.get("text")) or _result(new)
    return says.startswith(said) or (not says and "state" not in part)


def _usage(part: Value) -> TokenUsage | None:
    """A step's tokens. Newer builds leave reasoning out of output, which shows in their total; None for no figures.

    All zero, with no cost either, is what OpenCode prints when the model's provider told it nothing.
    """
    tokens = dict_of(part.get("tokens"))
    cache = dict_of(tokens.get("cache"))
    fresh, output, reasoning = (as_count(tokens.get(key)) for key in ("input", "output", "reasoning"))
    read, written, total = as_count(cache.get("read")), as_count(cache.get("write")), as_count(tokens.get("total"))
    known = [count for count in (fresh, output, reasoning, read, written) if count is not None]
    if not known or (not any(known) and not number(part.get("cost"))):
        return None
    if output is not None and reasoning and total is not None and total == sum(known):
        output += reasoning
    return TokenUsage(fresh, output, read, written, reasoning)


def _error_text(value: Value) -> str:
    error = value.get("error")
    data = dict_of(dict_of(error).get("data"))
    said = text_of(data.get("message")) or text_of(dict_of(error).get("message")) or text_of(error)
    return said or (as_json(error) if error else "error")


# -- tool uses ---------------------------------------------------------------------------------------------------------


def tool_type(name: str) -> ToolType:
    """SessionData's classification; a tool of an MCP server is called `server_tool`."""
    return _TYPES.get(name) or ("generic" if "_" in name else "unknown")


def _exit_code(part: Value, state: Value) -> int | None:
    return whole(dict_of(state.get("metadata")).get("exit")) if part.get("tool") == "bash" else None


def _failed(part: Value, state: Value) -> bool:
    return state.get("status") == "error" or part.get("tool") == "invalid" or bool(_exit_code(part, state))


def _result(state: Value) -> str:
    """What came back; an error's words if it failed."""
    error = state.get("error")
    said = text_of(error) or text_of(dict_of(error).get("message"))
    return said or text_of(state.get("output"))


def build_tool(run: OpenCodeRun, message: Message, part: Value) -> None:
    """Fill in a message's tool from its part."""
    state, session = dict_of(part.get("state")), run.session
    name = clean(text_of(part.get("tool"))) or "unknown"
    given = state.get("input")
    asked: dict[str, Any] = (
        clean_value(given) if isinstance(given, dict) else {} if given is None else {"input": clean_value(given)}
    )
    tool = message.tool = Tool(name, tool_type(name), clean(text_of(part.get("callID"))), asked)
    tool.text, tool.runs = clean_styled(_result(state))
    tool.exit_code = _exit_code(part, state)
    tool.summary = one_line(text_of(state.get("title")), 200) or None
    times = dict_of(state.get("time"))
    start, end = number(times.get("start")), number(times.get("end"))
    tool.seconds = (end - start) / 1000 if start is not None and end is not None and end >= start else None
    for attachment in map(dict_of, list_of(state.get("attachments"))):
        if (image := image_part(attachment.get("url"), attachment.get("filename"))) is not None:
            tool.images.append(image)
    tool.status = _status(message.flags, tool.text)
    tool.subagent = next((agent.id for agent in session.subagents if agent.tool_use == message.index), None)
    if tool.status is ToolStatus.OK:
        _add_diffs(tool, dict_of(state.get("metadata")))
    if tool.status is not ToolStatus.PENDING:
        tool.output = {"content": tool.text, "is_error": tool.status in (ToolStatus.ERROR, ToolStatus.DENIED)}
        if tool.exit_code is not None:
            tool.output["exit_code"] = tool.exit_code
    hints = input_path_hints(asked) + [path for path in (text_of(asked.get("filePath")),) if path]
    hints += [path for diff in tool.diffs for path in (diff.path, diff.renamed_to) if path]
    root = place = session.workspace_root
    if tool.type == "shell":
        hints += shell_path_hints(text_of(asked.get("command")))
        place = shell_directory(asked, root)
    message.path_hints = resolve_hints(hints, place, root)


def _status(flags: Flag, text: str) -> ToolStatus:
    if flags & Flag.PENDING:
        return ToolStatus.PENDING
    if flags & Flag.INTERRUPTED:
        return ToolStatus.INTERRUPTED
    if not flags & Flag.ERROR:
        return ToolStatus.OK
    refused = text.startswith(("The user rejected permission", "The user has specified a rule which prevents"))
    return ToolStatus.DENIED if refused else ToolStatus.ERROR


def _add_diffs(tool: Tool, metadata: Value) -> None:
    """What was changed: as OpenCode itself shows it, else by what was asked."""
    path = text_of(tool.input.get("filePath"))
    if shown := text_of(metadata.get("diff")):
        diffs = [from_unified(path or _path_in(shown), shown)]
        tool.diffs = [diff for diff in diffs if diff.hunks]
    if tool.diffs or tool.type != "write":
        return
    if tool.name == "write" and isinstance(content := tool.input.get("content"), str):
        tool.diffs = [added_file(path, content)]
        if metadata.get("exists") is True:
            tool.diffs[0].operation = "update"
    elif tool.name == "edit":
        tool.diffs = [from_strings(path, text_of(tool.input.get("oldString")), text_of(tool.input.get("newString")))]
    elif patch := text_of(tool.input.get("patchText")):
        tool.diffs = from_v4a(patch)


def _path_in(diff: str) -> str:
    """The file that a unified diff names in its header."""
    line = next((line for line in diff.split("\n") if line.startswith("+++ ")), "")
    return line[4:].split("\t")[0].removeprefix("b/").strip()

"""A tool use with its result, out of up to a handful of records."""

from __future__ import annotations

from typing import Any

from schemas.clean import clean, clean_styled, clean_value
from schemas.diffs import FileDiff
from schemas.message import Flag, Message, Part, SpanRole, Tool, ToolStatus
from schemas.path_hints import shell_directory
from schemas.providers.codex.notes import collab_text
from schemas.providers.codex.outputs import Outcome, decode, exec_outcome, mcp_outcome, patch_outcome
from schemas.providers.codex.tools import (
    call_input,
    change_diffs,
    cleaned,
    command_of,
    patch_diffs,
    patch_text,
    path_hints,
    tool_name,
    tool_type,
)
from schemas.providers.codex.values import image_part, seconds_of
from schemas.session import Session
from schemas.values import dict_of, list_of, number, text_of

Data = dict[str, Any]
_CALLS = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "image_generation_call",
    "tool_search_call",
)
_FIXED_NAMES = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
    "tool_search_call": "tool_search",
    "tool_search_output": "tool_search",
    "exec_command_end": "exec_command",
    "CommandExecution": "exec_command",
    "patch_apply_end": "apply_patch",
    "FileChange": "apply_patch",
    "web_search_end": "web_search",
    "WebSearch": "web_search",
    "Extension": "web_search",
    "image_generation_end": "image_generation",
    "ImageGeneration": "image_generation",
    "view_image_tool_call": "view_image",
    "ImageView": "view_image",
    "collab_agent_spawn_end": "spawn_agent",
    "collab_agent_interaction_end": "send_input",
    "collab_waiting_end": "wait",
    "collab_close_end": "close_agent",
    "collab_resume_end": "resume_agent",
}
_EXEC = ("exec_command_end", "CommandExecution", "commandExecution")
_PATCH = ("patch_apply_end", "FileChange", "fileChange")
_MCP = ("mcp_tool_call_end", "McpToolCall", "mcpToolCall")
_COLLAB = tuple(kind for kind in _FIXED_NAMES if kind.startswith("collab_"))
_DYNAMIC = ("dynamic_tool_call_response", "DynamicToolCall", "dynamicToolCall")


def build_tool(session: Session, message: Message, bodies: list[Data], roles: list[SpanRole], cwd: str | None) -> None:
    """Fill in a message's tool from its records: the use, its result, and the events about it. `cwd`: the turn's."""
    calls = [body for body in bodies if body.get("type") in _CALLS]
    call = calls[0] if calls else bodies[0]
    others = [body for body in bodies if body is not call]
    results = [body for body, role in zip(bodies, roles, strict=True) if role is SpanRole.RESULT or _is_output(body)]
    details = [body for body in bodies if body not in results and body.get("type") not in _CALLS]
    name = _name(call)
    asked = call_input(call) if calls else _asked(call)
    tool = Tool(clean(name), tool_type(name), clean(_use_id(call)), asked)
    message.tool = tool
    _fill_result(message, tool, [decode(_output_of(body)) for body in results], details)
    for body in details:
        _enrich(tool, message, body)
    tool.diffs = _diffs(name, asked, details, tool)
    if tool.diffs and tool.type == "shell":
        tool.type = "write"
    if command := command_of(asked):
        message.metadata["command"] = command
    if name == "write_stdin" and len(calls) > 1 and (origin := command_of(call_input(calls[1]))):
        message.metadata["command"] = origin
    if name == "image_generation":
        tool.images.extend(_made_images(bodies))
    tool.status = _status(message, tool, bool(results) or _has_end(others, call))
    message.path_hints = path_hints(asked, tool.diffs, _place(name, asked, details, cwd), session.workspace_root)
    tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)
    if tool.status is not ToolStatus.PENDING:
        tool.output = {"content": tool.text, "is_error": tool.status in (ToolStatus.ERROR, ToolStatus.DENIED)}
        if tool.exit_code is not None:
            tool.output["exit_code"] = tool.exit_code
        if tool.seconds is not None:
            tool.output["duration_seconds"] = tool.seconds


def _is_output(body: Data) -> bool:
    return text_of(body.get("type")).endswith("_output")


def _output_of(body: Data) -> object:
    return body["tools"] if "tools" in body else body.get("output")


def _use_id(call: Data) -> str:
    ids = (call.get(key) for key in ("call_id", "callId", "id"))
    return next((value for value in ids if isinstance(value, str)), "")


def _name(body: Data) -> str:
    kind = text_of(body.get("type"))
    kind = kind[:1].upper() + kind[1:] if kind[:1].islower() and "_" not in kind else kind
    if fixed := _FIXED_NAMES.get(kind):
        return fixed
    if kind in _MCP:
        data = dict_of(body.get("invocation")) or body
        return f"mcp__{text_of(data.get('server'))}__{text_of(data.get('tool'))}"
    if tool := text_of(body.get("tool")):
        return tool_name({"name": tool, "namespace": body.get("namespace")})
    return tool_name(body)


def _asked(body: Data) -> Data:
    """What was asked, as far as an event tells it: its call is not in the file."""
    kind = text_of(body.get("type"))
    if kind in _MCP:
        return cleaned((dict_of(body.get("invocation")) or body).get("arguments"))
    if kind in _EXEC:
        keys: tuple[str, ...] = ("command", "cwd")
    elif kind in ("web_search_end", "WebSearch", "Extension", "extension", "webSearch"):
        return cleaned(body.get("action")) or ({"query": clean_value(body["query"])} if body.get("query") else {})
    elif kind in _COLLAB or "ollab" in kind:
        keys = ("prompt", "model", "new_agent_nickname", "new_agent_role", "receiver_thread_id", "receiver_thread_ids")
    elif isinstance(body.get("arguments"), dict):
        return cleaned(body["arguments"])
    else:
        keys = ("path", "revised_prompt")
    return {key: clean_value(body[key]) for key in keys if body.get(key)}


def _fill_result(message: Message, tool: Tool, outcomes: list[Outcome], details: list[Data]) -> None:
    """The text of the result items, else of the first event that has any."""
    if not outcomes:
        outcomes = [o for body in details if (o := _event_outcome(body)) is not None][:1]
    tool.text, tool.runs = clean_styled("\n".join(o.text for o in outcomes if o.text))
    for outcome in outcomes:
        tool.exit_code = outcome.exit_code if outcome.exit_code is not None else tool.exit_code
        tool.seconds = outcome.seconds if outcome.seconds is not None else tool.seconds
        tool.images.extend(outcome.images)
        if outcome.process is not None and outcome.exit_code is None:
            tool.status = ToolStatus.BACKGROUND
        if outcome.denied:
            tool.status = ToolStatus.DENIED


def _event_outcome(body: Data) -> Outcome | None:
    kind = text_of(body.get("type"))
    if kind in _EXEC:
        return exec_outcome(body)
    if kind in _PATCH:
        return patch_outcome(body)
    if kind in _MCP:
        error = body.get("error")
        if body.get("result") is None and error:
            return Outcome(text_of(error) or text_of(dict_of(error).get("message")), failed=True)
        return mcp_outcome(body.get("result"))
    if kind in _DYNAMIC:
        return decode(body.get("content_items") or body.get("contentItems") or text_of(body.get("error")))
    if kind in _COLLAB:
        return Outcome(collab_text(body))
    if results := list_of(body.get("results")):
        return Outcome("\n".join(_search_result(dict_of(item)) for item in results))
    return None


def _search_result(item: Data) -> str:
    words = [text_of(item.get(key)) for key in ("title", "url", "snippet")]
    return " · ".join(word for word in words if word) or text_of(item.get("domain")) or text_of(item.get("type"))


def _enrich(tool: Tool, message: Message, body: Data) -> None:
    """What an event knows better than the result: exit code, duration, a refusal."""
    kind = text_of(body.get("type"))
    if kind in _EXEC:
        outcome = exec_outcome(body)
        tool.exit_code = outcome.exit_code if outcome.exit_code is not None else tool.exit_code
        if outcome.denied:
            tool.status = ToolStatus.DENIED
    if kind in _PATCH and patch_outcome(body).denied:
        tool.status = ToolStatus.DENIED
    if kind == "guardian_assessment":
        status = text_of(body.get("status"))
        message.metadata["guard"] = clean(" ".join(w for w in (status, text_of(body.get("rationale"))) if w))
        if status == "denied":
            tool.status = ToolStatus.DENIED
    if (
        kind in ("view_image_tool_call", "ImageView")
        and (part := image_part(None, body.get("path")))
        and not tool.images
    ):
        tool.images.append(part)
    if kind in _MCP and not tool.images:
        tool.images.extend(mcp_outcome(body.get("result")).images)
    if "duration" in body and (seconds := seconds_of(body["duration"])) is not None:
        tool.seconds = seconds
    elif "duration_ms" in body and (milliseconds := number(body["duration_ms"])) is not None:
        tool.seconds = milliseconds / 1000


def _diffs(name: str, asked: Data, details: list[Data], tool: Tool) -> list[FileDiff]:
    """What was changed: from the event, which has line numbers, else from the patch itself."""
    for body in details:
        if body.get("type") in _PATCH and (diffs := change_diffs(body.get("changes"))):
            return diffs
    return patch_diffs(patch_text(name, asked))


def _place(name: str, asked: Data, details: list[Data], cwd: str | None) -> str | None:
    """Where a use took place: a command's event knows better than what was asked for, that better than the turn."""
    place = shell_directory(asked, cwd) if tool_type(name) == "shell" else cwd
    for body in details:
        if body.get("type") in _EXEC:
            place = shell_directory(body, place)
    return place


def _made_images(bodies: list[Data]) -> list[Part]:
    for body in bodies:
        if isinstance(result := body.get("result"), str) and result:
            part = Part("image", f"[image, {len(result) * 3 // 4:,} bytes]", None, len(result) * 3 // 4)
            if saved := text_of(body.get("saved_path")):
                part.text = f"[image {clean(saved)}, {part.size:,} bytes]"
            return [part]
    return []


def _has_end(others: list[Data], call: Data) -> bool:
    """Whether something other than a result says that the use is over."""
    kinds = [text_of(body.get("type")) for body in (*others, call)]
    ends = (*_EXEC, *_PATCH, *_MCP, *_DYNAMIC, *_COLLAB)
    return (
        any(kind in ends for kind in kinds)
        or call.get("type") in ("web_search_call", "image_generation_call")
        or (call.get("type") not in _CALLS)
    )


def _status(message: Message, tool: Tool, ended: bool) -> ToolStatus:
    flags = message.flags
    if tool.status is ToolStatus.DENIED:
        return ToolStatus.DENIED
    if flags & Flag.INTERRUPTED:
        return ToolStatus.INTERRUPTED
    if flags & Flag.ERROR:
        return ToolStatus.ERROR
    if flags & Flag.PENDING and not ended:
        return ToolStatus.PENDING
    return tool.status

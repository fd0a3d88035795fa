"""The items in the records of a rollout, in words of the kit and some of their own (formats note 2, 4, 5 and 9.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from schemas.clean import as_json
from schemas.message import Flag, Kind, Part, ToolStatus
from schemas.path_hints import local_path
from schemas.providers.codex import texts
from schemas.providers.codex.locate import is_old_header
from schemas.providers.codex.texts import Result, Segment, content_of, content_text
from schemas.providers.codex.tools import Call, call_input, command_of, search_key, tool_name
from schemas.providers.kit.blocks import image_part
from schemas.providers.kit.words import Answer, Data, Dropped, Fact, Held, Piece, Say, Skip, Task, Title, Turn
from schemas.records import read_record
from schemas.values import dict_of, list_of, number, text_of, texts_of, whole

Items: TypeAlias = "Iterable[Any]"
Reader: TypeAlias = "Callable[[Data], Items]"

_NOTE, _PROMPT, _TEXT, _THINKING, _INTERRUPT = Kind.NOTE, Kind.PROMPT, Kind.TEXT, Kind.THINKING, Kind.INTERRUPT
# An enum's member takes ten times as long to look up.
# The words below are those beside the kit's: `history` says what becomes of them.

ITEM, EVENT, COMPLETED, LINE = 1, 2, 4, 8
"""Where a copy of a text stands."""


@dataclass(slots=True)
class Twin(Say):
    """A text that another source may tell as well."""

    source: int = ITEM
    plan: str = ""
    """The plan that it is, or that stands in the text."""


@dataclass(slots=True)
class Thought(Piece):
    """A part of the thinking; one without text where the provider keeps it back."""

    apart: bool = True
    source: int = ITEM


@dataclass(slots=True)
class Setting(Say):
    """The `model` and the directory from here on; a line tells when the model is another one."""

    cwd: str = ""
    turn: str = ""
    """The turn, where it names that."""


@dataclass(slots=True)
class Event(Call):
    """An event about a tool use, with its `answer`; a use of its own where there is no other, else a note."""

    links: Sequence[str] = ()
    """The threads that it started."""
    source: int = EVENT


class Border(Turn):
    """A turn begins, which `how` names, or ends; it `failed` where the person stopped it."""


class Tokens(NamedTuple):
    """The payload of a count of tokens, or that of one response (0.149 and later)."""

    said: Data


def read(record: Data) -> Items:
    """Read the items of a record."""
    payload = record.get("payload")
    if type(payload) is not dict:
        return _bare(record)
    kind, sub = record.get("type"), payload.get("type")
    if not sub or type(sub) is not str:
        sub = "message" if "role" in payload else ""
    if kind == "response_item":
        reader = _ITEMS.get(sub)
    elif kind == "event_msg":
        reader = _EVENTS.get(sub) or (_hidden if sub.endswith(("_begin", "_delta")) else None)
    else:
        reader = _LINES.get(text_of(kind))
    if reader is not None:
        return reader(payload)
    name = hidden_as(record)
    return [Say(Kind.UNKNOWN, label=f"{kind} {name}" if kind in _WITH_TYPES and name != kind else name)]


_WITH_TYPES = ("response_item", "event_msg")
"""The types of records that tell in their payload what they are."""


def hidden_as(record: Data) -> str:
    """The type under which a record that holds nothing is counted: an item's or event's own."""
    kind = record.get("type")
    name = text_of(dict_of(record.get("payload")).get("type")) if kind in _WITH_TYPES else ""
    return name or text_of(kind) or "(no type)"


def _hidden(payload: Data) -> Items:
    return ()


_CWD = re.compile(r"\s*<environment_context>.*?(?:<cwd>|Current working directory: )([^<\n]*)", re.DOTALL)


def _bare(record: Data) -> Items:
    """A line without envelope: of before mid-September 2025, or an item of a TypeScript document."""
    kind = text_of(record.get("type"))
    if "record_type" in record:
        yield Skip("record_type")
    elif kind in _ITEMS:
        # The working directory is named in the environment's message alone.
        if record.get("role") == "user" and (match := _CWD.match(content_text(record.get("content")))):
            yield Setting(Kind.NOTE, cwd=match[1].strip())
        yield from _ITEMS[kind](record)
    elif is_old_header(record):
        yield Held(_NOTE, role="header")
        yield Skip("session_meta")
    else:
        yield Say(Kind.UNKNOWN, label=kind or "(no type)")


def _header(meta: Data) -> Items:
    """Read a `session_meta`, which is a message where the beginning is missing."""
    base = text_of(dict_of(meta.get("history_base")).get("thread_id"))
    text = f"This session goes on from {base}, whose file is not here." if base else ""
    return [Held(_NOTE, text, "The beginning is missing", role="header")]


def _setting(settings: Data) -> Items:
    model = text_of(settings.get("model"))
    effort = text_of(settings.get("effort")) or text_of(settings.get("reasoning_effort"))
    label = f"Model: {model} ({effort})" if effort else f"Model: {model}"
    cwd, turn = local_path(text_of(settings.get("cwd"))), text_of(settings.get("turn_id"))
    return [Setting(_NOTE, label=label, model=model, cwd=cwd, turn=turn)]


def _compacted(payload: Data) -> Items:
    text = text_of(payload.get("message") or payload.get("summary"))
    history = list_of(payload.get("replacement_history"))
    label = ["Compacted", text_of(payload.get("trigger"))]
    if before := whole(payload.get("preTokens")):
        label.append(f"{before:,} tokens")
    if not text and any("encrypted_content" in dict_of(item) for item in history):
        label.append("the summary is encrypted")
    extra = {"replacement_items": len(history)} if history else None
    return [Twin(Kind.COMPACTION, text, ", ".join(filter(None, label)), source=LINE, extra=extra)]


def _message(payload: Data, source: int = ITEM) -> Items:
    role = payload.get("role")
    if role == "assistant":
        return _spoken(payload.get("content"), source, payload)
    pieces, images = texts.segments(payload)
    return _typed(pieces, source, images) if role == "user" else _typed(pieces, 0)


_PLAN = re.compile(r"<proposed_plan>(.*?)(?:</proposed_plan>|\Z)", re.DOTALL)
_CITATION = re.compile(r"<oai-mem-citation>.*?(?:</oai-mem-citation>|\Z)", re.DOTALL)


def _spoken(content: object, source: int, body: Data) -> Items:
    """Read a text of the assistant: its event lacks the citations that its item carries."""
    (text, images), phase, plan = content_of(content), body.get("phase"), None
    if "<oai-mem-citation>" in text:
        text = _CITATION.sub("", text).rstrip()
    if "<proposed_plan>" in text:
        plan = _PLAN.search(text)
    if not text.strip():
        return [Skip("empty message")]
    extra = {"phase": phase} if phase and type(phase) is str else None
    say = Twin(_TEXT, text, source=source, extra=extra, images=images)
    if plan is not None:
        say.plan, say.text = plan[1], _PLAN.sub(r"\1", text)
    return [say]


def _typed(pieces: Iterable[Segment], source: int, images: Sequence[Part] = ()) -> Items:
    """A user's or developer's message, piece by piece; no event repeats what a developer said."""
    return [
        Twin(kind, text, label, source=source or ITEM, images=images if kind is _PROMPT else ())
        if source or kind is _INTERRUPT
        else Held(kind, text, label, apart=True, role="instruction")
        for kind, text, label in pieces
    ]


def _prompted(event: Data) -> Items:
    """The prompt again, exactly as it was typed."""
    urls = list_of(event.get("images")) + list_of(event.get("local_images"))
    pieces = texts.split_text(text_of(event.get("message"))) or [(_PROMPT, "", "")] * bool(urls)
    return _typed(pieces, EVENT, [part for url in urls for part in texts.image_of(url)])


def _thought(body: Data, source: int = ITEM) -> Items:
    """The readable parts of the thinking: its raw content if there is any, else the summary."""
    parts: list[str] = []
    for key in ("content", "raw_content", "summary", "summary_text"):
        if not parts and type(said := body.get(key)) is list:
            parts = [text for item in said if (text := content_text(item)).strip()]
    if not parts and source != ITEM:
        return [Skip("empty reasoning")]
    thoughts = [Thought(_THINKING, part, source=source) for part in parts or [""]]
    if not parts:
        thoughts[0].flags = Flag.WITHHELD
        thoughts[0].label = "The provider keeps the text of this thinking back; the file holds it encrypted."
    if (spent := whole(body.get("duration_ms"))) is not None:
        thoughts[0].extra = {"duration_ms": spent}
    return thoughts


def _mail(payload: Data) -> Items:
    """A message between agents, without its envelope (lab/faults/codex-3)."""
    label = f"Mail {text_of(payload.get('author'))} → {text_of(payload.get('recipient'))}"
    text = content_text(payload.get("content"))
    if text.startswith("Message Type: ") and "Payload:\n" in text:
        text = text.partition("Payload:\n")[2]
    return [Held(_NOTE, text, label, role="mail")]


def _error(body: Data, source: int = EVENT) -> Items:
    info = body.get("codex_error_info")
    name = text_of(info) or next(iter(dict_of(info)), "")
    return [Twin(Kind.ERROR, text_of(body.get("message")), f"Error: {name}" if name else "Error", source=source)]


def _id_of(body: Data) -> str:
    name = body.get("call_id")
    return name if name and type(name) is str else text_of(body.get("callId")) or text_of(body.get("id"))


def _call(payload: Data) -> Items:
    kind = payload["type"]
    name = tool_name(payload) if kind in ("function_call", "custom_tool_call") else kind.removesuffix("_call")
    use = Call(name=name, use_id=_id_of(payload), item=payload)
    if name == "apply_patch":
        use.text = text_of(call_input(payload).get("input")) or text_of(payload.get("arguments"))
    elif name == "exec_command" and (command := command_of(call_input(payload))):
        use.extra = {"command": command}  # a fact of what goes on with it, too
    elif name in ("write_stdin", "wait"):
        use.goes_on = str(call_input(payload).get("session_id" if name == "write_stdin" else "cell_id"))
    elif text_of(payload.get("name")) == "spawn_agent":
        given = call_input(payload)
        prompt = text_of(given.get("message")) or text_of(given.get("prompt"))
        use.task, use.flags = Task("", text_of(given.get("task_name")), prompt), Flag.SUBAGENT
    elif kind in ("web_search_call", "image_generation_call"):  # they have no result item
        status = ToolStatus.ERROR if payload.get("status") == "failed" else ToolStatus.OK
        use.answer = Answer(use.use_id, status=status, images=_made(payload), beside=True)
        use.search = search_key(payload.get("action")) if kind == "web_search_call" else ""
    return [use]


def _output(payload: Data) -> Items:
    found = texts.decode(payload["tools"] if "tools" in payload else payload.get("output"))
    found.use_id, text = _id_of(payload), found.text or ""
    if text.startswith("{") and '"agent_id"' in text[:400]:
        found.subagent = text_of(read_record(text.encode("utf-8", "replace")).get("agent_id"))
    return [found]


def _made(payload: Data) -> list[Part]:
    """The picture that the model's provider made."""
    result = text_of(payload.get("result"))
    return [image_part(None, result, payload.get("saved_path"))] if result else []


def _event(body: Data, found: Result, name: str, given: Data, **more: Any) -> Items:
    """Read an event about a use of the tool with that name and input."""
    if body.get("status") == "declined":
        found.status = ToolStatus.DENIED
    elif (error := body.get("error")) or body.get("status") == "failed" or body.get("success") is False:
        texts.failed(found, error)
    lasted = body.get("duration")
    if type(lasted) is dict:  # as Rust serialises it
        found.seconds = (number(lasted.get("secs")) or 0) + (number(lasted.get("nanos")) or 0) / 1e9
    else:
        spent = number(body.get("duration_ms"))
        found.seconds = number(lasted) if spent is None else spent / 1000
    found.use_id, found.details, found.beside = _id_of(body), body, True
    return [Event(name=name, use_id=found.use_id, input=given, answer=found, **more)]


def _executed(body: Data) -> Items:
    """A command ended: the agent's, or one that a person typed."""
    found = texts.ended(body)
    if body.get("source") in ("user_shell", "userShell"):
        command = command_of({"command": body.get("command")})
        return _typed([(Kind.COMMAND, command, "shell"), *texts.printed(found)], EVENT)
    given = {"command": body.get("command"), "cwd": local_path(text_of(body.get("cwd")))}
    return _event(body, found, "exec_command", {key: value for key, value in given.items() if value})


def _mcp(body: Data) -> Items:
    """A tool of an MCP server answered: `{"Ok": {"content": […], "isError": …}}`, `{"Err": "…"}`, or what is in it."""
    use, data = dict_of(body.get("invocation")) or body, dict_of(body.get("result"))
    inner = dict_of(data.get("Ok")) or data
    text, images = content_of(inner.get("content"), "\n")
    structured = inner.get("structuredContent", inner.get("structured_content"))
    found = Result(text=text or ("" if structured is None else as_json(structured, indent=True)), images=images)
    if inner.get("isError") is True or data.get("Err") is not None:
        texts.failed(found, data.get("Err"))
    name = f"mcp__{text_of(use.get('server'))}__{text_of(use.get('tool'))}"
    return _event(body, found, name, call_input(use))


def _searched(body: Data) -> Items:
    """A web search ended; its item may lack the id. A hit is a line."""
    search, source = search_key(body.get("action"), body.get("query")), EVENT if "call_id" in body else COMPLETED
    given = dict_of(body.get("action")) or ({"query": body["query"]} if body.get("query") else {})
    lines = []
    for hit in map(dict_of, list_of(body.get("results"))):
        shown = [word for key in ("title", "url", "snippet") if (word := text_of(hit.get(key)))]
        lines.append(" · ".join(shown) or text_of(hit.get("domain")) or text_of(hit.get("type")))
    return _event(body, Result(text="\n".join(lines)), "web_search", given, search=search, source=source)


def _viewed(body: Data) -> Items:
    path = local_path(text_of(body.get("path")))
    return _event(body, Result(images=texts.image_of(path)), "view_image", {"path": path} if path else {})


def _dynamic(body: Data) -> Items:
    """A tool of the app's was asked, or answered."""
    found = texts.decode(body.get("content_items") or body.get("contentItems"))
    if body.get("type") == "dynamic_tool_call_request":
        found.status = ToolStatus.PENDING
    name = tool_name({"name": body.get("tool"), "namespace": body.get("namespace")})
    return _event(body, found, name, call_input(body))


_COLLAB = {
    "collab_agent_spawn_end": "spawn_agent", "collab_agent_interaction_end": "send_input", "collab_waiting_end": "wait",
    "collab_close_end": "close_agent", "collab_resume_end": "resume_agent",
}  # fmt: skip
_ASKED = ("prompt", "model", "new_agent_nickname", "new_agent_role", "receiver_thread_id", "receiver_thread_ids")


def _collab(body: Data) -> Items:
    """A subagent was started, written to, waited for or closed."""
    name = _COLLAB.get(text_of(body.get("type"))) or tool_name({"name": body.get("tool")})
    states = [{"thread_id": thread, **dict_of(state)} for thread, state in dict_of(body.get("agents_states")).items()]
    lines = []
    for item in [*map(dict_of, list_of(body.get("agent_statuses"))), *states]:
        state, text = texts.status_text(item.get("status"))
        who = text_of(item.get("agent_nickname")) or text_of(item.get("thread_id"))
        lines.append(f"{who}: {state}\n{text or text_of(item.get('message'))}".strip())
    if not lines and body.get("type") in _COLLAB:
        state, text = texts.status_text(body.get("status"))
        lines = [text or state]
    threads, task = [body.get("new_thread_id")], None
    if name in ("spawnAgent", "spawn_agent"):
        threads += list_of(body.get("receiver_thread_ids"))
        nickname = text_of(body.get("new_agent_nickname")) or text_of(body.get("new_agent_role"))
        task = Task(nickname, "", text_of(body.get("prompt")))
    links, given = list(filter(None, texts_of(threads))), {key: body[key] for key in _ASKED if body.get(key)}
    return _event(body, Result(text="\n\n".join(filter(None, lines))), name, given, links=links, task=task)


def _activity(body: Data) -> Items:
    """A subagent started, or something else happened to it."""
    use_id = text_of(body.get("event_id")) or text_of(body.get("id"))
    what, thread = text_of(body.get("kind")), text_of(body.get("agent_thread_id"))
    answer = Answer(use_id, status=ToolStatus.PENDING, beside=True, details=body)
    label, links = f"Subagent {text_of(body.get('agent_path'))} {what}", [thread] * (what == "started" and thread != "")
    return [Event(_NOTE, label=label, use_id=use_id, answer=answer, links=links)]


def _assessment(body: Data) -> Items:
    """The review guard judged an action."""
    status, use_id = text_of(body.get("status")), text_of(body.get("target_item_id"))
    judged = ToolStatus.DENIED if status == "denied" else ToolStatus.PENDING
    answer = Answer(use_id, status=judged, beside=True, details=body)
    return [Event(_NOTE, text_of(body.get("rationale")), f"Guard: {status}", use_id=use_id, answer=answer)]


def _started(payload: Data) -> Items:
    window = whole(payload.get("model_context_window"))
    return [Border(how=text_of(payload.get("turn_id"))), Fact(context_window=window)]


def _ended(payload: Data, *, stopped: bool = False) -> Items:
    spent, error = number(payload.get("duration_ms")), payload.get("error")
    if stopped:
        reason = text_of(payload.get("reason"))
        label = _ABORTS.get(reason, f"Interrupted: {reason}" if reason else "Interrupted")
        yield Twin(Kind.INTERRUPT, label=label, source=EVENT)
    elif error:
        yield from _error(dict_of(error) or {"message": error}, COMPLETED)
    elif "last_agent_message" in payload and not payload["last_agent_message"]:
        # Of a turn that failed, versions until 0.142 tell nothing else.
        yield Held(_NOTE, label="Ended without an answer", role="mute")
    yield Border(False, spent / 1000 if spent is not None and spent > 0 else None, stopped or None)


_ABORTS = {
    "interrupted": "Interrupted", "replaced": "Interrupted by a new prompt", "review_ended": "Review ended",
    "budget_limited": "Stopped: the budget is used up",
}  # fmt: skip


def _rolled_back(payload: Data) -> Items:
    count = whole(payload.get("num_turns")) or 0
    return [Dropped(count), Say(Kind.NOTE, label=f"Rolled back {count} turn{'' if count == 1 else 's'}")]


def _goal(payload: Data) -> Items:
    goal = dict_of(payload.get("goal"))
    status = text_of(goal.get("status"))
    return [Held(_NOTE, text_of(goal.get("objective")), f"Goal ({status})" if status else "Goal", role="goal")]


_NOTES = {
    "undo_completed": "Undo", "warning": "Warning", "stream_error": "Retry", "background_event": "Background event",
    "deprecation_notice": "Deprecation",
}  # fmt: skip


def _noted(payload: Data) -> Items:
    label = _NOTES[payload["type"]] + " failed" * (payload.get("success") is False)
    return [Say(Kind.NOTE, text_of(payload.get("message")), label)]


def _review_begins(body: Data) -> Items:
    hint = text_of(body.get("user_facing_hint")) or text_of(body.get("review"))
    return [Say(Kind.NOTE, text_of(body.get("prompt")), f"Review: {hint}" if hint else "Review")]


def _reviewed(body: Data) -> Items:
    """A review's findings as Markdown."""
    output, lines = dict_of(body.get("review_output")), []
    for finding in map(dict_of, list_of(output.get("findings"))):
        place = dict_of(finding.get("code_location"))
        span, path = dict_of(place.get("line_range")), text_of(place.get("absolute_file_path"))
        where = f" `{path}:{span.get('start')}-{span.get('end')}`" if path else ""
        lines.append(f"- **{text_of(finding.get('title'))}**{where}\n\n  {text_of(finding.get('body'))}\n")
    lines += filter(None, (text_of(output.get(key)) for key in ("overall_correctness", "overall_explanation")))
    text = "\n".join(lines) if output else text_of(body.get("review")) or "No findings were recorded."
    return [Say(Kind.NOTE, text, "Review finished")]


def _completed(payload: Data) -> Items:
    """Read an item of a paginated rollout, which mostly repeats a response item."""
    item = dict_of(payload.get("item"))
    kind = text_of(item.get("type"))
    reader = COMPLETED_ITEMS.get(kind) or COMPLETED_ITEMS.get(kind[:1].upper() + kind[1:])
    return reader(item) if reader is not None else [Say(Kind.UNKNOWN, label=f"item_completed {kind or '(no type)'}")]


def _by_name(readers: dict[Reader, str]) -> dict[str, Reader]:
    return {name: reader for reader, names in readers.items() for name in names.split()}


_EITHER = _by_name({
    _executed: "CommandExecution exec_command_end",
    lambda body: _event(body, texts.ended(body), "apply_patch", {}): "FileChange patch_apply_end",
    _mcp: "McpToolCall mcp_tool_call_end",
    _dynamic: "DynamicToolCall dynamic_tool_call_request dynamic_tool_call_response",
    _collab: f"CollabAgentToolCall CollabToolCall {' '.join(_COLLAB)}",
    _activity: "SubAgentActivity sub_agent_activity",
    _searched: "WebSearch Extension web_search_end",
    _viewed: "ImageView view_image_tool_call",
    lambda body: _event(body, Result(images=_made(body)), "image_generation", call_input(body)):
        "ImageGeneration image_generation_end",
    _review_begins: "EnteredReviewMode entered_review_mode",
    _reviewed: "ExitedReviewMode exited_review_mode",
})  # fmt: skip
"""What completed items and events tell alike."""
COMPLETED_ITEMS: dict[str, Reader] = {
    **_EITHER,
    "UserMessage": lambda item: _message({**item, "role": "user"}, COMPLETED),
    "AgentMessage": lambda item: _spoken(item.get("content"), COMPLETED, item),
    "Reasoning": lambda item: _thought(item, COMPLETED),
    "Plan": lambda item: [Twin(Kind.NOTE, plan := text_of(item.get("text")), "Plan", source=COMPLETED, plan=plan)],
    "HookPrompt": lambda item: [Say(Kind.NOTE, content_text(item.get("fragments"), "\n"), "Hook")],
    "ContextCompaction": lambda item: [Twin(Kind.COMPACTION, source=COMPLETED)],
    "Sleep": lambda item: [Skip("item_completed Sleep")],
}
_ITEMS = _by_name({
    _message: "message",
    _thought: "reasoning",
    _call: "function_call custom_tool_call local_shell_call tool_search_call web_search_call image_generation_call",
    _output: "function_call_output custom_tool_call_output local_shell_call_output tool_search_output",
    _mail: "agent_message",
    _hidden: "compaction_trigger ghost_snapshot additional_tools configuration_update",
    lambda item: [Twin(Kind.COMPACTION)]: "compaction compaction_summary context_compaction",
})  # fmt: skip
_EVENTS: dict[str, Reader] = {
    **_EITHER,
    **_by_name({
        _prompted: "user_message",
        _started: "task_started turn_started",
        _ended: "task_complete turn_complete",
        _rolled_back: "thread_rolled_back",
        _goal: "thread_goal_updated",
        _completed: "item_completed",
        _assessment: "guardian_assessment",
        _error: "error",
        _noted: " ".join(_NOTES),
        # Written by builds before there was a policy of what to keep, and by third parties:
        _hidden: """plan_update turn_diff session_configured shutdown_complete raw_response_item exec_approval_request
            apply_patch_approval_request elicitation_request""",
        lambda event: _thought({"summary": [event.get("text")]}, EVENT): "agent_reasoning agent_reasoning_raw_content",
    }),
    "agent_message": lambda event: _spoken(event.get("message"), EVENT, event),
    "token_count": lambda event: [Tokens(event)] if type(event.get("info")) is dict else [],
    "turn_aborted": lambda event: _ended(event, stopped=True),
    "context_compacted": lambda event: [Twin(Kind.COMPACTION, source=EVENT)],
    "thread_settings_applied": lambda event: _setting(dict_of(event.get("thread_settings"))),
    "thread_name_updated": lambda event: [Title(text_of(event.get("thread_name")), 2, of=event.get("thread_id"))],
}  # fmt: skip
_LINES: dict[str, Reader] = {
    "session_meta": _header,
    "turn_context": _setting,
    "compacted": _compacted,
    "token_usage_record": lambda payload: [Tokens(payload)],
    "inter_agent_communication": _mail,
}

"""What the records of a rollout hold, in the words of the kit and those of `history` (formats note 2, 4, 5 and 9.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from schemas.message import Flag, Kind, ToolStatus
from schemas.path_hints import local_path
from schemas.providers.codex.header import environment_cwd, is_old_header
from schemas.providers.codex.history import (
    COMPLETED,
    EVENT,
    ITEM,
    LINE,
    Began,
    Call,
    Ended,
    Event,
    Goal,
    Header,
    Heard,
    Instruction,
    Mail,
    Response,
    Result,
    RolledBack,
    Round,
    Setting,
    Thought,
    ThreadName,
    Twin,
)
from schemas.providers.codex.outputs import Outcome, decode, exec_outcome, mcp_outcome, patch_outcome
from schemas.providers.codex.prompts import (
    Segment,
    completed_segments,
    event_images,
    event_segments,
    printed,
    segments,
    status_text,
)
from schemas.providers.codex.tokens import counts_of, usage_of
from schemas.providers.codex.tools import (
    SPAWNS,
    call_input,
    command_line,
    command_of,
    search_key,
    tool_name,
    tool_type,
)
from schemas.providers.codex.values import content_images, content_text, image_part, seconds_of
from schemas.providers.kit.words import Answer, Fact, Item, Say, Skip, Task
from schemas.records import read_record
from schemas.values import dict_of, list_of, number, text_of, whole

Data = dict[str, Any]
Reader = Callable[[Data], Iterable[Any]]


def read(record: Data) -> Iterable[Any]:
    """What a record holds."""
    kind, payload = record.get("type"), record.get("payload")
    if not isinstance(payload, dict):
        return _bare(record)
    sub = text_of(payload.get("type"))
    if kind == "response_item":
        reader = _ITEMS.get(sub) or (_message if not sub and "role" in payload and "content" in payload else None)
    elif kind == "event_msg":
        reader = _EVENTS.get(sub) or (_hidden if sub.endswith(("_begin", "_delta")) else None)
    else:
        reader = _LINES.get(text_of(kind))
    return reader(payload) if reader is not None else [Say(Kind.UNKNOWN, label=type_of(record))]


def type_of(record: Data) -> str:
    """A record's type: that of an item or event with the name of what it is."""
    kind, payload = text_of(record.get("type")), dict_of(record.get("payload"))
    sub = text_of(payload.get("type")) if kind in ("response_item", "event_msg") else ""
    return f"{kind} {sub}".strip() or "(no type)"


def _hidden(payload: Data) -> Iterable[Item]:
    return [Skip(text_of(payload.get("type")) or "(no type)")]


# -- lines that are neither item nor event -------------------------------------------------------------------------


def _header(meta: Data) -> Iterable[Item]:
    base = text_of(dict_of(meta.get("history_base")).get("thread_id"))
    text = f"This session goes on from {base}, whose file is not here." if base else ""
    return [Header(Kind.NOTE, text, "The beginning is missing", meta=meta)]


def _turn_context(payload: Data) -> Iterable[Item]:
    return [_setting(payload, "turn_context", text_of(payload.get("turn_id")))]


def _setting(settings: Data, record: str, turn: str = "") -> Setting:
    model = text_of(settings.get("model"))
    effort = text_of(settings.get("effort")) or text_of(settings.get("reasoning_effort"))
    label = f"Model: {model}{f' ({effort})' if effort else ''}"
    cwd = local_path(text_of(settings.get("cwd")))
    return Setting(Kind.NOTE, label=label, names=model, cwd=cwd, turn=turn, record=record)


def _compacted(payload: Data) -> Iterable[Item]:
    text = text_of(payload.get("message")) or text_of(payload.get("summary"))
    label, extra = ["Compacted"], dict[str, Any]()
    if trigger := text_of(payload.get("trigger")):
        label.append(trigger)
    if before := whole(payload.get("preTokens") or payload.get("pre_tokens")):
        label.append(f"{before:,} tokens")
    if history := list_of(payload.get("replacement_history")):
        extra["replacement_items"] = len(history)
    if not text and any("encrypted_content" in dict_of(item) for item in history):
        label.append("the summary is encrypted")
    return [Twin(Kind.COMPACTION, text, ", ".join(label), source=LINE, extra=extra)]


def _response(payload: Data) -> Iterable[Any]:
    counts = counts_of(payload.get("usage"))
    if counts is None:
        return [Skip("token_usage_record")]
    name, turn = text_of(payload.get("response_id")), text_of(payload.get("turn_id"))
    return [Response(usage_of(counts), name, turn, payload.get("thread_id"))]


def _answers(payload: Data) -> Iterable[Item]:
    asked = [dict_of(q) for q in list_of(payload.get("questions"))]
    pairs = [f"{text_of(q.get('question'))}\n{text_of(q.get('answer')) or q.get('answer', '')}" for q in asked]
    use_id = text_of(payload.get("call_id"))
    answer = Answer(use_id, status=ToolStatus.PENDING, beside=True)
    if not pairs:
        return [Skip("retained_context")]
    return [Event(Kind.NOTE, "\n\n".join(pairs), "Answers", use_id=use_id, answer=answer, alone=False)]


def _bare(record: Data) -> Iterable[Item]:
    """A line without envelope: of before mid-September 2025, or an item of a TypeScript document."""
    kind = record.get("type")
    if "record_type" in record:
        yield Skip("record_type")
    elif isinstance(kind, str) and kind in _ITEMS:
        if record.get("role") == "user" and (cwd := environment_cwd(record)):
            yield Setting(Kind.NOTE, cwd=cwd)
        yield from _ITEMS[kind](record)
    elif is_old_header(record):
        yield Header(meta=record, kind=Kind.NOTE)
    else:
        yield Say(Kind.UNKNOWN, label=text_of(kind) or "(no type)")


# -- texts ---------------------------------------------------------------------------------------------------------


def _message(payload: Data) -> Iterable[Item]:
    """A message of any role."""
    if payload.get("role") == "assistant":
        return _spoken(content_text(payload.get("content")), ITEM, payload)
    if payload.get("role") == "user":
        return _typed(segments(payload), ITEM, content_images(payload.get("content")))
    return _typed(segments(payload), 0, [])


_PLAN = "<proposed_plan>", "</proposed_plan>"


def _spoken(text: str, source: int, body: Data) -> Iterable[Item]:
    """What the assistant said: its event lacks the citations that its item carries."""
    start = text.find("<oai-mem-citation>")
    if start >= 0:
        end = text.find("</oai-mem-citation>", start)
        text = text[:start].rstrip() + (text[end + 19 :] if end >= 0 else "")
    if not text.strip():
        return [Skip("empty message")]
    phase, content = text_of(body.get("phase")), body.get("content")
    say = Twin(Kind.TEXT, text, source=source, extra={"phase": phase} if phase else None)
    if _PLAN[0] in text:
        say.plan = text.partition(_PLAN[0])[2].partition(_PLAN[1])[0]
        say.text = text.replace(_PLAN[0], "").replace(_PLAN[1], "")
    if isinstance(content, list) and len(content) > 1:
        say.images = content_images(content)
    return [say]


def _typed(pieces: Iterable[Segment], source: int, images: list[Any]) -> Iterable[Item]:
    """A user's or developer's message, piece by piece; no event repeats what a developer said."""
    for kind, text, label in pieces:
        if source or kind is Kind.INTERRUPT:
            mine = images if kind is Kind.PROMPT else []
            label = "" if kind is Kind.INTERRUPT else label
            yield Twin(Kind(kind), text, label, source=source or ITEM, images=mine)
        else:
            yield Instruction(Kind(kind), text, label)


def _thought(payload: Data) -> Iterable[Item]:
    """The readable parts of the thinking: its raw content if there is any, else the summary."""
    raw = [text for item in list_of(payload.get("content")) if (text := content_text(item)).strip()]
    parts = raw or [text for item in list_of(payload.get("summary")) if (text := content_text(item)).strip()]
    spent = whole(payload.get("duration_ms"))
    return [_thinking(parts, ITEM, {"duration_ms": spent} if spent is not None else None)]


def _thinking(parts: list[str], source: int, extra: Data | None = None) -> Item:
    withheld = "" if parts else "The provider keeps the text of this thinking back; the file holds it encrypted."
    flags = Flag(0) if parts else Flag.WITHHELD
    return Thought(
        Kind.THINKING, "\n\n".join(parts), withheld, parts=parts, source=source, flags=flags, extra=extra
    )  # fmt: skip


def _heard(payload: Data) -> Iterable[Item]:
    text = text_of(payload.get("text"))
    return [Heard(Kind.THINKING, text) if text.strip() else Skip("empty reasoning")]


_ENVELOPE = "Payload:\n"


def _mail(payload: Data) -> Iterable[Item]:
    """A message between agents, without its envelope (lab/faults/codex-3)."""
    author, recipient = text_of(payload.get("author")), text_of(payload.get("recipient"))
    text = content_text(payload.get("content"))
    if text.startswith("Message Type: ") and _ENVELOPE in text:
        text = text.partition(_ENVELOPE)[2]
    return [Mail(Kind.NOTE, text, f"Mail {author} → {recipient}", recipient=recipient)]


def _mark(payload: Data, source: int = ITEM) -> Iterable[Item]:
    return [Twin(Kind.COMPACTION, source=source)]


def _error(text: str, info: object, source: int) -> Item:
    name = info if isinstance(info, str) else next(iter(dict_of(info)), "")
    return Twin(Kind.ERROR, text, f"Error: {name}" if name else "Error", source=source)


# -- tool uses -----------------------------------------------------------------------------------------------------

_FIXED_NAMES = {
    "local_shell_call": "local_shell", "web_search_call": "web_search", "image_generation_call": "image_generation",
    "tool_search_call": "tool_search",
}  # fmt: skip


def _id_of(body: Data) -> str:
    return next((value for key in ("call_id", "callId", "id") if isinstance(value := body.get(key), str)), "")


def _command(given: Data) -> Data | None:
    command = command_of(given)
    return {"command": command} if command else None


def _call(payload: Data) -> Iterable[Item]:
    kind, given, use_id = text_of(payload.get("type")), call_input(payload), _id_of(payload)
    name = _FIXED_NAMES.get(kind) or tool_name(payload)
    use = Call(name=name, use_id=use_id, input=given, type=tool_type(name), extra=_command(given))
    if name == "apply_patch":
        use.text = text_of(given.get("input")) or text_of(payload.get("arguments"))
    elif name == "write_stdin":
        use.goes_on = str(given.get("session_id"))
    elif name == "wait":
        use.goes_on = str(given.get("cell_id"))
    elif text_of(payload.get("name")) in SPAWNS:
        prompt = text_of(given.get("message")) or text_of(given.get("prompt"))
        use.task, use.flags = Task("", text_of(given.get("task_name")), prompt), Flag.SUBAGENT
    elif kind in ("web_search_call", "image_generation_call"):  # they have no result item
        status = ToolStatus.ERROR if payload.get("status") == "failed" else ToolStatus.OK
        use.answer = Answer(use_id, status=status, images=_made(payload), beside=True)
        use.search = search_key(payload.get("action")) if kind == "web_search_call" else ""
    return [use]


def _output(payload: Data) -> Iterable[Item]:
    found = decode(payload["tools"] if "tools" in payload else payload.get("output"))
    use_id, name = _id_of(payload), text_of(payload.get("name"))
    answer = Result(
        use_id, found.text, _status(found), found.exit_code, found.seconds, found.images, process=found.process or ""
    )  # fmt: skip
    if not use_id and name:  # delivered by itself
        return [Call(name=tool_name(payload), type=tool_type(name), answer=Answer("", found.text, answer.status))]
    if found.text.startswith("{") and '"agent_id"' in found.text[:400]:
        answer.subagent = text_of(read_record(found.text.encode("utf-8", "replace")).get("agent_id"))
    return [answer]


def _status(found: Outcome) -> ToolStatus:
    if found.denied:
        return ToolStatus.DENIED
    if found.aborted:
        return ToolStatus.INTERRUPTED
    if found.failed:
        return ToolStatus.ERROR
    return ToolStatus.BACKGROUND if found.process is not None and found.exit_code is None else ToolStatus.OK


def _made(payload: Data) -> list[Any]:
    """The picture that the model's provider made."""
    result = payload.get("result")
    if not isinstance(result, str) or not result:
        return []
    part = image_part(f"data:,{result}")
    if part is not None:
        saved = text_of(payload.get("saved_path"))
        part.media_type, part.text = None, f"[image{f' {saved}' if saved else ','} {part.size:,} bytes]"
    return [part]


def _event(body: Data, name: str, found: Outcome, given: Data, **more: Any) -> Iterable[Item]:
    """What an event tells of a tool use."""
    use_id = _id_of(body)
    seconds = seconds_of(body.get("duration"))
    if seconds is None and (spent := number(body.get("duration_ms"))) is not None:
        seconds = spent / 1000
    answer = Answer(
        use_id, found.text, _status(found), found.exit_code, seconds, found.images, details=body, beside=True
    )  # fmt: skip
    extra = _command(given)
    return [Event(name=name, use_id=use_id, input=given, type=tool_type(name), answer=answer, extra=extra, **more)]


def _executed(body: Data) -> Iterable[Item]:
    """A command ended: the agent's, or one that a person typed."""
    given = {key: body[key] for key in ("command", "cwd") if body.get(key)}
    if text_of(given.get("cwd")):
        given["cwd"] = local_path(given["cwd"])
    if body.get("source") not in ("user_shell", "userShell"):
        return _event(body, "exec_command", exec_outcome(body), given)
    words = body.get("command")
    command = command_line([str(w) for w in words]) if isinstance(words, list) and words else text_of(words)
    return _typed([Segment(Kind.COMMAND, command, "shell"), *printed(exec_outcome(body))], EVENT, [])


def _patched(body: Data) -> Iterable[Item]:
    """A patch was applied or not."""
    return _event(body, "apply_patch", patch_outcome(body), {})


def _mcp(body: Data) -> Iterable[Item]:
    invocation = dict_of(body.get("invocation")) or body
    error, result = body.get("error"), body.get("result")
    message = text_of(error) or text_of(dict_of(error).get("message"))
    found = mcp_outcome(result) if result is not None else Outcome(message)
    found = found._replace(failed=found.failed or body.get("status") == "failed" or bool(error))
    name = f"mcp__{text_of(invocation.get('server'))}__{text_of(invocation.get('tool'))}"
    return _event(body, name, found, dict_of(invocation.get("arguments")))


def _searched(body: Data) -> Iterable[Item]:
    """A web search ended; its item may lack the id."""
    lines = []
    for item in map(dict_of, list_of(body.get("results"))):
        words = [word for key in ("title", "url", "snippet") if (word := text_of(item.get(key)))]
        lines.append(" · ".join(words) or text_of(item.get("domain")) or text_of(item.get("type")))
    given = dict_of(body.get("action")) or ({"query": body["query"]} if body.get("query") else {})
    search, source = search_key(body.get("action"), body.get("query")), EVENT if "call_id" in body else COMPLETED
    return _event(body, "web_search", Outcome("\n".join(lines)), given, search=search, source=source)


def _viewed(body: Data) -> Iterable[Item]:
    path = local_path(text_of(body.get("path")))
    part = image_part(None, path)
    return _event(body, "view_image", Outcome("", images=(part,) if part else ()), {"path": path} if path else {})


def _pictured(body: Data) -> Iterable[Item]:
    given = {"prompt": body["revised_prompt"]} if body.get("revised_prompt") else {}
    return _event(body, "image_generation", Outcome("", images=tuple(_made(body))), given)


def _dynamic(body: Data) -> Iterable[Item]:
    """A tool of the app's answered."""
    content = body.get("content_items") or body.get("contentItems") or text_of(body.get("error"))
    found = decode(content)._replace(failed=body.get("success") is False)
    name = tool_name({"name": body.get("tool") or body.get("name"), "namespace": body.get("namespace")})
    return _event(body, name, found, dict_of(body.get("arguments")))


def _requested(body: Data) -> Iterable[Item]:
    (event,) = _dynamic(body)
    assert isinstance(event, Event) and event.answer is not None
    event.answer.status = ToolStatus.PENDING
    return [event]


_COLLAB = {
    "collab_agent_spawn_end": "spawn_agent", "collab_agent_interaction_end": "send_input", "collab_waiting_end": "wait",
    "collab_close_end": "close_agent", "collab_resume_end": "resume_agent",
}  # fmt: skip
_ASKED = ("prompt", "model", "new_agent_nickname", "new_agent_role", "receiver_thread_id", "receiver_thread_ids")


def _collab(body: Data) -> Iterable[Item]:
    """A subagent was started, written to, waited for or closed."""
    kind = text_of(body.get("type"))
    lines: list[str] = []
    for item in map(dict_of, list_of(body.get("agent_statuses"))):
        state, text = status_text(item.get("status"))
        name = text_of(item.get("agent_nickname")) or text_of(item.get("thread_id"))
        lines.append(f"{name}: {state}\n{text}".strip())
    if not lines and kind in _COLLAB:
        state, text = status_text(body.get("status"))
        lines = [text or state]
    given = {key: body[key] for key in _ASKED if body.get(key)}
    threads = [body.get("new_thread_id")]
    name = _COLLAB.get(kind) or tool_name({"name": body.get("tool")})
    if name.lower().replace("_", "") in ("spawnagent", "spawn"):
        threads += list_of(body.get("receiver_thread_ids") or body.get("receiverThreadIds"))
    links = [thread for thread in threads if isinstance(thread, str) and thread]
    prompt = text_of(body.get("prompt"))
    task = Task(text_of(body.get("new_agent_nickname")) or text_of(body.get("new_agent_role")), "", prompt)
    return _event(body, name, Outcome("\n\n".join(filter(None, lines))), given, links=links, task=task)


def _activity(body: Data) -> Iterable[Item]:
    """A subagent started, or something else happened to it."""
    use_id = text_of(body.get("event_id")) or text_of(body.get("id"))
    label = f"Subagent {text_of(body.get('agent_path'))} {text_of(body.get('kind'))}"
    thread = text_of(body.get("agent_thread_id"))
    answer = Answer(use_id, status=ToolStatus.PENDING, beside=True, details=body)
    links = [thread] if thread and body.get("kind") == "started" else []
    return [Event(Kind.NOTE, label=label, use_id=use_id, answer=answer, alone=False, links=links)]


def _assessment(body: Data) -> Iterable[Item]:
    """The review guard judged an action."""
    use_id, status = text_of(body.get("target_item_id")), text_of(body.get("status"))
    denied = ToolStatus.DENIED if status == "denied" else ToolStatus.PENDING
    answer = Answer(use_id, status=denied, beside=True, details=body)
    why = text_of(body.get("rationale"))
    return [Event(Kind.NOTE, why, f"Guard: {status}", use_id=use_id, answer=answer, alone=False)]


# -- events --------------------------------------------------------------------------------------------------------


def _counted(payload: Data) -> Iterable[Any]:
    """Running totals, which are written again for every refresh of the screen."""
    info = payload.get("info")
    if not isinstance(info, dict):
        return [Skip("token_count")]
    last = counts_of(info.get("last_token_usage"))
    window, used = whole(info.get("model_context_window")), last[5] if last is not None else None
    return [
        Round(counts_of(info.get("total_token_usage")), last, text_of(info.get("model"))),
        Fact(context_window=window, context_used=used),
    ]


def _started(payload: Data) -> Iterable[Any]:
    yield Began(text_of(payload.get("turn_id")))
    yield Fact(context_window=whole(payload.get("model_context_window")))


def _completed_turn(payload: Data) -> Iterable[Any]:
    if error := payload.get("error"):
        body = dict_of(error)
        yield _error(text_of(error) or text_of(body.get("message")), body.get("codex_error_info"), COMPLETED)
    else:
        yield Skip("task_complete")
    yield _ended(payload)


def _ended(payload: Data, *, stopped: bool = False) -> Ended:
    spent = number(payload.get("duration_ms"))
    return Ended(spent / 1000 if spent is not None and spent > 0 else None, stopped)


_ABORTS = {
    "interrupted": "Interrupted", "replaced": "Interrupted by a new prompt", "review_ended": "Review ended",
    "budget_limited": "Stopped: the budget is used up",
}  # fmt: skip


def _aborted(payload: Data) -> Iterable[Any]:
    reason = text_of(payload.get("reason"))
    label = _ABORTS.get(reason, f"Interrupted: {reason}" if reason else "Interrupted")
    yield Twin(Kind.INTERRUPT, label=label, source=EVENT)
    yield _ended(payload, stopped=True)


def _rolled_back(payload: Data) -> Iterable[Any]:
    count = whole(payload.get("num_turns")) or 0
    yield RolledBack(count)
    yield Say(Kind.NOTE, label=f"Rolled back {count} turn{'' if count == 1 else 's'}")


def _goal(payload: Data) -> Iterable[Item]:
    goal = dict_of(payload.get("goal"))
    status = text_of(goal.get("status"))
    return [Goal(Kind.NOTE, text_of(goal.get("objective")), f"Goal{f' ({status})' if status else ''}")]


def _named(payload: Data) -> Iterable[Item]:
    return [ThreadName(Kind.NOTE, text_of(payload.get("thread_name")), thread=payload.get("thread_id"))]


def _noted(payload: Data) -> Iterable[Item]:
    """A message of the program's."""
    kind = text_of(payload.get("type"))
    if kind == "undo_completed":
        label = "Undo" if payload.get("success") else "Undo failed"
    else:
        words = {"stream_error": "Retry", "deprecation_notice": "Deprecation"}
        label = words.get(kind, kind.replace("_", " ").capitalize())
    return [Say(Kind.NOTE, text_of(payload.get("message")), label)]


def _review_begins(body: Data) -> Iterable[Item]:
    target = dict_of(body.get("target"))
    words = [text for key in ("type", "branch", "sha", "title") if (text := text_of(target.get(key)))]
    hint = text_of(body.get("user_facing_hint")) or text_of(body.get("review")) or " ".join(words)
    return [Say(Kind.NOTE, text_of(body.get("prompt")), f"Review: {hint}" if hint else "Review")]


def _reviewed(body: Data) -> Iterable[Item]:
    """A review's findings as Markdown."""
    output = body.get("review_output")
    lines: list[str] = []
    for finding in map(dict_of, list_of(dict_of(output).get("findings"))):
        place = dict_of(finding.get("code_location"))
        span, path = dict_of(place.get("line_range")), text_of(place.get("absolute_file_path"))
        where = f" `{path}:{span.get('start')}-{span.get('end')}`" if path else ""
        lines.append(f"- **{text_of(finding.get('title'))}**{where}\n\n  {text_of(finding.get('body'))}\n")
    for key in ("overall_correctness", "overall_explanation"):
        if text := text_of(dict_of(output).get(key)):
            lines.append(text)
    text = "\n".join(lines) if isinstance(output, dict) else text_of(body.get("review")) or "No findings were recorded."
    return [Say(Kind.NOTE, text, "Review finished")]


# -- completed items: what paginated rollouts write of each item, mostly what a response item says too --------------


def _completed(payload: Data) -> Iterable[Any]:
    item = dict_of(payload.get("item"))
    kind = text_of(item.get("type"))
    reader = _COMPLETED.get(kind[:1].upper() + kind[1:])
    return reader(item) if reader is not None else [Say(Kind.UNKNOWN, label=f"item_completed {kind or '(no type)'}")]


def _completed_thought(item: Data) -> Iterable[Item]:
    parts = list_of(item.get("raw_content")) or list_of(item.get("summary_text"))
    texts = [part for part in parts if isinstance(part, str) and part.strip()]
    return [_thinking(texts, COMPLETED) if texts else Skip("empty reasoning")]


def _hooked(item: Data) -> Iterable[Item]:
    texts = [text_of(dict_of(fragment).get("text")) for fragment in list_of(item.get("fragments"))]
    return [Say(Kind.NOTE, "\n".join(texts), "Hook")]


_COMPLETED: dict[str, Reader] = {
    "UserMessage": lambda item: _typed(completed_segments(item), COMPLETED, content_images(item.get("content"))),
    "AgentMessage": lambda item: _spoken(content_text(item.get("content")), COMPLETED, item),
    "Reasoning": _completed_thought,
    "Plan": lambda item: [
        Twin(Kind.NOTE, text_of(item.get("text")), "Plan", source=COMPLETED, plan=text_of(item.get("text")))
    ],
    "CommandExecution": _executed,
    "FileChange": _patched,
    "McpToolCall": _mcp,
    "DynamicToolCall": _dynamic,
    "CollabAgentToolCall": _collab,
    "CollabToolCall": _collab,
    "SubAgentActivity": _activity,
    "WebSearch": _searched,
    "Extension": _searched,
    "ImageView": _viewed,
    "ImageGeneration": _pictured,
    "HookPrompt": _hooked,
    "ContextCompaction": lambda item: _mark(item, COMPLETED),
    "EnteredReviewMode": _review_begins,
    "ExitedReviewMode": _reviewed,
    "Sleep": lambda item: [Skip("item_completed Sleep")],
}
_ITEMS: dict[str, Reader] = {
    "message": _message,
    "reasoning": _thought,
    **dict.fromkeys(
        ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
         "image_generation_call"), _call,
    ),
    **dict.fromkeys(
        ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"), _output
    ),
    "agent_message": _mail,
    **dict.fromkeys(("compaction", "compaction_summary", "context_compaction"), _mark),
    **dict.fromkeys(("compaction_trigger", "ghost_snapshot", "additional_tools", "configuration_update"), _hidden),
}  # fmt: skip
_EVENTS: dict[str, Reader] = {
    "user_message": lambda event: _typed(event_segments(event), EVENT, event_images(event)),
    "agent_message": lambda event: _spoken(text_of(event.get("message")), EVENT, event),
    "agent_reasoning": _heard,
    "agent_reasoning_raw_content": _heard,
    "token_count": _counted,
    "task_started": _started,
    "turn_started": _started,
    "task_complete": _completed_turn,
    "turn_complete": _completed_turn,
    "turn_aborted": _aborted,
    "thread_rolled_back": _rolled_back,
    "context_compacted": lambda event: _mark(event, EVENT),
    "entered_review_mode": _review_begins,
    "exited_review_mode": _reviewed,
    "thread_settings_applied": lambda event: [
        _setting(dict_of(event.get("thread_settings")), "thread_settings_applied")
    ],
    "thread_goal_updated": _goal,
    "thread_name_updated": _named,
    "item_completed": _completed,
    "patch_apply_end": _patched,
    "mcp_tool_call_end": _mcp,
    "web_search_end": _searched,
    "image_generation_end": _pictured,
    "exec_command_end": _executed,
    "view_image_tool_call": _viewed,
    **dict.fromkeys(_COLLAB, _collab),
    "sub_agent_activity": _activity,
    "guardian_assessment": _assessment,
    "dynamic_tool_call_request": _requested,
    "dynamic_tool_call_response": _dynamic,
    "error": lambda event: [_error(text_of(event.get("message")), event.get("codex_error_info"), EVENT)],
    **dict.fromkeys(("undo_completed", "warning", "stream_error", "background_event", "deprecation_notice"), _noted),
    # Written by builds before there was a policy of what to keep, and by third parties:
    **dict.fromkeys(
        ("plan_update", "turn_diff", "session_configured", "shutdown_complete", "raw_response_item", "item_started",
         "exec_approval_request", "apply_patch_approval_request", "elicitation_request", "mcp_startup_update",
         "mcp_startup_complete", "mcp_list_tools_response", "list_custom_prompts_response", "list_skills_response",
         "get_history_entry_response", "conversation_path", "undo_started", "agent_reasoning_section_break",
         "model_reroute", "skills_update_available"), _hidden,
    ),
}  # fmt: skip
_LINES: dict[str, Reader] = {
    "session_meta": _header,
    "turn_context": _turn_context,
    "compacted": _compacted,
    "token_usage_record": _response,
    "inter_agent_communication": _mail,
    "retained_context": _answers,
}

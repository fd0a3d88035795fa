"""Events: what Codex's own program noted. They begin and end turns, repeat texts, and tell more about tool uses."""

from __future__ import annotations

from typing import Any

from schemas.clean import one_line
from schemas.message import Flag, Kind
from schemas.providers.codex.items import Handler, compacted, interrupted, said, take_segments, thought
from schemas.providers.codex.mirrors import Source, key_of
from schemas.providers.codex.outputs import Outcome, decode, exec_outcome, mcp_outcome, patch_outcome
from schemas.providers.codex.prompts import completed_segments, event_segments, status_text
from schemas.providers.codex.scan import PENDING, Scan
from schemas.providers.codex.tools import command_line, search_key
from schemas.providers.codex.values import content_text, dict_of, list_of, number, size_of, text_of, whole
from schemas.records import Record


def user_message(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A prompt as it was typed."""
    take_segments(scan, record, event_segments(payload), Source.EVENT)


def agent_message(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """What the assistant said."""
    said(scan, record, text_of(payload.get("message")), Source.EVENT)


def agent_reasoning(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A part of the thinking."""
    text = text_of(payload.get("text"))
    thought(scan, record, [text] if text.strip() else [], Source.EVENT)


def token_count(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """Running totals; see tokens.py."""
    if scan.tokens.count(record, payload, scan.model, scan.store, not scan.inherited):
        scan.touch(record)
    else:
        scan.session.hidden["token_count"] += 1


def task_started(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A turn begins."""
    scan.begin_turn(text_of(payload.get("turn_id")))
    scan.tokens.note_window(payload)
    scan.session.hidden["task_started"] += 1


def task_complete(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A turn is over, well or with an error."""
    error = payload.get("error")
    if error:
        text = error if isinstance(error, str) else text_of(dict_of(error).get("message"))
        _error(scan, record, text, Source.COMPLETED)
    else:
        scan.session.hidden["task_complete"] += 1
    _note_duration(scan, record, payload)
    scan.end_turn()


def _note_duration(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    scan.touch(record)
    milliseconds = number(payload.get("duration_ms"))
    if milliseconds is not None and milliseconds > 0 and scan.session.exchanges and scan.in_turn:
        exchange = scan.session.exchanges[-1]
        exchange.seconds = (exchange.seconds or 0) + milliseconds / 1000


def turn_aborted(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A turn was stopped; a message that tells the model so comes before or after."""
    session = scan.session
    start = session.exchanges[-1].start if session.exchanges else 0
    for index in range(start, len(session.messages)):
        if session.messages.flags[index] & PENDING and not session.messages.flags[index] & Flag.INTERRUPTED:
            session.messages.flags[index] |= Flag.INTERRUPTED
            scan.changed(index)
    _note_duration(scan, record, payload)
    interrupted(scan, record, "", Source.EVENT)
    scan.end_turn()


def _error(scan: Scan, record: Record, text: str, source: Source) -> None:
    index = scan.once(scan.texts, Kind.ERROR, "error", text, record, source)
    if index is not None:
        scan.session.messages.flags[index] |= Flag.ERROR
        scan.session.exchanges[-1].errors += 1


def error(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """Something failed."""
    _error(scan, record, text_of(payload.get("message")), Source.EVENT)


def rolled_back(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The last turns are undone; their tokens were spent all the same."""
    count = whole(payload.get("num_turns")) or 0
    session = scan.session
    for exchange in reversed(session.exchanges):
        if count <= 0:
            break
        if exchange.opener is None or exchange.rewound:
            continue
        exchange.rewound = True
        count -= 1
        for index in session.message_range(exchange.index):
            session.messages.flags[index] |= Flag.REWOUND
            scan.changed(index)
    scan.end_turn()
    note(scan, record, payload)


def note(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An event worth a line; its words are made when somebody looks (build.py)."""
    scan.add(Kind.NOTE, record)


def noted_text(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An event that is a message of the program's."""
    scan.add(Kind.NOTE, record, text=text_of(payload.get("message")))


def goal(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The thread's goal; it is written again with every count of its tokens."""
    data = dict_of(payload.get("goal"))
    state = f"{text_of(data.get('objective'))}\n{text_of(data.get('status'))}"
    if state == scan.goal:
        scan.session.hidden["thread_goal_updated"] += 1
    else:
        scan.goal = state
        scan.add(Kind.NOTE, record, text=text_of(data.get("objective")))


def thread_name(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The person, or the program, named the thread."""
    if payload.get("thread_id") in (None, scan.session.id):
        scan.name = one_line(text_of(payload.get("thread_name")), 200)
    scan.session.hidden["thread_name_updated"] += 1


def settings(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """Settings changed, the model perhaps."""
    model_of_turn(scan, record, dict_of(payload.get("thread_settings")), "thread_settings_applied")


def model_of_turn(scan: Scan, record: Record, data: dict[str, Any], kind: str) -> None:
    """A record that names the model; a line tells when it is another one."""
    if scan.set_model(data.get("model")):
        scan.add(Kind.NOTE, record)
    else:
        scan.session.hidden[kind] += 1


def context_compacted(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The context was compacted."""
    compacted(scan, record, "", Source.EVENT)


# -- about tool uses ---------------------------------------------------------------------------------------------------


def detail(scan: Scan, record: Record, call_id: object, outcome: Outcome | None) -> int:
    """More about a tool use; what it is about may be missing (a copied beginning, commands within code)."""
    index = scan.find_call(call_id)
    if index is None:
        index = scan.add(Kind.TOOL, record)
        scan.remember_call(call_id, index)
        scan.from_events.add(index)
    else:
        scan.attach(index, record)
    if outcome is not None:
        scan.resize(index, *size_of(outcome.text))
        scan.settle(index, failed=outcome.failed, interrupted=outcome.denied)
    return index


def exec_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A command ended."""
    if payload.get("source") == "user_shell" or payload.get("source") == "userShell":
        _user_command(scan, record, payload)
    else:
        call_id = payload.get("call_id") or payload.get("id")
        index = scan.find_call(call_id)
        if index is None:
            index = detail(scan, record, call_id, None)
        else:
            scan.attach(index, record)
        code, status = payload.get("exit_code"), payload.get("status")
        declined = status == "declined"
        scan.settle(index, failed=bool(whole(code)) or declined or status == "failed", interrupted=declined)
        if not scan.session.messages.chars[index]:  # its result may never come
            scan.resize(index, *size_of(exec_outcome(payload).text))


def _user_command(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    words = payload.get("command")
    command = command_line([str(w) for w in words]) if isinstance(words, list) else text_of(words)
    result = exec_outcome(payload).text
    index = scan.once(scan.prompts, Kind.COMMAND, Kind.COMMAND.name, command, record, Source.EVENT)
    if index is not None and result.strip():
        printed = scan.add(Kind.OUTPUT, record, block=1, text=result)
        scan.prompts.note(key_of(Kind.OUTPUT.name, result), printed, Source.EVENT)


def patch_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A patch was applied or not."""
    index = detail(scan, record, payload.get("call_id") or payload.get("id"), patch_outcome(payload))
    texts = [
        text_of(dict_of(change).get("unified_diff")) or text_of(dict_of(change).get("content"))
        for change in dict_of(payload.get("changes")).values()
    ]
    scan.resize(index, sum(map(len, texts)), sum(t.count("\n") + 1 for t in texts))


def mcp_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An MCP tool answered."""
    result = payload.get("result")
    outcome = mcp_outcome(result) if result is not None else Outcome(_message_of(payload.get("error")))
    failed = outcome.failed or payload.get("status") == "failed" or bool(payload.get("error"))
    detail(scan, record, payload.get("call_id") or payload.get("id"), outcome._replace(failed=failed))


def _message_of(error: object) -> str:
    return text_of(error) or text_of(dict_of(error).get("message"))


def web_search_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A search ended; its item may lack the id."""
    source = Source.EVENT if "call_id" in payload else Source.COMPLETED
    call_id = payload.get("call_id") or payload.get("id")
    key = key_of("search", search_key(payload.get("action"), payload.get("query")))
    if scan.find_call(call_id) is None and (copied := scan.texts.match(key, source)) is not None:
        scan.attach(copied, record)
        return
    known = len(scan.session.messages)
    index = detail(scan, record, call_id, None)
    if index == known:
        scan.texts.note(key, index, source)


def about_call(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An event that names a tool use."""
    detail(scan, record, payload.get("call_id") or payload.get("callId") or payload.get("id"), None)


def dynamic_response(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A tool of the app's answered."""
    call_id = payload.get("call_id") or payload.get("callId") or payload.get("id")
    outcome = decode(payload.get("content_items") or payload.get("contentItems") or [])
    detail(scan, record, call_id, outcome._replace(failed=payload.get("success") is False))


def collab_end(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A subagent was started, told something, waited for or closed."""
    index = detail(scan, record, payload.get("call_id"), None)
    if thread := payload.get("new_thread_id"):
        name = text_of(payload.get("new_agent_nickname")) or text_of(payload.get("new_agent_role"))
        scan.link_subagent(index, thread, name, text_of(payload.get("prompt")))
    _, text = status_text(payload.get("status"))
    scan.resize(index, *size_of(text))


def subagent_activity(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A subagent started, or something else happened to it."""
    index = scan.find_call(payload.get("event_id") or payload.get("id"))
    if index is None:
        scan.add(Kind.NOTE, record)
    else:
        scan.attach(index, record)
    if payload.get("kind") == "started":
        name = text_of(payload.get("agent_path")).rsplit("/", 1)[-1]
        scan.link_subagent(index, payload.get("agent_thread_id"), name, "")


def collab_item(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A completed use of a subagent tool (paginated rollouts)."""
    index = detail(scan, record, item.get("id"), None)
    if text_of(item.get("tool")).lower().replace("_", "") in ("spawnagent", "spawn"):
        for thread in list_of(item.get("receiver_thread_ids") or item.get("receiverThreadIds")):
            scan.link_subagent(index, thread, "", text_of(item.get("prompt")))


def assessment(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The review guard judged an action."""
    index = scan.find_call(payload.get("target_item_id"))
    if index is None:
        scan.add(Kind.NOTE, record)
        return
    scan.attach(index, record)
    if payload.get("status") == "denied":
        scan.settle(index, failed=True, interrupted=True)


# -- completed items ---------------------------------------------------------------------------------------------------


def item_completed(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A finished item of a paginated rollout; most repeat a response item."""
    item = dict_of(payload.get("item"))
    kind = text_of(item.get("type"))
    handler = COMPLETED.get(kind) or COMPLETED.get(kind[:1].upper() + kind[1:])
    if handler is None:
        scan.session.unknown[f"item_completed {one_line(kind, 80) or '(no type)'}"] += 1
        scan.add(Kind.UNKNOWN, record, chars=record[1], lines=1)
    else:
        handler(scan, record, item)


def completed_user(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A prompt."""
    take_segments(scan, record, completed_segments(item), Source.COMPLETED)


def completed_agent(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """What the assistant said."""
    said(scan, record, content_text(item.get("content")), Source.COMPLETED)


def completed_reasoning(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """Thinking."""
    parts = list_of(item.get("raw_content")) or list_of(item.get("summary_text"))
    thought(scan, record, [p for p in parts if isinstance(p, str) and p.strip()], Source.COMPLETED)


def completed_plan(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A plan for the person to accept."""
    scan.once(scan.texts, Kind.NOTE, "plan", text_of(item.get("text")), record, Source.COMPLETED)


def completed_compaction(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """The context was compacted."""
    compacted(scan, record, "", Source.COMPLETED)


def hide_item(scan: Scan, record: Record, item: dict[str, Any]) -> None:
    """A completed item with nothing to read."""
    scan.session.hidden[f"item_completed {text_of(item.get('type'))}"] += 1


def hide(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An event with nothing to read."""
    scan.session.hidden[text_of(payload.get("type"))] += 1


COMPLETED: dict[str, Handler] = {
    "UserMessage": completed_user,
    "AgentMessage": completed_agent,
    "Reasoning": completed_reasoning,
    "Plan": completed_plan,
    "CommandExecution": exec_end,
    "FileChange": patch_end,
    "McpToolCall": mcp_end,
    "DynamicToolCall": dynamic_response,
    "CollabAgentToolCall": collab_item,
    "CollabToolCall": collab_item,
    "SubAgentActivity": subagent_activity,
    "WebSearch": web_search_end,
    "Extension": web_search_end,
    "ImageView": about_call,
    "ImageGeneration": about_call,
    "HookPrompt": note,
    "ContextCompaction": completed_compaction,
    "EnteredReviewMode": note,
    "ExitedReviewMode": note,
    "Sleep": hide_item,
}

EVENTS: dict[str, Handler] = {
    "user_message": user_message,
    "agent_message": agent_message,
    "agent_reasoning": agent_reasoning,
    "agent_reasoning_raw_content": agent_reasoning,
    "token_count": token_count,
    "task_started": task_started,
    "turn_started": task_started,
    "task_complete": task_complete,
    "turn_complete": task_complete,
    "turn_aborted": turn_aborted,
    "thread_rolled_back": rolled_back,
    "context_compacted": context_compacted,
    "entered_review_mode": note,
    "exited_review_mode": note,
    "thread_settings_applied": settings,
    "thread_goal_updated": goal,
    "thread_name_updated": thread_name,
    "undo_completed": noted_text,
    "item_completed": item_completed,
    "patch_apply_end": patch_end,
    "mcp_tool_call_end": mcp_end,
    "web_search_end": web_search_end,
    "image_generation_end": about_call,
    "exec_command_end": exec_end,
    "view_image_tool_call": about_call,
    "collab_agent_spawn_end": collab_end,
    "collab_agent_interaction_end": collab_end,
    "collab_waiting_end": collab_end,
    "collab_close_end": collab_end,
    "collab_resume_end": collab_end,
    "sub_agent_activity": subagent_activity,
    "guardian_assessment": assessment,
    "dynamic_tool_call_request": about_call,
    "dynamic_tool_call_response": dynamic_response,
    "error": error,
    "warning": noted_text,
    "stream_error": noted_text,
    "background_event": noted_text,
    "deprecation_notice": noted_text,
    # Written by builds before there was a policy of what to keep, and by third parties:
    **dict.fromkeys(
        (
            "plan_update",
            "turn_diff",
            "session_configured",
            "shutdown_complete",
            "raw_response_item",
            "item_started",
            "exec_approval_request",
            "apply_patch_approval_request",
            "elicitation_request",
            "mcp_startup_update",
            "mcp_startup_complete",
            "mcp_list_tools_response",
            "list_custom_prompts_response",
            "list_skills_response",
            "get_history_entry_response",
            "conversation_path",
            "undo_started",
            "agent_reasoning_section_break",
            "model_reroute",
            "skills_update_available",
        ),
        hide,
    ),
}

"""Events: what Codex's own program noted. They begin and end turns, repeat texts, and tell more about tool uses."""

from __future__ import annotations

from typing import Any

from schemas.clean import one_line
from schemas.message import Flag, Kind
from schemas.providers.codex.completed import item_completed
from schemas.providers.codex.details import (
    about_call,
    assessment,
    collab_end,
    dynamic_response,
    exec_end,
    mcp_end,
    patch_end,
    subagent_activity,
    web_search_end,
)
from schemas.providers.codex.items import Handler, compacted, interrupted, said, take_segments, thought
from schemas.providers.codex.mirrors import Source
from schemas.providers.codex.prompts import event_segments
from schemas.providers.codex.scan import PENDING, Scan
from schemas.records import Record
from schemas.values import dict_of, number, text_of, when, whole


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
        scan.session.touch(scan.session.exchanges[-1], when(record[3].get("timestamp")))
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


def _error(scan: Scan, record: Record, text: str, source: int) -> None:
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
    turn_settings(scan, record, dict_of(payload.get("thread_settings")), "thread_settings_applied")


def turn_settings(scan: Scan, record: Record, data: dict[str, Any], kind: str) -> None:
    """A record that names the directory and the model; a line tells when the model is another one."""
    scan.enter(data.get("cwd"))
    if scan.set_model(data.get("model")):
        scan.add(Kind.NOTE, record)
    else:
        scan.session.hidden[kind] += 1


def context_compacted(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The context was compacted."""
    compacted(scan, record, "", Source.EVENT)


def hide(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """An event with nothing to read."""
    scan.session.hidden[text_of(payload.get("type"))] += 1


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

"""The words of everything that is neither prose nor a tool use: mail, reviews, goals, model changes."""

from __future__ import annotations

from typing import Any

from schemas.message import Kind
from schemas.providers.codex.outputs import exec_outcome
from schemas.providers.codex.prompts import status_text
from schemas.providers.codex.tools import command_line
from schemas.providers.codex.values import content_text
from schemas.session import Session
from schemas.values import dict_of, list_of, text_of, whole

_ABORTS = {
    "interrupted": "Interrupted",
    "replaced": "Interrupted by a new prompt",
    "review_ended": "Review ended",
    "budget_limited": "Stopped: the budget is used up",
}


def interrupt_label(bodies: list[dict[str, Any]]) -> str:
    """Why a turn was stopped."""
    for body in bodies:
        if reason := text_of(body.get("reason")):
            return _ABORTS.get(reason, f"Interrupted: {reason}")
    return "Interrupted"


def note_of(session: Session, kind: Kind, record: dict[str, Any], body: dict[str, Any]) -> tuple[str, str]:
    """A label of a few words, and the text below it."""
    if kind in (Kind.COMMAND, Kind.OUTPUT):
        words = body.get("command")
        command = command_line([str(w) for w in words]) if isinstance(words, list) else text_of(words)
        return ("shell", command) if kind == Kind.COMMAND else ("", exec_outcome(body).text)
    name = text_of(record.get("type"))
    if name == "event_msg":
        return _event_note(text_of(body.get("type")), body)
    if name == "session_meta":
        base = text_of(dict_of(body.get("history_base")).get("thread_id"))
        return "The beginning is missing", f"This session goes on from {base}, whose file is not here."
    if name == "turn_context":
        return _model_label(body), ""
    if name == "retained_context":
        return "Answers", _answers(body)
    if "recipient" in body or "author" in body:
        return _mail_label(body), content_text(body.get("content"))
    return name, content_text(body.get("content"))


def _mail_label(body: dict[str, Any]) -> str:
    author, recipient = text_of(body.get("author")), text_of(body.get("recipient"))
    return f"Mail {author} → {recipient}"


def _model_label(settings: dict[str, Any]) -> str:
    effort = text_of(settings.get("effort")) or text_of(settings.get("reasoning_effort"))
    return f"Model: {text_of(settings.get('model'))}{f' ({effort})' if effort else ''}"


def _answers(body: dict[str, Any]) -> str:
    pairs = [dict_of(q) for q in list_of(body.get("questions"))]
    return "\n\n".join(
        f"{text_of(q.get('question'))}\n{text_of(q.get('answer')) or q.get('answer', '')}" for q in pairs
    )


def _event_note(kind: str, body: dict[str, Any]) -> tuple[str, str]:
    if kind == "thread_rolled_back":
        count = whole(body.get("num_turns")) or 0
        return f"Rolled back {count} turn{'' if count == 1 else 's'}", ""
    if kind in ("entered_review_mode", "EnteredReviewMode"):
        hint = text_of(body.get("user_facing_hint")) or text_of(body.get("review")) or _target(body.get("target"))
        return f"Review: {hint}" if hint else "Review", text_of(body.get("prompt"))
    if kind in ("exited_review_mode", "ExitedReviewMode"):
        return "Review finished", _review(body)
    if kind == "thread_settings_applied":
        return _model_label(dict_of(body.get("thread_settings"))), ""
    if kind == "thread_goal_updated":
        goal = dict_of(body.get("goal"))
        status = text_of(goal.get("status"))
        return f"Goal{f' ({status})' if status else ''}", text_of(goal.get("objective"))
    if kind == "undo_completed":
        return "Undo" if body.get("success") else "Undo failed", text_of(body.get("message"))
    if kind == "Plan":
        return "Plan", text_of(body.get("text"))
    if kind == "HookPrompt":
        return "Hook", "\n".join(text_of(dict_of(f).get("text")) for f in list_of(body.get("fragments")))
    if kind in ("sub_agent_activity", "SubAgentActivity", "subAgentActivity"):
        return f"Subagent {text_of(body.get('agent_path'))} {text_of(body.get('kind'))}", ""
    if kind == "guardian_assessment":
        return f"Guard: {text_of(body.get('status'))}", text_of(body.get("rationale"))
    words = {"stream_error": "Retry", "warning": "Warning", "deprecation_notice": "Deprecation"}
    return words.get(kind, kind.replace("_", " ").capitalize()), text_of(body.get("message"))


def _target(target: object) -> str:
    data = dict_of(target)
    return " ".join(text for key in ("type", "branch", "sha", "title") if (text := text_of(data.get(key))))


def _review(body: dict[str, Any]) -> str:
    """A review's findings as Markdown."""
    output = body.get("review_output")
    if not isinstance(output, dict):
        return text_of(body.get("review")) or "No findings were recorded."
    lines: list[str] = []
    for item in list_of(output.get("findings")):
        finding = dict_of(item)
        place = dict_of(finding.get("code_location"))
        span = dict_of(place.get("line_range"))
        path = text_of(place.get("absolute_file_path"))
        where = f" `{path}:{span.get('start')}-{span.get('end')}`" if path else ""
        lines.append(f"- **{text_of(finding.get('title'))}**{where}\n\n  {text_of(finding.get('body'))}\n")
    for key in ("overall_correctness", "overall_explanation"):
        if text := text_of(output.get(key)):
            lines.append(text)
    return "\n".join(lines)


def collab_text(body: dict[str, Any]) -> str:
    """What an event about subagents says of them."""
    lines: list[str] = []
    for item in list_of(body.get("agent_statuses")):
        state, text = status_text(dict_of(item).get("status"))
        name = text_of(dict_of(item).get("agent_nickname")) or text_of(dict_of(item).get("thread_id"))
        lines.append(f"{name}: {state}\n{text}".strip())
    if not lines:
        state, text = status_text(body.get("status"))
        lines = [text or state]
    return "\n\n".join(line for line in lines if line)

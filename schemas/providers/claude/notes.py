"""Words for what stands beside the talk: a label in a few words, and the text if there is more to read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from schemas.clean import as_json, clean_value, one_line
from schemas.providers.claude.classify import tag

_MAIL = re.compile(r"<(teammate-message|agent-message)\b([^>]{0,2000})>(.*?)(?:</\1>|\Z)", re.DOTALL)
_SENDER = re.compile(r'(?:teammate_id|agent_id|from|name)="([^"]{0,200})"')
_SUMMARY = re.compile(r'summary="([^"]{0,500})"')

Labelled = tuple[str, str]


def notification(text: str) -> Labelled:
    """A `<task-notification>`, mail from another agent, or plain text."""
    bare = text.strip()
    if bare.startswith("<task-notification>"):
        label = (tag(bare, "summary") or tag(bare, "status") or "Background task").strip()
        result = (tag(bare, "result") or tag(bare, "event") or "").strip()
        return one_line(label), result
    if mail := _MAIL.findall(bare):
        senders = [found[1] for _, attributes, _ in mail if (found := _SENDER.search(attributes))]
        said = [found[1] for _, attributes, _ in mail if (found := _SUMMARY.search(attributes))]
        label = f"Message from {', '.join(dict.fromkeys(senders))}" if senders else "Message from another agent"
        return one_line(label + (f": {'; '.join(said)}" if said else "")), "\n\n".join(
            body.strip() for _, _, body in mail
        )
    return (one_line(bare), "") if len(bare) <= 120 and "\n" not in bare else (one_line(bare, 120), text)


def context_label(text: str) -> str:
    """What kind of injected text it is."""
    bare = text.lstrip()
    for start, label in (
        ("Base directory for this skill:", "Skill"),
        ("Stop hook feedback:", "Stop hook feedback"),
        ("<system-reminder>", "Reminder"),
        ("<user-prompt-submit-hook>", "Hook on the prompt"),
        ("<ide_", "From the editor"),
    ):
        if bare.startswith(start):
            return label
    return "Added by Claude Code"


def describe_system(value: Mapping[str, Any]) -> Labelled:
    """A `system` record (formats/claude-code.md 3.1)."""
    subtype = str(value.get("subtype"))
    content = value.get("content")
    text = content if isinstance(content, str) else ""
    if subtype == "api_error":
        return _retry(value)
    if subtype == "stop_hook_summary":
        errors = value.get("hookErrors")
        lines = [str(clean_value(e)) for e in errors] if isinstance(errors, list) else []
        stopped = value.get("preventedContinuation") is True
        reason = value.get("stopReason")
        lines += [reason] if isinstance(reason, str) and reason else []
        return ("A stop hook kept the agent from stopping" if stopped else "A stop hook failed"), "\n".join(lines)
    if subtype == "microcompact_boundary":
        facts = value.get("microcompactMetadata")
        saved = facts.get("tokensSaved") if isinstance(facts, dict) else None
        return ("Old tool results cleared" + (f", {saved:,} tokens saved" if isinstance(saved, int) else "")), ""
    if subtype in ("api_refusal", "model_refusal_fallback"):
        return _refusal(subtype, value, text)
    if subtype == "error":
        return "Error", _error_text(value.get("error")) or text
    if subtype == "bridge_status":
        return one_line(text or f"Remote control {value.get('url') or ''}"), ""
    title = {
        "away_summary": "While you were away",
        "scheduled_task_fire": "Scheduled task",
        "agents_killed": "Agents stopped",
    }.get(subtype)
    if title is None:
        return (one_line(text), "") if len(text) <= 120 and "\n" not in text.strip() else (one_line(text, 120), text)
    return title, text


def _retry(value: Mapping[str, Any]) -> Labelled:
    attempt, most = value.get("retryAttempt"), value.get("maxRetries")
    count = f" ({attempt} of {most})" if isinstance(attempt, int) and isinstance(most, int) else ""
    error = _error_text(value.get("error"))
    return one_line(f"API error, retrying{count}" + (f": {error}" if error else "")), error if len(error) > 150 else ""


def _error_text(error: object) -> str:
    """The message of an error, whose shape differs from version to version."""
    for _ in range(4):
        if isinstance(error, str):
            return error
        if not isinstance(error, dict):
            return ""
        for key in ("formatted", "message"):
            if isinstance(text := error.get(key), str) and text:
                return text
        if not isinstance(error.get("error"), dict | str):
            status = error.get("status")
            return f"status {status}" if isinstance(status, int) and status else ""
        error = error["error"]
    return ""


def _refusal(subtype: str, value: Mapping[str, Any], text: str) -> Labelled:
    if subtype == "model_refusal_fallback":
        models = [one_line(str(value.get(key) or "?"), 80) for key in ("originalModel", "fallbackModel")]
        return f"Model switched after a refusal: {' → '.join(models)}", text
    category = value.get("apiRefusalCategory")
    explanation = value.get("apiRefusalExplanation")
    label = "Refused by the API" + (f" ({one_line(category, 80)})" if isinstance(category, str) else "")
    return label, explanation if isinstance(explanation, str) else text


def describe_attachment(inner: Mapping[str, Any]) -> Labelled:
    """An attachment that is shown (formats/claude-code.md 3.2)."""
    kind = inner.get("type")
    name = next((n for k in ("displayPath", "filename", "planFilePath") if isinstance(n := inner.get(k), str)), "")
    if kind == "file":
        return f"@{name}", _file_text(inner.get("content"))
    if kind == "edited_text_file":
        snippet = inner.get("snippet")
        return f"Changed outside the session: {name}", snippet if isinstance(snippet, str) else ""
    if kind == "diagnostics":
        return "Diagnostics", _diagnostics(inner.get("files"))
    if kind == "hook_blocking_error":
        error = inner.get("blockingError")
        text = error.get("blockingError") if isinstance(error, dict) else error
        hook = inner.get("hookName")
        return f"Blocked by hook {hook}" if isinstance(hook, str) else "Blocked by a hook", str(text or "")
    if kind == "task_status":
        words = [str(inner.get(key)) for key in ("description", "status") if isinstance(inner.get(key), str)]
        summary = inner.get("deltaSummary")
        return "Background task: " + ", ".join(words), summary if isinstance(summary, str) else ""
    return f"{'Left' if kind == 'plan_mode_exit' else 'Entered'} plan mode {name}".strip(), ""


def _file_text(content: object) -> str:
    file = content.get("file") if isinstance(content, dict) else None
    if isinstance(file, dict) and isinstance(text := file.get("content"), str):
        return text
    if isinstance(content, str):
        return content
    return as_json(content) if content else ""


def _diagnostics(files: object) -> str:
    lines: list[str] = []
    for file in files if isinstance(files, list) else []:
        if not isinstance(file, dict):
            continue
        lines.append(str(file.get("uri") or ""))
        found = file.get("diagnostics")
        for item in found if isinstance(found, list) else []:
            if isinstance(item, dict):
                lines.append(f"  {item.get('severity') or ''}: {item.get('message') or ''}")
    return "\n".join(lines)


def compaction_label(facts: Mapping[str, Any]) -> str:
    """What a compaction says of itself: `Compacted (auto), 170,000 tokens before, 8,000 after`."""
    trigger = facts.get("trigger")
    label = f"Compacted ({one_line(trigger, 40)})" if isinstance(trigger, str) else "Compacted"
    before, after = (
        f"{n:,}" if isinstance(n := facts.get(key), int) and not isinstance(n, bool) and 0 < n < 1 << 62 else None
        for key in ("preTokens", "postTokens")
    )
    if before:
        label += f", {before} tokens before"
    if after:
        label += f", {after} after" if before else f", {after} tokens after"
    return label

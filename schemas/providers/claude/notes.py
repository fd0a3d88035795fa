"""Words for what stands beside the talk: a label in a few words, and the text if there is more to read."""

from __future__ import annotations

import re

from schemas.clean import as_json, clean_value, one_line
from schemas.providers.claude.classify import tag
from schemas.providers.kit.words import Data
from schemas.values import dict_of, list_of, text_of, whole

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
    return _shortened(bare, text)


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


def describe_system(value: Data) -> Labelled:
    """A `system` record (formats/claude-code.md 3.1)."""
    subtype, text = str(value.get("subtype")), text_of(value.get("content"))
    match subtype:
        case "api_error":
            attempt, most, error = value.get("retryAttempt"), value.get("maxRetries"), _error_text(value.get("error"))
            count = f" ({attempt} of {most})" if isinstance(attempt, int) and isinstance(most, int) else ""
            label = f"API error, retrying{count}" + (f": {error}" if error else "")
            return one_line(label), error if len(error) > 150 else ""
        case "stop_hook_summary":
            lines = [str(clean_value(error)) for error in list_of(value.get("hookErrors"))]
            stopped = value.get("preventedContinuation") is True
            lines += filter(None, [text_of(value.get("stopReason"))])
            return "A stop hook kept the agent from stopping" if stopped else "A stop hook failed", "\n".join(lines)
        case "microcompact_boundary":
            saved = dict_of(value.get("microcompactMetadata")).get("tokensSaved")
            return "Old tool results cleared" + (f", {saved:,} tokens saved" if isinstance(saved, int) else ""), ""
        case "model_refusal_fallback":
            models = (one_line(str(value.get(key) or "?"), 80) for key in ("originalModel", "fallbackModel"))
            return f"Model switched after a refusal: {' → '.join(models)}", text
        case "api_refusal":
            category, why = value.get("apiRefusalCategory"), value.get("apiRefusalExplanation")
            label = "Refused by the API" + (f" ({one_line(category, 80)})" if isinstance(category, str) else "")
            return label, why if isinstance(why, str) else text
        case "error":
            return "Error", _error_text(value.get("error")) or text
        case "bridge_status":
            return one_line(text or f"Remote control {value.get('url') or ''}"), ""
        case "away_summary":
            return "While you were away", text
        case "scheduled_task_fire":
            return "Scheduled task", text
        case "agents_killed":
            return "Agents stopped", text
    return _shortened(text, text)


def _shortened(bare: str, text: str) -> Labelled:
    """A text that is its own label, or whose beginning is."""
    return (one_line(bare), "") if len(bare) <= 120 and "\n" not in bare.strip() else (one_line(bare, 120), text)


def _error_text(error: object) -> str:
    """The message of an error, whose shape differs from version to version."""
    for _ in range(4):
        if not isinstance(error, dict):
            return text_of(error)
        if said := text_of(error.get("formatted")) or text_of(error.get("message")):
            return said
        if not isinstance(error.get("error"), dict | str):
            status = error.get("status")
            return f"status {status}" if isinstance(status, int) and status else ""
        error = error["error"]
    return ""


def describe_attachment(inner: Data) -> Labelled:
    """An attachment that is shown (formats/claude-code.md 3.2)."""
    name = next((n for k in ("displayPath", "filename", "planFilePath") if isinstance(n := inner.get(k), str)), "")
    match inner.get("type"):
        case "file":
            content = inner.get("content")
            text = dict_of(dict_of(content).get("file")).get("content")
            if not isinstance(text, str):
                text = content if isinstance(content, str) else as_json(content) if content else ""
            return f"@{name}", text
        case "edited_text_file":
            return f"Changed outside the session: {name}", text_of(inner.get("snippet"))
        case "diagnostics":
            lines: list[str] = []
            for file in (one for one in list_of(inner.get("files")) if isinstance(one, dict)):
                found = (one for one in list_of(file.get("diagnostics")) if isinstance(one, dict))
                lines.append(str(file.get("uri") or ""))
                lines += (f"  {one.get('severity') or ''}: {one.get('message') or ''}" for one in found)
            return "Diagnostics", "\n".join(lines)
        case "hook_blocking_error":
            error, hook = inner.get("blockingError"), inner.get("hookName")
            text = error.get("blockingError") if isinstance(error, dict) else error
            return f"Blocked by hook {hook}" if isinstance(hook, str) else "Blocked by a hook", str(text or "")
        case "task_status":
            words = [one for key in ("description", "status") if isinstance(one := inner.get(key), str)]
            return "Background task: " + ", ".join(words), text_of(inner.get("deltaSummary"))
        case kind:
            return f"{'Left' if kind == 'plan_mode_exit' else 'Entered'} plan mode {name}".strip(), ""


def compaction_label(facts: Data) -> str:
    """What a compaction says of itself: `Compacted (auto), 170,000 tokens before, 8,000 after`."""
    trigger = facts.get("trigger")
    label = f"Compacted ({one_line(trigger, 40)})" if isinstance(trigger, str) else "Compacted"
    before, after = (
        f", {n:,}" if (n := whole(facts.get(key))) is not None and 0 < n < 1 << 62 else ""
        for key in ("preTokens", "postTokens")
    )
    label += f"{before} tokens before" if before else ""
    return label + (f"{after}{'' if before else ' tokens'} after" if after else "")

"""What a `user` record says: what a person typed, what the model got besides, and the results of tools.

Qwen Code writes to disk what the model got. What the person typed stands beside it as `displayText`, or in the
`at_command` record before; older files have neither (formats/gemini-qwen-cursor.md 2.2).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from schemas.message import Part
from schemas.providers._google import Data, context_label, is_thought, media_in, parts_of, said
from schemas.values import dict_of, text_of

# Qwen Code renamed the tag; a hook's context is the last part of a prompt, or stands at the end of its text.
_HOOK = re.compile(r"\s*<(hook_context|qwen:user-prompt-submit-context)>\n?((?:(?!<\1>).)*?)\n?</\1>\s*\Z", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*\Z", re.DOTALL)
_FILES = re.compile(r"\s*--- Content from ")


class Prompt(NamedTuple):
    """A user record's text, raw."""

    typed: str
    """What to show as the person's words."""
    sent: str
    """What else the model got with it: the files that an @ named, reminders."""
    hook: str
    """What a hook added."""
    media: list[Part]
    label: str
    """What the text is that no person typed (`Session context`); empty for a prompt."""


def parts_in(record: Data) -> list[Data]:
    """A record's parts; files exist whose message is a bare text."""
    message = record.get("message")
    if not isinstance(message, dict):
        return parts_of(message)
    return parts_of(message["parts"] if "parts" in message else message.get("content"))


class Run(NamedTuple):
    """Neighbouring parts of an answer that belong together: `place` is the first one's place."""

    place: int
    kind: str
    """text, thinking, tool, media or result."""
    parts: list[Data]


def runs_in(parts: list[Data]) -> list[Run]:
    """An answer's parts, texts that follow one another together: they came in pieces."""
    runs: list[Run] = []
    for place, part in enumerate(parts):
        kind = _kind(part)
        if runs and kind == runs[-1].kind and kind in ("text", "thinking"):
            runs[-1].parts.append(part)
        else:
            runs.append(Run(place, kind, [part]))
    return runs


def _kind(part: Data) -> str:
    if isinstance(part.get("functionCall"), dict):
        return "tool"
    if isinstance(part.get("functionResponse"), dict):
        return "result"
    if is_thought(part):
        return "thinking"
    return "media" if media_in([part]) else "text"


def payload_of(record: Data) -> Data:
    """A record's `systemPayload`."""
    return dict_of(record.get("systemPayload"))


def display_text(record: Data) -> str | None:
    """What the person saw of a record, where it says so. An empty text counts where a hook's context stands beside."""
    payload = payload_of(record)
    text = payload.get("displayText")
    if not isinstance(text, str):
        return None
    return text if text or isinstance(payload.get("hookContext"), str) else None


def read_prompt(record: Data, typed: str | None = None) -> Prompt:
    """A user record taken apart. `typed` is what an `at_command` record before it says the person typed."""
    parts = [part for part in parts_in(record) if not isinstance(part.get("functionResponse"), dict)]
    bodies: list[str] = []
    hooks: list[str] = []
    around: list[str] = []
    files = False
    for text in said(parts):
        rest, hook = _without_hook(text)
        if hook:
            hooks.append(hook)
        files = files or bool(_FILES.match(rest))  # their contents are further texts behind the heading
        (around if files or _REMINDER.match(rest) else bodies).append(rest)
    body, sent = "".join(bodies), "".join(around)
    typed = display_text(record) if typed is None else typed
    if typed is None:
        shown = body
    else:
        shown, rest = typed, body.strip()
        if rest.split() != typed.split():
            start = typed.strip()
            sent = (rest[len(start) :] if start and rest.startswith(start) else rest) + sent
    hook = text_of(payload_of(record).get("hookContext")) or "\n\n".join(hooks)
    label = context_label(shown) if typed is None else ""
    return Prompt(shown, sent if sent.strip() else "", hook if hook.strip() else "", media_in(parts), label)


def _without_hook(text: str) -> tuple[str, str]:
    """A text, and the context of a hook that stood at its end."""
    if ">" not in text[-100:]:
        return text, ""
    # Only the last block's opening can match, so that a long text is looked at from there and not from its start.
    start = max(text.rfind("<hook_context>"), text.rfind("<qwen:user-prompt-submit-context>"))
    match = _HOOK.match(text, len(text[:start].rstrip())) if start >= 0 else None
    return (text[: match.start()], match[2]) if match else (text, "")

"""What a message of role user really holds: the prompt, and what Codex put around it.

One record may bundle project instructions, the environment, an image and the prompt, each as a part of its own, so
records are cut into segments (formats note 6.4).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeAlias

from schemas.message import Kind, Part
from schemas.providers.codex.outputs import Result, content_items, decode
from schemas.records import read_record
from schemas.values import dict_of, list_of, text_of

Segment: TypeAlias = "tuple[Kind, str, str]"
"""A piece of a user or developer message that is shown as a message of its own: its kind, text and label."""
_PROMPT, _CONTEXT = Kind.PROMPT, Kind.CONTEXT  # an enum's member takes ten times as long to look up
_TAGS = {
    "user_instructions": "project instructions",
    "instructions": "project instructions",
    "environment_context": "environment",
    "permissions instructions": "permissions",
    "skills_instructions": "skills",
    "apps_instructions": "apps",
    "plugins_instructions": "plugins",
    "recommended_plugins": "plugins",
    "personality_spec": "personality",
    "hook_prompt": "hook",
    "goal_context": "goal",
}
"""What the tags are called where that is not their name."""
_TAG = re.compile(
    rf"<({'|'.join(_TAGS)}|collaboration_mode|model_switch|realtime_conversation|skill|user_action"
    r"|turn_aborted|subagent_notification|user_shell_command)(?:\s[^>]{0,200})?>",
    re.IGNORECASE,
)
# Their bodies are other people's text, which may hold the closing tag itself.
_GREEDY = ("skill", "hook_prompt", "user_shell_command")
_ANY_TAG = re.compile(r"<([a-z_]{3,40})>.*</\1>$", re.DOTALL)
_AGENTS = re.compile(r"# agents\.md instructions(?:.*?</instructions>|.*)", re.IGNORECASE | re.DOTALL)
_IDE = re.compile(r"# (?:Context from my IDE setup|Files mentioned by the user):")
_REQUEST = "## My request for Codex:"
_HANDOVER = "Another language model started to solve this problem"
_IMAGE_TAG = re.compile(r"\s*</?image(?:\s[^>]{0,200})?>\s*", re.IGNORECASE)
_SHELL = re.compile(r"<command>(.*?)</command>\s*(?:<result>(.*)</result>)?", re.DOTALL)


@lru_cache(maxsize=16)  # Codex says much of it again at the beginning of each turn
def split_text(text: str, developer: bool = False) -> tuple[Segment, ...]:
    """A text cut into what Codex injected and what was typed; the typed piece is a PROMPT.

    What a `developer` wrote is of tags only, and may quote the tag that closes one (lab/faults/codex-2).
    """
    segments: list[Segment] = []
    rest = text.strip()
    while rest:
        end = len(rest)
        if match := _TAG.match(rest):
            tag = match[1].lower()
            closings = re.finditer(f"</{tag}>", rest, re.IGNORECASE)
            closing = next(closings, None)
            if developer or tag in _GREEDY:
                closing = [closing, *closings][-1]
            end = closing.end() if closing else end
            inner = rest[match.end() : closing.start() if closing else end].strip()
            segments.extend(_tagged(tag, inner, rest[:end]))
        elif developer and (match := _ANY_TAG.match(rest)):
            segments.append((_CONTEXT, rest, match[1].replace("_", " ")))
        elif match := _AGENTS.match(rest):
            end = match.end()
            segments.append((_CONTEXT, match[0], "project instructions"))
        elif rest.startswith(_HANDOVER):
            segments.append((_CONTEXT, rest, "summary of the earlier conversation"))
        elif _IDE.match(rest) and (cut := rest.find(_REQUEST)) >= 0:
            segments.append((_CONTEXT, rest[:cut].rstrip(), "IDE context"))
            segments.append((_PROMPT, rest[cut + len(_REQUEST) :].strip(), ""))
        else:
            segments.append((_PROMPT, rest, ""))
        rest = rest[end:].strip()
    return tuple(segments)


def _tagged(tag: str, inner: str, envelope: str) -> list[Segment]:
    if tag == "turn_aborted":
        return [(Kind.INTERRUPT, inner, "")]
    if tag == "subagent_notification":  # a child's result, as Codex tells it to its parent
        data = read_record(inner.encode("utf-8", "replace"))
        state, text = status_text(data.get("status"))
        name = text_of(data.get("agent_path")) or text_of(data.get("agent_id"))
        return [(Kind.NOTE, text or inner, " ".join(filter(None, ("subagent", name, state))))]
    if tag == "user_shell_command" and (match := _SHELL.search(inner)):
        return [(Kind.COMMAND, match[1].strip(), "shell"), *printed(decode((match[2] or "").strip("\n")))]
    return [(_CONTEXT, envelope, _TAGS.get(tag) or tag.replace("_", " "))]


def printed(found: Result) -> list[Segment]:
    """What a command printed that a person typed, and how it ended."""
    text, ended = found.text or "", "" if found.exit_code is None else f"exit {found.exit_code}"
    return [(Kind.OUTPUT, text, ended)] if ended or text.strip() else []


def status_text(status: object) -> tuple[str, str]:
    """A subagent's status (`"running"` or `{"completed": "text"}`) as a word and its text."""
    word, text = next(iter(dict_of(status).items()), (status, ""))
    return text_of(word), text_of(text)


def segments(payload: dict[str, Any]) -> tuple[list[Segment], list[Part]]:
    """The segments of a `message` item of role user, developer or system, in the order of its parts, and a user's
    images.

    All that was typed is one PROMPT, at the place of its first part; images without text make an empty one.
    """
    passed = payload.get("internal_chat_message_metadata_passthrough")
    kinds = list_of(passed.get("content_item_kinds")) if isinstance(passed, dict) else []
    is_user = payload.get("role") == "user"
    found: list[Segment] = []
    images: list[Part] = []
    typed: list[str] = []
    at = -1
    for number, (what, value) in enumerate(content_items(payload.get("content"))):
        if what == "text":
            pieces = () if _IMAGE_TAG.fullmatch(value) else split_text(value, not is_user)
        elif what == "image" and is_user:
            at = len(found) if at < 0 else at
            images.append(value)
            continue
        else:
            pieces = ((_PROMPT, value.text if what == "image" else value, ""),) if what != "none" else ()
        for piece in pieces:
            kind = text_of(kinds[number]) if number < len(kinds) else ""
            if piece[0] is not _PROMPT:
                found.append(piece)
            elif not is_user:
                found.append((_CONTEXT, piece[1], f"{text_of(payload.get('role')) or 'unknown'} message"))
            elif kind and kind != "unknown" and not kind.startswith("user."):
                found.append((_CONTEXT, piece[1], kind.rsplit(".", 1)[-1].replace("_", " ")))
            else:
                at = len(found) if at < 0 else at
                typed.append(piece[1])
    if at >= 0:
        found.insert(at, (_PROMPT, "\n".join(typed), ""))
    return found, images

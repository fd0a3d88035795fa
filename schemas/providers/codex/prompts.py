"""What a message of role user really holds: the prompt, and what Codex put around it.

One record may bundle project instructions, the environment, an image and the prompt, each as a part of its own, so
records are cut into segments (formats note 6.4).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from schemas.message import Kind
from schemas.providers.codex.outputs import Result, content_items, decode
from schemas.records import read_record
from schemas.values import dict_of, list_of, text_of


class Segment(NamedTuple):
    """A piece of a user or developer message that is shown as a message of its own."""

    kind: Kind
    text: str
    label: str = ""


PROMPT = int(Kind.PROMPT)  # an enum's member takes ten times as long to look up
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
            segments.append(Segment(Kind.CONTEXT, rest, match[1].replace("_", " ")))
        elif match := _AGENTS.match(rest):
            end = match.end()
            segments.append(Segment(Kind.CONTEXT, match[0], "project instructions"))
        elif rest.startswith(_HANDOVER):
            segments.append(Segment(Kind.CONTEXT, rest, "summary of the earlier conversation"))
        elif _IDE.match(rest) and (cut := rest.find(_REQUEST)) >= 0:
            segments.append(Segment(Kind.CONTEXT, rest[:cut].rstrip(), "IDE context"))
            segments.append(Segment(Kind.PROMPT, rest[cut + len(_REQUEST) :].strip()))
        else:
            segments.append(Segment(Kind.PROMPT, rest))
        rest = rest[end:].strip()
    return tuple(segments)


def _tagged(tag: str, inner: str, envelope: str) -> list[Segment]:
    if tag == "turn_aborted":
        return [Segment(Kind.INTERRUPT, inner)]
    if tag == "subagent_notification":  # a child's result, as Codex tells it to its parent
        data = read_record(inner.encode("utf-8", "replace"))
        state, text = status_text(data.get("status"))
        name = text_of(data.get("agent_path")) or text_of(data.get("agent_id"))
        return [Segment(Kind.NOTE, text or inner, " ".join(filter(None, ("subagent", name, state))))]
    if tag == "user_shell_command" and (match := _SHELL.search(inner)):
        return [
            Segment(Kind.COMMAND, match[1].strip(), "shell"), *printed(decode((match[2] or "").strip("\n"))),
        ]  # fmt: skip
    return [Segment(Kind.CONTEXT, envelope, _TAGS.get(tag) or tag.replace("_", " "))]


def printed(found: Result) -> list[Segment]:
    """What a command printed that a person typed, and how it ended."""
    text, ended = found.text or "", "" if found.exit_code is None else f"exit {found.exit_code}"
    return [Segment(Kind.OUTPUT, text, ended)] if ended or text.strip() else []


def status_text(status: object) -> tuple[str, str]:
    """A subagent's status (`"running"` or `{"completed": "text"}`) as a word and its text."""
    word, text = next(iter(dict_of(status).items()), (status, ""))
    return text_of(word), text_of(text)


def segments(payload: dict[str, Any]) -> list[Segment]:
    """The segments of a `message` item of role user, developer or system, in the order of its parts.

    All that was typed is one PROMPT, at the place of its first part; images without text make an empty one.
    """
    kinds = list_of(dict_of(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
    is_user = payload.get("role") == "user"
    found: list[Segment] = []
    typed: list[str] = []
    at: int | None = None
    for number, (what, value) in enumerate(content_items(payload.get("content"))):
        kind = text_of(kinds[number]) if number < len(kinds) else ""
        if what == "none" or (what == "text" and _IMAGE_TAG.fullmatch(value)):
            continue
        if what == "image" and is_user:
            at = len(found) if at is None else at
            continue
        if what == "text":
            pieces = split_text(value, not is_user)
        else:
            pieces = (Segment(Kind.PROMPT, value if what == "other" else value.text),)
        for piece in pieces:
            if piece.kind != PROMPT:
                found.append(piece)
            elif not is_user:
                found.append(Segment(Kind.CONTEXT, piece.text, f"{text_of(payload.get('role')) or 'unknown'} message"))
            elif kind and kind != "unknown" and not kind.startswith("user."):
                found.append(Segment(Kind.CONTEXT, piece.text, kind.rsplit(".", 1)[-1].replace("_", " ")))
            else:
                at = len(found) if at is None else at
                typed.append(piece.text)
    if at is not None:
        found.insert(at, Segment(Kind.PROMPT, "\n".join(typed)))
    return found


def event_segments(payload: dict[str, Any]) -> Sequence[Segment]:
    """The segments of a `user_message` event, which repeats the prompt exactly as it was typed."""
    pictured = payload.get("images") or payload.get("local_images")
    return split_text(text_of(payload.get("message"))) or [Segment(Kind.PROMPT, "")] * bool(pictured)

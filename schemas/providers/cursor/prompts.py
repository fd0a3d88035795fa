"""What a user's message really holds: the prompt, and what Cursor put around it (formats notes 3.2 and 3.3).

Cursor wraps what a person typed in `<user_query>` and puts context in tags before it, in the same text or in messages
of their own. Its own program speaks in `<user_query>` too: to go on after a subagent, or after an interruption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from schemas.message import Part
from schemas.providers.kit.blocks import image_part


class Split(NamedTuple):
    """A user's message taken apart."""

    prompt: str | None
    """What was typed; None where all of the text was put there by the program."""
    context: list[tuple[str, str]]
    """What was put around it, each with a label."""
    time: float | None
    """When it was sent, exact to the minute; None where the text does not say."""
    images: list[Part]
    """Images that were attached, by their paths."""


_CONTEXT = """user_info user_rules always_applied_workspace_rules agent_requestable_workspace_rules cursor_rules rules
    project_layout project_context git_status agent_transcripts available_skills agent_skills manually_attached_skills
    cursor_commands system_reminder system-reminder system_notification task_notification open_files
    open_and_recently_viewed_files recently_viewed_files attached_files additional_data linter_errors
    terminal_files_information mcp_file_system mcp_file_system_servers mcp_instructions mcp_meta_tool_servers
    mcp_meta_tools dynamic_tools available_subagent_models available_subagent_types hooks_context context
    external_links""".split()  # noqa: SIM905
_BESIDE = ("timestamp", "image_files", "external_links")
"""What comes with a prompt and says nothing about whether the rest is one."""
_OPEN = re.compile(rf"<({'|'.join(('user_query', 'timestamp', 'image_files', *_CONTEXT))})(?:\s[^<>]{{0,300}})?>")
_LISTED = re.compile(r"^[ \t]*(?:\d+\.|[-*])[ \t]+(\S.*)$", re.MULTILINE)
_INJECTED = (
    ("Perform any necessary follow-up actions in response to the subagent completion above.", "subagent finished"),
    ("Briefly inform the user about the task result and perform any follow-up actions", "task finished"),
    ("You are the forked subagent; continue executing your task.", "forked subagent"),
    ("Your previous response was interrupted. Continue from where you left off.", "continued after an interruption"),
)
_WORKSPACE = re.compile(r"^Workspace Path:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_STAMP = re.compile(
    r"([A-Z][a-z]{2})[a-z]* (\d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M) \(UTC(?:([+-])(\d{1,2}))?(?::(\d\d))?\)", re.ASCII
)


def split(texts: Iterable[str]) -> Split:
    """The texts of one message, cut into what was typed and what was put around it.

    All bodies of `<user_query>` together are the prompt. Without any, a text that begins with a known context tag is
    context, and any other is the prompt.
    """
    found = [list(_tags(text)) for text in texts]
    asked = any(tag == "user_query" for tags in found for tag, _, _ in tags)
    context, images, typed, time = list[tuple[str, str]](), list[Part](), list[str](), None
    for tags in found:
        first = next((n for n, (tag, _, _) in enumerate(tags) if tag not in _BESIDE), len(tags))
        if not asked and first < len(tags) and not tags[first][0]:  # tags within are what somebody wrote about
            tags[first:] = [("user_query", "", "".join(outer for _, outer, _ in tags[first:]))]
        for tag, outer, inner in tags:
            words = inner.strip()
            if tag == "user_query":
                if label := next((label for begins, label in _INJECTED if words.startswith(begins)), ""):
                    context.append((words, label))
                elif words:
                    typed.append(words)
            elif tag == "image_files" and (paths := _LISTED.findall(inner)):
                images += [image_part("", None, path.strip()) for path in paths]
            elif tag == "timestamp" and time is None and (time := sent_at(inner)) is not None:
                continue
            elif outer.strip():
                context.append((outer.strip(), tag.replace("_", " ") or "context"))
    return Split("\n\n".join(typed) if typed or images else None, context, time, images)


def _tags(text: str) -> Iterator[tuple[str, str, str]]:
    """The tags that stand side by side in a text, and what is between them: the tag's name, all of it, its body."""
    position, unclosed = 0, set[str]()
    while match := _OPEN.search(text, position):
        if match.start() > position:
            yield "", text[position : match.start()], ""
        tag, start = match[1], match.end()
        if tag not in unclosed and (end := text.find(f"</{tag}>", start)) >= 0:
            position = end + len(tag) + 3
        else:
            unclosed.add(tag)  # nor is any that follows: not looked for again. It ends before the next query
            query = text.find("<user_query>", start)
            end = position = query if query >= 0 else len(text)
        yield tag, text[match.start() : position], text[start:end]
    if position < len(text):
        yield "", text[position:], ""


def workspace_of(text: str) -> str:
    """The workspace that a `<user_info>` names; empty for any other text."""
    start = text.find("<user_info>")
    match = _WORKSPACE.search(text, start, start + 20_000) if start >= 0 else None
    return match[1] if match else ""


def sent_at(text: str) -> float | None:
    """`Tuesday, Jun 2, 2026, 11:20 AM (UTC+8)` as seconds since 1970; None for anything else.

    English and exact to the minute. Without its offset from UTC such a time could be any of 26 hours: unknown.
    """
    if (match := _STAMP.search(text[:200])) is None:
        return None
    ahead = timedelta(hours=int(match[4] or 0), minutes=int(match[5] or 0))
    try:
        local = datetime.strptime(f"{match[1]} {match[2]}", "%b %d, %Y, %I:%M %p").replace(tzinfo=UTC)
        return (local + ahead if match[3] == "-" else local - ahead).timestamp()
    except (ValueError, OverflowError):
        return None

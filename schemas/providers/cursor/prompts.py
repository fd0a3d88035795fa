"""The contents of Cursor's texts: in a user's message the prompt, and what was put around it (formats notes 3.2 and
3.3); a transcript in text its records.

Cursor wraps what a person typed in `<user_query>` and puts context in tags before it, in the same text or in messages
of their own. Its own program speaks in `<user_query>` too: to go on after a subagent, or after an interruption.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from textwrap import dedent
from typing import Any, NamedTuple

from schemas.message import Part
from schemas.providers.kit.blocks import image_part
from schemas.records import read_record


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


# -- transcripts in text, before 2026 (note 3.4): a line `user:` or `assistant:` (older: `A:`) opens a block -----------


_SIGN = re.compile(rb"^\[(?:Thinking|Tool call|Tool result)\](?:[ \t\r]|$)", re.MULTILINE)
_QUERY = re.compile(rb"^<(?:user_query|user_info|timestamp)>", re.MULTILINE)
_ROLES = frozenset({b"user:", b"assistant:", b"A:"})
# Within an open `<user_query>` a person may quote what looks like a role.
_BLOCK = re.compile(
    r"<user_query>[^<]*(?:<(?!/?user_query>)[^<]*)*</user_query>|^(user|assistant|A):[ \t]*$", re.MULTILINE
)
_MARKED = re.compile(r"^\[(Thinking|Tool call|Tool result)\](?:[ \t]+(.*))?((?:\n(?:[ \t].*)?)*)$", re.MULTILINE)
"""A marker and the lines below it that are indented."""
_KEY = re.compile(r"([A-Za-z_-][\w.-]{0,60})(?:: ?|=)(.*)$")


def is_text(data: bytes) -> bool:
    """Return whether a file is a transcript in text: a role alone on its first line, and a sign of Cursor's.
    One that begins with the agent's part must use a tool or think.
    """
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = data.partition(b"\n")[0].rstrip()
    return first in _ROLES and bool(_SIGN.search(data) or (first == b"user:" and _QUERY.search(data)))


def text_records(data: bytes) -> Iterator[dict[str, Any]]:
    """The blocks of a text."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    roles = [match for match in _BLOCK.finditer(text) if match[1]]
    for match, end in zip(roles, [*(match.start() for match in roles[1:]), len(text)], strict=True):
        body = text[match.end() : end].strip("\n")
        if match[1] == "user":
            yield {"role": "user", "message": {"content": body}}
        else:
            yield {"role": "assistant", "message": {"content": _parts(body)}}


def _parts(body: str) -> list[dict[str, Any]]:
    """Return the agent's texts, thoughts and tool uses, in order; a result stands with its use if the block has it."""
    found, position = list[dict[str, Any]](), 0
    waiting: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
    for match in _MARKED.finditer(body):
        _add_text(found, body[position : match.start()])
        position, name, text = match.end(), (match[2] or "").strip(), dedent(match[3]).strip("\n")
        if match[1] == "Thinking":
            found.append({"type": "thinking", "thinking": "\n".join(filter(None, [name, text]))})
        elif match[1] == "Tool call":
            found.append({"type": "tool_use", "name": name, "input": _input(text)})
            waiting[name].append(found[-1])
        elif text and waiting[name]:  # most say only that there was a result
            waiting[name].popleft()["result"] = text
        elif text:
            found.append({"type": "tool_result", "content": text})
    _add_text(found, body[position:])
    return found


def _add_text(found: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        found.append({"type": "text", "text": text.strip("\n")})


def _input(body: str) -> object:
    """A tool's input: JSON, a text as of a patch, or keys with their values."""
    if given := read_record(body.encode("utf-8", "surrogatepass")):
        return given
    if not _KEY.match(body.partition("\n")[0]):
        return body or {}
    values, key = dict[str, str](), ""
    for line in body.split("\n"):
        if (match := _KEY.match(line)) and match[1] not in values:
            key = match[1]
            values[key] = match[2]
        else:
            values[key] = f"{values[key]}\n{line}"
    return values

"""What a user's message really holds: the prompt, and what Cursor put around it (formats notes 3.2 and 3.3).

Cursor wraps what a person typed in `<user_query>` and puts context in tags before it, in the same text or in messages
of their own. Its own program speaks in `<user_query>` too: to go on after a subagent, or after an interruption.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from schemas.clean import clean
from schemas.message import Kind, Part
from schemas.providers.cursor.times import parse_timestamp


class Segment(NamedTuple):
    """A piece of a user's message that is shown as a message of its own."""

    kind: Kind
    """PROMPT (at most one in a text) or CONTEXT."""
    text: str
    label: str = ""


class Split(NamedTuple):
    """A user's text taken apart."""

    segments: tuple[Segment, ...]
    """In the order of the text, at most `MOST_SEGMENTS` of them."""
    time: float | None = None
    """When it was sent, exact to the minute; None where the text does not say."""
    images: tuple[Part, ...] = ()
    """Placeholders of the images that were attached, by their paths."""

    @property
    def prompt(self) -> str | None:
        """What was typed; None where all of the text was injected."""
        return next((segment.text for segment in self.segments if segment.kind is Kind.PROMPT), None)

    @property
    def context(self) -> tuple[Segment, ...]:
        """What was injected."""
        return tuple(segment for segment in self.segments if segment.kind is not Kind.PROMPT)


MOST_SEGMENTS = 64
"""A text with more pieces of context than this has the rest of them in its last piece."""
_LABELS = {
    "user_info": "environment",
    "user_rules": "rules",
    "always_applied_workspace_rules": "rules",
    "agent_requestable_workspace_rules": "rules",
    "cursor_rules": "rules",
    "rules": "rules",
    "project_layout": "project layout",
    "project_context": "project layout",
    "git_status": "git status",
    "agent_transcripts": "earlier transcripts",
    "available_skills": "skills",
    "agent_skills": "skills",
    "manually_attached_skills": "skills",
    "cursor_commands": "commands",
    "system_reminder": "reminder",
    "system-reminder": "reminder",
    "system_notification": "notification",
    "task_notification": "notification",
    "open_and_recently_viewed_files": "open files",
    "recently_viewed_files": "open files",
    "open_files": "open files",
    "attached_files": "attached files",
    "additional_data": "additional data",
    "linter_errors": "linter errors",
    "terminal_files_information": "terminals",
    "mcp_file_system": "MCP servers",
    "mcp_file_system_servers": "MCP servers",
    "mcp_instructions": "MCP servers",
    "mcp_meta_tool_servers": "MCP servers",
    "mcp_meta_tools": "MCP servers",
    "dynamic_tools": "tools",
    "available_subagent_models": "subagents",
    "available_subagent_types": "subagents",
    "hooks_context": "hooks",
    "context": "context",
    "external_links": "external links",
}
# What comes with a prompt and says nothing about whether the rest is one.
_BESIDE = ("timestamp", "image_files", "external_links")
_OPEN = re.compile(rf"<({'|'.join(('user_query', 'timestamp', 'image_files', *_LABELS))})(?:\s[^<>]{{0,300}})?>")
_QUERY = re.compile(r"<(/?)user_query>")
_LISTED = re.compile(r"^[ \t]*(?:\d+\.|[-*])[ \t]+(\S.*)$", re.MULTILINE)
_PLACEHOLDERS = re.compile(r"\s*(?:\[Image\]\s*)+")
_MOST_IMAGES = 100
_INJECTED = (
    ("Perform any necessary follow-up actions in response to the subagent completion above.", "subagent finished"),
    ("Briefly inform the user about the task result and perform any follow-up actions", "task finished"),
    ("You are the forked subagent; continue executing your task.", "forked subagent"),
    ("Your previous response was interrupted. Continue from where you left off.", "continued after an interruption"),
)
_WORKSPACE = re.compile(r"^Workspace Path:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


def split_prompt(text: str) -> Split:
    """A user's text cut into what was typed and what was injected.

    All bodies of `<user_query>` together are the prompt. Without any, a text that begins with a known context tag is
    context, and any other is a prompt as a whole.
    """
    return split_prompts([text])


def split_prompts(texts: list[str]) -> Split:
    """The texts of one message, which may stand in parts of their own: only one of them needs to hold the query."""
    parts = [_pieces(text) for text in texts]
    asked = any(piece.tag == "user_query" for pieces in parts for piece in pieces)
    found = _Collector()
    for text, pieces in zip(texts, parts, strict=True):
        first = next((n for n, piece in enumerate(pieces) if piece.tag not in _BESIDE), len(pieces))
        if not asked and first < len(pieces) and not pieces[first].tag:
            typed = text[pieces[first].start :]  # tags within it are what somebody wrote about
            pieces[first:] = [_Piece("user_query", typed, typed, pieces[first].start)]
        for piece in pieces:
            found.take(piece)
    return found.result()


def workspace_of(text: str) -> str | None:
    """The workspace that a `<user_info>` names; None for any other text."""
    start = text.find("<user_info>")
    match = _WORKSPACE.search(text, start, start + 20_000) if start >= 0 else None
    return clean(match[1]) if match else None


def injected_label(query: str) -> str:
    """What a query is that Cursor's program wrote itself; empty for one that a person typed."""
    return next((label for words, label in _INJECTED if query.startswith(words)), "")


class _Piece(NamedTuple):
    tag: str
    """Empty for what stands outside of tags."""
    outer: str
    inner: str
    start: int
    """Where in the text it begins."""


def _pieces(text: str) -> list[_Piece]:
    """The tags that stand side by side in a text, and what is between them; white space is left out."""
    pieces: list[_Piece] = []
    position = 0
    unclosed: set[str] = set()
    while match := _OPEN.search(text, position):
        if text[position : match.start()].strip():
            pieces.append(_Piece("", text[position : match.start()], "", position))
        tag = match[1]
        inner, position = _query_end(text, match.end()) if tag == "user_query" else _tag_end(text, match, unclosed)
        pieces.append(_Piece(tag, text[match.start() : position], text[match.end() : inner], match.start()))
    if text[position:].strip():
        pieces.append(_Piece("", text[position:], "", position))
    return pieces


def _query_end(text: str, start: int) -> tuple[int, int]:
    """Where a query's body and its tag end. A prompt may quote the tags itself, closed or not."""
    depth = 1
    end = (len(text), len(text))
    for match in _QUERY.finditer(text, start):
        depth += -1 if match[1] else 1
        if match[1]:
            end = match.span()
        if depth == 0:
            break
    return end


def _tag_end(text: str, opening: re.Match[str], unclosed: set[str]) -> tuple[int, int]:
    """Where a context tag's body and the tag end; one that is never closed ends before the next query."""
    tag, start = opening[1], opening.end()
    close = -1 if tag in unclosed else text.find(f"</{tag}>", start)
    if close >= 0:
        return close, close + len(tag) + 3
    unclosed.add(tag)  # nor is any that follows: not looked for again
    query = text.find("<user_query>", start)
    end = query if query >= 0 else len(text)
    return end, end


class _Collector:
    """Puts the pieces of a text together."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._more: list[str] = []
        self._typed: list[str] = []
        self._place = -1
        self._time: float | None = None
        self._images: list[Part] = []
        self._image_text = ""

    def take(self, piece: _Piece) -> None:
        if piece.tag == "user_query":
            self._query(piece.inner.strip())
        elif piece.tag == "timestamp" and self._time is None and (time := parse_timestamp(piece.inner)) is not None:
            self._time = time
        elif piece.tag == "image_files" and (paths := _LISTED.findall(piece.inner)):
            self._images += [Part("image", f"[image {clean(path.strip())}]") for path in paths[:_MOST_IMAGES]]
            self._image_text = self._image_text or piece.outer
        elif not piece.tag and _PLACEHOLDERS.fullmatch(piece.outer):
            self._image_text = self._image_text or piece.outer
        else:
            self._context(piece.outer.strip(), _LABELS.get(piece.tag, piece.tag.replace("_", " ") or "context"))

    def _query(self, text: str) -> None:
        if label := injected_label(text):
            self._context(text, label)
            return
        if self._place < 0:
            self._place = len(self._segments)
        self._typed.append(text)

    def _context(self, text: str, label: str) -> None:
        if len(self._segments) < MOST_SEGMENTS - 1:
            self._segments.append(Segment(Kind.CONTEXT, text, label))
        else:
            self._more.append(text)

    def result(self) -> Split:
        if self._more:
            last = self._segments[-1]
            self._segments[-1] = last._replace(text="\n\n".join([last.text, *self._more]))
        if self._image_text and self._place < 0:
            if self._segments:
                self._segments.append(Segment(Kind.CONTEXT, self._image_text.strip(), "images"))
            else:
                self._place = 0  # images without a word are a prompt
        typed = "\n\n".join(filter(None, self._typed))
        if self._place >= 0 and (typed or self._image_text):
            self._segments.insert(self._place, Segment(Kind.PROMPT, typed))
        if self._image_text and not self._images:
            self._images.append(Part("image", "[image]"))
        return Split(tuple(self._segments), self._time, tuple(self._images))
